"""The scatter matrix of weighted points about their mean, through products: what the bound of k-means is made of."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mercer._registers import BYTES, DEEP
from mercer.gram import Gram, RandomPivots, sum_of_squares
from mercer.gram._pool import run
from mercer.solvers.clusters._settle import error_of_entries
from mercer.solvers.clusters._spectrum import EPS, Moments, Products, krylov
from mercer.solvers.clusters._sums import StoredSums

BESIDE = 20  # directions beyond those of the clusters that are looked at, at least
BAND = 256  # rows of a task
LANES = 16  # columns that are multiplied in one go


class Scatter:
    """B = (I - uu') A (I - uu') with A = S K S, S = diag(sqrt w) and u = sqrt(w) / |sqrt(w)|.

    ``values`` is all of K, where it is in memory, and ``labels`` then a partition. ``error`` is what its entries are
    right to, relative to the roots of the diagonal, and ``size`` the trace of A.
    """

    def __init__(
        self, K: Gram, weights: np.ndarray, values: np.ndarray | None = None, labels: np.ndarray | None = None
    ) -> None:
        self.K, self.roots, self.weights, self.values, self.labels = K, np.sqrt(weights), weights, values, labels
        self.u = self.roots / np.linalg.norm(self.roots)
        self.d = K.diag()
        self.size = float(weights @ np.abs(self.d))
        self.error = error_of_entries(K) + (128 + len(self.d)) * EPS

    @cached_property
    def sums(self) -> np.ndarray:
        """The sums of w_l K_il over each cluster, (k, n), in float64 and afresh; without values, over all points."""
        if self.values is None or self.labels is None:
            return (self.K @ self.weights[:, None]).T
        k, threads = int(self.labels.max()) + 1, self.K.engine.n_threads
        sums = StoredSums(self.values, k, self.weights, self.d, threads)
        sums.fill(self.labels)
        return sums.G

    @cached_property
    def mean_sums(self) -> np.ndarray:
        """A u, in float64: what each point sums up to."""
        return np.asarray(self.roots * self.sums.sum(axis=0) / np.linalg.norm(self.roots))

    @cached_property
    def trace(self) -> float:
        """The trace of B."""
        return float(self.weights @ self.d) - float(self.u @ self.mean_sums)

    @cached_property
    def squares_before(self) -> float:
        """|A|_F^2, or a little more."""
        if self.values is None:
            return sum_of_squares(self.K, self.weights)
        from mercer.solvers.clusters import _passes

        K, w, n = self.values, self.weights, len(self.weights)
        totals = np.zeros(-(-n // BAND))

        def work(a: int, _: None) -> None:
            totals[a // BAND] = _passes.squares(K, w, a, min(a + BAND, n))

        run(range(0, n, BAND), work, self.K.engine.n_threads, lambda: None)
        diagonal = np.diagonal(K).astype(np.float64)
        return (2.0 * float(totals.sum()) + float(((w * diagonal) ** 2).sum())) * (1 + 2 * n * EPS)

    @cached_property
    def moments(self) -> Moments:
        """|B|_F^2 and the trace, of the values that products are made of."""
        own = float(self.u @ self.mean_sums)
        # |(I - uu') A (I - uu')|^2 = |A|^2 - 2 |Au|^2 + (u'Au)^2
        squares = self.squares_before - 2 * float(self.mean_sums @ self.mean_sums) + own**2
        d = self.d if self.values is None else np.diagonal(self.values).astype(np.float64)
        return Moments(squares, float(self.weights @ d) - own, 256 * EPS * self.size)

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return B V; see `products` for what it is right to."""
        SV = self.roots[:, None] * self._centred(V)
        return self._centred(self.roots[:, None] * (self.K @ SV if self.values is None else self._product(SV)))

    def products(self, V: np.ndarray, BV: np.ndarray) -> Products:
        """Return V and what ``times`` made of it, with a bound on all rounding since.

        Sums of DEEP terms in the dtype of K err by at most so many roundings of |K| |V|, whose norm is at most that of
        A times sqrt(columns); a V that is not quite orthonormal adds what it is off by.
        """
        unit = (DEEP + 16) * float(np.finfo(self.K.dtype).eps) / 2 + (len(V) + 64) * EPS
        off = float(np.linalg.norm(V.T @ V - np.eye(V.shape[1])))
        return Products(V, BV, (1.01 * unit * np.sqrt(V.shape[1]) + 4 * off) * np.sqrt(self.squares_before))

    def _product(self, V: np.ndarray) -> np.ndarray:
        from mercer.solvers.clusters import _passes

        values, (n, t) = self.values, V.shape
        assert values is not None
        line = max(BYTES, 64) // values.itemsize
        width = -(-t // line) * line
        ready = np.zeros((n, width), values.dtype)
        ready[:, :t] = V
        out = np.empty((n, t))

        def work(a: int, _: None) -> None:
            _passes.times(values, ready.reshape(-1), width, a, min(a + BAND, n), out)

        run(range(0, n, BAND), work, self.K.engine.n_threads, lambda: None)
        return out

    def _centred(self, V: np.ndarray) -> np.ndarray:
        return V - np.outer(self.u, self.u @ V)

    def matrix(self) -> np.ndarray:
        """Return B as an array."""
        A = self.K.block(out=np.empty(self.K.shape)) * np.outer(self.roots, self.roots)
        A = (A + A.T) / 2
        A -= np.outer(self.u, self.u @ A)
        A -= np.outer(A @ self.u, self.u)
        return (A + A.T) / 2


def directions(scatter: Scatter) -> Products:
    """Return directions near the leading eigenvectors of B, by block Krylov steps.

    They begin at B times the clusters, which the sums of a partition are, and at random. Many columns are worth their
    steps where few clusters leave much of the spectrum to be seen.
    """
    k, n = scatter.sums.shape
    few = k <= 4
    wide = k + BESIDE if few else -(-(k + BESIDE) // LANES) * LANES
    more = np.random.default_rng(0).standard_normal((n, max(2, min(wide, n) - k)))
    start = np.concatenate([scatter.roots[:, None] * scatter.sums.T, more], axis=1)
    blocks = 3 if few or wide > 32 else 4
    blocks = max(1, min(blocks if wide <= 128 else 2, (n - 1) // start.shape[1]))
    return scatter.products(*krylov(scatter.times, start - np.outer(scatter.u, scatter.u @ start), blocks))


def directions_of(scatter: Scatter, factor: RandomPivots, k: int) -> Products:
    """Return the leading directions of a factor of K."""
    F, u = factor.F * scatter.roots[:, None].astype(np.float32), scatter.u.astype(np.float32)
    F -= np.outer(u, u @ F)
    vectors = np.linalg.eigh((F.T @ F).astype(np.float64))[1]
    leading = vectors[:, ::-1][:, : k + 30].astype(np.float32)
    V = np.linalg.qr((F @ leading).astype(np.float64))[0]
    return scatter.products(V, scatter.times(V))
