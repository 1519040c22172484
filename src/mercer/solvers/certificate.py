"""The certificate: how far an answer can be from the exact optimum, recomputed from the data in float64.

The gap between the objective and its dual is computed from the data alone (`_gaps`), whatever the solver did, and holds
for every convex loss. The objective is lam-strongly convex in f, hence ||f - f*|| <= sqrt(2 gap / lam) and
|f(x) - f*(x)| <= sqrt(2 gap / lam) sqrt(k(x, x)).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer._checks import refuse
from mercer.kernels._evaluate import diagonal
from mercer.losses import traits, value
from mercer.solvers._any_penalty import gap_of
from mercer.solvers._gaps import Gap, of_centers_in_all, on_all_points, on_centers, primal, size_of
from mercer.solvers._majorant import majorant
from mercer.solvers._span import Span, fresh, one_thread_if_light
from mercer.solvers.penalties import HalfSquare
from mercer.solvers.problem import Problem


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was proved of an answer; arrays have one entry a target.

    Parameters
    ----------
    primal, dual : arrays
        Values of the objective and of its dual; the optimum lies between them.
    gap : array
        primal - dual, rounding included: never less than the true distance to the optimum.
    residual : array
        Of the optimality condition, relative to the targets (on centres, to lam f).
    worst_row : array of int
        The row with the largest share of the gap (on centres, the one that pulls hardest on f).
    radius : array
        ||f - f*|| is at most this. It falls to 0 with the gap where the penalty is strictly convex, and for a ball that
        f is at the edge of; for lam ||f|| it stays at what the objective allows, as its dual knows the direction of f
        but not its length. Infinite when lam is 0, and for penalties that are not convex.
    scope : str
        The problem it is about: all functions, or those on the centres.
    """

    primal: np.ndarray
    dual: np.ndarray
    gap: np.ndarray
    residual: np.ndarray
    worst_row: np.ndarray
    radius: np.ndarray
    scope: str
    kernel: Any = field(repr=False, default=None)
    offset: np.ndarray = field(repr=False, default_factory=lambda: np.zeros(1))

    @property
    def relative_gap(self) -> float:
        """The largest gap relative to the primal value."""
        return float(np.max(self.gap / np.maximum(np.abs(self.primal), np.finfo(float).tiny)))

    def prediction_bound(self, X: Any) -> np.ndarray:
        """Return a bound on |prediction - exact prediction| at each row of X: (m,) or, for t targets, (m, t)."""
        norms = np.sqrt(np.maximum(diagonal(self.kernel.form(), X), 0.0))
        bound = norms[:, None] * self.radius + self.offset
        return bound[:, 0] if bound.shape[1] == 1 else bound

    def __str__(self) -> str:
        lines = [
            f"certificate, for {self.scope}",
            f"  objective      {_shown(self.primal)}",
            f"  lower bound    {_shown(self.dual)}",
            f"  gap            at most {_shown(self.gap)} ({self.relative_gap:.1e} of the objective)",
            f"  residual       {_shown(self.residual)}",
            f"  worst row      {', '.join(str(r) for r in self.worst_row[:4])}",
            f"  |f(x) - f*(x)| at most {_shown(self.radius)} sqrt(k(x, x))",
        ]
        return "\n".join(lines)


def _shown(values: np.ndarray) -> str:
    text = ", ".join(f"{v:.6g}" for v in values[:4])
    return text + (", ..." if len(values) > 4 else "")


def certify(
    problem: Problem,
    coefficients: np.ndarray,
    offset: np.ndarray | None = None,
    *,
    full: bool = True,
    dual: np.ndarray | None = None,
) -> Certificate:
    """Return the certificate of f and b, computed afresh in float64.

    Cost: one product with K. For f on m centres, two with the n x m matrix and m^3 / 3 flops among functions on them,
    or one of each among all functions.

    Parameters
    ----------
    problem : Problem
        What was to be solved.
    coefficients : array of shape (n,) or (n, t), with centres (m,) or (m, t)
        c.
    offset : array of shape (t,), optional
        b; only with an intercept.
    full : bool
        With centres: whether the gap is that to the best of all functions, or to the best on the centres.
    dual : array of shape (n, t), or (n, 1, k), optional
        A dual point for each target, or several for one, where they are known better than from c or the slopes at f:
        any makes a true certificate, a good one a small gap.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Squared
    >>> from mercer.solvers import HalfSquare, Problem, certify
    >>> X = np.linspace(0, 1, 20).reshape(-1, 1)
    >>> problem = Problem(gram(Gaussian(scale=0.5), X), np.sin(6 * X[:, 0]), Squared(), HalfSquare(0.1))
    >>> bool(certify(problem, np.zeros(20)).gap[0] > 0.1)
    True
    """
    c = np.asarray(coefficients, dtype=np.float64)
    c = c.reshape(len(c), -1)
    if c.shape != (problem.n_coefficients, problem.n_targets):
        refuse("certify", f"coefficients of shape {(problem.n_coefficients, problem.n_targets)}", f"shape {c.shape}")
    b = np.zeros(problem.n_targets) if offset is None else np.atleast_1d(np.asarray(offset, dtype=np.float64))
    if traits(problem.loss).base is not None:
        return _stationary(problem, c, b, full=full)
    with one_thread_if_light(len(c)):
        if not isinstance(problem.penalty, HalfSquare):
            found = gap_of(problem, c, b, dual, full=full)
        elif problem.centers is None:
            found = on_all_points(problem, c, b)
        else:
            found = of_centers_in_all(problem, c, b, dual) if full else on_centers(problem, c, b, dual)
    return _certificate(problem, found)


def _stationary(problem: Problem, c: np.ndarray, b: np.ndarray, *, full: bool) -> Certificate:
    """Return the certificate of a loss that is not convex: that of the convex problem above it that touches at f."""
    K = fresh(problem.gram) if problem.centers is None else Span(problem).fresh_columns
    t = np.asarray(K @ c, dtype=np.float64) + b
    proof = certify(majorant(problem, t), c, b, full=full)
    w = problem.weights[:, None]
    above = majorant(problem, t)
    lowered = (w * value(problem.loss, problem.targets, t)).sum(axis=0)
    lowered = lowered - (above.weights[:, None] * value(above.loss, problem.targets, t)).sum(axis=0)
    scope = "a stationary point, not an optimum: the gap is that of the convex problem above that touches there, {}"
    return replace(
        proof, primal=proof.primal + lowered, dual=proof.primal + lowered - proof.gap, scope=scope.format(proof.scope),
        radius=np.full(len(b), np.inf), offset=np.full(len(b), np.inf),
    )  # fmt: skip  # values, then what no longer holds


def _certificate(problem: Problem, found: Gap) -> Certificate:
    if traits(problem.loss).coupled:
        return _of_vectors(problem, found)
    lam, gap = problem.lam, found.gap
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.where(lam > 0, np.sqrt(2 * gap / np.where(lam > 0, lam, 1.0)), np.inf)
    radius = radius if found.radius is None else found.radius
    objective = primal(problem, found)
    dual = np.where(np.isfinite(gap), objective - np.where(np.isfinite(gap), gap, 0.0), -np.inf)
    return Certificate(
        objective, dual, gap, found.residual, found.shares.argmax(axis=0), radius, found.scope,
        problem.gram.kernel, _offset_bound(problem, found, radius),
    )  # fmt: skip  # in the order of the record


def _of_vectors(problem: Problem, found: Gap) -> Certificate:
    """Return the certificate of one problem for all columns: parts of the gap and of the objective are added up."""
    gap, objective = np.array([found.gap.sum()]), np.array([primal(problem, found).sum()])
    shares, lam = found.shares.sum(axis=1, keepdims=True), float(problem.lam[0])
    radius = np.full(problem.n_targets, np.sqrt(2 * gap[0] / lam) if lam > 0 else np.inf)  # of each f, as of all
    off = np.full(problem.n_targets, np.inf if problem.intercept else 0.0)
    sizes = size_of(problem)  # next to nothing for a class that nobody is in
    residual = np.array([np.linalg.norm(found.residual * sizes) / np.linalg.norm(sizes)])
    return Certificate(
        objective, objective - gap, gap, residual, shares.argmax(axis=0), radius, found.scope, problem.gram.kernel, off
    )  # fmt: skip  # in the order of the record


def _offset_bound(problem: Problem, found: Gap, radius: np.ndarray) -> np.ndarray:
    """Return a bound on |b - b*| for the squared loss: b* is the mean residual, which moves no more than f does.

    Of other losses b* may not even be unique: inf.
    """
    if not problem.intercept:
        return np.zeros(problem.n_targets)
    if not traits(problem.loss).quadratic:
        return np.full(problem.n_targets, np.inf)
    w = problem.weights / problem.weights.sum()
    off = np.abs(w @ (problem.targets - found.t))
    return off + radius * float(w @ found.roots)
