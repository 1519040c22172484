"""A symmetric matrix as U B U' with B banded: from then on, inverses of A + lam I cost little for any lam.

Unlike an eigendecomposition this is all products of matrices: 8/3 n^3 flops with U (`mercer.solvers._reduction`), and
then 4 b n^2 flops for the diagonal of each (A + lam I)^-1. Everything is in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.gram._packed import aligned
from mercer.gram._pool import run
from mercer.solvers._strips import squared_norms

BAND = 32  # half-width: narrower makes the products of the reduction thin, wider makes each lam dearer
STRIP = 96  # columns of a strip, a multiple of the band and of the vectors that products are made of
ROWS = 128  # rows of U whose share of the inverse is found at once,
LAMS = 10  # for so many lams: what is computed of them stays in cache


@dataclass(frozen=True, eq=False)
class Banded:
    """A = U B U'; all are padded to whole panels by those of the identity.

    Parameters
    ----------
    n : int
        Rows of A.
    diagonal, below : arrays of shape (p, b, b)
        The blocks B_kk and B_k,k-1; the first of the latter is 0.
    flat : array of shape ((p b)^2,)
        U in strips of STRIP columns, the rows of each one after the other.
    threads : int
        How many may work; results do not depend on it.
    """

    n: int
    diagonal: np.ndarray
    below: np.ndarray
    flat: np.ndarray
    threads: int

    @cached_property
    def basis(self) -> list[np.ndarray]:
        """U without what pads it, a strip of columns each."""
        strips = in_strips(self.flat, BAND * len(self.diagonal))
        return [strip[: self.n, : self.n - k * STRIP] for k, strip in enumerate(strips)]

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
        n, U = self.banded.n, self.banded.flat
        parts = [slice(k, min(k + LAMS, len(self.lams))) for k in range(0, len(self.lams), LAMS)]
        wide, chain = zip(*(self._operands(part) for part in parts), strict=True)
        out = np.empty((len(self.lams), n))

        def work(task: tuple[int, int], room: np.ndarray) -> None:
            k, start = task
            count, h = parts[k].stop - parts[k].start, min(ROWS, n - start)
            old, new, total = room[:size], room[size : 2 * size], np.zeros(ROWS * count)
            squared_norms(U, STRIP, self.rows, start, h, BAND, wide[k], chain[k], count, old, new, total)
            out[parts[k], start : start + h] = total.reshape(ROWS, count)[:h].T

        size = ROWS * LAMS * BAND
        tasks = [(k, start) for k in range(len(parts)) for start in range(0, n, ROWS)]
        run(tasks, work, self.banded.threads, lambda: aligned(2 * size, np.float64))
        return out

    @property
    def rows(self) -> int:
        """Rows of B, those that pad it included."""
        return len(self.inverse) * BAND

    def _operands(self, part: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return, for some lams, the L_kk^-1' beside each other, and the -(L_kk^-1 L_k,k-1)', all in one row."""
        inverse, low = self.inverse[:, part], self.low[:, part]
        wide, chain = (aligned(inverse.size, np.float64) for _ in range(2))
        wide.reshape(len(inverse), BAND, -1, BAND)[:] = inverse.transpose(0, 3, 1, 2)
        np.negative((inverse @ low).transpose(0, 1, 3, 2), out=chain.reshape(inverse.shape))
        return wide, chain


def _cholesky(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower factors of a stack of matrices, and which of them are positive definite (others: identity)."""
    try:
        return np.linalg.cholesky(A), np.ones(len(A), bool)
    except np.linalg.LinAlgError:
        if len(A) == 1:
            return np.eye(A.shape[-1])[None], np.zeros(1, bool)
        parts = [_cholesky(a[None]) for a in A]
        return np.concatenate([L for L, _ in parts]), np.concatenate([good for _, good in parts])


def in_strips(flat: np.ndarray, n: int) -> list[np.ndarray]:
    """Return the strips of columns of a matrix of n rows that is kept so."""
    return [flat[n * s : n * min(s + STRIP, n)].reshape(n, -1) for s in range(0, n, STRIP)]
