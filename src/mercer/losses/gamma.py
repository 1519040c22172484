"""The gamma loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._rules import const, where
from mercer.losses._functions import exp_rest, grown, relative_entropy, x_log_x
from mercer.losses._loss import Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class Gamma(NamedTuple):
    """y exp(-t) + t - log y - 1 for y > 0: half the deviance of a gamma variable y whose mean is exp(t).

    With v = 1 - u >= 0 the conjugate is u log y + v log v + u.

    Examples
    --------
    >>> from mercer.losses import Gamma, value
    >>> float(value(Gamma(), 1.0, 0.0))
    0.0
    """


@value.rule(Gamma)
def _(loss: Any, y: Any, t: Any) -> Any:
    return where(y > 0, exp_rest(np.log(where(y > 0, y, const(1.0, y))) - t), const(np.inf, t))


@slope.rule(Gamma)
def _(loss: Any, y: Any, t: Any) -> Any:
    return const(1.0, t) - y * grown(-t)


@curvature.rule(Gamma)
def _(loss: Any, y: Any, t: Any) -> Any:
    return y * grown(-t)


@conjugate.rule(Gamma)
def _(loss: Any, y: Any, u: Any) -> Any:
    v = const(1.0, u) - u
    log = np.log(where(y > 0, y, const(1.0, y)))
    return where(v >= 0, u * log + x_log_x(v) + u, const(np.inf, u))


@shortfall.rule(Gamma)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    log = np.log(where(y > 0, y, const(1.0, y))) - t
    return relative_entropy(const(1.0, u) - u, grown(log), log)


@lowest.rule(Gamma)
def _(loss: Any, y: Any) -> Any:
    return const(-np.inf, y) + const(0.0, y) * y


@highest.rule(Gamma)
def _(loss: Any, y: Any) -> Any:
    return const(1.0, y) + const(0.0, y) * y


@traits.rule(Gamma)
def _(loss: Any) -> Traits:
    return Traits(log_mean=True)
