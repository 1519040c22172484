"""How sure a fit is: against scikit-learn's Gaussian process, refits, and coverage counted on data."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from mercer import Engine, KernelRidge
from mercer.kernels import Gaussian


def draw(n, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    return X, np.sin(3 * X[:, 0]) + noise * rng.standard_normal(n)


@pytest.mark.peer
@pytest.mark.parametrize("tuning", [0.2, "loo"])
def test_as_a_gaussian_process_at_the_same_parameters(tuning):
    X, y = draw(120)
    ours = KernelRidge(tuning, kernel=Gaussian(0.9), engine=Engine(precision="double")).fit(X, y)
    theirs = GaussianProcessRegressor(
        ConstantKernel(ours.noise_ / ours.alpha_) * RBF(0.9 / np.sqrt(2)), alpha=ours.noise_, optimizer=None
    ).fit(X, y)
    points = np.linspace(-4, 4, 50).reshape(-1, 1)
    for got, wanted in zip(ours.predict(points, return_std=True), theirs.predict(points, return_std=True), strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-7)
    assert ours.log_marginal_likelihood_ == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-8)
    assert ours.noise_ == pytest.approx(0.3**2, rel=0.3)


@pytest.mark.parametrize("intercept", ["none", "free"])
@pytest.mark.parametrize("weights", ["none", "counts", "numbers"])
@pytest.mark.parametrize("n_centers", [None, 8])
def test_intervals_are_quantiles_of_refits(intercept, weights, n_centers):
    X, y = draw(24)
    w = {"none": None, "counts": 1.0 + np.arange(24) % 3, "numbers": 0.5 + np.arange(24) % 2}[weights]
    asked = {"alpha": 0.3, "kernel": Gaussian(1.0), "intercept": intercept, "tol": 1e-9}
    model = KernelRidge(**asked, n_centers=n_centers, random_state=0).fit(X, y, w)
    if n_centers is not None:
        asked["centers"] = model.centers_.points
    points, level = np.linspace(-3, 3, 7).reshape(-1, 1), 0.8
    f, low, high = model.predict(points, interval=level)
    np.testing.assert_array_equal(f, model.predict(points))
    lows, highs, times = [], [], np.ones(24) if weights != "counts" else w
    for i in range(24):
        without = np.ones(24) if w is None else w.copy()
        without[i] = 0.0 if weights != "counts" else w[i] - 1.0
        refit = KernelRidge(**asked).fit(X, y, without)
        size = abs(y[i] - refit.predict(X[i : i + 1])[0])
        np.testing.assert_allclose(abs(model.loo_residuals_[i]), size, atol=1e-7)
        lows.append(refit.predict(points) - size)
        highs.append(refit.predict(points) + size)
    if weights == "numbers":
        times = w / w.mean()
    place = np.ceil(level * (times.sum() + 1) - 1e-9)
    for ends, got, sign in ((np.array(highs), high, 1), (-np.array(lows), -low, 1)):
        for q in range(7):
            order = np.argsort(ends[:, q])
            first = np.flatnonzero(np.cumsum(times[order]) >= place - 1e-9)[0]
            assert sign * got[q] == pytest.approx(ends[order[first], q], abs=1e-7)


def test_coverage_on_new_data():
    """Of 90 % intervals, for noise that is not normal and grows with x; at least 80 % for sure, about 90 % in truth."""
    hits = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, (200, 1))
        y = np.sin(3 * X[:, 0]) + 0.1 * (3 + X[:, 0]) * (rng.exponential(1.0, 200) - 1.0)
        model = KernelRidge("loo", gamma=1.0).fit(X[:100], y[:100])
        _, low, high = model.predict(X[100:], interval=0.9)
        hits.append(np.mean((low <= y[100:]) & (y[100:] <= high)))
    assert 0.87 <= np.mean(hits) <= 0.94
    assert min(hits) >= 0.75


def test_standard_deviations_cover_draws_of_the_process():
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, (150, 1))
    K = Gaussian(1.0)(X)
    f = np.linalg.cholesky(K + 1e-9 * np.eye(150)) @ rng.standard_normal((150, 40))
    Y = f + 0.4 * rng.standard_normal(f.shape)
    model = KernelRidge("loo", kernel=Gaussian(1.0)).fit(X[:100], Y[:100])
    mean, std = model.predict(X[100:], return_std=True)
    assert std.shape == mean.shape == (50, 40)
    inside = np.abs(f[100:] - mean) <= 1.96 * std
    assert 0.9 <= inside.mean() <= 0.98
    total = np.sqrt(std**2 + model.noise_)
    assert 0.92 <= (np.abs(Y[100:] - mean) <= 1.96 * total).mean() <= 0.97


def test_several_targets_and_alphas():
    X, y = draw(60)
    Y = np.column_stack([y, y**2, -y])
    model = KernelRidge([0.1, 1.0, 0.1], intercept="free", kernel=Gaussian(0.8)).fit(X, Y)
    assert model.noise_.shape == model.log_marginal_likelihood_.shape == (3,)
    points = np.linspace(-3, 3, 9).reshape(-1, 1)
    _, low, high = model.predict(points, interval=0.7)
    _, std = model.predict(points, return_std=True)
    for t, alpha in enumerate([0.1, 1.0, 0.1]):
        alone = KernelRidge(alpha, intercept="free", kernel=Gaussian(0.8)).fit(X, Y[:, t])
        np.testing.assert_allclose(low[:, t], alone.predict(points, interval=0.7)[1], atol=1e-8)
        np.testing.assert_allclose(std[:, t], alone.predict(points, return_std=True)[1], atol=1e-8)
        np.testing.assert_allclose(model.loo_residuals_[:, t], alone.loo_residuals_, atol=1e-8)
    np.testing.assert_allclose(high[:, 2], -low[:, 0], atol=1e-8)


def test_a_gram_matrix_has_intervals_but_no_deviations():
    X, y = draw(50)
    kernel, points = Gaussian(0.8), np.linspace(-3, 3, 9).reshape(-1, 1)
    given = KernelRidge(0.2, kernel="precomputed").fit(kernel(X), y)
    known = KernelRidge(0.2, kernel=kernel).fit(X, y)
    for got, wanted in zip(
        given.predict(kernel(points, X), interval=0.9), known.predict(points, interval=0.9), strict=True
    ):
        np.testing.assert_allclose(got, wanted, atol=1e-9)
    assert given.log_marginal_likelihood_ == pytest.approx(known.log_marginal_likelihood_)
    with pytest.raises(ValueError, match=r"return_std needs k\(x, x\)"):
        given.predict(kernel(points, X), return_std=True)


def test_too_few_rows_for_a_level_give_infinite_ends():
    X, y = draw(8)
    _, low, high = KernelRidge(0.1).fit(X, y).predict(X, interval=0.95)
    assert np.isinf(low).all()
    assert np.isinf(high).all()


def test_what_is_computed_late_is_neither_seen_nor_pickled():
    X, y = draw(200)
    model = KernelRidge(0.1).fit(X, y)
    before = dict(vars(model))
    wanted = model.predict(X, interval=0.9)[1]
    assert vars(model) == before
    assert "path" in vars(model._uncertainty)
    text = pickle.dumps(model)
    assert len(text) < 40 * 200 * sys.getsizeof(0.0)
    np.testing.assert_array_equal(pickle.loads(text).predict(X, interval=0.9)[1], wanted)


@pytest.mark.parametrize(
    "asked, message",
    [
        ({"interval": 1.0}, "'interval' must be a number above 0 and below 1; got 1.0"),
        ({"interval": "wide"}, "'interval' must be a number above 0 and below 1; got 'wide'"),
        ({"interval": 0.9, "return_std": True}, "return_std or interval; got both. Call predict twice."),
    ],
)
def test_refusals(asked, message):
    X, y = draw(20)
    with pytest.raises(ValueError, match=message):
        KernelRidge(1.0).fit(X, y).predict(X, **asked)


def test_without_a_penalty_there_is_no_leaving_out():
    X, y = draw(20)
    model = KernelRidge(0.0, kernel="linear").fit(X, y)
    with pytest.raises(ValueError, match=r"leave-one-out needs alpha > 0; got alpha=0. Give a small positive alpha."):
        model.predict(X, return_std=True)
    assert not hasattr(KernelRidge(), "noise_")
