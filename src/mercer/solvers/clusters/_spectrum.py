"""How large the sum of the j largest eigenvalues of a matrix can be: bounds that hold, not estimates.

For a symmetric B and any t, the sum of its j largest eigenvalues is at most j t + tr(Z) for every psd Z with
Z + t I - B psd (Ky Fan's maximum and its dual). Up to DENSE points Z comes from the eigenvectors, and that the rest is
psd is verified by Cholesky with its rounding accounted for.

Above, B is seen through products. For an orthonormal V with T = V'BV, R = BV - VT and C the rest of B,

    B = [ T  R' ; R  C ]  <=  [ T + R'R / a   0 ; 0   C + a I ]   for every a > 0,

and of C, a matrix of order N, only two moments need be known: its trace t = tr(B) - tr(T) and its Frobenius norm f,
f^2 = |B|_F^2 - |T|_F^2 - 2 |R|_F^2. Its m largest eigenvalues add up to no more than

    m t / N + sqrt(m (N - m) / N) sqrt(f^2 - t^2 / N)

(m equal ones, the others equal too, take the most). Hence the sum is at most max over m of (the j - m largest of
T + R'R / a) + m a + that of C, and the best a of some is taken. No eigenvalue can be missed: what V does not see is in
the moments. Products that are rounded, BV + E with |E|_F <= e, belong exactly to a matrix that is at most sqrt(2) e
from B, whose j largest eigenvalues add up to at most sqrt(2 j) e less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.gram._pool import one_blas_thread
from mercer.gram._smallest import at_least
from mercer.solvers._extreme import extreme

EPS = float(np.finfo(np.float64).eps)
DENSE = 1000
Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class TopSum:
    """A bound on the sum of the largest eigenvalues, and the eigenvalues as they were found (never too high)."""

    bound: float
    values: np.ndarray


def of_matrix(B: np.ndarray, j: int) -> TopSum:
    """Bound the sum of the j largest eigenvalues of a symmetric float64 matrix. Cost: some 2 n^3 flops."""
    n = len(B)
    if j >= n or j == 0:
        total = float(np.trace(B)) if j else 0.0
        return TopSum(total + n * EPS * float(np.abs(np.diagonal(B)).sum()), np.linalg.eigvalsh(B)[::-1])
    with one_blas_thread():  # factors of few rows are small steps: threads would wait for each other at each
        values, vectors = extreme(B, j + 1, largest=True)
    size = float(np.linalg.norm(B))
    t = max(float(values[j]), 0.0) + 4 * n * EPS * size
    excess = np.maximum(values[:j] - t, 0.0)
    U = vectors[:, :j]
    with one_blas_thread():
        rest = (U * excess) @ U.T - B
        rest[np.diag_indices(n)] += t
        low = at_least((rest + rest.T) / 2, t - float(values[j]))
    shift = t - min(0.0, low) + 8 * (n + 8) * EPS * size  # the last: forming the rest
    total = j * shift + float(excess @ np.einsum("ij,ij->j", U, U))
    return TopSum(total + 4 * (n + j) * EPS * size, values)


@dataclass(frozen=True, eq=False)
class Products:
    """B V for an orthonormal V, and how far from it, in the Frobenius norm, it may be."""

    V: np.ndarray
    BV: np.ndarray
    error: float = 0.0


@dataclass(frozen=True)
class Moments:
    """|B|_F^2, or a little more, and tr(B), with what it is right to."""

    squares: float
    trace: float
    error: float = 0.0


def of_products(seen: Products, moments: Moments, j: int) -> TopSum:
    """Bound the sum of the j largest eigenvalues of B from products and moments."""
    V, e = seen.V, seen.error
    T = V.T @ seen.BV
    T = (T + T.T) / 2
    R = seen.BV - V @ T
    RR = R.T @ R
    with one_blas_thread():  # eigenvalues of few rows are small steps: threads would wait for each other at each
        values = np.linalg.eigvalsh(T)[::-1]
        if j == 0:
            return TopSum(0.0, values)
        size = max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny)
        parts = float(np.linalg.norm(T)), float(np.sqrt(max(float(np.trace(RR)), 0.0)))
        f2 = moments.squares * (1 + 1e-12) - max(parts[0] - e, 0.0) ** 2 - 2 * max(parts[1] - 2 * e, 0.0) ** 2
        trace = moments.trace - float(np.trace(T))
        rest = _of_moments(len(V) - len(T), trace, moments.error + float(np.sqrt(len(T))) * e, f2, j)
        bound = _least(lambda a: _with(a * size, T, RR, rest, j))
    return TopSum(bound + float(np.sqrt(2 * j)) * e + 64 * len(V) * EPS * size, values)


def _of_moments(n: int, trace: float, slack: float, squares: float, j: int) -> np.ndarray:
    """Bound the sum of the m largest eigenvalues, m = 0..j, of a matrix of order n by its trace and its squares."""
    m = np.minimum(np.arange(j + 1), n)
    if n == 0:
        return np.zeros(j + 1)
    spread = np.sqrt(max(squares - max(abs(trace) - slack, 0.0) ** 2 / n, 0.0))
    return np.asarray(m * (trace + slack) / n + np.sqrt(m * (n - m) / n) * spread)


def _least(f: Callable[[float], float]) -> float:
    """Return the least of f at some points: powers of ten, then finer about the best of them."""
    at = np.geomspace(1e-8, 1.0, 9)
    found = [f(a) for a in at]
    best = at[int(np.argmin(found))]
    return min(found + [f(best * 10.0**s) for s in (-0.6, -0.3, 0.3, 0.6)])


def _with(a: float, T: np.ndarray, RR: np.ndarray, rest: np.ndarray, j: int) -> float:
    seen = np.linalg.eigvalsh(T + RR / a)[::-1]
    sums = np.concatenate([[0.0], np.cumsum(np.maximum(seen, 0.0))])
    m = np.arange(j + 1)
    return float((sums[np.minimum(j - m, len(seen))] + m * a + rest).max())


def krylov(times: Map, start: np.ndarray, blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Return V and B V, V an orthonormal basis of the span of start, B start, B^2 start ...: as many products."""
    with one_blas_thread():  # factors of few columns are small steps: threads would wait for each other at each
        V = np.linalg.qr(start)[0]
        BV = last = times(V)
        for _ in range(blocks - 1):
            new = np.linalg.qr(last - V @ (V.T @ last))[0]
            new = new - V @ (V.T @ new)  # what was left may have been rounding
            if np.linalg.norm(new.T @ new - np.eye(new.shape[1])) > 1e-12:
                new = np.linalg.qr(new)[0]
                new = np.linalg.qr(new - V @ (V.T @ new))[0]
            last = times(new)
            V, BV = np.concatenate([V, new], axis=1), np.concatenate([BV, last], axis=1)
        return V, BV
