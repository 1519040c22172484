"""The solver for centres: conjugate gradients on the problem restricted to the span of their sections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer.losses import traits
from mercer.solvers._conjugate import conjugate_gradients
from mercer.solvers._solver import Answer, Solver
from mercer.solvers._span import Span
from mercer.solvers.problem import Problem
from mercer.solvers.watch import Clock

Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class CenterGradients(Solver):
    """Minimise the squared loss over functions on the problem's centres; never n x n, nor n x m numbers.

    Stationarity is (K_nC'W K_nC + lam K_CC) c = K_nC'W (y - b). With K_CC = T'T and A'A = (sum w / m) T T' + lam I, its
    unknowns are beta, c = T^-1 A^-1 beta: centres drawn at random make that system well conditioned, so a few steps do.
    Cost: n m kernel values a step, m^3 flops before, about 16 m^2 bytes.

    Parameters
    ----------
    tol : float
        Largest relative residual.
    max_steps : int
        In all.
    """

    tol: float = 1e-4
    max_steps: int = 100

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        if not traits(problem.loss).quadratic:
            return "CenterGradients solves the squared loss only."
        if problem.centers is None:
            return "CenterGradients needs a problem with centres; see mercer.functions.choose_centers."
        return None if np.min(problem.lam) > 0 else "CenterGradients needs lam > 0."

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""
        span, w, y = Span(problem), problem.weights[:, None], problem.targets
        kept, sizes = span.norm.kept, span.norm.sizes[:, None]
        T, K, A = span.norm.L, span.columns, span.square[np.ix_(span.norm.kept, span.norm.kept)]
        total, m = float(w.sum()), problem.n_coefficients
        mean = (w * y).sum(axis=0) / total if problem.intercept else np.zeros(problem.n_targets)

        def spread(c: np.ndarray) -> np.ndarray:
            out = np.zeros((m, c.shape[1]))
            out[kept] = c / sizes
            return out

        def centred(values: np.ndarray) -> np.ndarray:
            """Return W (values - their weighted mean): b is free."""
            return w * (values - (w * values).sum(axis=0) / total) if problem.intercept else w * values

        def back(values: np.ndarray) -> np.ndarray:
            return (K.T @ values)[kept] / sizes

        inner = [np.linalg.cholesky(total / m * (T.T @ T) + lam * np.eye(len(kept))) for lam in problem.lam]

        def down(beta: np.ndarray) -> np.ndarray:
            x = np.column_stack([_solve(L, beta[:, k], 1) for k, L in enumerate(inner)])
            return _solve(T, x, 1)

        def up(v: np.ndarray) -> np.ndarray:
            x = _solve(T, v, 0)
            return np.column_stack([_solve(L, x[:, k], 0) for k, L in enumerate(inner)])

        def apply(beta: np.ndarray) -> np.ndarray:
            c = down(beta)
            return up(back(centred(K @ spread(c))) + problem.lam * (A @ (c / sizes)) / sizes)

        start = state.get("beta")
        run = conjugate_gradients(
            apply,
            up(back(w * (y - mean))),
            lambda R: R,
            tol=self.tol,
            max_steps=self.max_steps,
            clock=clock,
            start=start,
        )
        c = spread(down(run.Z))
        b = mean - (w * (K @ c)).sum(axis=0) / total if problem.intercept else np.zeros(problem.n_targets)
        stats = {"rank": len(kept), "kernel_values": 2 * (run.steps + 2) * len(y) * m}
        return Answer(c, b, run.status, run.steps, float(run.residual.max()), stats, {"beta": run.Z})


def _solve(L: np.ndarray, b: np.ndarray, trans: int) -> np.ndarray:
    return solve_triangular(L, b, lower=True, trans=trans, check_finite=False)
