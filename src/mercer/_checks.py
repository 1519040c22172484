"""Every user-facing message, in one form: ``<who>: <what was wanted>; got <what>. <what to do>``."""

from __future__ import annotations

import math
import numbers
from typing import Any, NoReturn

import numpy as np
from scipy import sparse


def message(who: str, wanted: str, got: object, remedy: str = "") -> str:
    """Return the one form every Mercer error takes.

    >>> message("SVC", "'C' must be a positive number", -1, "Give C > 0.")
    "SVC: 'C' must be a positive number; got -1. Give C > 0."
    """
    text = f"{who}: {wanted}; got {got}."
    return f"{text} {remedy}" if remedy else text


def refuse(who: str, wanted: str, got: object, remedy: str = "", error: type[Exception] = ValueError) -> NoReturn:
    """Raise ``error`` with a message in the house form."""
    raise error(message(who, wanted, got, remedy))


def describe(value: object, limit: int = 60) -> str:
    """Return a short text for a value in a message: its repr, or its type and shape when that is long."""
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    text = repr(value)
    return text if len(text) <= limit else f"{type(value).__name__} {text[: limit - 3]}..."


def is_number(value: object) -> bool:
    """Whether value is a real number (NumPy's included; booleans are not numbers here)."""
    return isinstance(value, (numbers.Real, np.floating, np.integer)) and not isinstance(value, (bool, np.bool_))


def number(who: str, name: str, value: Any, low: float = -math.inf, *, strict: bool = False) -> float:
    """Return value as a finite float not below low (above it, if strict); refuse anything else."""
    fine = is_number(value) and math.isfinite(value) and (value > low if strict else value >= low)
    if not fine:
        bound = "" if low == -math.inf else f" {'>' if strict else '>='} {low:g}"
        refuse(who, f"'{name}' must be a finite number{bound}", describe(value))
    return float(value)


def positive(who: str, name: str, value: Any) -> float:
    """Return value as a float > 0; refuse anything else."""
    if not (is_number(value) and math.isfinite(value) and value > 0):
        refuse(who, f"'{name}' must be a positive number", describe(value))
    return float(value)


def between(who: str, name: str, value: Any, low: float, high: float) -> float:
    """Return value as a float above low and below high; refuse anything else."""
    if not (is_number(value) and low < value < high):
        refuse(who, f"'{name}' must be a number above {low:g} and below {high:g}", describe(value))
    return float(value)


def integer(who: str, name: str, value: Any, low: int = 0) -> int:
    """Return value as an int not below low; refuse anything else."""
    whole = isinstance(value, (numbers.Integral, np.integer)) and not isinstance(value, (bool, np.bool_))
    if not whole or value < low:
        refuse(who, f"'{name}' must be an integer >= {low}", describe(value))
    return int(value)


# ---------------------------------------------------------------- data


def numeric_rows(who: str, X: Any, name: str = "X") -> Any:
    """Return X as a two-dimensional float array (float32 kept) or CSR matrix of finite numbers; refuse anything else.

    Rows are points. Integers and booleans become float64. Nothing is copied that is right already.
    """
    if sparse.issparse(X):
        return _finite_sparse(who, X.tocsr(), name)
    array = _real_array(who, X, name)
    if array.ndim == 1:
        refuse(
            who, f"{name} must be two-dimensional", f"shape {array.shape}", f"Use {name}.reshape(-1, 1) for one column."
        )
    if array.ndim != 2:
        refuse(who, f"{name} must be two-dimensional", f"{array.ndim} dimensions")
    _nonempty(who, array.shape, name)
    if not _all_finite(array):
        i, j = (int(k) for k in np.argwhere(~np.isfinite(array))[0])
        column = f"column {j}" if not hasattr(X, "columns") else f"column {j} ({X.columns[j]!r})"
        refuse(who, f"{name} must hold finite numbers", f"{array[i, j]} in row {i}, {column}", "Impute or drop it.")
    return array


def _real_array(who: str, X: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(X)
    except ValueError:
        refuse(
            who, f"{name} must have rows of one length", "ragged rows", "Pad them, or use a kernel on sets or strings."
        )
    if array.dtype.kind == "c":
        refuse(who, f"{name} must be real", "complex numbers", "Stack real and imaginary parts as columns.")
    if array.dtype.kind in "OSU":
        try:
            array = array.astype(np.float64) if array.dtype.kind == "O" else _not_numbers(who, array, name)
        except (TypeError, ValueError):
            _not_numbers(who, array, name)
    if array.dtype.kind not in "fiub":
        refuse(who, f"{name} must hold numbers", f"dtype {array.dtype}", "Encode it as numbers first.")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _not_numbers(who: str, array: np.ndarray, name: str) -> NoReturn:
    culprit = next((v for v in array.ravel() if not _reads_as_number(v)), array.ravel()[0] if array.size else "nothing")
    refuse(
        who, f"{name} must hold numbers", describe(culprit.item() if isinstance(culprit, np.generic) else culprit),
        "Encode it as numbers, or use a kernel on sets or strings (SetIntersection, Spectrum).",
    )  # fmt: skip  # message and remedy on a line each


def _reads_as_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _nonempty(who: str, shape: tuple[int, ...], name: str) -> None:
    if 0 in shape:
        what = "sample(s)" if shape[0] == 0 else "feature(s)"
        refuse(
            who,
            f"{name} must have at least one row and one column",
            f"0 {what} (shape={shape})",
            "Check how it was made.",
        )


def _all_finite(array: np.ndarray) -> bool:
    # A sum is finite unless an entry is not (or it overflows, which the slow look then settles).
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(array.sum())) or bool(np.isfinite(array).all())


def _finite_sparse(who: str, X: Any, name: str) -> Any:
    _nonempty(who, X.shape, name)
    if X.dtype.kind == "c":
        refuse(who, f"{name} must be real", "complex numbers", "Stack real and imaginary parts as columns.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if not _all_finite(X.data):
        at = int(np.flatnonzero(~np.isfinite(X.data))[0])
        row = int(np.searchsorted(X.indptr, at, side="right")) - 1
        refuse(
            who, f"{name} must hold finite numbers", f"{X.data[at]} in row {row}, column {X.indices[at]}", "Drop it."
        )
    return X
