"""Views: how the rows a user gives become the vectors whose statistics are taken.

A view is a tuple of steps. Most steps map each row by itself; a joint step (a vocabulary) must see both sides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import numeric_rows, refuse


class Step(ABC):
    """One step of a view; steps are frozen and compare by value."""

    @abstractmethod
    def __call__(self, X: Any, Y: Any) -> tuple[Any, Any]:
        """Map both sides; Y is None when it is X again."""


class RowStep(Step):
    """A step that maps every row by itself."""

    def __call__(self, X: Any, Y: Any) -> tuple[Any, Any]:
        return self.map(X), None if Y is None else self.map(Y)

    @abstractmethod
    def map(self, X: Any) -> Any:
        """Map a block of rows."""


View = tuple[Step, ...]


def look(view: View, X: Any, Y: Any = None, who: str = "kernel") -> tuple[Any, Any]:
    """Return both sides seen through a view, as checked dense float arrays or CSR matrices (Y None: as X)."""
    for step in view:
        X, Y = step(X, Y)
    X, Y = numeric_rows(who, X, "X"), None if Y is None else numeric_rows(who, Y, "Y")
    if Y is not None and X.shape[1] != Y.shape[1]:
        refuse(who, "X and Y must have as many columns", f"{X.shape[1]} and {Y.shape[1]}", "Give both the same columns.")
    if Y is not None and sparse.issparse(X) != sparse.issparse(Y):
        X, Y = sparse.csr_matrix(X), sparse.csr_matrix(Y)
    return X, Y


@dataclass(frozen=True)
class Columns(RowStep):
    """Keep some columns, by position or, in a DataFrame, by name."""

    columns: tuple[Any, ...]

    def map(self, X: Any) -> Any:
        named = any(isinstance(c, str) for c in self.columns)
        if hasattr(X, "iloc"):
            missing = [c for c in self.columns if c not in X.columns] if named else []
            if missing:
                refuse("kernel.on", f"the columns {list(self.columns)} must be in X", f"none named {missing}")
            picked = X[list(self.columns)] if named else X.iloc[:, list(self.columns)]
            one = picked.shape[1] == 1 and picked.dtypes.iloc[0].kind not in "fiub"
            return list(picked.iloc[:, 0]) if one else picked  # a lone column of objects: strings, sets
        if named:
            refuse("kernel.on", "columns given by name need a DataFrame", type(X).__name__, "Give positions instead.")
        if not sparse.issparse(X):
            X = np.asarray(X)
        if X.ndim != 2 or max(self.columns) >= X.shape[1]:
            refuse("kernel.on", f"X must have the columns {list(self.columns)}", f"shape {X.shape}")
        return (X.tocsr() if sparse.issparse(X) else X)[:, list(self.columns)]


@dataclass(frozen=True)
class Transformed(RowStep):
    """Apply a function of a block of rows, or an object with ``transform``."""

    transform: Any

    def map(self, X: Any) -> Any:
        apply: Callable[[Any], Any] = getattr(self.transform, "transform", self.transform)
        Z = apply(X)
        n, got = n_rows(X), n_rows(Z)
        if got != n:
            refuse("kernel.of", f"the transform must return a row for each of the {n} given", f"{got} rows")
        return Z


@dataclass(frozen=True)
class Metric(RowStep):
    """Multiply rows by a factor L of a metric A = L L', so that inner products become x'Az."""

    factor: Frozen

    def map(self, X: Any) -> Any:
        X = numeric_rows("kernel", X, "X")
        L = self.factor.array
        if X.shape[1] != L.shape[0]:
            refuse("kernel", f"its metric is for {L.shape[0]} columns", f"X with {X.shape[1]}")
        X = X.astype(np.float64, copy=False)  # the product is rounded once, at the tile's precision
        if L.ndim == 1:
            return X.multiply(L).tocsr() if sparse.issparse(X) else X * L
        return X @ L


@dataclass(frozen=True)
class UnitRows(RowStep):
    """Divide every row by its length; a row of zeros stays."""

    def map(self, X: Any) -> Any:
        X = numeric_rows("kernel", X, "X")
        if sparse.issparse(X):
            lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64)).ravel()
            return sparse.diags(1 / np.where(lengths > 0, lengths, 1.0)) @ X
        X = X.astype(np.float64, copy=False)
        size = np.abs(X).max(axis=1, keepdims=True, initial=0.0)
        X = X / np.where(size > 0, size, 1.0)  # first by the largest entry: squares of huge rows would overflow
        lengths = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
        return X / np.where(lengths > 0, lengths, 1.0)


class Frozen:
    """An array that compares by value and hashes, for use in frozen records."""

    __slots__ = ("_key", "array")

    def __init__(self, array: Any) -> None:
        self.array = np.array(array)
        self.array.setflags(write=False)
        self._key = (self.array.shape, self.array.dtype.str, self.array.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def n_rows(X: Any) -> int:
    """Return how many rows (or objects) there are."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
