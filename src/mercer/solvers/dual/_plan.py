"""How problems share points: an order of the points in which each problem owns whole segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.solvers.dual.quadratic import BoxQuadratic

MOST_SEGMENTS = 256  # beyond, every problem sees all points


@dataclass(frozen=True, eq=False)
class Plan:
    """An order of the points, cut in segments of points that belong to the same problems.

    Parameters
    ----------
    order : array of shape (m,)
        The points that some problem uses, segment after segment.
    starts : array of shape (s + 1,)
        Where the segments start and end.
    position : array of shape (n,)
        Where each point stands in the order; -1 if nowhere.
    owned : list of arrays
        The segments of each problem.
    problems : sequence of BoxQuadratic
        What was planned for.
    """

    order: np.ndarray
    starts: np.ndarray
    position: np.ndarray
    owned: list[np.ndarray]
    problems: Sequence[BoxQuadratic]

    def local(self, k: int) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
        """Return where each variable of problem k stands among its points, and its segments with their places there."""
        spans, first, offset = [], 0, np.zeros(len(self.starts), np.int64)
        for s in self.owned[k]:
            size = int(self.starts[s + 1] - self.starts[s])
            spans.append((int(s), first, first + size))
            offset[s] = first - self.starts[s]
            first += size
        at = self.position[self.problems[k].rows]
        return at + offset[np.searchsorted(self.starts, at, side="right") - 1], spans


def plan(problems: Sequence[BoxQuadratic]) -> Plan:
    """Return the order and segments that suit some problems."""
    n = problems[0].gram.shape[0]
    label = np.zeros(n, np.int64)  # points of one label belong to the same problems
    used = np.zeros((len(problems), n), bool)
    for k, problem in enumerate(problems):
        used[k, problem.rows] = True
        if len(problems) > 1:
            _, label = np.unique(2 * label + used[k], return_inverse=True)
    anywhere = used.any(axis=0)
    if label.max(initial=0) >= MOST_SEGMENTS:
        label, used[:] = np.zeros(n, np.int64), anywhere
    order = np.flatnonzero(anywhere)
    order = order[np.argsort(label[order], kind="stable")]
    _, starts = np.unique(label[order], return_index=True)
    starts = np.append(starts, len(order)).astype(np.int64)
    position = np.full(n, -1, np.int64)
    position[order] = np.arange(len(order))
    owned = [np.flatnonzero(mine[order[starts[:-1]]]) for mine in used]
    return Plan(order, starts, position, owned, problems)
