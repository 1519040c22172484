"""The squared epsilon-insensitive loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._rules import const, where
from mercer.losses._loss import Boxed, Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class SquaredEpsilonInsensitive(NamedTuple):
    """max(0, |y - t| - epsilon)^2: smooth, free within epsilon, quadratic beyond.

    There is no factor 1/2, as in scikit-learn's and LIBLINEAR's loss of this name; so epsilon = 0 is twice `Squared`.

    Parameters
    ----------
    epsilon : float
        Errors up to it cost nothing; >= 0.

    Examples
    --------
    >>> from mercer.losses import SquaredEpsilonInsensitive, value
    >>> float(value(SquaredEpsilonInsensitive(0.5), 1.0, 3.0))
    2.25
    """

    epsilon: float = 0.1


@value.rule(SquaredEpsilonInsensitive)
def _(loss: Any, y: Any, t: Any) -> Any:
    past = np.maximum(np.abs(t - y) - const(loss.epsilon, t), const(0.0, t))
    return past * past


@slope.rule(SquaredEpsilonInsensitive)
def _(loss: Any, y: Any, t: Any) -> Any:
    past = np.maximum(np.abs(t - y) - const(loss.epsilon, t), const(0.0, t))
    return const(2.0, t) * np.sign(t - y) * past


@curvature.rule(SquaredEpsilonInsensitive)
def _(loss: Any, y: Any, t: Any) -> Any:
    return where(np.abs(t - y) > const(loss.epsilon, t), const(2.0, t) + const(0.0, t) * t, const(0.0, t) * t)


@conjugate.rule(SquaredEpsilonInsensitive)
def _(loss: Any, y: Any, u: Any) -> Any:
    return u * y + const(loss.epsilon, u) * np.abs(u) + const(0.25, u) * u * u


@shortfall.rule(SquaredEpsilonInsensitive)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    half, error = const(0.5, t) * np.abs(u), t - y
    past = where(u < const(0.0, t), -error, error) - const(loss.epsilon, t)  # over the edge on the side of u
    cost = np.maximum(np.abs(error) - const(loss.epsilon, t), const(0.0, t))
    apart = past - half
    return where(past > const(0.0, t), apart * apart, cost * cost + half * half - const(2.0, t) * half * past)


@lowest.rule(SquaredEpsilonInsensitive)
def _(loss: Any, y: Any) -> Any:
    return const(-np.inf, y) + const(0.0, y) * y


@highest.rule(SquaredEpsilonInsensitive)
def _(loss: Any, y: Any) -> Any:
    return const(np.inf, y) + const(0.0, y) * y


@traits.rule(SquaredEpsilonInsensitive)
def _(loss: Any) -> Traits:
    return Traits(boxed=Boxed(spread=loss.epsilon, ridge=0.5))
