"""The linear system of the squared loss, scaled to be symmetric, and how its solution becomes f and b.

Stationarity is (K + lam W^-1) c + b 1 = y on the rows with w > 0, with 1'c = 0 if b is free. With s = sqrt(w) and
c = s z it becomes (s K s + lam I) z = s (y - b): symmetric, and positive definite for lam > 0. A free b takes one more
right-hand side for each lam: with z_y and z_1 the answers for s y and s, b = (s'z_y) / (s'z_1) and z = z_y - b z_1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.gram import Gram, from_matrix, gram
from mercer.kernels._views import take
from mercer.solvers._conjugate import Run
from mercer.solvers._solver import Answer
from mercer.solvers.problem import Problem


@dataclass(frozen=True, eq=False)
class System:
    """(s K s + lam I) Z = B for one or more lam, on the rows that count."""

    problem: Problem

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows with a positive weight."""
        return np.flatnonzero(self.problem.weights > 0)

    @cached_property
    def gram(self) -> Gram:
        """K on those rows."""
        K = self.problem.gram
        if len(self.rows) == K.shape[0]:
            return K
        if K.kernel is None:
            return from_matrix(K.block(self.rows, self.rows), K.engine)
        return gram(K.kernel, take(K.points, self.rows), engine=K.engine)

    @cached_property
    def held_gram(self) -> Gram:
        """The same for many products: its upper half stored where that is faster than computing it, and fits."""
        K = self.gram
        return K if K.kernel is None else gram(K.kernel, K.points, engine=K.engine, stored="dear")

    @cached_property
    def roots(self) -> np.ndarray:
        """s = sqrt(w)."""
        return np.sqrt(self.problem.weights[self.rows])

    @cached_property
    def right(self) -> np.ndarray:
        """B: s y, and s for each lam when there is an intercept, as columns."""
        B = self.roots[:, None] * self.problem.targets[self.rows]
        return np.column_stack([B, *[self.roots] * len(self._lams)]) if self.problem.intercept else B

    @cached_property
    def _lams(self) -> np.ndarray:
        return np.unique(self.problem.lam)

    @cached_property
    def lam(self) -> np.ndarray:
        """The shift of each column of B."""
        lam = self.problem.lam
        return np.append(lam, self._lams) if self.problem.intercept else lam

    def answer(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return c on all rows, (n, t), and b, (t,), from the solution Z."""
        offset = np.zeros(self.problem.n_targets)
        if self.problem.intercept:
            t = self.problem.n_targets
            ones = Z[:, t:][:, np.searchsorted(self._lams, self.problem.lam)]
            Z = Z[:, :t]
            whole, total = self.roots @ Z, self.roots @ ones
            mean = np.average(self.problem.targets[self.rows], axis=0, weights=self.roots**2)
            offset = np.where(total > 0, whole / np.where(total > 0, total, 1.0), mean)  # 0: nothing was found
            Z = Z - ones * offset
        c = np.zeros((len(self.problem.y), Z.shape[1]))
        c[self.rows] = self.roots[:, None] * Z
        return c, offset

    def answered(self, run: Run, stats: dict[str, Any]) -> Answer:
        """Return what a run of a solver on this system found."""
        c, offset = self.answer(run.Z)
        return Answer(c, offset, run.status, run.steps, float(run.residual.max()), stats, {"Z": run.Z})

    def scaled(self, K: Gram, V: np.ndarray) -> np.ndarray:
        """Return s K s V + lam V in float64."""
        s = self.roots[:, None]
        return np.asarray(s * (K @ (s * V)) + self.lam * V)
