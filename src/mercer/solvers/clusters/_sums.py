"""Sums of kernel values over clusters, kept up as points move: all that kernel k-means needs of K."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.gram import Gram, gram, sum_by_label
from mercer.gram._in_memory import in_memory
from mercer.gram._make import SMALL
from mercer.gram._pool import run
from mercer.kernels._views import take

EPS = float(np.finfo(np.float64).eps)
IN_CACHE = 2**16  # numbers: sums of all clusters that stay in cache while rows are added
LONG = 2**21  # operations: below, threads cost more than they save


class Sums(ABC):
    """G[c, i], the sum of w_l k(x_l, x_i) over the points l of cluster c, in float64 whatever the dtype of K.

    So a sum that has followed many moves is as good as one made anew: the values of K are rounded, the sums are not.
    ``same`` says which squared distances are rounding, as a share of k(x, x) + k(z, z).
    """

    def __init__(self, n: int, k: int, weights: np.ndarray, diagonal: np.ndarray, threads: int, dtype: Any) -> None:
        self.n, self.k, self.weights, self.diagonal, self.threads = n, k, weights, diagonal, threads
        self.same = 64 * float(np.finfo(dtype).eps)
        self.total = float(weights @ diagonal)  # of squared norms
        self.rounding = 64 * EPS * float(weights @ np.abs(diagonal))
        self.G = np.zeros((k, n))
        self.labels = np.full(n, -1)

    @abstractmethod
    def rows(self, indices: np.ndarray) -> np.ndarray:
        """Return rows of K."""

    @abstractmethod
    def fill(self, labels: np.ndarray) -> None:
        """Make G for a partition; -1 is no cluster."""

    @abstractmethod
    def move(self, rows: np.ndarray, new: np.ndarray) -> None:
        """Follow some points into other clusters."""

    def follow(self, labels: np.ndarray) -> None:
        """Make G belong to a partition, whichever way is shorter."""
        moved = np.flatnonzero(labels != self.labels)
        if len(moved) > self.n // 2 or (self.labels < 0).any():
            self.fill(labels)
        elif len(moved):
            self.move(moved, labels[moved])
        self.labels = labels.copy()

    @property
    def sizes(self) -> np.ndarray:
        """W, the weight of each cluster."""
        return np.bincount(self.labels, self.weights, self.k)

    def within(self) -> np.ndarray:
        """Return, for each cluster, the sum of w_i w_l K_il over its pairs of points."""
        own = self.G[self.labels, np.arange(self.n)]
        return np.bincount(self.labels, self.weights * own, self.k)

    def nearest(self, factor: np.ndarray, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the least offset[c] + factor[c] G[c, i] over c, the second least, and which c is the least."""
        offset = np.where(np.isinf(offset), 1e300, offset)  # of an empty cluster
        if self.n * self.k <= SMALL or self.k == 1:
            scores = offset[:, None] + factor[:, None] * self.G
            label = scores.argmin(axis=0)
            best = scores[label, np.arange(self.n)]
            scores[label, np.arange(self.n)] = np.inf
            return best, scores.min(axis=0), label
        from mercer.solvers.clusters import _passes

        best, second, label = np.empty(self.n), np.empty(self.n), np.empty(self.n, np.int64)

        def work(a: int, b: int) -> None:
            _passes.nearest(self.G, factor, offset, a, b, best, second, label)

        self.each_piece(work, self.n * self.k)
        return best, second, label

    def each_piece(self, work: Callable[[int, int], None], cost: int) -> None:
        """Do the work for all columns; where it is long a piece that stays in cache at a time, on all threads."""
        if cost < LONG:
            work(0, self.n)
        else:
            columns = max(1024, IN_CACHE // self.k)
            count = -(-self.n // (columns * self.threads)) * self.threads  # as many for each thread
            size = -(-self.n // (16 * count)) * 16
            pieces = [(a, min(a + size, self.n)) for a in range(0, self.n, size)]
            run(pieces, lambda piece, _: work(*piece), self.threads, lambda: None)


class StoredSums(Sums):
    """Sums of a K whose rows are in memory."""

    def __init__(self, values: np.ndarray, k: int, weights: np.ndarray, diagonal: np.ndarray, threads: int) -> None:
        super().__init__(len(values), k, weights, diagonal, threads, values.dtype)
        self.values = values

    def rows(self, indices: np.ndarray) -> np.ndarray:
        return self.values[indices].astype(np.float64)

    def fill(self, labels: np.ndarray) -> None:
        rows = np.argsort(labels, kind="stable")[int(np.count_nonzero(labels < 0)) :]
        if self.values.size <= SMALL:
            self.G[...] = 0.0
            np.add.at(self.G, labels[rows], self.weights[rows, None] * self.values[rows])
            return
        from mercer.solvers.clusters import _passes

        ends, weights = np.searchsorted(labels[rows], np.arange(self.k), side="right"), self.weights[rows]

        def work(a: int, b: int) -> None:
            _passes.fill(self.values, rows, ends, weights, a, b, self.G)

        self.each_piece(work, len(rows) * self.n)

    def move(self, rows: np.ndarray, new: np.ndarray) -> None:
        old = self.labels[rows]
        if self.values.size <= SMALL:
            weighted = self.weights[rows, None] * self.values[rows]
            np.add.at(self.G, new, weighted)
            np.subtract.at(self.G, old, weighted)
            return
        from mercer.solvers.clusters import _passes

        order = np.lexsort((new, old))
        rows, old, new = rows[order], old[order].astype(np.int64), new[order].astype(np.int64)
        weights = self.weights[rows]

        def work(a: int, b: int) -> None:
            _passes.shift(self.values, rows, old, new, weights, a, b, self.G)

        self.each_piece(work, len(rows) * self.n)


class LazySums(Sums):
    """Sums of a K that is computed as it is needed: rows of the points that moved, tile by tile."""

    def __init__(self, K: Gram, k: int, weights: np.ndarray, diagonal: np.ndarray) -> None:
        super().__init__(K.shape[0], k, weights, diagonal, K.engine.n_threads, K.dtype)
        self.K = K

    def rows(self, indices: np.ndarray) -> np.ndarray:
        return self.K.rows(indices).astype(np.float64)

    def fill(self, labels: np.ndarray) -> None:
        kept = np.maximum(labels, 0)
        self.G[...] = sum_by_label(self.K, kept, self.k, np.where(labels >= 0, self.weights, 0.0)).T

    def move(self, rows: np.ndarray, new: np.ndarray) -> None:
        change = np.zeros((len(rows), self.k))
        at = np.arange(len(rows))
        change[at, new] += self.weights[rows]
        change[at, self.labels[rows]] -= self.weights[rows]
        self.G += (columns(self.K, rows) @ change).T


def columns(K: Gram, indices: np.ndarray) -> Gram:
    """Return the lazy K[:, indices]."""
    assert K.kernel is not None  # a matrix that was given is stored, and has no lazy sums
    return gram(K.kernel, K.points, take(K.points, indices), engine=K.engine)


def sums_of(K: Gram, k: int, weights: np.ndarray, diagonal: np.ndarray, values: np.ndarray | None) -> Sums:
    """Return sums of a K in memory, or of one that is not."""
    if values is None:
        return LazySums(K, k, weights, diagonal)
    return StoredSums(values, k, weights, diagonal, K.engine.n_threads)


def values_of(K: Gram) -> np.ndarray | None:
    """Return K in memory if it was given, or fits in half the budget."""
    if K.kernel is None:
        return in_memory(K)
    dtype = np.dtype(np.float64) if K.engine.precision == "double" else K.dtype
    return in_memory(K, dtype) if K.shape[0] ** 2 * dtype.itemsize <= K.engine.budget // 2 else None
