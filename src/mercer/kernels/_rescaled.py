"""A kernel at other length scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels._kernel import Kernel


def scaled_parts(kernel: Kernel) -> list[Kernel]:
    """Return the parts of a kernel (itself, if it is one) that have a length scale, in the order of their names."""
    found = kernel.get_params()
    owners = [name.rpartition("__")[0] for name in _names(kernel)]
    return [found[owner] if owner else kernel for owner in owners]


def scale_of(kernel: Kernel) -> Any:
    """Return the length scale: a number, vector or metric; a tuple of them in the order of names if there are more."""
    found = kernel.get_params()
    values = tuple(found[name] for name in _names(kernel))
    return values[0] if len(values) == 1 else values


def rescaled(kernel: Kernel, factor: float) -> Kernel:
    """Return the kernel with every length scale times a factor; what comes from data must be a number already.

    A metric A, of (x - z)'A(x - z), is divided by the square of the factor.
    """
    found = kernel.get_params()
    return kernel.__sklearn_clone__().set_params(**{name: _times(found[name], factor) for name in _names(kernel)})


def _names(kernel: Kernel) -> list[str]:
    return [name for name in sorted(kernel.get_params()) if name.rpartition("__")[2] == "scale"]


def _times(scale: Any, factor: float) -> Any:
    if np.ndim(scale) == 0:
        return float(scale) * factor
    values = np.asarray(scale, dtype=np.float64)
    return values / factor**2 if values.ndim == 2 else values * factor
