"""Classification by kernel ridge regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from mercer.estimators._door import class_weights, points, weights
from mercer.estimators._labels import decided, labels_that_count, one_against_rest
from mercer.estimators._learning import outputs
from mercer.estimators._machine import Machine, watched, with_callbacks
from mercer.estimators._ridge_fit import fit_ridge, warn_of_ridge
from mercer.estimators._ridge_uncertainty import LeaveOneOutMixin
from mercer.solvers import LeaveOneOut, Problem


class KernelRidgeClassifier(LeaveOneOutMixin, ClassifierMixin, Machine):
    """Classification by kernel ridge regression, certified: the class whose regression on 1 and -1 is largest.

    Each class c is a target, y = 1 on its rows and -1 elsewhere (two classes share one), and all are fitted at once as
    by `KernelRidge`: min sum_i w_i (y_i - f(x_i) - b)^2 / 2 + (alpha / 2) ||f||^2. As scikit-learn's RidgeClassifier
    is to its Ridge, with the bound on predictions, and the tuning, of `KernelRidge`. Cost: as there, once for all
    classes.

    Parameters
    ----------
    alpha : float, array of shape (t,) or "loo"
        The penalty; "loo": the one of ``alphas`` with the least leave-one-out error of the regressions, found exactly.
    alphas : list of floats, optional
        What "loo" chooses from; None: half decades about the mean of k(x, x).
    kernel : Kernel, str, callable or "precomputed"
        A kernel; its scikit-learn name: "rbf", "linear", "poly", "laplacian", "chi2", "cosine"; or a function of two
        rows.
    scale : "loo", optional
        Whether the kernel's length scale is found by leave-one-out too.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, or as a function, as in scikit-learn.
    class_weight : dict or "balanced", optional
        Factors of the weights of each class.
    n_centers : int, optional
        How many centres f is made of; None is all rows, or 4,000 of more than 60,000 (`mercer.solvers.Auto`).
    centers : {"uniform", "k-means++", "rpcholesky"} or points
        How they are chosen (`mercer.functions.choose_centers`), or the centres themselves.
    intercept : {"free", "none"}
        Whether there is a b, free of penalty.
    solver, tol, certify, deadline, memory, engine, verbose, random_state
        As for `KernelRidge`.

    Attributes
    ----------
    classes_ : array
        The labels, in order.
    dual_coef_ : array of shape (n,) or (n, classes)
        c.
    intercept_ : float or array
        b.
    alpha_, scale_ : float
        The penalty and the length scale of the fit.
    cv_results_ : dict of arrays
        What tuning tried, with the leave-one-out accuracy.
    loo_residuals_, noise_, log_marginal_likelihood_
        What leave-one-out says of the regressions; computed when first asked for.
    X_fit_, function_, certificate_, solution_, solver_, centers_
        As for `KernelRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> model = KernelRidgeClassifier(alpha="loo", gamma=2.0).fit(X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other"))
    >>> model.predict([[0.5, 0.5], [0.5, -0.5]]).tolist(), bool(model.cv_results_["loo_accuracy"].max() > 0.9)
    (['same', 'other'], True)
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        alphas: Any = None,
        kernel: Any = "rbf",
        scale: Any = None,
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        class_weight: Any = None,
        n_centers: int | None = None,
        centers: Any = "uniform",
        intercept: str = "free",
        solver: str = "auto",
        tol: float | None = None,
        certify: str = "auto",
        deadline: float | None = None,
        memory: Any = None,
        engine: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.alphas = alphas
        self.kernel = kernel
        self.scale = scale
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.class_weight = class_weight
        self.n_centers = n_centers
        self.centers = centers
        self.intercept = intercept
        self.solver = solver
        self.tol = tol
        self.certify = certify
        self.deadline = deadline
        self.memory = memory
        self.engine = engine
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit f and b of each class; returns self.

        Parameters
        ----------
        X : array, DataFrame, CSR matrix, or a list of the objects the kernel takes
            Training points, (n, d); the Gram matrix (n, n) for "precomputed".
        y : array of shape (n,)
            Labels, of any kind; at least two classes.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row repeated, a weight of 0 a row absent.
        """
        X = points(self, X, reset=True)
        counts = weights(self, X, sample_weight)
        self.classes_, codes = labels_that_count(self, X, y, counts)
        w = class_weights(self, self.classes_, codes, counts)
        Y = one_against_rest(codes, len(self.classes_))
        counts = np.ones(len(codes)) if counts is None else counts
        with watched(self, X, y, counts) as watch:
            stopped = fit_ridge(self, X, Y, w, watch, counts=counts, shared=True, score=("loo_accuracy", _accuracy))
        warn_of_ridge(self, stopped)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(X) + b: (m,) for two classes, positive for the second, else (m, classes)."""
        return outputs(self, X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row of X. Cost: m n kernel values, never stored."""
        t = self.decision_function(X)
        return np.asarray(self.classes_[decided(t)])


def _accuracy(path: LeaveOneOut, problem: Problem) -> np.ndarray:
    """Return the weighted share of rows that fits without them put into the right class, for each penalty."""
    w, Y = problem.weights, problem.targets
    right = decided(Y if Y.shape[1] > 1 else Y[:, 0])
    there = np.flatnonzero(w > 0)
    found = (Y - path.residuals)[:, there]
    wins = [decided(t if t.shape[1] > 1 else t[:, 0]) == right[there] for t in found]
    return np.average(np.array(wins, dtype=np.float64), axis=1, weights=w[there])
