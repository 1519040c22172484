"""The solver for smooth losses: damped Newton steps on f and b."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.gram import Gram, from_matrix, gram
from mercer.kernels._views import take
from mercer.losses import curvature, shortfall, slope, traits, value
from mercer.solvers._curved import Dense, Direction, Directions, iterative
from mercer.solvers._feasible import feasible
from mercer.solvers._line import best_offset, best_step
from mercer.solvers._solver import Answer, Solver
from mercer.solvers._span import fresh
from mercer.solvers.problem import Problem
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

DENSE_UP_TO = 1200  # rows: below, a float64 factor a step costs less than conjugate gradients
FINE = 1e-8  # relative gaps down to here are reached with f updated, not recomputed, in the Gram's own precision
IDLE = 4  # steps in a row that lower neither objective nor gap: the last of them with f recomputed in double
MOST = 1000  # rank of the preconditioner, which is factored anew at each step


@dataclass(frozen=True)
class Newton(Solver):
    """Minimise any smooth convex loss by Newton steps, each with the best step length and then the best b.

    The steps come from Cholesky factors in float64 up to 1,200 rows; above, from conjugate gradients with a randomly
    pivoted Cholesky preconditioner, run only as far as the step deserves. The best step length along a descent
    direction makes it converge from anywhere. Cost: some five to ten steps of n^3 / 3 flops, or of ten products with K.

    Parameters
    ----------
    tol : float
        Largest duality gap, relative to the objective.
    rank : int, optional
        Of the preconditioner; None is min(1000, n / 8).
    max_steps : int
        Newton steps.
    random_state : int, Generator or None
        Where the pivots come from.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Logistic
    >>> from mercer.solvers import HalfSquare, Newton, Problem, solve
    >>> X = np.linspace(-1, 1, 40).reshape(-1, 1)
    >>> problem = Problem(gram(Gaussian(1.0), X), np.sign(X[:, 0] - 0.2), Logistic(), HalfSquare(0.1), intercept=True)
    >>> found = solve(problem, Newton(tol=1e-10))
    >>> found.converged, found.certificate.relative_gap < 1e-9
    (True, True)
    """

    tol: float = 1e-6
    rank: int | None = None
    max_steps: int = 200
    random_state: Any = None

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        if not traits(problem.loss).smooth:
            return "Newton needs a loss whose slope has no jumps."
        if problem.centers is not None:
            return "Newton takes no centres; use CenterNewton."
        return None if np.min(problem.lam) > 0 else "Newton needs lam > 0: without a penalty there may be no minimum."

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""
        rows = np.flatnonzero(problem.weights > 0)
        part = present(problem, rows)
        at, ended, steps, stats = self._descend(part, clock, _begin(part, rows, state))
        c = np.zeros((len(problem.y), problem.n_targets))
        c[rows] = at.c
        return Answer(c, at.b, ended, steps, float(at.relative_gap.max()), stats, {"c": c, "b": at.b})

    def _descend(self, part: Problem, clock: Clock, at: _Iterate) -> tuple[_Iterate, Status, int, dict[str, Any]]:
        exact, best, products, idle = fresh(part.gram), at, 0, 0
        recompute, status, step = self.tol < FINE, Status.MAX_STEPS, 0
        try:
            directions = self._directions(part)
            for step in range(self.max_steps + 1):
                at = at.priced(part, exact, self.tol)
                if at.worst <= self.tol and not at.recomputed:
                    at, recompute = at.anew(part, exact).priced(part, exact, self.tol), True
                idle = 0 if at.worst < 0.9 * best.worst or (at.primal < best.primal).any() else idle + 1
                best = at if at.worst <= best.worst else best
                if at.worst <= self.tol:
                    return at, Status.CONVERGED, step, {"products": products}
                if idle > IDLE:
                    status = Status.STALLED
                    break
                if (stop := clock.step(step, at.worst)) is not None:
                    status = stop
                    break
                found = directions.find(at.h, at.r, part.lam, at.enough(self.tol), clock, free=part.intercept)
                products, recompute = products + found.steps, recompute or idle > 0
                at = at.moved(part, found)
                if found.stopped is not None:
                    at, status = at.priced(part, exact, self.tol), found.stopped
                    best = at if at.worst <= best.worst else best
                    break
                at = at.anew(part, exact) if recompute else at
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return best, status, step, {"products": products}

    def _directions(self, part: Problem) -> Directions:
        n = len(part.y)
        if n <= DENSE_UP_TO:
            return Dense(np.asarray(fresh(part.gram).block(), dtype=np.float64))
        rank = min(MOST, n // 8) if self.rank is None else min(self.rank, n)
        return iterative(_stored(part.gram), rank, self.random_state)


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


def _stored(K: Gram) -> Gram:
    """Return K held in memory where it fits: there are some fifty products to come."""
    return K if K.kernel is None or K.engine.client else gram(K.kernel, K.points, engine=K.engine, stored="auto")


def _begin(part: Problem, rows: np.ndarray, state: dict[str, Any]) -> _Iterate:
    """Return f = 0 with its best b, or what an earlier answer left if that is better."""
    zero = np.zeros(part.targets.shape)
    at = _Iterate.of(part, zero, zero, np.zeros(part.n_targets))
    c = state.get("c")
    if c is None or len(c) < len(rows) or c.shape[1] != part.n_targets:
        return at
    c = c[rows]
    earlier = _Iterate.of(part, c, np.asarray(part.gram @ c, dtype=np.float64), state["b"])
    better = earlier.primal < at.primal
    return _Iterate.of(
        part, np.where(better, c, 0.0), np.where(better, earlier.f, 0.0), np.where(better, earlier.b, at.b)
    )


@dataclass(frozen=True, eq=False)
class _Iterate:
    """Where the descent is: c, f = K c and b, the slopes g and curvatures h of the rows there, and the gap."""

    c: np.ndarray
    f: np.ndarray
    b: np.ndarray
    g: np.ndarray
    h: np.ndarray
    r: np.ndarray  # g + lam c: what is wrong
    primal: np.ndarray
    gap: np.ndarray
    recomputed: bool

    @staticmethod
    def of(part: Problem, c: np.ndarray, f: np.ndarray, b: np.ndarray, *, recomputed: bool = False) -> _Iterate:
        loss, y, w = part.loss, part.targets, part.weights[:, None]
        b = best_offset(loss, y, w, f, b) if part.intercept else b
        t = f + b
        g, h = w * slope(loss, y, t), w * curvature(loss, y, t)
        primal = (w * value(loss, y, t)).sum(axis=0) + 0.5 * part.lam * (c * f).sum(axis=0)
        return _Iterate(c, f, b, g, h, g + part.lam * c, primal, np.full(len(b), np.inf), recomputed)

    @property
    def relative_gap(self) -> np.ndarray:
        """The gap of each target relative to the objective."""
        return self.gap / np.maximum(np.abs(self.primal), np.finfo(float).tiny)

    @property
    def worst(self) -> float:
        """The largest of them."""
        return float(self.relative_gap.max())

    def priced(self, part: Problem, exact: Gram, tol: float) -> _Iterate:
        """Return it with its gap, as `certify` finds it (but for rounding)."""
        w, lam = part.weights[:, None], part.lam
        u = feasible(part, -lam * self.c / w)
        gap = (w * shortfall(part.loss, part.targets, self.f + self.b, u)).sum(axis=0)
        missed = lam * self.c + w * u
        if missed.any() and (gap <= tol * np.abs(self.primal)).all():
            gap = gap + 0.5 * np.maximum((missed * (exact @ missed)).sum(axis=0), 0.0) / lam
        elif missed.any():  # not near enough for the price of feasibility to matter
            gap = np.maximum(gap, 2 * tol * np.abs(self.primal))
        return dataclasses.replace(self, gap=gap)

    def enough(self, tol: float) -> np.ndarray:
        """Return what may be left of the gap after the next step: a hundredth, but no less than asked for."""
        size = np.where(np.isfinite(self.gap), np.minimum(self.gap, np.abs(self.primal)), np.abs(self.primal))
        return np.maximum(0.01 * size, 0.2 * tol * np.abs(self.primal))

    def moved(self, part: Problem, by: Direction) -> _Iterate:
        """Return the best point along a direction."""
        loss, y, w, lam = part.loss, part.targets, part.weights[:, None], part.lam
        d, line, square = by.f + by.b, lam * (self.c * by.f).sum(axis=0), lam * (by.c * by.f).sum(axis=0)
        s = best_step(loss, y, w, self.f + self.b, d, line, square, self.primal)
        return _Iterate.of(part, self.c + s * by.c, self.f + s * by.f, self.b + s * by.b)

    def anew(self, part: Problem, exact: Gram) -> _Iterate:
        """Return it with f computed afresh from c."""
        return _Iterate.of(part, self.c, np.asarray(exact @ self.c), self.b, recomputed=True)
