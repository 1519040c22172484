"""choose_centers: each method against what it is for."""

import numpy as np
import pandas as pd
import pytest

from mercer import Engine
from mercer.functions import choose_centers
from mercer.kernels import Gaussian, Linear, SetIntersection

METHODS = ["uniform", "k-means++", "rpcholesky"]


@pytest.mark.parametrize("method", METHODS)
def test_centres_are_rows_and_follow_the_random_state(method, rng):
    X = rng.standard_normal((400, 3))
    a, b, c = (choose_centers(Gaussian(1.0), X, 20, method, random_state=s) for s in (1, 1, 2))
    assert len(a) == len(np.unique(a.indices)) == 20
    assert np.array_equal(a.points, X[a.indices])
    assert np.array_equal(a.indices, b.indices)
    assert not np.array_equal(a.indices, c.indices)
    assert a.method == method
    assert (a.pivots is not None) == (method == "rpcholesky")


@pytest.mark.parametrize("method", ["k-means++", "rpcholesky"])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_repeated_rows_are_chosen_once(method, precision, rng):
    places = rng.standard_normal((7, 2)) * 5
    X = np.repeat(places, 60, axis=0)
    found = choose_centers(Gaussian(1.0), X, 20, method, random_state=0, engine=Engine(precision=precision))
    assert len(found) == 7
    assert len(np.unique(found.points, axis=0)) == 7


def test_kmeans_pp_visits_every_cluster(rng):
    centres = 20.0 * np.eye(10)
    X = np.repeat(centres, 80, axis=0) + rng.standard_normal((800, 10))
    for kernel in (Linear(), Gaussian(8.0)):
        hits = [
            len({int(i) // 80 for i in choose_centers(kernel, X, 10, "k-means++", random_state=s).indices})
            for s in range(5)
        ]
        assert np.mean(hits) > 9
    by_chance = [len({int(i) // 80 for i in choose_centers(Linear(), X, 10, random_state=s).indices}) for s in range(5)]
    assert np.mean(by_chance) < np.mean(hits)


def test_the_factor_comes_along(rng):
    X = rng.standard_normal((300, 2))
    found = choose_centers(Gaussian(1.0), X, 50, "rpcholesky", random_state=0)
    F = found.pivots.F.astype(np.float64)
    K = Gaussian(1.0)(X)
    assert np.trace(K - F @ F.T) == pytest.approx(found.pivots.error, abs=1e-3)
    assert np.allclose(F[found.indices] @ F[found.indices].T, K[np.ix_(found.indices, found.indices)], atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_all_rows_sets_and_frames(method):
    assert sorted(choose_centers(Gaussian(1.0), [[0.0], [4.0], [9.0]], 3, method, random_state=0).indices) == [0, 1, 2]
    found = choose_centers(SetIntersection(), [{1}, {2}, {3}], 2, method, random_state=0)
    assert len(found.points) == 2
    assert all(isinstance(x, set) for x in found.points)
    table = pd.DataFrame({"a": [0.0, 1.0, 2.0]})
    assert choose_centers(Gaussian(1.0), table, 2, method, random_state=0).points.columns.tolist() == ["a"]


@pytest.mark.parametrize(
    "change, words",
    [
        ({"kernel": "rbf"}, "'kernel' must be a Kernel"),
        ({"n_centers": 0}, "'n_centers' must be an integer >= 1; got 0"),
        ({"n_centers": 5}, "'n_centers' must be at most the number of rows, 4; got 5"),
        ({"n_centers": 2.5}, "'n_centers' must be an integer"),
        ({"method": "best"}, "'method' must be one of 'uniform', 'k-means\\+\\+', 'rpcholesky'; got 'best'"),
        ({"random_state": "a"}, "'random_state' must be a seed, a generator or None"),
        ({"X": [[np.nan]] * 4}, "finite numbers"),
        ({"X": "abc"}, "X must be a table of rows"),
    ],
)
def test_bad_input_is_refused(change, words):
    given = {"kernel": Gaussian(1.0), "X": [[0.0], [1.0], [2.0], [3.0]], "n_centers": 2} | change
    with pytest.raises((ValueError, TypeError), match=f"choose_centers: .*{words}"):
        choose_centers(**given)
