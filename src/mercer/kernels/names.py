"""The scikit-learn door: kernels by the names and parameters that scikit-learn gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer._checks import describe, number, positive, refuse
from mercer.kernels._kernel import Kernel
from mercer.kernels.chi2 import Chi2
from mercer.kernels.cosine import Cosine
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.laplace import Laplace
from mercer.kernels.linear import Linear
from mercer.kernels.polynomials import Polynomial

_REFUSED = {
    "sigmoid": (
        "tanh(gamma x'z + coef0) is not a kernel: its Gram matrices may have negative eigenvalues",
        "Use 'poly' or ArcCosine(); or, at your own risk, "
        "Custom(lambda X, Z: np.tanh(X @ Z.T - 1), vectorized=True), and look with check_psd.",
    ),
    "additive_chi2": (
        "-sum (x - z)^2 / (x + z) is not a kernel: its values at x = z are 0, the others negative",
        "Use 'chi2', its exponential.",
    ),
    "precomputed": (
        "a precomputed kernel needs its matrix",
        "Use Precomputed(K) with indices as points, or kernel='precomputed' in an estimator.",
    ),
}


def named(name: object, gamma: Any = None, degree: int = 3, coef0: float = 1.0) -> Kernel:
    """Return the kernel of a scikit-learn name: "linear", "poly", "rbf", "laplacian", "chi2" or "cosine".

    Parameters
    ----------
    name : str
        "linear" x'z; "poly" or "polynomial" (gamma x'z + coef0)^degree; "rbf" exp(-gamma |x - z|^2);
        "laplacian" exp(-gamma |x - z|_1); "chi2" exp(-gamma sum (x - z)^2 / (x + z)); "cosine" x'z / (|x| |z|).
    gamma : float, "scale", "auto" or None
        None is "auto", 1 / d, as in ``sklearn.metrics.pairwise`` (1 for chi2); "scale" is 1 / (d var(X)).
    degree, coef0 : int, float
        Of the polynomial.

    Examples
    --------
    >>> from mercer.kernels import named
    >>> named("rbf", gamma=0.25)
    Gaussian(scale=2.0)
    >>> named("poly", gamma=0.5)
    Polynomial(degree=3, gamma=0.5)
    """
    if isinstance(name, str) and name in _REFUSED:
        wanted, remedy = _REFUSED[name]
        refuse("kernel", wanted, repr(name), remedy)
    makers: dict[str, Callable[[], Kernel]] = {
        "linear": Linear,
        "poly": lambda: _polynomial(gamma, degree, coef0),
        "polynomial": lambda: _polynomial(gamma, degree, coef0),
        "rbf": lambda: Gaussian.from_gamma(_gamma(gamma)),
        "laplacian": lambda: _laplace(_gamma(gamma)),
        "chi2": lambda: Chi2(1.0 / positive("kernel", "gamma", 1.0 if gamma is None else gamma)),
        "cosine": Cosine,
    }
    if not isinstance(name, str) or name not in makers:
        known = ", ".join(makers)
        refuse("kernel", f"a kernel's name must be one of {known}", describe(name), "Or pass a kernel: Gaussian(1.0).")
    return makers[name]()


def _gamma(gamma: Any) -> Any:
    if gamma is None:
        return "auto"
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto"):
            refuse("kernel", "'gamma' must be a positive number, 'scale' or 'auto'", repr(gamma), "Give gamma > 0.")
        return gamma
    return positive("kernel", "gamma", gamma)


def _laplace(gamma: Any) -> Kernel:
    return Laplace(gamma if isinstance(gamma, str) else 1.0 / gamma)


def _polynomial(gamma: Any, degree: int, coef0: float) -> Kernel:
    inner = number("kernel", "coef0", coef0, 0.0)
    return Polynomial(degree, inner=inner, gamma=_gamma(gamma))
