"""Jordan-von Neumann. Oracle: p-norms, with a worst violation of at least 2^(2/q - 1) - 1, and norms |Bx|."""

import math

import numpy as np
import pytest

from mercer.spaces import induced_by_inner_product


def sides(norm, x, y):
    return norm(x + y) ** 2 + norm(x - y) ** 2, 2 * norm(x) ** 2 + 2 * norm(y) ** 2


@pytest.mark.parametrize("dim", [2, 3, 7])
@pytest.mark.parametrize("p", [1, 1.5, 1.999, 2.001, 4, math.inf])
def test_p_norms_are_broken_by_a_witness(p, dim):
    norm = lambda x: np.linalg.norm(x, p)  # noqa: E731
    verdict = induced_by_inner_product(norm, dim)
    left, right = sides(norm, *verdict.witness)
    assert not verdict
    assert abs(left - right) / right == pytest.approx(verdict.worst)
    q = min(p, p / (p - 1)) if p not in (1, math.inf) else 1.0
    assert verdict.worst >= (2 ** (2 / q - 1) - 1) * 0.999


def test_the_one_norm_is_broken_by_unit_vectors():
    verdict = induced_by_inner_product(lambda x: np.abs(x).sum(), 3)
    np.testing.assert_array_equal(verdict.witness, np.eye(3)[:2])
    assert "8 != 4" in str(verdict)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_norms_of_inner_products_give_their_matrix_back(rng, dim):
    b = rng.standard_normal((dim, dim))
    verdict = induced_by_inner_product(lambda x: np.linalg.norm(b @ x), dim)
    assert verdict
    np.testing.assert_allclose(verdict.found, b.T @ b, atol=1e-12)
    np.testing.assert_allclose(induced_by_inner_product(np.linalg.norm, dim).found, np.eye(dim), atol=1e-14)


def test_a_seminorm_of_rank_one_has_its_matrix_too():
    np.testing.assert_allclose(induced_by_inner_product(lambda x: abs(x[0] + x[1]), 2).found, np.ones((2, 2)))


def test_the_law_alone_is_not_enough_without_scaling():
    verdict = induced_by_inner_product(lambda x: 1.0, 2)  # 1 + 1 != 2 + 2
    assert not verdict


def test_the_search_is_deterministic():
    bumpy = lambda x: np.linalg.norm(x) * (1 + 0.1 * abs(x[0]) / (np.abs(x).sum() or 1))  # noqa: E731
    first, second = (induced_by_inner_product(bumpy, 4, random_state=7) for _ in range(2))
    assert not first
    np.testing.assert_array_equal(first.witness, second.witness)


def test_bad_input():
    with pytest.raises(ValueError, match="induced_by_inner_product: 'dim' must be an integer >= 1; got 0"):
        induced_by_inner_product(np.linalg.norm, 0)
    for bad in (lambda x: -1.0, lambda x: math.nan, lambda x: x):
        with pytest.raises(ValueError, match="induced_by_inner_product: the norm must be a finite number >= 0; got"):
            induced_by_inner_product(bad, 2)
