"""Where kernel k-means starts. Every start is a record, and asks for rows of K only.

Points are drawn by one number between 0 and the total weight, laid along the points in the order of (K w)_i. That order
belongs to the data and not to the table they came in: so a point of weight 2 is drawn as two equal points would be, and
shuffled rows give the same clusters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import describe, refuse
from mercer.gram import gram
from mercer.kernels import Linear
from mercer.kernels._views import n_rows
from mercer.solvers.clusters._refine import Groups
from mercer.solvers.clusters._sums import LazySums, Sums
from mercer.solvers.clusters.problem import Clustering


@dataclass(frozen=True, eq=False)
class Ground:
    """What a start may use: the problem, rows of K, and the order in which points are drawn."""

    problem: Clustering
    sums: Sums
    order: np.ndarray
    together: Groups | None = None
    """The points, equal ones in one group, where single ones may be moved."""

    def distances(self, to: np.ndarray) -> np.ndarray:
        """Return the squared distances of all points to some of them, a row each; rounding is cut off at 0."""
        d = self.sums.diagonal
        both = d + d[to, None]
        apart = both - 2.0 * self.sums.rows(to)
        apart[apart <= self.sums.same * both] = 0.0
        apart[np.arange(len(to)), to] = 0.0
        return apart

    def draw(self, mass: np.ndarray, at: Any) -> np.ndarray:
        """Return the points on which the numbers at, in [0, 1), fall when points lie side by side, as wide as mass."""
        ends = np.cumsum(mass[self.order])
        place = np.searchsorted(ends, np.asarray(at) * ends[-1], side="right")
        return self.order[np.minimum(place, np.flatnonzero(mass[self.order] > 0)[-1])]


class Start(ABC):
    """How the first partition is made."""

    drawn = True
    """Whether another run may start elsewhere."""

    @abstractmethod
    def labels(self, ground: Ground, rng: np.random.Generator) -> np.ndarray:
        """Return a first partition; some clusters may be empty."""


@dataclass(frozen=True)
class PlusPlus(Start):
    """k-means++ in feature space: each next centre is a point drawn in proportion to w_i times its squared distance.

    Of 2 + log k points drawn the one that leaves the least distance is taken. Cost: about k log k rows of K.
    """

    def labels(self, ground: Ground, rng: np.random.Generator) -> np.ndarray:
        """Return the nearest of k points for each point."""
        w, k = ground.problem.weights, ground.problem.n_clusters
        trials = 2 + int(np.log(k))
        apart = ground.distances(ground.draw(w, rng.random(1)))[0]
        label = np.zeros(len(w), np.int64)
        for c in range(1, k):
            mass, at = w * apart, rng.random(trials)
            if not mass.any():
                break
            candidates = np.minimum(ground.distances(ground.draw(mass, at)), apart)
            left = candidates @ w
            least = candidates[int(np.flatnonzero(left <= left.min() * (1 + 1e-12))[0])]
            label[least < apart] = c
            apart = least
        return label


@dataclass(frozen=True)
class RandomPoints(Start):
    """k different points, drawn by weight; each point joins the nearest. Cost: k rows of K."""

    def labels(self, ground: Ground, rng: np.random.Generator) -> np.ndarray:
        """Return the nearest of k points for each point."""
        return _nearest_of(ground, _different_points(ground, rng))


@dataclass(frozen=True)
class OneStep(Start):
    """One step of ordinary k-means on the rows of X from k random points: the start for a table of numbers.

    Points join the nearest of k points, then the nearest of the means of those clusters. Cost: k rows of X'X.
    """

    def labels(self, ground: Ground, rng: np.random.Generator) -> np.ndarray:
        """Return the clusters of the second step."""
        problem = ground.problem
        X = problem.gram.points
        if problem.gram.kernel is None or not _is_table(X):
            refuse(
                "OneStep",
                "one step of k-means needs a table of numbers",
                describe(X),
                "Start with k-means++ or at random.",
            )
        linear = Clustering(
            gram(Linear(), X, engine=replace(problem.gram.engine, precision="double")),
            problem.n_clusters,
            problem.weight,
        )
        sums = LazySums(linear.gram, linear.n_clusters, linear.weights, linear.diagonal)
        inner = Ground(linear, sums, ground.order)
        sums.follow(_nearest_of(inner, _different_points(inner, rng)))
        sizes = np.where(sums.sizes > 0, sums.sizes, 1.0)
        offset = np.where(sums.sizes > 0, sums.within() / sizes**2, np.inf)
        return sums.nearest(-2.0 / sizes, offset)[2]


@dataclass(frozen=True, eq=False)
class GivenLabels(Start):
    """A partition that is given.

    Parameters
    ----------
    given : array of shape (n,)
        Integers from 0 to k - 1.
    """

    given: Any
    drawn = False

    def labels(self, ground: Ground, rng: np.random.Generator) -> np.ndarray:
        """Return a copy of it."""
        label, k = np.asarray(self.given), ground.problem.n_clusters
        n = ground.sums.n
        if label.shape != (n,) or label.dtype.kind not in "iu" or label.min() < 0 or label.max() >= k:
            refuse("GivenLabels", f"labels must be {n} integers from 0 to {k - 1}", describe(self.given))
        return label.astype(np.int64)


@dataclass(frozen=True, eq=False)
class GivenCentres(Start):
    """Points that are given; each point joins the nearest in feature space.

    Parameters
    ----------
    given : as the points of the Gram
        k points.
    """

    given: Any
    drawn = False

    def labels(self, ground: Ground, rng: np.random.Generator) -> np.ndarray:
        """Return the nearest of the given points for each point."""
        K, k = ground.problem.gram, ground.problem.n_clusters
        if K.kernel is None:
            refuse("GivenCentres", "centres need a kernel", "a matrix", "Give labels instead.")
        if n_rows(self.given) != k:
            refuse("GivenCentres", f"there must be {k} centres, one a cluster", n_rows(self.given))
        engine = replace(K.engine, precision="double")
        own = gram(K.kernel, self.given, engine=engine).diag()
        return (own - 2.0 * gram(K.kernel, K.points, self.given, engine).block()).argmin(axis=1)


def _is_table(X: Any) -> bool:
    """Whether X is a table of numbers."""
    return sparse.issparse(X) or (hasattr(X, "shape") and np.asarray(X[:1]).dtype.kind in "fiub")


def _different_points(ground: Ground, rng: np.random.Generator) -> np.ndarray:
    """Return up to k points, no two of them equal in feature space."""
    mass, chosen = ground.problem.weights.copy(), []
    for at in rng.random(ground.problem.n_clusters):
        if not mass.any():
            break
        point = ground.draw(mass, [at])
        mass[ground.distances(point)[0] == 0.0] = 0.0
        chosen.append(point[0])
    return np.array(chosen)


def _nearest_of(ground: Ground, points: np.ndarray) -> np.ndarray:
    """Return which of some points is nearest to each."""
    best, label = np.full(ground.sums.n, np.inf), np.zeros(ground.sums.n, np.int64)
    for c, point in enumerate(points):
        apart = ground.distances(np.array([point]))[0]
        label[apart < best] = c
        best = np.minimum(best, apart)
    return label
