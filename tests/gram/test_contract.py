"""The public contract check of Grams passes every kind and catches wrong ones. The oracle is kernel(X, Y)."""

import numpy as np
import pytest

from mercer import Engine, gram
from mercer.gram import from_factor, from_matrix
from mercer.gram._held import DenseSource
from mercer.testing import check_gram
from tests.gram.conftest import FORMS, form, points


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("name", FORMS)
def test_every_form_keeps_the_contract(name, precision, rng, compiled):
    X, Y = points(rng, 521, 5), points(rng, 260, 5)
    k, engine = form(name, 5), Engine(precision=precision)
    for B in (None, Y):
        check_gram(gram(k, X, B, engine), k(X, B))
    check_gram(gram(k, X, engine=engine, stored=True), k(X))


def test_given_ones_keep_it_too(rng):
    Z, W = points(rng, 30, 3), points(rng, 20, 3)
    check_gram(from_factor(Z), Z @ Z.T)
    check_gram(from_factor(Z, W), Z @ W.T)
    check_gram(from_matrix(Z @ Z.T), Z @ Z.T)
    check_gram(from_matrix(Z @ W.T, symmetric=False), Z @ W.T)
    check_gram(from_matrix([[2.0]]), [[2.0]])


class Broken(DenseSource):
    """Values that are right in blocks and wrong in products."""

    def dot(self, i0, i1, j0, j1, v, out, buffers):
        super().dot(i0, i1, j0, j1, v, out, buffers)
        out += 1


def test_a_wrong_gram_is_caught(rng):
    K = points(rng, 9, 4)
    with pytest.raises(AssertionError, match=r"<Gram 9 x 4, float64, dense>: the shape must be \(9, 3\); got \(9, 4\)"):
        check_gram(from_matrix(K), K[:, :3])
    changed = K.copy()
    changed[3, 2] += 1e-6
    with pytest.raises(AssertionError, match=r"block\(\) must hold the values; got .* at \(3, 2\)"):
        check_gram(from_matrix(K), changed)
    check_gram(from_matrix(K), changed, rtol=1e-5)
    broken = from_matrix(K)
    broken._source = Broken(K, np.float64, symmetric=False)
    with pytest.raises(AssertionError, match=r"K @ V for V of shape \(4,\) and float32 must be the product"):
        check_gram(broken, K)
