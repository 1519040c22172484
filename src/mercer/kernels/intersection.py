"""The intersection kernel of histograms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Fused, profile
from mercer.kernels._histograms import NonNegative
from mercer.kernels._kernel import Kernel
from mercer.kernels._statistics import Overlap


class OverlapRule(NamedTuple):
    """The overlap t itself."""


@profile.rule(OverlapRule)
def _(p: Any, s: Any, t: Any) -> Any:
    return t


@dataclass(frozen=True, eq=False, repr=False)
class Intersection(Kernel):
    """k(x, z) = sum_j min(x_j, z_j) for x, z >= 0: how much two histograms share.

    Examples
    --------
    >>> from mercer.kernels import Intersection
    >>> Intersection()([[3.0, 1.0]], [[2.0, 5.0]])
    array([[3.]])
    """

    def form(self) -> Form:
        return Fused(OverlapRule(), (Overlap(),), (NonNegative("Intersection"),))

    def formula(self) -> Formula:
        return Formula("sum_j min(x_j, z_j)", r"\textstyle\sum_j \min(x_j, z_j)", loose=True)

    def _prove(self, proof: Proof) -> int:
        feature = Formula("[u < x_j] [u < z_j]", r"[u < x_j] \, [u < z_j]")
        step = proof.rule(1, feature, note="of the one feature [u < x_j], for each u >= 0")
        one = Formula("min(x_j, z_j)", r"\min(x_j, z_j)")
        step = proof.axiom(one, "an integral representation: the sum of the kernels before over u >= 0", step)
        return proof.rule(3, self.formula(), step, note="the sum over the columns")
