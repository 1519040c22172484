"""The chi-squared kernel of histograms."""

from __future__ import annotations

from dataclasses import dataclass

from mercer._checks import positive
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import ExpMinus, Form, Fused
from mercer.kernels._histograms import NonNegative
from mercer.kernels._kernel import Kernel
from mercer.kernels._statistics import ChiSquares


@dataclass(frozen=True, eq=False, repr=False)
class Chi2(Kernel):
    """k(x, z) = exp(-sum_j (x_j - z_j)^2 / (x_j + z_j) / scale) for x, z >= 0; a term where both are 0 is 0.

    Parameters
    ----------
    scale : float
        > 0; scikit-learn's gamma is 1 / scale.

    Examples
    --------
    >>> from mercer.kernels import Chi2
    >>> Chi2(scale=2.0)([[0.0, 1.0]], [[1.0, 0.0]]).round(4)
    array([[0.3679]])
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        positive("Chi2", "scale", self.scale)

    def form(self) -> Form:
        return Fused(ExpMinus(1.0 / float(self.scale)), (ChiSquares(),), (NonNegative("Chi2"),))

    def formula(self) -> Formula:
        s = "" if self.scale == 1 else f"/{self.scale:g}"
        latex = rf"\exp\left(-\textstyle\sum_j \frac{{(x_j-z_j)^2}}{{x_j+z_j}}{s}\right)"
        return Formula(f"exp(-sum_j (x_j - z_j)^2/(x_j + z_j){s})", latex)

    def _prove(self, proof: Proof) -> int:
        c = f"{4 / self.scale:g}"
        one = Formula("x_j z_j/(x_j + z_j)", r"\frac{x_j z_j}{x_j + z_j}")
        total = Formula(f"{c} sum_j {one.text}", rf"{c} \textstyle\sum_j {one.latex}")
        feature = Formula("x_j exp(-u x_j) z_j exp(-u z_j)", r"x_j e^{-u x_j} \, z_j e^{-u z_j}")
        step = proof.rule(1, feature, note="of the one feature x_j exp(-u x_j), for each u > 0")
        step = proof.axiom(one, "an integral representation: the sum of the kernels before over u > 0", step)
        step = proof.rule(3, total, step, note=f"and rule 2, {c} >= 0")
        step = proof.rule(7, Formula(f"exp({total.text})", rf"\exp\left({total.latex}\right)"), step)
        return proof.rule(6, self.formula(), step, note="f(x) = exp(-sum_j x_j/scale), by (x-z)^2 = (x+z)^2 - 4xz")
