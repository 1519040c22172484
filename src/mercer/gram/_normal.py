"""K' W K V and K' R: each strip of rows of K is computed, used while in cache, and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mercer.gram._gram import Gram
from mercer.gram._held import DenseSource
from mercer.gram._pool import run
from mercer.gram._sources import Buffers

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
    V, size = _sized(V)
    w, heaviest = (None, 1.0) if weights is None else _sized(weights.reshape(len(weights), -1))
    v = np.ascontiguousarray(V, K._source.tile_dtype)
    off = None if less is None else (less / size).astype(v.dtype)

    def use(strip: np.ndarray, rows: slice) -> np.ndarray:
        u = strip @ v
        if off is not None:
            u -= off
        return u if w is None else u * w[rows].astype(u.dtype)

    out, total = _summed(K, use, V.shape[1])
    return out * (size * heaviest), total * (size * heaviest)


def transposed_product(K: Gram, R: np.ndarray) -> np.ndarray:
    """Return K' R in float64 for R of shape (n, t); cost and memory as `normal_product`."""
    if K._remote is not None:
        return np.asarray(K.T @ R, dtype=np.float64)
    R, size = _sized(R)
    r = np.ascontiguousarray(R, K._source.tile_dtype)
    return _summed(K, lambda strip, rows: r[rows], R.shape[1])[0] * size


def is_stored(K: Gram) -> bool:
    """Return whether the values of K are held, so that products compute none."""
    return isinstance(K._source, DenseSource)


def _sized(V: np.ndarray) -> tuple[np.ndarray, float]:
    """Return V scaled to a largest entry of 1, and the scale: tiles in single keep every size."""
    size = float(np.abs(V).max(initial=0.0))
    return (V / size, size) if size > 0 else (V, 1.0)


def _summed(K: Gram, use: Callable[[np.ndarray, slice], np.ndarray], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums over strips of rows of strip' u and 1' u, with u = use(strip, rows)."""
    source, (n, m) = K._source, K.shape
    source.prepare()
    held = source.K if isinstance(source, DenseSource) else None
    h = _strip_rows(source.tile_shape()[0], m * source.tile_dtype.itemsize)
    band = -(-n // (SUMS * h)) * h
    sums, totals = np.zeros((-(-n // band), m, width)), np.zeros((-(-n // band), width))

    def work(k: int, buffers: Buffers) -> Iterator[None]:
        out = sums[k]
        for i in range(k * band, min((k + 1) * band, n), h):
            a = min(i + h, n)
            if held is None:
                strip = buffers.tile("strip", a - i, m, source.tile_dtype)
                source.values(i, a, 0, m, strip, buffers)
            else:
                strip = held[i:a]
            u = use(strip, slice(i, a))
            out += strip.T @ u
            totals[k] += u.sum(axis=0, dtype=np.float64)
            yield

    run(range(len(sums)), work, K.engine.n_threads, Buffers)
    return np.asarray(sums.sum(axis=0)), np.asarray(totals.sum(axis=0))


def _strip_rows(tile: int, row_bytes: int) -> int:
    """Return how many rows are held at a time: what the cache holds, of whole tiles where those are made by GEMM."""
    fitting = max(32, STRIP_BYTES // row_bytes // 32 * 32)
    return max(tile, fitting) if tile >= 512 else min(fitting, 256)
