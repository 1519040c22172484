"""One problem on its way: a working set whose block is at hand, and gradients of all variables in float64.

A round brings in the variables that violate most, lets the block descend, and hands out what moved: the caller turns
that into values K[:, moved] change, which `absorb` adds to the gradients. So several problems advance together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.gram._lines import Lines
from mercer.solvers.dual._descend import Block, descend
from mercer.solvers.dual._exact import Exact
from mercer.solvers.dual._feasible import box, feasible
from mercer.solvers.dual._gap import Gap, shortfall
from mercer.solvers.dual._members import Members
from mercer.solvers.dual._resident import Resident, suits
from mercer.solvers.dual._survey import Standing, levels, survey
from mercer.solvers.dual.quadratic import BoxAnswer, BoxQuadratic
from mercer.solvers.solution import Status

PATIENCE = 5  # rounds without any progress before rounding is taken to forbid it
SHARE_OF_GAP = 0.1  # a block descends until it violates by this share of what the whole does


class Moved(NamedTuple):
    """Variables that moved, by how much, and what it adds to all gradients if the block knew that."""

    at: np.ndarray
    change: np.ndarray
    added: np.ndarray | None


class Front:
    """The state of one problem."""

    def __init__(
        self, problem: BoxQuadratic, start: np.ndarray | None, tol: float, lines: Lines, line: np.ndarray,
        place: np.ndarray, spans: list[tuple[int, int, int]], exact: Exact, diag: np.ndarray,
        threads: int,
    ) -> None:  # fmt: skip  # the problem, then where its rows stand
        self.problem, self.tol, self.lines, self.line, self.place = problem, tol, lines, line, place
        self.spans, self.exact = spans, exact
        self.lo, self.hi = box(problem)
        self.c = feasible(problem, start, self.lo, self.hi)
        self.group = np.ascontiguousarray(problem.group, dtype=np.int64)
        self.sums = len(problem.totals)
        self.ridge = np.ascontiguousarray(problem.ridge, dtype=np.float64)
        self.diag = diag[problem.rows]
        self.F = np.array(problem.linear, dtype=np.float64)
        self.steps, self.round = 0, 0
        self.status: Status | None = None
        self.uncertain = 0.0  # sum of squares of what was added to the gradients since they were exact
        self.idle, self.least_violation = 0, np.inf
        self.resident = suits(lines, line, spans)
        self.members: Members | Resident = (
            Resident(lines, line, place, spans) if self.resident else Members(problem.size, lines, line)
        )
        self.standing: Standing = survey(self.c, self.lo, self.hi, self.F, self.group, self.sums)
        self.threads, self.gap = threads, Gap()

    # ------------------------------------------------------------ a round

    def begin(self) -> None:
        """Add what the starting point asks for to the gradients."""
        moved = np.flatnonzero(self.c)
        if not len(moved):
            return
        self.uncertain = float(self.c @ self.c)
        self.F = np.asarray(self.problem.linear, dtype=np.float64) + self.added(moved, self.c[moved])
        self.standing = survey(self.c, self.lo, self.hi, self.F, self.group, self.sums)

    def choose(self) -> np.ndarray | None:
        """Begin a round: return the lines of variables that come in, or None when it is over."""
        if not self._wanting():
            return None
        return np.asarray(self.line[self.members.choose(self, self.round)])

    def advance(self, most: int, expired: Any) -> Moved:
        """Do the round up to what needs K; return what moved."""
        self.gather()
        self.descend(most, expired)
        return self.moved()

    def gather(self) -> None:
        """Put the working set of the round together."""
        self.members.exchange(self.round, self.threads)
        self._working = self._block()
        self._before = self._working.F.copy()

    def descend(self, most: int, expired: Any) -> None:
        """Let the working set descend."""
        complete = self.members.complete
        tol = 0.5 * self.tol if complete else max(SHARE_OF_GAP * self.standing.violation, 0.5 * self.tol)
        steps, _ = descend(self._working, tol, most, expired)
        self.steps += steps
        self.round += 1

    def moved(self) -> Moved:
        """Return what moved in the round."""
        block, before, complete = self._working, self._before, self.members.complete
        who, at = self.members.who, self.members.at
        change = block.c[at] - self.c[who]
        moved = np.flatnonzero(change)
        if complete or self.resident:
            added = np.empty(len(who))
            added[who] = (block.F - before)[at]
            return Moved(who[moved], change[moved], added)
        moved = moved[np.argsort(who[moved])]
        return Moved(who[moved], change[moved], None)

    def absorb(self, moved: np.ndarray, change: np.ndarray, added: np.ndarray) -> None:
        """Take a step and what it adds to the gradients; less of it should that be too far."""
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

    def added(self, moved: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return Q[:, moved] change: what a change adds to the gradients."""
        lines, v, keep = self.line[moved], change, None
        if len(np.unique(lines)) < len(lines):  # both variables of a row of a regression
            lines, at = np.unique(lines, return_inverse=True)
            v = np.bincount(at, change)
        if self.lines.shared or not self.lines.keeps:
            pass  # shared ones went to the shelf for all problems at once
        elif self.lines.dear or len(lines) < len(moved):
            keep = np.ones(len(lines), bool)
        else:
            c = self.c[moved] + change
            keep = (c > self.lo[moved]) & (c < self.hi[moved])
        values = np.zeros(self.spans[-1][2])
        for segment, a, b in self.spans:
            self.lines.add(lines, v, segment, values[a:b], self.threads, keep)
        added = values[self.place]
        added[moved] += self.ridge[moved] * change
        added += self.problem.shift * float(change.sum())
        return added

    # ------------------------------------------------------------ is it over?

    def left(self) -> float:
        """Return the certified gap, relative to the primal value: it never rises."""
        c, at = self.c, self.standing
        level = 0.5 * (at.least + at.most)[self.group]
        self.gap.met(
            float(c @ (self.F + self.problem.linear)) / 2, shortfall(c, self.lo, self.hi, self.F, self.ridge, level)
        )
        return self.gap.relative

    @property
    def error(self) -> float:
        """An estimate of the error of the gradients."""
        return self.exact.eps * float(np.sqrt(self.uncertain)) * float(self.diag.max(initial=0.0))

    @property
    def doubtful(self) -> bool:
        """Whether it is over unless its gradients, computed anew, say otherwise."""
        return self.standing.violation < self.tol or self.idle >= PATIENCE

    def _wanting(self) -> bool:
        """Whether there is more to do; corrects the gradients when they may not tell."""
        stuck = self.idle >= PATIENCE
        if not self.doubtful:
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

    # ------------------------------------------------------------ the members' block

    def _block(self) -> Block:
        m, who, at = self.members, self.members.who, self.members.at
        dtype = m.G.dtype

        def lanes(values: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
            out = np.zeros(m.width, dtype)
            out[at] = values
            return out

        c = self.c[who]
        level = 0.5 * (self.standing.least + self.standing.most)
        shift = 0.0 if self.sums else float(self.problem.shift)
        diag = lanes(self.diag[who] + self.ridge[who] + shift, dtype)
        return Block(
            m.G, *m.rows(), diag, lanes(self.ridge[who], dtype), shift, lanes(c),
            lanes(np.where(m.there, self.lo[who], c)), lanes(np.where(m.there, self.hi[who], c)),
            lanes(self.F[who]), lanes(self.group[who], np.int64), self.sums, lanes(level[self.group[who]]),
        )  # fmt: skip  # in the order of the record

    # ------------------------------------------------------------ the answer

    def answer(self, stopped: Status) -> BoxAnswer:
        """Return what was found; ``stopped`` is why, unless it is over."""
        c, lo, hi, F = self.c, self.lo, self.hi, self.F
        return BoxAnswer(
            c, F, levels(c, lo, hi, F, self.group, self.sums, self.standing), self.standing.violation, self.steps,
            stopped if self.status is None else self.status,
        )  # fmt: skip  # in the order of the record
