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


ROBUST = {"tukey": losses.Tukey(), "welsch": losses.Welsch(), "ramp": losses.Ramp()}


def loss_of(estimator: Any, targets: Any = (-1.0, 0.0, 1.0)) -> Any:
    """Return the loss an estimator asks for, and have it check its parameters; a user's is tried on the targets."""
    asked = estimator.loss
    who = type(estimator).__name__
    if isinstance(asked, str):
        known = NAMED | ROBUST
        if asked not in known:
            refuse(who, f"'loss' must be one of {', '.join(map(repr, known))}, or a record", describe(asked))
        asked = known[asked]
    if type(asked) not in losses.traits.rules:
        if not (callable(asked) or hasattr(asked, "value")):
            refuse(who, "'loss' must be a name, a record of mercer.losses or a function of y and t", describe(asked))
        return losses.user_loss(asked, targets)
    if losses.traits(asked).base is not None and estimator.robust is not True:
        wanted = "robust=True for a loss that is not convex: what is found is stationary, and may not be the best"
        refuse(who, wanted, f"{describe(asked)} with robust={estimator.robust!r}")
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
