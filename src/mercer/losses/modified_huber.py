"""The modified Huber loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._rules import const, where
from mercer.losses._loss import Boxed, Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class ModifiedHuber(NamedTuple):
    """The squared hinge made straight for bad errors: max(0, 1 - y t)^2 where y t >= -1, then -4 y t.

    With v = -y u between 0 and 4 the conjugate is -v + v^2 / 4.

    Examples
    --------
    >>> from mercer.losses import ModifiedHuber, value
    >>> float(value(ModifiedHuber(), 1.0, -2.0))
    8.0
    """


@value.rule(ModifiedHuber)
def _(loss: Any, y: Any, t: Any) -> Any:
    e = const(1.0, t) - y * t
    bent = np.minimum(np.maximum(e, const(0.0, t)), const(2.0, t))
    return bent * bent + const(4.0, t) * np.maximum(e - bent, const(0.0, t))


@slope.rule(ModifiedHuber)
def _(loss: Any, y: Any, t: Any) -> Any:
    e = const(1.0, t) - y * t
    return const(-2.0, t) * y * np.minimum(np.maximum(e, const(0.0, t)), const(2.0, t))


@curvature.rule(ModifiedHuber)
def _(loss: Any, y: Any, t: Any) -> Any:
    e = const(1.0, t) - y * t
    return where((e >= 0) & (e <= 2), const(2.0, t), const(0.0, t))


@conjugate.rule(ModifiedHuber)
def _(loss: Any, y: Any, u: Any) -> Any:
    v = -y * u
    return where((v >= 0) & (v <= 4), const(0.25, u) * v * v - v, const(np.inf, u))


@shortfall.rule(ModifiedHuber)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    e, v = const(1.0, t) - y * t, -y * u
    bent = np.minimum(np.maximum(e, const(0.0, t)), const(2.0, t))
    gap = const(2.0, t) * bent - v
    missing = const(0.25, t) * gap * gap + (e - bent) * gap
    return where((v >= 0) & (v <= 4), missing, const(np.inf, u))


@lowest.rule(ModifiedHuber)
def _(loss: Any, y: Any) -> Any:
    return where(y > 0, const(-4.0, y), const(0.0, y))


@highest.rule(ModifiedHuber)
def _(loss: Any, y: Any) -> Any:
    return where(y > 0, const(0.0, y), const(4.0, y))


@traits.rule(ModifiedHuber)
def _(loss: Any) -> Traits:
    return Traits(two_classes=True, boxed=Boxed(ridge=0.5))
