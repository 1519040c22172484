"""KernelRidge against scikit-learn's, and the laws it keeps."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge as Theirs
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from mercer import Engine, KernelRidge
from mercer.kernels import Gaussian, Laplace, Linear, SetIntersection, Spectrum
from mercer.kernels import exp as exponential
from mercer.testing import check_machine

MODELS = [
    KernelRidge(),
    KernelRidge(alpha=0.1, kernel="poly", degree=2, intercept="free"),
    KernelRidge(alpha=0.0, kernel="linear"),
    KernelRidge(kernel=0.5 * Gaussian(scale="median") + Linear(), solver="cg", tol=1e-12),
    KernelRidge(solver="eigen", engine=Engine(threads=1)),
    KernelRidge(alpha=0.1, n_centers=90, intercept="free", tol=1e-11),
]
KERNELS = {
    "linear": {},
    "poly": {"degree": 2, "gamma": 0.3, "coef0": 1.5},
    "polynomial": {"coef0": 0.0},
    "rbf": {"gamma": 0.4},
    "laplacian": {"gamma": 0.2},
    "chi2": {"gamma": 0.7},
    "cosine": {},
}


@pytest.fixture(scope="module")
def table():
    """300 rows, past what NumPy evaluates by itself, with two targets."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0.1, 2.0, (300, 3))
    return X, np.column_stack([np.sin(3 * X[:, 0]) + X[:, 1], X[:, 2] ** 2 + 0.1 * rng.standard_normal(300)])


def close(got, wanted, rtol=1e-8):
    np.testing.assert_allclose(got, wanted, rtol=0, atol=rtol * np.abs(wanted).max())


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
def test_laws(model, table):
    # one random draw of pivots more or less changes what conjugate gradients leave undone: within the tolerance
    rtol = 1e-7 if model.alpha == 0 or model.solver == "cg" else 1e-8
    check_machine(model.set_params(random_state=0), table[0], table[1][:, 0], conventions=False, rtol=rtol)


# ---------------------------------------------------------------- peer


@pytest.mark.peer
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_as_sklearn(kernel, weighted, table):
    X, Y = table
    w = np.random.default_rng(2).uniform(0.2, 3.0, len(X)) if weighted else None
    given = {"kernel": kernel, "alpha": 0.3} | KERNELS[kernel]
    ours, theirs = KernelRidge(**given).fit(X, Y, w), Theirs(**given).fit(X, Y, w)
    close(ours.predict(X[:50] + 0.01), theirs.predict(X[:50] + 0.01))
    # a rank of 4 among 300 rows leaves both coefficients with the rounding of K over alpha
    close(ours.dual_coef_, theirs.dual_coef_, 1e-6 if kernel in ("linear", "poly") else 1e-8)
    assert ours.score(X, Y) == pytest.approx(theirs.score(X, Y), abs=1e-9)


@pytest.mark.peer
def test_as_sklearn_with_an_alpha_per_target_and_a_gram_matrix(table):
    X, Y = table
    alphas = np.array([0.1, 2.0])
    K = Gaussian(1.3)(X)
    ours, theirs = KernelRidge(alphas, kernel="precomputed").fit(K, Y), Theirs(alphas, kernel="precomputed").fit(K, Y)
    close(ours.predict(K[:9]), theirs.predict(K[:9]))
    assert ours.function_ is None
    each = [KernelRidge(a, kernel=Gaussian(1.3)).fit(X, y).predict(X[:9]) for a, y in zip(alphas, Y.T, strict=True)]
    close(ours.predict(K[:9]), np.column_stack(each))


@pytest.mark.peer
def test_positional_alpha_and_a_function_of_two_rows(table):
    X, Y = table[0][:60], table[1][:60]

    def bump(x, z, width):
        return float(np.exp(-np.abs(x - z).sum() / width))

    ours = KernelRidge(0.5, kernel=bump, kernel_params={"width": 2.0}).fit(X, Y)
    theirs = Theirs(0.5, kernel=bump, kernel_params={"width": 2.0}).fit(X, Y)
    close(ours.predict(X), theirs.predict(X))
    close(ours.predict(X), KernelRidge(0.5, kernel=Laplace(2.0)).fit(X, Y).predict(X))


# ---------------------------------------------------------------- what it is for


@pytest.mark.parametrize("solver", ["cholesky", "cg", "eigen"])
@pytest.mark.parametrize("intercept", ["none", "free"])
def test_solvers_agree_within_their_certificates(solver, intercept, table):
    X, Y = table
    exact = KernelRidge(0.01, gamma=1.0, intercept=intercept, engine=Engine(precision="double")).fit(X, Y)
    other = KernelRidge(0.01, gamma=1.0, intercept=intercept, solver=solver, tol=1e-11, random_state=0).fit(X, Y)
    bound = exact.certificate_.prediction_bound(X) + other.certificate_.prediction_bound(X)
    assert (np.abs(exact.predict(X) - other.predict(X)) <= bound).all()
    close(other.predict(X), exact.predict(X))


def test_a_free_intercept_is_free(table):
    X, y = table[0], table[1][:, 0]
    model = KernelRidge(10.0, gamma=1.0, intercept="free").fit(X, y)
    raised = clone(model).fit(X, y + 1e3)
    close(raised.predict(X), model.predict(X) + 1e3)
    assert abs(model.dual_coef_.sum()) < 1e-9 * np.abs(model.dual_coef_).sum()
    assert KernelRidge(1e12, gamma=1.0, intercept="free").fit(X, y).predict(X[:1])[0] == pytest.approx(y.mean())


def test_least_squares_of_minimum_norm_on_repeated_rows(table):
    X, y = table[0][:40], table[1][:40, 0]
    twice = np.vstack([X, X])
    model = KernelRidge(0.0, gamma=1.0).fit(twice, np.concatenate([y - 0.1, y + 0.1]))
    close(model.predict(X), y, 1e-5)
    assert model.solver_ == "Eigen"
    assert model.solution_.stats["rank"] <= 40
    close(model.dual_coef_[:40], model.dual_coef_[40:], 1e-4)


def test_frames_sparse_rows_single_precision_and_integers(table):
    pandas = pytest.importorskip("pandas")
    X, y = np.round(table[0] * 4), table[1][:, 0]
    wanted = KernelRidge(0.5, gamma=0.1).fit(X, y).predict(X)
    frame = pandas.DataFrame(X, columns=list("abc"))
    for form in (frame, sparse.csr_matrix(X), sparse.csc_matrix(X), X.astype(np.float32), X.astype(int), X.tolist()):
        close(KernelRidge(0.5, gamma=0.1).fit(form, y).predict(form), wanted)
    fitted = KernelRidge(0.5, kernel=Gaussian(1.0).on(["a"]) + Linear().on(["b", "c"])).fit(frame, y)
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["c", "b", "a"]])


def test_strings_and_sets():
    words = ["acgt" * k + "tt" for k in range(1, 9)]
    lengths = np.array([len(w) for w in words], dtype=float)
    assert KernelRidge(1e-6, kernel=Spectrum(2)).fit(words, lengths).score(words, lengths) > 0.99
    baskets = [{"a"}, {"a", "b"}, {"a", "b", "c"}, {"b"}]
    model = KernelRidge(1e-6, kernel=exponential(SetIntersection()), intercept="free").fit(baskets, [1, 2, 3, 1])
    assert model.predict([{"a", "c", "b"}])[0] == pytest.approx(3.0, abs=1e-3)


def test_pipelines_searches_clone_and_pickle():
    X, y = load_diabetes(return_X_y=True)
    line = make_pipeline(StandardScaler(), KernelRidge(1.0, gamma=0.02, intercept="free"))
    assert cross_val_score(line, X, y, cv=3).mean() > 0.4
    search = GridSearchCV(
        KernelRidge(kernel=2.0 * Gaussian(1.0), intercept="free"),
        {"kernel__kernel__scale": [0.1, 0.3], "alpha": [0.1, 1.0]}, cv=3,
    )  # fmt: skip
    search.fit(X[:200], y[:200])
    assert search.best_score_ > 0.3
    model = search.best_estimator_
    assert clone(model).get_params()["kernel"] == model.kernel
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X[:5]), model.predict(X[:5]))


# ---------------------------------------------------------------- centres


@pytest.mark.parametrize("method", ["uniform", "k-means++", "rpcholesky"])
def test_centers_follow_the_points_not_the_order_of_the_rows(method, table):
    X, Y = table
    model = KernelRidge(0.1, gamma=0.5, n_centers=30, centers=method, tol=1e-10, random_state=3)
    first = model.fit(X, Y).predict(X)
    assert model.centers_.method == method
    assert model.X_fit_.shape == (30, 3)
    assert model.dual_coef_.shape == (30, 2)
    assert model.solver_ == "CenterGradients"
    rows = np.random.default_rng(0).permutation(len(X))
    close(clone(model).fit(X[rows], Y[rows]).predict(X), first)
    w = np.ones(len(X))
    w[::4], w[1::4] = 2.0, 0.0
    literally = np.repeat(np.arange(len(X)), w.astype(int))
    weighted, repeated = clone(model).fit(X, Y, w), clone(model).fit(X[literally], Y[literally])
    close(weighted.predict(X), repeated.predict(X))
    assert (w[weighted.centers_.indices] > 0).all()
    for form in (sparse.csr_matrix(X), X.tolist()):
        close(clone(model).fit(form, Y).predict(form), first)


def test_all_rows_as_centers_are_the_exact_problem(table):
    X, y = table[0][:120], table[1][:120, 0]
    exact = KernelRidge(0.5, gamma=1.0, intercept="free").fit(X, y)
    for given in ({"n_centers": 120}, {"n_centers": 500}):
        assert KernelRidge(0.5, gamma=1.0, intercept="free", **given).fit(X, y).centers_ is None
    on_all = KernelRidge(0.5, gamma=1.0, intercept="free", centers=X, tol=1e-11, certify="full").fit(X, y)
    assert on_all.solver_ == "CenterGradients"
    bound = exact.certificate_.prediction_bound(X) + on_all.certificate_.prediction_bound(X)
    assert (np.abs(exact.predict(X) - on_all.predict(X)) <= bound).all()
    close(on_all.predict(X), exact.predict(X), 1e-6)


def test_centers_of_a_gram_matrix_are_positions(table):
    X, y = table[0], table[1][:, 0]
    K = Gaussian(1.3)(X)
    rows = np.arange(0, 300, 10)
    wanted = KernelRidge(0.1, kernel=Gaussian(1.3), centers=X[rows], tol=1e-10).fit(X, y)
    given = KernelRidge(0.1, kernel="precomputed", centers=rows, tol=1e-10).fit(K, y)
    close(given.predict(K[:50]), wanted.predict(X[:50]))
    drawn = KernelRidge(0.1, kernel="precomputed", n_centers=40, random_state=0).fit(K, y)
    assert len(drawn.dual_coef_) == len(np.unique(drawn.centers_.indices)) == 40


def test_what_is_certified_is_a_choice(table):
    X, y = table[0], table[1][:, 0]
    proofs = {c: KernelRidge(0.1, n_centers=20, certify=c, random_state=0).fit(X, y).certificate_ for c in
              ("auto", "full", "none")}  # fmt: skip
    assert proofs["none"] is None
    assert proofs["full"].scope.startswith("all functions of the space")
    assert proofs["full"].prediction_bound(X).shape == (300,)


@pytest.mark.parametrize(
    "given, words",
    [
        ({"n_centers": 0}, "'n_centers' must be an integer >= 1; got 0"),
        ({"centers": "best"}, "'centers' must be one of 'uniform', 'k-means\\+\\+', 'rpcholesky'; got 'best'"),
        ({"centers": np.ones((2, 5))}, "features"),
        ({"centers": np.ones((2, 3)), "n_centers": 3}, "'n_centers' must be None where the centres are given; got 3"),
        ({"n_centers": 9, "solver": "cholesky"}, "Cholesky takes no centres"),
        ({"certify": True}, "'certify' must be one of 'auto', 'full', 'none'; got True"),
    ],
)
def test_bad_centers_are_refused(given, words, table):
    with pytest.raises(ValueError, match=words):
        KernelRidge(**given).fit(*table)


# ---------------------------------------------------------------- when it does not get there


def test_a_deadline_keeps_the_best_model_with_its_certificate(table):
    X, y = table[0], table[1][:, 0]
    hard = KernelRidge(1e-8, gamma=0.1, solver="cg", tol=1e-12, deadline=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        model = hard.fit(X, y)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert text.startswith("KernelRidge did not reach tol=1e-12: residual ")
    assert "stopped at the deadline. Raise deadline or alpha, or scale X." in text
    exact = KernelRidge(1e-8, gamma=0.1, solver="eigen").fit(X, y)
    off = np.abs(model.predict(X) - exact.predict(X))
    assert (off <= model.certificate_.prediction_bound(X) + exact.certificate_.prediction_bound(X)).all()


def test_the_warning_names_the_tolerance_of_the_solver(table):
    X, y = table[0], table[1][:, 0]
    with pytest.warns(ConvergenceWarning, match=r"KernelRidge did not reach tol=0.001: residual "):
        KernelRidge(1e-6, gamma=0.1, solver="cg", deadline=1e-9, random_state=0).fit(X, y)


def test_huge_and_tiny_data(table):
    X, y = table[0], table[1][:, 0]
    wanted = KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, y).predict(X)
    for size in (1e-150, 1e150):
        got = KernelRidge(0.1, kernel=Gaussian(size)).fit(size * X, y).predict(size * X)
        close(got, wanted)
        close(KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, size * y).predict(X) / size, wanted)


def test_one_row_and_constant_targets():
    assert KernelRidge(1.0).fit([[1.0]], [4.0]).predict([[1.0]])[0] == pytest.approx(2.0)
    flat = KernelRidge(1.0, intercept="free").fit([[1.0], [2.0]], [4.0, 4.0])
    close(flat.predict([[9.0]]), np.array([4.0]))
