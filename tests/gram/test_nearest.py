"""Exact neighbours, by tree and by tiles. Oracle: all distances in float64, sorted stably."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from mercer import Engine
from mercer.gram import _nearest
from mercer.gram._nearest import KernelSearch, TileSearch, TreeSearch, search
from mercer.kernels import Gaussian, Laplace, Matern, Polynomial, SetIntersection
from mercer.kernels._statistics import Manhattan, Squares


def brute(D, k):
    """The k least of each row, equal ones in their order."""
    return np.argsort(D, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("d", [2, 8, 30, 60])
@pytest.mark.parametrize("kernel, metric", [(Gaussian(2.0), "sqeuclidean"), (Laplace(1.0), "cityblock")], ids=repr)
@pytest.mark.parametrize("tree", [True, False])
def test_as_all_distances_sorted(d, kernel, metric, tree, rng):
    Y, X = rng.standard_normal((1500, d)), rng.standard_normal((70, d))
    found = search(kernel, Y, Engine(), tree=tree).find(X, 7)
    assert np.array_equal(found.indices, brute(cdist(X, Y, metric), 7))
    at = found.indices
    K = kernel(X, Y)[np.arange(70)[:, None], at]
    np.testing.assert_allclose(found.kernel, K, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(found.squares, 2 - 2 * K, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("tree", [True, False])
@pytest.mark.parametrize("levels, copies", [(3, 1), (2, 40)])
def test_ties_go_to_the_earlier_point(levels, copies, tree, rng):
    Y = np.repeat(rng.integers(0, levels, (1200 // copies, 4)), copies, axis=0).astype(float)[rng.permutation(1200)]
    X = rng.integers(0, levels, (90, 4)).astype(float)
    found = search(Gaussian(1.0), Y, Engine(), tree=tree).find(X, 10)
    assert np.array_equal(found.indices, brute(cdist(X, Y, "sqeuclidean"), 10))


def test_points_nearer_than_single_precision_can_tell(rng):
    X = rng.standard_normal((80, 3))
    Y = np.repeat(X, 20, axis=0) + 1e-9 * rng.standard_normal((1600, 3)) + 0.0
    for shift in (0.0, 1e3):
        found = search(Gaussian(1.0), Y + shift, Engine(), tree=False).find(X + shift, 5)
        assert np.array_equal(found.indices, brute(cdist(X + shift, Y + shift, "sqeuclidean"), 5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lower_bounds_by_leading_coordinates(dtype, rng):
    low = rng.standard_normal((2500, 10)) * 3.0
    Y = (low @ rng.standard_normal((10, 120)) + 0.3 * rng.standard_normal((2500, 120))).astype(dtype)
    ready = search(Gaussian(5.0), Y[:2400], Engine())
    assert isinstance(ready, TileSearch)
    assert ready.axes.shape[1] < 40
    bounds = cdist(ready._rough(Y[2400:]), ready.rough, "sqeuclidean")
    D = cdist(Y[2400:].astype(float), Y[:2400].astype(float), "sqeuclidean")
    assert (bounds <= D + 1e-4).all()
    assert np.array_equal(ready.find(Y[2400:], 6).indices, brute(D, 6))
    far = search(Gaussian(5.0), rng.standard_normal((1100, 120)), Engine())
    assert far.axes is None  # no coordinates lead


@pytest.mark.parametrize("more", [0, 2])
def test_rows_in_doubt_are_looked_at_again(more, rng, monkeypatch):
    monkeypatch.setattr(_nearest, "MORE", more)
    Y, X = rng.standard_normal((1300, 20)), rng.standard_normal((60, 20))
    found = search(Matern(1.5), Y, Engine()).find(X, 4)
    assert np.array_equal(found.indices, brute(cdist(X, Y), 4))


def test_which_search():
    Y = np.random.default_rng(0).standard_normal((1500, 3))
    assert isinstance(search(2.0 * Gaussian(1.0), Y, Engine()), TreeSearch)
    assert isinstance(search(Gaussian([1.0, 2.0, 0.5]), Y, Engine()), TreeSearch)
    assert isinstance(search(Gaussian(1.0), Y[:200], Engine()), TileSearch)
    assert isinstance(search(Gaussian(1.0), np.tile(Y, 6), Engine()), TileSearch)
    assert isinstance(search(Polynomial(2), Y, Engine()), KernelSearch)
    assert isinstance(search(Gaussian(1.0), sparse.csr_matrix(Y), Engine()), KernelSearch)
    with pytest.raises(ValueError, match="as many columns"):
        search(Gaussian(1.0), Y, Engine()).find(Y[:, :2], 1)


@pytest.mark.parametrize("m", [40, 1500])
def test_any_kernel(m, rng):
    Y, X = rng.standard_normal((m, 3)), rng.standard_normal((50, 3))
    kernel = Polynomial(2)
    D = np.diagonal(kernel(X))[:, None] - 2 * kernel(X, Y) + np.diagonal(kernel(Y))
    found = search(kernel, Y, Engine()).find(X, 5)
    assert np.array_equal(found.indices, brute(D, 5))
    np.testing.assert_allclose(found.squares, np.take_along_axis(D, found.indices, 1), atol=1e-11)
    few = sparse.csr_matrix(np.where(np.abs(Y) < 0.8, 0.0, Y))
    found = search(Gaussian(1.0), few, Engine()).find(few[:20], 1)
    assert (found.squares <= 1e-12).all()
    sets = search(SetIntersection(), [{1, 2}, {2, 3}, {1, 2}, {9}], Engine()).find([{1, 2}, {9, 2}], 2)
    assert sets.indices.tolist() == [[0, 2], [3, 0]]


@pytest.mark.uncompiled
@pytest.mark.parametrize("statistic, metric", [(Squares(), "sqeuclidean"), (Manhattan(), "cityblock")], ids=str)
def test_sums_of_pairs(statistic, metric, rng):
    from mercer.gram._ranks import pair_sums

    X, Y = rng.standard_normal((6, 7)), rng.standard_normal((9, 7)).astype(np.float32)
    columns, out = rng.integers(0, 9, (6, 4)), np.empty((6, 4))
    pair_sums(statistic, X, Y, columns, 0, 6, out)
    np.testing.assert_allclose(out, np.take_along_axis(cdist(X, Y, metric), columns, 1))


def test_threads_change_nothing(rng):
    Y, X = rng.standard_normal((3000, 15)), rng.standard_normal((400, 15))
    one, two = (search(Gaussian(1.0), Y, Engine(threads=t)).find(X, 5) for t in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a, b)
