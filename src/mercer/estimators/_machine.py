"""What every estimator is: scikit-learn's base, its callbacks where it has them, and how a fit is watched."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from mercer.estimators._door import is_precomputed
from mercer.solvers import Progress, Solution, Status, Step
from mercer.solvers.watch import Watcher

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has none

    class CallbackSupportMixin:  # type: ignore[no-redef]  # the same name, whichever is installed
        """No callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method as it is."""
        return method


__all__ = ["Machine", "warn_if_short", "watched", "with_callbacks"]


class Machine(CallbackSupportMixin, BaseEstimator):
    """An estimator with a kernel: its tags, and ``set_callbacks`` from scikit-learn 1.9 on."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self)
        return tags


@contextmanager
def watched(estimator: Any, X: Any = None, y: Any = None, sample_weight: Any = None) -> Iterator[Watcher | None]:
    """Yield what watches the steps of a fit: progress if ``verbose``, and the callbacks, which may stop it.

    To be used in a ``fit`` under ``with_callbacks``, around all of it up to the last fitted attribute.
    """
    shown = Progress() if getattr(estimator, "verbose", False) else None
    try:
        with _told(estimator, X, y, sample_weight, shown) as watch:
            yield watch
    finally:
        if shown is not None:
            shown.close()


@contextmanager
def _told(estimator: Any, X: Any, y: Any, sample_weight: Any, shown: Watcher | None) -> Iterator[Watcher | None]:
    """Tell the callbacks that a fit begins and ends, and yield what tells them of its steps."""
    if not hasattr(estimator, "_init_callback_context"):
        yield shown
        return
    told = {"estimator": estimator, "X": X, "y": y}
    told["metadata"] = None if sample_weight is None else {"sample_weight": sample_weight}
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(**told)
    yield _telling(estimator, context, shown) if getattr(estimator, "_skl_callbacks", None) else shown
    context.call_on_fit_task_end(**told, reconstruction_attributes=lambda: _fitted(estimator))


def _telling(estimator: Any, context: Any, shown: Watcher | None) -> Watcher:
    """Return a watcher that shows steps and tells the callbacks of each, as a task of its own."""

    def watch(step: Step) -> bool:
        stop = bool(shown is not None and shown(step))
        task = context.subcontext(task_name=f"{step.solver} step")
        task.call_on_fit_task_begin(estimator=estimator)
        return bool(task.call_on_fit_task_end(estimator=estimator)) or stop

    return watch


def _fitted(estimator: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") and name[0] != "_"}


def warn_if_short(
    estimator: Any,
    solution: Solution,
    tol: float,
    remedy: str = "Raise deadline or alpha, or scale X.",
    *,
    stacklevel: int = 4,
) -> None:
    """Give the one warning a fit that missed its tolerance ends with; it says what to do."""
    if solution.status is Status.CONVERGED:
        return
    who, stats = type(estimator).__name__, solution.stats
    proof = solution.certificate
    gap = f", relative gap {proof.relative_gap:.1e} (worst row {proof.worst_row[0]})" if proof else ""
    warnings.warn(
        f"{who} did not reach tol={tol:g}: residual {stats['residual']:.1e}{gap} after {stats['fit_seconds']:.3g} s, "
        f"{solution.status.value}. {remedy} The model is the best found; see certificate_.",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
