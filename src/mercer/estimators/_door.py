"""What the scikit-learn face shares: the kernel behind a name, checked data, Gram matrices, the one warning."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from mercer._checks import describe, positive, refuse
from mercer.engine import Engine
from mercer.gram import Gram, from_matrix, gram
from mercer.kernels import Kernel, named
from mercer.solvers import Progress, Solution, Status
from mercer.solvers.watch import Watcher


def kernel_of(estimator: Any) -> Kernel:
    """Return the kernel an estimator asks for: an object as it is, or one by its scikit-learn name."""
    who, kernel = type(estimator).__name__, estimator.kernel
    if isinstance(kernel, Kernel):
        given = [
            n for n, default in (("gamma", None), ("degree", 3), ("coef0", 1.0)) if getattr(estimator, n) != default
        ]
        if given:
            refuse(
                who,
                f"{given[0]!r} belongs to kernels given by name",
                f"{given[0]} beside {kernel!r}",
                "Put it in the kernel.",
            )
        return kernel
    return named(kernel, gamma=estimator.gamma, degree=estimator.degree, coef0=estimator.coef0)


def is_precomputed(estimator: Any) -> bool:
    """Whether X is the Gram matrix itself."""
    return isinstance(estimator.kernel, str) and estimator.kernel == "precomputed"


def points(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X checked: by scikit-learn where it is a table of numbers, by the kernel itself where it is not.

    A kernel given as an object may look at named columns, strings or sets, so DataFrames and lists of objects go to it
    as they are.
    """
    own = isinstance(estimator.kernel, Kernel)
    if own and isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], (str, set, frozenset)):
        return list(X)
    if own and hasattr(X, "iloc"):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    return validate_data(estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)


def training_gram(estimator: Any, X: Any, engine: Engine) -> Gram:
    """Return K on the training points."""
    if is_precomputed(estimator):
        if X.shape[0] != X.shape[1]:
            # scikit-learn asks for this wording of a Gram matrix that is not square
            raise ValueError(
                "Precomputed matrix must be a square matrix. " + f"Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        return from_matrix(X.toarray() if sparse.issparse(X) else X, engine)
    return gram(kernel_of(estimator), X, engine=engine)


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


def watch_of(estimator: Any) -> Watcher | None:
    """Return what shows an estimator's progress: nothing, unless ``verbose``."""
    return Progress() if estimator.verbose else None


def warn_if_short(estimator: Any, solution: Solution, tol: float) -> None:
    """Give the one warning a fit that missed its tolerance ends with; it says what to do."""
    if solution.status is Status.CONVERGED:
        return
    who, stats = type(estimator).__name__, solution.stats
    proof = solution.certificate
    gap = f", relative gap {proof.relative_gap:.1e} (worst row {proof.worst_row[0]})" if proof else ""
    warnings.warn(
        f"{who} did not reach tol={tol:g}: residual {stats['residual']:.1e}{gap} after {stats['fit_seconds']:.3g} s, "
        f"{solution.status.value}. Raise deadline or alpha, or scale X. The model is the best found; see certificate_.",
        ConvergenceWarning,
        stacklevel=3,
    )


def deadline_of(estimator: Any) -> float | None:
    """Return the deadline in seconds, checked."""
    value = estimator.deadline
    return None if value is None else positive(type(estimator).__name__, "deadline", value)


def one_of(estimator: Any, name: str, allowed: dict[str, Any]) -> Any:
    """Return what a text parameter stands for; refuse others, naming those allowed."""
    value = getattr(estimator, name)
    if not isinstance(value, str) or value not in allowed:
        refuse(type(estimator).__name__, f"{name!r} must be one of {', '.join(map(repr, allowed))}", describe(value))
    return allowed[value]
