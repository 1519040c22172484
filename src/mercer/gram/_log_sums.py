"""Logarithms of sums of kernel values that are too small, or too unlike, for sums: each row from its largest term."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.engine import Engine
from mercer.gram._lower import lower
from mercer.gram._pool import run
from mercer.gram._sources import Buffers
from mercer.kernels._form import Fused, Identity
from mercer.kernels._windows import log_profile, power

ENTRIES = 2**20  # of a band of rows: a few MB, which is what a task holds


def log_sums(
    form: Fused,
    X: Any,
    Y: Any,
    log_weights: np.ndarray,
    engine: Engine,
    stretches: np.ndarray | None = None,
    own: np.ndarray | None = None,
    done: Callable[[float], Any] = lambda share: None,
) -> np.ndarray:
    """Return log of sum_j w_j k((x_i - y_j) / t) for each row i and each stretch t, (n, T), in double precision.

    Distances are computed once for all stretches. Cost: n m d, and n m exponentials a stretch.

    Parameters
    ----------
    form : Fused
        Of a kernel that falls with one distance, see `falling`.
    X, Y
        The points x_i; y_j, None if they are the same.
    log_weights : array of shape (m,)
        log w.
    engine : Engine
        Threads.
    stretches : array, optional
        t; one of 1 unless given.
    own : array of shape (n,), optional
        Instead of log w_i where i = j (if Y is None): minus infinity leaves a point out of its own sum.
    done : callable, optional
        Told after each band which share of the rows is done; it may raise.
    """
    source = lower(replace(form, rule=Identity()), X, Y, replace(engine, precision="double"))
    source.prepare()
    stretches = np.ones(1) if stretches is None else np.asarray(stretches, dtype=np.float64)
    n, m, p = source.n, source.m, power(form)
    found = np.empty((n, len(stretches)))
    rows = max(4, ENTRIES // m // 4 * 4)

    def work(i: int, buffers: Buffers) -> Iterator[None]:
        a = min(i + rows, n)
        apart = buffers.tile("distances", a - i, m, np.float64)
        source.values(i, a, 0, m, apart, buffers)
        for s, t in enumerate(stretches):
            logs = log_profile(form.rule, apart / t**p)
            assert logs is not None  # the form falls
            logs = logs + log_weights
            if own is not None:
                here = np.arange(i, a)
                logs[here - i, here] += own[i:a] - log_weights[i:a]
            found[i:a, s] = log_sum_exp(logs)
            yield
        done(a / n)

    run(range(0, n, rows), work, engine.n_threads, Buffers)
    return found


def log_sum_exp(logs: np.ndarray) -> np.ndarray:
    """Return log of the sum of exp over each row, which it overwrites."""
    best = logs.max(axis=1)
    finite = np.where(np.isfinite(best), best, 0.0)
    logs -= finite[:, None]
    np.exp(logs, out=logs)
    with np.errstate(divide="ignore"):
        return np.asarray(finite + np.log(logs.sum(axis=1)))
