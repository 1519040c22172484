"""Tuning of support vector machines: a whole grid, all folds, on shared Grams and shared starts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics import get_scorer, r2_score
from sklearn.model_selection import check_cv

from mercer._checks import describe, positive, refuse
from mercer.estimators._door import engine_of, points, training_gram, weights
from mercer.estimators._grid import Path, by_kernel, cells_of
from mercer.estimators._support import SupportMachine
from mercer.gram import Gram
from mercer.kernels._views import n_rows, take
from mercer.solvers import Progress
from mercer.solvers.dual import Form, Paths, held_if_small
from mercer.solvers.watch import Clock

C_GRID = (0.1, 1.0, 10.0, 100.0)
GAMMA_GRID = (0.0625, 0.25, 1.0, 4.0)  # times "scale"


@dataclass(frozen=True, eq=False)
class Tuning:
    """What a search found.

    Parameters
    ----------
    cv_results_ : dict
        As of scikit-learn's GridSearchCV: ``params``, ``param_*``, ``split*_test_score``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``; ``mean_fit_time`` is that of the walk along the path, shared evenly.
    best_index_ : int
        The place of the best cell; the first of those with the best mean score.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        Its mean score.
    best_estimator_ : estimator or None
        Fitted on all rows with these parameters, with its certificate; None for ``refit=False``.
    nested_scores_ : array or None
        For each outer fold, the score there of what the inner search chose: an honest estimate of the whole procedure.
    seconds : float
        That the search took.
    """

    cv_results_: dict[str, Any]
    best_index_: int
    best_params_: dict[str, Any]
    best_score_: float
    best_estimator_: Any
    nested_scores_: np.ndarray | None
    seconds: float

    def __str__(self) -> str:
        """Say what was found, in words."""
        at = ", ".join(f"{name}={_text(value)}" for name, value in self.best_params_.items())
        cells, folds = len(self.cv_results_["params"]), sum(key.startswith("split") for key in self.cv_results_)
        spread = self.cv_results_["std_test_score"][self.best_index_]
        lines = [
            f"tuning: {cells} cells x {folds} folds in {self.seconds:.3g} s",
            f"  best           {at}",
            f"  score          {self.best_score_:.4f} +- {spread:.4f} over folds",
        ]
        if self.nested_scores_ is not None:
            nested = self.nested_scores_
            lines.append(f"  nested score   {nested.mean():.4f} +- {nested.std():.4f}")
        return "\n".join(lines)


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def tune(
    machine: SupportMachine, X: Any, y: Any, grid: Any = None, *, cv: Any = 5, scoring: Any = None,
    sample_weight: Any = None, nested: Any = None, refit: bool = True, deadline: float | None = None,
    verbose: bool = False,
) -> Tuning:  # fmt: skip  # the machine and data, then how to search
    """Search a grid of parameters by cross-validation; what scikit-learn's GridSearchCV does, many times faster.

    For each kernel of the grid K is computed once, on all rows. Folds are problems on that K; costs (C, nu or epsilon)
    are walked in rising order, each solve beginning at the best multiple of the last answer; decisions about the rows
    left out come from the same K. Scores are those of GridSearchCV up to ``tol``; gamma="scale" and other rules are
    resolved on all rows. The machine that wins is fitted anew on all rows, and its certificate holds.

    Cost: n^2 kernel values for each kernel, and what the solves need beyond their start.

    Parameters
    ----------
    machine : SVC, NuSVC, SVR or NuSVR
        With the parameters that are not searched. ``gap``, ``deadline`` and ``probability`` are for the last fit only.
    X, y : as for its ``fit``
        Data.
    grid : dict or list of dicts, optional
        Values for each parameter. Default: C from 0.1 to 100, and gamma around "scale" for "rbf".
    cv : int, splitter or iterable
        As in scikit-learn: 5 is five folds, stratified for classes.
    scoring : str or callable, optional
        A scorer that looks at predictions or decisions, not at probabilities; accuracy or R^2 unless given.
    sample_weight : array of shape (n,), optional
        Weights, for fits and scores; rows with weight 0 are absent.
    nested : int, splitter or iterable, optional
        Outer folds for `Tuning.nested_scores_`; they share the same Grams.
    refit : bool
        Whether to fit the best machine on all rows.
    deadline : float, optional
        Seconds after which cells that are not done are left out, with a warning; the best of the others wins. The
        same after Ctrl-C.
    verbose : bool
        Whether progress is shown on standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC, tune
    >>> X, y = load_iris(return_X_y=True)
    >>> found = tune(SVC(), X, y, {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1, 1.0]})
    >>> found.best_params_, round(found.best_score_, 3)
    ({'C': 1.0, 'gamma': 0.1}, 0.98)
    """
    begun = time.perf_counter()
    data = _prepared(machine, X, y, sample_weight)
    cells = cells_of(_default_grid(machine, data.X) if grid is None else grid)
    splits, owners = _splits(machine, data, cv, nested)
    clock = Clock("tune", None if deadline is None else positive("tune", "deadline", deadline),
                  Progress() if verbose else None)  # fmt: skip  # one call
    scores, seconds = np.full((len(cells), len(splits)), np.nan), np.zeros(len(cells))
    judge = _Judge(scoring, data)
    try:
        for done, paths in enumerate(by_kernel(machine, cells)):
            if clock.step(done, float(np.isnan(scores).mean())) is not None:
                break
            _score(paths, data, splits, judge, clock, scores, seconds)
    except KeyboardInterrupt:
        _warn_unfinished(scores, "interrupted")
    else:
        if clock.step(0, 0.0) is not None:
            _warn_unfinished(scores, "stopped at its deadline")
    first = owners == 0
    mean = scores[:, first].mean(axis=1)
    if np.isnan(mean).all():
        refuse("tune", "at least one cell must be finished", "none", "Raise deadline, or make the grid smaller.")
    best = int(np.nanargmax(mean))
    fitted = None
    if refit:
        fitted = clone(machine).set_params(**cells[best])
        fitted.fit(X, y) if sample_weight is None else fitted.fit(X, y, sample_weight=sample_weight)
    results = _results(cells, scores[:, first], seconds)
    return Tuning(
        results, best, cells[best], float(mean[best]), fitted, _nested(scores, owners), time.perf_counter() - begun
    )  # fmt: skip  # in the order of the record


# ---------------------------------------------------------------- data


@dataclass(frozen=True, eq=False)
class _Data:
    """Rows with a weight: points, what the machines are fitted to, and what answers are compared with."""

    X: Any
    y: np.ndarray
    fitted_to: np.ndarray
    classes: np.ndarray | None
    w: np.ndarray
    weighted: bool
    door: Any


def _prepared(machine: Any, X: Any, y: Any, sample_weight: Any) -> _Data:
    if not isinstance(machine, SupportMachine) or not hasattr(machine, "_answers"):
        refuse("tune", "a support vector machine that learns from y", describe(machine), "SVC, NuSVC, SVR or NuSVR.")
    door = clone(machine)
    X = points(door, X, reset=True)
    w = weights(door, X, sample_weight)
    classes, codes = door._learned_from(X, y, w)
    y = np.asarray(y).ravel()
    ones = np.ones(n_rows(X)) if w is None else w
    return _Data(X, y, codes, classes, ones, w is not None, door)


def _default_grid(machine: Any, X: Any) -> dict[str, list[Any]]:
    grid: dict[str, list[Any]] = {}
    if "C" in machine.get_params():
        grid["C"] = list(C_GRID)
    if isinstance(machine.kernel, str) and machine.kernel == "rbf":
        scale = 1.0 / (X.shape[1] * float(np.var(X.toarray() if hasattr(X, "toarray") else np.asarray(X))))
        grid["gamma"] = [factor * scale for factor in GAMMA_GRID]
    return grid


def _splits(machine: Any, data: _Data, cv: Any, nested: Any) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Return all pairs of rows to train on and to be judged by, and whose they are.

    Owner 0 is the search; o > 0 the search within the outer fold o, and -o the judgement of what it chose.
    """
    there = np.flatnonzero(data.w > 0)
    inner = _folds(machine, data, cv, there)
    splits, owners = list(inner), [0] * len(inner)
    if nested is not None:
        for o, (train, test) in enumerate(_folds(machine, data, nested, there), 1):
            within = _folds(machine, data, cv, train)
            splits += [*within, (train, test)]
            owners += [o] * len(within) + [-o]
    return splits, np.array(owners)


def _folds(machine: Any, data: _Data, cv: Any, rows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    y = data.y[rows]
    splitter = check_cv(cv, y, classifier=is_classifier(machine))
    return [(rows[train], rows[test]) for train, test in splitter.split(np.zeros((len(rows), 1)), y)]


# ---------------------------------------------------------------- scores


@dataclass(frozen=True, eq=False)
class _Judge:
    """Scores decisions about rows that were left out."""

    scoring: Any
    data: _Data
    scorer: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scorer", None if self.scoring is None else get_scorer(self.scoring))

    def __call__(self, estimator: Any, decisions: np.ndarray, rows: np.ndarray) -> float:
        data = self.data
        w = data.w[rows] if data.weighted else None
        if self.scorer is None:
            said, y = estimator._answers(decisions), data.y[rows]
            if data.classes is not None:  # the accuracy; scikit-learn's would take longer than some of the solves
                return float(np.average(said == y, weights=w))
            return float(r2_score(y, said, sample_weight=w))
        proxy = clone(estimator)
        for name in ("n_features_in_", "classes_"):
            if hasattr(estimator, name):
                setattr(proxy, name, getattr(estimator, name))
        proxy._decisions = proxy._signs = lambda X: decisions  # it has answered already: a scorer asks for no more
        proxy.predict_proba = predict_proba
        given = {} if w is None else {"sample_weight": w}
        return float(self.scorer(proxy, take(data.X, rows), data.y[rows], **given))


def predict_proba(X: Any) -> np.ndarray:
    """Stand in for the method of that name, which a search does not have."""
    refuse("tune", "a scorer that looks at predictions or decisions", "one that asks for probabilities",
           "Use GridSearchCV for it, or a scorer of decisions such as 'roc_auc'.")  # fmt: skip  # one call


def _score(
    paths: Sequence[Path], data: _Data, splits: Sequence[tuple[np.ndarray, np.ndarray]], judge: _Judge, clock: Clock,
    scores: np.ndarray, seconds: np.ndarray,
) -> None:  # fmt: skip  # what to score, and where the scores go
    """Walk the paths of one kernel through all splits."""
    first = paths[0].estimators[0]
    K = training_gram(first, data.X, engine_of(first), data.w if data.weighted else None, vectorized=True)
    held = held_if_small(K)
    for path in paths:
        begun = time.perf_counter()
        cells, forms = _forms(path, K, data, splits)
        if not cells:
            continue
        count = len(forms[0][0])
        walks = [[step[s][k] for step in forms] for s in range(len(splits)) for k in range(count)]
        one = cells[0][0]  # whose tolerance and steps are those of the whole path
        found = Paths(K, walks, tol=one._tol(), max_steps=one._steps(), clock=clock, held=held)
        for s, (_, test) in enumerate(splits):
            for step, (estimator, cell) in enumerate(cells):
                decisions = found.decisions(range(s * count, (s + 1) * count), step, test)
                if decisions is not None:
                    scores[cell, s] = judge(estimator, decisions, test)
        seconds[list(path.cells)] = (time.perf_counter() - begun) / (len(path.cells) * len(splits))


def _forms(
    path: Path, K: Gram, data: _Data, splits: Sequence[tuple[np.ndarray, np.ndarray]]
) -> tuple[list[tuple[Any, int]], list[list[list[Form]]]]:
    """Return the estimators of a path with their cells, and the machines of each on each split; warn of refusals."""
    cells, forms = [], []
    for estimator, cell in zip(path.estimators, path.cells, strict=True):
        estimator._is_taught(data.door, data.classes)
        try:
            estimator._tol(), estimator._steps()
            of_splits = [estimator._forms(K, data.fitted_to, _only(data.w, train)) for train, _ in splits]
            for machines in of_splits:
                estimator._check_forms(machines)
        except ValueError as refused:
            warnings.warn(f"tune left out a cell that cannot be fitted. {refused}", FitFailedWarning, stacklevel=4)
        else:
            cells.append((estimator, cell))
            forms.append(of_splits)
    return cells, forms


def _only(w: np.ndarray, rows: np.ndarray) -> np.ndarray:
    out = np.zeros(len(w))
    out[rows] = w[rows]
    return out


# ---------------------------------------------------------------- results


def _results(cells: list[dict[str, Any]], scores: np.ndarray, seconds: np.ndarray) -> dict[str, Any]:
    results: dict[str, Any] = {"mean_fit_time": seconds, "params": cells}
    for name in sorted({name for cell in cells for name in cell}):
        column = np.ma.masked_all(len(cells), dtype=object)
        for k, cell in enumerate(cells):
            if name in cell:
                column[k] = cell[name]
        results[f"param_{name}"] = column
    for s, column in enumerate(scores.T):
        results[f"split{s}_test_score"] = column
    mean = scores.mean(axis=1)
    results |= {"mean_test_score": mean, "std_test_score": scores.std(axis=1)}
    results["rank_test_score"] = rankdata(-np.where(np.isnan(mean), -np.inf, mean), method="min").astype(np.int32)
    return results


def _nested(scores: np.ndarray, owners: np.ndarray) -> np.ndarray | None:
    """Return, for each outer fold, the score there of the cell that its own search chose."""
    if owners.max() == 0:
        return None
    out = []
    for o in range(1, int(owners.max()) + 1):
        inner = scores[:, owners == o].mean(axis=1)
        if np.isnan(inner).all():
            out.append(np.nan)
            continue
        out.append(float(scores[int(np.nanargmax(inner)), owners == -o][0]))
    return np.array(out)


def _warn_unfinished(scores: np.ndarray, why: str) -> None:
    left = int(np.isnan(scores).any(axis=1).sum())
    warnings.warn(
        f"tune was {why}: {left} of {len(scores)} cells have no score. The best of the others is kept. Raise deadline, "
        "or make the grid smaller.",
        ConvergenceWarning,
        stacklevel=3,
    )
