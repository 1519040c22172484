"""Sources whose values are held: a dense matrix, the upper tiles of a symmetric one, or a factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram._packed import Index
from mercer.gram._sources import Buffers, Source

BLOCK = 2048  # rows of a stored block of a symmetric matrix
STRIP = 128  # rows multiplied, with their mirror, while in cache


class DenseSource(Source):
    """Values in an n x m array."""

    def __init__(self, K: np.ndarray, dtype: Any, *, symmetric: bool) -> None:
        self.K, self.symmetric = K, symmetric
        self.n, self.m = K.shape
        self.dtype, self.tile_dtype = np.dtype(dtype), K.dtype

    def values(self, i0: int, i1: int, j0: int, j1: int, out: np.ndarray, buffers: Buffers) -> None:
        out[...] = self.K[i0:i1, j0:j1]

    def dot(self, i0: int, i1: int, j0: int, j1: int, v: np.ndarray, out: np.ndarray, buffers: Buffers) -> None:
        for j in range(j0, j1, 4096):  # the products of one dtype, summed in float64
            b = min(j + 4096, j1)
            out += self.K[i0:i1, j:b] @ v[j - j0 : b - j0]

    def mirrored(self, i0: int, i1: int, j0: int, j1: int, v: np.ndarray, out: np.ndarray, buffers: Buffers) -> None:
        for i in range(i0, i1, STRIP):
            a = min(i + STRIP, i1)
            j = a if i0 == j0 else j0
            if i0 == j0:
                out[i:a] += self.K[i:a, i:a] @ v[i:a]
            K = self.K[i:a, j:j1]
            out[i:a] += K @ v[j:j1]
            out[j:j1] += K.T @ v[i:a]

    def take(self, rows: Index | None, columns: Index | None) -> Source:
        if isinstance(rows, np.ndarray) and isinstance(columns, np.ndarray):
            return DenseSource(self.K[np.ix_(rows, columns)], self.dtype, symmetric=False)
        K = self.K if rows is None else self.K[rows]
        return DenseSource(K if columns is None else K[:, columns], self.dtype, symmetric=False)

    def swapped(self) -> Source:
        return DenseSource(self.K.T, self.dtype, symmetric=self.symmetric)

    @property
    def cheap(self) -> bool:
        return True


class PackedSource(Source):
    """A symmetric matrix held as its upper blocks: half the memory, and each entry is read once for both places."""

    def __init__(self, blocks: dict[tuple[int, int], np.ndarray], n: int, dtype: Any) -> None:
        self.blocks = blocks
        self.n = self.m = n
        self.dtype = self.tile_dtype = np.dtype(dtype)
        self.symmetric = True

    def values(self, i0: int, i1: int, j0: int, j1: int, out: np.ndarray, buffers: Buffers) -> None:
        for i in range(i0 - i0 % BLOCK, i1, BLOCK):
            for j in range(j0 - j0 % BLOCK, j1, BLOCK):
                a, b = max(i, i0), min(i + BLOCK, i1)
                c, d = max(j, j0), min(j + BLOCK, j1)
                block = self._block(i, j)
                out[a - i0 : b - i0, c - j0 : d - j0] = block[a - i : b - i, c - j : d - j]

    def _block(self, i: int, j: int) -> np.ndarray:
        return self.blocks[i, j] if i <= j else self.blocks[j, i].T

    def mirrored(self, i0: int, i1: int, j0: int, j1: int, v: np.ndarray, out: np.ndarray, buffers: Buffers) -> None:
        for i in range(i0, i1, BLOCK):
            for j in range(i if i0 == j0 else j0, j1, BLOCK):
                self._both(i, j, v, out)

    def _both(self, i: int, j: int, v: np.ndarray, out: np.ndarray) -> None:
        block = self.blocks[i, j]
        h, w = block.shape
        for r in range(0, h, STRIP):
            K = block[r : r + STRIP]
            rows = slice(i + r, i + r + len(K))
            out[rows] += K @ v[j : j + w]
            if i != j:
                out[j : j + w] += K.T @ v[rows]

    def tile_shape(self) -> tuple[int, int]:
        return BLOCK, BLOCK

    def take(self, rows: Index | None, columns: Index | None) -> Source:
        r = np.arange(self.n)[slice(None) if rows is None else rows]
        c = np.arange(self.n)[slice(None) if columns is None else columns]
        K = np.empty((len(r), len(c)), self.dtype)
        for i in range(0, self.n, BLOCK):
            at = np.flatnonzero((r >= i) & (r < i + BLOCK))
            for j in range(0, self.n, BLOCK):
                to = np.flatnonzero((c >= j) & (c < j + BLOCK))
                if at.size and to.size:
                    K[np.ix_(at, to)] = self._block(i, j)[np.ix_(r[at] - i, c[to] - j)]
        return DenseSource(K, self.dtype, symmetric=False)

    def swapped(self) -> Source:
        return self

    @property
    def cheap(self) -> bool:
        return True


class FactorSource(Source):
    """Values Z W', from explicit features; products cost (n + m) r instead of n m."""

    def __init__(self, Z: Any, W: Any, dtype: Any) -> None:
        self.Z, self.W = Z, W
        self.n, self.m = Z.shape[0], W.shape[0]
        self.dtype, self.tile_dtype = np.dtype(dtype), np.dtype(np.float64)
        self.symmetric = Z is W

    def values(self, i0: int, i1: int, j0: int, j1: int, out: np.ndarray, buffers: Buffers) -> None:
        K = self.Z[i0:i1] @ self.W[j0:j1].T
        out[...] = K if isinstance(K, np.ndarray) else K.toarray()

    def take(self, rows: Index | None, columns: Index | None) -> Source:
        Z = self.Z if rows is None else self.Z[rows]
        W = self.W if columns is None else self.W[columns]
        return FactorSource(Z, W, self.dtype)

    def swapped(self) -> Source:
        return FactorSource(self.W, self.Z, self.dtype)
