"""The best projection of a given rank: min tr(V'M_S V) / tr(V'M_D V) over V with orthonormal columns."""

from __future__ import annotations

import numpy as np

from mercer.solvers._extreme import extreme
from mercer.solvers.metric.certificate import MetricCertificate
from mercer.solvers.metric.pencil import Pencil
from mercer.solvers.metric.problem import MetricProblem, MetricSolution
from mercer.solvers.metric.scatter import EPS
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

STEPS = 100
"""Newton's method on a concave function needs fewer than ten."""


def trace_ratio(problem: MetricProblem, pencil: Pencil, rank: int, clock: Clock) -> MetricSolution:
    """Return A = VV' / tr(V'M_D V), V on the directions in which pairs differ.

    h(mu) = min_V tr(V'(M_S - mu M_D)V), the sum of the r smallest eigenvalues, is concave and falls, and is 0 at the
    optimum. Newton's step from mu is the ratio of the minimising V, so values fall monotonically. Cost: d^3 a step.
    """
    Q, S, D, noise = _orthonormal(pencil)
    r = min(rank, Q.shape[1])
    if pencil.zeros >= r:  # the value is 0: of the projections that attain it, the one that tells most apart
        N = np.linalg.qr(Q.T @ pencil.basis[:, : pencil.zeros])[0]
        V, steps = N @ np.linalg.eigh(N.T @ D @ N)[1][:, -r:], 0
    else:
        V, steps = _newton(S, D, r, clock)
    components = (Q @ V).T
    components = components * np.sign(components[np.arange(r), np.abs(components).argmax(axis=1)])[:, None]
    components = components / np.sqrt(problem.dissimilar_squares(components))
    value = problem.similar_sum(components) / problem.dissimilar_squares(components)
    lower = 0.0 if pencil.zeros >= r else _lower_bound(S, D, V, value, noise)
    resolution = pencil.noise * (1 + value) if pencil.zeros >= r else 0.0
    proof = MetricCertificate(value, lower, resolution, f"projections of rank {r} where pairs differ")
    return MetricSolution(components, Status.CONVERGED, proof, None, {"rank": r, "steps": steps})


def _orthonormal(pencil: Pencil) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return an orthonormal basis of the directions in which pairs differ, M_S and M_D in it, and their noise."""
    Q = np.eye(len(pencil.basis)) if not pencil.unseen else np.linalg.qr(pencil.basis)[0]
    S, D = (Q.T @ M.matrix @ Q for M in pencil.plain)
    products = 8 * len(Q) * EPS * float(np.linalg.norm(S) + np.linalg.norm(D))
    return Q, S, D, max(M.noise for M in pencil.plain) + products


def _newton(S: np.ndarray, D: np.ndarray, r: int, clock: Clock) -> tuple[np.ndarray, int]:
    mu, best = np.inf, np.eye(len(S))[:, :r]
    step = 0
    for step in range(STEPS):
        trial = float(np.trace(S) / np.trace(D)) if step == 0 else mu
        V = _smallest(S - trial * D, r)[1]
        spread = float(np.sum(V * (D @ V)))
        ratio = float(np.sum(V * (S @ V))) / spread if spread > 0 else np.inf
        if not ratio < mu * (1 - 4 * EPS):
            break
        mu, best = ratio, V
        if clock.step(step, 0.0) is not None:
            break
    return best, step


def _smallest(M: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray]:
    return extreme(M, r, largest=False)


def _lower_bound(S: np.ndarray, D: np.ndarray, V: np.ndarray, value: float, noise: float) -> float:
    """Return mu at which h(mu) >= 0 whatever rounding did: from the value downwards, twice as far each time."""
    r, spread = V.shape[1], float(np.sum(V * (D @ V)))
    step = 0.0
    while step < value:
        mu = value - step
        h = float(_smallest(S - mu * D, r)[0].sum())
        doubt = r * ((1 + mu) * noise + 16 * len(S) * EPS * (np.linalg.norm(S) + mu * np.linalg.norm(D)))
        if h >= doubt:
            return mu
        step = max(2 * step, 2 * (doubt - min(h, 0.0)) / spread, 4 * EPS * value)
    return 0.0
