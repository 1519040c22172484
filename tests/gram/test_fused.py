"""The promised accuracy of entries. The oracle is the formula in float64 (long double where float64 is tested)."""

import numpy as np
import pytest
from scipy import sparse

from mercer import Engine, gram
from mercer.kernels import Gaussian, Laplace, Linear, Matern
from mercer.kernels._form import Fused
from mercer.kernels._statistics import Squares
from tests.gram.conftest import assert_entries, assert_product, points


def exact(X, Y, scale):
    """exp(-|x - z|^2 / scale^2) from differences in long double."""
    X, Y = np.asarray(X, np.longdouble), np.asarray(Y, np.longdouble)
    t = np.zeros((len(X), len(Y)), np.longdouble)
    for k in range(X.shape[1]):
        t += (X[:, k, None] - Y[:, k]) ** 2
    return np.exp(-t / np.longdouble(scale) ** 2)


def worst(got, wanted, least=1e-3):
    """The largest relative error among entries that matter."""
    at = wanted > least
    return float(np.max(np.abs(got[at] - wanted[at]) / wanted[at]))


@pytest.mark.parametrize("kind", ["X = Y", "X and Y"])
@pytest.mark.parametrize("shift", [0.0, 1e4])
@pytest.mark.parametrize("widen", [1.0, np.sqrt(2.0)], ids=["sqrt(d)", "sqrt(2d)"])
@pytest.mark.parametrize("d", [1, 3, 20, 32, 33, 100, 784, 1000])
def test_the_promised_accuracy(d, widen, shift, kind, rng, compiled):
    X = points(rng, 260, d)
    X[1::2] = X[::2] + 0.1 * points(rng, 130, d)  # near ones too: standard normal rows are all far apart for large d
    X += shift
    Y = X[100:150] if kind == "X and Y" else None
    scale = float(widen * np.sqrt(d))
    wanted = exact(X, X if Y is None else Y, scale)
    allowed = {"single": 2e-6 if d <= 32 else 2e-5, "double": 1e-13}
    for precision, most in allowed.items():
        got = gram(Gaussian(scale), X, Y, Engine(precision=precision)).block()
        # Float64 cannot hold X to better than shift * eps: what the data lose is not the engine's.
        lost = 4 * shift * np.finfo(float).eps / widen if precision == "double" else 0.0
        assert worst(got, wanted) < most + lost


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_data_are_taken_as_they_are(dtype, rng, compiled):
    X = points(rng, 200, 5, dtype) + dtype(100)
    got = gram(Gaussian(3.0), X, engine=Engine(precision="double")).block()
    assert worst(got, exact(X, X, 3.0)) < 1e-13


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("d", [3, 32, 33, 300])
def test_duplicates_have_kernel_one_exactly(d, precision, rng, compiled):
    X = points(rng, 300, d) + 1e4
    X[150:] = X[:150]
    for A, B in ((X, None), (X, X[::-1].copy())):
        K = gram(Gaussian(np.sqrt(d)), A, B, Engine(precision=precision)).block()
        K = K if B is None else K[:, ::-1]
        assert (np.diagonal(K) == 1).all()
        assert (np.diagonal(K, 150) == 1).all()
    S = sparse.csr_matrix(np.where(X > 1e4, X - 1e4, 0.0))
    assert (np.diagonal(gram(Gaussian(3.0), S, engine=Engine(precision=precision)).block(), 150) == 1).all()


@pytest.mark.parametrize("d", [3, 33, 200])
@pytest.mark.parametrize("apart", [1e-2, 1e-4, 1e-6])
def test_near_duplicates(apart, d, rng, compiled):
    """The distance of two near points keeps its digits, so kernels that are sharp at 0 do too."""
    X = points(rng, 200, d).astype(np.float32)
    X[100:] = X[:100] * (1 + np.float32(apart))
    K = gram(Matern(0.5, scale=apart * np.sqrt(d)), X).block()
    near = np.sqrt(((X[:100].astype(float) - X[100:]) ** 2).sum(axis=1))
    wanted = np.exp(-near / (apart * np.sqrt(d)))
    # Centring rounds each coordinate once more, to eps of its size; that is what is left to lose.
    lost = 4 * np.finfo(np.float32).eps / apart
    np.testing.assert_allclose(np.diagonal(K, 100), wanted, rtol=1e-5 + lost)


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("d", [3, 40])
def test_two_far_clusters(d, precision, rng, compiled):
    X = 0.01 * points(rng, 200, d)
    X[::2] += 1.0
    engine = Engine(precision=precision)
    K = gram(Gaussian(0.05 * np.sqrt(d)), X, engine=engine).block()
    wanted = exact(X, X, 0.05 * np.sqrt(d))
    # Rounding moves a coordinate of size 1/2 by eps / 4, so a distance of 0.01 in units of 0.05 by some 10 eps.
    assert worst(K, wanted) < 40 * np.finfo(engine.dtype).eps
    assert K[0, 1] < 1e-30


@pytest.mark.parametrize("constant", [0.0, 1.0, 1e12, 1e30, 1e100, -1e100])
@pytest.mark.parametrize("d", [3, 40])
def test_constant_columns_change_nothing(d, constant, rng, compiled):
    X = points(rng, 200, d)
    with_constant = np.column_stack([X, np.full(200, constant)])
    for precision in ("single", "double"):
        engine = Engine(precision=precision)
        for B in (None, with_constant[::3]):
            K = gram(Gaussian(np.sqrt(d)), with_constant, B, engine).block()
            assert worst(K, exact(X, X if B is None else X[::3], np.sqrt(d))) < (
                2e-5 if precision == "single" else 1e-13
            )


@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("size", [1e-130, 1e-20, 1e-13, 1e-5, 1e5, 1e14, 1e20, 1e100])
def test_units_do_not_matter(size, d, rng, compiled):
    X, v = points(rng, 300, d), rng.standard_normal(300)
    for precision in ("single", "double"):
        engine = Engine(precision=precision)
        plain = gram(Gaussian(np.sqrt(d)), X, engine=engine)
        scaled = gram(Gaussian(size * np.sqrt(d)), X * size, engine=engine)
        assert worst(scaled.block(), plain.block().astype(float)) < (2e-5 if precision == "single" else 1e-12)
        assert_product(scaled @ v, plain.block().astype(float), v, engine.dtype, condition=16)
        assert scaled.dtype == engine.dtype


def test_inner_products_of_large_and_small_rows(rng, compiled):
    X = points(rng, 200, 5)
    for size in (1e-15, 1e15, 1e18):
        K = gram(Linear(), X * size).block()
        assert_entries(K, (X @ X.T) * size**2, np.float32)


@pytest.mark.parametrize("k", [Gaussian(1.0), Linear(), Laplace(1.0)], ids=repr)
def test_data_beyond_the_range_are_refused(k, compiled):
    for X in (np.array([[1.0], [2e140]]), sparse.csr_matrix([[-1e150], [0.0]])):
        with pytest.raises(
            ValueError, match=r"gram: data must stay below 1e140, or squares overflow; got .*e\+1[45]0. Scale X."
        ):
            gram(k, X)


def test_all_rows_equal_or_zero(compiled):
    for X in (np.zeros((300, 3)), np.full((300, 40), 7.0)):
        assert (gram(Gaussian(1.0), X).block() == 1).all()
        np.testing.assert_allclose(gram(Gaussian(1.0), X) @ np.ones(300), 300.0)
    assert (gram(Linear(), np.zeros((300, 3))).block() == 0).all()


def test_the_form_of_a_composite_is_one_pass():
    form = (0.5 * Gaussian(1.0) + Linear() * Gaussian(2.0) + 3.0 * Matern(2.5)).form()
    assert isinstance(form, Fused)
    assert len(form.statistics) == 2
    assert isinstance(form.statistics[1], Squares)


# ---------------------------------------------------------------- CSR

SPARSE = [(k, d) for d in (7, 200) for k in (Gaussian(2.0), Linear(), Linear() + Gaussian(1.0), Laplace(5.0))]
SPARSE += [(Gaussian(2.0), 20_000), (Linear(), 20_000)]  # too many columns for a dense panel


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("k, d", SPARSE, ids=str)
def test_sparse_rows(k, d, precision, rng, compiled):
    X = sparse.random(300, d, min(0.3, 20 / d), format="csr", random_state=1)
    Y = sparse.random(530, d, min(0.3, 20 / d), format="csr", random_state=2)
    engine = Engine(precision=precision)
    for A, B in ((X, None), (Y, None), (X, Y)):
        K, expected = gram(k, A, B, engine), k(A, B)
        assert_entries(K.block(), expected, engine.dtype)
        assert_entries(K.block([5, 2], slice(3, 280)), expected[[5, 2], 3:280], engine.dtype)
        v = rng.standard_normal(K.shape[1])
        assert_product(K @ v, expected, v, engine.dtype)


def test_every_kind_of_sparse_matrix(rng, compiled):
    dense = np.where(rng.random((300, 20)) < 0.2, rng.integers(1, 4, (300, 20)), 0)
    expected = Gaussian(2.0)(dense.astype(float))
    for kind in (sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array, sparse.lil_matrix):
        assert_entries(gram(Gaussian(2.0), kind(dense)).block(), expected, np.float32)
    wide = sparse.csr_matrix(dense.astype(float))
    wide.indptr, wide.indices = wide.indptr.astype(np.int64), wide.indices.astype(np.int64)
    assert_entries(gram(Gaussian(2.0), wide).block(), expected, np.float32)


def test_sparse_against_dense_sides(rng, compiled):
    X = sparse.random(300, 20, 0.2, format="csr", random_state=1)
    expected = Gaussian(2.0)(X.toarray(), X.toarray()[:30])
    assert_entries(gram(Gaussian(2.0), X, X.toarray()[:30]).block(), expected, np.float32)
    assert_entries(gram(Gaussian(2.0), X.toarray(), X[:30]).block(), expected, np.float32)


def test_unsorted_and_repeated_sparse_entries_are_left_alone(compiled):
    indices, indptr = np.array([3, 1, 1, 2, 0]), np.array([0, 3, 5])
    X = sparse.csr_matrix((np.array([1.0, 2.0, 3.0, 4.0, 5.0]), indices, indptr), shape=(2, 4))
    K = gram(Gaussian(9.0), X).block()
    assert_entries(K, Gaussian(9.0)(np.array([[0.0, 5, 0, 1], [5, 0, 4, 0]])), np.float32)
    assert np.array_equal(X.indices, [3, 1, 1, 2, 0])
