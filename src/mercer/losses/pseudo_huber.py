"""The pseudo-Huber loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._checks import positive
from mercer._rules import const, where
from mercer.losses._loss import Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class PseudoHuber(NamedTuple):
    """width^2 (sqrt(1 + ((y - t) / width)^2) - 1): a square near y, straight far from it, smooth everywhere.

    With q = u / width the conjugate is u y + width^2 (1 - sqrt(1 - q^2)).

    Parameters
    ----------
    width : float
        About where it turns from one into the other.

    Examples
    --------
    >>> from mercer.losses import PseudoHuber, value
    >>> round(float(value(PseudoHuber(1.0), 0.0, 1.0)), 4)
    0.4142
    """

    width: float = 1.0


@value.rule(PseudoHuber)
def _(loss: Any, y: Any, t: Any) -> Any:
    x = (t - y) / loss.width
    return loss.width * loss.width * x * (x / (const(1.0, t) + np.hypot(const(1.0, t), x)))


@slope.rule(PseudoHuber)
def _(loss: Any, y: Any, t: Any) -> Any:
    x = (t - y) / loss.width
    return loss.width * (x / np.hypot(const(1.0, t), x))


@curvature.rule(PseudoHuber)
def _(loss: Any, y: Any, t: Any) -> Any:
    root = const(1.0, t) / np.hypot(const(1.0, t), (t - y) / loss.width)
    return root * root * root


@conjugate.rule(PseudoHuber)
def _(loss: Any, y: Any, u: Any) -> Any:
    q = u / loss.width
    inside = np.maximum((const(1.0, u) - q) * (const(1.0, u) + q), const(0.0, u))
    # 1 - sqrt(1 - q^2), without the difference
    bent = loss.width * loss.width * q * q / (const(1.0, u) + np.sqrt(inside))
    return where(np.abs(u) <= loss.width, u * y + bent, const(np.inf, u))


@shortfall.rule(PseudoHuber)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    one, x, q = const(1.0, t), (t - y) / loss.width, u / loss.width
    k = np.sqrt(np.maximum((one - q) * (one + q), const(0.0, u)))
    long, flat = np.hypot(one, x), q * x + k
    # long - flat is what is wanted; where it cancels, (long^2 - flat^2) = (x k - q)^2 gives it
    gap = where(flat > 0, x * k - q, const(0.0, t))
    missing = where(flat > 0, gap * (gap / (long + np.maximum(flat, const(0.0, t)))), long - flat)
    return where(np.abs(u) <= loss.width, loss.width * loss.width * missing, const(np.inf, u))


@lowest.rule(PseudoHuber)
def _(loss: Any, y: Any) -> Any:
    return const(0.0, y) * y - loss.width


@highest.rule(PseudoHuber)
def _(loss: Any, y: Any) -> Any:
    return const(0.0, y) * y + loss.width


@traits.rule(PseudoHuber)
def _(loss: Any) -> Traits:
    positive("PseudoHuber", "width", loss.width)
    return Traits()
