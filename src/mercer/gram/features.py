"""A feature map from a Gram matrix: K = P'P, by pivoted Cholesky that looks only at the rows it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpstrf

from mercer._checks import describe, integer, number, refuse
from mercer.gram import _witness
from mercer.gram._gram import Gram
from mercer.gram._make import check_symmetric
from mercer.gram._rounded import gamma

WHO = "feature_map"
LOOKED_AT = 32
"""How many rows of a lazy Gram are compared with P'P at the end."""


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """K ~= P'P: column i of P holds the coordinates of point i in an orthonormal basis of the span of the pivots.

    Parameters
    ----------
    P : array of shape (rank, n)
        One column a point; upper triangular on the pivots.
    pivots : array of shape (rank,)
        The points whose sections span the features, in the order in which they were chosen.
    rank : int
        How many features.
    error : float
        The trace of K - P'P, which bounds its norm: the remainder is psd.
    error_bound : float
        The same with the rounding of K and of P added.
    """

    P: np.ndarray
    pivots: np.ndarray
    rank: int
    error: float
    error_bound: float


def feature_map(K: Any, *, rank: int | None = None, tol: float | None = None) -> FeatureMap:
    """Return P with K ~= P'P by pivoted Cholesky, or refuse a K that is not psd, with a witness.

    Each step takes the point with the largest remaining diagonal d_p: its row of K, less what P explains, divided by
    sqrt(d_p), is the next row of P. Only the diagonal and ``rank`` rows of a Gram are computed. At the end all rows of
    an array, or 32 rows of a Gram, are compared with P'P: a psd remainder R has R_ij^2 <= R_ii R_jj.
    Cost: n rank^2 flops and rank rows of K.

    Parameters
    ----------
    K : array, sparse matrix or Gram
        A symmetric matrix.
    rank : int, optional
        At most this many features; n by default.
    tol : float, optional
        Stop when no remaining diagonal entry is above tol times the largest of K; at least, and by default,
        4 sqrt(n) eps of K's dtype.

    Returns
    -------
    FeatureMap
        P, its pivots and rank, and how far P'P is from K.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import feature_map
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [4.0, 6.0]])
    >>> found = feature_map(X @ X.T)
    >>> found.rank, found.pivots.tolist(), bool(np.allclose(found.P.T @ found.P, X @ X.T))
    (2, [2, 0], True)
    >>> feature_map([[0.0, 1.0], [1.0, 0.0]])
    Traceback (most recent call last):
        ...
    ValueError: feature_map: K must be positive semi-definite; got c'Kc = -2 for c = [1, -1] on points [0, 1]. ...
    """
    matrix = _Rows(_symmetric(K))
    n = len(matrix.diag)
    size = float(np.abs(matrix.diag).max())
    least = 4 * np.sqrt(n) * float(np.finfo(matrix.dtype).eps)
    floor = size * (least if tol is None else max(number(WHO, "tol", tol, 0.0), least))
    most = n if rank is None else min(integer(WHO, "rank", rank, 1), n)
    whole = rank is None and matrix.array is not None and n > 256
    P, pivots, d = _at_once(matrix, floor) if whole else _step_by_step(matrix, most, floor)
    rounding = _rounding(matrix, P, n)
    _inspect(matrix, P, pivots, d, max(rounding, floor if len(pivots) < most else 0.0))
    error = float(np.maximum(d, 0.0).sum())
    return FeatureMap(P, pivots, len(P), error, error + n * rounding)


class _Rows:
    """The diagonal, rows and small parts of a matrix or a Gram, in float64."""

    def __init__(self, K: np.ndarray | Gram) -> None:
        self.gram = K if isinstance(K, Gram) else None
        self.array = None if isinstance(K, Gram) else K
        self.dtype = K.dtype
        self.eps = float(np.finfo(K.dtype).eps) * (1 if self.gram is None else 100)  # 100: what `gram` states for tiles
        self.diag = (K.diag() if isinstance(K, Gram) else np.diagonal(K)).astype(np.float64)

    def row(self, i: Any) -> np.ndarray:
        """Return some rows."""
        rows = self.array[i] if self.array is not None else self.gram.rows(i)  # type: ignore[union-attr]  # one is there
        return np.asarray(rows, dtype=np.float64)

    def part(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a principal part and bounds on its errors."""
        K = self.row(indices)[:, indices]
        roots = np.sqrt(np.abs(np.diagonal(K)))
        return (K + K.T) / 2, self.eps * (4 * np.outer(roots, roots) + np.abs(K))


def _symmetric(K: Any) -> np.ndarray | Gram:
    """Return K as a float array or a Gram, or refuse it."""
    if not isinstance(K, Gram):
        K = K.toarray() if sparse.issparse(K) else np.asarray(K)
        if K.dtype.kind not in "fiub":
            refuse(WHO, "K must be a real matrix or a Gram", describe(K), error=TypeError)
        K = K if K.dtype in (np.float32, np.float64) else K.astype(np.float64)
    if len(K.shape) != 2 or K.shape[0] != K.shape[1] or not K.shape[0]:
        refuse(WHO, "K must be square, with at least one row", f"shape {tuple(K.shape)}")
    if isinstance(K, np.ndarray):
        if not np.isfinite(K).all():
            i, j = np.argwhere(~np.isfinite(K))[0]
            refuse(WHO, "K must hold finite numbers", f"{K[i, j]} in row {i}, column {j}")
        check_symmetric(WHO, K)
    return K


def _step_by_step(matrix: _Rows, most: int, floor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return P, the pivots and the remaining diagonal, one row of K a step."""
    d = matrix.diag.copy()
    P = np.empty((min(most, 32), len(d)))
    pivots: list[int] = []
    negative = -_noise(matrix)
    while len(pivots) < most:
        p, k = int(d.argmax()), len(pivots)
        if d.min() < negative or d[p] <= floor:
            break
        if k == len(P):
            P = np.concatenate([P, np.empty((min(k, most - k), len(d)))])
        P[k] = (matrix.row([p])[0] - P[:k, p] @ P[:k]) / np.sqrt(d[p])
        P[k, pivots], P[k, p] = 0.0, np.sqrt(d[p])  # exactly triangular on the pivots
        d -= np.square(P[k])
        pivots.append(p)
        d[pivots] = 0.0
    return P[: len(pivots)], np.array(pivots, dtype=np.intp), d


def _at_once(matrix: _Rows, floor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the same for a whole array, by LAPACK."""
    assert matrix.array is not None
    U, order, r, _ = dpstrf(matrix.array.astype(np.float64), tol=floor)
    P = np.empty((r, len(U)))
    P[:, order - 1] = np.triu(U)[:r]
    d = matrix.diag - np.einsum("ij,ij->j", P, P)
    d[order[:r] - 1] = 0.0
    return P, order[:r] - 1, d


def _noise(matrix: _Rows) -> float:
    """Return what a diagonal entry may be below 0 by rounding."""
    return 8 * np.sqrt(len(matrix.diag)) * matrix.eps * float(np.abs(matrix.diag).max())


def _rounding(matrix: _Rows, P: np.ndarray, n: int) -> float:
    """Return a bound on the error of an entry of P'P, from the entries of K and the sums over the rank."""
    size = float(np.abs(matrix.diag).max())
    return (5 * matrix.eps + 4 * gamma(len(P) + 4)) * size


def _inspect(matrix: _Rows, P: np.ndarray, pivots: np.ndarray, d: np.ndarray, rounding: float) -> None:
    """Refuse K with a witness if what remains is not psd where it is looked at."""
    n = len(d)
    least = int(d.argmin())
    if d[least] < -_noise(matrix):
        _refuse(matrix, np.unique([*pivots, least]))
    looked = np.arange(n) if matrix.array is not None else np.unique(np.linspace(0, n - 1, LOOKED_AT).astype(np.intp))
    roots = np.sqrt(np.maximum(d, 0.0))
    for at in range(0, len(looked), 256):
        i = looked[at : at + 256]
        R = np.abs(matrix.row(i) - P[:, i].T @ P) - np.outer(roots[i], roots)
        R[np.arange(len(i)), i] = 0.0
        if R.max() > 8 * np.sqrt(n) * rounding:
            a, b = np.unravel_index(int(R.argmax()), R.shape)
            _refuse(matrix, np.unique([*pivots, i[a], b]))


def _refuse(matrix: _Rows, among: np.ndarray) -> None:
    """Refuse K if a witness against it is found among some points."""
    K, _ = matrix.part(among)
    v = np.linalg.eigh(K)[1][:, 0]
    d = np.diagonal(K)
    orders = [np.array([int(d.argmin())]), np.argsort(-np.abs(v), kind="stable")]
    found = _witness.find(lambda i: matrix.part(among[i]), orders)
    if found is None:
        return
    c = ", ".join(f"{x:.4g}" for x in found.coefficients[:8])
    points = ", ".join(str(i) for i in among[found.indices][:8])
    more = ", ..." if len(found.indices) > 8 else ""
    got = f"c'Kc = {found.value:.4g} for c = [{c}{more}] on points [{points}{more}]"
    refuse(WHO, "K must be positive semi-definite", got, "See check_psd(K); clip its eigenvalues, or mend the kernel.")
