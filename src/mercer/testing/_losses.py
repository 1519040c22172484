"""The contract of losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.losses import conjugate, curvature, highest, lowest, shortfall, slope, traits, value
from mercer.testing._laws import check_close, require


def check_loss(loss: Any, targets: Any, *, reach: float = 8.0, rtol: float = 1e-9) -> None:
    """Check that a loss keeps its laws at some targets; raise an AssertionError that names the one it breaks.

    The laws: the value is finite and convex in t; the slope lies between the differences on either side, within the
    dual box, and the curvature between the slopes of smooth losses; the conjugate is the largest u t - value over t, by
    brute force, and infinite outside the box; value + conjugate - u t is the shortfall, never negative, and 0 where u
    is the slope; the form a loss claims for its conjugate holds; rules mean the same for numbers and for arrays.

    Parameters
    ----------
    loss : loss record
        See `mercer.losses`.
    targets : sequence of floats
        Values of y the loss is for: labels 1 and -1, or numbers.
    reach : float
        How far around each target predictions are tried.
    rtol : float
        The rounding error allowed.

    Examples
    --------
    >>> from mercer.losses import Hinge, Squared
    >>> from mercer.testing import check_loss
    >>> check_loss(Hinge(), [1.0, -1.0])
    >>> check_loss(Squared(), [0.0, 3.5])
    """
    for y in np.asarray(targets, dtype=np.float64):
        t = y + np.linspace(-reach, reach, 4001)
        _check_primal(f"{loss} at y = {y:g}", loss, y, t, rtol)
        _check_dual(f"{loss} at y = {y:g}", loss, y, t, rtol)


def _check_primal(who: str, loss: Any, y: float, t: np.ndarray, rtol: float) -> None:
    v, s = value(loss, y, t), slope(loss, y, t)
    size, step = 1.0 + np.abs(v), t[1] - t[0]
    require(who, "the value must be finite", v.shape == t.shape and np.isfinite(v).all(), v[~np.isfinite(v)][:1])
    bend = v[:-2] + v[2:] - 2 * v[1:-1]
    at = int((bend / size[1:-1]).argmin())
    require(who, "the value must be convex", bend[at] >= -rtol * size[at + 1], f"{bend[at]:.3g} at t = {t[at + 1]:g}")
    difference, allowed = np.diff(v) / step, rtol * (size[1:] + size[:-1]) / step
    law = "the slope must lie between the differences on either side"
    check_close(who, law, s[1:], np.maximum(s[1:], difference - allowed), np.zeros(len(s) - 1))
    check_close(who, law, s[:-1], np.minimum(s[:-1], difference + allowed), np.zeros(len(s) - 1))
    low, high = lowest(loss, y), highest(loss, y)
    require(who, "the slope must lie in the dual box", ((s >= low) & (s <= high)).all(), f"{s.min()}, {s.max()}")
    if traits(loss).smooth:
        c = curvature(loss, y, t)
        law = "the curvature must be that of the slope"
        require(who, law, (c >= 0).all(), c.min())
        jumps = np.maximum(c[1:], c[:-1]) * step * (1 + 1e-2) + allowed * step
        check_close(who, law, np.diff(s), np.minimum(np.diff(s), jumps), np.zeros(len(s) - 1))
    one = [[float(rule(loss, y, x)) for x in t[::500]] for rule in (value, slope)]
    law = "a rule must mean the same for a number and for an array"
    require(who, law, np.allclose(one, [v[::500], s[::500]], rtol=1e-14), one)


def _check_dual(who: str, loss: Any, y: float, t: np.ndarray, rtol: float) -> None:
    low, high = max(float(lowest(loss, y)), -4.0), min(float(highest(loss, y)), 4.0)
    u = np.linspace(low, high, 41)
    v, c = value(loss, y, t), conjugate(loss, y, u)
    lines = u[:, None] * t - v
    brute, size = lines.max(axis=1), 1.0 + np.abs(lines).max(axis=1)
    inside = (lines.argmax(axis=1) > 0) & (lines.argmax(axis=1) < len(t) - 1)  # else the best t may lie beyond
    missed = np.abs(np.diff(lines, axis=1)).max(axis=1)  # the best t may lie between two that were tried
    check_close(who, "the conjugate must not be below u t - value", brute, np.minimum(brute, c), rtol * size)
    check_close(who, "the conjugate must be the largest of u t - value", c[inside], brute[inside], missed[inside])
    for edge, beyond in ((lowest(loss, y), -0.01), (highest(loss, y), 0.01)):
        if np.isfinite(edge):
            got = conjugate(loss, y, edge + beyond)
            require(who, "the conjugate must be infinite outside the dual box", got == np.inf, got)
    for k in range(len(u)):
        left, plain = shortfall(loss, y, t, u[k]), v + c[k] - u[k] * t
        check_close(who, "the shortfall must be value + conjugate - u t", left, plain, rtol * (size[k] + np.abs(plain)))
        require(who, "the shortfall must not be negative", left.min() >= 0, left.min())
    s = slope(loss, y, t)
    check_close(who, "the shortfall must be 0 at the slope", shortfall(loss, y, t, s), 0 * t, rtol * (1 + np.abs(v)))
    form = traits(loss).boxed
    if form is not None:
        wanted = y * u + form.spread * np.abs(u) + form.ridge * u * u / 2
        check_close(who, "the conjugate must have the form the loss claims", c, wanted, rtol * size)
