"""Rows of K on demand, against points that stand in segments: what a solver of dual problems reads.

Points are put in an order of the caller's, cut in segments of columns (one for each class or fold, say), so that
problems about some of the segments share what they have in common. A row is needed to change the values of a function,
f += K[:, W] v; this is one pass, in which each kernel value is used while in cache and, if it will be read again, kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from mercer._jit import compiled
from mercer.engine import Engine
from mercer.gram._block import block
from mercer.gram._fused import FusedSource, _depth
from mercer.gram._gram import Gram
from mercer.gram._held import DenseSource, FactorSource, PackedSource
from mercer.gram._packed import DensePoints
from mercer.gram._pool import run
from mercer.gram._product import product
from mercer.gram._shelf import Shelf
from mercer.gram._sources import Buffers, Held, Source

COLUMNS = 1024  # to a task: whole panels and whole tiles
CHEAP = 32  # coordinates: up to here a row is computed anew as fast as memory is written
DEAR = 100  # coordinates: from here on a row is dearer to compute than to keep


class Lines:
    """The matrix of a Gram of points with themselves, its rows and columns in a given order.

    Parameters
    ----------
    K : Gram
        Of all points.
    order : array of shape (n,)
        The points, in the order wanted.
    starts : array of shape (s + 1,)
        Where the segments of columns start and end.
    cache : int
        Bytes of rows that may be kept.
    shared : bool
        Whether several problems, each on a thread of its own, read from here.
    """

    def __init__(self, K: Gram, order: np.ndarray, starts: np.ndarray, cache: int = 0, *, shared: bool = False) -> None:
        self.shared = shared
        self.gram, self.engine, self.order, self.starts = K, K.engine, order, starts
        self.source = _by_coordinates(K._source)
        self.source.prepare()
        self.dtype = self.source.tile_dtype
        self.stored = isinstance(self.source, (DenseSource, PackedSource))
        self._segments = [self._segment(a, b) for a, b in pairwise(starts)]
        read_again = not self.stored and (shared or self.keeps)
        self.shelf = Shelf(starts, len(order), self.dtype, cache if read_again else 0)

    def _segment(self, a: int, b: int) -> Source | None:
        """Return the source of all rows and a segment of columns; None where these are best picked with the rows."""
        if len(self.order) == self.source.m and a == 0 and b == len(self.order) and _counts(self.order):
            return self.source
        if isinstance(self.source, (DenseSource, PackedSource, FactorSource)):
            return None
        source = self.source.take(None, self.order[a:b])
        source.prepare()
        return source

    @property
    def dear(self) -> bool:
        """Whether a row costs more to compute than to keep and read again."""
        return self._longer_than(DEAR)

    @property
    def keeps(self) -> bool:
        """Whether reading a row of the shelf once pays for writing it there."""
        return self._longer_than(CHEAP)

    def _longer_than(self, depth: int) -> bool:
        if self.stored:
            return False
        return not isinstance(self.source, FusedSource) or max(_depth(p.left) for p in self.source.pairs) >= depth

    def block(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray, threads: int) -> None:
        """Write the values at some rows and columns to ``out``."""
        block(self.source.take(self.order[rows], self.order[columns]), replace(self.engine, threads=threads), out)

    def rows(self, rows: np.ndarray, segment: int) -> Source:
        """Return the source of some rows and the columns of a segment, ready for threads."""
        held = self._segments[segment]
        if held is None:
            a, b = self.starts[segment], self.starts[segment + 1]
            return self.source.take(self.order[rows], self.order[a:b])
        return held.take(self.order[rows], None)

    # ------------------------------------------------------------ sums of rows

    def add(
        self, rows: np.ndarray, v: np.ndarray, segment: int, out: np.ndarray, threads: int,
        keep: np.ndarray | None = None,
    ) -> None:  # fmt: skip  # what is added, where to
        """Add K[segment, rows] v to out, float64; rows marked in ``keep`` go to the shelf.

        Cost: rows x segment kernel values, those on the shelf read only.
        """
        there = self.shelf.held(rows, segment)
        parts = []
        if not there.all():
            kept = np.zeros_like(there) if keep is None else ~there & keep
            if not kept.any() or not self.shelf.room(rows[there | kept]):
                kept = np.zeros_like(there)
            parts = [self._part(rows[mine], v[mine], segment, shelve) for mine, shelve in (
                (~there & ~kept, False), (kept, True)
            ) if mine.any()]  # fmt: skip  # one list
        places, w = self.shelf.places(rows[there], segment), v[there]

        def work(j: int, buffers: Buffers) -> Iterator[None]:
            b = min(j + COLUMNS, len(out))
            for source, u, held in parts:
                moved = held and Held(held.numbers, held.places + j)
                source.transposed(0, source.n, j, b, u, out[j:b], buffers, moved)
                yield
            add_rows(self.shelf.numbers, places + j, w, out[j:b])

        run(range(0, len(out), COLUMNS), work, threads, Buffers)
        for _, _, held in parts:
            if held is not None:
                self.shelf.has[held.places // self.shelf.stride, segment] = True

    def _part(self, rows: np.ndarray, v: np.ndarray, segment: int, shelve: bool) -> tuple[Source, np.ndarray, Any]:
        held = Held(self.shelf.numbers, self.shelf.places(rows, segment)) if shelve else None
        return self.rows(rows, segment), v, held

    def shelve(self, wanted: Sequence[tuple[np.ndarray, int]], threads: int) -> bool:
        """Put rows on the shelf, each (rows, segment) of what is wanted; return False if there is not room for all."""
        if not self.shelf.room(np.unique(np.concatenate([rows for rows, _ in wanted]))):
            return False
        tasks = []
        for rows, segment in wanted:
            missing = rows[~self.shelf.held(rows, segment)]
            if len(missing):
                source, size = self.rows(missing, segment), int(self.starts[segment + 1] - self.starts[segment])
                places = self.shelf.places(missing, segment)
                tasks += [(source, places, j, min(j + COLUMNS, size)) for j in range(0, size, COLUMNS)]
                self.shelf.has[self.shelf.slot[missing], segment] = True
        tasks.sort(key=lambda task: -task[0].n * (task[3] - task[2]))

        def work(task: Any, buffers: Buffers) -> Iterator[None]:
            source, places, j, b = task
            held = Held(self.shelf.numbers, places + j)
            source.transposed(0, source.n, j, b, np.zeros(source.n), np.zeros(b - j), buffers, held)
            yield

        run(tasks, work, threads, Buffers)
        return True

    # ------------------------------------------------------------ blocks that grow

    def enter(self, G: np.ndarray, stride: int, lines: np.ndarray, new: np.ndarray, threads: int) -> None:
        """Write to G, flat, rows ``stride`` apart, the values of new places with all; place p is for ``lines[p]``.

        Where rows are dear, values are read from the shelf if they stand there, on either side.
        """
        if not self.dear or not self.shelf.filled:
            self._computed(G, stride, lines, new, np.arange(len(lines)), threads)
            return
        segment = np.searchsorted(self.starts, lines, side="right") - 1
        fresh = np.zeros(len(lines), bool)
        fresh[new] = True
        for s in np.unique(segment):
            there, columns = self.shelf.held(lines, s), np.flatnonzero(segment == s)
            mine = new[there[new]]
            self._read(G, stride, lines, mine, columns)
            coming = new[segment[new] == s]  # as columns of old rows that hold them
            self._read(G, stride, lines, np.flatnonzero(there & ~fresh), coming)
        for a in np.unique(segment[new]):
            for s in np.unique(segment):
                rows = new[segment[new] == a]
                rows = rows[~self.shelf.held(lines[rows], s)]
                columns = np.flatnonzero(segment == s)
                columns = columns[fresh[columns] | ~self.shelf.held(lines[columns], a)]
                self._computed(G, stride, lines, rows, columns, threads)

    def _read(self, G: np.ndarray, stride: int, lines: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
        """Copy values of rows on the shelf, and their mirror images."""
        begins, every = self.shelf.slot[lines[rows]] * self.shelf.stride, np.arange(len(columns))
        for i in range(0, len(rows) if len(columns) else 0, 32):
            tile = np.empty(len(begins[i : i + 32]) * len(columns), G.dtype)
            pick(self.shelf.numbers, begins[i : i + 32], lines[columns], tile)
            spread(tile, G, stride, rows[i : i + 32], columns, every)

    def _computed(
        self, G: np.ndarray, stride: int, lines: np.ndarray, rows: np.ndarray, columns: np.ndarray, threads: int
    ) -> None:
        """Compute values of some places, and write them and their mirror images."""
        if not len(rows) or not len(columns):
            return
        source = self.source.take(self.order[lines[rows]], self.order[lines[columns]])
        source.prepare()
        fresh = np.zeros(len(lines), bool)
        fresh[rows] = True
        mirrored = np.flatnonzero(~fresh[columns])  # the others are written by their own rows

        step = self._rows_at_once()

        def work(i: int, buffers: Buffers) -> Iterator[None]:
            a = min(i + step, len(rows))
            tile = buffers.tile("entering", a - i, len(columns), G.dtype)
            source.values(i, a, 0, len(columns), tile, buffers)
            yield
            spread(tile.reshape(-1), G, stride, rows[i:a], columns, mirrored)

        run(range(0, len(rows), step), work, threads, Buffers)

    def _rows_at_once(self) -> int:
        """Return the rows of a task: enough for a matrix product, or for a panel of CSR rows made dense, to pay."""
        if not isinstance(self.source, FusedSource) or self.source.direct:
            return 64
        return 512 if self.shared else 128 if isinstance(self.source.pairs[0].left, DensePoints) else 256


def _by_coordinates(source: Source) -> Source:
    """Return a source whose values are summed coordinate by coordinate where rows are not long: faster for few rows."""
    if not isinstance(source, FusedSource) or max(_depth(p.left) for p in source.pairs) >= DEAR:
        return source
    pairs = tuple(replace(p, summed=True) for p in source.pairs)
    return FusedSource(source.rule, pairs, source.dtype, source.tile_dtype)


def _counts(order: np.ndarray) -> bool:
    return bool((order == np.arange(len(order))).all())


def product_of_part(K: Gram, rows: np.ndarray, columns: np.ndarray, v: np.ndarray, engine: Engine) -> np.ndarray:
    """Return K[rows, columns] v. Cost: as many kernel values as that part of K has."""
    return product(K._source.take(rows, columns), v, engine)


@compiled
def add_rows(G: Any, places: Any, v: Any, out: Any) -> None:
    """out[t] += sum over r of v[r] G[places[r] + t], in float64: held rows, from where they start."""
    q = out.size
    full = places.size - places.size % 4
    for r in range(0, full, 4):
        k0, k1 = G[places[r] : places[r] + q], G[places[r + 1] : places[r + 1] + q]
        k2, k3 = G[places[r + 2] : places[r + 2] + q], G[places[r + 3] : places[r + 3] + q]
        v0, v1, v2, v3 = v[r], v[r + 1], v[r + 2], v[r + 3]
        for t in range(q):
            out[t] += (v0 * k0[t] + v1 * k1[t]) + (v2 * k2[t] + v3 * k3[t])
    for r in range(full, places.size):
        k0, v0 = G[places[r] : places[r] + q], v[r]
        for t in range(q):
            out[t] += v0 * k0[t]


@compiled
def spread(P: Any, G: Any, stride: Any, rows: Any, columns: Any, mirrored: Any) -> None:
    """Write the values P of rows and columns to G, and those of the ``mirrored`` among the columns mirrored too."""
    q = columns.size
    whole = columns[q - 1] == q - 1
    for a in range(rows.size):
        row, values = G[rows[a] * stride : rows[a] * stride + stride], P[a * q : a * q + q]
        if whole:
            for t in range(q):
                row[t] = values[t]
        else:
            for t in range(q):
                row[columns[t]] = values[t]
    for k in range(mirrored.size):
        t = mirrored[k]
        row = G[columns[t] * stride : columns[t] * stride + stride]
        for a in range(rows.size):
            row[rows[a]] = P[a * q + t]


@compiled
def pick(numbers: Any, begins: Any, at: Any, P: Any) -> None:
    """P[r, t] = numbers[begins[r] + at[t]]."""
    q = at.size
    for r in range(begins.size):
        begin, values = begins[r], P[r * q : r * q + q]
        for t in range(q):
            values[t] = numbers[begin + at[t]]


@compiled
def move(G: Any, stride: Any, q: Any, source: Any, target: Any) -> None:
    """Move members of a symmetric block, flat, of q places: rows and columns ``source[k]`` to ``target[k]``."""
    for k in range(source.size):
        row, values = G[target[k] * stride : target[k] * stride + q], G[source[k] * stride : source[k] * stride + q]
        for t in range(q):
            row[t] = values[t]
    for s in range(q):
        row = G[s * stride : s * stride + q]
        for k in range(source.size):
            row[target[k]] = row[source[k]]
