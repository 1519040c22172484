"""Writing the values of a source into an array, in bands on all threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.engine import Engine
from mercer.gram._held import BLOCK, DenseSource, PackedSource
from mercer.gram._pool import run, tournament
from mercer.gram._product import ENTRIES_PER_TASK, band_rows, block_rows
from mercer.gram._sources import Buffers, Source

TILE = 1024  # columns: every source's tiles divide it


def block(source: Source, engine: Engine, out: np.ndarray | None = None) -> np.ndarray:
    """Return all values of a source; symmetric ones that are dear to compute are computed once for both places."""
    out = np.empty((source.n, source.m), source.dtype) if out is None else out
    if 0 in out.shape:
        return out
    source.prepare()
    if source.symmetric and source.mirrors:
        _mirrored_block(source, engine, out)
    else:
        _banded_block(source, engine, out)
    return out


def _banded_block(source: Source, engine: Engine, out: np.ndarray) -> None:
    rows = min(band_rows(source), max(source.tile_shape()[0], 256))

    step = max(1, 2 * ENTRIES_PER_TASK // rows // TILE) * TILE

    def work(i: int, buffers: Buffers) -> Iterator[None]:
        a = min(i + rows, source.n)
        for j in range(0, source.m, step):
            b = min(j + step, source.m)
            source.values(i, a, j, b, out[i:a, j:b], buffers)
            yield

    run(range(0, source.n, rows), work, engine.n_threads, Buffers)


def _mirrored_block(source: Source, engine: Engine, out: np.ndarray) -> None:
    n, size = source.n, min(block_rows(source), source.tile_shape()[0])

    def work(pair: tuple[int, int], buffers: Buffers) -> None:
        i, j = pair[0] * size, pair[1] * size
        a, b = min(i + size, n), min(j + size, n)
        source.values(i, a, j, b, out[i:a, j:b], buffers)
        if i != j:
            out[j:b, i:a] = out[i:a, j:b].T

    run(tournament(-(-n // size)), work, engine.n_threads, Buffers)  # all tiles lie apart, so the order does not matter


def stored(source: Source, engine: Engine) -> Source:
    """Return a source that holds the values of another: upper blocks if symmetric, else the whole array."""
    if not source.symmetric or source.n < 2 * BLOCK:
        return DenseSource(block(source, engine), source.dtype, symmetric=source.symmetric)
    n = source.n
    source.prepare()
    spans = [(i, j) for i in range(0, n, BLOCK) for j in range(i, n, BLOCK)]
    blocks = {(i, j): np.empty((min(BLOCK, n - i), min(BLOCK, n - j)), source.dtype) for i, j in spans}

    def work(at: tuple[int, int], buffers: Buffers) -> Iterator[None]:
        i, j = at
        h, w = blocks[at].shape
        for r in range(0, h, 256):  # in strips, so that Ctrl-C is heard
            a = min(r + 256, h)
            source.values(i + r, i + a, j, j + w, blocks[at][r:a], buffers)
            yield

    run(spans, work, engine.n_threads, Buffers)
    return PackedSource(blocks, n, source.dtype)


def stored_bytes(source: Source) -> int:
    """Return what storing a source takes."""
    n, m = source.n, source.m
    entries = n * (n + BLOCK) // 2 if source.symmetric and n >= 2 * BLOCK else n * m
    return entries * source.dtype.itemsize
