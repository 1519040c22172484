"""What every solver offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.functions import Centers
from mercer.losses import traits
from mercer.solvers.problem import Problem
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver found: coefficients and offset, how it ended, what it did.

    Parameters
    ----------
    coefficients : array of shape (n, t), with centres (m, t)
        c, those of f on all training points, or on the centres.
    offset : array of shape (t,)
        b; zeros without an intercept.
    status : Status
        How it ended.
    steps : int
        Iterations, in the solver's own sense.
    residual : float
        How far from done, in the sense of the solver's ``tol``.
    stats : dict
        What was done: rank, condition, sizes.
    state : dict
        What the next run may start from.
    centers : Centers, optional
        Those f is on, where the solver chose them.
    dual : array of shape (n, t), or (n, t, k); optional
        a, one dual point a target, or several, where c does not say it: for the certificate.
    """

    coefficients: np.ndarray
    offset: np.ndarray
    status: Status
    steps: int
    residual: float
    stats: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    centers: Centers | None = None
    dual: np.ndarray | None = None


class Solver(ABC):
    """A frozen record of options that solves some problems and says why it will not take others."""

    @abstractmethod
    def refuses(self, problem: Problem) -> str | None:
        """Return why it will not take a problem, in a sentence, or None."""

    @abstractmethod
    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""


def not_least_squares_on_all(who: str, problem: Problem) -> str | None:
    """Return why a solver of least squares with all training points as centres will not take a problem, or None."""
    if not traits(problem.loss).quadratic:
        return f"{who} solves the squared loss only."
    return f"{who} takes no centres; use CenterGradients." if problem.centers is not None else None
