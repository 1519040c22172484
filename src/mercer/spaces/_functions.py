"""Functions on an interval with the integral inner product."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial
from scipy.integrate import quad

from mercer._checks import describe, integer, number, positive, refuse
from mercer.spaces._arrays import EPS, coefficient_array, numeric
from mercer.spaces._mix import Estimate, Mix, flatten
from mercer.spaces._space import Array, Coefficients, Scalar, Space

# Where an interval is cut at first: what happens next to an end or a break is seen however narrow it is, and bisection
# does not land on a kink in the middle, which would hide it.
GRADES = tuple(sorted([0.0, 1e-4, 1e-2, 0.99, 0.9999, *(k * 0.6180339887 % 1 for k in range(1, 14))]))
POLYNOMIALS = (Polynomial, Chebyshev, Legendre, Hermite, HermiteE, Laguerre)

Vector: TypeAlias = Any  # a function of one number, a numpy polynomial, or a Mix of them


@dataclass(frozen=True)
class Functions(Space[Vector]):
    """Functions on [a, b] with ``<f, g> = integral of f(t) conj(g(t)) dt``.

    NumPy polynomials are integrated exactly, by Gauss-Legendre points enough for their degree; other functions by
    adaptive quadrature, refused when its error estimate stays above ``tol * integral of |f g|``. Functions are called
    with one number at a time, some 450 calls, and never at a, b or a break. A feature narrower than (b - a) / 150 in
    the middle can be missed: name its place in breaks.

    Parameters
    ----------
    a, b : float
        The interval, a < b.
    complex : bool
        Complex values.
    breaks : sequence of float
        Points inside where functions jump, bend or spike; the quadrature is split there.
    tol : float
        Relative error allowed.
    limit : int
        The most subintervals on each piece.

    Examples
    --------
    >>> import math
    >>> from mercer.spaces import Functions
    >>> space = Functions(-math.pi, math.pi)
    >>> space.is_orthogonal(math.sin, math.cos)
    True
    >>> round(space.norm(math.sin) ** 2 / math.pi, 12)
    1.0
    """

    a: float
    b: float
    complex: bool = False
    breaks: tuple[float, ...] = ()
    tol: float = 1e-10
    limit: int = 200
    completeness: ClassVar[str] = (
        "Complete as L2[a, b], where functions that differ on a null set are one vector. The continuous functions"
        " C[a, b] alone are not complete: the ramps t -> clip(n t, -1, 1) are Cauchy and converge to a step."
    )

    def __post_init__(self) -> None:
        """Check the interval and the settings."""
        a, b = number("Functions", "a", self.a), number("Functions", "b", self.b)
        if not a < b:
            refuse("Functions", "the interval must have a < b", f"[{a:g}, {b:g}]")
        breaks = tuple(sorted(number("Functions", "breaks", t) for t in self.breaks))
        if breaks and not a < breaks[0] <= breaks[-1] < b:
            refuse("Functions", f"'breaks' must lie inside ({a:g}, {b:g})", f"{breaks}")
        positive("Functions", "tol", self.tol)
        integer("Functions", "limit", self.limit, 1)
        for name, value in (("a", a), ("b", b), ("breaks", breaks)):
            object.__setattr__(self, name, value)

    def check(self, x: Vector) -> Vector:
        """Return x, a function or polynomial, or refuse it with the reason."""
        if not callable(x):
            advice = "Wrap values in a function, or give numpy.polynomial.Polynomial(coefficients)."
            refuse("Functions", "a vector must be a function of one number", describe(x), advice, TypeError)
        if degree(x) is not None and not isinstance(x, Mix):
            numeric("Functions", x.coef, complex=self.complex, what="a polynomial's coefficients")
        return x

    def inner(self, x: Vector, y: Vector) -> Scalar:
        """Return ``<x, y>``, or refuse when the quadrature does not converge to tol."""
        (value, error), scale = self._integrate(x, y)
        if not (error <= self.tol * scale and math.isfinite(abs(value))):
            got = f"an error estimate of {error:.3g}, where the integral of |f g| is about {scale:.3g}"
            wanted = f"the quadrature on [{self.a:g}, {self.b:g}] must converge to tol={self.tol:g}"
            advice = "Is the product integrable? Name kinks in breaks, raise tol or limit, or use inner_with_error."
            refuse("Functions", wanted, got, advice)
        return value

    def inner_with_error(self, x: Vector, y: Vector) -> Estimate:
        """Return ``<x, y>`` and the estimate of its error, however large that is."""
        return self._integrate(x, y)[0]

    def combine(self, coefficients: Coefficients, vectors: Sequence[Vector]) -> Vector:
        """Return the linear combination: a polynomial when all are polynomials of one kind, else a function."""
        c = coefficient_array("Functions", coefficients, len(vectors), complex=self.complex)
        mix = flatten(c.tolist(), [self.check(v) for v in vectors])
        if not mix.parts:
            return Polynomial([0.0])
        return mix.total(lambda p: p) if len({_kind(p) for p in mix.parts}) == 1 and _kind(mix.parts[0]) else mix

    def _integrate(self, x: Vector, y: Vector) -> tuple[Estimate, float]:
        """Return the estimate and about the integral of |f g|, against which its error is measured."""
        f, g = self._finite(self.check(x)), self._finite(self.check(y))

        def product(t: float) -> Scalar:
            v: Scalar = f(t) * g(t).conjugate()
            return v

        orders = degree(x), degree(y)
        if orders[0] is not None and orders[1] is not None:
            value, scale = _gauss(product, self.a, self.b, (orders[0] + orders[1]) // 2 + 1)
            return Estimate(self._scalar(value), 8 * EPS * scale), scale
        pieces = self._pieces()
        rough = sum(_gauss(product, lo, hi, 3)[1] for lo, hi in pieces)
        parts = [self._adapt(product, lo, hi, rough / len(pieces)) for lo, hi in pieces]
        value, error = sum(p.value for p in parts), sum(p.error for p in parts)
        noise = sum(_gauss(_rounding(x, y, f, g), lo, hi, 3)[1] for lo, hi in pieces)
        return Estimate(self._scalar(value), error), max(rough, abs(value)) + noise / self.tol

    def _pieces(self) -> list[tuple[float, float]]:
        """Return the intervals between breaks, each cut finely towards its ends and nowhere symmetrically."""
        spans = itertools.pairwise((self.a, *self.breaks, self.b))
        cuts = [lo + (hi - lo) * grade for lo, hi in spans for grade in GRADES]
        return [(lo, hi) for lo, hi in itertools.pairwise([*cuts, self.b]) if lo < hi]

    def _adapt(self, product: Callable[[float], Scalar], lo: float, hi: float, scale: float) -> Estimate:
        """Return the adaptive quadrature of the product on one piece."""

        def part(imaginary: bool) -> tuple[float, float]:
            take = (lambda t: product(t).imag) if imaginary else (lambda t: product(t).real)
            aim = {"epsabs": 0.1 * self.tol * scale, "epsrel": max(0.1 * self.tol, 1e-13), "limit": self.limit}
            found = quad(take, lo, hi, full_output=1, **aim)
            value, error = float(found[0]), float(found[1])
            if len(found) > 3 and "divergent" in found[3]:  # it may have been extrapolated to a finite number
                error = max(error, abs(value))
            return value, error

        value, error = part(False)
        if not self.complex:
            return Estimate(value, error)
        imag, imag_error = part(True)
        return Estimate(value + 1j * imag, math.hypot(error, imag_error))

    def _finite(self, f: Callable[[float], Any]) -> Callable[[float], Any]:
        """Return f with its values checked: one finite number of the field each time."""

        def checked(t: float) -> Scalar:
            try:
                value = f(t)
            except ArithmeticError as error:
                value = error
            if type(value) is float and math.isfinite(value):  # the common case, fast
                return value
            return _one_number(value, t, complex_field=self.complex)

        return checked

    def _scalar(self, value: Any) -> Scalar:
        return complex(value) if self.complex else float(value)


def _one_number(value: Any, t: float, *, complex_field: bool) -> Scalar:
    """Return what a function gave at t as one finite number of the field, or refuse it."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if not isinstance(value, numbers.Complex) or not np.isfinite(complex(value)):
        got, advice = f"{describe(value)} at t = {t:g}", "Points named in breaks are never evaluated."
        refuse("Functions", "a function must return one finite number", got, advice)
    if isinstance(value, numbers.Real):
        return float(value)
    if not complex_field:
        refuse("Functions", "a function of a real space must be real", f"{value} at t = {t:g}", "Use complex=True.")
    return complex(value)


def degree(f: Any) -> int | None:
    """Return the degree of a numpy polynomial, or of a combination of them; None for any other function."""
    if isinstance(f, Mix):
        degrees = [degree(p) for p in f.parts]
        return None if None in degrees else max((d for d in degrees if d is not None), default=0)
    if isinstance(f, POLYNOMIALS):
        return len(f.coef) - 1
    return int(f.order) if isinstance(f, np.poly1d) else None


def _rounding(
    x: Vector, y: Vector, f: Callable[[float], Scalar], g: Callable[[float], Scalar]
) -> Callable[[float], float]:
    """Return the rounding error of f(t) conj(g(t)): no quadrature of a difference of equals can go below it."""

    def size(v: Vector, t: float) -> float:
        return 8 * EPS * float(sum(abs(c * p(t)) for c, p in zip(v.coefficients, v.parts, strict=True)))

    def error(t: float) -> float:
        df = size(x, t) if isinstance(x, Mix) else 0.0
        dg = size(y, t) if isinstance(y, Mix) else 0.0
        return df * abs(g(t)) + abs(f(t)) * dg + df * dg

    return error


def _kind(f: Any) -> tuple[Any, ...] | None:
    """Return what two polynomials must share to be added coefficient by coefficient; None for other functions."""
    if isinstance(f, POLYNOMIALS):
        return type(f), tuple(f.domain), tuple(f.window), getattr(f, "symbol", None)
    return (np.poly1d, f.variable) if isinstance(f, np.poly1d) else None


def _gauss(f: Callable[[float], Scalar], a: float, b: float, n: int) -> tuple[Scalar, float]:
    """Return the Gauss-Legendre sums of f and of |f| with n points: exact for degree 2 n - 1."""
    t, w = np.polynomial.legendre.leggauss(n)
    values: Array = np.array([f(float(s)) for s in 0.5 * (b - a) * t + 0.5 * (a + b)])
    w = 0.5 * (b - a) * w
    return (w @ values).item(), float(w @ np.abs(values))
