"""The exponential loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._rules import const, where
from mercer.losses._functions import grown, relative_entropy, x_log_x
from mercer.losses._loss import Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class Exponential(NamedTuple):
    """exp(-y t) with y = +1 or -1, the loss of boosting.

    With v = -y u >= 0 the conjugate is v log v - v.

    Examples
    --------
    >>> from mercer.losses import Exponential, value
    >>> float(value(Exponential(), -1.0, 0.0))
    1.0
    """


@value.rule(Exponential)
def _(loss: Any, y: Any, t: Any) -> Any:
    return grown(-y * t)


@slope.rule(Exponential)
def _(loss: Any, y: Any, t: Any) -> Any:
    return -y * grown(-y * t)


@curvature.rule(Exponential)
def _(loss: Any, y: Any, t: Any) -> Any:
    return grown(-y * t)


@conjugate.rule(Exponential)
def _(loss: Any, y: Any, u: Any) -> Any:
    v = -y * u
    return where(v >= 0, x_log_x(v) - v, const(np.inf, u))


@shortfall.rule(Exponential)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    return relative_entropy(-y * u, grown(-y * t), -y * t)


@lowest.rule(Exponential)
def _(loss: Any, y: Any) -> Any:
    return where(y > 0, const(-np.inf, y), const(0.0, y))


@highest.rule(Exponential)
def _(loss: Any, y: Any) -> Any:
    return where(y > 0, const(0.0, y), const(np.inf, y))


@traits.rule(Exponential)
def _(loss: Any) -> Traits:
    return Traits(two_classes=True)
