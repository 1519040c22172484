"""The statistics of a pair of rows that kernels are functions of: each is a sum over coordinates of one term."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._rules import const, scalar, where


@scalar
def term(statistic: Any, a: Any, b: Any) -> Any:
    """One coordinate's share of a statistic of the rows that hold a and b there."""


class Dot(NamedTuple):
    """The inner product x'z."""


class Squares(NamedTuple):
    """The squared distance |x - z|^2."""


class Manhattan(NamedTuple):
    """The sum of absolute differences."""


class ChiSquares(NamedTuple):
    """The sum of (x - z)^2 / (x + z), a coordinate where both are 0 giving 0."""


class Overlap(NamedTuple):
    """The sum of the smaller of each two coordinates."""


Statistic = Dot | Squares | Manhattan | ChiSquares | Overlap

SHIFT_INVARIANT = (Squares, Manhattan)  # data may be centred first, which saves digits


@term.rule(Dot)
def _(statistic: Any, a: Any, b: Any) -> Any:
    return a * b


@term.rule(Squares)
def _(statistic: Any, a: Any, b: Any) -> Any:
    t = a - b
    return t * t


@term.rule(Manhattan)
def _(statistic: Any, a: Any, b: Any) -> Any:
    return abs(a - b)


@term.rule(ChiSquares)
def _(statistic: Any, a: Any, b: Any) -> Any:
    t, s = a - b, a + b
    return t * (t / (s + where(s > 0, const(0.0, s), const(1.0, s))))  # |t| <= s: no overflow


@term.rule(Overlap)
def _(statistic: Any, a: Any, b: Any) -> Any:
    return np.minimum(a, b)
