"""Scatter matrices sum_k w_k (x_i - x_j)(x_i - x_j)', and how far rounding may have moved them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from mercer._checks import refuse
from mercer.gram._pool import one_blas_thread, run

EPS = float(np.finfo(np.float64).eps)
BAND = 1024
"""Rows of a matrix product: short sums round less, and a band is what one thread does at a time."""
WAITING = 8
"""Matrices that may wait to be added."""

Block = Callable[[], np.ndarray]
"""Makes a block of rows when it is needed, on the thread that needs it."""
Item = TypeVar("Item")


@dataclass(frozen=True)
class Again(Iterable[Item]):
    """What may be gone through again and again, and is made anew each time."""

    make: Callable[[], Iterable[Item]]

    def __iter__(self) -> Iterator[Item]:
        return iter(self.make())


@dataclass(frozen=True, eq=False)
class Scatter:
    """A matrix M and a bound on its rounding: |error_jk| <= rounding sqrt(size_j size_k).

    Parameters
    ----------
    matrix : array of shape (d, d)
        M, symmetric.
    size : array of shape (d,)
        The sum of squares from which each diagonal entry was computed.
    rounding : float
        How much of it rounding may be.
    """

    matrix: np.ndarray
    size: np.ndarray
    rounding: float

    @property
    def noise(self) -> float:
        """A bound on the norm of the error."""
        return self.rounding * float(self.size.sum())

    @property
    def cancellation(self) -> float:
        """How many times larger the sums were than what is left of them, in the worst column."""
        left = np.diagonal(self.matrix)
        some = self.size > 0
        with np.errstate(divide="ignore"):
            return float(np.max(self.size[some] / np.maximum(left[some], 0.0), initial=1.0))


def sum_of_squares(blocks: Iterable[Block], d: int, threads: int) -> Scatter:
    """Return the sum of G'G over blocks of rows G. Cost: d^2 flops a row."""
    lengths: list[int] = []

    def square(make: Block) -> np.ndarray:
        G = make()
        lengths.append(len(G))
        return G.T @ G

    total = added(square, blocks, (d, d), threads)
    # Sums of nonnegative terms: a difference and its weight are rounded 4 times, then come the sums.
    return Scatter(total, np.diagonal(total).copy(), (max(lengths, default=0) + len(lengths) + 4) * EPS)


def not_too_large(energy: np.ndarray) -> np.ndarray:
    """Return sums of squared differences; refuse those that are no numbers any more."""
    if not np.isfinite(energy).all():
        at = int(np.flatnonzero(~np.isfinite(energy))[0])
        remedy = f"Divide feature {at} by a power of ten."
        refuse("MetricLearner", "squared differences of features must be finite", "an overflow", remedy)
    return energy


def laplacian_scatter(X: np.ndarray, W: Any, threads: int) -> Scatter:
    """Return X'(D - W - W')X for weights W of pairs, each on one side, and D its degrees on both. Cost: n d^2."""
    degrees = np.asarray(W.sum(axis=0)).ravel() + np.asarray(W.sum(axis=1)).ravel()
    mean, centred, bands = degrees @ X / degrees.sum(), np.empty_like(X), -(-len(X) // BAND)

    def centre(k: int) -> np.ndarray:
        some = slice(k * BAND, (k + 1) * BAND)
        rows = np.subtract(X[some], mean, out=centred[some])
        return np.asarray(np.einsum("ij,ij,i->j", rows, rows, degrees[some]))

    def product(k: int) -> np.ndarray:
        some = slice(k * BAND, (k + 1) * BAND)
        rows = centred[some]
        return (rows * (0.5 * degrees[some])[:, None] - W[some] @ centred).T @ rows

    size = 2 * added(centre, range(bands), (X.shape[1],), threads)
    half = added(product, range(bands), (X.shape[1], X.shape[1]), threads)
    longest = min(BAND, len(X)) + bands + int(np.diff(W.indptr).max(initial=0)) + 4
    return Scatter(half + half.T, size, longest * EPS)


def added(make: Callable[[Item], np.ndarray], items: Iterable[Item], shape: tuple[int, ...], threads: int) -> Any:
    """Return the sum of make(item) over items, added in their order however many threads make them."""
    if isinstance(items, Sequence) and len(items) == 1:
        with one_blas_thread():
            return make(items[0])
    total, coming = np.zeros(shape), iter(items)
    while some := list(islice(coming, WAITING)):
        waiting: list[Any] = [None] * len(some)

        def keep(k: int, _: Any, some: list[Item] = some, waiting: list[Any] = waiting) -> None:
            waiting[k] = make(some[k])

        run(range(len(some)), keep, threads, lambda: None)
        for part in waiting:
            total += part
    return total
