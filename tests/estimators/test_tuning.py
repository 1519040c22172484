"""tune against scikit-learn's GridSearchCV, its laws, and what it does when it cannot finish."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score

from mercer import SVC, SVR, NuSVC, NuSVR, tune
from mercer.estimators import _grid
from mercer.kernels import Gaussian, Matern, Spectrum
from mercer.solvers.dual import paths

X, Y = load_iris(return_X_y=True)
GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1, 1.0]}


def binary(n=200):
    return make_classification(n, 6, n_informative=4, flip_y=0.1, random_state=0)


@pytest.mark.parametrize("data", [(X, Y), binary()], ids=["iris", "binary"])
@pytest.mark.parametrize("held", [True, False])
def test_scores_are_those_of_grid_search(data, held, monkeypatch):
    if not held:
        monkeypatch.setattr(paths, "MOST_HELD", 0)
    found = tune(SVC(tol=1e-4), *data, GRID)
    peer = GridSearchCV(svm.SVC(tol=1e-4), GRID).fit(*data)
    for name in ("mean_test_score", "std_test_score", "split0_test_score"):
        np.testing.assert_allclose(found.cv_results_[name], peer.cv_results_[name], atol=1e-12)
    assert found.cv_results_["params"] == peer.cv_results_["params"]
    assert found.best_params_ == peer.best_params_
    assert found.best_index_ == peer.best_index_
    np.testing.assert_array_equal(found.cv_results_["rank_test_score"], peer.cv_results_["rank_test_score"])
    np.testing.assert_array_equal(found.best_estimator_.predict(data[0]), peer.predict(data[0]))
    assert found.best_estimator_.certificate_.relative_gap < 1e-2
    assert "best           C=" in str(found)


@pytest.mark.parametrize("scoring", ["f1", "roc_auc", "balanced_accuracy"])
def test_scorers_of_sklearn(scoring):
    data = binary()
    found = tune(SVC(tol=1e-5), *data, {"C": [0.1, 1.0], "gamma": [0.1]}, cv=3, scoring=scoring, refit=False)
    peer = GridSearchCV(svm.SVC(tol=1e-5), {"C": [0.1, 1.0], "gamma": [0.1]}, cv=3, scoring=scoring).fit(*data)
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=1e-9)
    assert found.best_estimator_ is None


@pytest.mark.parametrize(
    "mine, theirs, grid",
    [
        (SVR(tol=1e-5), svm.SVR(tol=1e-5), {"C": [0.1, 10.0], "gamma": [0.1, 1.0], "epsilon": [0.05, 0.2]}),
        (NuSVR(tol=1e-5), svm.NuSVR(tol=1e-5), {"nu": [0.2, 0.6], "gamma": [0.1]}),
    ],
)
def test_regression(mine, theirs, grid):
    found = tune(mine, X[:, :3], X[:, 3], grid, cv=KFold(3, shuffle=True, random_state=0))
    peer = GridSearchCV(theirs, grid, cv=KFold(3, shuffle=True, random_state=0)).fit(X[:, :3], X[:, 3])
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=1e-3)
    assert found.best_params_ == peer.best_params_


def test_nu_svc_leaves_out_what_is_infeasible():
    data = binary()
    grid = {"nu": [0.2, 0.5], "gamma": [0.1]}
    found = tune(NuSVC(tol=1e-6), *data, grid, cv=3)
    peer = GridSearchCV(svm.NuSVC(tol=1e-6), grid, cv=3).fit(*data)
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=1e-2)
    few = np.r_[np.flatnonzero(data[1] == 0)[:20], np.flatnonzero(data[1] == 1)[:80]]
    with pytest.warns(FitFailedWarning, match="infeasible"):
        found = tune(NuSVC(), data[0][few], data[1][few], {"nu": [0.2, 0.9], "gamma": [0.1]}, cv=3)
    assert found.best_params_["nu"] == 0.2


def test_several_grids_kernels_and_options():
    grid = [{"kernel": ["linear"], "C": [1.0, 0.1]}, {"kernel": [Gaussian(1.0), Matern(nu=1.5)], "C": [1.0]}]
    found = tune(SVC(class_weight="balanced"), X, Y, grid, cv=3)
    assert len(found.cv_results_["params"]) == 4
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    for cell, score in zip(found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True):
        alone = cross_val_score(SVC(class_weight="balanced").set_params(**cell), X, Y, cv=StratifiedKFold(3))
        assert score == pytest.approx(alone.mean())


def test_options_of_the_machine_are_searched_too():
    grid = {"loss": ["hinge", "squared_hinge"], "multi_class": ["ovo", "ovr"], "C": [0.5, 5.0]}
    found = tune(SVC(gamma=0.5), X, Y, grid, cv=3, refit=False)  # "scale" would be resolved on all rows
    for cell, score in zip(found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True):
        assert score == pytest.approx(cross_val_score(SVC(gamma=0.5, **cell), X, Y, cv=StratifiedKFold(3)).mean())


@pytest.mark.parametrize("grid", [{"tol": [1.0, 1e-6]}, {"max_iter": [3, 30, -1]}])
def test_tolerances_and_steps_are_those_of_each_cell(grid):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        together = tune(SVC(gamma=0.5), X, Y, grid | {"C": [1.0, 100.0]}, cv=3, refit=False).cv_results_
        for cell, score in zip(together["params"], together["mean_test_score"], strict=True):
            rest = {name: [value] for name, value in cell.items() if name != "C"} | {"C": [1.0, 100.0]}
            alone = tune(SVC(gamma=0.5), X, Y, rest, cv=3, refit=False).cv_results_
            assert score == alone["mean_test_score"][[1.0, 100.0].index(cell["C"])]
    assert len({round(score, 12) for score in together["mean_test_score"]}) > 2


def test_nested_scores_are_those_of_the_nested_loop():
    data = binary()
    found = tune(SVC(), *data, GRID, cv=3, nested=4)
    search = GridSearchCV(svm.SVC(), GRID, cv=3)
    np.testing.assert_allclose(found.nested_scores_, cross_val_score(search, *data, cv=4), atol=1e-12)
    assert "nested score" in str(found)


def test_a_weight_of_zero_is_absence():
    data, w = binary(), np.ones(200)
    w[::3] = 0
    kept = w > 0
    cv = KFold(3)
    with_zeros = tune(SVC(), *data, GRID, cv=cv, sample_weight=w)
    without = tune(SVC(), data[0][kept], data[1][kept], GRID, cv=cv)
    np.testing.assert_allclose(with_zeros.cv_results_["mean_test_score"], without.cv_results_["mean_test_score"])


def test_every_kind_of_rows():
    data = binary(90)
    wanted = tune(SVC(), *data, GRID, cv=3).cv_results_["mean_test_score"]
    frame = pd.DataFrame(data[0], columns=list("abcdef"))
    for other in (sparse.csr_matrix(data[0]), frame):
        np.testing.assert_allclose(tune(SVC(), other, data[1], GRID, cv=3).cv_results_["mean_test_score"], wanted)
    K = data[0] @ data[0].T
    given = tune(SVC(kernel="precomputed"), K, data[1], {"C": [0.1, 1.0]}, cv=3)
    linear = tune(SVC(kernel="linear"), *data, {"C": [0.1, 1.0]}, cv=3)
    np.testing.assert_allclose(given.cv_results_["mean_test_score"], linear.cv_results_["mean_test_score"])
    words = ["".join(np.random.default_rng(i).choice(list("ab" if i % 2 else "bc"), 8)) for i in range(40)]
    assert tune(SVC(kernel=Spectrum(2).normalized()), words, np.arange(40) % 2, {"C": [1.0, 10.0]}).best_score_ > 0.5


def test_the_default_grid():
    found = tune(SVC(), X, Y, cv=3)
    assert set(found.best_params_) == {"C", "gamma"}
    assert len(found.cv_results_["params"]) == 16


def test_a_deadline_keeps_what_is_done():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match="tune: at least one cell must be finished; got none"):
            tune(SVC(), X, Y, GRID, deadline=1e-9)
    assert any("tune was stopped at its deadline: 9 of 9 cells have no score" in str(each.message) for each in said)


def test_ctrl_c_keeps_what_is_done(monkeypatch):
    real, count = _grid.by_kernel, []

    def interrupted(machine, cells):
        for each in real(machine, cells):
            if count:
                raise KeyboardInterrupt
            count.append(1)
            yield each

    monkeypatch.setattr("mercer.estimators.tuning.by_kernel", interrupted)
    with pytest.warns(ConvergenceWarning, match="tune was interrupted: 6 of 9 cells have no score"):
        found = tune(SVC(), X, Y, GRID)
    assert np.isfinite(found.best_score_)
    assert np.isnan(found.cv_results_["mean_test_score"]).sum() == 6


def test_a_cell_that_cannot_be_fitted_is_left_out():
    with pytest.warns(FitFailedWarning, match="left out a cell that cannot be fitted. SVC: 'C' must be a positive"):
        found = tune(SVC(), X, Y, {"C": [-1.0, 1.0]})
    assert found.best_params_ == {"C": 1.0}


def test_refusals():
    with pytest.raises(ValueError, match="tune: a support vector machine that learns from y; got 'svc'"):
        tune("svc", X, Y)
    with pytest.raises(ValueError, match="'deadline' must be a positive number"):
        tune(SVC(), X, Y, GRID, deadline=-1)
    with pytest.raises(ValueError, match="decisions; got one that asks for probabilities"):
        tune(SVC(probability=True), X, Y, GRID, scoring="neg_log_loss")
    with pytest.warns(FitFailedWarning, match="'tol' must be"):
        assert tune(SVC(), X, Y, {"tol": [-1.0, 1e-3]}, refit=False).best_params_ == {"tol": 1e-3}
