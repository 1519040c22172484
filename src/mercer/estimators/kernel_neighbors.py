"""The nearest neighbours in feature space vote, or are averaged."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from mercer.estimators._class_means import classes_of
from mercer.estimators._door import points, targets, weights
from mercer.estimators._machine import watched, with_callbacks
from mercer.estimators._neighbors import NeighborsMachine


class KernelNeighborsClassifier(ClassifierMixin, NeighborsMachine):
    """The class of most of the k nearest training points, near by ||phi(x) - phi(z)||^2 = k(x,x) - 2 k(x,z) + k(z,z).

    The neighbours are exact, and of points equally near the earlier comes first. Where the kernel falls with a
    Euclidean or Manhattan distance (Gaussian, Laplace, Matern, ...) they are the nearest under that distance: with few
    columns by a tree, otherwise by tiles in single precision, with a proof for each row in double. Other kernels are
    computed in double precision, tile by tile.
    Cost: next to nothing to fit; m n kernel values for m predictions, none of them stored, or by a tree about m log n.

    Parameters
    ----------
    n_neighbors : int
        k.
    weights : {"uniform", "distance", "kernel"} or callable
        What a neighbour's vote counts: 1; one over its distance in feature space (a neighbour at distance 0 then counts
        alone); k(x, z); or what a function makes of an array of distances.
    kernel : Kernel, str, callable or "precomputed"
        A kernel, its scikit-learn name ("rbf", "linear", "poly", "laplacian", "chi2", "cosine"), or a function of two
        rows.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, and of functions, as in scikit-learn's KernelRidge.
    algorithm : {"auto", "tiles", "tree"}
        How neighbours are found; the answer is the same.
    memory : float or str, optional
        Budget, such as ``"2 GB"``: short for ``engine=Engine(memory=...)``.
    engine : Engine, optional
        Threads, memory.

    Attributes
    ----------
    classes_ : array
        The classes in order.
    X_fit_ : as X
        The training points.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import KernelNeighborsClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = KernelNeighborsClassifier(5, gamma=1.0).fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> model.kneighbors(X[:1], 2, return_distance=False)
    array([[  0, 192]])
    """

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the points with their classes, and make them ready; returns self.

        Parameters
        ----------
        X : array, DataFrame, CSR matrix, or a list of the objects the kernel takes
            Training points, (n, d); the Gram matrix (n, n) for "precomputed".
        y : array of shape (n,)
            Labels of two classes or more.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row repeated, so two neighbours; a weight of 0 a row absent.
        """
        X = points(self, X, reset=True)
        w = weights(self, X, sample_weight)
        self.classes_, codes = classes_of(self, X, y, w)
        with watched(self, X, y, w):
            self._keep(X, w)
            self._codes = codes[self._rows]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of most votes for each point; of classes with equal votes the first."""
        votes = self.predict_proba(X)
        return np.asarray(self.classes_[votes.argmax(axis=1)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the share of the votes that each class has, (m, C)."""
        at, share = self._counted(X)
        found = np.zeros((len(at), len(self.classes_)))
        np.add.at(found, (np.arange(len(at))[:, None], self._codes[at]), share)
        return found


class KernelNeighborsRegressor(RegressorMixin, NeighborsMachine):
    """The mean target of the k nearest training points, near by ||phi(x) - phi(z)||^2 = k(x,x) - 2 k(x,z) + k(z,z).

    With ``weights="kernel"`` it is the kernel smoother sum_i k(x, x_i) y_i / sum_i k(x, x_i) over the nearest points.
    The neighbours are found as by `KernelNeighborsClassifier`, exactly. Cost: as there.

    Parameters
    ----------
    n_neighbors : int
        k.
    weights : {"uniform", "distance", "kernel"} or callable
        What a neighbour counts, as for `KernelNeighborsClassifier`.
    kernel : Kernel, str, callable or "precomputed"
        A kernel, its scikit-learn name ("rbf", "linear", "poly", "laplacian", "chi2", "cosine"), or a function of two
        rows.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, and of functions, as in scikit-learn's KernelRidge.
    algorithm : {"auto", "tiles", "tree"}
        How neighbours are found; the answer is the same.
    memory : float or str, optional
        Budget, such as ``"2 GB"``: short for ``engine=Engine(memory=...)``.
    engine : Engine, optional
        Threads, memory.

    Attributes
    ----------
    X_fit_ : as X
        The training points.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelNeighborsRegressor
    >>> X = np.linspace(0, 1, 101).reshape(-1, 1)
    >>> model = KernelNeighborsRegressor(3, gamma=1.0).fit(X, X[:, 0] ** 2)
    >>> model.predict([[0.5]]).round(4)
    array([0.2501])
    """

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the points with their targets, and make them ready; returns self.

        Parameters
        ----------
        X : array, DataFrame, CSR matrix, or a list of the objects the kernel takes
            Training points, (n, d); the Gram matrix (n, n) for "precomputed".
        y : array of shape (n,) or (n, t)
            Targets.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row repeated, so two neighbours; a weight of 0 a row absent.
        """
        X = points(self, X, reset=True)
        y = targets(self, X, y)
        w = weights(self, X, sample_weight)
        with watched(self, X, y, w):
            self._keep(X, w)
            self._targets = y[self._rows]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the weighted mean of the targets of the neighbours, of shape (m,) or (m, t)."""
        at, share = self._counted(X)
        return np.asarray(np.einsum("ik,ik...->i...", share, self._targets[at]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
