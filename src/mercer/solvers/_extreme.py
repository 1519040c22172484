"""The largest or smallest eigenvalues of a symmetric matrix, and not fewer than were asked for."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh


def extreme(A: np.ndarray, count: int, *, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return so many eigenvalues from one end inwards, and their vectors.

    Of eigenvalues that are all but equal LAPACK may return some or none where a part of them is asked for; then all
    are computed. Cost: about 2 n^3 flops, or 9.
    """
    n = len(A)
    ends = [n - count, n - 1] if largest else [0, count - 1]
    values, vectors = eigh(A, subset_by_index=ends, check_finite=False)
    if len(values) < count:
        values, vectors = eigh(A, driver="evd", check_finite=False)
        values, vectors = (x[..., ends[0] : ends[1] + 1] for x in (values, vectors))
    return (values[::-1], vectors[:, ::-1]) if largest else (values, vectors)
