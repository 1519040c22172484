"""Functions of a linear kernel are hyperplanes: their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import refuse
from mercer.kernels import Kernel
from mercer.kernels import _form as forms
from mercer.kernels._form import Form, Fused, Mixed
from mercer.kernels._statistics import Dot
from mercer.kernels._views import Columns, Metric, View


def weights(kernel: Kernel, centers: Any, coefficients: np.ndarray) -> np.ndarray:
    """Return w with f(x) = w'x, for kernels that are multiples of x'Az, also on some columns, and their sums."""
    found = _weights(kernel.form(), centers, coefficients)
    if found is None:
        refuse(
            "weights", "the kernel must be linear: c x'Az, also on some columns, or a sum of such", repr(kernel),
            "The feature space of other kernels is not written out here; evaluate f instead.",
        )  # fmt: skip  # message and remedy on a line each
    return found


def _weights(form: Form, centers: Any, coefficients: np.ndarray) -> np.ndarray | None:
    if isinstance(form, Mixed) and form.operation is np.add:
        parts = [_weights(part, centers, coefficients) for part in form.parts]
        return None if any(w is None for w in parts) else np.asarray(sum(w for w in parts if w is not None))
    if not isinstance(form, Fused) or form.statistics != (Dot(),):
        return None
    slope = _slope(form.rule)
    if slope is None or not all(isinstance(s, (Columns, Metric)) for s in form.view):
        return None
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
