"""The Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._checks import positive
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import ExpMinus, Form, Fused
from mercer.kernels._kernel import Kernel
from mercer.kernels._metrics import check_scale, number_text, scale_view, squared
from mercer.kernels._scales import RULES, resolved
from mercer.kernels._statistics import Squares
from mercer.kernels.linear import Linear


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(Kernel):
    """k(x, z) = exp(-|x - z|^2 / scale^2).

    Parameters
    ----------
    scale : float, array or str
        A length; a vector of one length a column; a symmetric psd matrix A, for exp(-(x-z)'A(x-z)); or a rule that is
        resolved from data: ``"median"`` (median distance), ``"scale"`` or ``"auto"`` (scikit-learn's gamma of the
        same name).

    Notes
    -----
    scikit-learn's gamma is 1 / scale^2 (`from_gamma`); the length scale l of Gaussian processes, in
    exp(-|x - z|^2 / (2 l^2)), is scale / sqrt(2) (`from_length_scale`).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Gaussian(scale=2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3679]])
    >>> Gaussian.from_gamma(0.25)
    Gaussian(scale=2.0)
    """

    scale: Any = 1.0

    def __post_init__(self) -> None:
        check_scale("Gaussian", self.scale, RULES)

    @classmethod
    def from_gamma(cls, gamma: float | str) -> Gaussian:
        """Return exp(-gamma |x - z|^2); gamma may be ``"scale"`` or ``"auto"``."""
        return cls(gamma) if isinstance(gamma, str) else cls(1.0 / np.sqrt(positive("Gaussian", "gamma", gamma)).item())

    @classmethod
    def from_length_scale(cls, length: Any) -> Gaussian:
        """Return exp(-|x - z|^2 / (2 length^2)), as Gaussian processes write it."""
        check_scale("Gaussian", length, matrix=False)
        return cls((np.sqrt(2.0) * np.asarray(length, dtype=np.float64)).tolist())

    def resolve(self, X: Any) -> Self:
        return resolved(self, X)

    def form(self) -> Form:
        view, gamma = scale_view("Gaussian", self.scale)
        return Fused(ExpMinus(gamma), (Squares(),), view)

    def formula(self) -> Formula:
        t = squared(self.scale)
        return Formula(f"exp(-{t.text})", rf"\exp\left(-{t.latex}\right)")

    def _prove(self, proof: Proof) -> int:
        inner, factor, norm = self._inner_product()
        k = inner.formula()
        scaled = Formula(f"{factor.text} {k.text}", rf"{factor.latex} \, {k.latex}")
        second = proof.rule(2, scaled, proof.of(inner))
        third = proof.rule(7, Formula(f"exp({scaled.text})", rf"\exp\left({scaled.latex}\right)"), second)
        f = Formula(f"f(x) exp({scaled.text}) f(z)", rf"f(x) \, \exp\left({scaled.latex}\right) f(z)")
        fourth = proof.rule(6, f, third, note=f"f(x) = exp(-{norm})")
        split = "|x - z|^2 = |x|^2 - 2 x'z + |z|^2"
        if np.ndim(self.scale):
            split = "(x-z)'A(x-z) = x'Ax - 2 x'Az + z'Az" + (
                "" if np.ndim(self.scale) == 2 else ", A = diag(1/scale^2)"
            )
        return proof.axiom(self.formula(), f"the same function, since {split}", fourth)

    def _inner_product(self) -> tuple[Linear, Formula, str]:
        """Return the inner product, its factor and the norm of the five-step proof."""
        if np.ndim(self.scale):
            array = np.asarray(self.scale, dtype=np.float64)
            return Linear(array if array.ndim == 2 else np.diag(array**-2.0)), Formula("2", "2"), "x'Ax"
        s, latex = number_text(self.scale)
        if s == "1":
            return Linear(), Formula("2", "2"), "|x|^2"
        return Linear(), Formula(f"(2/{s}^2)", rf"\tfrac{{2}}{{{latex}^2}}"), f"|x|^2/{s}^2"
