"""NuSVC, SVR, NuSVR and OneClassSVM: scikit-learn's conventions, attributes and answers, and laws."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import mercer
from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import Gaussian, Spectrum
from mercer.testing import check_machine

CONVENTIONAL = [
    NuSVC(nu=0.3),
    SVR(loss="squared_epsilon_insensitive", intercept="penalized"),
    SVR(),
    NuSVR(),
    OneClassSVM(),
]
MODELS = [
    *CONVENTIONAL,
    NuSVC(nu=0.2, class_weight={0: 1.0, 1: 0.7}),
    NuSVC(nu=1.0, class_weight="balanced"),
    SVR(intercept="none", epsilon=0.0),
    SVR(loss="squared_epsilon_insensitive", C=10.0),
    NuSVR(nu=0.2, C=3.0, kernel="linear"),
    OneClassSVM(nu=0.05, kernel="poly", degree=2, coef0=1.0),
]


def table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    t = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n)
    return X, t, (t > 0.3).astype(int)


def target(model, t, y):
    return y if isinstance(model, NuSVC) else t


def close(got, wanted, rtol=1e-6):
    np.testing.assert_allclose(got, wanted, rtol=0, atol=rtol * max(np.abs(wanted).max(), 1e-300))


def decisions(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize(
    "model, check",
    [
        pytest.param(model, check, id=f"{i}-{check.func.__name__}")
        for i, each in enumerate(CONVENTIONAL)
        for model, check in estimator_checks_generator(each)
        if check.func.__name__ != "check_array_api_input"  # about arrays that live on other devices
    ],
)
def test_conventions_of_sklearn(model, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(model)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_laws(model):
    X, t, y = table(300)
    # float32 tiles beyond 256 rows: what they leave of a tolerance of 1e-9
    check_machine(clone(model).set_params(tol=1e-9), X, target(model, t, y), conventions=False, rtol=1e-6)


# ---------------------------------------------------------------- peer


@pytest.mark.peer
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "name, given",
    [
        ("NuSVC", {"nu": 0.4}),
        ("NuSVC", {"nu": 0.5, "kernel": "linear"}),
        ("SVR", {"C": 3.0, "epsilon": 0.2}),
        ("SVR", {"kernel": "poly", "coef0": 1.0, "degree": 2}),
        ("SVR", {"kernel": "linear"}),
        ("NuSVR", {"nu": 0.3, "C": 2.0}),
        ("OneClassSVM", {"nu": 0.2}),
        ("OneClassSVM", {"nu": 0.3, "kernel": "poly", "degree": 2, "coef0": 1.0}),
    ],
)
def test_as_sklearn(name, given, weighted):
    X, t, y = table()
    given = {"tol": 1e-10, "gamma": 0.4} | given  # "scale" would count rows by their weights
    w = np.random.default_rng(3).uniform(0.2, 3.0, len(X)) if weighted else None
    ours, theirs = getattr(mercer, name)(**given), getattr(svm, name)(**given, max_iter=10**6)  # it may go on for ever
    ours.fit(X, target(ours, t, y), sample_weight=w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(X, target(ours, t, y), sample_weight=w)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_array_equal(ours.support_vectors_, theirs.support_vectors_)
    close(decisions(ours, X + 0.1), decisions(theirs, X + 0.1), 1e-5)
    sure = np.abs(decisions(theirs, X)) > 1e-6
    np.testing.assert_array_equal(ours.predict(X[sure]) > 0, theirs.predict(X[sure]) > 0)
    close(ours.intercept_, theirs.intercept_, 1e-4)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    assert type(ours.n_iter_) is type(theirs.n_iter_)
    assert (ours.shape_fit_, ours.fit_status_) == (theirs.shape_fit_, 0)
    if given.get("kernel") == "linear":
        close(ours.coef_, theirs.coef_, 1e-5)
    else:
        close(ours.dual_coef_, theirs.dual_coef_, 1e-3)  # LIBSVM keeps kernel values in single
    if name == "OneClassSVM":
        close(ours.offset_, theirs.offset_, 1e-5)
        close(ours.score_samples(X), theirs.score_samples(X), 1e-5)


# ---------------------------------------------------------------- what nu means, and the rest


def test_nu_bounds_errors_and_support_vectors():
    X, t, y = table(300)
    one = OneClassSVM(nu=0.2, tol=1e-8).fit(X)
    assert (one.predict(X) == -1).mean() <= 0.2 <= len(one.support_) / 300
    tube = NuSVR(nu=0.3, C=5.0, tol=1e-8).fit(X, t)
    outside = np.abs(tube.predict(X) - t) > tube.epsilon_ + 1e-6
    assert outside.mean() <= 0.3 <= len(tube.support_) / 300
    same = SVR(C=5.0, epsilon=tube.epsilon_, tol=1e-8).fit(X, t)
    close(same.predict(X), tube.predict(X), 1e-5)
    share = NuSVC(nu=0.3, tol=1e-8).fit(X, y)
    assert (y != share.predict(X)).mean() <= 0.3 <= len(share.support_) / 300
    cost = np.abs(share.dual_coef_).max()  # of the machine divided by its margin
    close(SVC(C=cost, tol=1e-8).fit(X, y).decision_function(X), share.decision_function(X), 1e-4)


def test_bounds_hold_for_rough_fits():
    X, t, y = table(200)
    for model in MODELS:
        exact = clone(model).set_params(tol=1e-10).fit(X, target(model, t, y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rough = clone(model).set_params(max_iter=100).fit(X, target(model, t, y))
        off = np.abs(decisions(rough, X) - decisions(exact, X))
        assert (off <= rough.certificate_.prediction_bound(X) + exact.certificate_.prediction_bound(X)).all()
        assert rough.certificate_.gap[0] >= exact.certificate_.gap[0] >= 0


@pytest.mark.parametrize("model", [SVR(), NuSVR(), OneClassSVM(), NuSVC(nu=0.2)], ids=repr)
def test_other_forms_of_data(model):
    X, t, y = table(120)
    t = target(model, t, y)
    wanted = decisions(clone(model).set_params(gamma=0.5, tol=1e-9).fit(X, t), X)
    K = Gaussian.from_gamma(0.5)(X)
    given = clone(model).set_params(kernel="precomputed", tol=1e-9).fit(K, t)
    close(decisions(given, K), wanted)
    assert given.certificate_.gap[0] >= 0
    rows = sparse.csr_matrix(X)
    thin = clone(model).set_params(gamma=0.5, tol=1e-9).fit(rows, t)
    close(decisions(thin, rows), wanted)
    kept = pickle.loads(pickle.dumps(thin))
    np.testing.assert_array_equal(decisions(kept, rows), decisions(thin, rows))
    close(thin.function_(X) + thin.intercept_, decisions(thin, X), 1e-10)
    assert thin.functions_[0].norm() == pytest.approx(thin.function_.norm())


def test_strings():
    words = ["acgt" * k + "tt" for k in range(1, 7)]
    lengths = np.array([len(w) for w in words], dtype=float)
    assert SVR(kernel=Spectrum(2), C=1e3).fit(words, lengths).score(words, lengths) > 0.99
    assert OneClassSVM(kernel=Spectrum(2)).fit(words).predict(words).shape == (6,)


def test_warm_starts():
    X, t, y = table(200)
    for model in (SVR(C=5.0), NuSVR(C=0.1), OneClassSVM(nu=0.3), NuSVC(nu=0.3)):
        model = clone(model).set_params(warm_start=True).fit(X, target(model, t, y))
        before, steps = decisions(model, X), np.sum(model.n_iter_)
        model.fit(X, target(model, t, y))
        assert np.sum(model.n_iter_) < 0.1 * steps  # none, but for the rounding of a margin
        close(decisions(model, X), before, 1e-8)


@pytest.mark.parametrize(
    "model, said",
    [
        (NuSVC(nu=0.0), "NuSVC: 'nu' must be a number above 0 and at most 1"),
        (NuSVC(nu=0.99), "NuSVC: specified nu is infeasible: at most twice the share"),
        (NuSVR(nu=1.5), "NuSVR: 'nu' must be a number above 0 and at most 1"),
        (NuSVR(C=-1), "NuSVR: 'C' must be a positive number; got -1"),
        (SVR(C=np.inf), "SVR: 'C' must be a positive number; got inf"),
        (SVR(epsilon=-0.1), "SVR: 'epsilon' must be a finite number >= 0"),
        (SVR(loss="absolute"), "SVR: 'loss' must be one of 'epsilon_insensitive'"),
        (OneClassSVM(nu=2), "OneClassSVM: 'nu' must be a number above 0 and at most 1"),
        (SVR(kernel=Gaussian(1.0), gamma=1.0), "'gamma' belongs to kernels given by name"),
    ],
    ids=repr,
)
def test_refusals(model, said):
    X, t, y = table()
    y[: np.flatnonzero(np.cumsum(y) == y.sum() - 60)[0]] = 0
    with pytest.raises(ValueError, match=said):
        model.fit(X, target(model, t, y))


def test_a_margin_of_0_is_refused():
    X = np.ones((10, 2))
    with pytest.raises(ValueError, match=r"NuSVC: the classes must lie apart, .* Raise nu"):
        NuSVC(gamma=1.0).fit(X, [0, 1] * 5)


def test_constant_targets_and_one_row():
    X, _, _ = table(20)
    for model in (SVR(), NuSVR()):
        close(model.fit(X, np.full(20, 3.0)).predict(X), np.full(20, 3.0))
        assert model.fit(X[:1], [4.0]).predict(X[:1])[0] == pytest.approx(4.0)
    assert OneClassSVM().fit(X[:1]).predict(X[:1])[0] in (1, -1)


def test_pipelines_searches_and_clones():
    X, t, y = table(120)
    line = make_pipeline(StandardScaler(), SVR(C=2.0))
    assert cross_val_score(line, X, t, cv=3).mean() > 0.5
    grid = {"kernel__kernel__scale": [0.5, 2.0], "C": [0.1, 10.0]}
    search = GridSearchCV(SVC(kernel=2.0 * Gaussian(1.0)), grid, cv=3)
    assert search.fit(X, y).best_score_ > 0.7
    assert clone(search.best_estimator_).get_params()["kernel"] == search.best_estimator_.kernel
    K = Gaussian.from_gamma(0.3)(X)
    given = cross_val_predict(SVC(kernel="precomputed", tol=1e-8), K, y, cv=3, method="decision_function")
    close(given, cross_val_predict(SVC(gamma=0.3, tol=1e-8), X, y, cv=3, method="decision_function"), 1e-5)
    assert NuSVC(nu=0.3).set_params(gamma="auto").fit(X, y).score(X, y) > 0.8


def test_nu_svc_has_probabilities():
    X, _, y = table(120)
    model = NuSVC(nu=0.2, probability=True).fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    most = 2 * min(y.mean(), 1 - y.mean())
    NuSVC(nu=most, probability=True).fit(X, y)  # parts may be less balanced than all rows: there nu is cut


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(bad):
    X, t, y = table(30)
    for model in CONVENTIONAL:
        worse = X.copy()
        worse[3, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.fit(worse, target(model, t, y))
        with pytest.raises(ValueError, match="sample_weight"):
            clone(model).fit(X, target(model, t, y), sample_weight=np.zeros(30))
        with pytest.raises(ValueError, match="sample_weight must hold numbers >= 0"):
            clone(model).fit(X, target(model, t, y), sample_weight=np.full(30, -1.0))
    with pytest.raises(ValueError, match="Precomputed matrix must be a square matrix"):
        SVR(kernel="precomputed").fit(X, t)


@pytest.mark.parametrize("kind", ["rbf", "precomputed", "csr"])
def test_a_certificate_of_data_that_has_changed_is_refused(kind):
    X, y = make_classification(200, 5, random_state=0)
    X = {"rbf": X, "precomputed": X @ X.T, "csr": sparse.csr_matrix(X)}[kind]
    model, early = (SVC(kernel="precomputed" if kind == "precomputed" else "rbf", gamma=0.2).fit(X, y) for _ in "ab")
    assert early.certificate_.relative_gap < 1e-2
    X *= 2
    assert early.certificate_.relative_gap < 1e-2
    with pytest.raises(ValueError, match="certificate_ needs the training data as it was"):
        model.certificate_  # noqa: B018
    with pytest.raises(AttributeError, match="needs the training data"):
        pickle.loads(pickle.dumps(model)).certificate_  # noqa: B018
