"""The Matern kernels of half-integer order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._checks import describe, is_number, refuse
from mercer._rules import const, exp_minus
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Fused, profile
from mercer.kernels._kernel import Kernel
from mercer.kernels._metrics import check_scale, distance, scale_view
from mercer.kernels._scales import RULES, resolved
from mercer.kernels._statistics import Squares


class Matern12Rule(NamedTuple):
    """exp(-u), u^2 = gamma t."""

    gamma: Any


class Matern32Rule(NamedTuple):
    """(1 + u) exp(-u), u^2 = gamma t."""

    gamma: Any


class Matern52Rule(NamedTuple):
    """(1 + u + u^2 / 3) exp(-u), u^2 = gamma t."""

    gamma: Any


@profile.rule(Matern12Rule)
def _(p: Any, s: Any, t: Any) -> Any:
    return exp_minus(np.sqrt(p.gamma * t))


# Beyond u = 700 the window is 0; a larger u would make infinity times zero.


@profile.rule(Matern32Rule)
def _(p: Any, s: Any, t: Any) -> Any:
    u = np.minimum(np.sqrt(p.gamma * t), const(700.0, t))
    return (const(1.0, t) + u) * exp_minus(u)


@profile.rule(Matern52Rule)
def _(p: Any, s: Any, t: Any) -> Any:
    u = np.minimum(np.sqrt(p.gamma * t), const(700.0, t))
    return (const(1.0, t) + u * (const(1.0, t) + u * const(1.0 / 3.0, t))) * exp_minus(u)


_RULES = {0.5: Matern12Rule, 1.5: Matern32Rule, 2.5: Matern52Rule}


@dataclass(frozen=True, eq=False, repr=False)
class Matern(Kernel):
    """k(x, z) = p(u) exp(-u), with u = sqrt(2 nu) |x - z| / scale and p a polynomial of degree nu - 1/2.

    p(u) is 1 for nu = 1/2, 1 + u for nu = 3/2, and 1 + u + u^2 / 3 for nu = 5/2. The functions of its space have
    nu + d/2 square-integrable derivatives: the larger nu, the smoother.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}
        The order.
    scale : float, array or str
        As for `Gaussian`; a number is the length scale of Gaussian processes.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> Matern(nu=0.5, scale=2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3679]])
    """

    nu: float = 1.5
    scale: Any = 1.0

    def __post_init__(self) -> None:
        if not is_number(self.nu) or self.nu not in _RULES:
            refuse("Matern", "'nu' must be 0.5, 1.5 or 2.5", describe(self.nu), "For nu = infinity use Gaussian.")
        check_scale("Matern", self.scale, RULES)

    def resolve(self, X: Any) -> Self:
        return resolved(self, X)

    def form(self) -> Form:
        view, gamma = scale_view("Matern", self.scale)
        return Fused(_RULES[self.nu](2.0 * float(self.nu) * gamma), (Squares(),), view)

    def formula(self) -> Formula:
        r, square = distance(self.scale), int(2 * self.nu)
        u = r.text if square == 1 else f"sqrt({square}) {r.text}"
        v = r.latex if square == 1 else rf"\sqrt{{{square}}} \, {r.latex}"
        window = Formula(f"exp(-{u})", rf"\exp\left(-{v}\right)")
        if square == 1:
            return window
        p = f"1 + {u}" if square == 3 else f"1 + {u} + ({u})^2/3"
        q = f"1 + {v}" if square == 3 else rf"1 + {v} + \tfrac{{1}}{{3}}\left({v}\right)^2"
        return Formula(f"({p}) {window.text}", rf"\left({q}\right) {window.latex}")

    def _prove(self, proof: Proof) -> int:
        reason = "Bochner: the Fourier transform of a Student density in proportion to (2 nu + |w|^2)^-(nu + d/2) >= 0"
        return proof.axiom(self.formula(), f"{reason}, with x and z over scale")
