"""The envelope of a loss: smooth where the loss has kinks, and as near to it as wanted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._rules import where
from mercer.losses._loss import Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value

CLOSE = 1e-11  # a bracket of a proximal point that need not be smaller, next to the width
MOST = 60  # steps of the search for a proximal point


class Envelope(NamedTuple):
    """min over z of loss(y, z) + (z - t - shift)^2 / (2 width): the loss smoothed, and moved along its slopes.

    Its slope u is the loss's own dual step: where the conjugate is y u + spread |u| + ridge u^2 / 2 on a box, it is a
    soft threshold and a clip; else the root of a rising function. Its conjugate is that of the loss plus
    width u^2 / 2 - shift u. Rules work on arrays: shift has an entry for each row and target.

    Parameters
    ----------
    loss : loss record
        What is smoothed.
    width : float
        How much; > 0.
    shift : float or array of shape (n, t)
        Width times the slopes of an earlier answer.
    """

    loss: Any
    width: float = 1.0
    shift: Any = 0.0


def proximal_slope(loss: Any, y: Any, s: Any, width: float) -> Any:
    """Return u with u = slope(y, s - width u)."""
    low, high = lowest(loss, y), highest(loss, y)
    if (form := traits(loss).boxed) is not None:
        past = s - y
        soft = np.sign(past) * np.maximum(np.abs(past) - form.spread, 0.0)
        return np.clip(soft / (form.ridge + width), low, high)
    return _searched(loss, y, s, width, low, high)


def _searched(loss: Any, y: Any, s: Any, width: float, low: Any, high: Any) -> Any:
    """Return the root of z + width slope(z) - s, which rises, as the slope there: bisection, then a chord."""
    s = np.asarray(s, dtype=np.float64)
    start = slope(loss, y, s)
    a, b = np.minimum(s, s - width * start), np.maximum(s, s - width * start)
    va, vb = a + width * slope(loss, y, a) - s, b + width * slope(loss, y, b) - s
    z = a
    for k in range(MOST):
        with np.errstate(invalid="ignore", divide="ignore"):
            chord = a - va * (b - a) / (vb - va)
        usable = np.isfinite(chord) & (chord >= a) & (chord <= b) & (k % 2 == 0)
        z = where(usable, chord, 0.5 * (a + b))
        v = z + width * slope(loss, y, z) - s
        a, va, b, vb = where(v <= 0, z, a), where(v <= 0, v, va), where(v >= 0, z, b), where(v >= 0, v, vb)
        if (b - a <= CLOSE * width * (1.0 + np.abs(start))).all():
            break
    return np.clip((s - 0.5 * (a + b)) / width, low, high)


@value.rule(Envelope)
def _(loss: Any, y: Any, t: Any) -> Any:
    u = slope(loss, y, t)
    return value(loss.loss, y, t + loss.shift - loss.width * u) + 0.5 * loss.width * u * u


@slope.rule(Envelope)
def _(loss: Any, y: Any, t: Any) -> Any:
    return proximal_slope(loss.loss, y, t + loss.shift, loss.width)


@curvature.rule(Envelope)
def _(loss: Any, y: Any, t: Any) -> Any:
    s, w = t + loss.shift, loss.width
    if (form := traits(loss.loss).boxed) is not None:
        u = proximal_slope(loss.loss, y, s, w)
        inside = (np.abs(s - y) > form.spread) & (u > lowest(loss.loss, y)) & (u < highest(loss.loss, y))
        return where(inside, 1.0 / (form.ridge + w), 0.0)
    z = s - w * proximal_slope(loss.loss, y, s, w)
    d = 1e-6 * (1.0 + np.abs(z))
    rise = slope(loss.loss, y, z + d) - slope(loss.loss, y, z - d)
    bend = np.maximum(rise, 0.0) / (2 * d)
    return bend / (1.0 + w * bend)


@conjugate.rule(Envelope)
def _(loss: Any, y: Any, u: Any) -> Any:
    return conjugate(loss.loss, y, u) + 0.5 * loss.width * u * u - loss.shift * u


@shortfall.rule(Envelope)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    s = t + loss.shift
    apart = u - proximal_slope(loss.loss, y, s, loss.width)
    return shortfall(loss.loss, y, s - loss.width * (u - apart), u) + 0.5 * loss.width * apart * apart


@lowest.rule(Envelope)
def _(loss: Any, y: Any) -> Any:
    return lowest(loss.loss, y)


@highest.rule(Envelope)
def _(loss: Any, y: Any) -> Any:
    return highest(loss.loss, y)


@traits.rule(Envelope)
def _(loss: Any) -> Traits:
    return Traits(two_classes=traits(loss.loss).two_classes)
