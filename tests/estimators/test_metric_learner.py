"""MetricLearner: pairs as people give them, scikit-learn's contract, and what the learned metric is good for."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, Engine, KernelKMeans, KernelRidge, MetricLearner
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.spaces import Euclidean
from mercer.testing import check_machine


@parametrize_with_checks(
    [
        MetricLearner(),
        MetricLearner(rank=2),
        MetricLearner(diagonal=True),
        MetricLearner(objective="root"),
        MetricLearner(objective="root", diagonal=True),
    ]
)
def test_it_is_an_estimator(estimator, check):
    check(estimator)


@parametrize_with_checks([MetricLearner(kernel="rbf", rank=2), MetricLearner(objective="root", kernel="rbf")])
def test_it_is_an_estimator_with_a_kernel(estimator, check):
    check(estimator)


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


SIMILAR, DISSIMILAR = [[0, 1], [2, 3]], [[0, 2], [1, 4]]


def model_on(X, **options):
    return MetricLearner(**options).fit(X, similar=SIMILAR, dissimilar=DISSIMILAR)


# ------------------------------------------------------------------------------------------------------- pairs given


def test_labels_and_the_pairs_they_imply_are_one(wine):
    X, y = wine
    i, j = np.triu_indices(len(y), 1)
    same = y[i] == y[j]
    pairs = np.column_stack([i, j])
    by_labels = MetricLearner(rank=2).fit(X, y)
    by_pairs = MetricLearner(rank=2).fit(X, similar=pairs[same], dissimilar=pairs[~same])
    np.testing.assert_allclose(by_labels.A_, by_pairs.A_, rtol=0, atol=1e-12 * np.abs(by_pairs.A_).max())
    assert by_labels.n_pairs_ == by_pairs.n_pairs_
    assert by_labels.certificate_.relative_gap < 1e-9


def test_unlabelled_rows_are_left_out(wine):
    X, y = wine
    known = np.arange(len(y)) % 3 == 0
    partial = MetricLearner().fit(X, np.where(known, y, -1))
    np.testing.assert_allclose(partial.A_, MetricLearner().fit(X[known], y[known]).A_, rtol=1e-6, atol=1e-15)


def test_pairs_of_points_are_pairs(rng):
    X = rng.normal(size=(6, 3))
    by_rows = model_on(X)
    by_points = MetricLearner().fit(similar=X[SIMILAR], dissimilar=X[DISSIMILAR])
    mixed = MetricLearner().fit(X, similar=SIMILAR, dissimilar=X[DISSIMILAR])
    for other in (by_points, mixed):
        np.testing.assert_allclose(by_rows.A_, other.A_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(by_rows.pair_distance(SIMILAR, X=X), by_points.pair_distance(X[SIMILAR]))
    assert by_points.n_features_in_ == 3


def test_weights_of_pairs_are_repetitions(rng):
    X = rng.normal(size=(6, 2))
    twice = MetricLearner(rank=2).fit(X, similar=[*SIMILAR, SIMILAR[0]], dissimilar=DISSIMILAR)
    weighted = MetricLearner(rank=2).fit(
        X, similar=SIMILAR, dissimilar=[*DISSIMILAR, [3, 5]], similar_weight=[2, 1], dissimilar_weight=[1, 1, 0]
    )
    np.testing.assert_allclose(twice.A_, weighted.A_, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"similar": [[0, 9]]}, r"row numbers in 0..5; got the pair \(0, 9\) at 0"),
        ({"similar": [[0, 1], [-1, 2]]}, r"the pair \(-1, 2\) at 1"),
        ({"dissimilar": [[0, 2], [3, 3]]}, r"a pair in 'dissimilar' must be of two rows; got \(3, 3\) at 1"),
        ({"similar": [[0, 1], [4, 1]]}, r"similar and dissimilar at once; got \(1, 4\)"),
        ({"dissimilar": []}, "there must be dissimilar pairs; got none"),
        ({"dissimilar": None}, "there must be dissimilar pairs; got none"),
        ({"similar": [0, 1]}, r"shape \(m, 2\)"),
        ({"similar": [[0.5, 1.0]]}, "Row numbers are integers"),
        ({"similar": [[0, 1], [2]]}, "ragged"),
        ({"similar": [["a", "b"]]}, "Row numbers are integers"),
        ({"similar": np.zeros((2, 2, 5))}, "as many features as X; got 2 and 5"),
        ({"similar": np.full((2, 2, 2), np.nan)}, "finite"),
        ({"similar_weight": [1.0]}, "'similar_weight' must be 2 finite numbers >= 0"),
        ({"dissimilar_weight": [1.0, -1.0]}, "'dissimilar_weight' must be 2 finite numbers >= 0"),
        ({"dissimilar_weight": [0.0, 0.0]}, "there must be dissimilar pairs"),
        ({"X": None}, "so X must be given"),
    ],
)
def test_bad_pairs_are_named(rng, given, message):
    arguments = {"X": rng.normal(size=(6, 2)), "similar": SIMILAR, "dissimilar": DISSIMILAR} | given
    with pytest.raises(ValueError, match=message):
        MetricLearner().fit(**arguments)


@pytest.mark.parametrize(
    "y, message",
    [
        ([1] * 6, "two classes or more.*one class"),
        ([-1] * 6, "no label"),
        ([0, 1], "y must be 6 labels"),
        (None, "requires y"),
    ],
)
def test_bad_labels_are_named(rng, y, message):
    with pytest.raises(ValueError, match=message):
        MetricLearner().fit(rng.normal(size=(6, 2)), y)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"rank": 0}, "'rank' must be a positive integer"),
        ({"rank": 2, "diagonal": True}, "exclude each other"),
        ({"regularization": -1.0}, "'regularization' must be a finite number >= 0"),
        ({"n_centers": 0, "kernel": "rbf"}, "'n_centers' must be an integer >= 1"),
        ({"engine": 3}, "'engine' must be an Engine"),
        ({"objective": "rot"}, "'objective' must be one of 'ratio', 'root'"),
        ({"objective": "root", "tol": 0.0}, "'tol' must be a positive number"),
        ({"objective": "root", "rank": 1, "diagonal": True}, "exclude each other"),
    ],
)
def test_bad_options_are_named(rng, options, message):
    with pytest.raises(ValueError, match=message):
        model_on(rng.normal(size=(6, 2)), **options)


def test_few_pairs_are_drawn_alike_from_a_seed(wine):
    X, y = wine
    one, two = (MetricLearner(n_pairs=500, random_state=3).fit(X, y) for _ in range(2))
    assert one.n_pairs_ == (250, 250)
    assert np.array_equal(one.A_, two.A_)
    with pytest.raises(ValueError, match="'n_pairs' must be an integer >= 2"):
        MetricLearner(n_pairs=1).fit(X, y)


@pytest.mark.parametrize("options", [{}, {"rank": 2}, {"diagonal": True}, {"kernel": Gaussian(4.0)}])
def test_the_root_objective_tells_pairs_apart(wine, options):
    X, y = wine
    model = MetricLearner(objective="root", **options).fit(X[::2], y[::2])
    i, j = np.triu_indices(len(X[::2]), 1)
    d = model.pair_distance(np.column_stack([i, j])[y[::2][i] != y[::2][j]], X=X[::2])
    assert d.sum() == pytest.approx(1.0, rel=1e-6)
    assert model.certificate_.relative_gap < (0.1 if options == {"rank": 2} else 1e-6)
    assert model.score(X[1::2], y[1::2]) > 0.85


def test_the_root_objective_draws_where_there_are_too_many_pairs(wine, monkeypatch):
    X, y = wine
    monkeypatch.setattr("mercer.estimators.metric_learner.DRAWN", 1000)
    one, two = (MetricLearner(objective="root", random_state=3).fit(X, y) for _ in range(2))
    assert one.n_pairs_ == (MetricLearner().fit(X, y).n_pairs_[0], 1000)
    assert np.array_equal(one.A_, two.A_)


def test_a_fit_that_stops_early_says_so(wine):
    X, y = wine
    with pytest.warns(ConvergenceWarning, match=r"did not reach tol=1e-06: relative gap .* stopped at the deadline"):
        MetricLearner(objective="root", deadline=1e-9).fit(X, y)


# ------------------------------------------------------------------------------------------------------- the metric


def test_the_metric_is_one_thing(wine, rng):
    X, y = wine
    model = MetricLearner(rank=3).fit(X, y)
    assert isinstance(model.metric_, Euclidean)
    assert model.metric_.rank == 3
    np.testing.assert_allclose(model.A_, model.components_.T @ model.components_)
    i, j = 3, 77
    d = model.metric_.distance(X[i], X[j])
    assert model.get_metric()(X[i], X[j]) == pytest.approx(d)
    assert model.pair_distance([[i, j]], X=X)[0] == pytest.approx(d)
    Z = model.transform(X)
    assert np.linalg.norm(Z[i] - Z[j]) == pytest.approx(d)
    assert Z.shape == (len(X), 3)
    assert model.get_feature_names_out().tolist() == ["metriclearner0", "metriclearner1", "metriclearner2"]


def test_a_learned_metric_of_low_rank_is_a_scale_of_the_gaussian(wine):
    X, y = wine
    for options in ({}, {"rank": 2}, {"diagonal": True}):
        model = MetricLearner(**options).fit(X, y)
        A = 100 * model.A_
        np.testing.assert_allclose(
            Gaussian(scale=A)(X[:20]), Gaussian(scale=1.0)(10 * model.transform(X[:20])), rtol=1e-9
        )


def test_frames_and_sparse_rows_are_points(wine):
    X, y = wine
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    model = MetricLearner(rank=2).fit(X, y)
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    named = MetricLearner(rank=2).set_output(transform="pandas").fit(frame, y)
    np.testing.assert_allclose(named.transform(frame).to_numpy(), model.transform(X))
    csr = MetricLearner(rank=2).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(csr.transform(sparse.csr_matrix(X)), model.transform(X), rtol=1e-9, atol=1e-12)


def test_it_improves_neighbours_and_can_be_tuned(wine, rng):
    X, y = wine
    rough = np.hstack([X, 5 * rng.normal(size=(len(X), 10))])  # noise drowns the features
    plain = KNeighborsClassifier(1).fit(rough[::2], y[::2]).score(rough[1::2], y[1::2])
    pipe = make_pipeline(MetricLearner(rank=2), KNeighborsClassifier(1))
    search = GridSearchCV(pipe, {"metriclearner__regularization": [0.0, 1e-3, 0.1]}, cv=3).fit(rough[::2], y[::2])
    assert search.score(rough[1::2], y[1::2]) > plain + 0.05


def test_score_is_the_odds_that_similar_is_nearer(wine):
    X, y = wine
    model = MetricLearner(rank=2).fit(X[::2], y[::2])
    Z = model.transform(X[1::2])
    i, j = np.triu_indices(len(Z), 1)
    d, same = np.linalg.norm(Z[i] - Z[j], axis=1), y[1::2][i] == y[1::2][j]
    wanted = (d[same][:, None] < d[~same]).mean()
    assert model.score(X[1::2], y[1::2]) == pytest.approx(wanted)
    tied = model_on(np.array([[0.0], [0.0], [1], [1], [2], [3]]))
    assert tied.score(np.zeros((4, 1)), similar=[[0, 1]], dissimilar=[[2, 3]]) == 0.5
    with pytest.raises(ValueError, match="pairs of both kinds"):
        tied.score(np.zeros((4, 1)), similar=[[0, 1]])


def test_answers_do_not_depend_on_threads(wine):
    X, y = wine
    one, two = (MetricLearner(rank=2, engine=Engine(threads=t)).fit(X, y) for t in (1, 2))
    assert np.array_equal(one.components_, two.components_)


# ------------------------------------------------------------------------------------------------------- with a kernel


def test_the_linear_kernel_learns_what_no_kernel_does(wine):
    X, y = wine
    plain = MetricLearner(rank=2, regularization=1e-3).fit(X, y)
    linear = MetricLearner(rank=2, kernel=Linear(), n_centers=None, regularization=1e-3).fit(X, y)
    d = plain.pair_distance([[0, 1], [0, 100], [5, 170]], X=X)
    # the span has as many dimensions as X has features, so the regularisations agree
    np.testing.assert_allclose(linear.pair_distance([[0, 1], [0, 100], [5, 170]], X=X), d, rtol=1e-6)
    assert linear.certificate_.value == pytest.approx(plain.certificate_.value, rel=1e-6)


def test_a_kernel_finds_what_no_linear_map_can(rng):
    angle = rng.uniform(0, 2 * np.pi, 200)
    y = np.arange(200) % 2
    X = (1 + y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.normal(size=(200, 2))
    flat = MetricLearner(rank=1).fit(X[:100], y[:100])
    assert flat.score(X[100:], y[100:]) < 0.65
    for kernel in (Polynomial(2), Gaussian(1.0)):
        curved = MetricLearner(kernel=kernel).fit(X[:100], y[:100])
        assert curved.score(X[100:], y[100:]) > 0.95


@pytest.mark.parametrize("n_centers", [None, 30])
def test_distances_are_those_of_feature_space(wine, n_centers):
    X, y = wine
    kernel = Gaussian(4.0)
    model = MetricLearner(kernel=kernel, rank=5, n_centers=n_centers, random_state=0).fit(X, y)
    k = kernel(X[:2], model.centers_)
    wanted = model.metric_.distance(k[0], k[1])
    assert model.pair_distance([[0, 1]], X=X)[0] == pytest.approx(wanted, rel=1e-6)
    assert model.get_metric()(X[0], X[1]) == pytest.approx(wanted, rel=1e-6)
    assert len(model.centers_) == (model.A_.shape[0] if n_centers is None else 30)


def test_a_gram_matrix_may_be_given(wine):
    X, y = wine
    kernel = Gaussian(4.0)
    options = {"rank": 3, "n_centers": None}
    own = MetricLearner(kernel=kernel, **options).fit(X[:100], y[:100])
    given = MetricLearner(kernel="precomputed", **options).fit(kernel(X[:100]), y[:100])
    np.testing.assert_allclose(
        given.pair_distance([[0, 1]], X=kernel(X[100:], X[:100])), own.pair_distance([[0, 1]], X=X[100:]), rtol=1e-6
    )


def test_strings_are_points_too():
    from mercer.kernels import Spectrum

    words = ["abab", "baba", "abba", "cdcd", "dcdc", "cddc"]
    model = MetricLearner(kernel=Spectrum(2)).fit(words, [0, 0, 0, 1, 1, 1])
    assert model.score(words, [0, 0, 0, 1, 1, 1]) == 1.0


def test_clones_are_alike(wine):
    X, y = wine
    model = MetricLearner(kernel=Gaussian(3.0), rank=2, n_centers=20, random_state=0)
    assert np.array_equal(model.fit(X, y).components_, clone(model).fit(X, y).components_)


@pytest.mark.parametrize("objective", ["ratio", "root"])
def test_every_machine_can_use_the_learned_metric(wine, objective):
    X, y = wine
    A = MetricLearner(objective=objective, rank=2).fit(X[::2], y[::2])
    scale = 1 / np.sqrt(A.transform(X).var(axis=0).sum())
    Z = scale * A.transform(X)
    for machine in (KernelRidge(0.1), SVC(C=10.0), KernelKMeans(3, random_state=0)):
        metric, moved = (clone(machine).set_params(kernel=Gaussian(s)) for s in (scale**2 * A.A_, 1.0))
        one, other = (m.fit(P[::2], y[::2]).predict(P[1::2]) for m, P in ((metric, X), (moved, Z)))
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"rank": 2}, {"objective": "root", "tol": 1e-9}])
def test_laws(wine, options):
    X, y = wine
    model = MetricLearner(**options)
    check_machine(model, X, y, rtol=1e-4, outputs=lambda m, Z: np.linalg.norm(m.transform(Z), axis=1),
                  conventions=False)  # fmt: skip  # lengths: directions may turn where they are tied
