"""What the preconditioner on centres is summed over, and how."""

import numpy as np
import pytest

from mercer import Engine, gram
from mercer.gram import from_matrix
from mercer.kernels import Gaussian
from mercer.solvers._moment import DEPTH, HELD, WIDTH, second_moment
from mercer.solvers._span import center_norm
from mercer.solvers.center_gradients import rows_worth


@pytest.mark.parametrize("m", [5, WIDTH, WIDTH + 3])
def test_as_the_products_themselves(m, rng):
    n = DEPTH * HELD + 17
    S = rng.standard_normal((n, m))
    rows, w = np.sort(rng.choice(n, n - 5, replace=False)), rng.uniform(0, 2, n - 5)
    found, sums = second_moment(from_matrix(S, symmetric=False), rows, w)
    exact = S[rows].T @ (w[:, None] * S[rows])
    np.testing.assert_allclose(np.tril(found), np.tril(exact), rtol=0, atol=1e-12 * n)
    np.testing.assert_allclose(sums, w @ S[rows], rtol=0, atol=1e-12 * n)
    alone, _ = second_moment(from_matrix(S, Engine(threads=1), symmetric=False), rows, w)
    np.testing.assert_array_equal(found, alone)


def test_how_many_rows():
    assert rows_worth(900, 300) == 900
    assert rows_worth(36_000, 4_000) == 0
    assert 4_000 <= rows_worth(36_000, 1_000) < rows_worth(1_000_000, 1_000) < 1_000_000


def test_centres_that_come_twice_are_dropped_at_once(rng):
    X = rng.standard_normal((40, 3))
    norm = center_norm(gram(Gaussian(1.0), X[[*range(40), 3, 3, 17]]).block())
    assert norm.kept.tolist() == list(range(40))
