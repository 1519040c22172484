"""Kernel k-means by Lloyd's algorithm in feature space: several starts, the best kept, settled in float64."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from mercer._checks import describe, integer, number, refuse
from mercer.gram import Gram, RandomPivots, random_pivots
from mercer.gram.rpcholesky import generator
from mercer.solvers.clusters._descend import Run, descend, means_of, step_from
from mercer.solvers.clusters._features import descend_on
from mercer.solvers.clusters._refine import Groups, groups, refine
from mercer.solvers.clusters._settle import Settled, double, error_of_entries, is_exact, settle, within_clusters
from mercer.solvers.clusters._sums import StoredSums, Sums, sums_of, values_of
from mercer.solvers.clusters.problem import Clustering
from mercer.solvers.clusters.starts import Ground, PlusPlus, Start
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

WHO = "Lloyd"
DOUBLE_UP_TO = 2000  # points: K in double is cheap, and leaves nothing open
TOO_COARSE = 1e-3  # errors of entries, relative to the mean squared distance from the mean: beyond, K in double
STOPPED = (Status.DEADLINE, Status.INTERRUPTED, Status.MAX_STEPS)
CLEARLY = 1e-9  # by which a later start must be better, relative: so the choice does not hang on rounding


@dataclass(frozen=True, eq=False)
class Partition:
    """What a solver found; the sums and the factor are left for whoever goes on from there.

    Parameters
    ----------
    labels : array of int, shape (n,)
        The cluster of each point.
    objective : float
        In float64.
    within : array of shape (k,)
        The sum of w_i w_l K_il over the pairs of each cluster, in float64.
    status : Status
        How the search ended: CONVERGED means that Lloyd's step in float64 leaves the partition alone, or, where K was
        replaced by a factor and no exact steps were asked for, that a step on the factor does.
    exact : bool
        Whether the last steps were taken with K itself.
    steps : int
        Of the best run, and those that settled it.
    stats : dict
        What was done: starts, rank, precision, points moved.
    sums : Sums
        Of kernel values over the clusters.
    factor : RandomPivots, optional
        The factor that stood for K in the starts.
    afresh : bool
        Whether ``within`` comes from kernel values in float64, and not from sums kept up as points moved.
    """

    labels: np.ndarray
    objective: float
    within: np.ndarray
    status: Status
    exact: bool
    steps: int
    stats: dict[str, Any] = field(default_factory=dict)
    sums: Sums | None = field(default=None, repr=False)
    factor: RandomPivots | None = field(default=None, repr=False)
    afresh: bool = False


@dataclass(frozen=True)
class Lloyd:
    """Lloyd's algorithm in feature space, from several starts.

    c_i = argmin_j K_ii - (2 / W_j) sum_{l in j} w_l K_il + (1 / W_j^2) sum_{l, l' in j} w_l w_l' K_ll'. The sums are
    brought up to date by the rows of the points that moved, so that a whole run costs little more than its first step.
    Where K fits in memory it is computed once for all starts. Where it does not, the starts run on a factor F of
    randomly pivoted Cholesky, K ~= F F', and exact steps on rows of K polish the best of them.
    Cost: n^2 kernel values and n^2 k additions at most; then n times the number of moves.

    Parameters
    ----------
    start : Start
        `PlusPlus`, `RandomPoints`, `OneStep`, `GivenLabels` or `GivenCentres`.
    n_init : int
        How many starts; 1 is enough for those that are given.
    max_iter : int
        Most steps of a run.
    tol : float
        A run ends when a step lowers the objective by no more than this share of it; 0 goes on to a fixed point.
    refine : bool
        Whether points then change clusters one at a time where that lowers the objective, which takes runs further than
        Lloyd's steps can; with a K in memory, and not from a start that is given.
    exact : bool
        Whether starts on a factor are polished with K itself.
    memory : {"auto", "stored", "factor"}
        Whether K is kept, or the starts run on a factor; "auto" by what fits in half the engine's memory.
    rank : int, optional
        Of the factor; by default max(300, 4 k), less where n or the memory is small.
    random_state : int, Generator or None
        Where the draws come from.
    """

    start: Start = field(default_factory=PlusPlus)
    n_init: int = 10
    max_iter: int = 300
    tol: float = 0.0
    refine: bool = True
    exact: bool = True
    memory: Literal["auto", "stored", "factor"] = "auto"
    rank: int | None = None
    random_state: Any = None

    def __post_init__(self) -> None:
        """Check the options."""
        integer(WHO, "n_init", self.n_init, 1)
        integer(WHO, "max_iter", self.max_iter, 1)
        number(WHO, "tol", self.tol, 0.0)
        if self.rank is not None:
            integer(WHO, "rank", self.rank, 1)
        if not isinstance(self.start, Start):
            refuse(WHO, "'start' must be a Start", describe(self.start), "For example PlusPlus().", TypeError)
        if self.memory not in ("auto", "stored", "factor"):
            refuse(WHO, "'memory' must be 'auto', 'stored' or 'factor'", describe(self.memory))

    def run(self, problem: Clustering, clock: Clock) -> Partition:
        """Return the best partition found. All points must have a weight."""
        rng = generator(WHO, self.random_state)
        ground, values = self._ground(problem)
        problem = ground.problem
        factor = None if values is not None or problem.gram.kernel is None else self._factor(problem, rng)
        runs = [self._one(ground, factor, rng, clock)]
        for _ in range(1, self.n_init if self.start.drawn else 1):
            if runs[-1].status in (Status.DEADLINE, Status.INTERRUPTED):
                break
            runs.append(self._one(ground, factor, rng, clock))
        best = _best_of(runs)
        stats = {"starts": len(runs), "objectives": [r.objective for r in runs], "moved": best.moved}
        stats |= {"history": best.objectives, "rank": factor.rank if factor else None}
        stats |= {"memory": "stored" if values is not None else "factor" if factor else "lazy"}
        stats |= {"precision": problem.gram.dtype.name}
        return self._finish(ground, best, factor, stats, clock)

    def _one(self, ground: Ground, factor: RandomPivots | None, rng: np.random.Generator, clock: Clock) -> Run:
        """Run from one start."""
        labels, sums = self.start.labels(ground, rng), ground.sums
        if factor is None:
            run = descend(sums, labels, self.max_iter, self.tol, clock)
            return run if ground.together is None else self._refined(ground, ground.together, run, clock)
        w, threads = ground.problem.weights, ground.problem.gram.engine.n_threads
        return descend_on(factor.F, w, labels, ground.problem.n_clusters, self.max_iter, threads, clock)

    def _refined(self, ground: Ground, together: Groups, run: Run, clock: Clock) -> Run:
        """Move single points where that lowers the objective, and take Lloyd's steps again should one be left."""
        if run.status is not Status.CONVERGED:
            return run
        better = refine(ground.sums, run, together, clock)
        if better.moved == run.moved:
            return run
        last = descend(ground.sums, better.labels, self.max_iter, self.tol, clock)
        history = [*better.objectives, *last.objectives]
        return Run(last.labels, last.objective, run.steps + last.steps, last.status, history, better.moved + last.moved)

    def _finish(
        self, ground: Ground, best: Run, factor: RandomPivots | None, stats: dict[str, Any], clock: Clock
    ) -> Partition:
        """Polish the best run with K itself where asked for, and settle in float64 what single leaves open."""
        problem, sums, labels, steps = ground.problem, ground.sums, best.labels, best.steps
        exact, status, within = factor is None or self.exact, best.status, None
        if factor is not None and self.exact and status not in STOPPED:
            run = descend(sums, labels, self.max_iter, self.tol, clock)
            labels, steps, status = run.labels, steps + run.steps, run.status
            stats["polish"] = {"steps": run.steps, "moved": run.moved}
        if exact and status not in STOPPED and self.tol == 0:
            end = self._settled(problem, sums, labels, clock)
            labels, within, status, steps = end.labels, end.within, end.status, steps + end.steps
        within = within_clusters(problem, labels) if within is None else within
        W = np.bincount(labels, problem.weights, problem.n_clusters)
        objective = float(problem.weights @ problem.diagonal) - float((within / np.where(W > 0, W, 1.0)).sum())
        afresh = not is_exact(problem)
        return Partition(labels, objective, within, status, exact, steps, stats, sums, factor, afresh)

    def _settled(self, problem: Clustering, sums: Sums, labels: np.ndarray, clock: Clock) -> Settled:
        """Settle in float64 what single leaves open; once, unless the last steps emptied a cluster."""
        sums.follow(labels)
        while True:
            end = settle(problem, sums, labels, self.max_iter, clock)
            means = means_of(sums)
            labels = step_from(sums, means, end.labels) if len(means.empty) else end.labels
            if end.status is not Status.CONVERGED or len(np.unique(labels)) == len(np.unique(end.labels)):
                return end
            labels = descend(sums, labels, self.max_iter, 0.0, clock).labels

    def _factor(self, problem: Clustering, rng: np.random.Generator) -> RandomPivots:
        n, k = problem.gram.shape[0], problem.n_clusters
        fits = max(2 * k, int(problem.gram.engine.budget / (32 * n)))  # the factor, twice while it is made, and more
        rank = max(300, 4 * k) if self.rank is None else self.rank
        return random_pivots(problem.gram, min(rank, fits, n), random_state=rng)

    def _ground(self, problem: Clustering) -> tuple[Ground, np.ndarray | None]:
        """Return what starts may use, and K if it is kept: in double where that is cheap, or single too coarse."""
        K = problem.gram
        if K.kernel is not None and K.dtype != np.float64 and K.shape[0] <= DOUBLE_UP_TO:
            problem = replace(problem, gram=double(K))
        values = self._values(problem.gram)
        sums = _sums(problem, values)
        known = not self.start.drawn and K.kernel is None  # nothing is drawn, and K is what it is
        heights = np.zeros(K.shape[0]) if known else _heights(sums)
        if problem.gram.kernel is not None and problem.gram.dtype != np.float64 and _too_coarse(problem, heights):
            problem = replace(problem, gram=double(K))
            values = self._values(problem.gram)
            sums = _sums(problem, values)
            heights = _heights(sums)
        order = np.argsort(heights, kind="stable")
        single = self.refine and self.start.drawn and self.tol == 0
        together = groups(sums, order) if single and isinstance(sums, StoredSums) else None
        return Ground(problem, sums, order, together), values

    def _values(self, K: Gram) -> np.ndarray | None:
        values = None if self.memory == "factor" and K.kernel is not None else values_of(K)
        if values is None and self.memory == "stored":
            refuse(WHO, "K must fit in half the memory to be stored", repr(K), "Use memory='auto'.")
        return values


def _sums(problem: Clustering, values: np.ndarray | None) -> Sums:
    return sums_of(problem.gram, problem.n_clusters, problem.weights, problem.diagonal, values)


def _heights(sums: Sums) -> np.ndarray:
    """Return (K w)_i, the sums of one cluster of all points: equal points are equally high, in whatever table."""
    sums.fill(np.zeros(sums.n, np.int64))
    return sums.G[0].copy()


def _too_coarse(problem: Clustering, heights: np.ndarray) -> bool:
    """Whether errors of entries in single count beside the mean squared distance from the mean."""
    w, d = problem.weights, problem.diagonal
    apart = float(w @ d) - float(w @ heights) / float(w.sum())
    return error_of_entries(problem.gram) * float(w @ np.abs(d)) > TOO_COARSE * abs(apart)


def _best_of(runs: list[Run]) -> Run:
    best = runs[0]
    for run in runs[1:]:
        if run.objective < best.objective - CLEARLY * abs(best.objective):
            best = run
    return best
