"""Points, whatever container they come in: arrays, DataFrames, sparse matrices, lists of objects."""

from __future__ import annotations

from typing import Any

import numpy as np


def take(X: Any, indices: Any) -> Any:
    """Return the points at the given positions, in the same kind of container."""
    if hasattr(X, "iloc"):
        return X.iloc[indices]
    if isinstance(X, (list, tuple)):
        return [X[i] for i in np.asarray(indices, dtype=np.intp)]
    if hasattr(X, "tocsr"):
        return X.tocsr()[indices]
    return np.asarray(X)[indices]


def shown(X: Any, i: int) -> str:
    """Return one point as short text."""
    point = take(X, [i])
    if hasattr(point, "iloc"):
        point = point.to_numpy()
    elif hasattr(point, "toarray"):
        point = point.toarray()
    text = (
        repr(point[0])
        if isinstance(point, list)
        else np.array2string(point[0], precision=6, threshold=8, separator=", ")
    )
    return text if len(text) <= 100 else f"{text[:97]}..."
