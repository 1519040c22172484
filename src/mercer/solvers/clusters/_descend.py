"""Lloyd's steps from a partition to one that they leave alone, on sums that follow the points that move."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mercer.solvers.clusters._sums import EPS, Sums
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock


@dataclass
class Run:
    """How a run ended: the best partition, its objective, and that after each step, which never rises."""

    labels: np.ndarray
    objective: float
    steps: int
    status: Status
    objectives: list[float] = field(default_factory=list)
    moved: int = 0


@dataclass(frozen=True)
class Means:
    """The means of a partition as Lloyd's step needs them: ||phi(x_i) - m_c||^2 = K_ii + factor_c G_ci + offset_c."""

    factor: np.ndarray
    offset: np.ndarray
    objective: float

    @property
    def empty(self) -> np.ndarray:
        """The clusters without points."""
        return np.flatnonzero(np.isinf(self.offset))


def means_of(sums: Sums, within: np.ndarray | None = None) -> Means:
    """Return the means of the partition that the sums belong to."""
    W, S = sums.sizes, sums.within() if within is None else within
    there = W > 0
    W = np.where(there, W, 1.0)
    objective = sums.total - float((S / W)[there].sum())
    return Means(np.where(there, -2.0 / W, 0.0), np.where(there, S / W**2, np.inf), objective)


def descend(sums: Sums, labels: np.ndarray, max_iter: int, tol: float, clock: Clock) -> Run:
    """Take Lloyd's steps until none changes the partition. The sums are left belonging to the partition returned.

    A step that would raise the objective is taken back: with exact sums of a psd K there is none, so it means that
    rounding, or a K that is not psd, allows no progress.
    """
    best: Run | None = None
    step = moved = 0
    objectives: list[float] = []
    try:
        while True:
            moved += int(np.count_nonzero(labels != sums.labels)) if step else 0
            sums.follow(labels)
            means = means_of(sums)
            if best is not None and means.objective > best.objective + sums.rounding:
                best.status = Status.STALLED
                break
            slow = best is not None and best.objective - means.objective <= tol * abs(best.objective)
            objectives.append(means.objective)
            best = Run(labels, means.objective, step, Status.MAX_STEPS, objectives, moved)
            new = step_from(sums, means, labels)
            changed = int(np.count_nonzero(new != labels))
            if not changed or (slow and tol > 0):
                best.status = Status.CONVERGED
                break
            if (stop := clock.step(step, changed / len(labels))) is not None:
                best.status = stop
                break
            if step >= max_iter:
                break
            labels, step = new, step + 1
    except KeyboardInterrupt:
        if best is None:
            raise
        best.status = Status.INTERRUPTED
    sums.follow(best.labels)
    return best


def step_from(sums: Sums, means: Means, labels: np.ndarray) -> np.ndarray:
    """Return the nearest mean of each point; where its own is as near, it stays. Empty clusters get a far point."""
    best, _, new = sums.nearest(means.factor, means.offset)
    own = means.offset[labels] + means.factor[labels] * sums.G[labels, np.arange(sums.n)]
    stays = own <= best + 16 * EPS * np.abs(sums.diagonal)
    new = np.where(stays, labels, new)
    empty = np.flatnonzero(np.bincount(new, minlength=sums.k) == 0)
    return _refilled(sums, new, np.maximum(np.minimum(own, best) + sums.diagonal, 0.0), empty) if len(empty) else new


def _refilled(sums: Sums, labels: np.ndarray, apart: np.ndarray, empty: np.ndarray) -> np.ndarray:
    """Give each empty cluster the point farthest from its mean, one after the other; that never raises the objective.

    Where no point is away from its mean (there are fewer different points than clusters) the cluster stays empty.
    """
    labels, d = labels.copy(), sums.diagonal
    count = np.bincount(labels, minlength=sums.k)
    for c in empty:
        free = np.where(count[labels] > 1, apart, 0.0)
        far = int(free.argmax())
        if free[far] <= sums.same * d[far]:
            break
        count[labels[far]] -= 1
        labels[far], count[c] = c, 1
        apart = np.minimum(apart, np.maximum(d + d[far] - 2.0 * sums.rows(np.array([far]))[0], 0.0))
        apart[far] = 0.0
    return labels
