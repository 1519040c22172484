"""Feasible points of the dual problem: slopes u, each in its box, whose weighted sum is 0 where b is free."""

from __future__ import annotations

import numpy as np

from mercer.losses import highest, lowest
from mercer.solvers.problem import Problem

EPS = float(np.finfo(np.float64).eps)


def feasible(problem: Problem, u: np.ndarray) -> np.ndarray:
    """Return the dual feasible slopes nearest u (one a row and target; 0 where the weight is 0)."""
    y, w = problem.targets, problem.weights[:, None]
    present = w > 0
    u = np.where(present, u, 0.0)
    low, high = lowest(problem.loss, y), highest(problem.loss, y)
    if problem.intercept:
        for k in range(u.shape[1]):
            u[:, k] += _level(u[:, k], w[:, 0], low[:, k], high[:, k])
    return np.where(present, np.clip(u, low, high), 0.0)


def _level(u: np.ndarray, w: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Return s with sum w clip(u + s, low, high) = 0: a bisection, then one exact step on the rows between."""

    def total(s: float) -> float:
        return float(w @ np.clip(u + s, low, high))

    s = -float(w @ u) / float(w.sum())
    reach = 4 * EPS * (np.abs(u).max(initial=0.0) + abs(s)) + np.finfo(float).tiny
    below, above = s - reach, s + reach
    while total(below) > 0 and reach < 1e300:
        reach *= 4
        below = s - reach
    reach = above - s
    while total(above) < 0 and reach < 1e300:
        reach *= 4
        above = s + reach
    for _ in range(200):
        middle = 0.5 * (below + above)
        if not below < middle < above:
            break
        below, above = (middle, above) if total(middle) < 0 else (below, middle)
    s = 0.5 * (below + above)
    free = w[(u + s > low) & (u + s < high)].sum()
    return s - total(s) / float(free) if free > 0 else s
