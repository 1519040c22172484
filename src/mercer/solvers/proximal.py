"""The solver for any convex loss, smooth or not, on all points or on centres: proximal steps on the dual.

With slopes u of an earlier answer, the envelope of the loss of width m, moved by m u, is smooth; the slopes at its
minimiser are the next u, which is a proximal step on the dual problem. The smaller m, the fewer steps are needed; for
losses of straight pieces a handful end at the solution. Each is a smooth problem, begun where the last one ended.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.losses import Envelope, shortfall, slope, traits, value
from mercer.solvers._feasible import feasible
from mercer.solvers._line import best_offset
from mercer.solvers._polish import polished
from mercer.solvers._present import present
from mercer.solvers._solver import Answer, Solver
from mercer.solvers._span import Span, fresh
from mercer.solvers._spread import spread
from mercer.solvers.center_newton import CenterNewton
from mercer.solvers.newton import Newton
from mercer.solvers.problem import Problem
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

FIRST, LEAST, SMALLER = 0.3, 1e-7, 0.2  # widths of the envelope, relative to the spread of the targets
LEAST_BY_SEARCH = 1e-3  # where proximal points are searched for, which leaves fewer digits
IDLE = 6  # steps in a row that lower the gap by no tenth
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Proximal(Solver):
    """Minimise any convex loss by smooth problems that approach it, each solved by Newton steps.

    What it needs of a loss is its slope and its conjugate. Cost: some five to ten smooth problems, of a few Newton
    steps each since each starts where the last one ended.

    Parameters
    ----------
    tol : float
        Largest duality gap, relative to the objective (on centres, of the problem among functions on them).
    max_steps : int
        Proximal steps.
    random_state : int, Generator or None
        For the preconditioner of Newton steps.
    floor : float
        Gaps up to it will do, however small the objective is.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Absolute
    >>> from mercer.solvers import HalfSquare, Problem, Proximal, solve
    >>> X = np.linspace(0, 1, 40).reshape(-1, 1)
    >>> problem = Problem(gram(Gaussian(0.3), X), np.sin(6 * X[:, 0]), Absolute(), HalfSquare(0.01), intercept=True)
    >>> solve(problem, Proximal(1e-7)).certificate.relative_gap < 2e-7
    True
    """

    tol: float = 1e-6
    max_steps: int = 60
    random_state: Any = None
    floor: float = 0.0

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        return None if np.min(problem.lam) > 0 else "Proximal needs lam > 0: without a penalty there may be no minimum."

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""
        rows = np.flatnonzero(problem.weights > 0)
        part = present(problem, rows) if problem.centers is None else problem
        least = max(self.floor / self.tol, TINY)
        fits = _OnPoints(part, least) if problem.centers is None else _OnCenters(part, least)
        u = fits.began(state, rows)
        size = spread(part)
        width, best, status, inner, number, idle = (FIRST * size, None, Status.MAX_STEPS, dict(state), 0, 0)
        inner = {"c": inner["c"][rows], "b": inner["b"]} if "c" in inner and problem.centers is None else inner
        least_width = LEAST if traits(part.loss).boxed is not None else LEAST_BY_SEARCH
        try:
            for number in range(1, self.max_steps + 1):
                smooth = dataclasses.replace(part, loss=Envelope(part.loss, width, width * u))
                answer = self._newton(problem, best).run(smooth, clock, inner)
                inner, at = answer.state, fits.at(answer, smooth)
                idle = 0 if best is None or at.worst < 0.9 * best.worst else idle + 1
                u, best = at.u, at if best is None or at.worst < best.worst else best
                if best.worst <= self.tol:
                    status = Status.CONVERGED
                    break
                if answer.status in (Status.INTERRUPTED, Status.DEADLINE):
                    status = answer.status
                    break
                stop = clock.step(number, best.worst)
                if stop is not None or idle > IDLE:
                    status = Status.STALLED if stop is None else stop
                    break
                width = max(SMALLER * width, least_width * size)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        assert best is not None
        return fits.answered(best, status, number, rows, problem)

    def _newton(self, problem: Problem, best: Any) -> Solver:
        near = 1e-2 if best is None else min(1e-2, 0.1 * best.worst)
        tol = max(near, 0.1 * self.tol, 1e-14)
        return Newton(tol, random_state=self.random_state) if problem.centers is None else CenterNewton(tol)


@dataclass(frozen=True, eq=False)
class _At:
    """An answer: coefficients, offset, slopes, and the largest gap relative to the objective."""

    c: np.ndarray
    b: np.ndarray
    u: np.ndarray
    worst: float
    state: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _OnPoints:
    """The problem with f on all points, where slopes are -lam c / w."""

    part: Problem
    least: float  # that gaps are relative to

    def began(self, state: dict[str, Any], rows: np.ndarray) -> np.ndarray:
        """Return slopes to begin with."""
        c = state.get("c")
        shape = self.part.targets.shape
        if c is None or len(c) < len(rows) or c.shape[1] != shape[1]:
            return np.zeros(shape)
        return feasible(self.part, -self.part.lam * c[rows] / self.part.weights[:, None])

    def at(self, answer: Answer, smooth: Problem) -> _At:
        """Return where a smooth problem led, with the last digits where they are within reach."""
        part, c = self.part, answer.coefficients
        found = self._priced(c, np.asarray(fresh(part.gram) @ c), answer.offset, answer.state)
        if traits(part.loss).boxed is None or found.worst > 1e-2:
            return found
        exact = polished(part, _settled(smooth, c, found.b), found.b)
        better = None if exact is None else self._priced(*exact, answer.state)
        return found if better is None or better.worst >= found.worst else better

    def _priced(self, c: np.ndarray, f: np.ndarray, b: np.ndarray, state: dict[str, Any]) -> _At:
        part, y, w = self.part, self.part.targets, self.part.weights[:, None]
        b = best_offset(part.loss, y, w, f, b) if part.intercept else b
        u = feasible(part, -part.lam * c / w)
        gap = (w * shortfall(part.loss, y, f + b, u)).sum(axis=0)
        primal = (w * value(part.loss, y, f + b)).sum(axis=0) + 0.5 * part.lam * (c * f).sum(axis=0)
        return _At(c, b, u, float((gap / np.maximum(np.abs(primal), self.least)).max()), state)

    def answered(self, best: _At, status: Status, steps: int, rows: np.ndarray, problem: Problem) -> Answer:
        """Return the answer on all rows."""
        c = np.zeros(problem.targets.shape)
        c[rows] = best.c
        return Answer(c, best.b, status, steps, best.worst, {}, {"c": c, "b": best.b})


def _settled(smooth: Problem, c: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return c with those at a bound or at 0 that the envelope says are there."""
    t = np.asarray(fresh(smooth.gram) @ c) + b
    u = slope(smooth.loss, smooth.targets, t)
    return np.asarray(-smooth.weights[:, None] * u / smooth.lam)


@dataclass(frozen=True, eq=False)
class _OnCenters:
    """The problem with f on centres: slopes are those of the envelope."""

    part: Problem
    least: float  # that gaps are relative to

    def began(self, state: dict[str, Any], rows: np.ndarray) -> np.ndarray:
        """Return slopes to begin with."""
        u = state.get("u")
        return np.zeros(self.part.targets.shape) if u is None or u.shape != self.part.targets.shape else u

    def at(self, answer: Answer, smooth: Problem) -> _At:
        """Return where a smooth problem led, priced by what its slopes leave among the functions on the centres."""
        part, c, span = self.part, answer.coefficients, Span(self.part)
        y, w = part.targets, part.weights[:, None]
        f = np.asarray(span.fresh_columns @ c, dtype=np.float64)
        u = feasible(part, slope(smooth.loss, y, f + answer.offset))
        b = best_offset(part.loss, y, w, f, answer.offset) if part.intercept else answer.offset
        norm = span.norm
        r = part.lam * (span.square @ c) + np.asarray(span.fresh_columns.T @ (w * u), dtype=np.float64)
        gap = (w * shortfall(part.loss, y, f + b, u)).sum(axis=0)
        gap = gap + norm.bound(r, np.zeros_like(r)) ** 2 / (2 * part.lam)
        primal = (w * value(part.loss, y, f + b)).sum(axis=0) + 0.5 * part.lam * (c * (span.square @ c)).sum(axis=0)
        worst = float((gap / np.maximum(np.abs(primal), self.least)).max())
        return _At(c, b, u, worst, answer.state)

    def answered(self, best: _At, status: Status, steps: int, rows: np.ndarray, problem: Problem) -> Answer:
        """Return the answer, with the slopes that prove it."""
        a = -problem.weights[:, None] * best.u
        values = 2 * steps * problem.targets.size * problem.n_coefficients
        return Answer(
            best.c, best.b, status, steps, best.worst, {"kernel_values": values}, best.state | {"u": best.u}, dual=a
        )
