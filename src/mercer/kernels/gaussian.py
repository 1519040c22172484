"""The Gaussian kernel."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._checks import positive, refuse
from mercer._rules import exp_minus
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Fused, profile
from mercer.kernels._kernel import Kernel
from mercer.kernels._metrics import check_scale, scale_view
from mercer.kernels._scales import RULES, scale_from_data
from mercer.kernels._statistics import Squares


class GaussianRule(NamedTuple):
    """exp(-gamma t), t the squared distance."""

    gamma: Any


@profile.rule(GaussianRule)
def _(p: Any, s: Any, t: Any) -> Any:
    return exp_minus(p.gamma * t)


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
        check_scale("Gaussian", length)
        return cls((np.sqrt(2.0) * np.asarray(length, dtype=np.float64)).tolist())

    def resolve(self, X: Any) -> Self:
        if not isinstance(self.scale, str):
            return self
        return dataclasses.replace(self, scale=scale_from_data("Gaussian", self.scale, X))

    def form(self) -> Form:
        if isinstance(self.scale, str):
            refuse("Gaussian", "'scale' must be a number where the kernel is used", repr(self.scale), "Call k.resolve(X).")
        view, gamma = scale_view("Gaussian", "scale", self.scale)
        return Fused(GaussianRule(gamma), (Squares(),), view)

    def formula(self) -> Formula:
        square, latex = _scaled_square(self.scale)
        return Formula(f"exp(-{square})", rf"\exp\left(-{latex}\right)")

    def _prove(self, proof: Proof) -> int:
        inner, factor, norm = _inner_product(self.scale)
        first = proof.rule(8 if np.ndim(self.scale) else 1, inner)
        scaled = Formula(f"{factor.text} {inner.text}", f"{factor.latex} {inner.latex}")
        second = proof.rule(2, scaled, first)
        third = proof.rule(7, Formula(f"exp({scaled.text})", rf"\exp\left({scaled.latex}\right)"), second)
        f = Formula("f(x) exp(..) f(z)", r"f(x) \exp(\cdot) f(z)")
        fourth = proof.rule(6, f, third, note=f"f(x) = exp(-{norm})")
        return proof.axiom(self.formula(), "the same function, since |x - z|^2 = |x|^2 - 2 x'z + |z|^2", fourth)


def _scaled_square(scale: Any) -> tuple[str, str]:
    if np.ndim(scale) == 2:
        return "(x-z)'A(x-z)", r"(x-z)^\top A (x-z)"
    if np.ndim(scale) == 1:
        return "sum_j (x_j-z_j)^2/scale_j^2", r"\textstyle\sum_j (x_j-z_j)^2/\sigma_j^2"
    s = scale if isinstance(scale, str) else f"{scale:g}"
    return f"|x - z|^2/{s}^2", rf"\lVert x-z\rVert^2/\mathrm{{{s}}}^2" if isinstance(scale, str) else rf"\lVert x-z\rVert^2/{s}^2"


def _inner_product(scale: Any) -> tuple[Formula, Formula, str]:
    """Return the inner product, its factor and the norm of the five-step proof."""
    if np.ndim(scale):
        return Formula("x'Az", r"x^\top A z"), Formula("2", "2"), "x'Ax"
    s = scale if isinstance(scale, str) else f"{scale:g}"
    return Formula("x'z", r"x^\top z"), Formula(f"(2/{s}^2)", rf"\tfrac{{2}}{{{s}^2}}"), f"|x|^2/{s}^2"
