"""RKHSFunction: the reproducing property and the laws that follow, against plain sums of kernel values."""

import itertools

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mercer.functions import RKHS, RKHSFunction, inner, section
from mercer.kernels import (
    Custom,
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    SetIntersection,
    Spectrum,
    White,
    exp,
)
from mercer.spaces import laws
from tests.oracles import tolerance

SEEDS = st.integers(0, 2**32 - 1)
KERNELS = st.sampled_from(
    [
        Linear(),
        Polynomial(degree=3),
        Gaussian(1.5),
        Laplace(2.0),
        Matern(nu=1.5) + 0.5 * Linear(),
        Gaussian(1.0) * Linear(),
    ]
)


def some_function(rng, kernel, n=None, d=2):
    n = n or int(rng.integers(1, 7))
    return RKHSFunction(kernel, rng.standard_normal((n, d)), rng.standard_normal(n))


def size(*functions):
    """The scale that roundings of inner products are relative to: (sum |a_i| sqrt(k_ii))^2."""
    parts = [np.abs(f.coefficients).T @ np.sqrt(np.maximum(np.diagonal(f.kernel(f.centers)), 0)) for f in functions]
    return float(np.sum(parts)) ** 2


def near(a, b, scale=1.0, n=16):
    return a == pytest.approx(b, abs=tolerance(np.float64, n) * max(scale, 1e-300), rel=0)


# --------------------------------------------------------------------------------------------------------------- oracle


@given(SEEDS, KERNELS)
def test_values_and_inner_products_are_plain_sums(seed, kernel):
    rng = np.random.default_rng(seed)
    f, g, X = some_function(rng, kernel), some_function(rng, kernel), rng.standard_normal((5, 2))
    assert np.allclose(f(X), kernel(X, f.centers) @ f.coefficients, rtol=0, atol=1e-12 * max(1.0, size(f)))
    plain = sum(
        a * b * kernel([x], [z])[0, 0]
        for a, x in zip(f.coefficients, f.centers, strict=True)
        for b, z in zip(g.coefficients, g.centers, strict=True)
    )
    assert near(inner(f, g), plain, size(f, g))
    assert near(f.inner(g), g.inner(f), size(f, g))


def test_large_evaluations_go_by_tiles(rng):
    X, Z = rng.standard_normal((600, 3)), rng.standard_normal((300, 3))
    f = RKHSFunction(Gaussian(1.0), Z, rng.standard_normal(300))
    assert np.allclose(f(X), Gaussian(1.0)(X, Z) @ f.coefficients, rtol=0, atol=1e-11)
    assert f(X).dtype == np.float64


# ----------------------------------------------------------------------------------------------------------------- laws


@given(SEEDS, KERNELS)
def test_evaluation_is_an_inner_product(seed, kernel):
    rng = np.random.default_rng(seed)
    f, x = some_function(rng, kernel), rng.standard_normal(2)
    k_x = section(kernel, x)
    assert near(inner(f, k_x), f(x[None])[0], size(f, k_x))
    assert near(k_x.norm() ** 2, kernel(x[None])[0, 0], size(k_x))


@given(SEEDS, KERNELS)
def test_values_are_bounded_by_the_norm(seed, kernel):
    rng = np.random.default_rng(seed)
    f, X = some_function(rng, kernel), rng.standard_normal((20, 2)) * 3
    assert (np.abs(f(X)) <= f.bound(X) * (1 + 1e-9) + 1e-12 * size(f)).all()
    k_x = section(kernel, X[0])
    assert near(k_x.bound(X[:1])[0], abs(k_x(X[:1])[0]), size(k_x))  # equality at the section itself


@given(SEEDS, KERNELS)
def test_parallelogram_and_cauchy_schwarz(seed, kernel):
    rng = np.random.default_rng(seed)
    f, g = some_function(rng, kernel), some_function(rng, kernel)
    assert near((f + g).norm() ** 2 + (f - g).norm() ** 2, 2 * f.norm() ** 2 + 2 * g.norm() ** 2, size(f, g))
    assert laws.cauchy_schwarz(f, g, RKHS(kernel), tol=1e-8)
    assert laws.parallelogram(f, g, RKHS(kernel), tol=1e-8)


@given(SEEDS, KERNELS, st.integers(1, 5))
def test_pythagoras_for_a_projection(seed, kernel, m):
    rng = np.random.default_rng(seed)
    f, points = some_function(rng, kernel), rng.standard_normal((m, 2))
    p = f.project(points)
    rounding = 1e-8 * max(1.0, size(f, p))
    assert abs(p.norm() ** 2 + f.distance(p) ** 2 - f.norm() ** 2) <= rounding
    assert np.allclose(p(points), f(points), rtol=0, atol=rounding)  # least squares in the space interpolates
    for x in points:
        assert abs(inner(f - p, section(kernel, x))) <= rounding
    assert p.project(points).distance(p) <= np.sqrt(rounding)


@given(SEEDS, KERNELS)
def test_the_projection_is_the_nearest(seed, kernel):
    rng = np.random.default_rng(seed)
    f, points = some_function(rng, kernel), rng.standard_normal((3, 2))
    p = f.project(points)
    for _ in range(3):
        other = RKHSFunction(kernel, points, rng.standard_normal(3) * 0.1) + p
        assert f.distance(p) <= f.distance(other) + 1e-7 * np.sqrt(size(f, p, other))


@given(SEEDS, KERNELS)
def test_addition_is_of_values(seed, kernel):
    rng = np.random.default_rng(seed)
    f, g, X = some_function(rng, kernel), some_function(rng, kernel), rng.standard_normal((4, 2))
    for h, values in ((f + g, f(X) + g(X)), (2 * f - g / 4, 2 * f(X) - g(X) / 4), (-f, -f(X)), (f * 0, 0 * f(X))):
        assert np.allclose(h(X), values, rtol=0, atol=1e-12 * max(1.0, size(f, g)))


# --------------------------------------------------------------------------------------------- one function, many forms


@given(SEEDS, KERNELS)
def test_the_inner_product_does_not_see_the_representation(seed, kernel):
    rng = np.random.default_rng(seed)
    f, g = some_function(rng, kernel, 3), some_function(rng, kernel)
    halves = rng.standard_normal(3)
    twice = RKHSFunction(kernel, np.vstack([f.centers, f.centers]), np.concatenate([halves, f.coefficients - halves]))
    assert near(inner(twice, g), inner(f, g), size(twice, g))
    assert near(twice.norm() ** 2, f.norm() ** 2, size(twice))
    assert f.isclose(twice)
    assert not f.isclose(f + 0.01 * section(kernel, [5.0, 5.0]))


def test_dependent_sections_make_one_function():
    f = RKHSFunction(Linear(), [[1.0, 0.0], [0.0, 1.0]], [2.0, 3.0])
    g = RKHSFunction(Linear(), [[2.0, 3.0]], [1.0])
    h = RKHSFunction(Linear(), [[1.0, 1.0], [1.0, -1.0]], [2.5, -0.5])
    assert f.isclose(g)
    assert f.isclose(h)
    assert f.distance(g) == 0.0
    assert f.norm() == pytest.approx(np.sqrt(13))


def test_equal_centres_merge():
    k = Gaussian(1.0)
    f = RKHSFunction(k, [[0.0], [1.0]], [1.0, 2.0])
    g = RKHSFunction(k, [[1.0], [-0.0], [3.0]], [5.0, 1.0, 1.0])
    h = f + g
    assert h.centers.ravel().tolist() == [0.0, 1.0, 3.0]
    assert h.coefficients.tolist() == [2.0, 7.0, 1.0]
    assert (f - g).centers.ravel().tolist() == [1.0, 3.0]  # the centre at 0 cancels
    zero = f - RKHSFunction(k, np.array([[0.0], [1.0]]), [1.0, 2.0])
    assert zero.norm() == 0.0
    assert len(zero.centers) == 1


def test_sums_start_at_zero():
    k = Gaussian(1.0)
    f = sum(np.float64(2.0) * section(k, x) for x in (0.0, 1.0))
    assert f.coefficients.tolist() == [2.0, 2.0]


# ------------------------------------------------------------------------------------------------------------- compress


@given(SEEDS, st.sampled_from([Gaussian(1.0), Laplace(1.0), Polynomial(degree=2)]), st.integers(1, 12))
def test_the_error_of_compress_is_the_distance(seed, kernel, m):
    rng = np.random.default_rng(seed)
    f = some_function(rng, kernel, 12)
    short = f.compress(m)
    g = short.function
    assert len(short.kept) == len(g.centers) <= m
    assert np.array_equal(g.centers, f.centers[short.kept])
    c = np.concatenate([f.coefficients, -g.coefficients])
    K = mpmath.matrix(kernel(np.vstack([f.centers, g.centers])).tolist())
    with mpmath.workdps(40):
        c = mpmath.matrix(c.tolist())
        truth = float((c.T * K * c)[0])
    assert short.error**2 == pytest.approx(truth, abs=tolerance(np.float64, 16) * size(f, g))
    X = rng.standard_normal((10, 2))
    assert (np.abs(f(X) - g(X)) <= short.bound(X) * (1 + 1e-6) + 1e-7 * np.sqrt(size(f, g))).all()


@given(SEEDS)
def test_more_centres_are_never_worse_and_all_are_enough(seed):
    f = some_function(np.random.default_rng(seed), Laplace(1.0), 8)
    errors = [f.compress(m).error for m in range(1, 9)]
    assert all(b <= a + 1e-7 * f.norm() for a, b in itertools.pairwise(errors))
    assert errors[-1] <= 1e-6 * np.sqrt(size(f))


def test_compress_beats_first_come_and_matches_the_best_of_one(rng):
    f = some_function(rng, Gaussian(1.0), 40)
    short = f.compress(5)
    assert short.error < f.distance(f.project(f.centers[:5]))
    one = min(f.distance(f.project(x[None])) for x in f.centers)
    assert f.compress(1).error == pytest.approx(one, rel=1e-6)


def test_compress_stops_at_the_rank(rng):
    f = some_function(rng, Linear(), 20)
    short = f.compress(10)
    assert len(short.kept) == 2
    assert short.error <= 1e-7 * np.sqrt(size(f))
    zero = RKHSFunction(Linear(), [[0.0], [0.0]], [1.0, 2.0])
    assert zero.compress(2).error == 0.0


# --------------------------------------------------------------------------------------------------------- many outputs


def test_several_outputs_are_a_product_space(rng):
    k, X, A = Gaussian(1.0), rng.standard_normal((6, 2)), rng.standard_normal((6, 3))
    f = RKHSFunction(k, X, A)
    parts = [RKHSFunction(k, X, a) for a in A.T]
    Z = rng.standard_normal((4, 2))
    assert f(Z).shape == (4, 3)
    assert np.allclose(f(Z), np.stack([p(Z) for p in parts], axis=1))
    assert f.norm() ** 2 == pytest.approx(sum(p.norm() ** 2 for p in parts))
    projected = f.project(Z)
    assert np.allclose(projected(Z), f(Z))
    assert f.compress(4).function.coefficients.shape == (4, 3)
    assert f.distance(f.compress(6).function) <= 1e-5
    assert (f - f.compress(2).function).coefficients.shape[1] == 3
    assert "3 outputs" in repr(f)
    with pytest.raises(ValueError, match="as many outputs"):
        f + parts[0]


# -------------------------------------------------------------------------------------------------------------- weights


@given(SEEDS)
def test_linear_functions_are_hyperplanes(seed):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((3, 3))
    X, Z, a = rng.standard_normal((5, 3)), rng.standard_normal((4, 3)), rng.standard_normal(5)
    for kernel in (Linear(), Linear(A=B @ B.T), 2 * Linear() + 0.5 * Linear(), 3 * Linear().on([2, 0])):
        f = RKHSFunction(kernel, X, a)
        assert np.allclose(Z @ f.weights(), f(Z), rtol=0, atol=1e-11 * max(1.0, size(f)))
    f = RKHSFunction(Linear(), X, a)
    assert np.linalg.norm(f.weights()) == pytest.approx(f.norm())


def test_weights_of_tables_and_sparse_rows():
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]})
    assert RKHSFunction(Linear().on(["b"]), table, [1.0, 1.0]).weights().tolist() == [0.0, 8.0]
    rows = sparse.csr_matrix([[1.0, 0.0], [0.0, 2.0]])
    assert RKHSFunction(Linear(), rows, [1.0, 3.0]).weights().tolist() == [1.0, 6.0]
    assert RKHSFunction(Linear(), [[1.0, 2.0]], [[1.0, 2.0]]).weights().tolist() == [[1.0, 2.0], [2.0, 4.0]]


def test_weights_of_sums_on_different_columns():
    X = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    kernel = 2 * Linear().on([0]) + Linear().on([1, 2]) + 0.5 * Linear()
    f = RKHSFunction(kernel, X, [1.0, -2.0])
    assert np.allclose(X @ f.weights(), f(X), rtol=1e-14)
    with pytest.raises(ValueError, match="or a sum of such"):
        RKHSFunction(Linear().on([0]) + Linear().on([1]) * Linear().on([2]), X, [1.0, 1.0]).weights()


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear() + 1, Linear() * Linear(), Linear().normalized()])
def test_other_kernels_have_no_weights(kernel):
    with pytest.raises(ValueError, match="weights: the kernel must be linear"):
        RKHSFunction(kernel, [[1.0, 2.0]], [1.0]).weights()


# -------------------------------------------------------------------------------------------------- all kinds of points


def test_sets_and_strings():
    k = exp(SetIntersection())
    f = section(k, {"a", "b"}) - 2 * section(k, {"b"}) + section(k, {"a", "b"})
    assert len(f.centers) == 2
    assert f([{"b"}]).tolist() == pytest.approx([2 * np.e - 2 * np.e])
    assert inner(f, section(k, set())) == pytest.approx(f([set()])[0])
    g = RKHSFunction(Spectrum(k=1), ["ab", "ba", "c"], [1.0, 1.0, 1.0])
    assert g.project(["ab", "ba"]).centers in (["ab"], ["ba"])  # the same letters: one section
    assert g.compress(2).error == pytest.approx(0.0, abs=1e-7)


def test_frames_and_sparse_rows(rng):
    X = rng.standard_normal((6, 3)).round(2)
    a, k = rng.standard_normal(6), Gaussian(2.0)
    plain = RKHSFunction(k, X, a)
    for points in (pd.DataFrame(X, columns=list("abc")), sparse.csr_matrix(X), X.tolist()):
        f = RKHSFunction(k, points, a)
        assert np.allclose(f(points), plain(X))
        assert f.norm() == pytest.approx(plain.norm())
        assert (f + 2 * f).distance(3 * f) == pytest.approx(0.0, abs=1e-9)
        half = RKHSFunction(k, points[:3] if not hasattr(points, "iloc") else points.iloc[:3], a[:3])
        assert (f - half).norm() == pytest.approx(RKHSFunction(k, X[3:], a[3:]).norm())
        assert f.project(points).distance(f) <= 1e-6
        assert len(f.compress(2).kept) == 2
    assert (plain - RKHSFunction(k, sparse.csr_matrix(X), a)).norm() == 0.0
    row = pd.DataFrame(X, columns=list("abc")).iloc[2]
    assert section(k, row)(pd.DataFrame(X, columns=list("abc")))[2] == 1.0


def test_points_that_are_indices():
    K = np.array([[2.0, 1.0], [1.0, 3.0]])
    f = RKHSFunction(Precomputed(K), [0, 1], [1.0, -1.0])
    assert f([0, 1]).tolist() == [1.0, -2.0]
    assert f.norm() == pytest.approx(np.sqrt(3.0))
    assert section(Precomputed(K), 1)([0]).tolist() == [1.0]


def test_other_objects():
    k = White()
    f = RKHSFunction(k, [("a", 1), ("b", 2), ("a", 1)], [1.0, 2.0, 3.0])
    assert section(k, [("b", 2)])(f.centers).tolist() == [0.0, 1.0, 0.0]
    assert (f + f).coefficients.tolist() == [2.0, 4.0, 6.0]
    assert (f + section(k, "z")).coefficients.tolist() == [4.0, 2.0, 1.0]
    by_keys = Custom(lambda s, t: float(len(s.keys() & t.keys())))
    g = section(by_keys, {"a": 1}) + section(by_keys, {"a": 1})
    assert g.norm() == pytest.approx(2.0)  # a dictionary has no name to merge by; the function is the same


def test_a_scale_from_data_is_resolved_on_the_centres():
    f = RKHSFunction(Gaussian(scale="median"), [[0.0], [1.0], [2.0]], [1.0, 1.0, 1.0])
    assert isinstance(f.kernel.scale, float)


def test_a_function_is_frozen():
    a = np.array([1.0, 2.0])
    f = RKHSFunction(Linear(), [[1.0], [2.0]], a)
    a[0] = 9.0
    assert f.coefficients.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        f.coefficients[0] = 3.0
    with pytest.raises(AttributeError):
        f.kernel = Gaussian(1.0)


# ------------------------------------------------------------------------------------------------------------ bad input


F = RKHSFunction(Linear(), [[1.0, 0.0]], [1.0])


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: RKHSFunction("rbf", [[1.0]], [1.0]), "RKHSFunction: 'kernel' must be a Kernel; got 'rbf'"),
        (lambda: RKHSFunction(Linear(), [[1.0]], [1.0, 2.0]), r"for each of the 1 centres; got shape \(2,\)"),
        (lambda: RKHSFunction(Linear(), [[1.0]], [np.nan]), "'coefficients' must be finite"),
        (lambda: RKHSFunction(Linear(), [[1.0]], ["a"]), "'coefficients' must be real numbers"),
        (lambda: RKHSFunction(Linear(), [[1.0]], [[[1.0]]]), "'coefficients' must be one number"),
        (
            lambda: RKHSFunction(Linear(), [[np.nan]], [1.0]),
            "centers must hold finite numbers; got nan in row 0, column 0",
        ),
        (lambda: RKHSFunction(Linear(), [], []), "must"),
        (lambda: RKHSFunction(Linear(), 3.0, [1.0]), "centers must be a table of rows"),
        (lambda: RKHSFunction(Linear(), [[1j]], [1.0]), "must be real"),
        (lambda: F([1.0, 0.0]), "two-dimensional"),
        (lambda: F([[1.0]]), "columns"),
        (lambda: F("ab"), "must be a table of rows"),
        (lambda: F + 1, "both must be functions of an RKHS; got 1"),
        (lambda: F * F, "'a' must be a number"),
        (lambda: F * np.inf, "'a' must be a finite number"),
        (lambda: F / 0, "'a' must be a number other than 0"),
        (lambda: F / "a", "'a' must be a number other than 0"),
        (
            lambda: F + section(Gaussian(1.0), [1.0, 0.0]),
            "f \\+ g: functions of one kernel; got Linear\\(\\) and Gaussian",
        ),
        (lambda: F + section(Linear(), [1.0]), "as many columns; got 1 and 2"),
        (lambda: F + section(Linear(), pd.DataFrame([[1.0, 2.0]])), "one kind of container"),
        (lambda: inner(F, section(Polynomial(), [1.0, 0.0])), "inner: functions of one kernel"),
        (lambda: inner(1, F), "inner: both must be functions of an RKHS; got 1"),
        (lambda: F.angle(0.0 * F), "angle needs vectors of norm > 0"),
        (lambda: F.compress(0), "'m' must be an integer >= 1; got 0"),
        (lambda: F.project([[1.0, 0.0]], tol=-1), "'tol'"),
        (lambda: F.isclose(F, tol=-1), "'tol'"),
        (lambda: section(Linear(), [[1.0], [2.0]]), "x must be one point; got 2 of them"),
        (lambda: section(Linear(), [np.inf]), "must hold finite numbers"),
        (lambda: section(SetIntersection(), [{1}, {2}]), "x must be one point; got 2"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_frames_of_other_columns_do_not_join():
    a, b = (section(Linear(), pd.DataFrame([[1.0, 2.0]], columns=list(names))) for names in ("ab", "ba"))
    with pytest.raises(ValueError, match="the same columns"):
        a + b
    assert (a + a).coefficients.tolist() == [2.0]
    assert a.project(pd.DataFrame([[0.0, 0.0]], columns=list("ab"))).norm() == 0.0
