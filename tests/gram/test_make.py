"""Making Grams: stored forms, given matrices, factors, the budget. The oracles are the lazy Gram and NumPy."""

import numpy as np
import pytest
from scipy import sparse

from mercer import Engine, gram
from mercer.gram import _make, from_factor, from_matrix
from mercer.kernels import Gaussian, Laplace, Linear, SetIntersection, Spectrum, exp
from tests import oracles
from tests.gram.conftest import FORMS, assert_entries, assert_product, form, points

# ---------------------------------------------------------------- stored


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("name", FORMS)
def test_stored_is_lazy(name, precision, rng, compiled):
    X, Y = points(rng, 530, 5), points(rng, 270, 5)
    k, engine = form(name, 5), Engine(precision=precision)
    for B in (None, Y):
        lazy, held = gram(k, X, B, engine), gram(k, X, B, engine, stored=True)
        assert held.dtype == engine.dtype
        assert np.array_equal(held.block(), lazy.block())
        assert_entries(held.block(slice(3, 200, 5), [1, -1]), lazy.block(slice(3, 200, 5), [1, -1]), engine.dtype)
        V = rng.standard_normal((held.shape[1], 3))
        for W in (V, V[:, 0]):
            assert_product(held @ W, k(X, B), W, engine.dtype)
        assert_product(held.T @ np.ones(530), k(X, B).T, np.ones(530), engine.dtype)


def test_half_of_a_large_symmetric_matrix_is_stored(rng):
    X, V = points(rng, 4300, 3), rng.standard_normal((4300, 2))
    lazy, held = gram(Gaussian(2.0), X), gram(Gaussian(2.0), X, stored=True)
    assert repr(held) == "<Gram 4300 x 4300, float32, packed>"
    assert sum(block.size for block in held._source.blocks.values()) < 0.8 * 4300**2
    rows = [0, 2047, 2048, 4299, 17]
    assert np.array_equal(held.rows(rows), lazy.rows(rows))
    assert np.array_equal(
        held.block(slice(2000, 2100), slice(4000, 4200)), lazy.block(slice(2000, 2100), slice(4000, 4200))
    )
    for W in (V, V[:, 0]):
        np.testing.assert_allclose(held @ W, lazy @ W, atol=2e-5 * np.abs(lazy @ W).max())


def test_auto_stores_what_fits(rng, compiled):
    X = points(rng, 600, 3)
    k = Gaussian(2.0)
    assert repr(gram(k, X, stored="auto")) == "<Gram 600 x 600, float32, dense>"
    assert repr(gram(k, X, stored="auto", engine=Engine(memory="1 MB"))) == "<Gram 600 x 600, float32, fused>"
    assert repr(gram(k, X)) == "<Gram 600 x 600, float32, fused>"


def test_a_stored_gram_beyond_the_budget_is_refused(rng):
    X = np.broadcast_to(points(rng, 1, 3), (200_000, 3))
    wanted = (
        r"^gram: a stored 200000 x 200000 float64 matrix needs 151 GiB; got a budget of 12 GiB. "
        r"Use the lazy Gram \(the default\), or Engine\(memory=...\).$"
    )
    with pytest.raises(MemoryError, match=wanted):
        gram(Gaussian(1.0), X, engine=Engine(memory="12 GiB", precision="double"), stored=True)
    assert gram(Gaussian(1.0), X, engine=Engine(memory="12 GiB"), stored="auto").shape == (200_000, 200_000)


def test_dense_rows_beyond_the_budget_are_refused():
    X = sparse.random(1000, 5000, 0.001, format="csr", random_state=0)
    with pytest.raises(
        ValueError, match=r"gram: this kernel needs dense rows, 0.0186 GiB here; got a budget of 0.00093"
    ):
        gram(Laplace(1.0), X, engine=Engine(memory="1 MB"))


# ---------------------------------------------------------------- given matrices


def test_a_given_matrix(rng):
    K = rng.standard_normal((40, 30))
    G = from_matrix(K)
    V = rng.standard_normal((30, 2))
    assert (G.shape, G.dtype) == ((40, 30), np.float64)
    assert_product(G @ V, K, V)
    assert_product(G.T @ K[:, 0], K.T, K[:, 0])
    assert np.array_equal(np.asarray(G), K)
    assert np.array_equal(from_matrix(sparse.csr_matrix(K)).block(), K)
    assert from_matrix(K.astype(np.float32)).dtype == np.float32
    assert np.array_equal(from_matrix(np.arange(4).reshape(2, 2), symmetric=False).diag(), [0.0, 3.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [5, 700])
def test_a_given_symmetric_matrix(n, dtype, rng):
    A = rng.standard_normal((n, n)).astype(dtype)
    K, V = A + A.T, rng.standard_normal((n, 3))
    for W in (V, V[:, 0]):
        assert_product(from_matrix(K) @ W, K.astype(np.float64), W, dtype)
        assert_product(from_matrix(K, symmetric=False) @ W, K.astype(np.float64), W, dtype)
    assert np.array_equal(from_matrix(K).diag(), K.diagonal())
    assert np.array_equal(from_matrix(K).T.block(), K)


def test_an_asymmetric_matrix_is_refused():
    K = np.eye(2000)
    K[1500, 3] = 0.25
    wanted = r"from_matrix: K must be symmetric; got K\[3,1500\] = 0 but K\[1500,3\] = 0.25. Use \(K \+ K.T\) / 2, or"
    with pytest.raises(ValueError, match=wanted):
        from_matrix(K)
    assert from_matrix(K, symmetric=False).shape == (2000, 2000)


BAD_MATRIX = [
    ([[1.0, np.nan], [0.0, 1.0]], {}, "K must hold finite numbers; got nan in row 0, column 1"),
    ([[1.0, 2.0]], {"symmetric": True}, r"a symmetric K must be square; got shape \(1, 2\)"),
    ([1.0, 2.0], {}, r"K must be two-dimensional; got shape \(2,\). Use K.reshape"),
    (np.zeros((0, 0)), {}, "K must have at least one row and one column"),
    ([["a"]], {}, "K must hold numbers; got 'a'"),
    ([[1j]], {}, "K must be real; got complex numbers"),
    ([[1.0], [1.0, 2.0]], {}, "K must have rows of one length; got ragged rows"),
]


@pytest.mark.parametrize("K, options, text", BAD_MATRIX, ids=[t for _, _, t in BAD_MATRIX])
def test_a_bad_matrix_is_refused(K, options, text):
    with pytest.raises(ValueError, match="from_matrix: " + text):
        from_matrix(K, **options)


# ---------------------------------------------------------------- factors


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_factors(kind, rng):
    Z, W, v = points(rng, 50, 4), points(rng, 30, 4), rng.standard_normal(30)
    own, two = from_factor(kind(Z)), from_factor(kind(Z), kind(W))
    assert_entries(own.block(), Z @ Z.T)
    np.testing.assert_allclose(own.diag(), (Z * Z).sum(axis=1), rtol=1e-14)
    assert_entries(two.block([3, 1], slice(0, 9)), (Z @ W.T)[[3, 1], :9])
    for V in (v, np.column_stack([v, v])):
        assert_product(two @ V, Z @ W.T, V, condition=64)
    assert_product(two.T @ Z[:, 0], W @ Z.T, Z[:, 0], condition=64)
    assert np.array_equal(np.asarray(two.T), np.asarray(two).T)


def test_factors_that_do_not_fit_are_refused(rng):
    with pytest.raises(ValueError, match="from_factor: Z and W must have as many columns; got 4 and 3"):
        from_factor(points(rng, 5, 4), points(rng, 5, 3))
    with pytest.raises(ValueError, match="from_factor: Z must hold finite numbers; got inf in row 0, column 0"):
        from_factor([[np.inf]])


# ---------------------------------------------------------------- structured objects


def test_sets_and_strings(rng, compiled):
    sets = [set(rng.integers(0, 30, rng.integers(0, 12)).tolist()) for _ in range(300)]
    texts = ["".join(rng.choice(list("abc"), rng.integers(0, 9))) for _ in range(40)]
    v = rng.standard_normal(300)
    assert_product(gram(SetIntersection(), sets) @ v, oracles.set_intersection(sets), v, np.float32)
    k = exp(0.1 * SetIntersection())
    assert_entries(
        gram(k, sets[:50], sets[40:]).block(), np.exp(0.1 * oracles.set_intersection(sets[:50], sets[40:])), np.float32
    )
    assert_entries(gram(Spectrum(2), texts).block(), oracles.spectrum(texts, k=2), np.float32)
    assert_entries(
        gram(Spectrum(2), texts[:5], texts).rows([1, 0]), oracles.spectrum(texts[:5], texts, k=2)[[1, 0]], np.float32
    )


# ---------------------------------------------------------------- refusals of gram itself


def test_wrong_arguments_are_refused(rng):
    X = points(rng, 3, 2)
    with pytest.raises(
        TypeError, match=r"gram: 'kernel' must be a Kernel; got 'rbf'. See mercer.kernels, e.g. Gaussian"
    ):
        gram("rbf", X)
    with pytest.raises(TypeError, match=r"gram: 'engine' must be an Engine; got 2. For example Engine\(threads=2\)."):
        gram(Linear(), X, engine=2)
    with pytest.raises(ValueError, match=r"gram: 'stored' must be True, False, 'auto' or 'dear'; got 'always'."):
        gram(Linear(), X, stored="always")


BAD_DATA = [
    ([[1.0, np.nan]], "X must hold finite numbers; got nan in row 0, column 1. Impute or drop it."),
    ([[1.0], [np.inf]], "X must hold finite numbers; got inf in row 1, column 0"),
    (sparse.csr_matrix([[0, 1.0], [0, np.nan]]), "X must hold finite numbers; got nan in row 1, column 1"),
    (np.zeros((0, 2)), r"X must have at least one row and one column; got 0 sample\(s\) \(shape=\(0, 2\)\)"),
    (np.zeros((2, 0)), r"X must have at least one row and one column; got 0 feature\(s\) \(shape=\(2, 0\)\)"),
    (sparse.csr_matrix((0, 2)), r"X must have at least one row and one column; got 0 sample\(s\)"),
    ([["a", "b"]], "X must hold numbers; got 'a'. Encode it as numbers, or use a kernel on sets or strings"),
    ([[1.0, "b"]], "X must hold numbers; got '"),
    ([[1.0], [1.0, 2.0]], "X must have rows of one length; got ragged rows. Pad them"),
    ([[1j]], "X must be real; got complex numbers. Stack real and imaginary parts as columns."),
    (sparse.csr_matrix([[1j]]), "X must be real; got complex numbers"),
    ([1.0, 2.0], r"X must be two-dimensional; got shape \(2,\). Use X.reshape\(-1, 1\) for one column."),
    (np.zeros((2, 2, 2)), "X must be two-dimensional; got 3 dimensions"),
    (np.array([["2020-01-01"]], "datetime64[D]"), "X must hold numbers; got dtype datetime64"),
    ([], "X must be two-dimensional"),
]


@pytest.mark.parametrize("small", [2**16, -1], ids=["plain", "compiled"])
@pytest.mark.parametrize("X, text", BAD_DATA, ids=[t for _, t in BAD_DATA])
def test_bad_data_is_refused(X, text, small, monkeypatch):
    monkeypatch.setattr(_make, "SMALL", small)
    with pytest.raises(ValueError, match=r"^(gram|kernel): " + text):
        gram(Gaussian(1.0), X)


@pytest.mark.parametrize("X", [5, None, 2.5, object(), "abc", np.array(1.0), iter([1.0])])
def test_what_has_no_rows_is_refused(X):
    with pytest.raises((ValueError, TypeError), match="gram: X must be a table or a list of points; got "):
        gram(Gaussian(1.0), X)


def test_bad_columns_are_named(compiled):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"age": [1.0, 2.0], "size": [3.0, np.nan]})
    with pytest.raises(ValueError, match=r"X must hold finite numbers; got nan in row 1, column 1 \('size'\)"):
        gram(Gaussian(1.0), X)
    with pytest.raises(ValueError, match="X must hold numbers; got 'tall'"):
        gram(Gaussian(1.0), pd.DataFrame({"age": [1.0], "size": ["tall"]}))


def test_sides_that_do_not_match_are_refused(rng, compiled):
    with pytest.raises(ValueError, match=r"gram: X and Y must have as many columns; got 3 and 2. Give both the same"):
        gram(Gaussian(1.0), points(rng, 5, 3), points(rng, 5, 2))
    with pytest.raises(ValueError, match="gram: Y must hold finite numbers; got -inf in row 0, column 0"):
        gram(Gaussian(1.0), [[1.0]], [[-np.inf]])
