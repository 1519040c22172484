"""Probabilities of a support vector classifier: calibrated on decisions about rows that had no part in them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from mercer._checks import describe, refuse
from mercer.estimators._folds import FOLDS, folds
from mercer.gram import Gram
from mercer.solvers.calibration import Curve, agreeing, coupled, fit_isotonic, fit_sigmoid
from mercer.solvers.dual import Form, Trained, decisions
from mercer.solvers.watch import Clock

EVERY = -2  # the fold of rows that no fit leaves out
METHODS = {"sigmoid": fit_sigmoid, "isotonic": fit_isotonic}


def method_of(estimator: Any) -> Any:
    """Return how decisions become probabilities, None where they do not."""
    asked = estimator.probability
    if isinstance(asked, (bool, np.bool_)):
        return METHODS["sigmoid"] if asked else None
    if not isinstance(asked, str) or asked not in METHODS:
        wanted = "'probability' must be False, True, 'sigmoid' or 'isotonic'"
        refuse(type(estimator).__name__, wanted, describe(asked))
    return METHODS[asked]


def calibrated(
    estimator: Any, X: Any, K: Gram, codes: np.ndarray, w: np.ndarray, machines: Sequence[Trained], clock: Clock
) -> tuple[Curve, ...]:
    """Return a curve for each machine, from decisions about rows that had no part in them; none if not asked for.

    A class that is one row, or copies of one, is in every fit and lends no decision.

    Parameters
    ----------
    estimator : SupportClassifier
        Whose options they share; its ``_forms`` says which machines there are on the rows with a weight.
    X, K : the rows and their Gram
        One Gram for all folds.
    codes, w : arrays of shape (n,)
        Classes and sample weights.
    machines : sequence of Trained
        Those on all rows: the others begin where they ended.
    clock : Clock
        That of the fit.
    """
    if (fit := method_of(estimator)) is None:
        return ()
    fold = _stay(codes, folds(X, codes, w > 0, FOLDS, pairwise=K.kernel is None))
    D = np.zeros((len(w), len(machines)))
    for each in range(int(fold.max()) + 1):
        forms = estimator._forms(K, codes, np.where(fold == each, 0.0, w))
        out = np.flatnonzero(fold == each)
        D[out] = decisions(estimator._train(forms, clock, _restricted(machines, forms, len(w))), out)
    curves = []
    for d, (i, j) in zip(D.T, estimator._sides(), strict=True):
        rows = np.flatnonzero((fold >= 0) & ((codes == i) | (codes == j) | (j < 0)))
        curves.append(fit(d[rows], codes[rows] == i, w[rows]))
    return tuple(curves)


def _restricted(machines: Sequence[Trained], forms: Sequence[Form], n: int) -> list[np.ndarray]:
    """Return the coefficients of trained machines on the rows of others."""
    starts = []
    for machine, form in zip(machines, forms, strict=True):
        a = np.zeros(n)
        a[machine.points] = machine.coefficients * machine.margin
        starts.append(a[form.points])
    return starts


def _stay(codes: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Return the folds without those of classes that would be absent without one: their rows are in every fit."""
    for k in np.unique(codes[fold >= 0]):
        mine = (codes == k) & (fold >= 0)
        if len(np.unique(fold[mine])) < 2:
            fold = np.where(mine, EVERY, fold)
    return fold


def probabilities(
    curves: Sequence[Curve], D: np.ndarray, sides: list[tuple[int, int]], decided: np.ndarray, k: int
) -> np.ndarray:
    """Return class probabilities (m, k) of decisions (m, machines); the decided class always has the largest.

    Two classes: the curve. Pairs: their probabilities coupled. One against the rest: the curves, divided by their sum.
    """
    P = np.column_stack([curve(d) for curve, d in zip(curves, D.T, strict=True)])
    if k == 2:
        p = np.column_stack([1 - P[:, 0], P[:, 0]])
    elif sides[0][1] < 0:
        p = np.maximum(P, np.finfo(float).tiny)
        p = p / p.sum(axis=1, keepdims=True)
    else:
        r = np.zeros((len(P), k, k))
        for column, (i, j) in zip(P.T, combinations(range(k), 2), strict=True):
            r[:, i, j], r[:, j, i] = column, 1 - column
        p = coupled(r)
    return agreeing(p, decided)
