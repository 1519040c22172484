"""A witness against positive definiteness: a few points and coefficients c with c'Kc < 0, beyond rounding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer.gram._rounded import TINY, gamma
from mercer.kernels._views import points as points_of
from mercer.kernels._views import take

Part = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

LARGEST = 1024
"""The largest part that is searched; a matrix that is negative only on more points than that is rare."""


@dataclass(frozen=True, eq=False)
class Witness:
    """Points and coefficients that show that K is not positive semi-definite: c'Kc < 0.

    Parameters
    ----------
    indices : array of shape (m,)
        Which points.
    coefficients : array of shape (m,)
        c, its largest entry 1 in size.
    value : float
        c'Kc.
    error : float
        A bound on the rounding error of value, entries of K included; value + error < 0.
    points : sequence
        The points themselves; None for a matrix.

    Examples
    --------
    >>> from mercer.gram import check_psd
    >>> print(check_psd([[1.0, 2.0], [2.0, 1.0]]).witness)
    c'Kc = -2 (rounding below ...) for
      c =        1  point 0
      c =       -1  point 1
    """

    indices: np.ndarray
    coefficients: np.ndarray
    value: float
    error: float
    points: Any = field(default=None, repr=False)

    @property
    def slope(self) -> float:
        """An upper bound on the smallest eigenvalue, c'Kc / c'c plus its error."""
        return (self.value + self.error) / float(self.coefficients @ self.coefficients)

    def __str__(self) -> str:
        """Return the witness as a block of text, at most ten points of it."""
        points = [] if self.points is None else [f": {_shown(x)}" for x in points_of(take(self.points, slice(0, 10)))]
        lines = [f"c'Kc = {self.value:.6g} (rounding below {self.error:.1g}) for"]
        for k in range(min(10, len(self.indices))):
            lines.append(f"  c = {self.coefficients[k]:8.4g}  point {self.indices[k]}{points[k] if points else ''}")
        left = len(self.indices) - 10
        return "\n".join([*lines, *([f"  and {left} more"] if left > 0 else [])])


def _shown(point: Any) -> str:
    """Return one point as short text."""
    if hasattr(point, "to_numpy"):
        point = point.to_numpy()
    array = isinstance(point, np.ndarray) and point.ndim == 1
    text = np.array2string(point, precision=6, threshold=8, separator=", ") if array else repr(point)
    return text if len(text) <= 100 else f"{text[:97]}..."


def find(part: Part, orders: Iterable[np.ndarray], floor: float = 0.0, points: Any = None) -> Witness | None:
    """Return the smallest witness among the leading parts of some orders of the points; None if there is none.

    Sizes 1, 2, 3, 4, 6, 8, ... until c'Kc < -floor c'c beyond rounding; then points that are not needed go.
    """
    for order in orders:
        for m in _sizes(len(order)):
            chosen = order[:m]
            found = _negative(*part(chosen), floor)
            if found is not None:
                return _named(part, *_pruned(part, chosen, floor), floor, points)
    return None


def quadratic(K: np.ndarray, E: np.ndarray, c: np.ndarray) -> tuple[float, float]:
    """Return c'Kc and a bound on its error, for entries of K within E."""
    size = np.abs(c)
    value = float(c @ (K @ c))
    error = float(size @ (E @ size)) + gamma(2 * len(c) + 4) * float(size @ (np.abs(K) @ size))
    return value, error * (1 + 1e-6) + TINY


def _sizes(n: int) -> list[int]:
    """Return 1, 2, 3, 4, 6, 8, 12, 16, ... up to n (and n, if it is not large)."""
    sizes = sorted({s for k in range(11) for s in (2**k, 3 * 2**k // 2) if 1 <= s < min(n, LARGEST)})
    return [*sizes, n] if n <= LARGEST else [*sizes, LARGEST]


def _negative(K: np.ndarray, E: np.ndarray, floor: float) -> np.ndarray | None:
    """Return c with c'Kc + error < -floor c'c, from the smallest eigenvalue; None if there is none."""
    size = float(np.abs(K).max(initial=0.0))
    if size == 0.0:
        return None
    # Twice: K as it is, and K scaled to unit diagonal, which sees what is small beside large entries.
    d = np.sqrt(np.abs(np.diagonal(K)))
    for scale in (np.ones(len(K)), 1.0 / np.where(d > 0, d, np.sqrt(size))):
        c = scale * eigh(K / size * np.outer(scale, scale), subset_by_index=[0, 0], check_finite=False)[1][:, 0]
        c = c / np.abs(c).max()
        if _counts(K, E, c, floor):
            return c
    return None


def _counts(K: np.ndarray, E: np.ndarray, c: np.ndarray, floor: float) -> bool:
    value, error = quadratic(K, E, c)
    return bool(value + error < -floor * float(c @ c))


def _pruned(part: Part, chosen: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Drop points, those with small coefficients first, for as long as the rest is still a witness."""
    K, E = part(chosen)
    kept = np.arange(len(chosen))
    c = _negative(K, E, floor)
    assert c is not None
    tried = True
    while tried and len(kept) > 1 and len(kept) <= 128:
        tried = False
        for i in np.argsort(np.abs(c)):
            rest = np.delete(kept, i)
            less = _negative(K[np.ix_(rest, rest)], E[np.ix_(rest, rest)], floor)
            if less is not None:
                kept, c, tried = rest, less, True
                break
    return chosen[kept], c


def _named(part: Part, chosen: np.ndarray, c: np.ndarray, floor: float, points: Any) -> Witness:
    """Return the witness with its coefficients rounded to as few digits as it stands, in the order of the points."""
    order = np.argsort(chosen)
    chosen, c = chosen[order], c[order] * (np.sign(c[order][0]) or 1.0)
    K, E = part(chosen)
    value = quadratic(K, E, c)[0]
    for digits in range(16):
        r = np.round(c, digits)
        if _counts(K, E, r, floor) and quadratic(K, E, r)[0] <= 0.75 * value:
            c = r
            break
    value, error = quadratic(K, E, c)
    some = None if points is None else take(points, chosen)
    return Witness(chosen, c, value, error, some)
