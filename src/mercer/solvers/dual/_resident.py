"""The working set of one of several problems that keep rows together: whoever has its row on the shelf may move.

The problems share rows, so that a row that one of them asked for serves all others that own its segment; nothing is
copied to a block of the problem's own. A step passes over all variables: their gradients are known after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram._lines import Lines
from mercer.solvers.dual._descend import whole_lanes
from mercer.solvers.dual._members import Sides

FEWEST_ROWS = 4096  # on the shelf, or all there are; one problem asks for far fewer at a time
FEW_POINTS = 8192  # up to here rows that are not dear are kept too: all of them are 0.25 GiB
FIRST, NEW = 80, 60  # rows asked for at first, and in a round, for each side; twice as many where they are not dear


class Resident:
    """Variables whose rows stand on the shelf; each variable a point of its own.

    It is ``complete`` where no variable without a row violates much.

    Parameters
    ----------
    lines : Lines
        The rows of K.
    line : array of shape (size,)
        The line of each variable.
    place : array of shape (size,)
        Where each variable stands among the points of the problem's segments.
    spans : list of (segment, begin, end)
        Those segments, and which of these points they hold.
    """

    def __init__(self, lines: Lines, line: np.ndarray, place: np.ndarray, spans: list[tuple[int, int, int]]) -> None:
        self.lines, self.line, self.segments = lines, line, [s for s, _, _ in spans]
        pieces, first, shift = [], 0, np.zeros(spans[-1][2], np.int64)
        for s, begin, end in spans:
            shift[begin:end] = first - begin
            pieces.append((int(lines.shelf.starts[s]), first, first + end - begin))
            first += whole_lanes(end - begin)
        self.who, self.at, self.pieces = np.arange(len(line)), place + shift[place], tuple(pieces)
        self.there, self.complete = np.zeros(len(line), bool), False
        self.sides = Sides(lines, line)
        self.width = first
        self.G = lines.shelf.numbers

    def choose(self, state: Any, number: int) -> np.ndarray:
        """Return the variables whose rows are wanted: those that violate most among those that have none."""
        self.complete = self.sides.look(state, np.where(self._there(), 0, -1), number) == 0
        times = 1 if self.lines.dear else 2
        return self.sides.strongest(times * NEW) if number else self.sides.drawn(times * FIRST)

    def exchange(self, number: int, threads: int) -> None:
        """See whose rows stand on the shelf now."""
        self.there = self._there()

    def rows(self) -> tuple[np.ndarray, tuple[tuple[int, int, int], ...]]:
        """Return where rows begin, and their pieces."""
        place = np.zeros(self.width, np.int64)
        shelf = self.lines.shelf
        place[self.at] = np.where(self.there, shelf.slot[self.line] * shelf.stride, 0)
        return place, self.pieces

    def _there(self) -> np.ndarray:
        return np.logical_and.reduce([self.lines.shelf.held(self.line, s) for s in self.segments])


def suits(lines: Lines, line: np.ndarray, spans: list[tuple[int, int, int]]) -> bool:
    """Whether rows are shared, and dear or short; there is room for many; and every variable is a point of its own."""
    many = min(FEWEST_ROWS, len(lines.order))
    distinct = len(line) == spans[-1][2] and len(np.unique(line)) == len(line)
    worth = lines.dear or len(lines.order) <= FEW_POINTS
    return lines.shared and worth and lines.shelf.capacity >= many and distinct
