"""The offset that is best for an f, for the multinomial loss."""

from __future__ import annotations

import numpy as np

TINY = float(np.finfo(np.float64).tiny)


def best_offset_of_classes(Y: np.ndarray, w: np.ndarray, f: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the b, adding up to 0, at which the weighted probabilities of each class add up to its weight."""
    wanted, size = (w * Y).sum(axis=0), float(w.sum())
    for _ in range(100):
        t = f + b
        t = t - t.max(axis=1, keepdims=True)
        p = np.exp(t)
        p /= p.sum(axis=1, keepdims=True)
        off = (w * p).sum(axis=0) - wanted
        if np.abs(off).max() <= 1e-14 * size:
            break
        H = np.diag((w * p).sum(axis=0)) - (w * p).T @ p
        step = np.linalg.pinv(H, rcond=1e-13, hermitian=True) @ off
        longest = float(np.abs(step).max())
        b = b - step * min(1.0, 2.0 / max(longest, TINY))
    return np.asarray(b - b.mean())
