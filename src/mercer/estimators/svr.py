"""Support vector regression with costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._checks import number
from mercer.estimators._door import one_of
from mercer.estimators._values import SupportRegressor
from mercer.estimators.svc import INTERCEPTS
from mercer.gram import Gram
from mercer.losses import EpsilonInsensitive, SquaredEpsilonInsensitive
from mercer.solvers.dual import Form, of_loss

_LOSSES = {"epsilon_insensitive": EpsilonInsensitive, "squared_epsilon_insensitive": SquaredEpsilonInsensitive}


class SVR(SupportRegressor):
    """Support vector regression, certified: min over f, b of C sum_i w_i loss(y_i, f(x_i) + b) + ||f||^2 / 2.

    Errors up to epsilon cost nothing. It takes the place of scikit-learn's class of that name: parameters and
    attributes mean the same, and the kernel can be any Mercer kernel. ``certificate_`` is the duality gap, computed
    anew from the data in double precision, and bounds the distance of every prediction to the exact one.
    Cost: about n kernel values for each support vector, and once more for the certificate, when it is asked for.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed"
        A kernel; its scikit-learn name: "rbf", "linear", "poly", "laplacian", "chi2", "cosine"; or a function of two
        blocks of rows. "sigmoid" is refused: it is not a kernel.
    degree, gamma, coef0
        Parameters of kernels given by name, as in scikit-learn; others hold theirs themselves.
    C : float
        The cost of errors, > 0.
    epsilon : float
        Errors up to it are free, >= 0.
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
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
        max(0, |y - t| - epsilon), or its square.
    intercept : {"free", "penalized", "none"}
        Whether there is a b; "penalized" adds b^2 / 2 to the objective.
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
    >>> from mercer import SVR
    >>> X = np.linspace(0, 1, 50).reshape(-1, 1)
    >>> model = SVR(C=10.0, gamma=10.0).fit(X, np.sin(6 * X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(6 * X[:, 0])).max() < 0.101), len(model.support_) < 10
    (True, True)
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float | None = None,
        verbose: bool = False,
        max_iter: int = -1,
        loss: str = "epsilon_insensitive",
        intercept: str = "free",
        gap: float | None = None,
        warm_start: bool = False,
        deadline: float | None = None,
        memory: Any = None,
        engine: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.loss = loss
        self.intercept = intercept
        self.gap = gap
        self.warm_start = warm_start
        self.deadline = deadline
        self.memory = memory
        self.engine = engine

    def _form(self, K: Gram, rows: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Form:
        loss = one_of(self, "loss", _LOSSES)(number(type(self).__name__, "epsilon", self.epsilon, 0.0))
        return of_loss(K, rows, y, loss, self._positive_cost() * weight, one_of(self, "intercept", INTERCEPTS))
