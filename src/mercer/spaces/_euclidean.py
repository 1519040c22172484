"""R^n and C^n, with the usual inner product or the one of a matrix A."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mercer._checks import describe, integer, refuse
from mercer.spaces._arrays import EPS, ArraySpace, numeric
from mercer.spaces._space import Array


@dataclass(frozen=True, eq=False, repr=False)
class Euclidean(ArraySpace):
    """Vectors of n numbers, with ``<x, y>_A = y^H A x`` (for real vectors x'Ay), A the identity by default.

    A must be symmetric (Hermitian) and positive semi-definite; it is factorised once, n^3 flops. If A is only
    semi-definite, ``norm`` is a pseudo-norm: some x != 0 have norm 0. ``is_definite`` tells, and repr says so.
    Then n flops for each inner product, or n^2 with A.

    Parameters
    ----------
    dim : int, optional
        n; may be left out when A is given.
    A : array of shape (n, n), optional
        The metric. Distances are then Mahalanobis distances.
    complex : bool
        Vectors of C^n instead of R^n.

    Examples
    --------
    >>> from mercer.spaces import Euclidean
    >>> plane = Euclidean(2)
    >>> plane.inner([1, 2], [3, 4]), plane.distance([0, 0], [3, 4])
    (11.0, 5.0)
    >>> Euclidean(A=[[2, 1], [1, 2]]).inner([1, 0], [0, 1])
    1.0
    >>> Euclidean(A=[[1, 1], [1, 1]])
    Euclidean(2, A=[[1.0, 1.0], [1.0, 1.0]])  # pseudo-norm: A has rank 1
    """

    dim: int | None = None
    A: Any = None
    complex: bool = False
    _factor: Array | None = field(init=False, default=None)
    completeness: ClassVar[str] = "Complete: of finite dimension (modulo the vectors of norm 0, if A has any)."

    def __post_init__(self) -> None:
        """Check dim and A, and factorise A."""
        if self.A is None:
            if self.dim is None:
                refuse("Euclidean", "'dim' or 'A' must be given", "neither")
            object.__setattr__(self, "dim", integer("Euclidean", "dim", self.dim, 1))
            return
        metric = hermitian("Euclidean", self.A, complex=self.complex)
        if self.dim is not None and integer("Euclidean", "dim", self.dim, 1) != len(metric):
            refuse("Euclidean", f"'A' must be {self.dim} x {self.dim}, as dim says", f"shape {metric.shape}")
        factor = psd_root("Euclidean", metric)
        for array in (metric, factor):
            array.flags.writeable = False
        for name, value in (("dim", len(metric)), ("A", metric), ("_factor", factor)):
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of every vector: (n,)."""
        return (self.dim or 0,)

    @property
    def rank(self) -> int:
        """The rank of A: n when the norm is a true norm."""
        return self.shape[0] if self._factor is None else len(self._factor)

    @property
    def is_definite(self) -> bool:
        """Whether only the zero vector has norm 0; False means a pseudo-norm."""
        return self.rank == self.shape[0]

    def _matrix(self) -> Array | None:
        matrix: Array | None = self.A
        return matrix

    def _root(self, rows: Array) -> Array:
        return rows if self._factor is None else rows @ self._factor.T

    def _size(self, p: Array) -> float:
        size = super()._size(p)
        if self.is_definite or self._factor is None:
            return size
        rounding = 4 * self.shape[0] * EPS * float(np.linalg.norm(np.abs(self._factor) @ np.abs(p)))
        return size if size > rounding else 0.0

    def _zero_advice(self) -> str:
        return super()._zero_advice() if self.is_definite else "A is only semi-definite, and x lies in its null space."

    def __repr__(self) -> str:
        """Return the call that builds this space, with a note when A is only semi-definite."""
        metric = "" if self.A is None else f", A={self.A.tolist() if self.A.size <= 9 else '...'}"
        text = f"Euclidean({self.dim}{metric}{', complex=True' if self.complex else ''})"
        return text if self.is_definite else f"{text}  # pseudo-norm: A has rank {self.rank}"

    def __eq__(self, other: object) -> bool:
        """Whether other is the same space: equal dim, A and field."""
        if not isinstance(other, Euclidean):
            return NotImplemented
        return (self.dim, self.complex) == (other.dim, other.complex) and np.array_equal(self.A, other.A)

    def __hash__(self) -> int:
        """Return a hash that equal spaces share."""
        return hash((self.dim, self.complex))


def hermitian(who: str, value: Any, *, complex: bool) -> Array:
    """Return value as a square Hermitian array; refuse one that differs from its transpose by more than rounding."""
    a = numeric(who, value, complex=complex, what="'A'")
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not len(a):
        refuse(who, "'A' must be a square matrix", f"shape {a.shape}")
    gap = float(np.max(np.abs(a - a.conj().T)))
    if gap > 1e-10 * float(np.max(np.abs(a))):
        refuse(who, "'A' must equal its (conjugate) transpose", f"a difference of {gap:.3g}", "Give (A + A.T) / 2.")
    half: Array = 0.5 * (a + a.conj().T)
    return half


def psd_root(who: str, a: Array) -> Array:
    """Return F with A = F^H F, one row for each positive eigenvalue; refuse A with a witness if it is not psd.

    Works on A scaled to unit diagonal, so that features of very different scale keep their digits.
    """
    d = np.diagonal(a).real
    s = np.sqrt(np.where(d > 0, d, np.max(np.abs(a)) or 1.0))
    w, v = np.linalg.eigh(a / s / s[:, None])
    bound = 4 * len(a) * EPS * max(1.0, float(w[-1]))
    if w[0] < -bound:
        x = v[:, 0] / s
        x = x / np.max(np.abs(x))
        value = float((x.conj() @ a @ x).real)
        got = f"x'Ax = {value:.3g} for x = {describe(np.round(x, 6).tolist())}"
        refuse(who, "'A' must be positive semi-definite", got, "Clip its negative eigenvalues to 0.")
    keep = w > bound
    root: Array = np.sqrt(w[keep])[:, None] * v[:, keep].conj().T * s
    return root
