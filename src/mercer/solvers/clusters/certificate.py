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

from mercer.gram import Gram, RandomPivots, random_pivots, sum_of_squares
from mercer.gram._in_memory import held, in_memory, times_in_double
from mercer.solvers.clusters import _spectrum
from mercer.solvers.clusters._settle import double, error_of_entries, within_clusters
from mercer.solvers.clusters._sums import StoredSums, Sums
from mercer.solvers.clusters.problem import Clustering

EPS = _spectrum.EPS
DIRECTIONS = 120  # about as many are looked at
RANK = 300
BESIDE = 10  # directions beyond k - 1 that are looked at


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
    sums, factor
        Left over from the search: a K in memory, a factor whose directions the bound may use.

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
    S, W = within_clusters(problem, labels), np.bincount(labels, w, problem.n_clusters)
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
    n = len(problem.weights)
    if stored is None and factor is None and n > _spectrum.DENSE and problem.gram.kernel is not None:
        factor = random_pivots(problem.gram, RANK, random_state=0)
    K = double(problem.gram) if n <= _spectrum.DENSE or stored is None else held(stored, problem.gram)
    scatter = Scatter(K, problem.weights, in_memory=n > _spectrum.DENSE and factor is None)
    j = min(problem.n_clusters, n) - 1
    if n <= _spectrum.DENSE:
        top = _spectrum.of_matrix(scatter.matrix(), j)
    else:
        V = _directions(scatter, labels, problem.n_clusters, factor)
        top = _spectrum.of_products(V, scatter.times(V), scatter.squares(), j)
    # An error of e sqrt(k_ii k_jj) in each entry has a Frobenius norm of at most e tr(A).
    slack = (1 + np.sqrt(j)) * scatter.error * scatter.size
    precision = "single" if K.dtype == np.float32 and K.kernel is not None else "double"
    return ScatterBound(float(scatter.trace - top.bound - slack), precision, top.values)


class Scatter:
    """B = (I - uu') S K S (I - uu'), through products."""

    def __init__(self, K: Gram, weights: np.ndarray, *, in_memory: bool) -> None:
        self.K, self.roots, self.weights, self.in_memory = K, np.sqrt(weights), weights, in_memory
        self.u = self.roots / np.linalg.norm(self.roots)
        d = K.diag()
        self.size = float(weights @ np.abs(d))
        self.error = error_of_entries(K) + (128 + len(d)) * EPS
        self.Au = self._scaled(self.u[:, None])[:, 0]
        self.trace = float(weights @ d) - float(self.u @ self.Au)

    def _scaled(self, V: np.ndarray) -> np.ndarray:
        """Return A V, in float64."""
        SV = self.roots[:, None] * V
        if self.in_memory:
            return self.roots[:, None] * times_in_double(in_memory(self.K), SV, self.K.engine.n_threads)
        return self.roots[:, None] * (self.K @ SV)

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return B V, in float64."""
        return self._centred(self._scaled(self._centred(V)))

    def roughly(self, V: np.ndarray) -> np.ndarray:
        """Return B V in the precision of K: enough to find directions with."""
        roots = self.roots[:, None]
        return self._centred(roots * (self.K @ (roots * self._centred(V)).astype(self.K.dtype)))

    def _centred(self, V: np.ndarray) -> np.ndarray:
        return V - np.outer(self.u, self.u @ V)

    def squares(self) -> float:
        """Return |B|_F^2, or a little more."""
        # |(I - uu') A (I - uu')|^2 = |A|^2 - 2 |Au|^2 + (u'Au)^2
        return sum_of_squares(self.K, self.weights) - 2 * float(self.Au @ self.Au) + float(self.u @ self.Au) ** 2

    def matrix(self) -> np.ndarray:
        """Return B as an array."""
        A = self.K.block(out=np.empty(self.K.shape)) * np.outer(self.roots, self.roots)
        A = (A + A.T) / 2
        A -= np.outer(self.u, self.u @ A)
        A -= np.outer(A @ self.u, self.u)
        return (A + A.T) / 2


def _directions(scatter: Scatter, labels: np.ndarray, k: int, factor: RandomPivots | None) -> np.ndarray:
    """Return orthonormal directions near the leading eigenvectors of B: of its factor, or by block Krylov steps."""
    n = len(labels)
    if factor is not None:
        F, u = factor.F * scatter.roots[:, None].astype(np.float32), scatter.u.astype(np.float32)
        F -= np.outer(u, u @ F)
        vectors = np.linalg.eigh((F.T @ F).astype(np.float64))[1]
        leading = vectors[:, ::-1][:, : k + 3 * BESIDE].astype(np.float32)
        return np.linalg.qr((F @ leading).astype(np.float64))[0]
    onehot = np.zeros((n, k))
    onehot[np.arange(n), labels] = scatter.roots
    more = np.random.default_rng(0).standard_normal((n, max(2, min(BESIDE, n - k))))
    start = np.concatenate([onehot, more], axis=1)
    blocks = max(2, min(6, DIRECTIONS // start.shape[1]))
    return _spectrum.krylov(scatter.roughly, start - np.outer(scatter.u, scatter.u @ start), blocks)
