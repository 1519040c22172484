"""Rows made ready for tiles: centred where a statistic allows it, rounded once, padded, and packed in panels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

WIDTH = 256  # columns of a panel; a power of two, and known to the compiler
LINE = 64  # bytes of a cache line, and of the widest vector
FEW = 256  # rows that are summed or squared at a time, while they are in cache
Index = Any  # a slice or an array of positions


def aligned(size: int, dtype: Any) -> np.ndarray:
    """Return a new flat array that starts on a cache line: else every wide vector of it would lie across two."""
    size *= np.dtype(dtype).itemsize
    held = np.empty(size + LINE, np.uint8)
    start = -held.ctypes.data % LINE
    return held[start : start + size].view(dtype)


@dataclass(frozen=True)
class DensePoints:
    """n rows of d coordinates, both padded (rows to whole panels, coordinates to a multiple of 4) with zeros."""

    rows: np.ndarray
    n: int

    @cached_property
    def flat(self) -> np.ndarray:
        """The rows one after the other."""
        return self.rows.reshape(-1)

    @property
    def depth(self) -> int:
        """How many coordinates a row has, padding included."""
        return int(self.rows.shape[1])

    @cached_property
    def panels(self) -> np.ndarray:
        """The rows packed so that panel b holds, coordinate after coordinate, its WIDTH rows side by side."""
        blocks = self.rows.reshape(-1, WIDTH, self.depth)
        packed = aligned(blocks.size, blocks.dtype)
        packed.reshape(-1, self.depth, WIDTH)[...] = blocks.transpose(0, 2, 1)
        return packed

    @cached_property
    def squares(self) -> np.ndarray:
        """|x|^2 of each row, summed in float64."""
        found = np.empty(len(self.rows), self.rows.dtype)
        for i in range(0, len(self.rows), FEW):
            part = self.rows[i : i + FEW].astype(np.float64, copy=False)
            found[i : i + FEW] = np.einsum("ij,ij->i", part, part)
        return found

    def take(self, index: Index) -> DensePoints:
        """Return some of the rows, copied once; what is known of their squares goes with them."""
        if isinstance(index, slice):
            n = len(range(*index.indices(self.n)))
        else:
            index = np.asarray(index)
            index = np.flatnonzero(index) if index.dtype == bool else index
            n = len(index)
        rows = np.empty((-(-max(n, 1) // WIDTH) * WIDTH, self.depth), self.rows.dtype)
        if isinstance(index, slice):
            rows[:n] = self.rows[: self.n][index]
        else:
            np.take(self.rows, index, axis=0, out=rows[:n], mode="wrap")  # checks nothing, and so needs no buffer
        rows[n:] = 0
        taken = DensePoints(rows, n)
        if "squares" in self.__dict__:
            taken.__dict__["squares"] = np.zeros(len(rows), rows.dtype)
            taken.squares[:n] = self.squares[: self.n][index]
        return taken


@dataclass(frozen=True)
class SparsePoints:
    """CSR rows with sorted indices."""

    rows: Any

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.rows.shape[0])

    @cached_property
    def squares(self) -> np.ndarray:
        """|x|^2 of each row, summed in float64."""
        own = self.rows.multiply(self.rows).sum(axis=1, dtype=np.float64)
        return np.asarray(own).ravel().astype(self.rows.dtype)

    def take(self, index: Index) -> SparsePoints:
        """Return some of the rows."""
        return SparsePoints(self.rows[index])


Points = DensePoints | SparsePoints


def padded(X: np.ndarray, dtype: Any, shift: np.ndarray | None = None) -> DensePoints:
    """Return dense rows less a shift (taken off in the widest dtype), rounded once and padded with zeros.

    Cost: one pass over X; no float64 copy of it is made.
    """
    n, d = X.shape
    rows = np.empty((-(-max(n, 1) // WIDTH) * WIDTH, -(-d // 4) * 4), dtype)
    rows[n:], rows[:n, d:] = 0, 0
    if shift is None:
        rows[:n, :d] = X
    else:
        exact = np.result_type(X, shift, dtype)
        np.subtract(X, shift, out=rows[:n, :d], dtype=exact, casting="same_kind")
    return DensePoints(rows, n)


def csr(X: Any, dtype: Any) -> SparsePoints:
    """Return CSR rows in dtype with sorted indices and no duplicates; the user's matrix is left as it is."""
    rows = sparse.csr_matrix(X, dtype=dtype, copy=True)
    rows.sum_duplicates()
    return SparsePoints(rows)


def centre(X: np.ndarray) -> np.ndarray:
    """Return about the mean of the rows, as numbers of their dtype, to be taken off before rounding.

    Sums of few rows are made in that dtype, which is several times faster; any nearby point would do as well.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = sum(X[i : i + FEW].sum(axis=0).astype(np.float64) for i in range(0, len(X), FEW))
        mean = (total / max(len(X), 1)).astype(X.dtype)
    return np.where(np.isfinite(mean), mean, np.zeros((), X.dtype))
