"""Pairs as a person gives them: indices of rows, or the points themselves; or labels, which imply pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import describe, numeric_rows, refuse
from mercer.estimators._chunks import in_chunks, joined_or_streamed
from mercer.kernels._views import n_rows
from mercer.solvers.metric import Pairs, PairStream
from mercer.solvers.metric.pairs import Listed, codes_of


@dataclass(frozen=True, eq=False)
class GivenPairs:
    """Points, and pairs of them."""

    points: Any
    similar: Listed
    dissimilar: Listed


def given_pairs(
    who: str, X: Any, similar: Any, dissimilar: Any, similar_weight: Any = None, dissimilar_weight: Any = None,
    called: str = "similar",
) -> GivenPairs:  # fmt: skip  # what was given, and what the first is called
    """Return the points and checked pairs behind arrays of indices (m, 2) into X, or of points (m, 2, d), or chunks."""
    stack, offset = ([] if X is None else [X]), 0 if X is None else n_rows(X)
    found: list[Listed] = []
    for name, value, weight in ((called, similar, similar_weight), ("dissimilar", dissimilar, dissimilar_weight)):
        if in_chunks(value):
            if weight is not None:
                refuse(who, f"weights of chunks come in '{name}', as tuples of pairs and weights", f"'{name}_weight'")
            chunks = joined_or_streamed(who, name, value)
            if isinstance(chunks, PairStream):
                found.append(chunks)
                continue
            value, weight = chunks
        array = _pair_array(who, name, value)
        if array.ndim == 3:
            m = len(array)
            stack.append(numeric_rows(who, array.reshape(2 * m, array.shape[2]), f"'{name}'") if m else array[:, 0])
            array = offset + np.arange(2 * m).reshape(m, 2)
            offset += 2 * m
        else:
            _check_indices(who, name, array, 0 if X is None else n_rows(X))
        first, second = np.ascontiguousarray(array.T)
        found.append(Pairs(first, second, _pair_weight(who, name, weight, len(array))))
    streams = [pairs.width for pairs in found if isinstance(pairs, PairStream)]
    points = np.empty((0, streams[0])) if streams and not stack else _joined(who, stack)
    if any(width != points.shape[1] for width in streams):
        refuse(who, "points in pairs must have as many features as X", f"{streams[0]} and {points.shape[1]}")
    if isinstance(found[0], Pairs) and isinstance(found[1], Pairs):
        _check_disjoint(who, found[0], found[1], offset)
    return GivenPairs(points, found[0], found[1])


def row_pairs(who: str, name: str, value: Any, n: int) -> np.ndarray:
    """Return checked pairs of different row numbers below n, (m, 2)."""
    array = _pair_array(who, name, value)
    if array.ndim != 2:
        refuse(who, f"'{name}' must be pairs of row numbers, of shape (m, 2)", f"shape {array.shape}")
    _check_indices(who, name, array, n)
    return array


def _pair_array(who: str, name: str, value: Any) -> np.ndarray:
    wanted = f"'{name}' must be pairs of row numbers, of shape (m, 2), or of points, of shape (m, 2, d)"
    try:
        array = np.asarray([] if value is None else value)
    except ValueError:
        refuse(who, wanted, "ragged rows")
    if array.size == 0 and array.ndim != 3:
        return np.empty((0, 2), dtype=np.intp)
    if array.ndim not in (2, 3) or array.shape[1] != 2:
        refuse(who, wanted, f"shape {array.shape}")
    if array.ndim == 2:
        whole = array.dtype.kind in "iu" or (array.dtype.kind == "f" and bool((array == np.floor(array)).all()))
        if not whole:
            refuse(who, wanted, describe(array), "Row numbers are integers; points are given as three dimensions.")
        return array.astype(np.intp)
    return array


def _check_indices(who: str, name: str, pairs: np.ndarray, n: int) -> None:
    if not len(pairs):
        return
    if n == 0:
        refuse(who, f"'{name}' holds row numbers, so X must be given", "X=None")
    if pairs.min() < 0 or pairs.max() >= n:
        at = int(np.flatnonzero(((pairs < 0) | (pairs >= n)).any(axis=1))[0])
        refuse(who, f"'{name}' must hold row numbers in 0..{n - 1}", f"the pair {tuple(pairs[at].tolist())} at {at}")
    if (same := pairs[:, 0] == pairs[:, 1]).any():
        at = int(np.flatnonzero(same)[0])
        refuse(who, f"a pair in '{name}' must be of two rows", f"{tuple(pairs[at].tolist())} at {at}", "Drop it.")


def _pair_weight(who: str, name: str, weight: Any, m: int) -> np.ndarray | None:
    if weight is None:
        return None
    w = np.asarray(weight, dtype=np.float64)
    if w.shape != (m,) or not np.isfinite(w).all() or (w < 0).any():
        refuse(who, f"'{name}_weight' must be {m} finite numbers >= 0, one a pair", describe(w))
    return w


def _joined(who: str, stack: list[Any]) -> Any:
    if len(stack) == 1:
        return stack[0]
    if not stack:
        refuse(who, "X, or pairs as points, must be given", "neither")
    widths = {part.shape[1] for part in stack}
    if len(widths) > 1:
        refuse(who, "points in pairs must have as many features as X", " and ".join(map(str, sorted(widths))))
    return np.vstack([part.toarray() if sparse.issparse(part) else np.asarray(part) for part in stack])


def _check_disjoint(who: str, similar: Pairs, dissimilar: Pairs, n: int) -> None:
    both = np.sort(np.concatenate([similar.keys(n), dissimilar.keys(n)]))
    if (twice := both[1:] == both[:-1]).any():
        pair = tuple(int(v) for v in divmod(both[1:][twice][0], n))
        remedy = "Drop it from one of them." + (f" {twice.sum()} pairs are." if twice.sum() > 1 else "")
        refuse(who, "a pair must not be similar and dissimilar at once", f"{pair}", remedy)


def labels_to_codes(who: str, X: Any, y: Any) -> np.ndarray:
    """Return labels as 0, 1, ... and -1 for unknown; refuse those that imply no dissimilar pair."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 or len(y) != n_rows(X):
        refuse(who, f"y must be {n_rows(X)} labels, one a row of X", f"shape {y.shape}")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        # scikit-learn asks for "NaN" or "infinity" in this message
        refuse(who, "y must hold labels", "NaN or infinity", "Say -1 for unknown labels.")
    codes = codes_of(y)
    if (last := codes.max(initial=-1)) < 1:
        wanted = "y must hold two classes or more, besides -1 for unknown"
        remedy = "Without dissimilar pairs every metric is as good as 0."
        refuse(who, wanted, "no label" if last < 0 else "one class", remedy)
    return codes
