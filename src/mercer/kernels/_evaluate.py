"""The uncompiled twin: forms evaluated by their plain rules on whole arrays, in float64.

It is the oracle of the compiled passes, and what small problems use, since it needs no compiling.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from mercer.kernels._form import Form, Fused, Mixed, Weighted, profile
from mercer.kernels._statistics import Dot, Manhattan, Squares, Statistic, term
from mercer.kernels._views import look, n_rows


def evaluate(form: Form, X: Any, Y: Any = None) -> np.ndarray:
    """Return the matrix of k(x_i, y_j) (Y None: X again) in float64. Cost: n m d operations, n m numbers."""
    if isinstance(form, Fused):
        if not form.statistics:
            return np.full((n_rows(X), n_rows(X if Y is None else Y)), profile(form.rule, 0.0, 0.0), dtype=np.float64)
        A, B = look(form.view, X, Y)
        return of_statistics(form, A, A if B is None else B)
    if isinstance(form, Mixed):
        return np.asarray(form.operation(*(evaluate(part, X, Y) for part in form.parts)))
    if isinstance(form, Weighted):
        left = form.factor(X)
        K = evaluate(form.part, X, Y)
        K *= left[:, None]
        K *= left if Y is None else form.factor(Y)
        return K
    return np.asarray(form.values(X, X if Y is None else Y), dtype=np.float64)


def of_statistics(form: Fused, A: Any, B: Any) -> np.ndarray:
    """Return the values of a fused form from rows already seen through its view."""
    found = [all_pairs(s, A, B) for s in form.statistics]
    return of_profile(form.rule, found)


def diagonal(form: Form, X: Any) -> np.ndarray:
    """Return k(x_i, x_i) in float64. Cost: n d."""
    if isinstance(form, Fused):
        if not form.statistics:
            return np.full(n_rows(X), profile(form.rule, 0.0, 0.0), dtype=np.float64)
        return diagonal_of_statistics(form, look(form.view, X)[0])
    if isinstance(form, Mixed):
        return np.asarray(form.operation(*(diagonal(part, X) for part in form.parts)))
    if isinstance(form, Weighted):
        return form.factor(X) ** 2 * diagonal(form.part, X)
    return np.asarray(form.diagonal(X), dtype=np.float64)


def diagonal_of_statistics(form: Fused, A: Any) -> np.ndarray:
    """Return the diagonal of a fused form from rows already seen through its view."""
    found = [_own(s, A) for s in form.statistics]
    return of_profile(form.rule, found)


def of_profile(rule: Any, found: list[np.ndarray]) -> np.ndarray:
    """Return the values of a rule from those of its statistics."""
    with np.errstate(over="ignore", under="ignore"):  # exp may run to 0 or inf, as it should
        values = profile(rule, found[0], found[-1])
    return np.array(np.broadcast_to(values, found[0].shape), dtype=np.float64)


def _own(statistic: Statistic, A: Any) -> np.ndarray:
    """Return a statistic of each row with itself."""
    if isinstance(statistic, (Squares, Manhattan)):
        return np.zeros(A.shape[0])
    if sparse.issparse(A):
        if isinstance(statistic, Dot):
            return np.asarray(A.multiply(A).astype(np.float64).sum(axis=1)).ravel()
        return np.concatenate([_own(statistic, A[i : i + 1].toarray()) for i in range(A.shape[0])])
    A = A.astype(np.float64, copy=False)
    with np.errstate(over="ignore"):
        return np.asarray(term(statistic, A, A).sum(axis=1))


def all_pairs(statistic: Statistic, A: Any, B: Any) -> np.ndarray:
    """Return a statistic of every row of A with every row of B."""
    if sparse.issparse(A):
        return _sparse_statistic(statistic, A.astype(np.float64), B.astype(np.float64))
    A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    if isinstance(statistic, Dot):
        with np.errstate(over="ignore"):
            return A @ B.T
    if isinstance(statistic, Squares):
        return cdist(A, B, "sqeuclidean")
    if isinstance(statistic, Manhattan):
        return cdist(A, B, "cityblock")
    total = np.zeros((len(A), len(B)))
    for k in range(A.shape[1]):
        total += term(statistic, A[:, k, None], B[None, :, k])
    return total


def _sparse_statistic(statistic: Statistic, A: Any, B: Any) -> np.ndarray:
    if isinstance(statistic, Dot):
        return np.asarray((A @ B.T).toarray())
    if isinstance(statistic, Squares):
        s = np.asarray((A @ B.T).toarray())
        return np.maximum(_own(Dot(), A)[:, None] + _own(Dot(), B) - 2 * s, 0.0)
    return all_pairs(statistic, A.toarray(), B.toarray())
