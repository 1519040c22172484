"""A symmetric matrix as U B U' with B banded: from then on, inverses of A + lam I cost little for any lam.

Householder reflections, a panel of columns at a time, take A to a band of half-width b. Unlike an eigendecomposition
this is all products of matrices: 8/3 n^3 flops with U, and then 4 b n^2 flops for the diagonal of each (A + lam I)^-1.
Everything is in double precision; of A only the lower half is kept, in strips of columns that U overwrites.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgeqrt

from mercer.gram._pool import one_blas_thread, run

BAND = 32  # half-width: narrower makes the products of the reduction thin, wider makes each lam dearer
STRIP = 480  # columns of a strip, a multiple of the band
TILE = 160  # rows of a strip that stay in cache while they are updated and multiplied
GROUPS = 8  # strips g, g + 8, g + 16, ... are summed by one task, however many threads there are
MERGED = 4  # so many panels are reflected at once where their order allows it
ROWS = 128  # rows of U whose share of the inverse is found at once


@dataclass(frozen=True, eq=False)
class Reflection:
    """I - V T V' on the rows from ``start`` on."""

    start: int
    V: np.ndarray
    T: np.ndarray


@dataclass(frozen=True, eq=False)
class Banded:
    """A = U B U'; the blocks of B are padded to whole panels by those of the identity.

    Parameters
    ----------
    n : int
        Rows of A.
    diagonal, below : arrays of shape (p, b, b)
        The blocks B_kk and B_k,k-1; the first of the latter is 0.
    basis : list of arrays of shape (n, at most STRIP)
        U, a strip of columns each.
    threads : int
        How many may work; results do not depend on it.
    """

    n: int
    diagonal: np.ndarray
    below: np.ndarray
    basis: list[np.ndarray]
    threads: int

    def turned(self, V: np.ndarray) -> np.ndarray:
        """Return U'V."""
        return np.concatenate([strip.T @ V for strip in self.basis])

    def turned_back(self, V: np.ndarray) -> np.ndarray:
        """Return U V."""
        parts = (strip @ V[..., k * STRIP : (k + 1) * STRIP, :] for k, strip in enumerate(self.basis))
        return np.asarray(sum(parts))

    def factored(self, lams: np.ndarray) -> Factors:
        """Return the Cholesky factors of B + lam I for each lam. Cost: 7/3 b^2 n flops each."""
        p, b, _ = self.diagonal.shape
        eye = np.eye(b)
        inverse, low = np.empty((p, len(lams), b, b)), np.zeros((p, len(lams), b, b))
        logdet, fine = np.zeros(len(lams)), np.ones(len(lams), bool)
        for k in range(p):
            if k:
                low[k] = self.below[k] @ inverse[k - 1].transpose(0, 2, 1)
            square = self.diagonal[k] + lams[:, None, None] * eye - low[k] @ low[k].transpose(0, 2, 1)
            L, good = _cholesky(square)
            fine &= good
            inverse[k] = np.linalg.inv(L)
            logdet += 2 * np.log(np.diagonal(L, axis1=1, axis2=2)[:, : self.n - k * b]).sum(axis=1)
        return Factors(self, lams, inverse, low, np.where(fine, logdet, np.nan), fine)


@dataclass(frozen=True, eq=False)
class Factors:
    """L L' = B + lam I for each lam.

    Parameters
    ----------
    banded : Banded
        B.
    lams : array of shape (l,)
        The shifts.
    inverse, low : arrays of shape (p, l, b, b)
        The inverses of the blocks L_kk, and L_k,k-1.
    logdet : array of shape (l,)
        log det (A + lam I); NaN where that is not positive definite.
    fine : array of bool
        Whether it is.
    """

    banded: Banded
    lams: np.ndarray
    inverse: np.ndarray
    low: np.ndarray
    logdet: np.ndarray
    fine: np.ndarray

    def solve(self, V: np.ndarray) -> np.ndarray:
        """Return (A + lam I)^-1 V for each lam, (l, n, t). Cost: 4 n^2 flops a column and lam."""
        p, count, b, _ = self.inverse.shape
        turned = np.zeros((p * b, V.shape[1]))
        turned[: self.banded.n] = self.banded.turned(V)
        rows = turned.reshape(p, b, -1)
        X = np.empty((p, count, b, V.shape[1]))
        for k in range(p):
            X[k] = self.inverse[k] @ (rows[k] - (self.low[k] @ X[k - 1] if k else 0.0))
        for k in reversed(range(p)):
            rest = X[k] - self.low[k + 1].transpose(0, 2, 1) @ X[k + 1] if k + 1 < p else X[k]
            X[k] = self.inverse[k].transpose(0, 2, 1) @ rest
        return self.banded.turned_back(X.transpose(1, 0, 2, 3).reshape(count, p * b, -1)[:, : self.banded.n])

    def inverse_diagonal(self) -> np.ndarray:
        """Return the diagonal of (A + lam I)^-1 for each lam, (l, n): the squared norms of the columns of L^-1 U'."""
        p, count, b, _ = self.inverse.shape
        n = self.banded.n
        # beside each other, so that one product serves all lam: of a block of U with the L_kk^-1'
        wide = np.ascontiguousarray(self.inverse.transpose(0, 3, 1, 2)).reshape(p, b, count * b)
        left = (self.inverse @ self.low).transpose(0, 1, 3, 2)
        out = np.empty((count, n))

        def work(start: int, _: Any) -> None:
            rows = slice(start, min(start + ROWS, n))
            h = rows.stop - start
            total, old = np.zeros((count, h)), np.zeros((h, count * b))
            new, change = np.empty((h, count * b)), np.empty((count, h, b))
            for k in range(p):
                at, i = divmod(k * b, STRIP)
                U = self.banded.basis[at][rows, i : i + b]
                np.matmul(U, wide[k, : U.shape[1]], out=new)
                X = new.reshape(h, count, b).transpose(1, 0, 2)
                if k:
                    X -= np.matmul(old.reshape(h, count, b).transpose(1, 0, 2), left[k], out=change)
                total += np.einsum("lij,lij->li", X, X)
                old, new = new, old
            out[:, rows] = total

        run(range(0, n, ROWS), work, self.banded.threads, lambda: None)
        return out


def _cholesky(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower factors of a stack of matrices, and which of them are positive definite (others: identity)."""
    try:
        return np.linalg.cholesky(A), np.ones(len(A), bool)
    except np.linalg.LinAlgError:
        if len(A) == 1:
            return np.eye(A.shape[-1])[None], np.zeros(1, bool)
        parts = [_cholesky(a[None]) for a in A]
        return np.concatenate([L for L, _ in parts]), np.concatenate([good for _, good in parts])


# ---------------------------------------------------------------- the reduction


def banded(
    block: Callable[[slice, slice], np.ndarray], n: int, threads: int, step: Callable[[float], Any] = lambda done: None
) -> Banded:
    """Return a symmetric matrix as U B U'. Cost: 8/3 n^3 flops, 12 n^2 bytes.

    Parameters
    ----------
    block : callable
        Returns the float64 entries of some rows and columns, as an array of its own.
    n : int
        Rows.
    threads : int
        How many may work.
    step : callable, optional
        Told the share of the work that is done; what it raises ends the reduction.
    """
    strips = [np.empty((n, min(STRIP, n - s))) for s in range(0, n, STRIP)]
    for k, strip in enumerate(strips):
        s = k * STRIP
        strip[s:] = block(slice(s, n), slice(s, s + strip.shape[1]))
    with one_blas_thread():
        reduction = _Reduction(n, strips, threads)
        p = -(-n // BAND)
        for k in range(p):
            reduction.panel(k)
            step(0.5 * (1 - (1 - (k + 1) / p) ** 3))
        _turn(strips, reduction.reflections, threads, step)
        return Banded(n, reduction.diagonal, reduction.below, strips, threads)


class _Reduction:
    """The panels one after the other; the update that each asks of the rest is made together with the next product."""

    def __init__(self, n: int, strips: list[np.ndarray], threads: int) -> None:
        self.n, self.strips, self.threads = n, strips, threads
        p = -(-n // BAND)
        self.diagonal = np.broadcast_to(np.eye(BAND), (p, BAND, BAND)).copy()
        self.below = np.zeros((p, BAND, BAND))
        self.reflections: list[Reflection] = []
        self.pending: tuple[np.ndarray, np.ndarray] | None = None  # [V W] and [W V] of the last panel, rows of A

    def panel(self, k: int) -> None:
        """Reflect the columns below block k away and multiply what is left with the reflections."""
        j0, j1 = k * BAND, min((k + 1) * BAND, self.n)
        at, i = divmod(j0, STRIP)
        P = self.strips[at][j0:, i : i + j1 - j0]
        if self.pending is not None:
            left, right = self.pending
            P -= left[j0:] @ right[j0:j1].T
        self.diagonal[k, : j1 - j0, : j1 - j0] = P[: j1 - j0]
        if j1 == self.n:
            return
        V, T, R = _reflected(P[j1 - j0 :])
        self.below[k + 1, : R.shape[0], : R.shape[1]] = R
        self.reflections.append(Reflection(j1, V, T))
        X = self._updated_times(j1, V) @ T
        W = X - 0.5 * V @ (T.T @ (V.T @ X))
        left, right = np.zeros((2, self.n, 2 * V.shape[1]))
        left[j1:], right[j1:] = np.hstack([V, W]), np.hstack([W, V])
        self.pending = left, right

    def _updated_times(self, j1: int, V: np.ndarray) -> np.ndarray:
        """Make the pending update of the rows and columns from j1 on, and return what is there times V."""
        first = j1 // STRIP
        groups = [range(first + g, len(self.strips), GROUPS) for g in range(min(GROUPS, len(self.strips) - first))]
        parts = np.zeros((len(groups), *V.shape))

        def work(g: int, buffers: np.ndarray) -> None:
            for at in groups[g]:
                self._strip(at, j1, V, parts[g], buffers)

        run(range(len(groups)), work, self.threads, lambda: np.empty(TILE * STRIP))
        return np.asarray(parts.sum(axis=0))

    def _strip(self, at: int, j1: int, V: np.ndarray, out: np.ndarray, buffer: np.ndarray) -> None:
        s = at * STRIP
        c0, c1 = max(s, j1), min(s + STRIP, self.n)
        columns = slice(c0 - j1, c1 - j1)
        for r0 in range(c0, self.n, TILE):
            r1 = min(r0 + TILE, self.n)
            tile, rows = self.strips[at][r0:r1, c0 - s :], slice(r0 - j1, r1 - j1)
            if self.pending is not None:
                left, right = self.pending
                change = buffer[: tile.size].reshape(tile.shape)
                np.matmul(left[r0:r1], right[c0:c1].T, out=change)
                tile -= change
            out[rows] += tile @ V[columns]
            if r1 > c1:  # the block on the diagonal is whole; below it, the other half is the transpose
                below = max(c1 - r0, 0)
                out[columns] += tile[below:].T @ V[rows][below:]


def _reflected(P: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return V, T and R with (I - V T V')' P = R: upper triangular, or trapezoidal where P has few rows."""
    m = min(P.shape)
    packed, T, _ = dgeqrt(m, P)
    V = np.array(packed[:, :m], order="C")
    V[:m] = np.tril(V[:m], -1) + np.eye(m)
    return V, np.triu(T[:m, :m]), np.triu(packed[:m])


# ---------------------------------------------------------------- U


def _turn(strips: list[np.ndarray], reflections: list[Reflection], threads: int, step: Callable[[float], Any]) -> None:
    """Overwrite strips with the product of all reflections: the last first, so that zeros are not multiplied."""
    for k, strip in enumerate(strips):
        strip[:] = 0.0
        strip[k * STRIP : k * STRIP + strip.shape[1]].flat[:: strip.shape[1] + 1] = 1.0
    parts = [_merged(reflections[k : k + MERGED]) for k in range(0, len(reflections), MERGED)]
    for k, part in enumerate(reversed(parts)):

        def work(at: int, buffer: np.ndarray, part: Reflection = part) -> None:
            C = strips[at][part.start :]
            Z = part.T @ (part.V.T @ C)
            for r in range(0, len(C), TILE):
                tile = C[r : r + TILE]
                change = buffer[: tile.size].reshape(tile.shape)
                np.matmul(part.V[r : r + TILE], Z, out=change)
                tile -= change

        run(range(part.start // STRIP, len(strips)), work, threads, lambda: np.empty(TILE * STRIP))
        step(0.5 + 0.5 * ((k + 1) / len(parts)) ** 3)


def _merged(some: list[Reflection]) -> Reflection:
    """Return consecutive reflections as one."""
    start, widths = some[0].start, [each.V.shape[1] for each in some]
    V, T = np.zeros((len(some[0].V), sum(widths))), np.zeros((sum(widths), sum(widths)))
    done = 0
    for each in some:
        here = slice(done, done + each.V.shape[1])
        V[each.start - start :, here] = each.V
        T[here, here] = each.T
        T[:done, here] = -T[:done, :done] @ (V[:, :done].T @ V[:, here]) @ each.T
        done = here.stop
    return Reflection(start, V, T)
