"""The arc-cosine kernels: wide networks of step, ramp or squared-ramp units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._checks import describe, numeric_rows, refuse
from mercer._rules import const
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Fused, Weighted, profile
from mercer.kernels._kernel import Kernel
from mercer.kernels._statistics import Dot
from mercer.kernels._views import UnitRows, lengths


class ArcCosine0Rule(NamedTuple):
    """1 - angle / pi, s the cosine of the angle."""


class ArcCosine1Rule(NamedTuple):
    """(sin + (pi - angle) cos) / pi."""


class ArcCosine2Rule(NamedTuple):
    """(3 sin cos + (pi - angle) (1 + 2 cos^2)) / pi."""


@profile.rule(ArcCosine0Rule)
def _(p: Any, s: Any, t: Any) -> Any:
    c = np.minimum(np.maximum(s, const(-1.0, s)), const(1.0, s))
    return const(1.0, s) - np.arccos(c) * const(1 / np.pi, s)


@profile.rule(ArcCosine1Rule)
def _(p: Any, s: Any, t: Any) -> Any:
    c = np.minimum(np.maximum(s, const(-1.0, s)), const(1.0, s))
    rest = const(np.pi, s) - np.arccos(c)
    return (np.sqrt(const(1.0, s) - c * c) + rest * c) * const(1 / np.pi, s)


@profile.rule(ArcCosine2Rule)
def _(p: Any, s: Any, t: Any) -> Any:
    c = np.minimum(np.maximum(s, const(-1.0, s)), const(1.0, s))
    rest = const(np.pi, s) - np.arccos(c)
    sine = np.sqrt(const(1.0, s) - c * c)
    return (const(3.0, s) * sine * c + rest * (const(1.0, s) + const(2.0, s) * c * c)) * const(1 / np.pi, s)


_RULES = (ArcCosine0Rule, ArcCosine1Rule, ArcCosine2Rule)


@dataclass(frozen=True)
class _Length:
    """|x|^power for each row."""

    power: int

    def __call__(self, X: Any) -> np.ndarray:
        return lengths(numeric_rows("ArcCosine", X)) ** self.power


@dataclass(frozen=True, eq=False, repr=False)
class ArcCosine(Kernel):
    """k(x, z) = |x|^n |z|^n J_n(angle) / pi, the mean of products of random units max(0, w'x)^n (Cho and Saul 2009).

    Parameters
    ----------
    order : {0, 1, 2}
        n: 0 for steps, where J_0 = pi - a for the angle a between x and z; 1 for ramps (ReLU), where
        J_1 = sin a + (pi - a) cos a; 2 for squared ramps, where J_2 = 3 sin a cos a + (pi - a)(1 + 2 cos^2 a).

    Notes
    -----
    Order 0 has a corner at x = z: there the rounding of the cosine, eps, becomes sqrt(eps) in the value
    (5e-9 in double, 1e-4 in single precision). A row of zeros has value 0 with any other, or 1/2 for order 0.

    Examples
    --------
    >>> from mercer.kernels import ArcCosine
    >>> ArcCosine(order=0)([[1.0, 0.0]], [[0.0, 3.0]])
    array([[0.5]])
    >>> ArcCosine(order=1)([[1.0, 0.0]], [[0.0, 3.0]]).round(4)
    array([[0.9549]])
    """

    order: int = 1

    def __post_init__(self) -> None:
        if self.order not in (0, 1, 2) or isinstance(self.order, bool):
            refuse("ArcCosine", "'order' must be 0, 1 or 2", describe(self.order), "Order 1 is the ramp, or ReLU.")

    def form(self) -> Form:
        angle = Fused(_RULES[self.order](), (Dot(),), (UnitRows(),))
        return Weighted(_Length(int(self.order)), angle) if self.order else angle

    def formula(self) -> Formula:
        n = int(self.order)
        if n == 0:
            return Formula("(1 - angle(x, z)/pi)", r"\left(1 - \angle(x, z)/\pi\right)")
        power, latex = ("", "") if n == 1 else (f"^{n}", f"^{n}")
        text = f"(|x| |z|){power} J_{n}(angle(x, z))/pi"
        return Formula(text, rf"\tfrac{{1}}{{\pi}} (\lVert x\rVert \lVert z\rVert){latex} J_{n}(\angle(x, z))")

    def _prove(self, proof: Proof) -> int:
        n = int(self.order)
        unit = Formula(f"h(w'x) h(w'z), h(u) = [u > 0] u^{n}", rf"h(w^\top x)\, h(w^\top z),\; h(u) = [u > 0]\, u^{n}")
        first = proof.rule(1, unit, note="of the one feature h(w'x), for each w")
        reason = "an integral representation: twice the mean of the kernels before over Gaussian w (Cho and Saul)"
        return proof.axiom(self.formula(), reason, first)
