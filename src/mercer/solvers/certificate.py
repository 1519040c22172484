"""The certificate: how far an answer can be from the exact optimum, recomputed from the data in float64.

For any f = sum_j c_j k(., x_j) and a = lam c (with sum a = 0 if b is free), the primal value less the dual value is a
sum of one term a row, each >= 0 by Fenchel and Young:

    P(f, b) - D(a) = sum_i w_i [ loss(y_i, t_i) + loss*(y_i, u_i) - u_i t_i ],   t_i = f(x_i) + b,  u_i = -a_i / w_i.

So the gap needs one pass over the kernel, names the worst row, and holds for every convex loss. Where lam c is not dual
feasible, a is the feasible vector nearest it, which adds (lam c - a)'K(lam c - a) / (2 lam). The objective is
lam-strongly convex in f, hence ||f - f*|| <= sqrt(2 gap / lam) and |f(x) - f*(x)| <= sqrt(2 gap / lam) sqrt(k(x, x)).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.gram import Gram, gram
from mercer.kernels._evaluate import diagonal
from mercer.losses import highest, lowest, shortfall, slope, value
from mercer.solvers.problem import Problem

EPS = float(np.finfo(np.float64).eps)


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
        Of the optimality condition, relative to the targets.
    worst_row : array of int
        The row with the largest share of the gap.
    radius : array
        ||f - f*|| is at most this; infinite when lam is 0.
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


def certify(problem: Problem, coefficients: np.ndarray, offset: np.ndarray | None = None) -> Certificate:
    """Return the certificate of f = sum_j c_j k(., x_j) and b. Cost: one product with K in float64, computed afresh.

    Parameters
    ----------
    problem : Problem
        What was to be solved.
    coefficients : array of shape (n,) or (n, t)
        c.
    offset : array of shape (t,), optional
        b; only with an intercept.
    """
    c = np.asarray(coefficients, dtype=np.float64).reshape(len(problem.y), -1)
    b = np.zeros(problem.n_targets) if offset is None else np.atleast_1d(np.asarray(offset, dtype=np.float64))
    K, u = fresh(problem.gram), dual_slopes(problem, c)
    missed = problem.lam * c + problem.weights[:, None] * u  # lam c - a: nothing, unless a had to move to be feasible
    if not missed.any():
        f, price = K @ c, np.zeros(c.shape[1])
    else:
        both = K @ np.column_stack([c, missed])
        f, moved = np.split(both, 2, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            price = np.where((missed != 0).any(axis=0), 0.5 * (missed * moved).sum(axis=0) / problem.lam, 0.0)
    return _from_values(problem, K, c, u, f, b, np.maximum(price, 0.0), _rounding(K, c))


def dual_slopes(problem: Problem, c: np.ndarray) -> np.ndarray:
    """Return u = -a / w for the dual feasible a nearest lam c: each in its box, and sum a = 0 where b is free."""
    y, w = problem.targets, problem.weights[:, None]
    present = w > 0
    u = np.where(present, -problem.lam * c / np.where(present, w, 1.0), 0.0)
    low, high = lowest(problem.loss, y), highest(problem.loss, y)
    if problem.intercept:
        for k in range(u.shape[1]):
            u[:, k] += _level(u[:, k], w[:, 0], low[:, k], high[:, k])
    return np.where(present, np.clip(u, low, high), 0.0)


def _level(u: np.ndarray, w: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Return s with sum w clip(u + s, low, high) = 0: a bisection, then one exact step on the rows between."""

    def total(s: float) -> float:
        return float(w @ np.clip(u + s, low, high))

    s = -float(w @ u) / float(w.sum())
    reach = 4 * EPS * (np.abs(u).max(initial=0.0) + abs(s)) + np.finfo(float).tiny
    below, above = s - reach, s + reach
    while total(below) > 0 and reach < 1e300:
        reach *= 4
        below = s - reach
    reach = above - s
    while total(above) < 0 and reach < 1e300:
        reach *= 4
        above = s + reach
    for _ in range(200):
        middle = 0.5 * (below + above)
        if not below < middle < above:
            break
        below, above = (middle, above) if total(middle) < 0 else (below, middle)
    s = 0.5 * (below + above)
    free = w[(u + s > low) & (u + s < high)].sum()
    return s - total(s) / float(free) if free > 0 else s


def fresh(K: Gram) -> Gram:
    """Return the same Gram matrix anew, in double precision."""
    if K.kernel is None:
        return K
    return gram(K.kernel, K.points, engine=dataclasses.replace(K.engine, precision="double"))


def _rounding(K: Gram, c: np.ndarray) -> np.ndarray:
    """Return a bound on the rounding error of each (K c)_i.

    An entry has error at most 128 eps sqrt(k_ii k_jj) in double (see the accuracy tests), a sum of n terms n eps of
    their absolute values; |K_ij| <= sqrt(k_ii k_jj).
    """
    roots = np.sqrt(np.maximum(K.diag(), 0.0))
    size = roots @ np.abs(c)
    return (128 + len(c)) * EPS * roots[:, None] * size


def _from_values(
    problem: Problem, K: Gram, c: np.ndarray, u: np.ndarray, f: np.ndarray, b: np.ndarray, price: np.ndarray,
    slack: np.ndarray,
) -> Certificate:  # fmt: skip  # the problem, the answer, what was computed of it
    y, w, lam, loss = problem.targets, problem.weights[:, None], problem.lam, problem.loss
    present = w > 0
    t = f + b
    terms = np.where(present, w * _fenchel(loss, y, t, u, slack), 0.0)
    unbalanced = np.abs(b) * len(y) * EPS * (w * np.abs(u)).sum(axis=0)  # sum a is 0 up to rounding
    gap = (terms.sum(axis=0) + price) * (1 + len(y) * EPS) + unbalanced
    values = np.where(present, w * value(loss, y, t), 0.0).sum(axis=0)
    primal = values + 0.5 * lam * (c * f).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.where(lam > 0, np.sqrt(2 * gap / np.where(lam > 0, lam, 1.0)), np.inf)
    stationarity = np.where(present, w * slope(loss, y, t), 0.0) + lam * c
    scale = np.maximum(np.linalg.norm(np.sqrt(w) * y, axis=0), np.finfo(float).tiny)
    return Certificate(
        primal, primal - gap, gap, np.linalg.norm(stationarity, axis=0) / scale, terms.argmax(axis=0), radius,
        "all functions of the space", K.kernel, _offset_bound(problem, K, t, radius),
    )  # fmt: skip  # in the order of the record


def _fenchel(loss: Any, y: np.ndarray, t: np.ndarray, u: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Return loss(t) + loss*(u) - u t, the largest over the t that rounding allows: convex, so at an end."""
    reach = slack + 4 * EPS * (np.abs(t) + np.abs(y) + np.abs(u))
    ends = [shortfall(loss, y, t - reach, u), shortfall(loss, y, t + reach, u)]
    return np.maximum(ends[0], ends[1]) * (1 + 8 * EPS)


def _offset_bound(problem: Problem, K: Gram, t: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return a bound on |b - b*| for the squared loss: b* is the mean residual, which moves no more than f does."""
    if not problem.intercept:
        return np.zeros(problem.n_targets)
    w = problem.weights / problem.weights.sum()
    off = np.abs(w @ (problem.targets - t))
    return off + radius * float(w @ np.sqrt(np.maximum(K.diag(), 0.0)))
