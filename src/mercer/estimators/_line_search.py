"""The least value of a function of one number, by steps of 1 and then by golden section: few calls, repeatable bits."""

from __future__ import annotations

from collections.abc import Callable

REACH = 4  # steps of 1 on either side of the start that are always looked at
FURTHEST = 16  # steps beyond which the end is taken for the best
WIDTH = 0.2  # of the last bracket
SECTION = 0.6180339887498949


def coarse(value: Callable[[float], float], start: float) -> float:
    """Return the best of start - 4, ..., start + 4, and of further steps as long as the best lies at an end."""
    found = {k: value(start + k) for k in range(-REACH, REACH + 1)}
    while True:
        best = min(found, key=lambda k: (found[k], abs(k)))
        beyond = [k for k in (best - 1, best + 1) if k not in found and abs(k) <= FURTHEST]
        if not beyond:
            return start + best
        found |= {k: value(start + k) for k in beyond}


def golden(value: Callable[[float], float], middle: float, width: float = WIDTH) -> float:
    """Return the best number seen while a golden section shrinks [middle - 1, middle + 1] to a width.

    A best one near an end moves the bracket there, once.
    """
    found: dict[float, float] = {}
    _shrink(value, middle, width, found)
    best = min(found, key=found.__getitem__)
    if abs(best - middle) > 1 - 2 * width:
        _shrink(value, best, width, found)
    return min(found, key=found.__getitem__)


def _shrink(value: Callable[[float], float], middle: float, width: float, found: dict[float, float]) -> None:
    """Shrink [middle - 1, middle + 1]; each step keeps one of the two inner points and asks for one more value."""
    a, b = middle - 1.0, middle + 1.0
    c, d = b - SECTION * (b - a), a + SECTION * (b - a)
    found |= {c: value(c), d: value(d)}
    while b - a > width:
        if found[c] <= found[d]:
            b, d = d, c
            c = b - SECTION * (b - a)
            new = c
        else:
            a, c = c, d
            d = a + SECTION * (b - a)
            new = d
        found[new] = value(new)
