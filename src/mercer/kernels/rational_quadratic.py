"""The rational quadratic kernel."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from mercer._checks import positive, refuse
from mercer._rules import const
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Fused, profile
from mercer.kernels._kernel import Kernel
from mercer.kernels._metrics import check_scale, scale_view
from mercer.kernels._scales import RULES, scale_from_data
from mercer.kernels._statistics import Squares


class InverseRule(NamedTuple):
    """1 / (1 + gamma t)."""

    gamma: Any


class InversePowerRule(NamedTuple):
    """(1 + gamma t)^-alpha."""

    gamma: Any
    alpha: Any


@profile.rule(InverseRule)
def _(p: Any, s: Any, t: Any) -> Any:
    return const(1.0, t) / (const(1.0, t) + p.gamma * t)


@profile.rule(InversePowerRule)
def _(p: Any, s: Any, t: Any) -> Any:
    return (const(1.0, t) + p.gamma * t) ** -p.alpha


@dataclass(frozen=True, eq=False, repr=False)
class RationalQuadratic(Kernel):
    """k(x, z) = (1 + |x - z|^2 / (alpha scale^2))^-alpha; as alpha grows, the Gaussian of the same scale.

    Parameters
    ----------
    alpha : float
        How heavy the tail is; > 0.
    scale : float, array or str
        As for `Gaussian`.

    Examples
    --------
    >>> from mercer.kernels import RationalQuadratic
    >>> RationalQuadratic(alpha=1.0, scale=2.0)([[0.0]], [[2.0]])
    array([[0.5]])
    """

    alpha: float = 1.0
    scale: Any = 1.0

    def __post_init__(self) -> None:
        positive("RationalQuadratic", "alpha", self.alpha)
        check_scale("RationalQuadratic", self.scale, RULES)

    def resolve(self, X: Any) -> Self:
        if not isinstance(self.scale, str):
            return self
        return dataclasses.replace(self, scale=scale_from_data("RationalQuadratic", self.scale, X))

    def form(self) -> Form:
        if isinstance(self.scale, str):
            refuse("RationalQuadratic", "'scale' must be a number where the kernel is used", repr(self.scale), "Call k.resolve(X).")
        view, gamma = scale_view("RationalQuadratic", "scale", self.scale)
        if self.alpha == 1:
            return Fused(InverseRule(gamma), (Squares(),), view)
        return Fused(InversePowerRule(gamma / self.alpha, float(self.alpha)), (Squares(),), view)

    def formula(self) -> Formula:
        a = f"{self.alpha:g}"
        return Formula(f"(1 + |x - z|^2/({a} scale^2))^-{a}", rf"\left(1 + \lVert x-z\rVert^2/({a}\sigma^2)\right)^{{-{a}}}")

    def _prove(self, proof: Proof) -> int:
        return proof.axiom(
            self.formula(),
            "Schoenberg: a mixture of Gaussians exp(-u |x-z|^2) with weights u^(alpha-1) exp(-alpha scale^2 u) >= 0",
        )
