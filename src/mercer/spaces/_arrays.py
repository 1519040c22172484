"""Spaces whose vectors are arrays of one shape: the verbs as matrix products."""

from __future__ import annotations

import math
import numbers
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from mercer._checks import describe, refuse
from mercer.spaces._exact import exact_inner
from mercer.spaces._orthonormal import Orthonormal
from mercer.spaces._space import Array, Coefficients, Scalar, Space

EPS = float(np.finfo(np.float64).eps)


def numeric(who: str, value: Any, *, complex: bool, what: str = "a vector") -> Array:
    """Return value as a finite float64 or complex128 array; refuse anything else with the reason."""
    try:
        array = np.asarray(value)
    except ValueError:
        refuse(who, f"{what} must be a rectangular array of numbers", "a ragged list", "Give rows of one length.")
    known = array.dtype.kind in "biufc" or (
        array.dtype.kind == "O" and array.ndim > 0 and all(isinstance(v, numbers.Number) for v in array.flat)
    )
    if not known:
        refuse(who, f"{what} must hold numbers", describe(value), error=TypeError)
    if np.iscomplexobj(array) and not complex:
        refuse(who, f"{what} of a real space must be real", describe(value), "Use complex=True.")
    array = array.astype(np.complex128 if complex else np.float64)
    if not np.isfinite(array).all():
        at = np.unravel_index(int(np.argmin(np.isfinite(array))), array.shape)
        where = f"row {at[0]}, column {at[1]}" if len(at) == 2 else f"index {', '.join(map(str, at))}"
        value = array[at] if array[at].imag else array[at].real
        refuse(who, f"every entry of {what} must be finite", f"{value} at {where}")
    return array


def scaled(x: Array) -> tuple[Array, int]:
    """Return p and e with x = p 2^e and the entries of p at most 1, so that squares neither overflow nor vanish."""
    top = float(np.max(np.abs(x), initial=0.0))
    e = max(-1000, min(1000, math.frexp(top)[1])) if math.isfinite(top) else 1000
    return x * 2.0**-e, e


def regrown(values: Any, e: Any) -> Array:
    """Return values 2^e; inf where that is too large for a float."""
    values = np.asarray(values)
    with np.errstate(over="ignore", under="ignore"):
        if not np.iscomplexobj(values):
            grown: Array = np.ldexp(values, e)
            return grown
        grown = np.empty(values.shape, dtype=np.complex128)
        grown.real, grown.imag = np.ldexp(values.real, e), np.ldexp(values.imag, e)
    return grown


def dot(x: Array, y: Array, a: Array | None = None) -> Scalar:
    """Return ``y^H A x`` at any scale of x and y, as a Python number; inf only where the value exceeds a float."""
    (p, i), (q, j) = scaled(x), scaled(y)
    value: Scalar = regrown(np.vdot(q if a is None else a @ q, p), i + j).item()
    if np.isfinite(value):
        return value
    return exact_inner(p, q, a, i + j, complex=np.iscomplexobj(x))  # its rounding error alone may have overflowed


class ArraySpace(Space[Any]):
    """A space of arrays of one shape, with ``<x, y> = y^H A x`` on their entries read as one long vector."""

    dependence: ClassVar[float] = 1e-13

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of every vector."""

    def _matrix(self) -> Array | None:
        """Return A; None for the identity."""
        return None

    def _metric(self, rows: Array) -> Array:
        """Return A v for every row v."""
        a = self._matrix()
        return rows if a is None else rows @ a.T

    def _root(self, rows: Array) -> Array:
        """Return F v for every row v, where A = F^H F."""
        return rows

    def check(self, x: Any) -> Array:
        """Return x as a finite float64 (complex128) array of the right shape, or refuse it with the reason."""
        who = type(self).__name__
        array = numeric(who, x, complex=self.complex)
        if array.shape != self.shape:
            refuse(who, f"a vector must have shape {self.shape}", f"shape {array.shape}")
        return array

    def inner(self, x: Any, y: Any) -> Scalar:
        """Return ``<x, y> = y^H A x``, at any scale; inf only where the value itself exceeds a float."""
        return dot(self.check(x).reshape(-1), self.check(y).reshape(-1), self._matrix())

    def combine(self, coefficients: Coefficients, vectors: Sequence[Any]) -> Array:
        """Return the linear combination ``sum_i coefficients[i] vectors[i]``."""
        c = coefficient_array(type(self).__name__, coefficients, len(vectors), complex=self.complex)
        total: Array = (c @ self._rows(vectors)).reshape(self.shape)
        return total

    def norm(self, x: Any) -> float:
        """Return ``||x|| = sqrt(<x, x>)``, from the factor of A, at any scale."""
        p, e = scaled(self.check(x).reshape(-1))
        return float(regrown(self._size(p), e))

    def gram(self, vectors: Sequence[Any]) -> Array:
        """Return G with ``G[i, j] = <vectors[i], vectors[j]>``, Hermitian, as one matrix product."""
        rows, powers = self._scaled_rows(vectors)
        gram = self._metric(rows) @ rows.conj().T
        gram = 0.5 * (gram + gram.conj().T)
        grown = regrown(gram, powers[:, None] + powers)
        for i, j in np.argwhere(np.triu(~np.isfinite(grown) & self._may_be_rounding(gram, rows))):
            e = int(powers[i] + powers[j])
            grown[i, j] = exact_inner(rows[i], rows[j], self._matrix(), e, complex=self.complex)
            grown[j, i] = grown[i, j].conj()
        return grown

    def _may_be_rounding(self, gram: Array, rows: Array) -> Array:
        """Tell for every entry of the Gram matrix of rows whether it is so small that it may be rounding alone."""
        a, size = self._matrix(), np.linalg.norm(rows, axis=1)
        small: Array = np.abs(gram) <= 1e-10 * np.outer(size, size) * (1.0 if a is None else np.linalg.norm(a))
        return small

    def project(self, x: Any, basis: Sequence[Any], tol: float | None = None) -> Array:
        """Return the nearest point to x in the span of basis, by Gram-Schmidt: the condition is not squared.

        Where A is only semi-definite the nearest point is not unique; this is one of them. About 4 n^2 d flops.
        """
        p, e = scaled(self.check(x).reshape(-1))
        q, _ = self._orthonormal(basis, tol)
        dual = self._metric(q).conj()
        near = (dual @ p) @ q
        near = near + (dual @ (p - near)) @ q
        return regrown(near.reshape(self.shape), e)

    def gram_schmidt(self, vectors: Sequence[Any], tol: float | None = None) -> Orthonormal[Array]:
        """Return orthonormal vectors with the same span; dependent ones are dropped, and named in the record.

        ``w = v - sum_j <v, q_j> q_j``, swept twice, as matrix products: about 4 n^2 d flops.
        """
        q, kept = self._orthonormal(vectors, tol)
        dropped = tuple(k for k in range(len(vectors)) if k not in kept)
        return Orthonormal(tuple(v.reshape(self.shape) for v in q), tuple(kept), dropped)

    def _orthonormal(self, vectors: Sequence[Any], tol: float | None) -> tuple[Array, list[int]]:
        """Return orthonormal rows with the span of vectors, and which vectors they came from."""
        rows, _ = self._scaled_rows(vectors)
        q, kept = rows[:0], []
        for k, v in enumerate(rows):
            w = self._sweep_row(v, q, self.dependence if tol is None else tol)
            if w is not None:
                q = np.vstack([q, w])
                kept.append(k)
        return q, kept

    def _sweep_row(self, v: Array, q: Array, tol: float) -> Array | None:
        size = self._size(v)
        for least in (tol, 0.1):  # a second sweep that still shrinks the vector met only rounding
            if size == 0.0:
                return None
            w = v / size
            v = w - (self._metric(q).conj() @ w) @ q
            size = self._size(v)
            if size <= least:
                return None
        unit: Array = v / size
        return unit

    def _size(self, p: Array) -> float:
        return float(np.linalg.norm(self._root(p)))

    def _rows(self, vectors: Sequence[Any]) -> Array:
        """Return the vectors as the rows of one matrix."""
        rows = np.empty((len(vectors), math.prod(self.shape)), dtype=np.complex128 if self.complex else np.float64)
        for i, v in enumerate(vectors):
            rows[i] = self.check(v).reshape(-1)
        return rows

    def _scaled_rows(self, vectors: Sequence[Any]) -> tuple[Array, Array]:
        """Return the vectors as rows of entries at most 1, and the exponent of the power of two taken from each."""
        rows = self._rows(vectors)
        powers = np.empty(len(rows), dtype=np.int64)
        for i, v in enumerate(rows):
            rows[i], powers[i] = scaled(v)
        return rows, powers


def coefficient_array(who: str, coefficients: Any, n: int, *, complex: bool) -> Array:
    """Return the coefficients as n finite numbers of the field; refuse anything else."""
    c = numeric(who, list(coefficients), complex=complex, what="coefficients")
    if c.shape != (n,):
        refuse(who, "a combination needs one coefficient for each vector", f"{len(c)} coefficients, {n} vectors")
    return c
