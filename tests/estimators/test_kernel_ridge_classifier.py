"""KernelRidgeClassifier: scikit-learn's RidgeClassifier with a linear kernel, and the laws."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from mercer import KernelRidge, KernelRidgeClassifier
from mercer.kernels import Gaussian, Spectrum
from mercer.testing import check_machine

MODELS = [
    KernelRidgeClassifier(),
    KernelRidgeClassifier("loo", alphas=[0.01, 0.1, 1.0], class_weight="balanced"),
    KernelRidgeClassifier(0.1, n_centers=60, tol=1e-11),
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (270, 2))
    return X, np.select([X[:, 0] * X[:, 1] > 0.1, X[:, 0] > 0.2], ["both", "left"], "none")


@pytest.mark.parametrize(
    "model, check",
    [
        pytest.param(model, check, id=f"{i}-{check.func.__name__}")
        for i, each in enumerate(MODELS[:2])
        for model, check in estimator_checks_generator(each)
        if check.func.__name__ != "check_array_api_input"  # about arrays that live on other devices
    ],
)
def test_conventions_of_sklearn(model, check):
    check(model)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_laws(model, classes, table):
    y = table[1] if classes == 3 else (table[1] == "both").astype(int)
    check_machine(model.set_params(random_state=0), table[0], y, conventions=False, rtol=1e-8)


@pytest.mark.peer
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 3.0, 2: 0.5}])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("two", [False, True])
def test_as_sklearn_with_a_linear_kernel(class_weight, weighted, two):
    X, y = load_iris(return_X_y=True)
    X, y = (X[y < 2], y[y < 2]) if two else (X, y)
    if two and isinstance(class_weight, dict):
        class_weight = {0: 1.0, 1: 3.0}
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(X)) if weighted else None
    ours = KernelRidgeClassifier(0.7, kernel="linear", class_weight=class_weight).fit(X, y, w)
    theirs = RidgeClassifier(0.7, class_weight=class_weight).fit(X, y, w)
    # scikit-learn's balanced weights count rows, ours count weights: a row of weight 2 is two rows
    if class_weight != "balanced" or not weighted:
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.decision_function(X).shape == ((100,) if two else (150, 3))
    assert ours.certificate_.relative_gap < 1e-8


def test_it_is_the_regression_of_one_hot_targets(table):
    X, y = table
    model = KernelRidgeClassifier(0.1, gamma=2.0).fit(X, y)
    assert model.classes_.tolist() == ["both", "left", "none"]
    Y = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    inner = KernelRidge(0.1, gamma=2.0, intercept="free").fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), inner.predict(X), atol=1e-10)
    np.testing.assert_allclose(model.loo_residuals_, inner.loo_residuals_, atol=1e-9)
    assert model.score(X, y) > 0.9


def test_tuning_leaves_rows_out(table):
    X, y = table[0][:70], table[1][:70]
    model = KernelRidgeClassifier("loo", alphas=[1e-3, 0.1, 10.0], gamma=2.0).fit(X, y)
    for alpha, accuracy in zip(model.cv_results_["param_alpha"], model.cv_results_["loo_accuracy"], strict=True):
        left_out = cross_val_predict(KernelRidgeClassifier(alpha, gamma=2.0), X, y, cv=LeaveOneOut())
        assert accuracy == pytest.approx(np.mean(left_out == y))
    assert np.ndim(model.alpha_) == 0
    assert model.cv_results_["rank_test_score"][model.cv_results_["param_alpha"] == model.alpha_] == 1
    scaled = KernelRidgeClassifier("loo", scale="loo", random_state=0).fit(table[0], table[1])
    assert scaled.cv_results_["loo_accuracy"].max() > 0.93
    assert scaled.score(*table) > 0.93


def test_class_weights_are_no_counts(table):
    """A class that weighs 50 is not 50 equal rows: leaving a row out leaves all of it out."""
    X, y = table
    heavy = KernelRidgeClassifier("loo", class_weight={"both": 50.0, "left": 50.0, "none": 50.0}).fit(X, y)
    plain = KernelRidgeClassifier("loo").fit(X, y)
    np.testing.assert_allclose(heavy.alpha_ / 50.0, plain.alpha_, rtol=3.0)
    assert heavy.score(X, y) == pytest.approx(plain.score(X, y), abs=0.02)


def test_labels_frames_strings_pipelines_pickles(table):
    pandas = pytest.importorskip("pandas")
    X, y = table
    wanted = KernelRidgeClassifier(0.1).fit(X, y).predict(X)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = KernelRidgeClassifier(0.1).fit(frame, pandas.Series(y))
    np.testing.assert_array_equal(model.predict(frame), wanted)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(frame), wanted)
    np.testing.assert_array_equal(KernelRidgeClassifier(0.1).fit(sparse.csr_matrix(X), y).predict(X), wanted)
    numbers = KernelRidgeClassifier(0.1).fit(X, (y == "both") * 7 - 3)
    assert numbers.classes_.tolist() == [-3, 4]
    words = ["acgt" * k for k in range(1, 7)] + ["ggcc" * k for k in range(1, 7)]
    spectrum = KernelRidgeClassifier(1e-3, kernel=Spectrum(2)).fit(words, [True] * 6 + [False] * 6)
    assert spectrum.predict(["acgtacg", "ccggcc"]).tolist() == [True, False]
    line = make_pipeline(StandardScaler(), KernelRidgeClassifier("loo"))
    assert cross_val_score(line, X, y, cv=3).mean() > 0.85
    search = GridSearchCV(KernelRidgeClassifier(kernel=Gaussian(1.0)), {"kernel__scale": [0.3, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.85


def test_a_gram_matrix_and_rows_of_no_weight(table):
    X, y = table
    K = Gaussian(0.7)(X)
    given = KernelRidgeClassifier(0.1, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(
        given.decision_function(K), KernelRidgeClassifier(0.1, kernel=Gaussian(0.7)).fit(X, y).decision_function(X),
        atol=1e-8,
    )  # fmt: skip  # the two sides
    w = (y != "left").astype(float)
    two = KernelRidgeClassifier(0.1, kernel="precomputed").fit(K, y, w)
    assert two.classes_.tolist() == ["both", "none"]


def test_refusals(table):
    X, y = table
    with pytest.raises(ValueError, match="KernelRidgeClassifier: y must hold at least two classes; got one class"):
        KernelRidgeClassifier().fit(X, np.ones(len(X), dtype=int))
    with pytest.raises(ValueError, match="KernelRidgeClassifier: 'alpha' must be a number >= 0"):
        KernelRidgeClassifier(-1.0).fit(X, y)
