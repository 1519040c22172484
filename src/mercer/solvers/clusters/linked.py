"""Kernel k-means under links: groups of points move one at a time, where that lowers the objective and links allow."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from mercer._checks import positive
from mercer.gram.rpcholesky import generator
from mercer.solvers.clusters._descend import descend, means_of
from mercer.solvers.clusters._settle import double, within_clusters
from mercer.solvers.clusters._sums import EPS, Sums, sums_of, values_of
from mercer.solvers.clusters.links import Links
from mercer.solvers.clusters.lloyd import Lloyd, Partition
from mercer.solvers.clusters.problem import Clustering, part
from mercer.solvers.clusters.starts import Ground
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

WHO = "KernelKMeans"


@dataclass(frozen=True)
class Linked:
    """Kernel k-means with links between points, kept ("hard") or paid for when broken ("soft").

    Hard: points that must share a cluster move as one; a group never joins a cluster that holds one it must be apart
    from, unless the two change places (with all that stands in the way). Soft: each link that is broken adds
    ``penalty`` times the mean squared distance from the overall mean to the objective. From each start the points that
    Lloyd's steps lead to are made to fit; then the objective falls with every move, computed exactly, in float64.
    Cost: as `Lloyd`, and n k a sweep and n a move.

    Parameters
    ----------
    links : Links
        Among the points with a weight.
    hard : bool
        Which of the two.
    penalty : float
        As above; only soft.
    lloyd : Lloyd
        Starts, their number, most steps, random state.
    """

    links: Links
    hard: bool = True
    penalty: float = 1.0
    lloyd: Lloyd = field(default_factory=Lloyd)
    tol: float | None = None  # what it finds is a fixed point of its own moves, not of Lloyd's steps

    def __post_init__(self) -> None:
        """Check the penalty."""
        positive(WHO, "link_penalty", self.penalty)

    def run(self, problem: Clustering, clock: Clock) -> Partition:
        """Return the best partition found. All points must have a weight."""
        k, rng, plans = problem.n_clusters, generator(WHO, self.lloyd.random_state), self._plans(problem.n_clusters)
        K = double(problem.gram)
        problem = Clustering(K, k, problem.weight)
        w = problem.weights
        sums = sums_of(K, k, w, problem.diagonal, values_of(K))
        ground = Ground(problem, sums, np.argsort(K @ w, kind="stable"))
        ends: list[_End] = []
        for _ in range(self.lloyd.n_init if self.lloyd.start.drawn else 1):
            run = descend(sums, self.lloyd.start.labels(ground, rng), self.lloyd.max_iter, 0.0, clock)
            for plan in plans:
                sums.follow(run.labels)
                ends.append(self._follow(plan, problem, sums, run.steps, clock))
            if ends[-1].status in (Status.DEADLINE, Status.INTERRUPTED):
                break
        best = ends[0]
        for end in ends[1:]:
            best = end if end.objective < best.objective - 1e-12 * abs(best.objective) else best
        sums.follow(best.labels)
        within, W = within_clusters(problem, best.labels), np.bincount(best.labels, w, k)
        objective = float(w @ problem.diagonal) - float((within / np.where(W > 0, W, 1.0)).sum())
        broken = tuple(len(pairs) for pairs in self.links.violated(best.labels))
        stats = {"starts": len(ends) // len(plans), "penalized": best.objective, "broken": broken}
        stats["precision"] = "float64"
        return Partition(best.labels, objective, within, best.status, True, best.steps, stats, sums, None, True)

    def _plans(self, k: int) -> list[list[np.ndarray | None]]:
        """Return what to do from each start, as colourings: None frees points of their links, for a price.

        Soft links are also kept first where they can be: single points that pay do not get far from where they start.
        """
        if self.hard:
            return [[self.links.colouring(WHO, k)]]
        try:
            return [[None], [self.links.colouring(WHO, k), None]]
        except ValueError:  # they contradict each other, and some must be broken
            return [[None]]

    def _follow(self, plan: list[np.ndarray | None], problem: Clustering, sums: Sums, steps: int, clock: Clock) -> _End:
        price = self._price(problem)
        for colours in plan:
            moving = Moving(problem, sums, self.links, colours, price)
            moving.fit_in()
            status = moving.sweep(self.lloyd.max_iter, clock)
            steps += moving.sweeps
        return _End(moving.objective(), sums.labels.copy(), steps, status)

    def _price(self, problem: Clustering) -> float:
        """Return what a broken link costs; infinite for hard ones."""
        if self.hard:
            return np.inf
        w, d = problem.weights, problem.diagonal
        scatter = float(w @ d) - float(w @ (double(problem.gram) @ w)) / float(w.sum())
        return self.penalty * max(scatter, 0.0) / float(w.sum())


@dataclass(frozen=True, eq=False)
class _End:
    """How one search ended."""

    objective: float
    labels: np.ndarray
    steps: int
    status: Status


class Moving:
    """A partition whose groups move one at a time, and what each move would change; the sums are kept up."""

    def __init__(self, problem: Clustering, sums: Sums, links: Links, colours: np.ndarray | None, price: float) -> None:
        self.sums, self.colours, self.price, self.links, self.sweeps = sums, colours, price, links, 0
        group = np.arange(sums.n) if colours is None else links.groups
        order, count = np.argsort(group, kind="stable"), np.bincount(group)
        self.members = np.split(order, np.cumsum(count)[:-1])
        w = sums.weights
        self.adding = sparse.csr_matrix((w[order], order, np.r_[0, np.cumsum(count)]), shape=(len(count), sums.n))
        self.u = np.asarray(self.adding.sum(axis=1)).ravel()
        self.q = np.array([_square(problem, w, m) for m in self.members])
        self.room = 64 * EPS * np.asarray(self.adding @ np.abs(sums.diagonal)).ravel()
        self.must, self.cannot = (_neighbours(sums.n, pairs) for pairs in (links.must, links.cannot))
        self.label = np.array([sums.labels[m[0]] for m in self.members])

    # ------------------------------------------------------------ what a move changes

    def objective(self) -> float:
        """Return the objective, with what broken links cost."""
        broken = 0.0 if self.colours is not None else sum(map(len, self.links.violated(self.sums.labels)))
        return means_of(self.sums).objective + (self.price * broken if broken else 0.0)

    def changes(self, at: np.ndarray) -> np.ndarray:
        """Return what the objective gains when groups at go to each cluster, (len(at), k); 0 to their own."""
        sums, k = self.sums, self.sums.k
        W, S, H = sums.sizes, sums.within(), self.adding[at] @ sums.G.T
        u, q, own, here = self.u[at][:, None], self.q[at][:, None], self.label[at], np.arange(len(at))
        now = np.where(W > 0, S / np.where(W > 0, W, 1.0), 0.0)
        join = now - (S + 2 * H + q) / (W + u)
        a = own[:, None]
        rest = W[a] - u
        alone = rest <= 1e-12 * W[a]
        leave = now[a] - np.where(alone, 0.0, (S[a] - 2 * H[here, own][:, None] + q) / np.where(alone, 1.0, rest))
        change = join + leave + (self._fees(at) if self.colours is None else self._bars(at))
        change[np.broadcast_to(alone, change.shape)] = np.inf  # no cluster is emptied
        change[here, own] = 0.0
        assert change.shape == (len(at), k)
        return change

    def _fees(self, at: np.ndarray) -> np.ndarray:
        """Return the change of what broken links cost; groups are single points."""
        onehot = np.zeros((self.sums.n, self.sums.k))
        onehot[np.arange(self.sums.n), self.sums.labels] = 1.0
        fee = self.price * (self.cannot[at] @ onehot - self.must[at] @ onehot)
        return np.asarray(fee - fee[np.arange(len(at)), self.label[at]][:, None])

    def _bars(self, at: np.ndarray) -> np.ndarray:
        """Return infinity where a group must not go."""
        bars = np.zeros((len(at), self.sums.k))
        for row, g in enumerate(at):
            bars[row, [self.label[h] for h in self.links.apart[g]]] = np.inf
        return bars

    # ------------------------------------------------------------ moving

    def move(self, groups: list[int], to: list[int]) -> None:
        """Move groups, all at once."""
        rows = np.concatenate([self.members[g] for g in groups])
        new = np.concatenate([np.full(len(self.members[g]), c) for g, c in zip(groups, to, strict=True)])
        self.sums.move(rows, new)
        self.sums.labels[rows] = new
        self.label[groups] = to

    def fit_in(self) -> None:
        """Make the partition keep hard links: each group goes where it is cheapest of where it may, the bound first."""
        if self.colours is None:
            return
        k = self.sums.k
        means = means_of(self.sums)
        offset = np.where(np.isinf(means.offset), 1e300, means.offset)
        cost = self.u[:, None] * offset + (self.adding @ self.sums.G.T) * means.factor
        label = np.full(len(cost), -1)
        spread = np.sort(cost, axis=1)
        regret = spread[:, min(1, k - 1)] - spread[:, 0]
        bound = np.array([len(h) for h in self.links.apart])
        for g in np.lexsort((-regret, -bound)):
            taken = {int(label[h]) for h in self.links.apart[g]}
            free = [c for c in range(k) if c not in taken]
            if not free:
                label = self._from_colours(cost)
                break
            label[g] = free[int(np.argmin(cost[g, free]))]
        self.label = label
        self.sums.follow(label[self.links.groups])

    def _from_colours(self, cost: np.ndarray) -> np.ndarray:
        """Return the partition known to keep the links, its colours matched to the clusters they cost least in."""
        assert self.colours is not None
        k = self.sums.k
        price = np.zeros((k, k))
        np.add.at(price, self.colours, np.minimum(cost, 1e200))
        _, cluster = linear_sum_assignment(price)
        return np.asarray(cluster[self.colours])

    def sweep(self, most: int, clock: Clock) -> Status:
        """Move groups where that lowers the objective, the likeliest first, until none does."""
        try:
            return self._sweep(most, clock)
        except KeyboardInterrupt:
            return Status.INTERRUPTED

    def _sweep(self, most: int, clock: Clock) -> Status:
        while True:
            self.sweeps += 1
            change = self.changes(np.arange(len(self.members)))
            gain = -change.min(axis=1)
            likely = np.flatnonzero(gain > self.room)
            moved = 0
            for g in likely[np.argsort(-gain[likely], kind="stable")]:
                again = self.changes(np.array([g]))[0]
                if again.min() < -self.room[g]:
                    self.move([int(g)], [int(again.argmin())])
                    moved += 1
            moved += 0 if moved or self.colours is None else self._change_places()
            if not moved:
                return Status.CONVERGED
            if (stop := clock.step(self.sweeps, moved / len(self.members))) is not None:
                return stop
            if self.sweeps >= most:
                return Status.MAX_STEPS

    def _change_places(self) -> int:
        """Let groups that links hold back change places with what stands in the way, where that lowers the objective.

        Groups of two clusters that links tie together, one after the other, may all change sides, and no link breaks.
        """
        moved = 0
        for g in (g for g, others in enumerate(self.links.apart) if others):
            for c in sorted({int(self.label[h]) for h in self.links.apart[g]}):
                chain = self._chain(g, c)
                before, a = self.objective(), int(self.label[g])
                old = [int(self.label[h]) for h in chain]
                if len(chain) > 200 or self._empties(chain, a, c):
                    continue
                self.move(chain, [c if h == a else a for h in old])
                if self.objective() < before - self.room[chain].sum() - 64 * EPS * abs(before):
                    moved += 1
                    break
                self.move(chain, old)
        return moved

    def _chain(self, g: int, c: int) -> list[int]:
        """Return the groups of its cluster and of cluster c that links tie to g, one after the other."""
        sides = (int(self.label[g]), c)
        chain, seen = [g], {g}
        for h in chain:
            more = [f for f in sorted(self.links.apart[h]) if f not in seen and int(self.label[f]) in sides]
            seen.update(more)
            chain += more
        return chain

    def _empties(self, chain: list[int], a: int, c: int) -> bool:
        there = self.label[chain] == c
        return not there.any() and len(chain) == int(np.count_nonzero(self.label == a))


def _square(problem: Clustering, w: np.ndarray, members: np.ndarray) -> float:
    """Return the sum of w_i w_l K_il over the pairs of a group."""
    if len(members) == 1:
        return float(w[members[0]] ** 2 * problem.diagonal[members[0]])
    return float(w[members] @ (double(part(problem.gram, members)) @ w[members]))


def _neighbours(n: int, pairs: np.ndarray) -> sparse.csr_matrix:
    half = sparse.coo_matrix((np.ones(len(pairs)), tuple(pairs.T)), shape=(n, n)).tocsr()
    return half + half.T
