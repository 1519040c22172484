"""What check_psd looks at: a kernel on points, a matrix, or a Gram object, each with bounds on its entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import describe, refuse
from mercer.engine import Engine
from mercer.gram._entries import entries
from mercer.gram._gram import Gram
from mercer.gram._make import gram
from mercer.gram._rounded import EPS
from mercer.kernels import Derivation, Kernel
from mercer.kernels._views import n_rows, take

WHO = "check_psd"
TILES = 1e-13
"""What entries are right to in products in double precision, relative to the largest."""


class Subject(ABC):
    """A symmetric matrix under test."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many rows."""

    @property
    def points(self) -> Any:
        """The points, if there are any."""
        return None

    def derivation(self) -> Derivation | None:
        """Return the kernel's derivation, if there is a kernel."""
        return None

    @abstractmethod
    def part(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the entries of a small principal part in float64, and bounds on their errors."""

    @abstractmethod
    def whole(self) -> tuple[np.ndarray, float]:
        """Return the whole matrix in float64, and a bound on the norm of its error."""

    @abstractmethod
    def times(self, v: np.ndarray) -> np.ndarray:
        """Return the matrix times a vector."""

    @abstractmethod
    def diagonal(self) -> np.ndarray:
        """Return the diagonal."""

    def error(self, indices: np.ndarray) -> float:
        """Return a bound on the norm of the entries' error, scaled up from a sample of them."""
        K, E = self.part(indices)
        return self.size * max(4.0 * float(E.max()), TILES * float(np.abs(K).max()))


@dataclass(frozen=True)
class OfKernel(Subject):
    """k(x_i, x_j), by the plain rules in float64 where it is small and by the engine where it is not."""

    kernel: Kernel
    X: Any
    engine: Engine

    @property
    def size(self) -> int:
        return n_rows(self.X)

    @property
    def points(self) -> Any:
        return self.X

    def derivation(self) -> Derivation:
        return self.kernel.derivation()

    @cached_property
    def _gram(self) -> Gram:
        return gram(self.kernel, self.X, engine=replace(self.engine, precision="double"))

    def part(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        some = take(self.X, indices)
        K, E = entries(self.kernel.form(), some, some)
        _finite(K, indices)
        _mirrored(K, E + E.T, indices)
        return (K + K.T) / 2, (E + E.T) / 2 + EPS * np.abs(K)

    def whole(self) -> tuple[np.ndarray, float]:
        n, form = self.size, self.kernel.form()
        K, E = np.empty((n, n)), np.zeros((2, n))
        squares = 0.0
        for i in range(0, n, 256):
            block = np.arange(i, min(i + 256, n))
            K[block], error = entries(form, take(self.X, block), self.X)
            error = error + EPS * np.abs(K[block])
            E[0, block] += error.sum(axis=1)
            E[1] += error.sum(axis=0)
            with np.errstate(over="ignore"):
                squares += float(np.square(error).sum())
        _finite(K, np.arange(n))
        _mirrored(K, E[0] + E[1], np.arange(n))
        bound = min(
            float(E.sum(axis=0).max()) / 2, float(np.sqrt(squares))
        )  # row sums or Frobenius, for symmetric parts
        return (K + K.T) / 2, bound * (1 + 1e-6)

    def times(self, v: np.ndarray) -> np.ndarray:
        return np.asarray(self._gram @ v, dtype=np.float64)

    def diagonal(self) -> np.ndarray:
        return np.asarray(self._gram.diag(), dtype=np.float64)


@dataclass(frozen=True)
class OfMatrix(Subject):
    """A matrix whose entries are taken to be rounded: each right to a few eps of its dtype, times sqrt(k_ii k_jj)."""

    matrix: Any  # a dense or CSR matrix, or a Gram
    eps: float

    @property
    def size(self) -> int:
        return int(self.matrix.shape[0])

    def part(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(self.matrix, Gram):
            K = self.matrix.block(indices, indices).astype(np.float64)
        else:
            K = _dense(self.matrix[np.ix_(indices, indices)])
        roots = np.sqrt(np.abs(np.diagonal(K)))
        return (K + K.T) / 2, self.eps * (4 * np.outer(roots, roots) + np.abs(K))

    def whole(self) -> tuple[np.ndarray, float]:
        K = _dense(self.matrix.block() if isinstance(self.matrix, Gram) else self.matrix)
        _mirrored(K, 0.0, np.arange(self.size), 1e6 * self.eps)
        K = (K + K.T) / 2
        return K, self.eps * (4 * float(np.abs(np.diagonal(K)).sum()) + _frobenius(K))

    def times(self, v: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix @ v, dtype=np.float64).ravel()

    def diagonal(self) -> np.ndarray:
        d = self.matrix.diag() if isinstance(self.matrix, Gram) else self.matrix.diagonal()
        return np.asarray(d, dtype=np.float64)


def _dense(K: Any) -> np.ndarray:
    return np.asarray(K.toarray() if sparse.issparse(K) else K).astype(np.float64)


def _frobenius(K: np.ndarray) -> float:
    size = float(np.abs(K).max(initial=0.0))
    return size * float(np.linalg.norm(K / size)) if size > 0 else 0.0


# ---------------------------------------------------------------- what may be asked


def subject(given: Any, X: Any, engine: Engine) -> Subject:
    """Return what was given as a subject, or refuse it."""
    if isinstance(given, Kernel):
        if X is None:
            refuse(WHO, "a kernel is checked on points", "no X", "Call check_psd(kernel, X).")
        if n_rows(X) == 0:
            refuse(WHO, "X must have at least one point", "none")
        X = X.tocsr() if sparse.issparse(X) else X
        return OfKernel(given.resolve(X), X, engine)
    if X is not None:
        refuse(WHO, "X belongs to a kernel", f"X and {type(given).__name__}", "Give a kernel and X, or a matrix alone.")
    if isinstance(given, Gram):
        _square(given)
        return OfMatrix(given, 100 * float(np.finfo(given.dtype).eps))  # what `gram` states for its tiles
    matrix = _checked_matrix(given)
    return OfMatrix(matrix, float(np.finfo(matrix.dtype).eps))


def _checked_matrix(given: Any) -> Any:
    if not sparse.issparse(given):
        try:
            given = np.asarray(given)
        except ValueError:
            refuse(WHO, "a matrix must have rows of one length", "ragged rows")
    if given.dtype.kind not in "fiub":
        refuse(
            WHO, "a kernel or a real matrix", describe(given), "Give a matrix of numbers, or a kernel and X.", TypeError
        )
    _square(given)
    if given.dtype.kind != "f":
        given = given.astype(np.float64)
    given = given.tocsr() if sparse.issparse(given) else given
    _finite(given, np.arange(given.shape[0]))
    _mirrored(given, 0.0, np.arange(given.shape[0]), 1e-10 if given.dtype.itemsize >= 8 else 1e-5)
    return given


def _square(matrix: Any) -> None:
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        refuse(WHO, "a matrix must be square, with at least one row", f"shape {tuple(shape)}")


def _finite(K: Any, names: np.ndarray) -> None:
    if sparse.issparse(K):
        K = K.tocoo()
        rows, columns, values = K.row, K.col, K.data
    else:
        rows, columns = np.nonzero(~np.isfinite(K))
        values = K[rows, columns]
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        got = f"{values[bad[0]]} for points {names[rows[bad[0]]]} and {names[columns[bad[0]]]}"
        refuse(WHO, "K must hold finite numbers", got, "Scale the data, or mend the entry.")


def _mirrored(K: Any, allowed: Any, names: np.ndarray, relative: float = 1e-12) -> None:
    """Refuse a matrix that differs from its transpose by more than what is allowed."""
    gap = abs(K - K.T)
    if sparse.issparse(gap):
        i, j = np.unravel_index(int(gap.argmax()), gap.shape)
        worst, largest = gap[i, j], abs(K).max()
    else:
        excess = gap - allowed
        i, j = np.unravel_index(int(excess.argmax()), gap.shape)
        worst, largest = excess[i, j], np.abs(K).max()
    if worst > relative * largest:
        got = f"{K[i, j]:.6g} for points {names[i]} and {names[j]}, {K[j, i]:.6g} for {names[j]} and {names[i]}"
        refuse(WHO, "K must be symmetric, since a kernel has k(x, z) = k(z, x)", got, "Give (K + K.T) / 2, or mend k.")
