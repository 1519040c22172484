"""How far f can be from the best one, for convex penalties other than (lam / 2) ||f||^2.

Let g = sum_i a_i k(., x_i) for the dual point a of a gap, s >= ||g||, and e(r) = Omega(r) + Omega*(s) - s r, which is
convex and >= 0. The losses at any h are at least A - <h, g> (see `_any_penalty`), so whatever is no worse than f, the
best h among it, has

    e(||h||) + (s ||h|| - <h, g>) <= gap,    where both parts are >= 0.

The first keeps r = ||h|| between two ends, the second the angle: s r - <h, g> <= gap. So for any r0 >= 0

    ||h - r0 g / s||^2 <= r^2 + r0^2 - 2 r0 <h, g> / s <= (r - r0)^2 + 2 r0 gap / s,

and f itself is as far from that point as its norm and <f, g> say. Where Omega is strictly convex at s, the ends close
in on each other as the gap falls. Where it is straight, as lam r is at s = lam, the dual point says nothing about the
length of h, only that Omega(r) is at most the objective less the least the losses can be.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.solvers._span import EPS
from mercer.solvers.penalties import Penalty

TINY = float(np.finfo(np.float64).tiny)
HALVINGS = 60


def radius_of(
    penalty: Penalty, norm: np.ndarray, cross: np.ndarray, s: np.ndarray, gap: np.ndarray, most: np.ndarray
) -> np.ndarray:
    """Return bounds on ||f - f*||, one a target.

    ``norm`` is ||f||, ``cross`` a lower bound on <f, g>, ``most`` an upper bound on what the best f's penalty can be.
    """
    found = np.full(len(gap), np.inf)
    for k in np.flatnonzero(np.isfinite(gap)):
        low, high = _ends(penalty, float(norm[k]), float(s[k]), float(gap[k]), float(most[k]))
        r0 = min(max(float(norm[k]), low), high) if s[k] > 0 else 0.0
        slope = 2 * r0 / max(float(s[k]), TINY)
        away = max(high - r0, r0 - low) ** 2 + slope * gap[k]
        own = (norm[k] - r0) ** 2 + max(slope * (s[k] * norm[k] - cross[k]), 0.0)
        found[k] = (np.sqrt(away) + np.sqrt(own)) * (1 + 64 * EPS)
    return found


def _ends(penalty: Penalty, norm: float, s: float, gap: float, most: float) -> tuple[float, float]:
    """Return numbers between which the norm of the best f lies: e(r) <= gap and Omega(r) <= most there."""
    conj = float(np.ravel(penalty.conjugate(np.array([s])))[0])

    def outside(r: float) -> bool:
        omega = float(np.ravel(penalty.value(np.array([r])))[0])
        rounding = 8 * EPS * (abs(omega) + abs(conj) + s * r)
        return omega + conj - s * r > gap + rounding or omega > most * (1 + 8 * EPS)

    high = max(2 * norm, 1.0)
    while not outside(high):
        high *= 2.0
        if high > 1e150:
            return 0.0, np.inf
    inside = next((r for r in (norm, norm * (1 - 1e-11), 0.0) if not outside(r)), None)
    if inside is None:  # rounding has moved the norm out
        return 0.0, np.inf
    low = 0.0 if not outside(0.0) else _edge(outside, 0.0, inside)
    return low, _edge(outside, high, inside)


def _edge(outside: Callable[[float], bool], far: float, near: float) -> float:
    """Return the end of an interval between a point outside it and one inside, on the outer side."""
    for _ in range(HALVINGS):
        middle = 0.5 * (far + near)
        far, near = (middle, near) if outside(middle) else (far, middle)
    return far
