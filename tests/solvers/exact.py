"""Least squares in 60 digits, kernel values included: the oracle of tiny problems."""

import mpmath as mp
import numpy as np

DIGITS = 60


def _gaussian(x, z, scale):
    square = mp.fsum((mp.mpf(float(a)) - mp.mpf(float(b))) ** 2 for a, b in zip(x, z, strict=True))
    return mp.exp(-square / mp.mpf(scale) ** 2)


def gaussian(X, Z, scale):
    return mp.matrix([[_gaussian(x, z, scale) for z in Z] for x in X])


def _column(values):
    return mp.matrix([mp.mpf(float(v)) for v in values])


class Exact:
    """The minimiser of sum w (y - f - b)^2 / 2 + lam/2 |f|^2, f on distinct centres Z (the rows themselves: Z = X)."""

    def __init__(self, X, y, scale, lam, w=None, intercept=False, Z=None):
        w = np.ones(len(y)) if w is None else w
        with mp.workdps(DIGITS):
            self.scale = float(scale)
            self.Z = np.unique(X[w > 0] if Z is None else Z, axis=0)
            self.K = gaussian(self.Z, self.Z, self.scale)
            F = gaussian(X, self.Z, self.scale)
            W, m = mp.diag([mp.mpf(float(v)) for v in w]), len(self.Z)
            A = mp.matrix(m + intercept, m + intercept)
            right = mp.matrix(m + intercept, 1)
            A[:m, :m] = F.T * W * F + mp.mpf(float(lam)) * self.K
            right[:m, 0] = F.T * W * _column(y)
            if intercept:
                one = mp.matrix([1] * len(y))
                A[:m, m] = F.T * W * one
                A[m, :m] = (F.T * W * one).T
                A[m, m] = mp.fsum(mp.mpf(float(v)) for v in w)
                right[m] = (one.T * W * _column(y))[0]
            found = mp.lu_solve(A, right)
            self.c, self.b = found[:m, 0], float(found[m]) if intercept else 0.0

    def distance(self, c, Z):
        """Return ||f - f*|| for f = sum c_j k(., z_j)."""
        with mp.workdps(DIGITS):
            c = _column(c)
            square = (c.T * gaussian(Z, Z, self.scale) * c)[0] + (self.c.T * self.K * self.c)[0]
            square -= 2 * (c.T * gaussian(Z, self.Z, self.scale) * self.c)[0]
            return float(mp.sqrt(max(square, mp.mpf(0))))

    def __call__(self, X):
        with mp.workdps(DIGITS):
            return np.array([float(v) for v in gaussian(X, self.Z, self.scale) * self.c]) + self.b
