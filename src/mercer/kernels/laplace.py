"""The Laplace kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import ExpMinus, Form, Fused
from mercer.kernels._kernel import Kernel
from mercer.kernels._metrics import check_scale, distance, scale_view
from mercer.kernels._scales import RULES, resolved
from mercer.kernels._statistics import Manhattan


@dataclass(frozen=True, eq=False, repr=False)
class Laplace(Kernel):
    """k(x, z) = exp(-|x - z|_1 / scale), with |.|_1 the sum of absolute values.

    Parameters
    ----------
    scale : float, array or str
        A length, or a vector of one length a column; or a rule that is resolved from data: ``"median"`` (the median
        of |x - z|_1), ``"scale"`` or ``"auto"`` (1 / gamma for scikit-learn's gamma of the same name).

    Notes
    -----
    scikit-learn's gamma is 1 / scale. For exp(-|x - z|_2 / scale) use ``Matern(nu=0.5)``.

    Examples
    --------
    >>> from mercer.kernels import Laplace
    >>> Laplace(scale=2.0)([[0.0, 0.0]], [[1.0, -1.0]]).round(4)
    array([[0.3679]])
    """

    scale: Any = 1.0

    def __post_init__(self) -> None:
        check_scale("Laplace", self.scale, RULES, matrix=False)

    def resolve(self, X: Any) -> Self:
        return resolved(self, X, "cityblock")

    def form(self) -> Form:
        view, gamma = scale_view("Laplace", self.scale, power=1)
        return Fused(ExpMinus(gamma), (Manhattan(),), view)

    def formula(self) -> Formula:
        r = distance(self.scale, norm="1")
        return Formula(f"exp(-{r.text})", rf"\exp\left(-{r.latex}\right)")

    def _prove(self, proof: Proof) -> int:
        one = Formula("exp(-|x_j - z_j|/scale)", r"\exp\left(-|x_j - z_j|/\sigma\right)")
        first = proof.axiom(one, "Bochner: the Fourier transform of a Cauchy density, which is >= 0, for each column j")
        return proof.rule(5, self.formula(), first, note="the product over the columns")
