"""How many clusters: the silhouette in feature space and the gap between eigenvalues, both from K alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._checks import integer, refuse
from mercer.gram import Gram
from mercer.gram._in_memory import held
from mercer.solvers.clusters._settle import double
from mercer.solvers.clusters._sums import Sums, sums_of, values_of
from mercer.solvers.clusters.certificate import scatter_bound
from mercer.solvers.clusters.cluster import cluster
from mercer.solvers.clusters.lloyd import DOUBLE_UP_TO, Lloyd
from mercer.solvers.clusters.problem import Clustering


@dataclass(frozen=True, eq=False)
class ClusterCounts:
    """What speaks for each number of clusters.

    Parameters
    ----------
    counts : array of int
        The numbers that were tried, from 2 on.
    silhouettes : array
        For each, the mean silhouette with squared distances in feature space; near 1 is best.
    gaps : array
        For each, how far eigenvalue k - 1 of the scatter lies above eigenvalue k, as a share of itself: k far clusters
        make k - 1 large eigenvalues.
    objectives : array
        For each, the objective of the best partition found.
    """

    counts: np.ndarray
    silhouettes: np.ndarray
    gaps: np.ndarray
    objectives: np.ndarray

    @property
    def best(self) -> int:
        """The number with the largest silhouette; of equal ones the smallest."""
        return int(self.counts[int(self.silhouettes.argmax())])

    @property
    def by_gap(self) -> int:
        """The number with the largest gap."""
        return int(self.counts[int(self.gaps.argmax())])

    def __str__(self) -> str:
        rows = zip(self.counts, self.silhouettes, self.gaps, self.objectives, strict=True)
        lines = [f"{k:>3} {s:>11.4f} {g:>9.4f} {o:>12.6g}" for k, s, g, o in rows]
        said = f"{self.best} by the silhouette, {self.by_gap} by the gap of eigenvalues"
        return "\n".join(["  k  silhouette       gap    objective", *lines, said])


def choose_k(K: Gram, k_max: int = 10, *, weight: Any = None, solver: Lloyd | None = None) -> ClusterCounts:
    """Return what speaks for 2, 3, ..., k_max clusters.

    The silhouette of a point is (b - a) / max(a, b), a its mean squared distance in feature space to the rest of its
    cluster, b the least mean squared distance to another; all of it sums of K over clusters, which k-means has anyway.
    Cost: K once, then for each number what kernel k-means costs.

    Parameters
    ----------
    K : Gram
        On the points.
    k_max : int
        The largest number tried, below the number of points.
    weight : array of shape (n,), optional
        As in `Clustering`.
    solver : Lloyd, optional
        How partitions are searched.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers import choose_k
    >>> X = np.repeat([[0.0], [5.0], [10.0]], 4, axis=0) + np.tile([[0.0], [0.1], [0.2], [0.3]], (3, 1))
    >>> found = choose_k(gram(Gaussian(scale=1.0), X), k_max=5)
    >>> found.best, found.by_gap
    (3, 3)
    """
    problem = Clustering(K, 1, weight).present()
    n, solver = problem.gram.shape[0], solver or Lloyd(random_state=0)
    if integer("choose_k", "k_max", k_max, 2) >= n:
        refuse("choose_k", f"k_max must be below the number of points with a weight, {n}", k_max)
    problem = replace(problem, gram=_kept(problem.gram))
    counts = np.arange(2, k_max + 1)
    silhouettes, objectives = np.empty(len(counts)), np.empty(len(counts))
    for at, k in enumerate(counts):
        asked = replace(problem, n_clusters=int(k))
        found = cluster(asked, solver, certify_as="none")
        sums = sums_of(asked.gram, int(k), asked.weights, asked.diagonal, values_of(asked.gram))
        sums.follow(found.labels)
        silhouettes[at], objectives[at] = silhouette(sums), found.objective
    asked = replace(problem, n_clusters=int(counts[-1]) + 1)
    values = values_of(asked.gram)
    spectrum = scatter_bound(asked, found.labels, values).eigenvalues
    spectrum = np.maximum(np.append(spectrum, np.zeros(k_max + 1)), 0.0)
    above = np.where(spectrum > 1e-6 * spectrum[0], spectrum, np.inf)[counts - 2]  # what is smaller is rounding
    gaps = np.where(np.isinf(above), 0.0, 1.0 - spectrum[counts - 1] / above)
    return ClusterCounts(counts, silhouettes, gaps, objectives)


def _kept(K: Gram) -> Gram:
    """Return K in memory where it fits, so that it is computed once."""
    K = double(K) if K.shape[0] <= DOUBLE_UP_TO else K
    values = values_of(K)
    return K if values is None or K.kernel is None else held(values, K)


def silhouette(sums: Sums) -> float:
    """Return the mean silhouette of the partition that the sums belong to; a point alone in its cluster counts 0."""
    W, labels, at = sums.sizes, sums.labels, np.arange(sums.n)
    there = np.where(W > 0, W, 1.0)[:, None]
    own = np.bincount(labels, sums.weights * sums.diagonal, sums.k)[:, None]
    apart = np.where(W[:, None] > 0, sums.diagonal - 2.0 * sums.G / there + own / there, np.inf)
    others = W[labels] - 1.0
    a = np.maximum(apart[labels, at] * W[labels], 0.0) / np.where(others > 0, others, 1.0)
    apart[labels, at] = np.inf
    b = np.maximum(apart.min(axis=0), 0.0)
    larger = np.maximum(a, b)
    s = np.where((others > 0) & (larger > 0), (b - a) / np.where(larger > 0, larger, 1.0), 0.0)
    return float(sums.weights @ s / sums.weights.sum())
