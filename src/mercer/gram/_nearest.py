"""The nearest points in feature space, exactly: found roughly, proved, and where the proof fails looked at again.

For kernels that fall with one distance the nearest in feature space are the nearest under that distance. Candidates
come from a tree, or from tiles in single precision: v, right to an error e, or in fewer coordinates and so a lower
bound. With the distances of the candidates in float64, and t the k-th least of them, no other point can be nearer once
the last candidate has v - e > t. The few rows for which this fails get more candidates, then all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree

from mercer.engine import Engine
from mercer.gram._fused import DIRECT_UP_TO
from mercer.gram._gram import Gram
from mercer.gram._lower import lower
from mercer.gram._make import SMALL, gram
from mercer.gram._pool import one_blas_thread, run
from mercer.gram._reduce import smallest
from mercer.kernels import Kernel
from mercer.kernels._evaluate import diagonal
from mercer.kernels._form import Fused, Identity
from mercer.kernels._statistics import Squares, Statistic, term
from mercer.kernels._views import RowStep, look
from mercer.kernels._windows import falling, log_profile

EPS = float(np.finfo(np.float32).eps)
TREE_UP_TO = 12  # coordinates: beyond, a tree looks at most points anyway
TREE_FROM = 1000  # points
MORE, MORE_BY_BOUNDS = 16, 64  # candidates beyond the k wanted, where they come by distances and by lower bounds
AT_ONCE = 2**22  # pairs
PROJECT_FROM, PROJECT_UP_TO = 96, 1024  # coordinates between which fewer are looked at first
SAMPLE, SHARE = 2048, 0.95  # rows whose variance chooses the coordinates, and how much of it they keep


class Neighbours(NamedTuple):
    """For each point the training points nearest in feature space, nearest first; equal ones in their order."""

    indices: np.ndarray
    squares: np.ndarray  # ||phi(x) - phi(z)||^2
    kernel: np.ndarray  # k(x, z)


class Search(ABC):
    """Training points made ready for questions."""

    @abstractmethod
    def find(self, X: Any, k: int) -> Neighbours:
        """Return the k nearest training points of each point."""


def search(kernel: Kernel, Y: Any, engine: Engine, *, tree: bool | None = None) -> Search:
    """Return a search among the points Y; ``tree`` says whether by a tree (None: where that is faster)."""
    form = falling(kernel.form())
    if form is None or not all(isinstance(step, RowStep) for step in form.view):
        return KernelSearch(kernel, Y, engine)
    B = look(form.view, Y)[0]
    if sparse.issparse(B) and tree:
        B = B.toarray()
    elif sparse.issparse(B):
        return KernelSearch(kernel, Y, engine, rank=Fused(Identity(), form.statistics, form.view))
    few = B.shape[1] <= TREE_UP_TO and len(B) >= TREE_FROM
    B = np.ascontiguousarray(B)
    return TreeSearch(form, B, engine) if tree or (few and tree is None) else TileSearch(form, B, engine)


# ---------------------------------------------------------------- any kernel


class KernelSearch(Search):
    """By -2 k(x, z) + k(z, z) in double precision, or by a distance with which k falls."""

    def __init__(self, kernel: Kernel, Y: Any, engine: Engine, rank: Fused | None = None) -> None:
        self.kernel, self.Y, self.rank = kernel, Y, rank
        self.engine = replace(engine, precision="double")
        self.own = diagonal(kernel.form(), Y)

    def find(self, X: Any, k: int) -> Neighbours:
        own = diagonal(self.kernel.form(), X)
        if self.rank is not None:
            K = Gram(lower(self.rank, X, self.Y, self.engine), self.engine)
            t, at = smallest(K, k)
            form = falling(self.kernel.form())
            assert form is not None  # it has a rank
            return _of_distances(form, t, at)
        v, at = smallest(gram(self.kernel, X, self.Y, self.engine), k, -2.0, self.own)
        return of_scores(v, at, own, self.own)


def of_scores(v: np.ndarray, at: np.ndarray, own: np.ndarray, training: np.ndarray) -> Neighbours:
    """Return the neighbours with scores k(z, z) - 2 k(x, z)."""
    both = own[:, None] + training[at]
    squares = own[:, None] + v
    rounding = 64 * float(np.finfo(np.float64).eps) * np.abs(both)
    return Neighbours(at, np.where(squares > rounding, squares, 0.0), (training[at] - v) / 2)


# ---------------------------------------------------------------- kernels that fall with a distance


class _DistanceSearch(Search):
    """By the statistic of a falling kernel, in float64."""

    def __init__(self, form: Fused, B: np.ndarray, engine: Engine) -> None:
        self.form, self.B, self.engine = form, B, engine
        self.statistic: Statistic = form.statistics[0]

    def find(self, X: Any, k: int) -> Neighbours:
        A = look(self.form.view, X)[0]
        A = np.ascontiguousarray(A.toarray() if sparse.issparse(A) else A)
        if A.shape[1] != self.B.shape[1]:
            look((), A, self.B, "neighbours")  # for its message
        return _of_distances(self.form, *self._nearest(A, k))

    @abstractmethod
    def _nearest(self, A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k least statistics of each row, in order, and their columns."""

    def _sums(self, A: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the statistic of each row with some training points, in float64. Cost: d for each."""
        if columns.size * A.shape[1] <= SMALL:
            rows = self.B[columns].astype(np.float64)
            return np.asarray(term(self.statistic, A[:, None].astype(np.float64), rows).sum(axis=2))
        from mercer.gram._ranks import pair_sums

        out, band = np.empty(columns.shape), max(1, 2**16 // columns.shape[1])

        def work(i: int, _: None) -> Iterator[None]:
            pair_sums(self.statistic, A, self.B, columns, i, min(i + band, len(A)), out)
            yield

        run(range(0, len(A), band), work, self.engine.n_threads, lambda: None)
        return out

    def _whole(self, A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k least statistics from those of all pairs; equal ones in their order."""
        m = len(self.B)
        values, at = np.empty((len(A), k)), np.empty((len(A), k), np.int64)
        rows = max(1, AT_ONCE // m)
        for i in range(0, len(A), rows):
            some = A[i : i + rows]
            t = self._sums(some, np.tile(np.arange(m), (len(some), 1)))
            worst = np.partition(t, k - 1, axis=1)[:, k - 1]
            for r in range(len(some)):
                near = np.flatnonzero(t[r] <= worst[r])
                at[i + r] = near[np.argsort(t[r, near], kind="stable")[:k]]
                values[i + r] = t[r, at[i + r]]
        return values, at


class TreeSearch(_DistanceSearch):
    """By a tree of boxes: for few coordinates."""

    def __init__(self, form: Fused, B: np.ndarray, engine: Engine) -> None:
        super().__init__(form, B, engine)
        self.tree = KDTree(B, leafsize=32, balanced_tree=False)

    def _nearest(self, A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        m, values, at = len(self.B), np.empty((len(A), k)), np.empty((len(A), k), np.int64)
        left, count = np.arange(len(A)), min(k + 1, m)
        while len(left):
            some = A[left]
            p = 2 if isinstance(self.statistic, Squares) else 1
            columns = self.tree.query(some, k=np.arange(1, count + 1), p=p, workers=self.engine.n_threads)[1]
            t, columns = _in_order(self._sums(some, columns), columns)
            # one more than the last tie, or equal points beyond the candidates might come first
            known = np.full(len(left), count == m) | (t[:, -1] > t[:, k - 1] * (1 + 1e-14))
            values[left[known]], at[left[known]] = t[known, :k], columns[known, :k]
            left, count = left[~known], min(4 * count, m)
            if count * len(left) > AT_ONCE and len(left):
                values[left], at[left] = self._whole(A[left], k)
                break
        return values, at


class TileSearch(_DistanceSearch):
    """By tiles in single precision, of the leading coordinates if there are many, and a proof for each row."""

    def __init__(self, form: Fused, B: np.ndarray, engine: Engine) -> None:
        super().__init__(form, B, engine)
        self.centre = B.mean(axis=0, dtype=np.float64)
        self.axes = _leading(B, self.centre) if isinstance(self.statistic, Squares) and len(B) >= TREE_FROM else None
        self.rough = self._rough(B)
        self.longest = float(np.sqrt(np.einsum("ij,ij->i", self.rough, self.rough, dtype=np.float64).max()))

    def _nearest(self, A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        m = len(self.B)
        if len(A) * m <= SMALL:
            return self._whole(A, k)
        values, at = np.empty((len(A), k)), np.empty((len(A), k), np.int64)
        left, first = np.arange(len(A)), MORE if self.axes is None else MORE_BY_BOUNDS
        for more in (first, 8 * first):
            if not len(left):
                break
            some = A[left]
            v, columns = self._candidates(self._rough(some), min(k + more, m))
            t, order = _in_order(self._sums(some, columns), columns)
            known = np.full(len(left), v.shape[1] == m) | (v[:, -1] - self._error(some, v[:, -1]) > t[:, k - 1])
            values[left[known]], at[left[known]] = t[known, :k], order[known, :k]
            left = left[~known]
        if len(left):
            values[left], at[left] = self._whole(A[left], k)
        return values, at

    def _rough(self, A: np.ndarray) -> np.ndarray:
        """Return centred rows; with axes, their coordinates along them and the length of what is left.

        Distances of these are never larger: (|x'| - |z'|)^2 <= |x' - z'|^2.
        """
        if self.axes is None:
            return (A - self.centre).astype(np.float32)
        out = np.empty((len(A), self.axes.shape[1] + 1), np.float32)
        for i in range(0, len(A), 4096):
            centred = A[i : i + 4096] - self.centre
            along = centred @ self.axes
            left = np.einsum("ij,ij->i", centred, centred) - np.einsum("ij,ij->i", along, along)
            out[i : i + 4096, :-1], out[i : i + 4096, -1] = along, np.sqrt(np.maximum(left, 0.0))
        return out

    def _candidates(self, rough: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        form = Fused(Identity(), (self.statistic,))
        engine = replace(self.engine, precision="single")
        found = smallest(Gram(lower(form, rough, self.rough, engine), engine), count)
        return found.values.astype(np.float64), found.indices

    def _error(self, A: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return how far a statistic in single may lie above the true one, where it is v.

        Rounded coordinates are off by eps times their size, sums of d terms by d eps; the product trick, beyond
        DIRECT_UP_TO coordinates, by d eps times the square of both lengths.
        """
        d = self.rough.shape[1]
        centred = A - self.centre
        both = np.sqrt(np.einsum("ij,ij->i", centred, centred, dtype=np.float64)) + self.longest
        if not isinstance(self.statistic, Squares):
            return np.asarray(EPS * (2 * np.sqrt(d) * both + (d + 10) * v))
        if d <= DIRECT_UP_TO:
            return np.asarray(EPS * (4 * np.sqrt(np.maximum(v, 0.0)) * both + (d + 10) * (v + EPS * both**2)))
        return np.asarray(EPS * (d + 10) * both**2)


def _in_order(t: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows sorted by value, equal values by column."""
    first = np.argsort(columns, axis=1, kind="stable")
    t, columns = np.take_along_axis(t, first, 1), np.take_along_axis(columns, first, 1)
    order = np.argsort(t, axis=1, kind="stable")
    return np.take_along_axis(t, order, 1), np.take_along_axis(columns, order, 1)


def _of_distances(form: Fused, t: np.ndarray, at: np.ndarray) -> Neighbours:
    logs, top = log_profile(form.rule, np.maximum(t, 0.0)), log_profile(form.rule, np.zeros(1))
    assert logs is not None and top is not None  # noqa: PT018  # the form falls
    return Neighbours(at, -2.0 * np.exp(top) * np.expm1(logs - top), np.exp(logs))


def _leading(B: np.ndarray, centre: np.ndarray) -> np.ndarray | None:
    """Return orthonormal axes of most of the variance, where they are far fewer than the coordinates."""
    d = B.shape[1]
    if not PROJECT_FROM <= d <= PROJECT_UP_TO:
        return None
    some = B[np.unique(np.linspace(0, len(B) - 1, SAMPLE).astype(int))] - centre
    with one_blas_thread():  # small steps, at each of which threads would wait for each other
        variances, axes = np.linalg.eigh(some.T @ some)
    kept = np.cumsum(variances[::-1]) < SHARE * variances.sum()
    r = int(np.count_nonzero(kept)) + 1
    return np.ascontiguousarray(axes[:, ::-1][:, :r]) if r <= d // 3 else None
