"""Blocks of a product held in registers; the oracle is NumPy. Also as plain Python (NUMBA_DISABLE_JIT=1)."""

import numpy as np
import pytest

from mercer._registers import DEEP, multiply
from tests.oracles import tolerance

pytestmark = pytest.mark.uncompiled


def padded(V):
    """V with its rows padded to whole lines, flat, and the padded width."""
    line = 64 // V.itemsize
    width = -(-V.shape[1] // line) * line
    return np.pad(V, ((0, 0), (0, width - V.shape[1]))).ravel(), width


def close(got, left, right, dtype):
    allowed = tolerance(dtype, 4.0) * (np.abs(left) @ np.abs(right)) + 1e-300
    np.testing.assert_array_less(np.abs(got - left.astype(float) @ right.astype(float)), allowed)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("t", [1, 16, 40, 64, 100])
@pytest.mark.parametrize("h, depth", [(1, 3), (4, 1), (7, 5), (12, DEEP + 9), (15, 20)])
def test_a_product_and_its_mirror(h, depth, t, dtype, rng):
    stride = depth + 3
    held = rng.standard_normal((h + 4) * stride + 4).astype(dtype)
    K = held[: h * stride].reshape(h, stride)[:, :depth]
    V = rng.standard_normal((depth, t)).astype(dtype)
    flat, width = padded(V)
    out = np.full((h + 1, t + 2), 7.0, dtype)
    multiply(held, 0, stride, 1, h, depth, flat, 0, width, out.reshape(-1), 0, t + 2, t, False)
    close(out[:h, :t], K, V, dtype)
    assert (out[h] == 7).all()
    assert (out[:, t:] == 7).all()
    U = rng.standard_normal((h, t)).astype(dtype)
    flat, width = padded(U)
    sums = np.zeros((depth, t))
    for _ in range(2):
        multiply(held, 0, 1, stride, depth, h, flat, 0, width, sums.reshape(-1), 0, t, t, True)
    close(sums / 2, K.T, U, dtype)


def test_places_on_every_side(rng):
    """The left side, the right side and the result may each start anywhere."""
    K, V, out = rng.standard_normal(200), rng.standard_normal((6, 16)), np.zeros(100)
    multiply(K, 11, 7, 1, 4, 3, V.reshape(-1), 32, 16, out, 5, 20, 16, True)
    left = np.array([K[11 + 7 * r : 14 + 7 * r] for r in range(4)])
    close(np.array([out[5 + 20 * r : 21 + 20 * r] for r in range(4)]), left, V[2:5], np.float64)
    assert np.count_nonzero(out) == 64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_terms_that_are_not_numbers_stay_in_their_rows(dtype):
    """Rows beyond the last are read and left out, whatever they hold."""
    held, flat, out = np.full(8 * 4, np.nan, dtype), np.ones(4 * 16, dtype), np.zeros(5 * 16)
    held[: 5 * 4] = 1
    multiply(held, 0, 4, 1, 5, 4, flat, 0, 16, out, 0, 16, 16, False)
    assert (out == 4).all()
