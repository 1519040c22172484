"""How far values of f must range."""

from __future__ import annotations

import numpy as np

from mercer.losses import traits
from mercer.solvers.problem import Problem


def spread(problem: Problem) -> float:
    """Return what distances between values of f are measured by: 1 for labels, the deviation of numbers."""
    if traits(problem.loss).two_classes:
        return 1.0
    w, y = problem.weights[:, None], problem.targets
    y = y - (w * y).sum(axis=0) / w.sum() if problem.intercept else y
    found = float(np.sqrt((w * y * y).sum(axis=0) / w.sum()).min())
    return found if found > 0 else 1.0
