"""Solving a problem: a solver is chosen, run, and its answer certified."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from mercer._checks import refuse
from mercer.functions import RKHSFunction
from mercer.losses import traits
from mercer.solvers._solver import Answer, Solver
from mercer.solvers.box_dual import BoxDual
from mercer.solvers.center_gradients import CenterGradients
from mercer.solvers.center_least_squares import CenterLeastSquares
from mercer.solvers.center_newton import CenterNewton
from mercer.solvers.center_vector_newton import CenterVectorNewton
from mercer.solvers.certificate import Certificate
from mercer.solvers.certificate import certify as prove
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.conjugate_gradients import VALUES_PER_SECOND, ConjugateGradients
from mercer.solvers.eigen import Eigen
from mercer.solvers.majorize import Majorize
from mercer.solvers.newton import DENSE_UP_TO, Newton
from mercer.solvers.norm_search import NormSearch
from mercer.solvers.penalties import HalfSquare
from mercer.solvers.problem import Problem
from mercer.solvers.proximal import Proximal
from mercer.solvers.solution import Solution
from mercer.solvers.vector_newton import VectorNewton
from mercer.solvers.watch import Clock, Watcher

SMALL = 1000  # rows: quadratic problems over a box are solved to the last digits, and any answer is priced in full
EXACT_UP_TO = 8_000  # rows: above, conjugate gradients need fewer flops than a factor
ALL_UP_TO = 60_000  # rows: above, even one product with K takes seconds
MOST_CENTERS = 4_000
BYTES_PER_SQUARE = 24  # of memory, for m^2 numbers of m centres
STEPS = 25  # passes over them that a fit on centres takes


@dataclass(frozen=True)
class Auto:
    """Choose the solver by a documented rule, and say why.

    Of the squared loss, in this order:

    - the problem has centres: `CenterGradients`;
    - lam = 0: `Eigen`;
    - up to 8,000 rows whose factor fits the memory: `Cholesky`;
    - up to 60,000 rows, for which the preconditioner fits the memory and 50 products with K the deadline, or any
      number if K is a given matrix: `ConjugateGradients`;
    - else `CenterGradients` on 4,000 centres; on fewer where they would take more than half of the memory, or passes
      over the kernel values more than half of the deadline.

    Other losses without jumps in their slope: `Newton`, with centres `CenterNewton`; but above 1,200 rows `BoxDual` if
    their dual is a quadratic problem over a box, as that of Huber is. Losses whose slope jumps: `BoxDual`, if their
    dual is such a problem and f is on all points; else `Proximal`. The multinomial loss: `VectorNewton`, with centres
    `CenterVectorNewton`. Penalties
    other than (lam / 2) ||f||^2: `NormSearch` over such problems. Losses that are not convex: `Majorize`.

    Parameters
    ----------
    tol : float, optional
        Largest relative residual, or for losses other than the squared one relative gap; None is 1e-10 for the exact
        solver, 1e-3 for conjugate gradients, 1e-4 on centres, 1e-6 for Newton steps, and for quadratic problems over
        a box 1e-9 up to 1,000 rows and 1e-4 above.
    random_state : int, Generator or None
        For solvers that draw.
    method : {"uniform", "k-means++", "rpcholesky"}
        How centres are chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Hinge
    >>> from mercer.solvers import Auto, Problem
    >>> problem = Problem(gram(Gaussian(1.0), np.eye(2)), np.array([1.0, -1.0]), Hinge())
    >>> Auto().explain(problem)[1]
    'the slope of Hinge jumps and its dual is a quadratic problem over a box'
    """

    tol: float | None = None
    random_state: Any = None
    method: Literal["uniform", "k-means++", "rpcholesky"] = "uniform"

    def choose(self, problem: Problem, deadline: float | None = None) -> Solver:
        """Return the solver that a problem gets, if it is to be done in so many seconds."""
        return self.explain(problem, deadline)[0]

    def explain(self, problem: Problem, deadline: float | None = None) -> tuple[Solver, str]:
        """Return the solver that a problem gets, and why."""
        known, name = traits(problem.loss), type(problem.loss).__name__
        if known.coupled:
            why = f"{name} takes all columns of targets at once"
            if problem.centers is not None:
                return CenterVectorNewton(self._or(1e-6)), f"{why} and f is on centres"
            return VectorNewton(self._or(1e-6)), why
        if known.base is not None:
            inner = dataclasses.replace(self, tol=None if self.tol is None else 0.1 * self.tol)
            why = f"{name} is not convex: convex problems that lie above and touch"
            return Majorize(inner.choose, 1e-8 if self.tol is None else self.tol), why
        if not isinstance(problem.penalty, HalfSquare):
            tol = self._or(1e-6)
            # kinks, of the loss or where the penalty's conjugate ends, take norms that are nearly exact
            fine = 0.3 if known.smooth and np.isinf(problem.penalty.most) else 1e-3
            inner = dataclasses.replace(self, tol=1e-10 if known.quadratic else fine * tol)
            what = type(problem.penalty).__name__
            return NormSearch(inner.choose, tol), f"the penalty is {what}: a search for the lam that stands for it"
        if known.quadratic:
            return self._least_squares(problem, deadline)
        if known.smooth and (known.boxed is None or problem.centers is not None or len(problem.y) <= DENSE_UP_TO):
            why = f"the slope of {name} has no jumps"
            if problem.centers is not None:
                return CenterNewton(self._or(1e-6)), f"{why} and f is on centres"
            return Newton(self._or(1e-6), random_state=self.random_state), why
        if known.boxed is None or problem.centers is not None:
            on = "its dual is no quadratic problem over a box" if known.boxed is None else "f is on centres"
            return Proximal(self._or(1e-6), random_state=self.random_state), f"the slope of {name} jumps and {on}"
        if known.smooth:
            return BoxDual(self._or(1e-6)), f"the dual of {name} is a quadratic problem over a box"
        box = BoxDual(self._or(1e-9 if problem.gram.shape[0] <= SMALL else 1e-4))
        return box, f"the slope of {name} jumps and its dual is a quadratic problem over a box"

    def _or(self, tol: float) -> float:
        return tol if self.tol is None else self.tol

    def _least_squares(self, problem: Problem, deadline: float | None) -> tuple[Solver, str]:
        on_centers = CenterGradients(self._or(1e-4))
        if problem.centers is not None and np.min(problem.lam) == 0:
            return CenterLeastSquares(), "squared loss on centres without a penalty: the solution of minimum norm"
        if problem.centers is not None:
            return on_centers, "squared loss on centres"
        if np.min(problem.lam) == 0:
            return Eigen(), "squared loss without a penalty: the solution of minimum norm"
        exact, n = Cholesky(self._or(1e-10)), problem.gram.shape[0]
        if n <= EXACT_UP_TO and exact.refuses(problem) is None:
            return exact, f"squared loss on at most {EXACT_UP_TO:,} rows: one factor"
        iterative = ConjugateGradients(self._or(1e-3), random_state=self.random_state)
        if problem.gram.kernel is None or (n <= ALL_UP_TO and iterative.fits(problem, deadline)):
            return iterative, f"squared loss on more than {EXACT_UP_TO:,} rows, or more than the memory holds"
        m = _centers_for(n, problem.gram.engine.budget, deadline)
        some = replace(on_centers, n_centers=m, method=self.method, random_state=self.random_state)
        return some, f"squared loss on more rows than the time or the memory is for: {m:,} centres"


def _centers_for(n: int, budget: int, deadline: float | None) -> int:
    """Return how many centres n rows get."""
    m = min(MOST_CENTERS, n, int((budget / (2 * BYTES_PER_SQUARE)) ** 0.5))
    if deadline is not None:
        m = min(m, int(deadline / 2 * VALUES_PER_SECOND / (STEPS * n)))
    return max(m, 10)


def solve(
    problem: Problem,
    solver: Solver | Auto | None = None,
    *,
    start: Solution | None = None,
    watch: Watcher | None = None,
    deadline: float | None = None,
    certify: Literal["auto", "full", "none"] = "auto",
) -> Solution:
    """Solve a problem; never raises for want of convergence, but says how it ended.

    Parameters
    ----------
    problem : Problem
        The objective.
    solver : solver record or Auto
        Auto() by default.
    start : Solution, optional
        Of a similar problem on the same rows: its state is where iterations begin.
    watch : callable, optional
        Called with each `Step`; returning True stops.
    deadline : float, optional
        Seconds after which the best so far is returned.
    certify : {"auto", "full", "none"}
        Among which functions f is proved near optimal: ``"full"``, all; ``"auto"``, all while that takes fewer kernel
        values than the solve did, or there are at most 1,000 rows; else those on the centres (without centres, all).
        The certificate says which.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Squared
    >>> from mercer.solvers import HalfSquare, Problem, solve
    >>> X = np.linspace(0, 1, 20).reshape(-1, 1)
    >>> found = solve(Problem(gram(Gaussian(scale=0.5), X), np.sin(6 * X[:, 0]), Squared(), HalfSquare(0.1)))
    >>> found.status.value, found.certificate.relative_gap < 1e-12
    ('converged', True)
    """
    chosen, why = Auto() if solver is None else solver, "asked for"
    if isinstance(chosen, Auto):
        chosen, why = chosen.explain(problem)
    elif not isinstance(problem.penalty, HalfSquare) and not isinstance(chosen, NormSearch):
        asked = chosen
        chosen = NormSearch(lambda _: asked)
    if (reason := chosen.refuses(problem)) is not None:
        refuse("solve", "a solver that takes this problem", type(chosen).__name__, reason)
    begun = time.perf_counter()
    clock = Clock(type(chosen).__name__, deadline, watch, tol=getattr(chosen, "tol", 0.0) or 0.0)
    answer = chosen.run(problem, clock, {} if start is None else start.state)
    if answer.centers is not None:
        problem = replace(problem, centers=answer.centers)
    c, offset = answer.coefficients, answer.offset
    seconds = time.perf_counter() - begun
    stats = answer.stats | {"solver": type(chosen).__name__, "steps": answer.steps, "residual": answer.residual}
    stats |= {"why": why, "fit_seconds": seconds, "tol": clock.tol}
    proof: Certificate | None = None
    if certify != "none":
        proof = prove(problem, c, offset, full=certify == "full" or _cheap(problem, answer), dual=answer.dual)
        stats["certificate_seconds"] = time.perf_counter() - begun - seconds
    return Solution(
        _function(problem, c), _like(problem, c), offset, answer.status, proof, stats, answer.state, problem.centers
    )


def _cheap(problem: Problem, answer: Answer) -> bool:
    """Whether the gap among all functions takes no more kernel values than the solve, or next to none: half of K."""
    n = len(problem.y)
    return problem.centers is None or n <= SMALL or n * n <= answer.stats.get("kernel_values", 0)


def _like(problem: Problem, c: np.ndarray) -> np.ndarray:
    return c[:, 0] if problem.y.ndim == 1 else c


def _function(problem: Problem, c: np.ndarray) -> RKHSFunction | None:
    K, centers = problem.gram, problem.centers
    points = K.points if centers is None else centers.points
    return None if K.kernel is None else RKHSFunction(K.kernel, points, _like(problem, c))
