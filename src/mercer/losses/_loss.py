"""What a loss is: a type of parameters with plain scalar rules, which also run on arrays and compile."""

from __future__ import annotations

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
