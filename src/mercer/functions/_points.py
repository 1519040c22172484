"""Centres, whatever container they come in: made uniform, joined, and merged where they are equal."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import describe, is_number, numeric_rows, refuse
from mercer.kernels._views import n_rows, take

OBJECTS = (str, bytes, set, frozenset, dict)


def as_points(who: str, X: Any, name: str = "X") -> Any:
    """Return points as an array, a CSR matrix, a DataFrame, or a list of objects; tables of numbers are checked."""
    if isinstance(X, OBJECTS) or is_number(X) or not (hasattr(X, "__len__") or hasattr(X, "shape")):
        refuse(
            who, f"{name} must be a table of rows, or a list of objects", describe(X), f"Use [{name}] for one point."
        )
    if sparse.issparse(X):
        return numeric_rows(who, X, name)
    if hasattr(X, "iloc"):
        X = X if X.ndim == 2 else list(X)
        if isinstance(X, list) or any(t.kind not in "fiub" for t in X.dtypes):
            return X
        numeric_rows(who, X, name)
        return X
    array = _numbers(X)
    if array is None:
        return list(X)
    return array if array.ndim == 1 and array.dtype.kind in "iu" else numeric_rows(who, array, name)  # 1-D: indices


def _numbers(X: Any) -> np.ndarray | None:
    """Return X as an array of numbers, or None if it holds other objects."""
    if not isinstance(X, np.ndarray) and any(isinstance(x, OBJECTS) for x in list(X)[:1]):
        return None
    try:
        array = np.asarray(X)
    except ValueError:  # ragged
        return None
    return array if array.dtype.kind in "fiubc" else None


def one_point(who: str, x: Any) -> Any:
    """Return one point, given as it is or as a table or list of one, as points."""
    if isinstance(x, OBJECTS):
        return [x]
    if is_number(x):
        return np.array([[x]])
    if hasattr(x, "iloc") and x.ndim == 1:
        return x.to_frame().T.infer_objects()
    if sparse.issparse(x) or hasattr(x, "iloc"):
        points = as_points(who, x, "x")
    else:
        array = _numbers(x)
        points = list(x) if array is None else as_points(who, array[None] if array.ndim == 1 else array, "x")
    if n_rows(points) != 1:
        refuse(who, "x must be one point", f"{n_rows(points)} of them", "A section belongs to one point.")
    return points


def join(who: str, parts: Sequence[Any]) -> Any:
    """Return several containers of points as one."""
    if len(parts) == 1:
        return parts[0]
    kinds = {_kind(part) for part in parts}
    if kinds == {"list"}:
        return [x for part in parts for x in part]
    if kinds == {"frame"}:
        return _joined_frames(who, parts)
    if not kinds <= {"array", "sparse"}:
        refuse(who, "centres must come in one kind of container", " and ".join(sorted(kinds)), "Convert one of them.")
    widths = {part.shape[1:] for part in parts}
    if len(widths) > 1:
        columns = " and ".join(sorted(str(w[0]) if w else "none" for w in widths))
        refuse(who, "centres must have as many columns", columns, "Functions of one space have centres in one space.")
    if "sparse" in kinds:
        return sparse.vstack([sparse.csr_matrix(part) for part in parts], format="csr")
    return np.concatenate(parts)


def _kind(X: Any) -> str:
    if isinstance(X, list):
        return "list"
    return "sparse" if sparse.issparse(X) else "frame" if hasattr(X, "iloc") else "array"


def _joined_frames(who: str, parts: Sequence[Any]) -> Any:
    import pandas as pd

    if any(list(part.columns) != list(parts[0].columns) for part in parts):
        refuse(who, "centres must have the same columns", f"{[list(part.columns) for part in parts]}")
    return pd.concat(parts, ignore_index=True)


def merged(X: Any, a: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return points and coefficients with equal points merged and zero coefficients dropped, at least one kept."""
    names = _names(X)
    first: dict[Hashable, int] = {}
    group = np.fromiter((first.setdefault(name, len(first)) for name in names), dtype=np.intp, count=len(names))
    where = np.full(len(first), -1, dtype=np.intp)
    where[group[::-1]] = np.arange(len(names))[::-1]
    total = np.zeros((len(first), *a.shape[1:]))
    np.add.at(total, group, a)
    kept = np.flatnonzero(total.reshape(len(first), -1).any(axis=1))
    kept = kept if len(kept) else np.array([0])
    if len(kept) == len(names):
        return X, a
    return take(X, where[kept]), total[kept]


def _names(X: Any) -> list[Hashable]:
    """Return a name for each point, equal exactly when the points are; a point that cannot be named stands alone."""
    if sparse.issparse(X):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        ends = list(zip(X.indptr[:-1], X.indptr[1:], strict=True))
        return [(X.indices[i:j].tobytes(), X.data[i:j].tobytes()) for i, j in ends]
    if hasattr(X, "iloc"):
        return [_name(row, i) for i, row in enumerate(X.itertuples(index=False, name=None))]
    if isinstance(X, np.ndarray):
        rows = np.ascontiguousarray(X.reshape(len(X), -1)) + 0.0  # -0 equals 0
        return [row.tobytes() for row in rows]
    return [_name(x, i) for i, x in enumerate(X)]


def _name(x: Any, i: int) -> Hashable:
    if isinstance(x, tuple):
        return tuple(_name(part, i) for part in x)
    name = frozenset(x) if isinstance(x, (set, frozenset)) else tuple(x) if isinstance(x, (list, np.ndarray)) else x
    try:
        hash(name)
    except TypeError:
        return object()
    return name
