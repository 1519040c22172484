"""Feasible points of the dual problem: slopes u, each in its box, whose weighted sum is 0 where b is free."""

from __future__ import annotations

import numpy as np

from mercer.losses import highest, lowest, traits
from mercer.solvers.problem import Problem

EPS = float(np.finfo(np.float64).eps)


def feasible(problem: Problem, u: np.ndarray) -> np.ndarray:
    """Return the dual feasible slopes nearest u (one a row and target; 0 where the weight is 0)."""
    y, w = problem.targets, problem.weights[:, None]
    present = w > 0
    if traits(problem.loss).coupled:
        return np.where(present, _on_simplex(y, np.where(present, u, 0.0), w, free=problem.intercept), 0.0)
    u = np.where(present, u, 0.0)
    low, high = lowest(problem.loss, y), highest(problem.loss, y)
    if problem.intercept:
        for k in range(u.shape[1]):
            u[:, k] += _level(u[:, k], w[:, 0], low[:, k], high[:, k])
    return np.where(present, np.clip(u, low, high), 0.0)


def _on_simplex(y: np.ndarray, u: np.ndarray, w: np.ndarray, *, free: bool) -> np.ndarray:
    """Return u near the given ones with y + u a probability in each row, and weighted sums of 0 where b is free.

    Rows and columns are scaled in turn; what that leaves is mixed with the shares of the classes, which are feasible.
    """
    p = np.maximum(y + u, 0.0)
    total = p.sum(axis=1, keepdims=True)
    wanted = (w * y).sum(axis=0)
    shares = wanted / wanted.sum()
    p = np.where(total > 0, p / np.where(total > 0, total, 1.0), shares)
    if not free:
        return p - y
    for _ in range(200):
        sums = (w * p).sum(axis=0)
        if np.abs(sums - wanted).max() <= 4 * EPS * wanted.sum():
            break
        p = p * np.where(sums > 0, wanted / np.where(sums > 0, sums, 1.0), 1.0)
        total = p.sum(axis=1, keepdims=True)  # 0 in a row that had only classes nobody is in
        p = np.where(total > 0, p / np.where(total > 0, total, 1.0), shares)
    off = ((w * p).sum(axis=0) - wanted) / float(w.sum())  # what is left, the same for all rows
    share = min(1.0, 2.0 * float(np.abs(off).max()) / float(shares[shares > 0].min()))
    p = (1.0 - share) * (p - off) + share * shares
    return np.maximum(p, 0.0) - y


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
