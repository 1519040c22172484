"""Scatter matrices of listed and implied pairs against a loop over pairs, and their bounds on rounding."""

import numpy as np
import pytest

from mercer.solvers.metric import LabelPairs, Pairs
from mercer.solvers.metric.pairs import codes_of, sampled_pairs
from mercer.solvers.metric.rows import Rows, held
from mercer.solvers.metric.scatter import laplacian_scatter
from tests.oracles import tolerance


def by_hand(X, pairs):
    return sum(
        w * np.outer(X[i] - X[j], X[i] - X[j]) for i, j, w in zip(pairs.first, pairs.second, pairs.weights, strict=True)
    )


def some_pairs(rng, n, m):
    i = rng.integers(0, n, m)
    return Pairs(i, (i + rng.integers(1, n, m)) % n, rng.uniform(0, 2, m))


@pytest.mark.parametrize("m", [3, 400])
def test_scatter_is_the_sum_over_pairs(rng, m):
    X, pairs = rng.normal(size=(30, 4)), some_pairs(rng, 30, m)
    found = pairs.scatter(X)
    np.testing.assert_allclose(found.matrix, by_hand(X, pairs), rtol=0, atol=found.noise)
    np.testing.assert_allclose(pairs.energies(X), np.diagonal(by_hand(X, pairs)), rtol=tolerance(np.float64, m))


@pytest.mark.parametrize("weighted", [False, True])
def test_held_differences_are_the_pairs(rng, weighted):
    X, L, found = rng.normal(size=(30, 4)), rng.normal(size=(2, 4)), some_pairs(rng, 30, 20)
    pairs = found if weighted else Pairs(found.first, found.second)
    rows = held(pairs, X)
    assert isinstance(rows, Rows)
    factor = rng.uniform(1, 2, 20)
    for one, other in ((pairs, rows), (pairs.reweighted(factor), rows.reweighted(factor))):
        np.testing.assert_allclose(other.scatter(X).matrix, by_hand(X, one), rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(other.energies(X, L), one.energies(X, L), rtol=1e-13)
        np.testing.assert_allclose(other.distances(X, L), one.distances(X, L), rtol=1e-13)
        (w, G), (block,) = other.pieces(X)[0](), [make() for make in other.blocks(X)]
        np.testing.assert_allclose(block, G if w is None else G * np.sqrt(w)[:, None])
        np.testing.assert_array_equal(other.weights, one.weights)


def test_the_laplacian_states_its_cancellation(rng):
    X = rng.normal(size=(50, 3)) + 1e6 * (np.arange(50) % 2)[:, None]
    i = rng.integers(0, 50, 300)
    pairs = Pairs(i, (i + 2 * rng.integers(1, 25, 300)) % 50)
    rough = laplacian_scatter(X, pairs.adjacency(50), 1)
    exact = by_hand(X, pairs)
    assert rough.cancellation > 1e10
    assert np.abs(rough.matrix - exact).max() <= rough.noise
    np.testing.assert_allclose(pairs.scatter(X).matrix, exact, rtol=1e-8)  # and so the differences are taken


@pytest.mark.parametrize("same", [True, False])
def test_labels_imply_all_pairs(rng, same):
    codes = rng.integers(-1, 4, 40)
    X = rng.normal(size=(40, 3)) + codes[:, None]
    i, j = np.triu_indices(40, 1)
    fine = (codes[i] >= 0) & (codes[j] >= 0) & ((codes[i] == codes[j]) == same)
    listed, implied = Pairs(i[fine], j[fine]), LabelPairs(codes, same)
    found = implied.scatter(X)
    assert implied.count == listed.count
    np.testing.assert_allclose(found.matrix, by_hand(X, listed), rtol=0, atol=found.noise)
    np.testing.assert_allclose(implied.energies(X), np.diagonal(found.matrix), rtol=1e-12)
    whole = sampled_pairs(codes, None, rng)[0 if same else 1]
    assert np.array_equal(whole.keys(40), listed.keys(40))


def test_drawn_pairs_are_of_their_kind_and_weigh_as_much_as_all(rng):
    codes = np.array([0] * 50 + [1] * 30 + [2] * 2 + [-1] * 5 + [3])
    for same, drawn in zip((True, False), sampled_pairs(codes, 1000, rng), strict=True):
        a, b = codes[drawn.first], codes[drawn.second]
        assert ((a == b) == same).all()
        assert (drawn.first != drawn.second).all()
        assert min(a.min(), b.min()) >= 0
        assert drawn.weights.sum() == pytest.approx(LabelPairs(codes, same).count)
        odds = np.bincount(a, minlength=4) / len(a)
        counts = np.bincount(codes[codes >= 0])
        partners = counts * ((counts - 1) if same else (counts.sum() - counts))
        np.testing.assert_allclose(odds, partners / partners.sum(), atol=0.08)


def test_codes_keep_what_is_unknown():
    assert codes_of(np.array([7, -1, 3, 7])).tolist() == [1, -1, 0, 1]
    assert codes_of(np.array(["b", "a"])).tolist() == [1, 0]


def test_pairs_of_weight_zero_are_absent():
    pairs = Pairs(np.array([0, 1]), np.array([1, 2]), np.array([0.0, 2.0]))
    assert pairs.count == 1
    with pytest.raises(ValueError, match="weight must be"):
        Pairs(np.array([0]), np.array([1]), np.array([-1.0]))
