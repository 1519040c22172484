"""Newton steps for the multinomial loss among the functions on a problem's centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from mercer.gram._normal import is_stored
from mercer.gram._pool import one_blas_thread
from mercer.losses import slope, traits, value
from mercer.solvers._center_maps import FINE, CenterMaps
from mercer.solvers._offset_of_classes import best_offset_of_classes
from mercer.solvers._solver import Answer, Solver
from mercer.solvers.problem import Problem
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

TINY = float(np.finfo(np.float64).tiny)
MOST = 200  # conjugate gradients a Newton step
IDLE = 3


@dataclass(frozen=True)
class CenterVectorNewton(Solver):
    """Minimise the multinomial loss over the functions on the problem's centres.

    With K_CC = L L' the unknowns are x = L'c, a column a class, and b; a row's curvature is w (diag p - p p'). Newton's
    steps are found by conjugate gradients, each two passes over the n m kernel values, preconditioned for each class by
    what w p (1 - p) sums to over the centres. The gap among functions on the centres is |gradient|^2 / (2 lam).
    Cost: a hundred passes or two over n m kernel values, held if they fit the memory; m^3 flops a class and step.

    Parameters
    ----------
    tol : float
        Largest gap to the best functions on the centres, relative to the objective.
    max_steps : int
        Newton steps.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Multinomial
    >>> from mercer.solvers import HalfSquare, Problem, solve
    >>> X = np.linspace(-1, 1, 60).reshape(-1, 1)
    >>> Y, K = np.eye(3)[np.digitize(X[:, 0], [-0.3, 0.4])], gram(Gaussian(1.0), X)
    >>> problem = Problem(K, Y, Multinomial(), HalfSquare(0.1), intercept=True, centers=np.arange(0, 60, 6))
    >>> found = solve(problem)
    >>> found.stats["solver"], found.coefficients.shape, found.converged
    ('CenterVectorNewton', (10, 3), True)
    """

    tol: float = 1e-6
    max_steps: int = 100

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        if not traits(problem.loss).coupled:
            return "CenterVectorNewton needs the multinomial loss."
        if problem.centers is None:
            return "CenterVectorNewton needs a problem with centres; see mercer.functions.choose_centers."
        lam = problem.lam
        return None if np.min(lam) > 0 and np.ptp(lam) == 0 else "CenterVectorNewton needs one lam > 0 for all classes."

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""
        answer = self._descend(CenterMaps(problem, fine=self.tol < FINE), clock, state)
        if answer.status is Status.STALLED and self.tol >= FINE:  # centres too much alike for products in single
            answer = self._descend(CenterMaps(problem, fine=True), clock, answer.state)
        return answer

    def _descend(self, maps: CenterMaps, clock: Clock, state: dict[str, Any]) -> Answer:
        best = at = _begin(maps, state)
        status, products, idle, step, lowest = Status.MAX_STEPS, 0, 0, 0, np.inf
        try:
            for step in range(self.max_steps + 1):
                gained = lowest - at.primal > 0.01 * self.tol * abs(at.primal)
                idle = 0 if gained or at.worst < 0.9 * best.worst else idle + 1
                lowest = min(lowest, at.primal)
                best = at if at.worst <= best.worst else best
                if best.worst <= self.tol:
                    status = Status.CONVERGED
                    break
                if (stop := clock.step(step, at.worst)) is not None or idle > IDLE:
                    status = Status.STALLED if stop is None else stop
                    break
                d, taken, stop = _direction(maps, at, self.tol, clock)
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
class _At:
    """Where the descent is: x, c and f, the best b, probabilities, the gradient, the objective and the gap."""

    x: np.ndarray
    c: np.ndarray
    f: np.ndarray
    b: np.ndarray
    p: np.ndarray
    gradient: np.ndarray
    primal: float
    gap: float

    @staticmethod
    def of(maps: CenterMaps, x: np.ndarray, f: np.ndarray, b: np.ndarray) -> _At:
        problem = maps.problem
        loss, Y, w, lam = problem.loss, problem.targets, problem.weights[:, None], float(problem.lam[0])
        b = best_offset_of_classes(Y, w, f, b) if problem.intercept else b
        g, c = slope(loss, Y, f + b), maps.down(x)
        own = maps.square @ c
        gradient = maps.up(maps.back(w * g) + lam * own)
        primal = float((w * value(loss, Y, f + b)).sum() + 0.5 * lam * (c * own).sum())
        return _At(x, c, f, b, g + Y, gradient, primal, float((gradient * gradient).sum()) / (2 * lam))

    @property
    def worst(self) -> float:
        """The gap relative to the objective."""
        return self.gap / max(abs(self.primal), TINY)

    def moved(self, maps: CenterMaps, d: np.ndarray) -> _At:
        """Return the first point along a direction that is no higher: the whole step, or halves of it."""
        problem, c = maps.problem, maps.down(d)
        w, lam, df = problem.weights[:, None], float(problem.lam[0]), maps.out(c)
        s = 1.0
        for _ in range(30):
            f, c_there = self.f + s * df, self.c + s * c
            b = best_offset_of_classes(problem.targets, w, f, self.b) if problem.intercept else self.b
            losses = float((w * value(problem.loss, problem.targets, f + b)).sum())
            if losses + 0.5 * lam * float((c_there * (maps.square @ c_there)).sum()) <= self.primal * (1 + 1e-14):
                break
            s *= 0.5
        return _At.of(maps, self.x + s * d, f, b)


def _direction(maps: CenterMaps, at: _At, tol: float, clock: Clock) -> tuple[np.ndarray, int, Status | None]:
    """Return Newton's step of x, how many passes it took, and why it was cut short, if it was; b is an unknown too."""
    problem = maps.problem
    w, lam = problem.weights[:, None], float(problem.lam[0])
    factors = maps.preconditioners(w * at.p * (1 - at.p))
    total = np.diag((w * at.p).sum(axis=0)) - (w * at.p).T @ at.p
    inverse = np.linalg.pinv(total, rcond=1e-12, hermitian=True) if problem.intercept else np.zeros_like(total)

    def bent(P: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the curvature along steps of x and of b."""
        c = maps.down(P)
        F = maps.out(c) + beta
        u = w * at.p * (F - (at.p * F).sum(axis=1, keepdims=True))
        return maps.up(maps.back(u) + lam * (maps.square @ c)), u.sum(axis=0)

    enough = max(1e-2 * min(at.gap, abs(at.primal)), 0.2 * tol * abs(at.primal))
    d, R, off = np.zeros_like(at.x), -at.gradient, np.zeros(len(at.b))
    P, beta, rho, steps, stop = R, off, 1.0, 0, None
    with one_blas_thread():
        while (R * R).sum() / (2 * lam) > enough and steps < MOST and stop is None:
            Y = np.column_stack([cho_solve(one, R[:, k], check_finite=False) for k, one in enumerate(factors)])
            Z = inverse @ off
            new = float((R * Y).sum() + off @ Z)
            P, beta = (Y + new / rho * P, Z + new / rho * beta) if steps else (Y, Z)
            AP, summed = bent(P, beta)
            summed = summed if problem.intercept else np.zeros_like(off)
            bend = float((P * AP).sum() + beta @ summed)
            if bend <= 0 or new <= 0:
                break
            d, R, off, steps = d + new / bend * P, R - new / bend * AP, off - new / bend * summed, steps + 1
            rho, stop = new, clock.step(steps, at.worst)
    return d, 2 * steps + 2, stop


def _begin(maps: CenterMaps, state: dict[str, Any]) -> _At:
    """Return f = 0 with its best b, or what an earlier answer left if that is better."""
    shape = (len(maps.kept), maps.problem.n_targets)
    at = _At.of(maps, np.zeros(shape), np.zeros(maps.problem.targets.shape), np.zeros(shape[1]))
    x = state.get("x")
    if x is None or x.shape != shape:
        return at
    earlier = _At.of(maps, x, maps.out(maps.down(x)), state["b"])
    return earlier if earlier.primal < at.primal else at
