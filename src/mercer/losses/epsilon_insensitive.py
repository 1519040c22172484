"""The epsilon-insensitive loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._rules import const, where
from mercer.losses._loss import Boxed, Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class EpsilonInsensitive(NamedTuple):
    """max(0, |y - t| - epsilon), the loss of support vector regression.

    Parameters
    ----------
    epsilon : float
        Errors up to it cost nothing; >= 0.

    Examples
    --------
    >>> from mercer.losses import EpsilonInsensitive, value
    >>> float(value(EpsilonInsensitive(0.5), 1.0, 3.0))
    1.5
    """

    epsilon: float = 0.1


@value.rule(EpsilonInsensitive)
def _(loss: Any, y: Any, t: Any) -> Any:
    return np.maximum(np.abs(t - y) - const(loss.epsilon, t), const(0.0, t))


@slope.rule(EpsilonInsensitive)
def _(loss: Any, y: Any, t: Any) -> Any:
    return where(np.abs(t - y) > const(loss.epsilon, t), np.sign(t - y), const(0.0, t))


@curvature.rule(EpsilonInsensitive)
def _(loss: Any, y: Any, t: Any) -> Any:
    return const(0.0, t) * t


@conjugate.rule(EpsilonInsensitive)
def _(loss: Any, y: Any, u: Any) -> Any:
    inside = u * y + const(loss.epsilon, u) * np.abs(u)
    return where(np.abs(u) > const(1.0, u), const(np.inf, u), inside)


@shortfall.rule(EpsilonInsensitive)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    share, error = np.abs(u), t - y
    past = where(u < const(0.0, t), -error, error) - const(loss.epsilon, t)  # over the edge on the side of u
    cost = np.maximum(np.abs(error) - const(loss.epsilon, t), const(0.0, t))
    inside = where(past > const(0.0, t), (const(1.0, t) - share) * past, cost - share * past)
    return where(share > const(1.0, t), const(np.inf, t), inside)


@lowest.rule(EpsilonInsensitive)
def _(loss: Any, y: Any) -> Any:
    return const(-1.0, y) + const(0.0, y) * y


@highest.rule(EpsilonInsensitive)
def _(loss: Any, y: Any) -> Any:
    return const(1.0, y) + const(0.0, y) * y


@traits.rule(EpsilonInsensitive)
def _(loss: Any) -> Traits:
    return Traits(smooth=False, boxed=Boxed(spread=loss.epsilon))
