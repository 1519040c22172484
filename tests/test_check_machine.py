"""The public contract check of machines passes what keeps the laws and catches what breaks one."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from mercer import KernelRidge
from mercer.kernels import Spectrum
from mercer.testing import check_machine

X = np.linspace(0, 1, 30).reshape(-1, 1)
Y = np.sin(6 * X[:, 0])


class Mean(RegressorMixin, BaseEstimator):
    """A sound machine: the weighted mean, or what a test makes of it."""

    def fit(self, X, y, sample_weight=None):
        self.mean_ = self._mean(np.asarray(y, float), np.ones(len(y)) if sample_weight is None else sample_weight)
        return self

    def _mean(self, y, w):
        return float(np.average(y, weights=w))

    def predict(self, X):
        return np.full(len(X), self.mean_)


class Forgetful(Mean):
    def _mean(self, y, w):
        return float(np.mean(y))


class First(Mean):
    def _mean(self, y, w):
        return float(y[np.flatnonzero(w)[0]])


class Random(Mean):
    def _mean(self, y, w):
        return float(np.random.default_rng().random())


class Boast:
    """A certificate that promises too much."""

    kernel, relative_gap = "any", 0.0

    def prediction_bound(self, X):
        return np.zeros(len(X))


class Boastful(Mean):
    def __init__(self, tol=None):
        self.tol = tol

    def _mean(self, y, w):
        self.certificate_ = Boast()
        return super()._mean(y, w) + (self.tol or 0.0)


def test_sound_machines_pass():
    check_machine(Mean(), X, Y, conventions=False)
    check_machine(KernelRidge(0.1, intercept="free"), X, Y)
    check_machine(KernelRidge(0.1, kernel=Spectrum(2)), ["abab", "baba", "aab", "bba"], [1.0, 2.0, 3.0, 4.0])
    check_machine(Mean(), X, Y, conventions=False, outputs=lambda model, X: np.array([model.mean_]))


@pytest.mark.parametrize(
    "broken, law",
    [
        (Forgetful(), "a weight of 2 must be a row repeated"),
        (First(), "the order of the rows must not matter"),
        (Random(), "fitting twice must give the same bits"),
        (Boastful(), "predictions must be within their bounds"),
    ],
)
def test_each_law_is_named_when_it_is_broken(broken, law):
    with pytest.raises(AssertionError, match=f"{type(broken).__name__}: {law}"):
        check_machine(broken, X, Y, conventions=False)


def test_conventions_are_looked_at():
    with pytest.raises(Exception, match=r".+"):
        check_machine(Mean(), X, Y)  # it takes anything for data
