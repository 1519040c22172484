"""The nearest function in the span of sections, and which sections to choose."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from mercer.functions._algebra import block, matrix
from mercer.gram import Gram
from mercer.kernels import Kernel

DEPENDENT = 1e-6
"""A section counts as dependent below this relative distance to the span of the others.

Coefficients grow like 1 / distance and are rounded to eps / distance^2, so that below about eps^(1/3) what rounding
spoils is more than what another section could add.
"""


def interpolate(kernel: Kernel, points: Any, values: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """Return which points are independent, and c with sum_j c_j k(p_i, p_j) = values_i on them.

    Pivoted Cholesky of K scaled to unit diagonal, cut at its numerical rank, and one step of refinement.
    """
    K = block(kernel, points)
    size = np.sqrt(np.maximum(np.diagonal(K), 0.0))
    used = np.flatnonzero(size > 0)
    if not len(used):
        return used, values[used]
    size = size[used]
    A = K[np.ix_(used, used)] / np.outer(size, size)
    U, order, r, _ = dpstrf(A, tol=_cut(tol, len(used)))
    some = order[:r] - 1
    U, A, right = np.triu(U[:r, :r]), A[np.ix_(some, some)], _columns(values[used[some]]) / size[some, None]
    c = refined(U, A, right)
    return used[some], (c / size[some, None]).reshape(r, *values.shape[1:])


def refined(U: np.ndarray, A: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solution of A c = right, A = U'U, with one step of refinement."""
    c = _solve(U, right)
    return c + _solve(U, right - A @ c)


def _solve(U: np.ndarray, right: np.ndarray) -> np.ndarray:
    return solve_triangular(U, solve_triangular(U, right, trans=1, check_finite=False), check_finite=False)


def _cut(tol: float, n: int) -> float:
    return max(tol**2, 4 * n * float(np.finfo(np.float64).eps))


def _columns(values: np.ndarray) -> np.ndarray:
    return values.reshape(len(values), -1)


def greedy(kernel: Kernel, X: Any, f: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return m of the points, and the coefficients of the projection of the function with values f on their sections.

    Each step takes the section that brings the error down most, by r_j^2 / d_j: r is what the projection leaves of f at
    x_j, d what the chosen sections leave of k(., x_j). Cost: m rows of K and n m^2 flops.
    """
    K = matrix(kernel, X)
    P, chosen, along = _pursued(K, _columns(f).copy(), m)
    U = P[:, chosen]
    c = solve_triangular(U, along, check_finite=False)
    part = np.asarray(K.block(chosen, chosen), dtype=np.float64)
    c = c + _solve(U, _columns(f)[chosen] - part @ c)
    return chosen, c.reshape(len(chosen), *f.shape[1:])


def _pursued(K: Gram, r: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the orthonormal basis v_k at all points, the chosen points, and the inner products of f with v_k."""
    d = K.diag()
    floor = _cut(DEPENDENT, len(d)) * d
    P, along = np.empty((m, len(d))), np.empty((m, r.shape[1]))
    chosen: list[int] = []
    while len(chosen) < m:
        live = d > floor
        score = np.where(live, np.square(r).sum(axis=1) / np.where(live, d, 1.0), -1.0)
        p, k = int(score.argmax()), len(chosen)
        if score[p] < 0.0 or (score[p] == 0.0 and chosen):
            break
        root = np.sqrt(d[p])
        P[k] = (np.asarray(K.rows([p])[0], dtype=np.float64) - P[:k, p] @ P[:k]) / root
        P[k, chosen], P[k, p] = 0.0, root
        along[k] = r[p] / root
        r -= np.multiply.outer(P[k], along[k])
        d = d - np.square(P[k])
        chosen.append(p)
        d[chosen] = 0.0
    return P[: len(chosen)], np.array(chosen, dtype=np.intp), along[: len(chosen)]
