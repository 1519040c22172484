"""Randomly pivoted partial Cholesky: a low-rank factor of K from a few of its rows, never n x n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from mercer._checks import describe, integer, number, refuse
from mercer.gram._gram import Gram
from mercer.gram._make import from_matrix

WHO = "random_pivots"
REJECT = 1e-5
"""A candidate whose remaining diagonal falls below this share of its block's largest is a near duplicate."""


@dataclass(frozen=True, eq=False)
class RandomPivots:
    """K ~= F F' from the rows of some pivots; the remainder is psd, up to rounding in float32.

    Parameters
    ----------
    F : array of shape (n, r), float32
        The factor.
    pivots : array of shape (r,)
        Which points; none twice, and no near duplicates.
    residual : array of shape (n,), float64
        The diagonal of K - F F', not below 0.
    """

    F: np.ndarray
    pivots: np.ndarray
    residual: np.ndarray

    @property
    def rank(self) -> int:
        """How many pivots."""
        return len(self.pivots)

    @property
    def error(self) -> float:
        """The trace of K - F F', which bounds its norm (up to rounding in float32)."""
        return float(self.residual.sum())


def random_pivots(
    K: Any, rank: int, *, block: int = 128, tol: float = 1e-6, weights: Any = None, random_state: Any = None
) -> RandomPivots:
    """Return F with K ~= F F' by block randomly pivoted Cholesky (RPCholesky).

    Each round draws a block of points with probability proportional to the remaining diagonal d, takes their rows of K
    less F F', drops near duplicates by pivoted Cholesky of the small block in float64, and adds the rest to F. The
    expected error is close to the best of a slightly larger rank, since points that are explained are not drawn again.
    Cost: rank rows of K, n rank^2 flops in float32, 4 n rank bytes.

    Parameters
    ----------
    K : Gram or array
        Positive semi-definite; only its diagonal and rows are asked for.
    rank : int
        At most this many pivots; fewer when K is explained sooner.
    block : int
        How many points are drawn at once.
    tol : float
        Stop when the trace of the remainder is below tol times that of K.
    weights : array of shape (n,), optional
        Draws are in proportion to weights times the remaining diagonal.
    random_state : int, Generator or None
        Where the draws come from.

    Returns
    -------
    RandomPivots
        The factor, the pivots, and the remaining diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import gram, random_pivots
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 1, 500).reshape(-1, 1)
    >>> found = random_pivots(gram(Gaussian(scale=1.0), X), rank=20, random_state=0)
    >>> found.rank < 20, found.error < 1e-6 * 500
    (True, True)
    """
    K = K if isinstance(K, Gram) else from_matrix(K)
    n = K.shape[0]
    if K.shape[1] != n:
        refuse(WHO, "K must be square", f"shape {K.shape}")
    rank, block = min(integer(WHO, "rank", rank, 1), n), integer(WHO, "block", block, 1)
    tol = number(WHO, "tol", tol, 0.0)
    d = K.diag()
    if not np.isfinite(d).all() or (d < 0).any():
        i = int(np.flatnonzero(~(d >= 0) | ~np.isfinite(d))[0])
        refuse(WHO, "the diagonal of K must be finite and >= 0", f"{d[i]} at {i}", "See check_psd.")
    rng = generator(WHO, random_state)
    # Residuals below this are rounding of float32; their points count as explained.
    floor = 32 * float(np.finfo(np.float32).eps) * d
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    rows, pivots = np.empty((rank, n), np.float32), np.empty(rank, np.intp)
    left, k = d.copy(), 0
    while k < rank:
        live = np.where(left > floor, w * left, 0.0)
        if not live.any() or left.sum() <= tol * d.sum():
            break
        b = min(block, rank - k, int(np.count_nonzero(live)))
        chosen = np.unique(rng.choice(n, b, p=live / live.sum()))
        new, kept = _step(K, rows[:k], chosen, float(floor[chosen].max()))
        rows[k : k + len(new)], pivots[k : k + len(new)] = new, kept
        left = np.maximum(left - np.einsum("ij,ij->j", new, new, dtype=np.float64), 0.0)
        left[chosen if not len(kept) else kept] = 0.0
        k += len(new)
    return RandomPivots(rows[:k].T, pivots[:k].copy(), left)


def generator(who: str, random_state: Any) -> np.random.Generator:
    """Return a NumPy generator for a seed, a generator, or None; refuse anything else."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        refuse(who, "'random_state' must be a seed, a generator or None", describe(random_state))


def _step(K: Gram, P: np.ndarray, chosen: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the new rows of the factor for the chosen points, near duplicates left out, and which points they are."""
    G = np.asarray(K.rows(chosen), dtype=np.float32)
    if len(P):
        G = G - P[:, chosen].T @ P
    H = G[:, chosen].astype(np.float64)
    H = (H + H.T) / 2
    largest = float(np.diagonal(H).max())
    if largest <= floor:
        return G[:0], chosen[:0]
    C, order, r, _ = dpstrf(H, lower=1, tol=max(REJECT * largest, floor))
    kept = order[:r] - 1
    L = np.tril(C[:r, :r]).astype(np.float32)
    new = solve_triangular(L, G[kept], lower=True, check_finite=False)
    return new, chosen[kept]
