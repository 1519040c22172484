"""Kernel regression of counts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from mercer.estimators._door import points, targets, weights
from mercer.estimators._learning import learn, outputs, warn_if_far
from mercer.estimators._losses import penalty_of
from mercer.estimators._machine import Machine, watched, with_callbacks
from mercer.losses import Poisson


class KernelPoissonRegressor(RegressorMixin, Machine):
    """Kernel regression of counts, certified: min of sum_i w_i (exp(t_i) - y_i t_i) + (alpha / 2) ||f||^2, t = f + b.

    exp(f(x) + b) is the mean of a Poisson variable; the objective is its negative log-likelihood, half the deviance.
    A `KernelMachine` with that loss, by Newton steps.

    Parameters
    ----------
    alpha : float
        The penalty, lam; > 0.
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
    >>> from mercer import KernelPoissonRegressor
    >>> X = np.linspace(0, 1, 30).reshape(-1, 1)
    >>> y = np.round(np.exp(2 * X[:, 0]))
    >>> KernelPoissonRegressor(0.1, gamma=1.0).fit(X, y).predict([[0.5]]).round(1)
    array([2.7])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        intercept: str = "free",
        n_centers: int | None = None,
        centers: Any = "uniform",
        solver: Any = "auto",
        tol: float | None = None,
        deadline: float | None = None,
        memory: Any = None,
        engine: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.intercept = intercept
        self.n_centers = n_centers
        self.centers = centers
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
            Targets.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row repeated, a weight of 0 a row absent.
        """
        penalty = penalty_of(self, "alpha")
        X = points(self, X, reset=True)
        y = targets(self, X, y, several=False)
        w = weights(self, X, sample_weight)
        with watched(self, X, y, w) as watch:
            found = learn(self, X, y, w, Poisson(), penalty, watch)
        warn_if_far(self, found)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean, exp(f(X) + b). Cost: m n kernel values, never stored."""
        return np.exp(outputs(self, X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
