"""The one form in which every support vector machine reaches its solvers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.gram import Gram
from mercer.solvers.solution import Status


@dataclass(frozen=True, eq=False)
class BoxQuadratic:
    """minimise over c:  c'Q c / 2 + p'c,  lower <= c <= upper,  the sum of c over each group as given.

    Q[i, j] = K[rows_i, rows_j] + shift, plus ridge_i on the diagonal; c are signed, so f = sum_i c_i k(., x_rows_i).
    C-SVC: lower, upper = 0, C for y = 1 and -C, 0 for y = -1, p = -y, total 0. Regression: two variables a row.
    nu-SVC: two groups. One class: p = 0, total nu n. A penalised intercept: shift 1, no total. Squared hinge: a ridge.

    Parameters
    ----------
    gram : Gram
        K on the training points.
    rows : array of shape (q,)
        The row of K that each variable stands at; a row may stand more than once.
    linear : array of shape (q,)
        p.
    lower, upper : arrays of shape (q,)
        The box; upper may be inf.
    totals : array of shape (g,)
        The sum of c over each group; empty when sums are free.
    group : array of shape (q,)
        The group of each variable; zeros when there is one group or none.
    ridge : array of shape (q,)
        What is added to the diagonal of Q.
    shift : float
        What is added to each entry of K.
    """

    gram: Gram
    rows: np.ndarray
    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    totals: np.ndarray
    group: np.ndarray
    ridge: np.ndarray
    shift: float = 0.0

    @property
    def size(self) -> int:
        """How many variables there are."""
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class BoxAnswer:
    """What a solver of a `BoxQuadratic` found.

    Parameters
    ----------
    c : array of shape (q,)
        In the box, with the sums as given.
    gradient : array of shape (q,)
        Q c + p, in float64.
    levels : array of shape (g,)
        The multiplier of each sum, so that gradient_i - levels[group_i] is 0 on free variables: minus the offset b.
    violation : float
        The largest violation of the optimality conditions, as scikit-learn's ``tol`` counts it.
    steps : int
        Inner steps taken.
    status : Status
        How it ended.
    """

    c: np.ndarray
    gradient: np.ndarray
    levels: np.ndarray
    violation: float
    steps: int
    status: Status
