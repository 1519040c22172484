"""The kernel of finite sets: how many elements two have in common."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import describe, numeric_rows, refuse
from mercer.kernels import _form as forms
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Fused
from mercer.kernels._kernel import Kernel
from mercer.kernels._objects import joint_counts, object_list
from mercer.kernels._statistics import Dot
from mercer.kernels._views import Step

_WHO = "SetIntersection"


@dataclass(frozen=True)
class Indicators(Step):
    """Turn sets into indicator rows over the elements of both sides; let 0-1 tables through."""

    def __call__(self, X: Any, Y: Any) -> tuple[Any, Any]:
        tables = [side is not None and _is_table(side) for side in (X, Y)]
        if Y is not None and tables[0] != tables[1]:
            refuse(_WHO, "X and Y must both be lists of sets, or both 0-1 tables", "one of each", "Convert one.")
        if tables[0]:
            return _indicators(X, "X"), None if Y is None else _indicators(Y, "Y")
        return joint_counts(_members(X, "X"), None if Y is None else _members(Y, "Y"))


def _is_table(X: Any) -> bool:
    if sparse.issparse(X):
        return True
    if hasattr(X, "iloc") and X.ndim == 2:
        return all(dtype.kind in "fiub" for dtype in X.dtypes)
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"


def _indicators(X: Any, name: str) -> Any:
    rows = numeric_rows(_WHO, X, name)
    if sparse.issparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    values = rows.data if sparse.issparse(rows) else rows
    strange = (values != 0) & (values != 1)
    if strange.any():
        got = f"the entry {values[strange].flat[0]:g}"
        refuse(_WHO, f"a table {name} of indicators must hold 0 and 1 only", got, "Use (X > 0), or Intersection.")
    return rows


def _members(X: Any, name: str) -> list[dict[Hashable, float]]:
    return [_set(s, i, name) for i, s in enumerate(object_list(_WHO, X, "sets"))]


def _set(s: Any, i: int, name: str) -> dict[Hashable, float]:
    if isinstance(s, (str, bytes)):
        refuse(
            _WHO, f"{name} must hold sets", f"{describe(s)} in row {i}", "Use set(x) for its letters, {x} for itself."
        )
    if not isinstance(s, (set, frozenset, list, tuple, np.ndarray)):
        refuse(_WHO, f"{name} must hold sets", f"{describe(s)} in row {i}", "Give sets, lists, or a 0-1 matrix.")
    try:
        return dict.fromkeys(s, 1.0)
    except TypeError:
        refuse(_WHO, "elements of sets must be hashable", f"{describe(s)} in row {i}", "Use tuples inside.")


@dataclass(frozen=True, eq=False, repr=False)
class SetIntersection(Kernel):
    """k(S, T) = |S n T|, the number of common elements.

    Points are Python sets, or lists of hashable elements (repeats count once); or rows of a matrix of 0 and 1, dense
    or CSR, one column an element. Cost: as a product of CSR matrices.

    Examples
    --------
    >>> from mercer.kernels import SetIntersection, exp
    >>> k = SetIntersection()
    >>> k([{"tea", "milk"}, {"tea"}, set()])
    array([[2., 1., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    >>> print(exp(k).derivation())
    1. 1_S'1_T  [rule 1: x'z is a kernel; of the indicator vectors 1_S, with 1_S(a) = 1 if a is in S, else 0]
    2. |S n T|  [the same number: both count the elements in S and in T, from 1]
    3. exp(|S n T|)  [rule 7: exp(k) is a kernel, from 2]
    """

    def form(self) -> Form:
        return Fused(forms.Identity(), (Dot(),), (Indicators(),))

    def formula(self) -> Formula:
        return Formula("|S n T|", r"|S \cap T|")

    def _prove(self, proof: Proof) -> int:
        inner = Formula("1_S'1_T", r"1_S^\top 1_T")
        step = proof.rule(1, inner, note="of the indicator vectors 1_S, with 1_S(a) = 1 if a is in S, else 0")
        return proof.axiom(self.formula(), "the same number: both count the elements in S and in T", step)
