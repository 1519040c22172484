"""The polynomial kernel, in both of its usual forms."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

from mercer._checks import number, positive, refuse
from mercer.kernels._algebra import PowerKernel, ScaledKernel
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form
from mercer.kernels._kernel import Kernel, power_degree
from mercer.kernels._scales import gamma_from_data
from mercer.kernels.constant import Constant
from mercer.kernels.linear import Linear


@dataclass(frozen=True, eq=False, repr=False)
class Polynomial(Kernel):
    """k(x, z) = (gamma x'z + inner)^degree + outer.

    The two forms one meets are (1 + x'z)^d, which is ``Polynomial(d)``, and (x'z)^a + p, which is
    ``Polynomial(a, inner=0, outer=p)``.

    Parameters
    ----------
    degree : int
        The power, >= 1.
    inner, outer : float
        The offsets before and after the power, >= 0.
    gamma : float or str
        The factor of x'z, > 0; ``"scale"`` or ``"auto"`` (scikit-learn's gamma of the same name) is resolved from data.

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> Polynomial(3)([[1.0, 2.0]], [[3.0, 0.0]])
    array([[64.]])
    >>> Polynomial(2, inner=0, outer=5)([[1.0, 2.0]], [[3.0, 0.0]])
    array([[14.]])
    """

    degree: int = 2
    inner: float = 1.0
    outer: float = 0.0
    gamma: Any = 1.0

    def __post_init__(self) -> None:
        power_degree("Polynomial", self.degree)
        number("Polynomial", "inner", self.inner, 0.0)
        number("Polynomial", "outer", self.outer, 0.0)
        if not isinstance(self.gamma, str):
            positive("Polynomial", "gamma", self.gamma)
        elif self.gamma not in ("scale", "auto"):
            refuse(
                "Polynomial",
                "'gamma' must be a positive number, 'scale' or 'auto'",
                repr(self.gamma),
                "Give gamma > 0.",
            )

    def resolve(self, X: Any) -> Self:
        if not isinstance(self.gamma, str):
            return self
        return dataclasses.replace(self, gamma=gamma_from_data("Polynomial", self.gamma, X))

    def form(self) -> Form:
        if isinstance(self.gamma, str):
            wanted = "'gamma' must be a number where the kernel is used"
            refuse("Polynomial", wanted, repr(self.gamma), "Call k.resolve(X) first.")
        core = Linear() if self.gamma == 1 else ScaledKernel(self.gamma, Linear())
        power = PowerKernel(core + self.inner if self.inner else core, self.degree)
        return (power + self.outer if self.outer else power).form()

    def formula(self) -> Formula:
        power = self._power()
        if not self.outer:
            return power
        return Formula(f"{power.text} + {self.outer:g}", f"{power.latex} + {self.outer:g}", loose=True)

    def _core(self) -> Formula:
        text, latex = ("gamma", r"\gamma") if isinstance(self.gamma, str) else (f"{self.gamma:g}",) * 2
        k = Linear().formula()
        return k if text == "1" else Formula(f"{text} {k.text}", rf"{latex} \, {k.latex}")

    def _sum(self) -> Formula:
        core = self._core()
        return Formula(f"{self.inner:g} + {core.text}", f"{self.inner:g} + {core.latex}") if self.inner else core

    def _power(self) -> Formula:
        base = self._sum()
        return Formula(f"({base.text})^{self.degree}", rf"\left({base.latex}\right)^{{{self.degree}}}")

    def _prove(self, proof: Proof) -> int:
        step = proof.of(Linear())
        if self.gamma != 1:
            step = proof.rule(2, self._core(), step)
        if self.inner:
            step = proof.rule(3, self._sum(), proof.of(Constant(self.inner)), step)
        step = proof.rule(4, self._power(), step, note=f"g(t) = t^{self.degree}")
        return proof.rule(3, self.formula(), step, proof.of(Constant(self.outer))) if self.outer else step
