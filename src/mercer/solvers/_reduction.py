"""The reduction of a symmetric matrix to a band: Householder reflections, a panel of columns at a time.

Of A only the lower half is kept, in strips of columns that U overwrites. The update that a panel asks of the rest is
made together with the next panel's product, so that A is gone through once a panel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgeqrt

from mercer.gram._packed import aligned
from mercer.gram._pool import one_blas_thread, run
from mercer.solvers._banded import BAND, STRIP, Banded, in_strips
from mercer.solvers._strips import turn, update_and_multiply

GROUPS = 8  # strips g, g + 8, g + 16, ... are summed by one task, however many threads there are
MERGED = 4  # so many panels are reflected at once where their order allows it


@dataclass(frozen=True, eq=False)
class Reflection:
    """I - V T V' on the rows from ``start`` on."""

    start: int
    V: np.ndarray
    T: np.ndarray


def banded(
    block: Callable[[slice, slice], np.ndarray], n: int, threads: int, step: Callable[[float], Any] = lambda done: None
) -> Banded:
    """Return a symmetric matrix as U B U'. Cost: 8/3 n^3 flops, 12 n^2 bytes.

    Parameters
    ----------
    block : callable
        Returns the float64 entries of some rows and columns.
    n : int
        Rows.
    threads : int
        How many may work.
    step : callable, optional
        Told the share of the work that is done; what it raises ends the reduction.
    """
    p = -(-n // BAND)
    flat = aligned((p * BAND) ** 2, np.float64)
    for k, strip in enumerate(in_strips(flat, p * BAND)):
        s, end = k * STRIP, min(k * STRIP + strip.shape[1], n)
        strip[s:n, : end - s] = block(slice(s, n), slice(s, end))
        strip[n:], strip[s:, end - s :] = 0.0, 0.0
        strip[n:, end - s :] = np.eye(*strip[n:, end - s :].shape)
    with one_blas_thread():
        reduction = _Reduction(flat, p, threads)
        for k in range(p):
            reduction.panel(k)
            step(0.5 * (1 - (1 - (k + 1) / p) ** 3))
        _turn(flat, p * BAND, reduction.reflections, threads, step)
        return Banded(n, reduction.diagonal, reduction.below, flat, threads)


class _Reduction:
    """The panels one after the other."""

    def __init__(self, flat: np.ndarray, p: int, threads: int) -> None:
        n = p * BAND
        self.n, self.flat, self.strips, self.threads = n, flat, in_strips(flat, n), threads
        self.diagonal, self.below = np.empty((p, BAND, BAND)), np.zeros((p, BAND, BAND))
        self.reflections: list[Reflection] = []
        # of the last panel, rows of A: V, and the factors of the update -[V W] [W V]' that it asks for
        self.V = aligned(n * BAND, np.float64).reshape(n, BAND)
        self.left, self.right = (aligned(2 * n * BAND, np.float64).reshape(n, 2 * BAND) for _ in range(2))
        self.parts = np.empty((min(GROUPS, len(self.strips)), n, BAND))

    def panel(self, k: int) -> None:
        """Reflect the columns below block k away and multiply what is left with the reflections."""
        j0, j1 = k * BAND, (k + 1) * BAND
        at, i = divmod(j0, STRIP)
        P = self.strips[at][j0:, i : i + BAND]
        if k:
            P = P + self.left[j0:] @ self.right[j0:j1].T
        self.diagonal[k] = P[:BAND]
        if j1 == self.n:
            return
        V, T, self.below[k + 1] = _reflected(P[BAND:])
        self.reflections.append(Reflection(j1, V, T))
        self.V[j1:] = V
        Y = self._updated_times(j1, pending=k > 0)
        W = Y @ T - V @ (0.5 * T.T @ (V.T @ Y) @ T)
        np.negative(V, out=self.left[j1:, :BAND])
        np.negative(W, out=self.left[j1:, BAND:])
        self.right[j1:, :BAND] = W
        self.right[j1:, BAND:] = V

    def _updated_times(self, j1: int, *, pending: bool) -> np.ndarray:
        """Make the pending update of the rows and columns from j1 on, and return what is there times V."""
        first, count = j1 // STRIP, len(self.strips)
        groups = [range(first + g, count, GROUPS) for g in range(min(GROUPS, count - first))]

        def work(g: int, packed: np.ndarray) -> None:
            self.parts[g, j1:] = 0.0
            for at in groups[g]:
                update_and_multiply(
                    self.flat, at * STRIP * self.n, self.strips[at].shape[1], at * STRIP, self.n, j1, pending,
                    self.left.reshape(-1), self.right.reshape(-1), packed, BAND,
                    self.V.reshape(-1), self.parts[g].reshape(-1),
                )  # fmt: skip  # the strip, the update, the product

        run(range(len(groups)), work, self.threads, lambda: aligned(2 * BAND * STRIP, np.float64))
        return np.asarray(self.parts[: len(groups), j1:].sum(axis=0))


def _reflected(P: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return V, T and R with (I - V T V')' P = R, upper triangular."""
    packed, T, _ = dgeqrt(BAND, P)
    V = np.array(packed, order="C")
    V[:BAND] = np.tril(V[:BAND], -1) + np.eye(BAND)
    return V, np.triu(T), np.triu(packed[:BAND])


# ---------------------------------------------------------------- U


def _turn(flat: np.ndarray, n: int, reflections: list[Reflection], threads: int, step: Callable[[float], Any]) -> None:
    """Overwrite strips with the product of all reflections: the last first, so that zeros are not multiplied."""
    strips = in_strips(flat, n)
    for k, strip in enumerate(strips):
        strip[:] = 0.0
        strip[k * STRIP : (k + 1) * STRIP].flat[:: strip.shape[1] + 1] = 1.0
    parts = [_merged(reflections[k : k + MERGED]) for k in range(0, len(reflections), MERGED)]
    for k, part in enumerate(reversed(parts)):
        b = part.V.shape[1]

        def work(at: int, room: np.ndarray, part: Reflection = part, b: int = b) -> None:
            Z, Y = room[: room.size // 2], room[room.size // 2 :]
            turn(
                flat, at * STRIP * n, strips[at].shape[1], part.start, n,
                part.V.reshape(-1), b, part.T.reshape(-1), Z, Y,
            )  # fmt: skip  # the strip, the reflections, room

        tasks = range(part.start // STRIP, len(strips))
        run(tasks, work, threads, lambda: aligned(2 * MERGED * BAND * STRIP, np.float64))
        step(0.5 + 0.5 * ((k + 1) / len(parts)) ** 3)


def _merged(some: list[Reflection]) -> Reflection:
    """Return consecutive reflections as one, its T negative."""
    start, size = some[0].start, BAND * len(some)
    V = aligned(len(some[0].V) * size, np.float64).reshape(-1, size)
    T = np.zeros((size, size))
    for k, each in enumerate(some):
        done, here = slice(0, k * BAND), slice(k * BAND, (k + 1) * BAND)
        V[: each.start - start, here] = 0.0
        V[each.start - start :, here] = each.V
        T[here, here] = -each.T
        T[done, here] = T[done, done] @ (V[:, done].T @ V[:, here]) @ -each.T
    return Reflection(start, V, T)
