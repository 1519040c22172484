"""The squared hinge loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._rules import const, where
from mercer.losses._loss import Boxed, Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class SquaredHinge(NamedTuple):
    """max(0, 1 - y t)^2 for labels y = 1 and -1: smooth, and harder on large errors than the hinge.

    There is no factor 1/2, as in scikit-learn's and LIBLINEAR's loss of this name.

    Examples
    --------
    >>> from mercer.losses import SquaredHinge, value
    >>> float(value(SquaredHinge(), -1.0, 0.5))
    2.25
    """


@value.rule(SquaredHinge)
def _(loss: Any, y: Any, t: Any) -> Any:
    short = np.maximum(const(1.0, t) - y * t, const(0.0, t))
    return short * short


@slope.rule(SquaredHinge)
def _(loss: Any, y: Any, t: Any) -> Any:
    return -const(2.0, t) * y * np.maximum(const(1.0, t) - y * t, const(0.0, t))


@curvature.rule(SquaredHinge)
def _(loss: Any, y: Any, t: Any) -> Any:
    return where(y * t < const(1.0, t), const(2.0, t) + const(0.0, t) * t, const(0.0, t) * t)


@conjugate.rule(SquaredHinge)
def _(loss: Any, y: Any, u: Any) -> Any:
    share = -y * u
    return where(share < const(0.0, u), const(np.inf, u), const(0.25, u) * share * share - share)


@shortfall.rule(SquaredHinge)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    margin, half = const(1.0, t) - y * t, -const(0.5, t) * y * u
    apart = margin - half
    inside = where(margin > const(0.0, t), apart * apart, half * half - const(2.0, t) * half * margin)
    return where(half < const(0.0, t), const(np.inf, t), inside)


@lowest.rule(SquaredHinge)
def _(loss: Any, y: Any) -> Any:
    return where(y > const(0.0, y), const(-np.inf, y) + const(0.0, y) * y, const(0.0, y) * y)


@highest.rule(SquaredHinge)
def _(loss: Any, y: Any) -> Any:
    return where(y > const(0.0, y), const(0.0, y) * y, const(np.inf, y) + const(0.0, y) * y)


@traits.rule(SquaredHinge)
def _(loss: Any) -> Traits:
    return Traits(two_classes=True, boxed=Boxed(ridge=0.5))
