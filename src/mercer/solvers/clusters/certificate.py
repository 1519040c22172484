"""How far a partition can be from the best possible one: its objective, and a lower bound for all partitions.

With S = diag(sqrt w) and A = S K S the objective of a partition is tr(A) - tr(Y'AY), where the columns of Y,
Y_ic = sqrt(w_i / W_c) for i in c, are orthonormal. So no partition can be below tr(A) less the k largest eigenvalues
of A (Ky Fan). The span of Y always holds u = sqrt(w) / |sqrt(w)|, which gives a bound that is never lower:

    tr(B) - (the k - 1 largest eigenvalues of B),    B = (I - uu') A (I - uu'),

the scatter about the overall mean less what k - 1 directions can explain. This is what is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mercer.gram import RandomPivots, random_pivots
from mercer.gram._in_memory import held, in_memory
from mercer.solvers.clusters import _spectrum
from mercer.solvers.clusters._scatter import Scatter, directions, directions_of
from mercer.solvers.clusters._settle import double, within_clusters
from mercer.solvers.clusters._sums import StoredSums, Sums
from mercer.solvers.clusters.problem import Clustering

RANK = 300


@dataclass(frozen=True, eq=False)
class ClusterCertificate:
    """What was proved of a partition.

    Parameters
    ----------
    objective : float
        sum_i w_i ||phi(x_i) - m_c(i)||^2 in float64, computed afresh from the pairs within clusters.
    bound : float
        No partition into as many clusters has a lower objective.
    fixed_point : bool
        Whether Lloyd's step in float64 leaves the partition alone.
    exact : bool
        Whether the last steps used K itself, or (False) only a factor of low rank in its place.
    precision : str
        What the values behind ``bound`` were computed in; their rounding is allowed for.
    eigenvalues : array
        The largest of B, as they were found.
    """

    objective: float
    bound: float
    fixed_point: bool
    exact: bool
    precision: str
    eigenvalues: np.ndarray = field(repr=False, default_factory=lambda: np.empty(0))

    @property
    def gap(self) -> float:
        """The most by which the objective may exceed the best possible."""
        return max(self.objective - self.bound, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the bound: 0.1 says that no partition is more than 9 % better; inf says nothing."""
        if self.gap == 0.0:
            return 0.0
        return self.gap / self.bound if self.bound > 0 else float("inf")

    def __str__(self) -> str:
        steps = "exact steps" if self.exact else "steps on a factor of low rank"
        rest = "a fixed point of Lloyd's algorithm" if self.fixed_point else "not a fixed point of Lloyd's algorithm"
        far = (
            f"at most {100 * self.relative_gap:.3g} % above it"
            if np.isfinite(self.relative_gap)
            else "any factor above it"
        )
        return "\n".join(
            [
                f"certificate, for {steps}, {rest}",
                f"  objective    {self.objective:.10g}",
                f"  best possible at least {self.bound:.10g}: the objective is {far}",
                f"  eigenvalues from values in {self.precision} precision, rounding allowed for",
            ]
        )


def certify_clusters(
    problem: Clustering,
    labels: np.ndarray,
    *,
    fixed_point: bool = False,
    exact: bool = True,
    sums: Sums | None = None,
    factor: RandomPivots | None = None,
    within: np.ndarray | None = None,
) -> ClusterCertificate:
    """Return the certificate of a partition.

    Cost: the pairs within clusters for the objective. For the bound: up to 1,000 points an eigendecomposition; above, a
    few products with a K in memory, or two passes over one that is not.

    Parameters
    ----------
    problem : Clustering
        What was to be solved.
    labels : array of shape (n,)
        The partition.
    fixed_point, exact : bool
        What the search says of it; see `ClusterCertificate`.
    sums, factor, within
        Left over from the search: a K in memory, a factor whose directions the bound may use, and the sums of
        w_i w_l K_il over the pairs of each cluster, if they come from kernel values in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers import Clustering, certify_clusters
    >>> X = np.array([[0.0, 0.0], [0.0, 2.0], [10.0, 0.0], [10.0, 2.0]])
    >>> proof = certify_clusters(Clustering(gram(Linear(), X), 2), np.array([0, 0, 1, 1]))
    >>> round(proof.objective, 9), round(proof.bound, 9)
    (4.0, 4.0)
    """
    problem, labels = problem.present(), np.asarray(labels)[problem.rows]
    w, d = problem.weights, problem.diagonal
    S = within_clusters(problem, labels) if within is None else within
    W = np.bincount(labels, w, problem.n_clusters)
    there = W > 0
    objective = float(w @ d) - float((S[there] / W[there]).sum())
    stored = sums.values if isinstance(sums, StoredSums) and sums.n == len(w) else None
    found = scatter_bound(problem, labels, stored, factor)
    return ClusterCertificate(objective, found.bound, fixed_point, exact, found.precision, found.eigenvalues)


@dataclass(frozen=True, eq=False)
class ScatterBound:
    """The bound, the precision of the values behind it, and the eigenvalues that were found."""

    bound: float
    precision: str
    eigenvalues: np.ndarray


def scatter_bound(
    problem: Clustering, labels: np.ndarray, stored: np.ndarray | None = None, factor: RandomPivots | None = None
) -> ScatterBound:
    """Return the lower bound for all partitions of points that all have a weight."""
    K, n, j = problem.gram, len(problem.weights), min(problem.n_clusters, len(problem.weights)) - 1
    if n <= _spectrum.DENSE:
        K = double(K)
        scatter = Scatter(K, problem.weights)
        top = _spectrum.of_matrix(scatter.matrix(), j)
    elif stored is not None or K.kernel is None:
        stored = in_memory(K) if stored is None else stored
        K = held(stored, K)
        scatter = Scatter(K, problem.weights, stored, labels)
        top = _spectrum.of_products(directions(scatter), scatter.moments, j)
    else:
        factor = random_pivots(K, RANK, random_state=0) if factor is None else factor
        K = double(K)
        scatter = Scatter(K, problem.weights)
        top = _spectrum.of_products(directions_of(scatter, factor, problem.n_clusters), scatter.moments, j)
    # An error of e sqrt(k_ii k_jj) in each entry has a Frobenius norm of at most e tr(A).
    slack = (1 + np.sqrt(j)) * scatter.error * scatter.size
    precision = "single" if K.dtype == np.float32 and K.kernel is not None else "double"
    return ScatterBound(float(scatter.trace - top.bound - slack), precision, top.values)
