"""What the rules of several losses are written with: functions that neither cancel nor overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._rules import where

LONGEST = 709.0  # exp of more leaves the range of float64


def grown(x: Any) -> Any:
    """Return e to the x; infinite, and silent about it, where that leaves the range."""
    return where(x > LONGEST, np.inf, np.exp(np.minimum(x, LONGEST)))


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    small = np.exp(-np.abs(x))
    return where(x >= 0, 1.0, small) / (1.0 + small)


def log_sigmoid(x: Any) -> Any:
    """Return log(1 / (1 + exp(-x)))."""
    return -np.logaddexp(0.0, -x)


def x_log_x(x: Any) -> Any:
    """Return x log x for x >= 0, and 0 at 0."""
    return x * np.log(where(x > 0, x, 1.0))


def relative_entropy(v: Any, p: Any, log_p: Any) -> Any:
    """Return v log(v / p) - v + p for v >= 0 and p > 0 given with its logarithm; infinite for v < 0.

    It is 0 at v = p and positive elsewhere: what separates two means of exponential families.
    """
    near = np.abs(v - p) < 0.25 * p
    e = where(near, v - p, 0.0) / where(near, p, 1.0)
    series = e * e * (0.5 - e / 6.0 + e * e / 12.0)
    close = where(near, p, 1.0) * where(np.abs(e) < 3e-4, series, (1.0 + e) * np.log1p(e) - e)
    far = v * (np.log(where(v > 0, v, 1.0)) - where(v > 0, log_p, 0.0)) - v + p
    return where(v < 0, np.inf, where(near, close, far))


def exp_rest(x: Any) -> Any:
    """Return exp(x) - 1 - x, which is >= 0."""
    small = np.abs(x) < 0.1
    s = where(small, x, 0.0)
    series = 1.0
    for k in range(10, 2, -1):
        series = 1.0 + s / k * series
    series = 0.5 * s * s * series
    large = np.expm1(np.minimum(x, LONGEST)) - x
    return where(small, series, where(x > LONGEST, np.inf, large))


def grown_rest(x: Any, d: Any) -> Any:
    """Return exp(x) (exp(d) - 1 - d), which is >= 0."""
    large = d > 40  # where the rest is exp(d) in every digit
    return where(large, grown(x + d), grown(x) * exp_rest(where(large, 0.0, d)))
