"""Kernel ridge regression."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import RegressorMixin

from mercer.estimators._door import points, targets, weights
from mercer.estimators._learning import outputs
from mercer.estimators._machine import Machine, watched, with_callbacks
from mercer.estimators._ridge_fit import fit_ridge, warn_of_ridge
from mercer.estimators._ridge_uncertainty import LeaveOneOutMixin


class KernelRidge(LeaveOneOutMixin, RegressorMixin, Machine):
    """Kernel ridge regression, certified: min over f, b of sum_i w_i (y_i - f(x_i) - b)^2 / 2 + (alpha / 2) ||f||^2.

    The answer is f = sum_j c_j k(., x_j) with (K + alpha W^-1) c + b = y. Every fit ends with a certificate recomputed
    from the data in double precision: a duality gap, and from it a bound on the error of every prediction.
    Cost: n^2 kernel values; n^3 / 3 flops up to 8,000 rows, some tens of products with K up to 60,000. Beyond, or with
    ``n_centers``, f is a combination of m sections only: some twenty passes over n m kernel values, m^3 flops.

    Parameters
    ----------
    alpha : float, array of shape (t,) or "loo"
        The penalty; one number, or one for each target. 0 is kernel least squares: the minimum-norm solution.
        "loo": for each target the one of ``alphas`` with the least leave-one-out error, found exactly (above 8,000
        rows without ``n_centers``: of the fit on 1,000 centres to at most 50,000 rows).
    alphas : list of floats, optional
        What "loo" chooses from; None: half decades about the mean of k(x, x), from 1e-7 to about n times it.
    kernel : Kernel, str, callable or "precomputed"
        A kernel; its scikit-learn name: "rbf", "linear", "poly", "laplacian", "chi2", "cosine"; or a function of two
        rows.
    scale : "loo", optional
        Whether the kernel's length scale (or all of them, times one factor) is found by leave-one-out too: its octave
        on at most 1,000 rows, then by golden section.
    gamma, degree, coef0
        Parameters of kernels given by name, as in scikit-learn.
    kernel_params : dict, optional
        Keyword arguments of a kernel given as a function.
    n_centers : int, optional
        How many centres f is made of; None is all rows, or 4,000 of more than 60,000 (`mercer.solvers.Auto`).
    centers : {"uniform", "k-means++", "rpcholesky"} or points
        How they are chosen (`mercer.functions.choose_centers`), or the centres themselves (for "precomputed", positions
        of rows).
    intercept : {"none", "free"}
        Whether there is a b, free of penalty.
    solver : {"auto", "cholesky", "cg", "eigen"}
        "auto": `mercer.solvers.Auto`.
    tol : float, optional
        Largest relative residual; None is 1e-10 for exact solvers, 1e-3 for conjugate gradients, 1e-4 on centres.
    certify : {"auto", "full", "none"}
        Among which functions f is proved near optimal: "full": all; "auto": all while that takes fewer kernel values
        than the fit, else those on the centres; "none": no certificate.
    deadline : float, optional
        Seconds after which the best model so far is kept, with its certificate and one warning.
    memory : float or str, optional
        Budget, such as ``"2 GB"``: short for ``engine=Engine(memory=...)``.
    engine : Engine, optional
        Threads, memory, precision, cluster.
    verbose : bool
        Whether progress is shown on standard error.
    random_state : int, Generator or None
        For centres, and for the preconditioner of conjugate gradients.

    Attributes
    ----------
    dual_coef_ : array of shape (n,) or (n, t), on centres (m,) or (m, t)
        c.
    intercept_ : float or array of shape (t,)
        b.
    X_fit_ : as X
        The points that c belongs to: those of training, or the centres.
    centers_ : Centers or None
        The centres, and which rows they are; None for all rows.
    function_ : RKHSFunction
        f; None for "precomputed".
    certificate_ : Certificate
        What was proved; None if certify="none".
    solution_ : Solution
        All of it.
    solver_ : str
        The solver that was used.
    alpha_, scale_ : float or array
        The penalty, and the length scale of the kernel (None if it has none), of the fit.
    cv_results_ : dict of arrays
        What tuning tried, as scikit-learn's searches tell it; only after tuning.
    loo_residuals_ : array of shape (n,) or (n, t)
        What the fit without row i misses y_i by. Like the next two computed when first asked for, from one reduction
        of K (8/3 n^3 flops).
    noise_ : float or array of shape (t,)
        The variance of y about f that explains them.
    log_marginal_likelihood_ : float or array of shape (t,)
        Of the Gaussian process with covariance (noise / alpha) k and that noise.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 1, 30).reshape(-1, 1)
    >>> model = KernelRidge(alpha=0.01, gamma=5.0).fit(X, np.sin(6 * X[:, 0]))
    >>> model.predict([[0.5]]).round(2), model.certificate_.relative_gap < 1e-9
    (array([0.14]), True)
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
        n_centers: int | None = None,
        centers: Any = "uniform",
        intercept: str = "none",
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
        """Fit f and b; returns self.

        Parameters
        ----------
        X : array, DataFrame, CSR matrix, or a list of the objects the kernel takes
            Training points, (n, d); the Gram matrix (n, n) for "precomputed".
        y : array of shape (n,) or (n, t)
            Targets.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row repeated, a weight of 0 a row absent.
        """
        X = points(self, X, reset=True)
        y = targets(self, X, y)
        w = weights(self, X, sample_weight)
        with watched(self, X, y, w) as watch:
            stopped = fit_ridge(self, X, y, w, watch)
        warn_of_ridge(self, stopped)
        return self

    def predict(self, X: Any, *, return_std: bool = False, interval: float | None = None) -> Any:
        """Return f(X) + b, of shape (m,) or (m, t), in double precision. Cost: m n kernel values, never stored.

        Parameters
        ----------
        X : array, DataFrame, CSR matrix, or a list of the objects the kernel takes
            Points; rows k(x, x_j) for "precomputed".
        return_std : bool
            Whether to return, as a second array, the standard deviation of f + b at X, if f came from a Gaussian
            process with covariance (``noise_`` / alpha) k; that of an observation is sqrt(std^2 + ``noise_``).
        interval : float, optional
            Return also the ends of intervals that hold such a share of new observations, by jackknife+: at least
            2 interval - 1 of them for sure, whatever their distribution.
        """
        f = outputs(self, X)
        if not return_std and interval is None:
            return f
        return self._with_uncertainty(points(self, X, reset=False), f, return_std, interval)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
