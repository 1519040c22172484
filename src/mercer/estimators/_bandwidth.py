"""How wide windows should be: by a rule, or by the likelihood of each point under the windows of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import refuse
from mercer.engine import Engine
from mercer.gram._log_sums import log_sums
from mercer.kernels._views import look
from mercer.kernels._windows import Window, falling
from mercer.solvers import Status
from mercer.solvers.watch import Clock, Stopped

COARSE = np.geomspace(1 / 32, 4.0, 15)
FINE = 7  # between the neighbours of the best, in each of two finer passes


@dataclass(frozen=True)
class Likeliest:
    """The stretch of a window of the largest leave-one-out likelihood, that likelihood, and how the search ended."""

    stretch: float
    log_likelihood: float
    status: Status


def likeliest(base: Window, X: Any, w: np.ndarray, engine: Engine, clock: Clock) -> Likeliest:
    """Search a coarse grid, then two finer ones; 1 and NaN if there was time for none.

    The leave-one-out likelihood of a stretch t is sum_i w_i log of the density at x_i by all other points, a point of
    weight 2 being two. All stretches of a grid come from one pass over the distances.
    """
    form = falling(base.kernel.form())
    assert form is not None  # all windows fall
    d, out = X.shape[1], np.minimum(w, 1.0)
    volume, others = base.log_volume(d), np.log(w.sum() - out)[:, None]
    with np.errstate(divide="ignore"):
        own = np.log(w - out)  # of the other copies of a point
    found: dict[float, float] = {}
    status = Status.CONVERGED

    def watch(share: float) -> None:
        clock.go_on(len(found), 1.0 - share)

    def add(stretches: np.ndarray) -> None:
        logs = log_sums(form, X, None, np.log(w), engine, stretches, own, watch)
        sums = w @ (logs - volume - d * np.log(stretches) - others)
        found.update(zip(stretches.tolist(), sums.tolist(), strict=True))

    try:
        add(COARSE)
        for _ in range(2):
            tried, best = sorted(found), _best(found)
            at = tried.index(best)
            low, high = tried[max(at - 1, 0)], tried[min(at + 1, len(tried) - 1)]
            add(np.geomspace(low, high, FINE + 2)[1:-1])
    except Stopped as end:
        status = end.status
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        if not found:
            raise
    best = _best(found)
    return Likeliest(best, found.get(best, np.nan), status)


def _best(found: dict[float, float]) -> float:
    return max(found, key=lambda t: found[t]) if found else 1.0


def deviations(who: str, X: Any, w: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column, rows counted by their weights; refuse columns that do not vary."""
    A = look((), X)[0]
    A = (A.toarray() if sparse.issparse(A) else A).astype(np.float64)
    found = np.sqrt(np.maximum(w @ (A - w @ A / w.sum()) ** 2 / w.sum(), 0.0))
    flat = found <= 1e-12 * np.abs(A).max(axis=0, initial=0.0)
    if flat.any():
        got = f"a constant column {int(np.flatnonzero(flat)[0])} in {len(w)} sample{'s' if len(w) > 1 else ''}"
        refuse(who, "a rule for the bandwidth needs columns that vary", got, "Drop it, or give a bandwidth.")
    return np.asarray(found)
