"""Matrices with the trace inner product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mercer._checks import integer
from mercer.spaces._arrays import ArraySpace


@dataclass(frozen=True)
class Matrices(ArraySpace):
    """Matrices of m rows and n columns, with ``<X, Y> = trace(Y^H X)`` (for real ones trace(X'Y)).

    The norm is the Frobenius norm. m n flops for each inner product: the trace is the sum of the entrywise product.

    Parameters
    ----------
    m, n : int
        Rows and columns.
    complex : bool
        Complex entries.

    Examples
    --------
    >>> from mercer.spaces import Matrices
    >>> space = Matrices(2, 2)
    >>> space.inner([[1, 2], [3, 4]], [[1, 0], [0, 1]])
    5.0
    >>> space.is_orthogonal([[0, 1], [1, 0]], [[0, 1], [-1, 0]])  # symmetric and skew
    True
    """

    m: int
    n: int
    complex: bool = False
    completeness: ClassVar[str] = "Complete: of finite dimension m n."

    def __post_init__(self) -> None:
        """Check the shape."""
        for name in ("m", "n"):
            object.__setattr__(self, name, integer("Matrices", name, getattr(self, name), 1))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of every vector: (m, n)."""
        return (self.m, self.n)
