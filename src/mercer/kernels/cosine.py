"""The cosine kernel."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.kernels import _form as forms
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Fused
from mercer.kernels._kernel import Kernel
from mercer.kernels._statistics import Dot
from mercer.kernels._views import UnitRows
from mercer.kernels.linear import Linear


@dataclass(frozen=True, eq=False, repr=False)
class Cosine(Kernel):
    """k(x, z) = x'z / (|x| |z|), the cosine of the angle between x and z; 0 where either is 0.

    Examples
    --------
    >>> from mercer.kernels import Cosine
    >>> Cosine()([[1.0, 0.0]], [[5.0, 5.0]]).round(4)
    array([[0.7071]])
    """

    def form(self) -> Form:
        return Fused(forms.Identity(), (Dot(),), (UnitRows(),))

    def formula(self) -> Formula:
        return Formula("x'z/(|x| |z|)", r"\frac{x^\top z}{\lVert x\rVert \, \lVert z\rVert}")

    def _prove(self, proof: Proof) -> int:
        return proof.rule(6, self.formula(), proof.of(Linear()), note="f(x) = 1/|x|, or 0 where x = 0")
