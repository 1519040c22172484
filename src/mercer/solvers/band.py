"""The solver for a reduction to a band that leave-one-out has made already."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.solvers._conjugate import Run, conjugate_gradients
from mercer.solvers._refits import AllPoints
from mercer.solvers._solver import Answer, Solver, not_least_squares_on_all
from mercer.solvers._span import fresh
from mercer.solvers._system import System
from mercer.solvers.problem import Problem
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

DEFAULT_TOL = 1e-10


@dataclass(frozen=True, eq=False)
class Band(Solver):
    """Solve s K s + lam I = U (B + lam I) U' with B and U known, for any lam > 0. Cost: 8 n^2 flops.

    Conjugate gradients with fresh products of the problem's own K take the answer to ``tol``; mostly none is needed.

    Parameters
    ----------
    refits : AllPoints
        ``leave_one_out(problem, lams).refits`` of a problem with the same rows, weights and K.
    tol : float, optional
        Largest relative residual; None is 1e-10, or what the rounding of K leaves of it: eps trace(K) / lam.
    max_steps : int
        Of the refinement.
    """

    refits: AllPoints = field(repr=False)
    tol: float | None = None
    max_steps: int = 10

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        if (reason := not_least_squares_on_all("Band", problem)) is not None:
            return reason
        if not np.array_equal(self.refits.problem.weights, problem.weights):
            return "Band takes problems with the rows and weights of its reduction."
        return None if np.min(problem.lam) > 0 else "Band needs lam > 0; with lam = 0 use Eigen."

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is not needed."""
        system, runs = System(problem), []
        Z, K = np.empty_like(system.right), fresh(system.gram)
        for lam in np.unique(system.lam):
            columns = np.flatnonzero(system.lam == lam)
            runs.append(self._one(system, K, float(lam), columns, clock))
            Z[:, columns] = runs[-1].Z
        worst = max(runs, key=lambda run: float(run.residual.max()))
        return system.answered(Run(Z, worst.residual, sum(run.steps for run in runs), worst.status), {})

    def _one(self, system: System, K: Any, lam: float, columns: np.ndarray, clock: Clock) -> Run:
        s, B = system.roots[:, None], system.right[:, columns]
        factors = self.refits.band.factored(np.array([lam]))

        def apply(V: np.ndarray) -> np.ndarray:
            return np.asarray(s * (K @ (s * V)) + lam * V)

        def solve(R: np.ndarray) -> np.ndarray:
            return factors.solve(R)[0]

        tol = DEFAULT_TOL if self.tol is None else self.tol
        run = conjugate_gradients(apply, B, solve, tol=tol, max_steps=self.max_steps, clock=clock, start=solve(B))
        rounding = np.finfo(float).eps * float(system.gram.diag() @ system.roots**2) / lam
        if self.tol is None and run.residual.max() <= rounding:
            run.status = Status.CONVERGED
        return run
