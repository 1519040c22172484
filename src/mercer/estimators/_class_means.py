"""What machines of class means share: which classes count, their priors, and kernel sums over each of them."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np

from mercer._checks import describe, refuse
from mercer.estimators._door import engine_of, is_precomputed, labels
from mercer.gram import Gram, from_matrix, gram, sum_by_label
from mercer.kernels import Kernel


def classes_of(estimator: Any, X: Any, y: Any, w: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes that have a weight and, for each row, the place of its own (0 for rows of no weight)."""
    classes, codes = labels(estimator, X, y)
    if w is None or (present := np.bincount(codes, w) > 0).all():
        return classes, codes
    if present.sum() < 2:
        got = f"one class, {describe(classes[present][0])}"
        refuse(type(estimator).__name__, "y must hold at least two classes among rows with a weight", got)
    return classes[present], np.where(present[codes], np.cumsum(present)[codes] - 1, 0)


def priors_of(estimator: Any, sizes: np.ndarray) -> np.ndarray:
    """Return the probability of each class before x is seen: equal, by weight, or as given."""
    asked, count = estimator.priors, len(sizes)
    if isinstance(asked, str) and asked in ("uniform", "empirical"):
        return np.full(count, 1.0 / count) if asked == "uniform" else sizes / sizes.sum()
    given = None if asked is None or isinstance(asked, str) else np.asarray(asked, dtype=np.float64)
    if given is None or given.shape != (count,) or not np.isfinite(given).all() or not (given > 0).all():
        wanted = f"'priors' must be 'uniform', 'empirical' or {count} positive numbers, one a class in sorted order"
        refuse(type(estimator).__name__, wanted, describe(asked))
    return given / given.sum()


def in_double(estimator: Any) -> Any:
    """Return the estimator's engine, with tiles in double precision."""
    return dataclasses.replace(engine_of(estimator), precision="double")


def sums(estimator: Any, X: Any, training: Any, kernel: Kernel | None, codes: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return S[i, c], the sum of w_l k(x_i, x_l) over the training points of class c, in double precision."""
    count = int(codes.max()) + 1
    if X is training:  # of other points the bits must be the same, so no tile may serve its mirror too
        X = copy.copy(X)
    return sum_by_label(rows_of(estimator, X, training, kernel), codes, count, w)


def rows_of(estimator: Any, X: Any, training: Any, kernel: Kernel | None) -> Gram:
    """Return K between points and the training points; for "precomputed" it is what was given."""
    engine = in_double(estimator)
    if is_precomputed(estimator):
        return from_matrix(X, engine, symmetric=False)
    assert kernel is not None
    return gram(kernel, X, training, engine)
