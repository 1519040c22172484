"""The closure rules as kernels: each is built by an operator and proves itself from its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._checks import describe, is_number, refuse
from mercer.kernels import _form as forms
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._evaluate import diagonal
from mercer.kernels._form import Form, Fused, Mixed, Weighted, joined, mapped
from mercer.kernels._kernel import Kernel, power_degree
from mercer.kernels._views import Columns, RowStep, Transformed, n_rows


def _bracketed(kernel: Kernel, tighter: tuple[type, ...]) -> str:
    """Return a part's repr, in brackets if its operator binds less than the one around it."""
    return f"({kernel!r})" if isinstance(kernel, tighter) else repr(kernel)


@dataclass(frozen=True, eq=False, repr=False)
class SumKernel(Kernel):
    """k1 + k2 (rule 3)."""

    left: Kernel
    right: Kernel

    def form(self) -> Form:
        return joined(np.add, forms.Sum, self.left.form(), self.right.form())

    def formula(self) -> Formula:
        a, b = self.left.formula(), self.right.formula()
        return Formula(f"{a.text} + {b.text}", f"{a.latex} + {b.latex}", loose=True)

    def _prove(self, proof: Proof) -> int:
        return proof.rule(3, self.formula(), proof.of(self.left), proof.of(self.right))

    def __repr__(self) -> str:
        return f"{_number_or(self.left)} + {_bracketed_sum(self.right)}"


def _number_or(kernel: Kernel) -> str:
    return repr(kernel)


def _bracketed_sum(kernel: Kernel) -> str:
    return _bracketed(kernel, (SumKernel,))


@dataclass(frozen=True, eq=False, repr=False)
class ProductKernel(Kernel):
    """k1 k2 (rule 5)."""

    left: Kernel
    right: Kernel

    def form(self) -> Form:
        return joined(np.multiply, forms.Product, self.left.form(), self.right.form())

    def formula(self) -> Formula:
        a, b = self.left.formula().tight(), self.right.formula().tight()
        return Formula(f"{a.text} {b.text}", rf"{a.latex} \, {b.latex}")

    def _prove(self, proof: Proof) -> int:
        return proof.rule(5, self.formula(), proof.of(self.left), proof.of(self.right))

    def __repr__(self) -> str:
        right = _bracketed(self.right, (SumKernel, ProductKernel, ScaledKernel))
        return f"{_bracketed(self.left, (SumKernel,))} * {right}"


@dataclass(frozen=True, eq=False, repr=False)
class ScaledKernel(Kernel):
    """c k for c >= 0 (rule 2)."""

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        if not (is_number(self.factor) and np.isfinite(self.factor) and self.factor >= 0):
            refuse("kernel", "rule 2 allows c * k only for a finite c >= 0", describe(self.factor), "Use c >= 0.")

    def form(self) -> Form:
        c = float(self.factor)
        return mapped(lambda K: np.multiply(K, c, out=K), lambda rule: forms.Scale(c, rule), self.kernel.form())

    def formula(self) -> Formula:
        k = self.kernel.formula().tight()
        return Formula(f"{self.factor:g} {k.text}", rf"{self.factor:g} \, {k.latex}")

    def _prove(self, proof: Proof) -> int:
        return proof.rule(2, self.formula(), proof.of(self.kernel))

    def __repr__(self) -> str:
        return f"{self.factor!r} * {_bracketed(self.kernel, (SumKernel, ProductKernel, ScaledKernel))}"


@dataclass(frozen=True, eq=False, repr=False)
class PowerKernel(Kernel):
    """k ** n for an integer n >= 1 (rule 4)."""

    kernel: Kernel
    degree: int

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
        bracketed = _bracketed(self.kernel, (SumKernel, ProductKernel, ScaledKernel, PowerKernel))
        return f"{bracketed} ** {self.degree}"


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
            refuse(
                "polynomial", "rule 4 allows g(k) only for a polynomial g whose coefficients are all finite and >= 0",
                describe(list(self.coefficients)), "Drop the negative terms.",
            )  # fmt: skip  # message and remedy on a line each

    def form(self) -> Form:
        c = tuple(float(v) for v in self.coefficients)
        return mapped(lambda K: np.polynomial.polynomial.polyval(K, c), lambda rule: _horner(rule, c), self.kernel.form())

    def formula(self) -> Formula:
        k = self.kernel.formula().tight()
        texts = [_term(c, i, k.text) for i, c in enumerate(self.coefficients) if c]
        latexes = [_term(c, i, k.latex) for i, c in enumerate(self.coefficients) if c]
        return Formula(" + ".join(texts) or "0", " + ".join(latexes) or "0", loose=len(texts) > 1)

    def _prove(self, proof: Proof) -> int:
        return proof.rule(4, self.formula(), proof.of(self.kernel))

    def __repr__(self) -> str:
        return f"polynomial({self.kernel!r}, {list(self.coefficients)!r})"


def _horner(rule: Any, c: tuple[float, ...]) -> Any:
    if len(c) == 1:
        return forms.Constant(c[0])
    return forms.Sum(forms.Constant(c[0]), forms.Product(rule, _horner(rule, c[1:])))


def _term(c: float, i: int, k: str) -> str:
    power = "" if i == 0 else k if i == 1 else f"{k}^{{{i}}}" if "\\" in k else f"{k}^{i}"
    return f"{c:g}" if not power else power if c == 1 else f"{c:g} {power}"


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
    return PolynomialOf(kernel, coefficients)


@dataclass(frozen=True)
class _PerRow:
    """The factor f of a warped kernel as one number a row, checked."""

    f: Callable[[Any], Any]
    vectorized: bool

    def __call__(self, X: Any) -> np.ndarray:
        values = self.f(X) if self.vectorized else [self.f(x) for x in _rows(X)]
        array = np.asarray(values, dtype=np.float64)
        if array.shape != (n_rows(X),) or not np.isfinite(array).all():
            wanted = f"f must give one finite number for each of the {n_rows(X)} rows"
            refuse("warp", wanted, f"shape {array.shape}" if array.shape != (n_rows(X),) else "NaN or infinity")
        return array


def _rows(X: Any) -> Any:
    if hasattr(X, "iloc"):
        return (row for _, row in X.iterrows())
    return X if isinstance(X, (list, tuple)) else (X[i] for i in range(n_rows(X)))


@dataclass(frozen=True, eq=False, repr=False)
class Warped(Kernel):
    """f(x) k(x, z) f(z) for a real function f (rule 6)."""

    kernel: Kernel
    f: Callable[[Any], Any]
    vectorized: bool = False

    def form(self) -> Form:
        return Weighted(_PerRow(self.f, self.vectorized), self.kernel.form())

    def formula(self) -> Formula:
        k = self.kernel.formula().tight()
        name = getattr(self.f, "__name__", "f")
        name = "f" if name == "<lambda>" else name
        return Formula(f"{name}(x) {k.text} {name}(z)", rf"{name}(x) \, {k.latex} \, {name}(z)")

    def _prove(self, proof: Proof) -> int:
        return proof.rule(6, self.formula(), proof.of(self.kernel))

    def __repr__(self) -> str:
        flag = ", vectorized=True" if self.vectorized else ""
        return f"{_bracketed(self.kernel, _OPERATORS)}.warp({getattr(self.f, '__name__', self.f)}{flag})"


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
        return Formula(f"{k.text} / sqrt(k(x,x) k(z,z))", rf"{k.latex} \big/ \sqrt{{k(x,x)\,k(z,z)}}")

    def _prove(self, proof: Proof) -> int:
        return proof.rule(6, self.formula(), proof.of(self.kernel), note="f(x) = 1 / sqrt(k(x, x)), 0 where that is 0")

    def __repr__(self) -> str:
        return f"{_bracketed(self.kernel, _OPERATORS)}.normalized()"


@dataclass(frozen=True, eq=False, repr=False)
class _Viewed(Kernel):
    """A kernel of mapped points: k(t(x), t(z)) is a kernel since its Gram matrices are Gram matrices of k."""

    kernel: Kernel

    def _step(self) -> RowStep:
        raise NotImplementedError  # pragma: no cover - the two final classes below give it

    def form(self) -> Form:
        return _seen(self._step(), self.kernel.form())

    def resolve(self, X: Any) -> Self:
        import dataclasses

        inner = self.kernel.resolve(self._step().map(X))
        return self if inner is self.kernel else dataclasses.replace(self, kernel=inner)


@dataclass(frozen=True, eq=False, repr=False)
class OnColumns(_Viewed):
    """The kernel on some columns only."""

    columns: Any = ()

    def __post_init__(self) -> None:
        if not self._columns():
            refuse("kernel.on", "columns must name at least one column", describe(self.columns))

    def _columns(self) -> tuple[Any, ...]:
        if isinstance(self.columns, slice):
            if self.columns.stop is None:
                refuse("kernel.on", "a slice of columns must have an end", describe(self.columns))
            return tuple(range(self.columns.stop)[self.columns])
        return (self.columns,) if isinstance(self.columns, (str, int, np.integer)) else tuple(self.columns)

    def _step(self) -> RowStep:
        return Columns(self._columns())

    def formula(self) -> Formula:
        k = self.kernel.formula()
        which = ",".join(str(c) for c in self._columns())
        return Formula(f"[{k.text}] on columns {which}", rf"\left[{k.latex}\right]_{{{which}}}")

    def _prove(self, proof: Proof) -> int:
        return proof.axiom(self.formula(), "a kernel of mapped points: x -> x[columns]", proof.of(self.kernel))

    def __repr__(self) -> str:
        return f"{_bracketed(self.kernel, _OPERATORS)}.on({self.columns!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Of(_Viewed):
    """The kernel of transformed points."""

    transform: Any = None

    def __post_init__(self) -> None:
        if not callable(getattr(self.transform, "transform", self.transform)):
            refuse("kernel.of", "transform must be a function of rows or have a .transform", describe(self.transform))

    def _step(self) -> RowStep:
        return Transformed(self.transform)

    def formula(self) -> Formula:
        k = self.kernel.formula()
        return Formula(f"[{k.text}] at t(x), t(z)", rf"\left[{k.latex}\right]_{{t(x),\,t(z)}}")

    def _prove(self, proof: Proof) -> int:
        return proof.axiom(self.formula(), "a kernel of mapped points: x -> t(x)", proof.of(self.kernel))

    def __repr__(self) -> str:
        name = getattr(self.transform, "__name__", repr(self.transform))
        return f"{_bracketed(self.kernel, _OPERATORS)}.of({name})"


_OPERATORS = (SumKernel, ProductKernel, ScaledKernel, PowerKernel)


def _seen(step: RowStep, form: Form) -> Form:
    """Return a form with one more step before its views."""
    if isinstance(form, Fused):
        return Fused(form.rule, form.statistics, (step, *form.view)) if form.statistics else form
    if isinstance(form, Mixed):
        return Mixed(form.operation, tuple(_seen(step, part) for part in form.parts))
    if isinstance(form, Weighted):
        return Weighted(_After(step, form.factor), _seen(step, form.part))
    return forms.Called(_Pairwise(step, form.values), _After(step, form.diagonal))


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
