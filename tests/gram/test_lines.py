"""Rows on demand, against the whole matrix."""

import numpy as np
import pytest
from scipy import sparse

from mercer import Engine, gram
from mercer.gram._lines import Lines, add_rows, product_of_part
from mercer.kernels import Gaussian
from tests.gram.conftest import FORMS, assert_entries, assert_product, form, points


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.usefixtures("compiled")
def test_rows_of_every_form(name, stored, rng):
    X = points(rng, 600, 4)
    K = gram(form(name, 4), X, engine=Engine(precision="double", threads=2), stored=stored)
    check(K, rng)


@pytest.mark.parametrize("d", [6, 50])
@pytest.mark.usefixtures("compiled")
def test_rows_of_sparse_points(d, rng):
    X = sparse.random(600, d, density=0.3, format="csr", random_state=0)
    check(gram(Gaussian(2.0), X, engine=Engine(precision="double", threads=2)), rng)


def check(K, rng):
    whole = K.block()
    order, starts = rng.permutation(600)[:590], np.array([0, 300, 590])
    lines = Lines(K, order, starts)
    W, v = np.sort(rng.permutation(590)[:77]), rng.standard_normal(77)
    for s in range(2):
        out = np.zeros(starts[s + 1] - starts[s])
        lines.add(W, v, s, out, 2)
        assert_product(out, whole[np.ix_(order[starts[s] : starts[s + 1]], order[W])], v, condition=64)
    J, held = np.arange(0, 590, 7), np.zeros((77, 100), K.dtype)
    lines.block(W, J, held[:, : len(J)], 1)
    assert_entries(held[:, : len(J)], whole[np.ix_(order[W], order[J])], condition=64)
    u = rng.standard_normal(590)
    part = product_of_part(K, W, order, u, K.engine)
    assert_product(part, whole[np.ix_(W, order)], u, condition=64)


@pytest.mark.uncompiled
def test_held_rows_are_added_from_where_they_start(rng):
    G, v, out = rng.standard_normal((9, 13)).astype(np.float32), rng.standard_normal(7), np.ones(5)
    rows = np.array([8, 0, 3, 3, 1, 2, 7])
    add_rows(G.reshape(-1), rows * 13 + 2, v, out)
    np.testing.assert_allclose(out, 1 + v @ G[rows, 2:7].astype(float), rtol=1e-12)
