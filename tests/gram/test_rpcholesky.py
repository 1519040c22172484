"""random_pivots: F F' <= K, against dense eigenvalues of the remainder."""

import numpy as np
import pytest

from mercer import Engine
from mercer import gram as gram_of
from mercer.gram import random_pivots
from mercer.kernels import Gaussian, Linear
from tests.oracles import tolerance


def remainder(K, found):
    F = found.F.astype(np.float64)
    return K - F @ F.T


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("rank", [1, 7, 60, 200])
def test_the_remainder_is_psd_and_its_diagonal_known(rank, precision, rng):
    X = rng.standard_normal((500, 3))
    K = Gaussian(1.5)(X)
    found = random_pivots(gram_of(Gaussian(1.5), X, engine=Engine(precision=precision)), rank, random_state=0)
    R = remainder(K, found)
    noise = tolerance(np.float32, 4)
    assert np.linalg.eigvalsh(R)[0] >= -noise * 10
    assert np.abs(np.diagonal(R) - found.residual).max() <= noise
    assert found.F.dtype == np.float32
    assert found.F.shape == (500, found.rank)
    assert found.rank <= rank
    assert found.error == found.residual.sum()


def test_the_error_falls_with_the_rank_and_nears_the_best(rng):
    X = rng.standard_normal((400, 2))
    K = gram_of(Gaussian(1.0), X)
    errors = [random_pivots(K, r, block=16, random_state=1).error for r in (5, 20, 60, 120)]
    assert errors == sorted(errors, reverse=True)
    best = np.sort(np.linalg.eigvalsh(Gaussian(1.0)(X)))[::-1]
    assert errors[2] <= 4 * best[30:].sum()


def test_repeated_rows_are_drawn_once(rng):
    X = np.repeat(rng.standard_normal((40, 3)), 10, axis=0)
    found = random_pivots(gram_of(Gaussian(1.0), X), 200, random_state=0)
    assert found.rank <= 40
    assert len(np.unique(X[found.pivots], axis=0)) == found.rank
    assert found.error < 1e-3


def test_the_draws_follow_the_random_state(rng):
    K = gram_of(Gaussian(1.0), rng.standard_normal((300, 2)))
    a, b, c = (random_pivots(K, 20, random_state=s) for s in (3, 3, 4))
    assert np.array_equal(a.pivots, b.pivots)
    assert np.array_equal(a.F, b.F)
    assert not np.array_equal(a.pivots, c.pivots)
    old = np.random.RandomState(0)
    assert random_pivots(K, 5, random_state=old).rank == 5


def test_it_stops_when_all_is_explained(rng):
    X = rng.standard_normal((300, 4))
    found = random_pivots(gram_of(Linear(), X), 100, random_state=0)
    assert found.rank == 4
    assert random_pivots(np.zeros((5, 5)), 3, random_state=0).rank == 0


def test_norms_that_differ_widely(rng):
    X = rng.standard_normal((200, 3)) * 10.0 ** rng.uniform(-3, 3, (200, 1))
    found = random_pivots(gram_of(Linear(), X), 50, random_state=0)
    assert np.isfinite(found.F).all()
    assert found.error <= 1e-5 * np.square(X).sum()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: random_pivots(np.eye(3), 0), "'rank' must be an integer >= 1; got 0"),
        (lambda: random_pivots(np.eye(3), 2, block=0), "'block'"),
        (lambda: random_pivots(np.eye(3), 2, tol=-1), "'tol'"),
        (lambda: random_pivots(np.eye(3), 2, random_state="x"), "'random_state'"),
        (lambda: random_pivots(-np.eye(3), 2), "diagonal of K must be finite and >= 0; got -1"),
        (lambda: random_pivots(gram_of(Gaussian(1.0), [[1.0], [2.0]], [[1.0]]), 1), "square"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(ValueError, match=f"random_pivots: .*{words}"):
        call()
