"""The compiled passes behind `smallest` and exact neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import compiled
from mercer.gram import _passes  # noqa: F401  # it makes terms known to compiled code
from mercer.kernels._statistics import term


@compiled
def keep_smallest(K: Any, scale: Any, offset: Any, j0: Any, best: Any, where: Any) -> None:
    """Merge scale K[r, c] + offset[j0 + c] into the sorted rows of ``best``, column numbers into ``where``.

    A block of 64 is first looked at for its least value only, which vectorises. Equal values keep their order.
    """
    k = best.shape[1]
    for r in range(K.shape[0]):
        row = K[r]
        worst = best[r, k - 1]
        for c0 in range(0, row.size, 64):
            piece = row[c0 : c0 + 64]
            shift = offset[j0 + c0 : j0 + c0 + piece.size]
            least = worst
            for c in range(piece.size):
                least = min(least, scale * piece[c] + shift[c])
            if least < worst:
                for c in range(piece.size):
                    value = scale * piece[c] + shift[c]
                    if value < worst:
                        at = k - 1
                        while at > 0 and best[r, at - 1] > value:
                            best[r, at] = best[r, at - 1]
                            where[r, at] = where[r, at - 1]
                            at -= 1
                        best[r, at] = value
                        where[r, at] = j0 + c0 + c
                        worst = best[r, k - 1]


@compiled
def pair_sums(statistic: Any, X: Any, Y: Any, columns: Any, i0: Any, i1: Any, out: Any) -> None:
    """out[i, q] = the statistic of X[i] and Y[columns[i, q]], summed in float64, for rows i0..i1."""
    for i in range(i0, i1):
        x = X[i]
        for q in range(columns.shape[1]):
            y = Y[columns[i, q]]
            total = 0.0
            for k in range(x.size):
                total += term(statistic, np.float64(x[k]), np.float64(y[k]))
            out[i, q] = total
