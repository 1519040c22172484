"""Calibration against a general minimiser, LIBSVM's coupling written out, and the law that decisions stand."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from mercer.solvers.calibration import agreeing, coupled, fit_isotonic, fit_sigmoid


def decisions(seed, n=80, noise=1.0):
    rng = np.random.default_rng(seed)
    d = rng.normal(size=n)
    return d, d + noise * rng.normal(size=n) > 0, rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_the_slopes_maximise_the_likelihood(seed):
    d, positive, w = decisions(seed)
    p = fit_sigmoid(d, positive, w)
    ahead, behind = w[positive].sum(), w[~positive].sum()
    t = np.where(positive, (ahead + 1) / (ahead + 2), 1 / (behind + 2))
    for slope, side in zip(p.slopes, (d < 0, d > 0), strict=True):
        z, ts, ws = d[side], t[side], w[side]
        best = minimize_scalar(lambda s, z=z, ts=ts, ws=ws: ws @ (np.logaddexp(0, s * z) - ts * s * z), bounds=(0, 50))
        assert slope == pytest.approx(best.x, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("fit", [fit_sigmoid, fit_isotonic])
@pytest.mark.parametrize("seed", range(4))
def test_curves_rise_through_one_half_at_zero(fit, seed):
    d, positive, w = decisions(seed, noise=3.0)
    p = fit(d, positive, w)
    at = np.linspace(-9, 9, 1001)
    assert (np.diff(p(at)) >= 0).all()
    assert p(np.zeros(1))[0] == 0.5
    assert (p(at[at > 0]) >= 0.5).all()
    assert (p(at[at < 0]) <= 0.5).all()
    assert (p(at) > 0).all()
    assert (p(at) < 1).all()


@pytest.mark.parametrize("fit", [fit_sigmoid, fit_isotonic])
def test_a_weight_is_a_repeated_row(fit):
    d, positive, w = decisions(7)
    again = np.repeat(np.arange(len(d)), w.astype(int))
    at = np.linspace(-3, 3, 50)
    np.testing.assert_allclose(fit(d, positive, w)(at), fit(d[again], positive[again])(at), atol=1e-9)


@pytest.mark.parametrize("fit", [fit_sigmoid, fit_isotonic])
@pytest.mark.parametrize("sign", [1, -1])
def test_separated_and_reversed_decisions_have_finite_curves(fit, sign):
    d = np.array([-2.0, -1.0, 1.0, 2.0])
    p = fit(d, sign * d > 0)(d)
    assert np.isfinite(p).all()
    assert ((p >= 0.5) == (d > 0)).all() or (p == 0.5).any()


def test_one_side_alone_lends_its_slope():
    p = fit_sigmoid(np.array([1.0, 2.0]), np.array([True, True]))
    assert p.slopes[0] == p.slopes[1] > 0


def test_isotonic_minimises_least_squares_among_rising_curves():
    d, positive, w = decisions(3, n=12)
    w += 1
    p = fit_isotonic(d, positive, w)
    ahead, behind = w[positive].sum(), w[~positive].sum()
    t = np.where(positive, (ahead + 1) / (ahead + 2), 1 / (behind + 2))
    order = np.argsort(d)
    low, high = np.where(d[order] < 0, 0, 0.5), np.where(d[order] < 0, 0.5, 1)
    rises = {"type": "ineq", "fun": np.diff}
    found = minimize(
        lambda h: w[order] @ (h - t[order]) ** 2, np.full(12, 0.5), bounds=list(zip(low, high, strict=True)),
        constraints=[rises], options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    np.testing.assert_allclose(p(d[order]), found.x, atol=1e-5)


def random_pairs(seed, n=6, k=4):
    r = np.random.default_rng(seed).uniform(0.02, 0.98, (n, k, k))
    return np.where(np.tril(np.ones((k, k), bool)), 1 - r.transpose(0, 2, 1), r)


@pytest.mark.parametrize("seed", range(3))
def test_coupling_minimises_its_objective(seed):
    r = random_pairs(seed)
    for row, p in zip(r, coupled(r), strict=True):

        def objective(q, row=row):
            share = row.T * q[:, None]  # r_ji p_i
            return ((share - share.T) ** 2)[~np.eye(len(q), dtype=bool)].sum()

        whole = {"type": "eq", "fun": lambda q: q.sum() - 1}
        options = {"ftol": 1e-16, "maxiter": 500}
        found = minimize(objective, np.full(4, 0.25), bounds=[(0, 1)] * 4, constraints=[whole], options=options)
        np.testing.assert_allclose(p, found.x, atol=1e-4)
        assert objective(p) <= objective(found.x) + 1e-12


def test_two_classes_couple_to_their_pair():
    np.testing.assert_allclose(coupled(np.array([[[0, 0.3], [0.7, 0]]])), [[0.3, 0.7]], atol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_decisions_stand(k):
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.ones(k), 500)
    p[0] = 1 / k
    decided = rng.integers(0, k, 500)
    out = agreeing(p, decided)
    np.testing.assert_array_equal(out.argmax(axis=1), decided)
    np.testing.assert_allclose(out.sum(axis=1), 1, atol=1e-12)
    right = p.argmax(axis=1) == decided
    right[0] = False
    np.testing.assert_array_equal(out[right], p[right])


def test_the_nearest_agreeing_probabilities():
    rng = np.random.default_rng(0)
    for p in rng.dirichlet(np.ones(4), 5):
        k = int(p.argmin())
        out = agreeing(p[None], np.array([k]))[0]
        leads = {"type": "ineq", "fun": lambda q, k=k: q[k] - q}
        found = minimize(
            lambda q, p=p: ((q - p) ** 2).sum(), np.full(4, 0.25), bounds=[(0, 1)] * 4,
            constraints=[leads, {"type": "eq", "fun": lambda q: q.sum() - 1}], options={"ftol": 1e-15},
        )  # fmt: skip
        np.testing.assert_allclose(out, found.x, atol=1e-6)
