"""The last digits of a problem over a box: once the coefficients at their bounds are known, the rest is linear."""

from __future__ import annotations

import numpy as np

from mercer.losses import highest, lowest, traits
from mercer.solvers._span import fresh
from mercer.solvers.problem import Problem

MOST_FREE = 1000  # coefficients inside their bounds that are polished
TINY = float(np.finfo(np.float64).tiny)


def polished(problem: Problem, c: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return exact c, f = K c and b, if those at their bounds are the right ones; None where too many are free.

    With a conjugate y u + spread |u| + ridge u^2 / 2 on the box, free rows have f + b + (lam ridge / w) c = y - spread
    sign(c), and sum c = 0 where b is free. All weights are positive here.
    """
    form = traits(problem.loss).boxed
    assert form is not None
    c, b = c.copy(), b.copy()
    lower, upper = bounds(problem)
    c = np.clip(c, lower, upper)
    free = (c > lower) & (c < upper) & ((c != 0) | (form.spread == 0))
    if free.sum(axis=0).max() > MOST_FREE:
        return None
    K = fresh(problem.gram)
    for k in range(c.shape[1]):
        F, used = np.flatnonzero(free[:, k]), np.flatnonzero(c[:, k])
        if not len(F):
            continue
        values = np.asarray(K.block(F, used), dtype=np.float64) @ c[used, k] if len(used) else np.zeros(len(F))
        ridge = problem.lam[k] * form.ridge / problem.weights[F]
        wanted = problem.targets[F, k] - form.spread * np.sign(c[F, k]) - values - ridge * c[F, k] - b[k]
        square = np.asarray(K.block(F, F), dtype=np.float64)
        change, raised = _solved(square + np.diag(ridge), wanted, float(c[:, k].sum()), free=problem.intercept)
        c[F, k] += change
        b[k] += raised
    c = np.clip(c, lower, upper)
    return c, np.asarray(K @ c, dtype=np.float64), b


def bounds(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of c, (n, t) each."""
    y, w = problem.targets, problem.weights[:, None]
    low, high = (np.broadcast_to(of(problem.loss, y), y.shape) for of in (lowest, highest))
    return -w * high / problem.lam, -w * low / problem.lam


def _solved(A: np.ndarray, wanted: np.ndarray, total: float, *, free: bool) -> tuple[np.ndarray, float]:
    """Return the smallest z and b with A z + b = wanted, and sum z = -total if b is free; else b is 0."""
    values, vectors = np.linalg.eigh(A)
    kept = values > 1e-13 * len(A) * max(values[-1], TINY)

    def inverse(v: np.ndarray) -> np.ndarray:
        return np.asarray(vectors[:, kept] @ ((vectors[:, kept].T @ v) / values[kept]))

    z = inverse(wanted)
    if not free:
        return z, 0.0
    one = inverse(np.ones(len(A)))
    b = float((z.sum() + total) / one.sum()) if one.sum() > TINY else 0.0
    return z - b * one, b
