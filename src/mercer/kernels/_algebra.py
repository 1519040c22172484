"""The closure rules as kernels: each is built by an operator and proves itself from its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._checks import describe, is_number, refuse
from mercer.kernels import _form as forms
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Weighted, added, mapped, multiplied
from mercer.kernels._kernel import Kernel, power_degree
from mercer.kernels._values import ATOM, POWER, PRODUCT, SUM, bracketed, shown
from mercer.kernels.constant import Constant


@dataclass(frozen=True, eq=False, repr=False)
class SumKernel(Kernel):
    """k1 + k2 (rule 3)."""

    left: Kernel
    right: Kernel
    _binds: ClassVar[int] = SUM

    def form(self) -> Form:
        return added(self.left.form(), self.right.form())

    def formula(self) -> Formula:
        a, b = self.left.formula(), self.right.formula()
        return Formula(f"{a.text} + {b.text}", f"{a.latex} + {b.latex}", loose=True)

    def _prove(self, proof: Proof) -> int:
        return proof.rule(3, self.formula(), proof.of(self.left), proof.of(self.right))

    def __repr__(self) -> str:
        right = shown(self.right.value) if isinstance(self.right, Constant) else bracketed(self.right, PRODUCT)
        if isinstance(self.left, Constant) and not isinstance(self.right, Constant):
            return f"{shown(self.left.value)} + {right}"
        return f"{self.left!r} + {right}"


@dataclass(frozen=True, eq=False, repr=False)
class ProductKernel(Kernel):
    """k1 k2 (rule 5)."""

    left: Kernel
    right: Kernel
    _binds: ClassVar[int] = PRODUCT

    def form(self) -> Form:
        return multiplied(self.left.form(), self.right.form())

    def formula(self) -> Formula:
        a, b = self.left.formula().tight(), self.right.formula().tight()
        return Formula(f"{a.text} {b.text}", rf"{a.latex} \, {b.latex}")

    def _prove(self, proof: Proof) -> int:
        return proof.rule(5, self.formula(), proof.of(self.left), proof.of(self.right))

    def __repr__(self) -> str:
        return f"{bracketed(self.left, PRODUCT)} * {bracketed(self.right, POWER)}"


@dataclass(frozen=True, eq=False, repr=False)
class ScaledKernel(Kernel):
    """c k for c >= 0 (rule 2)."""

    factor: float
    kernel: Kernel
    _binds: ClassVar[int] = PRODUCT

    def __post_init__(self) -> None:
        if not (is_number(self.factor) and np.isfinite(self.factor) and self.factor >= 0):
            refuse("kernel", "rule 2 allows c * k only for a finite c >= 0", describe(self.factor), "Use c >= 0.")

    def form(self) -> Form:
        return _scaled(float(self.factor), self.kernel.form())

    def formula(self) -> Formula:
        k = self.kernel.formula().tight()
        return Formula(f"{self.factor:g} {k.text}", rf"{self.factor:g} \, {k.latex}")

    def _prove(self, proof: Proof) -> int:
        return proof.rule(2, self.formula(), proof.of(self.kernel))

    def __repr__(self) -> str:
        return f"{shown(self.factor)} * {bracketed(self.kernel, POWER)}"


def _scaled(c: float, form: Form) -> Form:
    if isinstance(form, Weighted):
        return Weighted(form.factor, _scaled(c, form.part))
    return mapped(lambda K: np.multiply(K, c, out=K), lambda rule: forms.Scale(c, rule), form)


@dataclass(frozen=True, eq=False, repr=False)
class PowerKernel(Kernel):
    """k ** n for an integer n >= 1 (rule 4)."""

    kernel: Kernel
    degree: int
    _binds: ClassVar[int] = POWER

    def __post_init__(self) -> None:
        power_degree("kernel", self.degree)

    def form(self) -> Form:
        n = int(self.degree)
        return mapped(lambda K: np.power(K, n, out=K), lambda rule: power_rule(rule, n), self.kernel.form())

    def formula(self) -> Formula:
        k = self.kernel.formula()
        return Formula(f"({k.text})^{self.degree}", rf"\left({k.latex}\right)^{{{self.degree}}}")

    def _prove(self, proof: Proof) -> int:
        return proof.rule(4, self.formula(), proof.of(self.kernel), note=f"g(t) = t^{self.degree}")

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, ATOM)} ** {shown(self.degree)}"


def power_rule(rule: Any, n: int) -> Any:
    """Return rule to the n by repeated squaring; common parts are computed once by the compiler."""
    if n == 1:
        return rule
    half = forms.Square(power_rule(rule, n // 2))
    return forms.Product(half, rule) if n % 2 else half


@dataclass(frozen=True, eq=False, repr=False)
class PolynomialOf(Kernel):
    """c_0 + c_1 k + c_2 k^2 + ... with all c >= 0 (rule 4)."""

    kernel: Kernel
    coefficients: Sequence[float]

    def __post_init__(self) -> None:
        ok = len(self.coefficients) > 0 and all(is_number(c) and np.isfinite(c) and c >= 0 for c in self.coefficients)
        if not ok:
            wanted = "rule 4 allows g(k) only for a polynomial g whose coefficients are all finite and >= 0"
            refuse("polynomial", wanted, describe(list(self.coefficients)), "Drop the negative terms.")

    def form(self) -> Form:
        c = tuple(float(v) for v in self.coefficients)
        values = np.polynomial.polynomial.polyval
        return mapped(lambda K: values(K, c), lambda rule: _horner(rule, c), self.kernel.form())

    def formula(self) -> Formula:
        k = self.kernel.formula().tight()
        texts = [_term(c, i, k.text, f"({k.text})^{i}") for i, c in enumerate(self.coefficients) if c]
        latexes = [
            _term(c, i, k.latex, rf"\left({k.latex}\right)^{{{i}}}") for i, c in enumerate(self.coefficients) if c
        ]
        return Formula(" + ".join(texts) or "0", " + ".join(latexes) or "0", loose=len(texts) > 1)

    def _prove(self, proof: Proof) -> int:
        return proof.rule(4, self.formula(), proof.of(self.kernel))

    def __repr__(self) -> str:
        return f"polynomial({self.kernel!r}, {shown(list(self.coefficients))})"


def _horner(rule: Any, c: tuple[float, ...]) -> Any:
    if len(c) == 1:
        return forms.Constant(c[0])
    return forms.Sum(forms.Constant(c[0]), forms.Product(rule, _horner(rule, c[1:])))


def _term(c: float, i: int, k: str, power: str) -> str:
    if i == 0:
        return f"{c:g}"
    name = k if i == 1 else power
    return name if c == 1 else f"{c:g} {name}"


@dataclass(frozen=True, eq=False, repr=False)
class ExpKernel(Kernel):
    """exp(k) (rule 7)."""

    kernel: Kernel

    def form(self) -> Form:
        return mapped(lambda K: np.exp(K, out=K), forms.Exp, self.kernel.form())

    def formula(self) -> Formula:
        k = self.kernel.formula()
        return Formula(f"exp({k.text})", rf"\exp\left({k.latex}\right)")

    def _prove(self, proof: Proof) -> int:
        return proof.rule(7, self.formula(), proof.of(self.kernel))

    def __repr__(self) -> str:
        return f"exp({self.kernel!r})"


def exp(kernel: Kernel) -> Kernel:
    """Return the kernel exp(k(x, z)) (rule 7: a limit of polynomials with coefficients >= 0).

    Examples
    --------
    >>> from mercer.kernels import Linear, exp
    >>> exp(0.5 * Linear())
    exp(0.5 * Linear())
    """
    if not isinstance(kernel, Kernel):
        refuse("exp", "rule 7 is about a kernel", describe(kernel), "Use numpy.exp for numbers.", TypeError)
    return ExpKernel(kernel)


def polynomial(kernel: Kernel, coefficients: Sequence[float]) -> Kernel:
    """Return g(k) = c_0 + c_1 k + c_2 k^2 + ... for coefficients c >= 0, lowest first (rule 4).

    Examples
    --------
    >>> from mercer.kernels import Linear, polynomial
    >>> polynomial(Linear(), [1, 0, 2])([[1.0]], [[3.0]])
    array([[19.]])
    """
    if not isinstance(kernel, Kernel):
        refuse("polynomial", "rule 4 is about a kernel", describe(kernel), "Give a kernel first.", TypeError)
    return PolynomialOf(kernel, coefficients)
