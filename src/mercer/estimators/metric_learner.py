"""Metric learning from pairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._checks import describe, integer, is_number, refuse
from mercer.estimators import _door
from mercer.estimators._machine import Machine, watched, with_callbacks
from mercer.estimators._pairs import given_pairs, labels_to_codes
from mercer.estimators._span import Span, span_of
from mercer.gram.rpcholesky import generator
from mercer.kernels._views import n_rows
from mercer.solvers import Status
from mercer.solvers.metric import LabelPairs, MetricProblem, PairSet, PairStream, Ratio, Root, learn_metric
from mercer.solvers.metric.pairs import Listed, sampled_pairs
from mercer.solvers.metric.problem import check_rank
from mercer.spaces import Euclidean

SCORED = 200_000
"""Pairs that `score` draws at most."""
DRAWN = 500_000
"""Dissimilar pairs that labels imply and "root" learns from, at most, unless told."""
KERNEL_RIDGE = 1e-3
"""The regularisation in the space of a kernel, unless one is given."""


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Machine):
    """Learn d_A(x, z)^2 = (x - z)'A(x - z) from pairs known to be similar and pairs known to be dissimilar, certified.

    min over psd A of sum over similar pairs of d_A^2, subject to sum over dissimilar pairs of d_A^2 >= 1 ("ratio") or
    of d_A >= 1 ("root"). What is proved is that no A has a smaller value, or how much smaller it can be.
    Cost: d^2 flops a row or a pair, and d^3; "root" some tens of passes over the pairs.

    Parameters
    ----------
    objective : {"ratio", "root"}
        "ratio": the optimum is an eigenvector, so that it sees one direction only, and pairs that are far apart already
        count most. "root": far pairs count less, and the optimum has the rank it needs, two or three as a rule.
    rank : int, optional
        "ratio": A = VV' with so many orthonormal columns V, the best there are; "root": A of at most this rank. None is
        the optimum over all A, whose rank with "ratio" is 1 unless it is not unique; take a rank there to keep more of
        the data.
    diagonal : bool
        Only weights of features.
    kernel : Kernel, str or "precomputed", optional
        Learn in the space of this kernel: A acts on the span of the sections k(., c) of some centres c, and is given in
        terms of the values k(x, c). By the representer theorem no A on the whole space is better than one on the
        sections of the points in pairs. None: on the vectors themselves.
    gamma, degree, coef0
        Parameters of kernels given by name, as in scikit-learn.
    n_centers : int, optional
        At most so many centres, chosen by randomly pivoted Cholesky; None is all points.
    regularization : float, optional
        Adds this share of the mean squared difference of a feature, times tr(A), to the sum over similar pairs, so that
        similar pairs that never differ in some direction do not decide alone. None is 0, and 0.001 with a kernel, where
        there are always such directions.
    n_pairs : int, optional
        With labels: learn from so many pairs, drawn half of each kind; None takes all pairs that labels imply, with
        "root" up to 500,000 dissimilar ones, drawn where there are more.
    tol : float
        Largest relative gap, with "root".
    deadline : float, optional
        Seconds after which the best metric so far is kept.
    memory : float or str, optional
        Budget, such as ``"2 GB"``: short for ``engine=Engine(memory=...)``.
    engine : Engine, optional
        Threads.
    verbose : bool
        Whether progress is shown on standard error.
    random_state : int, Generator or None
        For ``n_pairs`` and ``n_centers``.

    Attributes
    ----------
    components_ : array of shape (r, d)
        L with A = L'L; ``transform`` is x -> L x (with a kernel, x stands for its values k(x, c)).
    A_ : array of shape (d, d)
        The metric; ``Gaussian(scale=A_)`` is a kernel that uses it.
    centers_ : points
        The centres c; only with a kernel.
    metric_ : spaces.Euclidean
        The inner product space of A.
    certificate_ : MetricCertificate
        What was proved.
    solution_ : MetricSolution
        All of it, with the face of all optimal A.
    n_pairs_ : tuple of two ints
        Similar and dissimilar pairs that were learned from.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MetricLearner
    >>> X = np.array([[0.0, 0.0], [3.0, 0.1], [0.0, 1.0], [3.0, 1.2]])
    >>> model = MetricLearner().fit(X, similar=[[0, 1], [2, 3]], dissimilar=[[0, 2], [1, 3]])
    >>> model.pair_distance([[0, 1], [0, 2]], X=X).round(3)  # rows 0 and 1 are similar, 0 and 2 are not
    array([0.034, 0.673])
    >>> model.certificate_.relative_gap < 1e-8
    True
    >>> MetricLearner(rank=2).fit_transform(X, [0, 0, 1, -1]).shape  # labels imply pairs; -1 is unknown
    (4, 2)
    """

    def __init__(
        self,
        *,
        objective: str = "ratio",
        rank: int | None = None,
        diagonal: bool = False,
        kernel: Any = None,
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        n_centers: int | None = 1000,
        regularization: float | None = None,
        n_pairs: int | None = None,
        tol: float = 1e-6,
        deadline: float | None = None,
        memory: Any = None,
        engine: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.objective = objective
        self.rank = rank
        self.diagonal = diagonal
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_centers = n_centers
        self.regularization = regularization
        self.n_pairs = n_pairs
        self.tol = tol
        self.deadline = deadline
        self.memory = memory
        self.engine = engine
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    def fit(
        self,
        X: Any = None,
        y: Any = None,
        *,
        similar: Any = None,
        dissimilar: Any = None,
        similar_weight: Any = None,
        dissimilar_weight: Any = None,
    ) -> Self:
        """Learn from labels or, where pairs are given, from them alone; returns self.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (n, d)
            The points; None where both kinds of pairs are given as points.
        y : array of shape (n,), optional
            Labels: equal ones make similar pairs, different ones dissimilar pairs, -1 none.
        similar, dissimilar : arrays of shape (m, 2) or (m, 2, d), iterators of these, or functions that return one
            Pairs of row numbers of X, or of points; at once or in chunks. A chunk may be a tuple of pairs and weights.
            Chunks of points are made anew for each pass over them, and so come from a function; they need not fit in
            memory. "ratio" takes about four passes, "root" one a step.
        similar_weight, dissimilar_weight : arrays of shape (m,), optional
            A weight of 2 is a pair given twice.
        """
        rng = generator(type(self).__name__, self.random_state)
        with watched(self, X, y) as watch:
            points, S, D = self._pairs(X, y, similar, dissimilar, similar_weight, dissimilar_weight, rng)
            self.n_pairs_ = (S.count, D.count)
            self.span_ = self._span(points, rng)
            Z = (
                (points.toarray() if sparse.issparse(points) else points)
                if self.span_ is None
                else self.span_.coordinates(points)
            )
            solver = self._solver()
            S, D = (self._in_span(pairs) for pairs in (S, D))
            problem = MetricProblem(Z, S, D, self._regularization(), _door.engine_of(self))
            self.solution_ = learn_metric(problem, solver, deadline=_door.deadline_of(self), watch=watch)
            self.certificate_ = self.solution_.certificate
            found = self.solution_.components
            self.components_ = found if self.span_ is None else self.span_.on_values(found)
            self.A_ = self.components_.T @ self.components_
            self.metric_ = Euclidean(A=self.A_)
            self._n_features_out = len(self.components_)
            if self.span_ is not None:
                self.centers_ = self.span_.centers
        self._warn()
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return X L', whose usual distances are d_A. Cost: n d r."""
        check_is_fitted(self)
        X = self._points(X, reset=False)
        values = X if self.span_ is None else self.span_.values(X)
        return np.asarray(values @ self.components_.T)

    def pair_distance(self, pairs: Any, X: Any = None) -> np.ndarray:
        """Return d_A of pairs: of points (m, 2, d), or of row numbers (m, 2) of X. Cost: d r a pair or row."""
        check_is_fitted(self)
        given = given_pairs(type(self).__name__, X, pairs, None, called="pairs")
        return self._distances(given.similar, given.points)

    def get_metric(self) -> Callable[[Any, Any], float]:
        """Return d_A as a function of two points, such as scikit-learn's neighbours take."""
        check_is_fitted(self)
        components, span = self.components_, self.span_

        def metric(x: Any, z: Any) -> float:
            both = np.stack([np.asarray(x, dtype=np.float64), np.asarray(z, dtype=np.float64)])
            values = both if span is None else span.values(both)
            return float(np.linalg.norm(components @ (values[0] - values[1])))

        return metric

    def score(self, X: Any, y: Any = None, *, similar: Any = None, dissimilar: Any = None) -> float:
        """Return the odds that a similar pair is nearer than a dissimilar one, ties half: the area under the ROC curve.

        From labels or pairs as in ``fit``; of more than 200,000 pairs that labels imply so many are drawn, the same at
        each call.
        """
        check_is_fitted(self)
        who = type(self).__name__
        if similar is None and dissimilar is None:
            points = X
            S: Listed
            D: Listed
            S, D = sampled_pairs(labels_to_codes(who, X, y), SCORED, np.random.default_rng(0))
        else:
            given = given_pairs(who, X, similar, dissimilar)
            points, S, D = given.points, given.similar, given.dissimilar
        if not S.count or not D.count:
            refuse(who, "score needs pairs of both kinds", f"{S.count} similar and {D.count} dissimilar")
        near, far = (np.sort(self._distances(pairs, points)) for pairs in (S, D))
        below = np.searchsorted(far, near, side="right") + np.searchsorted(far, near, side="left")
        return float(1.0 - below.mean() / (2 * len(far)))

    def _distances(self, pairs: Listed, points: Any) -> np.ndarray:
        """Return d_A of pairs, in the order they are listed."""
        same = np.eye(len(self.components_))
        if isinstance(pairs, PairStream):
            return pairs.mapped(self.transform).distances(same, same)
        return pairs.distances(self.transform(points), same)

    def _pairs(
        self, X: Any, y: Any, similar: Any, dissimilar: Any, similar_weight: Any, dissimilar_weight: Any,
        rng: np.random.Generator,
    ) -> tuple[Any, PairSet, PairSet]:  # fmt: skip  # what fit was given, and where draws come from
        """Return checked points and pairs of them."""
        who = type(self).__name__
        if similar is None and dissimilar is None:
            if y is None:
                # scikit-learn asks for this wording
                raise ValueError(f"{who} requires y to be passed, but the target y is None; or give pairs.")
            X = self._points(X, reset=True)
            return X, *self._implied(labels_to_codes(who, X, y), rng)
        X = None if X is None else self._points(X, reset=True)
        given = given_pairs(who, X, similar, dissimilar, similar_weight, dissimilar_weight)
        points = given.points
        if X is None and n_rows(points):
            points = self._points(points, reset=True)
        elif X is None:  # streams only
            if self.kernel is not None:
                refuse(who, "with a kernel and pairs in chunks X must be given, for the centres", "X=None")
            self._points(np.zeros((1, points.shape[1])), reset=True)
        if not given.dissimilar.weights.any():
            refuse(who, "there must be dissimilar pairs", "none", "Without them every metric is as good as 0.")
        return points, given.similar, given.dissimilar

    def _points(self, X: Any, *, reset: bool) -> Any:
        if self.kernel is None:
            return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        return _door.points(self, X, reset=reset)

    def _span(self, points: Any, rng: np.random.Generator) -> Span | None:
        if self.kernel is None:
            return None
        most = None if self.n_centers is None else integer(type(self).__name__, "n_centers", self.n_centers, 1)
        engine = _door.engine_of(self)
        if _door.is_precomputed(self):
            return span_of(None, _door.training_gram(self, points, engine).block(), most, engine, rng)
        return span_of(_door.resolved(_door.kernel_of(self), points), points, most, engine, rng)

    def _in_span(self, pairs: PairSet) -> PairSet:
        """Return pairs whose points are in the coordinates that are learned in."""
        if self.span_ is None or not isinstance(pairs, PairStream):
            return pairs
        return pairs.mapped(self.span_.coordinates)

    def _implied(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[PairSet, PairSet]:
        if self.n_pairs is None:
            similar, dissimilar = LabelPairs(codes, same=True), LabelPairs(codes, same=False)
            if self.objective == "ratio" or dissimilar.count <= DRAWN:
                return similar, dissimilar
            return similar, sampled_pairs(codes, 2 * DRAWN, rng)[1]
        who, most = type(self).__name__, self.n_pairs
        return sampled_pairs(codes, integer(who, "n_pairs", most, 2), rng)

    def _regularization(self) -> float:
        value = (0.0 if self.kernel is None else KERNEL_RIDGE) if self.regularization is None else self.regularization
        if not (is_number(value) and 0 <= value < np.inf):
            refuse(type(self).__name__, "'regularization' must be a finite number >= 0, or None", describe(value))
        return float(value)

    def _solver(self) -> Any:
        tol = _door.tol_of(self) or 1e-6
        check_rank(type(self).__name__, self.rank, self.diagonal)
        if _door.one_of(self, "objective", {"ratio": False, "root": True}):
            return Root(self.rank, self.diagonal, tol)
        return Ratio(self.rank, self.diagonal)

    def _warn(self) -> None:
        """Give the one warning a fit that missed its tolerance ends with."""
        if self.solution_.status is Status.CONVERGED:
            return
        gap, steps = self.certificate_.relative_gap, self.solution_.stats["steps"]
        said = f"did not reach tol={self.tol:g}: relative gap {gap:.1e} after {steps} steps"
        remedy = "Raise deadline, tol or regularization. The metric is the best found; see certificate_."
        warnings.warn(
            f"{type(self).__name__} {said}, {self.solution_.status.value}. {remedy}", ConvergenceWarning, stacklevel=4
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
