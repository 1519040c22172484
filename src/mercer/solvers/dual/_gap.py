"""How far a solve is from its optimum at most: what a watcher is told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Gap:
    """The least objective that a solve met, and the largest lower bound of the optimum; both only improve."""

    value: float = np.inf
    bound: float = -np.inf

    def met(self, value: float, shortfall: float) -> None:
        """Take account of a point with this objective, whose shortfall is no more than given."""
        self.value = min(self.value, value)
        self.bound = max(self.bound, value - shortfall)

    @property
    def relative(self) -> float:
        """The gap as a share of the bound, which is minus the primal value; inf where the bound has another sign."""
        if self.value > 0 >= self.bound or not np.isfinite(self.bound):
            return np.inf
        return max(self.value - self.bound, 0.0) / max(abs(self.bound), np.finfo(float).tiny)


def shortfall(
    c: np.ndarray, lo: np.ndarray, hi: np.ndarray, F: np.ndarray, ridge: np.ndarray, level: np.ndarray
) -> float:
    """Return a bound on how far the objective at c lies above the least.

    For any z in the box with the same sums, f(z) >= f(c) + (F - level)'(z - c) + sum of ridge_i (z_i - c_i)^2 / 2: each
    term is least at a place that is known.
    """
    slope = F - level
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.where(ridge > 0, -slope / ridge, -np.sign(slope) * np.inf)
    step = np.clip(np.where(slope == 0, 0.0, step), lo - c, hi - c)
    return -float(slope @ step + 0.5 * (ridge * step) @ step)
