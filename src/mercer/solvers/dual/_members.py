"""The working set of one problem: who is in, in which place of a block that is kept from round to round."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram._lines import Lines, move
from mercer.gram._shelf import PADDING
from mercer.solvers.dual._descend import evenly, whole_lanes
from mercer.solvers.dual._survey import Standing, violations

LEAST_SET, MOST_SET = 2560, 12288  # members: room at first, and at most
AMPLE = 1.3  # members, for each free one, that suffice
FEWEST_NEW, MOST_NEW, SHARE_NEW = 512, 1280, 0.25  # who comes in a round: a share of those that violate
FEWEST_DEAR = 160  # the same where rows are dear

NOBODY = np.zeros(0, np.int64)


class Sides:
    """How much each variable of a problem violates that is not in: those that should rise, those that should fall.

    Parameters
    ----------
    lines : Lines
        The rows of K.
    line : array of shape (size,)
        The line of each variable.
    """

    def __init__(self, lines: Lines, line: np.ndarray) -> None:
        self.lines, self.line = lines, line
        self.rise, self.fall = np.empty(len(line)), np.empty(len(line))

    def look(self, state: Any, place: np.ndarray, number: int) -> int:
        """Look at the variables without a place, in round ``number``; return how many violate."""
        at: Standing = state.standing
        above = 0.1 * at.violation if number else 0.0
        n_rise, n_fall = violations(
            state.c, state.lo, state.hi, state.F, state.group, at.least, at.most, place, above, self.rise, self.fall
        )  # fmt: skip  # one call
        return int(n_rise + n_fall)

    def drawn(self, half: int) -> np.ndarray:
        """Return some variables of each side at random: at the start all violate alike."""
        key = np.random.default_rng(0).random(len(self.lines.order))[self.line]
        sides = []
        for side in (self.rise, self.fall):
            who = np.flatnonzero(side > 0)
            k = min(half, len(who))
            sides.append(who[np.argpartition(key[who], k - 1)[:k]] if k else who[:0])
        return np.unique(np.concatenate([*sides, self.strongest(16)]))

    def strongest(self, half: int) -> np.ndarray:
        """Return the strongest violators of both sides, the strongest first."""
        found, sizes = [], []
        for side in (self.rise, self.fall):
            who = np.flatnonzero(side > 0)
            if len(who) > half:
                who = who[np.argpartition(side[who], len(who) - half)[len(who) - half :]]
            found.append(who)
            sizes.append(side[who])
        return np.concatenate(found)[np.argsort(-np.concatenate(sizes), kind="stable")]


def portion(fewest: int, violating: int) -> int:
    """Return how many variables come in a round."""
    return int(min(max(fewest, SHARE_NEW * violating), MOST_NEW))


class Members:
    """Places 0..count of a block, each held by a variable; the block's values of K are kept up to date.

    Parameters
    ----------
    size : int
        How many variables there are.
    lines : Lines
        The rows of K.
    line : array of shape (size,)
        The line of each variable.
    """

    def __init__(self, size: int, lines: Lines, line: np.ndarray) -> None:
        self.lines, self.line = lines, line
        self.most = min(MOST_SET, whole_lanes(size))
        self.room = min(LEAST_SET, whole_lanes(size))
        self.side, self.stride, self.G = 0, 0, np.zeros(0, lines.dtype)
        self.count = 0
        self.member = np.full(self.room, -1, np.int64)  # place -> variable
        self.place = np.full(size, -1, np.int64)  # variable -> place
        self.since = np.zeros(self.room, np.int64)  # the round in which a member came in
        self.was_safe = np.zeros(self.room, bool)
        self.sides = Sides(lines, line)
        self.batch = min(FEWEST_DEAR if lines.dear else FEWEST_NEW, self.room // 4)

    @property
    def who(self) -> np.ndarray:
        """The members, in the order of their places."""
        return self.member[: self.count]

    @property
    def at(self) -> slice:
        """Their places."""
        return slice(0, self.count)

    @property
    def width(self) -> int:
        """How many places there are, in whole lanes."""
        return whole_lanes(self.count)

    @property
    def there(self) -> bool:
        """Which members may move: all."""
        return True

    def rows(self) -> tuple[np.ndarray, tuple[tuple[int, int, int], ...]]:
        """Return where the rows of places begin in the block, and their pieces."""
        return evenly(self.width, self.stride)

    @property
    def complete(self) -> bool:
        """Whether every variable is a member."""
        return self.count == len(self.place)

    # ------------------------------------------------------------ one round's changes

    def choose(self, state: Any, number: int) -> np.ndarray:
        """Return the variables that come in, those that violate most; members that are done with will leave."""
        violating = self.sides.look(state, self.place, number)
        gone, new = NOBODY, NOBODY
        if not self.complete:
            if number:
                gone, new = self._done(state), self.sides.strongest(portion(self.batch, violating) // 2)
            else:
                new = self.sides.drawn(min(self.batch, self.room // 2))[: self.room]
            gone, new = self._fitting(state, gone, new)
        self._coming = gone, np.sort(new)
        return self._coming[1]

    def exchange(self, number: int, threads: int) -> None:
        """Let those leave and come in that were chosen, and fill their block; places stay without gaps."""
        gone, new = self._coming
        self.place[self.member[gone]] = -1
        self.member[gone] = -1
        total = self.count - len(gone) + len(new)
        gaps = np.sort(gone)
        gaps = np.concatenate([gaps, np.arange(self.count, max(total, self.count))])[: max(len(gone), len(new))]
        to, rest = gaps[: len(new)], gaps[len(new) :]
        self.member[to], self.place[new] = new, to
        self.since[to], self.was_safe[to] = number, False
        self.count, before = total, self.count
        if len(rest):  # the last members move to what is still free
            target = rest[rest < total]
            source = np.arange(total, before)
            source = source[self.member[source] >= 0]
            moved = self.member[source]
            self.member[target], self.place[moved], self.member[source] = moved, target, -1
            self.since[target], self.was_safe[target] = self.since[source], self.was_safe[source]
            move(self.G, self.stride, before, source, target)
        if total > self.side:
            self._widen(total, min(before, total))
        if len(new):
            self.lines.enter(self.G, self.stride, self.line[self.who], to, threads)

    # ------------------------------------------------------------ who leaves

    def _done(self, state: Any) -> np.ndarray:
        """Return the places of members that were at a bound, on its right side, in two rounds."""
        who = self.who
        g, f, c = state.group[who], state.F[who], state.c[who]
        least, most = state.standing.least[g], state.standing.most[g]
        safe = ((c <= state.lo[who]) & (f > most)) | ((c >= state.hi[who]) & (f < least))
        done = np.flatnonzero(safe & self.was_safe[: self.count])
        self.was_safe[: self.count] = safe
        return done

    def _fitting(self, state: Any, gone: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Grow if free variables need it, else let bound members leave too, those deepest on their side first."""
        stay = np.ones(self.count, bool)
        stay[gone] = False
        places = np.flatnonzero(stay)
        who = self.member[places]
        inside = (state.c[who] > state.lo[who]) & (state.c[who] < state.hi[who])
        n_free = int(inside.sum())
        if len(new) > self.room - len(places) and n_free > 0.7 * self.room:
            self._grow()
        target = min(self.room, max(LEAST_SET, int(1.25 * n_free) + len(new)))
        if self.side >= max(LEAST_SET, AMPLE * n_free):  # a wider block is new memory: some bound ones leave instead
            target = min(target, self.side)
        excess = len(places) + len(new) - target
        if excess > 0:
            out = places[self._shallow(state, who, inside, places, excess, len(new) - (self.room - len(places)))]
            gone = np.concatenate([gone, out])
        return gone, new[: self.room - self.count + len(gone)]

    def _shallow(
        self, state: Any, who: np.ndarray, inside: np.ndarray, places: np.ndarray, excess: int, needed: int
    ) -> np.ndarray:
        level = 0.5 * (state.standing.least + state.standing.most)[state.group[who]]
        depth = np.where(state.c[who] <= state.lo[who], state.F[who] - level, level - state.F[who])
        depth[inside] = -np.inf
        order = np.argsort(-depth, kind="stable")[:excess]
        order = order[~inside[order]]
        if len(order) < min(needed, self.batch // 2):  # full of free variables: even ones leave
            rest = np.setdiff1d(np.arange(len(places)), order)
            uneven = np.abs(state.F[who[rest]] - level[rest]) > 0.25 * state.standing.violation
            oldest = rest[np.lexsort([self.since[places[rest]], uneven])]
            order = np.concatenate([order, oldest[: max(self.batch // 2, needed // 2) - len(order)]])
        return np.asarray(order)

    def _grow(self) -> None:
        more = min(2 * self.room, self.most) - self.room
        if more <= 0:
            return
        self.room += more
        self.member = np.concatenate([self.member, np.full(more, -1)])
        self.since = np.concatenate([self.since, np.zeros(more, np.int64)])
        self.was_safe = np.concatenate([self.was_safe, np.zeros(more, bool)])

    def _widen(self, total: int, old: int) -> None:
        """Make the block wider, half as much again or more, and copy what is there."""
        side = min(self.room, max(whole_lanes(total), whole_lanes(3 * self.side // 2)))
        G = np.zeros((side, side + PADDING), self.lines.dtype)
        if old:
            G[:old, :old] = self.G.reshape(self.side, self.stride)[:old, :old]
        self.G, self.side, self.stride = G.reshape(-1), side, side + PADDING
