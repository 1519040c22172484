"""Numbers that carry a bound on their rounding error through the plain rules of kernels (running error analysis)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)


def gamma(n: int) -> float:
    """Return n u / (1 - n u), the relative error of n roundings, u = eps / 2."""
    nu = n * EPS / 2
    return nu / (1 - nu)


class Rounded(NDArrayOperatorsMixin):
    """Values with |value - truth| <= error, entry by entry; NumPy's functions on it bound their own error too.

    An operation it does not know raises TypeError, so that no bound is ever claimed without a reason.

    >>> import numpy as np
    >>> x = Rounded(np.array([1.0]), np.array([1e-10]))
    >>> bool(2e-10 < (x * x).error[0] < 2.1e-10), np.exp(0.0 * x).value.tolist()
    (True, [1.0])
    """

    def __init__(self, value: Any, error: Any = 0.0) -> None:
        self.value = np.asarray(value, dtype=np.float64)
        self.error = np.broadcast_to(np.asarray(error, dtype=np.float64), self.value.shape)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Apply a ufunc; ``out`` is ignored, the result is new."""
        if method != "__call__":
            return NotImplemented
        if ufunc in _COMPARISONS:
            return ufunc(*(_value(x) for x in inputs))
        bound = _BOUNDS.get(ufunc)
        if bound is None:
            return NotImplemented
        with np.errstate(all="ignore"):
            value = ufunc(*(_value(x) for x in inputs))
            error = bound(ufunc, value, *(x if isinstance(x, Rounded) else Rounded(x) for x in inputs))
            error = error + (EPS if ufunc in _EXACTLY_ROUNDED else 8 * EPS) * np.abs(value) + TINY
        return Rounded(value, np.where(np.isnan(error), np.inf, error))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Apply ``np.where``; the condition is decided on the values."""
        if function is not np.where:
            return NotImplemented
        condition, a, b = (_value(args[0]), *(x if isinstance(x, Rounded) else Rounded(x) for x in args[1:]))
        return Rounded(np.where(condition, a.value, b.value), np.where(condition, a.error, b.error))


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Rounded) else x


Bound = Callable[..., Any]


def _sum(ufunc: Any, value: Any, a: Rounded, b: Rounded) -> Any:
    return a.error + b.error


def _product(ufunc: Any, value: Any, a: Rounded, b: Rounded) -> Any:
    return np.abs(a.value) * b.error + np.abs(b.value) * a.error + a.error * b.error


def _quotient(ufunc: Any, value: Any, a: Rounded, b: Rounded) -> Any:
    room = np.abs(b.value) - b.error
    return np.where(room > 0, (a.error + np.abs(value) * b.error) / room, np.inf)


def _larger(ufunc: Any, value: Any, a: Rounded, b: Rounded) -> Any:
    return np.maximum(a.error, b.error)


def _same(ufunc: Any, value: Any, a: Rounded) -> Any:
    return a.error


def _square(ufunc: Any, value: Any, a: Rounded) -> Any:
    return _product(ufunc, value, a, a)


def _monotone(low: float, high: float) -> Bound:
    """Return the bound of a monotone function on [low, high]: how far it moves at the ends of the interval."""

    def bound(ufunc: Any, value: Any, a: Rounded) -> Any:
        ends = (np.clip(a.value - a.error, low, high), np.clip(a.value + a.error, low, high))
        return np.maximum(*(np.abs(ufunc(end) - ufunc(np.clip(a.value, low, high))) for end in ends))

    return bound


def _power(ufunc: Any, value: Any, a: Rounded, b: Rounded) -> Any:
    """The power of a number: from |a| for a whole exponent >= 0, else from the ends of an interval above 0."""
    p = float(b.value)
    size = np.abs(a.value)
    if p >= 0 and p == int(p):
        return (size + a.error) ** p - size**p + 4 * p * EPS * np.abs(value)
    low = a.value - a.error
    moved = np.maximum(np.abs(low**p - value), np.abs((a.value + a.error) ** p - value))
    return np.where(low > 0, moved + 4 * abs(p) * EPS * np.abs(value), np.inf)


_COMPARISONS = {np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal}
_EXACTLY_ROUNDED = {np.add, np.subtract, np.multiply, np.divide, np.negative, np.absolute, np.square, np.sqrt}
_BOUNDS: dict[Any, Bound] = {
    np.add: _sum,
    np.subtract: _sum,
    np.multiply: _product,
    np.divide: _quotient,
    np.square: _square,
    np.power: _power,
    np.float_power: _power,
    np.negative: _same,
    np.absolute: _same,
    np.sin: _same,
    np.cos: _same,
    np.maximum: _larger,
    np.minimum: _larger,
    np.exp: _monotone(-np.inf, np.inf),
    np.exp2: _monotone(-np.inf, np.inf),
    np.expm1: _monotone(-np.inf, np.inf),
    np.tanh: _monotone(-np.inf, np.inf),
    np.arctan: _monotone(-np.inf, np.inf),
    np.arcsin: _monotone(-1.0, 1.0),
    np.arccos: _monotone(-1.0, 1.0),
    np.log: _monotone(0.0, np.inf),
    np.log1p: _monotone(-1.0, np.inf),
    np.sqrt: _monotone(0.0, np.inf),
}
