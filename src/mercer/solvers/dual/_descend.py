"""Descending on a block of members whose part of Q is at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.gram._lines import add_rows
from mercer.solvers.dual._steps import LANES, LONG, pair_steps, single_steps

WORK = 1e8  # numbers passed over between two looks at the clock, and two refreshments of the gradient


@dataclass
class Block:
    """Members of a working set: their part of Q, and where they stand.

    G is flat, and the row of member i begins at ``place[i]``: of each piece (offset, a, b), the values with members a
    to b stand from ``offset`` on. All arrays have whole lanes; places without a member have a box of no width.
    ``level`` is taken off the gradients before they are rounded: what is left is as small as the gap, and so is its
    rounding error.
    """

    G: np.ndarray
    place: np.ndarray
    pieces: tuple[tuple[int, int, int], ...]
    diag: np.ndarray
    ridge: np.ndarray
    shift: float
    c: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    F: np.ndarray
    group: np.ndarray
    sums: int
    level: np.ndarray


def evenly(q: int, stride: int) -> tuple[np.ndarray, tuple[tuple[int, int, int], ...]]:
    """Return the places and pieces of q members in rows ``stride`` apart."""
    return np.arange(q) * stride, ((0, 0, q),)


def whole_lanes(q: int) -> int:
    """Return q rounded up to whole lanes."""
    return -(-max(q, 1) // LANES) * LANES


def descend(block: Block, tol: float, most: int, expired: Any = lambda: False) -> tuple[int, bool]:
    """Take steps until the block violates by less than ``tol``; c and F change. Return how many, and if it got stuck.

    After each share of work the gradient is computed anew from all changes, in float64.
    """
    dtype, q = block.G.dtype, len(block.c)
    share = max(200, int(WORK / q))
    before, F0, work = block.c.copy(), block.F.copy(), np.empty(3 * q + q // LANES, dtype)
    steps, decrease = 0, 0.0
    while True:
        F = (block.F - block.level).astype(dtype)
        done, stuck = _steps(block, F, dtype.type(tol), min(share, most - steps), work)
        steps += done
        if done:
            change = block.c - before
            block.F = F0 + refreshed(block, change)
        if stuck or done < share or steps >= most or expired():
            return steps, stuck
        now = float(change @ (F0 + block.F)) / 2  # of the objective, since the start
        if now >= decrease * (1 + 1e-12):
            return steps, True
        decrease = now


def _steps(block: Block, F: np.ndarray, tol: Any, most: int, work: np.ndarray) -> tuple[int, bool]:
    b, far = block, F.size >= LONG * LANES
    off = np.concatenate([np.arange(offset, offset + end - begin, LANES) for offset, begin, end in b.pieces])
    if b.sums:
        return pair_steps(
            b.G, b.place, off, b.diag, b.ridge, b.c, b.lo, b.hi, F, b.group, b.sums, tol, most, work, far
        )  # fmt: skip  # one call
    shift = F.dtype.type(b.shift)
    return single_steps(b.G, b.place, off, b.diag, b.ridge, shift, b.c, b.lo, b.hi, F, tol, most, work, far)


def refreshed(block: Block, change: np.ndarray) -> np.ndarray:
    """Return Q times a change of c, summed in float64."""
    moved = np.flatnonzero(change)
    out = np.zeros(len(change))
    for offset, begin, end in block.pieces:
        add_rows(block.G, block.place[moved] + offset, change[moved], out[begin:end])
    return out + block.ridge * change + (0.0 if block.sums else block.shift * float(change.sum()))
