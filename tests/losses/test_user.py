"""Losses of users: equal to the built-in ones, safe conjugates, witnesses; and losses that are not convex."""

import math
from itertools import pairwise

import numpy as np
import pytest

from mercer import Engine, KernelMachine, gram, losses
from mercer.kernels import Gaussian
from mercer.losses import conjugate, share, shortfall, slope, traits, user_loss, value
from mercer.solvers import Auto, HalfSquare, Majorize, Norm, Problem, solve
from tests.solvers.test_newton import data

SAME = {
    "logistic": (losses.Logistic(), lambda y, t: np.logaddexp(0, -y * t)),
    "huber": (losses.Huber(0.4), lambda y, t: np.where(abs(y - t) < 0.4, (y - t) ** 2 / 2, 0.4 * (abs(y - t) - 0.2))),
    "poisson": (losses.Poisson(), lambda y, t: np.exp(t) - y * t + y * np.log(np.where(y > 0, y, 1)) - y),
    "log_cosh": (losses.LogCosh(), lambda y, t: math.log(math.cosh(y - t))),
    "squared hinge": (losses.SquaredHinge(), lambda y, t: np.maximum(0, 1 - y * t) ** 2),
    "hinge": (losses.Hinge(), lambda y, t: max(0.0, 1 - y * t)),
    "absolute": (losses.Absolute(), lambda y, t: abs(y - t)),
    "quantile": (losses.Quantile(0.3), lambda y, t: np.maximum(0.7 * (t - y), 0.3 * (y - t))),
    "epsilon": (losses.EpsilonInsensitive(0.2), lambda y, t: np.maximum(np.abs(y - t) - 0.2, 0)),
}


class Fair:
    """A loss as a class, with more than it needs."""

    def value(self, y, t):
        return np.abs(y - t) - np.log1p(np.abs(y - t))

    def slope(self, y, t):
        return (t - y) / (1 + np.abs(y - t))


@pytest.mark.parametrize("name", SAME)
def test_a_function_is_as_good_as_the_built_in_loss(name):
    known, function = SAME[name]
    X, y = data(known, n=40)
    own = user_loss(function, y, two_classes=traits(known).two_classes)
    assert own.smooth == traits(known).smooth
    K = gram(Gaussian(2.0), X, engine=Engine(precision="double"))
    theirs = solve(Problem(K, y, known, HalfSquare(0.2), intercept=True), Auto(1e-8))
    ours = solve(Problem(K, y, own, HalfSquare(0.2), intercept=True), Auto(1e-7))
    assert ours.stats["solver"] == theirs.stats["solver"]
    assert ours.certificate.primal[0] == pytest.approx(theirs.certificate.primal[0], rel=1e-7)
    assert ours.certificate.gap[0] >= ours.certificate.primal[0] - theirs.certificate.primal[0]
    assert ours.certificate.relative_gap < 1e-6


@pytest.mark.parametrize("name", SAME)
def test_conjugates_and_shortfalls_are_never_too_small(name):
    known, function = SAME[name]
    two = traits(known).two_classes
    y = np.array([-1.0, 1.0]) if two else np.array([0.5, 1.0, 3.0])
    own, t = user_loss(function, y, two_classes=two), np.linspace(-2, 3, 11)[:, None]
    u = slope(known, y, t + 0.3)
    for found, exact in (
        (conjugate(own, y, u), conjugate(known, y, u)),
        (shortfall(own, y, t, u), shortfall(known, y, t, u)),
    ):
        assert (found >= exact - 1e-12).all()
        assert np.allclose(found, exact, atol=1e-6)
    away = np.abs(t - y) > 0.05 if not two else np.abs(y * t - 1) > 0.05
    assert np.allclose(slope(own, y, t)[away], slope(known, y, t)[away], atol=1e-6)


def test_a_class_with_a_slope_and_one_with_a_conjugate():
    X, y = data(losses.Huber(), n=40)
    K = gram(Gaussian(2.0), X)
    plain, full = user_loss(Fair().value, y), user_loss(Fair(), y)
    assert full.derivative is not None
    found = [solve(Problem(K, y, loss, HalfSquare(0.2), intercept=True)) for loss in (plain, full)]
    assert found[0].certificate.primal[0] == pytest.approx(found[1].certificate.primal[0], rel=1e-8)
    own = user_loss(lambda y, t: (y - t) ** 2 / 2, conjugated=lambda y, u: u * y + u * u / 2)
    assert conjugate(own, 1.0, 2.0) == 4.0
    few = solve(Problem(K, y, own, HalfSquare(0.2), intercept=True))
    assert few.certificate.primal[0] == pytest.approx(
        solve(Problem(K, y, losses.Squared(), HalfSquare(0.2), intercept=True)).certificate.primal[0], rel=1e-6
    )


def test_machines_take_functions_and_objects():
    X, y = data(losses.Huber(), n=60)
    one = KernelMachine(lambda y, t: np.log(np.cosh(y - t)), 0.3, gamma=0.3).fit(X, y)
    assert np.allclose(one.predict(X), KernelMachine("log_cosh", 0.3, gamma=0.3).fit(X, y).predict(X), atol=1e-4)
    assert KernelMachine(Fair(), Norm(1.0), gamma=0.3).fit(X, y).certificate_.relative_gap < 1e-4

    class Margins:
        two_classes = True

        def value(self, y, t):
            return np.logaddexp(0, -y * t)

    labels = np.array(["no", "yes"])[(y > 0).astype(int)]
    own = KernelMachine(Margins(), 0.3, gamma=0.3).fit(X, labels)
    theirs = KernelMachine("logistic", 0.3, gamma=0.3).fit(X, labels)
    assert (own.predict(X) == theirs.predict(X)).all()
    assert own.score(X, labels) == theirs.score(X, labels)


@pytest.mark.parametrize(
    "loss, match",
    [
        (lambda y, t: -((y - t) ** 2), "must be convex in t; got .* above the chord between t = "),
        (lambda y, t: np.minimum((y - t) ** 2, 1.0), "must be convex .* see robust=True"),
        (lambda y, t: np.where(t > y, np.nan, 0.0), "must be finite; got nan at y = -1"),
        (lambda y, t: np.log(t), "must be finite"),
        (3.0, "must be a function of y and t"),
    ],
)
def test_what_is_no_loss_is_refused_with_a_witness(loss, match):
    with pytest.raises(ValueError, match=match):
        user_loss(loss)


# ---------------------------------------------------------------- not convex


@pytest.mark.parametrize("loss", [losses.Tukey(1.5), losses.Welsch(1.5)], ids=repr)
def test_robust_losses_lie_below_their_majorants_and_touch(loss):
    t, at, base = np.linspace(-4, 4, 201), np.array([-3.0, -0.7, 0.1, 2.0]), traits(loss).base
    for one in at:
        above = value(loss, 0.0, one) + share(loss, 0.0, one) * (value(base, 0.0, t) - value(base, 0.0, one))
        assert (above >= value(loss, 0.0, t) - 1e-12).all()
    near = 1e-6
    assert np.allclose(
        (value(loss, 0.0, at + near) - value(loss, 0.0, at - near)) / (2 * near), slope(loss, 0.0, at), atol=1e-6
    )


def test_the_ramp_is_a_hinge_cut_off():
    t = np.linspace(-3, 3, 61)
    assert np.array_equal(value(losses.Ramp(), 1.0, t), np.minimum(1, value(losses.Hinge(), 1.0, t)))


@pytest.mark.parametrize("name", ["tukey", "welsch"])
def test_a_few_wrong_rows_do_not_matter(name):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (120, 1))
    truth = np.sin(2 * X[:, 0])
    y = truth + 0.1 * rng.standard_normal(120)
    y[::6] += 20.0
    loss = losses.Tukey(1.0) if name == "tukey" else losses.Welsch(1.0)
    model = KernelMachine(loss, 0.1, gamma=1.0, robust=True).fit(X, y)
    assert np.abs(model.predict(X) - truth).max() < 0.25
    assert np.abs(KernelMachine("huber", 0.1, gamma=1.0).fit(X, y).predict(X) - truth).max() > 0.25
    proof = model.certificate_
    assert proof.scope.startswith("a stationary point, not an optimum")
    assert proof.relative_gap < 1e-5
    assert model.solver_ == "Majorize"
    assert "not convex" in model.solution_.stats["why"]
    again = KernelMachine(loss, 0.1, gamma=1.0, robust=True, n_centers=60, random_state=0).fit(X, y)
    assert np.abs(again.predict(X) - truth).max() < 0.3


def test_steps_never_raise_the_objective():
    X, y = data(losses.Hinge(), n=80)
    K = gram(Gaussian(1.0), X)
    costs = []
    for steps in (1, 2, 3, 20):
        solver = Majorize(Auto(1e-9).choose, max_steps=steps)
        found = solve(Problem(K, y, losses.Ramp(), HalfSquare(0.1), intercept=True), solver)
        costs.append(found.certificate.primal[0])
    assert all(a >= b - 1e-9 for a, b in pairwise(costs))
    assert costs[-1] == pytest.approx(found.stats["objective"], rel=1e-9)


def test_robust_must_be_asked_for():
    X, y = data(losses.Huber())
    with pytest.raises(ValueError, match=r"robust=True for a loss that is not convex.* got Tukey.*robust=False"):
        KernelMachine("tukey").fit(X, y)
    with pytest.raises(ValueError, match="one target at a time"):
        KernelMachine("tukey", robust=True).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="concave function of a convex"):
        solve(Problem(gram(Gaussian(1.0), X), y, losses.Huber()), Majorize(Auto().choose))
