"""The machine of the representer theorem: any loss, any increasing penalty of the norm."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from mercer.estimators._door import class_weights, points, targets, weights
from mercer.estimators._labels import decided, labels_that_count, one_against_rest
from mercer.estimators._learning import learn, outputs, warn_if_far
from mercer.estimators._losses import loss_of, penalty_of
from mercer.estimators._machine import Machine, watched, with_callbacks
from mercer.losses import UserLoss, traits


def _has_labels(machine: Any) -> bool:
    return bool(traits(machine._loss()).two_classes)


class KernelMachine(Machine):
    """Any loss with any penalty, certified: min over f, b of sum_i w_i loss(y_i, f(x_i) + b) + Omega(||f||).

    By the representer theorem f = sum_j c_j k(., x_j), whatever the loss, as long as Omega increases. The loss says
    what the machine is: with labels (hinge, logistic, ...) it is a classifier, of two classes or of each against the
    rest; with numbers a regressor, whose prediction is f + b, or exp(f + b) where the loss is about the logarithm of a
    mean.
    Every fit ends with a certificate recomputed from the data in double precision.
    Cost: as `mercer.solvers.Auto` chooses; some five to ten Newton steps for losses whose slope has no jumps.

    Parameters
    ----------
    loss : str, loss record, callable or object
        A record of `mercer.losses`, such as ``Huber(0.5)``, or the name of one with its usual parameters: "squared",
        "absolute", "huber", "quantile", "poisson", "hinge", "logistic", ... Or a convex function ``loss(y, t)`` of your
        own, or an object with a method ``value``: see `mercer.losses.user_loss`.
    penalty : float, penalty record or callable
        lam, short for (lam / 2) ||f||^2; a record of `mercer.solvers`: ``Norm``, ``Power``, ``Exponential``, ``Ball``
        for the constraint ||f|| <= radius; or a strictly increasing function of the norm.
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
        Factors for the weights of the rows of each class, for losses with labels.
    robust : bool
        Allows losses that are not convex, "tukey", "welsch" and "ramp": what is found, and certified, is stationary.
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
    classes_ : array
        The labels in order, for losses with labels.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelMachine
    >>> from mercer.losses import Huber
    >>> X = np.linspace(0, 1, 30).reshape(-1, 1)
    >>> y = np.sin(6 * X[:, 0])
    >>> y[7] = 40.0
    >>> model = KernelMachine(Huber(0.1), 0.01, gamma=5.0).fit(X, y)
    >>> model.predict([[0.5]]).round(1), model.certificate_.relative_gap < 1e-6
    (array([0.1]), True)
    """

    def __init__(
        self,
        loss: Any = "squared",
        penalty: Any = 1.0,
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
        robust: bool = False,
        solver: Any = "auto",
        tol: float | None = None,
        deadline: float | None = None,
        memory: Any = None,
        engine: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.intercept = intercept
        self.n_centers = n_centers
        self.centers = centers
        self.class_weight = class_weight
        self.robust = robust
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
        y : array of shape (n,) or (n, t)
            Labels or numbers, as the loss has them; t columns of numbers are t problems that share K.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row repeated, a weight of 0 a row absent.
        """
        loss, penalty = self._loss(), penalty_of(self)
        X = points(self, X, reset=True)
        w = weights(self, X, sample_weight)
        if traits(loss).two_classes:
            self.classes_, codes = labels_that_count(self, X, y, w)
            Y, w = one_against_rest(codes, len(self.classes_)), class_weights(self, self.classes_, codes, w)
        else:
            Y = targets(self, X, y, several=not traits(loss).log_mean)
        loss = loss_of(self, Y if w is None else Y[w > 0])
        with watched(self, X, Y, w) as watch:
            found = learn(self, X, Y, w, loss, penalty, watch)
        warn_if_far(self, found)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels, or the numbers predicted, (m,) or (m, t). Cost: m n kernel values, never stored."""
        t = outputs(self, X)
        known = traits(self._loss())
        if known.two_classes:
            return np.asarray(self.classes_[decided(t)])
        return np.exp(t) if known.log_mean else t

    @available_if(_has_labels)
    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(X) + b: (m,), or with more than two classes one column a class."""
        return outputs(self, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of labels that are right, or R^2."""
        measure = accuracy_score if traits(self._loss()).two_classes else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def _loss(self) -> Any:
        """Return the loss; one of a user's untried."""
        asked = self.loss
        own = callable(asked) or (hasattr(asked, "value") and type(asked) not in traits.rules)
        if own and type(asked) not in traits.rules:
            return UserLoss(asked, two_classes=bool(getattr(asked, "two_classes", False)))
        return loss_of(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = traits(self._loss())
        tags.target_tags.required = True
        if known.two_classes:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            tags.target_tags.multi_output = not known.log_mean
            tags.target_tags.positive_only = known.log_mean
        return tags
