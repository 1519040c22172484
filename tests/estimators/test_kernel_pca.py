"""KernelPCA against scikit-learn's, both solvers, weights, pre-images; kernelize by its laws."""

import warnings

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Theirs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

from mercer import KernelNearestMean, KernelPCA, gram, kernelize
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.solvers import principal
from mercer.testing import check_machine

MODELS = [KernelPCA(), KernelPCA(2, kernel="poly", degree=2), KernelPCA(2, eigen_solver="randomized", random_state=0)]


@pytest.fixture(scope="module", name="X")
def points():
    return np.random.default_rng(0).standard_normal((300, 4)) @ np.diag([3.0, 2.0, 1.0, 0.3])


def like(A, B, tol=1e-9):
    np.testing.assert_allclose(np.abs(A), np.abs(B), atol=tol * np.abs(B).max())


@pytest.mark.parametrize(
    "model, check",
    [
        pytest.param(model, check, id=f"{i}-{check.func.__name__}")
        for i, each in enumerate(MODELS)
        for model, check in estimator_checks_generator(each)
        if check.func.__name__ != "check_array_api_input"
    ],
)
def test_conventions_of_sklearn(model, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(model)


def test_laws(X):
    check_machine(KernelPCA(3, gamma=0.1), X[:80], conventions=False, rtol=1e-7)
    check_machine(KernelPCA(3, gamma=0.1, eigen_solver="randomized", random_state=0), X, conventions=False, rtol=1e-5)


@pytest.mark.peer
@pytest.mark.parametrize("given", [{"kernel": "rbf", "gamma": 0.1}, {"kernel": "poly", "degree": 2, "gamma": 0.3}])
@pytest.mark.parametrize("solver", ["dense", "randomized"])
def test_as_sklearn(X, given, solver):
    ours = KernelPCA(4, eigen_solver=solver, random_state=0, **given).fit(X)
    theirs = Theirs(4, eigen_solver="dense", **given).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    like(ours.transform(X[:20] + 0.1), theirs.transform(X[:20] + 0.1), 1e-6)


@pytest.mark.peer
def test_with_a_linear_kernel_it_is_pca_and_goes_back(X):
    ours, theirs = KernelPCA(4, kernel="linear").fit(X), PCA(4).fit(X)
    like(ours.transform(X), theirs.transform(X))
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X[:30])), X[:30], atol=1e-5)
    assert KernelPCA(kernel="linear").fit(X).eigenvalues_.shape == (4,)


def test_components_are_orthonormal_functions(X):
    found = principal(gram(Gaussian(2.0), X), 3)
    K = np.asarray(Gaussian(2.0)(X))
    centre = np.eye(300) - 1 / 300
    inner = found.coefficients.T @ centre @ K @ centre @ found.coefficients
    np.testing.assert_allclose(inner, np.eye(3), atol=1e-9)
    assert (found.residual < 1e-10).all()
    exact = np.linalg.eigvalsh(centre @ K @ centre)[::-1]
    assert found.missed >= exact[3]
    many = principal(gram(Gaussian(2.0), X), 3, solver="randomized", random_state=1)
    assert (np.abs(many.values - exact[:3]) <= many.residual + 1e-9).all()
    assert many.missed >= exact[3] - 1e-9
    assert "% of the variance" in str(many)


def test_pre_images_take_noise_away():
    rng = np.random.default_rng(0)
    turn = rng.uniform(0, 2 * np.pi, 200)
    ring = np.column_stack([np.cos(turn), np.sin(turn)])
    noisy = ring + 0.1 * rng.standard_normal(ring.shape)
    pca = KernelPCA(4, gamma=1.0).fit(noisy)
    back = pca.inverse_transform(pca.transform(noisy))
    assert np.linalg.norm(back, axis=1).std() < 0.5 * np.linalg.norm(noisy, axis=1).std()


def test_a_gram_matrix_strings_and_a_deadline(X):
    K = np.asarray(Gaussian(2.0)(X))
    like(KernelPCA(2, kernel="precomputed").fit_transform(K), KernelPCA(2, kernel=Gaussian(2.0)).fit_transform(X), 1e-8)
    words = ["acgt" * 4, "ttga" * 4, "acga" * 3, "tttt"]
    assert KernelPCA(2, kernel=Spectrum(2)).fit_transform(words).shape == (4, 2)
    with pytest.warns(ConvergenceWarning, match="KernelPCA did not reach tol=1e-12"):
        KernelPCA(2, gamma=5.0, eigen_solver="randomized", tol=1e-12, deadline=1e-9).fit(X)


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda X: KernelPCA(0).fit(X), "'n_components' must be an integer >= 1"),
        (lambda X: KernelPCA(eigen_solver="arpack").fit(X), "'eigen_solver' must be one of"),
        (lambda X: KernelPCA(2).fit(X).inverse_transform(np.ones((2, 3))), "must have 2 columns"),
        (lambda X: KernelPCA(2, kernel="precomputed").fit(X @ X.T).inverse_transform(np.ones((2, 2))), "dense table"),
        (lambda X: kernelize(lambda G: np.ones(3)).fit(X), "must return 300 finite coefficients"),
        (lambda X: kernelize(lambda G: (np.ones((300, 2)), np.ones(3))).fit(X), "one b"),
        (lambda X: kernelize(3).fit(X), "a function of a Gram matrix"),
    ],
)
def test_refusals(X, call, match):
    with pytest.raises(ValueError, match=match):
        call(X)


# ---------------------------------------------------------------- kernelize


def nearest_mean(G, y):
    a = np.column_stack([(y == c) / (y == c).sum() for c in np.unique(y)])
    return a, -np.einsum("ic,ij,jc->c", a, G, a) / 2


def test_a_kernelized_nearest_mean_is_the_estimator(X):
    y = (np.abs(X[:, 0]) > 2).astype(int)
    for kernel in (Gaussian(2.0), Linear()):
        ours = kernelize(nearest_mean, kernel).fit(X, y)
        assert (ours.outputs(X).argmax(axis=1) == KernelNearestMean(kernel=kernel).fit(X, y).predict(X)).all()
    K = np.asarray(Gaussian(2.0)(X))
    given = kernelize(nearest_mean, "precomputed").fit(K, y).outputs(K)
    np.testing.assert_allclose(given, kernelize(nearest_mean, Gaussian(2.0)).fit(X, y).outputs(X), atol=1e-12)


def test_with_the_linear_kernel_an_algorithm_is_itself(X):
    y = (X[:, 0] > 0).astype(int)
    model = kernelize(nearest_mean, "linear").fit(X, y)
    means = np.array([X[y == c].mean(axis=0) for c in (0, 1)])
    wanted = X @ means.T - (means**2).sum(axis=1) / 2
    np.testing.assert_allclose(model.outputs(X), wanted, atol=1e-10)
    np.testing.assert_allclose(model.function_.weights(), means.T, atol=1e-10)


def test_eigenvalues_that_are_all_but_equal():
    X = np.random.default_rng(0).standard_normal((300, 3))  # far apart for so narrow a kernel: K is the identity
    model = KernelPCA(4, kernel=Gaussian(1e-3)).fit(X)
    assert np.allclose(model.eigenvalues_, 1.0)
