"""A kernel that is given by its matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import describe, numeric_rows, refuse
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Called, Form
from mercer.kernels._kernel import Kernel


@dataclass(frozen=True, eq=False, repr=False)
class Precomputed(Kernel):
    """k(i, j) = K[i, j] for a symmetric matrix K; the points are indices.

    Parameters
    ----------
    K : array of shape (n, n)
        Finite and symmetric. Whether it is positive semi-definite is taken on trust; `check_psd` looks.

    Examples
    --------
    >>> from mercer.kernels import Precomputed
    >>> k = Precomputed([[2.0, 1.0], [1.0, 3.0]])
    >>> k([1, 0])
    array([[3., 1.],
           [1., 2.]])
    """

    K: Any

    def __post_init__(self) -> None:
        if sparse.issparse(self.K):
            refuse("Precomputed", "'K' must be a dense matrix", "a sparse one", "Use K.toarray().")
        K = numeric_rows("Precomputed", self.K, "K")
        if K.shape[0] != K.shape[1]:
            refuse("Precomputed", "'K' must be square", f"shape {K.shape}", "Give k(x_i, x_j) for all i and j.")
        _check_symmetric(K)

    def form(self) -> Form:
        K = np.asarray(self.K)
        n = len(K)
        return Called(
            lambda X, Y: K[np.ix_(_indices(X, n), _indices(Y, n))].astype(np.float64),
            lambda X: K[_indices(X, n), _indices(X, n)].astype(np.float64),
        )

    def formula(self) -> Formula:
        return Formula("K[x, z]", "K_{x,z}")

    def _prove(self, proof: Proof) -> int:
        return proof.trust(self.formula(), "taken on trust: a matrix given from outside; check_psd(K) looks")


def _check_symmetric(K: np.ndarray) -> None:
    apart = np.abs(K - K.T)
    at = int(apart.argmax())
    i, j = (int(v) for v in np.unravel_index(at, K.shape))
    if apart[i, j] > 100 * np.finfo(K.dtype).eps * np.abs(K).max():
        got = f"K[{i},{j}] = {K[i, j]:.10g} and K[{j},{i}] = {K[j, i]:.10g}"
        refuse("Precomputed", "'K' must be symmetric", got, "Use (K + K.T) / 2 if that is rounding.")


def _indices(X: Any, n: int) -> np.ndarray:
    array = np.asarray(X)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    whole = array.dtype.kind in "iu" or (array.dtype.kind == "f" and bool((array == np.floor(array)).all()))
    if array.ndim != 1 or not whole:
        refuse("Precomputed", "points must be a list of indices", describe(X), f"Give integers from 0 to {n - 1}.")
    outside = (array < 0) | (array >= n)
    if outside.any():
        refuse("Precomputed", f"indices must be from 0 to {n - 1}", f"{array[outside][0]:g}", "K has no such row.")
    return array.astype(np.intp)
