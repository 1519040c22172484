"""Newton steps for smooth losses among the functions on a problem's centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from mercer.gram._normal import is_stored, normal_product
from mercer.gram._pool import one_blas_thread
from mercer.losses import curvature, slope, traits, value
from mercer.solvers._center_maps import FINE, CenterMaps
from mercer.solvers._line import best_offset, best_step
from mercer.solvers._solver import Answer, Solver
from mercer.solvers.problem import Problem
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

DOUBLE_UP_TO = 2000  # rows: values of few are all in double, so that nearly singular centres do no harm


@dataclass(frozen=True)
class CenterNewton(Solver):
    """Minimise any smooth convex loss over the functions on the problem's centres.

    With K_CC = L L' the unknowns are x = L'c, in which the penalty is (lam / 2) |x|^2. Each Newton step solves
    (L^-1 K_nC'h K_nC L^-T + lam I) d = -gradient by conjugate gradients, which the same matrix summed over the centres
    alone preconditions, and only as far as the step deserves. The gap among functions on the centres is
    |gradient|^2 / (2 lam). Cost: fifty to a hundred passes over n m kernel values, held if they fit the memory; m^3
    flops a step, about 24 m^2 bytes.

    Parameters
    ----------
    tol : float
        Largest gap to the best function on the centres, relative to the objective.
    max_steps : int
        Newton steps.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Logistic
    >>> from mercer.solvers import CenterNewton, HalfSquare, Problem, certify, solve
    >>> X = np.linspace(-1, 1, 60).reshape(-1, 1)
    >>> K, y = gram(Gaussian(1.0), X), np.sign(X[:, 0] - 0.2)
    >>> problem = Problem(K, y, Logistic(), HalfSquare(0.1), intercept=True, centers=np.arange(0, 60, 6))
    >>> found = solve(problem, CenterNewton(1e-9))
    >>> found.converged, certify(problem, found.coefficients, found.offset, full=False).relative_gap < 1e-8
    (True, True)
    """

    tol: float = 1e-6
    max_steps: int = 100

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        if not traits(problem.loss).smooth:
            return "CenterNewton needs a loss whose slope has no jumps."
        if problem.centers is None:
            return "CenterNewton needs a problem with centres; see mercer.functions.choose_centers."
        return None if np.min(problem.lam) > 0 else "CenterNewton needs lam > 0."

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""
        fine = self.tol < FINE or len(problem.y) <= DOUBLE_UP_TO
        answer = self._descend(CenterMaps(problem, fine=fine), clock, state)
        if answer.status is Status.STALLED and not fine:  # centres too much alike for products in single
            answer = self._descend(CenterMaps(problem, fine=True), clock, answer.state)
        return answer

    def _descend(self, maps: CenterMaps, clock: Clock, state: dict[str, Any]) -> Answer:
        best = at = _begin(maps, state)
        status, products, idle, step, lowest = Status.MAX_STEPS, 0, 0, 0, np.full_like(at.primal, np.inf)
        try:
            for step in range(self.max_steps + 1):
                gained = (lowest - at.primal > 0.01 * self.tol * np.abs(at.primal)).any()
                idle = 0 if gained or at.worst < 0.9 * best.worst else idle + 1
                lowest = np.minimum(lowest, at.primal)
                best = at if at.worst <= best.worst else best
                if best.worst <= self.tol:
                    status = Status.CONVERGED
                    break
                if (stop := clock.step(step, at.worst)) is not None or idle > 3:
                    status = Status.STALLED if stop is None else stop
                    break
                d, taken, stop = _direction(maps, at, at.enough(self.tol), clock)
                products += taken
                at = at.moved(maps, d)
                if stop is not None:
                    best, status = at if at.worst <= best.worst else best, stop
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        passes = 1 if is_stored(maps.columns) else products
        stats = {"rank": len(maps.kept), "products": products, "kernel_values": passes * len(best.f) * maps.m}
        return Answer(maps.spread(best.c), best.b, status, step, best.worst, stats, {"x": best.x, "b": best.b})


@dataclass(frozen=True, eq=False)
class _Iterate:
    """Where the descent is: x, f and b; h, their sum, K'h and the gradient there."""

    x: np.ndarray
    c: np.ndarray
    f: np.ndarray
    b: np.ndarray
    h: np.ndarray
    Kh: np.ndarray
    gradient: np.ndarray
    primal: np.ndarray
    gap: np.ndarray

    @staticmethod
    def of(maps: CenterMaps, x: np.ndarray, f: np.ndarray, b: np.ndarray) -> _Iterate:
        problem = maps.problem
        loss, y, w, lam = problem.loss, problem.targets, problem.weights[:, None], problem.lam
        b = best_offset(loss, y, w, f, b) if problem.intercept else b
        g, h, c = w * slope(loss, y, f + b), w * curvature(loss, y, f + b), maps.down(x)
        Kg, Kh = maps.back(g), np.zeros_like(c)
        if problem.intercept:
            Kg, Kh = np.split(maps.back(np.hstack([g, h])), 2, axis=1)
        own = maps.square @ c
        gradient = maps.up(Kg + lam * own)
        primal = (w * value(loss, y, f + b)).sum(axis=0) + 0.5 * lam * (c * own).sum(axis=0)
        gap = (gradient * gradient).sum(axis=0) / (2 * lam)
        return _Iterate(x, c, f, b, h, Kh, gradient, primal, gap)

    @property
    def worst(self) -> float:
        """The largest gap relative to the objective."""
        return float((self.gap / np.maximum(np.abs(self.primal), np.finfo(float).tiny)).max())

    def enough(self, tol: float) -> np.ndarray:
        """Return what may be left of the gap after the next step."""
        size = np.abs(self.primal)
        return np.maximum(0.01 * np.minimum(self.gap, size), 0.2 * tol * size)

    def moved(self, maps: CenterMaps, by: _Step) -> _Iterate:
        """Return the best point along a direction."""
        problem = maps.problem
        own, lam = maps.square @ by.c, problem.lam
        line, square = lam * (self.c * own).sum(axis=0), lam * (by.c * own).sum(axis=0)
        s = best_step(
            problem.loss, problem.targets, problem.weights[:, None], self.f + self.b, by.f + by.b, line, square,
            self.primal,
        )  # fmt: skip  # the losses, the line, the penalty
        return _Iterate.of(maps, self.x + s * by.x, self.f + s * by.f, self.b + s * by.b)


@dataclass(frozen=True, eq=False)
class _Step:
    """A step of x, of c, of f and of b."""

    x: np.ndarray
    c: np.ndarray
    f: np.ndarray
    b: np.ndarray


def _direction(maps: CenterMaps, at: _Iterate, enough: np.ndarray, clock: Clock) -> tuple[_Step, int, Status | None]:
    """Return Newton's direction by conjugate gradients, each step one pass over the kernel values."""
    lam, free = maps.problem.lam, maps.problem.intercept
    total = at.h.sum(axis=0)
    total = np.where(total > 0, total, 1.0)
    factors = maps.preconditioners(at.h)

    def bent(P: np.ndarray) -> np.ndarray:
        """Return the curvature along P where b follows f: h (f - its mean), off the mean that K'h tells."""
        c = maps.down(P)
        mean = (at.Kh * c).sum(axis=0) / total if free else None
        pulled, left = normal_product(maps.columns, maps.spread(c), at.h, mean)
        pulled = maps.scaled(pulled) - at.Kh * (left / total)
        return maps.up(pulled + lam * (maps.square @ c))

    d, R = np.zeros_like(at.x), -at.gradient
    P, rho, steps, stop = np.zeros_like(R), np.ones(R.shape[1]), 0, None
    with one_blas_thread():  # threads that wait for more slow the passes down
        while True:
            going = (R * R).sum(axis=0) / (2 * lam) > enough
            if not going.any() or steps >= 200 or stop is not None:
                break
            Y = np.column_stack([cho_solve(one, R[:, k], check_finite=False) for k, one in enumerate(factors)])
            new = (R * Y).sum(axis=0)
            P = Y + np.where(rho > 0, new / np.where(rho > 0, rho, 1.0), 0.0) * P if steps else Y
            rho, AP = new, bent(P)
            bend = (P * AP).sum(axis=0)
            step = np.where(going & (bend > 0), rho / np.where(bend > 0, bend, 1.0), 0.0)
            d, R, steps = d + step * P, R - step * AP, steps + 1
            stop = clock.step(steps, at.worst)
    c = maps.down(d)
    f = maps.out(c)
    b = -(at.h * f).sum(axis=0) / total if free else np.zeros(len(lam))
    return _Step(d, c, f, b), steps + 2, stop


def _begin(maps: CenterMaps, state: dict[str, Any]) -> _Iterate:
    """Return f = 0 with its best b, or what an earlier answer left if that is better."""
    shape = (len(maps.kept), maps.problem.n_targets)
    zero = np.zeros((len(maps.problem.y), shape[1]))
    at = _Iterate.of(maps, np.zeros(shape), zero, np.zeros(shape[1]))
    x = state.get("x")
    if x is None or x.shape != shape:
        return at
    earlier = _Iterate.of(maps, x, maps.out(maps.down(x)), state["b"])
    return earlier if (earlier.primal < at.primal).all() else at
