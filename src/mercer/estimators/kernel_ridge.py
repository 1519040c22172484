"""Kernel ridge regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._checks import describe, refuse
from mercer.estimators._door import (
    centers_of,
    deadline_of,
    engine_of,
    one_of,
    points,
    targets,
    tol_of,
    training_gram,
    values,
    weights,
)
from mercer.estimators._machine import Machine, warn_if_short, watched, with_callbacks
from mercer.losses import Squared
from mercer.solvers import Auto, Cholesky, ConjugateGradients, Eigen, HalfSquare, Problem, Solution, solve

_DEFAULT_TOL = 1e-10


class KernelRidge(RegressorMixin, Machine):
    """Kernel ridge regression, certified: min over f, b of sum_i w_i (y_i - f(x_i) - b)^2 / 2 + (alpha / 2) ||f||^2.

    The answer is f = sum_j c_j k(., x_j) with (K + alpha W^-1) c + b = y. Every fit ends with a certificate recomputed
    from the data in double precision: a duality gap, and from it a bound on the error of every prediction.
    Cost: n^2 kernel values; n^3 / 3 flops up to 8,000 rows, some tens of products with K up to 60,000. Beyond, or with
    ``n_centers``, f is a combination of m sections only: some twenty passes over n m kernel values, m^3 flops.

    Parameters
    ----------
    alpha : float or array of shape (t,)
        The penalty; one number, or one for each target. 0 is kernel least squares: the minimum-norm solution.
    kernel : Kernel, str, callable or "precomputed"
        A kernel; its scikit-learn name: "rbf", "linear", "poly", "laplacian", "chi2", "cosine"; or a function of two
        rows.
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
        kernel: Any = "rbf",
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
        self.kernel = kernel
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
            K = training_gram(self, X, engine_of(self), w)
            problem = Problem(
                K, y, Squared(), HalfSquare(self._lam(y)), w,
                one_of(self, "intercept", {"none": False, "free": True}), centers_of(self, K, w),
            )  # fmt: skip  # in the order of the record
            proof = one_of(self, "certify", {name: name for name in ("auto", "full", "none")})
            found = solve(problem, self._solver(problem), deadline=deadline_of(self), watch=watch, certify=proof)
            self._keep(found, X, y)
        warn_if_short(self, self.solution_, _DEFAULT_TOL if self.tol is None else self.tol)
        return self

    def _keep(self, found: Solution, X: Any, y: np.ndarray) -> None:
        self.solution_ = found
        self.dual_coef_ = found.coefficients
        self.intercept_ = found.offset if y.ndim == 2 else float(found.offset[0])
        self.centers_ = found.centers
        self.X_fit_ = X if found.centers is None or found.function is None else found.centers.points
        self.function_ = found.function
        self.certificate_ = found.certificate
        self.solver_ = found.stats["solver"]

    def predict(self, X: Any) -> np.ndarray:
        """Return f(X) + b, of shape (m,) or (m, t), in double precision. Cost: m n kernel values, never stored."""
        check_is_fitted(self)
        X = points(self, X, reset=False)
        f = self._of_matrix(X) if self.function_ is None else values(self, self.function_, X)
        return np.asarray(f) + self.intercept_

    def _of_matrix(self, K: Any) -> np.ndarray:
        return np.asarray((K if self.centers_ is None else K[:, self.centers_.indices]) @ self.dual_coef_)

    def _lam(self, y: np.ndarray) -> float | tuple[float, ...]:
        given = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64)) if _numeric(self.alpha) else None
        count = 1 if y.ndim == 1 else y.shape[1]
        fine = given is not None and given.ndim == 1 and len(given) in (1, count)
        if given is None or not fine or not (np.isfinite(given) & (given >= 0)).all():
            wanted = f"'alpha' must be a number >= 0, or {count} of them, one a target"
            refuse(type(self).__name__, wanted, describe(self.alpha))
        return float(given[0]) if len(given) == 1 else tuple(given.tolist())

    def _solver(self, problem: Problem) -> Any:
        tol = tol_of(self)
        exact, seed = _DEFAULT_TOL if tol is None else tol, self.random_state
        choices = {
            "auto": Auto(tol, seed, self.centers if isinstance(self.centers, str) else "uniform"),  # type: ignore[arg-type]  # checked
            "cholesky": Cholesky(exact),
            "cg": ConjugateGradients(1e-3 if tol is None else tol, random_state=seed),
            "eigen": Eigen(),
        }
        if problem.centers is not None:
            choices["cg"] = choices["auto"]
        return one_of(self, "solver", choices)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _numeric(alpha: Any) -> bool:
    return np.asarray(alpha).dtype.kind in "fiu"
