"""What a solver returns: the best answer it found, how it ended, and the proof."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from mercer.functions import Centers, RKHSFunction
from mercer.solvers.certificate import Certificate


class Status(Enum):
    """How a solve ended."""

    CONVERGED = "converged"
    DEADLINE = "stopped at the deadline"
    INTERRUPTED = "interrupted"
    MAX_STEPS = "stopped at the largest number of steps"
    STALLED = "stalled: rounding allows no further progress"


@dataclass(frozen=True, eq=False)
class Solution:
    """The best f and b found, how the solve ended, and their certificate.

    Parameters
    ----------
    function : RKHSFunction or None
        f; None when the Gram was given as a matrix and has no kernel.
    coefficients : array of shape (n,) or (n, t), with centres (m,) or (m, t)
        Those of f on the training points, or on its centres.
    offset : array of shape (t,)
        b; zeros without an intercept.
    status : Status
        How it ended.
    certificate : Certificate or None
        None only when none was asked for.
    stats : dict
        What was done: solver, steps, rank, seconds.
    state : dict
        What the next solve can start from.
    centers : Centers or None
        Those f is on, given with the problem or chosen by the solver; None for all training points.
    """

    function: RKHSFunction | None
    coefficients: np.ndarray
    offset: np.ndarray
    status: Status
    certificate: Certificate | None
    stats: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict, repr=False)
    centers: Centers | None = field(default=None, repr=False)

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status is Status.CONVERGED

    def __str__(self) -> str:
        stats = self.stats
        told = f"{stats['solver']}: {self.status.value}" if "solver" in stats else self.status.value
        told += f" after {stats['steps']} steps" if "steps" in stats else ""
        told += f", {stats['fit_seconds']:.3g} s" if "fit_seconds" in stats else ""
        known = [f"  {name:<14} {stats[name]:.6g}" for name in ("rank", "condition") if name in stats]
        return "\n".join([told, *known, *([] if self.certificate is None else [str(self.certificate)])])
