"""Leave-one-out, exactly: what every fit without one row predicts there, for a whole path of penalties, without refits.

If h_i is the leverage of row i, the share of a change in y_i that its fitted value follows, then the fit without row i
misses y_i by (y_i - f(x_i) - b) / (1 - h_i). All leverages of all penalties come from one reduction of K.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._checks import describe, refuse
from mercer.gram._pool import one_blas_thread
from mercer.losses import traits
from mercer.solvers._refits import AllPoints, Fits, OnCenters, Refits
from mercer.solvers.problem import Problem

WHO = "leave_one_out"
BYTES = 12  # for each entry of K: half of it, and U
SMALL = 500  # coefficients: up to here threads cost matrix products more than they save


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """The path of fits and what each misses when a row is left out; arrays run over l penalties, n rows, t targets.

    Parameters
    ----------
    lams : array of shape (l,)
        The penalties, in rising order.
    residuals : array of shape (l, n, t)
        y_i - g(x_i) - c, with g and c fitted without row i; NaN for rows of weight 0.
    leverages : array of shape (l, n)
        h; 0 for rows of weight 0.
    errors : array of shape (l, t)
        The weighted mean of the squared residuals; infinite where there is no fit.
    noise : array of shape (l, t)
        The variance of y about f that makes the residuals as large as a Gaussian process expects them to be.
    log_likelihood : array of shape (l, t)
        Of y, for a Gaussian process with covariance (noise / lam) k and that noise; b is unknown if it is free.
    coefficients : array of shape (l, n, t), with centres (l, m, t)
        Of each fit.
    offsets : array of shape (l, t)
        b of each fit.
    share : array of shape (n,)
        The share of each row's weight that was left out at a time.
    refits : Refits
        What any other penalty, and any prediction, takes.
    """

    lams: np.ndarray
    residuals: np.ndarray
    leverages: np.ndarray
    errors: np.ndarray
    noise: np.ndarray
    log_likelihood: np.ndarray
    coefficients: np.ndarray
    offsets: np.ndarray
    share: np.ndarray = field(repr=False)
    refits: Refits = field(repr=False)

    @property
    def best(self) -> np.ndarray:
        """The place of the penalty with the least error for each target, (t,); the largest of several."""
        return len(self.lams) - 1 - self.errors[::-1].argmin(axis=0)


def one_count(weight: np.ndarray | None) -> np.ndarray | None:
    """Return the share of each weight that is one row: 1 / w of counts, and all of weights that are not whole numbers.

    Whole numbers count equal rows, of which one is left out: as if they had been repeated.
    """
    if weight is None or not np.array_equal(np.rint(weight), weight):
        return None
    return np.asarray(1.0 / np.maximum(weight, 1.0))


def leave_one_out(
    problem: Problem,
    lams: Any,
    *,
    share: np.ndarray | None = None,
    step: Callable[[float], Any] = lambda done: None,
) -> LeaveOneOut:
    """Return the fits of a problem of least squares for all penalties, and what each misses with a row left out.

    Exact, for any weights, targets and intercept. On all points: 8/3 n^3 flops and 12 n^2 bytes once, then about
    200 n^2 flops a penalty. With centres, which are kept when a row is left out: 2 n m^2 flops, then n m a penalty.

    Parameters
    ----------
    problem : Problem
        Its own penalty is not looked at.
    lams : array of shape (l,)
        Penalties > 0.
    share : array of shape (n,), optional
        The share of each row's weight that is left out at a time; None: all of it. See `one_count`.
    step : callable, optional
        Told now and then which share of the work is done; what it raises ends the work.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Squared
    >>> from mercer.solvers import Problem, leave_one_out
    >>> X = np.linspace(0, 1, 50).reshape(-1, 1)
    >>> y = np.sin(6 * X[:, 0]) + 0.3 * np.random.default_rng(0).standard_normal(50)
    >>> path = leave_one_out(Problem(gram(Gaussian(scale=0.2), X), y, Squared()), [1e-4, 1e-2, 1.0, 100.0])
    >>> path.lams[path.best], path.errors[:, 0].round(3)
    (array([0.01]), array([0.071, 0.061, 0.066, 0.385]))
    """
    lams = _checked(problem, lams)
    refits = OnCenters(problem) if problem.centers is not None else AllPoints(problem, step)
    return of_refits(problem, refits, lams, share)


def of_refits(problem: Problem, refits: Refits, lams: np.ndarray, share: np.ndarray | None = None) -> LeaveOneOut:
    """Return the same from refits that are known already."""
    rows = np.flatnonzero(problem.weights > 0)
    share = np.ones(len(problem.y)) if share is None else share
    with one_blas_thread() if problem.n_coefficients <= SMALL else nullcontext():
        found = refits.fits(lams)
    w, left = problem.weights[rows], share[rows]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        without = found.residuals / (1.0 - left + left * found.stays)[:, :, None]
        errors = np.einsum("i,lit->lt", w / w.sum(), without**2)
        noise = np.einsum("li,lit->lt", w * (1.0 - left + left * found.stays), without**2) / (1.0 / left).sum()
        likelihood = _log_likelihood(problem, found, lams, noise, w, left)
    errors[~(np.isfinite(errors) & found.fine[:, None])] = np.inf
    residuals = np.full((len(lams), len(problem.y), errors.shape[1]), np.nan)
    residuals[:, rows] = without
    leverages = np.zeros((len(lams), len(problem.y)))
    leverages[:, rows] = 1.0 - found.stays
    return LeaveOneOut(
        lams, residuals, leverages, errors, noise, likelihood, found.coefficients, found.offsets, share, refits
    )


def _log_likelihood(
    problem: Problem, found: Fits, lams: np.ndarray, noise: np.ndarray, w: np.ndarray, left: np.ndarray
) -> np.ndarray:
    """Return log p(y) with noise / (w left) on each of the 1 / left equal rows that a row stands for.

    With M = s K s + lam I and r its residuals, y'(cov y)^-1 y = sum_i w_i y_i r_i / noise.
    """
    n, free = len(w), int(problem.intercept)
    y = problem.targets[problem.weights > 0]
    fit = np.einsum("i,it,lit->lt", w, y, found.residuals) / noise
    covariance = found.logdet[:, None] - np.log(w).sum() + (n - free) * np.log(noise / lams[:, None])
    repeats = (1.0 / left - 1.0).sum() * np.log(2 * np.pi * noise) - ((1.0 / left - 1.0) * np.log(w * left)).sum()
    repeats = repeats - np.log(left).sum()
    return np.asarray(-0.5 * (fit + covariance + repeats + (n - free) * np.log(2 * np.pi)))


def _checked(problem: Problem, lams: Any) -> np.ndarray:
    if not traits(problem.loss).quadratic:
        refuse(WHO, "the squared loss", type(problem.loss).__name__, "Use cross-validation.")
    try:
        values = np.unique(np.asarray(lams, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.empty(0)
    if not values.size or not (np.isfinite(values) & (values > 0)).all():
        refuse(WHO, "penalties must be numbers > 0", describe(lams))
    n = len(problem.y)
    if problem.centers is None and BYTES * n * n > problem.gram.engine.budget:
        need, budget = BYTES * n * n / 2**30, problem.gram.engine.budget / 2**30
        refuse(
            WHO, f"{need:.3g} GiB for {n} rows", f"a budget of {budget:.3g} GiB", "Give the problem centres.",
            MemoryError,
        )  # fmt: skip  # message and remedy on a line each
    return values
