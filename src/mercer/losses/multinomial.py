"""The multinomial logistic loss, of vectors of predictions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.losses._functions import relative_entropy, x_log_x
from mercer.losses._loss import Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value


class Multinomial(NamedTuple):
    """-sum_k y_k log p_k with p = softmax(t): minus the log-likelihood of a class; y is 1 at it and 0 elsewhere.

    Predictions are rows t of one number a class, and rules return a row for a row: the parts, >= 0, whose sum is meant.
    Slopes are p - y. With p = y + u on the simplex the conjugate is sum_k p_k log p_k.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Multinomial, value
    >>> float(value(Multinomial(), np.array([0.0, 1.0, 0.0]), np.zeros(3)).sum().round(4))
    1.0986
    """


def log_softmax(t: Any) -> Any:
    """Return the logarithms of the probabilities, along the last axis."""
    away = t - t.max(axis=-1, keepdims=True)
    return away - np.log(np.exp(away).sum(axis=-1, keepdims=True))


@value.rule(Multinomial)
def _(loss: Any, y: Any, t: Any) -> Any:
    return -y * log_softmax(t)


@slope.rule(Multinomial)
def _(loss: Any, y: Any, t: Any) -> Any:
    return np.exp(log_softmax(t)) - y


@curvature.rule(Multinomial)
def _(loss: Any, y: Any, t: Any) -> Any:
    p = np.exp(log_softmax(t))
    return p * (1.0 - p)  # the diagonal of what is a matrix


@conjugate.rule(Multinomial)
def _(loss: Any, y: Any, u: Any) -> Any:
    return np.where(y + u >= 0, x_log_x(np.maximum(y + u, 0.0)), np.inf)


@shortfall.rule(Multinomial)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    log_p = log_softmax(t)
    return relative_entropy(y + u, np.exp(log_p), log_p)


@lowest.rule(Multinomial)
def _(loss: Any, y: Any) -> Any:
    return -y


@highest.rule(Multinomial)
def _(loss: Any, y: Any) -> Any:
    return 1.0 - y


@traits.rule(Multinomial)
def _(loss: Any) -> Traits:
    return Traits(coupled=True)
