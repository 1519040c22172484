"""The expectile loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._checks import between
from mercer._rules import const, where
from mercer.losses._loss import Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class Expectile(NamedTuple):
    """|level - [y < t]| (y - t)^2: squares that weigh level below the target and 1 - level above it.

    Its minimiser is the expectile; at level 1/2 it is the squared loss.

    Parameters
    ----------
    level : float
        Between 0 and 1.

    Examples
    --------
    >>> from mercer.losses import Expectile, value
    >>> round(float(value(Expectile(0.9), 0.0, -1.0)), 4), round(float(value(Expectile(0.9), 0.0, 1.0)), 4)
    (0.9, 0.1)
    """

    level: float = 0.5


@value.rule(Expectile)
def _(loss: Any, y: Any, t: Any) -> Any:
    r = t - y
    return where(r > 0, const(1.0, t) - loss.level, loss.level) * r * r


@slope.rule(Expectile)
def _(loss: Any, y: Any, t: Any) -> Any:
    r = t - y
    return const(2.0, t) * where(r > 0, const(1.0, t) - loss.level, loss.level) * r


@curvature.rule(Expectile)
def _(loss: Any, y: Any, t: Any) -> Any:
    return const(2.0, t) * where(t - y > 0, const(1.0, t) - loss.level, loss.level + const(0.0, t))


@conjugate.rule(Expectile)
def _(loss: Any, y: Any, u: Any) -> Any:
    return u * y + u * u / (const(4.0, u) * where(u > 0, const(1.0, u) - loss.level, loss.level))


@shortfall.rule(Expectile)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    r = t - y
    here = where(r > 0, const(1.0, t) - loss.level, loss.level)
    there = where(u > 0, const(1.0, t) - loss.level, loss.level)
    gap = const(2.0, t) * here * r - u
    apart = here * r * r + u * u / (const(4.0, u) * there) - u * r
    return where((r > 0) == (u > 0), gap * gap / (const(4.0, t) * here), apart)


@lowest.rule(Expectile)
def _(loss: Any, y: Any) -> Any:
    return const(-np.inf, y) + const(0.0, y) * y


@highest.rule(Expectile)
def _(loss: Any, y: Any) -> Any:
    return const(np.inf, y) + const(0.0, y) * y


@traits.rule(Expectile)
def _(loss: Any) -> Traits:
    between("Expectile", "level", loss.level, 0.0, 1.0)
    return Traits()
