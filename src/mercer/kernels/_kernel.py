"""The kernel: a value that knows its formula, its proof, its form, and how to be combined with others."""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from mercer._checks import describe, integer, is_number, refuse
from mercer.kernels._derivation import Derivation, Formula, Proof
from mercer.kernels._evaluate import evaluate
from mercer.kernels._form import Form
from mercer.kernels._values import ATOM, frozen, shown


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Kernel(ABC):
    """A positive definite kernel k(x, z): immutable, compared by value, combined by closure rules.

    ``3 * k``, ``k1 + k2``, ``k1 * k2``, ``k ** 3``, ``exp(k)``, ``polynomial(k, [..])``, ``k.warp(f)``,
    ``k.normalized()``, ``k.on(columns)`` and ``k.of(transform)`` are kernels again, and each knows its proof.
    A step that breaks a rule is refused with an error that names the rule.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> k = 0.5 * Gaussian(scale=2.0) + Linear()
    >>> k
    0.5 * Gaussian(scale=2.0) + Linear()
    >>> k([[0.0, 1.0]], [[0.0, 1.0]])
    array([[1.5]])
    """

    _binds: ClassVar[int] = ATOM  # how tightly the printed form holds together

    # ------------------------------------------------------------ what each kernel says of itself

    @abstractmethod
    def form(self) -> Form:
        """Return what is computed, for the Gram engine."""

    @abstractmethod
    def formula(self) -> Formula:
        """Return k(x, z) as text and LaTeX."""

    @abstractmethod
    def _prove(self, proof: Proof) -> int:
        """Write the steps that make this a kernel; return the number of the last."""

    # ------------------------------------------------------------ what follows

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the matrix k(x_i, y_j) in float64, by the plain rules (for large data use ``gram``)."""
        return evaluate(self.resolve(X).form() if Y is None else self.form(), X, Y)

    def derivation(self) -> Derivation:
        """Return the proof that this is a kernel, step by step, each naming its rule or axiom."""
        proof = Proof()
        proof.of(self)
        return Derivation(tuple(proof.lines))

    def resolve(self, X: Any) -> Self:
        """Return the kernel with parameters that come from data (``scale="median"``) turned into numbers."""
        parts = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        resolved = {name: p.resolve(X) for name, p in parts.items() if isinstance(p, Kernel)}
        changed = {name: p for name, p in resolved.items() if p is not parts[name]}
        return dataclasses.replace(self, **changed) if changed else self

    def warp(self, f: Callable[[Any], float], *, vectorized: bool = False) -> Kernel:
        """Return f(x) k(x, z) f(z) (rule 6), f a real function of one point (of a block of rows if vectorized)."""
        from mercer.kernels._warped import Warped

        return Warped(self, f, vectorized)

    def normalized(self) -> Kernel:
        """Return k(x, z) / sqrt(k(x, x) k(z, z)) (rule 6); 0 where k(x, x) is 0."""
        from mercer.kernels._warped import Normalized

        return Normalized(self)

    def on(self, columns: Any) -> Kernel:
        """Return the kernel that looks only at some columns: positions, or names in a DataFrame."""
        from mercer.kernels._viewed import OnColumns

        return OnColumns(self, columns)

    def of(self, transform: Any) -> Kernel:
        """Return k(t(x), t(z)), t a function of a block of rows or an object with ``transform``."""
        from mercer.kernels._viewed import Of

        return Of(self, transform)

    # ------------------------------------------------------------ scikit-learn's protocol

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with deep, also those of inner kernels as ``part__name``."""
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        inner = {n: p.get_params() for n, p in own.items() if deep and isinstance(p, Kernel)}
        return own | {f"{n}__{k}": v for n, ps in inner.items() for k, v in ps.items()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters in place, as scikit-learn's searches do on their own clones; elsewhere build a new kernel."""
        before = dict(self.__dict__)
        try:
            for name in sorted(params, key=lambda n: n.count("__")):  # a new part first, then what is set inside it
                self._set(name, params[name])
            self.__post_init__()
        except Exception:
            self.__dict__.update(before)
            raise
        return self

    def _set(self, name: str, value: Any) -> None:
        head, _, rest = name.partition("__")
        known = [f.name for f in dataclasses.fields(self)]
        if head not in known:
            refuse(type(self).__name__, f"its parameters are {', '.join(known) or 'none'}", repr(name))
        if not rest:
            object.__setattr__(self, head, value)
        elif isinstance(part := getattr(self, head), Kernel):
            part.set_params(**{rest: value})
        else:
            refuse(type(self).__name__, f"'{head}' must be a kernel to have parameters of its own", repr(name))

    def __post_init__(self) -> None:  # noqa: B027  # nothing to check is a fine answer
        """Check the parameters; kernels that have any override this."""

    # ------------------------------------------------------------ the algebra

    def __add__(self, other: Any) -> Kernel:
        from mercer.kernels._algebra import SumKernel

        return SumKernel(self, _lifted(other, "k + c")) if _fits(other) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        from mercer.kernels._algebra import SumKernel

        return SumKernel(_lifted(other, "c + k"), self) if _fits(other) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        from mercer.kernels._algebra import ProductKernel, ScaledKernel

        if is_number(other):
            return ScaledKernel(other, self)
        return ProductKernel(self, other) if isinstance(other, Kernel) else NotImplemented

    def __rmul__(self, other: Any) -> Kernel:
        return self * other if is_number(other) else NotImplemented

    def __truediv__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            refuse("kernel", "no closure rule covers a quotient of kernels", "k1 / k2", "Use k1 * k2, or k.warp(f).")
        return self * (1.0 / other) if is_number(other) else NotImplemented

    def __pow__(self, degree: Any) -> Kernel:
        from mercer.kernels._algebra import PowerKernel

        return PowerKernel(self, degree)

    def __sub__(self, other: Any) -> Kernel:
        refuse(
            "kernel", "no closure rule covers a difference of kernels", "k1 - k2",
            "Rules 2 and 3 add kernels with coefficients >= 0; use Custom(...) and check_psd to test the difference.",
        )  # fmt: skip  # message and remedy on a line each

    def __rsub__(self, other: Any) -> Kernel:
        return self - other

    def __neg__(self) -> Kernel:
        return -1 * self

    # ------------------------------------------------------------ value semantics

    def _key(self) -> tuple[Any, ...]:
        return (type(self), *(frozen(getattr(self, f.name)) for f in dataclasses.fields(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        values = {f.name: (getattr(self, f.name), f.default) for f in dataclasses.fields(self)}
        given = {n: v for n, (v, default) in values.items() if n == "scale" or frozen(v) != frozen(default)}
        return f"{type(self).__name__}({', '.join(f'{name}={shown(value)}' for name, value in given.items())})"

    def __sklearn_clone__(self) -> Self:
        """Return a copy whose inner kernels are copies too; data, functions and transformers are shared."""
        twin = copy.copy(self)
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Kernel):
                object.__setattr__(twin, f.name, value.__sklearn_clone__())
        return twin


def _fits(other: Any) -> bool:
    return isinstance(other, Kernel) or is_number(other)


def _lifted(other: Any, what: str) -> Kernel:
    """Return a kernel for a kernel or a number >= 0."""
    from mercer.kernels.constant import Constant

    if isinstance(other, Kernel):
        return other
    if not (other >= 0 and np.isfinite(other)):
        refuse("kernel", f"rules 2 and 3 allow {what} only for c >= 0", f"c = {other}", "Add a constant >= 0.")
    return Constant(other)


def power_degree(who: str, degree: Any) -> int:
    """Return a degree as an int >= 1; refuse others, naming the rule."""
    if not isinstance(degree, (int, np.integer)) or isinstance(degree, bool) or degree < 1:
        refuse(who, "rule 4 (and 5) allow k ** n only for an integer n >= 1", describe(degree), "Use an integer power.")
    return integer(who, "degree", degree, 1)
