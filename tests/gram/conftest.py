"""What the tests of the gram room share: forcing the compiled path, data, and the error a product may have."""

import numpy as np
import pytest

from mercer.gram import _make
from mercer.kernels import Custom, Gaussian, Laplace, Linear
from tests.oracles import tolerance


@pytest.fixture
def compiled(monkeypatch):
    """Small problems take the compiled path too."""
    monkeypatch.setattr(_make, "SMALL", 0)


def points(rng, n, d, dtype=np.float64):
    """Rows that are standardised, or small counts for an integer dtype."""
    X = rng.standard_normal((n, d))
    return (3 * X).astype(dtype) if np.dtype(dtype).kind == "i" else X.astype(dtype)


def difference(x, z):
    """1 / (1 + |x - z|^2), of two blocks of rows."""
    return 1 / (1 + ((np.asarray(x)[:, None] - np.asarray(z)) ** 2).sum(axis=2))


def form(name, d):
    """One kernel for each kind of form, at the scales that suit standardised data."""
    wide = Gaussian(float(np.sqrt(2 * d)))
    half = list(range((d + 1) // 2))
    return {
        "one statistic": wide,
        "inner product": Linear(),
        "direct only": Laplace(float(d)),
        "two statistics": 0.5 * wide + (1 / d) * Linear() * wide,
        "mixed": wide.on(half) + (1 / d) * Linear(),
        "weighted": wide.warp(lambda X: 1 + np.abs(np.asarray(X)[:, 0]), vectorized=True),
        "called": Custom(difference, vectorized=True),
    }[name]


FORMS = ["one statistic", "inner product", "direct only", "two statistics", "mixed", "weighted", "called"]


def assert_product(got, K, V, dtype=np.float64, condition=4.0, size=None):
    """Each number is right up to rounding of the terms it sums, and to the smallest numbers of the dtype.

    ``size`` is that of the entries of K, where these are themselves sums that may cancel.
    """
    assert got.shape == (K @ V).shape
    lost = 8 * np.finfo(dtype).tiny * np.abs(V).sum(axis=0)
    allowed = tolerance(dtype, condition) * ((np.abs(K) if size is None else size) @ np.abs(V)) + lost
    np.testing.assert_array_less(np.abs(got - K @ V), allowed + 1e-300)


def assert_entries(got, K, dtype=np.float64, condition=4.0):
    """Each entry is right up to rounding, relative to the largest of K, and to the smallest numbers of the dtype."""
    assert got.shape == K.shape
    allowed = tolerance(dtype, condition) * np.abs(K).max(initial=0.0) + 8 * np.finfo(dtype).tiny
    np.testing.assert_allclose(got, K, rtol=0, atol=allowed)
