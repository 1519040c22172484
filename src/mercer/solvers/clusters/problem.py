"""What is minimised: the weighted distances of points to the means of their clusters, in feature space."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._checks import describe, integer, refuse
from mercer.gram import Gram, from_matrix, gram
from mercer.kernels._views import take

WHO = "Clustering"


@dataclass(frozen=True, eq=False)
class Clustering:
    """minimise over partitions of n points in k clusters:  sum_i w_i ||phi(x_i) - m_c(i)||^2,  m_c the weighted means.

    With W_c the weight of cluster c this is sum_i w_i K_ii - sum_c (1 / W_c) sum_{i, l in c} w_i w_l K_il, so that
    points are never needed, only K.

    Parameters
    ----------
    gram : Gram
        K on the points.
    n_clusters : int
        k, at most the number of points with a weight.
    weight : array of shape (n,), optional
        w; a weight of 2 is a point repeated, a weight of 0 a point absent.
    """

    gram: Gram
    n_clusters: int
    weight: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Check the parts against each other."""
        n = self.gram.shape[0]
        if self.gram.shape[1] != n:
            refuse(WHO, "its Gram must be of the points with themselves", f"shape {self.gram.shape}")
        w = None if self.weight is None else np.asarray(self.weight, dtype=np.float64)
        if w is not None and (w.shape != (n,) or not np.isfinite(w).all() or (w < 0).any() or not (w > 0).any()):
            refuse(WHO, f"weight must be {n} finite numbers >= 0, not all 0", describe(w))
        object.__setattr__(self, "weight", w)
        present = n if w is None else int(np.count_nonzero(w))
        if integer(WHO, "n_clusters", self.n_clusters, 1) > present:
            got = f"n_clusters={self.n_clusters} and n_samples={present}"
            refuse(WHO, "n_clusters must be at most the number of points with a weight", got, "Ask for fewer clusters.")

    @cached_property
    def weights(self) -> np.ndarray:
        """The weights, ones if there are none."""
        return np.ones(self.gram.shape[0]) if self.weight is None else self.weight

    @cached_property
    def diagonal(self) -> np.ndarray:
        """k(x_i, x_i), in float64."""
        return self.gram.diag()

    @cached_property
    def rows(self) -> np.ndarray:
        """The points with a positive weight."""
        return np.flatnonzero(self.weights > 0)

    def present(self) -> Clustering:
        """Return the same problem without the points of weight 0."""
        if len(self.rows) == self.gram.shape[0]:
            return self
        return Clustering(part(self.gram, self.rows), self.n_clusters, self.weights[self.rows])


def part(K: Gram, rows: np.ndarray) -> Gram:
    """Return K on some of its points."""
    if K.kernel is None:
        return from_matrix(K.block(rows, rows), K.engine)
    return gram(K.kernel, take(K.points, rows), engine=K.engine)
