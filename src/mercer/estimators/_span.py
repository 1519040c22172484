"""Coordinates in the span of sections k(., c): how an algorithm on vectors acts in the space of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer.engine import Engine
from mercer.gram import feature_map, gram, random_pivots
from mercer.kernels import Kernel
from mercer.kernels._views import n_rows, take


@dataclass(frozen=True, eq=False)
class Span:
    """The functions sum_c a_c k(., c) over some centres, in an orthonormal basis.

    With K_CC = R'R, the section k(., x) projected on the span has the coordinates R^-T k_C(x), where k_C(x) are the
    values k(c, x); so coordinates have the inner products, and distances, of feature space.

    Parameters
    ----------
    kernel : Kernel or None
        Its parameters numbers; None where points come as rows of kernel values.
    centers : points, or positions of them
        What spans it; none depends on the others.
    root : array of shape (r, r)
        R, upper triangular.
    engine : Engine
        What values are computed with.
    """

    kernel: Kernel | None
    centers: Any
    root: np.ndarray
    engine: Engine

    def values(self, X: Any) -> np.ndarray:
        """Return k(x, c) for points x and all centres, (n, r)."""
        if self.kernel is None:
            return np.asarray(X[:, self.centers], dtype=np.float64)
        return gram(self.kernel, X, self.centers, engine=self.engine).block()

    def coordinates(self, X: Any) -> np.ndarray:
        """Return the coordinates of points, (n, r). Cost: r kernel values and r^2 flops a point."""
        return np.ascontiguousarray(solve_triangular(self.root, self.values(X).T, trans="T").T)

    def on_values(self, components: np.ndarray) -> np.ndarray:
        """Return the same linear map as one of kernel values: L R^-T for a map L of coordinates."""
        return np.asarray(solve_triangular(self.root, components.T).T)


def span_of(kernel: Kernel | None, X: Any, most: int | None, engine: Engine, rng: np.random.Generator) -> Span:
    """Return the span of the sections at points, or at ``most`` of them, chosen by randomly pivoted Cholesky.

    Points whose sections depend on others are left out. X holds kernel values where there is no kernel.
    """
    engine = replace(engine, precision="double")
    chosen = np.arange(n_rows(X))
    if most is not None and most < len(chosen):
        K = X if kernel is None else gram(kernel, X, engine=engine)
        chosen = np.sort(random_pivots(K, most, random_state=rng).pivots)
    C = X[np.ix_(chosen, chosen)] if kernel is None else gram(kernel, take(X, chosen), engine=engine).block()
    found = feature_map(C, tol=1e-10)
    kept = chosen[found.pivots]
    return Span(kernel, kept if kernel is None else take(X, kept), found.P[:, found.pivots], engine)
