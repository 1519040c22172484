"""Kernels of mapped points: k(t(x), t(z)), with t a choice of columns or any transform."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._checks import describe, refuse
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Called, Form, Fused, Mixed, Weighted
from mercer.kernels._kernel import Kernel
from mercer.kernels._values import ATOM, bracketed, shown
from mercer.kernels._views import Columns, RowStep, Transformed


@dataclass(frozen=True, eq=False, repr=False)
class _Viewed(Kernel):
    """A kernel of mapped points is one, since its Gram matrices are Gram matrices of k."""

    kernel: Kernel

    @abstractmethod
    def _step(self) -> RowStep:
        """Return the map of a block of rows."""

    def form(self) -> Form:
        return _seen(self._step(), self.kernel.form())

    def resolve(self, X: Any) -> Self:
        # What waits for data is a string; where there is none, the map is not run for nothing.
        if not any(isinstance(value, str) for value in self.kernel.get_params().values()):
            return self
        return dataclasses.replace(self, kernel=self.kernel.resolve(self._step().map(X)))


@dataclass(frozen=True, eq=False, repr=False)
class OnColumns(_Viewed):
    """The kernel on some columns only."""

    columns: Any = ()

    def __post_init__(self) -> None:
        if not self._columns():
            refuse("kernel.on", "columns must name at least one column", describe(self.columns), "Give k.on([0, 1]).")

    def _columns(self) -> tuple[Any, ...]:
        columns = self.columns
        if isinstance(columns, slice):
            if columns.stop is None or columns.stop < 0 or (columns.start or 0) < 0:
                wanted = "a slice of columns must have a start and an end >= 0"
                refuse("kernel.on", wanted, describe(columns), "Give slice(0, 3).")
            return tuple(range(columns.stop)[columns])
        columns = (columns,) if isinstance(columns, (str, int, np.integer)) else tuple(columns)
        negative = [c for c in columns if isinstance(c, (int, np.integer)) and c < 0]
        if negative:
            refuse("kernel.on", "columns must be names or positions >= 0", describe(negative[0]), "Count from 0.")
        return columns

    def _step(self) -> RowStep:
        return Columns(self._columns())

    def formula(self) -> Formula:
        k = self.kernel.formula()
        which = ",".join(str(c) for c in self._columns())
        latex = which.replace("_", r"\_")
        return Formula(f"[{k.text}] on columns {which}", rf"\left[{k.latex}\right]_{{{latex}}}", loose=True)

    def _prove(self, proof: Proof) -> int:
        return proof.axiom(self.formula(), "a kernel of mapped points: x -> x[columns]", proof.of(self.kernel))

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, ATOM)}.on({shown(self.columns)})"


@dataclass(frozen=True, eq=False, repr=False)
class Of(_Viewed):
    """The kernel of transformed points."""

    transform: Any = None

    def __post_init__(self) -> None:
        if not callable(getattr(self.transform, "transform", self.transform)):
            wanted = "transform must be a function of a block of rows or have .transform"
            refuse("kernel.of", wanted, describe(self.transform), "Give k.of(np.log1p).")

    def _step(self) -> RowStep:
        return Transformed(self.transform)

    def formula(self) -> Formula:
        k = self.kernel.formula()
        return Formula(f"[{k.text}] at t(x), t(z)", rf"\left[{k.latex}\right]_{{t(x),\,t(z)}}", loose=True)

    def _prove(self, proof: Proof) -> int:
        return proof.axiom(self.formula(), "a kernel of mapped points: x -> t(x)", proof.of(self.kernel))

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, ATOM)}.of({shown(self.transform)})"


def _seen(step: RowStep, form: Form) -> Form:
    """Return a form with one more step before its views."""
    if isinstance(form, Fused):
        return Fused(form.rule, form.statistics, (step, *form.view)) if form.statistics else form
    if isinstance(form, Mixed):
        return Mixed(form.operation, tuple(_seen(step, part) for part in form.parts))
    if isinstance(form, Weighted):
        return Weighted(_After(step, form.factor), _seen(step, form.part))
    return Called(_Pairwise(step, form.values), _After(step, form.diagonal))


@dataclass(frozen=True)
class _After:
    """A function of rows, after a step."""

    step: RowStep
    function: Callable[[Any], np.ndarray]

    def __call__(self, X: Any) -> np.ndarray:
        return self.function(self.step.map(X))


@dataclass(frozen=True)
class _Pairwise:
    """A function of two blocks of rows, after a step."""

    step: RowStep
    function: Callable[[Any, Any], np.ndarray]

    def __call__(self, X: Any, Y: Any) -> np.ndarray:
        return self.function(self.step.map(X), self.step.map(Y))
