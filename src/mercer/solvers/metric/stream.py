"""Pairs of points that come in chunks, too many to be held: they are made anew for every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from mercer.solvers.metric.pairs import Listed, Piece, rooted
from mercer.solvers.metric.scatter import Again, Block

Chunk = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""First points, second points (m, d), and weights (None: ones)."""


@dataclass(frozen=True, eq=False)
class PairStream(Listed):
    """Pairs of points, chunk after chunk; some chunks are in memory at a time, and one number a pair.

    Parameters
    ----------
    chunks : callable
        Returns the chunks, the same at each call: first points, second points, weights or None.
    factor : array of shape (m,), optional
        What weights are multiplied with.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.metric import PairStream
    >>> def chunks():
    ...     for k in range(3):
    ...         yield np.full((2, 1), float(k)), np.zeros((2, 1)), None
    >>> pairs = PairStream(chunks)
    >>> pairs.count, pairs.scatter(np.empty((0, 1))).matrix
    (6, array([[10.]]))
    """

    chunks: Callable[[], Iterable[Chunk]]
    factor: np.ndarray | None = None

    @cached_property
    def weights(self) -> np.ndarray:
        """The weights, ones if there are none."""
        some = [np.ones(len(first)) if w is None else w for first, _, w in self.chunks()]
        found = np.concatenate(some) if some else np.empty(0)
        return found if self.factor is None else found * self.factor

    @cached_property
    def width(self) -> int:
        """How many numbers a point is; 0 of none."""
        return next((int(first.shape[1]) for first, _, _ in self.chunks()), 0)

    def mapped(self, of: Callable[[np.ndarray], np.ndarray]) -> PairStream:
        """Return the pairs of mapped points."""
        return PairStream(lambda: ((of(first), of(second), w) for first, second, w in self.chunks()), self.factor)

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return len(self.weights)

    def reweighted(self, factor: np.ndarray) -> PairStream:
        """Return the same pairs, their weights times a positive factor each."""
        return PairStream(self.chunks, factor if self.factor is None else factor * self.factor)

    def pieces(self, X: np.ndarray) -> Iterable[Piece]:
        """Return what makes weights and differences; the points are those of the chunks, not X."""
        return Again(self._pieces)

    def _pieces(self) -> Iterator[Piece]:
        at = 0
        for first, second, w in self.chunks():
            here = slice(at, at + len(first))
            if self.factor is not None:
                w = self.factor[here] * (1.0 if w is None else w)
            yield partial(_piece, first, second, w)
            at = here.stop

    def blocks(self, X: np.ndarray) -> Iterable[Block]:
        """Return what makes the rows sqrt(w) (x_i - x_j)."""
        return Again(lambda: (partial(rooted, piece) for piece in self._pieces()))

    def energies(self, X: np.ndarray, components: np.ndarray | None = None) -> np.ndarray:
        """Return sum_k w_k (L(x_i - x_j))^2, one sum for each row of L (None: the identity)."""
        total = np.zeros(X.shape[1] if components is None else len(components))
        for make in self.blocks(X):
            rows = make() if components is None else make() @ components.T
            total += np.einsum("ij,ij->j", rows, rows)
        return total

    def distances(self, X: np.ndarray, components: np.ndarray) -> np.ndarray:
        """Return |L(x_i - x_j)|, one a pair."""
        return np.concatenate([np.linalg.norm(piece()[1] @ components.T, axis=1) for piece in self._pieces()])


def _piece(first: np.ndarray, second: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray | None, np.ndarray]:
    return w, first - second
