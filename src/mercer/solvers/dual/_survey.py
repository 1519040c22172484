"""Where a solve stands: the least and largest gradients that matter, who violates, the multipliers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import compiled

NOBODY = 1e200  # the least gradient of no variable at all


class Standing(NamedTuple):
    """For each group the least gradient among variables that may rise and the largest among those that may fall.

    At an optimum every such least gradient is above the level of its group and every largest below. Without sums
    there is one group, whose level is 0.
    """

    least: np.ndarray
    most: np.ndarray
    violation: float


@compiled
def _extremes(c: Any, lo: Any, hi: Any, F: Any, group: Any, least: Any, most: Any) -> None:
    for t in range(c.size):
        g, f = group[t], F[t]
        if c[t] < hi[t] and f < least[g]:
            least[g] = f
        if c[t] > lo[t] and f > most[g]:
            most[g] = f


def survey(c: np.ndarray, lo: np.ndarray, hi: np.ndarray, F: np.ndarray, group: np.ndarray, sums: int) -> Standing:
    """Return the standing of a problem with so many sums."""
    groups = max(sums, 1)
    least, most = np.full(groups, NOBODY), np.full(groups, -NOBODY)
    _extremes(c, lo, hi, F, group, least, most)
    if sums:  # where all variables are at one bound, the end that nobody stands at is the other one
        least, most = np.where(least < NOBODY, least, most), np.where(most > -NOBODY, most, least)
        least, most = np.where(np.abs(least) < NOBODY, least, 0.0), np.where(np.abs(most) < NOBODY, most, 0.0)
        return Standing(least, most, max(float((most - least).max()), 0.0))
    worst = max(-float(least[0]), float(most[0]), 0.0)
    return Standing(np.zeros(1), np.zeros(1), worst)


def levels(
    c: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    F: np.ndarray,
    group: np.ndarray,
    sums: int,
    at: Standing | None = None,
) -> np.ndarray:
    """Return the multiplier of each sum: the mean gradient of free variables, else the middle of what is possible."""
    found = np.zeros(sums)
    if not sums:
        return found
    at = survey(c, lo, hi, F, group, sums) if at is None else at
    inside = (c > lo) & (c < hi)
    for g in range(sums):
        free = inside & (group == g) if sums > 1 else inside
        if free.any():
            found[g] = float(F[free].mean())
        else:
            ends = [float(end) for end in (at.least[g], at.most[g]) if abs(end) < NOBODY]
            found[g] = sum(ends) / len(ends) if ends else 0.0
    return found


@compiled
def violations(
    c: Any, lo: Any, hi: Any, F: Any, group: Any, least: Any, most: Any, slot: Any, above: Any, rise: Any, fall: Any
) -> Any:
    """Set rise[t], fall[t] to how much a variable without a slot violates, if more than ``above``, else -1; count."""
    n_rise, n_fall = 0, 0
    for t in range(c.size):
        rise[t], fall[t] = -1.0, -1.0
        if slot[t] < 0:
            g = group[t]
            up, down = most[g] - F[t], F[t] - least[g]
            if c[t] < hi[t] and up > above:
                rise[t] = up
                n_rise += 1
            elif c[t] > lo[t] and down > above:
                fall[t] = down
                n_fall += 1
    return n_rise, n_fall
