"""The root objective: min sum_S d_A^2 subject to sum_D d_A >= 1; equally, max sum_D d_A at a given sum_S d_A^2."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from mercer._checks import positive
from mercer.solvers.metric.bound import Bound, DiagonalBound, FullBound
from mercer.solvers.metric.certificate import MetricCertificate
from mercer.solvers.metric.climb import Climber
from mercer.solvers.metric.pairs import Listed, Pairs, Piece
from mercer.solvers.metric.pencil import Pencil
from mercer.solvers.metric.problem import Face, MetricProblem, MetricSolution, MetricSolver, check_rank
from mercer.solvers.metric.ratio import no_dissimilar_difference, signed
from mercer.solvers.metric.rows import Rows, held
from mercer.solvers.metric.scatter import EPS, Again
from mercer.solvers.metric.spread import FeatureSpread, GraphSpread, HeldSpread, RowSpread, Spread, turned
from mercer.solvers.metric.spread import held as held_pieces
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

ALL, DIAGONAL = "all psd matrices", "all diagonal matrices"
COLUMNS = 5
"""Columns of the factor to begin with: optima are of rank 1 to 3 as a rule."""
SMALL = 8
"""Up to so many dimensions the factor has all columns at once."""
HELD = 8
"""Differences are kept, rather than made at every step, where they fit in this part of the memory."""
SHORT = 64
"""Distances are taken as at least eps times so many mean distances, where they divide."""
FLOOR = 1e-13
"""A gradient below this is rounding."""


@dataclass(frozen=True)
class Root(MetricSolver):
    """max sum_D d_A over psd A with sum_S d_A^2 = 1; A is scaled such that sum_D d_A = 1.

    Concave in A. With A = B L L'B' in coordinates where sum_S d_A^2 = |L|^2 it is a convex, homogeneous function of L
    on a sphere, which is climbed by quasi-Newton steps that never go down, on a few columns. A dual bound over all psd
    A says when it is done; where it is not, the directions that it shows to be missing join the columns.
    Cost: some tens of times r numbers a pair, or 4 d r flops where there are few pairs, and a few scatter matrices.

    Parameters
    ----------
    rank : int, optional
        Most columns of the factor; the certificate still compares with all A.
    diagonal : bool
        Only diagonal A: weights of features.
    tol : float
        Largest relative gap.
    max_steps : int
        Most evaluations of the objective.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.metric import MetricProblem, Pairs, Root, learn_metric
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    >>> similar, dissimilar = Pairs(np.array([0, 0]), np.array([1, 2])), Pairs(np.array([0, 1]), np.array([3, 2]))
    >>> found = learn_metric(MetricProblem(X, similar, dissimilar), Root())
    >>> found.components.shape, found.certificate.relative_gap < 1e-6
    ((2, 2), True)
    """

    rank: int | None = None
    diagonal: bool = False
    tol: float = 1e-6
    max_steps: int = 10_000

    def __post_init__(self) -> None:
        """Check the options against each other."""
        check_rank("Root", self.rank, self.diagonal)
        positive("Root", "tol", self.tol)

    def run(self, problem: MetricProblem, clock: Clock) -> MetricSolution:
        """Return the best metric found, certified."""
        pairs = held(problem.far.listed(), problem.X)
        if self.diagonal:
            return self._diagonal(problem, pairs, clock)
        pencil = problem.pencil
        if pencil.share.min(initial=1.0) >= 1 - 1e3 * pencil.noise:
            no_dissimilar_difference()
        if pencil.zeros:
            return _free(problem, pairs, pencil.basis[:, : pencil.zeros], pencil)
        basis = pencil.basis / np.sqrt(pencil.share)
        spread = spread_of(problem, pairs, basis, pencil)
        k = len(pencil.share)
        first = k if k <= SMALL else min(k, max(COLUMNS, self.rank or 0))
        L = np.diag(np.sqrt((1 - pencil.share) / pencil.share) + EPS)[:, :first]
        bound = FullBound(problem, pairs, basis, pencil, self.tol / 8)
        search = Search(spread, bound, L, self.tol, self.max_steps, clock)
        status = search.to_the_end()
        if self.rank is not None:
            status = search.reduced(self.rank, status)
        U, s, _ = np.linalg.svd(search.factor, full_matrices=False)
        s = s[s > 0.1 * np.sqrt(self.tol) * s[0]]  # what is left out changes the sum by less than a share of s^2
        components = signed(basis @ U[:, : len(s)] * s).T
        noise = pencil.noise * (1 + float(np.sum((search.factor**2).T / np.maximum(pencil.share, EPS))))
        return search.solution(problem, pairs, components, noise, ALL, status)

    def _diagonal(self, problem: MetricProblem, pairs: Listed, clock: Clock) -> MetricSolution:
        X = problem.X
        S, D = problem.energies
        if not (D > 0).any():
            no_dissimilar_difference()
        free = (S == 0) & (D > 0)
        if free.any():
            basis = (np.eye(len(S)) / np.sqrt(np.where(D > 0, D, 1.0)))[:, free]
            return _free(problem, pairs, basis, None)
        some = D > 0
        scale = np.where(some, 1 / np.sqrt(np.where(S > 0, S, 1.0)), 0.0)
        squares: Iterable[Piece] = Again(lambda: (partial(_squared, piece) for piece in pairs.pieces(X)))
        if 8 * pairs.count * len(scale) <= problem.engine.budget // HELD:
            squares = held_pieces(squares, pairs.count, len(scale))
        spread = FeatureSpread(squares, scale**2, problem.engine.n_threads)
        L = np.where(some, 1.0, 0.0)[:, None]
        search = Search(spread, DiagonalBound(pairs, X, scale), L, self.tol, self.max_steps, clock)
        status = search.to_the_end()
        components = np.diag(np.abs(search.factor[:, 0]) * scale)
        components = components[np.abs(search.factor[:, 0]) > 1e-2 * self.tol]
        return search.solution(problem, pairs, components, 16 * EPS, DIAGONAL, status)


def spread_of(problem: MetricProblem, pairs: Listed, basis: np.ndarray, pencil: Pencil) -> Spread:
    """Return the sum of distances, from the points where pairs are many, else from the differences."""
    X, threads, k = problem.X, problem.engine.n_threads, basis.shape[1]
    many = pairs.count > 2 * len(X) and pairs.count * k > 2**16
    if isinstance(pairs, Pairs) and many and max(M.cancellation for M in pencil.plain) < 1e4:
        degrees = np.bincount(pairs.first, pairs.weights, len(X)) + np.bincount(pairs.second, pairs.weights, len(X))
        Z = turned(X, degrees @ X / degrees.sum(), basis, threads)
        return GraphSpread(Z, pairs.first, pairs.second, pairs.weights, threads)
    if isinstance(pairs, Rows):
        return HeldSpread(pairs.differences @ basis, pairs.weight)
    if 8 * pairs.count * k > problem.engine.budget // HELD:
        return RowSpread(pairs.pieces(X), basis, threads)
    rows = Again(lambda: (partial(_turned, piece, basis) for piece in pairs.pieces(X)))
    return RowSpread(held_pieces(rows, pairs.count, k), np.eye(k), threads)


def _turned(piece: Piece, basis: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    w, G = piece()
    return w, G @ basis


def _squared(piece: Piece) -> tuple[np.ndarray | None, np.ndarray]:
    w, G = piece()
    return w, np.square(G, out=G)


def _free(problem: MetricProblem, pairs: Listed, N: np.ndarray, pencil: Pencil | None) -> MetricSolution:
    """Return the centre of the face of value 0: directions that only dissimilar pairs see."""
    components = N.T / (pairs.weights @ pairs.distances(problem.X, N.T))
    value = problem.similar_sum(components)
    noise = 16 * EPS if pencil is None else pencil.noise
    scope = DIAGONAL if pencil is None else ALL
    proof = MetricCertificate(value, 0.0, value + noise * problem.dissimilar_squares(components), scope)
    unseen = 0 if pencil is None else pencil.unseen
    return MetricSolution(components, Status.CONVERGED, proof, Face(N, unseen), {"rank": N.shape[1], "steps": 0})


@dataclass
class Search:
    """A climb, the bound that ends it, and what joins the columns where it does not."""

    spread: Spread
    bound: Bound
    start: np.ndarray
    tol: float
    most: int
    clock: Clock
    lower: float = 0.0
    climber: Climber = field(init=False)

    def __post_init__(self) -> None:
        """Start."""
        self.climber = Climber(self.spread, self.start, self.clock)

    @property
    def factor(self) -> np.ndarray:
        """Where the climb stands."""
        return self.climber.L

    def to_the_end(self) -> Status:
        """Climb until the gap is small, or rounding forbids it."""
        target = 0.3 * self.tol
        while True:
            status = self.climber.climb(target, self.most)
            gap, missing = self._look()
            if gap <= self.tol:
                return Status.CONVERGED
            if status not in (Status.CONVERGED, Status.STALLED):
                return status
            if missing is not None and self._join(missing):
                continue
            if status is Status.STALLED or target <= FLOOR:
                return Status.STALLED
            target /= 10

    def reduced(self, rank: int, status: Status) -> Status:
        """Go on with the best so many columns."""
        U, s, _ = np.linalg.svd(self.factor, full_matrices=False)
        if status in (Status.DEADLINE, Status.INTERRUPTED) or rank >= np.count_nonzero(s > 1e-2 * self.tol * s[0]):
            self.climber.L = U[:, :rank] * s[:rank]
            return status
        self.climber.stand(U[:, :rank] * s[:rank])
        ended = self.climber.climb(0.1 * self.tol, self.most)
        self._look()
        return Status.CONVERGED if ended is Status.STALLED else ended

    def _look(self) -> tuple[float, np.ndarray | None]:
        """Return the gap of where the climb stands, and directions that would lead on."""
        c = self.spread.distances(self.factor)
        look = self.bound.look(np.maximum(c, SHORT * EPS * c.mean()))
        self.lower = max(self.lower, look.lower)
        f = self.climber.f
        gap = 1 - self.lower * f * f
        if gap <= self.tol:
            return gap, None
        return gap, self.bound.missing(look, self.factor, f * (1 + 0.25 * self.tol))

    def _join(self, missing: np.ndarray) -> bool:
        """Let directions join, in the largest share that climbs; whether there is one."""
        climber, L, f = self.climber, self.factor, self.climber.f
        share = 0.1
        while share > 1e-12:
            climber.stand(self.bound.mixed(L, missing, share))
            if climber.f > f * (1 + 1e-15):
                return True
            share /= 8
        climber.stand(L)
        return False

    def solution(
        self, problem: MetricProblem, pairs: Listed, components: np.ndarray, noise: float, scope: str, status: Status
    ) -> MetricSolution:
        """Return what was found, its value summed anew over the pairs."""
        components = components / float(pairs.weights @ pairs.distances(problem.X, components))
        value = problem.similar_sum(components)
        proof = MetricCertificate(value, min(self.lower, value), noise * value, scope)
        stats = {"rank": len(components), "steps": self.climber.steps}
        return MetricSolution(components, status, proof, None, stats)
