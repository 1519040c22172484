"""Entries of a Gram matrix in float64, each with a bound on its rounding error.

Error model. The points are what a view makes of the rows (scaled, mapped, of unit length), so a bound is about k at
points equal to the given ones up to the rounding of that map. From there on nothing is assumed:

- x'z has error gamma_{d+1} sum_k |x_k z_k|; sums of d terms that cannot cancel have relative error gamma_{d+8};
- squared distances by the product trick have error gamma_{d+8} (|x| + |z|)^2 instead;
- the rule of the kernel runs on numbers that carry their bound (`Rounded`).

Values of a Python function (a Custom kernel, a warp) are taken as right to 64 eps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from mercer.gram._rounded import EPS, Rounded, gamma
from mercer.kernels._evaluate import diagonal, evaluate
from mercer.kernels._form import Form, Fused, Identity, Mixed, Weighted, profile
from mercer.kernels._statistics import Dot, Squares, Statistic
from mercer.kernels._views import look, n_rows

TRUSTED = 64 * EPS
"""What values of Python functions are taken to be right to, relative to sqrt(k(x, x) k(z, z))."""


def entries(form: Form, X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return k(x_i, y_j) in float64 and a bound on the error of each. Cost: a few times that of the values."""
    try:
        found = _rounded(form, X, Y)
    except TypeError:  # a step that `Rounded` does not know
        found = _trusted(form, X, Y)
    return found.value, np.asarray(found.error)


def _rounded(form: Form, X: Any, Y: Any) -> Rounded:
    if isinstance(form, Fused):
        return _fused(form, X, Y)
    if isinstance(form, Mixed):
        return _lifted(form.operation(*(_rounded(part, X, Y) for part in form.parts)))
    if isinstance(form, Weighted):
        left, right = (np.asarray(form.factor(Z), dtype=np.float64) for Z in (X, Y))
        weights = Rounded(np.multiply.outer(left, right))
        weights = Rounded(weights.value, TRUSTED * np.abs(weights.value))
        return weights * _rounded(form.part, X, Y)
    return _trusted(form, X, Y)


def _lifted(found: Any) -> Rounded:
    if not isinstance(found, Rounded):
        raise TypeError("an operation that lost its bound")
    return found


def _trusted(form: Form, X: Any, Y: Any) -> Rounded:
    values = evaluate(form, X, Y)
    sizes = np.sqrt(np.multiply.outer(np.abs(diagonal(form, X)), np.abs(diagonal(form, Y))))
    return Rounded(values, TRUSTED * np.maximum(np.abs(values), sizes))


def _fused(form: Fused, X: Any, Y: Any) -> Rounded:
    shape = (n_rows(X), n_rows(Y))
    if not form.statistics:
        return Rounded(np.full(shape, float(profile(form.rule, 0.0, 0.0))))
    A, B = look(form.view, X, Y)
    found = [_statistic(s, A.astype(np.float64), B.astype(np.float64)) for s in form.statistics]
    result = profile(form.rule, found[0], found[-1])
    if not isinstance(result, Rounded):  # a constant rule
        return Rounded(np.broadcast_to(np.asarray(result, dtype=np.float64), shape))
    return Rounded(np.broadcast_to(result.value, shape), np.broadcast_to(result.error, shape))


def _statistic(statistic: Statistic, A: Any, B: Any) -> Rounded:
    values = evaluate(Fused(Identity(), (statistic,)), A, B)
    d = A.shape[1]
    if isinstance(statistic, Dot):
        sizes = abs(A) @ abs(B).T
        return Rounded(values, gamma(d + 2) * (sizes.toarray() if sparse.issparse(sizes) else sizes))
    if isinstance(statistic, Squares) and sparse.issparse(A):
        lengths = [np.sqrt(np.asarray(Z.multiply(Z).sum(axis=1))).ravel() for Z in (A, B)]
        return Rounded(values, gamma(2 * d + 8) * np.add.outer(*lengths) ** 2)
    return Rounded(values, gamma(d + 8) * np.abs(values))
