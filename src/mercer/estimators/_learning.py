"""What all machines of the representer theorem share: from parameters and data to a solved problem, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._checks import describe, refuse
from mercer.estimators._door import (
    centers_of,
    deadline_of,
    engine_of,
    one_of,
    points,
    tol_of,
    training_gram,
    values,
)
from mercer.estimators._machine import warn_if_short
from mercer.losses import value
from mercer.solvers import Auto, Problem, Solution, Solver, solve
from mercer.solvers.watch import Watcher


def learn(
    estimator: Any, X: Any, Y: np.ndarray, w: np.ndarray | None, loss: Any, penalty: Any, watch: Watcher | None
) -> Solution:
    """Solve an estimator's problem on checked data, and keep what was found as its fitted attributes."""
    K = training_gram(estimator, X, engine_of(estimator), w)
    _refuse_targets(estimator, Y, w, loss)
    free = one_of(estimator, "intercept", {"free": True, "none": False})
    problem = Problem(K, Y, loss, penalty, w, free, centers_of(estimator, K, w))
    found = solve(problem, solver_of(estimator), deadline=deadline_of(estimator), watch=watch)
    keep(estimator, X, found)
    return found


def keep(estimator: Any, X: Any, found: Solution) -> None:
    """Set the fitted attributes."""
    estimator.solution_ = found
    estimator.dual_coef_ = found.coefficients
    estimator.intercept_ = float(found.offset[0]) if found.coefficients.ndim == 1 else found.offset
    estimator.centers_ = found.centers
    estimator.X_fit_ = X if found.centers is None or found.function is None else found.centers.points
    estimator.function_ = found.function
    estimator.certificate_ = found.certificate
    estimator.solver_ = found.stats["solver"]


def warn_if_far(estimator: Any, found: Solution) -> None:
    """Give the one warning a fit ends with that missed its tolerance."""
    tol = tol_of(estimator)
    asked = found.stats.get("tol", 1e-6) if tol is None else tol
    warn_if_short(estimator, found, asked, "Raise deadline or the penalty, or scale X.")


def outputs(estimator: Any, X: Any) -> np.ndarray:
    """Return f(X) + b, of shape (m,) or (m, t), in double precision."""
    check_is_fitted(estimator)
    X = points(estimator, X, reset=False)
    if estimator.function_ is not None:
        return values(estimator, estimator.function_, X) + estimator.intercept_
    chosen = estimator.centers_
    columns = X if chosen is None else X[:, chosen.indices]
    return np.asarray(columns @ estimator.dual_coef_) + estimator.intercept_


def solver_of(estimator: Any) -> Solver | Auto:
    """Return the solver an estimator asks for: a record of `mercer.solvers`, or the choice by rule."""
    asked = estimator.solver
    if isinstance(asked, (Solver, Auto)):
        return asked
    if not (isinstance(asked, str) and asked == "auto"):
        refuse(type(estimator).__name__, "'solver' must be 'auto' or a solver of mercer.solvers", describe(asked))
    return Auto(tol_of(estimator), estimator.random_state)


def _refuse_targets(estimator: Any, Y: np.ndarray, w: np.ndarray | None, loss: Any) -> None:
    """Refuse targets the loss cannot have: those that cost infinitely much whatever is predicted."""
    bad = ~np.isfinite(value(loss, Y, np.zeros_like(Y))).reshape(len(Y), -1).all(axis=1)
    bad = bad if w is None else bad & (w > 0)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        wanted = f"y must hold targets that {type(loss).__name__} is for"
        refuse(type(estimator).__name__, wanted, f"{np.ravel(Y[at])[0]:g} in row {at}", "See mercer.losses.")
