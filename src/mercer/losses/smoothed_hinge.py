"""The smoothed hinge loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._checks import positive
from mercer._rules import const, where
from mercer.losses._loss import Boxed, Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class SmoothedHinge(NamedTuple):
    """The hinge with its corner rounded over a margin of width: with e = 1 - y t, e^2 / (2 width), then e - width / 2.

    With v = -y u between 0 and 1 the conjugate is -v + width v^2 / 2.

    Parameters
    ----------
    width : float
        As it goes to 0 the loss becomes the hinge.

    Examples
    --------
    >>> from mercer.losses import SmoothedHinge, value
    >>> float(value(SmoothedHinge(1.0), 1.0, 0.0))
    0.5
    """

    width: float = 1.0


@value.rule(SmoothedHinge)
def _(loss: Any, y: Any, t: Any) -> Any:
    e = const(1.0, t) - y * t
    bent = np.minimum(np.maximum(e, const(0.0, t)), loss.width)
    return const(0.5, t) * bent * bent / loss.width + np.maximum(e - bent, const(0.0, t))


@slope.rule(SmoothedHinge)
def _(loss: Any, y: Any, t: Any) -> Any:
    e = const(1.0, t) - y * t
    return -y * np.minimum(np.maximum(e / loss.width, const(0.0, t)), const(1.0, t))


@curvature.rule(SmoothedHinge)
def _(loss: Any, y: Any, t: Any) -> Any:
    e = const(1.0, t) - y * t
    return where((e >= 0) & (e <= loss.width), const(1.0, t) / loss.width, const(0.0, t))


@conjugate.rule(SmoothedHinge)
def _(loss: Any, y: Any, u: Any) -> Any:
    v = -y * u
    return where((v >= 0) & (v <= 1), const(0.5, u) * loss.width * v * v - v, const(np.inf, u))


@shortfall.rule(SmoothedHinge)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    e, v = const(1.0, t) - y * t, -y * u
    pull = np.minimum(np.maximum(e / loss.width, const(0.0, t)), const(1.0, t))
    rest = e - np.minimum(np.maximum(e, const(0.0, t)), loss.width)  # past either end of the bend
    missing = const(0.5, t) * loss.width * (pull - v) * (pull - v) + rest * (pull - v)
    return where((v >= 0) & (v <= 1), missing, const(np.inf, u))


@lowest.rule(SmoothedHinge)
def _(loss: Any, y: Any) -> Any:
    return where(y > 0, const(-1.0, y), const(0.0, y))


@highest.rule(SmoothedHinge)
def _(loss: Any, y: Any) -> Any:
    return where(y > 0, const(0.0, y), const(1.0, y))


@traits.rule(SmoothedHinge)
def _(loss: Any) -> Traits:
    positive("SmoothedHinge", "width", loss.width)
    return Traits(two_classes=True, boxed=Boxed(ridge=loss.width))
