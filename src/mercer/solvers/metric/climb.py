"""Climbing on the sphere: max f(L) over |L| = 1, for f convex and homogeneous, with gradient M L.

Since f is convex, L <- M L / |M L| never lowers it, whatever the step: a step of length 1 along g = M L / f - L, the
gradient of log f on the sphere. Quasi-Newton steps are taken instead where they climb, so that no line search is
needed, every step climbs, and there is no way to fail but rounding.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from mercer.solvers.metric.spread import Spread
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

MEMORY = 20
SLACK = 1e-15
"""A step that lowers f by less is rounding."""


@dataclass
class Climber:
    """Where the climb stands.

    Parameters
    ----------
    spread : Spread
        f.
    L : array
        Of norm 1.
    clock : Clock
        Tells when to stop.
    steps : int
        Evaluations so far.
    """

    spread: Spread
    L: np.ndarray
    clock: Clock
    steps: int = 0

    def __post_init__(self) -> None:
        """Stand on the sphere."""
        self.stand(self.L)

    def stand(self, L: np.ndarray) -> None:
        """Go to a new L, forgetting the path."""
        self.L = L / _norm(L)
        self.f, self.g = self._at(self.L)
        self.path: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=MEMORY)

    def _at(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        self.steps += 1
        f, ML = self.spread.at(L)
        return f, ML / f - L

    @property
    def residual(self) -> float:
        """The norm of the gradient of log f."""
        return _norm(self.g)

    def climb(self, target: float, most: int) -> Status:
        """Climb until the gradient is that small; the best so far is kept whatever stops it."""
        try:
            return self._climb(target, most)
        except KeyboardInterrupt:
            return Status.INTERRUPTED

    def _climb(self, target: float, most: int) -> Status:
        while self.residual > target:
            if self.steps >= most:
                return Status.MAX_STEPS
            if (stop := self.clock.step(self.steps, self.residual)) is not None:
                return stop
            if not (self.path and self._step(self._direction())):
                self.path.clear()
                if not self._step(self.g):
                    return Status.STALLED
        return Status.CONVERGED

    def _step(self, d: np.ndarray) -> bool:
        """Take a step if it climbs."""
        L = self.L + d
        L /= _norm(L)
        f, g = self._at(L)
        if not f >= self.f * (1 + 1e-4 * float(np.vdot(self.g, d)) - SLACK):
            return False
        s, y = L - self.L, self.g - g
        self.L, self.f, self.g = L, f, g
        bend = float(np.vdot(s, y))
        if bend > 1e-12 * float(np.vdot(s, s)):
            self.path.append((s, y, bend))
        return True

    def _direction(self) -> np.ndarray:
        """Return the quasi-Newton direction (limited memory BFGS), on the tangent plane."""
        q, kept = self.g.copy(), []
        for s, y, bend in reversed(self.path):
            a = float(np.vdot(s, q)) / bend
            q -= a * y
            kept.append(a)
        s, y, bend = self.path[-1]
        q *= bend / float(np.vdot(y, y))
        for (s, y, bend), a in zip(self.path, reversed(kept), strict=True):
            q += (a - float(np.vdot(y, q)) / bend) * s
        return q - float(np.vdot(q, self.L)) * self.L


def _norm(L: np.ndarray) -> float:
    return math.sqrt(float(np.vdot(L, L)))  # np.linalg.norm takes twice as long on small arrays
