"""Conjugate gradients on several right-hand sides at once, each with its own step lengths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

Map = Callable[[np.ndarray], np.ndarray]


@dataclass
class Run:
    """How a run of conjugate gradients ended."""

    Z: np.ndarray
    residual: np.ndarray  # relative, one a column
    steps: int
    status: Status


def conjugate_gradients(
    apply: Map,
    B: np.ndarray,
    precondition: Map,
    *,
    tol: float,
    max_steps: int,
    clock: Clock,
    start: np.ndarray | None = None,
) -> Run:
    """Solve A Z = B for a symmetric positive definite map A.

    The true residual is recomputed when the recurrence says done, so that what is reported holds; a residual that no
    longer falls ends the run as stalled. Ctrl-C keeps the best Z so far.
    """
    Z = np.zeros_like(B) if start is None else start.copy()
    size = np.maximum(np.linalg.norm(B, axis=0), np.finfo(float).tiny)
    best = Run(Z.copy(), np.full(B.shape[1], np.inf), 0, Status.MAX_STEPS)
    steps, status = 0, Status.MAX_STEPS
    try:
        while True:
            R = B - apply(Z) if steps or start is not None else B.copy()
            residual = np.linalg.norm(R, axis=0) / size
            improved = bool(residual.max() < 0.5 * best.residual.max())
            if residual.max() <= best.residual.max():
                best = Run(Z.copy(), residual, steps, status)
            if residual.max() <= tol:
                return Run(Z, residual, steps, Status.CONVERGED)
            if not improved and steps:
                best.status = Status.STALLED
                return best
            if steps >= max_steps:
                return best
            Z, steps, stop = _descend(apply, precondition, Z, R, size, tol, max_steps, steps, clock)
            if stop is not None:
                best.Z, best.residual, best.steps, best.status = (
                    Z,
                    np.linalg.norm(B - apply(Z), axis=0) / size,
                    steps,
                    stop,
                )
                return best
    except KeyboardInterrupt:
        best.status = Status.INTERRUPTED
        return best


def refined(
    fine: Map,
    coarse: Map,
    B: np.ndarray,
    precondition: Map,
    *,
    tol: float,
    least: float,
    max_steps: int,
    clock: Clock,
    start: np.ndarray | None = None,
) -> Run:
    """Solve A Z = B by rounds: residuals with the fine map, corrected by the coarse one as far as ``least`` at most.

    So the steps cost what the coarse map costs, and the answer is as good as the fine one. Ends as stalled when a round
    no longer halves the residual.
    """
    size = np.maximum(np.linalg.norm(B, axis=0), np.finfo(float).tiny)
    Z, steps, best = np.zeros_like(B) if start is None else start.copy(), 0, np.inf
    status: Status | None = None
    residual = np.ones(B.shape[1])
    try:
        while True:
            R = B - fine(Z) if Z.any() else B.copy()
            residual = np.linalg.norm(R, axis=0) / size
            worst = float(residual.max())
            if worst <= tol:
                return Run(Z, residual, steps, Status.CONVERGED)
            if status in (Status.DEADLINE, Status.INTERRUPTED):
                return Run(Z, residual, steps, status)
            if worst > 0.5 * best or steps >= max_steps:
                return Run(Z, residual, steps, Status.STALLED if worst > 0.5 * best else Status.MAX_STEPS)
            best = worst
            inner = conjugate_gradients(
                coarse, R, precondition,
                tol=max(least, 0.5 * tol / worst), max_steps=max_steps - steps, clock=clock,
            )  # fmt: skip  # the system, then how to solve it
            Z, steps, status = Z + inner.Z, steps + inner.steps, inner.status
    except KeyboardInterrupt:
        return Run(Z, residual, steps, Status.INTERRUPTED)


def _descend(
    apply: Map,
    precondition: Map,
    Z: np.ndarray,
    R: np.ndarray,
    size: np.ndarray,
    tol: float,
    max_steps: int,
    steps: int,
    clock: Clock,
) -> tuple[np.ndarray, int, Status | None]:
    """Run the recurrence from Z until its residual is below tol; return Z, the steps so far, and why it was stopped."""
    Y = precondition(R)
    P, rho = Y, np.einsum("ij,ij->j", R, Y)
    while steps < max_steps:
        AP = apply(P)
        curvature = np.einsum("ij,ij->j", P, AP)
        going = (curvature > 0) & (rho > 0)
        if not going.any():
            break
        step = np.where(going, rho / np.where(going, curvature, 1.0), 0.0)
        Z, R = Z + step * P, R - step * AP
        steps += 1
        worst = float((np.linalg.norm(R, axis=0) / size).max())
        if (stop := clock.step(steps, worst)) is not None:
            return Z, steps, stop
        if worst <= tol:
            break
        Y = precondition(R)
        new = np.einsum("ij,ij->j", R, Y)
        P = Y + np.where(rho > 0, new / np.where(rho > 0, rho, 1.0), 0.0) * P
        rho = new
    return Z, steps, None
