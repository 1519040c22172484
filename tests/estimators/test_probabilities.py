"""Probabilities of support vector classifiers: they agree with predict, keep the laws, and are calibrated."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import estimator_checks_generator

from mercer import SVC
from mercer.estimators._folds import folds
from mercer.kernels import Spectrum

WAYS = [{"probability": True}, {"probability": "isotonic"}, {"probability": True, "multi_class": "ovr"}]


def table(classes, n=150, seed=0, flip=0.1):
    return make_classification(
        n, 5, n_informative=4, n_redundant=0, n_classes=classes, class_sep=0.8, flip_y=flip, random_state=seed
    )  # fmt: skip


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=check.func.__name__)
        for _, check in estimator_checks_generator(SVC(probability=True))
        if check.func.__name__ != "check_array_api_input"  # about arrays that live on other devices
    ],
)
def test_conventions_of_sklearn(check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(SVC(probability=True))


@pytest.mark.parametrize("given", WAYS)
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_they_never_contradict_predict(given, classes):
    X, y = table(classes)
    model = SVC(**given).fit(X[::2], y[::2])
    Z = np.concatenate([X, np.random.default_rng(0).normal(scale=3, size=(300, 5))])
    p = model.predict_proba(Z)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(Z))
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert p.min() >= 0
    np.testing.assert_allclose(np.exp(model.predict_log_proba(Z)), p)


@pytest.mark.parametrize("given", WAYS[:2])
def test_they_rise_with_the_decision(given):
    X, y = table(2)
    model = SVC(**given).fit(X, y)
    order = np.argsort(model.decision_function(X))
    assert (np.diff(model.predict_proba(X)[order, 1]) >= -1e-11).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_they_are_as_good_as_those_of_sklearn(classes):
    X, y = table(classes, n=600)
    mine = SVC(probability=True).fit(X[::2], y[::2]).predict_proba(X[1::2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        theirs = svm.SVC(probability=True, random_state=0).fit(X[::2], y[::2]).predict_proba(X[1::2])
    assert log_loss(y[1::2], mine) < 1.1 * log_loss(y[1::2], theirs)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("given", WAYS)
def test_the_laws_of_weights_and_order(classes, given):
    X, y = table(classes, n=90)
    rng = np.random.default_rng(0)
    w = rng.integers(0, 3, len(y))
    again = rng.permutation(np.repeat(np.arange(len(y)), w))
    model = SVC(class_weight="balanced", gamma=0.2, tol=1e-10, **given)
    weighted = model.fit(X, y, sample_weight=w).predict_proba(X)
    repeated = model.fit(X[again], y[again]).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


def test_every_kind_of_rows_gets_the_same_probabilities():
    X, y = table(2, n=80)
    X = np.round(X, 1)
    wanted = SVC(probability=True, gamma=0.3, tol=1e-8).fit(X, y).predict_proba(X)
    of_sparse = SVC(probability=True, gamma=0.3, tol=1e-8).fit(sparse.csr_matrix(X), y).predict_proba(X)
    np.testing.assert_allclose(of_sparse, wanted, atol=1e-6)
    frame = pd.DataFrame(X, columns=list("abcde"))
    np.testing.assert_allclose(
        SVC(probability=True, gamma=0.3, tol=1e-8).fit(frame, y).predict_proba(frame), wanted, atol=1e-6
    )


def test_precomputed_and_strings():
    X, y = table(2, n=60)
    K = X @ X.T
    given = SVC(probability=True, kernel="precomputed").fit(K, y)
    assert (given.predict_proba(K).argmax(axis=1) == given.predict(K)).all()
    words = ["".join(np.random.default_rng(i).choice(list("ab" if i % 2 else "bc"), 8)) for i in range(40)]
    model = SVC(kernel=Spectrum(2).normalized(), probability=True).fit(words, np.arange(40) % 2)
    assert model.predict_proba(words).shape == (40, 2)


def test_folds_follow_the_content():
    X, y = table(2, n=40)
    first = folds(X, y, np.ones(40, bool), 5)
    order = np.random.default_rng(1).permutation(40)
    np.testing.assert_array_equal(folds(X[order], y[order], np.ones(40, bool), 5), first[order])
    twice = np.repeat(np.arange(40), 2)
    np.testing.assert_array_equal(folds(X[twice], y[twice], np.ones(80, bool), 5), first[twice])
    for k in (0, 1):
        assert np.ptp(np.bincount(first[y == k], minlength=5)) <= 1
    zeros = X.copy()
    zeros[zeros < 0] = 0.0
    np.testing.assert_array_equal(
        folds(np.where(zeros == 0, -0.0, zeros), y, np.ones(40, bool), 5), folds(zeros, y, np.ones(40, bool), 5)
    )


def test_without_probability_there_is_no_method():
    X, y = table(2, n=40)
    model = SVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    model.set_params(probability=True)
    with pytest.raises(ValueError, match="predict_proba needs a fit with probability=True"):
        model.predict_proba(X)


def test_refusals():
    X, y = table(2, n=40)
    with pytest.raises(ValueError, match="'probability' must be False, True, 'sigmoid' or 'isotonic'; got 'platt'"):
        SVC(probability="platt").fit(X, y)


def test_a_class_of_one_row():
    X, y = table(2, n=40)
    y[:] = 0
    y[3] = 1
    model = SVC(probability=True, C=100.0).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))


def test_they_are_kept_by_pickling():
    X, y = table(3, n=60)
    model = SVC(probability=True).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
