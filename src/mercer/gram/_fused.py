"""The source of a fused form: statistics filled in compiled panels, or from CSR rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._rules import cast
from mercer.gram._packed import LINE, WIDTH, DensePoints, Index, Points, SparsePoints, aligned
from mercer.gram._sources import Buffers, Held, Source
from mercer.kernels._statistics import Dot, Squares, Statistic

DIRECT_UP_TO = 96  # coordinates: above, inner products with repaired cancellation are faster than differences
MIRRORED_ABOVE = 32  # coordinates: a value of fewer is computed again about as fast as it is moved to its other place
SPARSE_WIDTH = 128  # columns of a panel of CSR rows made dense: narrow ones stay in the first-level cache
STEP = 128  # rows of a tile in the compiled loop: it stays in the second-level cache
CHEAP_UP_TO = 16  # coordinates: a value of so few is computed about as fast as it is read
MANY = 6  # columns from which products are made by blocks
NEAR = 0.01  # squared distances below this share of |x|^2 + |z|^2 are recomputed from the rows


@dataclass(frozen=True, eq=False)
class Asked:
    """The u that K' u is wanted for: w (K v - less), or as given. Each row of an array belongs to one of t columns."""

    v: np.ndarray  # (t, m)
    less: np.ndarray  # (t,)
    w: np.ndarray  # (t, n), or (1, n) for all
    given: np.ndarray | None  # (t, n)

    def padded(self, width: int) -> np.ndarray:
        """Return v for products by blocks: its columns beside each other, padded, all in one row."""
        if self.given is not None:
            return self.less
        found = aligned(self.v.shape[1] * width, self.v.dtype)
        rows = found.reshape(-1, width)
        rows[:, : len(self.v)], rows[:, len(self.v) :] = self.v.T, 0
        return found

    def pulling(self, K: np.ndarray, rows: slice) -> np.ndarray:
        """Return u for some rows of K, (t, h)."""
        if self.given is not None:
            return self.given[:, rows]
        return (self.v @ K.T - self.less[:, None]) * self.w[:, rows]


@dataclass(frozen=True)
class Pairs:
    """One statistic between the rows of two sides."""

    statistic: Statistic
    left: Points
    right: Points
    summed: bool = False  # coordinate by coordinate, however many there are

    @property
    def products(self) -> bool:
        """Whether it is made of inner products by blocks, and not summed coordinate by coordinate."""
        if isinstance(self.left, SparsePoints):
            return True
        return self.left.depth > DIRECT_UP_TO and isinstance(self.statistic, (Dot, Squares)) and not self.summed

    def swapped(self) -> Pairs:
        """Return the statistic seen from the other side (all statistics are symmetric)."""
        return replace(self, left=self.right, right=self.left)

    def take(self, rows: Index | None, columns: Index | None) -> Pairs:
        """Return it between some rows and some columns."""
        left = self.left if rows is None else self.left.take(rows)
        right = self.right if columns is None else self.right.take(columns)
        return replace(self, left=left, right=right)


class FusedSource(Source):
    """Values of a rule of one or two statistics; K v in one compiled pass."""

    def __init__(self, rule: Any, pairs: tuple[Pairs, ...], dtype: Any, tile_dtype: Any) -> None:
        self.rule, self.pairs, self.dtype, self.tile_dtype = rule, pairs, np.dtype(dtype), np.dtype(tile_dtype)
        self.n, self.m = pairs[0].left.n, pairs[0].right.n
        self.symmetric = all(p.left is p.right for p in pairs)
        self.dense = isinstance(pairs[0].left, DensePoints)
        self.direct = not any(p.products for p in pairs)  # every value is summed coordinate by coordinate
        self._rule = cast(rule, tile_dtype)

    def take(self, rows: Index | None, columns: Index | None) -> Source:
        return FusedSource(self.rule, tuple(p.take(rows, columns) for p in self.pairs), self.dtype, self.tile_dtype)

    def swapped(self) -> Source:
        return FusedSource(self.rule, tuple(p.swapped() for p in self.pairs), self.dtype, self.tile_dtype)

    def padded(self, columns: int) -> int:
        line = LINE // self.tile_dtype.itemsize
        return -(-columns // line) * line

    def tile_shape(self) -> tuple[int, int]:
        return (2 * WIDTH, 4 * WIDTH) if self.dense else (512, 512)

    def prepare(self) -> None:
        for p in self.pairs:
            if isinstance(p.right, DensePoints):
                p.right.panels  # noqa: B018  # cached when first read
            if p.products and isinstance(p.statistic, Squares):
                p.left.squares, p.right.squares  # noqa: B018  # as above

    @property
    def mirrors(self) -> bool:
        return not self.direct or sum(_depth(p.left) for p in self.pairs) > MIRRORED_ABOVE

    @property
    def cheap(self) -> bool:
        return self.direct and sum(_depth(p.left) for p in self.pairs) <= CHEAP_UP_TO

    # ------------------------------------------------------------ what the tile loop is asked for

    def values(self, i0: int, i1: int, j0: int, j1: int, out: np.ndarray, buffers: Buffers) -> None:
        from mercer.gram._passes import Values

        if out.dtype != self.tile_dtype or not _is_flat(out):
            tile = buffers.tile("cast", i1 - i0, j1 - j0, self.tile_dtype)
            self.values(i0, i1, j0, j1, tile, buffers)
            out[...] = tile
            return
        flat, stride = _flat(out)
        self._each_tile(Values(flat, stride, i0, j0), i0, i1, j0, j1, False, buffers)

    def dot(self, i0: int, i1: int, j0: int, j1: int, v: np.ndarray, out: np.ndarray, buffers: Buffers) -> None:
        from mercer.gram._passes import Columns, Product

        sink: Any = Product(v, out, i0, j0)
        if v.ndim == 2:
            sink = Columns(v.reshape(-1), out.reshape(-1), v.shape[1], out.shape[1], i0, j0)
        self._each_tile(sink, i0, i1, j0, j1, False, buffers)

    def mirrored(self, i0: int, i1: int, j0: int, j1: int, v: np.ndarray, out: np.ndarray, buffers: Buffers) -> None:
        from mercer.gram._passes import Mirrored, MirroredColumns

        part = buffers.get("mirror", max(self.tile_shape()[1], WIDTH), self.tile_dtype)
        sink: Any = Mirrored(v, out, part)
        if v.ndim == 2:
            sink = MirroredColumns(v.reshape(-1), out.reshape(-1), v.shape[1], out.shape[1])
        self._each_tile(sink, i0, i1, j0, j1, i0 == j0, buffers)

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
        from mercer.gram._passes import Kept, Transposed

        part = buffers.get("mirror", max(self.tile_shape()[1], WIDTH), self.tile_dtype)
        v = v.astype(self.tile_dtype, copy=False)
        sink: Any = Transposed(v, out, part, i0, j0)
        if held is not None:
            sink = Kept(v, out, part, i0, j0, held.numbers, held.places)
        if self.dense:
            self._each_tile(sink, i0, i1, j0, j1, False, buffers)
        else:
            for j in range(j0, j1, SPARSE_WIDTH):  # all rows while a panel is at hand
                self._filled_tiles(sink, i0, i1, j, min(j + SPARSE_WIDTH, j1), False, buffers)

    def pulled(self, i0: int, i1: int, h: int, asked: Asked, out: np.ndarray, total: np.ndarray, room: Buffers) -> None:
        """Add K' u and 1' u of rows i0.. i1 to ``out`` (m, t) and ``total`` (t,), h rows of K at a time; dense only."""
        from mercer.gram._pull import pull

        m, stride, t = self.m, self.padded(self.m), len(total)
        wide = self.padded(t) if t >= MANY else 0
        sizes = {"strip": (h + 4) * stride, "u": h * max(wide, 1), "part": stride}
        strip, u, part = (room.get(name, size, self.tile_dtype) for name, size in sizes.items())
        u[: h * wide] = 0
        ask, each = asked.given is None, asked.w.shape[1] if len(asked.w) == t else 0
        given = asked.less if asked.given is None else asked.given
        pull(
            *self._swept(), (i0, i1, 0, -(-m // WIDTH)), m, False, h, stride, *self._scratch(room), strip,
            asked.padded(wide) if wide else asked.v.reshape(-1), wide, t, asked.less, asked.w.reshape(-1), each,
            given.reshape(-1), given.size // t, ask, u, part, out.reshape(-1), total,
        )  # fmt: skip  # what `sweep` takes, the columns, room and results

    def _each_tile(self, sink: Any, i0: int, i1: int, j0: int, j1: int, upper: bool, buffers: Buffers) -> None:
        """Give every tile of the block (the upper ones only, if asked) to a sink."""
        if self.dense and j0 % WIDTH == 0 and (j1 % WIDTH == 0 or j1 == self.m) and i0 % 4 == 0:
            self._sweep(sink, i0, i1, j0, j1, upper, buffers)
        else:
            self._filled_tiles(sink, i0, i1, j0, j1, upper, buffers)

    def _sweep(self, sink: Any, i0: int, i1: int, j0: int, j1: int, upper: bool, buffers: Buffers) -> None:
        from mercer.gram._passes import sweep

        span = (i0, i1, j0 // WIDTH, -(-j1 // WIDTH))
        sweep(*self._swept(), sink, span, self.m, upper, STEP, *self._scratch(buffers))

    def _swept(self) -> tuple[Any, ...]:
        """Return what the tile loop sums, and what it makes of that."""
        from mercer.gram._passes import Lone, Two

        sides = [side_of(p) for p in self.pairs]
        two = len(self.pairs) == 2
        return (
            self.pairs[0].statistic, sides[0], self.pairs[-1].statistic, sides[-1], Two() if two else Lone(), two,
            self._rule,
        )  # fmt: skip  # the statistics, the rule

    def _scratch(self, buffers: Buffers) -> tuple[np.ndarray, np.ndarray]:
        """Return where the tile loop sums."""
        S = buffers.get("S", STEP * WIDTH, self.tile_dtype)
        return S, buffers.get("T", STEP * WIDTH, self.tile_dtype) if len(self.pairs) == 2 else S

    def _filled_tiles(self, sink: Any, i0: int, i1: int, j0: int, j1: int, upper: bool, buffers: Buffers) -> None:
        from mercer.gram._fill import fill_tile
        from mercer.gram._passes import Lone, Two, use

        count = Two() if len(self.pairs) == 2 else Lone()
        h, w = self.tile_shape()
        if upper:
            h = w = min(h, w)
        for i in range(i0, i1, h):
            for j in range(i if upper else j0, j1, w):
                a, b = min(i + h, i1), min(j + w, j1)
                size = (a - i + 4) * (b - j) + 4  # products read up to three rows or columns beyond
                found = [
                    fill_tile(p, i, a, j, b, buffers.get(("tile", k), size, self.tile_dtype), buffers)
                    for k, p in enumerate(self.pairs)
                ]
                use(sink, count, self._rule, found[0], found[-1], b - j, i, a - i, j, b - j)


def side_of(pairs: Pairs) -> Any:
    """Return what the compiled loop reads of a statistic of dense rows."""
    from mercer.gram._passes import Multiplied, Summed

    left, right = pairs.left, pairs.right
    assert isinstance(left, DensePoints)
    assert isinstance(right, DensePoints)
    if not pairs.products:
        return Summed(left.flat, right.panels, left.depth)
    distance = isinstance(pairs.statistic, Squares)
    squares = (left.squares, right.squares) if distance else (left.flat[:0], right.flat[:0])
    near = left.rows.dtype.type(NEAR)
    return Multiplied(left.flat, right.panels, left.depth, distance, *squares, right.flat, near)


def _depth(points: Points) -> int:
    return points.depth if isinstance(points, DensePoints) else 1


def _is_flat(out: np.ndarray) -> bool:
    """Whether a block's rows lie whole numbers apart, one after the other (not so in a field of records)."""
    return bool(out.flags.aligned) and out.strides[0] >= 0 and out.strides[0] % out.itemsize == 0


def _flat(out: np.ndarray) -> tuple[np.ndarray, int]:
    """Return a block as one flat array over its memory, and the distance between its rows."""
    itemsize = out.itemsize
    stride = out.strides[0] // itemsize if out.shape[0] > 1 else out.shape[1]
    size = (out.shape[0] - 1) * stride + out.shape[1]
    return np.lib.stride_tricks.as_strided(out, (size,), (itemsize,)), stride
