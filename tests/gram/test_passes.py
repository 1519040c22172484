"""The compiled passes as plain Python too (NUMBA_DISABLE_JIT=1), on tiny data. The oracle is NumPy, pair by pair."""

import numpy as np
import pytest
from scipy import sparse

from mercer import Engine, gram
from mercer.gram import _make, smallest
from mercer.gram._distances import distances, distances_sparse, fill_distances_sparse, fill_sparse
from mercer.gram._fused import Pairs, side_of
from mercer.gram._packed import WIDTH, padded
from mercer.gram._passes import (
    Columns,
    Kept,
    Lone,
    Mirrored,
    MirroredColumns,
    Product,
    Transposed,
    Two,
    Values,
    fill,
    sweep,
)
from mercer.gram._ranks import keep_smallest
from mercer.kernels import Gaussian, Linear
from mercer.kernels._form import ExpMinus, Identity, Scale, Sum
from mercer.kernels._statistics import ChiSquares, Dot, Manhattan, Overlap, Squares
from tests import oracles
from tests.gram.conftest import assert_entries, assert_product, points

pytestmark = pytest.mark.uncompiled

SQUARES = Squares()


def sides(*tables, statistic=SQUARES):
    packed = [padded(X, X.dtype) for X in tables]
    return side_of(Pairs(statistic, packed[0], packed[-1]))


def swept(sink, n, m, *, X, Y=None, rule=None, second=None, upper=False, step=128):
    """Give the tiles of K to a sink: rule of |x - z|^2, or of x'z and |x - z|^2."""
    S, T = np.empty(step * WIDTH, X.dtype), np.empty(step * WIDTH, X.dtype)
    statistic, count = (Squares(), Lone()) if second is None else (Dot(), Two())
    tables = (X,) if Y is None else (X, Y)
    span = (0, n, 0, -(-m // WIDTH))
    sweep(
        statistic,
        sides(*tables, statistic=statistic),
        Squares(),
        sides(*tables),
        count,
        second is not None,
        rule or Identity(),
        sink,
        span,
        m,
        upper,
        step,
        S,
        T,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("statistic", [Dot(), Squares(), Manhattan(), ChiSquares(), Overlap()], ids=repr)
def test_fill(statistic, dtype, rng):
    X, Y = np.abs(points(rng, 5, 5, dtype)), np.abs(points(rng, 7, 5, dtype))
    Y[2, 3] = X[1, 3] = 0
    side, S = sides(X, Y), np.full(8 * WIDTH, 9, dtype)
    fill(statistic, side.rows, side.depth, 0, 8, side.panels, 0, S)
    pair = {
        Dot: lambda x, z: x @ z,
        Squares: lambda x, z: np.sum((x - z) ** 2),
        Manhattan: lambda x, z: np.sum(np.abs(x - z)),
        ChiSquares: lambda x, z: sum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0),
        Overlap: lambda x, z: np.sum(np.minimum(x, z)),
    }[type(statistic)]
    assert_entries(S.reshape(8, WIDTH)[:5, :7], oracles.matrix(pair, X.astype(float), Y.astype(float)), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n, m", [(9, 6), (4, 1), (3, 9)])
def test_products_and_values(n, m, dtype, rng):
    X, Y, v = points(rng, n, 3, dtype), points(rng, m, 3, dtype), rng.standard_normal(m)
    K = oracles.gaussian(X, Y, scale=2.0)
    padded_v = np.zeros(WIDTH, dtype)
    padded_v[:m] = v
    out = np.ones(n)
    rule = ExpMinus(dtype(0.25))
    swept(Product(padded_v, out, 0, 0), n, m, X=X, Y=Y, rule=rule)
    assert_product(out - 1, K, padded_v[:m].astype(float), dtype, condition=32)
    values = np.full(n * (m + 2), -1, dtype)
    swept(Values(values, m + 2, 0, 0), n, m, X=X, Y=Y, rule=rule)
    assert_entries(values.reshape(n, m + 2)[:, :m], K, dtype)
    assert (values.reshape(n, m + 2)[:, m:] == -1).all()


def test_two_statistics(rng):
    X = points(rng, 6, 2)
    values = np.empty(36)
    swept(Values(values, 6, 0, 0), 6, 6, X=X, rule=Sum(Scale(0.5, Identity()), ExpMinus(1.0)), second=True)
    assert_entries(values.reshape(6, 6), 0.5 * oracles.linear(X) + oracles.gaussian(X))


@pytest.mark.parametrize("step", [4, 128])
def test_mirrored_tiles_on_the_diagonal(step, rng):
    X, v, out = points(rng, 9, 3), np.zeros(WIDTH), np.zeros(WIDTH)
    v[:9] = rng.standard_normal(9)
    swept(Mirrored(v, out, np.empty(WIDTH)), 9, 9, X=X, rule=ExpMinus(1.0), upper=True, step=step)
    assert_product(out[:9], oracles.gaussian(X), v[:9])
    assert (out[9:] == 0).all()


def test_mirrored_tiles_off_the_diagonal(rng):
    """Rows 0..5 and columns 256..259 of a symmetric matrix, whose second panel is nearly empty."""
    n = WIDTH + 3
    X, v, out = points(rng, n, 1), rng.standard_normal(2 * WIDTH), np.zeros(2 * WIDTH)
    side, S = sides(X), np.empty(8 * WIDTH)
    sink = Mirrored(v, out, np.empty(WIDTH))
    sweep(Squares(), side, Squares(), side, Lone(), False, ExpMinus(1.0), sink, (0, 5, 1, 2), n, False, 8, S, S)
    K = oracles.gaussian(X[:5], X[WIDTH:])
    assert_product(out[:5], K, v[WIDTH:n])
    assert_product(out[WIDTH:n], K.T, v[:5])
    assert (out[5:WIDTH] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances(dtype, rng):
    X = points(rng, 6, 4, dtype)
    X[3], X[4] = X[1], X[1] + dtype(1e-3)
    squares = (X * X).sum(axis=1)
    S = (X[2:] @ X.T).ravel()
    distances(S, 6, 4, squares, squares, X.ravel(), X.ravel(), 4, 2, 0, dtype(0.01))
    expected = oracles.squared_distance(X[2:], X)
    assert_entries(S.reshape(4, 6), expected, dtype)
    assert S.reshape(4, 6)[1, 1] == 0
    np.testing.assert_allclose(S.reshape(4, 6)[2, 1], expected[2, 1], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows(dtype, rng):
    dense = np.where(rng.random((7, 9)) < 0.6, rng.standard_normal((7, 9)), 0).astype(dtype)
    dense[2], dense[4], dense[5] = 0, dense[1], dense[1]
    dense[5, 0] += dtype(1e-3)
    X = sparse.csr_matrix(dense)
    S, panel = np.empty(3 * 7, dtype), np.ascontiguousarray(dense.T).ravel()
    fill_sparse(X.indptr, X.indices, X.data, 4, 3, panel, 7, S, 7)
    assert_entries(S.reshape(3, 7), oracles.dot(dense[4:], dense), dtype)
    squares = (dense * dense).sum(axis=1)
    own = (X.indptr, X.indices, X.data)
    distances_sparse(S, 7, 7, 3, squares, squares, *own, *own, 4, 0, dtype(0.01))
    expected = oracles.squared_distance(dense[4:], dense)
    assert_entries(S.reshape(3, 7), expected, dtype)
    assert S.reshape(3, 7)[0, 1] == 0
    np.testing.assert_allclose(S.reshape(3, 7)[1, 1], expected[1, 1], rtol=1e-6)
    both = np.full(3 * 8, 9, dtype)
    fill_distances_sparse(panel, both, 8, 7, 3, squares, squares, *own, *own, 4, 0, dtype(0.01))
    np.testing.assert_array_equal(both.reshape(3, 8)[:, :7], S.reshape(3, 7))
    assert (both.reshape(3, 8)[:, 7] == 9).all()


def test_keep_smallest(rng):
    K = rng.integers(0, 5, (4, 70)).astype(float)
    offset = rng.integers(0, 3, 80).astype(float)
    best, where = np.full((4, 3), np.inf), np.zeros((4, 3), np.int64)
    keep_smallest(K[:, :40], -2.0, offset, 0, best, where)
    keep_smallest(K[:, 40:], -2.0, offset, 40, best, where)
    expected = -2 * K + offset[:70]
    order = np.argsort(expected, axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(where, order)
    np.testing.assert_array_equal(best, np.take_along_axis(expected, order, axis=1))


@pytest.mark.parametrize("d", [2, 33])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_a_whole_gram(precision, d, rng, monkeypatch):
    monkeypatch.setattr(_make, "SMALL", 0)
    engine = Engine(precision=precision, threads=2)
    X, Y, v = points(rng, 6, d), points(rng, 5, d), rng.standard_normal(5)
    K = gram(0.5 * Gaussian(9.0) + Linear(), X, Y, engine)
    expected = 0.5 * oracles.gaussian(X, Y, scale=9.0) + oracles.linear(X, Y)
    assert_entries(K.block([5, 1, 2]), expected[[5, 1, 2]], engine.dtype)
    assert_product(K @ v, expected, v, engine.dtype, condition=d)
    assert np.array_equal(smallest(K, 1).indices[:, 0], expected.argmin(axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transposed_product_and_kept_rows(dtype, rng):
    n, m = 7, 300
    X, Y, v = points(rng, n, 3, dtype), points(rng, m, 3, dtype), rng.standard_normal(n).astype(dtype)
    K, part = oracles.squared_distance(X, Y), np.empty(WIDTH, dtype)
    out, kept, held = np.zeros(m), np.zeros(m), np.zeros(8 * 320, dtype)
    swept(Transposed(v, out, part, 0, 0), n, m, X=X, Y=Y, step=4)
    places = np.arange(n)[::-1] * 320
    swept(Kept(v, kept, part, 0, 0, held, places), n, m, X=X, Y=Y, step=4)
    assert_product(out, K.T, v.astype(np.float64), dtype, condition=16)
    assert_product(kept, K.T, v.astype(np.float64), dtype, condition=16)
    assert_entries(held.reshape(8, 320)[:n][::-1][:, :m], K, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_many_columns(dtype, rng):
    n, m, t, width = 6, 9, 3, 16
    X, Y = points(rng, n, 3, dtype), points(rng, m, 3, dtype)
    V = np.zeros((m, width), dtype)
    V[:, :t] = rng.standard_normal((m, t))
    out = np.ones((n, t))
    swept(Columns(V.reshape(-1), out.reshape(-1), width, t, 0, 0), n, m, X=X, Y=Y, rule=ExpMinus(dtype(0.25)), step=8)
    assert_product(out - 1, oracles.gaussian(X, Y, scale=2.0), V[:, :t].astype(float), dtype, condition=32)


@pytest.mark.parametrize("step", [4, 128])
def test_mirrored_tiles_with_many_columns(step, rng):
    X, V, out = points(rng, 9, 3), np.zeros((9, 8)), np.zeros((9, 2))
    V[:, :2] = rng.standard_normal((9, 2))
    sink = MirroredColumns(V.reshape(-1), out.reshape(-1), 8, 2)
    swept(sink, 9, 9, X=X, rule=ExpMinus(1.0), upper=True, step=step)
    assert_product(out, oracles.gaussian(X), V[:, :2])


def test_mirrored_columns_off_the_diagonal(rng):
    n, t = WIDTH + 3, 2
    X, V, out = points(rng, n, 1), np.zeros((n, 8)), np.zeros((n, t))
    V[:, :t] = rng.standard_normal((n, t))
    side, S = sides(X), np.empty(8 * WIDTH)
    sink = MirroredColumns(V.reshape(-1), out.reshape(-1), 8, t)
    sweep(Squares(), side, Squares(), side, Lone(), False, ExpMinus(1.0), sink, (0, 5, 1, 2), n, False, 8, S, S)
    K = oracles.gaussian(X[:5], X[WIDTH:])
    assert_product(out[:5], K, V[WIDTH:n, :t])
    assert_product(out[WIDTH:n], K.T, V[:5, :t])
    assert (out[5:WIDTH] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_by_blocks(dtype, rng):
    """Above 32 coordinates distances come from inner products, and near ones from differences."""
    X = points(rng, 6, 35, dtype)
    X[3], X[4] = X[1], X[1] + dtype(1e-3)
    values = np.empty(36, dtype)
    swept(Values(values, 6, 0, 0), 6, 6, X=X, step=8)
    expected = oracles.squared_distance(X, X)
    assert_entries(values.reshape(6, 6), expected, dtype)
    assert values.reshape(6, 6)[1, 3] == 0
    np.testing.assert_allclose(values.reshape(6, 6)[4, 1], expected[4, 1], rtol=1e-5)
