"""The Cauchy kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Fused
from mercer.kernels._kernel import Kernel
from mercer.kernels._metrics import check_scale, scale_view, squared
from mercer.kernels._scales import RULES, resolved
from mercer.kernels._statistics import Squares
from mercer.kernels.rational_quadratic import InverseRule, mixture


@dataclass(frozen=True, eq=False, repr=False)
class Cauchy(Kernel):
    """k(x, z) = 1 / (1 + |x - z|^2 / scale^2).

    Parameters
    ----------
    scale : float, array or str
        As for `Gaussian`.

    Examples
    --------
    >>> from mercer.kernels import Cauchy
    >>> Cauchy(scale=2.0)([[0.0]], [[4.0]])
    array([[0.2]])
    """

    scale: Any = 1.0

    def __post_init__(self) -> None:
        check_scale("Cauchy", self.scale, RULES)

    def resolve(self, X: Any) -> Self:
        return resolved(self, X)

    def form(self) -> Form:
        view, gamma = scale_view("Cauchy", self.scale)
        return Fused(InverseRule(gamma), (Squares(),), view)

    def formula(self) -> Formula:
        t = squared(self.scale)
        return Formula(f"1/(1 + {t.text})", rf"\frac{{1}}{{1 + {t.latex}}}")

    def _prove(self, proof: Proof) -> int:
        return mixture(proof, self.formula(), squared(self.scale), "exp(-u)")
