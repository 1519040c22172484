"""Lower bounds for the root objective: no A does better, whatever the search did and rounding is.

For any c_k > 0 let M = sum_D w_k d_k d_k' / c_k. If lambda M_S - M is psd, sum_D d_A <= sqrt(lambda sum_D w_k c_k)
sqrt(sum_S d_A^2) for every psd A, so the optimum is at least 1 / (lambda sum_D w_k c_k).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.solvers.metric.pairs import Listed, PairSet
from mercer.solvers.metric.pencil import Looking, Pencil
from mercer.solvers.metric.problem import MetricProblem
from mercer.solvers.metric.scatter import EPS, Scatter


@dataclass(frozen=True, eq=False)
class Look:
    """A lower bound, and the eigenvalues of M where M_S = I, ascending, with their vectors."""

    lower: float
    values: np.ndarray
    vectors: np.ndarray


class Bound(ABC):
    """Makes lower bounds from distances c."""

    @abstractmethod
    def look(self, c: np.ndarray) -> Look:
        """Return the bound for c > 0."""

    @abstractmethod
    def holds(self, L: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return which columns of V the factor L can grow along by itself."""

    def missing(self, look: Look, L: np.ndarray, least: float) -> np.ndarray | None:
        """Return directions that would lead on, weighted, or None: those of eigenvalues above what they should be."""
        above = np.flatnonzero(look.values > least)[-max(2, L.shape[1]) :]
        V = look.vectors[:, above]
        outside = ~self.holds(L, V)
        return (V * np.sqrt(look.values[above] - least))[:, outside] if outside.any() else None

    @abstractmethod
    def mixed(self, L: np.ndarray, V: np.ndarray, share: float) -> np.ndarray:
        """Return a factor of (1 - share) LL' + share VV' (V scaled to norm 1)."""


@dataclass(frozen=True, eq=False)
class FullBound(Bound):
    """Over all psd A, in coordinates in which M_S is about I. Cost: a scatter matrix and an eigenproblem.

    Rounding beyond a share of ``fine`` is too much; then the differences are summed in these coordinates themselves.
    """

    problem: MetricProblem
    pairs: Listed
    basis: np.ndarray
    pencil: Pencil
    fine: float

    def look(self, c: np.ndarray) -> Look:
        """Return the bound for c > 0."""
        total = float(self.pairs.weights @ c) * (1 + len(c) * EPS)
        M, off = seen_in(self.problem, self.pairs.reweighted(1 / c), self.basis, 0.0, None, self.fine)
        values, vectors = np.linalg.eigh(M)
        least = self._least
        top = float(values[-1]) + off + 16 * len(M) * EPS * abs(float(values[-1]))
        lower = least / (top * total) if least > 0 else 0.0
        return Look(lower, values, vectors)

    @cached_property
    def _least(self) -> float:
        """A lower bound on the least eigenvalue of M_S in these coordinates."""
        problem, known = self.problem, self.pencil.plain[0]
        similar, off = seen_in(problem, problem.near, self.basis, problem.ridge, known, self.fine)
        return float(np.linalg.eigvalsh(similar)[0]) - off - 16 * len(similar) * EPS

    def holds(self, L: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return which columns of V lie in the span of L, but for columns that have died out."""
        U, s, _ = np.linalg.svd(L, full_matrices=False)
        return np.asarray(np.linalg.norm(U[:, s > 1e-4 * s[0]].T @ V, axis=0) > 0.9)

    def mixed(self, L: np.ndarray, V: np.ndarray, share: float) -> np.ndarray:
        """Return a factor of (1 - share) LL' + share VV' (V scaled to norm 1), of as many columns as it needs."""
        V = V / np.linalg.norm(V)
        both = np.hstack([np.sqrt(1 - share) * L / np.linalg.norm(L), np.sqrt(share) * V])
        if both.shape[1] <= len(both):
            return both
        U, s, _ = np.linalg.svd(both, full_matrices=False)
        return np.asarray(U * s)


def seen_in(
    problem: MetricProblem, pairs: PairSet, basis: np.ndarray, ridge: float, known: Scatter | None, fine: float
) -> tuple[np.ndarray, float]:
    """Return the scatter of pairs in coordinates given by a basis, and a bound on the norm of its error.

    From the scatter in plain coordinates where that is fine enough, else from the differences.
    """
    threads = problem.engine.n_threads
    plain = pairs.scatter(problem.X, threads) if known is None else known
    M = basis.T @ plain.matrix @ basis
    # |E_jk| <= r sqrt(s_j s_k), so that |B'EB| <= r d |sqrt(s) B|^2 in spectral norms.
    stretch = float(np.linalg.eigvalsh((basis.T * plain.size) @ basis)[-1]) * (1 + len(basis) ** 2 * EPS)
    off = (plain.rounding + 4 * len(basis) * EPS) * len(basis) * stretch
    if off <= fine * float(np.diagonal(M).max()):
        return (M + M.T) / 2, off
    found = Looking(pairs.blocks(problem.X), plain.size, ridge, threads)(basis)
    return found.matrix, found.noise


@dataclass(frozen=True, eq=False)
class DiagonalBound(Bound):
    """Over diagonal A: M is its diagonal. Cost: d a pair."""

    pairs: Listed
    X: np.ndarray
    scale: np.ndarray

    def look(self, c: np.ndarray) -> Look:
        """Return the bound for c > 0."""
        total = float(self.pairs.weights @ c)
        m = self.pairs.reweighted(1 / c).energies(self.X) * self.scale**2
        order = np.argsort(m)
        rounding = 1 + (len(c) + 16) * EPS
        return Look(1 / (float(m.max()) * total * rounding**2), m[order], np.eye(len(m))[:, order])

    def holds(self, L: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return which columns of V are features whose weights have not died out."""
        return np.asarray((V.T @ (L * L))[:, 0] > 1e-8)

    def mixed(self, L: np.ndarray, V: np.ndarray, share: float) -> np.ndarray:
        """Return a factor of (1 - share) LL' + share VV' (V scaled to norm 1)."""
        more = np.sum(V * V, axis=1, keepdims=True)
        return np.asarray(np.sqrt((1 - share) * L * L / np.sum(L * L) + share * more / more.sum()))
