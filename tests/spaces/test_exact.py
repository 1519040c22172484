"""Inner products beyond the range of a float. Oracle: rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.spaces import Euclidean, Matrices, Sequences
from mercer.spaces._exact import exact_inner

HUGE = st.floats(-1e308, 1e308)


def rational(x, y, a):
    """Return the real and the imaginary part of y^H A x as fractions."""
    total = [Fraction(0), Fraction(0)]
    for i, v in enumerate(np.atleast_1d(y).tolist()):
        for j, u in enumerate(np.atleast_1d(x).tolist()):
            re, im = (Fraction(1), Fraction(0)) if a is None else (Fraction(t) for t in parts(a[i, j]))
            if a is None and i != j:
                continue
            (ur, ui), (vr, vi) = map(Fraction, parts(u)), map(Fraction, parts(v))
            pr, pi = ur * vr + ui * vi, ui * vr - ur * vi
            total[0] += re * pr - im * pi
            total[1] += re * pi + im * pr
    return total


def parts(value):
    return complex(value).real, complex(value).imag


def rounded(value):
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


@given(st.lists(st.tuples(HUGE, HUGE, HUGE, HUGE), min_size=1, max_size=5), st.booleans(), st.integers(-900, 900))
def test_equals_rational_arithmetic(entries, complex, exponent):
    table = np.array(entries).T / 2.0**1023
    x, y = (table[0] + 1j * table[1], table[2] + 1j * table[3]) if complex else table[:2]
    want = [rounded(v * Fraction(2) ** exponent) for v in rational(x, y, None)]
    value = exact_inner(x, y, None, exponent, complex=complex)
    assert [value.real, value.imag] == pytest.approx(want, rel=1e-15, abs=0)


def test_equals_rational_arithmetic_with_a_metric(rng):
    x, y, b = (rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in (4, 4, (4, 4)))
    a = b.conj().T @ b
    value, want = exact_inner(x, y, a, 0, complex=True), rational(x, y, a)
    assert (value.real, value.imag) == (float(want[0]), float(want[1]))


@pytest.mark.parametrize("size", [1e-310, 1e-300, 1e-160, 0.1, 1e155, 1e200, 1e308])
def test_orthogonal_vectors_of_any_size(size):
    """Products rounded one by one differ from fused ones: the difference times size^2 may not be inf."""
    x, y = np.array([size, size]), np.array([size, -size])
    spaces = [
        (Euclidean(2), x, y),
        (Euclidean(A=[[2, 1], [1, 2]]), x, y),
        (Euclidean(2, complex=True), x * (1 + 0.3j), y * (1 + 0.3j)),
        (Euclidean(A=[[2, 1j], [-1j, 2]], complex=True), x * [1, 1j], y * [1, 1j]),
        (Matrices(1, 2), x[None], y[None]),
        (Sequences(), x, y),
    ]
    for space, u, v in spaces:
        error = 0.0 if size > 1e170 else 1e-15 * size * size
        assert abs(space.inner(u, v)) <= error
        assert np.abs(space.gram([u, v])[[0, 1], [1, 0]]).max() <= error
        assert abs(space.cosine(u, v)) < 1e-15
        assert space.is_orthogonal(u, v)


def test_nearly_orthogonal_huge_vectors_keep_what_fits():
    x, y = [1e200, 1e200, 1e140], [1e200, -1e200, 1e140]
    assert Euclidean(3).inner(x, y) == 1e140 * 1e140
    assert Euclidean(3).gram([x, y])[0, 1] == 1e140 * 1e140


def test_vectors_of_very_different_size_keep_their_digits():
    tiny, huge = [1e-305, 1e-300], [1e300, 1.0]
    assert Euclidean(2).gram([tiny, huge])[0, 1] == pytest.approx(1e-5, rel=1e-15)
