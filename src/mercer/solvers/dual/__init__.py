"""Quadratic problems over a box: the duals of the support vector machines."""

from mercer.solvers.dual.boxes import solve_box, solve_boxes
from mercer.solvers.dual.forms import Form, hard_margin, nu_classes, nu_values, of_loss, one_class
from mercer.solvers.dual.held import Held, Walked
from mercer.solvers.dual.paths import Paths, held_if_small
from mercer.solvers.dual.proof import Found, certify_machines
from mercer.solvers.dual.quadratic import BoxAnswer, BoxQuadratic
from mercer.solvers.dual.separation import Meeting, NotSeparableError
from mercer.solvers.dual.train import Trained, decisions, prove_all, train

__all__ = [
    "BoxAnswer",
    "BoxQuadratic",
    "Form",
    "Found",
    "Held",
    "Meeting",
    "NotSeparableError",
    "Paths",
    "Trained",
    "Walked",
    "certify_machines",
    "decisions",
    "hard_margin",
    "held_if_small",
    "nu_classes",
    "nu_values",
    "of_loss",
    "one_class",
    "prove_all",
    "solve_box",
    "solve_boxes",
    "train",
]
