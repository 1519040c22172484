"""The Tweedie loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._checks import between
from mercer._rules import const, where
from mercer.losses._functions import exp_rest, grown, grown_rest, relative_entropy
from mercer.losses._loss import Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class Tweedie(NamedTuple):
    """Half the deviance of a Tweedie variable y >= 0 of a power between 1 and 2 whose mean is exp(t).

    With a = power - 1 and b = 2 - power: y exp(-a t) / a + exp(b t) / b - y^b / (a b). Its limits are the Poisson loss
    (power 1) and the gamma loss (power 2); between them y is often exactly 0, as the claims of an insurance are.

    Parameters
    ----------
    power : float
        Above 1 and below 2.

    Examples
    --------
    >>> from mercer.losses import Tweedie, value
    >>> float(value(Tweedie(1.5), 0.0, 0.0))
    2.0
    """

    power: float = 1.5


def _parts(loss: Any, y: Any) -> Any:
    # a, b, log y and y^b, those of 1 where y is 0
    a, b = loss.power - 1.0, 2.0 - loss.power
    log = np.log(where(y > 0, y, 1.0))
    return a, b, log, np.exp(b * log)


def _point(a: Any, b: Any, u: Any) -> Any:
    # Return x with exp(b x) - exp(-a x) = u. For u > 0 that is F(x) = b x - log(u + exp(-a x)) = 0; F grows and is
    # concave, so that Newton's steps from the left of the root stay there. u < 0 is the mirror image.
    size, p, q = np.abs(u), where(u > 0, b, a), where(u > 0, a, b)
    x = np.log(np.maximum(size, 1.0)) / p
    for _ in range(16):
        away = np.exp(-q * x)
        x = x - (p * x - np.log1p(size + np.expm1(-q * x))) / (p + q * away / (size + away))
    return where(u > 0, x, -x)


@value.rule(Tweedie)
def _(loss: Any, y: Any, t: Any) -> Any:
    a, b, log, size = _parts(loss, y)
    some = size * (exp_rest(-a * (t - log)) / a + exp_rest(b * (t - log)) / b)
    return where(y > 0, some, where(y < 0, np.inf, grown(b * t) / b))


@slope.rule(Tweedie)
def _(loss: Any, y: Any, t: Any) -> Any:
    a, b, _, _ = _parts(loss, y)
    return grown(b * t) - where(y > 0, y, 0.0) * grown(where(y > 0, -a * t, 0.0))


@curvature.rule(Tweedie)
def _(loss: Any, y: Any, t: Any) -> Any:
    a, b, _, _ = _parts(loss, y)
    return b * grown(b * t) + a * where(y > 0, y, 0.0) * grown(where(y > 0, -a * t, 0.0))


@conjugate.rule(Tweedie)
def _(loss: Any, y: Any, u: Any) -> Any:
    a, b, log, size = _parts(loss, y)
    x = _point(a, b, u / size)
    some = u * (x + log) - size * (exp_rest(-a * x) / a + exp_rest(b * x) / b)
    none = u * np.log(where(u > 0, u, 1.0)) / b - u / b
    return where(y > 0, some, where(u < 0, np.inf, none))


@shortfall.rule(Tweedie)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    a, b, log, size = _parts(loss, y)
    x = _point(a, b, u / size)
    gap = t - log - x
    some = size * (grown_rest(-a * x, -a * gap) / a + grown_rest(b * x, b * gap) / b)
    return where(y > 0, some, relative_entropy(u, grown(b * t), b * t) / b)


@lowest.rule(Tweedie)
def _(loss: Any, y: Any) -> Any:
    return where(y > 0, -np.inf, 0.0)


@highest.rule(Tweedie)
def _(loss: Any, y: Any) -> Any:
    return const(np.inf, y) + const(0.0, y) * y


@traits.rule(Tweedie)
def _(loss: Any) -> Traits:
    between("Tweedie", "power", loss.power, 1.0, 2.0)
    return Traits(log_mean=True)
