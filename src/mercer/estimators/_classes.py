"""Support vector machines for classes: pairs, or one against the rest, on one Gram; votes and decisions."""

from __future__ import annotations

import time
from abc import abstractmethod
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function

from mercer._checks import refuse
from mercer.estimators._door import class_factors, engine_of, labels, one_of, points, training_gram, weights
from mercer.estimators._machine import watched, with_callbacks
from mercer.estimators._probabilities import calibrated, method_of, probabilities
from mercer.estimators._support import SupportMachine
from mercer.gram import Gram
from mercer.kernels._views import n_rows
from mercer.solvers.dual import Form, Trained


class SupportClassifier(ClassifierMixin, SupportMachine):
    """A classifier of k classes from machines of two: k (k - 1) / 2 pairs, or k of one against the rest."""

    @abstractmethod
    def _form(self, K: Gram, rows: np.ndarray, sign: np.ndarray, weight: np.ndarray, factor: np.ndarray) -> Form:
        """Return the machine that tells rows of sign +1 from those of sign -1, by weights and factors of classes."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machines; returns self.

        Parameters
        ----------
        X : array, DataFrame, CSR matrix, or a list of the objects the kernel takes
            Training points, (n, d); the Gram matrix (n, n) for "precomputed".
        y : array of shape (n,)
            Labels of any type, of at least two classes.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row repeated, a weight of 0 a row absent.
        """
        begun = time.perf_counter()
        X = points(self, X, reset=True)
        w = weights(self, X, sample_weight)
        _, codes = self._learned_from(X, y, w)
        with watched(self, X, y, w) as watch:
            ones = np.ones(n_rows(X)) if w is None else w
            self.class_weight_ = class_factors(self, self.classes_, codes, ones)
            method_of(self)
            K = training_gram(self, X, engine_of(self), w, vectorized=True)
            clock = self._clock(watch)
            machines = self._train(self._forms(K, codes, ones), clock)
            self._collect(X, K, machines, codes)
            self.curves_ = calibrated(self, X, K, codes, ones, machines, clock)
        self._warn(X, machines, time.perf_counter() - begun)
        return self

    def _learned_from(self, X: Any, y: Any, w: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes and the places of the labels: what `_forms` needs of y."""
        self.classes_, codes = _present(self, X, y, w)
        return self.classes_, codes

    def _is_taught(self, other: Any, classes: np.ndarray) -> None:
        """Take over what another machine learned of the data, to be trained on parts of it."""
        self.n_features_in_, self.classes_ = getattr(other, "n_features_in_", 0), classes

    def _answers(self, decisions: np.ndarray) -> np.ndarray:
        """Return the labels that decisions (m, machines) are for."""
        return np.asarray(self.classes_[self._decided(decisions)])

    def _members(self, codes: np.ndarray, weight: np.ndarray) -> list[np.ndarray]:
        """Return the rows of each class; refuse a class without any."""
        members = [np.flatnonzero((codes == k) & (weight > 0)) for k in range(len(self.classes_))]
        for name, mine in zip(self.classes_, members, strict=True):
            if not len(mine):
                wanted = "class_weight must leave each class some weight"
                refuse(type(self).__name__, wanted, f"0 for class {name!r}", "Leave its rows out.")
        return members

    def _forms(self, K: Gram, codes: np.ndarray, w: np.ndarray) -> list[Form]:
        """Return the machines on the rows with a weight; "balanced" counts those."""
        factor = class_factors(self, self.classes_, codes, w)[codes]
        members = self._members(codes, w * factor)
        return [self._between(K, members, w, factor, *side) for side in self._sides()]

    def _sides(self) -> list[tuple[int, int]]:
        """Return who stands against whom: two classes, or one and (-1) the rest; the first is the positive one."""
        rest = one_of(self, "multi_class", {"ovo": False, "ovr": True})
        one_of(self, "decision_function_shape", {"ovo": 0, "ovr": 1})
        k = len(self.classes_)
        if k == 2:
            return [(1, 0)]
        if rest and self.decision_function_shape == "ovo":
            wanted = "decision_function_shape='ovo' needs the machines of multi_class='ovo'"
            refuse(type(self).__name__, wanted, "multi_class='ovr'", "Leave decision_function_shape at 'ovr'.")
        return [(i, -1) for i in range(k)] if rest else list(combinations(range(k), 2))

    def _between(
        self, K: Gram, members: list[np.ndarray], weight: np.ndarray, factor: np.ndarray, i: int, j: int
    ) -> Form:
        there = np.concatenate([m for k, m in enumerate(members) if k != i]) if j < 0 else members[j]
        rows = np.concatenate([members[i], there])
        sign = np.repeat([1.0, -1.0], [len(members[i]), len(there)])
        return self._form(K, rows, sign, weight[rows], factor[rows])

    def _collect(self, X: Any, K: Gram, machines: list[Trained], codes: np.ndarray) -> None:
        """Set the attributes, in scikit-learn's order and sign."""
        A, sides = self._keep(X, K, machines, np.argsort(codes, kind="stable")), self._sides()
        self._n_support = np.bincount(codes[self.support_], minlength=len(self.classes_)).astype(np.int32)
        self.intercept_ = self._offsets.copy()
        self.n_iter_ = np.array([machine.steps for machine in machines], dtype=np.int32)
        self.dual_coef_ = _of_pairs(A, self._n_support, sides) if sides[0][1] > 0 else A.T.copy()

    def _restore_classes(
        self, vectors: Any, A: np.ndarray, offsets: np.ndarray, n_features: int, classes: np.ndarray, counts: np.ndarray
    ) -> None:
        """Set the fitted attributes from what a file holds: rows class by class, machines in the order of `_sides`."""
        self.classes_, self._n_support = classes, np.asarray(counts, dtype=np.int32)
        self._restore(vectors, A, offsets, n_features)
        self.class_weight_, self.curves_ = np.ones(len(classes)), ()
        self.n_iter_ = np.zeros(len(offsets), dtype=np.int32)
        sides = self._sides()
        self.dual_coef_ = _of_pairs(A, self._n_support, sides) if sides[0][1] > 0 else A.T.copy()

    # ------------------------------------------------------------ decisions

    @property
    def margin_(self) -> float | np.ndarray:
        """The distance of the surfaces f + b = 1 from f + b = 0 in feature space, 1 / ||f||: one, or one a machine."""
        with np.errstate(divide="ignore"):
            margins = 1.0 / self._norms
        return float(margins[0]) if len(margins) == 1 else margins

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f + b, (m,), for two classes; for k of them (m, k), or (m, k (k - 1) / 2) for "ovo".

        Of pairs, "ovr" shows each class the votes it gets, plus its confidence, which is below 1/3.
        """
        decisions = self._decisions(X)
        if len(self.classes_) == 2:
            return decisions[:, 0]
        if self.multi_class == "ovr" or self.decision_function_shape == "ovo":
            return decisions
        return np.asarray(_ovr_decision_function(decisions < 0, -decisions, len(self.classes_)))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row of X: of most votes (the first in a tie), or of the largest decision."""
        if self.break_ties and self.decision_function_shape == "ovo" and hasattr(self, "classes_"):
            # scikit-learn's wording
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        by_size = self.break_ties or self.multi_class == "ovr"
        return self._answers(self._decisions(X) if by_size else self._signs(X))

    @available_if(method_of)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities, (m, k), of which the class of ``predict`` always has the largest.

        Each machine's decision d becomes p(d) by its curve in ``curves_``, which rises and is 1/2 at d = 0; those of
        pairs are coupled, those of one against the rest divided by their sum. Where votes and probabilities would
        differ, the nearest probabilities that agree are given. Needs ``probability``.
        """
        decisions = self._decisions(X)
        if not self.curves_:
            wanted = "predict_proba needs a fit with probability=True, 'sigmoid' or 'isotonic'"
            refuse(type(self).__name__, wanted, "a fit without", "Fit again.")
        return probabilities(self.curves_, decisions, self._sides(), self._decided(decisions), len(self.classes_))

    @available_if(method_of)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def _decided(self, decisions: np.ndarray) -> np.ndarray:
        """Return the place of the class that decisions (m, machines) are for."""
        k = len(self.classes_)
        if k == 2:
            return (decisions[:, 0] > 0).astype(np.intp)
        if self.multi_class == "ovr":
            return decisions.argmax(axis=1)
        if self.break_ties:
            return np.asarray(_ovr_decision_function(decisions < 0, -decisions, k)).argmax(axis=1)
        votes = np.zeros((len(decisions), k))
        for column, (i, j) in zip(decisions.T, combinations(range(k), 2), strict=True):
            votes[:, i] += column > 0
            votes[:, j] += column <= 0
        return votes.argmax(axis=1)


def _present(estimator: Any, X: Any, y: Any, w: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes that have a row with a weight, and the place of each row's label among them (any, if none)."""
    classes, codes = labels(estimator, X, y)
    if w is None or (w > 0).all():
        return classes, codes
    kept = np.unique(codes[w > 0])
    if len(kept) < 2:
        got = f"one class, {classes[kept[0]]!r}"
        refuse(type(estimator).__name__, "the rows with a weight must be of at least two classes", got)
    place = np.zeros(len(classes), dtype=codes.dtype)
    place[kept] = np.arange(len(kept))
    return classes[kept], place[codes]


def _of_pairs(A: np.ndarray, counts: np.ndarray, sides: list[tuple[int, int]]) -> np.ndarray:
    """Return coefficients (s, pairs) in LIBSVM's layout (k - 1, s): row j - 1 of class i < j, row i of class j."""
    ends = np.cumsum(counts)
    spans = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    out = np.zeros((len(counts) - 1, len(A)))
    for p, (i, j) in enumerate(sides):
        out[j - 1, spans[i]] = A[spans[i], p]
        out[i, spans[j]] = A[spans[j], p]
    return out
