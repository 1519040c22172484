"""Losses and penalties as estimators are given them: by name, as records, as numbers."""

from __future__ import annotations

from typing import Any

from mercer import losses
from mercer._checks import describe, is_number, positive, refuse
from mercer.solvers import HalfSquare, Increasing, Penalty

NAMED = {
    "squared": losses.Squared(),
    "absolute": losses.Absolute(),
    "huber": losses.Huber(),
    "pseudo_huber": losses.PseudoHuber(),
    "log_cosh": losses.LogCosh(),
    "quantile": losses.Quantile(),
    "expectile": losses.Expectile(),
    "epsilon_insensitive": losses.EpsilonInsensitive(),
    "squared_epsilon_insensitive": losses.SquaredEpsilonInsensitive(),
    "poisson": losses.Poisson(),
    "gamma": losses.Gamma(),
    "tweedie": losses.Tweedie(),
    "hinge": losses.Hinge(),
    "squared_hinge": losses.SquaredHinge(),
    "smoothed_hinge": losses.SmoothedHinge(),
    "modified_huber": losses.ModifiedHuber(),
    "logistic": losses.Logistic(),
    "exponential": losses.Exponential(),
}


def loss_of(estimator: Any) -> Any:
    """Return the loss an estimator asks for, and have it check its parameters."""
    asked = estimator.loss
    who = type(estimator).__name__
    if isinstance(asked, str):
        if asked not in NAMED:
            refuse(who, f"'loss' must be one of {', '.join(map(repr, NAMED))}, or a record", describe(asked))
        asked = NAMED[asked]
    if type(asked) not in losses.traits.rules:
        refuse(who, "'loss' must be a name or a record of mercer.losses", describe(asked))
    losses.traits(asked)
    return asked


def penalty_of(estimator: Any, name: str = "penalty") -> Penalty:
    """Return the penalty asked for: a record as it is, lam > 0 as (lam / 2) ||f||^2, a function as Omega itself."""
    asked = getattr(estimator, name)
    if isinstance(asked, Penalty):
        return asked
    if callable(asked):
        return Increasing(asked)
    if not (is_number(asked) and asked > 0):
        refuse(type(estimator).__name__, f"{name!r} must be a positive number, a function or a record", describe(asked))
    return HalfSquare(positive(type(estimator).__name__, name, asked))
