"""The solver for losses whose dual is a quadratic problem over a box: hinge, epsilon-insensitive, quantile, absolute.

With loss*(y, u) = y u + spread |u| + ridge u^2 / 2 on lowest <= u <= highest, and u_i = -lam c_i / w_i, the dual is

    minimise over c:  c'K c / 2 - y'c + spread |c| + sum_i (lam ridge / w_i) c_i^2 / 2,
                      -w_i highest_i <= lam c_i <= -w_i lowest_i,  and sum c = 0 where b is free.

Where there is a spread, a row takes two variables, one a sign.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.losses import Boxed, shortfall, slope, traits, value
from mercer.solvers._feasible import feasible
from mercer.solvers._guess import Guess, guess
from mercer.solvers._line import best_offset
from mercer.solvers._polish import bounds, polished
from mercer.solvers._present import present
from mercer.solvers._solver import Answer, Solver
from mercer.solvers._spread import spread
from mercer.solvers.dual import BoxAnswer, BoxQuadratic, solve_boxes
from mercer.solvers.newton import Newton
from mercer.solvers.problem import Problem
from mercer.solvers.proximal import Proximal
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

TINY = float(np.finfo(np.float64).tiny)
FIRST = 1e-5, 1e-1  # of the spread of the targets: the first violation asked for, the root of tol between them
ROUNDS = 12  # of asking for less
TOGETHER_UP_TO = 3000  # rows: above, targets are solved one after the other
TRIED = 8  # Newton steps on a share of many rows, for losses without jumps in their slope ...
LIGHT = 12  # ... which solve all rows too if they took no more products each
GUESS = 1e-2  # relative gap on the share of the rows whose answer is where many rows begin
FINISHED_UP_TO = 3000  # rows: what gets stuck is finished by another solver ...
PATIENCE = 1000  # ... after so many steps a row


@dataclass(frozen=True)
class BoxDual(Solver):
    """Minimise a loss with a boxed conjugate by its dual, block by block: the solver of support vector machines.

    Each column of targets is a quadratic problem over a box; all advance together and share rows of K
    (`mercer.solvers.dual`). The violation asked for falls until the duality gap is as small as wanted. Up to 1,000
    coefficients inside their bounds are then the solution of one linear system, in which rounding is all that is left.
    Above 6,000 rows the descent begins at what the answer of an eighth of them says; and where the slope of the loss
    has no jumps and Newton steps on that eighth took few products each, all is left to `Newton`.
    Up to 3,000 rows a problem on which the descent gets stuck is handed to `Proximal`.
    Cost: a row of K for each coefficient that is not 0, a few times over; memory for some thousands of rows.

    Parameters
    ----------
    tol : float
        Largest duality gap, relative to the objective.
    max_steps : int
        Steps along pairs of coefficients; -1 for ten million and more.
    floor : float
        Gaps up to it will do, however small the objective is.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Quantile
    >>> from mercer.solvers import BoxDual, HalfSquare, Problem, solve
    >>> X = np.linspace(0, 1, 40).reshape(-1, 1)
    >>> problem = Problem(gram(Gaussian(0.3), X), np.sin(6 * X[:, 0]), Quantile(0.9), HalfSquare(0.1), intercept=True)
    >>> solve(problem, BoxDual(1e-6)).certificate.relative_gap < 2e-6
    True
    """

    tol: float = 1e-4
    max_steps: int = -1
    floor: float = 0.0

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        if traits(problem.loss).boxed is None:
            return "BoxDual needs a loss whose conjugate is quadratic on a box."
        if problem.centers is not None:
            return "BoxDual takes no centres; use Proximal."
        return None if np.min(problem.lam) > 0 else "BoxDual needs lam > 0: without a penalty there may be no minimum."

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""
        rows = np.flatnonzero(problem.weights > 0)
        part = _Part(present(problem, rows), self.floor / self.tol)
        given = state.get("c")
        c = None if given is None or given.shape != (len(problem.y), problem.n_targets) else given[rows]
        if c is None and part.form.ridge > 0 and (found := part.light(clock)) is not None:
            return self._by_newton(problem, clock, rows, found)
        if c is None:
            c = part.guess(dataclasses.replace(self, tol=max(self.tol, GUESS)), clock)
        best, status, steps = None, Status.MAX_STEPS, 0
        first = np.sqrt(self.tol) * (5.0 if part.form.ridge > 0 else 1.0)  # with a ridge gaps are squares of violations
        violation, most = float(np.clip(first, *FIRST)) * spread(part.problem), self.max_steps
        if most < 0 and len(rows) <= FINISHED_UP_TO:
            most = PATIENCE * len(rows)
        for _ in range(ROUNDS):
            answers = part.solved(violation, most, clock, c)
            steps += sum(answer.steps for answer in answers)
            at = part.at(answers)
            exact = polished(part.problem, at.c, at.b)
            at = at if exact is None else min(at, part.priced(*exact), key=lambda one: one.worst)
            best = at if best is None or at.worst < best.worst else best
            ended = next((a.status for a in answers if a.status is not Status.CONVERGED), Status.CONVERGED)
            if best.worst <= self.tol or ended is not Status.CONVERGED:
                status = Status.CONVERGED if best.worst <= self.tol else ended
                break
            violation *= float(np.clip(0.5 * self.tol / at.worst, 1e-3, 0.3))
            c = at.c
        assert best is not None
        if status in (Status.STALLED, Status.MAX_STEPS) and len(rows) <= FINISHED_UP_TO:
            return self._finished(problem, clock)
        full = np.zeros((len(problem.y), problem.n_targets))
        full[rows] = best.c
        return Answer(full, best.b, status, steps, best.worst, {"support": _counts(full)}, {"c": full, "b": best.b})

    def _by_newton(self, problem: Problem, clock: Clock, rows: np.ndarray, found: Guess) -> Answer:
        """Hand over to Newton steps: each takes a few products with K, where pairs would take rows by the thousand."""
        c = np.zeros(problem.targets.shape)
        c[rows] = found.c
        answer = Newton(self.tol).run(problem, clock, {"c": c, "b": found.b})
        return dataclasses.replace(answer, stats=answer.stats | {"finished": "Newton"})

    def _finished(self, problem: Problem, clock: Clock) -> Answer:
        """Hand over to Newton steps on smooth problems: where K is singular up to rounding, pairs hardly advance."""
        found = Proximal(self.tol, floor=self.floor).run(problem, clock, {})
        return dataclasses.replace(found, stats=found.stats | {"finished": "Proximal"})


def _counts(c: np.ndarray) -> tuple[int, ...]:
    return tuple(int(k) for k in (c != 0).sum(axis=0))


@dataclass(frozen=True, eq=False)
class _At:
    """Coefficients, the offset that is best for them, and the largest gap relative to the objective."""

    c: np.ndarray
    b: np.ndarray
    worst: float


@dataclass(frozen=True, eq=False)
class _Part:
    """A problem on the rows that count, as quadratic problems over boxes."""

    problem: Problem
    least: float  # that gaps are relative to

    @property
    def form(self) -> Boxed:
        form = traits(self.problem.loss).boxed
        assert form is not None
        return form

    @property
    def twice(self) -> bool:
        """Whether a row takes two variables."""
        return bool(self.form.spread > 0)

    def solved(self, tol: float, most: int, clock: Clock, c: np.ndarray | None) -> list[BoxAnswer]:
        """Return the answers for all targets, begun at c."""
        boxes = [self.box(k) for k in range(self.problem.n_targets)]
        starts = None if c is None else [self.variables(c[:, k]) for k in range(c.shape[1])]
        if len(boxes) > 1 and len(self.problem.y) > TOGETHER_UP_TO:  # their working sets would not fit side by side
            own = [None] * len(boxes) if starts is None else starts
            return [
                solve_boxes([box], tol=tol, max_steps=most, clock=clock, starts=[start])[0]
                for box, start in zip(boxes, own, strict=True)
            ]
        return solve_boxes(boxes, tol=tol, max_steps=most, clock=clock, starts=starts)

    def guess(self, rough: BoxDual, clock: Clock) -> np.ndarray | None:
        """Return the coefficients that the slopes at the answer of some rows stand for, where there are many."""
        problem = self.problem
        found = guess(problem, lambda few: rough.run(few, clock, {}))
        if found is None:
            return None
        return np.asarray(
            -problem.weights[:, None] * slope(problem.loss, problem.targets, found.f + found.b) / problem.lam
        )

    def light(self, clock: Clock) -> Guess | None:
        """Return the answer of some rows by Newton steps, where there are many rows and its steps took few products."""
        found = guess(self.problem, lambda few: Newton(GUESS, max_steps=TRIED).run(few, clock, {}))
        if found is None or found.answer is None or found.answer.status is not Status.CONVERGED:
            return None
        return found if found.answer.stats["products"] <= LIGHT * found.answer.steps else None

    def variables(self, c: np.ndarray) -> np.ndarray:
        return np.concatenate([np.maximum(c, 0.0), np.minimum(c, 0.0)]) if self.twice else c

    def box(self, k: int) -> BoxQuadratic:
        """Return the problem of one target."""
        problem, n = self.problem, len(self.problem.y)
        y, w, lam = problem.targets, problem.weights, float(problem.lam[k])
        lower, upper = (bound[:, k] for bound in bounds(problem))
        rows, linear = np.arange(n), -y[:, k]
        ridge = lam * self.form.ridge / w
        if self.twice:
            rows, ridge = np.concatenate([rows, rows]), np.concatenate([ridge, ridge])
            linear = np.concatenate([linear + self.form.spread, linear - self.form.spread])
            zero = np.zeros(n)
            lower, upper = np.concatenate([zero, lower]), np.concatenate([upper, zero])
        totals = np.zeros(1 if problem.intercept else 0)
        return BoxQuadratic(problem.gram, rows, linear, lower, upper, totals, np.zeros(len(rows), int), ridge)

    def at(self, answers: list[BoxAnswer]) -> _At:
        """Return where the answers are: f = K c is in their gradients.

        One variable of each row will do: its gradient less the linear part and the ridge is f.
        """
        n, shape = len(self.problem.y), self.problem.targets.shape
        c, f = np.empty(shape), np.empty(shape)
        for k, answer in enumerate(answers):
            box = self.box(k)
            c[:, k] = answer.c.reshape(-1, n).sum(axis=0)
            f[:, k] = (answer.gradient - box.linear - box.ridge * answer.c)[:n]
        levels = [-float(answer.levels[0]) if self.problem.intercept else 0.0 for answer in answers]
        return self.priced(c, f, np.array(levels))

    def priced(self, c: np.ndarray, f: np.ndarray, b: np.ndarray) -> _At:
        """Return c with the offset that is best for f, and the gap as `certify` finds it (but for rounding)."""
        problem = self.problem
        y, w, lam = problem.targets, problem.weights[:, None], problem.lam
        b = best_offset(problem.loss, y, w, f, b) if problem.intercept else b
        u = feasible(problem, -lam * c / w)
        gap = (w * shortfall(problem.loss, y, f + b, u)).sum(axis=0)
        primal = (w * value(problem.loss, y, f + b)).sum(axis=0) + 0.5 * lam * (c * f).sum(axis=0)
        return _At(c, b, float((gap / np.maximum(np.abs(primal), max(self.least, TINY))).max()))
