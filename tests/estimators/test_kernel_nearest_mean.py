"""KernelNearestMean and ParzenClassifier. Oracles: the formulas in NumPy, explicit feature maps, scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelNearestMean, ParzenClassifier
from mercer.kernels import Gaussian, Laplace, Linear, Polynomial, SetIntersection, Spectrum
from mercer.kernels import exp as exp_of
from mercer.testing import check_machine

MODELS = [
    KernelNearestMean(),
    KernelNearestMean("poly", degree=2, priors="empirical", shrinkage="auto"),
    ParzenClassifier(),
    ParzenClassifier("laplacian", priors="uniform"),
]


@parametrize_with_checks(MODELS)
def test_conventions_of_sklearn(estimator, check):
    check(estimator)


def table(rng, n=150, classes=3, d=3):
    y = rng.integers(0, classes, n)
    return rng.standard_normal((n, d)) + 1.5 * np.eye(d)[y % d], np.array(["a", "b", "c", "d"])[y]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n, classes", [(60, 2), (300, 3)])
def test_laws(model, n, classes):
    X, y = table(np.random.default_rng(n), n, classes)
    check_machine(clone(model), X, y, outputs=lambda fitted, Z: fitted.predict_proba(Z), conventions=False)
    if hasattr(model, "decision_function"):
        check_machine(clone(model), X, y, conventions=False)


# ---------------------------------------------------------------- nearest mean


def means_by_the_formula(K, K_new, y, classes):
    """<phi(x), m_c> and ||m_c||^2, sum by sum."""
    values = np.column_stack([K_new[:, y == c].mean(axis=1) for c in classes])
    return values, np.array([K[np.ix_(y == c, y == c)].mean() for c in classes])


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(3), Laplace(2.0)], ids=repr)
def test_two_classes_by_the_formula(rng, kernel):
    X, y = table(rng, classes=2)
    Z = rng.standard_normal((20, 3))
    model = KernelNearestMean(kernel).fit(X, y)
    values, squares = means_by_the_formula(kernel(X), kernel(Z, X), y, model.classes_)
    b = (squares[0] - squares[1]) / 2
    wanted = values[:, 1] - values[:, 0] + b
    np.testing.assert_allclose(model.decision_function(Z), wanted, atol=1e-11 * np.abs(values).max())
    np.testing.assert_allclose(model.function_(Z) + model.intercept_, wanted, atol=1e-11 * np.abs(values).max())
    assert model.intercept_ == pytest.approx(b)
    assert np.array_equal(model.predict(Z), model.classes_[(wanted > 0).astype(int)])
    for c, center in enumerate(model.centers_):
        assert center.norm() ** 2 == pytest.approx(squares[c])
        np.testing.assert_allclose(center(Z), values[:, c])


def test_against_the_explicit_feature_map_of_polynomial_kernels(rng):
    X, y = table(rng, classes=4, d=4)
    Z = rng.standard_normal((30, 4))

    def features(X):  # (1 + x'z)^2 has the mixed products and the x_j twice
        expansion = PolynomialFeatures(2).fit(X)
        twice = [np.sqrt(2.0) if (p > 0).sum() == 2 or p.sum() == 1 else 1.0 for p in expansion.powers_]
        return expansion.transform(X) * np.array(twice)

    assert np.allclose(features(X) @ features(X).T, Polynomial(2)(X))
    model = KernelNearestMean(Polynomial(2)).fit(X, y)
    means = np.stack([features(X)[y == c].mean(axis=0) for c in model.classes_])
    apart = ((features(Z)[:, None] - means) ** 2).sum(axis=2)
    assert np.array_equal(model.predict(Z), model.classes_[apart.argmin(axis=1)])
    scores = model.decision_function(Z)
    np.testing.assert_allclose(np.diff(scores, axis=1), -np.diff(apart, axis=1) / 2, atol=1e-10 * apart.max())


@pytest.mark.peer
def test_a_linear_kernel_is_the_nearest_centroid(rng):
    X, y = table(rng, 200)
    Z = rng.standard_normal((100, 3))
    ours, theirs = KernelNearestMean("linear").fit(X, y), NearestCentroid().fit(X, y)
    assert np.array_equal(ours.predict(Z), theirs.predict(Z))
    np.testing.assert_allclose([f.weights() for f in ours.centers_], theirs.centroids_)


@pytest.mark.peer
def test_priors_are_those_of_discriminant_analysis_of_one_variance(rng):
    X = rng.standard_normal((400, 2))
    y = (rng.random(400) < 0.2).astype(int)
    X[:, 0] += 2.0 * y
    X[:, 1] = 0.0  # so that all variance is along the difference of means
    ours = KernelNearestMean("linear", priors="empirical").fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", priors=[np.mean(y == 0), np.mean(y == 1)]).fit(X[:, :1], y)
    x = np.linspace(-3, 5, 200)[:, None]
    ours_p = ours.predict_proba(np.hstack([x, 0 * x]))
    np.testing.assert_allclose(ours_p, theirs.predict_proba(x), atol=1e-6)
    assert np.array_equal(ours_p.argmax(axis=1), ours.predict(np.hstack([x, 0 * x])))
    given = KernelNearestMean("linear", priors=ours.priors_).fit(X, y)
    np.testing.assert_allclose(given.predict_proba(X), ours.predict_proba(X))


def test_shrinkage(rng):
    X, y = table(rng, 90)
    Z = rng.standard_normal((10, 3))
    kernel = Gaussian(1.0)
    overall = kernel(Z, X).mean(axis=1)
    plain = KernelNearestMean(kernel).fit(X, y)
    drawn = KernelNearestMean(kernel, shrinkage=0.25).fit(X, y)
    for a, b in zip(plain.centers_, drawn.centers_, strict=True):
        np.testing.assert_allclose(b(Z), 0.75 * a(Z) + 0.25 * overall)
    alone = KernelNearestMean(kernel, shrinkage="auto").fit(X[:6], y[:6])
    m = [KernelNearestMean(kernel).fit(X[:6], y[:6]).centers_, alone.centers_]
    mean = sum((np.mean(y[:6] == c) * f for c, f in zip(alone.classes_, m[0], strict=True)), 0)
    for a, b in zip(*m, strict=True):
        assert 0.0 < b.distance(mean) < a.distance(mean)


# ---------------------------------------------------------------- Parzen


@pytest.mark.peer
@pytest.mark.parametrize("priors", ["empirical", "uniform"])
def test_parzen_is_bayes_with_kernel_densities(rng, priors):
    X, y = table(rng, 120)
    Z = rng.standard_normal((40, 3))
    w = rng.integers(1, 4, len(X)).astype(float)
    model = ParzenClassifier(Gaussian.from_length_scale(0.5), priors=priors).fit(X, y, w)
    log_p = np.log([w[y == c].sum() / w.sum() if priors == "empirical" else 1 / 3 for c in model.classes_])
    each = [KernelDensity(bandwidth=0.5).fit(X[y == c], sample_weight=w[y == c]) for c in model.classes_]
    joint = np.column_stack([kde.score_samples(Z) for kde in each]) + log_p
    wanted = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(Z), wanted, atol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(Z), np.log(wanted), atol=1e-7)
    assert np.array_equal(model.predict(Z), model.classes_[joint.argmax(axis=1)])


def test_parzen_is_the_nearest_mean_for_equal_priors_and_norms(rng):
    A = rng.standard_normal((80, 2)) + np.array([1.0, 0.5])
    X, y = np.vstack([A, -A]), np.repeat([1, 0], 80)  # a kernel of differences gives both means one norm
    Z = rng.standard_normal((300, 2))
    for kernel in (Gaussian(0.7), Laplace(1.0)):
        mean, parzen = KernelNearestMean(kernel).fit(X, y), ParzenClassifier(kernel).fit(X, y)
        assert mean.intercept_ == pytest.approx(0.0, abs=1e-14)
        assert np.array_equal(mean.predict(Z), parzen.predict(Z))
        f = np.exp(parzen.predict_joint_log_proba(Z)) / 0.5
        np.testing.assert_allclose(f[:, 1] - f[:, 0], mean.decision_function(Z), atol=1e-14)
    X[80:] *= 0.5  # now the norms differ, and so do the machines
    mean, parzen = KernelNearestMean(kernel).fit(X, y), ParzenClassifier(kernel).fit(X, y)
    assert (mean.predict(Z) != parzen.predict(Z)).any()


@pytest.mark.parametrize("n", [50, 400])
def test_points_far_from_all_windows(rng, n):
    X = rng.standard_normal((n, 2))
    y = (X[:, 0] > 0).astype(int)
    model = ParzenClassifier(Gaussian(0.1)).fit(X, y)
    Z = np.array([[100.0, 0.0], [-100.0, 0.0], [1e4, 5.0]])
    assert model.predict(Z).tolist() == [1, 0, 1]
    assert np.isfinite(model.predict_log_proba(Z)[[0, 1, 2], [1, 0, 1]]).all()
    sets = ParzenClassifier(exp_of(SetIntersection())).fit([{1, 2}, {2, 3}, {8, 9}, {9}], [0, 0, 1, 1])
    assert sets.predict([{1, 2, 3}, {8, 9}]).tolist() == [0, 1]
    nothing = ParzenClassifier(SetIntersection(), priors=[0.3, 0.7]).fit([{1}, {2}], [0, 1])
    np.testing.assert_allclose(nothing.predict_proba([{5}]), [[0.3, 0.7]])


def test_windows_below_zero_are_refused(rng):
    X, y = table(rng, 60, 2)
    with pytest.raises(ValueError, match=r"windows must be >= 0; got a mean of -.*KernelNearestMean"):
        ParzenClassifier("linear").fit(X, y).predict(-3 * X)


# ---------------------------------------------------------------- both


@pytest.mark.parametrize("Machine", [KernelNearestMean, ParzenClassifier])
def test_tables_sets_strings_and_matrices(Machine, rng):
    X, y = table(rng, 80, 2)
    Z = rng.standard_normal((9, 3))
    kernel = Gaussian(1.2)
    model = Machine(kernel).fit(X, y)
    given = Machine("precomputed").fit(kernel(X), y)
    np.testing.assert_allclose(given.predict_proba(kernel(Z, X)), model.predict_proba(Z))
    assert getattr(given, "centers_", None) is None
    sparse_X = sparse.csr_matrix(np.where(np.abs(X) < 0.7, 0.0, X))
    from_sparse, dense = Machine(kernel).fit(sparse_X, y), Machine(kernel).fit(sparse_X.toarray(), y)
    np.testing.assert_allclose(from_sparse.predict_proba(sparse_X), dense.predict_proba(sparse_X.toarray()))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = Machine(Linear().on("a") * Linear().on("a") + Gaussian(1.0).on(["b", "c"])).fit(frame, y)
    assert named.predict(frame).shape == (80,)
    words = ["kernel", "kernels", "kernell", "banana", "bananas", "bannana"]
    strings = Machine(Spectrum(2)).fit(words, [0, 0, 0, 1, 1, 1])
    assert strings.predict(["bananana", "kern"]).tolist() == [1, 0]
    piped = make_pipeline(StandardScaler(), Machine())
    search = GridSearchCV(piped, {f"{Machine.__name__.lower()}__gamma": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    with pytest.raises(ValueError, match="must be a square matrix"):
        Machine("precomputed").fit(kernel(X)[:10], y[:10])


@pytest.mark.parametrize("Machine", [KernelNearestMean, ParzenClassifier])
def test_a_class_without_weight_is_absent(Machine, rng):
    X, y = table(rng, 90)
    w = np.where(y == "b", 0.0, 1.0)
    model, without = Machine().fit(X, y, w), Machine().fit(X[y != "b"], y[y != "b"])
    assert model.classes_.tolist() == ["a", "c"]
    np.testing.assert_allclose(model.predict_proba(X), without.predict_proba(X))
    with pytest.raises(ValueError, match="at least two classes among rows with a weight"):
        Machine().fit(X, y, np.where(y == "a", 1.0, 0.0))


@pytest.mark.parametrize("Machine", [KernelNearestMean, ParzenClassifier])
@pytest.mark.parametrize("priors", [[0.5, 0.5], [1.0, -1.0, 1.0], "equal", None, [1.0, np.nan, 1.0]])
def test_priors_are_checked(Machine, priors, rng):
    X, y = table(rng, 60)
    with pytest.raises(ValueError, match="'priors' must be 'uniform', 'empirical' or 3 positive numbers"):
        Machine(priors=priors).fit(X, y)


@pytest.mark.parametrize("shrinkage", [1.0, -0.1, "james", None])
def test_shrinkage_is_checked(shrinkage, rng):
    X, y = table(rng, 60)
    with pytest.raises(ValueError, match="'shrinkage' must be a number from 0 to below 1, or 'auto'"):
        KernelNearestMean(shrinkage=shrinkage).fit(X, y)


def test_awkward_data():
    X, y = make_circles(60, factor=0.3, random_state=0)
    for scale in (1e-8, 1e8):
        for Machine in (KernelNearestMean, ParzenClassifier):
            model = Machine(Gaussian("median")).fit(scale * X, y)
            assert np.isfinite(model.predict_proba(scale * X)).all()
    same = KernelNearestMean(priors=[0.2, 0.8]).fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])
    assert same.variance_ == 0.0
    assert np.isfinite(same.predict_proba(np.ones((1, 2)))).all()
    points = KernelNearestMean().fit([[0.0], [1.0]], [0, 1])
    assert points.predict([[0.2], [0.9]]).tolist() == [0, 1]
