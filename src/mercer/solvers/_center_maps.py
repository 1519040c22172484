"""Functions on centres by numbers in which the penalty is half a square: maps to the rows and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor

from mercer.gram import Gram
from mercer.gram._normal import transposed_product
from mercer.solvers._span import Span
from mercer.solvers._triangular import solve_lower
from mercer.solvers.problem import Problem

FINE = 1e-7  # relative gaps down to here are reached with products in the Gram's own precision


@dataclass(frozen=True, eq=False)
class CenterMaps:
    """From x = L'c to the values of f on the rows and back, and what both share; c is scaled as L is."""

    problem: Problem
    fine: bool

    @cached_property
    def span(self) -> Span:
        return Span(self.problem)

    @cached_property
    def columns(self) -> Gram:
        """K between rows and centres, held in memory where it fits."""
        return self.span.held_columns(double=self.fine, stored="auto")

    @property
    def kept(self) -> np.ndarray:
        return self.span.norm.kept

    @property
    def m(self) -> int:
        return self.problem.n_coefficients

    @cached_property
    def square(self) -> np.ndarray:
        """K_CC, scaled: c'K_CC c is |x|^2 but for the margin that makes L safe."""
        sizes = self.span.norm.sizes
        return np.asarray(self.span.square[np.ix_(self.kept, self.kept)] / np.outer(sizes, sizes))

    def down(self, x: np.ndarray) -> np.ndarray:
        """Return c = L^-T x."""
        return solve_lower(self.span.norm.L, x, transposed=True)

    def up(self, v: np.ndarray) -> np.ndarray:
        """Return L^-1 v."""
        return solve_lower(self.span.norm.L, v, transposed=False)

    def spread(self, c: np.ndarray) -> np.ndarray:
        """Return coefficients on all centres."""
        found = np.zeros((self.m, c.shape[1]))
        found[self.kept] = c / self.span.norm.sizes[:, None]
        return found

    def scaled(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(values[self.kept] / self.span.norm.sizes[:, None])

    def out(self, c: np.ndarray) -> np.ndarray:
        """Return f on the rows."""
        return np.asarray(self.columns @ self.spread(c), dtype=np.float64)

    def back(self, v: np.ndarray) -> np.ndarray:
        """Return the adjoint of ``out`` at v."""
        return self.scaled(transposed_product(self.columns, v))

    def preconditioners(self, h: np.ndarray) -> list[Any]:
        """Return factors of (n / m) sum over the centres of their h x x' + lam I, one a target."""
        L, indices = self.span.norm.L, self.problem.centers.indices
        found = []
        for k, lam in enumerate(self.problem.lam):
            here = np.full(len(self.kept), h[:, k].mean()) if indices is None else h[indices[self.kept], k]
            rows = L * (np.sqrt(here) * self.span.norm.sizes)[:, None]
            found.append(cho_factor(len(h) / self.m * (rows.T @ rows) + lam * np.eye(len(L)), check_finite=False))
        return found
