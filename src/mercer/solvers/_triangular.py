"""Solving with a triangular factor, by the routine that suits the number of columns."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dtrsm, dtrsv


def solve_lower(L: np.ndarray, B: np.ndarray, *, transposed: bool = False) -> np.ndarray:
    """Return L^-1 B, or L^-T B, for a lower L in column order, the rest of which is not read. Cost: m^2 a column."""
    if B.shape[1] == 1:
        return np.asarray(dtrsv(L, B[:, 0], lower=1, trans=int(transposed)))[:, None]
    return np.asarray(dtrsm(1.0, L, np.asfortranarray(B), lower=1, trans_a=int(transposed)))
