"""Kernel regression of quantiles."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from mercer._checks import describe, is_number, refuse
from mercer.estimators._door import points, targets, weights
from mercer.estimators._learning import learn, outputs, warn_if_far
from mercer.estimators._losses import penalty_of
from mercer.estimators._machine import Machine, watched, with_callbacks
from mercer.losses import Quantile


class KernelQuantileRegressor(RegressorMixin, Machine):
    """Kernel regression of quantiles, certified: min of sum_i w_i pinball(y_i - f(x_i) - b) + (alpha / 2) ||f||^2.

    One f and b for each level; all are found together and share K. Estimated quantiles may cross where data are
    scarce; ``predict`` sorts them at each point, which never raises the sum of their losses. A `KernelMachine` with the
    quantile loss, by its dual, a quadratic problem over a box.

    Parameters
    ----------
    alpha : float
        The penalty, lam; > 0.
    quantiles : sequence of floats
        Levels above 0 and below 1.
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
    >>> from mercer import KernelQuantileRegressor
    >>> X = np.linspace(0, 1, 60).reshape(-1, 1)
    >>> y = X[:, 0] * np.cos(40 * X[:, 0])
    >>> model = KernelQuantileRegressor(0.01, quantiles=[0.1, 0.9], gamma=1.0).fit(X, y)
    >>> np.diff(model.predict([[0.1], [0.9]])).round(1)
    array([[0.2],
           [1.5]])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        quantiles: Any = (0.5,),
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
        self.quantiles = quantiles
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
        levels = self._levels()
        penalty = penalty_of(self, "alpha")
        X = points(self, X, reset=True)
        y = targets(self, X, y, several=False)
        w = weights(self, X, sample_weight)
        Y, loss = (y, Quantile(float(levels[0]))) if len(levels) == 1 else (_columns(y, len(levels)), Quantile(levels))
        with watched(self, X, y, w) as watch:
            found = learn(self, X, Y, w, loss, penalty, watch)
        warn_if_far(self, found)
        return self

    def curves(self, X: Any) -> np.ndarray:
        """Return f(X) + b of each level as fitted, which may cross: (m,) for one level, else (m, levels)."""
        return outputs(self, X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the quantiles, (m,) for one level, else (m, levels) and in order. Cost: m n kernel values."""
        t = outputs(self, X)
        if t.ndim == 1:
            return t
        found = np.empty_like(t)
        found[:, np.argsort(np.asarray(self.quantiles, dtype=np.float64), kind="stable")] = np.sort(t, axis=1)
        return found

    def _levels(self) -> np.ndarray:
        given = [self.quantiles] if is_number(self.quantiles) else list(self.quantiles)
        if not given or not all(is_number(q) and 0 < q < 1 for q in given):
            who = type(self).__name__
            refuse(who, "'quantiles' must be numbers above 0 and below 1", describe(self.quantiles))
        return np.array(given, dtype=np.float64)


def _columns(y: np.ndarray, count: int) -> np.ndarray:
    return np.repeat(y[:, None], count, axis=1)
