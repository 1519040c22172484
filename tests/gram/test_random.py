"""Random shapes, dtypes, indices and multipliers, on the compiled path. The oracle is kernel(X, Y) in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import Engine, gram
from mercer.gram import _make, smallest
from mercer.kernels import Gaussian, Laplace, Linear
from mercer.kernels._evaluate import diagonal
from tests.gram.conftest import assert_entries, assert_product

WIDE = Gaussian(20.0)
KERNELS = [WIDE, Linear(), 0.5 * WIDE + Linear() * WIDE, Laplace(60.0), WIDE.on([0]) + Linear()]


@pytest.fixture(autouse=True, scope="module")
def all_compiled():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_make, "SMALL", 0)
        yield


@st.composite
def tables(draw, d):
    n = draw(st.sampled_from([1, 2, 3, 5, 31, 127, 129, 255, 256, 257, 300, 513]))
    dtype = draw(st.sampled_from([np.float32, np.float64, np.int8, np.uint16, np.int64]))
    X = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).standard_normal((n, d))
    X[draw(st.integers(0, n - 1))] = X[0]
    return np.abs(3 * X).astype(dtype) if np.dtype(dtype).kind in "iu" else X.astype(dtype)


def slices(n):
    """A slice, a list of positions, or a mask."""
    ends = st.one_of(st.none(), st.integers(-n - 2, n + 2))
    steps = st.one_of(st.none(), st.integers(-7, 7).filter(bool))
    masks = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).random(n) < 0.3)
    return st.one_of(st.builds(slice, ends, ends, steps), st.lists(st.integers(-n, n - 1), max_size=9), masks)


def chosen(n, index):
    return np.arange(n)[np.asarray(index, int) if isinstance(index, list) else index]


@st.composite
def problems(draw):
    d = draw(st.sampled_from([1, 2, 4, 7, 32, 33, 50]))
    X = draw(tables(d))
    Y = draw(st.one_of(st.none(), tables(d)))
    engine = Engine(threads=draw(st.integers(1, 3)), precision=draw(st.sampled_from(["single", "double"])))
    return draw(st.sampled_from(KERNELS)), X, Y, engine


def expected(k, X, Y):
    return k(X.astype(float), None if Y is None else Y.astype(float))


@settings(max_examples=60)
@given(problems(), st.data())
def test_blocks(problem, data):
    k, X, Y, engine = problem
    K, wanted = gram(k, X, Y, engine), expected(k, X, Y)
    rows, columns = (data.draw(slices(size)) for size in wanted.shape)
    part = wanted[np.ix_(chosen(wanted.shape[0], rows), chosen(wanted.shape[1], columns))]
    got = K.block(rows, columns)
    assert_entries(got, part, engine.dtype, condition=16 * np.abs(wanted).max() / np.abs(part).max(initial=1e-300))
    out = np.full((part.shape[0], part.shape[1] + 3), 5, data.draw(st.sampled_from([np.float32, np.float64])))
    K.block(rows, columns, out=out[:, 1:-2])
    assert (out[:, [0, -2, -1]] == 5).all()
    np.testing.assert_allclose(out[:, 1:-2], got, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())


def roots(k, X):
    """sqrt k(x, x): the terms of a value of k are no larger than such a product, though their sum may be near 0."""
    return np.sqrt(diagonal(k.form(), X.astype(float)))


@settings(max_examples=60)
@given(problems(), st.sampled_from([None, 1, 2, 9]), st.sampled_from([np.float32, np.float64, np.int32]), st.booleans())
def test_products(problem, columns, dtype, stored):
    k, X, Y, engine = problem
    K, wanted = gram(k, X, Y, engine, stored=stored), expected(k, X, Y)
    V = 3 * np.random.default_rng(len(X)).standard_normal((wanted.shape[1], *([] if columns is None else [columns])))
    V = V.astype(dtype)
    size = np.outer(roots(k, X), roots(k, X if Y is None else Y))
    assert_product(K @ V, wanted, V.astype(float), engine.dtype, size=size)
    U = np.ones(wanted.shape[0])
    assert_product(K.T @ U, wanted.T, U, engine.dtype, size=size.T)


@settings(max_examples=30)
@given(problems(), st.integers(1, 5))
def test_extremes(problem, k):
    kernel, X, Y, engine = problem
    K = gram(kernel, X, Y, engine)
    block = K.block()
    k = min(k, block.shape[1])
    found, wanted = smallest(K, k), expected(kernel, X, Y)
    assert_entries(found.values, np.sort(wanted, axis=1)[:, :k], engine.dtype, condition=64)
    assert_entries(found.values, np.take_along_axis(block, found.indices, axis=1), engine.dtype)  # tiles differ
    assert all(len(set(row)) == k for row in found.indices.tolist())
