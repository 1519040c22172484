"""The record that Gram-Schmidt returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

V = TypeVar("V")


@dataclass(frozen=True, eq=False)
class Orthonormal(Sequence[V], Generic[V]):
    """Orthonormal vectors, and which of the given vectors they came from.

    Reads like a list of vectors; its length is the rank of the given ones.

    Parameters
    ----------
    vectors : tuple
        The orthonormal vectors.
    kept : tuple of int
        ``vectors[i]`` is the given vector number ``kept[i]`` less its part in the span of the earlier ones.
    dropped : tuple of int
        Positions of the given vectors that depend on earlier ones (or have norm zero).

    Examples
    --------
    >>> from mercer.spaces import Euclidean
    >>> basis = Euclidean(2).gram_schmidt([[3, 0], [6, 0], [1, 2]])
    >>> len(basis), basis.kept, basis.dropped
    (2, (0, 2), (1,))
    """

    vectors: tuple[V, ...]
    kept: tuple[int, ...]
    dropped: tuple[int, ...]

    def __len__(self) -> int:
        """Return the rank: how many vectors are independent."""
        return len(self.vectors)

    def __getitem__(self, index: Any) -> Any:
        """Return one vector, or a tuple of them for a slice."""
        return self.vectors[index]
