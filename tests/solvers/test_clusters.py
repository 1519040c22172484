"""Kernel k-means: the search. Oracles: the formulas in NumPy, scikit-learn's KMeans, all partitions of few points."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import silhouette_score

from mercer import Engine, gram
from mercer.gram import from_matrix
from mercer.kernels import Gaussian, Laplace, Linear, Polynomial, SetIntersection
from mercer.solvers import (
    Clustering,
    GivenCentres,
    GivenLabels,
    Lloyd,
    OneStep,
    PlusPlus,
    RandomPoints,
    Status,
    choose_k,
    cluster,
)
from mercer.solvers.clusters._sums import LazySums, StoredSums
from tests import oracles

KERNELS = {
    "gaussian": Gaussian(1.5),
    "linear": Linear(),
    "polynomial": Polynomial(2),
    "laplace": Laplace(2.0),
}


def points(rng, n=120, d=3):
    return rng.standard_normal((n, d)) + 2.0 * rng.integers(-1, 2, (n, 1))


def is_fixed_point(K, labels, k, w=None):
    """Whether no point is nearer to another mean, beyond rounding."""
    D = oracles.squared_distances_to_means(K, labels, k, w)
    own = D[np.arange(len(K)), labels]
    return bool((own <= D.min(axis=1) + 1e-12 * np.abs(np.diagonal(K)).max()).all())


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("start", [PlusPlus(), RandomPoints(), OneStep()], ids=lambda s: type(s).__name__)
def test_objective_and_fixed_point_from_the_formula(rng, name, start):
    X, k = points(rng), 4
    K = KERNELS[name](X)
    found = cluster(Clustering(gram(KERNELS[name], X), k), Lloyd(start, 3, random_state=1))
    assert found.status is Status.CONVERGED
    assert found.certificate.fixed_point
    assert is_fixed_point(K, found.labels, k)
    assert found.objective == pytest.approx(oracles.partition_objective(K, found.labels), rel=1e-10)
    assert found.certificate.objective == pytest.approx(found.objective, rel=1e-12)
    assert (np.diff(found.stats["history"]) <= 1e-12 * abs(found.objective)).all()
    D = oracles.squared_distances_to_means(K, found.labels, k)
    assert np.allclose(np.diagonal(K)[:, None] - 2 * K @ found.coefficients + found.squares, D)


@pytest.mark.parametrize("n", [2100, 2600])
def test_tiles_in_single_end_in_a_fixed_point_in_double(n):
    X = np.random.default_rng(n).standard_normal((n, 5))
    kernel = Gaussian(2.0)
    found = cluster(Clustering(gram(kernel, X), 7), Lloyd(n_init=1, random_state=0), certify_as="none")
    assert found.stats["precision"] == "float32"
    assert is_fixed_point(kernel(X), found.labels, 7)
    assert found.objective == pytest.approx(oracles.partition_objective(kernel(X), found.labels), rel=1e-12)


def test_single_gives_way_to_double_where_it_is_too_coarse():
    X, _ = make_blobs(2200, centers=3, random_state=0)
    X += 1e5  # entries of X'X are 1e10, squared distances 1
    found = cluster(Clustering(gram(Linear(), X), 3), Lloyd(n_init=2, random_state=0), certify_as="none")
    assert found.stats["precision"] == "float64"
    wanted = KMeans(3, n_init=2, random_state=0).fit(X - 1e5)
    assert same_partition(found.labels, wanted.labels_)


@pytest.mark.peer
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_kernel_agrees_with_scikit_learn_from_the_same_start(seed, weighted):
    rng = np.random.default_rng(seed)
    X, k = rng.standard_normal((300 if seed else 2300, 4)), 5
    w = rng.uniform(0.1, 3.0, len(X)) if weighted else None
    start = X[rng.choice(len(X), k, replace=False)]
    theirs = KMeans(k, init=start, n_init=1, tol=0.0, max_iter=1000, algorithm="lloyd").fit(X, sample_weight=w)
    ours = cluster(Clustering(gram(Linear(), X), k, w), Lloyd(GivenCentres(start), max_iter=1000))
    assert np.array_equal(ours.labels, theirs.labels_)
    assert ours.objective == pytest.approx(theirs.inertia_, rel=1e-9)


def test_restarts_find_the_best_of_all_partitions_of_few_points():
    best, seeds = 0, 40
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(5, 11)), int(rng.integers(2, 4))
        X = rng.standard_normal((n, 2))
        kernel = Gaussian(1.0) if seed % 2 else Linear()
        K = kernel(X)
        least = min(oracles.partition_objective(K, p) for p in oracles.partitions(n, k))
        found = cluster(Clustering(gram(kernel, X), k), Lloyd(random_state=seed))
        assert found.certificate.bound <= least + 1e-12
        assert found.objective >= least - 1e-12
        best += found.objective <= least * (1 + 1e-9)
    assert best >= 0.95 * seeds


def test_weights_are_repeated_and_absent_points(rng):
    X, k = points(rng, 60), 4
    w = rng.integers(0, 4, len(X))
    kernel = Gaussian(1.0)
    weighted = cluster(Clustering(gram(kernel, X), k, w), Lloyd(random_state=3))
    turned = rng.permutation(np.repeat(np.arange(len(X)), w))
    repeated = cluster(Clustering(gram(kernel, X[turned]), k), Lloyd(random_state=3))
    assert np.array_equal(weighted.labels[turned], repeated.labels)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-12)
    assert weighted.certificate.bound == pytest.approx(repeated.certificate.bound, rel=1e-9)
    D = oracles.squared_distances_to_means(kernel(X), weighted.labels, k, w)
    assert np.array_equal(D.argmin(axis=1), weighted.labels)  # the absent ones too


@pytest.mark.parametrize("shape", [(300, 2), (2300, 6)])
def test_threads_change_nothing(shape):
    X = np.random.default_rng(5).standard_normal(shape)
    found = [
        cluster(Clustering(gram(Gaussian(2.0), X, engine=Engine(threads=t)), 6), Lloyd(n_init=2, random_state=0))
        for t in (1, 2)
    ]
    assert np.array_equal(found[0].labels, found[1].labels)
    assert found[0].objective == found[1].objective
    assert found[0].certificate.bound == found[1].certificate.bound


# ------------------------------------------------------------------------------------------------------------- sums


@pytest.mark.parametrize("n", [100, 700])
@pytest.mark.parametrize("lazy", [False, True])
def test_sums_that_followed_many_moves_are_those_made_anew(rng, n, lazy):
    X, k = rng.standard_normal((n, 3)), 5
    w, K = rng.uniform(0.5, 2.0, n), gram(Gaussian(1.0), X)
    values = np.asarray(K)
    if lazy:
        sums, fresh = (LazySums(K, k, w, K.diag()) for _ in range(2))
    else:
        sums, fresh = (StoredSums(values, k, w, K.diag(), 2) for _ in range(2))
    labels = rng.integers(0, k, n)
    sums.follow(labels)
    for _ in range(60):
        some = rng.choice(n, n // 4, replace=False)
        labels[some] = rng.integers(0, k, len(some))
        sums.follow(labels)
    fresh.follow(labels)
    assert np.abs(sums.G - fresh.G).max() <= (1e-4 if lazy else 1e-11) * np.abs(fresh.G).max()
    onehot = (labels == np.arange(k)[:, None]) * w
    assert np.allclose(fresh.G, onehot @ Gaussian(1.0)(X), rtol=1e-5, atol=1e-5 * n)
    assert np.allclose(sums.within(), np.einsum("ci,ci->c", sums.G, onehot))


@pytest.mark.parametrize("k", [1, 2, 9])
def test_compiled_and_plain_passes_agree(rng, k):
    n = 9000  # above 65,536 numbers the passes are compiled
    G, factor, offset = rng.standard_normal((k, n)), rng.standard_normal(k), rng.standard_normal(k)
    sums = LazySums.__new__(LazySums)
    sums.n, sums.k, sums.G, sums.threads = n, k, G, 2
    best, second, label = sums.nearest(factor, offset)
    scores = np.sort(offset[:, None] + factor[:, None] * G, axis=0)
    assert np.allclose(best, scores[0])
    assert k == 1 or np.allclose(second, scores[1])
    assert np.allclose((offset[:, None] + factor[:, None] * G)[label, np.arange(n)], scores[0])


# ------------------------------------------------------------------------------------------------------------- routes


def test_without_memory_for_the_matrix_the_answer_is_still_a_fixed_point():
    X, _ = make_blobs(2400, centers=6, n_features=4, cluster_std=2.0, random_state=1)
    kernel, engine = Gaussian(6.0), Engine(memory="4 MB")
    found = cluster(Clustering(gram(kernel, X, engine=engine), 6), Lloyd(n_init=3, random_state=0))
    assert found.stats["memory"] == "factor"
    assert found.certificate.exact
    assert found.certificate.fixed_point
    K = kernel(X)
    assert is_fixed_point(K, found.labels, 6)
    assert found.certificate.bound <= found.objective
    stored = cluster(Clustering(gram(kernel, X), 6), Lloyd(n_init=3, random_state=0))
    assert found.objective <= 1.02 * stored.objective
    kept = cluster(Clustering(gram(kernel, X, engine=engine), 6), Lloyd(n_init=3, exact=False, random_state=0))
    assert not kept.certificate.exact
    assert not kept.certificate.fixed_point
    assert kept.objective == pytest.approx(oracles.partition_objective(K, kept.labels), rel=1e-10)
    assert "factor of low rank" in str(kept.certificate)


def test_a_matrix_that_is_given(rng):
    X = points(rng)
    K = Gaussian(1.5)(X)
    given = cluster(Clustering(from_matrix(K), 3), Lloyd(random_state=0))
    made = cluster(Clustering(gram(Gaussian(1.5), X), 3), Lloyd(random_state=0))
    assert np.array_equal(given.labels, made.labels)
    assert given.certificate.bound == pytest.approx(made.certificate.bound, rel=1e-9)
    w = np.where(np.arange(len(X)) % 3, 1.0, 0.0)
    given, made = (
        cluster(Clustering(G, 3, w), Lloyd(random_state=0)) for G in (from_matrix(K), gram(Gaussian(1.5), X))
    )
    assert np.array_equal(given.labels, made.labels)


def test_sets():
    sets = [{1, 2, 3}, {1, 2}, {2, 3, 1, 4}, {10, 11}, {10, 11, 12}, {12, 10}]
    found = cluster(Clustering(gram(SetIntersection(), sets), 2), Lloyd(random_state=0))
    assert same_partition(found.labels, [0, 0, 0, 1, 1, 1])
    start = cluster(Clustering(gram(SetIntersection(), sets), 2), Lloyd(GivenCentres([{1, 2, 3}, {10, 11}])))
    assert start.labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_an_objective_that_would_rise_is_refused():
    rng = np.random.default_rng(0)
    rose = 0
    for _ in range(40):  # not psd: Lloyd's step may raise the objective
        A = rng.standard_normal((30, 30))
        found = cluster(Clustering(from_matrix(A + A.T), 4), Lloyd(n_init=1, random_state=0))
        assert (np.diff(found.stats["history"]) <= 1e-9).all()
        assert found.objective == pytest.approx(oracles.partition_objective(A + A.T, found.labels), rel=1e-9)
        assert found.certificate.bound <= found.objective + 1e-9
        rose += found.status is Status.STALLED
    assert rose


# ------------------------------------------------------------------------------------------------------------- ends


def test_empty_clusters_are_filled(rng):
    X = points(rng, 50)
    found = cluster(Clustering(gram(Gaussian(1.0), X), 5), Lloyd(GivenLabels(np.zeros(50, int))))
    assert len(np.unique(found.labels)) == 5
    assert is_fixed_point(Gaussian(1.0)(X), found.labels, 5)
    again = cluster(Clustering(gram(Gaussian(1.0), X), 5), Lloyd(GivenLabels(np.zeros(50, int))))
    assert np.array_equal(found.labels, again.labels)


def test_fewer_different_points_than_clusters():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    found = cluster(Clustering(gram(Gaussian(1.0), X), 6), Lloyd(random_state=0))
    assert len(np.unique(found.labels)) == 3
    assert found.objective == pytest.approx(0.0, abs=1e-12)
    assert np.isinf(found.squares).sum() == 3


@pytest.mark.parametrize("k", [1, 40])
def test_one_cluster_and_one_for_each_point(rng, k):
    X = rng.standard_normal((40, 2))
    found = cluster(Clustering(gram(Gaussian(1.0), X), k), Lloyd(random_state=0))
    assert found.certificate.gap <= 1e-10
    assert len(np.unique(found.labels)) == k


def test_a_run_can_be_stopped_and_keeps_the_best():
    X = np.random.default_rng(0).standard_normal((400, 2))
    K = gram(Gaussian(0.5), X)
    steps = []
    stopped = cluster(Clustering(K, 8), Lloyd(random_state=0), watch=lambda s: steps.append(s) or len(steps) > 2)
    assert stopped.status is Status.INTERRUPTED
    assert not stopped.certificate.fixed_point
    assert stopped.objective == pytest.approx(oracles.partition_objective(Gaussian(0.5)(X), stopped.labels))
    late = cluster(Clustering(K, 8), Lloyd(random_state=0), deadline=1e-9)
    assert late.status is Status.DEADLINE
    short = cluster(Clustering(K, 8), Lloyd(n_init=1, max_iter=1, random_state=0))
    assert short.status is Status.MAX_STEPS
    loose = cluster(Clustering(K, 8), Lloyd(n_init=1, tol=0.5, random_state=0))
    assert loose.status is Status.CONVERGED
    assert not loose.certificate.fixed_point


def test_refusals(rng):
    X = rng.standard_normal((5, 2))
    K = gram(Gaussian(1.0), X)
    with pytest.raises(ValueError, match="n_clusters must be at most the number of points with a weight"):
        Clustering(K, 3, [1, 1, 0, 0, 0])
    with pytest.raises(ValueError, match="weight must be 5 finite numbers"):
        Clustering(K, 2, [1, -1, 0, 0, 0])
    with pytest.raises(ValueError, match="points with themselves"):
        Clustering(gram(Gaussian(1.0), X, X[:2]), 2)
    with pytest.raises(ValueError, match="labels must be 5 integers from 0 to 1"):
        cluster(Clustering(K, 2), Lloyd(GivenLabels([0, 1, 2, 0, 0])))
    with pytest.raises(ValueError, match="there must be 2 centres"):
        cluster(Clustering(K, 2), Lloyd(GivenCentres(X[:3])))
    with pytest.raises(ValueError, match="centres need a kernel"):
        cluster(Clustering(from_matrix(np.eye(3)), 2), Lloyd(GivenCentres(X[:2])))
    with pytest.raises(ValueError, match="table of numbers"):
        cluster(Clustering(gram(SetIntersection(), [{1}, {2}, {3}]), 2), Lloyd(OneStep()))
    large = gram(Gaussian(1.0), rng.standard_normal((2100, 2)), engine=Engine(memory="1 MB"))
    with pytest.raises(ValueError, match="must fit in half the memory"):
        cluster(Clustering(large, 2), Lloyd(memory="stored"))


# ------------------------------------------------------------------------------------------------------------- how many


@pytest.mark.peer
def test_silhouettes_agree_with_scikit_learn(rng):
    X, _ = make_blobs(90, centers=3, cluster_std=0.8, random_state=4)
    K = Gaussian(4.0)(X)
    solver = Lloyd(random_state=0)
    found = choose_k(gram(Gaussian(4.0), X), 5, solver=solver)
    D = np.maximum(np.diagonal(K)[:, None] + np.diagonal(K) - 2 * K, 0.0)
    np.fill_diagonal(D, 0.0)
    for k, s, o in zip(found.counts, found.silhouettes, found.objectives, strict=True):
        labels = cluster(Clustering(gram(Gaussian(4.0), X), int(k)), solver).labels
        assert s == pytest.approx(silhouette_score(D, labels, metric="precomputed"), abs=1e-10)
        assert o == pytest.approx(oracles.partition_objective(K, labels))
    assert found.best == found.by_gap == 3
    assert "3 by the silhouette" in str(found)


def test_the_number_of_clusters_with_weights_and_in_single():
    X, _ = make_blobs(120, centers=4, cluster_std=0.5, random_state=2)
    w = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = choose_k(gram(Gaussian(3.0), X), 6, weight=w)
    repeated = choose_k(gram(Gaussian(3.0), X.repeat(w, axis=0)), 6)
    assert np.allclose(weighted.silhouettes, repeated.silhouettes)
    assert np.allclose(weighted.gaps, repeated.gaps)
    assert weighted.best == 4
    X, _ = make_moons(2200, noise=0.05, random_state=0)
    assert choose_k(gram(Gaussian(0.4), X), 3, solver=Lloyd(n_init=1, random_state=0)).counts.tolist() == [2, 3]
    with pytest.raises(ValueError, match="k_max must be below"):
        choose_k(gram(Gaussian(1.0), X[:4]), 4)
