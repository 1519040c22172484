"""A problem on some of its rows."""

from __future__ import annotations

import dataclasses

import numpy as np

from mercer.gram import from_matrix, gram
from mercer.kernels._views import take
from mercer.solvers.problem import Problem


def present(problem: Problem, rows: np.ndarray) -> Problem:
    """Return the problem on the rows that count."""
    if len(rows) == len(problem.y):
        return problem
    K = problem.gram
    if K.kernel is None:
        some = from_matrix(K.block(rows, rows), K.engine)
    else:
        some = gram(K.kernel, take(K.points, rows), engine=K.engine)
    return dataclasses.replace(problem, gram=some, y=problem.y[rows], weight=problem.weights[rows])
