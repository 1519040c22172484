"""Probabilities of several classes: from those of pairs, and brought to agree with what was decided."""

from __future__ import annotations

import numpy as np

LEAST = 1e-7
"""How near 0 and 1 the probability of a pair may come."""


def coupled(r: np.ndarray) -> np.ndarray:
    """Return class probabilities from pairwise ones, r_ij for i against j: min_p sum_(i, j) (r_ji p_i - r_ij p_j)^2.

    This is the second method of Wu, Lin and Weng (2004), which LIBSVM uses; its minimiser over sum p = 1 is positive
    and solves one linear system. Cost: k^3 for each point.

    Parameters
    ----------
    r : array of shape (n, k, k)
        r[:, i, j] + r[:, j, i] = 1; the diagonal is not looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.calibration import coupled
    >>> coupled(np.array([[[0.0, 0.8, 0.6], [0.2, 0.0, 0.3], [0.4, 0.7, 0.0]]])).round(2)
    array([[0.52, 0.14, 0.34]])
    """
    n, k, _ = r.shape
    r = np.clip(r, LEAST, 1 - LEAST)
    Q = -r * r.transpose(0, 2, 1)
    each = np.arange(k)
    r = np.where(np.eye(k, dtype=bool), 0.0, r)
    Q[:, each, each] = (r**2).sum(axis=1)
    system = np.zeros((n, k + 1, k + 1))
    system[:, :k, :k], system[:, :k, k], system[:, k, :k] = Q, 1.0, 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    p = np.clip(np.linalg.solve(system, right)[:, :k, 0], 0.0, None)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def agreeing(p: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """Return the probabilities nearest to p of which the decided class has the largest.

    Where another class has more, the projection averages the decided class with those above it; a share of 1e-12 then
    sets it apart, so that ``argmax`` finds it. Rows that agree are left alone.

    Parameters
    ----------
    p : array of shape (n, k)
        Rows that sum to 1.
    decided : integer array of shape (n,)
        The class decided for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.calibration import agreeing
    >>> agreeing(np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]), np.array([1, 2])).round(2)
    array([[0.4, 0.4, 0.2],
           [0.1, 0.2, 0.7]])
    """
    rows = np.arange(len(p))
    others = p.copy()
    others[rows, decided] = -np.inf
    wrong = np.flatnonzero(others.max(axis=1) >= p[rows, decided])
    if not len(wrong):
        return p
    p, at, own = p.copy(), decided[wrong], p[wrong, decided[wrong]]
    falling = -np.sort(-others[wrong], axis=1)[:, :-1]  # the others, largest first; the decided class is the -inf
    means = (own[:, None] + np.cumsum(falling, axis=1)) / np.arange(2, p.shape[1] + 1)
    following = np.column_stack([falling[:, 1:], np.full(len(wrong), -np.inf)])
    first = np.argmax(means >= following, axis=1)
    level = means[np.arange(len(wrong)), first]
    mended = np.minimum(p[wrong], level[:, None])
    mended[np.arange(len(wrong)), at] = level * (1 + 1e-12)
    p[wrong] = mended / mended.sum(axis=1, keepdims=True)
    return p
