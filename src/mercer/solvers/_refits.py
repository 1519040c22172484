"""What every refit without one row needs, for all lam at once: from a band of s K s + lam I, or from centres.

With e the residuals of the fit on all rows and h the leverages, those of the fit without a share of row i's weight are
e_i / (1 - share_i h_i): no refit is made. h and the way predictions hang on targets come from the same factors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.solvers._banded import Banded
from mercer.solvers._reduction import banded
from mercer.solvers._span import Span, fresh
from mercer.solvers._system import System
from mercer.solvers.problem import Problem

BLOCK = 4096  # rows whose features are made at once


@dataclass(frozen=True, eq=False)
class Fits:
    """The fits of every lam, on the rows that count.

    Parameters
    ----------
    residuals : array of shape (l, n, t)
        y - f(x) - b.
    stays : array of shape (l, n)
        1 - h: the share of an error in y_i that stays in the residual.
    coefficients : array of shape (l, n, t), on centres (l, m, t)
        Of f.
    offsets : array of shape (l, t)
        b.
    logdet : array of shape (l,)
        log det M, M = s K s + lam I; with an intercept log (det M s'M^-1 s), which takes b as unknown.
    fine : array of bool, (l,)
        Whether s K s + lam I is positive definite.
    """

    residuals: np.ndarray
    stays: np.ndarray
    coefficients: np.ndarray
    offsets: np.ndarray
    logdet: np.ndarray
    fine: np.ndarray


class Refits(ABC):
    """The fits of a problem of least squares for any lam, and how their predictions hang on each target."""

    @abstractmethod
    def fits(self, lams: np.ndarray) -> Fits:
        """Return the fits of every lam > 0."""

    @abstractmethod
    def influence(self, columns: np.ndarray, lam: float) -> np.ndarray:
        """Return the derivatives of predictions in the targets of the rows that count, (m, n).

        ``columns`` are k(x, x_j), one x a row, x_j all training points or all centres.
        """

    @abstractmethod
    def variance(self, columns: np.ndarray, own: np.ndarray, lam: float) -> np.ndarray:
        """Return the variances of predictions, (m,); ``own`` is k(x, x).

        Those given y of the Gaussian process with covariance k and noise lam / w_i: times noise / lam they are those of
        a process whose noise is known.
        """


@dataclass(frozen=True, eq=False)
class AllPoints(Refits):
    """Refits of f on all training points. Cost: 8/3 n^3 flops once, 4 BAND n^2 a lam, 8 n^2 a prediction.

    Parameters
    ----------
    problem : Problem
        Without centres.
    step : callable, optional
        Told the share of the first cost that is done.
    """

    problem: Problem
    step: Callable[[float], Any] = lambda done: None

    @cached_property
    def system(self) -> System:
        """(s K s + lam I) Z = s y."""
        return System(self.problem)

    @cached_property
    def band(self) -> Banded:
        """A band that s K s is turned into."""
        s, K = self.system.roots, fresh(self.system.gram)

        def block(rows: slice, columns: slice) -> np.ndarray:
            part = np.array(K.block(rows, columns), dtype=np.float64)
            part *= s[rows, None]
            part *= s[columns]
            return part

        return banded(block, len(s), self.problem.gram.engine.n_threads, self.step)

    def fits(self, lams: np.ndarray) -> Fits:
        """Return the fits of every lam > 0."""
        system, factors = self.system, self.band.factored(lams)
        s, logdet, inverse = system.roots, factors.logdet, factors.inverse_diagonal()
        Z = factors.solve(s[:, None] * self.problem.targets[system.rows])
        offsets = np.zeros((len(lams), self.problem.n_targets))
        if self.problem.intercept:
            u = factors.solve(s[:, None])[..., 0]
            flat = np.maximum(u @ s, np.finfo(float).tiny)
            offsets = np.einsum("i,lit->lt", s, Z) / flat[:, None]
            Z = Z - u[:, :, None] * offsets[:, None]
            inverse, logdet = inverse - u**2 / flat[:, None], logdet + np.log(flat)
        c = np.zeros((len(lams), len(self.problem.y), Z.shape[2]))
        c[:, system.rows] = s[:, None] * Z
        residuals = lams[:, None, None] * Z / s[:, None]
        return Fits(residuals, lams[:, None] * inverse, c, offsets, logdet, factors.fine)

    def influence(self, columns: np.ndarray, lam: float) -> np.ndarray:
        """Return the derivatives of predictions in the targets of the rows that count, (m, n)."""
        V, Z, u = self._turned(columns, lam)
        s = self.system.roots[:, None]
        if u is not None:
            Z = Z + u * ((1.0 - u.T @ V) / (s.T @ u))
        return (s * Z).T

    def variance(self, columns: np.ndarray, own: np.ndarray, lam: float) -> np.ndarray:
        """Return the variances of predictions, (m,)."""
        V, Z, u = self._turned(columns, lam)
        found = own - np.einsum("ij,ij->j", V, Z)
        if u is not None:
            found += (1.0 - u[:, 0] @ V) ** 2 / (self.system.roots @ u[:, 0])
        return np.maximum(found, 0.0)

    def _turned(self, columns: np.ndarray, lam: float) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return V = s k(x_j, x), M^-1 V and, with an intercept, M^-1 s, for M = s K s + lam I."""
        s, factors = self.system.roots[:, None], self.band.factored(np.array([lam]))
        V = s * columns[:, self.system.rows].T
        return V, factors.solve(V)[0], factors.solve(s)[0] if self.problem.intercept else None


@dataclass(frozen=True, eq=False)
class OnCenters(Refits):
    """Refits of f on its centres: ridge regression on r <= m features. Cost: n m^2 flops twice, n m a lam.

    With K = T T' on the centres, in their eigenbasis and without what rounding leaves of it, the features are
    K_nm T^-1', turned so that their weighted second moment is diagonal. With an intercept they have mean 0.

    Parameters
    ----------
    problem : Problem
        With centres.
    """

    problem: Problem

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows that count."""
        return np.flatnonzero(self.problem.weights > 0)

    @cached_property
    def weights(self) -> np.ndarray:
        """Their weights."""
        return np.asarray(self.problem.weights[self.rows])

    @cached_property
    def plain(self) -> np.ndarray:
        """The matrix that makes features of k(x, z), not yet turned, (m, r)."""
        values, vectors = np.linalg.eigh(self._span.square)
        kept = values > len(values) * np.finfo(float).eps * max(values[-1], 0.0)
        return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))

    @cached_property
    def _span(self) -> Span:
        return Span(self.problem)

    def features(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield blocks of plain features, of rows that count."""
        K = self._span.fresh_columns
        for i in range(0, len(self.rows), BLOCK):
            part = slice(i, min(i + BLOCK, len(self.rows)))
            yield part, np.asarray(K.block(self.rows[part]), dtype=np.float64) @ self.plain

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the mean of the plain features, the turn, the second moments after it, and those with y - its mean."""
        w, y, r = self.weights, self.problem.targets[self.rows], self.plain.shape[1]
        mean, square, cross = np.zeros(r), np.zeros((r, r)), np.zeros((r, y.shape[1]))
        for part, F in self.features():
            weighted = w[part, None] * F
            mean += weighted.sum(axis=0)
            square += weighted.T @ F
            cross += weighted.T @ (y[part] - self.level)
        total = w.sum()
        mean = mean / total if self.problem.intercept else np.zeros(r)
        values, turn = np.linalg.eigh(square - total * np.outer(mean, mean))
        return mean, turn, np.maximum(values, 0.0), turn.T @ cross  # the weighted sum of y - level is 0

    @cached_property
    def level(self) -> np.ndarray:
        """The weighted mean of y if there is an intercept, else 0."""
        y = self.problem.targets[self.rows]
        return np.average(y, axis=0, weights=self.weights) if self.problem.intercept else np.zeros(y.shape[1])

    def fits(self, lams: np.ndarray) -> Fits:
        """Return the fits of every lam > 0."""
        w, y, n = self.weights, self.problem.targets[self.rows], len(self.rows)
        mean, turn, values, cross = self._moments
        shrunk = 1.0 / (values + lams[:, None])
        beta = shrunk[:, :, None] * cross
        residuals, stays = np.empty((len(lams), n, y.shape[1])), np.empty((len(lams), n))
        for part, F in self.features():
            P = (F - mean) @ turn
            residuals[:, part] = y[part] - self.level - P @ beta
            stays[:, part] = 1.0 - w[part] * (shrunk @ (P**2).T + self._known)
        c = self.plain @ (turn @ beta)
        free = int(self.problem.intercept)
        logdet = (n - free) * np.log(lams) + np.log1p(values / lams[:, None]).sum(axis=1)
        logdet += free * np.log(w.sum())
        offsets = self.level - np.einsum("r,rk,lkt->lt", mean, turn, beta)
        return Fits(residuals, stays, c, offsets, logdet, np.ones(len(lams), bool))

    @property
    def _known(self) -> float:
        """The share of the mean that each unit of weight has."""
        return 1.0 / float(self.weights.sum()) if self.problem.intercept else 0.0

    def influence(self, columns: np.ndarray, lam: float) -> np.ndarray:
        """Return the derivatives of predictions in the targets of the rows that count, (m, n). Cost: n r^2 flops."""
        mean, turn, values, _ = self._moments
        shrunk, out = self._turned(columns) / (values + lam), np.empty((len(columns), len(self.rows)))
        for part, F in self.features():
            out[:, part] = self.weights[part] * ((shrunk @ turn.T) @ (F - mean).T + self._known)
        return out

    def variance(self, columns: np.ndarray, own: np.ndarray, lam: float) -> np.ndarray:
        """Return the variances of predictions: among functions on the centres, and what those leave of k(x, x)."""
        _, _, values, _ = self._moments
        among = lam * (self._turned(columns) ** 2 @ (1.0 / (values + lam)) + self._known)
        return among + np.maximum(own - np.sum((columns @ self.plain) ** 2, axis=1), 0.0)

    def _turned(self, columns: np.ndarray) -> np.ndarray:
        mean, turn, _, _ = self._moments
        return (columns @ self.plain - mean) @ turn
