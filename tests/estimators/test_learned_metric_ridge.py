"""LearnedMetricRidge: gradients against differences, the laws, and that it finds what matters."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVR, Engine, KernelRidge, LearnedMetricRidge, RKHSFunction
from mercer.kernels import Cauchy, Gaussian, Matern
from mercer.solvers.metric import average_gradients
from mercer.testing import check_machine


@parametrize_with_checks([LearnedMetricRidge(n_rounds=1), LearnedMetricRidge(0.1, choose="holdout", diagonal=True)])
def test_it_is_an_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def index(rng):
    """A function of one direction of five, and noise."""
    X = rng.normal(size=(160, 5)) * [1, 2, 1, 0.5, 1]
    v = np.array([1.0, 0.5, 0, 0, -1.0])
    return X, np.sin(X @ v) + 0.05 * rng.normal(size=160), v


@pytest.mark.parametrize("kernel", [Gaussian, Matern(0.5).__class__])
@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_gradients_are_those_of_the_function(rng, kernel, nu):
    B = rng.normal(size=(3, 3))
    k = Gaussian(B @ B.T) if kernel is Gaussian else Matern(nu, B @ B.T)
    Z, C, X, w = rng.normal(size=(8, 3)), rng.normal(size=(8, 2)), rng.normal(size=(5, 3)) + 3, rng.uniform(1, 2, 5)
    wanted, h = np.zeros((3, 3)), 1e-5
    for c in C.T:
        f = RKHSFunction(k, Z, c)
        steps = [h * e for e in np.eye(3)]
        gradients = np.column_stack([(f(X + s) - f(X - s)) / (2 * h) for s in steps])
        wanted += (gradients.T * w) @ gradients / w.sum()
    np.testing.assert_allclose(average_gradients(k, Z, C, X, w, Engine()), wanted, rtol=1e-4, atol=1e-9)


def test_gradients_of_other_kernels_are_refused():
    with pytest.raises(ValueError, match="a Gaussian or Matern kernel"):
        average_gradients(Cauchy(np.eye(1)), np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), np.ones(1), Engine())


@pytest.mark.parametrize("options", [{}, {"n_rounds": 2, "choose": "last", "alpha": 0.1}, {"kernel": Gaussian(1.0)}])
def test_laws(index, options):
    X, y, _ = index
    check_machine(LearnedMetricRidge(**options, random_state=0), X[:80], y[:80], rtol=1e-5, conventions=False)


@pytest.mark.parametrize("kernel", [None, Gaussian(1.0), Matern(1.5)])
def test_it_finds_the_direction_that_matters(index, kernel):
    X, y, v = index
    model = LearnedMetricRidge(kernel=kernel).fit(X[:120], y[:120])
    top = np.linalg.eigh(model.A_)[1][:, -1]
    assert abs(top @ v) / np.linalg.norm(v) > 0.98
    plain = LearnedMetricRidge(kernel=kernel, n_rounds=0).fit(X[:120], y[:120])
    assert 1 - model.score(X[120:], y[120:]) < 0.5 * (1 - plain.score(X[120:], y[120:]))
    assert model.errors_[model.round_] == model.errors_.min()
    assert model.certificate_.relative_gap < 1e-6


def test_the_learned_metric_serves_other_machines(index):
    X, y, _ = index
    model = LearnedMetricRidge(kernel=Gaussian(1.0)).fit(X[:120], y[:120])
    plain, metric = (SVR(C=10.0, kernel=k).fit(X[:120], y[:120]) for k in ("rbf", Gaussian(scale=model.A_)))
    assert 1 - metric.score(X[120:], y[120:]) < 0.5 * (1 - plain.score(X[120:], y[120:]))
    again = KernelRidge(model.alpha_, kernel=model.kernel_, intercept="free").fit(X[:120], y[:120])
    np.testing.assert_allclose(again.predict(X[120:]), model.predict(X[120:]), rtol=1e-6)
    assert model.metric_.distance(X[0], X[1]) == pytest.approx(np.sqrt((X[0] - X[1]) @ model.A_ @ (X[0] - X[1])))


def test_leave_one_out_errors_are_those_of_refits(index):
    X, y, _ = index
    X, y = X[:30], y[:30]
    model = LearnedMetricRidge(0.1, n_rounds=0).fit(X, y)
    miss = []
    for i in range(30):
        rest = np.arange(30) != i
        other = KernelRidge(0.1, kernel=model.kernel_, intercept="free").fit(X[rest], y[rest])
        miss.append(y[i] - other.predict(X[i : i + 1])[0])
    assert model.errors_[0] == pytest.approx(np.mean(np.square(miss)) / y.var(), rel=1e-6)


@pytest.mark.parametrize("choose", ["loo", "holdout", "last"])
@pytest.mark.parametrize("diagonal", [False, True])
def test_every_way_to_choose(index, choose, diagonal):
    X, y, _ = index
    model = LearnedMetricRidge(choose=choose, diagonal=diagonal, n_rounds=3, random_state=0).fit(X, y)
    assert len(model.errors_) == 4
    assert model.round_ == (3 if choose == "last" else int(model.errors_.argmin()))
    assert not diagonal or np.count_nonzero(model.A_) == 5
    assert len(model.dual_coef_) == len(X)


def test_features_may_be_on_any_scale_and_constant(index):
    X, y, _ = index
    one = LearnedMetricRidge(n_rounds=2).fit(X, y)
    scale = 10.0 ** np.arange(-2, 3)
    other = LearnedMetricRidge(n_rounds=2).fit(np.column_stack([X * scale, np.ones(len(X))]), y)
    assert other.errors_[0] == pytest.approx(one.errors_[0], rel=1e-6)
    assert other.A_[-1, -1] == 0


def test_constant_targets_and_equal_rows_teach_nothing(rng):
    X = rng.normal(size=(20, 2))
    flat = LearnedMetricRidge().fit(X, np.ones(20))
    np.testing.assert_allclose(flat.predict(X), 1.0)
    same = LearnedMetricRidge().fit(np.ones((20, 2)), rng.normal(size=20))
    assert np.isfinite(same.predict(X)).all()


def test_several_targets_share_a_metric(index):
    X, y, _ = index
    Y = np.column_stack([y, 100 * X[:, 3]])
    model = LearnedMetricRidge(n_rounds=3).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert model.score(X, Y) > 0.9
    scaled = LearnedMetricRidge(n_rounds=3).fit(X, Y * [1.0, 1e-4])
    np.testing.assert_allclose(scaled.A_, model.A_, rtol=1e-5, atol=1e-9)


def test_frames_pipelines_and_searches(index):
    X, y, _ = index
    frame = pd.DataFrame(X, columns=list("abcde"))
    pipe = make_pipeline(StandardScaler(), LearnedMetricRidge(n_rounds=1)).set_output(transform="pandas")
    search = GridSearchCV(pipe, {"learnedmetricridge__power": [0.5, 1.0]}, cv=2).fit(frame, y)
    assert search.predict(frame).shape == (160,)


def test_it_stops_when_told(index):
    X, y, _ = index
    with pytest.warns(ConvergenceWarning, match=r"stopped at the deadline after . of 6 rounds. Raise deadline"):
        late = LearnedMetricRidge(deadline=1e-9).fit(X, y)
    assert late.round_ == 0
    assert np.isfinite(late.predict(X)).all()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"alpha": 0.0}, "'alpha' must be"),
        ({"alpha": "cv"}, "'alpha' must be one of 'loo'"),
        ({"alphas": [0.0]}, "'alphas' must be positive"),
        ({"kernel": Gaussian("median")}, "a number as scale"),
        ({"kernel": "rbf"}, "'kernel' must be a Gaussian or Matern"),
        ({"n_rounds": -1}, "'n_rounds' must be"),
        ({"power": 0.0}, "'power' must be"),
        ({"choose": "aic"}, "'choose' must be one of"),
        ({"validation_fraction": 1.0}, "'validation_fraction' must be below 1"),
        ({"intercept": "maybe"}, "'intercept' must be one of"),
    ],
)
def test_bad_options_are_named(index, options, message):
    X, y, _ = index
    with pytest.raises(ValueError, match=message):
        LearnedMetricRidge(**options).fit(X, y)
