"""SVC: scikit-learn's conventions, attributes and answers; laws; what it does when it does not get there."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

from mercer import SVC, Engine
from mercer.estimators import _machine
from mercer.kernels import Gaussian, Linear, SetIntersection, Spectrum
from mercer.solvers.dual import NotSeparableError
from mercer.testing import check_machine

MODELS = [
    SVC(),
    SVC(kernel="linear", loss="squared_hinge", intercept="penalized"),
    SVC(kernel="poly", coef0=1.0, degree=2, multi_class="ovr", intercept="none"),
]
GIVEN = {
    "linear": {},
    "poly": {"degree": 2, "gamma": 0.3, "coef0": 1.5},
    "rbf": {"gamma": 0.4},
    "weights": {"kernel": "rbf", "class_weight": {0: 0.5, 1: 3.0}},
    "balanced": {"kernel": "rbf", "class_weight": "balanced", "C": 10.0},
}


def table(classes, n=120, seed=0):
    X, y = make_classification(
        n, 5, n_informative=4, n_redundant=0, n_classes=classes, class_sep=0.7, random_state=seed
    )  # fmt: skip
    return X, y


def close(got, wanted, rtol=1e-6):
    np.testing.assert_allclose(got, wanted, rtol=0, atol=rtol * max(np.abs(wanted).max(), 1e-300))


@pytest.mark.parametrize(
    "model, check",
    [
        pytest.param(model, check, id=f"{i}-{check.func.__name__}")
        for i, each in enumerate(MODELS)
        for model, check in estimator_checks_generator(each)
        if check.func.__name__ != "check_array_api_input"  # about arrays that live on other devices
    ],
)
def test_conventions_of_sklearn(model, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(model)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_laws(model, classes):
    X, y = table(classes, 300)
    shape = model.decision_function_shape if model.multi_class == "ovr" else "ovo"
    model = clone(model).set_params(tol=1e-9, decision_function_shape=shape)
    check_machine(model, X, y, conventions=False, rtol=1e-7)


# ---------------------------------------------------------------- peer


@pytest.mark.peer
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", GIVEN)
def test_as_sklearn(name, classes):
    X, y = table(classes)
    given = {"kernel": name, "tol": 1e-10} | GIVEN[name]
    ours, theirs = SVC(**given).fit(X, y), svm.SVC(**given).fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_array_equal(ours.support_vectors_, theirs.support_vectors_)
    np.testing.assert_array_equal(ours.class_weight_, theirs.class_weight_)
    close(ours.dual_coef_, theirs.dual_coef_, 1e-4)  # LIBSVM keeps kernel values in single
    close(ours.intercept_, theirs.intercept_, 1e-5)
    for shape in ("ovo", "ovr"):
        ours.decision_function_shape = theirs.decision_function_shape = shape
        close(ours.decision_function(X + 0.1), theirs.decision_function(X + 0.1), 1e-5)
    np.testing.assert_array_equal(ours.predict(X + 0.1), theirs.predict(X + 0.1))
    ours.break_ties = theirs.break_ties = True
    np.testing.assert_array_equal(ours.predict(X + 0.1), theirs.predict(X + 0.1))
    assert (ours.shape_fit_, ours.fit_status_) == (theirs.shape_fit_, theirs.fit_status_)
    if name == "linear":
        close(ours.coef_, theirs.coef_, 1e-5)
        assert ours.coef_.shape == theirs.coef_.shape


@pytest.mark.peer
@pytest.mark.parametrize("classes", [2, 3])
def test_weights_as_sklearn(classes):
    X, y = table(classes)
    w = np.random.default_rng(1).uniform(0.1, 4.0, len(X))
    ours, theirs = (cls(tol=1e-10, gamma=0.5).fit(X, y, w) for cls in (SVC, svm.SVC))
    close(ours.dual_coef_, theirs.dual_coef_, 1e-4)
    close(ours.decision_function(X), theirs.decision_function(X), 1e-5)


@pytest.mark.peer
def test_precomputed_functions_and_sparse_rows_as_sklearn():
    X, y = table(3)
    K = Gaussian.from_gamma(0.5)(X)
    wanted = svm.SVC(gamma=0.5, tol=1e-9).fit(X, y).decision_function(X)
    ours = SVC(kernel="precomputed", tol=1e-9).fit(K, y)
    close(ours.decision_function(K), wanted, 1e-5)
    assert ours.function_ is None
    assert ours.support_vectors_.shape == (0, 0)

    def bump(A, B):
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    close(SVC(kernel=bump, tol=1e-9).fit(X, y).decision_function(X), wanted, 1e-5)
    close(SVC(kernel=Gaussian.from_gamma(0.5), tol=1e-9).fit(X, y).decision_function(X), wanted, 1e-5)
    rows = sparse.csr_matrix(X)
    ours = SVC(gamma=0.5, tol=1e-9).fit(rows, y)
    close(ours.decision_function(rows), wanted, 1e-5)
    assert sparse.issparse(ours.support_vectors_)
    close(SVC(gamma=0.5, tol=1e-9).fit(X.astype(np.float32), y).decision_function(X), wanted, 1e-5)


# ---------------------------------------------------------------- labels, kinds of data


def test_labels_of_any_type():
    X, y = table(3)
    for names in (np.array(["no", "maybe", "yes"]), np.array([2.0, -1.0, 7.0]), np.array(["b", 3, "c"], dtype=object)):
        if names.dtype == object:
            names = names.astype(str).astype(object)
        model = SVC().fit(X, names[y])
        assert set(model.predict(X)) <= set(names)
        assert model.score(X, names[y]) > 0.8
    assert set(SVC().fit(X, y > 0).predict(X)) <= {True, False}


def test_strings_and_sets():
    words = ["acgt" * k + "tt" for k in range(1, 6)] + ["ggcc" * k + "ta" for k in range(1, 6)]
    y = np.repeat([0, 1], 5)
    model = SVC(kernel=Spectrum(2), C=10).fit(words, y)
    assert model.score(words, y) == 1.0
    assert set(model.support_vectors_) <= set(words)
    baskets = [{"a"}, {"a", "b"}, {"c"}, {"c", "d"}]
    assert SVC(kernel=SetIntersection()).fit(baskets, [0, 0, 1, 1]).score(baskets, [0, 0, 1, 1]) == 1.0


def test_frames():
    pandas = pytest.importorskip("pandas")
    X, y = table(2)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    model = SVC(kernel=Gaussian(1.0).on(["a", "b"]) + Linear().on(["c"])).fit(frame, y)
    assert list(model.feature_names_in_) == list("abcde")
    assert model.decision_function(frame).shape == (len(X),)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("edcba")])


# ---------------------------------------------------------------- what it shows


def test_functions_margin_and_certificate():
    X, y = load_iris(return_X_y=True)
    model = SVC(gamma=0.5, tol=1e-7, decision_function_shape="ovo").fit(X, y)
    assert len(model.functions_) == 3
    values = np.column_stack([f(X) for f in model.functions_]) + model.intercept_
    close(values, model.decision_function(X), 1e-12)
    close(model.function_(X) + model.intercept_, model.decision_function(X), 1e-12)
    close(model.margin_, [1 / f.norm() for f in model.functions_], 1e-9)
    assert model.certificate_.gap.shape == (3,)
    assert (model.certificate_.gap >= 0).all()
    assert model.certificate_.prediction_bound(X).shape == (len(X), 3)
    assert "certificate" in str(model.certificate_)
    two = SVC(gamma=0.5).fit(X[50:], y[50:])
    assert two.margin_ == pytest.approx(1 / two.function_.norm(), rel=1e-6)
    kept = pickle.loads(pickle.dumps(two))
    np.testing.assert_array_equal(kept.decision_function(X), two.decision_function(X))
    assert kept.certificate_.relative_gap == two.certificate_.relative_gap


def test_a_gap_can_be_asked_for():
    X, y = table(2, 300)
    rough = SVC(C=50.0, tol=0.1).fit(X, y)
    fine = SVC(C=50.0, tol=0.1, gap=1e-6).fit(X, y)
    assert rough.certificate_.relative_gap > 1e-4
    assert fine.certificate_.relative_gap <= 1e-6
    exact = SVC(C=50.0, tol=1e-10).fit(X, y)
    off = np.abs(rough.decision_function(X) - exact.decision_function(X))
    assert (off <= rough.certificate_.prediction_bound(X) + exact.certificate_.prediction_bound(X)).all()


def test_a_warm_start_ends_where_it_began():
    X, y = table(3)
    model = SVC(tol=1e-6, warm_start=True).fit(X, y)
    before = model.decision_function(X)
    assert model.n_iter_.sum() > 0
    model.fit(X, y)
    assert model.n_iter_.sum() == 0
    close(model.decision_function(X), before, 1e-12)
    model.set_params(C=1.1).fit(X, y)
    cold = SVC(tol=1e-6, C=1.1).fit(X, y)
    assert model.n_iter_.sum() < cold.n_iter_.sum()
    close(model.decision_function(X), cold.decision_function(X), 1e-4)
    model.fit(X[:100], y[:100])  # other rows: from scratch


# ---------------------------------------------------------------- the hard margin


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_a_hard_margin_is_the_geometric_one(intercept):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 2)) + np.outer(np.repeat([1, -1], 30), [3.0, 2.0])
    y = np.repeat([1, 0], 30)
    model = SVC(C=np.inf, kernel="linear", intercept=intercept, tol=1e-9).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    distances = np.where(y == 1, 1, -1) * (X @ w + b) / np.linalg.norm(w)
    assert distances.min() == pytest.approx(model.margin_, rel=1e-6)
    on = np.abs(model.decision_function(X)) < 1 + 1e-5
    assert set(model.support_) <= set(np.flatnonzero(on))
    assert model.certificate_.relative_gap < 1e-8
    angles = np.linspace(0, 2 * np.pi, 100_001)
    around = np.column_stack([np.cos(angles), np.sin(angles)]) @ X.T
    if intercept == "free":  # every direction, the plane between the classes
        widest = (around[:, y == 1].min(axis=1) - around[:, y == 0].max(axis=1)).max() / 2
        assert model.margin_ == pytest.approx(widest, rel=1e-4)
    elif intercept == "none":
        assert b == 0
        assert model.margin_ == pytest.approx((around * np.where(y == 1, 1, -1)).min(axis=1).max(), rel=1e-4)


def test_large_costs_tend_to_the_hard_margin():
    X, y = load_iris(return_X_y=True)
    hard, large = SVC(C=np.inf, gamma=2.0, tol=1e-8).fit(X[:100], y[:100]), SVC(C=1e8, gamma=2.0, tol=1e-8)
    close(large.fit(X[:100], y[:100]).decision_function(X), hard.decision_function(X), 1e-5)
    three = SVC(C=np.inf, gamma=50.0, loss="squared_hinge").fit(X[::2], y[::2])
    assert three.score(X[::2], y[::2]) == 1.0
    assert three.certificate_.gap.shape == (3,)


def test_classes_that_meet_are_refused_with_a_proof():
    X, y = table(2)
    with pytest.raises(NotSeparableError, match="hard margin: C=inf needs classes that the kernel separates") as caught:
        SVC(C=np.inf, kernel="linear").fit(X, y)
    a, rows = caught.value.witness.weights, caught.value.witness.rows
    np.testing.assert_allclose(a @ X[rows], 0, atol=1e-6)  # two convex combinations, one point
    assert a[y[rows] == 1].sum() == pytest.approx(1)
    assert a[y[rows] == 0].sum() == pytest.approx(-1)
    assert pickle.loads(pickle.dumps(caught.value)).witness.distance == caught.value.witness.distance


# ---------------------------------------------------------------- refusals, and fits that fall short


@pytest.mark.parametrize(
    "given, said",
    [
        ({"C": 0.0}, "'C' must be a positive number"),
        ({"C": "a"}, "'C' must be a positive number"),
        ({"tol": 0.0}, "'tol' must be a positive number"),
        ({"tol": None}, "'tol' must be a positive number"),
        ({"gap": -1.0}, "'gap' must be a positive number"),
        ({"max_iter": -2}, "'max_iter' must be an integer >= -1"),
        ({"cache_size": 0}, "'cache_size' must be a positive number"),
        ({"loss": "log"}, "'loss' must be one of 'hinge', 'squared_hinge'"),
        ({"intercept": "some"}, "'intercept' must be one of 'free', 'penalized', 'none'"),
        ({"multi_class": "all"}, "'multi_class' must be one of 'ovo', 'ovr'"),
        ({"decision_function_shape": "x"}, "'decision_function_shape' must be one of 'ovo', 'ovr'"),
        ({"multi_class": "ovr", "decision_function_shape": "ovo"}, "needs the machines of multi_class='ovo'"),
        ({"kernel": "sigmoid"}, "is not a kernel"),
        ({"kernel": Gaussian(1.0), "gamma": 0.3}, "'gamma' belongs to kernels given by name; got gamma beside"),
        ({"kernel": Linear(), "coef0": 1.0}, "'coef0' belongs to kernels given by name; .* Put it in the kernel"),
        ({"class_weight": {0: 0.0, 1: 1.0, 2: 1.0}}, "class_weight must leave each class some weight"),
    ],
)
def test_refusals(given, said):
    X, y = table(3)
    with pytest.raises(ValueError, match=said):
        SVC(**given).fit(X, y)


def test_one_class_and_weights_that_leave_one():
    X, y = table(2)
    with pytest.raises(ValueError, match="at least two classes"):
        SVC().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="at least two classes"):
        SVC().fit(X, y, (y == 1).astype(float))
    X, y = table(3)
    kept = SVC().fit(X, y, (y != 1).astype(float))
    assert kept.classes_.tolist() == [0, 2]
    close(kept.decision_function(X), SVC().fit(X[y != 1], y[y != 1]).decision_function(X), 1e-6)
    with pytest.raises(AttributeError, match="only available when using a linear kernel"):
        kept.coef_  # noqa: B018
    with pytest.raises(ValueError, match="break_ties must be False"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, y).predict(X)


def test_a_deadline_and_steps_keep_the_best_model():
    X, y = table(2, 400)
    exact = SVC(C=1e4, gamma=0.1, tol=1e-8).fit(X, y)
    for given, said in (({"deadline": 1e-9}, "stopped at the deadline"), ({"max_iter": 20}, "largest number of steps")):
        with pytest.warns(ConvergenceWarning, match=f"SVC did not reach tol=0.001: .*{said}") as caught:
            model = SVC(C=1e4, gamma=0.1, **given).fit(X, y)
        assert len(caught) == 1
        assert model.fit_status_ == 1
        off = np.abs(model.decision_function(X) - exact.decision_function(X))
        assert (off <= model.certificate_.prediction_bound(X) + exact.certificate_.prediction_bound(X)).all()


def test_what_to_scale_is_named():
    X, y = table(2, 200)
    X[:, 3] *= 1e8
    with pytest.warns(ConvergenceWarning, match=r"Scale X \(StandardScaler\): column 3 spreads by"):
        SVC(kernel="linear", max_iter=50).fit(X, y)


def test_threads_and_stored_or_lazy_gram_agree():
    X, y = table(3, 400)
    one, two = (SVC(gamma=0.2, engine=Engine(threads=k)).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    stored = SVC(kernel="precomputed", tol=1e-8).fit(Gaussian.from_gamma(0.2)(X), y)
    lazy = SVC(gamma=0.2, tol=1e-8, cache_size=0.1).fit(X, y)
    close(stored.dual_coef_, lazy.dual_coef_, 1e-5)


def test_labels_are_those_of_double_precision():
    X, y = table(3, 2000)
    fitted = SVC(C=100.0, gamma=0.3).fit(X[:1000], y[:1000])
    rough = fitted._values(X, "single")[0]
    exact = fitted._decisions(X)
    assert np.abs(rough - exact).max() > 0  # single indeed
    slack = np.abs(rough - exact).max()
    near = fitted._offsets.copy()
    fitted._offsets = fitted._offsets - exact[7]  # a row on all surfaces at once, up to rounding
    labels = fitted._answers(fitted._decisions(X))
    np.testing.assert_array_equal(fitted.predict(X), labels)
    assert (np.abs(fitted._decisions(X[7:8])) < slack).all()
    fitted._offsets = near
    np.testing.assert_array_equal(fitted.predict(X), fitted._answers(exact))


def test_ctrl_c_keeps_the_best_model(monkeypatch):
    X, y = table(2, 2000)
    seen = []

    class Impatient:
        def __call__(self, step):
            seen.append(step.residual)
            if len(seen) > 2:
                raise KeyboardInterrupt

        def close(self):
            seen.append(0.0)

    monkeypatch.setattr(_machine, "Progress", Impatient)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = SVC(C=1e4, gamma=0.1, verbose=True).fit(X, y)
    assert model.fit_status_ == 1
    assert 0 < model.certificate_.relative_gap <= 1
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize("classes", [2, 3])
def test_the_order_of_rows_memory_and_storage_do_not_matter(classes):
    X, y = table(classes, 500)
    given = {"gamma": 0.2, "C": 3.0, "tol": 1e-9, "decision_function_shape": "ovo"}
    wanted = SVC(**given).fit(X, y).decision_function(X)
    rows = np.random.default_rng(0).permutation(len(X))
    close(SVC(**given).fit(X[rows], y[rows]).decision_function(X), wanted, 1e-7)
    for cache in (0.01, 100.0):
        close(SVC(**given, cache_size=cache).fit(X, y).decision_function(X), wanted, 1e-7)
    K = Gaussian.from_gamma(0.2)(X)
    close(SVC(**(given | {"kernel": "precomputed"})).fit(K, y).decision_function(K), wanted, 1e-7)
    close(SVC(**given, engine=Engine(precision="double")).fit(X, y).decision_function(X), wanted, 1e-7)
    rest = SVC(**given, multi_class="ovr").set_params(decision_function_shape="ovr").fit(X, y)
    again = SVC(**given, multi_class="ovr").set_params(decision_function_shape="ovr").fit(X[rows], y[rows])
    close(again.decision_function(X), rest.decision_function(X), 1e-7)
