"""What a loss is: a type of parameters with plain scalar rules, which also run on arrays and compile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._rules import scalar


@scalar
def value(loss: Any, y: Any, t: Any) -> Any:
    """The cost of predicting t where the target is y; convex in t."""


@scalar
def slope(loss: Any, y: Any, t: Any) -> Any:
    """The derivative of the value in t (a subgradient where there is a kink)."""


@scalar
def curvature(loss: Any, y: Any, t: Any) -> Any:
    """The second derivative of the value in t."""


@scalar
def conjugate(loss: Any, y: Any, u: Any) -> Any:
    """The largest u t - value(y, t) over t; infinite outside the slopes the loss can have."""


@scalar
def shortfall(loss: Any, y: Any, t: Any, u: Any) -> Any:
    """What is missing to equality in Fenchel and Young: value(y, t) + conjugate(y, u) - u t, without cancellation."""


@scalar
def share(loss: Any, y: Any, t: Any) -> Any:
    """Of a loss rho(base) that is not convex: the derivative of rho, what is left of a row's weight at t."""


@scalar
def lowest(loss: Any, y: Any) -> Any:
    """The least slope the loss can have at target y, or -inf: the conjugate is finite from here ..."""


@scalar
def highest(loss: Any, y: Any) -> Any:
    """... to here, the largest slope, or inf. Together they are the dual box: -a_i / w_i lies between them."""


@dataclass(frozen=True)
class Boxed:
    """The form of conjugates that make the dual a quadratic problem over a box: y u + spread |u| + ridge u^2 / 2.

    It holds from the lowest to the highest slope. Where there is a spread, a row takes two variables, one a sign.

    Parameters
    ----------
    spread, ridge : float
        The two factors, >= 0.
    """

    spread: float = 0.0
    ridge: float = 0.0


@dataclass(frozen=True)
class Traits:
    """What solvers may know of a loss besides its rules.

    Parameters
    ----------
    quadratic : bool
        The value is (y - t)^2 / 2: the problem is one linear system.
    smooth : bool
        The slope has no jumps, and there is a curvature.
    boxed : Boxed, optional
        The form of the conjugate, if it is such that the dual is a quadratic problem over a box.
    two_classes : bool
        Targets are +1 and -1; else they are numbers.
    log_mean : bool
        Predictions are the logarithm of the mean of the target.
    base : loss record, optional
        The loss is not convex, but a rising, concave function of this convex one: see ``share``.
    coupled : bool
        Predictions are vectors: the columns of targets are one problem, and the parts of a row add up to its loss.
    """

    quadratic: bool = False
    smooth: bool = True
    boxed: Boxed | None = None
    two_classes: bool = False
    log_mean: bool = False
    base: Any = None
    coupled: bool = False


@scalar
def traits(loss: Any) -> Traits:  # type: ignore[empty-body]  # a stub: the rules have bodies
    """What solvers may know of a loss besides its rules."""
