"""l2: square-summable sequences, finite or with a bound on their tail."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from mercer._checks import describe, integer, is_number, positive, refuse
from mercer.spaces._arrays import coefficient_array, dot, numeric, regrown, scaled
from mercer.spaces._mix import Estimate, Mix, flatten
from mercer.spaces._space import Array, Coefficients, Scalar, Space


@dataclass(frozen=True)
class SquareSummable:
    """A sequence x_0, x_1, ... with the promise that makes it square-summable.

    Parameters
    ----------
    term : callable
        ``term(n)`` is x_n. If it also takes an array of indices (as floats) it is called that way, which is faster.
    tail : callable
        ``tail(n)`` is an upper bound of ``sum_{i >= n} |x_i|^2``. It may be generous, but it must go to 0.

    Examples
    --------
    >>> from mercer.spaces import Sequences, SquareSummable
    >>> halves = SquareSummable(lambda n: 0.5**n, lambda n: 0.25**n / 0.75)
    >>> round(Sequences().inner(halves, halves), 9)  # 1 / (1 - 1/4)
    1.333333333
    """

    term: Callable[[Any], Any]
    tail: Callable[[int], float]


Vector: TypeAlias = Any  # an array (a finite prefix, zeros after it), a SquareSummable, or a Mix of them


@dataclass(frozen=True)
class Sequences(Space[Vector]):
    """Square-summable sequences (l2) with ``<x, y> = sum_n x_n conj(y_n)``.

    A vector is a list or array, read as a prefix followed by zeros, or a `SquareSummable`. The sum of two infinite
    sequences stops at n terms once Cauchy-Schwarz bounds the rest,
    ``|rest| <= sqrt(tail_x(n) tail_y(n)) <= tol ||x|| ||y||``; if n_terms do not suffice it is refused. n flops.

    Parameters
    ----------
    complex : bool
        Complex entries.
    tol : float
        The largest truncation error, relative to the norms.
    n_terms : int
        The most terms to sum.

    Examples
    --------
    >>> from mercer.spaces import Sequences
    >>> space = Sequences()
    >>> space.inner([1, 2], [3, 4, 5]), space.norm([3, 0, 4])
    (11.0, 5.0)
    """

    complex: bool = False
    tol: float = 1e-10
    n_terms: int = 2**20
    completeness: ClassVar[str] = (
        "Complete. The finite sequences alone are not: (1, 1/2, ..., 1/n, 0, ...) is Cauchy and its limit never ends."
    )

    def __post_init__(self) -> None:
        """Check the tolerance and the number of terms."""
        positive("Sequences", "tol", self.tol)
        integer("Sequences", "n_terms", self.n_terms, 1)

    def check(self, x: Vector) -> Vector:
        """Return x as a finite array, a `SquareSummable` or a combination of them, or refuse it with the reason."""
        if isinstance(x, SquareSummable | Mix):
            return x
        if callable(x):
            advice = "Give SquareSummable(term, tail), where tail(n) >= sum of |x_i|^2 over i >= n."
            refuse("Sequences", "an infinite sequence needs a bound on its tail", "a function alone", advice, TypeError)
        array = numeric("Sequences", x, complex=self.complex)
        if array.ndim != 1:
            refuse("Sequences", "a finite sequence must have one axis", f"shape {array.shape}")
        return array

    def inner(self, x: Vector, y: Vector) -> Scalar:
        """Return ``<x, y>`` with truncation error at most ``tol ||x|| ||y||``, or refuse."""
        (value, error), scale = self._sum(x, y)
        if error > self.tol * scale:
            got = f"a bound of {error:.3g} (the norms' product is {scale:.3g}) after {self.n_terms} terms"
            wanted = f"the tails must allow a relative truncation error of tol={self.tol:g}"
            refuse("Sequences", wanted, got, "Give a sharper tail, raise tol or n_terms, or use inner_with_error.")
        return value

    def inner_with_error(self, x: Vector, y: Vector) -> Estimate:
        """Return ``<x, y>`` and a bound on its truncation error, whatever that is after at most n_terms."""
        return self._sum(x, y)[0]

    def combine(self, coefficients: Coefficients, vectors: Sequence[Vector]) -> Vector:
        """Return the linear combination: an array when all vectors are finite."""
        c = coefficient_array("Sequences", coefficients, len(vectors), complex=self.complex)
        mix = flatten(c.tolist(), [self.check(v) for v in vectors])
        longest = max((len(p) for p in mix.parts if isinstance(p, np.ndarray)), default=0)
        infinite = any(isinstance(p, SquareSummable) for p in mix.parts)
        return mix if infinite else self.prefix(mix, longest)

    def norm(self, x: Vector) -> float:
        """Return ``||x|| = sqrt(<x, x>)``, for finite sequences at any scale."""
        x = self.check(x)
        if not isinstance(x, np.ndarray):
            return super().norm(x)
        p, e = scaled(x)
        return float(regrown(np.linalg.norm(p), e))

    def prefix(self, x: Vector, n: int) -> Array:
        """Return the first n entries of x.

        >>> Sequences().prefix([1, 2], 4).tolist()
        [1.0, 2.0, 0.0, 0.0]
        """
        x = self.check(x)
        zero = np.zeros(n, dtype=np.complex128 if self.complex else np.float64)
        if isinstance(x, Mix):
            return zero + x.total(lambda part: self.prefix(part, n))
        if isinstance(x, SquareSummable):
            return terms(x, n, complex=self.complex)
        zero[: len(x)] = x[:n]
        return zero

    def _sum(self, x: Vector, y: Vector) -> tuple[Estimate, float]:
        """Return the estimate and the scale of x and y that its error is measured against."""
        x, y = self.check(x), self.check(y)
        finite = [len(v) for v in (x, y) if isinstance(v, np.ndarray)]
        n = min(finite) if finite else min(64, self.n_terms)
        while True:
            value = dot(self.prefix(x, n), self.prefix(y, n))
            error = 0.0 if finite else math.sqrt(_tail(x, n)) * math.sqrt(_tail(y, n))
            scale = 0.0 if error == 0.0 else self._magnitude(x, n) * self._magnitude(y, n)
            if error <= self.tol * scale or n == self.n_terms:
                return Estimate(value, error), scale
            n = min(2 * n, self.n_terms)

    def _magnitude(self, x: Vector, n: int) -> float:
        """Return a lower bound of ||x||; for a combination, of the norm of the sum of its parts' sizes."""
        if not isinstance(x, Mix):
            return float(np.linalg.norm(self.prefix(x, n)))
        sizes = Mix(tuple(abs(c) for c in x.coefficients), x.parts)
        return float(np.linalg.norm(sizes.total(lambda part: np.abs(self.prefix(part, n)))))


def terms(x: SquareSummable, n: int, *, complex: bool) -> Array:
    """Return the first n terms, checked: finite, of the field, and within the tail they promise."""
    fast = _vectorised(x.term, n)
    values = [x.term(i) for i in range(n)] if fast is None else fast
    found = numeric("Sequences", values, complex=complex, what="a sequence")
    if found.shape != (n,):
        refuse("Sequences", "term(n) must be one number", f"an array of shape {found.shape[1:]}")
    half, bound = n // 2, _tail(x, n // 2)
    if (size := float(np.linalg.norm(found[half:]) ** 2)) > bound * (1 + 1e-9):
        got = f"tail({half}) = {bound:.6g}, less than the {size:.6g} of terms {half} to {n - 1}"
        refuse("Sequences", "tail(n) must bound the sum of |x_i|^2 over i >= n", got)
    return found


def _vectorised(term: Callable[[Any], Any], n: int) -> Array | None:
    """Return term of all indices at once, if it can do that and agrees with one call at a time."""
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(term(np.arange(n, dtype=np.float64)))
    except Exception:  # a term is the user's code: any failure here only means "one at a time"
        return None
    probes = {0, n // 3, n // 2, n - 1} if n else set()
    same = values.shape == (n,) and all(np.allclose(values[i], term(i), rtol=1e-12, atol=0) for i in probes)
    return values if same else None


def _tail(x: Vector, n: int) -> float:
    """Return a bound on the sum of |x_i|^2 over i >= n; by the triangle inequality for a combination."""
    if isinstance(x, Mix):
        return float(sum(abs(c) * math.sqrt(_tail(p, n)) for c, p in zip(x.coefficients, x.parts, strict=True)) ** 2)
    if isinstance(x, np.ndarray):
        return float(np.linalg.norm(x[n:]) ** 2)
    bound = x.tail(n)
    if not is_number(bound) or not 0 <= bound < math.inf:
        refuse("Sequences", f"tail({n}) must be a finite number >= 0", describe(bound))
    return float(bound)
