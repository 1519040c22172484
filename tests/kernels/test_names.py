"""Kernels by scikit-learn's names. Oracle: sklearn.metrics.pairwise."""

import numpy as np
import pytest
from sklearn.metrics import pairwise

from mercer.kernels import Gaussian, Laplace, Polynomial, named

pytestmark = pytest.mark.uncompiled


@pytest.mark.parametrize(
    "name,parameters,oracle",
    [
        ("linear", {}, pairwise.linear_kernel),
        ("poly", {"degree": 2, "gamma": 0.3, "coef0": 0.5}, pairwise.polynomial_kernel),
        ("polynomial", {}, pairwise.polynomial_kernel),
        ("rbf", {"gamma": 0.7}, pairwise.rbf_kernel),
        ("rbf", {}, pairwise.rbf_kernel),
        ("laplacian", {"gamma": 0.7}, pairwise.laplacian_kernel),
        ("laplacian", {}, pairwise.laplacian_kernel),
        ("chi2", {"gamma": 0.7}, pairwise.chi2_kernel),
        ("chi2", {}, pairwise.chi2_kernel),
        ("cosine", {}, pairwise.cosine_similarity),
    ],
)
def test_agrees_with_scikit_learn(rng, name, parameters, oracle):
    X, Y = rng.random((7, 4)), rng.random((5, 4))
    k = named(name, **parameters)
    np.testing.assert_allclose(k.resolve(X)(X, Y), oracle(X, Y, **parameters), rtol=1e-12)


def test_gamma_by_name():
    assert named("rbf", gamma="scale") == Gaussian("scale")
    assert named("laplacian", gamma="scale") == Laplace("scale")
    assert named("poly", gamma="auto", degree=2) == Polynomial(2, gamma="auto")
