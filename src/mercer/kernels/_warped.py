"""Rule 6 as kernels: f(x) k(x, z) f(z), and the f that makes every k(x, x) one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._checks import describe, refuse
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._evaluate import diagonal
from mercer.kernels._form import Form, Weighted
from mercer.kernels._kernel import Kernel
from mercer.kernels._values import ATOM, bracketed
from mercer.kernels._views import n_rows, points


@dataclass(frozen=True)
class _PerRow:
    """The factor f of a warped kernel as one number a row, checked."""

    f: Callable[[Any], Any]
    vectorized: bool

    def __call__(self, X: Any) -> np.ndarray:
        values = self.f(X) if self.vectorized else [self.f(x) for x in points(X)]
        array = np.asarray(values, dtype=np.float64)
        if array.shape != (n_rows(X),) or not np.isfinite(array).all():
            wanted = f"f must give one finite number for each of the {n_rows(X)} rows"
            got = f"shape {array.shape}" if array.shape != (n_rows(X),) else "NaN or infinity"
            refuse("kernel.warp", wanted, got, "Pass vectorized=True if f takes a block of rows.")
        return array


@dataclass(frozen=True, eq=False, repr=False)
class Warped(Kernel):
    """f(x) k(x, z) f(z) for a real function f (rule 6)."""

    kernel: Kernel
    f: Callable[[Any], Any]
    vectorized: bool = False

    def __post_init__(self) -> None:
        if not callable(self.f):
            refuse("kernel.warp", "rule 6 needs a function f of a point", describe(self.f), "For a number use c * k.")

    def form(self) -> Form:
        return Weighted(_PerRow(self.f, self.vectorized), self.kernel.form())

    def formula(self) -> Formula:
        k = self.kernel.formula().tight()
        name = getattr(self.f, "__name__", "f")
        name = "f" if name == "<lambda>" else name
        latex = rf"\mathrm{{{name}}}".replace("_", r"\_") if len(name) > 1 else name
        return Formula(f"{name}(x) {k.text} {name}(z)", rf"{latex}(x) \, {k.latex} \, {latex}(z)")

    def _prove(self, proof: Proof) -> int:
        return proof.rule(6, self.formula(), proof.of(self.kernel))

    def __repr__(self) -> str:
        flag = ", vectorized=True" if self.vectorized else ""
        return f"{bracketed(self.kernel, ATOM)}.warp({getattr(self.f, '__name__', self.f)}{flag})"


@dataclass(frozen=True)
class _InverseRoot:
    """1 / sqrt(k(x, x)) for each row, 0 where k(x, x) is not positive."""

    form: Form

    def __call__(self, X: Any) -> np.ndarray:
        d = diagonal(self.form, X)
        positive = d > 0
        return np.where(positive, 1 / np.sqrt(np.where(positive, d, 1.0)), 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Normalized(Kernel):
    """k(x, z) / sqrt(k(x, x) k(z, z)) (rule 6)."""

    kernel: Kernel

    def form(self) -> Form:
        part = self.kernel.form()
        return Weighted(_InverseRoot(part), part)

    def formula(self) -> Formula:
        k = self.kernel.formula().tight()
        return Formula(f"{k.text} / sqrt(k(x,x) k(z,z))", rf"{k.latex} \big/ \sqrt{{k(x,x)\,k(z,z)}}", loose=True)

    def _prove(self, proof: Proof) -> int:
        return proof.rule(6, self.formula(), proof.of(self.kernel), note="f(x) = 1/sqrt(k(x,x)), or 0 where that is 0")

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, ATOM)}.normalized()"
