"""Problems so small that all their variables descend together, on values of K that are at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from mercer.gram import Gram
from mercer.gram._held import DenseSource
from mercer.gram._shelf import PADDING
from mercer.solvers._span import fresh
from mercer.solvers.dual._descend import Block, descend, evenly, whole_lanes
from mercer.solvers.dual._exact import Exact
from mercer.solvers.dual._feasible import box, feasible
from mercer.solvers.dual._gap import Gap, shortfall
from mercer.solvers.dual._survey import levels, survey
from mercer.solvers.dual.quadratic import BoxAnswer, BoxQuadratic
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

SMALL = 1024  # variables of a problem
MOST_ROWS = 2048  # of K, all of whose values are computed
PATIENCE = 5  # descents that do not reach the tolerance before rounding is taken to forbid it


def values_at_hand(problems: Sequence[BoxQuadratic]) -> np.ndarray | None:
    """Return all values of K if problems are small enough to be solved whole, else None."""
    K = problems[0].gram
    if max(problem.size for problem in problems) > SMALL:
        return None
    if isinstance(K._source, DenseSource):
        return K._source.K
    return K.block() if K.shape[0] <= MOST_ROWS else None


def solve_whole(
    problem: BoxQuadratic, K: np.ndarray, start: np.ndarray | None, tol: float, most: int, clock: Clock
) -> BoxAnswer:
    """Solve a small problem; float32 values make way for float64 ones where they are not enough."""
    lo, hi = box(problem)
    c, eps = feasible(problem, start, lo, hi), Exact(problem.gram).eps
    whole = _Whole(problem, K, c, lo, hi)
    status = whole.solve(tol, most, clock)
    rough = K.dtype == np.float32 and problem.gram.kernel is not None
    if rough and status in (Status.CONVERGED, Status.STALLED):
        error = eps * float(np.sqrt(whole.c @ whole.c)) * float(np.abs(whole.diag).max(initial=0.0))
        if error > 0.1 * tol or status is Status.STALLED:
            whole = _Whole(problem, _exact(problem.gram, problem.rows), whole.c, lo, hi, whole.steps, by_row=False)
            status = whole.solve(tol, most, clock)
    return whole.answer(status)


def _exact(K: Gram, rows: np.ndarray) -> np.ndarray:
    return np.asarray(fresh(K).block(rows, rows))


class _Whole:
    """The state of one problem; its block holds all of Q but the ridge."""

    def __init__(
        self, problem: BoxQuadratic, K: np.ndarray, c: np.ndarray, lo: np.ndarray, hi: np.ndarray, steps: int = 0,
        *, by_row: bool = True,
    ) -> None:  # fmt: skip  # the problem, its values, where it stands
        q, rows = problem.size, np.asarray(problem.rows)
        size = whole_lanes(q)
        self.problem, self.c, self.lo, self.hi, self.steps, self.q = problem, c, lo, hi, steps, q
        self.sums, self.gap = len(problem.totals), Gap()
        self.group = np.ascontiguousarray(problem.group, dtype=np.int64)
        self.linear = np.asarray(problem.linear, dtype=np.float64)
        ridge = np.asarray(problem.ridge, dtype=np.float64)
        G = np.zeros((size, size + PADDING), K.dtype)
        G[:q, :q] = K[np.ix_(rows, rows)] if by_row else K
        self.diag = np.diagonal(G)[:q].astype(np.float64)
        shift = 0.0 if self.sums else float(problem.shift)

        def lanes(values: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
            out: np.ndarray = np.zeros(size, dtype)
            out[:q] = values
            return out

        self.block = Block(
            G.reshape(-1), *evenly(size, G.shape[1]), lanes(self.diag + ridge + shift, K.dtype), lanes(ridge, K.dtype),
            shift, np.zeros(size), lanes(lo), lanes(hi), np.zeros(size), lanes(self.group, np.int64), self.sums,
            np.zeros(size),
        )  # fmt: skip  # in the order of the record
        self._start_from(c)

    def solve(self, tol: float, most: int, clock: Clock) -> Status:
        """Descend until no condition is violated by ``tol``; return why it ended."""
        try:
            return self._solve(tol, most, clock)
        except KeyboardInterrupt:
            self._start_from(self.block.c[: self.q])
            self._look()
            return Status.INTERRUPTED

    def _start_from(self, c: np.ndarray) -> None:
        """Stand at c: its gradients are computed afresh."""
        b, q, linear = self.block, self.q, self.linear
        Qc = b.G.reshape(len(b.c), -1)[:q, :q] @ c + b.ridge[:q] * c + self.problem.shift * c.sum() if c.any() else 0.0
        self.c, b.c[:q], b.F[:q] = c, c, linear + Qc

    def _look(self) -> float:
        self.standing = survey(self.c, self.lo, self.hi, self.block.F[: self.q], self.group, self.sums)
        return self.standing.violation

    def _solve(self, tol: float, most: int, clock: Clock) -> Status:
        block, q, least, idle = self.block, self.q, np.inf, 0
        while True:
            worst = self._look()
            if worst < tol:
                return Status.CONVERGED
            left = np.nan if clock.watch is None else self._left()
            stop = clock.step(self.steps, left)
            if stop is not None:
                return stop
            if self.steps >= most:
                return Status.MAX_STEPS
            idle = 0 if worst < least else idle + 1
            least = min(least, worst)
            if idle >= PATIENCE:
                return Status.STALLED
            block.level[:q] = (0.5 * (self.standing.least + self.standing.most))[self.group]
            done, _ = descend(block, 0.5 * tol, most - self.steps, partial(_expired, clock, self.steps, left))
            self.steps += done
            self.c = block.c[:q]

    def _left(self) -> float:
        """Return the certified gap, relative to the primal value: it never rises."""
        b, q, at = self.block, self.q, self.standing
        c, F, level = b.c[:q], b.F[:q], 0.5 * (at.least + at.most)[self.group]
        below = shortfall(c, self.lo, self.hi, F, b.ridge[:q].astype(np.float64), level)
        self.gap.met(float(c @ (F + self.linear)) / 2, below)
        return self.gap.relative

    def answer(self, status: Status) -> BoxAnswer:
        """Return what was found."""
        c, F = self.c.copy(), self.block.F[: self.q].copy()
        found = levels(c, self.lo, self.hi, F, self.group, self.sums, self.standing)
        return BoxAnswer(c, F, found, self.standing.violation, self.steps, status)


def _expired(clock: Clock, number: int, left: float) -> bool:
    return clock.step(number, left) is not None


def solve_each(
    problems: Sequence[BoxQuadratic], one: Callable[[int], BoxAnswer], every: Callable[..., None]
) -> list[BoxAnswer]:
    """Solve small problems; should Ctrl-C come, those that are not done are left where they begin."""
    found: dict[int, BoxAnswer] = {}
    stopped: list[int] = []

    def solve(k: int) -> None:
        if not stopped:
            found[k] = one(k)
            if found[k].status is Status.INTERRUPTED:
                stopped.append(k)

    with suppress(KeyboardInterrupt):
        every(range(len(problems)), solve)
    return [found[k] if k in found else _untouched(problem) for k, problem in enumerate(problems)]


def _untouched(problem: BoxQuadratic) -> BoxAnswer:
    lo, hi = box(problem)
    c = feasible(problem, None, lo, hi)
    whole = _Whole(problem, _exact(problem.gram, problem.rows), c, lo, hi, by_row=False)
    whole.solve(np.inf, 0, Clock("solve_boxes"))
    return whole.answer(Status.INTERRUPTED)
