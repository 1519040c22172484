"""K @ V for every form of kernel. The oracle is the plain matrix kernel(X, Y) in float64, times V."""

import numpy as np
import pytest

from mercer import Engine, gram
from mercer.gram import _product, from_matrix
from mercer.kernels import Gaussian, Linear
from tests.gram.conftest import FORMS, assert_product, form, points

DIMENSIONS = (1, 3, 4, 5, 20, 32, 33, 40, 120, 300)


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("name", ["one statistic", "two statistics"])
def test_fused_products(name, d, precision, rng, compiled):
    X, Y = points(rng, 530, d), points(rng, 301, d)
    engine, k = Engine(precision=precision), form(name, d)
    for other in (None, Y):
        K, expected = gram(k, X, other, engine), k(X, other)
        for V in (rng.standard_normal(K.shape[1]), rng.standard_normal((K.shape[1], 3))):
            assert_product(K @ V, expected, V, engine.dtype)


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("d", [5, 40])
@pytest.mark.parametrize("name", FORMS)
def test_every_form(name, d, precision, rng, compiled):
    X, Y = points(rng, 517, d), points(rng, 259, d)
    engine, k = Engine(precision=precision), form(name, d)
    for A, B in ((X, None), (X, Y), (Y, X)):
        K, expected = gram(k, A, B, engine), k(A, B)
        v = rng.standard_normal(K.shape[1])
        assert_product(K @ v, expected, v, engine.dtype)
        u = rng.standard_normal(K.shape[0])
        assert_product(K.T @ u, expected.T, u, engine.dtype)
        V = rng.standard_normal((K.shape[1], 2))
        assert_product(K @ V, expected, V, engine.dtype)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 255, 256, 257, 511, 512, 513])
def test_sizes_around_the_tiles(n, rng, compiled):
    k, engine = Gaussian(2.0), Engine(precision="double")
    X, Y = points(rng, n, 3), points(rng, 258, 3)
    for A, B in ((X, None), (X, Y), (Y, X)):
        v = rng.standard_normal(n if B is not Y else 258)
        assert_product(gram(k, A, B, engine) @ v, k(A, B), v)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_])
def test_every_dtype_of_data(dtype, rng, compiled):
    X = np.abs(points(rng, 300, 4) * 3).astype(dtype)
    k, v = Gaussian(5.0), rng.standard_normal(300)
    K = gram(k, X, engine=Engine(precision="double"))
    assert_product(K @ v, k(X.astype(np.float64)), v)


@pytest.mark.parametrize(
    "layout", [np.asfortranarray, lambda X: np.repeat(X, 2, axis=1)[:, ::2], lambda X: X[::-1][::-1]]
)
def test_layouts_of_data_and_multiplier(layout, rng, compiled):
    X, V = points(rng, 300, 4), rng.standard_normal((300, 5))
    k = Gaussian(2.0)
    assert_product(gram(k, layout(X), engine=Engine(precision="double")) @ layout(V), k(X), V)


def test_frames_and_lists(rng, compiled):
    pd = pytest.importorskip("pandas")
    X, v = points(rng, 300, 3), rng.standard_normal(300)
    K = gram(Gaussian(2.0), X)
    assert np.array_equal(gram(Gaussian(2.0), pd.DataFrame(X, columns=list("abc"))) @ v, K @ v)
    assert np.array_equal(gram(Gaussian(2.0), X.tolist()) @ v.tolist(), K @ v)
    assert np.array_equal(K @ pd.Series(v), K @ v)


def test_the_dtype_of_a_product(rng, compiled):
    X = points(rng, 300, 3)
    single, double = gram(Gaussian(2.0), X), gram(Gaussian(2.0), X, engine=Engine(precision="double"))
    for v, wanted in (
        (np.ones(300, np.float32), np.float32),
        (np.ones(300), np.float64),
        (np.ones(300, int), np.float64),
    ):
        assert (single @ v).dtype == wanted
        assert (double @ v).dtype == np.float64
        assert (single @ v[:, None]).dtype == wanted


def test_no_columns_and_one(rng, compiled):
    X = points(rng, 600, 3)
    K = gram(Gaussian(2.0), X)
    assert (K @ np.ones((600, 0))).shape == (600, 0)
    assert np.array_equal((K @ np.ones((600, 1)))[:, 0], K @ np.ones(600))


@pytest.mark.parametrize("name", ["one statistic", "weighted", "mixed"])
def test_plans_for_large_multipliers_agree(name, rng, compiled, monkeypatch):
    """A product that may not hold V and its sums whole converts V piece by piece."""
    X, V = points(rng, 900, 5), rng.standard_normal((900, 7))
    k, engine = form(name, 5), Engine(precision="double")
    K, expected = gram(k, X, engine=engine), k(X)
    monkeypatch.setattr(_product, "EXTRA", 0)
    monkeypatch.setattr(_product, "CHUNK", 1)
    monkeypatch.setattr(_product, "ENTRIES_PER_TASK", 1)
    for W in (V, V[:, 0], V.astype(np.float32)):
        assert_product(K @ W, expected, W.astype(np.float64))
    Y = points(rng, 1500, 5)
    assert_product(gram(k, Y, X, engine) @ V, k(Y, X), V)


def test_weights_of_weights(rng, compiled):
    k = (
        Gaussian(2.0).warp(lambda X: X[:, 0], vectorized=True).warp(lambda X: 1 + X[:, 1] ** 2, vectorized=True)
        + 0.0 * Linear()
    )
    k = k.warp(lambda X: 2 - X[:, 1], vectorized=True)
    X, V = points(rng, 600, 3), rng.standard_normal((600, 2))
    K = gram(k, X, engine=Engine(precision="double"))
    assert_product(K @ V, k(X), V)
    assert_product(K @ V[:, 0], k(X), V[:, 0])


def test_sums_are_kept_in_double():
    """A million ones and then single precision's last one that counts: the sum of tiles is not lost."""
    K = from_matrix(np.ones((2, 2**16), np.float32))
    v = np.full(2**16, 2.0**-20, np.float32)
    v[0] = 2.0**10
    assert (K @ v.astype(np.float64))[0] == pytest.approx(2.0**10 + (2**16 - 1) * 2.0**-20, abs=2e-3)


@pytest.mark.parametrize("V", [np.ones(4), np.ones((4, 2)), np.ones((1, 3)), np.ones((3, 1, 1)), 1.0])
def test_a_multiplier_of_the_wrong_shape_is_refused(V):
    K = from_matrix(np.eye(3))
    with pytest.raises(ValueError, match=r"gram: K @ V needs a V with 3 rows, one for each column of K; got shape"):
        K @ V


@pytest.mark.parametrize("V", [["a", "b", "c"], np.ones(3) * 1j, np.array([{}, {}, {}])])
def test_a_multiplier_that_is_not_real_is_refused(V):
    K = from_matrix(np.eye(3))
    with pytest.raises(ValueError, match=r"gram: K @ V needs real numbers in V; got dtype"):
        K @ V
