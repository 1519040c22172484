"""Functions. Oracle: closed-form integrals, SciPy's Legendre polynomials and Hilbert matrix."""

import math

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Legendre, Polynomial
from scipy.linalg import hilbert
from scipy.special import eval_legendre

from mercer.spaces import Functions

unit, symmetric = Functions(0, 1), Functions(-1, 1)
monomials = [Polynomial([0] * k + [1]) for k in range(6)]


def test_gram_of_monomials_is_the_hilbert_matrix():
    np.testing.assert_allclose(unit.gram(monomials), hilbert(6), rtol=1e-14)
    np.testing.assert_allclose(unit.gram([lambda t, k=k: t**k for k in range(3)]), hilbert(3), rtol=1e-12)


def test_gram_schmidt_of_monomials_gives_legendre_polynomials():
    t = np.linspace(-1, 1, 7)
    for k, q in enumerate(symmetric.gram_schmidt(monomials)):
        np.testing.assert_allclose(q(t), eval_legendre(k, t) * math.sqrt(k + 0.5), atol=1e-12)


def test_gram_schmidt_of_plain_functions():
    found = symmetric.gram_schmidt([lambda t: 1.0, lambda t: t, lambda t: 1 + 2 * t, lambda t: t * t])
    assert found.kept == (0, 1, 3)
    assert found[2](0.3) == pytest.approx(eval_legendre(2, 0.3) * math.sqrt(2.5), rel=1e-9)


def test_polynomials_are_exact():
    f, g = Chebyshev([0, 0, 0, 1]), Legendre([0, 1])  # (4 t^3 - 3 t) t over [-1, 1]
    value, error = symmetric.inner_with_error(f, g)
    assert value == pytest.approx(8 / 5 - 2, rel=1e-15)
    assert error < 1e-14
    assert symmetric.inner(np.poly1d([1, 0]), f) == pytest.approx(-0.4, rel=1e-14)
    assert symmetric.inner(symmetric.combine([1, 1], [f, g]), g) == pytest.approx(-0.4 + 2 / 3, rel=1e-14)


def test_polynomials_of_one_kind_add_to_a_polynomial():
    assert symmetric.combine([2, -1], [monomials[1], monomials[0]]) == Polynomial([-1, 2])
    assert symmetric.combine([], []) == Polynomial([0])
    mixed = symmetric.combine([1, 1], [Polynomial([1]), Polynomial([0, 1], domain=[0, 1])])
    assert mixed(0.5) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "f, g, want",
    [
        (math.exp, lambda t: t, 1.0),
        (lambda t: t**-0.25, lambda t: t**-0.25, 2.0),
        (math.log, math.log, 2.0),
        (lambda t: abs(t - 0.3), lambda t: 1, 0.29),
        (lambda t: np.sin(200 * t), lambda t: np.array([1.0]), (1 - math.cos(200)) / 200),
        (lambda t: math.exp(-1e4 * (t - 0.5) ** 2), lambda t: 1.0, math.sqrt(math.pi) / 100),
    ],
)
def test_adaptive_quadrature(f, g, want):
    value, error = unit.inner_with_error(f, g)
    assert value == pytest.approx(want, rel=1e-9)
    assert unit.inner(f, g) == value
    assert abs(value - want) <= max(error, 1e-14)


def test_complex_exponentials_are_orthonormal():
    space = Functions(0, 2 * math.pi, complex=True)
    waves = [lambda t, k=k: np.exp(1j * k * t) / math.sqrt(2 * math.pi) for k in range(3)]
    np.testing.assert_allclose(space.gram(waves), np.eye(3), atol=1e-12)
    assert space.inner(space.combine([2j], [waves[1]]), waves[1]) == pytest.approx(2j)


def test_fourier_projection():
    space = Functions(-math.pi, math.pi)
    p = space.project(lambda t: t, [math.sin, lambda t: math.sin(2 * t), math.sin])  # t = 2 sin t - sin 2t + ...
    assert p(1.0) == pytest.approx(2 * math.sin(1) - math.sin(2), rel=1e-9)


@pytest.mark.parametrize("n", [1, 10, 1000, 10**5])
def test_ramps_converge_to_a_step(n):
    space = Functions(-1, 1, breaks=(0,))
    ramp, step = (lambda t: max(-1.0, min(1.0, n * t))), (lambda t: math.copysign(1.0, t))
    assert space.distance(ramp, step) == pytest.approx(math.sqrt(2 / (3 * n)), rel=1e-8)


def test_differences_of_equals_do_not_stall():
    assert symmetric.distance(math.sin, math.sin) == 0.0
    assert symmetric.distance(math.sin, lambda t: math.sin(t) * (1 + 3e-16)) < 1e-15
    assert symmetric.angle(math.exp, lambda t: 5 * math.exp(t)) < 1e-14


@pytest.mark.parametrize(
    "f, text",
    [
        (
            lambda t: 1 / abs(t - 0.2),
            r"the quadrature on \[0, 1\] must converge to tol=1e-10; got an error estimate of",
        ),
        (lambda t: 1 / t, "got an error estimate of"),  # extrapolated, the integral of its square would be -1
        (lambda t: 1e200, "must converge"),
        (lambda t: math.nan, r"a function must return one finite number; got nan at t = "),
        (lambda t: 1 / 0, "got ZeroDivisionError.* at t = .* Points named in breaks are never evaluated"),
        (lambda t: "a", "one finite number; got 'a'"),
        (lambda t: [t, t], "one finite number"),
        (lambda t: 1j, "a function of a real space must be real; got 1j at t = .* Use complex=True"),
        (Polynomial([1j]), "a polynomial's coefficients of a real space must be real"),
        (Polynomial([math.nan]), "every entry of a polynomial's coefficients must be finite"),
    ],
)
def test_bad_functions(f, text):
    with pytest.raises(ValueError, match=f"Functions: .*{text}"):
        unit.norm(f)


@pytest.mark.parametrize("x", [[1, 2], "sin", 3.0, None])
def test_what_is_not_a_function(x):
    with pytest.raises(TypeError, match=r"Functions: a vector must be a function of one number; got .* Wrap values"):
        unit.norm(x)


@pytest.mark.parametrize(
    "arguments, text",
    [
        ((1, 0), r"the interval must have a < b; got \[1, 0\]"),
        ((0, math.inf), "'b' must be a finite number; got inf"),
        ((0, 1, False, (2,)), r"'breaks' must lie inside \(0, 1\); got \(2.0,\)"),
        ((0, 1, False, (), -1), "'tol' must be a positive number"),
        ((0, 1, False, (), 1e-8, 0), "'limit' must be an integer >= 1"),
    ],
)
def test_bad_intervals(arguments, text):
    with pytest.raises(ValueError, match=f"Functions: {text}"):
        Functions(*arguments)
