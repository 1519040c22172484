"""What the machines of nearest neighbours share: training points, neighbours in feature space, and what each counts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._checks import describe, integer, refuse
from mercer.estimators._class_means import rows_of
from mercer.estimators._door import engine_of, is_precomputed, kernel_of, one_of, points, resolved, training_gram
from mercer.estimators._machine import Machine
from mercer.gram import smallest
from mercer.gram._nearest import KernelSearch, Neighbours, of_scores, search
from mercer.kernels._views import n_rows, take

_SEARCHES = {"auto": None, "tiles": False, "tree": True}


class NeighborsMachine(Machine):
    """Training points whose nearest in feature space can be found."""

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        algorithm: str = "auto",
        memory: Any = None,
        engine: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.algorithm = algorithm
        self.memory = memory
        self.engine = engine

    def kneighbors(
        self, X: Any, n_neighbors: int | None = None, return_distance: bool = True
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the distances in feature space and the numbers of the nearest training points, nearest first.

        Of training points equally near the earlier comes first; weights play no part, but for points of weight 0, which
        are absent. For "precomputed" distances are not known: ask with ``return_distance=False``.

        Parameters
        ----------
        X : as in fit
            Points; for "precomputed" their kernel values with the training points.
        n_neighbors : int, optional
            How many; by default the parameter of that name.
        return_distance : bool
            Whether to return distances too.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if integer(type(self).__name__, "n_neighbors", k, 1) > len(self._rows):
            got = f"n_neighbors={k} and n_samples={len(self._rows)}"
            refuse(type(self).__name__, "'n_neighbors' must be at most the number of training points", got)
        if return_distance and self._search is None:
            wanted = "distances from a precomputed matrix need k(x, x)"
            refuse(type(self).__name__, wanted, "kernel='precomputed'", "Say return_distance=False.")
        found = self._nearest(X, k)
        at = self._rows[found.indices]
        return (np.sqrt(found.squares), at) if return_distance else at

    def _keep(self, X: Any, w: np.ndarray | None) -> Self:
        """Make the training points ready; those of weight 0 are left out."""
        who, n = type(self).__name__, n_rows(X)
        self._rows = np.arange(n) if w is None else np.flatnonzero(w)
        self._weights = np.ones(n) if w is None else w[self._rows]
        k = integer(who, "n_neighbors", self.n_neighbors, 1)
        if k > self._weights.sum():
            got = f"n_neighbors={k} and n_samples={self._weights.sum():g}"
            wanted = "'n_neighbors' must be at most the number of training points, each as often as its weight says"
            refuse(who, wanted, got, "Ask for fewer neighbours.")
        tree = one_of(self, "algorithm", _SEARCHES)
        if not callable(self.weights):
            one_of(self, "weights", dict.fromkeys(("uniform", "distance", "kernel")))
        # The lightest points make up k neighbours last, so never are more candidates needed than this many.
        self._reach = int(np.searchsorted(np.cumsum(np.sort(self._weights)), k * (1 - 1e-12))) + 1
        self._search, self._own, self.X_fit_ = None, None, X
        if is_precomputed(self):
            if callable(self.weights) or self.weights == "distance":
                wanted = "weights by distance need k(x, x), which a precomputed matrix does not hold"
                refuse(who, wanted, f"weights={self.weights!r}", "Use 'uniform' or 'kernel'.")
            self._own = training_gram(self, X, engine_of(self)).diag()[self._rows]
            return self
        kernel, Y = resolved(kernel_of(self), X, w), X if w is None else take(X, self._rows)
        self._search = search(kernel, Y, engine_of(self), tree=tree)
        if tree and isinstance(self._search, KernelSearch):
            wanted = "a tree needs a kernel that falls with a Euclidean or Manhattan distance"
            refuse(who, wanted, repr(kernel), "Use algorithm='auto'.")
        return self

    def _nearest(self, X: Any, k: int) -> Neighbours:
        X = points(self, X, reset=False)
        if self._search is not None:
            return self._search.find(X, k)
        assert self._own is not None  # kept from the matrix that was given
        K = rows_of(self, X[:, self._rows], None, None)
        v, at = smallest(K, k, -2.0, self._own)
        return of_scores(v, at, np.zeros(n_rows(X)), self._own)

    def _counted(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the neighbours of each point and what each counts, adding up to 1.

        A training point of weight 2 is two neighbours; the last is counted by what is left of n_neighbors.
        """
        check_is_fitted(self)
        found = self._nearest(X, min(self._reach, len(self._rows)))
        own = self._weights[found.indices]
        before = np.cumsum(own, axis=1) - own
        share = np.clip(self.n_neighbors - before, 0.0, own) * self._shares(found)
        total = share.sum(axis=1, keepdims=True)
        return found.indices, share / total

    def _shares(self, found: Neighbours) -> np.ndarray:
        """Return what a neighbour of weight 1 counts."""
        who, asked = type(self).__name__, self.weights
        if callable(asked):
            share = np.asarray(asked(np.sqrt(found.squares)), dtype=np.float64)
            if share.shape != found.squares.shape or not np.isfinite(share).all() or (share < 0).any():
                wanted = f"'weights' must return finite numbers >= 0 of shape {found.squares.shape}"
                refuse(who, wanted, describe(share))
        elif asked == "distance":
            d = np.sqrt(found.squares)
            zero = d == 0.0
            share = np.where(zero.any(axis=1, keepdims=True), zero, 1.0 / np.where(zero, 1.0, d))
        elif asked == "kernel":
            if (found.kernel < 0).any():
                remedy = "Use weights='distance', or a kernel with values >= 0."
                refuse(who, "weights by the kernel must be >= 0", f"{found.kernel.min():.3g}", remedy)
            share = found.kernel
        else:
            share = np.ones(found.squares.shape)
        nothing = ~(share > 0).any(axis=1, keepdims=True)  # of which nobody counts: then all count alike
        return np.where(nothing, 1.0, share)
