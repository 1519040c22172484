"""Scales that come from data, resolved at fit to numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist

from mercer._checks import numeric_rows, refuse

RULES = ("median", "scale", "auto")


def scale_from_data(who: str, rule: str, X: Any) -> float:
    """Return the number a named rule gives for X.

    ``"median"`` is the median distance between rows (of at most 1,000 evenly spaced ones); ``"scale"`` is
    sqrt(d var(X)), scikit-learn's gamma="scale"; ``"auto"`` is sqrt(d), its gamma="auto".
    """
    X = numeric_rows(who, X)
    d = X.shape[1]
    if rule == "auto":
        return float(np.sqrt(d))
    if rule == "scale":
        mean = X.mean(dtype=np.float64) if not sparse.issparse(X) else X.sum(dtype=np.float64) / np.prod(X.shape)
        if sparse.issparse(X):
            var = X.multiply(X).sum(dtype=np.float64) / np.prod(X.shape) - mean**2
        else:
            var = X.var(dtype=np.float64)
        return float(np.sqrt(d * var)) if var > 0 else 1.0
    return _median_distance(who, X)


def _median_distance(who: str, X: Any) -> float:
    rows = np.unique(np.linspace(0, X.shape[0] - 1, min(X.shape[0], 1000)).astype(int))
    sample = X[rows].toarray() if sparse.issparse(X) else X[rows]
    distances = pdist(sample.astype(np.float64))
    positive = distances[distances > 0]
    if not positive.size:
        refuse(who, "scale='median' needs two rows that differ", f"{X.shape[0]} equal rows", "Give a number.")
    return float(np.median(positive))
