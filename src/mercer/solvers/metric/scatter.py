"""Scatter matrices sum_k w_k (x_i - x_j)(x_i - x_j)', and how far rounding may have moved them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.gram._pool import run

EPS = float(np.finfo(np.float64).eps)
BAND = 4096
"""Rows of a matrix product: short sums round less, and a band is what one thread does at a time."""
WAITING = 8
"""Matrices that may wait to be added."""

Block = Callable[[], np.ndarray]
"""Makes a block of rows when it is needed, on the thread that needs it."""


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


def sum_of_squares(blocks: Sequence[Block], d: int, threads: int) -> Scatter:
    """Return the sum of G'G over blocks of rows G. Cost: d^2 flops a row."""
    longest = [0] * len(blocks)

    def square(k: int) -> np.ndarray:
        G = blocks[k]()
        longest[k] = len(G)
        return G.T @ G

    total = _added(square, len(blocks), d, threads)
    # Sums of nonnegative terms: a difference and its weight are rounded 4 times, then come the sums.
    return Scatter(total, np.diagonal(total).copy(), (max(longest, default=0) + len(blocks) + 4) * EPS)


def laplacian_scatter(X: np.ndarray, W: Any, threads: int) -> Scatter:
    """Return X'(D - W - W')X for weights W of pairs, each on one side, and D its degrees on both. Cost: n d^2."""
    degrees = np.asarray(W.sum(axis=0)).ravel() + np.asarray(W.sum(axis=1)).ravel()
    centred = X - degrees @ X / degrees.sum()

    def product(k: int) -> np.ndarray:
        some = slice(k * BAND, (k + 1) * BAND)
        rows = centred[some]
        return (rows * (0.5 * degrees[some])[:, None] - W[some] @ centred).T @ rows

    bands = -(-len(X) // BAND)
    half = _added(product, bands, X.shape[1], threads)
    size = 2 * (degrees @ (centred * centred))
    longest = min(BAND, len(X)) + bands + int(np.diff(W.indptr).max(initial=0)) + 4
    return Scatter(half + half.T, size, longest * EPS)


def _added(make: Callable[[int], np.ndarray], count: int, d: int, threads: int) -> np.ndarray:
    """Return the sum of make(0), make(1), ..., added in this order however many threads make them."""
    total = np.zeros((d, d))

    for start in range(0, count, WAITING):
        waiting: list[Any] = [None] * min(WAITING, count - start)

        def keep(k: int, _: Any, start: int = start, waiting: list[Any] = waiting) -> None:
            waiting[k] = make(start + k)

        run(range(len(waiting)), keep, threads, lambda: None)
        for part in waiting:
            total += part
    return total
