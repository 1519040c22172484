"""Least squares without a penalty among the functions on a problem's centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.losses import traits
from mercer.solvers._refits import OnCenters
from mercer.solvers._solver import Answer, Solver
from mercer.solvers.problem import Problem
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock


@dataclass(frozen=True)
class CenterLeastSquares(Solver):
    """Minimise the squared loss over the functions on centres for any lam >= 0; with lam = 0 that of least norm.

    Orthonormal features F of the span of the sections, a block of rows at a time, and s y are reduced to triangles by
    orthogonal steps: s F = Q R is never squared, so that small singular values count. Those of R answer for every lam,
    and tell rank and condition. Cost: n m kernel values and 2 n m^2 flops, about 32 m^2 bytes.

    Parameters
    ----------
    cut : float, optional
        With lam = 0, singular values below this share of the largest count as 0; None is max(n, m) eps.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Polynomial
    >>> from mercer.losses import Squared
    >>> from mercer.solvers import CenterLeastSquares, HalfSquare, Problem, solve
    >>> X = np.linspace(-1, 1, 50).reshape(-1, 1)
    >>> problem = Problem(gram(Polynomial(2), X), X[:, 0] ** 2, Squared(), HalfSquare(0.0), centers=np.arange(0, 50, 7))
    >>> found = solve(problem, CenterLeastSquares())
    >>> found.stats["rank"], bool(abs(found.function([[0.5]])[0] - 0.25) < 1e-12)
    (3, True)
    """

    cut: float | None = None

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        if not traits(problem.loss).quadratic:
            return "CenterLeastSquares solves the squared loss only."
        return None if problem.centers is not None else "CenterLeastSquares needs a problem with centres; see Eigen."

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; stopped early, that of the rows seen. ``state`` is not needed."""
        on, free = OnCenters(problem), int(problem.intercept)
        r, R, blocks, status = on.plain.shape[1], None, 0, Status.CONVERGED
        y = problem.targets[on.rows]
        try:
            for part, F in on.features():
                ones = np.ones((len(F), free))
                rows = np.sqrt(on.weights[part])[:, None] * np.hstack([ones, F, y[part]])
                taller: Any = rows if R is None else np.vstack([R, rows])
                R = np.asarray(np.linalg.qr(taller, mode="r"))
                blocks += 1
                if (stop := clock.step(blocks, 1.0 - part.stop / len(y))) is not None and part.stop < len(y):
                    status = stop
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        if R is None:
            R = np.zeros((free + 1, free + r + y.shape[1]))
        inner, z = R[free:, free : free + r], R[free:, free + r :]
        U, s, Vt = np.linalg.svd(inner, full_matrices=False)
        kept = s > s.max(initial=0.0) * (max(len(y), r) * np.finfo(float).eps if self.cut is None else self.cut)
        lam = problem.lam
        divided = np.where(kept[:, None] | (lam > 0), s[:, None] ** 2 + lam, 1.0)
        beta = Vt.T @ (np.where(kept[:, None] | (lam > 0), s[:, None] / divided, 0.0) * (U.T @ z))
        offset = np.zeros(y.shape[1])
        if free and R[0, 0] != 0:
            offset = (R[0, 1 + r :] - R[0, 1 : 1 + r] @ beta) / R[0, 0]
        slope = inner.T @ (inner @ beta - z) + lam * beta
        size = np.maximum(np.linalg.norm(inner.T @ z, axis=0), np.finfo(float).tiny)
        stats = {
            "rank": int(kept.sum()), "condition": float(s[0] / s[kept][-1]) if kept.any() else np.inf,
            "kernel_values": len(y) * problem.n_coefficients,
        }  # fmt: skip  # what was found, what it took
        residual = float((np.linalg.norm(slope, axis=0) / size).max())
        return Answer(on.plain @ beta, offset, status, blocks, residual, stats, {})
