"""Duality gaps, each from the data in float64, with bounds on their own rounding.

For any f, b and dual feasible a = -w u (with sum a = 0 if b is free), and g = sum_i a_i k(., x_i),

    P(f, b) - D(a) = sum_i w_i [ loss(y_i, t_i) + loss*(y_i, u_i) - u_i t_i ] + ||lam f - g||^2 / (2 lam),

with t_i = f(x_i) + b. Each row's term is >= 0 by Fenchel and Young. For f on all training points a = lam c leaves the
first part only; on centres a = -w slope(t) leaves the second only, and in the problem restricted to them g is projected
on their span, where its norm is that of its values at the centres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.losses import shortfall, slope, traits, value
from mercer.solvers._feasible import feasible
from mercer.solvers._span import EPS, Span, doubt, fresh, rounding
from mercer.solvers.problem import Problem


@dataclass(frozen=True, eq=False)
class Gap:
    """A gap for each target, and what it was computed from: values t = f + b on the rows, their shares, the norm.

    On centres the gap is no sum over rows: there shares are |a_i| sqrt(k(x_i, x_i)), how hard each row pulls.
    """

    gap: np.ndarray
    t: np.ndarray
    shares: np.ndarray
    square: np.ndarray  # ||f||^2
    residual: np.ndarray
    roots: np.ndarray  # sqrt(k(x_i, x_i))
    scope: str
    radius: np.ndarray | None = None  # where lam does not tell it


def on_all_points(problem: Problem, c: np.ndarray, b: np.ndarray) -> Gap:
    """Return the gap of f = sum_j c_j k(., x_j). Cost: one product with K in double."""
    K, w, lam = fresh(problem.gram), problem.weights[:, None], problem.lam
    present = w > 0
    u = feasible(problem, -lam * c / np.where(present, w, 1.0))
    missed, roots = lam * c + w * u, roots_of(K.diag())  # lam c - a: nothing, unless a had to move to be feasible
    far = roots @ np.abs(missed)
    if (far > 1e-8 * (roots @ np.abs(lam * c))).any():
        f, moved = np.split(K @ np.column_stack([c, missed]), 2, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            price = np.where((missed != 0).any(axis=0), 0.5 * (missed * moved).sum(axis=0) / lam, 0.0)
    else:
        f, price = K @ c, _over(far * far, 2 * lam)  # rounding: a bound will do
    t = f + b
    terms = price_rows(problem, t, u, rounding(K, roots, roots, c))
    with np.errstate(invalid="ignore"):  # an absent row may pull by inf
        stationarity = np.where(present, w * slope(problem.loss, problem.targets, t), 0.0) + lam * c
    gap = _summed(terms, np.maximum(price, 0.0), problem, b, u)
    residual = np.linalg.norm(stationarity, axis=0) / size_of(problem)
    return Gap(gap, t, terms, (c * f).sum(axis=0), residual, roots, "all functions of the space")


def on_centers(problem: Problem, c: np.ndarray, b: np.ndarray, dual: np.ndarray | None = None) -> Gap:
    """Return the gap of f = sum_j c_j k(., z_j) among such functions. Cost: two products with K_nC in double, m^3 / 3.

    Where centres depend on each other up to rounding, it is about those kept: f must have no others, or the gap is inf.
    """
    span = Span(problem)
    norm = span.norm
    t, u, a, roots, others = _values(problem, span, c, b, dual)
    wanted = problem.lam * (span.square @ c)
    r = wanted - span.fresh_columns.T @ a
    error = rounding(span.fresh_columns, others, roots, a) + problem.lam * rounding(
        span.fresh_columns, others, others, c
    )
    dropped = np.setdiff1d(np.arange(len(c)), norm.kept)
    away = np.where((c[dropped] != 0).any(axis=0), np.inf, 0.0) if len(dropped) else np.zeros(c.shape[1])
    distance = norm.bound(r, error) + away
    terms = price_rows(problem, t, u, rounding(span.fresh_columns, roots, others, c))
    square = (c * (span.square @ c)).sum(axis=0)
    gap = _summed(terms, _over(distance**2, 2 * problem.lam), problem, b, u)
    size = problem.lam * np.sqrt(np.maximum(square, 0.0))
    if (flat := problem.lam == 0).any():  # nothing but a = 0 is feasible up to rounding
        none = price_rows(problem, t, np.zeros_like(u), rounding(span.fresh_columns, roots, others, c))
        gap = np.where(flat, _summed(none, np.zeros(len(flat)), problem, b, np.zeros_like(u)), gap)
        size = np.where(flat, size_of(problem) * np.sqrt(problem.weights @ roots**2), size)
    kept = f"{len(norm.kept)} of the {len(c)}" if len(dropped) else f"the {len(c)}"
    scope = f"functions on {kept} centres"
    return Gap(gap, t, np.abs(a) * roots[:, None], square, _over(distance, size), roots, scope)


def of_centers_in_all(problem: Problem, c: np.ndarray, b: np.ndarray, dual: np.ndarray | None = None) -> Gap:
    """Return the gap of f on centres among all functions: the price of the centres. Cost: a product with K in double.

    The slopes at t, times the theta in 0..1 that leaves the least, are the dual point.
    """
    span, lam = Span(problem), problem.lam
    t, u, a, roots, others = _values(problem, span, c, b, dual)
    K = fresh(problem.gram)
    square = (c * (span.square @ c)).sum(axis=0)
    cross, own = (a * (t - b)).sum(axis=0), (a * (K @ a)).sum(axis=0)
    sizes = others @ np.abs(c), roots @ np.abs(a)
    slack = rounding(span.fresh_columns, roots, others, c)
    error = 2 * doubt(K, len(a))  # of the three products below, next to their absolute terms

    def gap(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        terms = price_rows(problem, t, theta * u, slack)
        far = lam**2 * square - 2 * lam * theta * cross + theta**2 * own
        far = np.maximum(far, 0.0) + error * (lam * sizes[0] + theta * sizes[1]) ** 2
        return terms, _summed(terms, _over(far, 2 * lam), problem, b, theta * u)

    theta = np.where(lam > 0, _least(lambda at: gap(at)[1], len(lam)), 0.0)
    terms, found = gap(theta)
    stationarity = np.linalg.norm(problem.weights[:, None] * u, axis=0) / size_of(problem)
    return Gap(found, t, terms, square, stationarity, roots, "all functions of the space, of which f is on centres")


# ---------------------------------------------------------------- parts


def roots_of(diagonal: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(diagonal, 0.0))


def size_of(problem: Problem) -> np.ndarray:
    weighted = np.sqrt(problem.weights)[:, None] * problem.targets
    return np.maximum(np.linalg.norm(weighted, axis=0), np.finfo(float).tiny)


def _values(
    problem: Problem, span: Span, c: np.ndarray, b: np.ndarray, dual: np.ndarray | None
) -> tuple[np.ndarray, ...]:
    """Return t, the feasible slopes u there or those of a dual point, a = -w u, and sqrt(k) of rows and of centres."""
    t, w = span.fresh_columns @ c + b, problem.weights[:, None]
    asked = slope(problem.loss, problem.targets, t) if dual is None else -dual / np.where(w > 0, w, 1.0)
    u = feasible(problem, asked)
    return t, u, -problem.weights[:, None] * u, roots_of(problem.gram.diag()), roots_of(np.diagonal(span.square))


def price_rows(problem: Problem, t: np.ndarray, u: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Return w (loss(t) + loss*(u) - u t), the largest over the t that rounding allows: convex, so at an end."""
    y, w = problem.targets, problem.weights[:, None]
    reach = slack + 4 * EPS * (np.abs(t) + np.abs(y) + np.abs(u))
    if traits(problem.loss).coupled:  # the slopes of a row's sum in t are p - y - u, and its curvature is at most 1
        moved = np.abs(slope(problem.loss, y, t) - u) * reach + reach * reach
        return np.where(w > 0, w * (shortfall(problem.loss, y, t, u) + moved) * (1 + 8 * EPS), 0.0)
    ends = [shortfall(problem.loss, y, t - reach, u), shortfall(problem.loss, y, t + reach, u)]
    with np.errstate(invalid="ignore"):  # an absent row may miss by inf
        return np.where(w > 0, w * np.maximum(ends[0], ends[1]) * (1 + 8 * EPS), 0.0)


def _summed(terms: np.ndarray, more: np.ndarray, problem: Problem, b: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return the gap from its parts; with an intercept, sum a is 0 up to rounding only."""
    n = len(terms)
    unbalanced = np.abs(b) * n * EPS * (problem.weights[:, None] * np.abs(u)).sum(axis=0)
    return (terms.sum(axis=0) + more) * (1 + n * EPS) + unbalanced


def _over(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the quotient, where 0 / 0 is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(numerator == 0, 0.0, numerator / denominator)


def _least(function: Any, count: int, steps: int = 40) -> np.ndarray:
    """Return where in 0..1 convex functions, one a target, are least: golden section on all of them at once."""
    ratio = (np.sqrt(5) - 1) / 2
    low, high = np.zeros(count), np.ones(count)
    for _ in range(steps):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        left = function(a) <= function(b)
        low, high = np.where(left, low, a), np.where(left, b, high)
    return 0.5 * (low + high)


def primal(problem: Problem, found: Gap) -> np.ndarray:
    """Return the objective at f and b."""
    w = problem.weights[:, None]
    with np.errstate(invalid="ignore"):  # an absent row may cost inf
        losses = np.where(w > 0, w * value(problem.loss, problem.targets, found.t), 0.0).sum(axis=0)
    return losses + problem.penalty.value(np.sqrt(np.maximum(found.square, 0.0)))
