"""K' W K over some rows, in double precision: what the preconditioner on centres is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import compiled
from mercer._registers import multiply
from mercer.gram import Gram
from mercer.gram._packed import aligned
from mercer.gram._pool import run

WIDTH = 96  # columns of a panel: whole blocks of vectors
DEPTH = 256  # rows of a panel, which then stays in the second-level cache
HELD = 8  # so many panels' depths are held at a time


def second_moment(K: Gram, rows: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower half of K' W K over some rows, (m, m), and K' w. Cost: h m^2 flops for h rows.

    The numbers of K are of the Gram's own precision, their products and sums in double.
    """
    m, threads = K.shape[1], K.engine.n_threads
    panels = -(-m // WIDTH)
    wide = panels * WIDTH
    room, found = aligned(wide * DEPTH * HELD, np.float64), aligned(wide * wide, np.float64)
    found[:], sums = 0.0, np.zeros(m)
    for i in range(0, len(rows), DEPTH * HELD):
        some = slice(i, i + DEPTH * HELD)
        S, w = np.ascontiguousarray(K.block(rows[some])), weights[some]
        sums += w @ S
        flat, roots = S.reshape(-1), np.sqrt(w)

        def fill(start: int, _: Any, flat: np.ndarray = flat, roots: np.ndarray = roots) -> None:
            packed(flat, m, start, min(DEPTH, len(roots) - start), panels, roots, room)

        def add(b: int, _: Any, h: int = len(w)) -> None:
            add_products(room, h, b, panels, found)

        run(range(0, len(w), DEPTH), fill, threads, lambda: None)
        run(range(panels), add, threads, lambda: None)
    return found.reshape(wide, wide)[:m, :m].T, sums


@compiled
def packed(S: Any, m: Any, start: Any, h: Any, panels: Any, roots: Any, out: Any) -> None:
    """Write h rows of S, which are times ``roots``, as panels one after the other, with zeros beyond column m."""
    for b in range(panels):
        live = min(WIDTH, m - b * WIDTH)
        for r in range(h):
            place, first = start * panels * WIDTH + (b * h + r) * WIDTH, (start + r) * m + b * WIDTH
            to, row, root = out[place : place + WIDTH], S[first : first + live], roots[start + r]
            for c in range(live):
                to[c] = root * row[c]
            for c in range(live, WIDTH):
                to[c] = 0.0


@compiled
def add_products(P: Any, rows: Any, b: Any, panels: Any, out: Any) -> None:
    """Add the products of panel b with itself and those after it to the rows of ``out`` that belong to it."""
    size = panels * WIDTH
    for start in range(0, rows, DEPTH):
        h = min(DEPTH, rows - start)
        left = start * size + b * h * WIDTH
        for a in range(b, panels):
            right, place = start * size + a * h * WIDTH, b * WIDTH * size + a * WIDTH
            multiply(P, left, 1, WIDTH, WIDTH, h, P, right, WIDTH, out, place, size, WIDTH, True)
