"""A function of an RKHS that you can hold: a finite combination of sections k(., x)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._checks import describe, integer, is_number, number, refuse
from mercer.functions import _projection
from mercer.functions._algebra import combined, matrix, norms_of_sections, same_space
from mercer.functions._points import as_points, one_point
from mercer.functions._weights import weights
from mercer.kernels import Kernel
from mercer.kernels._views import n_rows, take

WHO = "RKHSFunction"


@dataclass(frozen=True, eq=False, repr=False)
class RKHSFunction:
    """f = sum_i a_i k(., x_i), a vector of the space whose inner product makes <f, k(., x)> = f(x).

    ``f(X)`` evaluates, ``f + g``, ``f - g``, ``a * f`` combine, and equal centres merge. The geometry comes from the
    kernel alone: <f, g> = sum_ij a_i b_j k(x_i, z_j), however f and g are written. Functions compare by ``isclose``.
    Cost: n kernel values for each point evaluated, n m for an inner product. All sums are in double precision.

    Parameters
    ----------
    kernel : Kernel
        Whose space it lives in; parameters that come from data are resolved on the centres.
    centers : array, DataFrame, sparse matrix or list
        The points x_i. They are not copied: do not change them.
    coefficients : array of shape (n,) or (n, t)
        a; with t columns f has t outputs, a vector of the product space H^t with <f, g> = sum_s <f_s, g_s>.

    Examples
    --------
    >>> from mercer.functions import RKHSFunction
    >>> from mercer.kernels import Linear
    >>> f = RKHSFunction(Linear(), [[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0])
    >>> f([[1.0, 1.0]]), f.norm()
    (array([7.]), 5.0)
    >>> 2 * f - f
    <RKHSFunction of Linear(), 2 centres>
    """

    kernel: Kernel
    centers: Any
    coefficients: Any

    __array_ufunc__ = None  # so that NumPy's numbers leave a * f to us

    def __post_init__(self) -> None:
        """Check the parts against each other."""
        if not isinstance(self.kernel, Kernel):
            refuse(WHO, "'kernel' must be a Kernel", describe(self.kernel), "See mercer.kernels.", TypeError)
        centers = as_points(WHO, self.centers, "centers")
        a = _coefficients(self.coefficients, n_rows(centers))
        for name, value in (("kernel", self.kernel.resolve(centers)), ("centers", centers), ("coefficients", a)):
            object.__setattr__(self, name, value)

    def __call__(self, X: Any) -> np.ndarray:
        """Return f at the points X, of shape (m,) or (m, t). Cost: m n kernel values, never stored."""
        X = X if X is self.centers else as_points(WHO, X)
        return np.asarray(matrix(self.kernel, X, self.centers) @ self.coefficients)

    def inner(self, other: RKHSFunction) -> float:
        """Return <f, g> = sum_ij a_i b_j k(x_i, z_j)."""
        same_space("inner", self, other)
        return float(np.sum(self.coefficients * other(self.centers)))

    def norm(self) -> float:
        """Return ||f|| = sqrt(<f, f>)."""
        return math.sqrt(max(0.0, self.inner(self)))

    def distance(self, other: RKHSFunction) -> float:
        """Return ||f - g||; then |f(x) - g(x)| <= ||f - g|| sqrt(k(x, x)) everywhere."""
        return combined("distance", [1.0, -1.0], [self, other]).norm()

    def angle(self, other: RKHSFunction) -> float:
        """Return the angle between f and g in [0, pi], accurate at both ends."""
        from mercer.functions.rkhs import RKHS

        same_space("angle", self, other)
        return RKHS(self.kernel).angle(self, other)

    def isclose(self, other: RKHSFunction, tol: float = 1e-7) -> bool:
        """Whether f and g are one function: ||f - g|| <= tol max(||f||, ||g||), by whatever centres.

        The default tol is the root of double rounding, since norms of small differences come from cancelling squares.
        """
        return self.distance(other) <= number("isclose", "tol", tol, 0.0) * max(self.norm(), other.norm())

    def bound(self, X: Any) -> np.ndarray:
        """Return ||f|| sqrt(k(x, x)), above which |f(x)| cannot be, at the points X (by Cauchy-Schwarz)."""
        return self.norm() * norms_of_sections(self.kernel, as_points("bound", X))

    def project(self, points: Any, tol: float = _projection.DEPENDENT) -> RKHSFunction:
        """Return the function nearest to f in the span of k(., p) over the points: it has f's values there.

        Of points with dependent sections (repeated ones, or more than the space has dimensions) only enough are kept.
        Cost: m^3 / 3 flops for m points.

        Parameters
        ----------
        points : as for centers
            Whose sections span the subspace.
        tol : float
            A section nearer than tol, relative to its norm, to the span of the others counts as dependent.
        """
        points = as_points("project", points, "points")
        kept, c = _projection.interpolate(self.kernel, points, self(points), number("project", "tol", tol, 0.0))
        if not len(kept):
            return combined("project", [0.0], [self])
        return RKHSFunction(self.kernel, take(points, kept), c)

    def compress(self, m: int) -> Compressed:
        """Return a near function with at most m of f's centres, and how near it is.

        Centres are taken greedily, each the one that brings the error down most; the coefficients are those of the
        orthogonal projection, the best there are for these centres. Cost: n^2 kernel values and n m^2 flops.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.functions import RKHSFunction
        >>> from mercer.kernels import Gaussian
        >>> X = np.linspace(0, 1, 50).reshape(-1, 1)
        >>> f = RKHSFunction(Gaussian(scale=1.0), X, np.ones(50))
        >>> short = f.compress(4)
        >>> len(short.kept), short.error < 0.01 * f.norm()
        (4, True)
        """
        m = min(integer("compress", "m", m, 1), n_rows(self.centers))
        f = self(self.centers)
        kept, c = _projection.greedy(self.kernel, self.centers, f, m)
        if not len(kept):
            kept, c = np.array([0], dtype=np.intp), np.zeros((1, *f.shape[1:]))
        g = RKHSFunction(self.kernel, take(self.centers, kept), c)
        left = f - g(self.centers)
        # <f - g, f> - <f - g, g>, from what is left at the centres: no difference of squares.
        square = float(np.sum(self.coefficients * left)) - float(np.sum(c * left[kept]))
        return Compressed(g, math.sqrt(max(0.0, square)), kept)

    def weights(self) -> np.ndarray:
        """Return w with f(x) = w'x, for a linear kernel (a multiple of x'Az, also on some columns)."""
        return weights(self.kernel, self.centers, self.coefficients)

    # ------------------------------------------------------------ the algebra

    def __add__(self, other: Any) -> RKHSFunction:
        if is_number(other) and other == 0:  # the start of sum()
            return self
        return combined("f + g", [1.0, 1.0], [self, other])

    __radd__ = __add__

    def __sub__(self, other: Any) -> RKHSFunction:
        return combined("f - g", [1.0, -1.0], [self, other])

    def __mul__(self, factor: Any) -> RKHSFunction:
        if not is_number(factor):
            refuse(
                "a * f",
                "'a' must be a number",
                describe(factor),
                "A product of functions may leave the space.",
                TypeError,
            )
        return RKHSFunction(self.kernel, self.centers, number("a * f", "a", factor) * self.coefficients)

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> RKHSFunction:
        if not is_number(factor) or factor == 0:
            refuse(
                "f / a",
                "'a' must be a number other than 0",
                describe(factor),
                error=TypeError if not is_number(factor) else ValueError,
            )
        return RKHSFunction(self.kernel, self.centers, self.coefficients / number("f / a", "a", factor))

    def __neg__(self) -> RKHSFunction:
        return self * -1.0

    def __repr__(self) -> str:
        """Return the kernel and the sizes."""
        n, t = n_rows(self.centers), self.coefficients.shape[1:]
        outputs = f", {t[0]} outputs" if t else ""
        return f"<RKHSFunction of {self.kernel!r}, {n} centre{'s' if n > 1 else ''}{outputs}>"


@dataclass(frozen=True, eq=False)
class Compressed:
    """A function with fewer centres, and its distance to the one it stands for.

    Parameters
    ----------
    function : RKHSFunction
        The short one.
    error : float
        ||f - function||; what was lost.
    kept : array
        Which centres of f it has, in the order in which they were chosen.
    """

    function: RKHSFunction
    error: float
    kept: np.ndarray

    def bound(self, X: Any) -> np.ndarray:
        """Return error sqrt(k(x, x)), above which |f(x) - function(x)| cannot be, at the points X."""
        return self.error * norms_of_sections(self.function.kernel, as_points("bound", X))


def section(kernel: Kernel, x: Any) -> RKHSFunction:
    """Return k(., x), the function whose inner product with f is f(x).

    Parameters
    ----------
    kernel : Kernel
        Whose space it lives in.
    x : point
        A vector, a number, a set, a string, or a table or list of one.

    Examples
    --------
    >>> from mercer.functions import inner, section
    >>> from mercer.kernels import Polynomial, SetIntersection
    >>> k = Polynomial(degree=2)
    >>> f = section(k, [1.0, 2.0]) - 3 * section(k, [0.0, 1.0])
    >>> inner(f, section(k, [1.0, 1.0])), f([[1.0, 1.0]])
    (4.0, array([4.]))
    >>> section(SetIntersection(), {"a", "b"})([{"b", "c"}])
    array([1.])
    """
    return RKHSFunction(kernel, one_point("section", x), [1.0])


def inner(f: RKHSFunction, g: RKHSFunction) -> float:
    """Return <f, g> = sum_ij a_i b_j k(x_i, z_j), whatever combinations f and g are written as.

    Examples
    --------
    >>> from mercer.functions import inner, section
    >>> from mercer.kernels import Linear
    >>> inner(section(Linear(), [1.0, 2.0]), section(Linear(), [3.0, 4.0]))
    11.0
    """
    if not isinstance(f, RKHSFunction):
        refuse("inner", "both must be functions of an RKHS", describe(f), error=TypeError)
    return f.inner(g)


def _coefficients(value: Any, n: int) -> np.ndarray:
    """Return coefficients as a read-only float64 copy of shape (n,) or (n, t)."""
    try:
        a = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        refuse(WHO, "'coefficients' must be real numbers", describe(value))
    if a.ndim not in (1, 2) or len(a) != n or a.size == 0:
        refuse(WHO, f"'coefficients' must be one number (or row) for each of the {n} centres", f"shape {a.shape}")
    if not np.isfinite(a).all():
        refuse(
            WHO,
            "'coefficients' must be finite",
            f"{a[~np.isfinite(a)][0]} at {np.argwhere(~np.isfinite(a))[0].tolist()}",
        )
    a.flags.writeable = False
    return a
