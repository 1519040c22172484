"""Points that are not rows of numbers: lists of objects, and the CSR counts they turn into."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import describe, refuse

Counts = Mapping[Hashable, float]


def object_list(who: str, X: Any, wanted: str) -> list[Any]:
    """Return points given as a list, a Series, or an array of objects (also of one column) as a list."""
    if isinstance(X, (str, bytes, dict)) or not hasattr(X, "__len__"):
        refuse(who, f"X must be a list of {wanted}", describe(X), "Put it in a list: [x].")
    if hasattr(X, "to_numpy"):
        X = X.to_numpy(dtype=object)
    if isinstance(X, np.ndarray):
        if X.ndim != 1 and X.shape[1:] != (1,):
            refuse(who, f"X must be a list of {wanted}", f"an array of shape {X.shape}", "Pick a column: k.on([0]).")
        X = X.ravel()
    if len(X) == 0:
        refuse(who, f"X must be a list of {wanted}", "an empty list", "Give at least one.")
    return list(X)


def joint_counts(X: Iterable[Counts], Y: Iterable[Counts] | None) -> tuple[Any, Any]:
    """Return both sides as CSR matrices over one vocabulary, in order of appearance."""
    vocabulary: dict[Hashable, int] = {}
    sides = [None if side is None else _entries(side, vocabulary) for side in (X, Y)]
    width = max(1, len(vocabulary))
    left, right = (None if s is None else sparse.csr_matrix(s, shape=(len(s[2]) - 1, width)) for s in sides)
    for side in (left, right):
        if side is not None:
            side.sort_indices()
    return left, right


def _entries(rows: Iterable[Counts], vocabulary: dict[Hashable, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    data: list[float] = []
    indices: list[int] = []
    starts = [0]
    for row in rows:
        indices += [vocabulary.setdefault(word, len(vocabulary)) for word in row]
        data += row.values()
        starts.append(len(indices))
    return np.array(data, dtype=np.float64), np.array(indices, dtype=np.int32), np.array(starts, dtype=np.int64)
