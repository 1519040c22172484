"""Values of each kernel. Oracle: the formula in tests/oracles.py, pair by pair in float64."""

import math

import numpy as np
import pytest

from mercer.kernels import (
    ArcCosine,
    Cauchy,
    Chi2,
    Constant,
    Cosine,
    Gaussian,
    Intersection,
    Laplace,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    SetIntersection,
    Spectrum,
    White,
)
from tests import oracles

A = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.5]])
SCALES = [0.5, 1.0, 2.0]

CASES = [
    (Linear(), oracles.linear, {}),
    (Linear(A), oracles.linear, {"A": A}),
    (Polynomial(3), oracles.polynomial, {"degree": 3}),
    (Polynomial(2, inner=0, outer=4, gamma=0.3), oracles.polynomial, {"inner": 0, "outer": 4, "gamma": 0.3}),
    (Polynomial(11, gamma=0.1), oracles.polynomial, {"degree": 11, "gamma": 0.1}),
    (Gaussian(1.5), oracles.gaussian, {"scale": 1.5}),
    (Gaussian(SCALES), oracles.gaussian, {"scale": SCALES}),
    (Gaussian(A), oracles.gaussian, {"scale": A}),
    (Gaussian.from_length_scale(2.0), oracles.gaussian, {"scale": 2.0 * math.sqrt(2)}),
    (Laplace(1.5), oracles.laplace, {"scale": 1.5}),
    (Laplace(SCALES), lambda X, Y: oracles.laplace(X / SCALES, Y / SCALES), {}),
    (Matern(0.5, scale=1.5), oracles.matern, {"nu": 0.5, "scale": 1.5}),
    (Matern(1.5, scale=1.5), oracles.matern, {"nu": 1.5, "scale": 1.5}),
    (Matern(2.5, scale=1.5), oracles.matern, {"nu": 2.5, "scale": 1.5}),
    (RationalQuadratic(1.0, scale=1.5), oracles.rational_quadratic, {"alpha": 1.0, "scale": 1.5}),
    (RationalQuadratic(2.5, scale=1.5), oracles.rational_quadratic, {"alpha": 2.5, "scale": 1.5}),
    (Cauchy(1.5), oracles.cauchy, {"scale": 1.5}),
    (Cosine(), oracles.cosine, {}),
    (ArcCosine(1), oracles.arc_cosine, {"order": 1}),
    (ArcCosine(2), oracles.arc_cosine, {"order": 2}),
    (Periodic(2.0, scale=1.5), oracles.periodic, {"period": 2.0, "scale": 1.5}),
    (Constant(2.5), oracles.constant, {"value": 2.5}),
    (White(), oracles.white, {}),
    (Chi2(0.7), oracles.chi2, {"scale": 0.7}),
    (Intersection(), oracles.intersection, {}),
]


@pytest.fixture
def rows(rng):
    X, Y = rng.standard_normal((7, 3)), rng.standard_normal((5, 3))
    X[0], X[1], Y[0] = 0.0, Y[1], 0.0
    X[2, 1] = 0.0
    return X, Y


@pytest.mark.uncompiled
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("kernel,oracle,parameters", CASES, ids=[repr(case[0]) for case in CASES])
def test_values(rows, kernel, oracle, parameters, dtype):
    X, Y = (3 * block for block in rows) if dtype is np.int64 else rows
    X, Y = X.astype(dtype), Y.astype(dtype)
    if isinstance(kernel, (Chi2, Intersection)):
        X, Y = np.abs(X), np.abs(Y)
    # The plain rules run in float64 whatever comes, so the numbers given are the only thing rounded.
    wanted = oracle(X.astype(np.float64), Y.astype(np.float64), **parameters)
    np.testing.assert_allclose(kernel(X, Y), wanted, rtol=oracles.tolerance(np.float64, 50), atol=1e-15)
    np.testing.assert_allclose(
        kernel(X.tolist(), Y.tolist()), wanted, rtol=oracles.tolerance(np.float64, 50), atol=1e-15
    )


def test_arc_cosine_of_order_0_has_a_corner(rows):
    X, Y = rows
    np.testing.assert_allclose(ArcCosine(0)(X, Y), oracles.arc_cosine(X, Y, order=0), rtol=0, atol=2e-8)
    assert ArcCosine(0)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]).tolist() == [[0.5, 0.5]]


def test_periodic_repeats_however_far(rng):
    X = rng.standard_normal((6, 1))
    k = Periodic(0.25, scale=1.5)
    np.testing.assert_allclose(k(X, X + 3 * 0.25), k(X), rtol=1e-12)
    grid = np.arange(6.0)[:, None] / 16  # exact in binary, and so is grid + 1e6
    np.testing.assert_array_equal(k(grid + 1e6), k(grid))


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern_is_one_at_zero_and_nothing_far_off(nu):
    here, near, far = Matern(nu)([[0.0]], [[0.0], [1e-300], [1e200]])[0]
    assert here == near == 1.0
    assert 0 <= far < 1e-290


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("make", [Gaussian, Laplace, Matern, Cauchy, RationalQuadratic], ids=lambda m: m.__name__)
def test_scales_as_small_or_large_as_the_data(rng, make, size):
    X = rng.standard_normal((6, 2))
    np.testing.assert_allclose(make(scale=size)(X * size), make(scale=1.0)(X), rtol=1e-12)
    np.testing.assert_allclose(make(scale="median")(X * size), make(scale="median")(X), rtol=1e-12)


def test_rational_quadratic_tends_to_the_gaussian(rows):
    np.testing.assert_allclose(RationalQuadratic(1e9, scale=2.0)(*rows), Gaussian(2.0)(*rows), rtol=1e-6)


# ------------------------------------------------------------------------------------------------- objects and strings


def test_sets_match_the_oracle():
    X = [{"a", "b"}, frozenset("bcd"), ["a", "a"], (), {1, "a", (2, 3)}]
    Y = [set("ab"), {1}, {(2, 3), "q"}]
    np.testing.assert_array_equal(SetIntersection()(X, Y), oracles.set_intersection(X, Y))
    np.testing.assert_array_equal(SetIntersection()(X), oracles.set_intersection(X))


def test_sets_as_tables_match_sets(rng):
    from scipy import sparse

    table = rng.random((8, 6)) < 0.5
    lists = [set(np.flatnonzero(row).tolist()) for row in table]
    wanted = oracles.set_intersection(lists)
    for X in (table, table.astype(np.int8), table.astype(np.float32), sparse.csr_matrix(table)):
        np.testing.assert_array_equal(SetIntersection()(X), wanted)
    np.testing.assert_array_equal(SetIntersection()(np.array([*lists, None], dtype=object)[:-1]), wanted)


@pytest.mark.parametrize("k,mismatches", [(1, 0), (2, 0), (3, 0), (2, 1), (3, 1), (3, 2)])
def test_spectrum_matches_the_oracle(k, mismatches):
    X, Y = ["ACGTAC", "AAAA", "", "AC", "TTACG"], ["ACG", "GGGGGG", "CACAC"]
    kernel = Spectrum(k, mismatches=mismatches, alphabet="ACGT")
    wanted = oracles.spectrum(X, Y, k=k, mismatches=mismatches, alphabet="ACGT")
    np.testing.assert_array_equal(kernel(X, Y), wanted)
    np.testing.assert_array_equal(kernel(np.array(X, dtype=object).reshape(-1, 1), Y), wanted)
    if not mismatches:
        np.testing.assert_array_equal(Spectrum(k)(X, Y), wanted)


def test_white_compares_rows_and_objects(rng):
    X = rng.integers(0, 2, (10, 3)).astype(float)
    np.testing.assert_array_equal(White()(X), oracles.white(X))
    assert White()([[0.0]], [[-0.0]]).tolist() == [[1.0]]
    assert White()(["a", "b"], ["b"]).tolist() == [[0.0], [1.0]]
    assert White()([{1, 2}, {3}], [frozenset({2, 1})]).tolist() == [[1.0], [0.0]]
    assert White()([(1, "a"), (2, "a")]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
