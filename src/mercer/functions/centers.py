"""Choosing centres: a few points whose sections span most of what all of them do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer._checks import describe, integer, refuse
from mercer.engine import Engine
from mercer.functions._draws import Distinct, distinct
from mercer.functions._points import as_points
from mercer.gram import Gram, gram
from mercer.gram.rpcholesky import RandomPivots, generator, random_pivots
from mercer.kernels import Kernel
from mercer.kernels._views import n_rows, take

WHO = "choose_centers"
METHODS = ("uniform", "k-means++", "rpcholesky")


@dataclass(frozen=True, eq=False)
class Centers:
    """Chosen centres.

    Parameters
    ----------
    indices : array of shape (m,) or None
        Which rows of X, in the order in which they were chosen; None for points given from elsewhere.
    points : array, DataFrame, sparse matrix, list or None
        The points themselves; None where only a matrix is known.
    method : str
        How they were chosen.
    pivots : RandomPivots, optional
        The factor that "rpcholesky" leaves: K ~= F F', which preconditions K + lam I.
    """

    indices: np.ndarray | None
    points: Any
    method: str
    pivots: RandomPivots | None = None

    def __len__(self) -> int:
        """Return how many there are."""
        return n_rows(self.points) if self.indices is None else len(self.indices)


def choose_centers(
    kernel: Kernel,
    X: Any,
    n_centers: int,
    method: Literal["uniform", "k-means++", "rpcholesky"] = "uniform",
    random_state: Any = None,
    engine: Engine | None = None,
    weights: Any = None,
) -> Centers:
    """Choose n_centers rows of X as centres, by a method that fits the purpose.

    ============  ==============================================================  ======================
    method        what is drawn                                                   cost
    ============  ==============================================================  ======================
    "uniform"     rows without replacement                                        n
    "k-means++"   rows far, in feature space, from those drawn: probability       about n m log m kernel
                  proportional to d^2 = k(x,x) - 2 k(x,z) + k(z,z); of a few      values
                  candidates the best
    "rpcholesky"  rows whose sections the drawn ones leave unexplained            n m kernel values and
                  (`gram.random_pivots`)                                          n m^2 flops in float32
    ============  ==============================================================  ======================

    No point is drawn twice, nor one equal to it: with repeated rows there may be fewer than n_centers. What is drawn
    depends on the points and the random state, not on the order of the rows. Nothing of size n x n is ever computed.

    Parameters
    ----------
    kernel : Kernel
        In whose feature space distances are meant.
    X : points
        Rows, or a list of the objects the kernel takes.
    n_centers : int
        At most how many; not more than rows.
    method : {"uniform", "k-means++", "rpcholesky"}
        See the table.
    random_state : int, Generator or None
        Where the draws come from.
    engine : Engine, optional
        What rows of K are computed with.
    weights : array of shape (n,), optional
        Draws are in proportion to them: 2 is as a row repeated, a row of weight 0 is never drawn.

    Returns
    -------
    Centers
        Their indices and points; with "rpcholesky" also the factor.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.functions import choose_centers
    >>> from mercer.kernels import Gaussian
    >>> X = np.repeat([[0.0], [1.0], [5.0]], 100, axis=0)
    >>> found = choose_centers(Gaussian(scale=1.0), X, 3, "k-means++", random_state=0)
    >>> sorted(found.points.ravel().tolist())
    [0.0, 1.0, 5.0]
    """
    if not isinstance(kernel, Kernel):
        refuse(WHO, "'kernel' must be a Kernel", describe(kernel), "See mercer.kernels.", TypeError)
    if method not in METHODS:
        refuse(WHO, f"'method' must be one of {', '.join(map(repr, METHODS))}", describe(method))
    X = as_points(WHO, X)
    n, m = n_rows(X), integer(WHO, "n_centers", n_centers, 1)
    if m > n:
        refuse(WHO, f"'n_centers' must be at most the number of rows, {n}", m, f"Use n_centers={n} for all of them.")
    rng = generator(WHO, random_state)
    rows = distinct(X, _weights(weights, n), int(rng.integers(2**63)))
    if method == "uniform":
        return _chosen(X, rows.draw(m, rng), method)
    K = gram(kernel.resolve(X), take(X, rows.first), engine=engine)
    if method == "k-means++":
        return _chosen(X, rows.first[_far_apart(K, m, rng, rows.weight)], method)
    pivots = random_pivots(K, min(m, len(rows.first)), weights=rows.weight, random_state=rng)
    return _chosen(X, rows.first[pivots.pivots], method, _on_all_rows(pivots, rows))


def _weights(given: Any, n: int) -> np.ndarray | None:
    if given is None:
        return None
    w = np.asarray(given)
    if w.shape != (n,) or w.dtype.kind not in "fiub" or not np.isfinite(w).all() or (w < 0).any() or not w.any():
        refuse(WHO, f"weights must be {n} finite numbers >= 0, not all 0", describe(w))
    return w.astype(np.float64)


def _chosen(X: Any, indices: np.ndarray, method: str, pivots: RandomPivots | None = None) -> Centers:
    return Centers(indices, take(X, indices), method, pivots)


def _on_all_rows(pivots: RandomPivots, rows: Distinct) -> RandomPivots:
    """Return the factor of distinct points on all rows; those of weight 0 that equal none stay unexplained: 0."""
    F = np.where(rows.place[:, None] >= 0, pivots.F[rows.place], np.float32(0.0))
    return RandomPivots(F, rows.first[pivots.pivots], np.where(rows.place >= 0, pivots.residual[rows.place], 0.0))


def _far_apart(K: Gram, m: int, rng: np.random.Generator, w: np.ndarray) -> np.ndarray:
    """Return up to m rows by greedy k-means++ in feature space."""
    d = K.diag()
    noise = 8 * float(np.finfo(K.dtype).eps) * np.abs(d).max()
    tries = 2 + int(np.log(m))
    chosen = [int(rng.choice(len(d), p=w / w.sum()))]
    nearest = _distances(K, d, np.array(chosen), noise)[0]
    while len(chosen) < m and nearest.any():
        p = w * nearest
        candidates = np.unique(rng.choice(len(d), tries, p=p / p.sum()))
        left = np.minimum(nearest, _distances(K, d, candidates, noise))
        best = int((left @ w).argmin())
        chosen.append(int(candidates[best]))
        nearest = left[best]
    return np.array(chosen, dtype=np.intp)


def _distances(K: Gram, d: np.ndarray, indices: np.ndarray, noise: float) -> np.ndarray:
    """Return squared distances in feature space from some points to all; below rounding, and to itself, 0."""
    squares = d + d[indices, None] - 2.0 * K.rows(indices)
    squares[squares <= noise] = 0.0
    squares[np.arange(len(indices)), indices] = 0.0
    return np.asarray(squares)
