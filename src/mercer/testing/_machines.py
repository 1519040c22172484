"""The contract of estimators."""

from __future__ import annotations

import contextlib
import dataclasses
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import has_fit_parameter

from mercer.engine import Engine
from mercer.kernels._views import n_rows, take
from mercer.testing._laws import check_close, require


def check_machine(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    rtol: float = 1e-8,
    outputs: Callable[[Any, Any], np.ndarray] | None = None,
    conventions: bool = True,
) -> None:
    """Check that an estimator keeps the laws of this package; raise an AssertionError that names the one it breaks.

    The laws: scikit-learn's ``check_estimator`` passes (for points that are tables); fitting twice, with 1 and with 2
    threads, and pickling change no bit of the outputs; the order of the rows does not matter; a weight of 2 is a row
    repeated and a weight of 0 a row absent; and the certificate is honest: predictions of a fit in double precision
    and of a rough one lie within the sum of the bounds on either side. Laws about what an estimator does not have
    (weights, an engine, a certificate) are left out. Cost: ten fits, and those of ``check_estimator``.

    Parameters
    ----------
    estimator : estimator
        Not fitted; a random one with an integer ``random_state``.
    X : array, CSR matrix, DataFrame or list of length n
        Points; more than 256 rows reach the compiled passes.
    y : array of length n, optional
        Targets or labels.
    rtol : float
        How far outputs may lie apart, relative to their largest, where a law does not hold for every bit.
    outputs : callable, optional
        ``outputs(fitted, X)`` returns the numbers that are compared; ``decision_function``, ``predict`` or
        ``transform`` unless given.
    conventions : bool
        Whether to run ``check_estimator``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.testing import check_machine
    >>> X = np.linspace(0, 1, 20).reshape(-1, 1)
    >>> check_machine(KernelRidge(alpha=0.1), X, np.sin(6 * X[:, 0]))
    """
    who, get = type(estimator).__name__, _outputs if outputs is None else outputs
    if conventions and hasattr(X, "shape"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkipTestWarning)
            check_estimator(clone(estimator))
    first = get(_fit(estimator, X, y), X)
    _check_bits(who, estimator, X, y, get, first)
    size = rtol * max(float(np.abs(first).max()), np.finfo(float).tiny)
    rows = np.random.default_rng(0).permutation(n_rows(X))
    shuffled = get(_fit(estimator, take(X, rows), _rows_of(y, rows)), X)
    _check_near(who, "the order of the rows must not matter", shuffled, first, size)
    _check_weights(who, estimator, X, y, get, size)
    _check_honest(who, estimator, X, y)


def _fit(estimator: Any, X: Any, y: Any, **given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(estimator).fit(X, y, **given)


def _outputs(fitted: Any, X: Any) -> np.ndarray:
    ways = (w for w in ("decision_function", "predict", "transform") if hasattr(fitted, w))
    return np.asarray(getattr(fitted, next(ways))(X), dtype=np.float64)


def _rows_of(y: Any, rows: np.ndarray) -> Any:
    return None if y is None else np.asarray(y)[rows]


def _check_bits(who: str, estimator: Any, X: Any, y: Any, get: Any, first: np.ndarray) -> None:
    fitted = _fit(estimator, X, y)
    require(who, "fitting twice must give the same bits", np.array_equal(get(fitted, X), first), "others")
    with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):  # lambdas do not pickle
        kept = pickle.loads(pickle.dumps(fitted))
        require(who, "pickling must keep every bit", np.array_equal(get(kept, X), first), "others")
    if "engine" in estimator.get_params():
        base = estimator.engine or Engine(memory=getattr(estimator, "memory", None))
        given = {"memory": None} if "memory" in estimator.get_params() else {}
        some = [get(_fit(clone(estimator).set_params(engine=_with(base, threads=k), **given), X, y), X) for k in (1, 2)]
        law = "1 and 2 threads must give the same bits"
        require(who, law, np.array_equal(*some), f"a difference of {np.abs(some[0] - some[1]).max():.3g}")


def _with(engine: Engine, **changes: Any) -> Engine:
    return dataclasses.replace(engine, **changes)


def _check_near(who: str, law: str, got: np.ndarray, wanted: np.ndarray, size: float) -> None:
    require(who, f"{law}: outputs of one shape", got.shape == wanted.shape, f"{got.shape} and {wanted.shape}")
    check_close(who, law, got, wanted, np.full(wanted.shape, size))


def _check_weights(who: str, estimator: Any, X: Any, y: Any, get: Any, size: float) -> None:
    if not has_fit_parameter(estimator, "sample_weight"):
        return
    n = n_rows(X)
    w = np.ones(n)
    w[1::5], w[3::7] = 2.0, 0.0
    repeated = np.repeat(np.arange(n), w.astype(int))
    weighted = get(_fit(estimator, X, y, sample_weight=w), X)
    literally = get(_fit(estimator, take(X, repeated), _rows_of(y, repeated)), X)
    _check_near(who, "a weight of 2 must be a row repeated, 0 a row absent", weighted, literally, size)
    alike = get(_fit(estimator, X, y, sample_weight=np.ones(n)), X)
    _check_near(who, "weights of 1 must be as none", alike, get(_fit(estimator, X, y), X), size)


def _check_honest(who: str, estimator: Any, X: Any, y: Any) -> None:
    """Compare fits of different accuracy: each lies within its bound of the exact answer."""
    known, found = estimator.get_params(), []
    double = {"engine": _with(estimator.engine or Engine(), precision="double")} if "engine" in known else {}
    rough = {"tol": 1e-2} if "tol" in known else {}
    for settings in ({}, double, rough):
        fitted = _fit(clone(estimator).set_params(**settings), X, y)
        proof = getattr(fitted, "certificate_", None)
        if proof is None or getattr(proof, "kernel", None) is None:
            return
        gap = proof.relative_gap
        require(who, "the gap of a certificate must be >= 0", gap >= 0, gap)
        found.append((_outputs(fitted, X), proof.prediction_bound(X)))
    for values, bound in found[1:]:
        over = np.abs(values - found[0][0]) - (bound + found[0][1]).reshape(values.shape)
        got = f"two fits {over.max():.3g} further apart than their bounds allow"
        require(who, "predictions must be within their bounds of the exact ones", over.max() <= 0, got)
