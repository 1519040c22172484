"""The functions a problem with centres is over, and their norm: K on the centres, factored safely."""

from __future__ import annotations

import dataclasses
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpstrf

from mercer.gram import Gram, from_matrix, gram
from mercer.gram._pool import one_blas_thread
from mercer.solvers.problem import Problem

EPS = float(np.finfo(np.float64).eps)
ENTRY = 128
"""An entry of K in double precision has an error of at most so many eps sqrt(k(x, x) k(z, z))."""

WIDE = 1e-6  # the margin of independence asked for first, relative to k(z, z)


LIGHT = 1500  # centres: up to here a second thread gains a factor little, and while it waits for more holds passes up


def one_thread_if_light(m: int) -> AbstractContextManager[None]:
    """Return the context that factors of m centres, and passes between them, are made in."""
    return one_blas_thread() if m <= LIGHT else nullcontext()


def fresh(K: Gram) -> Gram:
    """Return the same Gram matrix anew, in double precision."""
    if K.kernel is None:
        return K if K.dtype == np.float64 else from_matrix(K.block().astype(np.float64), K.engine)
    return gram(K.kernel, K.points, engine=dataclasses.replace(K.engine, precision="double"))


@dataclass(frozen=True, eq=False)
class Span:
    """The combinations of the sections of a problem's centres."""

    problem: Problem

    @cached_property
    def columns(self) -> Gram:
        """K between the training points and the centres, (n, m)."""
        return self._columns(self.problem.gram)

    @cached_property
    def fresh_columns(self) -> Gram:
        """The same in double precision."""
        return self._columns(fresh(self.problem.gram))

    def held_columns(self, *, double: bool = False, stored: Any = "dear") -> Gram:
        """The same for many products: stored where that is faster and fits, or as asked."""
        K = fresh(self.problem.gram) if double else self.problem.gram
        return self._columns(K, stored)

    def _columns(self, K: Gram, stored: Any = False) -> Gram:
        centers = self.problem.centers
        if K.kernel is None:
            return from_matrix(K.block(columns=centers.indices), K.engine, symmetric=False)
        return gram(K.kernel, K.points, centers.points, engine=K.engine, stored=stored)

    @cached_property
    def square(self) -> np.ndarray:
        """K between the centres, (m, m), in float64."""
        K, centers = fresh(self.problem.gram), self.problem.centers
        if K.kernel is None:
            return K.block(centers.indices, centers.indices)
        return np.asarray(gram(K.kernel, centers.points, engine=K.engine).block(), dtype=np.float64)

    @cached_property
    def norm(self) -> CenterNorm:
        """The norm of functions from their values at the centres."""
        return center_norm(self.square)


@dataclass(frozen=True, eq=False)
class CenterNorm:
    """Bounds on r'K^-1 r for K on the centres: the squared norm of the function in their span with values r.

    A is K scaled to unit diagonal on the centres kept. Whatever rounding did to A and to L, L L' + margin I is below
    it, so r'K^-1 r is at most |L^-1 r|^2, and at most |r|^2 / margin, with r scaled as A is.
    """

    L: np.ndarray
    kept: np.ndarray
    sizes: np.ndarray  # sqrt(k(z, z)) of the centres kept
    margin: float

    def bound(self, r: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Return a bound on sqrt(r'K^-1 r) for each column of r, each of whose entries is known up to an error."""
        r, error = r[self.kept] / self.sizes[:, None], error[self.kept] / self.sizes[:, None]
        x = solve_triangular(self.L, r, lower=True, check_finite=False)
        missed = np.abs(r - self.L @ x) + len(r) * EPS * (np.abs(self.L) @ np.abs(x)) + error
        return np.linalg.norm(x, axis=0) * (1 + len(r) * EPS) + np.linalg.norm(missed, axis=0) / np.sqrt(self.margin)


def center_norm(K: np.ndarray) -> CenterNorm:
    """Return the norm on the centres whose sections are independent beyond rounding: all of them if possible.

    Cost: m^3 / 3 flops, or a few times that where centres depend on each other.
    """
    d = np.diagonal(K)
    kept = np.flatnonzero(d > 0)
    sizes = np.sqrt(d[kept])
    A = K[np.ix_(kept, kept)] / np.outer(sizes, sizes)
    if len(alone := _alone(A)) < len(kept):
        A, kept, sizes = A[np.ix_(alone, alone)], kept[alone], sizes[alone]
    m = len(kept)
    floor = 2 * EPS * (ENTRY + m) * m  # what rounding may move eigenvalues of A by, twice over
    for margin in (max(WIDE, floor), floor):
        if (L := _factor(A, margin)) is not None:
            return CenterNorm(L, kept, sizes, margin / 2)
    tol = 16 * floor
    while True:
        _, order, r, _ = dpstrf(A, lower=1, tol=tol)
        some = np.sort(order[:r] - 1)
        if (L := _factor(A[np.ix_(some, some)], floor)) is not None:
            return CenterNorm(L, kept[some], sizes[some], floor / 2)
        tol *= 16


def _alone(A: np.ndarray) -> np.ndarray:
    """Return the centres whose sections are not those of earlier ones, or multiples of them."""
    rows, columns = np.nonzero(A >= 1 - 4 * EPS)
    return np.setdiff1d(np.arange(len(A)), rows[columns < rows])


def _factor(A: np.ndarray, margin: float) -> np.ndarray | None:
    """Return the lower factor of A - margin I, or None where it is not positive definite."""
    shifted = A.copy()
    shifted.flat[:: len(A) + 1] -= margin
    L, info = dpotrf(shifted.T, lower=1, clean=1, overwrite_a=1)
    return L if info == 0 else None


def doubt(K: Gram, n: int) -> float:
    """Return the relative error of a product with K in double precision, a sum of n terms, next to its absolute terms.

    Sums run over blocks of at most 4096 terms, and then over blocks; those of a matrix that was given may run over all.
    """
    return (ENTRY + (n if K.kernel is None else min(n, 4096 + n // 256))) * EPS


def rounding(K: Gram, rows: np.ndarray, columns: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return a bound on the rounding error of each entry of K a, in double precision.

    ``rows`` and ``columns`` are sqrt(k(x, x)) of both sides: |K_ij| is at most their product.
    """
    return doubt(K, len(a)) * rows[:, None] * (columns @ np.abs(a))
