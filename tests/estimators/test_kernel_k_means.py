"""KernelKMeans: the scikit-learn face. What it finds is tested with its solver."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Engine, KernelKMeans
from mercer.kernels import Gaussian, Linear, SetIntersection, Spectrum
from mercer.kernels import exp as exp_of
from mercer.testing import check_machine
from tests import oracles

MODELS = [KernelKMeans(), KernelKMeans(init="random"), KernelKMeans(init="k-means", kernel="linear")]


@pytest.mark.filterwarnings("ignore:KernelKMeans found:sklearn.exceptions.ConvergenceWarning")  # 4 points, 8 clusters
@parametrize_with_checks(MODELS)
def test_conventions_of_sklearn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n", [60, 300])
def test_laws(model, n):
    X = np.random.default_rng(n).standard_normal((n, 3))
    model = clone(model).set_params(n_clusters=4, random_state=0)
    check_machine(model, X, outputs=lambda fitted, Z: fitted.transform(Z), conventions=False)


def test_rings_that_k_means_cannot_tell_apart():
    X, rings = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    model = KernelKMeans(2, gamma=3.0, random_state=0).fit(X)
    assert adjusted_rand_score(rings, model.labels_) == 1.0
    assert adjusted_rand_score(rings, KMeans(2, n_init=5, random_state=0).fit(X).labels_) < 0.1
    assert model.certificate_.fixed_point
    assert model.certificate_.relative_gap < 0.01


def test_distances_centres_and_score(rng):
    X, Z = rng.standard_normal((80, 3)), rng.standard_normal((9, 3))
    model = KernelKMeans(4, kernel=Gaussian(2.0), random_state=0).fit(X)
    D = oracles.squared_distances_to_means(Gaussian(2.0)(X), model.labels_, 4)
    assert np.allclose(model.transform(X) ** 2, D)
    assert np.array_equal(model.predict(X), model.labels_)
    for c, mean in enumerate(model.centers_):
        assert mean.coefficients.sum() == pytest.approx(1.0)
        assert np.allclose(mean(Z), Gaussian(2.0)(Z, X[model.labels_ == c]).mean(axis=1))
        wanted = np.sqrt(np.maximum(1.0 - 2.0 * mean(Z) + mean.norm() ** 2, 0.0))
        assert np.allclose(model.transform(Z)[:, c], wanted)
    assert model.score(X) == pytest.approx(-model.inertia_)
    assert model.score(Z, sample_weight=np.ones(9)) == pytest.approx(model.score(Z))
    assert np.allclose(clone(model).fit_transform(X), model.transform(X))
    assert np.array_equal(clone(model).fit_predict(X), model.labels_)


@pytest.mark.peer
def test_linear_kernel_agrees_with_scikit_learn_from_the_same_centres(rng):
    X = rng.standard_normal((150, 3))
    ours = KernelKMeans(3, kernel="linear", init=X[:3]).fit(X)
    theirs = KMeans(3, init=X[:3], n_init=1, tol=0.0).fit(X)
    assert np.array_equal(ours.labels_, theirs.labels_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)
    assert np.allclose(ours.transform(X), theirs.transform(X), atol=1e-7)
    given = KernelKMeans(3, kernel="linear", init=theirs.labels_).fit(X)
    assert given.n_iter_ == 1
    assert np.array_equal(given.labels_, theirs.labels_)


def test_precomputed(rng):
    X, Z = rng.standard_normal((60, 2)), rng.standard_normal((7, 2))
    K, own = Gaussian(1.0)(X), np.ones(7)
    given = KernelKMeans(3, kernel="precomputed", random_state=0).fit(K)
    made = KernelKMeans(3, kernel=Gaussian(1.0), random_state=0).fit(X)
    assert np.array_equal(given.labels_, made.labels_)
    assert np.array_equal(given.predict(Gaussian(1.0)(Z, X)), made.predict(Z))
    assert np.allclose(given.transform(Gaussian(1.0)(Z, X), own), made.transform(Z))
    assert np.allclose(given.fit_transform(K), made.transform(X))
    assert given.centers_ is None
    with pytest.raises(ValueError, match="need 'diagonal'"):
        given.transform(Gaussian(1.0)(Z, X))
    with pytest.raises(ValueError, match="'diagonal' must be 7 numbers"):
        given.transform(Gaussian(1.0)(Z, X), own[:3])
    with pytest.raises(ValueError, match="must be a square matrix"):
        given.fit(K[:10])


def test_strings_sets_sparse_and_frames(rng):
    words = ["kernel", "kernels", "kernell", "banana", "bananas", "bannana"]
    model = KernelKMeans(2, kernel=Spectrum(2), random_state=0).fit(words)
    assert adjusted_rand_score([0, 0, 0, 1, 1, 1], model.labels_) == 1.0
    assert model.predict(["bananana"])[0] == model.labels_[3]
    sets = KernelKMeans(2, kernel=exp_of(SetIntersection()), init=[{1, 2}, {8, 9}]).fit([{1, 2, 3}, {1, 2}, {8, 9}])
    assert sets.labels_.tolist() == [0, 0, 1]
    X = rng.standard_normal((50, 3)) * (rng.random((50, 3)) < 0.4)
    dense = KernelKMeans(3, random_state=0).fit(X)
    assert np.array_equal(KernelKMeans(3, random_state=0).fit(sparse.csr_matrix(X)).labels_, dense.labels_)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert np.array_equal(KernelKMeans(3, random_state=0).fit(frame).labels_, dense.labels_)
    named = KernelKMeans(2, kernel=Linear().on("a"), random_state=0).fit(frame)
    assert named.labels_.shape == (50,)


def test_pipelines_and_random_states(rng):
    X = rng.standard_normal((60, 2))
    model = make_pipeline(StandardScaler(), KernelKMeans(3, random_state=1))
    assert np.array_equal(model.fit_predict(X), model.predict(X))
    states = (7, np.random.default_rng(7), np.random.RandomState(7))
    for state in states:
        assert KernelKMeans(3, random_state=state).fit(X).certificate_.fixed_point
    one, two = (KernelKMeans(3, random_state=7, engine=Engine(threads=t)).fit(X) for t in (1, 2))
    assert np.array_equal(one.labels_, two.labels_)
    assert one.inertia_ == two.inertia_


def test_how_many_clusters():
    X, _ = make_blobs(120, centers=4, cluster_std=0.4, random_state=3)
    assert KernelKMeans(kernel=Gaussian("median"), random_state=0).choose_k(X, 7).best == 4


def test_warnings_say_what_to_do():
    X = np.random.default_rng(0).standard_normal((200, 2))
    with pytest.warns(ConvergenceWarning, match="did not reach a fixed point.*Raise max_iter or deadline"):
        KernelKMeans(8, gamma=4.0, max_iter=1, n_init=1, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="deadline"):
        KernelKMeans(8, gamma=4.0, deadline=1e-9, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="found 2 clusters, fewer than n_clusters=3"):
        KernelKMeans(3, random_state=0).fit([[0.0], [0.0], [1.0], [1.0]])
    A = np.random.default_rng(1).standard_normal((30, 30))
    with pytest.warns(ConvergenceWarning, match="K is not psd"):
        KernelKMeans(4, kernel="precomputed", init=np.arange(30) % 4).fit(A + A.T)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"n_clusters": 0}, "'n_clusters' must be an integer >= 1"),
        ({"n_clusters": 11}, "'n_clusters' must be at most"),
        ({"init": "best"}, "'init' must be one of 'k-means"),
        ({"init": 3}, "'init' must be one of"),
        ({"init": np.full(10, 9)}, "labels must be 10 integers from 0 to 1"),
        ({"init": np.zeros((3, 2))}, "there must be 2 centres"),
        ({"n_init": 0}, "'n_init' must be an integer >= 1"),
        ({"n_init": "many"}, "'n_init' must be one of 'auto'"),
        ({"max_iter": 0}, "'max_iter' must be an integer >= 1"),
        ({"tol": -1.0}, "'tol' must be a finite number >= 0"),
        ({"solver": "fast"}, "'solver' must be one of"),
        ({"kernel": "sigmoid"}, "is not a kernel"),
    ],
)
def test_refusals(options, message):
    X = np.random.default_rng(0).standard_normal((10, 2))
    with pytest.raises(ValueError, match=message):
        KernelKMeans(**({"n_clusters": 2} | options)).fit(X)


def test_weights_are_checked(rng):
    X = rng.standard_normal((10, 2))
    with pytest.raises(ValueError, match="sample_weight must hold numbers >= 0"):
        KernelKMeans(2).fit(X, sample_weight=-np.ones(10))
    with pytest.raises(ValueError, match="n_samples=1"):
        KernelKMeans(2).fit(X, sample_weight=np.eye(10)[0])


def test_progress_is_shown_when_asked(rng, capsys):
    KernelKMeans(3, verbose=True, random_state=0).fit(rng.standard_normal((40, 2)))
    assert "Lloyd: step" in capsys.readouterr().err
