"""Quadratic problems over a box: the duals of the support vector machines."""

from mercer.solvers.dual.boxes import solve_box, solve_boxes
from mercer.solvers.dual.quadratic import BoxAnswer, BoxQuadratic

__all__ = ["BoxAnswer", "BoxQuadratic", "solve_box", "solve_boxes"]
