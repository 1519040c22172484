"""Every loss keeps the laws of `check_loss`, which catches offenders; rules compile; values against plain formulas."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from mercer._rules import const
from mercer.losses import (
    EpsilonInsensitive,
    Hinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    conjugate,
    curvature,
    highest,
    lowest,
    shortfall,
    slope,
    traits,
    value,
)
from mercer.losses._loss import Boxed, Traits
from mercer.testing import check_loss

LABELS, NUMBERS = (1.0, -1.0), (-2.5, 0.0, 1.0)
LOSSES = [
    (Squared(), NUMBERS),
    (Hinge(), LABELS),
    (SquaredHinge(), LABELS),
    (EpsilonInsensitive(0.0), NUMBERS),
    (EpsilonInsensitive(0.3), NUMBERS),
    (SquaredEpsilonInsensitive(0.0), NUMBERS),
    (SquaredEpsilonInsensitive(0.3), NUMBERS),
]


@pytest.mark.parametrize("loss, targets", LOSSES)
def test_laws(loss, targets):
    check_loss(loss, targets)


@pytest.mark.parametrize(
    "loss, y, formula",
    [
        (Hinge(), -1.0, lambda y, t: max(0.0, 1 - y * t)),
        (SquaredHinge(), 1.0, lambda y, t: max(0.0, 1 - y * t) ** 2),
        (EpsilonInsensitive(0.5), 2.0, lambda y, t: max(0.0, abs(y - t) - 0.5)),
        (SquaredEpsilonInsensitive(0.5), 2.0, lambda y, t: max(0.0, abs(y - t) - 0.5) ** 2),
    ],
)
def test_values(loss, y, formula):
    for t in (-3.0, -1.0, 0.2, 1.0, 2.5, 4.0):
        assert float(value(loss, y, t)) == pytest.approx(formula(y, t), abs=1e-15)


@pytest.mark.parametrize("loss, targets", LOSSES)
def test_rules_keep_single_precision(loss, targets):
    t = np.linspace(-3, 3, 7, dtype=np.float32)
    y = np.full(7, targets[0], np.float32)
    for rule in (value, slope, curvature, conjugate):
        assert rule(loss, y, t).dtype == np.float32
    assert shortfall(loss, y, t, np.zeros_like(t)).dtype == np.float32
    assert lowest(loss, y).dtype == highest(loss, y).dtype == np.float32


class Broken(NamedTuple):
    """max(0, 1 - y t), with one rule spoilt."""


def spoilt(monkeypatch, rule, fn):
    for stub in (value, slope, curvature, conjugate, shortfall, lowest, highest):
        monkeypatch.setitem(stub.rules, Broken, lambda loss, *args, stub=stub: stub(Hinge(), *args))
    monkeypatch.setitem(traits.rules, Broken, lambda loss: Traits(smooth=False, boxed=Boxed()))
    monkeypatch.setitem(rule.rules, Broken, fn)


@pytest.mark.parametrize(
    "rule, fn, law",
    [
        (value, lambda loss, y, t: np.minimum(1 - y * t, const(2.0, t)), "convex"),
        (slope, lambda loss, y, t: 0 * t - 0.5 * y, "between the differences"),
        (conjugate, lambda loss, y, u: 0.9 * y * u, "conjugate"),
        (conjugate, lambda loss, y, u: y * u, "infinite outside"),
        (shortfall, lambda loss, y, t, u: 0 * t * u, "value \\+ conjugate"),
        (lowest, lambda loss, y: 0 * y - 0.5, "dual box"),
        (traits, lambda loss: Traits(smooth=False, boxed=Boxed(spread=0.1)), "form the loss claims"),
    ],
)
def test_check_loss_catches_a_broken_rule(monkeypatch, rule, fn: Any, law):
    spoilt(monkeypatch, rule, fn)
    with pytest.raises(AssertionError, match=law):
        check_loss(Broken(), LABELS)
