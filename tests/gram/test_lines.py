"""Rows on demand, against the whole matrix."""

import numpy as np
import pytest
from scipy import sparse

from mercer import Engine, gram
from mercer.gram._lines import Lines, add_rows, move, pick, product_of_part, spread
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


@pytest.mark.parametrize("cache", [0, 30 * 1000 * 8, 10**8])
@pytest.mark.parametrize("d", [5, 40, 120])
@pytest.mark.usefixtures("compiled")
def test_rows_that_are_kept(cache, d, rng):
    X = points(rng, 600, d)
    K = gram(Gaussian(4.0), X, engine=Engine(precision="double", threads=2))
    whole = K.block()
    lines = Lines(K, np.arange(600), np.array([0, 250, 600]), cache)
    for k in range(6):
        W, v = np.sort(rng.permutation(600)[: 10 + 3 * k]), rng.standard_normal(10 + 3 * k)
        s = k % 2
        out, columns = np.zeros([250, 350][s]), slice(*[(0, 250), (250, 600)][s])
        if k >= 4:
            lines.shelve([(W, s)], 2)
        lines.add(W, v, s, out, 2, rng.random(len(W)) < 0.7)
        assert_product(out, whole[columns, W], v, condition=64)
        assert lines.shelf.numbers.nbytes <= cache
    place = rng.permutation(600)[:100]
    G, stride = np.zeros(100 * 110), 110
    for new in (np.arange(40), np.arange(40, 100)):
        lines.enter(G, stride, place[: new[-1] + 1], new, 2)
    assert_entries(G.reshape(100, 110)[:, :100], whole[np.ix_(place, place)], condition=64)


@pytest.mark.uncompiled
def test_a_block_is_written_and_moved_with_its_mirror(rng):
    n, stride = 9, 11
    A = rng.standard_normal((n, n))
    A = A + A.T
    rows, columns = np.array([1, 4]), np.array([0, 1, 2, 4, 8])
    G = np.zeros(n * stride)
    spread(A[np.ix_(rows, columns)].reshape(-1), G, stride, rows, columns, np.array([0, 2, 4]))
    found, wanted = G.reshape(n, stride)[:, :n], np.zeros((n, n))
    wanted[np.ix_(rows, columns)] = A[np.ix_(rows, columns)]
    wanted[np.ix_(columns, rows)] = A[np.ix_(columns, rows)]
    np.testing.assert_array_equal(found, wanted)
    G = np.zeros(n * stride)
    spread(A[rows].reshape(-1), G, stride, rows, np.arange(n), np.setdiff1d(np.arange(n), rows))
    wanted = np.zeros((n, n))
    wanted[rows], wanted[:, rows] = A[rows], A[:, rows]
    np.testing.assert_array_equal(G.reshape(n, stride)[:, :n], wanted)
    picked = np.zeros(10)
    pick(A.reshape(-1), rows * n, columns, picked)
    np.testing.assert_array_equal(picked.reshape(2, 5), A[np.ix_(rows, columns)])
    G.reshape(n, stride)[:, :n] = A
    move(G, stride, n, np.array([8, 7]), np.array([2, 5]))
    left = [0, 1, 8, 3, 4, 7, 6]
    np.testing.assert_array_equal(G.reshape(n, stride)[:7, :7], A[np.ix_(left, left)])


@pytest.mark.uncompiled
def test_held_rows_are_added_from_where_they_start(rng):
    G, v, out = rng.standard_normal((9, 13)).astype(np.float32), rng.standard_normal(7), np.ones(5)
    rows = np.array([8, 0, 3, 3, 1, 2, 7])
    add_rows(G.reshape(-1), rows * 13 + 2, v, out)
    np.testing.assert_allclose(out, 1 + v @ G[rows, 2:7].astype(float), rtol=1e-12)
