"""Where a solve begins: a point in the box with the sums as given."""

from __future__ import annotations

import numpy as np

from mercer._checks import refuse
from mercer.solvers.dual.quadratic import BoxQuadratic

LARGE = 1e100  # stands for inf where compiled code must not meet one


def box(problem: BoxQuadratic) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds, finite."""
    lo = np.maximum(np.asarray(problem.lower, dtype=np.float64), -LARGE)
    hi = np.minimum(np.asarray(problem.upper, dtype=np.float64), LARGE)
    if (lo > hi).any():
        t = int(np.argmax(lo > hi))
        refuse("solve_boxes", "lower bounds must not exceed upper ones", f"{lo[t]} > {hi[t]} for variable {t}")
    return lo, hi


def feasible(problem: BoxQuadratic, start: np.ndarray | None, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """Return the start, or zeros, moved into the box and to the sums: first what lies inside, then in a fixed order."""
    c = np.clip(np.zeros(problem.size) if start is None else np.asarray(start, dtype=np.float64), lo, hi)
    for g, total in enumerate(problem.totals):
        mine = np.flatnonzero(np.asarray(problem.group) == g)
        c[mine] = _filled(c[mine], lo[mine], hi[mine], float(total), g)
    return c


def _filled(c: np.ndarray, lo: np.ndarray, hi: np.ndarray, total: float, g: int) -> np.ndarray:
    """Move variables to their bounds, one after the other, until the sum is right."""
    size = max(abs(total), float(np.abs(c).sum()), 1e-300)
    for _ in range(3):  # once; again for what rounding left
        missing = total - float(c.sum())
        if abs(missing) <= 4e-16 * size:
            return c
        room = hi - c if missing > 0 else c - lo
        order = np.random.default_rng(0).permutation(len(c))
        inside = ((c > lo) & (c < hi))[order]
        order = np.concatenate([order[inside], order[~inside]])
        before = np.concatenate([[0.0], np.cumsum(room[order])[:-1]])
        move = np.clip(abs(missing) - before, 0.0, room[order])
        c = c.copy()
        c[order] = np.clip(c[order] + np.sign(missing) * move, lo[order], hi[order])
    missing = total - float(c.sum())
    if abs(missing) > 1e-9 * size:
        refuse(
            "solve_boxes", f"sums must be attainable in the box: {total:g} for group {g}",
            f"sums from {lo.sum():g} to {hi.sum():g}",
        )  # fmt: skip  # wanted, got
    return c
