"""The Bayes classifier of kernel densities."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._checks import refuse
from mercer.estimators._class_means import classes_of, in_double, priors_of, sums
from mercer.estimators._door import is_precomputed, kernel_of, points, resolved, training_gram, weights
from mercer.estimators._machine import Machine, watched, with_callbacks
from mercer.gram._log_sums import log_sums
from mercer.kernels._views import n_rows, take
from mercer.kernels._windows import falling

FAR = 1e-280  # mean windows below are computed by their logarithms, or are 0
ROUNDING = 1e-9  # of the largest sum: a sum less than 0 by no more is 0


class ParzenClassifier(ClassifierMixin, Machine):
    """Bayes' rule with a kernel density for each class: argmax over c of p_c (1 / n_c) sum_{i in c} k(x, x_i).

    The density of class c at x is the mean of windows about its points; what they are normalised by cancels, so any
    kernel with values >= 0 serves, on sets and strings too. In the RKHS the mean window is <phi(x), m_c>: for equal
    priors and class means of equal norm this is `KernelNearestMean`.
    Cost: nothing to fit, m n kernel values for m predictions, none of them stored.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed"
        The window, of values >= 0: a kernel, its scikit-learn name ("rbf", "laplacian", "chi2"), or a function of two
        rows.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, and of functions, as in scikit-learn's KernelRidge.
    priors : {"empirical", "uniform"} or array
        Of the classes.
    memory : float or str, optional
        Budget, such as ``"2 GB"``: short for ``engine=Engine(memory=...)``.
    engine : Engine, optional
        Threads, memory. Sums are in double precision.

    Attributes
    ----------
    classes_ : array
        The classes in order.
    priors_ : array
        p.
    X_fit_ : as X
        The training points.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import ParzenClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = ParzenClassifier(gamma=20.0).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> model.predict_proba([[0.0, 1.0]]).round(3)
    array([[1., 0.]])
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        priors: Any = "empirical",
        memory: Any = None,
        engine: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.priors = priors
        self.memory = memory
        self.engine = engine

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the points with their classes; returns self.

        Parameters
        ----------
        X : array, DataFrame, CSR matrix, or a list of the objects the kernel takes
            Training points, (n, d); the Gram matrix (n, n) for "precomputed".
        y : array of shape (n,)
            Labels of two classes or more.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row repeated, a weight of 0 a row absent.
        """
        X = points(self, X, reset=True)
        w = weights(self, X, sample_weight)
        self.classes_, codes = classes_of(self, X, y, w)
        with watched(self, X, y, w):
            if is_precomputed(self):
                training_gram(self, X, in_double(self))  # for its checks
            self._kernel = None if is_precomputed(self) else resolved(kernel_of(self), X, w)
            w = np.ones(n_rows(X)) if w is None else w
            sizes = np.bincount(codes, w)
            self.priors_ = priors_of(self, sizes)
            self._codes, self._weights, self.X_fit_ = codes, w / sizes[codes], X
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each point."""
        check_is_fitted(self)
        return self.classes_[self.predict_joint_log_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class given x, (m, C)."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of the probability of each class given x, (m, C)."""
        joint = self.predict_joint_log_proba(X)
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Return log p_c + log of the mean window of class c, (m, C); log p_c alone where no window reaches x.

        Cost: m n kernel values; n more logarithms for each x so far away that windows in double precision are 0.
        """
        check_is_fitted(self)
        X = points(self, X, reset=False)
        means = sums(self, X, self.X_fit_, self._kernel, self._codes, self._weights)
        least = float(means.min(initial=0.0))
        if least < -ROUNDING * float(np.abs(means).max(initial=0.0)):
            remedy = "Use a kernel with values >= 0, such as Gaussian(1.0), or KernelNearestMean."
            refuse(type(self).__name__, "windows must be >= 0", f"a mean of {least:.3g}", remedy)
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(means, 0.0))
        far = np.flatnonzero(means.max(axis=1) < FAR)
        if len(far):
            logs[far] = self._logs(take(X, far))
        return np.asarray(logs + np.log(self.priors_))

    def _logs(self, X: Any) -> np.ndarray:
        """Return the logarithms of the mean windows at points far from all others."""
        form = None if self._kernel is None else falling(self._kernel.form())
        logs = np.zeros((n_rows(X), len(self.classes_)))
        if form is None:
            return logs
        for c in range(logs.shape[1]):
            rows = np.flatnonzero((self._codes == c) & (self._weights > 0))
            log_w = np.log(self._weights[rows])
            logs[:, c] = log_sums(form, X, take(self.X_fit_, rows), log_w, in_double(self))[:, 0]
        return logs
