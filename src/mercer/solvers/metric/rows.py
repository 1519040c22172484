"""Pairs whose differences are held: few are gone through many times, and making them anew would take longest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from mercer.solvers.metric.pairs import CHUNK, Listed, Pairs, PairSet, Piece
from mercer.solvers.metric.scatter import EPS, Block, Scatter

Kind = TypeVar("Kind", bound=PairSet)


@dataclass(frozen=True, eq=False)
class Rows(Listed):
    """The differences x_i - x_j, one row a pair; the points are those they were made from, whatever X is given.

    Parameters
    ----------
    differences : array of shape (m, d)
        They fit in the cache.
    weight : array of shape (m,), optional
        Weights > 0.
    """

    differences: np.ndarray
    weight: np.ndarray | None = None

    @property
    def count(self) -> int:
        """How many pairs."""
        return len(self.differences)

    @property
    def weights(self) -> np.ndarray:
        """The weights, ones if there are none."""
        return np.ones(self.count) if self.weight is None else self.weight

    def pieces(self, X: np.ndarray) -> list[Piece]:
        """Return what makes weights and a copy of the differences."""
        return [lambda: (self.weight, self.differences.copy())]

    def blocks(self, X: np.ndarray) -> list[Block]:
        """Return what makes the rows sqrt(w) (x_i - x_j)."""
        return [self._rooted]

    def _rooted(self) -> np.ndarray:
        G = self.differences
        return G if self.weight is None else G * np.sqrt(self.weight)[:, None]

    def scatter(self, X: np.ndarray, threads: int = 1) -> Scatter:
        """Return sum_k w_k (x_i - x_j)(x_i - x_j)'. Cost: d^2 flops a pair."""
        R = self._rooted()
        M = R.T @ R
        return Scatter(M, M.diagonal(), (len(R) + 5) * EPS)

    def energies(self, X: np.ndarray, components: np.ndarray | None = None) -> np.ndarray:
        """Return sum_k w_k (L(x_i - x_j))^2, one sum for each row of L (None: the identity)."""
        T = self.differences if components is None else self.differences @ components.T
        return np.asarray(np.einsum("ij,ij->j", T, T) if self.weight is None else self.weight @ (T * T))

    def distances(self, X: np.ndarray, components: np.ndarray) -> np.ndarray:
        """Return |L(x_i - x_j)|, one a pair."""
        T = self.differences @ components.T
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", T, T)))

    def reweighted(self, factor: np.ndarray) -> Rows:
        """Return the same pairs, their weights times a positive factor each."""
        return Rows(self.differences, factor if self.weight is None else factor * self.weight)


def held(pairs: Kind, X: np.ndarray) -> Kind | Rows:
    """Return listed pairs by their differences, where these are few; others as they are."""
    if isinstance(pairs, Pairs) and pairs.count * X.shape[1] <= CHUNK:
        return Rows(pairs.differences(X), pairs.weight)
    return pairs
