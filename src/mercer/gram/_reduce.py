"""Reductions over the rows of a Gram that never store it: sums by label, the k smallest or largest of each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mercer._checks import describe, integer, refuse
from mercer.gram._fused import FusedSource
from mercer.gram._gram import Gram
from mercer.gram._pool import run
from mercer.gram._product import band_rows, product
from mercer.gram._sources import Buffers

FEW = 64  # labels: with more, their columns are too few to be worth a pass each


class Nearest(NamedTuple):
    """The k extreme entries of each row, best first, and their columns; ties go to the smaller column."""

    values: np.ndarray
    indices: np.ndarray


def sum_by_label(K: Gram, labels: Any, n_labels: int | None = None, weights: Any = None) -> np.ndarray:
    """Return S[i, c], the sum of weights[j] K[i, j] over columns j of label c.

    Cost: n m d for the kernel values, each of which is added to one sum only where there are few labels.

    Examples
    --------
    >>> from mercer.gram import from_matrix, sum_by_label
    >>> sum_by_label(from_matrix([[1.0, 2.0, 3.0]]), [0, 1, 1])
    array([[1., 5.]])
    """
    labels = np.asarray(labels)
    m = K.shape[1]
    if labels.shape != (m,) or labels.dtype.kind not in "iu" or labels.min() < 0:
        refuse("sum_by_label", f"labels must be {m} integers >= 0, one a column", describe(labels))
    count = int(labels.max()) + 1 if n_labels is None else integer("sum_by_label", "n_labels", n_labels, 1)
    if labels.max() >= count:
        refuse("sum_by_label", f"labels must be below n_labels = {count}", labels.max())
    weights = None if weights is None else _a_number_each("sum_by_label", "weights", weights, m, np.float64)
    if isinstance(K._source, FusedSource) and _is_cheap(K._source) and count <= FEW and K._remote is None:
        return _one_label_at_a_time(K, labels, count, np.ones(m) if weights is None else weights)
    onehot = np.zeros((m, count), K.dtype if weights is None else np.float64)
    onehot[np.arange(m), labels] = 1.0 if weights is None else weights
    return (K @ onehot).astype(np.float64, copy=False)


def _is_cheap(source: FusedSource) -> bool:
    """Whether all values cost less than half of them in a product with many columns, most of which are 0."""
    return not (source.mirrors and source.symmetric)


def _one_label_at_a_time(K: Gram, labels: np.ndarray, count: int, weights: np.ndarray) -> np.ndarray:
    """Return the sums as products of one column, the columns of each label side by side: no product with zeros."""
    found = np.zeros((K.shape[0], count))
    for c in range(count):
        columns = np.flatnonzero(labels == c)
        if len(columns):
            found[:, c] = product(K._source.take(None, columns), weights[columns], K.engine)
    return found


def _a_number_each(who: str, name: str, values: Any, m: int, dtype: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.shape != (m,) or array.dtype.kind not in "fiub" or not np.isfinite(array).all():
        refuse(who, f"{name} must be {m} finite numbers, one a column", describe(array))
    return array.astype(dtype)


def sum_of_squares(K: Gram, weights: Any = None) -> float:
    """Return sum_ij w_i w_j K[i, j]^2, an upper bound that is high by rounding only; its root is the Frobenius norm.

    Cost: n^2 kernel values (half if X = Y), never stored.

    Examples
    --------
    >>> from mercer.gram import from_matrix, sum_of_squares
    >>> round(sum_of_squares(from_matrix([[1.0, 2.0], [2.0, 3.0]])), 6)
    18.0
    """
    n, m = K.shape
    if n != m:
        refuse("sum_of_squares", "K must be square", f"shape {K.shape}")
    w = np.ones(n) if weights is None else _a_number_each("sum_of_squares", "weights", weights, n, np.float64)
    source, rows, step = K._source, 256, 1024
    w = w.astype(source.tile_dtype)
    source.prepare()
    totals = np.zeros(-(-n // rows))

    def work(i: int, buffers: Buffers) -> Iterator[None]:
        a = min(i + rows, n)
        for j in range(i // step * step if source.symmetric else 0, n, step):
            b = min(j + step, n)
            tile = buffers.tile("squares", a - i, b - j, source.tile_dtype)
            source.values(i, a, j, b, tile, buffers)
            np.multiply(tile, tile, out=tile)
            one = not source.symmetric
            totals[i // rows] += float(w[i:a] @ (tile @ w[j:b])) if one else _both_places(tile, w[i:a], w[j:b], i - j)
            yield

    run(range(0, n, rows), work, K._engine.n_threads, Buffers)
    return float(totals.sum()) * (1 + 2 * (step + rows) * float(np.finfo(source.tile_dtype).eps))


def _both_places(tile: np.ndarray, left: np.ndarray, right: np.ndarray, diagonal: int) -> float:
    """Return left' K right over a tile and its mirror; what stands below the diagonal is its own mirror."""
    if diagonal < 0:  # the tile lies above it
        return 2.0 * float(left @ (tile @ right))
    own = np.diagonal(tile, diagonal).copy()
    upper = float(left @ (np.triu(tile, diagonal) @ right))
    return 2.0 * upper - float((left * own) @ right[diagonal : diagonal + len(left)])


def smallest(K: Gram, k: int = 1, scale: float = 1.0, offset: Any = None) -> Nearest:
    """Return the k smallest of scale K[i, j] + offset[j] in each row, in order, with their columns.

    With scale -2 and offset k(y, y) these are the nearest points in feature space, less k(x, x). Cost: n m d, and
    n m for the comparison; memory n k.

    Examples
    --------
    >>> from mercer.gram import from_matrix, smallest
    >>> smallest(from_matrix([[3.0, 1.0, 2.0]]), k=2).indices
    array([[1, 2]])
    """
    k = integer("smallest", "k", k, 1)
    n, m = K.shape
    if k > m:
        refuse("smallest", f"k must be at most the {m} columns", k)
    shift = np.zeros(m, K.dtype) if offset is None else _a_number_each("smallest", "offset", offset, m, K.dtype)
    from mercer.gram._ranks import keep_smallest

    best, where = np.full((n, k), np.inf, K.dtype), np.zeros((n, k), np.int64)
    source, factor = K._source, K.dtype.type(scale)
    source.prepare()
    rows, columns = min(band_rows(source), 1024), max(1024, source.tile_shape()[1])

    def work(i: int, buffers: Buffers) -> Iterator[None]:
        a = min(i + rows, n)
        for j in range(0, m, columns):
            b = min(j + columns, m)
            tile = buffers.tile("smallest", a - i, b - j, K.dtype)
            source.values(i, a, j, b, tile, buffers)
            keep_smallest(tile, factor, shift, j, best[i:a], where[i:a])
            yield

    run(range(0, n, rows), work, K._engine.n_threads, Buffers)
    return Nearest(best, where)


def largest(K: Gram, k: int = 1) -> Nearest:
    """Return the k largest entries of each row, in order, with their columns; cost as `smallest`.

    Examples
    --------
    >>> from mercer.gram import from_matrix, largest
    >>> largest(from_matrix([[3.0, 1.0, 2.0]]), k=2).values
    array([[3., 2.]])
    """
    found = smallest(K, k, scale=-1.0)
    return Nearest(-found.values, found.indices)
