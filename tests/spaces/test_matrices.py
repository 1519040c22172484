"""Matrices. Oracle: NumPy's trace."""

import numpy as np
import pytest

from mercer.spaces import Matrices


@pytest.mark.parametrize("complex", [False, True])
def test_inner_is_the_trace(rng, complex):
    x, y = rng.standard_normal((2, 3, 4)) + (1j * rng.standard_normal((2, 3, 4)) if complex else 0)
    space = Matrices(3, 4, complex=complex)
    assert space.inner(x, y) == pytest.approx(np.trace(y.conj().T @ x), rel=1e-13)
    assert space.norm(x) == pytest.approx(np.linalg.norm(x, "fro"), rel=1e-14)


def test_symmetric_part_is_the_projection_on_symmetric_matrices(rng):
    x = rng.standard_normal((2, 2))
    basis = [[[1, 0], [0, 0]], [[0, 0], [0, 1]], [[0, 1], [1, 0]]]
    np.testing.assert_allclose(Matrices(2, 2).project(x, basis), (x + x.T) / 2, atol=1e-15)
    assert all(v.shape == (2, 2) for v in Matrices(2, 2).gram_schmidt(basis))


def test_bad_input():
    with pytest.raises(ValueError, match="Matrices: 'm' must be an integer >= 1; got 0"):
        Matrices(0, 2)
    with pytest.raises(ValueError, match=r"Matrices: a vector must have shape \(2, 2\); got shape \(4,\)"):
        Matrices(2, 2).norm([1, 2, 3, 4])
    with pytest.raises(ValueError, match="must be finite; got nan at row 1, column 0"):
        Matrices(2, 2).norm([[1, 2], [np.nan, 4]])
