"""The support vector classifier with a share of errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._checks import refuse
from mercer.estimators._classes import SupportClassifier
from mercer.gram import Gram
from mercer.solvers.dual import Form, Trained, nu_classes
from mercer.solvers.watch import Clock

TINY = 1e-12  # of what f could be: a margin of this size is rounding


class NuSVC(SupportClassifier):
    """Support vector classification with a share of errors in place of their cost, certified.

    min over f, b, rho >= 0 of ||f||^2 / 2 - nu W rho + sum_i w_i max(0, rho - y_i (f(x_i) + b)), W = sum_i w_i: at most
    a share nu of the rows are errors, at least a share nu support vectors. The answer is divided by rho, which makes
    it that of `SVC` with C = 1 / rho. It takes the place of scikit-learn's class of that name; the certificate is
    that of the problem above, and its bounds are those of decisions as they are shown.
    Cost: about n kernel values for each support vector, and once more for the certificate, when it is asked for.

    Parameters
    ----------
    nu : float
        The share, above 0 and at most twice that of the smaller class; cut to what ``class_weight`` allows.
    kernel : Kernel, str, callable or "precomputed"
        A kernel; its scikit-learn name: "rbf", "linear", "poly", "laplacian", "chi2", "cosine"; or a function of two
        blocks of rows. "sigmoid" is refused: it is not a kernel.
    degree, gamma, coef0
        Parameters of kernels given by name, as in scikit-learn; others hold theirs themselves.
    shrinking : bool
        Without effect: working sets grow and shrink by themselves.
    probability : bool, "sigmoid" or "isotonic"
        Whether there is `predict_proba`, and how decisions become probabilities; True is "sigmoid". Costs five fits
        on four fifths of the rows, which share the Gram and begin where the whole fit ended.
    tol : float
        The largest violation of the optimality conditions.
    cache_size : float, optional
        Megabytes of kernel rows that may be kept; None takes what suits the number of rows.
    class_weight : dict, "balanced" or None
        What multiplies the weights of each class; "balanced" counts rows by their weights.
    verbose : bool
        Whether progress is shown on standard error.
    max_iter : int
        Most inner steps of a machine; -1 for no limit to speak of.
    decision_function_shape : {"ovr", "ovo"}
        What decisions of several classes look like.
    break_ties : bool
        Whether ties of votes go to the class of the larger decision, not to the first.
    random_state : int, Generator or None
        Without effect: nothing is drawn.
    multi_class : {"ovo", "ovr"}
        For several classes: a machine for each pair, or for each class against the rest. All share one Gram.
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
    classes_ : array of shape (k,)
        The labels, in order.
    support_ : array of shape (s,)
        The rows with a coefficient, class by class.
    support_vectors_ : as X
        Those rows; empty for "precomputed".
    n_support_ : array of shape (k,)
        How many there are of each class.
    dual_coef_ : array of shape (k - 1, s), for "ovr" (k, s)
        Coefficients with their signs: two classes in one row; of more, as scikit-learn lays out those of all pairs.
    intercept_ : array, one for each machine
        b: from the free support vectors, or the middle of what is possible where none is free.
    coef_ : array of shape (machines, d)
        The weights, for linear kernels.
    function_, functions_ : RKHSFunction, and a tuple of them
        f of all machines as one function, and of each on its own support vectors; None for "precomputed".
    margin_ : float or array
        1 / ||f||: half the width of the street, in feature space.
    class_weight_ : array of shape (k,)
        What multiplied the weights.
    n_iter_ : array, one for each machine
        Inner steps.
    curves_ : tuple of Curve
        Of each machine, how its decision becomes a probability; empty without ``probability``.
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
    >>> from sklearn.datasets import make_moons
    >>> from mercer import NuSVC
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = NuSVC(nu=0.1, gamma=2.0).fit(X, y)
    >>> model.score(X, y), len(model.support_) >= 0.1 * 200
    (0.995, True)
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | str = False,
        tol: float = 1e-3,
        cache_size: float | None = None,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multi_class: str = "ovo",
        gap: float | None = None,
        warm_start: bool = False,
        deadline: float | None = None,
        memory: Any = None,
        engine: Any = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.gap = gap
        self.warm_start = warm_start
        self.deadline = deadline
        self.memory = memory
        self.engine = engine

    def _form(self, K: Gram, rows: np.ndarray, sign: np.ndarray, weight: np.ndarray, factor: np.ndarray) -> Form:
        return nu_classes(K, rows, sign, weight, self._share(), factor)

    def _check_forms(self, forms: Sequence[Form]) -> None:
        if self.class_weight is None and any(form.open_group >= 0 for form in forms):
            wanted = "specified nu is infeasible: at most twice the share of the smaller of two classes"
            refuse(type(self).__name__, wanted, f"nu={self.nu:g}", "Lower nu, or balance the classes by class_weight.")

    def _train(
        self, forms: Sequence[Form], clock: Clock, starts: Sequence[np.ndarray | None] | None = None
    ) -> list[Trained]:
        if starts is None:
            self._check_forms(forms)
        machines = super()._train(forms, clock, starts)
        size = TINY * float(forms[0].box.gram.diag().max())
        if not all(machine.margin > size * np.abs(machine.found.c).sum() for machine in machines):
            wanted, got = "the classes must lie apart, but for a share nu of errors", f"nu={self.nu:g}, and rho = 0"
            refuse(type(self).__name__, wanted, got, "Raise nu, or choose another kernel.")
        return machines
