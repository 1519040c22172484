"""The constant kernel."""

from __future__ import annotations

from dataclasses import dataclass

from mercer._checks import number
from mercer.kernels import _form as forms
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Fused
from mercer.kernels._kernel import Kernel


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Kernel):
    """k(x, z) = value, for value >= 0.

    It looks at nothing, so it adds to any kernel without a pass of its own; ``k + 1`` makes one.

    Parameters
    ----------
    value : float
        The constant, >= 0.

    Examples
    --------
    >>> from mercer.kernels import Constant
    >>> Constant(2.0)([[1.0], [5.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        number("Constant", "value", self.value, 0.0)

    def form(self) -> Form:
        return Fused(forms.Constant(float(self.value)), ())

    def formula(self) -> Formula:
        return Formula(f"{self.value:g}", f"{self.value:g}")

    def _prove(self, proof: Proof) -> int:
        return proof.rule(1, self.formula(), note=f"of the constant feature sqrt({self.value:g})")
