"""Pairs that come in chunks: an iterator of them, or a function that returns one, so that they need not be held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from mercer._checks import describe, numeric_rows, refuse
from mercer.solvers.metric import PairStream
from mercer.solvers.metric.stream import Chunk


def in_chunks(value: Any) -> bool:
    """Whether pairs come in chunks."""
    return callable(value) or isinstance(value, Iterator)


def joined_or_streamed(who: str, name: str, value: Any) -> tuple[np.ndarray, np.ndarray | None] | PairStream:
    """Return chunks of row numbers as one array with its weights, and chunks of points as a stream."""
    chunks = iter(value() if callable(value) else value)
    first = next(chunks, None)
    if first is None:
        refuse(who, f"'{name}' must yield a chunk of pairs at least", "none")
    pairs, _ = _parts(who, name, first)
    if pairs.ndim == 3:
        if not callable(value):
            refuse(
                who, f"chunks of points in '{name}' are gone through more than once", "an iterator, which can be once",
                f"Give a function that returns it: {name}=lambda: ...",
            )  # fmt: skip  # message and remedy on a line each
        return PairStream(_checked(who, name, value, pairs.shape[2]))
    parts = [_parts(who, name, chunk) for chunk in chain([first], chunks)]
    if any(array.ndim != 2 for array, _ in parts):
        refuse(who, f"chunks in '{name}' must all be row numbers or all be points", "both")
    weights = None
    if any(w is not None for _, w in parts):
        weights = np.concatenate([np.ones(len(array)) if w is None else w for array, w in parts])
    return np.concatenate([array for array, _ in parts]), weights


def _parts(who: str, name: str, chunk: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the pairs of a chunk, and the weights of one that is a tuple of both."""
    weights = None
    if isinstance(chunk, tuple) and len(chunk) == 2 and np.ndim(chunk[1]) == 1 and np.ndim(chunk[0]) > 1:
        chunk, weights = chunk
    pairs = np.asarray(chunk)
    if pairs.ndim not in (2, 3) or pairs.shape[1] != 2:
        wanted = f"a chunk of '{name}' must be row numbers (m, 2) or points (m, 2, d), or a tuple of these and weights"
        refuse(who, wanted, f"shape {pairs.shape}")
    if weights is None:
        return pairs, None
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (len(pairs),) or not np.isfinite(w).all() or (w < 0).any():
        refuse(who, f"weights of a chunk of '{name}' must be {len(pairs)} finite numbers >= 0", describe(w))
    return pairs, w


def _checked(who: str, name: str, make: Callable[[], Iterable[Any]], d: int) -> Callable[[], Iterator[Chunk]]:
    """Return a function that makes checked chunks."""

    def chunks() -> Iterator[Chunk]:
        for pairs, w in (_parts(who, name, chunk) for chunk in make()):
            if pairs.ndim != 3 or pairs.shape[2] != d:
                refuse(who, f"chunks of '{name}' must all have shape (m, 2, {d})", f"shape {pairs.shape}")
            m = len(pairs)
            rows = numeric_rows(who, pairs.reshape(2 * m, d), f"'{name}'").astype(np.float64) if m else pairs
            rows = rows.reshape(m, 2, d)
            yield rows[:, 0], rows[:, 1], w

    return chunks
