"""K' W K V and K' R: each strip of rows of K is computed, used while in cache, and forgotten."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.gram._fused import Asked, FusedSource
from mercer.gram._gram import Gram
from mercer.gram._held import DenseSource
from mercer.gram._pool import run
from mercer.gram._sources import Buffers, Source

STRIP_BYTES = 2**19  # of a strip of rows: half a second-level cache
SUMS = 24  # partial sums at most, added in order: so many tasks, whatever the threads


def normal_product(
    K: Gram, V: np.ndarray, weights: np.ndarray | None = None, less: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return K' u and 1' u for u = w (K V - less), V (m, t), less (t,), w (n,) or (n, t): one pass instead of two.

    Cost: n m (d + 4 t). Memory: 24 m t numbers and a strip of rows a thread.
    """
    if K._remote is not None:
        inner = K @ V - (0.0 if less is None else less)
        inner = inner if weights is None else weights.reshape(len(weights), -1) * inner
        return np.asarray(K.T @ inner, dtype=np.float64), inner.sum(axis=0, dtype=np.float64)
    (n, _), t, dtype = K.shape, V.shape[1], K._source.tile_dtype
    V, size = _sized(V)
    w, heaviest = _sized(np.ones((n, 1)) if weights is None else weights.reshape(n, -1))
    off = np.zeros(t) if less is None else less / size
    v, off, w = (np.ascontiguousarray(part, dtype) for part in (V.T, off, w.T))
    out, total = _summed(K, Asked(v, off, w, None))
    return out * (size * heaviest), total * (size * heaviest)


def transposed_product(K: Gram, R: np.ndarray) -> np.ndarray:
    """Return K' R in float64 for R of shape (n, t); cost and memory as `normal_product`."""
    if K._remote is not None:
        return np.asarray(K.T @ R, dtype=np.float64)
    R, size = _sized(R)
    dtype = K._source.tile_dtype
    nothing = np.zeros((R.shape[1], 0), dtype)
    return _summed(K, Asked(nothing, nothing.ravel(), nothing, np.ascontiguousarray(R.T, dtype)))[0] * size


def is_stored(K: Gram) -> bool:
    """Return whether the values of K are held, so that products compute none."""
    return isinstance(K._source, DenseSource)


def _sized(V: np.ndarray) -> tuple[np.ndarray, float]:
    """Return V scaled to a largest entry of 1, and the scale: tiles in single keep every size."""
    size = float(np.abs(V).max(initial=0.0))
    return (V / size, size) if size > 0 else (V, 1.0)


def _summed(K: Gram, asked: Asked) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums over strips of rows of strip' u and 1' u."""
    source, (n, m), t = K._source, K.shape, len(asked.v)
    source.prepare()
    whole = isinstance(source, FusedSource) and source.dense  # a compiled pass goes through all of a task
    h = _strip_rows(1 if whole else source.tile_shape()[0], m * source.tile_dtype.itemsize)
    band = -(-n // (SUMS * h)) * h
    sums, totals = np.zeros((-(-n // band), m, t)), np.zeros((-(-n // band), t))

    def work(k: int, buffers: Buffers) -> Iterator[None]:
        start, stop = k * band, min((k + 1) * band, n)
        if isinstance(source, FusedSource) and source.dense:
            source.pulled(start, stop, h, asked, sums[k], totals[k], buffers)
            return
        for i in range(start, stop, h):
            rows = slice(i, min(i + h, stop))
            strip = _strip(source, rows, buffers)
            u = asked.pulling(strip, rows)
            sums[k] += (u @ strip).T
            totals[k] += u.sum(axis=1, dtype=np.float64)
            yield

    run(range(len(sums)), work, K.engine.n_threads, Buffers)
    return np.asarray(sums.sum(axis=0)), np.asarray(totals.sum(axis=0))


def _strip(source: Source, rows: slice, buffers: Buffers) -> np.ndarray:
    """Return some rows of K: held, or computed."""
    if isinstance(source, DenseSource):
        return source.K[rows]
    strip = buffers.tile("strip", rows.stop - rows.start, source.m, source.tile_dtype)
    source.values(rows.start, rows.stop, 0, source.m, strip, buffers)
    return strip


def _strip_rows(tile: int, row_bytes: int) -> int:
    """Return how many rows are held at a time: what the cache holds, of whole tiles where those are made by GEMM."""
    fitting = max(32, STRIP_BYTES // row_bytes // 32 * 32)
    return max(tile, fitting) if tile >= 512 else min(fitting, 128 if tile == 1 else 256)
