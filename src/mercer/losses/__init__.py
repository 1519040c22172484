"""What an error costs: scalar rules, with no data and no kernel."""

from mercer.losses._loss import Boxed, Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value
from mercer.losses.epsilon_insensitive import EpsilonInsensitive
from mercer.losses.hinge import Hinge
from mercer.losses.squared import Squared
from mercer.losses.squared_epsilon_insensitive import SquaredEpsilonInsensitive
from mercer.losses.squared_hinge import SquaredHinge

__all__ = [
    "Boxed",
    "EpsilonInsensitive",
    "Hinge",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Traits",
    "conjugate",
    "curvature",
    "highest",
    "lowest",
    "shortfall",
    "slope",
    "traits",
    "value",
]
