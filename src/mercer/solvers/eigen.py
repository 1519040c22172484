"""Least squares without a penalty, and whole paths of penalties: from one eigendecomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer.solvers._conjugate import Run
from mercer.solvers._solver import Answer, Solver, not_least_squares_on_all
from mercer.solvers._span import fresh
from mercer.solvers._system import System
from mercer.solvers.problem import Problem
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock


@dataclass(frozen=True)
class Eigen(Solver):
    """Solve by s K s = Q diag(v) Q': any lam >= 0; with lam = 0 the minimum-norm solution, its rank and condition.

    Cost: about 9 n^3 flops and 16 n^2 bytes, once for every lam and target.

    Parameters
    ----------
    cut : float, optional
        With lam = 0, eigenvalues below this share of the largest count as 0; None is n eps.
    """

    cut: float | None = None

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        n = problem.gram.shape[0]
        if (reason := not_least_squares_on_all("Eigen", problem)) is not None:
            return reason
        if 16 * n * n > problem.gram.engine.budget:
            return f"Eigen needs {16 * n * n / 2**30:.3g} GiB, more than the budget."
        return None

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""
        system = System(problem)
        K = fresh(system.gram).block().astype(np.float64, copy=False)
        K = K * system.roots[:, None] * system.roots
        v, Q = eigh((K + K.T) / 2, driver="evd", overwrite_a=True, check_finite=False)
        v = np.maximum(v, 0.0)
        cut = v[-1] * (len(v) * np.finfo(np.float64).eps if self.cut is None else self.cut)
        kept = v > cut
        shifted = v[:, None] + system.lam
        inverse = np.where(kept[:, None] | (system.lam > 0), 1.0 / np.where(shifted > 0, shifted, 1.0), 0.0)
        Z = Q @ (inverse * (Q.T @ system.right))
        R = system.right - (Q @ (v[:, None] * (Q.T @ Z)) + system.lam * Z)
        size = np.maximum(np.linalg.norm(system.right, axis=0), np.finfo(float).tiny)
        stats = {
            "rank": int(kept.sum()),
            "condition": float(v[-1] / v[kept][0]) if kept.any() else np.inf,
        }
        return system.answered(Run(Z, np.linalg.norm(R, axis=0) / size, 1, Status.CONVERGED), stats)
