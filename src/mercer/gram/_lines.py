"""Rows of K on demand, against points that stand in segments: what a solver of dual problems reads.

Points are put in an order of the caller's, cut in segments of columns (one for each class or fold, say), so that
problems about some of the segments share what they have in common. A row is needed to change the values of a function,
f += K[:, W] v; this is one pass, in which each kernel value is used while in cache and, if it will be read again, kept.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from mercer.gram._pool import run
from mercer.gram._product import product
from mercer.gram._sources import Buffers, Source

COLUMNS = 2048  # to a task: whole panels and whole tiles
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
    """

    def __init__(self, K: Gram, order: np.ndarray, starts: np.ndarray) -> None:
        self.gram, self.engine, self.order, self.starts = K, K.engine, order, starts
        self.source = K._source
        self.source.prepare()
        self.dtype = self.source.tile_dtype
        self._segments = [self._segment(a, b) for a, b in pairwise(starts)]

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
        if isinstance(self.source, (DenseSource, PackedSource)):
            return False
        return not isinstance(self.source, FusedSource) or max(_depth(p.left) for p in self.source.pairs) >= DEAR

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

    def add(self, rows: np.ndarray, v: np.ndarray, segment: int, out: np.ndarray, threads: int) -> None:
        """Add K[segment, rows] v to out, float64. Cost: rows x segment kernel values."""
        source = self.rows(rows, segment)

        def work(j: int, buffers: Buffers) -> Iterator[None]:
            b = min(j + COLUMNS, source.m)
            source.transposed(0, source.n, j, b, v, out[j:b], buffers)
            yield

        run(range(0, source.m, COLUMNS), work, threads, Buffers)


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
