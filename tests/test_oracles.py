"""The oracles themselves, against identities and scikit-learn: an oracle nobody checked is only a second opinion."""

import numpy as np
import pytest
from sklearn.metrics import pairwise

from tests import oracles


@pytest.fixture
def tables(rng):
    return rng.random((7, 4)), rng.random((5, 4))


@pytest.mark.parametrize(
    "ours,theirs",
    [
        (oracles.dot, pairwise.linear_kernel),
        (oracles.squared_distance, lambda X, Y: pairwise.euclidean_distances(X, Y, squared=True)),
        (oracles.l1_distance, pairwise.manhattan_distances),
        (oracles.gaussian, lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=1.0)),
        (oracles.laplace, lambda X, Y: pairwise.laplacian_kernel(X, Y, gamma=1.0)),
        (oracles.cosine, pairwise.cosine_similarity),
        (oracles.chi2, lambda X, Y: pairwise.chi2_kernel(X, Y, gamma=1.0)),
        (oracles.polynomial, lambda X, Y: pairwise.polynomial_kernel(X, Y, degree=2, gamma=1.0, coef0=1.0)),
    ],
    ids=lambda f: getattr(f, "__name__", None),
)
def test_agrees_with_scikit_learn(tables, ours, theirs):
    np.testing.assert_allclose(ours(*tables), theirs(*tables), rtol=oracles.tolerance(np.float64, 100))


def test_gaussian_scales_agree(tables):
    X, Y = tables
    scale = np.array([0.5, 1.0, 2.0, 3.0])
    rtol = oracles.tolerance(np.float64, 10)
    by_column = oracles.gaussian(X, Y, scale=scale)
    np.testing.assert_allclose(by_column, oracles.gaussian(X / scale, Y / scale), rtol=rtol)
    np.testing.assert_allclose(by_column, oracles.gaussian(X, Y, scale=np.diag(scale**-2)), rtol=rtol)


def test_rational_quadratic_tends_to_gaussian(tables):
    X, Y = tables
    limit = oracles.rational_quadratic(X, Y, alpha=1e8, scale=1.3)
    np.testing.assert_allclose(limit, oracles.gaussian(X, Y, scale=1.3), rtol=1e-6)


def test_cauchy_is_rational_quadratic_of_order_one(tables):
    X, Y = tables
    np.testing.assert_allclose(oracles.cauchy(X, Y, scale=2), oracles.rational_quadratic(X, Y, alpha=1, scale=2))


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern_agrees_with_bessel_form(tables, nu):
    from scipy.special import gamma, kv

    X, Y = tables
    r = np.sqrt(2 * nu * oracles.squared_distance(X, Y)) / 0.7
    bessel = 2 ** (1 - nu) / gamma(nu) * r**nu * kv(nu, r)
    np.testing.assert_allclose(oracles.matern(X, Y, nu=nu, scale=0.7), bessel, rtol=oracles.tolerance(np.float64, 100))


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_is_its_integral(rng, order):
    X = rng.standard_normal((3, 2))
    W = np.random.default_rng(1).standard_normal((400_000, 2))
    H = (W @ X.T > 0) * (W @ X.T) ** order
    np.testing.assert_allclose(2 * H.T @ H / len(W), oracles.arc_cosine(X, order=order), rtol=0.05, atol=0.02)


def test_spectrum_by_hand():
    # "abab" holds ab, ba, ab; "ba" holds ba.
    np.testing.assert_array_equal(oracles.spectrum(["abab", "ba"], k=2), [[5, 1], [1, 1]])
    # Within one mismatch of ba over {a, b}: ba, aa, bb.
    np.testing.assert_array_equal(oracles.spectrum_features("ba", 2, "ab", mismatches=1), [1, 0, 1, 1])


def test_set_intersection_by_hand():
    np.testing.assert_array_equal(oracles.set_intersection([{1, 2}, {2}], [{2, 3}, set()]), [[1, 0], [1, 0]])


def test_tolerance_grows_with_condition_and_never_shrinks():
    assert oracles.tolerance(np.float32) > oracles.tolerance(np.float64)
    assert oracles.tolerance(np.float64, 0.1) == oracles.tolerance(np.float64)
    assert oracles.tolerance(np.float64, 10) == 10 * oracles.tolerance(np.float64)
