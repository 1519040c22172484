"""From decision values to probabilities that never contradict the decision."""

from mercer.solvers.calibration.coupling import agreeing, coupled
from mercer.solvers.calibration.curves import Curve, fit_isotonic, fit_sigmoid

__all__ = ["Curve", "agreeing", "coupled", "fit_isotonic", "fit_sigmoid"]
