"""The rational quadratic kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from mercer._checks import positive
from mercer._rules import const
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Fused, profile
from mercer.kernels._kernel import Kernel
from mercer.kernels._metrics import check_scale, scale_view, squared
from mercer.kernels._scales import RULES, resolved
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
        return resolved(self, X)

    def form(self) -> Form:
        view, gamma = scale_view("RationalQuadratic", self.scale)
        if self.alpha == 1:
            return Fused(InverseRule(gamma), (Squares(),), view)
        return Fused(InversePowerRule(gamma / float(self.alpha), float(self.alpha)), (Squares(),), view)

    def formula(self) -> Formula:
        a, t = f"{self.alpha:g}", squared(self.scale)
        over = "" if a == "1" else f"/{a}"
        return Formula(f"(1 + {t.text}{over})^-{a}", rf"\left(1 + {t.latex}{over}\right)^{{-{a}}}")

    def _prove(self, proof: Proof) -> int:
        t, a = squared(self.scale), float(self.alpha)
        return mixture(proof, self.formula(), t, f"u^{a - 1:g} exp(-{a:g} u)")


def mixture(proof: Proof, claim: Formula, t: Formula, weight: str) -> int:
    """Prove a mixture of Gaussians by Schoenberg's theorem."""
    gaussian = Formula(f"exp(-u {t.text})", rf"\exp\left(-u \, {t.latex}\right)")
    first = proof.axiom(gaussian, "a Gaussian, for each u >= 0 (rules 1, 2, 7, 6)")
    reason = f"Schoenberg: a mixture of Gaussians over u >= 0 with weights in proportion to {weight} >= 0"
    return proof.axiom(claim, reason, first)
