"""Losses that are not convex: what a row can cost is bounded, so that a few wrong rows count for little.

Each is rho(base loss) with a rising, concave rho. At any prediction it lies below the base loss times its share rho',
and touches it there: so it is lowered by solving convex problems whose rows are weighted by their shares.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._checks import positive
from mercer._rules import const, where
from mercer.losses._loss import Traits, share, slope, traits, value
from mercer.losses.hinge import Hinge
from mercer.losses.squared import Squared


class Tukey(NamedTuple):
    """Tukey's biweight: (width^2 / 6) (1 - (1 - r^2 / width^2)^3) for |r| <= width, and width^2 / 6 beyond.

    Parameters
    ----------
    width : float
        Residuals beyond it do not count at all.
    """

    width: float = 4.685


class Welsch(NamedTuple):
    """Welsch's loss: (width^2 / 2) (1 - exp(-r^2 / width^2)).

    Parameters
    ----------
    width : float
        Residuals well beyond it hardly count.
    """

    width: float = 2.985


class Ramp(NamedTuple):
    """The ramp: min(1, max(0, 1 - y t)), the hinge cut off where a point is on the wrong side."""


@value.rule(Tukey)
def _(loss: Any, y: Any, t: Any) -> Any:
    z = np.minimum((t - y) * (t - y) / (loss.width * loss.width), const(1.0, t))
    left = const(1.0, t) - z
    return loss.width * loss.width / 6 * (const(1.0, t) - left * left * left)


@share.rule(Tukey)
def _(loss: Any, y: Any, t: Any) -> Any:
    left = np.maximum(const(1.0, t) - (t - y) * (t - y) / (loss.width * loss.width), const(0.0, t))
    return left * left


@slope.rule(Tukey)
def _(loss: Any, y: Any, t: Any) -> Any:
    return (t - y) * share(loss, y, t)


@traits.rule(Tukey)
def _(loss: Any) -> Traits:
    positive("Tukey", "width", loss.width)
    return Traits(base=Squared())


@value.rule(Welsch)
def _(loss: Any, y: Any, t: Any) -> Any:
    return -loss.width * loss.width / 2 * np.expm1(-(t - y) * (t - y) / (loss.width * loss.width))


@share.rule(Welsch)
def _(loss: Any, y: Any, t: Any) -> Any:
    return np.exp(-(t - y) * (t - y) / (loss.width * loss.width))


@slope.rule(Welsch)
def _(loss: Any, y: Any, t: Any) -> Any:
    return (t - y) * share(loss, y, t)


@traits.rule(Welsch)
def _(loss: Any) -> Traits:
    positive("Welsch", "width", loss.width)
    return Traits(base=Squared())


@value.rule(Ramp)
def _(loss: Any, y: Any, t: Any) -> Any:
    return np.clip(const(1.0, t) - y * t, const(0.0, t), const(1.0, t))


@share.rule(Ramp)
def _(loss: Any, y: Any, t: Any) -> Any:
    return where(y * t > 0, const(1.0, t), const(0.0, t))


@slope.rule(Ramp)
def _(loss: Any, y: Any, t: Any) -> Any:
    return where((y * t > 0) & (y * t < 1), -y, const(0.0, t))


@traits.rule(Ramp)
def _(loss: Any) -> Traits:
    return Traits(smooth=False, two_classes=True, base=Hinge())
