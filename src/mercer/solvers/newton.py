"""The solver for smooth losses: damped Newton steps on f and b."""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.gram import Gram, gram
from mercer.gram._pool import one_blas_thread
from mercer.losses import curvature, shortfall, slope, traits, value
from mercer.solvers._curved import Dense, Direction, Directions, Growing, iterative
from mercer.solvers._feasible import feasible
from mercer.solvers._guess import Guess, guess
from mercer.solvers._line import best_offset, best_step
from mercer.solvers._present import present
from mercer.solvers._solver import Answer, Solver
from mercer.solvers._span import fresh
from mercer.solvers.problem import Problem
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

DENSE_UP_TO = 1200  # rows: below, a float64 factor a step costs less than conjugate gradients
FINE = 1e-8  # relative gaps down to here are reached with f updated, not recomputed, in the Gram's own precision
IDLE = 4  # steps in a row that lower neither objective nor gap: the last of them with f recomputed in double
ROUGH = 1e-5  # relative gaps down to here are judged in the Gram's own precision
GUESS = 1e-2  # relative gap on the share of the rows whose answer is where many rows begin
RANK = 2.0  # of the preconditioner, next to sqrt(n): its factor then takes no longer than a few products
MOST = 1000  # of it: it is factored anew at each step


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
        Of the preconditioner; None is 2 sqrt(n), twice that after a step that took long, and so on up to
        min(1000, n / 8).
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
        with one_blas_thread() if len(rows) > DENSE_UP_TO else nullcontext():  # threads that wait slow products with K
            at, ended, steps, stats = self._descend(part, clock, self._begun(part, rows, state, clock))
        c = np.zeros((len(problem.y), problem.n_targets))
        c[rows] = at.c
        return Answer(c, at.b, ended, steps, float(at.relative_gap.max()), stats, {"c": c, "b": at.b})

    def _begun(self, part: Problem, rows: np.ndarray, state: dict[str, Any], clock: Clock) -> _Iterate:
        """Return an earlier answer, or what the answer of some rows says, where it is better than f = 0."""
        c = state.get("c")
        if c is not None and len(c) >= len(rows) and c.shape[1] == part.n_targets:
            K = fresh(part.gram) if len(rows) <= DENSE_UP_TO else part.gram
            found = Guess(c[rows], np.asarray(K @ c[rows], dtype=np.float64), state["b"])
            return _begin(part, found)
        rough = dataclasses.replace(self, tol=max(self.tol, GUESS))
        return _begin(part, guess(part, lambda few: rough.run(few, clock, {})))

    def _descend(self, part: Problem, clock: Clock, at: _Iterate) -> tuple[_Iterate, Status, int, dict[str, Any]]:
        exact = fresh(part.gram) if self.tol < ROUGH or len(part.y) <= DENSE_UP_TO else part.gram
        best, products, idle = at, 0, 0
        recompute = self.tol < FINE or len(part.y) <= DENSE_UP_TO
        status, step = Status.MAX_STEPS, 0
        try:
            directions = self._directions(part)
            for step in range(self.max_steps + 1):
                at = at.priced(part, exact, self.tol)
                if at.worst <= self.tol and not at.recomputed and (self.tol < ROUGH or at.worst > 0.9 * self.tol):
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
        K = (
            part.gram
            if part.gram.kernel is None
            else gram(part.gram.kernel, part.gram.points, engine=part.gram.engine, stored="dear")
        )
        if self.rank is not None:
            return iterative(K, min(self.rank, n), self.random_state)
        return Growing(K, min(MOST, n // 8, int(RANK * n**0.5)), min(MOST, n // 8), self.random_state)


def _begin(part: Problem, found: Guess | None) -> _Iterate:
    """Return f = 0 with its best b, or what was found where that is better."""
    zero = np.zeros(part.targets.shape)
    at = _Iterate.of(part, zero, zero, np.zeros(part.n_targets))
    if found is None:
        return at
    better = _Iterate.of(part, found.c, found.f, found.b).primal < at.primal
    return _Iterate.of(
        part, np.where(better, found.c, 0.0), np.where(better, found.f, 0.0), np.where(better, found.b, at.b)
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

    def priced(self, part: Problem, K: Gram, tol: float) -> _Iterate:
        """Return it with its gap, as `certify` finds it (but for rounding); with c feasible where that is enough."""
        w, lam = part.weights[:, None], part.lam
        u, gap = self._shortfall(part)
        missed = lam * self.c + w * u
        enough = tol * np.abs(self.primal)
        if not missed.any():
            return dataclasses.replace(self, gap=gap)
        if not (gap <= enough).all():  # not near enough for the price of feasibility to matter
            return dataclasses.replace(self, gap=np.maximum(gap, 2 * enough))
        off = np.asarray(K @ missed, dtype=np.float64) / lam
        inside = _Iterate.of(part, -w * u / lam, self.f - off, self.b, recomputed=self.recomputed)
        left = (w * shortfall(part.loss, part.targets, inside.f + inside.b, u)).sum(axis=0)
        if tol >= ROUGH and (left <= enough).all():  # else one more step makes it nearly exact
            return dataclasses.replace(inside, gap=left)
        return dataclasses.replace(self, gap=gap + 0.5 * np.maximum((missed * off).sum(axis=0), 0.0))

    def _shortfall(self, part: Problem) -> tuple[np.ndarray, np.ndarray]:
        """Return the feasible slopes nearest to those that c stands for, and what each target misses with them."""
        w = part.weights[:, None]
        u = feasible(part, -part.lam * self.c / w)
        return u, (w * shortfall(part.loss, part.targets, self.f + self.b, u)).sum(axis=0)

    def enough(self, tol: float) -> np.ndarray:
        """Return what may be left of the gap after the next step: a hundredth, but no less than asked for."""
        size = np.where(np.isfinite(self.gap), np.minimum(self.gap, np.abs(self.primal)), np.abs(self.primal))
        return np.maximum(0.01 * size, 0.2 * tol * np.abs(self.primal))

    def moved(self, part: Problem, by: Direction) -> _Iterate:
        """Return the best point along a direction, or its end where that leaves a smaller gap at no higher objective.

        The objective hardly changes near its minimum: there it says little about c, which is right after whole steps.
        """
        loss, y, w, lam = part.loss, part.targets, part.weights[:, None], part.lam
        d, line, square = by.f + by.b, lam * (self.c * by.f).sum(axis=0), lam * (by.c * by.f).sum(axis=0)
        s = best_step(loss, y, w, self.f + self.b, d, line, square, self.primal)
        best = self._stepped(part, by, s)
        if (s == 1).all():
            return best
        end = self._stepped(part, by, np.ones_like(s))
        whole = (end.primal <= self.primal) & (end._shortfall(part)[1] < best._shortfall(part)[1])
        return self._stepped(part, by, np.where(whole, 1.0, s)) if whole.any() else best

    def _stepped(self, part: Problem, by: Direction, s: np.ndarray) -> _Iterate:
        return _Iterate.of(part, self.c + s * by.c, self.f + s * by.f, self.b + s * by.b)

    def anew(self, part: Problem, exact: Gram) -> _Iterate:
        """Return it with f computed afresh from c."""
        return _Iterate.of(part, self.c, np.asarray(exact @ self.c), self.b, recomputed=True)
