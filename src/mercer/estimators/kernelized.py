"""From an algorithm written with inner products to one in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._checks import describe, refuse
from mercer.estimators._door import engine_of, points, training_gram, values
from mercer.estimators._machine import Machine
from mercer.functions import RKHSFunction
from mercer.solvers._span import fresh

WHO = "kernelize"


def kernelize(algorithm: Callable[..., Any], kernel: Any = "rbf", **options: Any) -> Kernelized:
    """Return the kernel form of an algorithm that is written with inner products of the training points alone.

    The algorithm is a function ``algorithm(G)`` or ``algorithm(G, y)`` of the Gram matrix G[i, j] = <x_i, x_j> (and
    targets). It returns coefficients a, (n,) or (n, t), or a pair (a, b): what it has learned is the functions

        f_j(x) = sum_i a_ij <x_i, x> + b_j.

    Since it sees nothing but G, putting k(x_i, x_j) in its place is the same algorithm in feature space.

    Parameters
    ----------
    algorithm : callable
        As above.
    kernel : Kernel, str or "precomputed"
        Which feature space; "linear" gives the algorithm as it was.
    options
        Further parameters of `Kernelized`, such as ``gamma``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import kernelize
    >>> def nearest_mean(G, y):
    ...     a = (y == 1) / (y == 1).sum() - (y == 0) / (y == 0).sum()  # the difference of the means
    ...     norms = [G[np.ix_(y == c, y == c)].mean() for c in (0, 1)]
    ...     return a, (norms[0] - norms[1]) / 2
    >>> X = np.linspace(-1, 1, 21).reshape(-1, 1)
    >>> y = (np.abs(X[:, 0]) > 0.5).astype(int)
    >>> [bool(((kernelize(nearest_mean, k).fit(X, y).outputs(X) > 0) == y).all()) for k in ("linear", "rbf")]
    [False, True]
    """
    return Kernelized(algorithm, kernel=kernel, **options)


class Kernelized(Machine):
    """An algorithm in feature space, as `kernelize` makes it: its functions f_j = sum_i a_ij k(x_i, .) + b_j.

    Cost: the Gram matrix, n^2 numbers, and what the algorithm does with it.

    Parameters
    ----------
    algorithm : callable
        ``algorithm(G)`` or ``algorithm(G, y)`` for a Gram matrix G; returns a or (a, b).
    kernel : Kernel, str, callable or "precomputed"
        A kernel; its scikit-learn name: "rbf", "linear", "poly", "laplacian", "chi2", "cosine"; or a function of two
        rows.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, or as a function, as in scikit-learn.
    memory : float or str, optional
        Budget, such as ``"2 GB"``: short for ``engine=Engine(memory=...)``.
    engine : Engine, optional
        Threads, memory, precision, cluster.

    Attributes
    ----------
    function_ : RKHSFunction
        The f_j, without the b_j; None for "precomputed".
    coefficients_ : array of shape (n,) or (n, t)
        a.
    intercept_ : float or array of shape (t,)
        b.
    X_fit_ : as X
        The training points.
    """

    def __init__(
        self,
        algorithm: Any,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        memory: Any = None,
        engine: Any = None,
    ) -> None:
        self.algorithm = algorithm
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.memory = memory
        self.engine = engine

    def fit(self, X: Any, y: Any = None) -> Self:
        """Run the algorithm on the Gram matrix of X; returns self.

        Parameters
        ----------
        X : array, DataFrame, CSR matrix, or a list of the objects the kernel takes
            Training points, (n, d); the Gram matrix (n, n) for "precomputed".
        y : array of length n, optional
            What the algorithm takes beside the Gram matrix.
        """
        if not callable(self.algorithm):
            refuse(WHO, "'algorithm' must be a function of a Gram matrix", describe(self.algorithm))
        X = points(self, X, reset=True)
        K = training_gram(self, X, engine_of(self))
        G = np.asarray(fresh(K).block(), dtype=np.float64)
        found = self.algorithm(G) if y is None else self.algorithm(G, np.asarray(y))
        a, b = found if isinstance(found, tuple) else (found, 0.0)
        a, n = np.asarray(a, dtype=np.float64), K.shape[0]
        if a.ndim not in (1, 2) or len(a) != n or not np.isfinite(a).all():
            refuse(WHO, f"the algorithm must return {n} finite coefficients, or as many rows of them", describe(a))
        b = np.asarray(b, dtype=np.float64)
        if b.ndim and b.shape != a.shape[1:]:
            refuse(WHO, f"the algorithm must return one b, or {a.shape[1:]} of them", f"shape {b.shape}")
        self.coefficients_, self.intercept_ = a, float(b) if b.ndim == 0 else b
        self.function_ = None if K.kernel is None else RKHSFunction(K.kernel, K.points, a)
        self.X_fit_ = X
        return self

    def outputs(self, X: Any) -> np.ndarray:
        """Return f(X) + b, of shape (m,) or (m, t). Cost: m n kernel values, never stored."""
        check_is_fitted(self)
        X = points(self, X, reset=False)
        f = X @ self.coefficients_ if self.function_ is None else values(self, self.function_, X)
        return np.asarray(f) + self.intercept_
