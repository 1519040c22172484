"""What a space is, and every verb that follows from its inner product alone."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer._checks import refuse
from mercer.spaces._orthonormal import Orthonormal

V = TypeVar("V")
Scalar: TypeAlias = float | complex
Array: TypeAlias = NDArray[Any]
Coefficients: TypeAlias = Sequence[Scalar] | Array


class Space(ABC, Generic[V]):
    """An inner product space: two operations, and the geometry that follows from them.

    A subclass defines ``inner`` and ``combine``; every other verb is derived from these two and needs nothing else.
    ``<x, y>`` is linear in x and conjugate-symmetric: ``<y, x> = conj(<x, y>)``. Real spaces return float, complex
    ones complex. Costs below count inner products.

    Examples
    --------
    >>> from mercer.spaces import Space
    >>> class Plane(Space[complex]):
    ...     def inner(self, x, y):
    ...         return (x * y.conjugate()).real
    ...     def combine(self, coefficients, vectors):
    ...         return sum(c * v for c, v in zip(coefficients, vectors))
    >>> Plane().norm(3 + 4j), Plane().is_orthogonal(1, 1j)
    (5.0, True)
    """

    complex: bool = False
    completeness: ClassVar[str] = "Not stated for this space."
    dependence: ClassVar[float] = 1e-7
    """Below this relative distance to the span of the others a vector counts as dependent: the root of the rounding
    error of an inner product, since norms of small differences come from cancelling squares."""

    @abstractmethod
    def inner(self, x: V, y: V) -> Scalar:
        """Return ``<x, y>``, linear in x and conjugate-symmetric."""

    @abstractmethod
    def combine(self, coefficients: Coefficients, vectors: Sequence[V]) -> V:
        """Return the linear combination ``sum_i coefficients[i] vectors[i]``."""

    def check(self, x: V) -> V:
        """Return x as a vector of this space, or refuse it with the reason."""
        return x

    def describe(self) -> str:
        """Return what this space is, over which field, and whether it is complete."""
        return f"{self!r}\n{'Complex' if self.complex else 'Real'}. {self.completeness}"

    def norm(self, x: V) -> float:
        """Return ``||x|| = sqrt(<x, x>)``. One inner product."""
        return math.sqrt(max(0.0, self.inner(x, x).real))

    def distance(self, x: V, y: V) -> float:
        """Return ``||x - y||``. One inner product."""
        return self.norm(self.combine([1.0, -1.0], [x, y]))

    def cosine(self, x: V, y: V) -> Scalar:
        """Return ``<x, y> / (||x|| ||y||)``, never above 1 in size; complex in a complex space. Three products."""
        value = self.inner(self._unit("cosine", x), self._unit("cosine", y))
        return value / abs(value) if abs(value) > 1.0 else value

    def angle(self, x: V, y: V) -> float:
        """Return the angle in [0, pi], accurate at both ends: ``2 atan2(||u - v||, ||u + v||)`` for unit u and v.

        Its cosine is the real part of ``cosine(x, y)``. Four inner products.
        """
        u, v = self._unit("angle", x), self._unit("angle", y)
        return 2.0 * math.atan2(
            self.norm(self.combine([1.0, -1.0], [u, v])), self.norm(self.combine([1.0, 1.0], [u, v]))
        )

    def is_orthogonal(self, x: V, y: V, tol: float = 1e-10) -> bool:
        """Whether ``|<x, y>| <= tol ||x|| ||y||``; a vector of norm zero is orthogonal to all. Five products."""
        if self.norm(x) == 0.0 or self.norm(y) == 0.0:
            return True
        return abs(self.cosine(x, y)) <= tol

    def gram(self, vectors: Sequence[V]) -> Array:
        """Return G with ``G[i, j] = <vectors[i], vectors[j]>``, Hermitian. n (n + 1) / 2 inner products."""
        n = len(vectors)
        gram = np.empty((n, n), dtype=np.complex128 if self.complex else np.float64)
        for i, j in combinations_with_replacement(range(n), 2):
            value = self.inner(vectors[i], vectors[j])
            gram[i, j] = value.real if i == j else value
            gram[j, i] = np.conj(gram[i, j])
        return gram

    def project(self, x: V, basis: Sequence[V], tol: float | None = None) -> V:
        """Return the nearest point to x in the span of basis, whose vectors may be dependent.

        Solves ``sum_j c_j <b_j, b_i> = <x, b_i>`` with the Gram matrix scaled to unit diagonal and cut at its
        numerical rank, then corrects c with the residual until it rests (at most 8 times, seldom more than 2), since
        the Gram matrix squares the condition. n (n + 1) / 2 + n inner products, n for each correction, n^3 flops.

        Parameters
        ----------
        x : vector
            The vector to project.
        basis : sequence of vectors
            They span the subspace.
        tol : float, optional
            Directions of relative size below tol count as absent; ``dependence`` by default.
        """
        gram = self.gram(basis)
        size = np.sqrt(np.maximum(gram.diagonal().real, 0.0))
        used = [i for i in range(len(size)) if size[i] > 0.0]
        if not used:
            return self.combine([0.0], [x])
        some, size = [basis[i] for i in used], size[used]
        inverse = _pseudo_inverse(
            gram[np.ix_(used, used)].T / np.outer(size, size), self.dependence if tol is None else tol
        )
        c = inverse @ self._against(x, some, size)
        for _ in range(8):
            residual = self.combine([1.0, *(-c / size).tolist()], [x, *some])
            step = inverse @ self._against(residual, some, size)
            c = c + step
            if np.linalg.norm(step) <= 1e-13 * np.linalg.norm(c):
                break
        return self.combine((c / size).tolist(), some)

    def gram_schmidt(self, vectors: Sequence[V], tol: float | None = None) -> Orthonormal[V]:
        """Return orthonormal vectors with the same span; dependent ones are dropped, and named in the record.

        ``w = v - sum_j <v, q_j> q_j``, swept twice so that rounding does not spoil the right angles. Each result is
        one combination of the given vectors, never a chain of combinations. About n^2 inner products.

        Parameters
        ----------
        vectors : sequence of vectors
            In the order in which they are to be made orthonormal.
        tol : float, optional
            A vector whose relative distance to the span of the earlier ones is below tol counts as dependent;
            ``dependence`` by default.
        """
        rows: list[Array] = []
        found: list[V] = []
        kept: list[int] = []
        for k in range(len(vectors)):
            row = self._sweep(k, vectors, rows, found, self.dependence if tol is None else tol)
            if row is not None:
                rows.append(row)
                found.append(self._mix(row, vectors))
                kept.append(k)
        return Orthonormal(tuple(found), tuple(kept), tuple(k for k in range(len(vectors)) if k not in kept))

    def _sweep(self, k: int, vectors: Sequence[V], rows: list[Array], found: list[V], tol: float) -> Array | None:
        """Return the coefficients of vector k made orthonormal to those found; None when it depends on them."""
        size = self.norm(vectors[k])
        if size == 0.0:
            return None
        row = np.zeros(len(vectors), dtype=np.complex128 if self.complex else np.float64)
        row[k] = 1.0 / size
        for least in (tol, 0.1):  # a second sweep that still shrinks the vector met only rounding
            w = self._mix(row, vectors)
            row = row - sum(self.inner(w, q) * r for q, r in zip(found, rows, strict=True))
            size = self.norm(self._mix(row, vectors))
            if size <= least:
                return None
            row = row / size
        return row

    def _mix(self, row: Array, vectors: Sequence[V]) -> V:
        """Return the combination, leaving out vectors whose coefficient is zero."""
        used = [int(i) for i in np.flatnonzero(row)]
        return self.combine(row[used].tolist(), [vectors[i] for i in used])

    def _against(self, x: V, basis: Sequence[V], size: Array) -> Array:
        """Return <x, b_i> / ||b_i|| for every vector of the basis."""
        return np.array([self.inner(x, b) for b in basis]) / size

    def _unit(self, verb: str, x: V) -> V:
        """Return x / ||x||; refuse a vector of norm zero."""
        size = self.norm(x)
        if size == 0.0:
            who = type(self).__name__
            refuse(who, f"{verb} needs vectors of norm > 0", "a vector of norm 0", self._zero_advice())
        if size < 1e-300:  # 1 / size would overflow: two steps
            return self._unit(verb, self.combine([1e300], [x]))
        return self.combine([1.0 / size], [x])

    def _zero_advice(self) -> str:
        return "Leave out zero vectors."


def _pseudo_inverse(gram: Array, tol: float) -> Array:
    """Return the inverse of a psd matrix of unit diagonal on its eigenvalues above tol^2: they are squared lengths."""
    w, v = np.linalg.eigh(gram)
    keep = w > max(tol**2, len(w) * np.finfo(np.float64).eps) * w[-1]
    inverse: Array = (v[:, keep] / w[keep]) @ v[:, keep].conj().T
    return inverse
