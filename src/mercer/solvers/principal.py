"""Principal components in feature space: the directions along which points vary most, as functions of the RKHS.

With weights w summing to W and the mean m = sum_i w_i k(., x_i) / W, the components are v = sum_i a_i (k(., x_i) - m)
with a = s z / sqrt(mu), s = sqrt(w), where z and mu are eigenvectors and eigenvalues of the centred matrix

    B = (I - q q') S K S (I - q q'),    S = diag(s), q = s / |s|.

Then |v| = 1, and sum_i w_i <k(., x_i) - m, v>^2 = mu.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.gram import Gram
from mercer.solvers._extreme import extreme
from mercer.solvers._span import fresh
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

EPS = float(np.finfo(np.float64).eps)
MORE = 10  # directions looked at beyond those asked for
BLOCKS = 40  # at most, of the Krylov space
DENSE_UP_TO = 1500  # rows: all eigenvalues at once


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components, and how exact they are.

    Parameters
    ----------
    values : array of shape (k,)
        The eigenvalues mu, falling.
    coefficients : array of shape (n, k)
        Of the components on the sections k(., x_i).
    offset : array of shape (k,)
        <m, v>: the coordinate of a point is v(x) less that.
    residual : array of shape (k,)
        |B z - mu z|: an eigenvalue is no further from mu than this.
    total : float
        The sum of all eigenvalues.
    missed : float
        No eigenvalue that was not found is larger than this.
    status : Status
        How it ended.
    solver : str
        "dense" or "randomized".
    """

    values: np.ndarray
    coefficients: np.ndarray
    offset: np.ndarray
    residual: np.ndarray
    total: float
    missed: float
    status: Status
    solver: str

    def __str__(self) -> str:
        share = float(self.values.sum()) / self.total if self.total > 0 else 0.0
        return "\n".join([
            f"{len(self.values)} components, {self.solver}, {self.status.value}",
            f"  they hold      {100 * share:.4g} % of the variance",
            f"  residual       at most {self.residual.max(initial=0.0):.1e}",
            f"  not found      no eigenvalue above {self.missed:.3g}",
        ])  # fmt: skip  # a line a line


def principal(
    K: Gram, k: int | None = None, weight: np.ndarray | None = None, *, solver: str = "auto", tol: float = 1e-8,
    random_state: Any = None, clock: Clock | None = None,
) -> Components:  # fmt: skip  # the problem, then how to solve it
    """Return the first k principal components of points, or all that are not 0 up to rounding.

    "dense" takes all of K in float64 and some 4 n^3 flops; "randomized" a block Krylov space of random directions, some
    ten products of K with k + 10 columns, until the residuals are below ``tol`` times the largest eigenvalue. "auto"
    is dense up to 1,500 rows, and where a quarter of all components is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers import principal
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> principal(gram(Linear(), X), 2).values.round(6)
    array([4., 1.])
    """
    n = K.shape[0]
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    s, clock = np.sqrt(w), Clock("principal") if clock is None else clock
    q = s / np.linalg.norm(s)
    dense = solver == "dense" or (solver == "auto" and (n <= DENSE_UP_TO or k is None or 4 * k >= n))
    map_ = _Centred(fresh(K), s, q)
    if dense:
        values, Z, total, missed = _dense(map_, n if k is None else min(k, n))
        status = Status.CONVERGED
    else:
        rng, total = np.random.default_rng(_seed(random_state)), map_.trace()
        values, Z, seen, status = _krylov(map_, min(k or n, n), tol, rng, clock)
        missed = max(total - seen, 0.0)
    if k is None:
        kept = values > 1e-12 * max(float(values.max(initial=0.0)), np.finfo(float).tiny) * np.sqrt(n)
        values, Z = values[kept], Z[:, kept]
    return _components(map_, np.maximum(values, 0.0), Z, total, missed, status, "dense" if dense else "randomized")


def _seed(given: Any) -> Any:
    return int(given.randint(2**31)) if isinstance(given, np.random.RandomState) else given


@dataclass(frozen=True, eq=False)
class _Centred:
    """The map B."""

    K: Gram
    s: np.ndarray
    q: np.ndarray

    def __call__(self, V: np.ndarray) -> np.ndarray:
        out = self.s[:, None] * np.asarray(self.K @ (self.s[:, None] * self._off(V)), dtype=np.float64)
        return self._off(out)

    def _off(self, V: np.ndarray) -> np.ndarray:
        return np.asarray(V - self.q[:, None] * (self.q @ V))

    def matrix(self) -> np.ndarray:
        A = np.asarray(self.K.block(), dtype=np.float64) * self.s[:, None] * self.s
        Aq = A @ self.q
        A -= np.outer(self.q, Aq)
        A -= np.outer(Aq - self.q * (self.q @ Aq), self.q)
        return (A + A.T) / 2

    def trace(self) -> float:
        w = self.s * self.s
        mean = float(self.q @ (self.s * np.asarray(self.K @ (self.s * self.q))))
        return float(w @ self.K.diag()) - mean


def _dense(B: _Centred, k: int) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the k largest eigenvalues and their vectors, the trace, and the next one."""
    A = B.matrix()
    n, total = len(A), float(np.trace(A))
    values, Z = extreme(A, min(k + 1, n), largest=True)
    missed = float(max(values[k], 0.0)) + 8 * n * EPS * float(np.abs(values[0])) if k < n else 0.0
    return values[:k], Z[:, :k], total, missed


def _krylov(
    B: _Centred, k: int, tol: float, rng: np.random.Generator, clock: Clock
) -> tuple[np.ndarray, np.ndarray, float, Status]:
    """Return eigenvalues and vectors from a growing block Krylov space, and the sum of all values it shows."""
    n = len(B.s)
    Q = np.linalg.qr(rng.standard_normal((n, min(k + MORE, n))))[0]
    BQ, last, status = np.empty((n, 0)), Q, Status.MAX_STEPS
    for step in range(BLOCKS):
        BQ = np.column_stack([BQ, B(last)])
        T = Q.T @ BQ
        values, Y = np.linalg.eigh((T + T.T) / 2)
        values, Y = values[::-1], Y[:, ::-1]
        R = BQ @ Y[:, :k] - (Q @ Y[:, :k]) * values[:k]
        worst = float(np.linalg.norm(R, axis=0).max() / max(float(values[0]), np.finfo(float).tiny))
        stop = clock.step(step, worst)
        if worst <= tol or Q.shape[1] >= n:
            status = Status.CONVERGED
            break
        if stop is not None:
            status = stop
            break
        last = BQ[:, -last.shape[1] :]
        for _ in range(2):
            last = last - Q @ (Q.T @ last)
            last = np.linalg.qr(last)[0]
        last = last[:, : n - Q.shape[1]]
        Q = np.column_stack([Q, last])
    return values[:k], Q @ Y[:, :k], float(np.maximum(values, 0.0).sum()), status


def _components(
    B: _Centred, values: np.ndarray, Z: np.ndarray, total: float, missed: float, status: Status, solver: str
) -> Components:
    Z = Z - B.q[:, None] * (B.q @ Z)
    size = np.linalg.norm(Z, axis=0)
    Z = Z / np.where(size > 0, size, 1.0)
    BZ = B(Z) if Z.shape[1] else Z
    residual = np.linalg.norm(BZ - Z * values, axis=0)
    root = np.sqrt(values)
    a = B.s[:, None] * Z / np.where(root > 0, root, 1.0)
    # the largest coordinate of a point is positive: signs do not depend on the solver
    coordinates = np.asarray(B.K @ a, dtype=np.float64) if a.shape[1] else a
    w = B.s * B.s
    offset = (w @ coordinates) / w.sum()
    off = np.where(w[:, None] > 0, coordinates - offset, 0.0)
    top = off[np.abs(off).argmax(axis=0), np.arange(off.shape[1])] if off.size else np.zeros(off.shape[1])
    sign = np.where(top < 0, -1.0, 1.0)
    return Components(values, a * sign, offset * sign, residual, total, missed, status, solver)
