"""The last steps in float64: where tiles in single leave open which mean is nearest, the point is looked at again.

The scores of Lloyd's step from a K in single are right to a bound; points whose two least scores lie farther apart
than it are settled. The others (few, as a rule) get their rows of K in float64. What comes out is a fixed point of
Lloyd's algorithm in float64, for the price of the pairs within clusters and the rows of the points in doubt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.gram import Gram, gram
from mercer.gram._pool import run
from mercer.kernels._views import take
from mercer.solvers.clusters._descend import Means, means_of, step_from
from mercer.solvers.clusters._sums import EPS, StoredSums, Sums
from mercer.solvers.clusters.problem import Clustering, part
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

STATED = 100.0
"""Entries of a Gram are right to this many eps of its dtype, relative to sqrt(k(x, x) k(z, z)), as `gram` states."""
SAMPLE = 64
AT_ONCE = 2048


@dataclass
class Settled:
    """A partition, its sums within clusters in float64, and whether Lloyd's step in float64 leaves it alone."""

    labels: np.ndarray
    within: np.ndarray
    steps: int
    status: Status


def double(K: Gram) -> Gram:
    """Return the same Gram in double precision; one that was given stays as it is."""
    if K.kernel is None or K.engine.precision == "double":
        return K
    return gram(K.kernel, K.points, engine=replace(K.engine, precision="double"))


def error_of_entries(K: Gram) -> float:
    """Return what entries are right to, relative to sqrt(k(x, x) k(z, z)): as stated, or as a sample shows."""
    if K.kernel is None:
        return 0.0
    if K.dtype == np.float64:
        return 128 * EPS
    n = K.shape[0]
    some = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(int))
    fine = double(part(K, some)).block(out=np.empty((len(some), len(some))))
    roots = np.sqrt(np.maximum(np.diagonal(fine), 0.0))
    size = np.where(np.outer(roots, roots) > 0, np.outer(roots, roots), 1.0)
    seen = float((np.abs(K.block(some, some) - fine) / size).max())
    return max(STATED * float(np.finfo(np.float32).eps), 4.0 * seen)


def within_clusters(problem: Clustering, labels: np.ndarray) -> np.ndarray:
    """Return, for each cluster, the sum of w_i w_l K_il over its pairs, in float64 and afresh.

    Cost: the kernel values of the pairs within clusters, about n^2 d / k: small clusters side by side, a thread each.
    """
    threads = problem.gram.engine.n_threads
    members = [np.flatnonzero(labels == c) for c in range(problem.n_clusters)]
    pairs = np.array([float(len(own)) ** 2 for own in members])
    small = pairs <= pairs.sum() / threads
    found = np.zeros(problem.n_clusters)

    def work(c: int, threads: int) -> None:
        found[c] = _between_all(problem.gram, members[c], problem.weights[members[c]], threads)

    for c in np.flatnonzero(~small):
        work(int(c), threads)
    beside = [int(c) for c in np.argsort(-pairs, kind="stable") if small[c] and len(members[c])]
    run(beside, work, threads, lambda: 1)
    return found


def _between_all(K: Gram, members: np.ndarray, w: np.ndarray, threads: int) -> float:
    """Return w'K w over some points, in float64."""
    if K.kernel is not None:
        engine = replace(K.engine, precision="double", threads=threads)
        return float(w @ (gram(K.kernel, take(K.points, members), engine=engine) @ w))
    rows = range(0, len(members), AT_ONCE)
    parts = (w[i : i + AT_ONCE] @ K.block(members[i : i + AT_ONCE], members).astype(np.float64) @ w for i in rows)
    return float(sum(parts))


def _within(problem: Clustering, sums: Sums, labels: np.ndarray) -> np.ndarray:
    """Return the sums within clusters in float64: those kept up, where the values of K are all there is to know."""
    return sums.within() if isinstance(sums, StoredSums) and is_exact(problem) else within_clusters(problem, labels)


def is_exact(problem: Clustering) -> bool:
    """Whether the values of K leave nothing open: they were given, or are in double."""
    return problem.gram.kernel is None or problem.gram.dtype == np.float64


def settle(problem: Clustering, sums: Sums, labels: np.ndarray, max_iter: int, clock: Clock) -> Settled:
    """Go on with Lloyd's steps until none in float64 changes the partition; the objective never rises."""
    error = error_of_entries(problem.gram)
    labels, S = labels.copy(), _within(problem, sums, labels)
    for step in range(max_iter + 1):
        means = means_of(sums, S)
        doubtful = _doubtful(sums, means, labels, error)
        moved, new, change = _look_again(problem, sums, means, labels, doubtful)
        if not len(moved):
            return Settled(labels, S, step, Status.CONVERGED)
        if (stop := clock.step(step, len(moved) / sums.n)) is not None or step == max_iter:
            return Settled(labels, S, step, stop or Status.MAX_STEPS)
        before, previous = labels.copy(), S
        labels[moved] = new
        sums.follow(labels)
        S = S + change if change is not None else _within(problem, sums, labels)
        if means_of(sums, S).objective > means.objective + sums.rounding:
            sums.follow(before)
            return Settled(before, previous, step, Status.STALLED)
    raise AssertionError  # the last step returns


def _doubtful(sums: Sums, means: Means, labels: np.ndarray, error: float) -> np.ndarray:
    """Return the points that may be nearer to another mean than to their own."""
    best, second, nearest = sums.nearest(means.factor, means.offset)
    own = means.offset[labels] + means.factor[labels] * sums.G[labels, np.arange(sums.n)]
    other = np.where(nearest == labels, second, best)
    roots = np.sqrt(np.maximum(sums.diagonal, 0.0))
    sizes = np.where(sums.sizes > 0, sums.sizes, 1.0)
    longest = float((np.bincount(sums.labels, sums.weights * roots, sums.k) / sizes).max())
    reach = 4.0 * error * roots * longest + 16 * EPS * np.abs(sums.diagonal)
    return np.flatnonzero(other < own + reach)


def _look_again(
    problem: Clustering, sums: Sums, means: Means, labels: np.ndarray, doubtful: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the points that Lloyd's step in float64 moves, where to, and what that does to the sums within."""
    if is_exact(problem):
        new = step_from(sums, means, labels)
        moved = np.flatnonzero(new != labels)
        return moved, new[moved], None
    Z = np.zeros((sums.n, sums.k))
    Z[np.arange(sums.n), labels] = sums.weights
    F = np.concatenate([_exact_sums(problem, doubtful[i : i + AT_ONCE], Z) for i in range(0, len(doubtful), AT_ONCE)]
                       or [np.empty((0, sums.k))])  # fmt: skip
    scores = np.where(np.isinf(means.offset), np.inf, means.offset + means.factor * F)
    own = scores[np.arange(len(doubtful)), labels[doubtful]]
    away = own > scores.min(axis=1, initial=np.inf) + 16 * EPS * np.abs(sums.diagonal[doubtful])
    moved, new = doubtful[away], scores[away].argmin(axis=1)
    return moved, new, _change(problem, moved, labels[moved], new, F[away]) if len(moved) else None


def _exact_sums(problem: Clustering, rows: np.ndarray, Z: np.ndarray) -> np.ndarray:
    K = problem.gram
    assert K.kernel is not None
    engine = replace(K.engine, precision="double")
    return np.asarray(gram(K.kernel, take(K.points, rows), K.points, engine=engine) @ Z)


def _change(
    problem: Clustering, moved: np.ndarray, old: np.ndarray, new: np.ndarray, F: np.ndarray
) -> np.ndarray | None:
    """Return what the sums within clusters gain when points move: 2 d'K z + d'K d, d the change of z."""
    if len(moved) > AT_ONCE:
        return None
    w, at = problem.weights[moved], np.arange(len(moved))
    d = np.zeros((len(moved), problem.n_clusters))
    d[at, old] -= w
    d[at, new] += w
    K = double(part(problem.gram, moved)).block(out=np.empty((len(moved), len(moved))))
    return 2.0 * np.einsum("ic,ic->c", d, F) + np.einsum("ic,ic->c", d, K @ d)
