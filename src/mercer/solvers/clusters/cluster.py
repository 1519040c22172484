"""Finding clusters: a solver is run on the points that count, the others join, and the partition is certified."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mercer.functions import RKHSFunction
from mercer.gram import gram
from mercer.kernels._views import take
from mercer.solvers.clusters._settle import double
from mercer.solvers.clusters.certificate import ClusterCertificate, certify_clusters
from mercer.solvers.clusters.linked import Linked
from mercer.solvers.clusters.lloyd import Lloyd, Partition
from mercer.solvers.clusters.problem import Clustering
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock, Watcher


@dataclass(frozen=True, eq=False)
class Clusters:
    """The best partition found, how the search ended, and how far from the best possible it can be.

    Parameters
    ----------
    labels : array of int, shape (n,)
        The cluster of each point; points of weight 0 belong to the nearest mean.
    objective : float
        sum_i w_i ||phi(x_i) - m_c(i)||^2, in float64.
    coefficients : array of shape (n, k)
        w_i / W_c for the points of cluster c: column c holds its mean as a combination of sections.
    squares : array of shape (k,)
        ||m_c||^2; infinite for a cluster without points.
    status : Status
        How the search ended.
    certificate : ClusterCertificate or None
        None only when none was asked for.
    stats : dict
        What was done.
    """

    labels: np.ndarray
    objective: float
    coefficients: np.ndarray
    squares: np.ndarray
    status: Status
    certificate: ClusterCertificate | None
    stats: dict[str, Any] = field(default_factory=dict)

    def means(self, kernel: Any, points: Any) -> tuple[RKHSFunction, ...]:
        """Return the means as functions of the RKHS, each on its own points."""
        rows = [np.flatnonzero(column) for column in self.coefficients.T]
        return tuple(
            RKHSFunction(kernel, take(points, r), self.coefficients[r, c])
            if len(r)
            else RKHSFunction(kernel, take(points, [0]), [0.0])
            for c, r in enumerate(rows)
        )


def cluster(
    problem: Clustering,
    solver: Lloyd | Linked | None = None,
    *,
    watch: Watcher | None = None,
    deadline: float | None = None,
    certify_as: Literal["full", "none"] = "full",
) -> Clusters:
    """Find clusters; never raises for want of convergence, but says how it ended.

    Parameters
    ----------
    problem : Clustering
        The objective.
    solver : Lloyd or Linked, optional
        How it is searched.
    watch : callable, optional
        Called with each `Step`; returning True stops.
    deadline : float, optional
        Seconds after which the best so far is returned.
    certify_as : {"full", "none"}
        Whether to spend what the certificate costs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers import Clustering, Lloyd, cluster
    >>> X = np.array([[0.0], [0.2], [3.0], [3.1]])
    >>> found = cluster(Clustering(gram(Gaussian(scale=1.0), X), 2), Lloyd(random_state=0))
    >>> bool(found.labels[0] == found.labels[1] != found.labels[2]), found.certificate.relative_gap < 1e-3
    (True, True)
    """
    begun = time.perf_counter()
    clock = Clock("Lloyd", deadline, watch)
    present = problem.present()
    found = (solver or Lloyd()).run(present, clock)
    seconds = time.perf_counter() - begun
    stats = found.stats | {"steps": found.steps, "fit_seconds": seconds}
    proof: ClusterCertificate | None = None
    if certify_as == "full":
        fixed = found.exact and found.status is Status.CONVERGED and (solver is None or solver.tol == 0)
        proof = certify_clusters(
            present,
            found.labels,
            fixed_point=fixed,
            exact=found.exact,
            sums=found.sums,
            factor=found.factor,
            within=found.within if found.afresh else None,
        )
        stats["certificate_seconds"] = time.perf_counter() - begun - seconds
    labels = _all_labels(problem, found)
    W = np.bincount(labels, problem.weights, problem.n_clusters)
    coefficients = np.zeros((len(labels), problem.n_clusters))
    coefficients[np.arange(len(labels)), labels] = problem.weights / np.where(W > 0, W, 1.0)[labels]
    squares = np.where(W > 0, found.within / np.where(W > 0, W, 1.0) ** 2, np.inf)
    return Clusters(labels, found.objective, coefficients, squares, found.status, proof, stats)


def _all_labels(problem: Clustering, found: Partition) -> np.ndarray:
    """Return the labels of all points; those of weight 0 go to the nearest mean."""
    n = problem.gram.shape[0]
    if len(problem.rows) == n:
        return found.labels
    labels, rows = np.empty(n, np.int64), problem.rows
    labels[rows] = found.labels
    absent = np.setdiff1d(np.arange(n), rows)
    W = np.bincount(found.labels, problem.weights[rows], problem.n_clusters)
    Z = np.zeros((len(rows), problem.n_clusters))
    Z[np.arange(len(rows)), found.labels] = problem.weights[rows] / W[found.labels]
    K = problem.gram
    if K.kernel is None:
        values = K.block(absent, rows) @ Z
    else:
        values = gram(K.kernel, take(K.points, absent), take(K.points, rows), double(K).engine) @ Z
    squares = np.where(W > 0, found.within / np.where(W > 0, W, 1.0) ** 2, np.inf)
    labels[absent] = (squares - 2.0 * values).argmin(axis=1)
    return labels
