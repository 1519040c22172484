"""K @ V from a source, never storing K: a fixed plan of blocks, each done by one thread, sums in a fixed order."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.engine import Engine
from mercer.gram._held import BLOCK, FactorSource, PackedSource
from mercer.gram._packed import WIDTH
from mercer.gram._pool import one_blas_thread, run, run_all, tournament
from mercer.gram._sources import Buffers, Source, WeightedSource

ENTRIES_PER_TASK = 2**22  # a millisecond or a few: small enough to share out and to interrupt
EXTRA = 48 * 10**6  # bytes of running sums a product may hold beyond its result
CHUNK = 8 * 10**6  # bytes of V that are converted at a time


def product(source: Source, V: np.ndarray, engine: Engine) -> np.ndarray:
    """Return K @ V in the common dtype of K and V. Cost: n m (d + columns of V), half the kernel values if symmetric."""
    result = np.result_type(source.dtype, V.dtype)
    if isinstance(source, WeightedSource):
        inner = product(source.part, _scaled(source.right, V), engine)
        return _scaled(source.left, inner).astype(result, copy=False)
    if isinstance(source, FactorSource):
        with one_blas_thread():
            return np.asarray(source.Z @ (source.W.T @ V)).astype(result, copy=False)
    if V.ndim == 2 and V.shape[1] == 1:
        return product(source, V[:, 0], engine)[:, None]
    source.prepare()
    if source.symmetric and source.n >= 2 * WIDTH and _sums_fit(source, V, result):
        return _symmetric(source, V, engine).astype(result, copy=False)
    return _by_rows(source, V, engine, result)


def _scaled(w: np.ndarray, V: np.ndarray) -> np.ndarray:
    return w * V if V.ndim == 1 else w[:, None] * V


def _sums_fit(source: Source, V: np.ndarray, result: np.dtype[Any]) -> bool:
    """Whether float64 sums for all rows are the result itself, or small: the symmetric plan needs them."""
    return result == np.float64 or 8 * source.n * int(np.prod(V.shape[1:])) <= EXTRA


def _ready(v: np.ndarray, source: Source) -> np.ndarray:
    """Return V in the dtype of tiles, a single column padded to whole panels."""
    if v.ndim == 2:
        return np.ascontiguousarray(v, source.tile_dtype)
    padded = np.zeros(-(-len(v) // WIDTH) * WIDTH, source.tile_dtype)
    padded[: len(v)] = v
    return padded


# ---------------------------------------------------------------- any matrix: each band of rows has one owner


def band_rows(source: Source) -> int:
    """Return how many rows a task takes: a fixed number for the shape of K, whatever the threads."""
    h = source.tile_shape()[0]
    return max(h, ENTRIES_PER_TASK // max(source.m, 1) // h * h)


def _by_rows(source: Source, V: np.ndarray, engine: Engine, dtype: np.dtype[Any]) -> np.ndarray:
    out = np.empty((source.n, *V.shape[1:]), dtype)
    rows, chunk = band_rows(source), _chunk(source, V)
    whole = _ready(V, source) if chunk >= source.m else None

    def work(i: int, buffers: Buffers) -> None:
        a = min(i + rows, source.n)
        sums = np.zeros((a - i, *V.shape[1:]))
        for j in range(0, source.m, chunk):
            b = min(j + chunk, source.m)
            source.dot(i, a, j, b, _ready(V[j:b], source) if whole is None else whole, sums, buffers)
        out[i:a] = sums

    run_all(range(0, source.n, rows), work, engine.n_threads, Buffers)
    return out


def _chunk(source: Source, V: np.ndarray) -> int:
    """Return how many rows of V are converted at once: all, unless that would be large."""
    width = int(np.prod(V.shape[1:])) * source.tile_dtype.itemsize
    step = max(source.tile_shape()[1], WIDTH)
    return source.m if V.ndim == 1 else max(1, CHUNK // width // step) * step


# ---------------------------------------------------------------- X = Y: each tile serves its mirror too


def _symmetric(source: Source, V: np.ndarray, engine: Engine) -> np.ndarray:
    n = source.n
    size = block_rows(source)
    count = -(-n // size)
    v = _ready(V, source)
    out = np.zeros(v.shape if V.ndim == 1 else V.shape)

    def work(pair: tuple[int, int], buffers: Buffers) -> None:
        i, j = pair[0] * size, pair[1] * size
        source.mirrored(i, min(i + size, n), j, min(j + size, n), v, out, buffers)

    run(tournament(count), work, engine.n_threads, Buffers)
    return out[:n]


def block_rows(source: Source) -> int:
    """Return the rows of a block of the symmetric plan: some 32 blocks, of whole tiles."""
    h = BLOCK if isinstance(source, PackedSource) else source.tile_shape()[0]
    return max(h, -(-source.n // (32 * h)) * h)
