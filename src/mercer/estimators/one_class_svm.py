"""The support vector machine of one class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from mercer.estimators._machine import with_callbacks
from mercer.estimators._values import SingleMachine
from mercer.gram import Gram
from mercer.kernels._views import n_rows
from mercer.solvers.dual import Form, one_class

EDGE = 1e-8  # of rho: support vectors on the surface f = rho are off it by rounding


class OneClassSVM(OutlierMixin, SingleMachine):
    """The one-class support vector machine, certified: where most of the data is.

    min over f, rho of ||f||^2 / 2 - nu W rho + sum_i w_i max(0, rho - f(x_i)), W = sum_i w_i: at most a share nu of the
    rows have f < rho, at least a share nu are support vectors. It takes the place of scikit-learn's class of that
    name, and the kernel can be any Mercer kernel.
    Cost: about n kernel values for each support vector, and once more for the certificate, when it is asked for.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed"
        A kernel; its scikit-learn name: "rbf", "linear", "poly", "laplacian", "chi2", "cosine"; or a function of two
        blocks of rows. "sigmoid" is refused: it is not a kernel.
    degree, gamma, coef0
        Parameters of kernels given by name, as in scikit-learn; others hold theirs themselves.
    nu : float
        The share, above 0 and at most 1.
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
    offset_ : float
        rho: decisions are f - rho.
    margin_ : float
        rho / ||f||: the distance of f = rho from the origin, in feature space.
    support_ : array of shape (s,)
        The rows with a coefficient.
    support_vectors_ : as X
        Those rows; empty for "precomputed".
    n_support_ : array of shape (1,)
        How many there are.
    dual_coef_ : array of shape (1, s)
        Their coefficients.
    intercept_ : array of shape (1,)
        -rho.
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
    >>> from mercer import OneClassSVM
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> model = OneClassSVM(nu=0.1, gamma=0.5).fit(X)
    >>> model.predict([[0.0, 0.0], [4.0, 4.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float | None = None,
        verbose: bool = False,
        max_iter: int = -1,
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
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.gap = gap
        self.warm_start = warm_start
        self.deadline = deadline
        self.memory = memory
        self.engine = engine

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit f and rho; returns self.

        Parameters
        ----------
        X : array, DataFrame, CSR matrix, or a list of the objects the kernel takes
            Training points, (n, d); the Gram matrix (n, n) for "precomputed".
        y : ignored
            For pipelines.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row repeated, a weight of 0 a row absent.
        """
        return self._fit(X, None, sample_weight)

    @property
    def offset_(self) -> float:
        """The level rho that decisions are measured from."""
        check_is_fitted(self)
        return -float(self._offsets[0])

    @property
    def margin_(self) -> float:
        """The distance of f = rho from the origin in feature space, rho / ||f||."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.divide(self.offset_, self._norms[0]))

    def score_samples(self, X: Any) -> np.ndarray:
        """Return f(X), without the offset, (m,)."""
        return self._decisions(X)[:, 0] + self.offset_

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(X) - rho, (m,): below 0 for outliers."""
        return self._decisions(X)[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 for inliers, those on the surface included, and -1 for outliers."""
        return np.where(self.decision_function(X) >= -EDGE * abs(self.offset_), 1, -1)

    def _targets(self, X: Any, y: Any) -> np.ndarray:
        return np.zeros(n_rows(X))

    def _form(self, K: Gram, rows: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Form:
        return one_class(K, rows, weight, self._share())
