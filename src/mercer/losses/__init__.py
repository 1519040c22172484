"""What an error costs: scalar rules, with no data and no kernel."""

from mercer.losses._envelope import Envelope
from mercer.losses._loss import (
    Boxed,
    Traits,
    conjugate,
    curvature,
    highest,
    lowest,
    share,
    shortfall,
    slope,
    traits,
    value,
)
from mercer.losses.epsilon_insensitive import EpsilonInsensitive
from mercer.losses.expectile import Expectile
from mercer.losses.exponential import Exponential
from mercer.losses.gamma import Gamma
from mercer.losses.hinge import Hinge
from mercer.losses.huber import Huber
from mercer.losses.log_cosh import LogCosh
from mercer.losses.logistic import Logistic
from mercer.losses.modified_huber import ModifiedHuber
from mercer.losses.multinomial import Multinomial
from mercer.losses.poisson import Poisson
from mercer.losses.pseudo_huber import PseudoHuber
from mercer.losses.quantile import Absolute, Quantile
from mercer.losses.robust import Ramp, Tukey, Welsch
from mercer.losses.smoothed_hinge import SmoothedHinge
from mercer.losses.squared import Squared
from mercer.losses.squared_epsilon_insensitive import SquaredEpsilonInsensitive
from mercer.losses.squared_hinge import SquaredHinge
from mercer.losses.tweedie import Tweedie
from mercer.losses.user import UserLoss, user_loss

__all__ = [
    "Absolute",
    "Boxed",
    "Envelope",
    "EpsilonInsensitive",
    "Expectile",
    "Exponential",
    "Gamma",
    "Hinge",
    "Huber",
    "LogCosh",
    "Logistic",
    "ModifiedHuber",
    "Multinomial",
    "Poisson",
    "PseudoHuber",
    "Quantile",
    "Ramp",
    "SmoothedHinge",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Traits",
    "Tukey",
    "Tweedie",
    "UserLoss",
    "Welsch",
    "conjugate",
    "curvature",
    "highest",
    "lowest",
    "share",
    "shortfall",
    "slope",
    "traits",
    "user_loss",
    "value",
]
