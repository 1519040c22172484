"""Kernels that fall with one distance: their logarithms, and those that are densities of a known volume."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from scipy.special import gammaln

from mercer.kernels._algebra import ScaledKernel
from mercer.kernels._form import ExpMinus, Form, Fused, Scale
from mercer.kernels._kernel import Kernel
from mercer.kernels._statistics import Manhattan, Squares
from mercer.kernels.cauchy import Cauchy
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.laplace import Laplace
from mercer.kernels.matern import Matern, Matern12Rule, Matern32Rule, Matern52Rule
from mercer.kernels.rational_quadratic import InversePowerRule, InverseRule, RationalQuadratic

# ---------------------------------------------------------------- functions of one distance


def falling(form: Form) -> Fused | None:
    """Return the form of a kernel that strictly decreases with a Euclidean or Manhattan distance; None for others."""
    if not isinstance(form, Fused) or len(form.statistics) != 1:
        return None
    known = isinstance(form.statistics[0], (Squares, Manhattan)) and log_profile(form.rule, np.zeros(1)) is not None
    return form if known else None


def power(form: Fused) -> int:
    """Return p, where the statistic of a falling form is a distance to the power p."""
    return 2 if isinstance(form.statistics[0], Squares) else 1


@singledispatch
def log_profile(rule: Any, t: np.ndarray) -> np.ndarray | None:
    """Return log of the kernel's value as a function of its statistic; None for a rule that is not known to fall."""
    return None


@log_profile.register
def _(rule: ExpMinus, t: np.ndarray) -> np.ndarray | None:
    return -rule.gamma * t


@log_profile.register
def _(rule: Scale, t: np.ndarray) -> np.ndarray | None:
    inner = log_profile(rule.a, t)
    return None if inner is None or not rule.c > 0 else inner + math.log(rule.c)


@log_profile.register
def _(rule: Matern12Rule, t: np.ndarray) -> np.ndarray | None:
    return -np.sqrt(rule.gamma * t)


@log_profile.register
def _(rule: Matern32Rule, t: np.ndarray) -> np.ndarray | None:
    u = np.sqrt(rule.gamma * t)
    return np.asarray(np.log1p(u) - u)


@log_profile.register
def _(rule: Matern52Rule, t: np.ndarray) -> np.ndarray | None:
    u = np.sqrt(rule.gamma * t)
    return np.asarray(np.log1p(u + u * u / 3) - u)


@log_profile.register
def _(rule: InverseRule, t: np.ndarray) -> np.ndarray | None:
    return -np.log1p(rule.gamma * t)


@log_profile.register
def _(rule: InversePowerRule, t: np.ndarray) -> np.ndarray | None:
    return -rule.alpha * np.log1p(rule.gamma * t)


# ---------------------------------------------------------------- densities


@dataclass(frozen=True)
class Window:
    """A kernel k(x - z) of finite volume: divided by it, a density about z.

    Parameters
    ----------
    kernel : Kernel
        k, of one of the families that `window` knows.
    """

    kernel: Kernel

    def log_volume(self, d: int) -> float:
        """Return log of the integral of k over R^d; infinite where the tails are too heavy."""
        lengths = np.asarray(self.kernel.scale, dtype=np.float64)  # type: ignore[attr-defined]  # all families have one
        unit = _log_unit_volume(self.kernel, d)
        if lengths.ndim == 2:
            sign, log_determinant = np.linalg.slogdet(lengths)
            return unit - log_determinant / 2 if sign > 0 else math.inf
        return unit + float(np.broadcast_to(np.log(lengths), (d,)).sum())

    def draw(self, rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        """Return n draws of x - z, (n, d)."""
        lengths = np.asarray(self.kernel.scale, dtype=np.float64)  # type: ignore[attr-defined]  # as above
        u = _unit_draws(self.kernel, rng, n, d)
        if lengths.ndim < 2:
            return u * lengths
        values, vectors = np.linalg.eigh((lengths + lengths.T) / 2)
        return np.asarray((u / np.sqrt(values)) @ vectors.T)

    def with_scale(self, scale: Any) -> Window:
        """Return the window of the same shape with other lengths."""
        return Window(replace(self.kernel, scale=scale))  # type: ignore[call-arg]  # as above

    @property
    def standard(self) -> float:
        """The scale of a window of bandwidth 1: that of a standard normal density, or 1 for other shapes."""
        return math.sqrt(2.0) if isinstance(self.kernel, Gaussian) else 1.0


def window(kernel: Kernel) -> Window | None:
    """Return the window of a kernel that is a density up to a constant; None where none is known."""
    while isinstance(kernel, ScaledKernel) and kernel.factor > 0:
        kernel = kernel.kernel
    return Window(kernel) if isinstance(kernel, (Gaussian, Laplace, Matern, RationalQuadratic, Cauchy)) else None


def _log_unit_volume(kernel: Kernel, d: int) -> float:
    if isinstance(kernel, Gaussian):
        return d / 2 * math.log(math.pi)
    if isinstance(kernel, Laplace):
        return d * math.log(2.0)
    if isinstance(kernel, Matern):  # its Fourier transform at 0
        nu = float(kernel.nu)
        ratio = float(gammaln(nu + d / 2) - gammaln(nu))
        return d / 2 * math.log(4 * math.pi / (2 * nu)) + ratio
    alpha = _tail(kernel)
    if alpha <= d / 2:
        return math.inf
    return d / 2 * math.log(math.pi * alpha) + float(gammaln(alpha - d / 2) - gammaln(alpha))


def _unit_draws(kernel: Kernel, rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    if isinstance(kernel, Laplace):
        return rng.laplace(size=(n, d))
    normal = rng.standard_normal((n, d))
    if isinstance(kernel, Gaussian):
        return normal / math.sqrt(2.0)
    if isinstance(kernel, Matern):  # normal draws of a variance that has a Gamma density
        nu = float(kernel.nu)
        return normal * np.sqrt(rng.gamma(nu + d / 2, 1.0 / nu, size=(n, 1)))
    alpha = _tail(kernel)  # a Student density of 2 alpha - d degrees of freedom
    freedom = 2 * alpha - d
    return np.asarray(normal * np.sqrt(alpha / 2 / rng.gamma(freedom / 2, size=(n, 1))))


def _tail(kernel: Kernel) -> float:
    return float(kernel.alpha) if isinstance(kernel, RationalQuadratic) else 1.0
