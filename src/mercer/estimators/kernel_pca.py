"""Kernel principal component analysis."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer._checks import integer, refuse
from mercer.estimators._door import deadline_of, engine_of, one_of, points, tol_of, training_gram, values, weights
from mercer.estimators._machine import Machine, watched, with_callbacks
from mercer.estimators._pre_images import pre_images
from mercer.functions import RKHSFunction
from mercer.solvers import Status, principal
from mercer.solvers.watch import Clock

_DEFAULT_TOL = 1e-8


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Machine):
    """Kernel principal components, certified: the orthonormal functions v_1, v_2, ... along which k(., x) varies most.

    The centred Gram matrix is all that is needed. Components are functions of the RKHS; the coordinate of a point is
    <k(., x) - m, v_j> = v_j(x) - <m, v_j>, with m the mean of the sections. Residuals, recomputed in double precision,
    bound how far each eigenvalue is from an exact one. Cost: n^2 kernel values and 4 n^3 flops, or, randomised, some
    ten products of K with n_components + 10 columns.

    Parameters
    ----------
    n_components : int, optional
        How many; None for all whose eigenvalue is not 0 up to rounding.
    kernel : Kernel, str, callable or "precomputed"
        A kernel; its scikit-learn name: "rbf", "linear", "poly", "laplacian", "chi2", "cosine"; or a function of two
        rows.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, or as a function, as in scikit-learn.
    eigen_solver : {"auto", "dense", "randomized"}
        "auto" is dense up to 1,500 rows, and where a quarter of all components is asked for.
    tol : float, optional
        Largest residual of the randomised solver, relative to the largest eigenvalue; None is 1e-8.
    deadline : float, optional
        Seconds after which the best components so far are kept, with one warning.
    memory : float or str, optional
        Budget, such as ``"2 GB"``: short for ``engine=Engine(memory=...)``.
    engine : Engine, optional
        Threads, memory, precision, cluster.
    verbose : bool
        Whether progress is shown on standard error.
    random_state : int, Generator or None
        Where the randomised solver begins.

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components,)
        Of the centred Gram matrix, falling.
    explained_variance_ratio_ : array of shape (n_components,)
        Their shares of the sum of all eigenvalues.
    function_ : RKHSFunction
        The components, one an output; None for "precomputed".
    certificate_ : Components
        Residuals, and how large an eigenvalue not found can be.
    X_fit_ : as X
        The training points.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> pca = KernelPCA(2, gamma=0.1).fit(X)
    >>> pca.transform(X[:4]).shape, bool((pca.certificate_.residual < 1e-12).all())
    ((4, 2), True)
    >>> bool(np.abs(pca.inverse_transform(pca.transform(X)) - X).mean() < 0.8)
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        eigen_solver: str = "auto",
        tol: float | None = None,
        deadline: float | None = None,
        memory: Any = None,
        engine: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.deadline = deadline
        self.memory = memory
        self.engine = engine
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components; returns self.

        Parameters
        ----------
        X : array, DataFrame, CSR matrix, or a list of the objects the kernel takes
            Training points, (n, d); the Gram matrix (n, n) for "precomputed".
        y : None
            Ignored.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row repeated, a weight of 0 a row absent.
        """
        who = type(self).__name__
        k = None if self.n_components is None else integer(who, "n_components", self.n_components, 1)
        solver = one_of(self, "eigen_solver", {name: name for name in ("auto", "dense", "randomized")})
        tol = _DEFAULT_TOL if tol_of(self) is None else tol_of(self)
        X = points(self, X, reset=True)
        w = weights(self, X, sample_weight)
        with watched(self, X, None, w) as watch:
            K = training_gram(self, X, engine_of(self), w)
            if k is not None and k > K.shape[0]:
                k = K.shape[0]
            found = principal(
                K, k, w, solver=solver, tol=tol or _DEFAULT_TOL, random_state=self.random_state,
                clock=Clock(who, deadline_of(self), watch),
            )  # fmt: skip  # the problem, then how to solve it
            self.certificate_ = found
            self.eigenvalues_ = found.values
            self.explained_variance_ratio_ = found.values / max(found.total, np.finfo(float).tiny)
            self.function_ = None if K.kernel is None else RKHSFunction(K.kernel, K.points, found.coefficients)
            self.X_fit_ = X
            self._w = w
            self._n_features_out = len(found.values)
        if found.status is not Status.CONVERGED:
            worst = found.residual.max(initial=0.0)
            text = f"{who} did not reach tol={tol:g}: residual {worst:.1e}, {found.status.value}. Raise deadline."
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of points along the components, (m, n_components). Cost: m n kernel values."""
        check_is_fitted(self)
        X = points(self, X, reset=False)
        if self.function_ is None:
            return np.asarray(X @ self.certificate_.coefficients) - self.certificate_.offset
        return values(self, self.function_, X) - self.certificate_.offset

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """Return points of input space whose sections lie near m + sum_j z_j v_j: pre-images, (m, d).

        Exact ones need not exist. Each is the best point found by steps down the distance in feature space, from the
        nearest of the training points and their mean; dense tables only. Cost: some twenty times m n kernel values.
        """
        check_is_fitted(self)
        who, Z = type(self).__name__, np.asarray(Z, dtype=np.float64)
        if self.function_ is None or not isinstance(self.X_fit_, np.ndarray):
            refuse(who, "pre-images need training points that are a dense table", type(self.X_fit_).__name__)
        if Z.ndim != 2 or Z.shape[1] != len(self.eigenvalues_):
            refuse(who, f"Z must have {len(self.eigenvalues_)} columns, one a component", f"shape {Z.shape}")
        w = np.ones(len(self.X_fit_)) if self._w is None else self._w
        a = w / w.sum() + Z @ self.certificate_.coefficients.T  # of the function asked for, on the training points
        return pre_images(self.function_.kernel, self.X_fit_, a, engine_of(self))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
