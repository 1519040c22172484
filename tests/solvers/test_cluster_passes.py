"""The compiled passes of kernel k-means, and the same code as plain Python. Oracle: products with indicators."""

import numpy as np
import pytest

from mercer.solvers.clusters import _passes

pytestmark = pytest.mark.uncompiled


def problem(rng, dtype, n=23, k=4):
    K = rng.standard_normal((n, n)).astype(dtype)
    return K, rng.uniform(0.5, 2.0, n), rng.integers(0, k, n), k


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_products_with_indicators_and_follow_moves(dtype, rng):
    K, w, labels, k = problem(rng, dtype)
    labels[labels == 2] = 1  # an empty cluster
    rows = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[rows], np.arange(k), side="right")
    G = np.full((k, len(K)), np.nan)
    for a, b in ((0, 10), (10, len(K))):
        _passes.fill(K, rows, ends, w[rows], a, b, G)
    np.testing.assert_allclose(G, ((labels == np.arange(k)[:, None]) * w) @ K, atol=1e-12)
    moved = np.array([3, 7, 11])
    new = (labels[moved] + 1) % k
    _passes.shift(K, moved, labels[moved], new, w[moved], 0, len(K), G)
    labels[moved] = new
    np.testing.assert_allclose(G, ((labels == np.arange(k)[:, None]) * w) @ K, atol=1e-12)


def test_the_nearest_and_the_second(rng):
    k, n = 5, 17
    G, factor, offset = rng.standard_normal((k, n)), rng.standard_normal(k), rng.standard_normal(k)
    best, second, label = np.empty(n), np.empty(n), np.empty(n, np.int64)
    _passes.nearest(G, factor, offset, 0, n, best, second, label)
    scores = offset[:, None] + factor[:, None] * G
    assert np.array_equal(label, scores.argmin(axis=0))
    np.testing.assert_allclose(np.stack([best, second]), np.sort(scores, axis=0)[:2])
