"""Every loss keeps the laws of its rules: slopes against differences, conjugates against a search."""

import numpy as np
import pytest

from mercer.losses import (
    Absolute,
    Expectile,
    Exponential,
    Gamma,
    Huber,
    LogCosh,
    Logistic,
    ModifiedHuber,
    Poisson,
    PseudoHuber,
    Quantile,
    SmoothedHinge,
    Squared,
    Tweedie,
    conjugate,
    curvature,
    highest,
    lowest,
    shortfall,
    slope,
    traits,
    value,
)
from mercer.testing import check_loss

REAL = [-2.5, 0.0, 0.3, 4.0]
CLASSES = [-1.0, 1.0]
COUNTS = [0.0, 1.0, 2.5, 6.0]
LOSSES = [
    (Squared(), REAL),
    (Absolute(), REAL),
    (Quantile(0.1), REAL),
    (Quantile(0.8), REAL),
    (Expectile(0.2), REAL),
    (Huber(0.7), REAL),
    (Huber(3.0), REAL),
    (PseudoHuber(0.7), REAL),
    (LogCosh(), REAL),
    (Poisson(), COUNTS),
    (Gamma(), COUNTS[1:]),
    (Tweedie(1.2), COUNTS),
    (Tweedie(1.9), COUNTS),
    (Logistic(), CLASSES),
    (Exponential(), CLASSES),
    (SmoothedHinge(0.5), CLASSES),
    (SmoothedHinge(1.0), CLASSES),
    (ModifiedHuber(), CLASSES),
]

each = pytest.mark.parametrize("loss, y", LOSSES, ids=lambda v: repr(v) if isinstance(v, tuple) else "")


@each
def test_laws(loss, y):
    check_loss(loss, y)


@each
def test_far_out_nothing_overflows_in_silence(loss, y):
    """Warnings are errors here: far predictions give large or infinite values, never NaN."""
    t = np.array([-1e6, -800.0, -40.0, 40.0, 800.0, 1e6])
    targets = np.array(y)[:, None]
    for rule in (value, slope, curvature):
        found = rule(loss, targets, t)
        assert not np.isnan(found).any()
    u = np.clip(np.array([-1e6, -1.0, -1e-12, 0.0, 1e-12, 1.0, 1e6]), lowest(loss, targets), highest(loss, targets))
    assert not np.isnan(conjugate(loss, targets, u)).any()
    missing = shortfall(loss, targets, t[:, None, None], u)
    assert (missing >= 0).all()


@pytest.mark.parametrize("loss, y", [(loss, y) for loss, y in LOSSES if traits(loss).smooth], ids=repr)
def test_the_shortfall_does_not_cancel(loss, y):
    """Near equality it is (t - s)^2 curvature / 2, to many digits."""
    targets, t = np.array(y)[:, None], np.array([-0.45, 0.35, 0.62])
    bend, step = curvature(loss, targets, t), 1e-6
    u = slope(loss, targets, t)
    found = shortfall(loss, targets, t + step, u)
    apart = slope(loss, targets, t + step) - u  # half the difference of slopes, times the step
    assert np.allclose(found, 0.5 * apart * step, rtol=1e-4, atol=1e-26)
    assert np.allclose(found, 0.5 * bend * step**2, rtol=1e-4, atol=1e-26)


def test_limits_join_the_losses():
    t, counts = np.linspace(-2, 2, 9), np.array(COUNTS)[:, None]
    assert np.allclose(value(Tweedie(1 + 1e-9), counts, t), value(Poisson(), counts, t), rtol=1e-6, atol=1e-6)
    some = counts[1:]
    assert np.allclose(value(Tweedie(2 - 1e-9), some, t), value(Gamma(), some, t), rtol=1e-6, atol=1e-6)
    assert np.allclose(value(Expectile(0.5), 0.3, t), value(Squared(), 0.3, t))
    assert np.allclose(2 * value(Quantile(0.5), 0.3, t), value(Absolute(), 0.3, t))
    assert np.allclose(value(Huber(50.0), 0.3, t), value(Squared(), 0.3, t))
    assert np.allclose(4 * value(SmoothedHinge(2.0), -1.0, 3 * t), value(ModifiedHuber(), -1.0, 3 * t))
    near = value(SmoothedHinge(1e-9), 1.0, t)
    assert np.allclose(near, np.maximum(0, 1 - t), atol=1e-8)


def test_deviances_are_those_of_scikit_learn():
    from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance, mean_tweedie_deviance

    y, t = np.array([1.0, 2.0, 5.0]), np.array([0.1, 1.0, -0.4])
    mean = np.exp(t)
    assert np.isclose(2 * value(Poisson(), y, t).mean(), mean_poisson_deviance(y, mean))
    assert np.isclose(2 * value(Gamma(), y, t).mean(), mean_gamma_deviance(y, mean))
    assert np.isclose(2 * value(Tweedie(1.4), y, t).mean(), mean_tweedie_deviance(y, mean, power=1.4))


@pytest.mark.parametrize(
    "loss", [Huber(0.0), PseudoHuber(-1.0), SmoothedHinge(0.0), Quantile(1.0), Expectile(0.0), Tweedie(1.0)]
)
def test_parameters_out_of_range_are_refused(loss):
    with pytest.raises(ValueError, match=f"^{type(loss).__name__}: '"):
        traits(loss)


@pytest.mark.parametrize("loss, y", [(Poisson(), -1.0), (Gamma(), 0.0), (Tweedie(1.5), -1.0)])
def test_targets_a_loss_cannot_have_cost_infinitely_much(loss, y):
    assert value(loss, np.array([y]), np.array([0.0])) == np.inf
