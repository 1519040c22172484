"""Pairs of points: listed one by one, or all that labels imply, and how far apart they are in each direction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import describe, refuse
from mercer.solvers.metric.scatter import Block, Scatter, laplacian_scatter, sum_of_squares

Piece = Callable[[], tuple[np.ndarray | None, np.ndarray]]
"""Makes the weights (None: ones) and the differences of some pairs, when they are needed."""
CHUNK = 2**18
"""Numbers in a block of differences: some MB, so that it stays in the cache between gathering and multiplying."""
FEW = 2**14
"""Up to so many numbers in differences a sparse matrix is not worth making."""


class PairSet(ABC):
    """Pairs as rows whose squares add up: sum_k w_k ((x_i - x_j)'v)^2 = sum over rows g of (g'v)^2, for every v."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many pairs."""

    @abstractmethod
    def blocks(self, X: np.ndarray) -> Iterable[Block]:
        """Return what makes these rows, some MB at a time; it may be gone through again."""

    @abstractmethod
    def listed(self) -> Listed:
        """Return the same pairs one by one."""

    def scatter(self, X: np.ndarray, threads: int = 1) -> Scatter:
        """Return sum_k w_k (x_i - x_j)(x_i - x_j)'. Cost: d^2 flops a row."""
        return sum_of_squares(self.blocks(X), X.shape[1], threads)

    def energies(self, X: np.ndarray, components: np.ndarray | None = None) -> np.ndarray:
        """Return sum_k w_k (L(x_i - x_j))^2, one sum for each row of L (None: the identity), each accurate by itself.

        Cost: d a row.
        """
        X = X if components is None else X @ components.T
        return _energies(X.shape[1], (make() for make in self.blocks(X)))


class Listed(PairSet):
    """Pairs that are there one by one, each with its weight."""

    @property
    @abstractmethod
    def weights(self) -> np.ndarray:
        """The weights, ones if there are none."""

    @abstractmethod
    def pieces(self, X: np.ndarray) -> Iterable[Piece]:
        """Return what makes weights and differences x_i - x_j, some MB at a time; it may be gone through again."""

    @abstractmethod
    def distances(self, X: np.ndarray, components: np.ndarray) -> np.ndarray:
        """Return |L(x_i - x_j)|, one a pair."""

    @abstractmethod
    def reweighted(self, factor: np.ndarray) -> Listed:
        """Return the same pairs, their weights times a positive factor each."""

    def listed(self) -> Listed:
        """Return self."""
        return self


@dataclass(frozen=True, eq=False)
class Pairs(Listed):
    """Listed pairs (i, j) of rows, with weights; a pair listed twice counts twice.

    Parameters
    ----------
    first, second : array of shape (m,)
        The rows i and j.
    weight : array of shape (m,), optional
        A weight of 2 is a pair listed twice, a weight of 0 a pair absent.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.metric import Pairs
    >>> pairs = Pairs(np.array([0, 1]), np.array([1, 2]), np.array([1.0, 2.0]))
    >>> pairs.scatter(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 3.0]])).matrix
    array([[ 1.,  0.],
           [ 0., 18.]])
    """

    first: np.ndarray
    second: np.ndarray
    weight: np.ndarray | None = None

    @property
    def count(self) -> int:
        """How many pairs are listed."""
        return len(self.first)

    def __post_init__(self) -> None:
        """Check the parts against each other, and drop pairs of weight 0."""
        if self.weight is None:
            return
        w = np.asarray(self.weight, dtype=np.float64)
        if w.shape != self.first.shape or not np.isfinite(w).all() or (w < 0).any():
            refuse("Pairs", f"weight must be {self.count} finite numbers >= 0, one a pair", describe(w))
        kept = w > 0
        for name, values in (("first", self.first), ("second", self.second), ("weight", w)):
            object.__setattr__(self, name, values if kept.all() else values[kept])

    @property
    def weights(self) -> np.ndarray:
        """The weights, ones if there are none."""
        return np.ones(self.count) if self.weight is None else self.weight

    def differences(self, X: np.ndarray) -> np.ndarray:
        """Return x_i - x_j, one row a pair."""
        return np.asarray(np.take(X, self.first, axis=0) - np.take(X, self.second, axis=0))

    def distances(self, X: np.ndarray, components: np.ndarray) -> np.ndarray:
        """Return |L(x_i - x_j)|, one a pair."""
        few = self.count < len(X)  # then not all points are in a pair
        rows = self.differences(X) @ components.T if few else self.differences(X @ components.T)
        return np.asarray(np.linalg.norm(rows, axis=1))

    def energies(self, X: np.ndarray, components: np.ndarray | None = None) -> np.ndarray:
        """Return sum_k w_k (L(x_i - x_j))^2, one sum for each row of L (None: the identity)."""
        if components is None or self.count >= len(X):
            return super().energies(X, components)
        return _energies(len(components), (make() @ components.T for make in self.blocks(X)))

    def reweighted(self, factor: np.ndarray) -> Pairs:
        """Return the same pairs, their weights times a positive factor each."""
        return Pairs(self.first, self.second, self.weights * factor)

    def pieces(self, X: np.ndarray) -> list[Piece]:
        """Return what makes weights and differences x_i - x_j, some MB at a time."""

        def piece(some: slice) -> tuple[np.ndarray | None, np.ndarray]:
            block = np.take(X, self.first[some], axis=0)
            block -= np.take(X, self.second[some], axis=0)
            return None if self.weight is None else self.weight[some], block

        return [partial(piece, some) for some in _slices(self.count, X.shape[1])]

    def blocks(self, X: np.ndarray) -> list[Block]:
        """Return what makes the rows sqrt(w) (x_i - x_j)."""
        return [partial(rooted, piece) for piece in self.pieces(X)]

    def scatter(self, X: np.ndarray, threads: int = 1) -> Scatter:
        """Return X'LX with L the Laplacian of the pair graph; from the differences where there are few pairs.

        Cost: n d^2 + m d flops, or m d^2 for m < 2 n pairs, for which the differences are cheaper. They are also the
        more accurate: X'LX cancels where points are much nearer to each other than to their mean, and then they are
        used as well.
        """
        if self.count >= 2 * len(X) and self.count * X.shape[1] > FEW:
            found = laplacian_scatter(X, self.adjacency(len(X)), threads)
            if found.cancellation < 1e4:
                return found
        return super().scatter(X, threads)

    def adjacency(self, n: int) -> Any:
        """Return W with W[i, j] the weight of the pair (i, j), each pair on one side only."""
        return sparse.coo_matrix((self.weights, (self.first, self.second)), shape=(n, n)).tocsr()

    def keys(self, n: int) -> np.ndarray:
        """Return one sorted number a pair, the same for (i, j) and (j, i), each once."""
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        keys = np.sort(low.astype(np.int64) * n + high)
        return keys[np.r_[True, keys[1:] != keys[:-1]]] if len(keys) else keys


@dataclass(frozen=True, eq=False)
class LabelPairs(PairSet):
    """All pairs of labelled rows with the same label, or all with different ones, without listing them.

    With S_c the scatter of class c about its mean m_c, the first sum to sum_c n_c S_c, the second to
    sum_c [(n - n_c) S_c + n n_c (m_c - m)(m_c - m)'].

    Parameters
    ----------
    codes : array of shape (n,)
        The class of each row, 0, 1, ...; -1 for rows without a label, which are in no pair.
    same : bool
        Which of the two.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.metric import LabelPairs
    >>> LabelPairs(np.array([0, 0, 1, -1]), same=False).scatter(np.array([[0.0], [1.0], [3.0], [9.0]])).matrix
    array([[13.]])
    """

    codes: np.ndarray
    same: bool

    @property
    def count(self) -> int:
        """How many pairs the labels imply."""
        counts = np.bincount(self.codes[self.codes >= 0]).astype(object)  # n^2 may be large
        same, n = int((counts * (counts - 1)).sum()) // 2, int(counts.sum())
        return same if self.same else n * (n - 1) // 2 - same

    def listed(self) -> Pairs:
        """Return the pairs one by one; there may be many."""
        return _all_pairs(self.codes, self.same)

    def blocks(self, X: np.ndarray) -> list[Block]:
        """Return what makes rows about the class means, then (for different labels) the class means about the mean."""
        known = np.flatnonzero(self.codes >= 0)
        codes, n = self.codes[known], len(known)
        counts = np.bincount(codes)
        X = X - X[known].mean(axis=0)
        means = _sums(X[known], codes) / counts[:, None]
        root = np.sqrt(counts if self.same else n - counts)

        def within(some: slice) -> np.ndarray:
            c = codes[some]
            return (X[known[some]] - means[c]) * root[c][:, None]

        def between() -> np.ndarray:
            return (means - counts @ means / n) * np.sqrt(float(n) * counts)[:, None]

        made: list[Block] = [partial(within, some) for some in _slices(n, X.shape[1])]
        return made if self.same else [*made, between]


def _energies(d: int, blocks: Iterable[np.ndarray]) -> np.ndarray:
    total = np.zeros(d)
    for block in blocks:
        total += np.einsum("ij,ij->j", block, block)
    return total


def rooted(piece: Piece) -> np.ndarray:
    """Return the rows of differences times the roots of their weights."""
    w, block = piece()
    if w is not None:
        block *= np.sqrt(w)[:, None]
    return block


def _slices(n: int, d: int) -> list[slice]:
    step = max(64, CHUNK // d)
    return [slice(a, a + step) for a in range(0, n, step)]


def _sums(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    onehot = sparse.csr_matrix((np.ones(len(codes)), codes, np.arange(len(codes) + 1)))
    return np.asarray(onehot.T @ X)


def codes_of(labels: np.ndarray) -> np.ndarray:
    """Return labels as 0, 1, ... in sorted order; -1 stays -1 and means unknown."""
    known = np.flatnonzero(np.asarray(labels) != -1)
    codes = np.full(len(labels), -1, dtype=np.intp)
    codes[known] = np.unique(np.asarray(labels)[known], return_inverse=True)[1].reshape(-1)
    return codes


def sampled_pairs(codes: np.ndarray, most: int | None, rng: np.random.Generator) -> tuple[Pairs, Pairs]:
    """Return the pairs that labels imply, similar and dissimilar: all, or some of each kind.

    Where there are more than ``most // 2`` of a kind, so many are drawn with equal odds and replacement, and weigh as
    much as all of that kind.
    """
    listed = []
    for same in (True, False):
        count = LabelPairs(codes, same).count
        half = None if most is None else max(1, most // 2)
        if half is None or count <= half:
            listed.append(_all_pairs(codes, same))
        else:
            i, j = _drawn(codes, same, half, rng)
            listed.append(Pairs(i, j, np.full(half, count / half)))
    return listed[0], listed[1]


def _all_pairs(codes: np.ndarray, same: bool) -> Pairs:
    known = np.flatnonzero(codes >= 0)
    order = known[np.argsort(codes[known], kind="stable")]
    sorted_codes = codes[order]
    ends = np.searchsorted(sorted_codes, sorted_codes, side="right")
    place = np.arange(len(order))
    starts, stops = (place + 1, ends) if same else (ends, np.full(len(order), len(order)))
    counts = stops - starts
    first = np.repeat(place, counts)
    second = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - starts, counts)
    return Pairs(order[first], order[second])


def _drawn(codes: np.ndarray, same: bool, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs: i by how many partners it has, then j among them."""
    known = np.flatnonzero(codes >= 0)
    order = known[np.argsort(codes[known], kind="stable")]
    counts = np.bincount(codes[known])
    starts = np.cumsum(counts) - counts
    c = codes[order]
    partners = counts[c] - 1 if same else len(order) - counts[c]
    i = rng.choice(len(order), size, p=partners / partners.sum())
    step = 1 + (rng.random(size) * partners[i]).astype(np.intp)  # 1 .. partners, round the circle from i
    j = (
        starts[c[i]] + (i - starts[c[i]] + step) % counts[c[i]]
        if same
        else (starts[c[i]] + counts[c[i]] + step - 1) % len(order)
    )
    return order[i], order[j]
