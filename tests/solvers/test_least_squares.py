"""Least squares by every solver: the same answer, from Gram matrices lazy and stored, single and double."""

import io

import numpy as np
import pytest

from mercer import Engine, gram
from mercer.gram import from_matrix
from mercer.kernels import Gaussian
from mercer.losses import Squared
from mercer.solvers import (
    Auto,
    CenterGradients,
    Cholesky,
    ConjugateGradients,
    Eigen,
    HalfSquare,
    Problem,
    Progress,
    Status,
    certify,
    solve,
)

SOLVERS = {
    "cholesky": Cholesky(),
    "pcg": ConjugateGradients(1e-10, random_state=0),
    "pcg without pivots": ConjugateGradients(1e-8, rank=0),
    "eigen": Eigen(),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 3))
    return X, np.column_stack([np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(400), X[:, 1] * X[:, 2]])


def exact(X, Y, lam, w):
    """The oracle: (K + lam W^-1) c = y in double, on the rows that count."""
    here = w > 0
    K = Gaussian(1.5)(X[here])
    c = np.zeros_like(Y)
    for k, each in enumerate(np.broadcast_to(lam, Y.shape[1])):
        c[here, k] = np.linalg.solve(K + np.diag(each / w[here]), Y[here, k])
    return c


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_has_the_same_answer(name, precision, stored, data):
    X, Y = data
    w = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], len(X))
    K = gram(Gaussian(1.5), X, engine=Engine(precision=precision), stored=stored)
    problem = Problem(K, Y, Squared(), HalfSquare((0.01, 1.0)), w)
    found = solve(problem, SOLVERS[name])
    wanted = exact(X, Y, np.array([0.01, 1.0]), w)
    assert found.converged
    assert found.certificate.relative_gap < 1e-9
    off = np.abs(Gaussian(1.5)(X) @ (found.coefficients - wanted))
    assert (off <= found.certificate.prediction_bound(X) + 1e-12).all()
    np.testing.assert_allclose(found.coefficients, wanted, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_all_rows_as_centers_too(intercept, tol, data):
    X, Y = data
    K = gram(Gaussian(1.5), X)
    best = solve(Problem(K, Y, Squared(), HalfSquare(0.1), None, intercept), Cholesky())
    problem = Problem(K, Y, Squared(), HalfSquare(0.1), None, intercept, np.arange(400))
    found = solve(problem, CenterGradients(tol), certify="full")
    assert found.converged
    off = np.abs(found.function(X) + found.offset - best.function(X) - best.offset)
    assert (off <= found.certificate.prediction_bound(X) + best.certificate.prediction_bound(X)).all()


@pytest.mark.parametrize("d", [3, 40])
def test_more_rows_than_a_float64_factor_is_for(d):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((1700, d))
    problem = Problem(
        gram(Gaussian(float(d)), X), np.sin(X[:, 0]), Squared(), HalfSquare(0.01), rng.uniform(0, 2, 1700)
    )
    direct, iterated = solve(problem, Cholesky()), solve(problem, ConjugateGradients(1e-10, random_state=0))
    assert direct.certificate.residual[0] < 1e-11
    off = np.abs(direct.function(X) - iterated.function(X))
    assert (off <= direct.certificate.prediction_bound(X) + iterated.certificate.prediction_bound(X)).all()


def test_an_ill_conditioned_factor_falls_back_to_double():
    X = np.linspace(-1, 1, 1600)[:, None]
    found = solve(Problem(gram(Gaussian(2.0), X), np.sin(9 * X[:, 0]), Squared(), HalfSquare(1e-5)), Cholesky(1e-9))
    assert found.certificate.residual[0] < 1e-7


@pytest.mark.parametrize("method", ["uniform", "k-means++", "rpcholesky"])
def test_the_solver_may_choose_the_centers(method, data):
    X, Y = data
    K = gram(Gaussian(1.5), X)
    problem = Problem(K, Y, Squared(), HalfSquare(0.1))
    found = solve(problem, CenterGradients(n_centers=50, method=method, random_state=0))
    assert len(found.centers) == 50
    assert found.centers.method == method
    assert found.function.centers.shape == (50, 3)
    again = solve(Problem(K, Y, Squared(), HalfSquare(0.1), centers=found.centers), CenterGradients(1e-10), start=found)
    first = solve(Problem(K, Y, Squared(), HalfSquare(0.1), centers=found.centers), CenterGradients(1e-10))
    assert again.stats["steps"] <= first.stats["steps"]
    best = solve(problem, Eigen())
    full = certify(again_problem(problem, found), again.coefficients).prediction_bound(X)
    assert (np.abs(again.function(X) - best.function(X)) <= full + best.certificate.prediction_bound(X)).all()


def again_problem(problem, found):
    return Problem(problem.gram, problem.y, problem.loss, problem.penalty, centers=found.centers)


# ---------------------------------------------------------------- the rule


def shaped(n, *, lam=1.0, centers=None, engine=None):
    """A problem of n rows, none of whose kernel values are asked for."""
    K = gram(Gaussian(1.0), np.zeros((n, 1), np.float32), engine=engine)
    return Problem(K, np.zeros(n), Squared(), HalfSquare(lam), centers=centers)


@pytest.mark.parametrize(
    "given, deadline, wanted",
    [
        ({"n": 500}, None, "Cholesky"),
        ({"n": 500, "lam": 0.0}, None, "Eigen"),
        ({"n": 500, "centers": [0, 3]}, None, "CenterGradients"),
        ({"n": 20_000}, None, "ConjugateGradients"),
        ({"n": 20_000}, 1.0, "CenterGradients"),
        ({"n": 20_000, "engine": Engine(memory="100 MB")}, None, "CenterGradients"),
        ({"n": 100_000}, None, "CenterGradients"),
    ],
)
def test_the_choice_is_a_rule_of_rows_memory_and_deadline(given, deadline, wanted):
    assert type(Auto().choose(shaped(**given), deadline)).__name__ == wanted


def test_how_many_centers():
    assert Auto().choose(shaped(100_000)).n_centers == 4000
    assert Auto().choose(shaped(100_000, engine=Engine(memory="48 MB"))).n_centers == 1000
    assert Auto().choose(shaped(100_000), 2.0).n_centers == 400
    assert "4,000 centres" in Auto().explain(shaped(100_000))[1]


# ---------------------------------------------------------------- how it ends, and what it says


def test_without_a_penalty_rank_and_condition_are_told(data):
    X = np.repeat(data[0][:30], 2, axis=0)
    found = solve(Problem(gram(Gaussian(1.5), X), np.arange(60.0), Squared(), HalfSquare(0.0)))
    assert found.stats["rank"] <= 30
    text = str(found)
    assert text.startswith("Eigen: converged after 1 steps, ")
    assert f"rank           {found.stats['rank']}" in text
    assert "condition" in text
    assert "certificate, for all functions" in text
    wanted = np.linalg.pinv(Gaussian(1.5)(X), rcond=1e-12) @ np.arange(60.0)
    np.testing.assert_allclose(Gaussian(1.5)(X) @ found.coefficients, Gaussian(1.5)(X) @ wanted, atol=1e-5)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("centers", [[1, 9, 1, 30, 9], list(range(60))])
def test_without_a_penalty_on_centres(centers, intercept, data):
    X, Y = np.repeat(data[0][:60], 2, axis=0), data[1][:120]
    w = np.arange(120) % 3.0
    w[0] = 0.0
    problem = Problem(
        gram(Gaussian(0.7), X), Y, Squared(), HalfSquare(0.0), w, intercept, centers=X[2 * np.array(centers)]
    )
    found = solve(problem)
    assert found.stats["solver"] == "CenterLeastSquares"
    assert found.stats["rank"] == min(len(set(centers)), 60 - intercept)  # b takes one of 60 different rows
    here, Z = w > 0, X[2 * np.unique(centers)]
    s = np.sqrt(w[here])[:, None]
    A = np.hstack([Gaussian(0.7)(X[here], Z), np.ones((here.sum(), int(intercept)))])
    wanted = A @ np.linalg.lstsq(s * A, s * Y[here])[0]
    got = Gaussian(0.7)(X[here], problem.centers.points) @ found.coefficients + found.offset
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-8)
    if not intercept:
        features = s * (A @ np.linalg.inv(np.linalg.cholesky(Gaussian(0.7)(Z)).T))
        assert found.stats["condition"] == pytest.approx(np.linalg.cond(features))
    assert solve(problem, watch=lambda step: True).status is Status.CONVERGED  # one block of rows: all were seen


@pytest.mark.parametrize("solver", [ConjugateGradients(1e-12, rank=0), CenterGradients(1e-12)])
def test_stopped_early_the_best_is_certified(solver, data):
    X, Y = data
    centers = np.arange(40) if isinstance(solver, CenterGradients) else None
    problem = Problem(gram(Gaussian(1.5), X), Y[:, 0], Squared(), HalfSquare(1e-3), centers=centers)
    found = solve(problem, solver, watch=lambda step: True)
    assert found.status is Status.INTERRUPTED
    assert np.isfinite(found.certificate.gap[0])

    def interrupt(step):
        raise KeyboardInterrupt

    assert solve(problem, solver, watch=interrupt).status is Status.INTERRUPTED
    with Progress(io.StringIO(), every=0.0) as watch:
        assert solve(problem, solver, watch=watch, deadline=1e-9).status is Status.DEADLINE


def test_a_given_matrix_has_centers_by_position(data):
    X, Y = data
    problem = Problem(from_matrix(Gaussian(1.5)(X)), Y, Squared(), HalfSquare(0.1), centers=np.arange(30))
    found = solve(problem, CenterGradients(1e-10))
    wanted = solve(
        Problem(gram(Gaussian(1.5), X), Y, Squared(), HalfSquare(0.1), centers=X[:30]), CenterGradients(1e-10)
    )
    np.testing.assert_allclose(found.coefficients, wanted.coefficients, atol=1e-5 * np.abs(wanted.coefficients).max())
