"""Newton against cvxpy with Clarabel, every smooth loss; laws of weights, columns, starts; hard cases end well."""

import dataclasses

import numpy as np
import pytest

from mercer import Engine, gram, losses
from mercer.gram import from_matrix
from mercer.kernels import Gaussian
from mercer.solvers import Auto, CenterNewton, HalfSquare, Newton, Problem, Status, certify, solve
from tests.solvers.convex import optimum

SMOOTH = [
    losses.Squared(),
    losses.Expectile(0.8),
    losses.Huber(0.4),
    losses.PseudoHuber(0.5),
    losses.LogCosh(),
    losses.SquaredEpsilonInsensitive(0.2),
    losses.Poisson(),
    losses.Gamma(),
    losses.Tweedie(1.5),
    losses.Logistic(),
    losses.Exponential(),
    losses.SquaredHinge(),
    losses.SmoothedHinge(0.5),
    losses.ModifiedHuber(),
]
SOME = [losses.Logistic(), losses.Poisson(), losses.Huber(0.4), losses.SquaredHinge()]
DOUBLE = Engine(precision="double")
COUNTS, AMOUNTS = (losses.Poisson, losses.Tweedie), (losses.Gamma,)


def data(loss, n=30, seed=0):
    """Random rows, and targets of the kind the loss is for."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    f = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
    if losses.traits(loss).two_classes:
        return X, np.where(f + 0.7 * rng.standard_normal(n) > 0.2, 1.0, -1.0)
    if isinstance(loss, COUNTS):
        return X, rng.poisson(np.exp(f)).astype(float)
    if isinstance(loss, AMOUNTS):
        return X, np.exp(f) * rng.gamma(2.0, 0.5, n)
    return X, f + 0.5 * rng.standard_t(2, n)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_optimum_is_that_of_clarabel(loss, intercept):
    X, y = data(loss)
    rng = np.random.default_rng(1)
    K, w, lam = gram(Gaussian(2.0), X, engine=DOUBLE), rng.integers(0, 3, len(y)).astype(float), 0.2
    found = solve(Problem(K, y, loss, HalfSquare(lam), w, intercept), Newton(tol=1e-11))
    wanted = optimum(np.asarray(K, dtype=float), y, loss, w / lam, intercept=intercept) * lam
    proof = found.certificate
    assert found.converged
    assert proof.primal[0] == pytest.approx(wanted, rel=1e-7)
    assert proof.gap[0] >= proof.primal[0] - wanted - 1e-8 * wanted
    assert proof.relative_gap < 1e-9


@pytest.mark.parametrize(
    "loss", [losses.Logistic(), losses.Poisson(), losses.Huber(0.4), losses.SquaredHinge()], ids=repr
)
def test_conjugate_gradients_find_the_same(loss):
    X, y = data(loss, n=1500)
    problem = Problem(gram(Gaussian(2.0), X), y, loss, HalfSquare(0.3), intercept=True)
    found = solve(problem, Newton(tol=1e-9, random_state=0))
    assert found.converged
    assert found.stats["products"] > found.stats["steps"]
    assert found.certificate.relative_gap < 2e-9
    rough = solve(problem, Newton(tol=1e-5, random_state=0))
    assert rough.certificate.relative_gap < 1e-5
    assert np.all(
        np.abs(rough.function(X) - found.function(X))
        <= rough.certificate.radius[0] + found.certificate.radius[0] + 1e-6
    )


def test_auto_takes_it_for_losses_that_are_not_squared():
    X, y = data(losses.Logistic())
    problem = Problem(gram(Gaussian(2.0), X), y, losses.Logistic(), HalfSquare(0.1))
    assert isinstance(Auto().choose(problem), Newton)
    assert solve(problem).certificate.relative_gap < 1e-6


def test_columns_are_problems_of_their_own():
    X, y = data(losses.Logistic(), n=40)
    Y = np.column_stack([y, -y, np.where(X[:, 2] > 0, 1.0, -1.0)])
    K = gram(Gaussian(2.0), X)
    together = solve(Problem(K, Y, losses.Logistic(), HalfSquare((0.1, 0.1, 2.0)), intercept=True), Newton(1e-12))
    for k, lam in enumerate((0.1, 0.1, 2.0)):
        alone = solve(Problem(K, Y[:, k], losses.Logistic(), HalfSquare(lam), intercept=True), Newton(1e-12))
        assert np.allclose(together.coefficients[:, k], alone.coefficients, atol=1e-5)
        assert together.offset[k] == pytest.approx(alone.offset[0], abs=1e-5)


def test_weights_are_a_law():
    X, y = data(losses.Poisson(), n=40)
    w = np.random.default_rng(2).integers(0, 3, 40)
    weighted = solve(Problem(gram(Gaussian(2.0), X), y, losses.Poisson(), HalfSquare(0.1), w, True), Newton(1e-13))
    rows = np.repeat(np.arange(40), w)
    repeated = solve(
        Problem(gram(Gaussian(2.0), X[rows]), y[rows], losses.Poisson(), HalfSquare(0.1), None, True), Newton(1e-13)
    )
    assert np.allclose(weighted.function(X), repeated.function(X), atol=1e-5)
    assert (weighted.coefficients[w == 0] == 0).all()
    matrix = from_matrix(np.asarray(gram(Gaussian(2.0), X, engine=DOUBLE)))
    given = solve(Problem(matrix, y, losses.Poisson(), HalfSquare(0.1), w, True), Newton(1e-13))
    assert np.allclose(given.coefficients, weighted.coefficients, atol=1e-5)


def test_threads_do_not_change_the_answer():
    X, y = data(losses.Logistic(), n=1300)
    found = [
        solve(
            Problem(gram(Gaussian(2.0), X, engine=Engine(threads=k)), y, losses.Logistic(), HalfSquare(0.1)),
            Newton(random_state=3),
        )
        for k in (1, 2)
    ]
    assert np.allclose(found[0].coefficients, found[1].coefficients, rtol=1e-6, atol=1e-9)


def test_a_start_saves_steps():
    X, y = data(losses.Logistic(), n=200)
    K = gram(Gaussian(2.0), X)
    first = solve(Problem(K, y, losses.Logistic(), HalfSquare(0.01), intercept=True), Newton(1e-8))
    near = Problem(K, y, losses.Logistic(), HalfSquare(0.0101), intercept=True)
    warm, cold = solve(near, Newton(1e-8), start=first), solve(near, Newton(1e-8))
    assert warm.stats["steps"] < cold.stats["steps"]
    assert warm.certificate.relative_gap < 1e-8


def test_small_penalties_do_not_defeat_it():
    X, y = data(losses.Logistic(), n=300)
    for lam in (1e-4, 1e-7):
        found = solve(
            Problem(gram(Gaussian(2.0), X), y, losses.Logistic(), HalfSquare(lam), intercept=True), Newton(1e-6)
        )
        assert found.certificate.relative_gap < 1e-5


def test_stopping_keeps_the_best_so_far():
    X, y = data(losses.Logistic(), n=1500)
    problem = Problem(gram(Gaussian(2.0), X), y, losses.Logistic(), HalfSquare(0.01))
    stopped = solve(problem, Newton(1e-12), watch=lambda step: step.number >= 2)
    assert stopped.status is Status.INTERRUPTED
    assert 0 < stopped.certificate.relative_gap <= 1 + 1e-9
    late = solve(problem, Newton(1e-12), deadline=1e-9)
    assert late.status is Status.DEADLINE
    assert np.isfinite(late.certificate.relative_gap)


@pytest.mark.parametrize(
    "problem, reason",
    [
        (lambda K, y: Problem(K, y, losses.Hinge(), HalfSquare(1.0)), "jumps"),
        (lambda K, y: Problem(K, y, losses.Logistic(), HalfSquare(0.0)), "lam > 0"),
    ],
)
def test_refusals_say_why(problem, reason):
    X, y = data(losses.Logistic())
    with pytest.raises(ValueError, match=reason):
        solve(problem(gram(Gaussian(2.0), X), y), Newton())


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", [*SOME, losses.Gamma()], ids=repr)
def test_on_all_rows_as_centres_it_is_newton(loss, intercept):
    X, y = data(loss, n=40)
    w = np.random.default_rng(1).integers(0, 3, 40).astype(float)
    K = gram(Gaussian(2.0), X)
    short = Problem(K, y, loss, HalfSquare(0.2), w, intercept, centers=np.arange(40))
    found = solve(short, CenterNewton(1e-11))
    full = solve(Problem(K, y, loss, HalfSquare(0.2), w, intercept), Newton(1e-11))
    assert found.certificate.primal[0] == pytest.approx(full.certificate.primal[0], rel=1e-8)
    assert certify(short, found.coefficients, found.offset, full=False).relative_gap < 1e-7


@pytest.mark.parametrize("given", ["positions", "points"])
def test_on_centres_the_gap_is_proved_among_their_functions(given):
    X, y = data(losses.Logistic(), n=800)
    centers = np.arange(0, 800, 20)
    problem = Problem(
        gram(Gaussian(2.0), X), y, losses.Logistic(), HalfSquare(0.1), intercept=True,
        centers=centers if given == "positions" else X[centers],
    )  # fmt: skip  # the problem, then its centres
    assert isinstance(Auto().choose(problem), CenterNewton)
    found = solve(problem)
    assert found.converged
    assert certify(problem, found.coefficients, found.offset, full=False).relative_gap < 2e-6
    price = certify(problem, found.coefficients, found.offset).gap[0]
    best = solve(dataclasses.replace(problem, centers=None), Newton(1e-8)).certificate.primal[0]
    assert 0 < found.certificate.primal[0] - best <= price
    again = solve(problem, start=found)
    assert again.stats["steps"] == 0
