"""What a kernel tells the Gram engine of itself: a small tree of what is computed, with no word of how.

Fused     a scalar rule of one or two statistics of the rows, seen through a view: one compiled pass
Mixed     an operation on the values of other forms, tile by tile
Weighted  f(x) k(x, z) f(z)
Called    a Python function of two blocks of rows
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._rules import const, exp, exp2_minus, scalar
from mercer.kernels._statistics import Dot, Statistic
from mercer.kernels._views import View


@scalar
def profile(p: Any, s: Any, t: Any) -> Any:
    """The kernel as a function of the inner product s and another statistic t; a lone statistic fills both."""


@dataclass(frozen=True)
class Fused:
    """A rule of statistics: ``profile(rule, s, t)``, an inner product (if any) first."""

    rule: Any
    statistics: tuple[Statistic, ...]
    view: View = ()


@dataclass(frozen=True)
class Mixed:
    """An operation on the values of several forms; it may write into the first."""

    operation: Callable[..., np.ndarray]
    parts: tuple[Form, ...]


@dataclass(frozen=True)
class Weighted:
    """f(x) k(x, z) f(z), f giving one number a row."""

    factor: Callable[[Any], np.ndarray]
    part: Form


@dataclass(frozen=True)
class Called:
    """Values from a Python function of two blocks of rows, and of the diagonal from another."""

    values: Callable[[Any, Any], np.ndarray]
    diagonal: Callable[[Any], np.ndarray]


Form = Fused | Mixed | Weighted | Called


# ---------------------------------------------------------------- the algebra of rules


class Constant(NamedTuple):
    """c."""

    c: Any


class Sum(NamedTuple):
    """a + b."""

    a: Any
    b: Any


class Product(NamedTuple):
    """a b."""

    a: Any
    b: Any


class Scale(NamedTuple):
    """c a."""

    c: Any
    a: Any


class Square(NamedTuple):
    """a squared."""

    a: Any


class Exp(NamedTuple):
    """exp(a)."""

    a: Any


class Identity(NamedTuple):
    """The inner product (or a lone statistic) itself."""


LOG2_E = 1.4426950408889634  # a power of two needs no reduction by ln 2, and the factor joins gamma outside the loop


class ExpMinus(NamedTuple):
    """exp(-gamma t), t a distance or its square."""

    gamma: Any


@profile.rule(Constant)
def _(p: Any, s: Any, t: Any) -> Any:
    return p.c


@profile.rule(Sum)
def _(p: Any, s: Any, t: Any) -> Any:
    return profile(p.a, s, t) + profile(p.b, s, t)


@profile.rule(Product)
def _(p: Any, s: Any, t: Any) -> Any:
    return profile(p.a, s, t) * profile(p.b, s, t)


@profile.rule(Scale)
def _(p: Any, s: Any, t: Any) -> Any:
    return p.c * profile(p.a, s, t)


@profile.rule(Square)
def _(p: Any, s: Any, t: Any) -> Any:
    a = profile(p.a, s, t)
    return a * a


@profile.rule(Exp)
def _(p: Any, s: Any, t: Any) -> Any:
    return exp(profile(p.a, s, t))


@profile.rule(Identity)
def _(p: Any, s: Any, t: Any) -> Any:
    return s


@profile.rule(ExpMinus)
def _(p: Any, s: Any, t: Any) -> Any:
    return exp2_minus((p.gamma * const(LOG2_E, t)) * t)


# ---------------------------------------------------------------- joining forms


def added(left: Form, right: Form) -> Form:
    """Return ``left + right``."""
    return _joined(np.add, Sum, left, right)


def multiplied(left: Form, right: Form) -> Form:
    """Return ``left * right``; the row factors of both come out first, so that what is inside may fuse."""
    if isinstance(left, Weighted):
        return Weighted(left.factor, multiplied(left.part, right))
    if isinstance(right, Weighted):
        return Weighted(right.factor, multiplied(left, right.part))
    return _joined(np.multiply, Product, left, right)


def _joined(operation: Callable[..., np.ndarray], rule: type, left: Form, right: Form) -> Form:
    """Return one fused pass where both see the same rows by compatible statistics."""
    if isinstance(left, Fused) and isinstance(right, Fused) and _see_the_same(left, right):
        statistics = _union(left.statistics, right.statistics)
        if statistics is not None:
            view = left.view if left.statistics else right.view
            return Fused(rule(left.rule, right.rule), statistics, view)
    return Mixed(operation, (left, right))


def _see_the_same(left: Fused, right: Fused) -> bool:
    """Whether one pass over one view serves both; a constant looks at nothing and so joins anything."""
    return left.view == right.view or not left.statistics or not right.statistics


def mapped(operation: Callable[[np.ndarray], np.ndarray], rule: Callable[[Any], Any], part: Form) -> Form:
    """Return the form of a function of one kernel's value."""
    if isinstance(part, Fused):
        return Fused(rule(part.rule), part.statistics, part.view)
    return Mixed(operation, (part,))


def _union(a: tuple[Statistic, ...], b: tuple[Statistic, ...]) -> tuple[Statistic, ...] | None:
    """Return the statistics of both, an inner product first; None if a pass could not hold them."""
    # A rule reads slot s for an inner product and slot t for anything else, so two unlike others cannot share.
    others = {type(x): x for x in (*a, *b) if not isinstance(x, Dot)}
    dots = tuple(x for x in (*a, *b) if isinstance(x, Dot))[:1]
    return (*dots, *others.values()) if len(others) <= 1 else None
