"""Metrics that kernels take: a scale for every column, or a positive semi-definite matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._checks import describe, refuse
from mercer.kernels._derivation import Formula
from mercer.kernels._values import Frozen
from mercer.kernels._views import Metric, View

_MODEST = (1e-140, 1e140)  # scales whose squares are far from under- and overflow
_WANTED = "'scale' must be a positive number, a vector of them, or a metric matrix"


def metric_view(who: str, name: str, A: np.ndarray) -> View:
    """Return the view x -> L'x with A = L L'; refuse an A that is not symmetric positive semi-definite (rule 8)."""
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.size or not np.isfinite(A).all():
        got = f"shape {A.shape}" if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.size else "NaN or infinity"
        refuse(who, f"'{name}' must be a finite square matrix", got, "Give one row and column for each column of X.")
    size = np.abs(A).max()
    if np.abs(A - A.T).max() > 1e-10 * size:
        i, j = np.unravel_index(np.abs(A - A.T).argmax(), A.shape)
        got = f"{name}[{i},{j}] = {A[i, j]:g} and {name}[{j},{i}] = {A[j, i]:g}"
        refuse(who, f"rule 8 needs '{name}' symmetric", got, "Use (A + A.T) / 2.")
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    if values[0] < -1e-12 * len(A) * size:
        remedy = f"c'{name}c < 0 for c = {np.array2string(vectors[:, 0], precision=3)}; clip its negative eigenvalues."
        refuse(who, f"rule 8 needs '{name}' positive semi-definite", f"an eigenvalue {values[0]:.3g}", remedy)
    kept = values > 0
    factor = vectors[:, kept] * np.sqrt(values[kept]) if kept.any() else np.zeros((len(A), 1))
    return (Metric(Frozen(factor)),)


def scale_view(who: str, scale: Any, power: int = 2) -> tuple[View, float]:
    """Return the view and the number gamma such that (|x - z| / scale)^power is gamma |view(x) - view(z)|^power.

    A number s gives gamma = 1 / s^power, a vector one scale a column, a matrix A the metric (x - z)'A(x - z).
    """
    if isinstance(scale, str):
        refuse(who, "'scale' must be a number where the kernel is used", repr(scale), "Call k.resolve(X) first.")
    array = np.asarray(scale, dtype=np.float64)
    if array.ndim == 0 and _MODEST[0] < array < _MODEST[1]:
        return (), 1.0 / float(array) ** power
    if array.ndim == 2:
        return metric_view(who, "scale", array), 1.0
    return (Metric(Frozen(1.0 / array)),), 1.0


def check_scale(who: str, scale: Any, rules: tuple[str, ...] = (), *, matrix: bool = True) -> None:
    """Refuse a scale that is not a positive number, positive vector, psd matrix or one of the named rules."""
    if isinstance(scale, str):
        if scale not in rules:
            refuse(who, _WANTED, repr(scale), f"The rules by name are {', '.join(map(repr, rules)) or 'none here'}.")
        return
    array = _as_floats(who, scale)
    if array.ndim == 2 and matrix:
        metric_view(who, "scale", array)
    elif array.ndim == 0 and not (np.isfinite(array) and array > 0):
        refuse(who, "'scale' must be a positive number", describe(scale), "Give scale > 0.")
    elif array.ndim > 1:
        refuse(
            who, "'scale' must be a positive number or a vector of them", f"shape {array.shape}", "Give one a column."
        )
    elif array.size == 0 or not (np.isfinite(array) & (array > 0)).all():
        got = f"the vector {np.array2string(array, threshold=8)}"
        refuse(who, "every 'scale' must be a positive number", got, "Give scale > 0, one for each column.")


def _as_floats(who: str, scale: Any) -> np.ndarray:
    try:
        if scale is None or isinstance(scale, bool):
            raise TypeError
        return np.asarray(scale, dtype=np.float64)
    except (TypeError, ValueError):
        refuse(who, _WANTED, describe(scale), "Give scale > 0.")


def squared(scale: Any) -> Formula:
    """Return the squared distance over scale^2 as it is written."""
    if np.ndim(scale) == 2:
        return Formula("(x-z)'A(x-z)", r"(x-z)^\top A (x-z)")
    if np.ndim(scale) == 1:
        return Formula("|(x - z)/scale|^2", r"\lVert (x-z)/\sigma\rVert^2")
    s, latex = number_text(scale)
    if s == "1":
        return Formula("|x - z|^2", r"\lVert x-z\rVert^2")
    return Formula(f"|x - z|^2/{s}^2", rf"\lVert x-z\rVert^2/{latex}^2")


def distance(scale: Any, norm: str = "") -> Formula:
    """Return the distance over scale as it is written; ``norm`` is "1" for the sum of absolute differences."""
    bars, latex_bars = (f"|_{norm}", rf"\rVert_{norm}") if norm else ("|", r"\rVert")
    if np.ndim(scale) == 2:
        return Formula("|x - z|_A", r"\lVert x-z\rVert_A")
    if np.ndim(scale) == 1:
        return Formula(f"|(x - z)/scale{bars}", rf"\lVert (x-z)/\sigma{latex_bars}")
    s, latex = number_text(scale)
    if s == "1":
        return Formula(f"|x - z{bars}", rf"\lVert x-z{latex_bars}")
    return Formula(f"|x - z{bars}/{s}", rf"\lVert x-z{latex_bars}/{latex}")


def number_text(value: Any) -> tuple[str, str]:
    """Return a number, or the name of the rule it waits for, as text and LaTeX."""
    return (value, rf"\mathrm{{{value}}}") if isinstance(value, str) else (f"{value:g}", f"{value:g}")
