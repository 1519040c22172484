"""Functions of a linear kernel are hyperplanes: their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import refuse
from mercer.kernels import Kernel
from mercer.kernels import _form as forms
from mercer.kernels._form import Fused
from mercer.kernels._statistics import Dot
from mercer.kernels._views import Columns, Metric, View


def weights(kernel: Kernel, centers: Any, coefficients: np.ndarray) -> np.ndarray:
    """Return w with f(x) = w'x, for kernels that are multiples of x'Az, also on some columns."""
    form = kernel.form()
    linear = isinstance(form, Fused) and form.statistics == (Dot(),)
    slope = _slope(form.rule) if linear and isinstance(form, Fused) else None
    if slope is None or not isinstance(form, Fused) or not all(isinstance(s, (Columns, Metric)) for s in form.view):
        refuse(
            "weights", "the kernel must be linear: c x'Az, also on some columns", repr(kernel),
            "The feature space of other kernels is not written out here; evaluate f instead.",
        )  # fmt: skip  # message and remedy on a line each
    seen = np.asarray(_seen(form.view, centers).T @ coefficients)
    return slope * (np.asarray(_seen(form.view, _units(centers))) @ seen)


def _slope(rule: Any) -> float | None:
    """Return c if the rule is c s, else None."""
    if isinstance(rule, forms.Identity):
        return 1.0
    if isinstance(rule, forms.Scale):
        inner = _slope(rule.a)
        return None if inner is None else rule.c * inner
    if isinstance(rule, forms.Sum):
        a, b = _slope(rule.a), _slope(rule.b)
        return None if a is None or b is None else a + b
    return None


def _seen(view: View, X: Any) -> Any:
    for step in view:
        X = step(X, None)[0]
    return X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)


def _units(X: Any) -> Any:
    """Return the unit vectors as points of the same kind."""
    eye = np.eye(X.shape[1])
    return type(X)(eye, columns=X.columns) if hasattr(X, "iloc") else eye
