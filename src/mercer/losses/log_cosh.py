"""The log-cosh loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._rules import const, where
from mercer.losses._functions import log_sigmoid, relative_entropy, sigmoid
from mercer.losses._loss import Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class LogCosh(NamedTuple):
    """log cosh(t - y): half a square near y, straight far from it.

    With v = (1 + u) / 2 the conjugate is u y + v log(2 v) + (1 - v) log(2 (1 - v)).

    Examples
    --------
    >>> from mercer.losses import LogCosh, value
    >>> round(float(value(LogCosh(), 0.0, 1.0)), 4)
    0.4338
    """


@value.rule(LogCosh)
def _(loss: Any, y: Any, t: Any) -> Any:
    r = np.abs(t - y)
    half = np.sinh(np.minimum(r, const(1.0, t)) * const(0.5, t))
    near = np.log1p(const(2.0, t) * half * half)  # cosh r - 1 = 2 sinh(r / 2)^2
    far = r + np.log1p(np.exp(const(-2.0, t) * r)) - const(np.log(2.0), t)
    return where(r < 1, near, far)


@slope.rule(LogCosh)
def _(loss: Any, y: Any, t: Any) -> Any:
    return np.tanh(t - y)


@curvature.rule(LogCosh)
def _(loss: Any, y: Any, t: Any) -> Any:
    small = np.exp(const(-2.0, t) * np.abs(t - y))
    return const(4.0, t) * small / ((const(1.0, t) + small) * (const(1.0, t) + small))


@conjugate.rule(LogCosh)
def _(loss: Any, y: Any, u: Any) -> Any:
    half = const(0.5, u)
    up, down = half * (const(1.0, u) + u), half * (const(1.0, u) - u)
    log = const(np.log(0.5), u)
    return u * y + relative_entropy(up, half, log) + relative_entropy(down, half, log)


@shortfall.rule(LogCosh)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    half, r = const(0.5, u), const(2.0, t) * (t - y)
    up, down = half * (const(1.0, u) + u), half * (const(1.0, u) - u)
    return relative_entropy(up, sigmoid(r), log_sigmoid(r)) + relative_entropy(down, sigmoid(-r), log_sigmoid(-r))


@lowest.rule(LogCosh)
def _(loss: Any, y: Any) -> Any:
    return const(-1.0, y) + const(0.0, y) * y


@highest.rule(LogCosh)
def _(loss: Any, y: Any) -> Any:
    return const(1.0, y) + const(0.0, y) * y


@traits.rule(LogCosh)
def _(loss: Any) -> Traits:
    return Traits()
