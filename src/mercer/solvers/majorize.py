"""Losses that are not convex, by majorisation: convex problems that lie above and touch, each lower than the last."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.losses import Absolute, traits, value
from mercer.solvers._majorant import majorant
from mercer.solvers._solver import Answer, Solver
from mercer.solvers._span import Span, fresh
from mercer.solvers.problem import Problem
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Majorize(Solver):
    """Lower a loss rho(base) with a rising, concave rho to a stationary point.

    At f its value is at most that of the base loss with each row's weight times its share rho', up to a constant, and
    equal there. Minimising that, again and again, never raises the objective. Begun at the solution for the absolute
    loss where the base is the squared one, else at that for the base. Cost: some ten to thirty convex problems.

    Parameters
    ----------
    inner : callable
        Returns the solver of a convex problem.
    tol : float
        How little a step may lower the objective, relative to it, before it is the last.
    max_steps : int
        Convex problems.
    """

    inner: Callable[[Problem], Solver]
    tol: float = 1e-8
    max_steps: int = 200

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        base = traits(problem.loss).base
        if base is None:
            return "Majorize needs a loss that is a concave function of a convex one."
        if problem.n_targets > 1:
            return "Majorize takes one target at a time: each weighs the rows in its own way."
        convex = dataclasses.replace(problem, loss=base)
        return self.inner(convex).refuses(convex)

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""
        known = traits(problem.loss)
        first = dataclasses.replace(problem, loss=Absolute() if traits(known.base).quadratic else known.base)
        answer = self.inner(first).run(first, clock, {})
        f, cost = self._at(problem, answer)
        status, steps = Status.MAX_STEPS, 0
        try:
            for steps in range(1, self.max_steps + 1):
                above = majorant(problem, f + answer.offset)
                if not above.weights.any():  # every row is given up: nothing pulls on f
                    status = Status.CONVERGED
                    break
                new = self.inner(above).run(above, clock, {})
                g, lower = self._at(problem, new)
                gain = (cost - lower) / max(abs(cost), TINY)
                if gain > -self.tol:  # no better is still better proved: its coefficients are those of this problem
                    answer, f, cost = new, g, lower
                if gain <= self.tol:
                    status = Status.CONVERGED
                    break
                if (stop := clock.step(steps, gain)) is not None or new.status in (Status.DEADLINE, Status.INTERRUPTED):
                    status = stop or new.status
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        stats = {"objective": cost, "inner": type(self.inner(first)).__name__}
        return dataclasses.replace(answer, status=status, steps=steps, stats=stats, state={}, residual=answer.residual)

    def _at(self, problem: Problem, answer: Answer) -> tuple[np.ndarray, float]:
        """Return f on the rows, and the objective."""
        c = answer.coefficients
        if problem.centers is None:
            f = np.asarray(fresh(problem.gram) @ c, dtype=np.float64)
            square = float((c * f).sum())
        else:
            span = Span(problem)
            f, square = np.asarray(span.fresh_columns @ c, dtype=np.float64), float((c * (span.square @ c)).sum())
        w, t = problem.weights[:, None], f + answer.offset
        losses = float((w * value(problem.loss, problem.targets, t)).sum())
        return f, losses + float(np.ravel(problem.penalty.value(np.sqrt(np.array([max(square, 0.0)]))))[0])
