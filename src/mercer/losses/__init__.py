"""What an error costs: scalar rules, with no data and no kernel."""

from mercer.losses._loss import conjugate, curvature, shortfall, slope, value
from mercer.losses.squared import Squared

__all__ = ["Squared", "conjugate", "curvature", "shortfall", "slope", "value"]
