"""The squared loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._rules import const
from mercer.losses._loss import Boxed, Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class Squared(NamedTuple):
    """(y - t)^2 / 2, the loss of least squares and ridge.

    Examples
    --------
    >>> from mercer.losses import Squared, value
    >>> value(Squared(), 1.0, 3.0)
    2.0
    """


@value.rule(Squared)
def _(loss: Any, y: Any, t: Any) -> Any:
    return const(0.5, t) * (y - t) * (y - t)


@slope.rule(Squared)
def _(loss: Any, y: Any, t: Any) -> Any:
    return t - y


@curvature.rule(Squared)
def _(loss: Any, y: Any, t: Any) -> Any:
    return const(1.0, t) + const(0.0, t) * t


@conjugate.rule(Squared)
def _(loss: Any, y: Any, u: Any) -> Any:
    return u * y + const(0.5, u) * u * u


@shortfall.rule(Squared)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    gap = t - y - u
    return const(0.5, t) * gap * gap


@lowest.rule(Squared)
def _(loss: Any, y: Any) -> Any:
    return const(-np.inf, y) + const(0.0, y) * y


@highest.rule(Squared)
def _(loss: Any, y: Any) -> Any:
    return const(np.inf, y) + const(0.0, y) * y


@traits.rule(Squared)
def _(loss: Any) -> Traits:
    return Traits(quadratic=True, boxed=Boxed(ridge=1.0))
