"""Newton's direction: the linear system in which each row counts by the curvature of its loss.

At f = K c with slopes g = w loss' and curvatures h = w loss'', r = g + lam c is what is wrong. The step (delta, beta)
of c and b satisfies lam delta + h (K delta + beta) = -r, and sum delta = -sum c where b is free. With s = sqrt(h) and
delta = -r / lam + s z it is symmetric, and rows without curvature do no harm:

    (s K s + lam I) z + beta s = s K r / lam,    s'z = 0 (b is best for f: the slopes add up to 0).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.gram import Gram, random_pivots
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

TINY = float(np.finfo(np.float64).tiny)
MANY = 15  # products for one direction, after which a better preconditioner is worth its factor


@dataclass(frozen=True, eq=False)
class Direction:
    """A step of c, of f = K c and of b, how many products it took, and why it was cut short, if it was."""

    c: np.ndarray
    f: np.ndarray
    b: np.ndarray
    steps: int = 0
    stopped: Status | None = None


class Directions(ABC):
    """Finds Newton's directions for one Gram and one lam a target."""

    @abstractmethod
    def find(
        self, h: np.ndarray, r: np.ndarray, lam: np.ndarray, enough: np.ndarray, clock: Clock, *, free: bool
    ) -> Direction:
        """Return the direction; what is left of the system may have half its square up to ``enough`` in each target."""


@dataclass(frozen=True, eq=False)
class Dense(Directions):
    """By Cholesky factors of s K s + lam I in float64; K is stored."""

    K: np.ndarray

    def find(
        self, h: np.ndarray, r: np.ndarray, lam: np.ndarray, enough: np.ndarray, clock: Clock, *, free: bool
    ) -> Direction:
        """Return the direction. Cost: k^3 / 3 flops a target for k rows with curvature."""
        s, Kr = np.sqrt(h), self.K @ r
        z, b = np.zeros_like(r), np.zeros(r.shape[1])
        for k in range(r.shape[1]):
            right = np.column_stack([s[:, k] * Kr[:, k] / lam[k], s[:, k]])
            curved = np.flatnonzero(s[:, k])
            answer = np.zeros_like(right)
            answer[curved] = _solved(self.K[np.ix_(curved, curved)], s[curved, k], float(lam[k]), right[curved])
            total = float(s[:, k] @ answer[:, 1])
            b[k] = float(s[:, k] @ answer[:, 0]) / total if free and total > TINY else 0.0
            z[:, k] = answer[:, 0] - b[k] * answer[:, 1]
        c = s * z - r / lam
        return Direction(c, self.K @ c, b, 1)


def _solved(K: np.ndarray, s: np.ndarray, lam: float, right: np.ndarray) -> np.ndarray:
    """Return (s K s + lam I)^-1 right; where rounding made it indefinite, lam is raised until it is not."""
    if not len(s):
        return right
    A = s[:, None] * K * s
    shift = lam
    while True:
        try:
            factor = cho_factor(A + shift * np.eye(len(A)), lower=True, overwrite_a=True, check_finite=False)
            return np.asarray(cho_solve(factor, right, check_finite=False))
        except np.linalg.LinAlgError:
            shift = max(10 * shift, 1e-14 * float(np.trace(A)))


@dataclass(frozen=True, eq=False)
class Iterative(Directions):
    """By conjugate gradients, preconditioned with (s F F's + lam I)^-1 for a factor F of K from random pivots."""

    K: Gram
    F: np.ndarray
    most: int = 300

    def find(
        self, h: np.ndarray, r: np.ndarray, lam: np.ndarray, enough: np.ndarray, clock: Clock, *, free: bool
    ) -> Direction:
        """Return the direction. Cost: a product with K a step, and n rank^2 flops a target before the first."""
        s, Kr = np.sqrt(h), self.K @ r
        precondition = _Woodbury.of(self.F, s, lam)
        side = precondition(s) if free else np.zeros_like(s)
        total = (s * side).sum(axis=0)
        usable = total > TINY

        def level(Y: np.ndarray) -> np.ndarray:
            """Return the beta that keeps s'z = 0."""
            return np.where(usable, (s * Y).sum(axis=0) / np.where(usable, total, 1.0), 0.0)

        R = s * Kr / lam
        z, Kz, steps, stopped = np.zeros_like(r), np.zeros_like(r), 0, None
        P, rho = np.zeros_like(R), np.ones(R.shape[1])
        while True:
            Y = precondition(R)
            b = level(Y)
            Y -= side * b
            left = R - s * b
            going = 0.5 * (left * left).sum(axis=0) > enough
            new = (R * Y).sum(axis=0)
            going &= new > 0
            if not going.any() or steps >= self.most or stopped is not None:
                break
            P = Y + np.where(rho > 0, new / np.where(rho > 0, rho, 1.0), 0.0) * P if steps else Y
            rho = new
            KP = self.K @ (s * P)
            AP = s * KP + lam * P
            bend = (P * AP).sum(axis=0)
            step = np.where(going & (bend > 0), rho / np.where(bend > 0, bend, 1.0), 0.0)
            z, Kz, R, steps = z + step * P, Kz + step * KP, R - step * AP, steps + 1
            stopped = clock.step(steps, float(np.sqrt((left * left).sum(axis=0).max())))
        return Direction(s * z - r / lam, Kz - Kr / lam, b, steps + 1, stopped)


@dataclass(frozen=True, eq=False)
class _Woodbury:
    """R -> (s F F's + lam I)^-1 R for each target, by the small systems F'hF + lam I."""

    F: np.ndarray
    s: np.ndarray
    lam: np.ndarray
    factors: list[Any]

    @staticmethod
    def of(F: np.ndarray, s: np.ndarray, lam: np.ndarray) -> _Woodbury:
        factors = []
        for k in range(s.shape[1]) if F.shape[1] else ():
            G = F * s[:, k, None].astype(F.dtype)
            square = (G.T @ G).astype(np.float64)
            shift = max(float(lam[k]), 1e-7 * float(np.trace(square)) / len(square))  # not below float32's rounding
            factors.append(cho_factor(square + shift * np.eye(len(square)), lower=True, check_finite=False))
        return _Woodbury(F, s, lam, factors)

    def __call__(self, R: np.ndarray) -> np.ndarray:
        if not self.factors:
            return R / self.lam
        V = (self.F.T @ (self.s * R).astype(self.F.dtype)).astype(np.float64)
        T = np.column_stack([cho_solve(f, V[:, k], check_finite=False) for k, f in enumerate(self.factors)])
        return np.asarray((R - self.s * (self.F @ T.astype(self.F.dtype))) / self.lam)


def iterative(K: Gram, rank: int, random_state: Any) -> Iterative:
    """Return directions by conjugate gradients, with a preconditioner of some rank."""
    if rank == 0:
        return Iterative(K, np.zeros((K.shape[0], 0), np.float32))
    return Iterative(K, random_pivots(K, rank, random_state=random_state).F)


@dataclass(eq=False)
class Growing(Directions):
    """The same, with twice the rank after a direction that took many products, up to the largest rank."""

    K: Gram
    rank: int
    most: int
    random_state: Any
    now: Iterative | None = None

    def find(
        self, h: np.ndarray, r: np.ndarray, lam: np.ndarray, enough: np.ndarray, clock: Clock, *, free: bool
    ) -> Direction:
        """Return the direction."""
        if self.now is None:
            self.now = iterative(self.K, self.rank, self.random_state)
        found = self.now.find(h, r, lam, enough, clock, free=free)
        if found.steps > MANY and self.rank < self.most:
            self.rank, self.now = min(2 * self.rank, self.most), None
        return found
