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
            ones = np.ones(n_rows(X)) if w is None else w
            K = training_gram(self, X, engine_of(self), w, vectorized=True)
            (machine,) = self._train(self._forms(K, values, ones), self._clock(watch))
            self._collect(X, K, machine)
        self._warn(X, [machine], time.perf_counter() - begun)
        return self

    def _forms(self, K: Gram, values: np.ndarray, w: np.ndarray) -> list[Form]:
        """Return the machine on the rows with a weight."""
        rows = np.flatnonzero(w)
        return [self._form(K, rows, values[rows], w[rows])]

    def _restore_one(self, vectors: Any, A: np.ndarray, offsets: np.ndarray, n_features: int) -> None:
        """Set the fitted attributes from what a file holds."""
        self._restore(vectors, A, offsets, n_features)
        self._n_support, self.dual_coef_, self.n_iter_ = np.array([len(A)], dtype=np.int32), A.T.copy(), 0

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

    def _learned_from(self, X: Any, y: Any, w: np.ndarray | None) -> tuple[None, np.ndarray]:
        """Return no classes, and the targets: what `_forms` needs of y."""
        return None, self._targets(X, y)

    def _is_taught(self, other: Any, classes: None) -> None:
        """Take over what another machine learned of the data, to be trained on parts of it."""
        self.n_features_in_ = getattr(other, "n_features_in_", 0)

    def _answers(self, decisions: np.ndarray) -> np.ndarray:
        """Return the values that decisions (m, 1) are."""
        return decisions[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """Return f(X) + b, (m,), in double precision. Cost: m kernel values for each support vector, never stored."""
        return self._answers(self._decisions(X))
