"""Fitting a ridge machine: what the regressor and the classifier share, from checked data to fitted attributes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._checks import describe, refuse
from mercer.estimators._door import centers_of, deadline_of, engine_of, one_of, tol_of, training_gram
from mercer.estimators._machine import warn_if_short
from mercer.estimators._ridge_tuning import Score, Tuned, is_tuned, tuned
from mercer.estimators._ridge_uncertainty import Uncertainty, summary
from mercer.kernels._rescaled import scale_of, scaled_parts
from mercer.losses import Squared
from mercer.solvers import (
    Auto,
    Band,
    Cholesky,
    ConjugateGradients,
    Eigen,
    HalfSquare,
    Problem,
    Solution,
    Status,
    one_count,
    solve,
)
from mercer.solvers._refits import AllPoints
from mercer.solvers.watch import Clock, Watcher

DEFAULT_TOL = 1e-10


def fit_ridge(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    w: np.ndarray | None,
    watch: Watcher | None,
    *,
    counts: np.ndarray | None = None,
    shared: bool = False,
    score: tuple[str, Score] | None = None,
) -> Status | None:
    """Tune if asked to, solve, and set the fitted attributes; return why tuning ended early, if it did.

    ``counts`` are the weights w without those of classes: where they are whole numbers, they say how many equal rows a
    row stands for. ``shared`` and ``score`` are those of `tuned`.
    """
    K, tuning = training_gram(estimator, X, engine_of(estimator), w), is_tuned(estimator)
    lam = 1.0 if isinstance(estimator.alpha, str) else _lam(estimator, y)
    intercept = one_of(estimator, "intercept", {"none": False, "free": True})
    problem = Problem(K, y, Squared(), HalfSquare(lam), w, intercept, centers_of(estimator, K, w))
    proof = one_of(estimator, "certify", {name: name for name in ("auto", "full", "none")})
    share, deadline, known = one_count(w if counts is None else counts), deadline_of(estimator), None
    solver = _solver(estimator, problem)
    if tuning:
        clock = Clock("Tuning", deadline, watch)
        known = tuned(estimator, problem, share, clock, shared=shared, score=score)
        problem, solver = known.problem, _solver_after(estimator, known, solver)
        deadline = None if deadline is None else max(deadline - clock.seconds, 1e-3)
    found = solve(problem, solver, deadline=deadline, watch=watch, certify=proof)
    _keep(estimator, found, X, y)
    _keep_choice(estimator, problem, known)
    known_of_it = summary(known.path, problem.lam) if known is not None and known.exact else None
    estimator._uncertainty = Uncertainty(
        type(estimator).__name__, problem.gram.kernel, X, y, w, share, intercept, problem.lam, found.centers,
        problem.gram.engine, estimator.random_state, known_of_it,
    )  # fmt: skip  # in the order of the record
    return None if known is None else known.stopped


def warn_of_ridge(estimator: Any, stopped: Status | None) -> None:
    """Give the one warning a fit ends with that missed its tolerance, or had no time to tune."""
    found: Solution = estimator.solution_
    if stopped is None or not found.converged:
        missed = estimator.tol or found.stats.get("tol") or DEFAULT_TOL
        warn_if_short(estimator, found, missed, stacklevel=5)
        return
    tried, who = len(estimator.cv_results_["params"]), type(estimator).__name__
    warnings.warn(
        f"{who}: tuning was {stopped.value} after {tried} fits; alpha_ is the best of them. Raise deadline.",
        ConvergenceWarning,
        stacklevel=4,
    )


def _keep(estimator: Any, found: Solution, X: Any, y: np.ndarray) -> None:
    estimator.solution_ = found
    estimator.dual_coef_ = found.coefficients
    estimator.intercept_ = found.offset if y.ndim == 2 else float(found.offset[0])
    estimator.centers_ = found.centers
    estimator.X_fit_ = X if found.centers is None or found.function is None else found.centers.points
    estimator.function_ = found.function
    estimator.certificate_ = found.certificate
    estimator.solver_ = found.stats["solver"]


def _keep_choice(estimator: Any, problem: Problem, known: Tuned | None) -> None:
    """Set the penalty and the scale that the fit was made with, and the table of what was tried."""
    lam, kernel = problem.lam, problem.gram.kernel
    estimator.alpha_ = float(lam[0]) if problem.y.ndim == 1 or (lam == lam[0]).all() else np.array(lam)
    estimator.scale_ = scale_of(kernel) if kernel is not None and scaled_parts(kernel) else None
    if known is not None:
        estimator.cv_results_ = known.table
    elif hasattr(estimator, "cv_results_"):
        del estimator.cv_results_  # of an earlier fit


def _lam(estimator: Any, y: np.ndarray) -> float | tuple[float, ...]:
    numeric = np.asarray(estimator.alpha).dtype.kind in "fiu"
    given = np.atleast_1d(np.asarray(estimator.alpha, dtype=np.float64)) if numeric else None
    count = 1 if y.ndim == 1 else y.shape[1]
    fine = given is not None and given.ndim == 1 and len(given) in (1, count)
    if given is None or not fine or not (np.isfinite(given) & (given >= 0)).all():
        wanted = f"'alpha' must be a number >= 0, or {count} of them, one a target"
        refuse(type(estimator).__name__, wanted, describe(estimator.alpha), "alpha='loo' finds it.")
    return float(given[0]) if len(given) == 1 else tuple(given.tolist())


def _solver(estimator: Any, problem: Problem) -> Any:
    tol, seed = tol_of(estimator), estimator.random_state
    method: Any = estimator.centers if isinstance(estimator.centers, str) else "uniform"
    choices: dict[str, Any] = {
        "auto": Auto(tol, seed, method),
        "cholesky": Cholesky(DEFAULT_TOL if tol is None else tol),
        "cg": ConjugateGradients(1e-3 if tol is None else tol, random_state=seed),
        "eigen": Eigen(),
    }
    if problem.centers is not None:
        choices["cg"] = choices["auto"]
    return one_of(estimator, "solver", choices)


def _solver_after(estimator: Any, known: Tuned, solver: Any) -> Any:
    """Return the solver that takes what tuning has computed, if any may be taken."""
    refits = known.path.refits
    if not (isinstance(solver, Auto) and known.exact and isinstance(refits, AllPoints)):
        return solver
    return Band(refits, tol_of(estimator))
