"""What an error costs: scalar rules, with no data and no kernel."""

from mercer.losses._loss import Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value
from mercer.losses.squared import Squared

__all__ = [
    "Squared",
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
