"""Newton steps for the multinomial loss, whose curvature at a row is a matrix: w (diag p - p p').

With s = sqrt(p) it is M M', M = sqrt(w) diag(s) (I - s s'). At f = K c with slopes g, R = g + lam c is what is wrong,
and with a step -R / lam + M z of c the linearised condition is symmetric:

    (M'K M + lam I) z + M' 1 beta' = M'K R / lam,    1'M z = 0.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.gram import gram
from mercer.losses import shortfall, slope, traits, value
from mercer.solvers._feasible import feasible
from mercer.solvers._offset_of_classes import best_offset_of_classes
from mercer.solvers._present import present
from mercer.solvers._solver import Answer, Solver
from mercer.solvers._span import fresh
from mercer.solvers.problem import Problem
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

TINY = float(np.finfo(np.float64).tiny)
MOST = 400  # conjugate gradients a Newton step
IDLE = 4


@dataclass(frozen=True)
class VectorNewton(Solver):
    """Minimise the multinomial loss by Newton steps on all classes at once, found by conjugate gradients.

    Cost: some ten steps of a few tens of products of K with a column a class; K is stored where it fits.

    Parameters
    ----------
    tol : float
        Largest duality gap, relative to the objective.
    max_steps : int
        Newton steps.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Multinomial
    >>> from mercer.solvers import HalfSquare, Problem, solve
    >>> X = np.linspace(-1, 1, 30).reshape(-1, 1)
    >>> Y = np.eye(3)[np.digitize(X[:, 0], [-0.3, 0.4])]
    >>> found = solve(Problem(gram(Gaussian(1.0), X), Y, Multinomial(), HalfSquare(0.1), intercept=True))
    >>> found.stats["solver"], found.certificate.relative_gap < 1e-6
    ('VectorNewton', True)
    """

    tol: float = 1e-6
    max_steps: int = 100

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        if not traits(problem.loss).coupled:
            return "VectorNewton needs the multinomial loss."
        if problem.centers is not None:
            return "VectorNewton takes no centres; use CenterVectorNewton."
        lam = problem.lam
        return None if np.min(lam) > 0 and np.ptp(lam) == 0 else "VectorNewton needs one lam > 0 for all classes."

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""
        rows = np.flatnonzero(problem.weights > 0)
        part = present(problem, rows)
        K = part.gram
        if K.kernel is not None and K.engine.client is None:
            K = gram(K.kernel, K.points, engine=dataclasses.replace(K.engine, precision="double"), stored="auto")
        c, b = np.zeros(part.targets.shape), np.zeros(part.n_targets)
        if (given := state.get("c")) is not None and given.shape == problem.targets.shape:
            c, b = given[rows], state["b"]
        at = best = _At.of(part, c, np.asarray(K @ c, dtype=np.float64), b)
        status, step, idle, products = Status.MAX_STEPS, 0, 0, 0
        try:
            for step in range(self.max_steps + 1):
                idle = 0 if at.worst < 0.9 * best.worst else idle + 1
                best = at if at.worst <= best.worst else best
                if best.worst <= self.tol:
                    status = Status.CONVERGED
                    break
                stop = clock.step(step, at.worst)
                if stop is not None or idle > IDLE:
                    status = Status.STALLED if stop is None else stop
                    break
                d, taken = _direction(part, K, at, self.tol)
                products += taken
                at = at.moved(part, d, np.asarray(K @ d, dtype=np.float64))
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        full = np.zeros(problem.targets.shape)
        full[rows] = best.c
        return Answer(
            full, best.b, status, step, best.worst, {"products": products}, {"c": full, "b": best.b}
        )  # fmt: skip  # in the order of the record


@dataclass(frozen=True, eq=False)
class _At:
    """Where the descent is: c, f = K c and the best b, probabilities, what is wrong, and the gap."""

    c: np.ndarray
    f: np.ndarray
    b: np.ndarray
    p: np.ndarray
    wrong: np.ndarray
    primal: float
    gap: float

    @staticmethod
    def of(part: Problem, c: np.ndarray, f: np.ndarray, b: np.ndarray) -> _At:
        w, lam, loss, Y = part.weights[:, None], float(part.lam[0]), part.loss, part.targets
        b = best_offset_of_classes(Y, w, f, b) if part.intercept else b
        g = slope(loss, Y, f + b)
        primal = float((w * value(loss, Y, f + b)).sum() + 0.5 * lam * (c * f).sum())
        u = feasible(part, -lam * c / w)
        missed = lam * c + w * u
        gap = float((w * shortfall(loss, Y, f + b, u)).sum())
        if missed.any():
            gap += 0.5 * max(float((missed * np.asarray(fresh(part.gram) @ missed)).sum()), 0.0) / lam
        return _At(c, f, b, g + Y, w * g + lam * c, primal, gap)

    @property
    def worst(self) -> float:
        """The gap relative to the objective."""
        return self.gap / max(abs(self.primal), TINY)

    def moved(self, part: Problem, d: np.ndarray, Kd: np.ndarray) -> _At:
        """Return the best point of those tried along a direction: the whole step, or halves of it."""
        w, lam, loss, Y = part.weights[:, None], float(part.lam[0]), part.loss, part.targets
        s = 1.0
        for _ in range(30):
            f = self.f + s * Kd
            b = best_offset_of_classes(Y, w, f, self.b) if part.intercept else self.b
            c = self.c + s * d
            if float((w * value(loss, Y, f + b)).sum() + 0.5 * lam * (c * f).sum()) <= self.primal * (1 + 1e-14):
                break
            s *= 0.5
        return _At.of(part, c, f, b)


def _direction(part: Problem, K: Any, at: _At, tol: float) -> tuple[np.ndarray, int]:
    """Return Newton's step of c, and how many products it took."""
    w, lam = part.weights[:, None], float(part.lam[0])
    s, root = np.sqrt(at.p), np.sqrt(w)

    def out(Z: np.ndarray) -> np.ndarray:  # M
        return root * s * (Z - s * (s * Z).sum(axis=1, keepdims=True))

    def back(V: np.ndarray) -> np.ndarray:  # M'
        V = root * s * V
        return V - s * (s * V).sum(axis=1, keepdims=True)

    total = np.diag((w * at.p).sum(axis=0)) - (w * at.p).T @ at.p
    inverse = np.linalg.pinv(total, rcond=1e-12, hermitian=True)

    def level(Z: np.ndarray) -> np.ndarray:  # onto 1'M z = 0
        return Z - back(np.ones((len(Z), 1)) * (inverse @ out(Z).sum(axis=0))) if part.intercept else Z

    R = level(back(np.asarray(K @ at.wrong, dtype=np.float64))) / lam
    Z, P, rho = np.zeros_like(R), R.copy(), float((R * R).sum())
    enough = max(1e-2 * min(at.gap, abs(at.primal)), 0.1 * tol * abs(at.primal))  # what half a residual's square may be
    steps = 0
    while 0.5 * rho > enough and steps < MOST:
        AP = level(back(np.asarray(K @ out(P), dtype=np.float64))) + lam * P
        bend = float((P * AP).sum())
        if bend <= 0:
            break
        step = rho / bend
        Z, R, steps = Z + step * P, R - step * AP, steps + 1
        new = float((R * R).sum())
        P, rho = R + (new / rho) * P, new
    return out(Z) - at.wrong / lam, steps + 1
