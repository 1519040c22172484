"""The Huber loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._checks import positive
from mercer._rules import const, where
from mercer.losses._loss import Boxed, Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class Huber(NamedTuple):
    """(y - t)^2 / 2 up to |y - t| = width, and from there on straight: width (|y - t| - width / 2).

    Parameters
    ----------
    width : float
        Where the square ends; residuals beyond it all pull alike.

    Examples
    --------
    >>> from mercer.losses import Huber, value
    >>> float(value(Huber(1.0), 0.0, 3.0))
    2.5
    """

    width: float = 1.0


@value.rule(Huber)
def _(loss: Any, y: Any, t: Any) -> Any:
    r = t - y
    inside = np.minimum(np.maximum(r, -loss.width), loss.width)
    return const(0.5, t) * inside * inside + loss.width * np.abs(r - inside)


@slope.rule(Huber)
def _(loss: Any, y: Any, t: Any) -> Any:
    return np.minimum(np.maximum(t - y, -loss.width), loss.width)


@curvature.rule(Huber)
def _(loss: Any, y: Any, t: Any) -> Any:
    return where(np.abs(t - y) <= loss.width, const(1.0, t), const(0.0, t))


@conjugate.rule(Huber)
def _(loss: Any, y: Any, u: Any) -> Any:
    return where(np.abs(u) <= loss.width, u * y + const(0.5, u) * u * u, const(np.inf, u))


@shortfall.rule(Huber)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    r = t - y
    inside = np.minimum(np.maximum(r, -loss.width), loss.width)
    gap = inside - u
    missing = const(0.5, t) * gap * gap + (r - inside) * gap
    return where(np.abs(u) <= loss.width, missing, const(np.inf, u))


@lowest.rule(Huber)
def _(loss: Any, y: Any) -> Any:
    return const(0.0, y) * y - loss.width


@highest.rule(Huber)
def _(loss: Any, y: Any) -> Any:
    return const(0.0, y) * y + loss.width


@traits.rule(Huber)
def _(loss: Any) -> Traits:
    positive("Huber", "width", loss.width)
    return Traits(boxed=Boxed(ridge=1.0))
