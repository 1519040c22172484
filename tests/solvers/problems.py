"""Random problems of every kind: well posed and singular, repeated rows, huge and tiny scales, both precisions."""

from typing import NamedTuple

import numpy as np

from mercer import gram
from mercer.kernels import Gaussian
from mercer.losses import Squared
from mercer.solvers import HalfSquare, Problem


class Case(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    scale: float
    lam: float
    w: np.ndarray | None
    intercept: bool

    def problem(self, centers=None):
        K = gram(Gaussian(scale=self.scale), self.X)
        return Problem(K, self.y, Squared(), HalfSquare(self.lam), self.w, self.intercept, centers)


def random_case(seed):
    """Return a problem of up to 13 rows; which kind depends on the seed."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 14)), int(rng.integers(1, 4))
    size = 10.0 ** rng.integers(-3, 4)
    X = size * rng.standard_normal((n, d))
    if rng.random() < 0.3:
        X = X[rng.integers(0, max(1, n // 2), n)]  # repeated rows: K is singular
    if rng.random() < 0.3:
        X = X.astype(np.float32)
    y = 10.0 ** rng.integers(-4, 5) * (np.sin(X.sum(axis=1) / size) + 0.1 * rng.standard_normal(n))
    w = None
    if rng.random() < 0.4:
        w = rng.choice([0.0, 1e-3, 1.0, 2.0, 50.0], n)
        w[rng.integers(n)] = 1.0
    scale = float(size * 10.0 ** rng.uniform(-1, 2))
    lam = float(10.0 ** rng.uniform(-9, 3))
    return Case(X, y.astype(np.float64), scale, lam, w, bool(rng.random() < 0.4))
