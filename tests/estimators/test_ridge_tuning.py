"""Penalty and scale found by leave-one-out: against refits, searches and the laws."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge as Theirs
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from mercer import Engine, KernelRidge
from mercer.estimators import _ridge_samples, _ridge_tuning
from mercer.estimators._line_search import coarse, golden
from mercer.kernels import Gaussian, Laplace, Linear, Matern
from mercer.kernels._rescaled import rescaled, scale_of
from mercer.testing import check_machine

ALPHAS = [1e-3, 1e-2, 0.1, 1.0]
MODELS = [
    KernelRidge("loo"),
    KernelRidge("loo", alphas=ALPHAS, scale="loo", intercept="free", kernel=Gaussian(1.0) + 0.1 * Linear()),
    KernelRidge(0.1, scale="loo", n_centers=60, tol=1e-11),
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (300, 2))
    noise = rng.standard_normal((300, 2))
    return X, np.column_stack([np.sin(4 * X[:, 0]) + X[:, 1], 0.2 * X[:, 1]]) + [0.1, 0.6] * noise


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(model)


@pytest.mark.parametrize("model", MODELS)
def test_laws(model, table):
    check_machine(clone(model).set_params(random_state=0), table[0], table[1][:, 0], conventions=False, rtol=1e-7)


# ---------------------------------------------------------------- the penalty


@pytest.mark.peer
def test_the_choice_and_the_scores_of_a_search_over_every_row(table):
    X, y = table[0][:60], table[1][:60, 0]
    ours = KernelRidge("loo", alphas=ALPHAS, gamma=1.5).fit(X, y)
    theirs = GridSearchCV(
        Theirs(kernel="rbf", gamma=1.5), {"alpha": ALPHAS}, cv=LeaveOneOut(), scoring="neg_mean_squared_error"
    ).fit(X, y)
    assert ours.alpha_ == theirs.best_params_["alpha"]
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-8)
    assert ours.cv_results_["rank_test_score"].tolist() == theirs.cv_results_["rank_test_score"].tolist()
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)
    left_out = cross_val_predict(theirs.best_estimator_, X, y, cv=LeaveOneOut())
    np.testing.assert_allclose(ours.loo_residuals_, y - left_out, atol=1e-8)


def test_each_target_gets_its_own(table):
    X, Y = table
    both = KernelRidge("loo", gamma=2.0, intercept="free").fit(X, Y)
    assert both.alpha_.shape == (2,)
    assert both.alpha_[0] < both.alpha_[1]  # the second is mostly noise
    for t in range(2):
        alone = KernelRidge("loo", gamma=2.0, intercept="free").fit(X, Y[:, t])
        assert alone.alpha_ == both.alpha_[t]
        np.testing.assert_allclose(both.predict(X)[:, t], alone.predict(X), atol=1e-8)
        np.testing.assert_allclose(both.loo_residuals_[:, t], alone.loo_residuals_, atol=1e-8)
    assert len(both.cv_results_["target1_test_score"]) == len(both.cv_results_["params"])
    pandas = pytest.importorskip("pandas")
    assert len(pandas.DataFrame(both.cv_results_)) == len(both.cv_results_["params"])


def test_an_alpha_for_each_target_with_a_free_intercept_is_certified(table):
    X, Y = table
    both = KernelRidge([0.1, 3.0], intercept="free").fit(X, Y)
    assert both.certificate_.relative_gap < 1e-9
    alone = KernelRidge(3.0, intercept="free").fit(X, Y[:, 1])
    np.testing.assert_allclose(both.predict(X)[:, 1], alone.predict(X), atol=1e-8)


@pytest.mark.parametrize("solver", ["auto", "cholesky", "cg", "eigen"])
def test_the_fit_is_that_of_the_penalty_found(solver, table):
    X, y = table[0], table[1][:, 0]
    found = KernelRidge("loo", solver=solver, tol=1e-11, random_state=0).fit(X, y)
    given = KernelRidge(found.alpha_).fit(X, y)
    np.testing.assert_allclose(found.predict(X), given.predict(X), atol=1e-8)
    assert found.certificate_.relative_gap < 1e-9
    assert found.solver_ == {"auto": "Band", "cholesky": "Cholesky", "cg": "ConjugateGradients"}.get(solver, "Eigen")
    assert not hasattr(given, "cv_results_")
    assert given.alpha_ == found.alpha_


def test_centres_are_tuned_as_they_are(table):
    X, y = table[0], table[1][:, 0]
    model = KernelRidge("loo", n_centers=15, random_state=0, tol=1e-9).fit(X, y)
    for alpha in model.cv_results_["param_alpha"][::5]:
        other = KernelRidge(alpha, centers=model.centers_.points, tol=1e-9).fit(X, y)
        error = np.mean(other.loo_residuals_**2)
        assert error >= np.mean(model.loo_residuals_**2) * (1 - 1e-9)
    assert model.solver_ == "CenterGradients"


def test_more_rows_than_an_exact_path_takes_are_estimated(table, monkeypatch):
    X, y = table[0], table[1][:, 0]
    exact = KernelRidge("loo", gamma=2.0).fit(X, y)
    monkeypatch.setattr(_ridge_samples, "EXACT_UP_TO", 200)
    monkeypatch.setattr(_ridge_samples, "MOST_ROWS", 250)
    monkeypatch.setattr(_ridge_samples, "MOST_CENTERS", 80)
    rough = KernelRidge("loo", gamma=2.0, random_state=0).fit(X, y)
    assert rough.cv_results_["n_rows"][0] == 250
    assert rough.alpha_ / exact.alpha_ == pytest.approx(1.0, rel=3.0)
    assert np.isfinite(rough.loo_residuals_).sum() == 250
    assert rough.noise_ == pytest.approx(exact.noise_, rel=0.3)
    matrix = KernelRidge("loo", kernel="precomputed", random_state=0).fit(Gaussian.from_gamma(2.0)(X), y)
    assert matrix.alpha_ == rough.alpha_
    low, high = matrix.predict(Gaussian.from_gamma(2.0)(X), interval=0.8)[1:]
    assert 0.75 < np.mean((low <= y) & (y <= high)) < 0.95


# ---------------------------------------------------------------- the scale


def test_the_scale_found_is_better_than_its_neighbours(table):
    X, y = table[0], table[1][:, 0]
    model = KernelRidge("loo", scale="loo").fit(X, y)
    best = np.mean(model.loo_residuals_**2)
    for factor in (0.5, 0.8, 1.25, 2.0):
        other = KernelRidge("loo", kernel=Gaussian(factor * model.scale_)).fit(X, y)
        assert best < np.mean(other.loo_residuals_**2)
    assert model.function_.kernel == Gaussian(model.scale_)
    assert set(model.cv_results_["param_scale"]) >= {model.scale_}


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_the_scale_follows_the_data(size, table):
    X, y = table[0], table[1][:, 0]
    one, other = (KernelRidge("loo", scale="loo", kernel=Matern(2.5, s)).fit(s * X, y) for s in (1.0, size))
    assert other.scale_ == pytest.approx(size * one.scale_)
    far = KernelRidge("loo", scale="loo").fit(size * X, y)  # from scikit-learn's default of 1
    assert far.score(size * X, y) > 0.95


@pytest.mark.parametrize(
    "kernel", [Laplace(1.0), "chi2", Gaussian([1.0, 2.0]), Gaussian(np.eye(2)), Matern(1.5, "median")]
)
def test_kernels_with_a_scale(kernel, table):
    X, y = table[0] + 1.0, table[1][:, 0]
    model = KernelRidge("loo", alphas=[0.01, 0.1], scale="loo", kernel=kernel).fit(X, y)
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(
        model.predict(X), KernelRidge(model.alpha_, kernel=model.function_.kernel).fit(X, y).predict(X), atol=1e-8
    )


def test_a_fixed_alpha_of_each_target(table):
    model = KernelRidge([0.1, 10.0], scale="loo").fit(*table)
    assert model.alpha_.tolist() == [0.1, 10.0]
    assert set(model.cv_results_["param_alpha"]) == {0.1, 10.0}


def test_rescaled_kernels():
    k = rescaled(2.0 * Gaussian(1.0) + Laplace(3.0) * Linear(), 2.0)
    assert k == 2.0 * Gaussian(2.0) + Laplace(6.0) * Linear()
    assert scale_of(k) == (2.0, 6.0)
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    X = np.random.default_rng(0).standard_normal((5, 2))
    np.testing.assert_allclose(rescaled(Gaussian(A), 3.0)(X), Gaussian(A)(X / 3.0))
    np.testing.assert_allclose(rescaled(Gaussian([1.0, 2.0]), 3.0)(X), Gaussian([1.0, 2.0])(X / 3.0))


def test_line_search_finds_a_far_minimum():
    tried = []

    def value(x):
        tried.append(x)
        return abs(x - 9.3)

    assert coarse(value, 0.0) == 9.0
    assert golden(value, 9.0) == pytest.approx(9.3, abs=0.1)
    assert golden(value, 8.1) == pytest.approx(9.3, abs=0.2)  # the bracket moves
    assert len(tried) < 40
    assert coarse(lambda x: 0.0, 2.0) == 2.0  # of equal ones the start


# ---------------------------------------------------------------- manners


def test_sparse_rows_frames_pipelines_and_searches(table):
    pandas = pytest.importorskip("pandas")
    X, y = np.round(table[0] * 4), table[1][:, 0]
    wanted = KernelRidge("loo", gamma=0.1, intercept="free").fit(X, y)
    for form in (sparse.csr_matrix(X), pandas.DataFrame(X, columns=["a", "b"]), X.astype(np.float32)):
        model = KernelRidge("loo", gamma=0.1, intercept="free").fit(form, y)
        assert model.alpha_ == wanted.alpha_
        np.testing.assert_allclose(model.predict(form), wanted.predict(X), atol=1e-7)
    line = make_pipeline(StandardScaler(), KernelRidge("loo"))
    search = GridSearchCV(line, {"kernelridge__gamma": [0.1, 1.0]}, cv=3).fit(table[0], y)
    assert search.best_score_ > 0.8


@pytest.mark.parametrize("n_centers", [None, 40])
def test_a_deadline_keeps_the_best_so_far(n_centers, table):
    X, y = table[0], table[1][:, 0]
    asked = {"n_centers": n_centers, "random_state": 0, "tol": 1e-6}
    with pytest.warns(ConvergenceWarning, match="at the deadline") as caught:
        model = KernelRidge("loo", scale="loo", deadline=1e-6, **asked).fit(X, y)
    assert len(caught) == 1
    assert len(set(model.cv_results_["param_scale"])) == 1
    assert np.isfinite(model.predict(X)).all()
    if n_centers is None:  # what tuning left is enough for the fit
        assert model.score(X, y) > 0.3
        assert model.certificate_.relative_gap < 1e-6


def test_ctrl_c_keeps_the_best_so_far(table, monkeypatch):
    X, y = table[0], table[1][:, 0]
    calls = []

    def interrupted(*given, **more):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return _ridge_samples_path(*given, **more)

    _ridge_samples_path = _ridge_tuning.leave_one_out
    monkeypatch.setattr(_ridge_tuning, "leave_one_out", interrupted)
    with pytest.warns(ConvergenceWarning, match="tuning was interrupted after"):
        model = KernelRidge("loo", alphas=ALPHAS, scale="loo").fit(X, y)
    assert len(model.cv_results_["params"]) == 4 * len(ALPHAS)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"alpha": "cv"}, r"'alpha' must be a number >= 0, one a target, or 'loo'; got 'cv'"),
        ({"alphas": [1.0]}, r"'alphas' belongs to alpha='loo'; got alphas beside alpha=1.0"),
        ({"alpha": "loo", "alphas": [0.0, 1.0]}, r"'alphas' must be numbers > 0"),
        ({"alpha": "loo", "alphas": []}, r"'alphas' must be a list of numbers > 0"),
        ({"alpha": "loo", "alphas": "many"}, r"'alphas' must be a list of numbers > 0; got 'many'"),
        ({"scale": 2.0}, r"'scale' must be 'loo' or None; got 2.0. Numbers belong in the kernel."),
        ({"scale": "loo", "kernel": "linear"}, r"scale='loo' needs a kernel with a length scale; got Linear\(\)"),
        ({"scale": "loo", "alpha": 0.0}, r"scale='loo' needs alpha > 0; got 0.0"),
    ],
)
def test_refusals(given, message, table):
    with pytest.raises(ValueError, match=f"KernelRidge: {message}"):
        KernelRidge(**given).fit(table[0], table[1][:, 0])


def test_a_gram_matrix_has_no_scale(table):
    K = Gaussian(1.0)(table[0])
    with pytest.raises(ValueError, match="needs a kernel with a length scale; got a Gram matrix"):
        KernelRidge(kernel="precomputed", scale="loo").fit(K, table[1])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(n):
    X = np.arange(float(n)).reshape(-1, 1)
    for intercept in ("free", "none"):
        model = KernelRidge("loo", intercept=intercept).fit(X, X[:, 0])
        assert np.isfinite(model.predict(X)).all()


def test_constant_targets_and_repeated_rows(table):
    X = np.repeat(table[0][:20], 3, axis=0)
    flat = KernelRidge("loo", intercept="free").fit(X, np.full(60, 7.0))
    np.testing.assert_allclose(flat.predict(X), 7.0)
    noisy = KernelRidge("loo", scale="loo").fit(X, np.random.default_rng(0).standard_normal(60))
    assert np.abs(noisy.predict(X)).max() < 2.0


def test_threads_change_no_bit(table):
    X, y = table[0], table[1][:, 0]
    one, two = (KernelRidge("loo", scale="loo", engine=Engine(threads=t)).fit(X, y) for t in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
