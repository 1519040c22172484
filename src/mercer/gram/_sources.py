"""Sources: where the values of a form come from, a block at a time. One class for each kind of form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.gram._packed import Index, aligned
from mercer.kernels._views import n_rows, take

TILE_ROWS, TILE_COLUMNS = 256, 1024  # of the tiles that are filled by NumPy


@dataclass
class Buffers:
    """The scratch arrays of one thread, kept by name, made when first asked for, grown when too small."""

    held: dict[Any, np.ndarray] = field(default_factory=dict)
    panel: Any = None  # CSR rows made dense last, and which

    def get(self, name: Any, size: int, dtype: Any) -> np.ndarray:
        """Return a flat array of at least ``size`` numbers."""
        key = (name, np.dtype(dtype))
        if key not in self.held or self.held[key].size < size:
            self.held[key] = aligned(size, dtype)
        return self.held[key]

    def tile(self, name: Any, h: int, w: int, dtype: Any) -> np.ndarray:
        """Return an h x w array."""
        return self.get(name, h * w, dtype)[: h * w].reshape(h, w)


@dataclass(frozen=True)
class Held:
    """Where rows are kept: in a flat array, row r of a block from ``places[r]`` on."""

    numbers: np.ndarray
    places: np.ndarray


class Source(ABC):
    """The values k(x_i, y_j) of a form on given rows and columns."""

    n: int
    m: int
    dtype: np.dtype[Any]  # of the values it is asked for
    tile_dtype: np.dtype[Any]  # of the tiles it computes
    symmetric: bool

    @abstractmethod
    def values(self, i0: int, i1: int, j0: int, j1: int, out: np.ndarray, buffers: Buffers) -> None:
        """Write the values of a block into ``out`` (rows may lie apart, entries of a row are adjacent)."""

    @abstractmethod
    def take(self, rows: Index | None, columns: Index | None) -> Source:
        """Return the source of some rows and columns (None: all)."""

    @abstractmethod
    def swapped(self) -> Source:
        """Return the source of the transpose."""

    def prepare(self) -> None:  # noqa: B027  # most sources have nothing to prepare
        """Make what threads will share (packed panels, norms); called before they start."""

    def padded(self, columns: int) -> int:
        """Return how many columns V should have, zeros added, for a product with so many."""
        return columns

    def tile_shape(self) -> tuple[int, int]:
        """Return rows and columns of the tiles that suit this source."""
        return TILE_ROWS, TILE_COLUMNS

    @property
    def mirrors(self) -> bool:
        """Whether copying a tile to its mirror is cheaper than computing it there."""
        return False

    @property
    def cheap(self) -> bool:
        """Whether values are computed about as fast as they are read from memory, so that storing gains nothing."""
        return False

    def dot(self, i0: int, i1: int, j0: int, j1: int, v: np.ndarray, out: np.ndarray, buffers: Buffers) -> None:
        """Add the block times v (for its columns) to out (for its rows, float64)."""
        h, w = self.tile_shape()
        for i in range(i0, i1, h):
            for j in range(j0, j1, w):
                a, b = min(i + h, i1), min(j + w, j1)
                K = buffers.tile("dot", a - i, b - j, self.tile_dtype)
                self.values(i, a, j, b, K, buffers)
                out[i - i0 : a - i0] += K @ v[j - j0 : b - j0]

    def mirrored(self, i0: int, i1: int, j0: int, j1: int, v: np.ndarray, out: np.ndarray, buffers: Buffers) -> None:
        """For a symmetric source, add a block and its mirror times v to out; for i0 == j0 the upper tiles only.

        Here v and out are for all rows.
        """
        h = self.tile_shape()[0]
        for i in range(i0, i1, h):
            a = min(i + h, i1)
            for j in range(i if i0 == j0 else j0, j1, h):
                b = min(j + h, j1)
                K = buffers.tile("dot", a - i, b - j, self.tile_dtype)
                self.values(i, a, j, b, K, buffers)
                out[i:a] += K @ v[j:b]
                if i != j:
                    out[j:b] += K.T @ v[i:a]

    def transposed(
        self,
        i0: int,
        i1: int,
        j0: int,
        j1: int,
        v: np.ndarray,
        out: np.ndarray,
        buffers: Buffers,
        held: Held | None = None,
    ) -> None:
        """Add the transpose of a block times v (for its rows) to out (for its columns, float64); keep rows if asked."""
        h, w = self.tile_shape()
        for i in range(i0, i1, h):
            for j in range(j0, j1, w):
                a, b = min(i + h, i1), min(j + w, j1)
                K = buffers.tile("dot", a - i, b - j, self.tile_dtype)
                self.values(i, a, j, b, K, buffers)
                out[j - j0 : b - j0] += v[i - i0 : a - i0] @ K
                if held is not None:
                    for r in range(i, a):
                        held.numbers[held.places[r - i0] + j - j0 : held.places[r - i0] + b - j0] = K[r - i]


class MixedSource(Source):
    """An operation on the values of several sources."""

    def __init__(self, operation: Callable[..., np.ndarray], parts: tuple[Source, ...]) -> None:
        self.operation, self.parts = operation, parts
        self.n, self.m = parts[0].n, parts[0].m
        self.dtype = np.result_type(*(p.dtype for p in parts))
        self.tile_dtype = np.result_type(*(p.tile_dtype for p in parts))
        self.symmetric = all(p.symmetric for p in parts)

    def values(self, i0: int, i1: int, j0: int, j1: int, out: np.ndarray, buffers: Buffers) -> None:
        tiles = []
        for k, part in enumerate(self.parts):
            tile = buffers.tile((id(self), k), i1 - i0, j1 - j0, self.tile_dtype)
            part.values(i0, i1, j0, j1, tile, buffers)
            tiles.append(tile)
        with np.errstate(over="ignore", under="ignore"):
            if isinstance(self.operation, np.ufunc):
                self.operation(*tiles, out=out, casting="same_kind")
            else:
                out[...] = self.operation(*tiles)

    def take(self, rows: Index | None, columns: Index | None) -> Source:
        return MixedSource(self.operation, tuple(p.take(rows, columns) for p in self.parts))

    def swapped(self) -> Source:
        return MixedSource(self.operation, tuple(p.swapped() for p in self.parts))

    def prepare(self) -> None:
        for part in self.parts:
            part.prepare()


class WeightedSource(Source):
    """f(x) k(x, z) f(z)."""

    def __init__(self, left: np.ndarray, right: np.ndarray, part: Source) -> None:
        self.left, self.right, self.part = left, right, part
        self.n, self.m, self.symmetric = part.n, part.m, part.symmetric
        self.dtype, self.tile_dtype = part.dtype, part.tile_dtype

    def values(self, i0: int, i1: int, j0: int, j1: int, out: np.ndarray, buffers: Buffers) -> None:
        self.part.values(i0, i1, j0, j1, out, buffers)
        out *= self.left[i0:i1, None].astype(out.dtype)
        out *= self.right[j0:j1].astype(out.dtype)

    def take(self, rows: Index | None, columns: Index | None) -> Source:
        left = self.left if rows is None else self.left[rows]
        right = self.right if columns is None else self.right[columns]
        return WeightedSource(left, right, self.part.take(rows, columns))

    def swapped(self) -> Source:
        return WeightedSource(self.right, self.left, self.part.swapped())

    @property
    def cheap(self) -> bool:
        return self.part.cheap

    def prepare(self) -> None:
        self.part.prepare()


class CalledSource(Source):
    """Values from a Python function of two blocks of rows."""

    def __init__(self, function: Callable[[Any, Any], np.ndarray], X: Any, Y: Any, dtype: Any) -> None:
        self.function, self.X, self.Y = function, X, Y
        self.dtype, self.tile_dtype = np.dtype(dtype), np.dtype(np.float64)
        self.n, self.m, self.symmetric = n_rows(X), n_rows(Y), X is Y

    def values(self, i0: int, i1: int, j0: int, j1: int, out: np.ndarray, buffers: Buffers) -> None:
        out[...] = self.function(take(self.X, slice(i0, i1)), take(self.Y, slice(j0, j1)))

    def take(self, rows: Index | None, columns: Index | None) -> Source:
        X = self.X if rows is None else take(self.X, rows)
        Y = self.Y if columns is None else take(self.Y, columns)
        return CalledSource(self.function, X, Y, self.dtype)

    def swapped(self) -> Source:
        function = self.function
        return CalledSource(lambda Y, X: np.asarray(function(X, Y)).T, self.Y, self.X, self.dtype)
