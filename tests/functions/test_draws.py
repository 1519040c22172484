"""Draws belong to points: equal rows share a number, in whatever container they come."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer.functions._draws import distinct, hashes


def test_equal_rows_share_a_number(rng):
    X = rng.integers(0, 3, (500, 2)).astype(float)
    X[X == 0] = -0.0
    keys = hashes(X, 7)
    for form in (np.abs(X), X.astype(np.float32), sparse.csr_matrix(X), pd.DataFrame(X)):
        assert np.array_equal(hashes(form, 7), keys)
    assert len(np.unique(keys)) == len(np.unique(np.abs(X), axis=0))
    assert not (hashes(X, 8) == keys).any()


@pytest.mark.parametrize(
    "X", [["ab", "b", "ab"], [{1, 2}, {3}, {2, 1}], pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 1, 1]})]
)
def test_objects_have_numbers_too(X):
    keys = hashes(X, 0)
    assert keys[0] == keys[2] != keys[1]


def test_distinct_points_and_their_weights():
    found = distinct(np.array([[2.0], [1.0], [2.0], [5.0]]), np.array([1.0, 2.0, 3.0, 0.0]), 0)
    assert sorted(zip(found.first, found.weight, strict=True)) == [(0, 4.0), (1, 2.0)]
    assert found.place[0] == found.place[2]
    assert found.place[3] == -1


def test_draws_are_in_proportion_to_weights():
    w = np.array([1.0, 2.0, 7.0])
    X = np.arange(3.0)[:, None]
    counts = np.zeros(3)
    for seed in range(2000):
        counts[distinct(X, w, seed).draw(1, np.random.default_rng(seed))] += 1
    np.testing.assert_allclose(counts / 2000, w / w.sum(), atol=0.04)
