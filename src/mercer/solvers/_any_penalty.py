"""Gaps for penalties other than (lam / 2) ||f||^2: a conjugate of the penalty where it is convex, planes where not.

With a = -w u and g = sum_i a_i k(., x_i), for every f and b

    sum_i w_i loss(y_i, t_i) >= A - <f, g> >= A - ||g|| ||f||,   A = -sum_i w_i loss*(y_i, u_i).

So the objective is at least the least of A - s r + Omega(r) over r >= 0: A - Omega*(s) for a convex Omega. For one that
is not, several such planes bound the loss part as a function of r, and what is left is to find the least of a function
of one number. From the gap of a convex penalty `_radius` tells how far f may be from the best one; the best of several
stationary points may be far from another that is as good, so for other penalties nothing does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.losses import conjugate, slope, value
from mercer.solvers._feasible import feasible
from mercer.solvers._gaps import Gap, price_rows, roots_of, size_of
from mercer.solvers._radius import radius_of
from mercer.solvers._span import EPS, Span, doubt, fresh, rounding
from mercer.solvers.problem import Problem

CELLS = 400  # into which the range of the norm is cut at first, and again where the bound is least
LEVELS = 12  # of cutting


@dataclass(frozen=True, eq=False)
class _Seen:
    """f on the rows and its norm, and what dual points have with it: <f, g>, and ||g|| among the functions meant."""

    f: np.ndarray
    square: np.ndarray
    slack: np.ndarray  # how far f may be off
    loose: np.ndarray  # and how far the square of its norm
    roots: np.ndarray
    scope: str


def gap_of(problem: Problem, c: np.ndarray, b: np.ndarray, dual: np.ndarray | None, *, full: bool) -> Gap:
    """Return the gap of f and b; ``dual`` holds one point a target, or several."""
    seen, norm_of = _seen(problem, c, full=full)
    t = seen.f + b
    if dual is not None and dual.ndim == 3:
        return _by_planes(problem, seen, t, dual, norm_of)
    w = problem.weights[:, None]
    asked = slope(problem.loss, problem.targets, t) if dual is None else -dual / np.where(w > 0, w, 1.0)
    u = feasible(problem, asked)
    a = -w * u
    s = norm_of(a)
    most = getattr(problem.penalty, "most", np.inf)
    shrink = np.minimum(1.0, most * (1 - 1e-15) / np.maximum(s, np.finfo(float).tiny))
    if (shrink < 1).any():  # into the domain of the penalty's conjugate
        u, a = u * shrink, a * shrink
        s = np.minimum(norm_of(a), most)
    terms = price_rows(problem, t, u, seen.slack)
    cross, r = (a * seen.f).sum(axis=0), np.sqrt(np.maximum(seen.square, 0.0))
    penalty = problem.penalty
    omega, conj = penalty.value(r), penalty.conjugate(s)
    error = (np.abs(a) * (seen.slack + 8 * EPS * np.abs(seen.f))).sum(axis=0) + 8 * EPS * (np.abs(omega) + np.abs(conj))
    with np.errstate(invalid="ignore"):
        price = np.maximum(omega + conj - cross, 0.0) + error
    gap = (terms.sum(axis=0) + price) * (1 + len(t) * EPS) + np.abs(b) * len(t) * EPS * np.abs(a).sum(axis=0)
    wrong = np.linalg.norm(a + w * slope(problem.loss, problem.targets, t), axis=0) / size_of(problem)
    none = feasible(problem, np.zeros_like(t))  # no slopes: the losses are at least their least values
    room = _summed(w, value(problem.loss, problem.targets, t)) + omega - _height(problem, none)
    norm = np.sqrt(np.maximum(seen.square, 0.0) + seen.loose) * (1 + 8 * EPS)
    reach = radius_of(penalty, norm, cross - error, s, gap, room)
    return Gap(gap, t, terms, seen.square, wrong, seen.roots, seen.scope, reach)


def _seen(problem: Problem, c: np.ndarray, *, full: bool) -> tuple[_Seen, Any]:
    """Return what is known of f, and a function that bounds ||g|| from above for dual points a."""
    K = fresh(problem.gram)
    roots = roots_of(problem.gram.diag())

    def among_all(a: np.ndarray) -> np.ndarray:
        error = 2 * doubt(K, len(a)) * (roots @ np.abs(a)) ** 2
        return np.sqrt(np.maximum((a * (K @ a)).sum(axis=0), 0.0) + error)

    if problem.centers is None:
        f, slack = np.asarray(K @ c, dtype=np.float64), rounding(K, roots, roots, c)
        loose = (np.abs(c) * slack).sum(axis=0)
        return _Seen(f, (c * f).sum(axis=0), slack, loose, roots, "all functions of the space"), among_all
    span = Span(problem)
    f, others = np.asarray(span.fresh_columns @ c, dtype=np.float64), roots_of(np.diagonal(span.square))
    square, slack = (c * (span.square @ c)).sum(axis=0), rounding(span.fresh_columns, roots, others, c)
    loose = 2 * doubt(K, len(c)) * (others @ np.abs(c)) ** 2
    if full:
        scope = "all functions of the space, of which f is on centres"
        return _Seen(f, square, slack, loose, roots, scope), among_all

    def among_centers(a: np.ndarray) -> np.ndarray:
        return span.norm.bound(span.fresh_columns.T @ a, rounding(span.fresh_columns, others, roots, a))

    return _Seen(f, square, slack, loose, roots, f"functions on the {len(c)} centres"), among_centers


def _by_planes(problem: Problem, seen: _Seen, t: np.ndarray, dual: np.ndarray, norm_of: Any) -> Gap:
    """Return the gap to the best of all stationary points, from several dual points."""
    w, y, r = problem.weights[:, None], problem.targets, np.sqrt(np.maximum(seen.square, 0.0))
    objective = _summed(w, value(problem.loss, y, t)) + problem.penalty.value(r)
    none = feasible(problem, np.zeros_like(t))  # no slopes: the losses are at least their least values
    heights, norms = [_height(problem, none)], [norm_of(-w * none)]
    for k in range(dual.shape[2]):
        u = feasible(problem, -dual[:, :, k] / np.where(w > 0, w, 1.0))
        heights.append(_height(problem, u))
        norms.append(norm_of(-w * u))
    low = np.empty(len(r))
    for k in range(len(r)):
        planes = np.array(heights)[:, k], np.array(norms)[:, k]
        kept = np.isfinite(planes[0])
        low[k] = least_over_norms(problem.penalty, planes[0][kept], planes[1][kept], float(objective[k]))
    rows = price_rows(problem, t, feasible(problem, slope(problem.loss, y, t)), seen.slack)
    return Gap(np.maximum(objective - low, 0.0), t, rows, seen.square, np.full(len(r), np.nan), seen.roots, seen.scope)


def _summed(w: np.ndarray, parts: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(w > 0, w * parts, 0.0).sum(axis=0))


def _height(problem: Problem, u: np.ndarray) -> np.ndarray:
    """Return a little less than -sum_i w_i loss*(y_i, u_i)."""
    parts = conjugate(problem.loss, problem.targets, u)
    with np.errstate(invalid="ignore"):
        w = problem.weights[:, None]
        return -_summed(w, parts) - 4 * EPS * len(u) * _summed(w, np.abs(parts))


def least_over_norms(penalty: Any, heights: np.ndarray, norms: np.ndarray, best: float) -> float:
    """Return a lower bound on the least of Omega(r) + max_j (heights_j - norms_j r) over r >= 0.

    Omega increases and the planes fall: on a cell the sum is at least Omega at its left end and the planes at its
    right. Cells whose bound is least are cut again.
    """
    right = 1.0
    while float(penalty.value(np.array([right]))[0]) + heights.max(where=norms == 0, initial=-np.inf) < best:
        right *= 2.0
        if right > 1e12:
            return -np.inf
    edges = np.concatenate([[0.0], np.logspace(-6, 0, CELLS) * right])
    a, z = edges[:-1], edges[1:]
    beyond, pruned = float(penalty.value(np.array([right]))[0]) + heights.max(where=norms == 0, initial=-np.inf), np.inf
    for _ in range(LEVELS):
        bound = penalty.value(a) + _roof(heights, norms, z)
        reached = float((penalty.value(a) + _roof(heights, norms, a)).min())  # no cell below it can be told apart
        hopeful = bound < reached
        pruned = min(pruned, float(bound[~hopeful].min(initial=np.inf)))
        if not hopeful.any():
            break
        a, z = a[hopeful], z[hopeful]
        cut = np.linspace(0.0, 1.0, 1 + max(2, CELLS // len(a)))
        whole = a[:, None] + (z - a)[:, None] * cut
        a, z = whole[:, :-1].ravel(), whole[:, 1:].ravel()
    bound = penalty.value(a) + _roof(heights, norms, z)
    return min(float(bound.min()), pruned, beyond)


def _roof(heights: np.ndarray, norms: np.ndarray, r: np.ndarray) -> np.ndarray:
    return np.asarray((heights[:, None] - norms[:, None] * r).max(axis=0))
