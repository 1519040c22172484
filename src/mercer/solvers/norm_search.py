"""Any increasing penalty of the norm, by a search over lam: f is that of (lam / 2) ||f||^2 with lam = Omega'(r) / r.

As lam falls, r = ||f|| grows and s = lam r, the pull of the losses on the norm, falls. For a convex Omega its slope at
r and s meet once. For one that is not convex they may meet several times: every crossing on the path is a stationary
point, those where the slope passes s from below are minima along the path, and the best of them is the answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.losses import slope, value
from mercer.solvers._any_penalty import least_over_norms
from mercer.solvers._solver import Answer, Solver
from mercer.solvers._span import EPS, Span, fresh
from mercer.solvers.penalties import Ball, HalfSquare
from mercer.solvers.problem import Problem
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

DOUBLE_UP_TO = 5000  # rows: norms of f on the path are computed in double precision
MOST = 80  # problems on the path
RATIO = 2.0  # between neighbours on the path of a penalty that is not convex
SHARE = 1e-2  # of the objective at f = 0: gaps are not asked to be small next to less
TINY = float(np.finfo(np.float64).tiny)
Choice = Callable[[Problem], Solver]


@dataclass(frozen=True)
class NormSearch(Solver):
    """Minimise with any increasing penalty of the norm: a search over lam, each problem begun where the last ended.

    Cost: some ten problems with the penalty (lam / 2) ||f||^2, most of them near the last; for penalties that are not
    convex some forty, and the gap is then that to the best of all stationary points, in ``stats["stationary"]``.

    Parameters
    ----------
    inner : callable
        Returns the solver of a problem on the path.
    tol : float
        Largest duality gap, relative to the objective.
    """

    inner: Choice
    tol: float = 1e-6

    def refuses(self, problem: Problem) -> str | None:
        """Return why this solver will not take a problem, or None."""
        on_path = dataclasses.replace(problem, penalty=HalfSquare(1.0))
        return self.inner(on_path).refuses(on_path)

    def run(self, problem: Problem, clock: Clock, state: dict[str, Any]) -> Answer:
        """Return the best answer found; ``state`` is that of an earlier answer, or empty."""
        found, steps, states = [], 0, state.get("paths", [{}] * problem.n_targets)
        for k in range(problem.n_targets):
            path = _Path(self._column(problem, k), self.inner, self.tol, clock, dict(states[k]))
            try:
                path.search() if problem.penalty.convex else path.scan()
            except KeyboardInterrupt:
                path.status = Status.INTERRUPTED
            if path.best is None:
                path.at(1.0)
            found.append(path)
            steps += len(path.points)
        return self._joined(problem, found, steps)

    def _column(self, problem: Problem, k: int) -> Problem:
        return problem if problem.y.ndim == 1 else dataclasses.replace(problem, y=problem.y[:, k], loss=problem.loss)

    def _joined(self, problem: Problem, found: list[_Path], steps: int) -> Answer:
        ends = [path.best for path in found]
        best = [one for one in ends if one is not None]
        c, b = np.column_stack([one.c for one in best]), np.array([one.b for one in best])
        dual = np.stack([one.a for one in best], axis=1)
        if not problem.penalty.convex:  # all of them, as many a target
            dual = np.zeros((*problem.targets.shape, max(len(path.points) for path in found)))
            for k, path in enumerate(found):
                dual[:, k, : len(path.points)] = np.stack([one.a for one in path.points], axis=1)
        ended = next((p.status for p in found if p.status is not Status.CONVERGED), Status.CONVERGED)
        worst = max(path.gap for path in found)
        stats = {"lam": tuple(one.lam for one in best), "inner": found[0].name}
        if not problem.penalty.convex:
            stats["stationary"] = tuple(path.stationary() for path in found)
        paths = [{"lam": one.lam, "inner": one.state} for one in best]
        return Answer(c, b, ended, steps, worst, stats, {"paths": paths}, found[0].problem.centers, dual)


@dataclass(frozen=True, eq=False)
class _Point:
    """The solution for one lam: coefficients, offset, dual point, norm and pull, loss part and objective.

    Whatever f and b, the losses are at least height - s ||f||.
    """

    lam: float
    c: np.ndarray
    b: float
    a: np.ndarray
    r: float
    s: float
    losses: float
    objective: float
    height: float
    miss: float  # log of pull over slope: > 0 where the norm should grow
    lost: bool  # whether rounding leaves no digits of the norm
    state: dict[str, Any]


@dataclass(eq=False)
class _Path:
    """The solutions over lam of one target, as far as they were looked at."""

    problem: Problem
    inner: Choice
    tol: float
    clock: Clock
    state: dict[str, Any]
    points: list[_Point] = field(default_factory=list)
    best: _Point | None = None
    gap: float = np.inf
    status: Status = Status.MAX_STEPS
    name: str = ""
    at_zero: float = 0.0

    def at(self, lam: float) -> _Point:
        """Solve for one lam, begun at the nearest solution there is."""
        near = min(self.points, key=lambda p: abs(np.log(p.lam / lam)), default=None)
        state = self.state.get("inner", {}) if near is None else near.state
        on_path = dataclasses.replace(self.problem, penalty=HalfSquare(float(lam)))
        solver: Any = self.inner(on_path)
        if hasattr(solver, "floor"):
            solver = dataclasses.replace(solver, floor=0.1 * self.tol * SHARE * self.at_zero)
        self.name = type(solver).__name__
        answer = solver.run(on_path, self.clock, state)
        if answer.status in (Status.DEADLINE, Status.INTERRUPTED):
            self.status = answer.status
        if answer.centers is not None:  # the solver chose them: the path goes on with the same
            self.problem = dataclasses.replace(self.problem, centers=answer.centers)
            on_path = dataclasses.replace(on_path, centers=answer.centers)
        point = self._point(on_path, lam, answer)
        self.points.append(point)
        if not self.at_zero:
            self.at_zero = max(abs(self._losses_at_zero(point.b)), TINY)
        if self.best is None or point.objective < self.best.objective:
            self.best = point
        return point

    def _point(self, on_path: Problem, lam: float, answer: Answer) -> _Point:
        problem, c, b = self.problem, answer.coefficients, float(answer.offset[0])
        f, square = self._values(c)
        w, y = problem.weights[:, None], problem.targets
        r = float(np.sqrt(max(square, 0.0)))
        penalty = problem.penalty
        losses = float(np.where(w > 0, w * value(problem.loss, y, f + b), 0.0).sum())
        height, shown, held = losses + lam * r * r, c, r
        lost = bool(4 * EPS * float(np.abs(c[:, 0]) @ self._roots) ** 2 > 0.1 * square) and bool(c.any())
        if isinstance(penalty, Ball) and r > penalty.radius * (1 - 1e-13):  # onto the edge
            held = penalty.radius * (1 - 1e-13)
            shown = held / r * c
            losses = float(np.where(w > 0, w * value(problem.loss, y, held / r * f + b), 0.0).sum())
        if answer.dual is not None:
            a = answer.dual[:, 0]
        elif problem.centers is None:
            a = lam * c[:, 0]
        else:
            a = -(w * slope(problem.loss, y, f + b))[:, 0]
        objective = losses + float(penalty.value(np.array(held)))
        miss = float(np.clip(penalty.mismatch(np.array(r), np.array(lam * r)), -30.0, 30.0))
        return _Point(float(lam), shown[:, 0], b, a, held, lam * r, losses, objective, height, miss, lost, answer.state)

    def _values(self, c: np.ndarray) -> tuple[np.ndarray, float]:
        problem = self.problem
        if problem.centers is not None:
            span = self._span
            return np.asarray(span.columns @ c, dtype=np.float64), float((c * (span.square @ c)).sum())
        K = fresh(problem.gram) if len(problem.y) <= DOUBLE_UP_TO else problem.gram
        f = np.asarray(K @ c, dtype=np.float64)
        return f, float((c * f).sum())

    @property
    def _roots(self) -> np.ndarray:
        """The norms of the sections f is made of."""
        problem = self.problem
        diag = problem.gram.diag() if problem.centers is None else np.diagonal(self._span.square)
        return np.sqrt(np.maximum(diag, 0.0))

    @property
    def _span(self) -> Span:
        if "span" not in self.state:
            self.state["span"] = Span(self.problem)
        found: Span = self.state["span"]
        return found

    # ------------------------------------------------------------ a convex penalty

    def price(self, point: _Point) -> float:
        """Return what a point of the path misses of the optimum, relative to the objective, as its own dual shows."""
        penalty = self.problem.penalty
        s = min(point.s, penalty.most)
        conj = float(np.ravel(penalty.conjugate(np.array([s])))[0])
        shrunk = (point.s - s) / max(point.s, TINY) * abs(point.height)
        return max(point.objective - point.height + conj + shrunk, 0.0) / self._size(point)

    def _size(self, point: _Point) -> float:
        """Return what gaps are relative to: the objective, but no less than a share of what f = 0 costs."""
        return max(abs(point.objective), SHARE * self.at_zero)

    def _losses_at_zero(self, b: float) -> float:
        w, y = self.problem.weights[:, None], self.problem.targets
        return float(np.where(w > 0, w * value(self.problem.loss, y, np.full_like(y, b)), 0.0).sum())

    def zero(self, point: _Point) -> _Point | None:
        """Return f = 0 with a point's dual, where that is as good."""
        losses = self._losses_at_zero(point.b)
        objective = losses + float(self.problem.penalty.value(np.array(0.0)))
        if objective > point.objective * (1 + 0.1 * self.tol):
            return None
        return dataclasses.replace(point, c=0 * point.c, r=0.0, losses=losses, objective=objective)

    def take(self, point: _Point) -> bool:
        """Keep a point that is good enough; return whether the search is over."""
        if self.status in (Status.DEADLINE, Status.INTERRUPTED):  # the point is not what it was to be
            return True
        if point.lost:
            self.status = Status.STALLED
            return True
        price = self.price(point)
        if price < self.gap:
            self.best, self.gap = point, price
        if price <= 0.5 * self.tol:
            if point.miss < 0 and (none := self.zero(point)) is not None:
                self.best = none
            self.status = Status.CONVERGED
            return True
        return self._told()

    def _told(self) -> bool:
        stop = self.clock.step(len(self.points), self.gap)
        if stop is not None:
            self.status = stop
        return stop is not None

    def search(self) -> None:
        """Bracket the lam at which slope and pull meet, and close in on it."""
        point = self.at(self.state.get("lam", 1.0))
        low = high = None
        factor = 8.0
        while low is None or high is None:
            if self.take(point):
                return
            low, high = (low, point) if point.miss > 0 else (point, high)
            if low is not None and high is not None:
                break
            lam = point.lam / factor if point.miss > 0 else point.lam * factor
            factor = 16.0
            if not 1e-14 < lam < 1e200 or len(self.points) > MOST:
                self.status = Status.STALLED
                return
            point = self.at(lam)
        self._close(low, high)

    def _close(self, low: _Point, high: _Point) -> None:
        """Regula falsi in the logarithm of lam, the Illinois way, between points whose misses differ in sign."""
        miss_low, miss_high, side = low.miss, high.miss, 0
        while len(self.points) < MOST:
            x, z = np.log(low.lam), np.log(high.lam)
            share = miss_low / (miss_low - miss_high)
            share = float(np.clip(share, 0.02, 0.98)) if abs(z - x) > 1 else share
            if abs(z - x) < 1e-13:
                break
            point = self.at(float(np.exp(x + share * (z - x))))
            if self.take(point):
                return
            if point.miss > 0:
                high, miss_high = point, point.miss
                miss_low, side = (0.5 * miss_low if side == 1 else low.miss), 1
            else:
                low, miss_low = point, point.miss
                miss_high, side = (0.5 * miss_high if side == -1 else high.miss), -1
        self.status = Status.STALLED if self.status is Status.MAX_STEPS else self.status

    # ------------------------------------------------------------ a penalty that is not convex

    def scan(self) -> None:
        """Walk the path both ways, close in on every crossing, and add points where the bound is least."""
        first = self.at(self.state.get("lam", 1.0))
        for factor in (RATIO, 1 / RATIO):
            point = first
            while len(self.points) < MOST and not self._ended(point, factor):
                point = self.at(point.lam * factor)
                if self.status in (Status.DEADLINE, Status.INTERRUPTED) or self._told():
                    return
        for low, high in self._crossings():
            self._settle(low, high)
        if (none := self.zero_of_all()) is not None:
            self.best = none
        for _ in range(MOST):
            self.gap = self._bound_gap()
            if self.gap <= self.tol:
                self.status = Status.CONVERGED
                return
            lam = self._where_least()
            if lam is None or self.status in (Status.DEADLINE, Status.INTERRUPTED):
                break
            self.at(lam)
        self.status = Status.STALLED if self.status is Status.MAX_STEPS else self.status

    def _ended(self, point: _Point, factor: float) -> bool:
        if not 1e-12 < point.lam < 1e12:
            return True
        if factor > 1:
            return point.r * point.s <= 1e-9 * max(point.losses, TINY)
        best = self.best
        assert best is not None
        if point.losses < 0.1 * self.tol * abs(best.objective):  # a larger norm only costs more
            return True
        omega = self.problem.penalty.value(np.array([0.0, point.r]))
        return float(omega[1] - omega[0]) > 1.5 * (best.objective - float(omega[0])) or (
            point.miss < -3 and point.r > 1e3 * max(best.r, TINY)
        )

    def _ordered(self) -> list[_Point]:
        return sorted(self.points, key=lambda p: p.lam)

    def _crossings(self) -> list[tuple[_Point, _Point]]:
        path = self._ordered()
        return [(p, q) for p, q in pairwise(path) if p.miss * q.miss <= 0]

    def _settle(self, low: _Point, high: _Point) -> None:
        """Bisect between two points whose misses differ in sign."""
        for _ in range(24):
            if abs(low.miss) < 1e-7 or abs(high.miss) < 1e-7 or np.log(high.lam / low.lam) < 1e-10:
                return
            share = float(np.clip(low.miss / (low.miss - high.miss), 0.1, 0.9))
            middle = self.at(float(np.exp(np.log(low.lam) + share * np.log(high.lam / low.lam))))
            low, high = (middle, high) if middle.miss * low.miss > 0 else (low, middle)

    def zero_of_all(self) -> _Point | None:
        """Return f = 0 where no point of the path is better."""
        last = max(self.points, key=lambda p: p.lam)
        none = self.zero(dataclasses.replace(last, objective=np.inf))
        assert none is not None
        return none if self.best is None or none.objective <= self.best.objective else None

    def _planes(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([0.0, *(p.height for p in self.points)]), np.array([0.0, *(p.s for p in self.points)])

    def _bound_gap(self) -> float:
        assert self.best is not None
        low = least_over_norms(self.problem.penalty, *self._planes(), self.best.objective)
        return (self.best.objective - low) / self._size(self.best)

    def _where_least(self) -> float | None:
        """Return a lam between the two neighbours whose planes meet where the bound is least."""
        heights, pulls = self._planes()
        r = np.unique(np.concatenate([[p.r for p in self.points], _between([p.r for p in self.points])]))
        bound = self.problem.penalty.value(r) + (heights[:, None] - pulls[:, None] * r).max(axis=0)
        at = float(r[bound.argmin()])
        path = self._ordered()
        for p, q in pairwise(path):
            if q.r <= at <= p.r and q.lam > p.lam * (1 + 1e-9):
                return float(np.sqrt(p.lam * q.lam))
        return None

    def stationary(self) -> tuple[tuple[float, float, str], ...]:
        """Return norm, objective and kind of every stationary point found on the path."""
        found = []
        for p, q in self._crossings():
            near = p if abs(p.miss) < abs(q.miss) else q
            found.append((near.r, near.objective, "minimum" if p.miss <= 0 <= q.miss else "maximum"))
        last = max(self.points, key=lambda p: p.lam)
        if last.miss < 0:
            none = self.zero(dataclasses.replace(last, objective=np.inf))
            assert none is not None
            found.append((0.0, none.objective, "minimum"))
        found.sort()
        apart = [k for k in range(len(found)) if k == 0 or found[k][0] > found[k - 1][0] * (1 + 1e-5) + TINY]
        return tuple(found[k] for k in apart)


def _between(r: list[float]) -> np.ndarray:
    ends = np.sort(r)
    return np.asarray(ends[:-1, None] + np.diff(ends)[:, None] * np.linspace(0.05, 0.95, 19)).ravel()
