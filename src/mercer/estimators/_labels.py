"""Labels as losses of two classes want them, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite

from mercer._checks import describe, refuse
from mercer.estimators._door import labels


def labels_that_count(estimator: Any, X: Any, y: Any, w: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of rows that count, in order, and the place of each row's label among them.

    A class whose rows all have weight 0 is absent, and its rows get place 0, which their weight makes no use of.
    """
    if np.asarray(y).dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    classes, codes = labels(estimator, X, y)
    if w is None:
        return classes, codes
    there = np.bincount(codes, w, minlength=len(classes)) > 0
    if there.sum() < 2:
        who, alone = type(estimator).__name__, describe(classes[there].tolist()[0])
        refuse(who, "y must hold at least two classes with positive weights", f"one class, {alone}")
    place = np.where(there, np.cumsum(there) - 1, 0)
    return classes[there], place[codes]


def one_against_rest(codes: np.ndarray, count: int) -> np.ndarray:
    """Return targets 1 and -1: one column for two classes, the second being 1; else a column a class."""
    if count == 2:
        return np.where(codes == 1, 1.0, -1.0)
    return np.where(codes[:, None] == np.arange(count), 1.0, -1.0)


def one_hot(codes: np.ndarray, count: int) -> np.ndarray:
    """Return a row of zeros a label, with a one at its place."""
    return np.eye(count)[codes]


def decided(t: np.ndarray) -> np.ndarray:
    """Return the place of the class that wins."""
    return (t > 0).astype(np.intp) if t.ndim == 1 else t.argmax(axis=1)
