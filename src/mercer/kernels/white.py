"""The white kernel: a point is like nothing but itself."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import describe, numeric_rows, refuse
from mercer.kernels import _form as forms
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Fused
from mercer.kernels._kernel import Kernel
from mercer.kernels._objects import joint_counts
from mercer.kernels._statistics import Dot
from mercer.kernels._views import Step


@dataclass(frozen=True)
class OneHot(Step):
    """Give each distinct point, on either side, a column of its own."""

    def __call__(self, X: Any, Y: Any) -> tuple[Any, Any]:
        return joint_counts(_named(X), None if Y is None else _named(Y))


def _named(X: Any) -> Iterator[dict[Hashable, float]]:
    return ({name: 1.0} for name in _names(X))


def _names(X: Any) -> list[Hashable]:
    """Return a name for each point, equal when the points are."""
    if sparse.issparse(X):
        return _names_of_rows(numeric_rows("White", X).toarray())
    if isinstance(X, (list, tuple)) and X and not isinstance(X[0], (list, tuple, np.ndarray)):
        return [_name(x, i) for i, x in enumerate(X)]
    array = _table(X)
    if array is not None:
        return _names_of_rows(numeric_rows("White", array))
    return [_name(x, i) for i, x in enumerate(X.to_numpy(dtype=object) if hasattr(X, "to_numpy") else X)]


def _table(X: Any) -> np.ndarray | None:
    """Return X as an array if it is a table of numbers."""
    try:
        array = np.asarray(X)
    except ValueError:  # ragged
        return None
    return array if array.dtype.kind in "fiubc" else None


def _names_of_rows(array: np.ndarray) -> list[Hashable]:
    array = np.ascontiguousarray(array, dtype=np.float64) + 0.0  # -0 equals 0
    return [row.tobytes() for row in array]


def _name(x: Any, i: int) -> Hashable:
    try:
        name = frozenset(x) if isinstance(x, (set, frozenset)) else tuple(x) if isinstance(x, (list, np.ndarray)) else x
        hash(name)
    except TypeError:
        refuse(
            "White", "points must be rows of numbers or hashable objects", f"{describe(x)} in row {i}", "Give tuples."
        )
    return name


@dataclass(frozen=True, eq=False, repr=False)
class White(Kernel):
    """k(x, z) = 1 if x and z are equal, else 0; for rows of numbers and for any hashable objects.

    Added to another kernel it is noise that belongs to the point: repeated points share it.

    Examples
    --------
    >>> from mercer.kernels import White
    >>> White()([[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0]])
    array([[0.],
           [1.]])
    >>> White()(["a", "b"], ["b", "c"])
    array([[0., 0.],
           [1., 0.]])
    """

    def form(self) -> Form:
        return Fused(forms.Identity(), (Dot(),), (OneHot(),))

    def formula(self) -> Formula:
        return Formula("[x = z]", "[x = z]")

    def _prove(self, proof: Proof) -> int:
        step = proof.rule(1, Formula("e_x'e_z", r"e_x^\top e_z"), note="of the indicator vectors e_x of single points")
        return proof.axiom(self.formula(), "the same function: e_x'e_z is 1 if x = z, else 0", step)
