"""Reductions over rows. The oracles are a stable sort and a one-hot product of the plain matrix."""

import numpy as np
import pytest

from mercer import Engine, gram
from mercer.gram import from_matrix, largest, smallest, sum_by_label
from mercer.kernels import Gaussian
from tests.gram.conftest import FORMS, assert_product, form, points


def sorted_rows(K, k):
    """The k smallest of each row, ties to the smaller column."""
    order = np.argsort(K, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(K, order, axis=1), order


@pytest.mark.parametrize("k", [1, 2, 7, 301])
@pytest.mark.parametrize("name", FORMS)
def test_extremes_of_every_form(name, k, rng, compiled):
    X, Y = points(rng, 530, 5), points(rng, 301, 5)
    K = gram(form(name, 5), X, Y)
    block = K.block()
    for found, sign in ((smallest(K, k), 1), (largest(K, k), -1)):
        values, indices = sorted_rows(sign * block, k)
        np.testing.assert_array_equal(found.values, sign * values)
        np.testing.assert_array_equal(found.indices, indices)


@pytest.mark.parametrize("m", [1, 63, 64, 65, 1023, 1024, 1025, 2100])
def test_ties_go_to_the_smaller_column(m, rng):
    K = rng.integers(0, 4, (40, m)).astype(float)
    for k in {1, min(5, m), m}:
        for found, sign in (
            (smallest(from_matrix(K, symmetric=False), k), 1),
            (largest(from_matrix(K, symmetric=False), k), -1),
        ):
            values, indices = sorted_rows(sign * K, k)
            np.testing.assert_array_equal(found.indices, indices)
            np.testing.assert_array_equal(found.values, sign * values)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_nearest_in_feature_space(precision, rng, compiled):
    """|phi(x) - phi(y)|^2 = k(x, x) - 2 k(x, y) + k(y, y), up to k(x, x)."""
    X, Y = points(rng, 300, 3), points(rng, 700, 3)
    weight = 1 + rng.random(700)
    found = smallest(gram(Gaussian(2.0), X, Y, Engine(precision=precision)), 3, scale=-2.0, offset=weight)
    values, indices = sorted_rows(weight - 2 * Gaussian(2.0)(X, Y), 3)
    np.testing.assert_allclose(found.values, values, atol=1e-6)
    assert (found.indices == indices).mean() > 0.99


@pytest.mark.parametrize("name", ["one statistic", "weighted"])
def test_sums_by_label(name, rng, compiled):
    X, Y = points(rng, 300, 3), points(rng, 530, 3)
    labels, weights = rng.integers(0, 4, 530), rng.standard_normal(530)
    k = form(name, 3)
    K, expected = gram(k, X, Y), k(X, Y)
    onehot = np.eye(6)[labels]
    assert_product(sum_by_label(K, labels), expected, onehot[:, :4], np.float32)
    assert_product(sum_by_label(K, labels.tolist(), 6), expected, onehot, np.float32)
    assert_product(
        sum_by_label(K, labels.astype(np.uint8), weights=weights),
        expected,
        weights[:, None] * onehot[:, :4],
        np.float32,
    )
    assert sum_by_label(K, labels).dtype == np.float64


REFUSALS = [
    (lambda K: smallest(K, 0), "smallest: 'k' must be an integer >= 1; got 0"),
    (lambda K: smallest(K, 4), "smallest: k must be at most the 3 columns; got 4"),
    (lambda K: smallest(K, 1.5), "smallest: 'k' must be an integer >= 1; got 1.5"),
    (
        lambda K: smallest(K, 1, offset=[1.0]),
        r"smallest: offset must be 3 finite numbers, one a column; got array\(\[1.\]\)",
    ),
    (
        lambda K: smallest(K, 1, offset=[0.0, 1.0, np.inf]),
        "smallest: offset must be 3 finite numbers, one a column; got",
    ),
    (
        lambda K: sum_by_label(K, [0, 1]),
        r"sum_by_label: labels must be 3 integers >= 0, one a column; got array\(\[0, 1\]\)",
    ),
    (lambda K: sum_by_label(K, [0, 1, -1]), "sum_by_label: labels must be 3 integers >= 0, one a column"),
    (lambda K: sum_by_label(K, [0.0, 1.0, 2.0]), "sum_by_label: labels must be 3 integers >= 0, one a column"),
    (lambda K: sum_by_label(K, [0, 1, 2], 2), "sum_by_label: labels must be below n_labels = 2; got 2"),
    (lambda K: sum_by_label(K, [0, 1, 2], 0), "sum_by_label: 'n_labels' must be an integer >= 1; got 0"),
    (
        lambda K: sum_by_label(K, [0, 1, 1], weights=[1.0]),
        "sum_by_label: weights must be 3 finite numbers, one a column",
    ),
    (lambda K: sum_by_label(K, [0, 1, 1], weights=["a"] * 3), "sum_by_label: weights must be 3 finite numbers"),
]


@pytest.mark.parametrize("call, text", REFUSALS, ids=[t for _, t in REFUSALS])
def test_wrong_arguments_are_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call(from_matrix(np.eye(3)))
