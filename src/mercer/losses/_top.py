"""A safe search: an upper bound on the largest value of concave functions, from values alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

EPS = float(np.finfo(np.float64).eps)
RATIO = (np.sqrt(5.0) - 1.0) / 2.0
FAR = 1e30  # a function that still rises there has no largest value
NARROW = 1e-9  # brackets no wider than this, relative to where they are, are narrow enough


def largest(
    of: Callable[[np.ndarray], np.ndarray], start: np.ndarray, *, low: float = -np.inf, step: float = 1e-6
) -> tuple[np.ndarray, np.ndarray]:
    """Return upper bounds on the largest values of concave functions, and where these are nearly reached.

    ``of`` evaluates all functions, each at its own point, from ``low`` on. From ``start`` a bracket grows until the
    middle is above both ends, golden section makes it narrow, and what lies between four points is below the lines
    through pairs of them. The bound holds whatever the search did; it is inf where a function never stops rising.
    """
    x = np.maximum(np.asarray(start, dtype=np.float64), low)
    a, b, va, vb, vx, x = _bracket(of, x, low, step * (1.0 + np.abs(x)))
    endless = ~np.isfinite(va) & (a < -FAR) | (b > FAR)
    left, right = b - RATIO * (b - a), a + RATIO * (b - a)
    vl, vr = of(left), of(right)
    for _ in range(200):
        wide = (b - a > NARROW * (1e-3 + np.abs(x))) & ~endless
        if not wide.any():
            break
        up = vl >= vr  # the top is left of ``right``
        a, va, b, vb = np.where(up, a, left), np.where(up, va, vl), np.where(up, right, b), np.where(up, vr, vb)
        new = np.where(up, b - RATIO * (b - a), a + RATIO * (b - a))
        vn = of(new)
        left, vl, right, vr = (
            np.where(up, new, right), np.where(up, vn, vr), np.where(up, left, new), np.where(up, vl, vn)
        )  # fmt: skip  # both pairs
    best, where = np.maximum(np.maximum(vl, vr), vx), np.where(vl >= vr, left, right)
    with np.errstate(invalid="ignore", divide="ignore"):
        rise, fall, middle = (vl - va) / (left - a), (vb - vr) / (b - right), (vr - vl) / (right - left)
        over = np.maximum(vl + np.maximum(rise, 0.0) * (right - left), vr - np.minimum(fall, 0.0) * (right - left))
        ends = np.maximum(vl - np.minimum(middle, 0.0) * (left - a), vr + np.maximum(middle, 0.0) * (b - right))
        bound = np.maximum(np.maximum(over, ends), best)
    bound = np.where(np.isfinite(bound), bound, best)
    size = np.abs(bound) + np.abs(vl) + np.abs(vr)
    return np.where(endless, np.inf, bound + 4 * EPS * size), np.where(vx >= best, x, where)


def _bracket(of: Callable[[np.ndarray], np.ndarray], x: np.ndarray, low: float, step: np.ndarray) -> tuple:
    """Return ends whose values are not above that of a point between them, as far as there are any."""
    d = step.copy()
    a, b = np.maximum(x - d, low), x + d
    va, vb, vx = of(a), of(b), of(x)
    for _ in range(140):
        leftward, rightward = (va > vx) & (a > low), vb > vx
        if not (leftward | rightward).any() or (np.abs(x) > FAR).all():
            break
        d = np.where(leftward | rightward, 2.0 * d, d)
        new = np.where(leftward, np.maximum(a - d, low), np.where(rightward, b + d, x))
        vn = np.where(leftward | rightward, of(new), vx)
        with np.errstate(invalid="ignore"):
            vn = np.where(np.isnan(vn), -np.inf, vn)
        a, va, x, vx, b, vb = (
            np.where(leftward, new, np.where(rightward, x, a)), np.where(leftward, vn, np.where(rightward, vx, va)),
            np.where(leftward, a, np.where(rightward, b, x)), np.where(leftward, va, np.where(rightward, vb, vx)),
            np.where(leftward, x, np.where(rightward, new, b)), np.where(leftward, vx, np.where(rightward, vn, vb)),
        )  # fmt: skip  # ends, middle
    return a, b, va, vb, vx, x
