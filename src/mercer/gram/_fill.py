"""Filling one tile with a statistic where the compiled loop does not: CSR rows, odd blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram._distances import distances_sparse, fill_distances_sparse, fill_sparse
from mercer.gram._fused import NEAR, SPARSE_WIDTH, STEP, Pairs, side_of
from mercer.gram._packed import WIDTH, SparsePoints
from mercer.gram._passes import Lone, Values, sweep
from mercer.gram._sources import Buffers
from mercer.kernels._form import Identity
from mercer.kernels._statistics import Squares

PANEL_BYTES = 16 * 2**20  # a densified panel of CSR rows may be this large; beyond, SciPy multiplies


def fill_tile(pairs: Pairs, i0: int, i1: int, j0: int, j1: int, S: np.ndarray, buffers: Buffers) -> np.ndarray:
    """Return the flat array S with the statistic of rows i0..i1 and columns j0..j1, row after row."""
    if isinstance(pairs.left, SparsePoints):
        _sparse_tile(pairs, i0, i1, j0, j1, S, buffers)
    else:
        _dense_tile(pairs, i0, i1, j0, j1, S, buffers)
    return S


def _dense_tile(pairs: Pairs, i0: int, i1: int, j0: int, j1: int, S: np.ndarray, buffers: Buffers) -> None:
    """Fill a block by the compiled loop; one that does not start on a panel is packed anew."""
    if i0 % 4 or j0 % WIDTH:
        pairs = pairs.take(slice(i0, i1), slice(j0, j1))
        i0, i1, j0, j1 = 0, i1 - i0, 0, j1 - j0
    side = side_of(pairs)
    T = buffers.get("direct", STEP * WIDTH, S.dtype)
    sink, span = Values(S, j1 - j0, i0, j0), (i0, i1, j0 // WIDTH, -(-j1 // WIDTH))
    rule = Identity()
    sweep(pairs.statistic, side, pairs.statistic, side, Lone(), False, rule, sink, span, j1, False, STEP, T, T)


def _sparse_tile(pairs: Pairs, i0: int, i1: int, j0: int, j1: int, S: np.ndarray, buffers: Buffers) -> None:
    X: Any = pairs.left.rows
    Y: Any = pairs.right.rows
    h, w, d = i1 - i0, j1 - j0, X.shape[1]
    squared, near = isinstance(pairs.statistic, Squares), S.dtype.type(NEAR)
    if d * SPARSE_WIDTH * S.itemsize > PANEL_BYTES:
        S[: h * w].reshape(h, w)[...] = (X[i0:i1] @ Y[j0:j1].T).toarray()
        if squared:
            distances_sparse(S, w, w, h, *_sides(pairs), i0, j0, near)
        return
    for j in range(0, w, SPARSE_WIDTH):
        wide = min(SPARSE_WIDTH, w - j)
        panel = _dense_panel(Y, j0 + j, j0 + j + wide, buffers, S.dtype)
        if squared:
            fill_distances_sparse(panel, S[j:], w, wide, h, *_sides(pairs), i0, j0 + j, near)
        else:
            fill_sparse(X.indptr, X.indices, X.data, i0, h, panel, wide, S[j:], w)


def _dense_panel(Y: Any, j0: int, j1: int, buffers: Buffers, dtype: Any) -> np.ndarray:
    """Return rows j0..j1 of a CSR matrix as a dense flat panel, coordinate after coordinate; the last one is kept."""
    if buffers.panel is not None:
        kept, a, b, panel = buffers.panel
        if kept is Y and (a, b) == (j0, j1) and panel.dtype == dtype:
            return np.asarray(panel)
    d, w = Y.shape[1], j1 - j0
    panel = buffers.tile("panel", d, w, dtype)
    panel[...] = 0
    a, b = Y.indptr[j0], Y.indptr[j1]
    columns = np.repeat(np.arange(w), np.diff(Y.indptr[j0 : j1 + 1]))
    panel[Y.indices[a:b], columns] = Y.data[a:b]
    buffers.panel = (Y, j0, j1, panel.reshape(-1))
    return panel.reshape(-1)


def _sides(pairs: Pairs) -> tuple[np.ndarray, ...]:
    """Return the squares of both sides, and their CSR arrays."""
    X: Any = pairs.left.rows
    Y: Any = pairs.right.rows
    squares = pairs.left.squares, pairs.right.squares
    return (*squares, X.indptr, X.indices, X.data, Y.indptr, Y.indices, Y.data)
