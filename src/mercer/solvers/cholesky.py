"""The exact solver for small n: a float32 factor in place, refined to float64 accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf, spotrf

from mercer.solvers._conjugate import Run, conjugate_gradients
from mercer.solvers._solver import Answer, Solver, not_least_squares_on_all
from mercer.solvers._span import fresh
from mercer.solvers._system import System
from mercer.solvers.problem import Problem
from mercer.solvers.watch import Clock

BAND = 2048  # rows filled at a time
FLOAT64_UP_TO = 1500  # rows: below, a float64 factor costs less than refining a float32 one


@dataclass(frozen=True)
class Cholesky(Solver):
    """Factor s K s + lam I once and refine: for the squared loss, lam > 0 and n x n numbers that fit the memory.

    The factor is float32, in place (4 n^2 bytes, n^3 / 3 flops); conjugate gradients in float64, with products that
    never store K, then take it to ``tol`` in a few steps. Where float32 finds the matrix not positive definite, or
    refining stalls, the factor is made in float64.

    Parameters
    ----------
    tol : float
        Largest relative residual.
    max_steps : int
        Of the refinement.
    """

    tol: float = 1e-12
    max_steps: int = 30

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        n = problem.gram.shape[0]
        if (reason := not_least_squares_on_all("Cholesky", problem)) is not None:
            return reason
        if np.min(problem.lam) <= 0:
            return "Cholesky needs lam > 0; with lam = 0 use Eigen, which finds the minimum-norm solution."
        if 4 * n * n > problem.gram.engine.budget:
            return (
                f"Cholesky needs {4 * n * n / 2**30:.3g} GiB, more than the budget; use ConjugateGradients or centres."
            )
        return None

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""
        system = System(problem)
        Z = np.zeros_like(system.right)
        runs = []
        for lam in np.unique(system.lam):
            columns = np.flatnonzero(system.lam == lam)
            runs.append(self._one(system, float(lam), columns, clock))
            Z[:, columns] = runs[-1].Z
        residual = np.concatenate([r.residual for r in runs])
        worst = max(runs, key=lambda r: float(r.residual.max()))
        return system.answered(Run(Z, residual, sum(r.steps for r in runs), worst.status), {})

    def _one(self, system: System, lam: float, columns: np.ndarray, clock: Clock) -> Run:
        K, s = fresh(system.gram), system.roots[:, None]

        def apply(V: np.ndarray) -> np.ndarray:
            return np.asarray(s * (K @ (s * V)) + lam * V)

        B = system.right[:, columns]
        dtypes: list[Any] = [np.float32, np.float64] if len(B) > FLOAT64_UP_TO else [np.float64]
        run = None
        for dtype in dtypes:
            if (factor := _factor(system, lam, dtype)) is None:
                continue
            solve = _solver(factor)
            run = conjugate_gradients(
                apply, B, solve, tol=self.tol, max_steps=self.max_steps, clock=clock, start=solve(B)
            )
            if run.residual.max() <= self.tol or dtype is np.float64:
                return run
        if run is None:  # rounding has made s K s + lam I indefinite: conjugate gradients alone still descend
            run = conjugate_gradients(apply, B, lambda R: R, tol=self.tol, max_steps=10 * self.max_steps, clock=clock)
        return run


def _factor(system: System, lam: float, dtype: Any) -> np.ndarray | None:
    """Return the Cholesky factor of s K s + lam I in the upper half of K, or None where it is not positive definite.

    Only that half is computed, and only its memory is touched.
    """
    source = system.gram if dtype is np.float32 else fresh(system.gram)
    n = source.shape[0]
    A = np.empty((n, n), dtype)
    s = system.roots.astype(dtype)
    for i in range(0, n, BAND):
        band = A[i : i + BAND, i:]
        source.block(slice(i, i + BAND), slice(i, n), out=band)
        if system.problem.weight is not None:
            band *= s[i : i + BAND, None]
            band *= s[i:]
    A.flat[:: n + 1] += dtype(lam)
    potrf = spotrf if dtype is np.float32 else dpotrf
    L, info = potrf(A.T, lower=1, clean=0, overwrite_a=1)  # A.T is A in column order: no copy
    return L if info == 0 else None


def _solver(L: np.ndarray) -> Any:
    """Return the map that the factor inverts; in the factor's precision, whatever the size of what it is given."""

    def solve(R: np.ndarray) -> np.ndarray:
        sizes = np.abs(R).max(axis=0)
        sizes[sizes == 0] = 1.0
        return cho_solve((L, True), (R / sizes).astype(L.dtype), check_finite=False).astype(np.float64) * sizes

    return solve
