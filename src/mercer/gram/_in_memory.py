"""A Gram matrix as one array whose rows lie one after the other, for work that wants whole rows again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.gram._gram import Gram
from mercer.gram._held import DenseSource
from mercer.gram._pool import run


def in_memory(K: Gram, dtype: Any = None) -> np.ndarray:
    """Return all of K as an array with contiguous rows, not to be written to: that K holds, if it holds one.

    Cost: n m d, or nothing; memory n m numbers, or none.
    """
    source = K._source
    wanted = K.dtype if dtype is None else np.dtype(dtype)
    if isinstance(source, DenseSource) and source.K.dtype == wanted and source.K.flags.c_contiguous:
        return source.K
    return K.block(out=np.empty(K.shape, wanted))


def held(values: np.ndarray, like: Gram) -> Gram:
    """Return a Gram over values that ``in_memory`` gave of another."""
    source = DenseSource(values, values.dtype, symmetric=like._source.symmetric)
    return Gram(source, like.engine, like._diagonal, None, like.kernel, like.points)


def times_in_double(values: np.ndarray, V: np.ndarray, threads: int, band: int = 256) -> np.ndarray:
    """Return values @ V with float64 products and sums, whatever the dtype of values; a band of rows a task."""
    n = len(values)
    out = np.empty((n, V.shape[1]))

    def work(i: int, scratch: np.ndarray) -> Iterator[None]:
        rows = values[i : i + band]
        wide = scratch[: len(rows)]
        wide[...] = rows
        np.matmul(wide, V, out=out[i : i + band])
        yield

    run(range(0, n, band), work, threads, lambda: np.empty((min(band, n), values.shape[1])))
    return out
