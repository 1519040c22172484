"""The support vector classifier with costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.estimators._classes import SupportClassifier
from mercer.estimators._door import one_of
from mercer.gram import Gram
from mercer.losses import Hinge, SquaredHinge
from mercer.solvers.dual import Form, hard_margin, of_loss

_LOSSES = {"hinge": Hinge(), "squared_hinge": SquaredHinge()}
INTERCEPTS = {name: name for name in ("free", "penalized", "none")}


class SVC(SupportClassifier):
    """Support vector classification, certified: min over f, b of C sum_i w_i loss(y_i (f(x_i) + b)) + ||f||^2 / 2.

    It takes the place of scikit-learn's class of that name: parameters and attributes mean the same, and the kernel
    can be any Mercer kernel. The dual is solved by working sets; ``certificate_`` is its gap, computed anew from the
    data in double precision, and bounds the distance of every decision to the exact one.
    Cost: about n kernel values for each support vector, and once more for the certificate, when it is asked for.

    Parameters
    ----------
    C : float
        The cost of errors, > 0. inf is the hard margin: where the kernel does not separate the classes, the error says
        so, and its ``witness`` proves it (`mercer.solvers.dual.Meeting`).
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
    class_weight : dict, "balanced" or None
        What multiplies C for each class; "balanced" counts rows by their weights.
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
    loss : {"hinge", "squared_hinge"}
        max(0, 1 - y t), or its square.
    intercept : {"free", "penalized", "none"}
        Whether there is a b; "penalized" adds b^2 / 2 to the objective.
    multi_class : {"ovo", "ovr"}
        For several classes: a machine for each pair, or for each class against the rest. All share one Gram.
    probability : bool, "sigmoid" or "isotonic"
        Whether there is `predict_proba`, and how decisions become probabilities; True is "sigmoid". Costs five fits
        on four fifths of the rows, which share the Gram and begin where the whole fit ended.
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
    certificate_ : Certificate
        What is proved, an entry for each machine; computed when first asked for, the training data kept until then.
    violation_ : float
        The largest violation of the optimality conditions that is left.
    curves_ : tuple of Curve
        Of each machine, how its decision becomes a probability; empty without ``probability``.
    class_weight_ : array of shape (k,)
        What multiplied C.
    n_iter_ : array, one for each machine
        Inner steps.
    fit_status_ : int
        0 if the tolerance was reached, else 1.
    shape_fit_ : tuple
        The shape of X.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SVC
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = SVC(gamma=2.0).fit(X, y)
    >>> model.score(X, y), model.certificate_.relative_gap < 1e-3
    (1.0, True)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | None = None,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        loss: str = "hinge",
        intercept: str = "free",
        multi_class: str = "ovo",
        probability: bool | str = False,
        gap: float | None = None,
        warm_start: bool = False,
        deadline: float | None = None,
        memory: Any = None,
        engine: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.loss = loss
        self.intercept = intercept
        self.multi_class = multi_class
        self.probability = probability
        self.gap = gap
        self.warm_start = warm_start
        self.deadline = deadline
        self.memory = memory
        self.engine = engine

    def _form(self, K: Gram, rows: np.ndarray, sign: np.ndarray, weight: np.ndarray, factor: np.ndarray) -> Form:
        loss, intercept = one_of(self, "loss", _LOSSES), one_of(self, "intercept", INTERCEPTS)
        if np.isinf(C := self._positive_cost(or_infinite=True)):
            return hard_margin(K, rows, sign, intercept)
        return of_loss(K, rows, sign, loss, C * weight * factor, intercept)
