"""What is known of pairs of points: some must share a cluster, some must not; and the proof where that cannot be.

Pairs that must share a cluster chain into groups, so only pairs that must not can be in the way: a partition is a
colouring of the graph whose vertices are the groups. A pair within a group closes a cycle that no partition can do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from mercer._checks import refuse

TRIES = 200_000
"""Steps of the exhaustive search for a colouring."""


@dataclass(frozen=True, eq=False)
class Links:
    """Pairs of n points that must share a cluster, and pairs that must not.

    Parameters
    ----------
    n : int
        How many points.
    must, cannot : arrays of int, shape (m, 2)
        The pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import Links
    >>> links = Links(4, np.array([[0, 1], [1, 2]]), np.array([[2, 3]]))
    >>> links.groups, links.colouring("KernelKMeans", 2)
    (array([0, 0, 0, 1], dtype=int32), array([0, 1]))
    """

    n: int
    must: np.ndarray
    cannot: np.ndarray

    def part(self, rows: np.ndarray) -> Links:
        """Return the links among some of the points."""
        place = np.full(self.n, -1)
        place[rows] = np.arange(len(rows))
        must, cannot = (place[pairs].reshape(-1, 2) for pairs in (self.must, self.cannot))
        return Links(len(rows), must[(must >= 0).all(axis=1)], cannot[(cannot >= 0).all(axis=1)])

    def violated(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs of each kind that a partition does not respect."""
        must = labels[self.must[:, 0]] != labels[self.must[:, 1]]
        cannot = labels[self.cannot[:, 0]] == labels[self.cannot[:, 1]]
        return self.must[must], self.cannot[cannot]

    @cached_property
    def groups(self) -> np.ndarray:
        """The group of each point: those that links of must chain together."""
        return np.asarray(connected_components(self._graph, directed=False)[1])

    @cached_property
    def apart(self) -> list[set[int]]:
        """For each group, those it must not share a cluster with."""
        found: list[set[int]] = [set() for _ in range(int(self.groups.max(initial=-1)) + 1)]
        for a, b in self.groups[self.cannot].tolist():
            found[a].add(b)
            found[b].add(a)
        return found

    @cached_property
    def _graph(self) -> sparse.csr_matrix:
        ones = np.ones(len(self.must))
        return sparse.coo_matrix((ones, tuple(self.must.T)), shape=(self.n, self.n)).tocsr()

    # ------------------------------------------------------------ can it be done

    def colouring(self, who: str, k: int) -> np.ndarray:
        """Return clusters for the groups, no pair of them that must be apart together; refuse where there are none.

        What is refused comes with its proof: the cycle of links that contradict each other, k + 1 points of which no
        two may be together, or an exhaustive search.
        """
        inside = np.flatnonzero(self.groups[self.cannot[:, 0]] == self.groups[self.cannot[:, 1]])
        if len(inside):
            a, b = self.cannot[inside[0]].tolist()
            self._refuse(who, [*_steps(self._chain(a, b), "must"), (b, "cannot")], a, "contradict each other")
        if k == 1 and len(self.cannot):
            a, b = self.cannot[0].tolist()
            self._refuse(who, [(a, "cannot")], b, "cannot be kept by one cluster")
        if k == 2:
            return self._two_colours(who)
        return self._colours(who, k)

    def _refuse(self, who: str, steps: list[tuple[int, str]], last: int, why: str) -> None:
        text = " ".join(f"{row} -{kind}-" for row, kind in steps)
        refuse(
            who, "links must leave a partition", f"links that {why}: rows {text} {last}",
            "Drop one of them, or use constraints='soft'.",
        )  # fmt: skip  # message and remedy on a line each

    def _chain(self, a: int, b: int) -> list[int]:
        """Return the shortest way from a to b along links of must."""
        _, before = breadth_first_order(self._graph, a, directed=False, return_predecessors=True)
        way = [b]
        while way[-1] != a:
            way.append(int(before[way[-1]]))
        return way[::-1]

    def _two_colours(self, who: str) -> np.ndarray:
        """Colour by turns; where that fails, an odd cycle shows that there is no way."""
        colour, before = np.full(len(self.apart), -1), np.full(len(self.apart), -1)
        for root in range(len(self.apart)):
            if colour[root] >= 0:
                continue
            colour[root], queue = 0, [root]
            for g in queue:
                for h in sorted(self.apart[g]):
                    if colour[h] < 0:
                        colour[h], before[h] = 1 - colour[g], g
                        queue.append(h)
                    elif colour[h] == colour[g]:
                        self._odd_cycle(who, _way(before, g), _way(before, h))
        return colour

    def _odd_cycle(self, who: str, one: list[int], other: list[int]) -> None:
        while len(one) > 1 and len(other) > 1 and one[-2] == other[-2]:
            one, other = one[:-1], other[:-1]
        circle = [*one, *other[-2::-1]]
        edges = [self._link(g, h) for g, h in zip(circle, [*circle[1:], circle[0]], strict=True)]
        steps: list[tuple[int, str]] = []
        for (a, b), (c, _) in zip(edges, [*edges[1:], edges[0]], strict=True):
            steps += [(a, "cannot"), *_steps(self._chain(b, c), "must")]
        self._refuse(who, steps, edges[0][0], "close an odd cycle, which two clusters cannot keep")

    def _link(self, g: int, h: int) -> tuple[int, int]:
        """Return a pair that keeps two groups apart, its point of the first in front."""
        ends = self.groups[self.cannot]
        at = int(np.flatnonzero(((ends == (g, h)) | (ends == (h, g))).all(axis=1))[0])
        a, b = self.cannot[at].tolist()
        return (a, b) if self.groups[a] == g else (b, a)

    def _colours(self, who: str, k: int) -> np.ndarray:
        """Colour groups with fewer than k conflicts last, the others by exhaustive search, the most bound first."""
        colour = np.full(len(self.apart), -1)
        core, loose = _core(self.apart, k)
        clique = _clique(self.apart, core)
        if len(clique) > k:
            rows = [int(np.flatnonzero(self.groups == g)[0]) for g in clique[: k + 1]]
            text = ", ".join(map(str, rows))
            remedy = "Drop links, ask for more clusters, or use constraints='soft'."
            wanted = "links must leave a partition"
            refuse(who, wanted, f"{k + 1} rows that must all be apart and n_clusters={k}: {text}", remedy)
        self._search(who, k, core, colour)
        for g in reversed(loose):
            taken = {int(colour[h]) for h in self.apart[g]}
            colour[g] = next(c for c in range(k) if c not in taken)
        return colour

    def _search(self, who: str, k: int, core: set[int], colour: np.ndarray) -> None:
        """Colour by backtracking: next is the group that has the fewest colours left."""
        choices: list[tuple[int, list[int]]] = []
        tries = 0
        while True:
            free = [g for g in core if colour[g] < 0]
            if not free:
                return
            taken = {g: {int(colour[h]) for h in self.apart[g]} - {-1} for g in free}
            g = max(free, key=lambda g: (len(taken[g]), len(self.apart[g])))
            used = max((int(colour[h]) for h in core), default=-1)  # colours beyond the next new one are all alike
            choices.append((g, [c for c in range(min(k, used + 2)) if c not in taken[g]][::-1]))
            while choices and not choices[-1][1]:
                colour[choices.pop()[0]] = -1
            tries += 1
            if not choices or tries > TRIES // max(1, len(core)):
                said = "none exists" if not choices else "none was found"
                remedy = "Drop links, ask for more clusters, or use constraints='soft'."
                refuse(who, f"links must leave a partition into {k} clusters", said, remedy)
            g, left = choices[-1]
            colour[g] = left.pop()


def _steps(way: list[int], kind: str) -> list[tuple[int, str]]:
    return [(row, kind) for row in way[:-1]]


def _way(before: np.ndarray, g: int) -> list[int]:
    way = [g]
    while before[way[-1]] >= 0:
        way.append(int(before[way[-1]]))
    return way


def _core(apart: list[set[int]], k: int) -> tuple[set[int], list[int]]:
    """Return the groups that always have k conflicts among themselves, and the others as they can be taken away."""
    left = [set(neighbours) for neighbours in apart]
    loose = [g for g, neighbours in enumerate(left) if len(neighbours) < k]
    gone = set(loose)
    for g in loose:
        for h in left[g]:
            left[h].discard(g)
            if len(left[h]) < k and h not in gone:
                gone.add(h)
                loose.append(h)
    return set(range(len(apart))) - gone, loose


def _clique(apart: list[set[int]], core: set[int]) -> list[int]:
    """Return groups that are all apart from each other, as many as a greedy search finds."""
    best: list[int] = []
    for g in core:
        found, common = [g], apart[g] & core
        while common:
            h = max(common, key=lambda h: (len(apart[h] & common), -h))
            found.append(h)
            common = common & apart[h]
        best = max(best, found, key=len)
    return best
