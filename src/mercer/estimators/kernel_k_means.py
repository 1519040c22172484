"""Kernel k-means."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer._checks import describe, integer, number, refuse
from mercer.estimators._door import deadline_of, engine_of, is_precomputed, one_of, points, training_gram, weights
from mercer.estimators._machine import Machine, watched, with_callbacks
from mercer.estimators._pairs import row_pairs
from mercer.gram import gram
from mercer.kernels._evaluate import diagonal
from mercer.kernels._views import n_rows
from mercer.solvers import (
    ClusterCounts,
    Clustering,
    Clusters,
    GivenCentres,
    GivenLabels,
    Linked,
    Links,
    Lloyd,
    OneStep,
    PlusPlus,
    RandomPoints,
    Start,
    Status,
    choose_k,
    cluster,
)

SAME = 64 * float(np.finfo(np.float64).eps)  # of k(x, x) + ||m||^2: squared distances below are rounding
_STARTS = {"k-means++": PlusPlus(), "k-means": OneStep(), "random": RandomPoints()}


class KernelKMeans(TransformerMixin, ClusterMixin, Machine):
    """Kernel k-means, certified: min over partitions of sum_i w_i ||phi(x_i) - m_c(i)||^2, m_c the means in the RKHS.

    Lloyd's algorithm in feature space, exact: the objective never rises, and the partition that comes out is one that
    a further step in double precision leaves alone. Its certificate bounds how far it is from the best possible:
    no partition is better than the scatter about the mean less the k - 1 largest eigenvalues of the centred K.
    Cost: n^2 kernel values, n^2 k additions for the first step of each start, then n times the number of moves.

    Parameters
    ----------
    n_clusters : int
        k.
    kernel : Kernel, str, callable or "precomputed"
        A kernel, its scikit-learn name ("rbf", "linear", "poly", "laplacian", "chi2", "cosine"), or a function of two
        rows.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, and of functions, as in scikit-learn's KernelRidge.
    init : {"k-means++", "k-means", "random"}, array of labels, or k centres
        Where runs start: k-means++ in feature space; one step of ordinary k-means on the rows of X; random points;
        one integer from 0 to k - 1 a point; or k points like those of X.
    n_init : int or "auto"
        How many starts, of which the best is kept; "auto" is 10, and 1 for an ``init`` that is given. They share K.
    max_iter : int
        Most steps of a run.
    tol : float
        A run ends when a step lowers the objective by no more than this share; 0 goes on to a fixed point.
    solver : {"auto", "stored", "factor"}
        Whether K is kept in memory, or the starts run on a low-rank factor of it; "auto": by what fits.
    exact : bool
        Whether starts on a factor are polished by exact steps; the certificate says which.
    constraints : {"hard", "soft", None}
        Whether the links that ``fit`` is given are kept, or each that is broken costs ``link_penalty``; None takes no
        notice of them. Links that no partition can keep are refused, with the cycle that proves it. The search with
        links is local: the best end of ``n_init`` starts, perhaps not the best there is with three or more clusters.
    link_penalty : float
        What a broken link costs with "soft", in mean squared distances from the overall mean.
    deadline : float, optional
        Seconds after which the best partition so far is kept, with its certificate and one warning.
    memory : float or str, optional
        Budget, such as ``"2 GB"``: short for ``engine=Engine(memory=...)``.
    engine : Engine, optional
        Threads, memory, precision.
    verbose : bool
        Whether progress is shown on standard error.
    random_state : int, Generator or None
        Where starts are drawn from.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The cluster of each training point.
    inertia_ : float
        The objective, in double precision.
    centers_ : tuple of RKHSFunction
        The means, each a function with the points of its cluster as centres; None for "precomputed".
    certificate_ : ClusterCertificate
        What was proved.
    n_iter_ : int
        Steps of the best run.
    X_fit_ : as X
        The training points.
    clusters_ : Clusters
        All that was found.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from mercer import KernelKMeans
    >>> X, rings = make_circles(400, factor=0.3, noise=0.05, random_state=0)
    >>> model = KernelKMeans(2, gamma=3.0, random_state=0).fit(X)
    >>> bool((model.labels_[rings == 0] != model.labels_[rings == 1][0]).all())
    True
    >>> model.certificate_.fixed_point, model.certificate_.relative_gap < 0.003
    (True, True)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 0.0,
        solver: str = "auto",
        exact: bool = True,
        constraints: str | None = "hard",
        link_penalty: float = 1.0,
        deadline: float | None = None,
        memory: Any = None,
        engine: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.exact = exact
        self.constraints = constraints
        self.link_penalty = link_penalty
        self.deadline = deadline
        self.memory = memory
        self.engine = engine
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, must_link: Any = None, cannot_link: Any = None
    ) -> Self:
        """Find the clusters of X; returns self.

        Parameters
        ----------
        X : array, DataFrame, CSR matrix, or a list of the objects the kernel takes
            Points, (n, d); the Gram matrix (n, n) for "precomputed".
        y : ignored
            For pipelines.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a point repeated, a weight of 0 a point absent.
        must_link, cannot_link : arrays of int, shape (m, 2), optional
            Pairs of rows known to share a cluster, and pairs known not to; see ``constraints``.
        """
        problem, X = self._problem(X, sample_weight)
        solver = self._linked(self._solver(), problem, must_link, cannot_link)
        with watched(self, X, y, problem.weight) as watch:
            found = cluster(problem, solver, watch=watch, deadline=deadline_of(self))
            self.clusters_ = found
            self.labels_ = found.labels.astype(np.int32)
            self.inertia_ = found.objective
            self.certificate_ = found.certificate
            self.n_iter_ = max(1, int(found.stats["steps"]))
            self.X_fit_ = X
            self._kernel = problem.gram.kernel
            self.centers_ = None if self._kernel is None else found.means(self._kernel, X)
        self._warn(found)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None, **links: Any) -> np.ndarray:
        """Return the cluster of each point of X, having fitted on it, and on links if given."""
        return self.fit(X, sample_weight=sample_weight, **links).labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Return the distance in feature space of each point of X to each mean, having fitted on it."""
        self.fit(X, sample_weight=sample_weight)
        return self.transform(X, np.diagonal(np.asarray(X)) if is_precomputed(self) else None)

    def predict(self, X: Any) -> np.ndarray:
        """Return the nearest mean of each point. Cost: m n kernel values, never stored."""
        return np.asarray(self._scores(self._points(X)).argmin(axis=1), dtype=np.int32)

    def transform(self, X: Any, diagonal: Any = None) -> np.ndarray:
        """Return the distance in feature space of each point to each mean, (m, k); infinite to a mean of no points.

        Parameters
        ----------
        X : as in fit
            Points; for "precomputed" their kernel values with the training points.
        diagonal : array of shape (m,), optional
            k(x, x), which only "precomputed" needs to be told.
        """
        return np.sqrt(self._squares(X, diagonal))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the weighted sum of squared distances of points to their nearest means."""
        apart = self._squares(X, np.diagonal(np.asarray(X)) if is_precomputed(self) else None).min(axis=1)
        w = weights(self, apart, sample_weight)
        return -float(apart.sum() if w is None else w @ apart)

    def choose_k(self, X: Any, k_max: int = 10, sample_weight: Any = None) -> ClusterCounts:
        """Return what speaks for 2 to k_max clusters of X: the silhouette in feature space, the gap of eigenvalues.

        ``n_clusters`` and an ``init`` that is given play no part. See `mercer.solvers.choose_k`.
        """
        problem, _ = self._problem(X, sample_weight, n_clusters=1)
        start = _STARTS[self.init] if isinstance(self.init, str) else PlusPlus()
        return choose_k(problem.gram, k_max, weight=problem.weight, solver=self._solver(start))

    # ------------------------------------------------------------ what is asked for

    def _problem(self, X: Any, sample_weight: Any, n_clusters: int | None = None) -> tuple[Clustering, Any]:
        who = type(self).__name__
        X = points(self, X, reset=True)
        k = integer(who, "n_clusters", self.n_clusters if n_clusters is None else n_clusters, 1)
        weight = weights(self, X, sample_weight)
        present = n_rows(X) if weight is None else int(np.count_nonzero(weight))
        if k > present:
            wanted = "'n_clusters' must be at most the number of points with a weight"
            refuse(who, wanted, f"n_clusters={k} and n_samples={present}", "Ask for fewer clusters.")
        return Clustering(training_gram(self, X, engine_of(self), weight), k, weight), X

    def _solver(self, start: Start | None = None) -> Lloyd:
        who = type(self).__name__
        start = self._start() if start is None else start
        n_init: Any = self.n_init
        if isinstance(n_init, str):
            n_init = one_of(self, "n_init", {"auto": 10})
        return Lloyd(
            start,
            integer(who, "n_init", n_init, 1),
            integer(who, "max_iter", self.max_iter, 1),
            number(who, "tol", self.tol, 0.0),
            exact=bool(self.exact),
            memory=one_of(self, "solver", {"auto": "auto", "stored": "stored", "factor": "factor"}),
            random_state=self.random_state,
        )

    def _linked(self, lloyd: Lloyd, problem: Clustering, must: Any, cannot: Any) -> Lloyd | Linked:
        """Return a solver that minds the links, if there are any; they bind the points with a weight."""
        who, n = type(self).__name__, problem.gram.shape[0]
        hard = one_of(self, "constraints", {"hard": True, "soft": False, None: None})
        if hard is None or (must is None and cannot is None):
            return lloyd
        links = Links(n, row_pairs(who, "must_link", must, n), row_pairs(who, "cannot_link", cannot, n))
        return Linked(links.part(problem.rows), hard, self.link_penalty, lloyd)

    def _start(self) -> Start:
        if isinstance(self.init, str):
            return one_of(self, "init", _STARTS)
        if not (hasattr(self.init, "shape") or isinstance(self.init, (list, tuple))):
            wanted = f"'init' must be one of {', '.join(map(repr, _STARTS))}, labels, or centres"
            refuse(type(self).__name__, wanted, describe(self.init))
        whole = np.asarray(self.init).dtype.kind in "iu" if not _of_objects(self.init) else False
        if whole and np.ndim(self.init) == 1:
            return GivenLabels(np.asarray(self.init))
        return GivenCentres(points(self, self.init, reset=False))

    # ------------------------------------------------------------ what was found

    def _points(self, X: Any) -> Any:
        check_is_fitted(self)
        return points(self, X, reset=False)

    def _scores(self, X: Any) -> np.ndarray:
        """Return ||m_c||^2 - 2 m_c(x), the squared distances less k(x, x), in double precision."""
        a, squares = self.clusters_.coefficients, self.clusters_.squares
        engine = dataclasses.replace(engine_of(self), precision="double")
        if X is self.X_fit_:  # of other points the bits must be the same, so no tile may serve its mirror too
            X = copy.copy(X)
        values = X @ a if self._kernel is None else gram(self._kernel, X, self.X_fit_, engine) @ a
        return squares - 2.0 * np.asarray(values)

    def _squares(self, X: Any, own: Any) -> np.ndarray:
        X = self._points(X)
        if self._kernel is not None:
            own = diagonal(self._kernel.form(), X)
        elif own is None:
            refuse(
                type(self).__name__, "distances from a precomputed matrix need 'diagonal', the values k(x, x)", "None"
            )
        own = np.asarray(own, dtype=np.float64)
        if own.shape != (n_rows(X),):
            refuse(type(self).__name__, f"'diagonal' must be {n_rows(X)} numbers, one a row", f"shape {own.shape}")
        sizes = own[:, None] + self.clusters_.squares
        apart = self._scores(X) + own[:, None]
        return np.where(apart > SAME * np.abs(sizes), apart, 0.0)

    def _warn(self, found: Clusters) -> None:
        who, there = type(self).__name__, len(np.unique(found.labels))
        if there < self.n_clusters:
            said = f"found {there} clusters, fewer than n_clusters={self.n_clusters}: no more points differ"
            warnings.warn(f"{who} {said}. Ask for fewer clusters.", ConvergenceWarning, stacklevel=4)
        elif found.status is Status.STALLED:
            said = f"stopped after {self.n_iter_} steps: another would raise the objective, so K is not psd"
            remedy = "See check_psd(K). The partition is the best found."
            warnings.warn(f"{who} {said}. {remedy}", ConvergenceWarning, stacklevel=4)
        elif found.status is not Status.CONVERGED:
            said = f"did not reach a fixed point: {found.status.value}, after {self.n_iter_} steps"
            remedy = "Raise max_iter or deadline. The partition is the best found; see certificate_."
            warnings.warn(f"{who} {said}. {remedy}", ConvergenceWarning, stacklevel=4)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def _of_objects(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and len(given) > 0 and isinstance(given[0], (str, set, frozenset))
