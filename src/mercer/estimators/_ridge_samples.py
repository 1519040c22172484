"""What a path of penalties is computed on: the problem itself, or an estimate of it on some rows and centres."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.gram import Gram, from_matrix, gram
from mercer.gram._statistic import KeptStatistic
from mercer.kernels import Kernel
from mercer.kernels._rescaled import rescaled
from mercer.kernels._views import take
from mercer.solvers import Problem
from mercer.solvers.leave_one_out import BYTES
from mercer.solvers.solve import EXACT_UP_TO

MOST_CENTERS = 1000  # of the estimate for more rows than an exact path takes
MOST_ROWS = 50_000  # of that estimate


@dataclass(frozen=True, eq=False)
class Sample:
    """What a path is computed on.

    Parameters
    ----------
    problem : Problem
        Of some rows, perhaps on some of their centres.
    share : array, optional
        The share of each row's weight that is left out at a time.
    rows : array of int, optional
        Which rows of the problem that is to be solved; None if it is that problem.
    kept : KeptStatistic, optional
        What its kernel is a function of, where that saves passes.
    """

    problem: Problem
    share: np.ndarray | None
    rows: np.ndarray | None = None
    kept: KeptStatistic | None = None

    @property
    def exact(self) -> bool:
        """Whether it is the problem that is to be solved."""
        return self.rows is None

    def rescaled(self, factor: float) -> Problem:
        """Return the problem with all length scales of its kernel times a factor."""
        K = self.problem.gram
        if factor == 1.0 or K.kernel is None:
            return self.problem
        kernel = rescaled(K.kernel, factor)
        known = None if self.kept is None else self.kept.gram(kernel)
        return with_kernel(self.problem, kernel) if known is None else replace(self.problem, gram=known)


def with_kernel(problem: Problem, kernel: Kernel) -> Problem:
    """Return the problem with another kernel; centres keep their places, but not what was known of the old one."""
    K = problem.gram
    centers = None if problem.centers is None else replace(problem.centers, pivots=None)
    return replace(problem, gram=gram(kernel, K.points, engine=K.engine), centers=centers)


def whole(problem: Problem, share: np.ndarray | None, random_state: Any) -> Sample:
    """Return the problem itself if it has centres or an exact path takes it, else its estimate on centres.

    The estimate restricts f to 1,000 centres drawn among at most 50,000 rows, and leaves those rows out in turn.
    """
    n = len(problem.y)
    if problem.centers is not None or (n <= EXACT_UP_TO and BYTES * n * n <= problem.gram.engine.budget):
        return Sample(problem, share)
    return on_some(problem, share, MOST_ROWS, MOST_CENTERS, random_state)


def on_some(
    problem: Problem, share: np.ndarray | None, n_rows: int, n_centers: int | None, random_state: Any
) -> Sample:
    """Return a problem on at most so many rows that count, f on at most so many of them (None: all)."""
    rng = np.random.default_rng(_seed(random_state))
    rows = np.flatnonzero(problem.weights > 0)
    if len(rows) <= n_rows and n_centers is None and problem.centers is None:
        return Sample(problem, share)
    if len(rows) > n_rows:
        rows = np.sort(rng.choice(rows, n_rows, replace=False))
    centers = None
    if n_centers is not None:
        centers = np.sort(rng.choice(len(rows), min(n_centers, len(rows)), replace=False))
    weight = None if problem.weight is None else problem.weight[rows]
    part = replace(problem, gram=_on_rows(problem.gram, rows), y=problem.y[rows], weight=weight, centers=centers)
    return Sample(part, None if share is None else share[rows], rows)


def _on_rows(K: Gram, rows: np.ndarray) -> Gram:
    if K.kernel is None:
        return from_matrix(K.block(rows, rows), K.engine)
    return gram(K.kernel, take(K.points, rows), engine=K.engine)


def _seed(given: Any) -> Any:
    return int(given.randint(2**31)) if isinstance(given, np.random.RandomState) else given


def default_lams(problem: Problem, share: np.ndarray | None) -> np.ndarray:
    """Return half decades from 1e-7 to about n times the mean of k(x, x): what may be below noise, and beyond signal.

    They are round numbers, so that the choice among them does not hang on rounding.
    """
    w = problem.weights
    rows = float((1.0 / (share[w > 0] if share is not None else np.ones((w > 0).sum()))).sum())
    size = float(w @ problem.gram.diag()) / rows
    middle = round(np.log10(size)) if np.isfinite(size) and size > 0 else 0
    return np.asarray(10.0 ** (middle + np.arange(-14, 2 * int(np.ceil(np.log10(max(rows, 10.0)))) + 1) / 2))
