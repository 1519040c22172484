"""Metrics that kernels take: a scale for every column, or a positive semi-definite matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._checks import refuse
from mercer.kernels._views import Frozen, Metric, View


def metric_view(who: str, name: str, A: np.ndarray) -> View:
    """Return the view x -> L'x with A = L L'; refuse an A that is not symmetric positive semi-definite (rule 8)."""
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.isfinite(A).all():
        refuse(who, f"'{name}' must be a finite square matrix", f"shape {A.shape}")
    size = np.abs(A).max(initial=0.0)
    if np.abs(A - A.T).max(initial=0.0) > 1e-10 * size:
        i, j = np.unravel_index(np.abs(A - A.T).argmax(), A.shape)
        refuse(who, f"rule 8 needs '{name}' symmetric", f"{name}[{i},{j}] = {A[i, j]:g} and {name}[{j},{i}] = {A[j, i]:g}")
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    if values[0] < -1e-12 * len(A) * max(size, np.finfo(float).tiny):
        remedy = f"c'{name}c < 0 for c = {np.array2string(vectors[:, 0], precision=3)}."
        refuse(who, f"rule 8 needs '{name}' positive semi-definite", f"an eigenvalue {values[0]:.3g}", remedy)
    kept = values > 0
    factor = vectors[:, kept] * np.sqrt(values[kept]) if kept.any() else np.zeros((len(A), 1))
    return (Metric(Frozen(factor)),)


def scale_view(who: str, name: str, scale: Any) -> tuple[View, float]:
    """Return the view and the number gamma such that the scaled squared distance is gamma |view(x) - view(z)|^2.

    A number s gives |x - z|^2 / s^2, a vector one scale a column, a matrix A the metric (x - z)'A(x - z).
    """
    array = np.asarray(scale, dtype=np.float64)
    if array.ndim == 0:
        return (), 1.0 / float(array) ** 2
    if array.ndim == 2:
        return metric_view(who, name, array), 1.0
    return (Metric(Frozen(1.0 / array)),), 1.0


def check_scale(who: str, scale: Any, rules: tuple[str, ...] = ()) -> None:
    """Refuse a scale that is not a positive number, positive vector, psd matrix or one of the named rules."""
    if isinstance(scale, str):
        if scale not in rules:
            wanted = f"'scale' must be a positive number, a vector, a matrix{''.join(f', {r!r}' for r in rules)}"
            refuse(who, wanted, repr(scale))
        return
    try:
        array = np.asarray(scale, dtype=np.float64)
    except (TypeError, ValueError):
        refuse(who, "'scale' must be a positive number, a vector of them, or a metric matrix", repr(scale))
    if array.ndim == 2:
        metric_view(who, "scale", array)
    elif array.ndim > 2 or array.size == 0 or not (np.isfinite(array).all() and (array > 0).all()):
        what = scale if array.ndim == 0 else f"the vector {np.array2string(array, threshold=8)}"
        refuse(who, "'scale' must be a positive number" if array.ndim == 0 else "every 'scale' must be positive", what)
