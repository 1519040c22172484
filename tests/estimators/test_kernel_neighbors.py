"""KernelNeighborsClassifier and KernelNeighborsRegressor. Oracles: scikit-learn's neighbours, sums by loops."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.kernels import Gaussian, Laplace, Linear, Polynomial, SetIntersection, Spectrum
from mercer.testing import check_machine

MODELS = [
    KernelNeighborsClassifier(),
    KernelNeighborsClassifier(3, weights="distance", kernel="poly", degree=2),
    KernelNeighborsRegressor(),
    KernelNeighborsRegressor(4, weights="kernel", algorithm="tree"),
]


@parametrize_with_checks(MODELS)
def test_conventions_of_sklearn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n", [60, 300])
def test_laws(model, n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 3))
    y = (X[:, 0] > 0.3 * rng.standard_normal(n)).astype(int) if hasattr(model, "predict_proba") else np.sin(X[:, 0])
    outputs = (lambda f, Z: f.predict_proba(Z)) if hasattr(model, "predict_proba") else None
    # a kernel of inner products leaves squared distances of 0 with the rounding of k(x, x)
    rtol = 1e-5 if model.weights == "distance" else 1e-8
    check_machine(clone(model), X, y, outputs=outputs, conventions=False, rtol=rtol)


@pytest.mark.peer
@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
@pytest.mark.parametrize("d", [2, 20])
def test_a_linear_kernel_is_as_sklearn(weights, d, rng):
    X, Z = rng.standard_normal((400, d)), rng.standard_normal((60, d))
    y, Y = rng.integers(0, 4, 400), rng.standard_normal((400, 2))
    ours = KernelNeighborsClassifier(7, weights=weights, kernel="linear").fit(X, y)
    theirs = KNeighborsClassifier(7, weights=weights, algorithm="brute").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(Z), theirs.predict_proba(Z), atol=1e-9)
    assert np.array_equal(ours.predict(Z), theirs.predict(Z))
    for got, wanted in zip(ours.kneighbors(Z), theirs.kneighbors(Z), strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-7)
    ours = KernelNeighborsRegressor(7, weights=weights, kernel="linear").fit(X, Y)
    theirs = KNeighborsRegressor(7, weights=weights, algorithm="brute").fit(X, Y)
    np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), atol=1e-9)


@pytest.mark.peer
@pytest.mark.parametrize("kernel, p", [(Gaussian(0.01), 2), (Laplace(0.1), 1)], ids=repr)
def test_falling_kernels_find_the_nearest_even_where_they_are_zero(kernel, p, rng):
    X, Z, y = rng.standard_normal((1500, 3)), 5 * rng.standard_normal((50, 3)), rng.integers(0, 3, 1500)
    theirs = KNeighborsClassifier(5, p=p, algorithm="brute").fit(X, y)
    for algorithm in ("auto", "tree", "tiles"):
        ours = KernelNeighborsClassifier(5, kernel=kernel, algorithm=algorithm).fit(X, y)
        assert np.array_equal(ours.kneighbors(Z, return_distance=False), theirs.kneighbors(Z, return_distance=False))
        assert np.array_equal(ours.predict(Z), theirs.predict(Z))


def test_weights_of_rows_count_neighbours(rng):
    X, y = rng.standard_normal((50, 2)), rng.standard_normal(50)
    w = rng.uniform(0.1, 2.5, 50) * (rng.random(50) < 0.8)
    Z = rng.standard_normal((20, 2))
    model = KernelNeighborsRegressor(6, weights="kernel", kernel=Gaussian(1.0)).fit(X, y, w)
    for z, got in zip(Z, model.predict(Z), strict=True):
        left, total, mass = 6.0, 0.0, 0.0
        for i in np.argsort(((X - z) ** 2).sum(axis=1)):
            share = min(w[i], left) * np.exp(-((X[i] - z) ** 2).sum())
            left, total, mass = left - min(w[i], left), total + share * y[i], mass + share
        assert got == pytest.approx(total / mass)
    with pytest.raises(ValueError, match="n_neighbors=6 and n_samples=3"):
        model.fit(X, y, np.eye(50)[0] * 3)


def test_tables_sets_strings_and_matrices(rng):
    X, Z = rng.standard_normal((80, 3)), rng.standard_normal((9, 3))
    y = (X[:, 0] > 0).astype(int)
    for kernel in (Gaussian(1.2), Polynomial(2)):
        model = KernelNeighborsClassifier(3, weights="kernel", kernel=kernel**2).fit(X, y)
        given = KernelNeighborsClassifier(3, weights="kernel", kernel="precomputed").fit((kernel**2)(X), y)
        K = (kernel**2)(Z, X)
        np.testing.assert_allclose(given.predict_proba(K), model.predict_proba(Z))
        assert np.array_equal(given.kneighbors(K, return_distance=False), model.kneighbors(Z, return_distance=False))
    with pytest.raises(ValueError, match="distances from a precomputed matrix need"):
        given.kneighbors(K)
    with pytest.raises(ValueError, match="weights by distance need"):
        KernelNeighborsClassifier(3, weights="distance", kernel="precomputed").fit(np.eye(80), y)
    few = sparse.csr_matrix(np.where(np.abs(X) < 0.7, 0.0, X))
    from_sparse, dense = (KernelNeighborsRegressor(3).fit(A, X[:, 0]) for A in (few, few.toarray()))
    np.testing.assert_allclose(from_sparse.predict(few), dense.predict(few.toarray()))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = KernelNeighborsRegressor(3, kernel=Gaussian(1.0).on(["b", "c"])).fit(frame, X[:, 0])
    plain = KernelNeighborsRegressor(3, kernel=Gaussian(1.0)).fit(X[:, 1:], X[:, 0])
    np.testing.assert_allclose(named.predict(frame), plain.predict(X[:, 1:]))
    words = ["kernel", "kernels", "kernell", "banana", "bananas", "bannana"]
    strings = KernelNeighborsClassifier(3, kernel=Spectrum(2)).fit(words, [0, 0, 0, 1, 1, 1])
    assert strings.predict(["bananana", "kern"]).tolist() == [1, 0]
    sets = KernelNeighborsClassifier(1, kernel=SetIntersection()).fit([{1, 2}, {8, 9}], [0, 1])
    assert sets.predict([{1}, {9}]).tolist() == [0, 1]
    search = GridSearchCV(make_pipeline(StandardScaler(), KernelNeighborsClassifier()), {
        "kernelneighborsclassifier__n_neighbors": [1, 9]}, cv=3).fit(X, y)  # fmt: skip
    assert search.best_score_ > 0.7


@pytest.mark.parametrize(
    "options, message",
    [
        ({"n_neighbors": 0}, "'n_neighbors' must be an integer >= 1"),
        ({"n_neighbors": 11}, "'n_neighbors' must be at most the number of training points"),
        ({"weights": "votes"}, "'weights' must be one of 'uniform', 'distance', 'kernel'"),
        ({"algorithm": "ball"}, "'algorithm' must be one of 'auto', 'tiles', 'tree'"),
        ({"algorithm": "tree", "kernel": Linear()}, "a tree needs a kernel that falls"),
        ({"kernel": "sigmoid"}, "is not a kernel"),
    ],
)
def test_refusals(options, message, rng):
    with pytest.raises(ValueError, match=message):
        KernelNeighborsRegressor(**options).fit(rng.standard_normal((10, 2)), np.arange(10.0))


def test_refusals_of_weights(rng):
    X = rng.standard_normal((10, 2))
    with pytest.raises(ValueError, match="weights by the kernel must be >= 0"):
        KernelNeighborsRegressor(9, weights="kernel", kernel="linear").fit(X, X[:, 0]).predict(X)
    with pytest.raises(ValueError, match="'weights' must return finite numbers >= 0 of shape"):
        KernelNeighborsRegressor(2, weights=lambda d: -d).fit(X, X[:, 0]).predict(X + 0.1)
    with pytest.raises(ValueError, match="n_neighbors=11 and n_samples=10"):
        KernelNeighborsRegressor(2).fit(X, X[:, 0]).kneighbors(X, 11)
