"""Kernel logistic regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin

from mercer._checks import positive
from mercer.estimators._door import class_weights, points, weights
from mercer.estimators._labels import decided, labels_that_count, one_against_rest, one_hot
from mercer.estimators._learning import learn, outputs, warn_if_far
from mercer.estimators._machine import Machine, watched, with_callbacks
from mercer.losses import Logistic, Multinomial
from mercer.solvers import HalfSquare


class KernelLogisticRegression(ClassifierMixin, Machine):
    """Kernel logistic regression, certified: min of C sum_i w_i log(1 + exp(-y_i (f(x_i) + b))) + ||f||^2 / 2.

    f + b are the log-odds, so probabilities come with it. With more than two classes there is an f and b for each, and
    probabilities are their softmax: the multinomial model, fitted as a whole. A `KernelMachine` with the logistic loss,
    by Newton steps. Cost: some five to ten of n^3 / 3 flops, or above 1,200 rows of ten products with K.

    Parameters
    ----------
    C : float
        What errors cost next to the norm; > 0.
    kernel : Kernel, str, callable or "precomputed"
        A kernel; its scikit-learn name: "rbf", "linear", "poly", "laplacian", "chi2", "cosine"; or a function of two
        rows.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, or as a function, as in scikit-learn.
    intercept : {"free", "none"}
        Whether there is a b, free of penalty.
    n_centers : int, optional
        How many centres f is made of, for large n; None for all training points, which loses nothing.
    centers : {"uniform", "k-means++", "rpcholesky"} or points
        How they are chosen (`mercer.functions.choose_centers`), or the centres themselves (for "precomputed", positions
        of rows).
    class_weight : dict or "balanced", optional
        Factors for the weights of the rows of each class.
    solver : "auto" or a solver record
        "auto": `mercer.solvers.Auto`; which it chose, and why, stands in ``solution_.stats``.
    tol : float, optional
        Largest duality gap relative to the objective; None leaves it to the solver.
    deadline : float, optional
        Seconds after which the best model so far is kept, with its certificate and one warning.
    memory : float or str, optional
        Budget, such as ``"2 GB"``: short for ``engine=Engine(memory=...)``.
    engine : Engine, optional
        Threads, memory, precision, cluster.
    verbose : bool
        Whether progress is shown on standard error.
    random_state : int, Generator or None
        For centres and preconditioners.

    Attributes
    ----------
    classes_ : array
        The labels in order.
    dual_coef_ : array of shape (n,) or (n, t)
        c: those of f on the training points, or on its centres.
    intercept_ : float or array of shape (t,)
        b.
    X_fit_ : as X
        The training points, or the centres.
    centers_ : Centers or None
        The centres f is made of; None for all training points.
    function_ : RKHSFunction
        f; None for "precomputed".
    certificate_ : Certificate
        What was proved.
    solution_ : Solution
        All of it.
    solver_ : str
        The solver that was used.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLogisticRegression
    >>> X = np.linspace(-1, 1, 40).reshape(-1, 1)
    >>> model = KernelLogisticRegression(C=1.0, gamma=1.0).fit(X, X[:, 0] ** 2 > 0.3)
    >>> model.predict_proba([[0.0], [0.9]]).round(1)
    array([[0.8, 0.2],
           [0.3, 0.7]])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        intercept: str = "free",
        n_centers: int | None = None,
        centers: Any = "uniform",
        class_weight: Any = None,
        solver: Any = "auto",
        tol: float | None = None,
        deadline: float | None = None,
        memory: Any = None,
        engine: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.intercept = intercept
        self.n_centers = n_centers
        self.centers = centers
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.deadline = deadline
        self.memory = memory
        self.engine = engine
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit f and b; returns self.

        Parameters
        ----------
        X : array, DataFrame, CSR matrix, or a list of the objects the kernel takes
            Training points, (n, d); the Gram matrix (n, n) for "precomputed".
        y : array of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row repeated, a weight of 0 a row absent.
        """
        penalty = HalfSquare(1.0 / positive(type(self).__name__, "C", self.C))
        X = points(self, X, reset=True)
        w = weights(self, X, sample_weight)
        self.classes_, codes = labels_that_count(self, X, y, w)
        w = class_weights(self, self.classes_, codes, w)
        with watched(self, X, y, w) as watch:
            if len(self.classes_) > 2:
                found = learn(self, X, one_hot(codes, len(self.classes_)), w, Multinomial(), penalty, watch)
            else:
                found = learn(self, X, one_against_rest(codes, len(self.classes_)), w, Logistic(), penalty, watch)
        warn_if_far(self, found)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log-odds f(X) + b: (m,), or with more than two classes one column a class."""
        return outputs(self, X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest labels. Cost: m n kernel values, never stored."""
        t = outputs(self, X)
        return np.asarray(self.classes_[decided(t)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, (m, classes)."""
        t = outputs(self, X)
        if t.ndim == 1:
            return np.column_stack([expit(-t), expit(t)])
        return np.asarray(softmax(t, axis=1))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
