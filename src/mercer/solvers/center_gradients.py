"""The solver for centres: conjugate gradients on the problem restricted to the span of their sections."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.linalg.lapack import dlauum, dpotrf, dsygst, slauum, spotrf

from mercer.functions import choose_centers
from mercer.gram import Gram
from mercer.gram._normal import is_stored, normal_product, transposed_product
from mercer.losses import traits
from mercer.solvers._conjugate import conjugate_gradients, refined
from mercer.solvers._moment import second_moment
from mercer.solvers._solver import Answer, Solver
from mercer.solvers._span import Span, one_thread_if_light
from mercer.solvers._triangular import solve_lower
from mercer.solvers.problem import Problem
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

SINGLE = 1e-5  # residuals down to here are reached with float32 tiles, if all goes well
LEAST = 1e-3  # what a round of refinement with them takes off
FLOAT64_UP_TO = 300  # centres: below, a float64 preconditioner costs nothing to speak of
FLOOR = 3e-7  # the least shift, relative to the trace, that keeps a float32 preconditioner definite
SHARES = (4, 8, 16, 32, 64)  # rows a centre that the preconditioner may be summed over
PRODUCTS = 20  # so many of the products that it is made of take as long as one value of K in a step


def _steps(share: float) -> float:
    """Return about how many steps are needed with so many rows a centre: each divides the error by sqrt(share)."""
    return 30.0 / np.log(share)


def rows_worth(n: int, m: int) -> int:
    """Return how many of n rows the preconditioner is summed over: what they cost and the steps they leave, the least.

    0 where no number of rows is worth it: a preconditioner of the centres alone takes some forty steps.
    """
    choices = [(0, 40.0 * n)] + [(s * m, s * m * m / PRODUCTS + _steps(s) * n) for s in SHARES if s * m < n]
    choices.append((n, n * m / PRODUCTS + 3.0 * n))
    return min(choices, key=lambda choice: choice[1])[0]


@dataclass(frozen=True)
class CenterGradients(Solver):
    """Minimise the squared loss over functions on centres; never n x n numbers, and n x m only where that is faster.

    Stationarity is (K_nC'W K_nC + lam K_CC) c = K_nC'W (y - b). With K_CC = T'T and A'A about
    T^-T K_nC'W K_nC T^-1 + lam I, its unknowns are beta, c = T^-1 A^-1 beta: that system is well conditioned, so a few
    steps do. A is summed over 4 to 64 rows a centre, or over all: whichever number costs least together with the steps
    it leaves; where none is worth it, over the centres only, T T'.
    Each step is one pass over the n m kernel values: a strip of rows is computed, used for K_nC c and for K_nC' times
    that, and forgotten; values that take longer to compute than to read are stored where they fit.
    Cost: n m kernel values a step, before that 1 m^3 flops, or 5 to 65 where n is large; about 24 m^2 bytes.

    Parameters
    ----------
    tol : float
        Largest relative residual.
    max_steps : int
        In all.
    n_centers : int, optional
        How many centres are chosen for a problem that comes without.
    method : {"uniform", "k-means++", "rpcholesky"}
        How; see `choose_centers`.
    random_state : int, Generator or None
        Where the draws come from.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Squared
    >>> from mercer.solvers import CenterGradients, HalfSquare, Problem, solve
    >>> X = np.linspace(0, 1, 500).reshape(-1, 1)
    >>> problem = Problem(gram(Gaussian(scale=0.5), X), np.sin(6 * X[:, 0]), Squared(), HalfSquare(0.1))
    >>> found = solve(problem, CenterGradients(n_centers=20, random_state=0))
    >>> len(found.coefficients), found.converged
    (20, True)
    """

    tol: float = 1e-4
    max_steps: int = 100
    n_centers: int | None = None
    method: Literal["uniform", "k-means++", "rpcholesky"] = "uniform"
    random_state: Any = None

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        if not traits(problem.loss).quadratic:
            return "CenterGradients solves the squared loss only."
        if problem.centers is None and (self.n_centers is None or problem.gram.kernel is None):
            return "CenterGradients needs a problem with centres; see mercer.functions.choose_centers."
        return None if np.min(problem.lam) > 0 else "CenterGradients needs lam > 0; see CenterLeastSquares."

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""
        chosen = problem if problem.centers is not None else self._with_centers(problem)
        with one_thread_if_light(chosen.n_coefficients):
            return self._on(chosen, None if chosen is problem else chosen.centers, clock, state)

    def _on(self, chosen: Problem, centers: Any, clock: Clock, state: dict[str, Any]) -> Answer:
        coarse = _Normal(chosen, fine=False)
        system, run = coarse, None
        how: dict[str, Any] = {"max_steps": self.max_steps, "clock": clock}
        start = coarse.start(state.get("c"))
        if self.tol >= SINGLE:
            run = conjugate_gradients(coarse.apply, coarse.right, _as_it_is, tol=self.tol, start=start, **how)
        if run is None or run.status is Status.STALLED:  # single precision does not get there: correct it in double
            start, before = (start, 0) if run is None else (run.Z, run.steps)
            system = _Normal(chosen, fine=True, like=coarse)
            how |= {"least": LEAST, "start": start}
            run = refined(system.apply, coarse.apply, system.right, _as_it_is, tol=self.tol, **how)
            run.steps += before
        c, b = system.answer(run.Z)
        n, m = len(chosen.y), chosen.n_coefficients
        passes = 1 if is_stored(coarse.columns) else run.steps + 3
        stats = {"rank": len(system.kept), "n_centers": m, "kernel_values": passes * n * m}
        return Answer(c, b, run.status, run.steps, float(run.residual.max()), stats, {"c": c}, centers)

    def _with_centers(self, problem: Problem) -> Problem:
        K, m = problem.gram, min(int(self.n_centers or 1), len(problem.y))
        found = choose_centers(K.kernel, K.points, m, self.method, self.random_state, K.engine, problem.weight)  # type: ignore[arg-type]  # refused without a kernel
        return dataclasses.replace(problem, centers=found)


def _as_it_is(R: np.ndarray) -> np.ndarray:
    return R


@dataclass(frozen=True, eq=False)
class _Normal:
    """The normal equations in beta. K_CC, scaled to unit diagonal, is L L' + shift I: T = L'."""

    problem: Problem
    fine: bool
    like: _Normal | None = None  # whose unknowns are taken

    @cached_property
    def span(self) -> Span:
        return Span(self.problem) if self.like is None else self.like.span

    @cached_property
    def columns(self) -> Gram:
        return self.span.held_columns(double=self.fine)

    @cached_property
    def kept(self) -> np.ndarray:
        return self.span.norm.kept

    @property
    def sizes(self) -> np.ndarray:
        return self.span.norm.sizes[:, None]

    @cached_property
    def total(self) -> float:
        return float(self.problem.weights.sum())

    @cached_property
    def mean(self) -> np.ndarray:
        """The weighted mean of the targets, taken off where b is free."""
        problem = self.problem
        weighted = problem.weights @ problem.targets / self.total
        return weighted if problem.intercept else np.zeros(problem.n_targets)

    @cached_property
    def pulled(self) -> tuple[np.ndarray, np.ndarray]:
        """K_nC' W (y - mean) and, where b is free, K_nC' w; on the centres kept."""
        problem = self.problem
        R = problem.weights[:, None] * (problem.targets - self.mean)
        if not problem.intercept:
            return self._scaled(transposed_product(self.columns, R)), np.zeros((len(self.kept), 1))
        both = self._scaled(transposed_product(self.columns, np.column_stack([R, problem.weights])))
        return both[:, :-1], both[:, -1:]

    @cached_property
    def inner(self) -> dict[float, np.ndarray]:
        """Lower G with G G' = the spectrum + lam I, for each lam."""
        if self.like is not None:
            return self.like.inner
        return {float(lam): self._factor(float(lam)) for lam in np.unique(self.problem.lam)}

    @cached_property
    def spectrum(self) -> np.ndarray:
        """About T^-T K_nC' W K_nC T^-1, its lower half: summed over some rows, or over the centres only."""
        problem, m = self.problem, len(self.kept)
        present = np.flatnonzero(problem.weights > 0)
        if (most := rows_worth(len(present), m)) > 0:
            return self._over_rows(present, most)
        dtype: Any = np.float64 if m <= FLOAT64_UP_TO else np.float32
        rows, lauum = self.span.norm.L * self.sizes, slauum if dtype is np.float32 else dlauum
        share = dtype(self.total / problem.n_coefficients)
        H, _ = lauum(np.asarray(rows, dtype, order="F"), lower=1, overwrite_c=1)
        return self._centred(np.asarray(H), rows.sum(axis=0), m) * share

    def _centred(self, H: np.ndarray, sums: np.ndarray, count: float) -> np.ndarray:
        """Return a sum of x x' about the mean of x where b is free."""
        if self.problem.intercept:
            H -= np.outer(sums, sums / count).astype(H.dtype)
        return H

    def _over_rows(self, present: np.ndarray, most: int) -> np.ndarray:
        """Return the sum over so many random rows, scaled up."""
        if len(present) > most:
            present = np.sort(np.random.default_rng(0).choice(present, most, replace=False))
        w = self.problem.weights[present]
        kept, L = self.kept, self.span.norm.L
        G, sums = second_moment(self.columns, present, w * (self.total / float(w.sum())))
        G = np.asarray(G if len(kept) == len(G) else G[np.ix_(kept, kept)])
        H, _ = dsygst(np.asarray(G / (self.sizes * self.sizes.T), order="F"), L, itype=1, lower=1, overwrite_a=1)
        return self._centred(np.asarray(H), solve_lower(L, self._scaled(sums[:, None]))[:, 0], self.total)

    def _factor(self, lam: float) -> np.ndarray:
        """Return the lower factor of the spectrum + lam I, with the least shift that its precision takes."""
        H = self.spectrum.copy(order="F")
        single = H.dtype == np.float32
        least = (FLOOR if single else 1e-15) * float(np.trace(H))
        while True:
            A = H.copy(order="F")
            A.flat[:: len(A) + 1] += H.dtype.type(max(lam, least))
            G, info = (spotrf if single else dpotrf)(A, lower=1, clean=1, overwrite_a=1)
            if info == 0:
                return np.asarray(G, np.float64, order="F")
            least *= 16

    # ------------------------------------------------------------ the maps

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        return values[self.kept] / self.sizes

    def spread(self, c: np.ndarray) -> np.ndarray:
        """Return coefficients of all centres from scaled ones of those kept."""
        out = np.zeros((self.problem.n_coefficients, c.shape[1]))
        out[self.kept] = c / self.sizes
        return out

    def _inner_solve(self, B: np.ndarray, *, transposed: bool) -> np.ndarray:
        out = np.empty_like(B)
        for lam, G in self.inner.items():
            at = np.flatnonzero(self.problem.lam == lam)
            out[:, at] = solve_lower(G, B[:, at], transposed=transposed)
        return out

    def apply(self, beta: np.ndarray) -> np.ndarray:
        """Return A^-T T^-T (K_nC' W K_nC + lam K_CC) T^-1 A^-1 beta, W centred where b is free."""
        L, lam, shift = self.span.norm.L, self.problem.lam, 2 * self.span.norm.margin
        z = self._inner_solve(beta, transposed=True)
        c = solve_lower(L, z, transposed=True)
        back = self._centred_product(c) if self.problem.intercept else self._product(c, None)[0]
        return self._inner_solve(solve_lower(L, back + lam * shift * c) + lam * z, transposed=False)

    def _product(self, c: np.ndarray, less: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        back, total = normal_product(self.columns, self.spread(c), self.problem.weight, less)
        return self._scaled(back), total

    def _centred_product(self, c: np.ndarray) -> np.ndarray:
        """Return K' W (f - its mean): off the mean that p tells, then off what the pass itself finds left of it."""
        p = self.pulled[1]
        back, left = self._product(c, (p.T @ c)[0] / self.total)
        return back - p * (left / self.total)

    @cached_property
    def right(self) -> np.ndarray:
        return self._inner_solve(solve_lower(self.span.norm.L, self.pulled[0]), transposed=False)

    def start(self, c: np.ndarray | None) -> np.ndarray | None:
        """Return beta of earlier coefficients, if they are of as many centres."""
        if c is None or c.shape != (self.problem.n_coefficients, self.problem.n_targets):
            return None
        z = self.span.norm.L.T @ (c[self.kept] * self.sizes)
        return np.column_stack([self.inner[float(lam)].T @ z[:, k] for k, lam in enumerate(self.problem.lam)])

    def answer(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return c on all centres, and b."""
        c = solve_lower(self.span.norm.L, self._inner_solve(beta, transposed=True), transposed=True)
        return self.spread(c), self.mean - (self.pulled[1].T @ c)[0] / self.total
