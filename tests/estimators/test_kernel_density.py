"""KernelDensity. Oracles: scikit-learn's, the integral on a grid, the leave-one-out likelihood by a loop."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import gaussian_kde, kstest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity as Theirs
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelDensity
from mercer.kernels import Cauchy, Gaussian, Laplace, Linear, Matern, RationalQuadratic
from mercer.kernels._windows import falling, log_profile, window
from mercer.testing import check_machine

WINDOWS = [
    Gaussian(0.8), Laplace(0.7), Matern(0.5, 0.6), Matern(1.5, 0.9), Matern(2.5), RationalQuadratic(2.5, 0.7),
    Cauchy(0.5), 3.0 * Gaussian(0.5),
]  # fmt: skip  # one of each family, and a multiple


@parametrize_with_checks([KernelDensity(), KernelDensity("likelihood", kernel=Laplace())])
def test_conventions_of_sklearn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("bandwidth", ["scott", "silverman", "likelihood", 0.7])
@pytest.mark.parametrize("n", [50, 300])
def test_laws(bandwidth, n):
    X = np.random.default_rng(n).standard_normal((n, 2))
    check_machine(KernelDensity(bandwidth), X, outputs=lambda fitted, Z: fitted.score_samples(Z), conventions=False)


@pytest.mark.peer
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name, kernel", [("gaussian", Gaussian()), ("exponential", Matern(0.5))])
def test_as_sklearn(name, kernel, weighted, rng):
    X, Z = rng.standard_normal((300, 3)), 3 * rng.standard_normal((400, 3))
    w = rng.uniform(0.1, 2.0, 300) if weighted else None
    ours = KernelDensity(0.4, kernel=kernel).fit(X, sample_weight=w)
    theirs = Theirs(bandwidth=0.4, kernel=name).fit(X, sample_weight=w)
    found = ours.score_samples(Z)
    near = found > -15  # theirs loses digits where the density is small
    np.testing.assert_allclose(found[near], theirs.score_samples(Z)[near], rtol=1e-7)
    r = np.linalg.norm(Z[:, None] - X, axis=2) / 0.4
    logs = (-(r**2) / 2 if name == "gaussian" else -r) + np.log(np.ones(300) if w is None else w)
    volume = (2 * np.pi) ** 1.5 if name == "gaussian" else 8 * np.pi
    total = 300.0 if w is None else w.sum()
    np.testing.assert_allclose(found, logsumexp(logs, axis=1) - np.log(total * volume * 0.4**3), rtol=1e-10)
    assert ours.score(Z[near]) == pytest.approx(theirs.score(Z[near]))


@pytest.mark.peer
def test_rules_as_scipy(rng):
    X = rng.standard_normal((80, 1)) * 3.0
    Z = rng.standard_normal((9, 1))
    for rule in ("scott", "silverman"):
        theirs = gaussian_kde(X.T, gaussian_kde(X.T, rule).factor * np.sqrt(79 / 80))  # its deviations divide by n - 1
        np.testing.assert_allclose(KernelDensity(rule).fit(X).score_samples(Z), theirs.logpdf(Z.T))


@pytest.mark.parametrize("kernel", WINDOWS, ids=repr)
def test_windows_integrate_to_one_and_draws_follow_them(kernel, rng):
    one = KernelDensity(None, kernel=kernel).fit([[0.0]])
    edges = np.concatenate([-np.geomspace(1e5, 1e-4, 20_000), np.geomspace(1e-4, 1e5, 20_000)])
    density = np.exp(one.score_samples(edges[:, None]))
    below = np.concatenate([[0.0], np.cumsum(np.diff(edges) * (density[1:] + density[:-1]) / 2)])
    assert below[-1] == pytest.approx(1.0, abs=2e-4)
    drawn = one.sample(4000, random_state=1).ravel()
    assert kstest(drawn, lambda x: np.interp(x, edges, below)).pvalue > 1e-3
    if not isinstance(kernel, Cauchy):
        t = np.linspace(-9, 9, 181)
        grid = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
        total = np.exp(KernelDensity(None, kernel=kernel).fit([[0.0, 0.0]]).score_samples(grid)).sum() * 0.01
        assert total == pytest.approx(1.0, abs=5e-3)
    form = falling(kernel.form())
    r = np.array([0.0, 0.3, 2.0])
    expected = np.log(kernel(r[:, None], [[0.0]])).ravel()
    np.testing.assert_allclose(log_profile(form.rule, r ** (1 if isinstance(kernel, Laplace) else 2)), expected)


def test_lengths_a_column_and_matrices(rng):
    X = rng.standard_normal((40, 2)) * [1.0, 10.0]
    A = np.array([[2.0, 0.3], [0.3, 0.05]])
    model = KernelDensity(None, kernel=Gaussian(A)).fit(X)
    C = np.linalg.inv(2 * A)  # the covariance of a window
    drawn = model.sample(20_000, random_state=0)
    np.testing.assert_allclose(np.cov(drawn.T), C + np.cov(X.T, bias=True), rtol=0.05, atol=0.1)
    wanted = np.mean([np.exp(-z @ A @ z) for z in X[0] - X]) / (2 * np.pi * np.sqrt(np.linalg.det(C)))
    assert model.score_samples(X[:1])[0] == pytest.approx(np.log(wanted))
    given = KernelDensity([0.3, 3.0]).fit(X)
    scaled = KernelDensity(0.3).fit(X / [1.0, 10.0])
    np.testing.assert_allclose(given.score_samples(X), scaled.score_samples(X / [1.0, 10.0]) - np.log(10.0))
    np.testing.assert_allclose(KernelDensity().fit(X).bandwidth_, X.std(axis=0) * 40 ** (-1 / 6))
    assert KernelDensity(None, kernel=Gaussian("median")).fit(X).bandwidth_ > 0


def leave_one_out(X, h, w):
    """The leave-one-out likelihood by a loop over all copies of the points."""
    Y = np.repeat(X, w.astype(int), axis=0)
    total = 0.0
    for i in range(len(Y)):
        rest = np.delete(Y, i, axis=0)
        total += Theirs(bandwidth=1.0).fit(rest / h).score_samples(Y[i : i + 1] / h)[0] - np.log(h).sum()
    return total


@pytest.mark.peer
def test_the_bandwidth_of_the_largest_leave_one_out_likelihood(rng):
    X = np.concatenate([rng.standard_normal((40, 2)), rng.standard_normal((20, 2)) * 0.2 + 3.0])
    w = np.where(np.arange(60) % 7 == 0, 2, 1)
    model = KernelDensity("likelihood").fit(X, sample_weight=w)
    at = leave_one_out(X, model.bandwidth_, w)
    assert model.log_likelihood_ == pytest.approx(at, rel=1e-9)
    for factor in (0.25, 0.8, 0.97, 1.03, 1.25, 4.0):
        assert leave_one_out(X, factor * model.bandwidth_, w) < at + 1e-3
    assert (model.bandwidth_ < KernelDensity("scott").fit(X).bandwidth_).all()


def test_densities_far_from_all_points(rng):
    X = rng.standard_normal((300, 2))
    cases = (Gaussian(), [[1e3, 0.0], [-1e6, 3.0]]), (Matern(2.5), [[1e4, 0.0]]), (Laplace(), [[0.0, 1e4]])
    for kernel, far in cases:
        model = KernelDensity(0.5, kernel=kernel).fit(X)
        found = model.score_samples(far)
        assert np.isfinite(found).all()
        assert found[0] < -700
    assert model.score_samples(np.full((1, 2), 900.0)) < model.score_samples(np.full((1, 2), 800.0))


def test_tables_and_searches(rng):
    X = rng.standard_normal((60, 2))
    frame = pd.DataFrame(X, columns=["a", "b"])
    plain = KernelDensity().fit(X).score_samples(X)
    np.testing.assert_allclose(KernelDensity(kernel=Gaussian()).fit(frame).score_samples(frame), plain)
    few = sparse.csr_matrix(np.where(np.abs(X) < 0.5, 0.0, X))
    np.testing.assert_allclose(
        KernelDensity().fit(few).score_samples(few), KernelDensity().fit(few.toarray()).score_samples(few.toarray())
    )
    assert KernelDensity().fit(few).sample(5, random_state=np.random.default_rng(0)).shape == (5, 2)
    search = GridSearchCV(KernelDensity(), {"bandwidth": [0.01, 0.5, 100.0]}).fit(X)
    assert search.best_params_ == {"bandwidth": 0.5}
    w = np.zeros(60)
    w[:3] = 1.0
    assert len(np.unique(KernelDensity(1e-9).fit(X, sample_weight=w).sample(50, random_state=0).round(4))) == 6


def test_a_deadline_keeps_the_best_so_far(rng):
    X = rng.standard_normal((1500, 2))
    with pytest.warns(ConvergenceWarning, match="did not finish its search for a bandwidth.*Raise deadline"):
        model = KernelDensity("likelihood", deadline=1e-6).fit(X)
    np.testing.assert_allclose(model.bandwidth_, KernelDensity().fit(X).bandwidth_)
    assert np.isnan(model.log_likelihood_)


def test_progress_is_shown_when_asked(rng, capsys):
    KernelDensity("likelihood", verbose=True).fit(rng.standard_normal((30, 1)))
    assert "KernelDensity: step" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options, message",
    [
        ({"bandwidth": 0.0}, "'bandwidth' must be a positive number, 2 of them"),
        ({"bandwidth": [1.0, 2.0, 3.0]}, "'bandwidth' must be a positive number"),
        ({"bandwidth": "best"}, "one of 'scott', 'silverman', 'likelihood' or None"),
        ({"bandwidth": True}, "'bandwidth' must be a positive number"),
        ({"bandwidth": np.inf}, "'bandwidth' must be a positive number"),
        ({"kernel": "linear"}, "'kernel' must be a density up to a factor"),
        ({"kernel": Gaussian() + Linear()}, "'kernel' must be a density up to a factor"),
        ({"kernel": Cauchy()}, "the integral of the kernel over 2 columns must be finite"),
        ({"bandwidth": None, "kernel": Gaussian(np.diag([1.0, 0.0]))}, "must be finite"),
        ({"deadline": -1.0, "bandwidth": "likelihood"}, "'deadline' must be a positive number"),
    ],
)
def test_refusals(options, message, rng):
    with pytest.raises(ValueError, match=message):
        KernelDensity(**options).fit(rng.standard_normal((10, 2)))


def test_data_without_a_density(rng):
    with pytest.raises(ValueError, match=r"a constant column 1 in 10 samples\. Drop it, or give a bandwidth"):
        KernelDensity().fit(np.column_stack([np.arange(10.0), np.ones(10)]))
    with pytest.raises(ValueError, match="there must be two; got 2 samples"):
        KernelDensity("likelihood").fit([[0.0], [1.0], [1.5]], sample_weight=[0.0, 0.9, 0.9])
    assert window(Linear()) is None
