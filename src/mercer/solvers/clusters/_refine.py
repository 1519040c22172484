"""Points that change clusters one at a time, after Lloyd's steps have come to rest (Hartigan's rule).

Lloyd's step compares distances to means that stay where they are. But a point takes its weight w with it, and the two
means move: to leave cluster a lowers the objective by w W_a / (W_a - w) d_a^2, to join cluster b raises it by
w W_b / (W_b + w) d_b^2. A partition that no such move improves is a fixed point of Lloyd's algorithm too; the reverse
does not hold, least of all for narrow kernels, whose points are each a large part of their own mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.gram._make import SMALL
from mercer.solvers.clusters._descend import Run, means_of
from mercer.solvers.clusters._sums import StoredSums, Sums
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

SWEEPS = 50


@dataclass(frozen=True, eq=False)
class Groups:
    """The points in an order in which equal ones are neighbours, and where each group of equal ones begins."""

    order: np.ndarray
    starts: np.ndarray

    def members(self, group: int) -> np.ndarray:
        """Return the points of a group."""
        end = self.starts[group + 1] if group + 1 < len(self.starts) else len(self.order)
        return self.order[self.starts[group] : end]


def groups(sums: StoredSums, order: np.ndarray) -> Groups:
    """Return the points, equal ones together: they move together, so that two of them are one of double weight."""
    first, then, d = order[:-1], order[1:], sums.diagonal
    apart = d[first] + d[then] - 2.0 * sums.values[first, then]
    differ = np.flatnonzero(apart > sums.same * (d[first] + d[then])) + 1
    return Groups(order, np.concatenate([[0], differ]))


def refine(sums: Sums, run: Run, together: Groups, clock: Clock) -> Run:
    """Move groups of equal points, each where it lowers the objective most, until no move lowers it.

    The sums must belong to the partition of the run. Cost: n k a sweep, and n a move.
    """
    first = together.order[together.starts]
    moving = _Moving(sums, np.add.reduceat(sums.weights[together.order], together.starts), first)
    moves = 0
    for _ in range(SWEEPS):
        gain = moving.gains()
        likely = np.flatnonzero(gain > 0)
        before = moves
        for at in likely[np.argsort(-gain[likely], kind="stable")]:
            again, to = moving.gain_of(int(at))
            if again > 0:
                moving.move(at, together.members(at), to)
                moves += 1
        if moves == before or clock.step(run.steps, (moves - before) / len(first)) is not None:
            break
    objective = means_of(sums).objective
    history = [*run.objectives, objective]
    return Run(sums.labels.copy(), objective, run.steps, Status.CONVERGED, history, run.moved + moves)


class _Moving:
    """Sums whose clusters' sizes and sums within are kept up too, as single groups of points move."""

    def __init__(self, sums: Sums, u: np.ndarray, first: np.ndarray) -> None:
        self.sums, self.u, self.first, self.W, self.S = sums, u, first, sums.sizes, sums.within()
        self.small = sums.n**2 <= SMALL
        self.weight = np.zeros(sums.n)  # of a group, at its first point
        self.weight[first] = u
        self.apart, self.gain, self.to = np.empty(sums.n), np.empty(sums.n), np.zeros(sums.n, np.int64)

    def gains(self) -> np.ndarray:
        """Return by how much the best move of each group lowers the objective, beyond rounding."""
        sums = self.sums
        if self.small:
            return self._plain(np.arange(len(self.first)))[0]
        sums.each_piece(self._compiled, sums.n * sums.k)
        return self.gain[self.first]

    def gain_of(self, at: int) -> tuple[float, int]:
        """Return by how much the best move of one group lowers the objective, and where to."""
        if self.small:
            gain, to = self._plain(np.array([at]))
            return float(gain[0]), int(to[0])
        i = int(self.first[at])
        self._compiled(i, i + 1)
        return float(self.gain[i]), int(self.to[i])

    def _compiled(self, a: int, b: int) -> None:
        from mercer.solvers.clusters import _passes

        s = self.sums
        _passes.gains(
            s.G, self.weight, s.labels, s.diagonal, self.W, self.S, s.same, a, b, self.apart, self.gain, self.to
        )

    def _plain(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the same of some groups, where compiling would take longer."""
        sums, rows, u, W = self.sums, self.first[at], self.u[at], self.W[:, None]
        d, own, here = sums.diagonal[rows], sums.labels[rows], np.arange(len(at))
        there = np.where(W > 0, W, 1.0)
        apart = np.maximum(d + self.S[:, None] / there**2 - 2.0 * sums.G[:, rows] / there, 0.0)
        rest = self.W[own] - u
        alone = rest <= 1e-12 * self.W[own]
        leaving = np.where(alone, 0.0, u * self.W[own] / np.where(alone, 1.0, rest) * apart[own, here])
        joining = u * W / (W + u) * apart
        joining[own, here] = np.inf
        to = joining.argmin(axis=0)
        return leaving - joining[to, here] - sums.same * u * d, to

    def move(self, at: int, members: np.ndarray, to: int) -> None:
        """Move a group."""
        sums, i, u = self.sums, self.first[at], self.u[at]
        own, square = sums.labels[i], u * u * sums.diagonal[i]
        self.S[own] += square - 2.0 * u * sums.G[own, i]
        self.S[to] += square + 2.0 * u * sums.G[to, i]
        self.W[own] -= u
        self.W[to] += u
        new = np.full(len(members), to)
        sums.move(members, new)
        sums.labels[members] = new
