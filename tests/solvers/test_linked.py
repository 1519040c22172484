"""Clusters under links: against every partition there is, and the proof where links allow none."""

import itertools

import numpy as np
import pytest

from mercer import KernelKMeans, gram
from mercer.gram import from_matrix
from mercer.kernels import Gaussian, Linear
from mercer.solvers import Clustering, GivenLabels, Linked, Links, Lloyd, Status, cluster


def objective(K, w, labels):
    total = float(w @ np.diagonal(K))
    for c in np.unique(labels):
        rows = np.flatnonzero(labels == c)
        total -= float(w[rows] @ K[np.ix_(rows, rows)] @ w[rows]) / w[rows].sum()
    return total


def best_partition(K, w, k, links, price):
    """The least objective over all partitions, those that break a link paying for it."""
    best = np.inf
    for labels in itertools.product(range(k), repeat=len(K)):
        labels = np.array(labels)
        broken = sum(map(len, links.violated(labels)))
        if broken and not np.isfinite(price):
            continue
        if len(np.unique(labels)) == k:
            best = min(best, objective(K, w, labels) + (price * broken if broken else 0.0))
    return best


def random_links(rng, n, m, others):
    pairs = [rng.choice(n, 2, replace=False) for _ in range(m + others)]
    return Links(n, np.array(pairs[:m]).reshape(-1, 2), np.array(pairs[m:]).reshape(-1, 2))


def possible(links, k):
    return any(
        not sum(map(len, links.violated(np.array(labels)))) for labels in itertools.product(range(k), repeat=links.n)
    )


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("hard", [True, False])
def test_it_finds_the_best_of_all_partitions(seed, hard):
    rng = np.random.default_rng(seed)
    n, k = 7, int(rng.integers(2, 4))
    X, w = rng.normal(size=(n, 2)), rng.integers(1, 3, n).astype(float)
    links = random_links(rng, n, 2, 3)
    if hard and not possible(links, k):
        pytest.skip("no partition keeps these links")
    K = Gaussian(2.0)(X)
    scatter = objective(K, w, np.zeros(n, int)) / w.sum()
    problem = Clustering(gram(Gaussian(2.0), X), k, w)
    found = cluster(problem, Linked(links, hard, 0.5, Lloyd(n_init=20, random_state=0)))
    broken = sum(map(len, links.violated(found.labels)))
    assert found.objective == pytest.approx(objective(K, w, found.labels))
    assert found.stats["penalized"] == pytest.approx(found.objective + 0.5 * scatter * broken * (not hard))
    assert not (hard and broken)
    assert found.status is Status.CONVERGED
    assert not found.certificate.fixed_point
    wanted = best_partition(K, w, k, links, np.inf if hard else 0.5 * scatter)
    assert found.stats["penalized"] == pytest.approx(wanted, rel=0.15)  # it searches, it does not try all
    assert found.stats["penalized"] >= wanted * (1 - 1e-12)


def test_most_searches_end_at_the_best():
    hits = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, w, links = rng.normal(size=(7, 2)), np.ones(7), random_links(rng, 7, 1, 2)
        if not possible(links, 2):
            continue
        found = cluster(Clustering(gram(Linear(), X), 2), Linked(links, lloyd=Lloyd(n_init=20, random_state=0)))
        hits += found.objective <= best_partition(X @ X.T, w, 2, links, np.inf) * (1 + 1e-9)
    assert hits >= 24


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("hard", [True, False])
def test_each_move_lowers_the_objective_by_what_was_said(seed, hard):
    from mercer.solvers.clusters._sums import sums_of
    from mercer.solvers.clusters.linked import Moving

    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(20, 3)), rng.uniform(0.5, 2, 20)
    links = random_links(rng, 20, 6, 4 if hard else 10)
    problem = Clustering(from_matrix(X @ X.T), 4, w)
    sums = sums_of(problem.gram, 4, w, problem.diagonal, X @ X.T)
    colours = links.colouring("test", 4) if hard else None
    sums.follow(np.arange(20) % 4 if colours is None else colours[links.groups])
    moving = Moving(problem, sums, links, colours, np.inf if hard else 0.7)
    for _ in range(30):
        g = int(rng.integers(len(moving.members)))
        change, before = moving.changes(np.array([g]))[0], moving.objective()
        c = int(rng.choice(np.flatnonzero(np.isfinite(change))))
        moving.move([g], [c])
        assert moving.objective() - before == pytest.approx(change[c], abs=1e-9)
        assert not hard or not sum(map(len, links.violated(sums.labels)))


def test_two_that_must_be_apart_may_change_places():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [0.05], [5.05]])
    links = Links(6, np.empty((0, 2), int), np.array([[4, 5]]))
    start = Lloyd(GivenLabels(np.array([0, 0, 1, 1, 1, 0])), n_init=1)
    found = cluster(Clustering(gram(Linear(), X), 2), Linked(links, lloyd=start))
    assert found.labels.tolist() == [0, 0, 1, 1, 0, 1]


# ------------------------------------------------------------------------------------------------------- proofs


@pytest.mark.parametrize(
    "must, cannot, k, said",
    [
        ([[0, 1], [1, 2], [2, 3]], [[3, 0]], 3, "rows 3 -must- 2 -must- 1 -must- 0 -cannot- 3"),
        ([[0, 1]], [[0, 1]], 3, "rows 0 -must- 1 -cannot- 0"),
        ([], [[4, 5]], 1, "cannot be kept by one cluster: rows 4 -cannot- 5"),
        ([], [[0, 1], [1, 2], [2, 0]], 2, "odd cycle, which two clusters cannot keep: rows .*-cannot-.*-cannot-"),
        ([[1, 3]], [[0, 1], [3, 2], [2, 0]], 2, "-must-"),
        ([], list(itertools.combinations(range(4), 2)), 3, "4 rows that must all be apart and n_clusters=3"),
        ([], [*((i, (i + 1) % 5) for i in range(5)), *((5, i) for i in range(5))], 3, "none exists"),  # a wheel
    ],
)
def test_links_that_no_partition_keeps_come_with_their_proof(must, cannot, k, said):
    links = Links(6, np.array(must, int).reshape(-1, 2), np.array(cannot, int).reshape(-1, 2))
    with pytest.raises(ValueError, match=said):
        links.colouring("KernelKMeans", k)


@pytest.mark.parametrize("seed", range(40))
def test_a_colouring_is_found_where_there_is_one(seed):
    rng = np.random.default_rng(seed)
    links, k = random_links(rng, 7, 1, int(rng.integers(3, 12))), int(rng.integers(2, 4))
    if possible(links, k):
        assert not sum(map(len, links.violated(links.colouring("test", k)[links.groups])))
    else:
        with pytest.raises(ValueError, match="links must leave a partition"):
            links.colouring("test", k)


def test_an_odd_cycle_is_one_of_the_links_given():
    rng = np.random.default_rng(3)
    seen = 0
    for _ in range(40):
        links = random_links(rng, 12, 4, 8)
        try:
            links.colouring("test", 2)
        except ValueError as error:
            text = str(error).split("rows ")[1].split(". ")[0]
            parts = text.split(" ")
            rows, kinds = [int(v) for v in parts[::2]], [v.strip("-") for v in parts[1::2]]
            assert rows[0] == rows[-1]
            assert kinds.count("cannot") % 2 == 1
            for a, b, kind in zip(rows, rows[1:], kinds, strict=False):
                pairs = (links.must if kind == "must" else links.cannot).tolist()
                assert [a, b] in pairs or [b, a] in pairs
            seen += 1
    assert seen > 5


# ------------------------------------------------------------------------------------------------------- the estimator


@pytest.fixture
def stripes(rng):
    y = np.arange(90) % 3
    return rng.normal(size=(90, 2)) * [4.0, 0.4] + np.column_stack([np.zeros(90), 1.5 * y]), y


@pytest.mark.parametrize("constraints", ["hard", "soft", None])
def test_links_help(stripes, constraints):
    from sklearn.metrics import adjusted_rand_score

    X, y = stripes
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(90, 2, replace=False) for _ in range(250)])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    model = KernelKMeans(3, kernel="linear", constraints=constraints, random_state=0)
    model.fit(X, must_link=pairs[same], cannot_link=pairs[~same])
    agreement = adjusted_rand_score(y, model.labels_)
    if constraints is None:
        assert np.array_equal(model.labels_, KernelKMeans(3, kernel="linear", random_state=0).fit(X).labels_)
        assert agreement < 0.5
    else:
        assert agreement > 0.9
        assert sum(model.clusters_.stats["broken"]) <= (0 if constraints == "hard" else 10)
        assert model.fit_predict(X, must_link=pairs[same], cannot_link=pairs[~same]).tolist() == model.labels_.tolist()


def test_a_point_of_weight_zero_takes_its_links_along(stripes):
    X, _ = stripes
    w = np.ones(90)
    w[0] = 0.0
    model = KernelKMeans(3, kernel="linear", random_state=0)
    with_it = model.fit(X, sample_weight=w, must_link=[[0, 1], [2, 3]], cannot_link=[[0, 1], [4, 5]])
    labels = with_it.labels_[1:]
    without = KernelKMeans(3, kernel="linear", random_state=0)
    without.fit(X[1:], must_link=[[1, 2]], cannot_link=[[3, 4]])
    assert np.array_equal(labels, without.labels_)


@pytest.mark.parametrize(
    "options, links, message",
    [
        ({}, {"must_link": [[0, 99]]}, r"'must_link' must hold row numbers in 0..89"),
        ({}, {"cannot_link": [[3, 3]]}, "must be of two rows"),
        ({}, {"cannot_link": [3, 4]}, r"shape \(m, 2\)"),
        ({}, {"must_link": [[0, 1]], "cannot_link": [[1, 0]]}, "contradict each other: rows 1 -must- 0 -cannot- 1"),
        ({"constraints": "firm"}, {}, "'constraints' must be one of 'hard', 'soft'"),
        ({"constraints": "soft", "link_penalty": 0.0}, {"must_link": [[0, 1]]}, "'link_penalty' must be"),
    ],
)
def test_bad_links_are_named(stripes, options, links, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(3, **options).fit(stripes[0], **links)
