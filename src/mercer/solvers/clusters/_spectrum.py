"""How large the sum of the j largest eigenvalues of a matrix can be: bounds that hold, not estimates.

For a symmetric B and any t, the sum of its j largest eigenvalues is at most j t + tr(Z) for every psd Z with
Z + t I - B psd (Ky Fan's maximum and its dual). Up to DENSE points Z comes from the eigenvectors, and that the rest is
psd is verified by Cholesky with its rounding accounted for.

Above, B is seen through products. For an orthonormal V with T = V'BV, R = BV - VT and C the rest of B,

    B = [ T  R' ; R  C ]  <=  [ T + R'R / a   0 ; 0   C + a I ]   for every a > 0,

and nothing need be known of C but its Frobenius norm f, f^2 = |B|_F^2 - |T|_F^2 - 2 |R|_F^2: m eigenvalues of C add up
to no more than sqrt(m) f. Hence the sum is at most max over m of (the j - m largest of T + R'R / a) + m a + sqrt(m) f,
and the best a of a grid is taken. No eigenvalue can be missed: what V does not see is in f.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from mercer.gram._pool import one_blas_thread
from mercer.gram._smallest import dense

EPS = float(np.finfo(np.float64).eps)
DENSE = 1000
Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class TopSum:
    """A bound on the sum of the largest eigenvalues, and the eigenvalues as they were found (never too high)."""

    bound: float
    values: np.ndarray


def of_matrix(B: np.ndarray, j: int) -> TopSum:
    """Bound the sum of the j largest eigenvalues of a symmetric float64 matrix. Cost: some 4 n^3 flops."""
    n = len(B)
    values, vectors = eigh(B, check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    if j >= n or j == 0:
        total = float(np.trace(B)) if j else 0.0
        return TopSum(total + n * EPS * float(np.abs(np.diagonal(B)).sum()), values)
    size = float(np.abs(values).max(initial=0.0))
    t = max(float(values[j]), 0.0) + 4 * n * EPS * size
    excess = np.maximum(values[:j] - t, 0.0)
    U = vectors[:, :j]
    rest = (U * excess) @ U.T - B
    rest[np.diag_indices(n)] += t
    shift = t - min(0.0, dense((rest + rest.T) / 2).low) + 8 * (n + 8) * EPS * size  # the last: forming the rest
    total = j * shift + float(excess @ np.einsum("ij,ij->j", U, U))
    return TopSum(total + 4 * (n + j) * EPS * size, values)


def of_products(V: np.ndarray, BV: np.ndarray, squares: float, j: int) -> TopSum:
    """Bound the sum of the j largest eigenvalues of B from its product with an orthonormal V and |B|_F^2."""
    T = V.T @ BV
    T = (T + T.T) / 2
    R = BV - V @ T
    RR = R.T @ R
    f = float(np.sqrt(max(squares * (1 + 1e-12) - float((T * T).sum()) - 2 * float(np.trace(RR)), 0.0)))
    values = np.linalg.eigvalsh(T)[::-1]
    if j == 0:
        return TopSum(0.0, values)
    size = max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny)
    with one_blas_thread():
        bounds = [_with(a * size, T, RR, f, j) for a in np.geomspace(1e-8, 1.0, 40)]
    return TopSum(min(bounds) + 64 * len(V) * EPS * size, values)


def _with(a: float, T: np.ndarray, RR: np.ndarray, f: float, j: int) -> float:
    seen = np.linalg.eigvalsh(T + RR / a)[::-1]
    sums = np.concatenate([[0.0], np.cumsum(np.maximum(seen, 0.0))])
    m = np.arange(j + 1)
    return float((sums[np.minimum(j - m, len(seen))] + m * a + np.sqrt(m) * f).max())


def krylov(times: Map, start: np.ndarray, blocks: int) -> np.ndarray:
    """Return an orthonormal basis of the span of start, B start, B^2 start ...: where the largest eigenvalues show."""
    with one_blas_thread():  # factors of few columns are small steps: threads would wait for each other at each
        V = last = np.linalg.qr(start)[0]
        for _ in range(blocks - 1):
            last = times(last)
            for _ in range(2):  # once more, since what is left may be rounding
                last = np.linalg.qr(last - V @ (V.T @ last))[0]
            V = np.concatenate([V, last - V @ (V.T @ last)], axis=1)
        return V if blocks == 1 else np.linalg.qr(V)[0]
