"""Certificates never promise more than the truth: the oracle is the same problem in 60 digits."""

import numpy as np
import pytest

from mercer import gram
from mercer.gram import from_matrix
from mercer.kernels import Gaussian
from mercer.losses import Squared
from mercer.solvers import (
    Auto,
    Eigen,
    HalfSquare,
    Problem,
    certify,
    solve,
)
from tests.solvers.exact import Exact
from tests.solvers.problems import random_case


def assert_honest(proof, exact, c, b, Z, X):
    assert exact.distance(c, Z) <= proof.radius[0]
    assert abs(b - exact.b) <= proof.offset[0]
    far = X[:1] + 0.37 * np.abs(X).max()
    for points in (X, far):
        off = np.abs(values(c, b, Z, points, exact) - exact(points))
        assert np.all(off <= proof.prediction_bound(points) + 1e-14 * np.abs(exact(points)))


def values(c, b, Z, points, exact):
    return Gaussian(scale=exact.scale)(points, Z) @ c + b


@pytest.mark.parametrize("block", range(6))
def test_the_true_distance_never_exceeds_the_bound(block):
    for seed in range(50 * block, 50 * block + 50):
        case = random_case(seed)
        exact = Exact(*case)
        found = solve(case.problem(), Eigen() if seed % 3 == 0 else Auto(), certify="full")
        assert_honest(found.certificate, exact, found.coefficients, found.offset[0], case.X, case.X)
        rng = np.random.default_rng(seed)  # a worse answer is as well certified
        c = found.coefficients * (1 + 10.0 ** rng.uniform(-12, 0) * rng.standard_normal(len(case.y)))
        proof = certify(case.problem(), c, found.offset)
        assert_honest(proof, exact, c, found.offset[0], case.X, case.X)
        assert proof.gap[0] >= 0
        assert proof.dual[0] <= proof.primal[0]


@pytest.mark.parametrize("block", range(3))
def test_on_centers_too(block):
    for seed in range(40 * block, 40 * block + 40):
        case = random_case(seed)
        rng = np.random.default_rng(seed)
        Z = case.X[rng.integers(0, len(case.X), int(rng.integers(1, 8)))] + (seed % 2) * 0.1 * np.abs(case.X).max()
        problem = case.problem(Z)
        found = solve(problem, certify="none")
        c, b = found.coefficients, found.offset
        proof = certify(problem, c, b, full=False)
        used = Z[c != 0] if "of the" in proof.scope else Z  # centres that depend on others up to rounding are left out
        assert_honest(proof, Exact(*case, Z=used), c, b[0], Z, case.X)
        assert_honest(certify(problem, c, b, full=True), Exact(*case), c, b[0], Z, case.X)


def test_where_it_matters_the_bound_is_tight(rng):
    X = rng.standard_normal((40, 2))
    problem = Problem(gram(Gaussian(1.0), X), np.sin(X[:, 0]), Squared(), HalfSquare(0.1))
    exact = Exact(X, problem.y, 1.0, 0.1)
    found = solve(problem)
    assert found.certificate.relative_gap < 1e-12
    c = found.coefficients + 1e-3 * rng.standard_normal(40)
    assert certify(problem, c).radius[0] <= 10 * exact.distance(c, X)


def test_on_centers_the_bound_is_tight(rng):
    X = rng.standard_normal((60, 2))
    problem = Problem(gram(Gaussian(1.0), X), np.sin(X[:, 0]), Squared(), HalfSquare(0.1), centers=np.arange(8))
    exact = Exact(X, problem.y, 1.0, 0.1, Z=X[:8])
    found = solve(problem, certify="none")
    assert certify(problem, found.coefficients, full=False).relative_gap < 1e-8
    c = found.coefficients + 1e-3 * rng.standard_normal(8)
    proof = certify(problem, c, full=False)
    # A gradient may be as much larger than the distance as the loss is steeper than the penalty, and not more.
    steepest = np.linalg.eigvalsh(Gaussian(1.0)(X))[-1]
    assert proof.radius[0] <= (1 + steepest / 0.1) * exact.distance(c, X[:8])
    assert proof.scope == "functions on the 8 centres"
    assert certify(problem, c, full=True).radius[0] > proof.radius[0]


def test_centers_that_depend_on_each_other(rng):
    X = rng.standard_normal((50, 1))
    Z = np.linspace(-1, 1, 40).reshape(-1, 1)  # some ten sections span the rest, up to rounding
    problem = Problem(gram(Gaussian(3.0), X), np.sin(X[:, 0]), Squared(), HalfSquare(0.1), centers=Z)
    found = solve(problem, certify="none")
    proof = certify(problem, found.coefficients, full=False)
    assert "of the 40 centres" in proof.scope
    assert proof.relative_gap < 1e-4
    assert np.isinf(certify(problem, np.ones(40), full=False).gap[0])
    assert np.isfinite(certify(problem, np.ones(40), full=True).gap[0])


def test_the_certificate_is_about_the_data_not_the_tiles(rng):
    X = rng.standard_normal((30, 3))
    K = Gaussian(2.0)(X).astype(np.float32)
    y = rng.standard_normal(30)
    given = Problem(from_matrix(K), y, Squared(), HalfSquare(0.5))
    c = np.linalg.solve(K.astype(np.float64) + 0.5 * np.eye(30), y)
    assert certify(given, c).relative_gap < 1e-12


def test_several_targets_and_penalties(rng):
    X, Y = rng.standard_normal((25, 2)), rng.standard_normal((25, 3))
    lam = (0.1, 1.0, 10.0)
    found = solve(Problem(gram(Gaussian(1.0), X), Y, Squared(), HalfSquare(lam)))
    for k in range(3):
        assert Exact(X, Y[:, k], 1.0, lam[k]).distance(found.coefficients[:, k], X) <= found.certificate.radius[k]
    assert found.certificate.prediction_bound(X).shape == (25, 3)


def test_without_a_penalty_nothing_is_promised(rng):
    X = rng.standard_normal((10, 2))
    found = solve(Problem(gram(Gaussian(1.0), X), X[:, 0], Squared(), HalfSquare(0.0)))
    assert np.isinf(found.certificate.radius[0])
    assert found.certificate.primal[0] < 1e-20
    for full in (True, False):
        found = solve(
            Problem(gram(Gaussian(1.0), X), X[:, 0], Squared(), HalfSquare(0.0), centers=np.arange(4)),
            certify="full" if full else "auto",
        )
        assert np.isinf(found.certificate.radius[0])
        assert 0 < found.certificate.gap[0] <= found.certificate.primal[0] * (1 + 1e-9)


def test_it_reads_as_one_block(rng):
    X = rng.standard_normal((10, 2))
    text = str(solve(Problem(gram(Gaussian(1.0), X), X[:, 0], Squared(), HalfSquare(1.0))).certificate)
    assert text.splitlines()[0] == "certificate, for all functions of the space"
    assert len(text.splitlines()) == 7


def test_coefficients_of_another_shape_are_refused(rng):
    problem = Problem(gram(Gaussian(1.0), rng.standard_normal((5, 1))), np.ones(5), Squared(), centers=[0, 1])
    with pytest.raises(ValueError, match=r"certify: coefficients of shape \(2, 1\); got shape \(5, 1\)"):
        certify(problem, np.ones(5))
