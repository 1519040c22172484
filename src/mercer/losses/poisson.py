"""The Poisson loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._rules import const, where
from mercer.losses._functions import grown, relative_entropy, x_log_x
from mercer.losses._loss import Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class Poisson(NamedTuple):
    """exp(t) - y t + y log y - y for y >= 0: half the deviance of a count y whose mean is exp(t).

    With v = u + y >= 0 in the place of the mean, the conjugate is v log v - v - y log y + y.

    Examples
    --------
    >>> from mercer.losses import Poisson, value
    >>> float(value(Poisson(), 1.0, 0.0))
    0.0
    """


@value.rule(Poisson)
def _(loss: Any, y: Any, t: Any) -> Any:
    return relative_entropy(y, grown(t), t)


@slope.rule(Poisson)
def _(loss: Any, y: Any, t: Any) -> Any:
    return grown(t) - y


@curvature.rule(Poisson)
def _(loss: Any, y: Any, t: Any) -> Any:
    return grown(t) + const(0.0, y) * y


@conjugate.rule(Poisson)
def _(loss: Any, y: Any, u: Any) -> Any:
    mean = u + y
    return where(mean >= 0, x_log_x(mean) - x_log_x(y) - u, const(np.inf, u))


@shortfall.rule(Poisson)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    return relative_entropy(u + y, grown(t), t)


@lowest.rule(Poisson)
def _(loss: Any, y: Any) -> Any:
    return -y


@highest.rule(Poisson)
def _(loss: Any, y: Any) -> Any:
    return const(np.inf, y) + const(0.0, y) * y


@traits.rule(Poisson)
def _(loss: Any) -> Traits:
    return Traits(log_mean=True)
