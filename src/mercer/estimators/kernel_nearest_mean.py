"""The nearest class mean in feature space."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._checks import describe, is_number, refuse
from mercer.estimators._class_means import classes_of, in_double, priors_of, sums
from mercer.estimators._door import points, training_gram, weights
from mercer.estimators._machine import Machine, watched, with_callbacks
from mercer.functions import RKHSFunction
from mercer.gram import sum_by_label
from mercer.kernels._views import n_rows, take

INDEPENDENT = 1e-10  # eigenvalues of the means' Gram matrix below this share of the largest are rounding


class KernelNearestMean(ClassifierMixin, Machine):
    """The class whose mean is nearest in feature space: argmin over c of ||phi(x) - m_c||, m_c the mean of class c.

    For two classes with means p and q this is the sign of h(x) = <phi(x), p> - <phi(x), q> + b with
    b = (||q||^2 - ||p||^2) / 2: a hyperplane of the RKHS. With priors p_c the classes are taken as Gaussian clouds
    about their means, of one variance s^2 in all directions in which the means differ, and s^2 log p_c joins the score
    of class c.
    Cost: n^2 kernel values to fit, m n for m predictions, none of them stored.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed"
        A kernel, its scikit-learn name ("rbf", "linear", "poly", "laplacian", "chi2", "cosine"), or a function of two
        rows.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, and of functions, as in scikit-learn's KernelRidge.
    priors : {"uniform", "empirical"} or array
        Of the classes; "uniform" is the nearest mean itself.
    shrinkage : float or "auto"
        Each mean is drawn towards the overall mean m by this share: (1 - s) m_c + s m, with 0 <= s < 1. "auto" is
        s_c = v_c / (v_c + ||m_c - m||^2), with v_c the variance of m_c as an estimate.
    memory : float or str, optional
        Budget, such as ``"2 GB"``: short for ``engine=Engine(memory=...)``.
    engine : Engine, optional
        Threads, memory. Sums are in double precision.

    Attributes
    ----------
    classes_ : array
        The classes in order.
    centers_ : tuple of RKHSFunction
        The means, each a function of the RKHS; None for "precomputed".
    function_ : RKHSFunction
        p - q, so that h = ``function_`` + ``intercept_``; None for more than two classes and for "precomputed".
    intercept_ : float or array
        b; for more than two classes that of the score <phi(x), m_c> + b_c of each.
    priors_ : array
        p.
    variance_ : float
        s^2, the variance within classes, averaged over the directions in which the means differ.
    X_fit_ : as X
        The training points.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from mercer import KernelNearestMean
    >>> X, y = make_circles(200, factor=0.3, noise=0.1, random_state=0)
    >>> model = KernelNearestMean(gamma=2.0).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> f = model.function_
    >>> bool(abs(f([[0.1, 0.2]])[0] + model.intercept_ - model.decision_function([[0.1, 0.2]])[0]) < 1e-12)
    True
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        priors: Any = "uniform",
        shrinkage: Any = 0.0,
        memory: Any = None,
        engine: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.priors = priors
        self.shrinkage = shrinkage
        self.memory = memory
        self.engine = engine

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Compute the means and what their scores need; returns self.

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
            K = training_gram(self, X, in_double(self), w)
            w = np.ones(n_rows(X)) if w is None else w
            sizes = np.bincount(codes, w)
            self.priors_ = priors_of(self, sizes)
            values = sum_by_label(K, codes, len(sizes), w) / sizes  # <phi(x_i), m_c>
            inner = np.stack([np.bincount(codes, w * v) / sizes for v in values.T])
            inner = (inner + inner.T) / 2  # <m_b, m_c>
            self._mix = self._shrunk(inner, K.diag(), codes, w)
            inner = self._mix @ inner @ self._mix.T
            self.variance_ = _variance(inner, values @ self._mix.T, codes, w)
            self._offsets = self.variance_ * np.log(self.priors_) - np.diagonal(inner) / 2
            binary = len(sizes) == 2
            self.intercept_ = float(self._offsets[1] - self._offsets[0]) if binary else self._offsets
            self._kernel, self._codes, self._weights, self.X_fit_ = K.kernel, codes, w / sizes[codes], X
            self.centers_ = None if self._kernel is None else self._functions(self._mix)
            here = binary and self._kernel is not None
            self.function_ = self._functions((self._mix[1] - self._mix[0])[None])[0] if here else None
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return h(x) for two classes, of shape (m,), or the score of each class, (m, C). Cost: m n kernel values."""
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the nearest mean for each point."""
        check_is_fitted(self)
        return self.classes_[self._scores(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, (m, C), were the classes Gaussian clouds of variance s^2."""
        scores = self._scores(X)
        least = float(np.finfo(np.float64).tiny) / np.finfo(np.float64).eps
        with np.errstate(over="ignore"):
            return np.asarray(softmax(np.clip(_below_best(scores) / max(self.variance_, least), -1e4, 0.0), axis=1))

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = points(self, X, reset=False)
        values = sums(self, X, self.X_fit_, self._kernel, self._codes, self._weights)
        return np.asarray(values @ self._mix.T + self._offsets)

    # ------------------------------------------------------------ the means

    def _shrunk(self, inner: np.ndarray, diagonal: np.ndarray, codes: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return T, where sum_b T[c, b] m_b is the mean of class c drawn towards the overall mean."""
        sizes = np.bincount(codes, w)
        overall, asked = np.tile(sizes / sizes.sum(), (len(sizes), 1)), self.shrinkage
        if isinstance(asked, str) and asked == "auto":
            within = float(w @ diagonal - sizes @ np.diagonal(inner))
            spread = max(within, 0.0) / max(sizes.sum() - len(sizes), 1.0)  # of one point about its mean
            away = np.eye(len(sizes)) - overall
            apart = np.maximum(np.diagonal(away @ inner @ away.T), 0.0)
            both = spread / sizes + apart
            s = np.where(both > 0, spread / sizes / np.where(both > 0, both, 1.0), 0.0)[:, None]
        elif is_number(asked) and 0 <= asked < 1:
            s = np.full((len(sizes), 1), float(asked))
        else:
            refuse(type(self).__name__, "'shrinkage' must be a number from 0 to below 1, or 'auto'", describe(asked))
        return (1 - s) * np.eye(len(sizes)) + s * overall

    def _functions(self, mixes: np.ndarray) -> tuple[RKHSFunction, ...]:
        """Return combinations of the class means as functions, each on the points that it needs."""
        assert self._kernel is not None
        found = []
        for mix in mixes:
            a = mix[self._codes] * self._weights
            rows = np.flatnonzero(a)
            rows = rows if len(rows) else np.array([0])
            found.append(RKHSFunction(self._kernel, take(self.X_fit_, rows), a[rows]))
        return tuple(found)


def _variance(inner: np.ndarray, values: np.ndarray, codes: np.ndarray, w: np.ndarray) -> float:
    """Return the variance within classes, averaged over the directions in which the means differ.

    With H the centring matrix and H G H = U L U', G the Gram matrix of the means, the coordinates of phi(x) along these
    directions are L^-1/2 U' times its inner products with the means.
    """
    count = len(inner)
    H = np.eye(count) - 1.0 / count
    lengths, U = np.linalg.eigh(H @ inner @ H)
    kept = lengths > INDEPENDENT * max(lengths[-1], np.abs(np.diagonal(inner)).max() * INDEPENDENT)
    if not kept.any():
        return 0.0
    z = values @ H @ U[:, kept] / np.sqrt(lengths[kept])
    sizes = np.bincount(codes, w)
    means = np.stack([np.bincount(codes, w * v) / sizes for v in z.T], axis=1)
    return float(w @ ((z - means[codes]) ** 2).sum(axis=1) / (sizes.sum() * kept.sum()))


def _below_best(scores: np.ndarray) -> np.ndarray:
    return scores - scores.max(axis=1, keepdims=True)
