"""Views: how the rows a user gives become the vectors whose statistics are taken.

A view is a tuple of steps. Most steps map each row by itself; a joint step (a vocabulary) must see both sides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import is_number, numeric_rows, refuse
from mercer.kernels._values import Frozen


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
        refuse(
            who, "X and Y must have as many columns", f"{X.shape[1]} and {Y.shape[1]}", "Give both the same columns."
        )
    if Y is not None and sparse.issparse(X) != sparse.issparse(Y):
        X, Y = sparse.csr_matrix(X), sparse.csr_matrix(Y)
    return X, Y


@dataclass(frozen=True)
class Columns(RowStep):
    """Keep some columns, by position or, in a DataFrame, by name; a lone column of objects becomes a list of them."""

    columns: tuple[Any, ...]

    def map(self, X: Any) -> Any:
        named = any(isinstance(c, str) for c in self.columns)
        if hasattr(X, "iloc"):
            return self._of_frame(X, named)
        if named:
            refuse("kernel.on", "columns given by name need a DataFrame", type(X).__name__, "Give positions instead.")
        if not sparse.issparse(X):
            X = as_array("kernel.on", X)
        if X.ndim != 2 or max(self.columns) >= X.shape[1]:
            refuse("kernel.on", f"X must have the columns {list(self.columns)}", f"shape {X.shape}", "Count from 0.")
        return objects_or_numbers((X.tocsr() if sparse.issparse(X) else X)[:, list(self.columns)])

    def _of_frame(self, X: Any, named: bool) -> Any:
        missing = [c for c in self.columns if c not in X.columns] if named else []
        if missing:
            known = ", ".join(repr(c) for c in X.columns)
            refuse(
                "kernel.on",
                f"the columns {list(self.columns)} must be in X",
                f"none named {missing}",
                f"It has {known}.",
            )
        if not named and max(self.columns) >= X.shape[1]:
            refuse("kernel.on", f"X must have the columns {list(self.columns)}", f"shape {X.shape}", "Count from 0.")
        picked = X[list(self.columns)] if named else X.iloc[:, list(self.columns)]
        numeric = all(dtype.kind in "fiub" for dtype in picked.dtypes)
        return picked if numeric else objects_or_numbers(picked.to_numpy(dtype=object))


def objects_or_numbers(Z: Any) -> Any:
    """Return a lone column that holds strings, sets and the like as a list; anything else as it is."""
    if sparse.issparse(Z) or Z.shape[1] != 1 or Z.dtype.kind not in "OSU" or all(is_number(v) for v in Z[:, 0]):
        return Z
    return list(Z[:, 0])


def as_array(who: str, X: Any) -> np.ndarray:
    """Return a table as an array, of objects where it mixes numbers and text."""
    try:
        array = np.asarray(X)
        return array if array.dtype.kind not in "SU" else np.asarray(X, dtype=object)
    except ValueError:
        refuse(who, "X must have rows of one length", "ragged rows", "Pad them, or give a DataFrame.")


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
    """Multiply rows by a factor L of a metric A = L L', so that inner products become x'Az.

    L is a matrix, a vector (one factor a column) or a number.
    """

    factor: Frozen

    def map(self, X: Any) -> Any:
        X = numeric_rows("kernel", X, "X")
        L = self.factor.array
        if L.ndim and X.shape[1] != L.shape[0]:
            refuse(
                "kernel", f"its metric is for {L.shape[0]} columns", f"X with {X.shape[1]}", "Give a scale for each."
            )
        X = X.astype(np.float64, copy=False)  # the product is rounded once, at the tile's precision
        if L.ndim == 0:
            return X * L.item()
        if L.ndim == 1:
            return X.multiply(L).tocsr() if sparse.issparse(X) else X * L
        return X @ L


@dataclass(frozen=True)
class UnitRows(RowStep):
    """Divide every row by its length; a row of zeros stays."""

    def map(self, X: Any) -> Any:
        X, _ = _tamed(numeric_rows("kernel", X, "X"))
        short = 1 / np.sqrt(_or_one(_squares(X)))
        return (sparse.diags(short) @ X).tocsr() if sparse.issparse(X) else X * short[:, None]


def lengths(X: Any) -> np.ndarray:
    """Return the Euclidean length of each row in float64."""
    X, sizes = _tamed(X)
    return sizes * np.sqrt(_squares(X))


def _tamed(X: Any) -> tuple[Any, np.ndarray]:
    """Return rows over a number near their largest entry, and it: squares of huge or tiny rows would go astray."""
    X = X.astype(np.float64, copy=False)
    largest = abs(X).max(axis=1)
    sizes = power_of_two(largest.toarray().ravel() if sparse.issparse(X) else largest)
    return (sparse.diags(1 / sizes) @ X if sparse.issparse(X) else X / sizes[:, None]), sizes


def power_of_two(x: Any) -> Any:
    """Return the power of two at or below x >= 0 (a half for 0), by which numbers are divided without rounding."""
    return np.ldexp(1.0, np.frexp(x)[1] - 1)


def _squares(X: Any) -> np.ndarray:
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)


def _or_one(sizes: Any) -> np.ndarray:
    """Return sizes as a vector, with 1 for 0, so that rows of zeros may be divided."""
    sizes = np.asarray(sizes).ravel()
    return np.where(sizes > 0, sizes, 1.0)


def n_rows(X: Any) -> int:
    """Return how many rows (or objects) there are."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def points(X: Any) -> Iterator[Any]:
    """Yield the points one by one: rows of a table as vectors, objects as they are."""
    if hasattr(X, "iloc"):
        yield from (row for _, row in X.iterrows()) if X.ndim == 2 else X
    elif sparse.issparse(X):
        yield from (row.toarray().ravel() for row in X.tocsr())
    else:
        yield from X


def take(X: Any, rows: Any) -> Any:
    """Return some rows of whatever the points stand in: an array, a CSR matrix, a DataFrame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "shape"):
        return X[rows]
    return [X[i] for i in range(len(X))[rows]] if isinstance(rows, slice) else [X[i] for i in rows]
