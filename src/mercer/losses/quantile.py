"""The quantile (pinball) and absolute losses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._checks import between
from mercer._rules import const, where
from mercer.losses._loss import Boxed, Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class Quantile(NamedTuple):
    """level max(y - t, 0) + (1 - level) max(t - y, 0), the pinball loss, whose minimiser is the quantile.

    Parameters
    ----------
    level : float or array of shape (t,)
        Between 0 and 1; 1/2 is the median. An array is one for each of t targets.

    Examples
    --------
    >>> from mercer.losses import Quantile, value
    >>> round(float(value(Quantile(0.9), 1.0, 0.0)), 4), round(float(value(Quantile(0.9), 0.0, 1.0)), 4)
    (0.9, 0.1)
    """

    level: Any = 0.5


class Absolute(NamedTuple):
    """|y - t|, twice the quantile loss of the median.

    Examples
    --------
    >>> from mercer.losses import Absolute, value
    >>> float(value(Absolute(), 1.0, 3.0))
    2.0
    """


@value.rule(Quantile)
def _(loss: Any, y: Any, t: Any) -> Any:
    r = t - y
    return np.maximum((const(1.0, t) - loss.level) * r, -loss.level * r)


@slope.rule(Quantile)
def _(loss: Any, y: Any, t: Any) -> Any:
    r = t - y
    return where(r > 0, const(1.0, t) - loss.level, where(r < 0, -loss.level, const(0.0, t)))


@curvature.rule(Quantile)
def _(loss: Any, y: Any, t: Any) -> Any:
    return const(0.0, t) * (t - y)


@conjugate.rule(Quantile)
def _(loss: Any, y: Any, u: Any) -> Any:
    return where((u >= -loss.level) & (u <= const(1.0, u) - loss.level), u * y, const(np.inf, u))


@shortfall.rule(Quantile)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    r = t - y
    missing = where(r > 0, (const(1.0, t) - loss.level - u) * r, -(loss.level + u) * r)
    return where((u >= -loss.level) & (u <= const(1.0, u) - loss.level), missing, const(np.inf, u))


@lowest.rule(Quantile)
def _(loss: Any, y: Any) -> Any:
    return const(0.0, y) * y - loss.level


@highest.rule(Quantile)
def _(loss: Any, y: Any) -> Any:
    return const(0.0, y) * y + const(1.0, y) - loss.level


@traits.rule(Quantile)
def _(loss: Any) -> Traits:
    for level in np.ravel(loss.level):
        between("Quantile", "level", level, 0.0, 1.0)
    return Traits(smooth=False, boxed=Boxed())


@value.rule(Absolute)
def _(loss: Any, y: Any, t: Any) -> Any:
    return np.abs(t - y)


@slope.rule(Absolute)
def _(loss: Any, y: Any, t: Any) -> Any:
    return np.sign(t - y)


@curvature.rule(Absolute)
def _(loss: Any, y: Any, t: Any) -> Any:
    return const(0.0, t) * (t - y)


@conjugate.rule(Absolute)
def _(loss: Any, y: Any, u: Any) -> Any:
    return where(np.abs(u) <= 1, u * y, const(np.inf, u))


@shortfall.rule(Absolute)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    r = t - y
    missing = where(r > 0, (const(1.0, t) - u) * r, -(const(1.0, t) + u) * r)
    return where(np.abs(u) <= 1, missing, const(np.inf, u))


@lowest.rule(Absolute)
def _(loss: Any, y: Any) -> Any:
    return const(-1.0, y) + const(0.0, y) * y


@highest.rule(Absolute)
def _(loss: Any, y: Any) -> Any:
    return const(1.0, y) + const(0.0, y) * y


@traits.rule(Absolute)
def _(loss: Any) -> Traits:
    return Traits(smooth=False, boxed=Boxed())
