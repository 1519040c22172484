"""A scalar function with one rule per parameter type, and the few functions rules are written with.

A rule is plain Python. The same text runs in three ways: on numbers (the oracle), on whole NumPy arrays (small work,
no compiler), and inside a compiled loop (`mercer._jit.attach`), where nested parameter tuples fuse into one pass.
So a rule has no ``if`` on values: it says ``where`` and ``np.maximum``, and ``const`` for its literals.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np


class Scalar(Protocol):
    """A scalar function whose meaning depends on the type of its first argument."""

    rules: dict[type, Callable[..., Any]]

    def __call__(self, p: Any, *args: Any) -> Any:
        """Apply the rule of ``type(p)``."""

    def rule(self, cls: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Attach a rule for parameters of type ``cls`` (a NamedTuple)."""


def scalar(stub: Callable[..., Any]) -> Scalar:
    """Turn a stub, whose signature and docstring say what is computed, into a scalar function with rules.

    >>> from typing import NamedTuple
    >>> @scalar
    ... def area(shape): "The area of a shape."
    >>> class Square(NamedTuple):
    ...     side: float
    >>> @area.rule(Square)
    ... def _(shape): return shape.side * shape.side
    >>> area(Square(3.0))
    9.0
    """
    rules: dict[type, Callable[..., Any]] = {}

    @functools.wraps(stub)
    def call(p: Any, *args: Any) -> Any:
        return rules[type(p)](p, *args)

    def rule(cls: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        return lambda fn: rules.setdefault(cls, _at_home(cls, fn))

    call.rules = rules  # type: ignore[attr-defined]  # a function with attributes is what Scalar describes
    call.rule = rule  # type: ignore[attr-defined]  # as above
    return call  # type: ignore[return-value]  # as above


def _at_home(cls: type, fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rule of the same module as its parameters: only there does the cache of compiled code look for it."""
    if fn.__module__ != cls.__module__:
        raise TypeError(f"rule: a rule must stand in {cls.__module__}, as {cls.__name__} does; got {fn.__module__}.")
    return fn


def exp(x: Any) -> Any:
    """e to the x; compiled, a polynomial that vectorises (relative error 1.2e-7 in float32, 5e-16 in float64)."""
    return np.exp(x)


def exp_minus(x: Any) -> Any:
    """e to the -x for x >= 0, the windows of most kernels: as ``exp``, without its guard against overflow."""
    return np.exp(-x)


def exp2_minus(x: Any) -> Any:
    """2 to the -x for x >= 0; compiled, the fastest of the three."""
    return np.exp2(-x)


def where(condition: Any, a: Any, b: Any) -> Any:
    """Choose a where the condition holds, else b; both are computed."""
    return np.where(condition, a, b)


def const(value: float, like: Any) -> Any:
    """Return a literal in the precision of ``like`` (a bare literal would drag a float32 loop into float64)."""
    return value


def smaller(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers; compiled, a running minimum of these vectorises."""
    return np.minimum(a, b)


def larger(a: Any, b: Any) -> Any:
    """Return the larger of two numbers; compiled, a running maximum of these vectorises."""
    return np.maximum(a, b)


def prefetch(a: Any, i: Any) -> None:
    """Ask for the memory of a[i] to be brought near; compiled, it takes no time, and i may lie beyond the end."""


def cast(p: Any, dtype: Any) -> Any:
    """Return parameters (nested NamedTuples of numbers) with every number in ``dtype``."""
    if isinstance(p, tuple):
        return type(p)(*(cast(field, dtype) for field in p))
    return np.dtype(dtype).type(p)
