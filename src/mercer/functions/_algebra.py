"""Products with kernel matrices for functions, and linear combinations of functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._checks import describe, refuse
from mercer.engine import Engine
from mercer.functions._points import join, merged
from mercer.gram import Gram, gram
from mercer.kernels import Kernel
from mercer.kernels._evaluate import diagonal

if TYPE_CHECKING:
    from mercer.functions.rkhs_function import RKHSFunction

ENGINE = Engine(precision="double")


def matrix(kernel: Kernel, X: Any, Y: Any = None) -> Gram:
    """Return k(x_i, y_j) as a lazy matrix in double precision."""
    return gram(kernel, X, Y, engine=ENGINE)


def block(kernel: Kernel, X: Any) -> np.ndarray:
    """Return k(x_i, x_j) as an array in double precision."""
    return np.asarray(matrix(kernel, X).block(), dtype=np.float64)


def norms_of_sections(kernel: Kernel, X: Any) -> np.ndarray:
    """Return sqrt(k(x, x)), the norm of k(., x), for each point."""
    return np.sqrt(np.maximum(diagonal(kernel.form(), X), 0.0))


def same_space(who: str, f: RKHSFunction, g: Any) -> None:
    """Refuse a g that does not live in the space of f."""
    if type(g) is not type(f):
        refuse(
            who, "both must be functions of an RKHS", describe(g), "Build it with section or RKHSFunction.", TypeError
        )
    if f.kernel != g.kernel:
        got = f"{f.kernel!r} and {g.kernel!r}"
        refuse(who, "functions of one kernel", got, "Each kernel has its own space and inner product.")
    if f.coefficients.shape[1:] != g.coefficients.shape[1:]:
        got = f"coefficients of shape {f.coefficients.shape} and {g.coefficients.shape}"
        refuse(who, "functions with as many outputs", got)


def combined(who: str, factors: Sequence[float], functions: Sequence[RKHSFunction]) -> RKHSFunction:
    """Return sum_i factors[i] functions[i], with equal centres merged."""
    f = functions[0]
    for g in functions[1:]:
        same_space(who, f, g)
    scaled = [float(c) * g.coefficients for c, g in zip(factors, functions, strict=True)]
    if all(g.centers is f.centers for g in functions):
        return type(f)(f.kernel, f.centers, sum(scaled[1:], scaled[0]))
    centers, coefficients = merged(join(who, [g.centers for g in functions]), np.concatenate(scaled))
    return type(f)(f.kernel, centers, coefficients)
