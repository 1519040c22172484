"""One problem on its way: a working set whose block is at hand, and gradients of all variables in float64.

A round brings in the variables that violate most, lets the block descend, and hands out what moved: the caller turns
that into values K[:, moved] change, which `absorb` adds to the gradients. So several problems advance together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram._lines import Lines
from mercer.solvers.dual._descend import Block, descend, whole_lanes
from mercer.solvers.dual._exact import Exact
from mercer.solvers.dual._feasible import box, feasible
from mercer.solvers.dual._survey import Standing, levels, survey, violations
from mercer.solvers.dual.quadratic import BoxAnswer, BoxQuadratic
from mercer.solvers.solution import Status

LEAST_SET, MOST_SET = 4096, 12288  # members: room at first, and at most
PADDING = 16  # numbers between rows of a block: rows a multiple of 4096 bytes apart would fall on each other in cache
PATIENCE = 5  # rounds without any progress before rounding is taken to forbid it
SHARE_OF_GAP = 0.1  # a block descends until it violates by this share of what the whole does


class Front:
    """The state of one problem."""

    def __init__(
        self, problem: BoxQuadratic, start: np.ndarray | None, tol: float, lines: Lines, line: np.ndarray,
        place: np.ndarray, spans: list[tuple[int, int, int]], exact: Exact, diag: np.ndarray,
    ) -> None:  # fmt: skip  # the problem, then where its rows stand
        self.problem, self.tol, self.lines, self.line, self.place = problem, tol, lines, line, place
        self.spans, self.exact = spans, exact
        self.lo, self.hi = box(problem)
        self.c = feasible(problem, start, self.lo, self.hi)
        self.group = np.ascontiguousarray(problem.group, dtype=np.int64)
        self.sums = len(problem.totals)
        self.ridge = np.ascontiguousarray(problem.ridge, dtype=np.float64)
        self.diag = diag[problem.rows]
        self.F = np.asarray(problem.linear, dtype=np.float64) + self.ridge * self.c
        self.F += problem.shift * float(self.c.sum())
        self.steps, self.round = 0, 0
        self.status: Status | None = None
        self.uncertain = 0.0  # sum of squares of what was added to the gradients since they were exact
        self.idle, self.least_violation = 0, np.inf
        n = problem.size
        self.room = min(LEAST_SET, whole_lanes(n))
        self.G = np.zeros((self.room, self.room + PADDING), lines.dtype)
        self.member = np.full(self.room, -1, np.int64)  # slot -> variable
        self.slot = np.full(n, -1, np.int64)  # variable -> slot
        self.stamp = np.zeros(self.room, np.int64)
        self.was_safe = np.zeros(self.room, bool)
        self.rise, self.fall = np.empty(n), np.empty(n)
        self.batch = min(160 if lines.dear else 512, self.room // 4)
        self.standing: Standing = survey(self.c, self.lo, self.hi, self.F, self.group, self.sums)
        self.threads = lines.engine.n_threads

    # ------------------------------------------------------------ a round

    def started(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return what the starting point asks to be added to the gradients."""
        moved = np.flatnonzero(self.c)
        self.uncertain = float(self.c @ self.c)
        return (moved, self.c[moved]) if len(moved) else None

    def begin(self, values: np.ndarray) -> None:
        """Add the values of the starting point to the gradients."""
        self.F += values[self.place]
        self.standing = survey(self.c, self.lo, self.hi, self.F, self.group, self.sums)

    def advance(self, most: int, expired: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Do a round up to what needs K; return variables that moved and by how much, or None when it is over."""
        if not self._wanting():
            return None
        self._members()
        block = self._block()
        at = self.member[self.member >= 0]
        steps, _ = descend(block, max(SHARE_OF_GAP * self.standing.violation, 0.5 * self.tol), most, expired)
        self.steps += steps
        slots = np.flatnonzero(self.member >= 0)
        change = block.c[slots] - self.c[at]
        moved = np.flatnonzero(change)
        order = np.argsort(at[moved])
        moved = moved[order]
        self.round += 1
        return at[moved], change[moved]

    def absorb(self, moved: np.ndarray, change: np.ndarray, values: np.ndarray) -> None:
        """Take a step and what it adds to the values at the problem's points; less of it should that be too far."""
        added = values[self.place]
        added[moved] += self.ridge[moved] * change
        added += self.problem.shift * float(change.sum())
        level = 0.5 * (self.standing.least + self.standing.most)[self.group[moved]]  # drops out: sums of changes are 0
        slope, curve = float(change @ (self.F[moved] - level)), float(change @ added[moved])
        decrease = slope + 0.5 * curve
        if decrease > 0 and curve > 0:  # rounding made the block's model wrong: the best point on the way
            share = min(max(-slope / curve, 0.0), 1.0)
            change, added = share * change, share * added
            decrease = share * slope + 0.5 * share * share * curve
            self.c[moved] += change
        else:
            self.c[moved] = np.clip(self.c[moved] + change, self.lo[moved], self.hi[moved])
        self.F += added
        self.uncertain += float(change @ change)
        self.standing = survey(self.c, self.lo, self.hi, self.F, self.group, self.sums)
        size = abs(float(self.c @ (self.F + self.problem.linear))) / 2
        better = -decrease > 1e-15 * size or self.standing.violation < self.least_violation
        self.idle = 0 if better and len(moved) else self.idle + 1
        self.least_violation = min(self.least_violation, self.standing.violation)

    # ------------------------------------------------------------ is it over?

    @property
    def error(self) -> float:
        """An estimate of the error of the gradients."""
        return self.exact.eps * float(np.sqrt(self.uncertain)) * float(self.diag.max(initial=0.0))

    def _wanting(self) -> bool:
        """Whether there is more to do; corrects the gradients when they may not tell."""
        stuck = self.idle >= PATIENCE
        if self.standing.violation >= self.tol and not stuck:
            return True
        if self.exact.rounded and (self.error > 0.1 * self.tol or (stuck and self.uncertain > 0)):
            self._correct()
            self.idle = 0
            if self.standing.violation >= self.tol:
                return True
        self.status = Status.CONVERGED if self.standing.violation < self.tol else Status.STALLED
        return False

    def _correct(self) -> None:
        """Compute anew, in float64, the gradients of variables that are free or near their level."""
        c, group = self.c, self.group
        level = 0.5 * (self.standing.least + self.standing.most)[group]
        reach = max(20 * self.tol, 20 * self.error, 2 * self.standing.violation)
        near = np.flatnonzero(((c > self.lo) & (c < self.hi)) | (np.abs(self.F - level) < reach))
        used = np.flatnonzero(c)
        rows = np.asarray(self.problem.rows)
        values = self.exact.values(rows[near], rows[used], c[used], self.threads)
        exact = values + self.problem.linear[near] + self.ridge[near] * c[near] + self.problem.shift * float(c.sum())
        self.F[near] = exact
        self.uncertain = 0.0
        self.standing = survey(self.c, self.lo, self.hi, self.F, self.group, self.sums)

    # ------------------------------------------------------------ who is in the working set

    def _members(self) -> None:
        """Let variables that are done with leave, and those that violate most come in."""
        gap = self.standing.violation
        above = 0.1 * gap if self.round else 0.0
        n_rise, n_fall = violations(
            self.c, self.lo, self.hi, self.F, self.group, self.standing.least, self.standing.most, self.slot, above,
            self.rise, self.fall,
        )  # fmt: skip  # one call
        if self.round:
            self._leave()
            half = int(min(max(self.batch, 0.25 * (n_rise + n_fall)), 2048)) // 2
            new = self._strongest(half)
        else:
            new = self._drawn(self.batch)
        new = self._make_room(new)
        free = np.flatnonzero(self.member < 0)[: len(new)]
        new = np.sort(new[: len(free)])
        self.member[free], self.slot[new] = new, free
        self.stamp[free], self.was_safe[free] = self.round, False

    def _drawn(self, half: int) -> np.ndarray:
        """Return some variables of each side at random: at the start all violate alike."""
        rng = np.random.default_rng(0)
        key = rng.random(len(self.lines.order))[self.line]
        sides = []
        for side in (self.rise, self.fall):
            who = np.flatnonzero(side > 0)
            k = min(half, len(who), self.room // 2)
            sides.append(who[np.argpartition(key[who], k - 1)[:k]] if k else who[:0])
        worst = self._strongest(16)
        return np.unique(np.concatenate([*sides, worst]))[: self.room]

    def _strongest(self, half: int) -> np.ndarray:
        """Return the strongest violators of both sides, the strongest first."""
        found, sizes = [], []
        for side in (self.rise, self.fall):
            who = np.flatnonzero(side > 0)
            if len(who) > half:
                who = who[np.argpartition(side[who], len(who) - half)[len(who) - half :]]
            found.append(who)
            sizes.append(side[who])
        return np.concatenate(found)[np.argsort(-np.concatenate(sizes), kind="stable")]

    def _leave(self) -> None:
        """Let members leave that were at a bound, on its right side, in two rounds."""
        slots = np.flatnonzero(self.member >= 0)
        who = self.member[slots]
        g, f, c = self.group[who], self.F[who], self.c[who]
        least, most = self.standing.least[g], self.standing.most[g]
        safe = ((c <= self.lo[who]) & (f > most)) | ((c >= self.hi[who]) & (f < least))
        self._drop(slots[safe & self.was_safe[slots]])
        self.was_safe[:] = False
        self.was_safe[slots[safe]] = True

    def _drop(self, slots: np.ndarray) -> None:
        self.slot[self.member[slots]] = -1
        self.member[slots] = -1

    def _make_room(self, new: np.ndarray) -> np.ndarray:
        """Grow if the free variables need it, else let bound members leave, those deepest on their side first."""
        slots = np.flatnonzero(self.member >= 0)
        who = self.member[slots]
        inside = (self.c[who] > self.lo[who]) & (self.c[who] < self.hi[who])
        n_free = int(inside.sum())
        if len(new) > self.room - len(slots) and n_free > 0.7 * self.room:
            self._grow()
        target = min(self.room, max(LEAST_SET, int(1.25 * n_free) + len(new)))
        excess = len(slots) + len(new) - target
        if excess <= 0:
            return new
        level = 0.5 * (self.standing.least + self.standing.most)[self.group[who]]
        depth = np.where(self.c[who] <= self.lo[who], self.F[who] - level, level - self.F[who])
        depth[inside] = -np.inf
        order = np.argsort(-depth, kind="stable")[:excess]
        order = order[~inside[order]]
        needed = len(new) - (self.room - len(slots))
        if len(order) < min(needed, self.batch // 2):  # full of free variables: even ones leave
            rest = np.setdiff1d(np.arange(len(slots)), order)
            uneven = np.abs(self.F[who[rest]] - level[rest]) > 0.25 * self.standing.violation
            oldest = rest[np.lexsort([self.stamp[slots[rest]], uneven])]
            order = np.concatenate([order, oldest[: max(self.batch // 2, needed // 2) - len(order)]])
        self._drop(slots[order])
        return new

    def _grow(self) -> None:
        room = min(2 * self.room, MOST_SET, whole_lanes(self.problem.size))
        more = room - self.room
        if more <= 0:
            return
        self.member = np.concatenate([self.member, np.full(more, -1)])
        self.stamp = np.concatenate([self.stamp, np.zeros(more, np.int64)])
        self.was_safe = np.concatenate([self.was_safe, np.zeros(more, bool)])
        self.room = room
        self.G = np.zeros((room, room + PADDING), self.lines.dtype)

    # ------------------------------------------------------------ their block

    def _block(self) -> Block:
        """Return the members' block: here all of it is computed anew, members in the order of their variables."""
        old = np.flatnonzero(self.member >= 0)
        who = self.member[old]
        order = np.argsort(who)
        self.stamp[: len(old)] = self.stamp[old[order]]
        safe = self.was_safe[old[order]]
        self.was_safe[:] = False
        self.was_safe[: len(old)] = safe
        self.member[:] = -1
        self.member[: len(old)] = who = who[order]
        self.slot[who] = np.arange(len(old))
        q, size = len(who), whole_lanes(len(who))
        self.lines.block(self.line[who], self.line[who], self.G[:q, :q], self.threads)
        return self._filled(who, q, size)

    def _filled(self, who: np.ndarray, q: int, size: int) -> Block:
        def lanes(values: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
            out = np.zeros(size, dtype)
            out[:q] = values
            return out

        dtype = self.G.dtype
        level = 0.5 * (self.standing.least + self.standing.most)
        shift = 0.0 if self.sums else float(self.problem.shift)
        diag = lanes(self.diag[who] + self.ridge[who] + shift, dtype)
        return Block(
            self.G.reshape(-1), self.G.shape[1], diag, lanes(self.ridge[who], dtype), shift, lanes(self.c[who]),
            lanes(self.lo[who]), lanes(self.hi[who]), lanes(self.F[who]), lanes(self.group[who], np.int64), self.sums,
            lanes(level[self.group[who]]),
        )  # fmt: skip  # in the order of the record

    # ------------------------------------------------------------ the answer

    def answer(self, stopped: Status) -> BoxAnswer:
        """Return what was found; ``stopped`` is why, unless it is over."""
        c, lo, hi, F = self.c, self.lo, self.hi, self.F
        return BoxAnswer(
            c, F, levels(c, lo, hi, F, self.group, self.sums), self.standing.violation, self.steps,
            stopped if self.status is None else self.status,
        )  # fmt: skip  # in the order of the record
