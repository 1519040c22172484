"""Sequences. Oracle: closed-form sums (geometric series, zeta(2)) and mpmath."""

import math

import mpmath
import numpy as np
import pytest

from mercer.spaces import Sequences, SquareSummable

l2 = Sequences()


def geometric(ratio, **options):
    return SquareSummable(lambda n: ratio**n, lambda n: abs(ratio) ** (2 * n) / (1 - abs(ratio) ** 2))


harmonic = SquareSummable(lambda n: 1 / (n + 1), lambda n: 1 / n if n else 2.0)


@pytest.mark.parametrize("p, q", [(0.5, 0.5), (0.9, 0.3), (-0.99, 0.7)])
def test_geometric_sequences(p, q):
    assert l2.inner(geometric(p), geometric(q)) == pytest.approx(1 / (1 - p * q), rel=1e-9)


def test_complex_geometric_sequences():
    z, w = 0.5 + 0.5j, 0.3 - 0.6j
    assert Sequences(complex=True).inner(geometric(z), geometric(w)) == pytest.approx(
        1 / (1 - z * w.conjugate()), rel=1e-9
    )


def test_truncation_error_is_bounded():
    value, error = Sequences(n_terms=1000).inner_with_error(harmonic, harmonic)
    assert error == pytest.approx(1e-3)
    assert 0 < float(mpmath.zeta(2)) - value <= error


def test_a_tail_too_heavy_is_refused():
    with pytest.raises(
        ValueError, match=r"tol=1e-10; got a bound of 9.54e-07 .* after 1048576 terms. Give a sharper tail"
    ):
        l2.inner(harmonic, harmonic)
    assert Sequences(tol=1e-6).norm(harmonic) == pytest.approx(math.sqrt(math.pi**2 / 6), rel=1e-6)


def test_finite_with_infinite_is_exact():
    assert l2.inner(harmonic, [1, 1]) == 1.5
    assert l2.inner([0, 0, 3], harmonic) == 1.0


def test_prefixes_of_any_length():
    assert l2.inner([], [1, 2]) == 0.0
    assert l2.norm([1e200, 1e200]) == pytest.approx(math.sqrt(2) * 1e200)
    np.testing.assert_array_equal(l2.combine([1, 2], [[1], [0, 3]]), [1, 6])
    np.testing.assert_array_equal(l2.combine([], []), [])


def test_a_term_of_one_index_at_a_time():
    inverse_factorial = SquareSummable(lambda n: 1 / math.factorial(n), lambda n: 2 / math.factorial(n) ** 2)
    assert l2.norm(inverse_factorial) ** 2 == pytest.approx(float(mpmath.besseli(0, 2)), rel=1e-12)


def test_an_array_answer_that_disagrees_with_single_ones_is_not_used():
    liar = SquareSummable(lambda n: 0.5**n if np.ndim(n) == 0 else 0 * n, lambda n: 0.25**n / 0.75)
    assert l2.inner(liar, liar) == pytest.approx(4 / 3)


def test_combinations_stay_flat_and_cancel():
    x, y = geometric(0.5), geometric(0.25)
    assert l2.distance(x, x) == 0.0
    assert l2.norm(l2.combine([1, -1], [l2.combine([1, 1], [x, y]), y])) == pytest.approx(math.sqrt(4 / 3))
    want = 1 / (1 - 0.25) + 1 / (1 - 0.0625) - 2 / (1 - 0.125)
    assert l2.distance(x, y) ** 2 == pytest.approx(want, rel=1e-9)
    assert l2.gram_schmidt([x, y, l2.combine([2, 3], [x, y])]).dropped == (2,)
    np.testing.assert_allclose(l2.prefix(l2.combine([1, 1], [x, [1, 1]]), 3), [2, 1.5, 0.25])


def test_projection_on_a_geometric_sequence():
    p = l2.project([1.0], [geometric(0.5)])
    np.testing.assert_allclose(l2.prefix(p, 3), [0.75, 0.375, 0.1875], rtol=1e-12)


def test_the_harmonic_prefixes_are_cauchy():
    prefix = [[1 / i for i in range(1, n + 1)] for n in (100, 200)]
    assert l2.distance(*prefix) < math.sqrt(1 / 100)


@pytest.mark.parametrize(
    "x, text, error",
    [
        (math.sin, r"needs a bound on its tail; got a function alone. Give SquareSummable\(term, tail\)", TypeError),
        ([[1]], r"a finite sequence must have one axis; got shape \(1, 1\)", ValueError),
        ([np.inf], "every entry of a vector must be finite; got inf at index 0", ValueError),
        ([1j], "must be real; .* Use complex=True", ValueError),
        (
            SquareSummable(lambda n: 1.0, lambda n: 0.5**n),
            r"tail\(n\) must bound the sum .*; got tail\(32\) = ",
            ValueError,
        ),
        (
            SquareSummable(lambda n: 0.5**n, lambda n: -1),
            r"tail\(\d+\) must be a finite number >= 0; got -1",
            ValueError,
        ),
        (SquareSummable(lambda n: math.nan, lambda n: 0.5**n), "every entry of a sequence must be finite", ValueError),
        (SquareSummable(lambda n: "a", lambda n: 0.5**n), "a sequence must hold numbers", TypeError),
        (SquareSummable(lambda n: [1.0, 2.0], lambda n: 0.5**n), r"term\(n\) must be one number", ValueError),
    ],
)
def test_bad_sequences(x, text, error):
    with pytest.raises(error, match=f"Sequences: .*{text}"):
        l2.norm(x)


def test_bad_settings():
    with pytest.raises(ValueError, match="Sequences: 'tol' must be a positive number; got 0"):
        Sequences(tol=0)
    with pytest.raises(ValueError, match="Sequences: 'n_terms' must be an integer >= 1"):
        Sequences(n_terms=0)
