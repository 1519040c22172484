"""The linear kernel, also with a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._checks import describe, refuse
from mercer.kernels import _form as forms
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Fused
from mercer.kernels._kernel import Kernel
from mercer.kernels._metrics import metric_view
from mercer.kernels._statistics import Dot
from mercer.kernels._views import View


@dataclass(frozen=True, eq=False, repr=False)
class Linear(Kernel):
    """k(x, z) = x'z, or x'Az for a symmetric positive semi-definite A.

    Parameters
    ----------
    A : array of shape (d, d), optional
        The metric; refused when it is not symmetric or has a negative eigenvalue (rule 8).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    >>> Linear(A=[[2.0, 0.0], [0.0, 1.0]])([[1.0, 2.0]], [[3.0, 4.0]])
    array([[14.]])
    """

    A: Any = None

    def __post_init__(self) -> None:
        self._view()

    def _view(self) -> View:
        if self.A is None:
            return ()
        try:
            A = np.asarray(self.A, dtype=np.float64)
        except (TypeError, ValueError):
            refuse("Linear", "'A' must be a matrix of numbers", describe(self.A), "Give a (d, d) array.")
        return metric_view("Linear", "A", A)

    def form(self) -> Form:
        return Fused(forms.Identity(), (Dot(),), self._view())

    def formula(self) -> Formula:
        return Formula("x'z", "x^\\top z") if self.A is None else Formula("x'Az", "x^\\top A z")

    def _prove(self, proof: Proof) -> int:
        if self.A is None:
            return proof.rule(1, self.formula())
        eigenvalues = np.linalg.eigvalsh(np.asarray(self.A, dtype=np.float64))
        low, high = (max(float(v), 0.0) for v in eigenvalues[[0, -1]])
        return proof.rule(8, self.formula(), note=f"the eigenvalues of A lie in [{low:.3g}, {high:.3g}]")
