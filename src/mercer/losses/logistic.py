"""The logistic loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._rules import const, where
from mercer.losses._functions import log_sigmoid, relative_entropy, sigmoid
from mercer.losses._loss import Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class Logistic(NamedTuple):
    """log(1 + exp(-y t)) with y = +1 or -1: minus the log-likelihood of the class at log-odds t.

    With v = -y u, the share of probability given to the wrong class, the conjugate is v log v + (1 - v) log(1 - v).

    Examples
    --------
    >>> from mercer.losses import Logistic, value
    >>> round(float(value(Logistic(), 1.0, 0.0)), 4)
    0.6931
    """


@value.rule(Logistic)
def _(loss: Any, y: Any, t: Any) -> Any:
    return np.logaddexp(const(0.0, t), -y * t)


@slope.rule(Logistic)
def _(loss: Any, y: Any, t: Any) -> Any:
    return -y * sigmoid(-y * t)


@curvature.rule(Logistic)
def _(loss: Any, y: Any, t: Any) -> Any:
    small = np.exp(-np.abs(y * t))
    return small / ((const(1.0, t) + small) * (const(1.0, t) + small))


@conjugate.rule(Logistic)
def _(loss: Any, y: Any, u: Any) -> Any:
    wrong = -y * u
    half = const(0.5, u)
    # relative to even odds, where each part is 1/2
    log = const(np.log(0.5), u)
    return relative_entropy(wrong, half, log) + relative_entropy(const(1.0, u) - wrong, half, log) + log


@shortfall.rule(Logistic)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    wrong, m = -y * u, y * t
    right = const(1.0, u) - wrong
    return relative_entropy(wrong, sigmoid(-m), log_sigmoid(-m)) + relative_entropy(right, sigmoid(m), log_sigmoid(m))


@lowest.rule(Logistic)
def _(loss: Any, y: Any) -> Any:
    return where(y > 0, const(-1.0, y), const(0.0, y))


@highest.rule(Logistic)
def _(loss: Any, y: Any) -> Any:
    return where(y > 0, const(0.0, y), const(1.0, y))


@traits.rule(Logistic)
def _(loss: Any) -> Traits:
    return Traits(two_classes=True)
