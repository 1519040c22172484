"""The convex problem that lies above one with a loss that is not convex, and touches it."""

from __future__ import annotations

import dataclasses

import numpy as np

from mercer.losses import share, traits
from mercer.solvers.problem import Problem


def majorant(problem: Problem, t: np.ndarray) -> Problem:
    """Return the convex problem that lies above, up to a constant, and touches at predictions t."""
    shares = share(problem.loss, problem.targets, t)[:, 0] * problem.weights
    if not shares.any():
        return dataclasses.replace(problem, loss=traits(problem.loss).base, weight=None)
    return dataclasses.replace(problem, loss=traits(problem.loss).base, weight=shares)
