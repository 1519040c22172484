"""Lloyd's steps on explicit features: K = F F' in place of a K that does not fit in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.gram._pool import run
from mercer.solvers.clusters._descend import Run
from mercer.solvers.clusters._sums import EPS
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

ROWS = 8192  # of a task


def descend_on(
    F: np.ndarray, weights: np.ndarray, labels: np.ndarray, k: int, max_iter: int, threads: int, clock: Clock
) -> Run:
    """Take Lloyd's steps on the rows of F until none changes the partition. Cost of a step: 4 n r k flops."""
    squares = float(weights @ np.einsum("ij,ij->i", F, F, dtype=np.float64))
    best: Run | None = None
    for step in range(max_iter + 1):
        W = np.bincount(labels, weights, k)
        centres = _sums(F, weights, labels, k, threads) / np.where(W > 0, W, 1.0)[:, None]
        norms = np.einsum("ij,ij->i", centres, centres)
        objective = squares - float(W @ norms)
        if best is not None and objective > best.objective + 64 * EPS * squares:
            best.status = Status.STALLED
            return best
        best = Run(labels, objective, step, Status.MAX_STEPS)
        new = _nearest(F, centres, np.where(W > 0, norms, np.inf), labels, threads)
        changed = int(np.count_nonzero(new != labels))
        if not changed:
            best.status = Status.CONVERGED
            return best
        if (stop := clock.step(step, changed / len(labels))) is not None:
            best.status = stop
            return best
        labels = new
    assert best is not None
    return best


def _sums(F: np.ndarray, weights: np.ndarray, labels: np.ndarray, k: int, threads: int) -> np.ndarray:
    """Return the weighted sum of the rows of each cluster, (k, r): a task for some rows, added in their order."""
    starts = range(0, len(F), ROWS)
    parts = np.zeros((len(starts), k, F.shape[1]))

    def work(i: int, _: None) -> Iterator[None]:
        rows = slice(i, min(i + ROWS, len(F)))
        onehot = np.zeros((k, rows.stop - i), F.dtype)
        onehot[labels[rows], np.arange(rows.stop - i)] = weights[rows]
        parts[i // ROWS] = onehot @ F[rows]
        yield

    run(starts, work, threads, lambda: None)
    return parts.sum(axis=0)


def _nearest(F: np.ndarray, centres: np.ndarray, norms: np.ndarray, labels: np.ndarray, threads: int) -> np.ndarray:
    new = np.empty_like(labels)
    turned = np.ascontiguousarray(-2.0 * centres.T).astype(F.dtype)

    def work(i: int, _: None) -> Iterator[None]:
        rows = slice(i, min(i + ROWS, len(F)))
        scores = F[rows] @ turned + norms
        least = scores.argmin(axis=1)
        at = np.arange(len(least))
        stays = scores[at, labels[rows]] <= scores[at, least]
        new[rows] = np.where(stays, labels[rows], least)
        yield

    run(range(0, len(F), ROWS), work, threads, lambda: None)
    return new
