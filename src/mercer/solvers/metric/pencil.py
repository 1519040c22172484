"""Two scatter matrices in coordinates that suit them both: W'(M_S + M_D)W = I and W'M_S W = diag(share).

Every objective here is about the pencil (M_S, M_D), and every hard case is a singular one: features on very different
scales, dependent features, fewer pairs than dimensions, similar pairs that are identical. A sum of squares cannot tell
a direction in which no pair differs from one in which they differ by 1e-8 of the rest; the differences themselves can,
so directions that look empty are looked at again there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np

from mercer.solvers.metric.pairs import PairSet
from mercer.solvers.metric.scatter import EPS, Again, Block, Scatter, not_too_large, sum_of_squares

MARGIN = 1e4
"""A direction whose energy is below so many times the noise is looked at again."""
ZERO = 32
"""Differences below this, times eps and the sizes of the numbers they were computed from, are rounding."""
PASSES = 4
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Pencil:
    """M_S and M_D in coordinates in which their sum is the identity.

    Parameters
    ----------
    basis : array of shape (d, k)
        W, on the k dimensions in which any pair differs.
    share : array of shape (k,)
        What part of each direction's energy is due to similar pairs, ascending, in [0, 1]. The generalised eigenvalues
        are share / (1 - share).
    zeros : int
        How many of them are 0: directions in which no similar pair differs.
    noise : float
        A bound on the norms of the errors of W'M_S W and W'M_D W as computed.
    off : float
        The norm of W'(M_S + M_D)W - I as computed.
    plain : pair of Scatter
        M_S (with the regularisation) and M_D in the coordinates of X.
    """

    basis: np.ndarray
    share: np.ndarray
    zeros: int
    noise: float
    off: float
    plain: tuple[Scatter, Scatter]

    @property
    def unseen(self) -> int:
        """In how many directions no pair differs."""
        return int(self.basis.shape[0] - self.basis.shape[1])


def pencil_of(
    X: np.ndarray, similar: PairSet, dissimilar: PairSet, scatters: tuple[Scatter, Scatter], ridge: float, threads: int
) -> Pencil:
    """Return the pencil of pairs from their scatters. Cost: two eigenproblems; passes over pairs in singular cases."""
    S, D = scatters

    def first() -> Looking:
        return Looking(similar.blocks(X), S.size, ridge, threads)

    def second() -> Looking:
        return Looking(dissimilar.blocks(X), D.size, 0.0, threads)

    def both() -> Looking:
        one, other = first(), second()
        return Looking(Again(lambda: chain(one.blocks, other.blocks)), S.size + D.size, ridge, threads)

    unit = Unit.of(not_too_large(S.matrix.diagonal() + D.matrix.diagonal() + ridge))
    A, B = unit.seen(S, ridge), unit.seen(D, 0.0)
    total = A.matrix + B.matrix
    T = graded(Scatter(total, A.size + B.size, max(A.rounding, B.rounding)), both, unit.columns)
    V = T.basis / np.sqrt(T.energy)
    W, noise = unit.columns @ V, 0.0  # there is no direction at all if all points in pairs are equal
    if len(V):
        noise = (A.noise + B.noise + 8 * len(V) * EPS * T.energy[-1]) / T.energy[0]
    if T.passes > 1:  # the sums in the first coordinates do not tell the fine directions
        A, B = first()(W), second()(W)
        similars, total, noise = A.matrix, A.matrix + B.matrix, A.noise + B.noise
    else:
        similars, total = V.T @ A.matrix @ V, V.T @ total @ V
    total.flat[:: len(total) + 1] -= 1
    share, zeros, Y = _shares(similars, noise, first, W)
    noise += 8 * len(Y) * EPS
    return Pencil(W @ Y, share, zeros, noise, float(np.sqrt(np.vdot(total, total))), (unit.with_ridge(S, ridge), D))


@dataclass(frozen=True, eq=False)
class Unit:
    """Coordinates in which every feature has energy 1, without those in which nothing differs.

    Parameters
    ----------
    some : array of int, or slice
        The features.
    factor : array
        What they are multiplied with.
    d : int
        How many features there are.
    """

    some: Any
    factor: np.ndarray
    d: int

    @staticmethod
    def of(energy: np.ndarray) -> Unit:
        """Return the coordinates for features of such energies."""
        some = slice(None) if energy.all() else np.flatnonzero(energy)
        return Unit(some, 1 / np.sqrt(energy[some]), len(energy))

    @cached_property
    def columns(self) -> np.ndarray:
        """The coordinates as a matrix of d rows."""
        W = np.zeros((self.d, len(self.factor)))
        W[np.arange(self.d)[self.some], np.arange(len(self.factor))] = self.factor
        return W

    def seen(self, M: Scatter, ridge: float) -> Scatter:
        """Return a scatter, plus ridge I, in these coordinates."""
        matrix = M.matrix[self.some][:, self.some] * self.factor * self.factor[:, None]
        squares = self.factor * self.factor
        if ridge:
            matrix.flat[:: len(matrix) + 1] += ridge * squares
        return Scatter(matrix, squares * M.size[self.some], M.rounding + 4 * EPS)

    @staticmethod
    def with_ridge(M: Scatter, ridge: float) -> Scatter:
        """Return a scatter plus ridge I in the coordinates of X."""
        return Scatter(M.matrix + ridge * np.eye(len(M.matrix)), M.size + ridge, M.rounding + EPS) if ridge else M


@dataclass(frozen=True, eq=False)
class Looking:
    """Sums of squares in given directions, from the differences themselves rather than from their products.

    Parameters
    ----------
    blocks : iterable
        What makes the rows g; gone through again at each look.
    size : array of shape (d,)
        A bound on the sum of g_j^2, and on what they were computed from.
    ridge : float
        c of c I, which is added.
    threads : int
        How many to use.
    """

    blocks: Iterable[Block]
    size: np.ndarray
    ridge: float
    threads: int

    def __call__(self, C: np.ndarray) -> Scatter:
        """Return the sum of (g'C)'(g'C) + c C'C; its noise includes that of the products g'C."""
        found = sum_of_squares((partial(_times, make, C) for make in self.blocks), C.shape[1], self.threads)
        total = found.matrix + self.ridge * (C.T @ C)
        size = np.diagonal(total) + self.reach(C) ** 2 * len(C) * EPS
        return Scatter(total, size, found.rounding + 4 * len(C) * EPS)

    def reach(self, C: np.ndarray) -> np.ndarray:
        """Return, for each column c, a bound on the root of the sum of (sum_j |g_j c_j|)^2: what may cancel in it."""
        return np.sqrt(self.size) @ np.abs(C)


def _times(make: Block, C: np.ndarray) -> np.ndarray:
    return make() @ C


# ---------------------------------------------------------------- which directions are empty


@dataclass(frozen=True, eq=False)
class Graded:
    """Directions in which a sum of squares is not 0, with their energies, ascending, and those in which it is."""

    basis: np.ndarray
    energy: np.ndarray
    null: np.ndarray
    passes: int


def graded(M: Scatter, look: Callable[[], Looking], W: np.ndarray) -> Graded:
    """Return directions in the coordinates W in which M is diagonal, and its null space.

    What looks empty is looked at again; directions that are small but not empty are scaled up, and M is computed anew.
    """
    energy, V = np.linalg.eigh(M.matrix)
    if len(energy) and energy[0] > MARGIN * M.noise:  # the rule
        return Graded(V, energy, V[:, :0], 1)
    C, passes, looking = np.eye(len(M.matrix)), 1, look()
    while True:
        bad = energy <= MARGIN * M.noise
        good = C @ V[:, ~bad]
        if not bad.any():
            return Graded(good, energy, C[:, :0], passes)
        again, U = np.linalg.eigh(looking(W @ C @ V[:, bad]).matrix)
        N = C @ V[:, bad] @ U
        zero = again <= (ZERO * EPS * looking.reach(W @ N)) ** 2
        if zero.all() or passes == PASSES:
            fine = np.concatenate([again[~zero], energy[~bad]])
            return Graded(np.hstack([N[:, ~zero], good]), fine, N[:, zero], passes)
        C = np.hstack([N / np.sqrt(np.where(zero, 1.0, again)), good / np.sqrt(energy[~bad])])
        M, passes = looking(W @ C), passes + 1
        energy, V = np.linalg.eigh(M.matrix)


def _shares(
    A: np.ndarray, noise: float, look: Callable[[], Looking], W: np.ndarray
) -> tuple[np.ndarray, int, np.ndarray]:
    """Return the eigenvalues of A in [0, 1], how many are exactly 0, and their vectors."""
    found = graded(Scatter(A, np.array([1.0]), noise), look, W)
    zeros = found.null.shape[1]
    if not zeros:
        plain = found.passes == 1 and len(found.energy) and found.energy[0] > MARGIN * noise
        share, Y = (found.energy, found.basis) if plain else np.linalg.eigh(A)
        return _parts(share), 0, Y
    Q = np.linalg.qr(found.null, mode="complete")[0]
    rest = Q[:, zeros:]
    share, Y = np.linalg.eigh(rest.T @ A @ rest)
    share = np.concatenate([np.zeros(zeros), _parts(share)])
    return share, zeros, np.hstack([Q[:, :zeros], rest @ Y])


def _parts(share: np.ndarray) -> np.ndarray:
    return np.asarray(np.minimum(np.maximum(share, TINY), 1.0))  # np.clip takes three times as long on small arrays
