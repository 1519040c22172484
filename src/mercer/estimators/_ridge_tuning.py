"""Ridge machines that tune themselves: the penalty, and the length scale, by exact leave-one-out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer._checks import describe, refuse
from mercer.estimators._line_search import coarse, golden
from mercer.estimators._ridge_samples import Sample, default_lams, on_some, whole, with_kernel
from mercer.gram._statistic import kept_statistic
from mercer.kernels import Kernel
from mercer.kernels._rescaled import rescaled, scale_of, scaled_parts
from mercer.kernels._views import take
from mercer.solvers import HalfSquare, LeaveOneOut, Problem, Status, leave_one_out
from mercer.solvers.watch import Clock, Stopped

FEW = 1000  # rows that find the octave of the scale
HASTE = (2000, 200)  # rows and centres of the estimate that is left when time is up before anything is known

Score = Callable[[LeaveOneOut, Problem], np.ndarray]


@dataclass(frozen=True, eq=False)
class Tuned:
    """What tuning found.

    Parameters
    ----------
    problem : Problem
        With the penalty and the kernel chosen.
    path : LeaveOneOut
        The path of penalties at that kernel.
    exact : bool
        Whether it is that of the problem itself, not of an estimate.
    table : dict of arrays
        A row for each scale and penalty that was tried.
    stopped : Status or None
        Why tuning ended early.
    """

    problem: Problem
    path: LeaveOneOut
    exact: bool
    table: dict[str, Any]
    stopped: Status | None


def is_tuned(estimator: Any) -> bool:
    """Whether an estimator asks for its penalty or its scale to be found."""
    who, loo = type(estimator).__name__, isinstance(estimator.alpha, str)
    if loo and estimator.alpha != "loo":
        refuse(who, "'alpha' must be a number >= 0, one a target, or 'loo'", describe(estimator.alpha))
    if estimator.alphas is not None and not loo:
        refuse(who, "'alphas' belongs to alpha='loo'", f"alphas beside alpha={describe(estimator.alpha)}")
    if estimator.scale is not None and not (isinstance(estimator.scale, str) and estimator.scale == "loo"):
        refuse(who, "'scale' must be 'loo' or None", describe(estimator.scale), "Numbers belong in the kernel.")
    return loo or estimator.scale is not None


def tuned(
    estimator: Any,
    problem: Problem,
    share: np.ndarray | None,
    clock: Clock,
    *,
    shared: bool = False,
    score: tuple[str, Score] | None = None,
) -> Tuned:
    """Return the problem with the penalty and the scale of least leave-one-out error, and all that was tried.

    Parameters
    ----------
    estimator : estimator
        With ``alpha``, ``alphas``, ``scale`` and ``random_state``.
    problem : Problem
        Its penalty is the one to keep where only the scale is asked for.
    share : array of shape (n,), optional
        The share of each row's weight that is left out at a time.
    clock : Clock
        Says when to stop; the best so far is then taken.
    shared : bool
        Whether all targets get one penalty.
    score : (name, callable), optional
        Another column of the table, from a path and its problem.
    """
    search = _Search(estimator, problem, share, clock, shared, score)
    stopped = None
    try:
        search.run()
    except Stopped as end:
        stopped = end.status
    except KeyboardInterrupt:
        stopped = Status.INTERRUPTED
    return search.result(stopped)


@dataclass
class _Search:
    """The search, and the best path it has seen on the best sample so far."""

    estimator: Any
    problem: Problem
    share: np.ndarray | None
    clock: Clock
    shared: bool
    score: tuple[str, Score] | None
    rows: list[dict[str, Any]] = field(default_factory=list)
    best: tuple[Sample, float, float, LeaveOneOut] | None = None  # with its error and the factor of the scales

    def run(self) -> None:
        """Look at all that was asked for."""
        lams, seed = self._lams(), self.estimator.random_state
        final = whole(self.problem, self.share, seed)
        if self.estimator.scale is None:
            self._error(final, lams, 1.0)
            return
        kernel = self._scaled_kernel()
        few = _with_statistic(on_some(self.problem, self.share, FEW, None, seed))
        octave = coarse(lambda k: self._error(few, lams, 2.0**k), _octave_of_median(kernel, self.problem))
        final = few if few.exact else _with_statistic(final)
        golden(lambda k: self._error(final, lams, 2.0**k), octave)

    def _error(self, sample: Sample, lams: np.ndarray, factor: float) -> float:
        """Return the error of the best penalties on a sample, with the scales times a factor; keep the best path."""
        self._step(0.0)  # paths on centres take no clock
        problem = sample.rescaled(factor)
        path = leave_one_out(problem, lams, share=sample.share, step=self._step)
        places = self._places(path)
        size = _variances(problem)
        error = float((path.errors[places, np.arange(len(places))] / size).mean())
        self._note(path, sample, factor, size)
        if self.best is None or self.best[0] is not sample or error < self.best[1]:
            self.best = sample, error, factor, path
        return error

    def _step(self, done: float) -> None:
        self.clock.go_on(len(self.rows), 1.0 - done)

    def _lams(self) -> np.ndarray:
        """Return the penalties to try."""
        who, given = type(self.estimator).__name__, self.estimator.alphas
        if not isinstance(self.estimator.alpha, str):
            if np.min(self.problem.lam) == 0:
                refuse(who, "scale='loo' needs alpha > 0", describe(self.estimator.alpha))
            return np.unique(self.problem.lam)
        if given is None:
            return default_lams(self.problem, self.share)
        values = np.asarray(given)
        if values.ndim != 1 or values.dtype.kind not in "fiu" or not values.size:
            refuse(who, "'alphas' must be a list of numbers > 0", describe(given))
        if not (np.isfinite(values) & (values > 0)).all():
            refuse(who, "'alphas' must be numbers > 0", describe(given))
        return np.unique(values.astype(np.float64))

    def _places(self, path: LeaveOneOut) -> np.ndarray:
        """Return the place in a path of each target's penalty."""
        if not isinstance(self.estimator.alpha, str):
            return np.searchsorted(path.lams, self.problem.lam)
        if not self.shared:
            return path.best
        together = path.errors.sum(axis=1)
        return np.full(path.errors.shape[1], len(together) - 1 - int(together[::-1].argmin()))

    def _scaled_kernel(self) -> Kernel:
        """Return the part of the kernel whose scale the search starts from."""
        kernel = self.problem.gram.kernel
        parts = [] if kernel is None else scaled_parts(kernel)
        if not parts:
            got = "a Gram matrix" if kernel is None else repr(kernel)
            refuse(type(self.estimator).__name__, "scale='loo' needs a kernel with a length scale", got)
        return parts[0]

    def _note(self, path: LeaveOneOut, sample: Sample, factor: float, size: np.ndarray) -> None:
        """Write the rows of the table."""
        kernel = None if self.estimator.scale is None else self.problem.gram.kernel
        scale = None if kernel is None else scale_of(rescaled(kernel, factor))
        more = None if self.score is None else self.score[1](path, sample.problem)
        for k, lam in enumerate(path.lams):
            row: dict[str, Any] = {"param_alpha": float(lam)}
            if scale is not None:
                row["param_scale"] = scale
            row["mean_test_score"] = -float(path.errors[k].mean())
            if path.errors.shape[1] > 1:
                row |= {f"target{t}_test_score": -float(e) for t, e in enumerate(path.errors[k])}
            if self.score is not None and more is not None:
                row[self.score[0]] = float(more[k])
            self.rows.append(row | {"n_rows": len(path.share), "relative_error": float((path.errors[k] / size).mean())})

    def result(self, stopped: Status | None) -> Tuned:
        """Return the best; if there was no time for any, that of a small estimate."""
        if self.best is None:
            hasty = on_some(self.problem, self.share, *HASTE, self.estimator.random_state)
            self.clock = Clock("")
            self._error(hasty, self._lams(), 1.0)
        assert self.best is not None
        sample, _, factor, path = self.best
        lam = path.lams[self._places(path)]
        problem = replace(
            self.problem, penalty=HalfSquare(float(lam[0]) if len(set(lam)) == 1 else tuple(lam.tolist()))
        )
        if factor != 1.0 and problem.gram.kernel is not None:
            problem = with_kernel(problem, rescaled(problem.gram.kernel, factor))
        return Tuned(problem, path, sample.exact, _table(self.rows, len(path.share)), stopped)


def _with_statistic(sample: Sample) -> Sample:
    K = sample.problem.gram
    known = None if K.kernel is None or sample.problem.centers is not None else K.kernel
    return sample if known is None else replace(sample, kept=kept_statistic(known, K.points, K.engine))


def _variances(problem: Problem) -> np.ndarray:
    """Return the weighted variance of each target, 1 where it is 0: what errors of several are relative to."""
    w, y = problem.weights / problem.weights.sum(), problem.targets
    found = w @ (y - w @ y) ** 2
    return np.where(found > 0, found, 1.0)


def _octave_of_median(part: Kernel, problem: Problem) -> float:
    """Return the power of two that takes a scale nearest to the median distance; 0 where that has no meaning."""
    rows = np.flatnonzero(problem.weights > 0)
    scale: Any = part.scale  # type: ignore[attr-defined]  # it has one
    try:
        found: Any = dataclasses.replace(part, scale="median").resolve(take(problem.gram.points, rows))  # type: ignore[call-arg]  # as above
    except (TypeError, ValueError):
        return 0.0
    if np.ndim(scale):
        return 0.0
    return float(np.round(np.log2(found.scale / scale)))


def _table(rows: list[dict[str, Any]], final: int) -> dict[str, Any]:
    """Return the rows as columns, ranked by their error, those of estimates on fewer rows last."""
    names = list(rows[0])
    table: dict[str, Any] = {name: _column([row[name] for row in rows]) for name in names}
    order = np.lexsort((table["relative_error"], table["n_rows"] != final))
    rank = np.empty(len(rows), dtype=np.intp)
    rank[order] = np.arange(1, len(rows) + 1)
    asked = [name for name in names if name.startswith("param_")]
    params = [{name.removeprefix("param_"): row[name] for name in asked} for row in rows]
    return {"params": params, **table, "rank_test_score": rank}


def _column(values: list[Any]) -> Any:
    if all(np.ndim(v) == 0 for v in values):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
