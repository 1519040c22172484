"""How far dissimilar pairs are apart under a factor L, and which way L should change: sum_k w_k |L'q_k|, and M L.

The rows q_k are the differences of the pairs in coordinates in which the sum over similar pairs is |L|^2. With
c_k = |L'q_k| and M = sum_k w_k q_k q_k' / c_k the gradient of the sum is M L.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy import sparse

from mercer.gram._pool import run
from mercer.solvers.metric.pairs import CHUNK, Piece
from mercer.solvers.metric.scatter import added

BAND = 4096
"""Rows of the points that are multiplied at a time."""
SAME = 1e-100
"""Distances no larger are those of equal points, in coordinates in which distances are about 1."""


class Spread(ABC):
    """The sum of distances as a function of L, (k, r)."""

    @abstractmethod
    def at(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Return sum_k w_k |L'q_k| and M L."""

    @abstractmethod
    def distances(self, L: np.ndarray) -> np.ndarray:
        """Return |L'q_k|, one a pair."""


@dataclass(frozen=True, eq=False)
class RowSpread(Spread):
    """From the differences, piece by piece. Cost: 4 d r flops a pair.

    Parameters
    ----------
    pieces : iterable of Piece
        What makes weights and differences, in the coordinates of the points.
    basis : array of shape (d, k)
        B, q = B'(x_i - x_j).
    threads : int
        How many to use.
    """

    pieces: Iterable[Piece]
    basis: np.ndarray
    threads: int

    def at(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Return sum_k w_k |L'q_k| and M L."""
        P = self.basis @ L

        def part(piece: Piece) -> np.ndarray:
            w, G = piece()
            total, ML = _spread(w, G, P)
            return np.vstack([ML, np.full((1, P.shape[1]), total)])

        found = added(part, self.pieces, (len(P) + 1, P.shape[1]), self.threads)
        return float(found[-1, 0]), self.basis.T @ found[:-1]

    def distances(self, L: np.ndarray) -> np.ndarray:
        """Return |L'q_k|, one a pair."""
        return np.concatenate([np.linalg.norm(piece()[1] @ (self.basis @ L), axis=1) for piece in self.pieces])


@dataclass(frozen=True, eq=False)
class HeldSpread(Spread):
    """From few differences, all at once. Cost: 4 k r flops a pair.

    Parameters
    ----------
    rows : array of shape (m, k)
        The q.
    weight : array of shape (m,) or None
        Their weights.
    """

    rows: np.ndarray
    weight: np.ndarray | None

    def at(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Return sum_k w_k |L'q_k| and M L."""
        return _spread(self.weight, self.rows, L)

    def distances(self, L: np.ndarray) -> np.ndarray:
        """Return |L'q_k|, one a pair."""
        T = self.rows @ L
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", T, T)))


def _spread(w: np.ndarray | None, G: np.ndarray, P: np.ndarray) -> tuple[float, np.ndarray]:
    """Return sum_k w_k |P'g_k| and sum_k w_k g_k (P'g_k)' / |P'g_k|."""
    T = G @ P
    c = np.sqrt(np.einsum("ij,ij->i", T, T))
    total = float(c.sum() if w is None else w @ c)
    T *= _over(w, c)[:, None]
    return total, G.T @ T


@dataclass(frozen=True, eq=False)
class GraphSpread(Spread):
    """From the points, where pairs are many: differences are taken after L, and added up along the pair graph.

    M L = Z'(D - W - W')(Z L) for the weights w_k / c_k of its edges. Cost: 4 n k r flops and some reads of r numbers a
    pair.

    Parameters
    ----------
    Z : array of shape (n, k)
        The points, centred, in the coordinates of the rows q.
    first, second : arrays of shape (m,)
        The pairs.
    weights : array of shape (m,)
        Their weights.
    threads : int
        How many to use.
    """

    Z: np.ndarray
    first: np.ndarray
    second: np.ndarray
    weights: np.ndarray
    threads: int

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The pairs by their first rows, and where those of each row begin."""
        order = np.argsort(self.first, kind="stable")
        starts = np.r_[0, np.cumsum(np.bincount(self.first, minlength=len(self.Z)))].astype(np.int32)
        first, second = (v[order].astype(np.int32) for v in (self.first, self.second))
        return first, second, self.weights[order], starts

    def at(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Return sum_k w_k |L'q_k| and M L."""
        i, j, w, starts = self._sorted
        n, Y = len(self.Z), self._times(L)
        c = _apart(Y, i, j)
        W = sparse.csr_matrix((_over(w, c), j, starts), shape=(n, n))
        degrees = W @ np.ones(n) + W.T @ np.ones(n)
        R = degrees[:, None] * Y - W @ Y - W.T @ Y
        return float(w @ c), added(lambda band: self.Z[band].T @ R[band], self._bands, L.shape, self.threads)

    def distances(self, L: np.ndarray) -> np.ndarray:
        """Return |L'q_k|, one a pair."""
        return _apart(self._times(L), self.first, self.second)

    @property
    def _bands(self) -> list[slice]:
        return [slice(a, a + BAND) for a in range(0, len(self.Z), BAND)]

    def _times(self, L: np.ndarray) -> np.ndarray:
        """Return Z L."""
        Y = np.empty((len(self.Z), L.shape[1]))

        def work(band: slice, _: None) -> None:
            np.matmul(self.Z[band], L, out=Y[band])

        run(self._bands, work, self.threads, lambda: None)
        return Y


def turned(X: np.ndarray, mean: np.ndarray, basis: np.ndarray, threads: int) -> np.ndarray:
    """Return (X - mean) basis. Cost: 2 n d k flops."""
    Z = np.empty((len(X), basis.shape[1]))

    def work(some: slice, _: None) -> None:
        np.matmul(X[some] - mean, basis, out=Z[some])

    run([slice(a, a + BAND) for a in range(0, len(X), BAND)], work, threads, lambda: None)
    return Z


def _over(w: np.ndarray | None, c: np.ndarray) -> np.ndarray:
    """Return w / c, 0 where points are equal."""
    if not (c.min(initial=np.inf) > SAME):
        c = np.where(c > SAME, c, np.inf)
    return np.asarray((1.0 if w is None else w) / c)


def _apart(Y: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    T = np.take(Y, i, axis=0)
    T -= np.take(Y, j, axis=0)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", T, T)))


@dataclass(frozen=True, eq=False)
class FeatureSpread(Spread):
    """With a diagonal L, (k, 1): c_k^2 = sum_j q_kj^2 L_j^2, and M is its diagonal. Cost: 4 d flops a pair.

    Parameters
    ----------
    pieces : iterable of Piece
        What makes weights and squared differences.
    scale : array of shape (k,)
        s, q_kj^2 = s_j (x_ij - x_jj)^2.
    threads : int
        How many to use.
    """

    pieces: Iterable[Piece]
    scale: np.ndarray
    threads: int

    def at(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Return sum_k w_k |L'q_k| and M L."""
        b = self.scale * L[:, 0] ** 2

        def part(piece: Piece) -> np.ndarray:
            w, squares = piece()
            c = np.sqrt(squares @ b)
            found = np.empty(len(b) + 1)
            np.matmul(_over(w, c), squares, out=found[:-1])
            found[-1] = c.sum() if w is None else w @ c
            return found

        found = added(part, self.pieces, (len(L) + 1,), self.threads)
        return float(found[-1]), (found[:-1] * self.scale)[:, None] * L

    def distances(self, L: np.ndarray) -> np.ndarray:
        """Return |L'q_k|, one a pair."""
        b = self.scale * L[:, 0] ** 2
        return np.concatenate([np.sqrt(piece()[1] @ b) for piece in self.pieces])


def held(pieces: Iterable[Piece], m: int, k: int) -> list[Piece]:
    """Return the same m pieces of k numbers, kept in memory."""
    rows, weights, at = np.empty((m, k)), np.empty(m), 0
    weighted = False
    for w, G in (piece() for piece in pieces):
        here = slice(at, at + len(G))
        rows[here], weights[here] = G, 1.0 if w is None else w
        weighted, at = weighted or w is not None, here.stop
    step = max(64, CHUNK // max(1, k))

    def kept(a: int) -> tuple[np.ndarray | None, np.ndarray]:
        return weights[a : a + step] if weighted else None, rows[a : a + step]

    return [partial(kept, a) for a in range(0, m, step)]
