"""A shelf of kernel rows that will be read again: slots in one buffer, filled segment by segment."""

from __future__ import annotations

from typing import Any

import numpy as np

PADDING = 16  # numbers between rows: rows a multiple of 4096 bytes apart would fall on each other in cache
BEYOND = 64  # numbers that may be read beyond a segment of a row: they stand for nobody, but are finite


class Shelf:
    """Rows of K kept in slots; the least recently used make way.

    Memory is taken as slots are written, at most ``most`` bytes.

    Parameters
    ----------
    starts : array of shape (s + 1,)
        Where the segments of columns start and end; each segment of a row is held or not.
    rows : int
        How many rows there are.
    dtype : dtype
        Of what is kept.
    most : int
        Bytes.
    """

    def __init__(self, starts: np.ndarray, rows: int, dtype: Any, most: int) -> None:
        self.starts, self.stride = starts, int(starts[-1]) + PADDING
        room = most // np.dtype(dtype).itemsize - BEYOND
        self.capacity = max(0, min(rows, room // self.stride))
        self.numbers = np.zeros(self.capacity * self.stride + BEYOND if self.capacity else 0, dtype)
        self.slot = np.full(rows, -1, np.int64)
        self.owner = np.full(self.capacity, -1, np.int64)
        self.has = np.zeros((self.capacity, len(starts) - 1), bool)
        self.used = np.zeros(self.capacity, np.int64)
        self.filled, self.now = 0, 0

    def held(self, rows: np.ndarray, segment: int) -> np.ndarray:
        """Return which of the rows hold a segment; they count as used."""
        at = self.slot[rows]
        there = at >= 0
        if self.capacity:
            there &= self.has[at, segment]
            self.used[at[there]] = self.now
        return there

    def places(self, rows: np.ndarray, segment: int) -> np.ndarray:
        """Return where in ``numbers`` a segment of rows on the shelf begins."""
        return np.asarray(self.slot[rows] * self.stride + self.starts[segment])

    def room(self, rows: np.ndarray) -> bool:
        """Give each of the rows a slot if all fit, others leaving if they must; return whether they do."""
        self.now += 1
        if len(rows) > self.capacity // 2 and self.capacity < len(self.slot):
            return False
        self.used[self.slot[rows[self.slot[rows] >= 0]]] = self.now
        new = rows[self.slot[rows] < 0]
        fresh = min(len(new), self.capacity - self.filled)
        slots = np.arange(self.filled, self.filled + fresh)
        self.filled += fresh
        self.used[slots] = self.now
        if fresh < len(new):
            slots = np.concatenate([slots, self._freed(len(new) - fresh)])
        self.slot[new], self.owner[slots], self.used[slots] = slots, new, self.now
        return True

    def _freed(self, count: int) -> np.ndarray:
        """Return slots whose rows were read longest ago, now empty."""
        old = np.argpartition(self.used[: self.filled], count - 1)[:count]
        gone = self.owner[old]
        self.slot[gone[gone >= 0]] = -1
        self.has[old] = False
        return old
