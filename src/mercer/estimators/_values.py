"""Support vector machines of one function: regression, and the one class."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from mercer.estimators._door import engine_of, points, targets, training_gram, weights
from mercer.estimators._machine import watched, with_callbacks
from mercer.estimators._support import SupportMachine
from mercer.gram import Gram
from mercer.kernels._views import n_rows
from mercer.solvers.dual import Form, Trained


class SingleMachine(SupportMachine):
    """One function on all rows with a weight."""

    @abstractmethod
    def _form(self, K: Gram, rows: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Form:
        """Return the machine for some rows, their targets and weights."""

    def _targets(self, X: Any, y: Any) -> np.ndarray:
        return targets(self, X, y, several=False)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        begun = time.perf_counter()
        X = points(self, X, reset=True)
        values = self._targets(X, y)
        w = weights(self, X, sample_weight)
        with watched(self, X, y, w) as watch:
            rows = np.arange(n_rows(X)) if w is None else np.flatnonzero(w)
            weight = np.ones(len(rows)) if w is None else w[rows]
            K = training_gram(self, X, engine_of(self), w, vectorized=True)
            (machine,) = self._train([self._form(K, rows, values[rows], weight)], self._clock(watch))
            self._collect(X, K, machine)
        self._warn(X, [machine], time.perf_counter() - begun)
        return self

    def _collect(self, X: Any, K: Gram, machine: Trained) -> None:
        """Set the attributes, in scikit-learn's order and sign."""
        A = self._keep(X, K, [machine], machine.points)
        self._n_support = np.array([len(A)], dtype=np.int32)
        self.dual_coef_ = A.T.copy()
        self.intercept_ = self._offsets.copy()
        self.n_iter_ = machine.steps


class SupportRegressor(RegressorMixin, SingleMachine):
    """A regressor that is one machine."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit f and b; returns self.

        Parameters
        ----------
        X : array, DataFrame, CSR matrix, or a list of the objects the kernel takes
            Training points, (n, d); the Gram matrix (n, n) for "precomputed".
        y : array of shape (n,)
            Targets.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row repeated, a weight of 0 a row absent.
        """
        return self._fit(X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """Return f(X) + b, (m,), in double precision. Cost: m kernel values for each support vector, never stored."""
        return self._decisions(X)[:, 0]
