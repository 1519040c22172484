"""BoxDual against cvxpy with Clarabel, and the choice of solvers with its reasons."""

import numpy as np
import pytest

from mercer import Engine, gram, losses
from mercer.kernels import Gaussian
from mercer.solvers import Auto, BoxDual, HalfSquare, Newton, Problem, Status, solve
from tests.solvers.convex import optimum
from tests.solvers.test_newton import data

BOXED = [
    losses.Hinge(),
    losses.EpsilonInsensitive(0.2),
    losses.Quantile(0.3),
    losses.Absolute(),
    losses.SquaredHinge(),
    losses.SmoothedHinge(0.5),
    losses.Huber(0.4),
    losses.SquaredEpsilonInsensitive(0.2),
]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", BOXED, ids=repr)
def test_optimum_is_that_of_clarabel(loss, intercept):
    X, y = data(loss)
    w, lam = np.random.default_rng(1).integers(0, 3, len(y)).astype(float), 0.2
    exact = np.asarray(gram(Gaussian(2.0), X, engine=Engine(precision="double")), dtype=float)
    found = solve(Problem(gram(Gaussian(2.0), X), y, loss, HalfSquare(lam), w, intercept), BoxDual(1e-8))
    wanted = optimum(exact, y, loss, w / lam, intercept=intercept) * lam
    proof = found.certificate
    assert found.converged
    assert proof.primal[0] == pytest.approx(wanted, rel=1e-7)
    assert proof.gap[0] >= proof.primal[0] - wanted - 1e-9 * wanted
    assert proof.relative_gap < 2e-8
    assert (found.coefficients[w == 0] == 0).all()


def test_columns_are_problems_of_their_own_and_levels_may_differ():
    X, y = data(losses.Quantile(), n=60)
    levels = np.array([0.2, 0.5, 0.9])
    K, Y = gram(Gaussian(2.0), X), np.repeat(y[:, None], 3, axis=1)
    together = solve(Problem(K, Y, losses.Quantile(levels), HalfSquare((0.1, 0.1, 0.5)), intercept=True), BoxDual(1e-9))
    for k, (level, lam) in enumerate(zip(levels, (0.1, 0.1, 0.5), strict=True)):
        alone = solve(Problem(K, y, losses.Quantile(level), HalfSquare(lam), intercept=True), BoxDual(1e-9))
        assert together.certificate.primal[k] == pytest.approx(alone.certificate.primal[0], rel=2e-9)
        assert np.allclose(together.coefficients[:, k], alone.coefficients, atol=1e-3)


def test_it_agrees_with_newton_where_both_will():
    X, y = data(losses.Huber(0.4), n=300)
    problem = Problem(gram(Gaussian(2.0), X), y, losses.Huber(0.4), HalfSquare(0.1), intercept=True)
    one, other = solve(problem, BoxDual(1e-10)), solve(problem, Newton(1e-10))
    assert one.certificate.primal[0] == pytest.approx(other.certificate.primal[0], rel=1e-9)
    assert np.allclose(one.function(X), other.function(X), atol=1e-4)


def test_a_start_saves_steps_and_a_stop_keeps_the_best():
    X, y = data(losses.Hinge(), n=400)
    problem = Problem(gram(Gaussian(2.0), X), y, losses.Hinge(), HalfSquare(0.1), intercept=True)
    found = solve(problem, BoxDual(1e-6))
    again = solve(problem, BoxDual(1e-6), start=found)
    assert again.stats["steps"] < 0.2 * found.stats["steps"]
    stopped = solve(problem, BoxDual(1e-9), watch=lambda step: True)
    assert stopped.status is Status.INTERRUPTED
    assert 0 < stopped.certificate.relative_gap < 10


def test_auto_chooses_and_says_why():
    X, y = data(losses.Hinge())
    K = gram(Gaussian(2.0), X)

    def asked(loss, **given):
        return Auto().explain(Problem(K, y, loss, **given))

    assert asked(losses.Hinge()) == (
        BoxDual(1e-9),
        "the slope of Hinge jumps and its dual is a quadratic problem over a box",
    )
    assert asked(losses.Logistic()) == (Newton(1e-6), "the slope of Logistic has no jumps")
    assert asked(losses.Logistic(), centers=[0, 1])[1].endswith("and f is on centres")
    assert "one factor" in asked(losses.Squared())[1]
    found = solve(Problem(K, y, losses.Hinge()))
    assert found.stats["why"].startswith("the slope of Hinge")
    assert solve(Problem(K, y, losses.Hinge()), BoxDual(1e-3)).stats["why"] == "asked for"


@pytest.mark.parametrize(
    "loss, given, reason",
    [
        (losses.Logistic(), {}, "quadratic on a box"),
        (losses.Hinge(), {"penalty": HalfSquare(0.0)}, "lam > 0"),
        (losses.Hinge(), {"centers": [0, 1]}, "centres"),
    ],
)
def test_refusals_say_why(loss, given, reason):
    X, y = data(losses.Hinge())
    with pytest.raises(ValueError, match=reason):
        solve(Problem(gram(Gaussian(2.0), X), y, loss, **given), BoxDual())


def test_many_rows_begin_with_what_a_share_of_them_says(monkeypatch):
    from mercer.solvers import _guess, box_dual

    monkeypatch.setattr(box_dual, "TOGETHER_UP_TO", 300)
    X, y = data(losses.Quantile(), n=400)
    w, Y = np.random.default_rng(0).integers(0, 3, 400).astype(float), np.column_stack([y, y])
    quantiles, flat = losses.Quantile(np.array([0.2, 0.7])), losses.EpsilonInsensitive(0.1)
    for loss, solver in (
        (quantiles, BoxDual),
        (losses.Huber(0.4), BoxDual),
        (flat, BoxDual),
        (losses.LogCosh(), Newton),
    ):
        problem = Problem(gram(Gaussian(2.0), X), Y, loss, HalfSquare(0.1), w, True)
        monkeypatch.setattr(_guess, "FROM", 200)
        found = solve(problem, solver(1e-7))
        monkeypatch.setattr(_guess, "FROM", 10**9)
        plain = solve(problem, solver(1e-7))
        assert found.converged
        assert found.stats.get("finished") == ("Newton" if isinstance(loss, losses.Huber) else None)
        assert np.allclose(found.certificate.primal, plain.certificate.primal, rtol=2e-7)
