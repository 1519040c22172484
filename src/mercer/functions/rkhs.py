"""The space of a kernel, with the verbs of every inner product space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer._checks import describe, refuse
from mercer.functions._algebra import block, combined, matrix
from mercer.functions._points import join
from mercer.functions.rkhs_function import RKHSFunction
from mercer.kernels import Kernel
from mercer.kernels._views import n_rows
from mercer.spaces import Space
from mercer.spaces._space import Array, Coefficients


@dataclass(frozen=True)
class RKHS(Space[RKHSFunction]):
    """The reproducing kernel Hilbert space of a kernel: functions with ``<f, k(., x)> = f(x)``.

    It has every verb of a space: norm, distance, cosine, angle, is_orthogonal, gram, gram_schmidt, project; and
    `spaces.laws` hold in it. Gram matrices and projections of sections are matrix products.

    Parameters
    ----------
    kernel : Kernel
        Its parameters must be numbers; see ``kernel.resolve(X)``.

    Examples
    --------
    >>> from mercer.functions import RKHS, section
    >>> from mercer.kernels import Gaussian
    >>> space = RKHS(Gaussian(scale=1.0))
    >>> f, g = (section(space.kernel, x) for x in (0.0, 3.0))
    >>> space.norm(f), round(space.cosine(f, g), 6)
    (1.0, 0.000123)
    >>> space.project(g, [f]).coefficients.round(6)
    array([0.000123])
    """

    kernel: Kernel
    completeness: ClassVar[str] = (
        "Complete: by construction it holds the limits of all Cauchy sequences of finite combinations of sections, and "
        "vectors that are close in norm are close at every point, so that the limits are functions too. The finite "
        "combinations, which can be held here, are dense in it."
    )

    def __post_init__(self) -> None:
        """Check the kernel."""
        if not isinstance(self.kernel, Kernel):
            refuse("RKHS", "'kernel' must be a Kernel", describe(self.kernel), "See mercer.kernels.", TypeError)
        self.kernel.form()  # refuses parameters that are not numbers yet

    def check(self, x: RKHSFunction) -> RKHSFunction:
        """Return x if it is a function of this kernel's space, or refuse it."""
        if not isinstance(x, RKHSFunction):
            refuse("RKHS", "vectors are RKHSFunctions", describe(x), "Use section(kernel, x).", TypeError)
        if x.kernel != self.kernel:
            refuse("RKHS", f"functions of {self.kernel!r}", repr(x.kernel), "Each kernel has its own space.")
        return x

    def inner(self, x: RKHSFunction, y: RKHSFunction) -> float:
        """Return ``<x, y>``."""
        return self.check(x).inner(self.check(y))

    def combine(self, coefficients: Coefficients, vectors: Sequence[RKHSFunction]) -> RKHSFunction:
        """Return the linear combination, with equal centres merged."""
        return combined("RKHS", [float(np.real(c)) for c in coefficients], [self.check(v) for v in vectors])

    def gram(self, vectors: Sequence[RKHSFunction]) -> Array:
        """Return G with ``G[i, j] = <vectors[i], vectors[j]>``. Each kernel value is computed once."""
        if not len(vectors):
            return np.empty((0, 0))
        vectors = [self.check(v) for v in vectors]
        if _sections(vectors):
            a = np.stack([v.coefficients[0].ravel() for v in vectors])
            return block(self.kernel, join("RKHS", [v.centers for v in vectors])) * (a @ a.T)
        G = np.stack([self._against(v, vectors, np.ones(len(vectors))) for v in vectors])
        return (G + G.T) / 2

    def project(self, x: RKHSFunction, basis: Sequence[RKHSFunction], tol: float | None = None) -> RKHSFunction:
        """Return the nearest function to x in the span of basis; of sections, by one factorisation."""
        scalar = self.check(x).coefficients.ndim == 1
        used = [b for b in basis if self.check(b).coefficients.any()]
        if not scalar or not used or not _sections(used):
            return super().project(x, basis, tol)
        points = join("RKHS", [b.centers for b in used])
        return x.project(points) if tol is None else x.project(points, tol)

    def _against(self, x: RKHSFunction, basis: Sequence[RKHSFunction], size: Array) -> Array:
        """Return <x, b_i> / ||b_i|| from the values of x at all centres at once."""
        basis = [self.check(b) for b in basis]
        a = np.concatenate([b.coefficients for b in basis])
        values = matrix(self.kernel, join("RKHS", [b.centers for b in basis]), x.centers) @ x.coefficients
        starts = np.cumsum([0, *(n_rows(b.centers) for b in basis)])[:-1]
        return np.add.reduceat((a * values).reshape(len(a), -1).sum(axis=1), starts) / size


def _sections(vectors: Sequence[RKHSFunction]) -> bool:
    """Whether each is a multiple of one section."""
    return all(n_rows(v.centers) == 1 for v in vectors)
