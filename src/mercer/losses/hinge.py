"""The hinge loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._rules import const, where
from mercer.losses._loss import Boxed, Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class Hinge(NamedTuple):
    """max(0, 1 - y t) for labels y = 1 and -1, the loss of the support vector machine.

    Examples
    --------
    >>> from mercer.losses import Hinge, value
    >>> float(value(Hinge(), -1.0, 0.5))
    1.5
    """


@value.rule(Hinge)
def _(loss: Any, y: Any, t: Any) -> Any:
    return np.maximum(const(1.0, t) - y * t, const(0.0, t))


@slope.rule(Hinge)
def _(loss: Any, y: Any, t: Any) -> Any:
    return where(y * t < const(1.0, t), -y, const(0.0, t) * t)


@curvature.rule(Hinge)
def _(loss: Any, y: Any, t: Any) -> Any:
    return const(0.0, t) * t


@conjugate.rule(Hinge)
def _(loss: Any, y: Any, u: Any) -> Any:
    share = -y * u
    return where((share < const(0.0, u)) | (share > const(1.0, u)), const(np.inf, u), -share)


@shortfall.rule(Hinge)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    margin, share = const(1.0, t) - y * t, -y * u
    inside = where(margin > const(0.0, t), (const(1.0, t) - share) * margin, -share * margin)
    return where((share < const(0.0, t)) | (share > const(1.0, t)), const(np.inf, t), inside)


@lowest.rule(Hinge)
def _(loss: Any, y: Any) -> Any:
    return np.minimum(-y, const(0.0, y))


@highest.rule(Hinge)
def _(loss: Any, y: Any) -> Any:
    return np.maximum(-y, const(0.0, y))


@traits.rule(Hinge)
def _(loss: Any) -> Traits:
    return Traits(smooth=False, two_classes=True, boxed=Boxed())
