"""Kernel ridge regression under a metric it learns."""

from __future__ import annotations

import warnings
import zlib
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._checks import describe, integer, is_number, positive, refuse
from mercer.estimators._door import deadline_of, engine_of, one_of, targets, values, weights
from mercer.estimators._machine import Machine, watched, with_callbacks
from mercer.gram import gram
from mercer.gram.rpcholesky import generator
from mercer.kernels import Gaussian, Kernel, Matern
from mercer.losses import Squared
from mercer.solvers import Auto, HalfSquare, Problem, Status, leave_one_out, one_count, solve
from mercer.solvers.metric import average_gradients
from mercer.solvers.watch import Clock, Watcher
from mercer.spaces import Euclidean

ALPHAS = tuple(float(v) for v in np.logspace(-6, 2, 17))
MANY = 5000
"""Rows beyond which rounds are judged by rows held out, unless told."""
SAME = 64 * float(np.finfo(np.float64).eps)
SAMPLE = 2000
"""Rows that tell the penalty where rows are held out."""


class LearnedMetricRidge(RegressorMixin, Machine):
    """Kernel ridge regression under a metric it learns: fit, ask which directions matter to f, measure by them, repeat.

    k_A(x, z) = g((x - z)'A(x - z)). Round after round f is fitted by kernel ridge regression and A becomes the average
    outer product of its gradients, (1/n) sum_i grad f(x_i) grad f(x_i)', to the given power: what f does not depend on
    no longer counts. The round with the least error on rows left out is kept, and its ridge is certified.
    Cost: a round takes 8/3 n^3 flops with "loo", those of `KernelRidge` with "holdout", and n^2 (d + 1) for A.

    Parameters
    ----------
    alpha : float or "loo"
        The penalty; "loo" finds it in each round, of ``alphas``, by exact leave-one-out.
    alphas : array, optional
        Penalties that "loo" tries; None is 17 from 1e-6 to 100.
    kernel : Gaussian or Matern, optional
        Its scale, a number, is in units of the root of the mean squared distance of rows under A. None is
        Matern(nu=1.5).
    n_rounds : int
        Most times A is learned; 0 weighs features by their variances alone.
    power : float
        Of the average outer product; 0.5 learns more cautiously than 1.
    diagonal : bool
        Only weights of features.
    choose : {"loo", "holdout", "last"}, optional
        What rounds are judged by: leave-one-out, exactly; a part of the rows held out (the last fit is on all rows); or
        not at all. None is "loo" up to 5,000 rows, and "holdout" beyond.
    validation_fraction : float
        The part that is held out.
    intercept : {"free", "none"}
        Whether there is a b, free of penalty.
    tol : float, optional
        Largest relative residual of the last fit; None is for `mercer.solvers.Auto` to choose.
    deadline : float, optional
        Seconds after which the best round so far is kept.
    memory : float or str, optional
        Budget, such as ``"2 GB"``: short for ``engine=Engine(memory=...)``.
    engine : Engine, optional
        Threads, memory, precision, cluster.
    verbose : bool
        Whether progress is shown on standard error.
    random_state : int, Generator or None
        For the rows held out, and for the preconditioner of conjugate gradients.

    Attributes
    ----------
    A_ : array of shape (d, d)
        The metric, scaled as the kernel takes it: ``Gaussian(scale=A_)`` is a kernel for any other machine.
    metric_ : spaces.Euclidean
        The inner product space of A.
    kernel_ : Kernel
        The kernel with that metric.
    errors_ : array of shape (rounds + 1,)
        The mean squared error on rows left out after each round, relative to the variance of y.
    round_ : int
        The round that was kept.
    alpha_ : float
        The penalty.
    dual_coef_, intercept_, X_fit_, function_ : as of `KernelRidge`
        The last fit.
    certificate_ : Certificate
        What was proved of the last fit: of f given A, not of A.
    solution_ : Solution
        All of it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LearnedMetricRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 6))
    >>> model = LearnedMetricRidge(diagonal=True).fit(X, np.sin(2 * X[:, 3]))
    >>> int(np.diagonal(model.A_).argmax()), bool(model.errors_.min() < 0.2 * model.errors_[0])
    (3, True)
    """

    def __init__(
        self,
        alpha: Any = "loo",
        *,
        alphas: Any = None,
        kernel: Any = None,
        n_rounds: int = 5,
        power: float = 0.5,
        diagonal: bool = False,
        choose: str | None = None,
        validation_fraction: float = 0.2,
        intercept: str = "free",
        tol: float | None = None,
        deadline: float | None = None,
        memory: Any = None,
        engine: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.alphas = alphas
        self.kernel = kernel
        self.n_rounds = n_rounds
        self.power = power
        self.diagonal = diagonal
        self.choose = choose
        self.validation_fraction = validation_fraction
        self.intercept = intercept
        self.tol = tol
        self.deadline = deadline
        self.memory = memory
        self.engine = engine
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn A, and fit f and b under it; returns self.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
            Training points.
        y : array of shape (n,) or (n, t)
            Targets; the gradients of all count, each relative to the variance of its target.
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row repeated, a weight of 0 a row absent.
        """
        X = validate_data(self, X, dtype=np.float64)
        y = targets(self, X, y)
        w = weights(self, X, sample_weight)
        with watched(self, X, y, w) as watch:
            clock = Clock(type(self).__name__, deadline_of(self), watch)
            learning = self._learning(X, y, w)
            best, stopped = learning.rounds(integer(type(self).__name__, "n_rounds", self.n_rounds, 0), clock)
            self.errors_, self.round_, self.alpha_ = np.array(learning.errors), best.number, best.lam
            self.kernel_ = replace(learning.base, scale=best.A)
            self.A_ = best.A
            self.metric_ = Euclidean(A=best.A)
            self._solve(X, y, w, clock, watch)
        self._warn(stopped)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return f(X) + b, of shape (m,) or (m, t), in double precision. Cost: m n kernel values, never stored."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        assert self.function_ is not None  # there always is a kernel
        return np.asarray(values(self, self.function_, X)) + self.intercept_

    def _solve(self, X: Any, y: np.ndarray, w: np.ndarray | None, clock: Clock, watch: Watcher | None) -> None:
        left = None if clock.deadline is None else max(clock.deadline - clock.seconds, 1e-3)
        free = one_of(self, "intercept", {"none": False, "free": True})
        problem = Problem(gram(self.kernel_, X, engine=engine_of(self)), y, Squared(), HalfSquare(self.alpha_), w, free)
        found = solve(problem, Auto(self.tol, self.random_state), deadline=left, watch=watch)
        self.solution_, self.certificate_, self.function_ = found, found.certificate, found.function
        self.dual_coef_, self.X_fit_ = found.coefficients, X
        self.intercept_ = found.offset if y.ndim == 2 else float(found.offset[0])

    def _learning(self, X: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> Learning:
        who = type(self).__name__
        base = Matern(nu=1.5) if self.kernel is None else self.kernel
        if not (isinstance(base, (Gaussian, Matern)) and is_number(base.scale)):
            remedy = "Its scale is in units of the mean distance under A."
            refuse(who, "'kernel' must be a Gaussian or Matern with a number as scale, or None", describe(base), remedy)
        fraction = positive(who, "validation_fraction", self.validation_fraction)
        if fraction >= 1:
            refuse(who, "'validation_fraction' must be below 1", describe(fraction))
        choices = {name: name for name in ("loo", "holdout", "last")}
        choose = ("loo" if len(X) <= MANY else "holdout") if self.choose is None else one_of(self, "choose", choices)
        rng = generator(who, self.random_state)
        lots, held = _lots(X, rng), np.zeros(len(X), bool)
        if choose == "holdout":
            there = np.unique(lots if w is None else lots[w > 0])
            if len(there) < 2:
                got = f"n_samples={len(X)}, no two of them different"
                refuse(who, "there must be rows to hold out, and others", got, "Use choose='loo'.")
            held = lots <= there[max(0, min(len(there) - 2, int(fraction * len(there)) - 1))]
        free = one_of(self, "intercept", {"none": False, "free": True})
        return Learning(
            X, y.reshape(len(y), -1), np.ones(len(X)) if w is None else w, base, self._lams(), choose, held, lots, free,
            positive(who, "power", self.power), bool(self.diagonal), engine_of(self), self.tol, rng,
        )  # fmt: skip  # in the order of the record

    def _lams(self) -> np.ndarray:
        who = type(self).__name__
        if isinstance(self.alpha, str):
            one_of(self, "alpha", {"loo": None})
            lams = np.asarray(ALPHAS if self.alphas is None else self.alphas, dtype=np.float64)
            if lams.ndim != 1 or not len(lams) or not (np.isfinite(lams) & (lams > 0)).all():
                refuse(who, "'alphas' must be positive numbers", describe(self.alphas))
            return lams
        return np.array([positive(who, "alpha", self.alpha)])

    def _warn(self, stopped: Status | None) -> None:
        """Give the one warning a fit that missed its tolerance, or had no time for its rounds, ends with."""
        status = stopped or (None if self.solution_.converged else self.solution_.status)
        if status is None:
            return
        done = f"{len(self.errors_)} of {self.n_rounds + 1} rounds"
        said = f"{type(self).__name__} was {status.value} after {done}. Raise deadline or alpha."
        warnings.warn(f"{said} The model is the best found; see certificate_.", ConvergenceWarning, stacklevel=4)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.pairwise = False
        tags.target_tags.multi_output = True
        return tags


@dataclass(frozen=True, eq=False)
class Round:
    """A metric, the penalty that suits it, the fit and its error."""

    number: int
    A: np.ndarray
    lam: float
    error: float
    coefficients: np.ndarray


def _lots(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a number for each row that is its own: equal rows draw alike, whatever rows there are beside them."""
    seed = int(rng.integers(2**32))
    return np.array([zlib.crc32(row.tobytes(), seed) for row in np.ascontiguousarray(X)])


class _Late(Exception):  # noqa: N818  # not an error: time is up
    """Ends a round that there is no time for."""


@dataclass
class Learning:
    """The rounds: what they are judged by, and what the next metric is."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray
    base: Gaussian | Matern
    lams: np.ndarray
    choose: str
    held: np.ndarray
    lots: np.ndarray
    free: bool
    power: float
    diagonal: bool
    engine: Any
    tol: float | None
    rng: np.random.Generator

    def __post_init__(self) -> None:
        """Measure the spread of features and targets."""
        share = self.w / self.w.sum()
        centred = self.X - share @ self.X
        self.errors: list[float] = []
        centred[:, (centred**2).max(axis=0) <= SAME**2 * (self.X**2).max(axis=0)] = 0.0  # constant, but for rounding
        self.covariance = centred.T @ (centred * share[:, None])
        spread = share @ (self.y - share @ self.y) ** 2
        self.spread = np.where(spread > 0, spread, 1.0)
        self.some = np.flatnonzero(~self.held & (self.w > 0))

    def rounds(self, most: int, clock: Clock) -> tuple[Round, Status | None]:
        """Go through the rounds; return the best, and why they ended early."""
        variance = np.diagonal(self.covariance)
        first = np.where(variance > 0, 1 / np.where(variance > 0, variance, 1.0), 0.0)
        A = self._scaled(np.diag(first if first.any() else np.ones(len(first))))
        best = Round(0, A, float(self.lams[len(self.lams) // 2]), np.inf, np.zeros(self.y.shape))
        for number in range(most + 1):
            try:
                here = self._round(number, A, clock if number else None)
                stop = clock.step(number, here.error)
            except _Late:
                return best, Status.DEADLINE
            except KeyboardInterrupt:
                if not number:
                    raise
                return best, Status.INTERRUPTED
            self.errors.append(here.error)
            if here.error < best.error or number == 0 or self.choose == "last":
                best = here
            if stop is not None and number < most:
                return best, stop
            if number < most:
                G = self._next(here)
                if not G.any():
                    break
                A = G
        return best, None

    def _round(self, number: int, A: np.ndarray, clock: Clock | None) -> Round:
        """Fit under A, and return the error on rows left out, relative to the variance."""
        kernel, rows = replace(self.base, scale=A), self.some
        if self.choose != "holdout":
            lam, error, c = self._left_out(kernel, rows, clock)
            return Round(number, A, lam, error, c)
        sample = rows[np.argsort(self.lots[rows], kind="stable")[:SAMPLE]]
        lam = float(self.lams[0]) if len(self.lams) == 1 else self._left_out(kernel, sample, clock)[0]
        problem = self._problem(kernel, rows, lam)
        left = None if clock is None or clock.deadline is None else max(clock.deadline - clock.seconds, 1e-3)
        found = solve(problem, Auto(self.tol, self.rng), deadline=left, certify="none")
        unseen = np.flatnonzero(self.held & (self.w > 0))
        K = gram(kernel, self.X[unseen], self.X[rows], engine=self.engine)
        miss = self.y[unseen] - K @ found.coefficients.reshape(len(rows), -1) - found.offset
        error = float(np.mean(np.average(miss**2, axis=0, weights=self.w[unseen]) / self.spread))
        return Round(number, A, lam, error, found.coefficients.reshape(len(rows), -1))

    def _left_out(self, kernel: Kernel, rows: np.ndarray, clock: Clock | None) -> tuple[float, float, np.ndarray]:
        """Return the best penalty, its error by leave-one-out, and the coefficients."""

        def step(done: float) -> None:
            if clock is not None and clock.deadline is not None and clock.seconds > clock.deadline:
                raise _Late

        problem = self._problem(kernel, rows, 1.0)
        path = leave_one_out(problem, self.lams, share=one_count(self.w[rows]), step=step)
        errors = (path.errors / self.spread).mean(axis=1)
        at = len(errors) - 1 - int(errors[::-1].argmin())
        return float(path.lams[at]), float(errors[at]), path.coefficients[at]

    def _problem(self, kernel: Kernel, rows: np.ndarray, lam: float) -> Problem:
        K = gram(kernel, self.X[rows], engine=self.engine)
        return Problem(K, self.y[rows], Squared(), HalfSquare(lam), self.w[rows], self.free)

    def _next(self, here: Round) -> np.ndarray:
        """Return the metric that the gradients of a fit make; 0 where f is constant."""
        rows, kernel = self.some, replace(self.base, scale=here.A)
        c = here.coefficients / np.sqrt(self.spread)
        G = average_gradients(kernel, self.X[rows], c, self.X[rows], self.w[rows], self.engine)
        if self.diagonal:
            G = np.diag(np.diagonal(G) ** self.power)
        elif self.power != 1.0:
            v, Q = np.linalg.eigh(G)
            G = (Q * np.maximum(v, 0.0) ** self.power) @ Q.T
        return self._scaled((G + G.T) / 2)

    def _scaled(self, A: np.ndarray) -> np.ndarray:
        """Return A such that the mean squared distance of rows is 1 / scale^2."""
        size = 2.0 * float(np.sum(A * self.covariance))
        if size > 0:
            return np.asarray(A / (size * float(self.base.scale) ** 2))
        return np.zeros(A.shape) if self.errors else np.eye(len(A))
