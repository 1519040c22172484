"""Scales that come from data, resolved at fit to numbers."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist

from mercer._checks import numeric_rows, refuse
from mercer.kernels._kernel import Kernel
from mercer.kernels._views import power_of_two

RULES = ("median", "scale", "auto")
_SAMPLE = 1000  # rows whose distances give the median
_K = TypeVar("_K", bound=Kernel)


def resolved(kernel: _K, X: Any, metric: str = "euclidean") -> _K:
    """Return a kernel with its named ``scale`` turned into a number by X.

    ``"median"`` is the median distance between rows (of at most 1,000 evenly spaced ones); ``"scale"`` and ``"auto"``
    are scikit-learn's gamma of the same name: 1 / (d var(X)) and 1 / d. A scale is 1 / sqrt(gamma) for kernels of the
    Euclidean distance, 1 / gamma for kernels of the sum of absolute differences (metric "cityblock").
    """
    rule = kernel.scale  # type: ignore[attr-defined]  # only kernels with a scale come here
    if not isinstance(rule, str):
        return kernel
    who = type(kernel).__name__
    X = numeric_rows(who, X)
    if rule == "median":
        value = _median_distance(who, X, metric)
    elif metric == "cityblock":
        value = 1.0 / gamma_from_data(who, rule, X)
    else:
        value = _root_of_total_variance(X) if rule == "scale" else float(np.sqrt(X.shape[1]))
    return dataclasses.replace(kernel, scale=value)  # type: ignore[call-arg]  # as above


def gamma_from_data(who: str, rule: str, X: Any) -> float:
    """Return scikit-learn's gamma of a name: ``"scale"``, 1 / (d var(X)), or ``"auto"``, 1 / d."""
    X = numeric_rows(who, X)
    return float(1.0 / X.shape[1]) if rule == "auto" else _root_of_total_variance(X) ** -2.0


def _root_of_total_variance(X: Any) -> float:
    """Return sqrt(d var(X)), var over all entries; 1 where they are all equal."""
    values = X.data if sparse.issparse(X) else X
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0:
        return 1.0
    size = float(power_of_two(largest))
    values, n = (
        values.astype(np.float64) / size,
        np.prod(X.shape, dtype=np.float64),
    )  # squares neither under- nor overflow
    mean = values.sum() / n
    total = ((values - mean) ** 2).sum() + mean**2 * (n - values.size)  # what a CSR matrix does not store is 0
    deviation = float(np.sqrt(total / n))
    return size * float(np.sqrt(X.shape[1])) * deviation if deviation > 1e-15 else 1.0


def _median_distance(who: str, X: Any, metric: str) -> float:
    rows = np.unique(np.linspace(0, X.shape[0] - 1, min(X.shape[0], _SAMPLE)).astype(int))
    sample = (X[rows].toarray() if sparse.issparse(X) else X[rows]).astype(np.float64)
    size = float(power_of_two(np.abs(sample).max()))
    distances = pdist(sample / size, metric)
    positive = distances[distances > 0]
    if not positive.size:
        refuse(who, "scale='median' needs two rows that differ", f"{X.shape[0]} sample(s), all equal", "Give a number.")
    return size * float(np.median(positive))
