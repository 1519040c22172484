"""Intervals for the smallest eigenvalue of a symmetric matrix: rigorous for a dense one, probable by Lanczos."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf

from mercer.gram._rounded import EPS, TINY, gamma


@dataclass(frozen=True, eq=False)
class Smallest:
    """Low <= smallest eigenvalue <= high, a vector near its eigenvector, and what rounding may explain."""

    low: float
    high: float
    vector: np.ndarray
    rounding: float


def dense(K: np.ndarray) -> Smallest:
    """Enclose the smallest eigenvalue of a symmetric float64 matrix, rigorously. Cost: about 2 n^3 flops.

    High: the Rayleigh quotient of the computed eigenvector, plus gamma_{2n+4} |v|'|K||v| / v'v.
    Low: a shift s for which Cholesky of A = K - s I runs to its end in floating point, less what that may hide. By
    Demmel and Rump the computed factor R has |R'R - A|_ij <= d_i d_j, d_j^2 = phi a_jj, phi = gamma_{n+4} / (1 -
    gamma_{n+4}), so that the smallest eigenvalue is at least s - phi trace(A). Twice that is used, for blocked
    algorithms.
    """
    n = len(K)
    unit = _unit(K)
    A = K / unit  # a power of two: exact, and no product over- or underflows where it matters
    theta, v = eigh(A, subset_by_index=[0, 0], check_finite=False)
    size = np.abs(v[:, 0])
    norm = float(size @ size)
    error = gamma(2 * n + 4) * float(size @ (np.abs(A) @ size)) / norm
    high = float(v[:, 0] @ (A @ v[:, 0])) / norm
    high += (error + gamma(n + 4) * abs(high)) * (1 + 1e-6) + TINY
    low, rounding = _below(A, min(float(theta[0]), high))
    return Smallest(low * unit, high * unit, v[:, 0], rounding * unit)


def at_least(K: np.ndarray, guess: float) -> float:
    """Return a proven lower bound on the smallest eigenvalue, near a guess that is no lower. Cost: n^3 / 3 flops."""
    unit = _unit(K)
    return _below(K / unit, guess / unit)[0] * unit


def _unit(K: np.ndarray) -> float:
    """Return a power of two near the largest entry."""
    size = float(np.abs(K).max(initial=0.0))
    return 2.0 ** min(max(math.frexp(size)[1], -1020), 1020) if size > 0 else 1.0


def _below(A: np.ndarray, start: float) -> tuple[float, float]:
    """Return a proven lower bound near start, and the share of it that rounding explains."""
    n = len(A)
    phi = 2 * gamma(n + 4) / (1 - gamma(n + 4))
    step = phi * float(np.abs(np.diagonal(A) - start).sum()) / 16 + 4 * EPS
    while True:
        s = start - step
        B = A.copy()
        B[np.diag_indices(n)] -= s
        d = np.diagonal(B).copy()
        hidden = phi * float(np.abs(d).sum()) + EPS * float(np.abs(d).max()) + n * TINY
        if dpotrf(B, lower=1, overwrite_a=1)[1] == 0:
            return s - hidden * (1 + 1e-6), 2 * (hidden + step)
        step *= 4


# ---------------------------------------------------------------- Lanczos


@dataclass(frozen=True, eq=False)
class Ritz:
    """What k Lanczos steps found: the extreme Ritz values, the vector of the smallest, its residual."""

    smallest: float
    largest: float
    vector: np.ndarray
    residual: float
    steps: int
    exhausted: bool

    def low(self, doubt: float) -> float:
        """Return a lower bound on the smallest eigenvalue that fails with probability at most doubt.

        Kuczynski and Wozniakowski (1992): from a random start on the sphere, k steps leave (theta - lambda_min) /
        (lambda_max - lambda_min) > e with probability at most 1.648 sqrt(n) exp(-sqrt(e) (2k - 1)), whatever the
        spectrum. Half of doubt goes to each end of the spectrum.
        """
        if self.exhausted:
            return self.smallest
        e = (math.log(2 * 1.648 * math.sqrt(len(self.vector)) / doubt) / (2 * self.steps - 1)) ** 2
        return self.smallest - e * (self.largest - self.smallest) / (1 - 2 * e) if e < 0.5 else -math.inf


def lanczos(
    times: Callable[[np.ndarray], np.ndarray], n: int, steps: int, seed: int, stop: Callable[[Ritz], bool]
) -> Ritz:
    """Run Lanczos with full reorthogonalisation until stop says so. Cost: a product and 8 k n flops a step."""
    start = np.random.default_rng(seed).standard_normal(n)
    Q = np.empty((min(steps, n), n))
    Q[0] = start / np.linalg.norm(start)
    a: list[float] = []
    b: list[float] = []
    while True:
        k = len(a)
        w = times(Q[k])
        a.append(float(Q[k] @ w))
        for _ in range(2):
            w -= (Q[: k + 1] @ w) @ Q[: k + 1]
        beta = float(np.linalg.norm(w))
        last = k + 1 == len(Q) or beta <= n * EPS * max(map(abs, a))
        if last or k < 8 or k % 4 == 3:
            found = _ritz(Q, a, b, beta)
            if last or stop(found):
                return found
        Q[k + 1] = w / beta
        b.append(beta)


def _ritz(Q: np.ndarray, a: list[float], b: list[float], beta: float) -> Ritz:
    k = len(a)
    values, vectors = np.linalg.eigh(np.diag(a) + np.diag(b, 1) + np.diag(b, -1))
    exhausted = k == Q.shape[1] or beta <= Q.shape[1] * EPS * max(map(abs, a))
    x = vectors[:, 0] @ Q[:k]
    return Ritz(float(values[0]), float(values[-1]), x, beta * abs(float(vectors[-1, 0])), k, exhausted)
