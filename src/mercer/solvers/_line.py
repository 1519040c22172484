"""Searches for one number a target: the offset b that is best for an f, and how far to go along a direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.losses import curvature, slope

EPS = float(np.finfo(np.float64).eps)
FLAT = 1e-12  # of the objective: a first slope as small as this may be rounding
Slopes = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def rising_root(
    of: Slopes,
    start: np.ndarray,
    step: np.ndarray,
    small: np.ndarray,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    most: int = 200,
) -> np.ndarray:
    """Return where functions that never fall, one a target, are 0 (within ``small``) or pass it; else the nearest end.

    ``of`` gives values and derivatives. Newton's steps where they stay inside the bracket and shrink it, else halving;
    before there is a bracket, steps that double. A value that is not a number counts as too far.
    """
    x = start.astype(np.float64, copy=True)
    below, above = np.full_like(x, low), np.full_like(x, high)
    step, last = step.astype(np.float64, copy=True), np.full_like(x, np.inf)
    for count in range(most):
        value, derivative = of(x)
        under = value < 0
        below, above = np.where(under, np.maximum(below, x), below), np.where(under, above, np.minimum(above, x))
        width = above - below
        done = (np.abs(value) <= small) | (width <= 4 * EPS * np.maximum(np.abs(x), np.finfo(float).tiny))
        if done.all():
            break
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = x - value / derivative
            middle = 0.5 * (below + above)
        bounded = np.isfinite(width)
        outward = np.clip(newton, x - step, x + step)
        outward = np.where(np.isfinite(outward), outward, np.where(under, x + step, x - step))
        good = (newton > below) & (newton < above) & ((np.abs(newton - x) < 0.5 * last) | (count % 4 == 0))
        new = np.where(bounded, np.where(good, newton, middle), outward)
        step, last = np.where(bounded, step, 2 * step), np.abs(new - x)
        x = np.where(done, x, new)
    return x


def best_offset(loss: Any, y: np.ndarray, w: np.ndarray, f: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the b that minimises sum_i w_i loss(y_i, f_i + b) for each target."""

    def of(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        t = f + b
        with np.errstate(invalid="ignore", over="ignore"):
            return (w * slope(loss, y, t)).sum(axis=0), (w * curvature(loss, y, t)).sum(axis=0)

    with np.errstate(invalid="ignore", over="ignore"):
        pulls = np.abs(w * slope(loss, y, f + start)).sum(axis=0)
    small = 4 * EPS * np.where(np.isfinite(pulls), pulls, 0.0)
    return rising_root(of, start, 1.0 + 1e-3 * np.abs(start), small)


def best_step(
    loss: Any,
    y: np.ndarray,
    w: np.ndarray,
    t: np.ndarray,
    d: np.ndarray,
    line: np.ndarray,
    square: np.ndarray,
    objective: np.ndarray,
) -> np.ndarray:
    """Return how far to go: where sum_i w_i loss(y_i, t_i + s d_i) + s line + s^2 square / 2 is least, 0 < s <= 1.

    A tenth of the first slope is near enough. No more than the whole step, since it is that which makes c agree with
    the slopes; and all of it where there is next to nothing to gain, as c can still move where K does not see it.
    """

    def of(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = t + s * d
        with np.errstate(invalid="ignore", over="ignore"):
            first = (w * d * slope(loss, y, at)).sum(axis=0) + line + s * square
            return first, (w * d * d * curvature(loss, y, at)).sum(axis=0) + square

    ones = np.ones(t.shape[1])
    first = of(0 * ones)[0]
    flat = np.abs(first) <= FLAT * np.abs(objective)
    found = rising_root(of, ones, ones, 0.1 * np.abs(first), low=0.0, high=1.0, most=60)
    return np.where(flat, 1.0, np.where(first < 0, found, 0.0))
