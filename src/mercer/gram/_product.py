"""K @ V from a source, never storing K: a fixed plan of blocks, each done by one thread, sums in a fixed order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.engine import Engine
from mercer.gram._held import BLOCK, FactorSource, PackedSource
from mercer.gram._packed import WIDTH, aligned
from mercer.gram._pool import one_blas_thread, run, tournament
from mercer.gram._sources import Buffers, Source, WeightedSource

ENTRIES_PER_TASK = 2**22  # a millisecond or a few: small enough to share out and to interrupt
LEAST_BLOCK = 768  # rows: a block of fewer would cost more to call for than to compute
EXTRA = 48 * 10**6  # bytes of running sums and converted V a product may hold beyond its result
CHUNK = 8 * 10**6  # bytes of V that are converted, or of sums that a task holds, at a time


def product(source: Source, V: np.ndarray, engine: Engine, weights: np.ndarray | None = None) -> np.ndarray:
    """Return K @ V, or K @ (weights V), in the common dtype of K and V.

    Cost: n m (d + columns of V), half the kernel values if symmetric.
    """
    result = np.result_type(source.dtype, V.dtype)
    if isinstance(source, WeightedSource):
        right = source.right if weights is None else source.right * weights
        inner = product(source.part, V, engine, right)
        inner *= _beside(source.left, inner)
        return inner.astype(result, copy=False)
    if isinstance(source, FactorSource):
        with one_blas_thread():
            V = V if weights is None else V * _beside(weights, V)
            return np.asarray(source.Z @ (source.W.T @ V)).astype(result, copy=False)
    if V.ndim == 2 and V.shape[1] == 1:
        return product(source, V[:, 0], engine, weights)[:, None]
    source.prepare()
    if source.symmetric and source.n >= 2 * WIDTH and _all_fits(source, V, result, weights):
        return _symmetric(source, V, engine, weights).astype(result, copy=False)
    return _by_rows(source, V, engine, result, weights)


def _beside(w: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return one number a row, shaped to multiply V."""
    return w if V.ndim == 1 else w[:, None]


def _all_fits(source: Source, V: np.ndarray, result: np.dtype[Any], weights: np.ndarray | None) -> bool:
    """Whether the symmetric plan may hold what it needs for all rows: float64 sums and V made ready."""
    sums = 0 if result == np.float64 else 8 * V.size
    columns = 1 if V.ndim == 1 else source.padded(V.shape[1])
    ready = 0 if _is_ready(V, source, weights) else source.tile_dtype.itemsize * len(V) * columns
    return sums + ready <= EXTRA


def _is_ready(V: np.ndarray, source: Source, weights: np.ndarray | None) -> bool:
    """Whether V can be used as it is."""
    fits = V.ndim == 2 and V.dtype == source.tile_dtype and V.flags.c_contiguous and weights is None
    return fits and V.shape[1] == source.padded(V.shape[1])


def _ready(v: np.ndarray, source: Source, weights: np.ndarray | None) -> np.ndarray:
    """Return V, times the weights, in the dtype of tiles; one column padded to whole panels, more as it suits."""
    if _is_ready(v, source, weights):
        return v
    rows = len(v) if v.ndim == 2 else -(-len(v) // WIDTH) * WIDTH
    shape = (rows, source.padded(v.shape[1])) if v.ndim == 2 else (rows,)
    ready = aligned(math.prod(shape), source.tile_dtype).reshape(shape)
    used = ready[tuple(slice(size) for size in v.shape)]
    if used.size < ready.size:
        ready[...] = 0
    if weights is None:
        used[...] = v
    else:
        np.multiply(v, _beside(weights, v), out=used, dtype=np.float64, casting="same_kind")
    return ready


# ---------------------------------------------------------------- any matrix: each band of rows has one owner


def band_rows(source: Source) -> int:
    """Return how many rows a task takes: a fixed number for the shape of K, whatever the threads."""
    h = source.tile_shape()[0]
    return max(h, ENTRIES_PER_TASK // max(source.m, 1) // h * h)


def _by_rows(
    source: Source, V: np.ndarray, engine: Engine, dtype: np.dtype[Any], weights: np.ndarray | None
) -> np.ndarray:
    out = np.empty((source.n, *V.shape[1:]), dtype)
    width, h = int(np.prod(V.shape[1:])), source.tile_shape()[0]
    rows = max(h, min(band_rows(source), CHUNK // (8 * max(width, 1)) // h * h))
    step = _columns_at_once(source, rows, width)
    whole = _ready(V, source, weights) if V.size * source.tile_dtype.itemsize <= CHUNK else None

    def work(i: int, buffers: Buffers) -> Iterator[None]:
        a = min(i + rows, source.n)
        sums = np.zeros((a - i, *V.shape[1:]))
        for j in range(0, source.m, step):
            b = min(j + step, source.m)
            w = None if weights is None else weights[j:b]
            v = _ready(V[j:b], source, w) if whole is None else whole[j:b]
            source.dot(i, a, j, b, v, sums, buffers)
            yield
        out[i:a] = sums

    run(range(0, source.n, rows), work, engine.n_threads, Buffers)
    return out


def _columns_at_once(source: Source, rows: int, width: int) -> int:
    """Return how many columns are done between two looks for Ctrl-C: whole tiles, whose rows of V are not large."""
    tile = max(source.tile_shape()[1], WIDTH)
    most = min(2 * ENTRIES_PER_TASK // rows, CHUNK // (max(width, 1) * source.tile_dtype.itemsize))
    return max(1, most // tile) * tile


# ---------------------------------------------------------------- X = Y: each tile serves its mirror too


def _symmetric(source: Source, V: np.ndarray, engine: Engine, weights: np.ndarray | None) -> np.ndarray:
    n = source.n
    size = block_rows(source)
    count = -(-n // size)
    v = _ready(V, source, weights)
    out = np.zeros((len(v), *V.shape[1:]))
    piece = 2 * max(*source.tile_shape(), WIDTH)

    def work(pair: tuple[int, int], buffers: Buffers) -> Iterator[None]:
        first, last = (range(k * size, min((k + 1) * size, n), piece) for k in pair)
        for i in first:
            for j in last if pair[0] != pair[1] else range(i, last.stop, piece):
                source.mirrored(i, min(i + piece, first.stop), j, min(j + piece, last.stop), v, out, buffers)
                yield

    run(tournament(count), work, engine.n_threads, Buffers, touches=lambda pair: pair)
    return out[:n]


def block_rows(source: Source) -> int:
    """Return the rows of a block of the symmetric plan: some 32 blocks, of whole tiles, not too small to call for."""
    h = BLOCK if isinstance(source, PackedSource) else source.tile_shape()[0]
    least = -(-LEAST_BLOCK // h) * h
    return max(least, -(-source.n // (32 * h)) * h)
