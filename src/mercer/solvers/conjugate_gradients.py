"""The solver for all the data at large n: conjugate gradients with a randomly pivoted Cholesky preconditioner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import ssyrk

from mercer.gram import RandomPivots, random_pivots
from mercer.solvers._conjugate import Map, conjugate_gradients, refined
from mercer.solvers._solver import Answer, Solver, not_least_squares_on_all
from mercer.solvers._span import fresh
from mercer.solvers._system import System
from mercer.solvers.problem import Problem
from mercer.solvers.watch import Clock

SINGLE = 1e-4  # residuals down to here are reached with float32 tiles
VALUES_PER_SECOND = 1e9  # at least so many kernel values, to go by where there is a deadline
MOST = 2000  # rank: beyond, the factor costs more than the steps it saves


@dataclass(frozen=True)
class ConjugateGradients(Solver):
    """Solve (s K s + lam I) z = s y by products with K, never factored; half of it is stored where that is faster.

    The preconditioner is (F F' + lam I)^-1 with F from `random_pivots` of rank min(2000, n / 8), less where K is
    explained sooner; the run starts from what it makes of s y. Residuals down to 1e-4 are reached with the tiles of the
    Gram's own precision; below that, rounds of refinement correct them with residuals in double. Cost: one product with
    K a step.

    Parameters
    ----------
    tol : float
        Largest relative residual.
    rank : int, optional
        Of the preconditioner; 0 for none, None for the rule above.
    max_steps : int
        In all.
    random_state : int, Generator or None
        Where the pivots come from.
    """

    tol: float = 1e-4
    rank: int | None = None
    max_steps: int = 1000
    random_state: Any = None

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        if (reason := not_least_squares_on_all("ConjugateGradients", problem)) is not None:
            return reason
        return None if np.min(problem.lam) > 0 else "ConjugateGradients needs lam > 0; with lam = 0 use Eigen."

    def fits(self, problem: Problem, deadline: float | None) -> bool:
        """Return whether the preconditioner fits half of the memory, and 50 products half of the deadline."""
        n = problem.gram.shape[0]
        rank = min(MOST, n // 8) if self.rank is None else self.rank
        seconds = 50 * n * n / 2 / VALUES_PER_SECOND
        return 8 * n * rank <= problem.gram.engine.budget and (deadline is None or seconds <= deadline / 2)

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""
        system = System(problem)
        start = state.get("Z")
        pivots = self._pivots(system)
        precondition = _woodbury(system, pivots)
        stats = {"rank": 0 if pivots is None else pivots.rank}
        many = system.held_gram
        coarse = lambda V: system.scaled(many, V)  # noqa: E731  # a name for the map in tiles of its own precision
        if self.tol >= SINGLE or system.gram.dtype == np.float64:
            first = precondition(system.right) if start is None else start
            run = conjugate_gradients(
                coarse, system.right, precondition,
                tol=self.tol, max_steps=self.max_steps, clock=clock, start=first,
            )  # fmt: skip  # the system, then how to solve it
            return system.answered(run, stats)
        K = fresh(system.gram)
        run = refined(
            lambda V: system.scaled(K, V), coarse, system.right, precondition,
            tol=self.tol, least=SINGLE, max_steps=self.max_steps, clock=clock, start=start,
        )  # fmt: skip  # the system, then how to solve it
        return system.answered(run, stats)

    def _pivots(self, system: System) -> RandomPivots | None:
        n = len(system.rows)
        rank = min(MOST, n // 8) if self.rank is None else min(self.rank, n)
        if rank == 0:
            return None
        return random_pivots(system.gram, rank, random_state=self.random_state)


def _woodbury(system: System, pivots: RandomPivots | None) -> Map:
    """Return R -> (s F F' s + lam I)^-1 R for each column's lam, by the small system (F'F + lam I)."""
    if pivots is None:
        return lambda R: R / system.lam
    F = pivots.F
    if system.problem.weight is not None:
        F = np.multiply(F.T, system.roots.astype(np.float32)).T  # rows of F' stay contiguous
    G = ssyrk(1.0, F, trans=1, lower=1).astype(np.float64)  # F is in column order; only the lower half is made and read
    factors = {lam: cho_factor(_shifted(G, lam), lower=True, check_finite=False) for lam in np.unique(system.lam)}

    def apply(R: np.ndarray) -> np.ndarray:
        out = np.empty_like(R)
        for lam, factor in factors.items():
            at = np.flatnonzero(system.lam == lam)
            r = R[:, at]
            t = cho_solve(factor, (F.T @ r.astype(np.float32)).astype(np.float64), check_finite=False)
            out[:, at] = (r - F @ t.astype(np.float32)) / lam
        return out

    return apply


def _shifted(G: np.ndarray, lam: float) -> np.ndarray:
    """Return G + lam I, the shift not below what float32 has rounded."""
    shifted = G.copy()
    shifted.flat[:: len(G) + 1] += max(lam, 1e-7 * float(np.trace(G)) / len(G))
    return shifted
