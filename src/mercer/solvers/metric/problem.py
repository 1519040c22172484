"""The problem of metric learning, and what a solver of it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mercer._checks import describe, number, refuse
from mercer.engine import Engine
from mercer.solvers.metric.certificate import MetricCertificate
from mercer.solvers.metric.pairs import Pairs, PairSet
from mercer.solvers.metric.pencil import Pencil, pencil_of
from mercer.solvers.metric.rows import held
from mercer.solvers.metric.scatter import Scatter, not_too_large
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

WHO = "MetricProblem"


@dataclass(frozen=True, eq=False)
class MetricProblem:
    """Points, pairs known to be similar and pairs known to be dissimilar; A, psd, is to tell them apart.

    A regularisation adds c tr(A) to the similar sum, c = regularization (1/d) sum over all pairs of |x - z|^2, so that
    no direction is free of cost.

    Parameters
    ----------
    X : array of shape (n, d)
        The points.
    similar, dissimilar : PairSet
        Pairs of its rows.
    regularization : float
        As above; 0 solves the problem as it stands.
    engine : Engine
        Threads.
    """

    X: np.ndarray
    similar: PairSet
    dissimilar: PairSet
    regularization: float = 0.0
    engine: Engine = field(default_factory=Engine)

    def __post_init__(self) -> None:
        """Check the parts."""
        X = np.ascontiguousarray(self.X, dtype=np.float64)
        if X.ndim != 2 or not self._finite(X):
            refuse(WHO, "X must be a table of finite numbers", describe(X))
        number(WHO, "regularization", self.regularization, 0.0)
        if self.dissimilar.count == 0:
            refuse(WHO, "there must be dissimilar pairs", "none", "Without them A = 0 is best.")
        object.__setattr__(self, "X", X)

    def _finite(self, X: np.ndarray) -> bool:
        """Whether all points are finite numbers; of many points, those in pairs."""
        seen = X
        if isinstance(self.similar, Pairs) and isinstance(self.dissimilar, Pairs):
            rows = [pairs.first for pairs in (self.similar, self.dissimilar)]
            rows += [pairs.second for pairs in (self.similar, self.dissimilar)]
            if 2 * sum(map(len, rows)) < len(X):
                seen = X[np.concatenate(rows)]
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(seen.sum())) or bool(np.isfinite(seen).all())  # a sum is not if an entry is not

    @cached_property
    def near(self) -> PairSet:
        """The similar pairs as they are gone through: by their differences, where these are few."""
        return held(self.similar, self.X)

    @cached_property
    def far(self) -> PairSet:
        """The dissimilar pairs as they are gone through."""
        return held(self.dissimilar, self.X)

    @cached_property
    def ridge(self) -> float:
        """The c of c tr(A)."""
        if self.regularization == 0:
            return 0.0
        if isinstance(self.near, Pairs) or isinstance(self.far, Pairs):  # many: differences would take longer
            total = sum(float(np.trace(M.matrix)) for M in self.scatters)
        else:
            total = float(self.near.energies(self.X).sum() + self.far.energies(self.X).sum())
        return self.regularization * total / self.X.shape[1]

    @cached_property
    def energies(self) -> tuple[np.ndarray, np.ndarray]:
        """The diagonals of M_S, with the regularisation, and M_D, each entry accurate by itself."""
        similar, dissimilar = self.near.energies(self.X) + self.ridge, self.far.energies(self.X)
        not_too_large(similar + dissimilar)
        return similar, dissimilar

    @cached_property
    def scatters(self) -> tuple[Scatter, Scatter]:
        """M_S, without the regularisation, and M_D."""
        threads = self.engine.n_threads
        return self.near.scatter(self.X, threads), self.far.scatter(self.X, threads)

    @cached_property
    def pencil(self) -> Pencil:
        """Both sums in coordinates in which all pairs together are alike in every direction."""
        return pencil_of(self.X, self.near, self.far, self.scatters, self.ridge, self.engine.n_threads)

    def similar_sum(self, components: np.ndarray) -> float:
        """Return sum over the similar pairs of d_A^2, and c tr(A), for A = L'L; from the pairs themselves."""
        spread = float(self.near.energies(self.X, components).sum())
        return spread + self.ridge * float(np.vdot(components, components)) if self.ridge else spread

    def dissimilar_squares(self, components: np.ndarray) -> float:
        """Return sum over the dissimilar pairs of d_A^2 for A = L'L; from the pairs themselves."""
        return float(self.far.energies(self.X, components).sum())


@dataclass(frozen=True, eq=False)
class Face:
    """All optimal A: basis P basis' for any psd P of trace 1.

    Parameters
    ----------
    basis : array of shape (d, k)
        k = 1 where the optimum is unique. The solution takes P = I / k, the centre: it does not depend on the basis.
    unseen : int
        In so many further directions no pair differs; there A is taken as 0, and nothing is known.
    """

    basis: np.ndarray
    unseen: int = 0

    @property
    def dimension(self) -> int:
        """The k of its k x k matrices P."""
        return int(self.basis.shape[1])


@dataclass(frozen=True, eq=False)
class MetricSolution:
    """The best A = L'L found, how the search ended, and the proof.

    Parameters
    ----------
    components : array of shape (r, d)
        L; x -> L x makes d_A the usual distance.
    status : Status
        How it ended.
    certificate : MetricCertificate
        What was proved.
    face : Face or None
        All optimal A, where the solver knows them.
    stats : dict
        What was done.
    """

    components: np.ndarray
    status: Status
    certificate: MetricCertificate
    face: Face | None = None
    stats: dict[str, Any] = field(default_factory=dict)


class MetricSolver(ABC):
    """A frozen record of options that solves problems of metric learning."""

    @abstractmethod
    def run(self, problem: MetricProblem, clock: Clock) -> MetricSolution:
        """Return the best answer found, certified."""


def check_rank(who: str, rank: Any, diagonal: bool) -> None:
    """Refuse a rank that is no positive integer, or one beside ``diagonal``."""
    if rank is not None and (not isinstance(rank, (int, np.integer)) or isinstance(rank, bool) or rank < 1):
        refuse(who, "'rank' must be a positive integer or None", describe(rank))
    if rank is not None and diagonal:
        refuse(who, "'rank' and 'diagonal' exclude each other", f"rank={rank}, diagonal=True", "Drop one of them.")
