"""Leave-one-out against refits, the path against other solvers, and its noise and likelihood against theirs."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from mercer import Engine, gram
from mercer.gram import from_matrix
from mercer.kernels import Gaussian
from mercer.losses import Hinge, Squared
from mercer.solvers import Eigen, HalfSquare, Problem, leave_one_out, one_count, solve
from mercer.solvers._banded import BAND, STRIP
from mercer.solvers._reduction import banded
from mercer.solvers._strips import TILE
from mercer.solvers.leave_one_out import of_refits

LAMS = [1e-4, 0.03, 2.0]
DOUBLE = Engine(precision="double")


def problem(n=40, *, weight=None, intercept=False, centers=None, seed=0, targets=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    y = np.column_stack([np.sin(2 * X[:, 0]) * X[:, 1] + 3.0, X[:, 0] + 0.3 * rng.standard_normal(n)])[:, :targets]
    return Problem(gram(Gaussian(1.5), X, engine=DOUBLE), y, Squared(), HalfSquare(1.0), weight, intercept, centers)


def fitted(p, lam, weight):
    """Return the values of a fit at all points, by solving normal equations of the dense problem."""
    K = p.gram.block()
    Z = K if p.centers is None else K[:, p.centers.indices]
    inner = K if p.centers is None else Z[p.centers.indices]
    free = np.ones((len(K), int(p.intercept)))
    A = np.hstack([Z, free])
    norm = np.zeros((A.shape[1], A.shape[1]))
    norm[: Z.shape[1], : Z.shape[1]] = lam * inner
    return A @ np.linalg.lstsq(A.T @ (weight[:, None] * A) + norm, A.T @ (weight[:, None] * p.targets), 1e-15)[0]


WEIGHTS = {"none": None, "counts": np.arange(30) % 4.0, "numbers": 0.3 + np.arange(30) % 4.0}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("centers", [None, [3, 7, 1, 20, 12, 25]])
def test_every_refit_without_a_row(weights, intercept, centers):
    w = WEIGHTS[weights]
    p = problem(30, weight=w, intercept=intercept, centers=None if centers is None else np.array(centers))
    share = one_count(w)
    path = leave_one_out(p, LAMS[1:], share=share)
    w, left = p.weights, np.ones(30) if share is None else share
    for k, lam in enumerate(path.lams):
        for i in np.flatnonzero(w > 0):
            without = w.copy()
            without[i] *= 1.0 - left[i]
            refit = fitted(p, lam, without)[i]
            np.testing.assert_allclose(path.residuals[k, i], p.targets[i] - refit, rtol=0, atol=1e-8)
    assert np.isnan(path.residuals[:, w == 0]).all()
    errors = np.average(path.residuals[:, w > 0] ** 2, axis=1, weights=w[w > 0])
    np.testing.assert_allclose(path.errors, errors, rtol=1e-12)


@pytest.mark.parametrize("n", [2, BAND - 1, BAND, BAND + 1, TILE + 1, STRIP + 2 * BAND + 5])
def test_the_band_is_the_matrix(n):
    rng = np.random.default_rng(n)
    A = np.exp(-np.abs(rng.standard_normal((n, 1)) - rng.standard_normal(n)))
    A = A @ A.T / n
    told = []
    found = banded(lambda rows, columns: A[rows, columns].copy(), n, 2, told.append)
    alone = banded(lambda rows, columns: A[rows, columns].copy(), n, 1)
    U = np.hstack(found.basis)
    np.testing.assert_array_equal(U, np.hstack(alone.basis))
    np.testing.assert_array_equal(found.diagonal, alone.diagonal)
    np.testing.assert_allclose(U.T @ U, np.eye(n), atol=1e-13 * n)
    lams, V = np.array([1e-3, 0.5]), rng.standard_normal((n, 3))
    factors = found.factored(lams)
    for k, lam in enumerate(lams):
        inverse = np.linalg.inv(A + lam * np.eye(n))
        np.testing.assert_allclose(factors.inverse_diagonal()[k], np.diagonal(inverse), rtol=1e-9)
        np.testing.assert_allclose(factors.solve(V)[k], inverse @ V, rtol=0, atol=1e-9 * np.abs(inverse @ V).max())
        assert factors.logdet[k] == pytest.approx(np.linalg.slogdet(A + lam * np.eye(n))[1])
    assert told == sorted(told)
    assert n <= BAND or told[-1] == 1.0


def test_one_refit_a_target_is_the_solvers():
    p = problem(60, intercept=True)
    path = leave_one_out(p, LAMS)
    for k, lam in enumerate(path.lams):
        exact = solve(replace(p, penalty=HalfSquare(lam)), Eigen())
        values = p.gram @ path.coefficients[k] + path.offsets[k]
        np.testing.assert_allclose(values, p.gram @ exact.coefficients + exact.offset, rtol=0, atol=1e-9)


@pytest.mark.parametrize("centers", [None, np.arange(12)])
@pytest.mark.parametrize("intercept", [False, True])
def test_counts_are_rows_repeated_and_zeros_are_absent(centers, intercept):
    w = np.arange(40) % 3.0
    w[0:12] = np.maximum(w[0:12], 1.0)  # the centres are there both times
    p = problem(40, weight=w, intercept=intercept, centers=centers)
    rows = np.concatenate([np.arange(12), np.repeat(np.arange(40), (w - (np.arange(40) < 12)).astype(int))])
    many = Problem(
        gram(p.gram.kernel, p.gram.points[rows], engine=DOUBLE), p.y[rows], Squared(), p.penalty, None, intercept,
        centers,
    )  # fmt: skip  # in the order of the record
    one, other = leave_one_out(p, LAMS, share=one_count(w)), leave_one_out(many, LAMS)
    for name in ("errors", "noise", "log_likelihood"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-8)
    np.testing.assert_allclose(one.residuals[:, rows], other.residuals, rtol=0, atol=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
def test_all_rows_as_centres_change_nothing(intercept):
    p = problem(50, intercept=intercept, weight=0.5 + np.arange(50) % 3)
    one, other = (leave_one_out(replace(p, centers=c), LAMS[1:]) for c in (None, np.arange(50)))
    np.testing.assert_allclose(one.residuals, other.residuals, rtol=0, atol=1e-7)
    np.testing.assert_allclose(one.log_likelihood, other.log_likelihood, rtol=1e-6)
    columns, own = p.gram.kernel([[0.3, 0.2], [3.0, 3.0]], p.gram.points), np.ones(2)
    for name, given in (("influence", (columns, 0.03)), ("variance", (columns, own, 0.03))):
        a, b = (getattr(found.refits, name)(*given) for found in (one, other))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-7)


@pytest.mark.peer
@pytest.mark.parametrize("weight", [None, 0.5 + np.arange(40) % 3])
def test_as_a_gaussian_process(weight):
    p = problem(40, weight=weight, targets=1)
    path = leave_one_out(p, [0.2])
    noise = path.noise[0, 0]
    theirs = GaussianProcessRegressor(
        ConstantKernel(noise / 0.2) * RBF(1.5 / np.sqrt(2)), alpha=noise / p.weights, optimizer=None
    ).fit(p.gram.points, p.y)
    assert path.log_likelihood[0, 0] == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-9)
    X = np.random.default_rng(1).uniform(-3, 3, (20, 2))
    mean, std = theirs.predict(X, return_std=True)
    columns = p.gram.kernel(X, p.gram.points)
    variance = path.refits.variance(columns, np.ones(20), 0.2)
    np.testing.assert_allclose(path.refits.influence(columns, 0.2) @ p.y[:, 0], mean.ravel(), atol=1e-9)
    np.testing.assert_allclose(np.sqrt(noise / 0.2 * variance), std, atol=1e-9)


def test_noise_makes_the_residuals_of_a_process_standard():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (400, 1))
    K = Gaussian(1.0)(X)
    y = np.linalg.cholesky(4.0 * K + 1e-9 * np.eye(400)) @ rng.standard_normal(400) + 0.5 * rng.standard_normal(400)
    p = Problem(gram(Gaussian(1.0), X), y, Squared())
    path = leave_one_out(p, np.geomspace(1e-3, 10.0, 20))
    assert np.sqrt(path.noise[path.best[0], 0]) == pytest.approx(0.5, rel=0.1)


def test_the_best_penalty_of_each_target_and_of_equal_ones_the_largest():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (80, 1))
    y = np.column_stack([np.sin(3 * X[:, 0]), rng.standard_normal(80), np.zeros(80)])
    path = leave_one_out(Problem(gram(Gaussian(0.7), X), y, Squared()), [100.0, 1e-6, 1e-2])
    assert path.lams[path.best].tolist() == [1e-6, 100.0, 100.0]


def test_a_matrix_that_is_not_a_kernel_has_no_fit_below_its_negative_part():
    A = np.diag([3.0, 1.0, -0.5])
    path = leave_one_out(Problem(from_matrix(A), np.ones(3), Squared()), [0.1, 1.0])
    assert np.isinf(path.errors[0, 0])
    assert np.isfinite(path.errors[1, 0])
    assert path.best[0] == 1


def test_a_given_matrix_with_rows_that_do_not_count():
    p = problem(40, weight=np.arange(40) % 3.0, intercept=True)
    given = replace(p, gram=from_matrix(p.gram.block()))
    one, other = (leave_one_out(q, LAMS, share=one_count(p.weight)) for q in (p, given))
    np.testing.assert_allclose(one.residuals, other.residuals, rtol=0, atol=1e-9)


def test_refusals():
    p = problem(30)
    with pytest.raises(ValueError, match=r"leave_one_out: penalties must be numbers > 0; got \[0.0, 1.0\]"):
        leave_one_out(p, [0.0, 1.0])
    with pytest.raises(ValueError, match=r"the squared loss; got Hinge. Use cross-validation."):
        leave_one_out(Problem(p.gram, np.sign(p.y[:, 0]), Hinge()), [1.0])
    tight = replace(p, gram=gram(p.gram.kernel, p.gram.points, engine=Engine(memory=1000)))
    with pytest.raises(MemoryError, match="Give the problem centres"):
        leave_one_out(tight, [1.0])


def test_whole_weights_are_counts():
    assert one_count(None) is None
    assert one_count(np.array([1.5, 2.0])) is None
    np.testing.assert_array_equal(one_count(np.array([0.0, 1.0, 4.0])), [1.0, 1.0, 0.25])


def test_known_refits_serve_other_penalties():
    p = problem(30)
    first = leave_one_out(p, [1.0])
    again = of_refits(p, first.refits, np.array([0.03]))
    np.testing.assert_array_equal(again.residuals, leave_one_out(p, [0.03]).residuals)
