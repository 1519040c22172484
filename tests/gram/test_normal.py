"""K'(w K V) and K' R in one pass, against the matrix itself."""

import numpy as np
import pytest

from mercer import Engine, gram
from mercer.gram import from_matrix
from mercer.gram._normal import is_stored, normal_product, transposed_product
from mercer.kernels import Gaussian, Laplace


@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("width", [1, 7])
@pytest.mark.parametrize("stored", [False, True])
def test_as_the_matrix_itself(d, width, stored, rng):
    X, Z = rng.standard_normal((700, d)), rng.standard_normal((300, d))
    V, R, w = rng.standard_normal((300, width)), rng.standard_normal((700, width)), rng.uniform(0, 2, 700)
    engine = Engine(precision="double")
    K = gram(Gaussian(float(d)), X, Z, engine=engine, stored=stored)
    exact = Gaussian(float(d))(X, Z)
    assert is_stored(K) == stored
    np.testing.assert_allclose(normal_product(K, V)[0], exact.T @ (exact @ V), rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(normal_product(K, V, w)[0], exact.T @ (w[:, None] * (exact @ V)), rtol=1e-10, atol=1e-9)
    less = rng.standard_normal(width)
    u = w[:, None] * (exact @ V - less)
    product, total = normal_product(K, V, w, less)
    np.testing.assert_allclose(product, exact.T @ u, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(total, u.sum(axis=0), rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(transposed_product(K, R), exact.T @ R, rtol=1e-10, atol=1e-9)


def test_single_precision_keeps_every_size_and_the_bits_do_not_depend_on_threads(rng):
    X, V = rng.standard_normal((3000, 4)), rng.standard_normal((500, 1))
    one, two = (gram(Laplace(2.0), X, X[:500], engine=Engine(threads=k)) for k in (1, 2))
    found = normal_product(one, V)[0]
    assert np.array_equal(found, normal_product(two, V)[0])
    np.testing.assert_allclose(normal_product(one, 1e60 * V)[0], 1e60 * found, rtol=1e-5)
    np.testing.assert_allclose(normal_product(one, V, np.full(3000, 1e-50))[0], 1e-50 * found, rtol=1e-5)
    exact = Laplace(2.0)(X, X[:500])
    np.testing.assert_allclose(found, exact.T @ (exact @ V), rtol=1e-4, atol=1e-4 * np.abs(found).max())


def test_a_matrix_that_was_given_and_zeros(rng):
    K = rng.standard_normal((50, 20))
    assert not normal_product(from_matrix(K), np.zeros((20, 1)))[0].any()
    np.testing.assert_allclose(transposed_product(from_matrix(K), K), K.T @ K)


def test_dear_values_are_stored_where_they_fit(rng):
    X, Z = rng.standard_normal((700, 40)), rng.standard_normal((300, 40))
    assert is_stored(gram(Gaussian(6.0), X, Z, stored="dear"))
    assert not is_stored(gram(Gaussian(6.0), X, Z, stored="dear", engine=Engine(memory="1 MB")))
    assert not is_stored(gram(Gaussian(6.0), X[:, :8], Z[:, :8], stored="dear"))
