"""Support vector regression with a share of errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.estimators._values import SupportRegressor
from mercer.gram import Gram
from mercer.solvers.dual import Form, Trained, nu_values


class NuSVR(SupportRegressor):
    """Support vector regression with a share of errors in place of epsilon, certified.

    min over f, b, epsilon >= 0 of ||f||^2 / 2 + C (nu W epsilon + sum_i w_i max(0, |y_i - f(x_i) - b| - epsilon)),
    W = sum_i w_i: at most a share nu of the rows lie outside the tube, at least a share nu are support vectors. It
    takes the place of scikit-learn's class of that name.
    Cost: about n kernel values for each support vector, and once more for the certificate, when it is asked for.

    Parameters
    ----------
    nu : float
        The share, above 0 and at most 1.
    C : float
        The cost of errors, > 0.
    kernel : Kernel, str, callable or "precomputed"
        A kernel; its scikit-learn name: "rbf", "linear", "poly", "laplacian", "chi2", "cosine"; or a function of two
        blocks of rows. "sigmoid" is refused: it is not a kernel.
    degree, gamma, coef0
        Parameters of kernels given by name, as in scikit-learn; others hold theirs themselves.
    shrinking : bool
        Without effect: working sets grow and shrink by themselves.
    tol : float
        The largest violation of the optimality conditions.
    cache_size : float, optional
        Megabytes of kernel rows that may be kept; None takes what suits the number of rows.
    verbose : bool
        Whether progress is shown on standard error.
    max_iter : int
        Most inner steps; -1 for no limit to speak of.
    gap : float, optional
        A relative gap to be certified besides ``tol``.
    warm_start : bool
        Whether a fit on as many rows begins where the last one ended.
    deadline : float, optional
        Seconds after which the best model so far is kept, with its certificate and one warning.
    memory : float or str, optional
        Budget, such as ``"2 GB"``: short for ``engine=Engine(memory=...)``.
    engine : Engine, optional
        Threads, memory, precision.

    Attributes
    ----------
    epsilon_ : float
        The half width of the tube that was found.
    support_ : array of shape (s,)
        The rows with a coefficient.
    support_vectors_ : as X
        Those rows; empty for "precomputed".
    n_support_ : array of shape (1,)
        How many there are.
    dual_coef_ : array of shape (1, s)
        Their coefficients.
    intercept_ : array of shape (1,)
        b: from the free support vectors, or the middle of what is possible where none is free.
    coef_ : array of shape (1, d)
        The weights, for a linear kernel.
    function_, functions_ : RKHSFunction, and a tuple of it
        f; None for "precomputed".
    n_iter_ : int
        Inner steps.
    certificate_ : Certificate
        What is proved; computed when first asked for, the training data kept until then.
    violation_ : float
        The largest violation of the optimality conditions that is left.
    fit_status_ : int
        0 if the tolerance was reached, else 1.
    shape_fit_ : tuple
        The shape of X.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuSVR
    >>> X = np.linspace(0, 1, 50).reshape(-1, 1)
    >>> y = np.sin(6 * X[:, 0]) + 0.2 * np.where(np.arange(50) % 2, 1.0, -1.0)
    >>> model = NuSVR(nu=0.3, C=10.0, gamma=10.0).fit(X, y)
    >>> bool((np.abs(model.predict(X) - y) > model.epsilon_ + 1e-9).mean() <= 0.3)
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | None = None,
        verbose: bool = False,
        max_iter: int = -1,
        gap: float | None = None,
        warm_start: bool = False,
        deadline: float | None = None,
        memory: Any = None,
        engine: Any = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.gap = gap
        self.warm_start = warm_start
        self.deadline = deadline
        self.memory = memory
        self.engine = engine

    def _form(self, K: Gram, rows: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Form:
        return nu_values(K, rows, y, self._positive_cost() * weight, self._share())

    def _collect(self, X: Any, K: Gram, machine: Trained) -> None:
        super()._collect(X, K, machine)
        rise, fall = machine.found.levels
        self.epsilon_ = max(0.5 * float(fall - rise), 0.0)
