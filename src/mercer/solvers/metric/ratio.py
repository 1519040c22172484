"""The ratio objective: min sum_S d_A^2 subject to sum_D d_A^2 >= 1, exactly, by eigenproblems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._checks import refuse
from mercer.solvers.metric.certificate import MetricCertificate
from mercer.solvers.metric.pencil import Pencil
from mercer.solvers.metric.problem import Face, MetricProblem, MetricSolution, MetricSolver, check_rank
from mercer.solvers.metric.scatter import EPS
from mercer.solvers.metric.trace_ratio import trace_ratio
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

ALL, DIAGONAL = "all psd matrices", "all diagonal matrices"


@dataclass(frozen=True)
class Ratio(MetricSolver):
    """min tr(A M_S) subject to tr(A M_D) >= 1, A psd: linear in A, so its value is the smallest generalised eigenvalue.

    The optimum is attained at A = vv' / v'M_D v with M_S v = mu M_D v for the smallest mu. Where several v share it, or
    M_S is singular and the value is 0, the optimal A form a face, and its centre is taken. Directions in which no pair
    differs are left out. Cost: the scatter matrices, and d^3 flops.

    Parameters
    ----------
    rank : int, optional
        The best metric VV' with r orthonormal columns V instead (the trace ratio), where rank 1 is too little to tell
        points apart. It depends on the scales of features, as the optimum does not. None: the optimum of all A.
    diagonal : bool
        Only diagonal A: weights of features.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.metric import LabelPairs, MetricProblem, Ratio, learn_metric
    >>> X = np.array([[0.0, 0.0], [1.0, 0.1], [0.0, 2.0], [1.0, 2.1]])
    >>> labels = np.array([0, 0, 1, 1])
    >>> found = learn_metric(MetricProblem(X, LabelPairs(labels, True), LabelPairs(labels, False)), Ratio())
    >>> found.certificate.is_zero, found.components.round(3)  # along (-0.1, 1) similar points do not differ
    (True, array([[-0.025,  0.25 ]]))
    """

    rank: int | None = None
    diagonal: bool = False

    def __post_init__(self) -> None:
        """Check the options against each other."""
        check_rank("Ratio", self.rank, self.diagonal)

    def run(self, problem: MetricProblem, clock: Clock) -> MetricSolution:
        """Return the exact optimum, certified."""
        if self.diagonal:
            return _diagonal(problem)
        pencil = problem.pencil
        if pencil.share.min(initial=1.0) >= 1 - 1e3 * pencil.noise:
            no_dissimilar_difference()
        if self.rank is None or self.rank == 1:
            return _optimum(problem, pencil)
        return trace_ratio(problem, pencil, self.rank, clock)


def no_dissimilar_difference() -> None:
    """Refuse dissimilar pairs of equal points: no metric tells them apart."""
    refuse(
        "MetricLearner", "some dissimilar pair must differ", "equal points in every dissimilar pair",
        "No metric can tell equal points apart.",
    )  # fmt: skip  # message and remedy on a line each


def _optimum(problem: MetricProblem, pencil: Pencil) -> MetricSolution:
    tied = pencil.zeros or int(np.count_nonzero(pencil.share <= pencil.share[0] + 4 * pencil.noise))
    basis = signed(pencil.basis[:, :tied] / np.sqrt(1 - pencil.share[:tied]))
    size = problem.dissimilar_squares(basis.T)
    value = problem.similar_sum(basis.T) / size
    components = basis.T / np.sqrt(size)
    basis = components.T * np.sqrt(tied)
    proof = MetricCertificate(value, _lower_bound(pencil), pencil.noise * (1 + value), ALL)
    return MetricSolution(components, Status.CONVERGED, proof, Face(basis, pencil.unseen), {"rank": tied})


def signed(columns: np.ndarray) -> np.ndarray:
    """Return columns with the largest entry of each positive, so that the sign is not chance."""
    at = np.abs(columns).argmax(axis=0)
    return columns * np.where(columns[at, np.arange(columns.shape[1])] < 0, -1.0, 1.0)


def _lower_bound(pencil: Pencil) -> float:
    """Return mu' with M_S - mu' M_D psd whatever rounding did.

    In coordinates in which M_S is diag(share) and M_S + M_D the identity, up to a matrix of norm t, M_S - mu M_D is
    (1 + mu) M_S - mu I up to mu t, and its least eigenvalue at least -e. So (1 + e') v'M_S v >= (mu - e') v'M_D v for
    all v, with e' = e / (1 - t).
    """
    share = float(pencil.share[0])
    if pencil.zeros or share <= 0:
        return 0.0
    mu, noise = share / (1 - share), pencil.noise + 16 * len(pencil.share) * EPS
    e = ((1 + mu) * noise + mu * pencil.off) / max(1 - pencil.off - 2 * noise, EPS)
    return max(0.0, (mu - e) / (1 + e))


def _diagonal(problem: MetricProblem) -> MetricSolution:
    """Return the features with the least ratio: a linear programme with one constraint."""
    S, D = problem.energies
    if not (D > 0).any():
        no_dissimilar_difference()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(D > 0, S / np.where(D > 0, D, 1.0), np.inf)
    rounding = 4 * (len(problem.X) + 8) * EPS
    best = np.flatnonzero(ratio <= ratio.min() * (1 + 4 * EPS))
    basis = np.zeros((len(D), len(best)))
    basis[best, np.arange(len(best))] = 1 / np.sqrt(D[best])
    components = basis.T / np.sqrt(len(best))
    value = problem.similar_sum(components) / problem.dissimilar_squares(components)
    unseen = int(np.count_nonzero(S + D == 0))
    proof = MetricCertificate(value, float(ratio.min()) * (1 - rounding), rounding, DIAGONAL)
    return MetricSolution(components, Status.CONVERGED, proof, Face(basis, unseen), {"rank": len(best)})
