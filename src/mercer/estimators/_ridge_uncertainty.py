"""How sure a ridge machine is: leave-one-out residuals, the reading of a Gaussian process, jackknife+ intervals."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._checks import between, refuse
from mercer.engine import Engine
from mercer.estimators._ridge_samples import Sample, whole
from mercer.functions import Centers
from mercer.gram import from_matrix, gram
from mercer.kernels import Kernel
from mercer.kernels._evaluate import diagonal
from mercer.kernels._views import n_rows, take
from mercer.losses import Squared
from mercer.solvers import LeaveOneOut, Problem, leave_one_out

ENTRIES = 2**23  # of the derivatives of predictions in targets, held at once


@dataclass(frozen=True, eq=False)
class Summary:
    """What leave-one-out said of the penalty of each target."""

    residuals: np.ndarray  # (n, t)
    noise: np.ndarray  # (t,)
    log_likelihood: np.ndarray  # (t,)


def summary(path: LeaveOneOut, lam: np.ndarray) -> Summary:
    """Return what a path says of one penalty a target."""
    at, t = np.searchsorted(path.lams, lam), np.arange(len(lam))
    return Summary(path.residuals[at, :, t].T, path.noise[at, t], path.log_likelihood[at, t])


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The problem that was solved, and what its refits without one row say; those are made when first asked for.

    Above 8,000 rows, or where memory does not allow them, they are the refits of an estimate on centres
    (`_ridge_samples.whole`).
    """

    who: str
    kernel: Kernel | None
    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    share: np.ndarray | None
    intercept: bool
    lam: np.ndarray
    centers: Centers | None
    engine: Engine
    random_state: Any
    known: Summary | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again: it takes n^2 numbers."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    @cached_property
    def sample(self) -> Sample:
        """What refits are made of."""
        if np.min(self.lam) <= 0:
            refuse(self.who, "leave-one-out needs alpha > 0", "alpha=0", "Give a small positive alpha.")
        K = from_matrix(self.X, self.engine) if self.kernel is None else gram(self.kernel, self.X, engine=self.engine)
        problem = Problem(K, self.y, Squared(), weight=self.weight, intercept=self.intercept, centers=self.centers)
        return whole(problem, self.share, self.random_state)

    @cached_property
    def path(self) -> LeaveOneOut:
        """Leave-one-out at the penalties of the fit."""
        return leave_one_out(self.sample.problem, self.lam, share=self.sample.share)

    @cached_property
    def summary(self) -> Summary:
        """What leave-one-out says; rows that are not in the sample have NaN."""
        if self.known is not None:
            return self.known
        found = summary(self.path, self.lam)
        if self.sample.rows is None:
            return found
        residuals = np.full((len(self.y), len(self.lam)), np.nan)
        residuals[self.sample.rows] = found.residuals
        return dataclasses.replace(found, residuals=residuals)

    # ------------------------------------------------------------ predictions

    def std(self, X: Any) -> np.ndarray:
        """Return the standard deviation of f + b at X, (m, t)."""
        if self.kernel is None:
            refuse(
                self.who, "return_std needs k(x, x), which a Gram matrix does not give", "kernel='precomputed'",
                "Use interval=..., or a kernel.",
            )  # fmt: skip  # message and remedy on a line each
        out = np.empty((n_rows(X), len(self.lam)))
        for lam in np.unique(self.lam):
            at = np.flatnonzero(self.lam == lam)
            for rows, part in self._blocks(X):
                own = diagonal(self.kernel.form(), part)
                variance = self.path.refits.variance(self._columns(part), own, float(lam))
                out[rows, at] = np.sqrt(self.summary.noise[at] / lam * variance[:, None])
        return out

    def interval(self, X: Any, f: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of jackknife+ intervals about the predictions f, (m, t) each.

        With f_-i fitted without row i, which it misses by r_i, the lower end is a quantile of f_-i(x) - |r_i|, the
        upper end one of f_-i(x) + |r_i|.
        """
        level = between(self.who, "interval", level, 0.0, 1.0)
        problem, low, high = self.sample.problem, np.empty_like(f), np.empty_like(f)
        count = np.flatnonzero(problem.weights > 0)
        share = np.ones(len(count)) if self.sample.share is None else self.sample.share[count]
        w = problem.weights[count]
        w = w * (1.0 / share).sum() / w.sum()  # counts are themselves; others have a mean of 1
        residuals = summary(self.path, self.lam).residuals[count]
        for lam in np.unique(self.lam):
            for rows, part in self._blocks(X):
                H = self.path.refits.influence(self._columns(part), float(lam))
                for t in np.flatnonzero(self.lam == lam):
                    without = f[rows, t, None] - H * (share * residuals[:, t])
                    size = np.abs(residuals[:, t])
                    high[rows, t] = _upper(without + size, w, level)
                    low[rows, t] = -_upper(size - without, w, level)
        return low, high

    def _blocks(self, X: Any) -> Iterator[tuple[slice, Any]]:
        """Yield X in blocks whose derivatives in all targets fit the memory."""
        size = max(1, ENTRIES // len(self.sample.problem.y))
        for i in range(0, n_rows(X), size):
            rows = slice(i, min(i + size, n_rows(X)))
            yield rows, take(X, rows)

    def _columns(self, X: Any) -> np.ndarray:
        """Return k(x, x_j) for the points, or the centres, that refits are combinations of."""
        problem = self.sample.problem
        chosen = problem.centers
        if self.kernel is None:
            at = np.arange(len(problem.y)) if chosen is None else chosen.indices
            at = at if self.sample.rows is None else self.sample.rows[at]
            return np.asarray(X[:, at].toarray() if hasattr(X, "toarray") else X[:, at], dtype=np.float64)
        points = problem.gram.points if chosen is None else chosen.points
        engine = dataclasses.replace(self.engine, precision="double")
        return np.asarray(gram(self.kernel, X, points, engine=engine).block(), dtype=np.float64)


def _upper(values: np.ndarray, w: np.ndarray, level: float) -> np.ndarray:
    """Return in each row the ceil(level (n + 1))-th smallest value, each counted w times; infinity beyond the last."""
    place = np.ceil(level * (w.sum() + 1.0) - 1e-9)
    if place > w.sum() + 1e-9:
        return np.full(len(values), np.inf)
    if (w == 1.0).all():
        k = int(place) - 1
        return np.asarray(np.partition(values, k, axis=1)[:, k])
    order = np.argsort(values, axis=1)
    reached = np.cumsum(w[order], axis=1) >= place - 1e-9
    first = np.where(reached.any(axis=1), reached.argmax(axis=1), len(w) - 1)
    return np.asarray(np.take_along_axis(values, np.take_along_axis(order, first[:, None], 1), 1)[:, 0])


class LeaveOneOutMixin:
    """What leave-one-out says of a fitted ridge machine; computed when first asked for, unless tuning knew it."""

    _uncertainty: Uncertainty
    dual_coef_: np.ndarray

    @property
    def loo_residuals_(self) -> np.ndarray:
        """y_i less what the fit without row i predicts there, (n,) or (n, t); NaN for rows of weight 0."""
        return self._of(self._sure.summary.residuals)

    @property
    def noise_(self) -> Any:
        """The variance of y about f, from leave-one-out; a number, or one a target."""
        return self._of(self._sure.summary.noise)

    @property
    def log_marginal_likelihood_(self) -> Any:
        """Of y, for f from a Gaussian process with covariance (noise / alpha) k; a number, or one a target."""
        return self._of(self._sure.summary.log_likelihood)

    @property
    def _sure(self) -> Uncertainty:
        check_is_fitted(self)
        return self._uncertainty

    def _of(self, values: np.ndarray) -> Any:
        """Return one target's values without their axis."""
        if self.dual_coef_.ndim > 1:
            return values
        return float(values[0]) if values.ndim == 1 else values[:, 0]

    def _with_uncertainty(self, X: Any, f: np.ndarray, return_std: bool, interval: float | None) -> Any:
        """Return predictions f with what was asked for beside them."""
        if return_std and interval is not None:
            refuse(type(self).__name__, "return_std or interval", "both", "Call predict twice.")
        if return_std:
            return f, self._sure.std(X).reshape(f.shape)
        if interval is None:
            return f
        low, high = self._sure.interval(X, f.reshape(len(f), -1), interval)
        return f, low.reshape(f.shape), high.reshape(f.shape)
