"""What the norm costs: Omega(||f||), as a value, a slope and a conjugate.

Any increasing Omega keeps the representer theorem. One that is convex has a dual, with g = sum_i a_i k(., x_i),

    D(a) = -sum_i w_i loss*(y_i, -a_i / w_i) - Omega*(||g||),    Omega*(s) = sup over r >= 0 of s r - Omega(r).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._checks import describe, is_number, number, positive, refuse
from mercer.losses._top import largest

BIG = 1e300


class Penalty(ABC):
    """Omega, an increasing function of r = ||f|| >= 0; methods take and return arrays."""

    convex: bool = True
    most: float = np.inf  # beyond which the conjugate is infinite

    @abstractmethod
    def value(self, r: np.ndarray) -> np.ndarray:
        """Return Omega(r)."""

    @abstractmethod
    def slope(self, r: np.ndarray) -> np.ndarray:
        """Return the derivative of Omega at r; at 0 that on the right."""

    @abstractmethod
    def conjugate(self, s: np.ndarray) -> np.ndarray:
        """Return the largest s r - Omega(r) over r >= 0, or a little more."""

    def mismatch(self, r: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return log(s / slope(r)): 0 where f with ||f|| = r, found with lam = s / r, is stationary."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.log(np.maximum(s, 1 / BIG)) - np.log(np.clip(self.slope(r), 1 / BIG, BIG))


@dataclass(frozen=True)
class HalfSquare(Penalty):
    """The penalty (lam / 2) ||f||^2; lam = 0 asks for the minimum-norm minimiser of the loss.

    Parameters
    ----------
    lam : float or tuple of floats
        One number, or one for each target.
    """

    lam: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        """Check lam."""
        for value in self.lam if isinstance(self.lam, tuple) else (self.lam,):
            if not (is_number(value) and np.isfinite(value) and value >= 0):
                refuse("HalfSquare", "'lam' must be a finite number >= 0", describe(value))

    def value(self, r: np.ndarray) -> np.ndarray:
        """Return lam r^2 / 2."""
        return 0.5 * np.asarray(self.lam) * r * r

    def slope(self, r: np.ndarray) -> np.ndarray:
        """Return lam r."""
        return np.asarray(self.lam) * r

    def conjugate(self, s: np.ndarray) -> np.ndarray:
        """Return s^2 / (2 lam)."""
        lam = np.asarray(self.lam, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(s == 0, 0.0, 0.5 * s * s / lam)


@dataclass(frozen=True)
class Norm(Penalty):
    """The penalty lam ||f||; f = 0 where lam is large enough.

    Parameters
    ----------
    lam : float
        > 0.

    Examples
    --------
    >>> from mercer.solvers import Norm
    >>> float(Norm(2.0).value(3.0)), float(Norm(2.0).conjugate(1.5))
    (6.0, 0.0)
    """

    lam: float = 1.0

    def __post_init__(self) -> None:
        """Check lam."""
        positive("Norm", "lam", self.lam)

    @property
    def most(self) -> float:  # type: ignore[override]  # a constant of most classes
        """Return lam."""
        return self.lam

    def value(self, r: np.ndarray) -> np.ndarray:
        """Return lam r."""
        return self.lam * np.asarray(r)

    def slope(self, r: np.ndarray) -> np.ndarray:
        """Return lam."""
        return np.full_like(np.asarray(r, dtype=np.float64), self.lam)

    def conjugate(self, s: np.ndarray) -> np.ndarray:
        """Return 0 up to lam, and inf beyond."""
        return np.where(np.asarray(s) <= self.lam, 0.0, np.inf)


@dataclass(frozen=True)
class Power(Penalty):
    """The penalty lam ||f||^p.

    Parameters
    ----------
    lam : float
        > 0.
    p : float
        > 0; convex from 1 on.
    """

    lam: float = 1.0
    p: float = 2.0

    def __post_init__(self) -> None:
        """Check both."""
        positive("Power", "lam", self.lam)
        positive("Power", "p", self.p)

    @property
    def convex(self) -> bool:  # type: ignore[override]  # a constant of the other classes
        """Whether p >= 1."""
        return self.p >= 1

    @property
    def most(self) -> float:  # type: ignore[override]  # a constant of most classes
        """Return lam for p = 1, 0 below and inf above."""
        return self.lam if self.p == 1 else 0.0 if self.p < 1 else np.inf

    def value(self, r: np.ndarray) -> np.ndarray:
        """Return lam r^p."""
        with np.errstate(over="ignore"):
            return self.lam * np.asarray(r, dtype=np.float64) ** self.p

    def slope(self, r: np.ndarray) -> np.ndarray:
        """Return lam p r^(p - 1)."""
        with np.errstate(over="ignore", divide="ignore"):
            return self.lam * self.p * np.asarray(r, dtype=np.float64) ** (self.p - 1)

    def conjugate(self, s: np.ndarray) -> np.ndarray:
        """Return (p - 1) lam (s / (p lam))^(p / (p - 1)); for p = 1 that of the norm, for smaller p inf."""
        s = np.asarray(s, dtype=np.float64)
        if self.p <= 1:
            return np.where(s <= (self.lam if self.p == 1 else 0.0), 0.0, np.inf)
        with np.errstate(over="ignore"):
            return (self.p - 1) * self.lam * (s / (self.p * self.lam)) ** (self.p / (self.p - 1))


@dataclass(frozen=True)
class Exponential(Penalty):
    """The penalty lam exp(||f||).

    Parameters
    ----------
    lam : float
        > 0.
    """

    lam: float = 1.0

    def __post_init__(self) -> None:
        """Check lam."""
        positive("Exponential", "lam", self.lam)

    def value(self, r: np.ndarray) -> np.ndarray:
        """Return lam exp(r)."""
        with np.errstate(over="ignore"):
            return self.lam * np.exp(r)

    def slope(self, r: np.ndarray) -> np.ndarray:
        """Return lam exp(r)."""
        return self.value(r)

    def conjugate(self, s: np.ndarray) -> np.ndarray:
        """Return s log(s / lam) - s from lam on, and -lam below."""
        x = np.maximum(np.asarray(s, dtype=np.float64), self.lam)
        return np.where(np.asarray(s) > self.lam, x * (np.log(x / self.lam) - 1.0), -self.lam)


@dataclass(frozen=True)
class Ball(Penalty):
    """The constraint ||f|| <= radius: a penalty of 0 inside and inf outside.

    Parameters
    ----------
    radius : float
        > 0.

    Examples
    --------
    >>> from mercer.solvers import Ball
    >>> float(Ball(2.0).conjugate(3.0))
    6.0
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        """Check the radius."""
        positive("Ball", "radius", self.radius)

    def value(self, r: np.ndarray) -> np.ndarray:
        """Return 0 inside the ball, inf outside."""
        return np.where(np.asarray(r) <= self.radius * (1 + 1e-12), 0.0, np.inf)

    def slope(self, r: np.ndarray) -> np.ndarray:
        """Return 0 inside the ball, inf outside."""
        return self.value(r)

    def conjugate(self, s: np.ndarray) -> np.ndarray:
        """Return radius s."""
        return self.radius * (1 + 1e-12) * np.asarray(s)

    def mismatch(self, r: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return log(radius / r): 0 at the edge, to which lam must bring f."""
        return np.log(self.radius) - np.log(np.maximum(r, 1 / BIG))


@dataclass(frozen=True)
class Increasing(Penalty):
    """A strictly increasing function of the norm, as a plain Python function of a number or an array.

    That it increases is checked on numbers from 1e-6 to 1e6, and so is whether it is convex, unless that is said.

    Parameters
    ----------
    function : callable
        Omega.
    derivative : callable, optional
        Its derivative; differences without it.
    convex : bool, optional
        Whether it is; None to find out.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import Increasing
    >>> penalty = Increasing(lambda r: r**2 + r)
    >>> penalty.convex, round(float(penalty.slope(1.0)), 6), round(float(penalty.conjugate(3.0)), 6)
    (True, 3.0, 1.0)
    """

    function: Any = None
    derivative: Callable[[Any], Any] | None = None
    convex: bool | None = None  # type: ignore[assignment]  # None only until it is known

    def __post_init__(self) -> None:
        """Check that it increases, and find out whether it is convex."""
        if not callable(self.function):
            refuse("Increasing", "'function' must be a function of the norm", describe(self.function))
        r = np.logspace(-6, 6, 193)
        v = self.value(r)
        number("Increasing", "function(0)", float(self.value(np.zeros(1))[0]))
        usable = np.isfinite(v)
        r, v = r[usable], v[usable]
        falls = np.flatnonzero(np.diff(v) <= 0)
        if len(falls) or len(r) < 2:
            at = f"{v[falls[0]]:g} at {r[falls[0]]:.4g} and {v[falls[0] + 1]:g} at {r[falls[0] + 1]:.4g}"
            refuse("Increasing", "'function' must increase strictly", at if len(r) > 1 else "no finite values")
        if self.convex is None:
            object.__setattr__(self, "convex", _bends_up(r, v))

    def value(self, r: np.ndarray) -> np.ndarray:
        """Return Omega(r)."""
        r = np.asarray(r, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                found = np.asarray(self.function(r), dtype=np.float64)
            except (TypeError, ValueError):  # a function of a number
                found = np.array([self._at(x) for x in r.ravel()]).reshape(r.shape)
        return np.where(np.isnan(found), np.inf, np.broadcast_to(found, r.shape))

    def _at(self, x: float) -> float:
        try:
            return float(self.function(float(x)))
        except OverflowError:
            return float("inf")

    def slope(self, r: np.ndarray) -> np.ndarray:
        """Return the derivative, or the difference over a short way."""
        r = np.asarray(r, dtype=np.float64)
        if self.derivative is not None:
            with np.errstate(all="ignore"):
                return np.asarray(self.derivative(r), dtype=np.float64)
        d = np.where(r > 0, 1e-5 * r, 1e-9)
        low = np.maximum(r - d, 0.0)
        with np.errstate(invalid="ignore"):
            found = (self.value(r + d) - self.value(low)) / (r + d - low)
        return np.where(np.isfinite(found), found, np.inf)

    def conjugate(self, s: np.ndarray) -> np.ndarray:
        """Return the largest s r - Omega(r) by a search, bounded from above by lines through its last points."""
        s = np.asarray(s, dtype=np.float64)
        return largest(lambda r: s * r - self.value(r), np.ones_like(s), low=0.0)[0]


def _bends_up(r: np.ndarray, v: np.ndarray) -> bool:
    """Whether a function has slopes that never fall, on points of any spacing."""
    slopes = np.diff(v) / np.diff(r)
    noise = 1e-9 * np.abs(slopes[1:]) + 8 * np.finfo(float).eps * np.abs(v[2:]) / np.diff(r)[1:]
    noise += 8 * np.finfo(float).eps * np.abs(v[1:-1]) / np.diff(r)[:-1]
    return bool((np.diff(slopes) >= -noise).all())
