"""The way in, shared by all estimators: kernels by name or object, checked data, targets, labels, weights, engines."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data as checked_by_sklearn

from mercer._checks import describe, integer, is_number, positive, refuse
from mercer.engine import Engine
from mercer.functions import RKHSFunction, choose_centers
from mercer.functions.centers import METHODS
from mercer.gram import Gram, from_matrix, gram
from mercer.gram.rpcholesky import generator
from mercer.kernels import Custom, Kernel, named
from mercer.kernels._views import n_rows, take

# scikit-learn 1.9 refuses weights that are all 0 by itself, older ones do not: the message is ours.
_ZERO_IS_OURS = (
    {"allow_all_zero_weights": True}
    if "allow_all_zero_weights" in inspect.signature(_check_sample_weight).parameters
    else {}
)
NAMED_ONLY = ("gamma", "degree", "coef0", "kernel_params")
"""Parameters of an estimator that belong to kernels given by name (or, the last, as a function)."""

# ---------------------------------------------------------------- kernels


def kernel_of(estimator: Any, *, vectorized: bool = False) -> Kernel:
    """Return the kernel an estimator asks for: an object as it is, one by its scikit-learn name, or of a function.

    A function gets two rows, as in scikit-learn's KernelRidge, or two blocks of them (``vectorized``), as in its SVC.
    """
    kernel = estimator.kernel
    if isinstance(kernel, Kernel):
        _refuse_beside(estimator, kernel, NAMED_ONLY)
        return kernel
    if callable(kernel):
        _refuse_beside(estimator, kernel, NAMED_ONLY[:3])
        given = getattr(estimator, "kernel_params", None) or {}
        return Custom(functools.partial(kernel, **given) if given else kernel, vectorized=vectorized)
    _refuse_beside(estimator, kernel, NAMED_ONLY[3:])
    return named(kernel, gamma=estimator.gamma, degree=estimator.degree, coef0=estimator.coef0)


def _refuse_beside(estimator: Any, kernel: Any, names: tuple[str, ...]) -> None:
    """Refuse parameters that this way of giving a kernel has no use for, if they differ from their defaults."""
    defaults = _defaults(type(estimator))  # type: ignore[arg-type]  # classes are hashable
    for name in names:
        if name in defaults and (value := getattr(estimator, name)) is not (default := defaults[name]):
            alike = (is_number(value) and is_number(default)) or (isinstance(value, str) and isinstance(default, str))
            if alike and value == default:
                continue
            where = "functions" if name == "kernel_params" else "kernels given by name"
            refuse(
                type(estimator).__name__, f"{name!r} belongs to {where}", f"{name} beside {describe(kernel)}",
                "Put it in the kernel.",
            )  # fmt: skip  # message and remedy on a line each


@functools.cache
def _defaults(cls: type) -> dict[str, Any]:
    """Return the parameters of a class of estimators and their defaults."""
    return {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}


def is_precomputed(estimator: Any) -> bool:
    """Whether X is the Gram matrix itself."""
    return isinstance(estimator.kernel, str) and estimator.kernel == "precomputed"


# ---------------------------------------------------------------- data


def points(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X checked: by scikit-learn where it is a table of numbers, by the kernel itself where it is not.

    A kernel given as an object may look at named columns, strings or sets, so DataFrames and lists of objects go to it
    as they are.
    """
    own = isinstance(estimator.kernel, Kernel)
    if own and isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], (str, set, frozenset)):
        return list(X)
    if own and hasattr(X, "iloc"):
        checked_by_sklearn(estimator, X, reset=reset, skip_check_array=True)
        return X
    return checked_by_sklearn(estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)


def training_gram(
    estimator: Any, X: Any, engine: Engine, w: np.ndarray | None = None, *, vectorized: bool = False
) -> Gram:
    """Return K on the training points; scales that come from data count rows by their weights w."""
    if is_precomputed(estimator):
        if X.shape[0] != X.shape[1]:
            # scikit-learn asks for this wording of a Gram matrix that is not square
            raise ValueError(
                "Precomputed matrix must be a square matrix. " + f"Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        return from_matrix(X.toarray() if sparse.issparse(X) else X, engine)
    return gram(resolved(kernel_of(estimator, vectorized=vectorized), X, w), X, engine=engine)


def resolved(kernel: Kernel, X: Any, w: np.ndarray | None = None) -> Kernel:
    """Return the kernel with scales that come from data as numbers: of the rows, each as often as its weight says."""
    if w is None or (found := kernel.resolve(X)) == kernel:
        return kernel.resolve(X)
    counts = np.rint(w)
    if not np.array_equal(counts, w) or counts.sum() > 10 * len(w):  # fractions: about as many rows as there are
        counts = np.diff(np.rint(np.cumsum(w) * (max(len(w), 1000) / w.sum())), prepend=0.0)
    rows = np.repeat(np.arange(len(w)), counts.astype(np.intp))
    return found if len(rows) == len(w) and (counts == 1).all() else kernel.resolve(take(X, rows))


def centers_of(estimator: Any, K: Gram, w: np.ndarray | None) -> Any:
    """Return the centres that ``n_centers`` and ``centers`` ask for: chosen or given ones, or None for all rows."""
    who, given, m = type(estimator).__name__, estimator.centers, estimator.n_centers
    if not isinstance(given, str):
        if m is not None:
            refuse(who, "'n_centers' must be None where the centres are given", describe(m))
        return np.asarray(given) if K.kernel is None else points(estimator, given, reset=False)
    method = one_of(estimator, "centers", {name: name for name in METHODS})
    if m is None or integer(who, "n_centers", m, 1) >= K.shape[0]:
        return None
    if K.kernel is not None:
        return choose_centers(K.kernel, K.points, m, method, estimator.random_state, K.engine, w)
    rows = np.arange(K.shape[0]) if w is None else np.flatnonzero(w > 0)
    return generator(who, estimator.random_state).permutation(rows)[:m]


def values(estimator: Any, function: RKHSFunction, X: Any) -> np.ndarray:
    """Return a fitted function at the points X, in double precision, with the estimator's engine."""
    engine = dataclasses.replace(engine_of(estimator), precision="double")
    return np.asarray(gram(function.kernel, X, function.centers, engine=engine) @ function.coefficients)


def targets(estimator: Any, X: Any, y: Any, *, several: bool = True) -> np.ndarray:
    """Return y as finite float64 numbers, one a row (or, if ``several`` may be, a row of them)."""
    _require_y(estimator, y)
    y = check_array(y, ensure_2d=False, allow_nd=True, dtype=np.float64, input_name="y")
    if y.ndim > 2:
        refuse(type(estimator).__name__, "y must have one or two dimensions", f"{y.ndim}")
    y = y if several else column_or_1d(y, warn=True)
    check_consistent_length(_Counted(n_rows(X)), y)
    return y


def labels(estimator: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in order and, for each row, the place of its label among them; at least two classes."""
    _require_y(estimator, y)
    if not (isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "biuU"):  # which are labels and nothing else
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
    check_consistent_length(_Counted(n_rows(X)), y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        refuse(type(estimator).__name__, "y must hold at least two classes", f"one class, {describe(classes[0])}")
    return classes, codes


def _require_y(estimator: Any, y: Any) -> None:
    if y is None:
        # scikit-learn asks for this wording
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")


def weights(estimator: Any, X: Any, sample_weight: Any) -> np.ndarray | None:
    """Return sample weights as float64 numbers >= 0, not all 0; None where none are given."""
    if sample_weight is None:
        return None
    who, rows = type(estimator).__name__, np.empty((n_rows(X), 1))
    w = np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float64, **_ZERO_IS_OURS))
    if (w < 0).any():
        at = int(np.flatnonzero(w < 0)[0])
        refuse(who, "sample_weight must hold numbers >= 0", f"{w[at]:g} in row {at}", "Give 0 to leave a row out.")
    if not w.any():
        refuse(who, "sample_weight must not be 0 everywhere", f"{len(w)} zeros", "Give at least one row a weight.")
    return w


def class_weights(estimator: Any, classes: np.ndarray, codes: np.ndarray, w: np.ndarray | None) -> np.ndarray | None:
    """Return sample weights times those of ``class_weight``."""
    if estimator.class_weight is None:
        return w
    factor = class_factors(estimator, classes, codes, w)
    return np.asarray(factor[codes] if w is None else w * factor[codes])


def class_factors(estimator: Any, classes: np.ndarray, codes: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    """Return what ``class_weight`` multiplies the weights of each class by; "balanced" counts rows by their weights."""
    asked = estimator.class_weight
    if asked is None:
        return np.ones(len(classes))
    if not (isinstance(asked, str) and asked == "balanced"):
        return np.asarray(compute_class_weight(asked, classes=classes, y=classes[codes]), dtype=np.float64)
    counts = np.bincount(codes, w, minlength=len(classes)).astype(np.float64)
    return np.asarray(counts.sum() / (len(classes) * np.where(counts > 0, counts, np.inf)))


class _Counted:
    """Something with a length, for scikit-learn's check."""

    def __init__(self, n: int) -> None:
        self.shape = (n,)

    def __len__(self) -> int:
        return int(self.shape[0])


# ---------------------------------------------------------------- options


def engine_of(estimator: Any) -> Engine:
    """Return an estimator's engine: the record it was given, or one with its ``memory``."""
    engine = estimator.engine
    if engine is None:
        return Engine(memory=estimator.memory)
    who = type(estimator).__name__
    if not isinstance(engine, Engine):
        refuse(who, "'engine' must be an Engine or None", describe(engine), "For example Engine(threads=2).")
    if estimator.memory is not None:
        refuse(who, "'memory' must stand in the engine where one is given", f"memory={estimator.memory!r} beside it")
    return engine


def deadline_of(estimator: Any) -> float | None:
    """Return the deadline in seconds, checked."""
    value = estimator.deadline
    return None if value is None else positive(type(estimator).__name__, "deadline", value)


def tol_of(estimator: Any) -> float | None:
    """Return the tolerance, checked; None where it is left to the solver."""
    value = estimator.tol
    if value is not None and not (is_number(value) and 0 < value < np.inf):
        refuse(type(estimator).__name__, "'tol' must be a positive number or None", describe(value))
    return None if value is None else float(value)


def one_of(estimator: Any, name: str, allowed: Mapping[Any, Any]) -> Any:
    """Return what a text (or None, where it is among those allowed) stands for; refuse others, naming those allowed."""
    value = getattr(estimator, name)
    if not (value is None or isinstance(value, str)) or value not in allowed:
        refuse(type(estimator).__name__, f"{name!r} must be one of {', '.join(map(repr, allowed))}", describe(value))
    return allowed[value]
