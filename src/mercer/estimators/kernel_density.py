"""Densities by windows."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._checks import describe, integer, is_number, refuse
from mercer.estimators._bandwidth import deviations, likeliest
from mercer.estimators._class_means import in_double
from mercer.estimators._door import deadline_of, points, weights
from mercer.estimators._machine import Machine, watched, with_callbacks
from mercer.gram import gram
from mercer.gram._log_sums import log_sums
from mercer.kernels import Kernel, named
from mercer.kernels._views import look, n_rows, take
from mercer.kernels._windows import Window, falling, window
from mercer.solvers import Status
from mercer.solvers.watch import Clock, Watcher

FAR = 1e-280  # densities over the largest below this are computed by their logarithms
_RULES = ("scott", "silverman", "likelihood")


class KernelDensity(DensityMixin, Machine):
    """The density (1 / W) sum_i w_i k(x - x_i) / v, W the sum of the weights w and v the integral of k.

    k must be a density up to that factor: a Gaussian, Laplace or Matern kernel, or a rational quadratic or Cauchy
    kernel whose tails are not too heavy for the number of columns. Where sums in double precision would be 0,
    logarithms are summed, so that densities far from all points are right too.
    Cost: nothing to fit with a rule; 3 n^2 distances and 29 n^2 exponentials for "likelihood"; m n for m points.

    Parameters
    ----------
    bandwidth : float, array, {"scott", "silverman", "likelihood"} or None
        The standard deviation of a Gaussian window, or the ``scale`` of another kernel; one number, or one a column.
        The rules are standard deviations of the columns times n^(-1 / (d + 4)), n the sum of the weights, for "scott";
        that times (4 / (d + 2))^(1 / (d + 4)) for "silverman"; and the multiple of Scott's of the largest leave-one-out
        likelihood, sum_i w_i log of the density at x_i by the other points, for "likelihood". None leaves the kernel
        as it is given.
    kernel : Kernel or str
        The shape of the window: a kernel, or "rbf" or "laplacian".
    deadline : float, optional
        Seconds after which "likelihood" takes the best bandwidth so far.
    memory : float or str, optional
        Budget, such as ``"2 GB"``: short for ``engine=Engine(memory=...)``.
    engine : Engine, optional
        Threads, memory. Sums are in double precision.
    verbose : bool
        Whether progress is shown on standard error.

    Attributes
    ----------
    kernel_ : Kernel
        The window, its lengths numbers.
    bandwidth_ : float or array
        What was given or found; the kernel's own scale for None.
    log_likelihood_ : float
        The leave-one-out likelihood of the bandwidth, where it was searched for.
    X_fit_ : as X
        The training points.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDensity
    >>> X = np.random.default_rng(0).standard_normal((500, 1))
    >>> model = KernelDensity("likelihood").fit(X)
    >>> np.exp(model.score_samples([[0.0]])).round(2)
    array([0.4])
    >>> model.sample(3, random_state=0).shape
    (3, 1)
    """

    def __init__(
        self,
        bandwidth: Any = "scott",
        *,
        kernel: Any = "rbf",
        deadline: float | None = None,
        memory: Any = None,
        engine: Any = None,
        verbose: bool = False,
    ) -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.deadline = deadline
        self.memory = memory
        self.engine = engine
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the points and choose the bandwidth; returns self.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (n, d)
            Points.
        y : ignored
            For pipelines.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a point repeated, a weight of 0 a point absent.
        """
        shape = self._shape()
        X = points(self, X, reset=True)
        w = weights(self, X, sample_weight)
        rows = slice(None) if w is None else np.flatnonzero(w)
        X = X if w is None else take(X, rows)
        w = np.ones(n_rows(X)) if w is None else w[rows]
        with watched(self, X, y, w) as watch:
            self.log_likelihood_ = np.nan
            self.bandwidth_ = self._bandwidth(shape, X, w, watch)
            if self.bandwidth is None:
                self._window = Window(shape.kernel.resolve(X))
                self.bandwidth_ = self._window.kernel.scale  # type: ignore[attr-defined]  # windows have one
            else:
                self._window = shape.with_scale(_plain(self.bandwidth_ * shape.standard))
            self.kernel_ = self._window.kernel
            self._log_volume = self._finite_volume(X)
            self.X_fit_, self._weights = X, w / w.sum()
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the logarithm of the density at each point, (m,). Cost: m n kernel values, never stored."""
        check_is_fitted(self)
        X = points(self, X, reset=False)
        values = gram(self.kernel_, X, self.X_fit_, in_double(self)) @ self._weights
        with np.errstate(divide="ignore"):
            logs = np.log(values)
        far = np.flatnonzero(values < FAR)
        if len(far):
            form = falling(self.kernel_.form())
            assert form is not None  # all windows fall
            logs[far] = log_sums(form, take(X, far), self.X_fit_, np.log(self._weights), in_double(self))[:, 0]
        return np.asarray(logs - self._log_volume)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the sum over the points of the logarithm of the density, each as often as its weight says."""
        logs = self.score_samples(X)
        w = weights(self, logs, sample_weight)
        return float(logs.sum() if w is None else w @ logs)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Return draws from the density, (n_samples, d): a training point, and a draw from the window about it."""
        check_is_fitted(self)
        n = integer(type(self).__name__, "n_samples", n_samples, 1)
        state = random_state if isinstance(random_state, np.random.Generator) else check_random_state(random_state)
        rng = state if isinstance(state, np.random.Generator) else np.random.default_rng(state.randint(2**31))
        about = look((), take(self.X_fit_, rng.choice(len(self._weights), n, p=self._weights)))[0]
        about = about.toarray() if sparse.issparse(about) else about
        return np.asarray(about + self._window.draw(rng, n, about.shape[1]))

    # ------------------------------------------------------------ the bandwidth

    def _shape(self) -> Window:
        kernel = self.kernel if isinstance(self.kernel, Kernel) else named(self.kernel, gamma=1.0)
        found = window(kernel)
        if found is None:
            wanted = "'kernel' must be a density up to a factor: Gaussian, Laplace, Matern, RationalQuadratic or Cauchy"
            refuse(type(self).__name__, wanted, describe(self.kernel), "Or use ParzenClassifier, which needs none.")
        return found

    def _finite_volume(self, X: Any) -> float:
        d = X.shape[1]
        volume = self._window.log_volume(d)
        if not np.isfinite(volume):
            wanted = f"the integral of the kernel over {d} column{'s' if d > 1 else ''} must be finite"
            refuse(type(self).__name__, wanted, repr(self.kernel_), "Use one with lighter tails, such as Gaussian.")
        return volume

    def _bandwidth(self, shape: Window, X: Any, w: np.ndarray, watch: Watcher | None) -> Any:
        asked, d = self.bandwidth, X.shape[1]
        if asked is None:
            return None
        if isinstance(asked, str) and asked in _RULES:
            h = deviations(type(self).__name__, X, w) * w.sum() ** (-1.0 / (d + 4))
            if asked == "silverman":
                h = h * (4.0 / (d + 2)) ** (1.0 / (d + 4))
            return self._likeliest(shape, h, X, w, watch) if asked == "likelihood" else h
        given = None if isinstance(asked, str) else np.asarray(asked, dtype=np.float64)
        fine = given is not None and (given.ndim == 0 or given.shape == (d,)) and (given > 0).all()
        if given is None or not fine or not np.isfinite(given).all() or isinstance(asked, bool):
            rules = ", ".join(map(repr, _RULES))
            wanted = f"'bandwidth' must be a positive number, {d} of them, one of {rules} or None"
            refuse(type(self).__name__, wanted, describe(asked))
        return float(given) if is_number(asked) else given

    def _likeliest(self, shape: Window, h: np.ndarray, X: Any, w: np.ndarray, watch: Watcher | None) -> np.ndarray:
        """Return the multiple of h of the largest leave-one-out likelihood."""
        if w.sum() < 2:
            got = f"{len(w)} sample{'s' if len(w) > 1 else ''}"
            refuse(type(self).__name__, "to leave one point out there must be two", got, "Give a bandwidth.")
        base = shape.with_scale(_plain(h * shape.standard))
        clock = Clock(type(self).__name__, deadline_of(self), watch)
        found = likeliest(base, X, w, in_double(self), clock)
        self.log_likelihood_ = found.log_likelihood
        if found.status is not Status.CONVERGED:
            said = f"did not finish its search for a bandwidth: {found.status.value}, after {clock.seconds:.3g} s"
            remedy = "Raise deadline, or give a bandwidth. The bandwidth is the best found, Scott's if there was none."
            warnings.warn(f"{type(self).__name__} {said}. {remedy}", ConvergenceWarning, stacklevel=5)
        return h * found.stretch


def _plain(lengths: Any) -> Any:
    """Return lengths as a number where they are one."""
    return float(lengths) if np.ndim(lengths) == 0 else lengths
