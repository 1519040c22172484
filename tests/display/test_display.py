"""Pictures: what is on them, by what matplotlib says of them, and refusals."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.model_selection import GridSearchCV

from mercer import SVC, KernelRidge
from mercer.display import draw_decision, draw_scores

mpl.use("Agg")
X, y = make_moons(60, noise=0.2, random_state=0)


@pytest.fixture(autouse=True)
def _closed():
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


def drawn(ax):
    ax.figure.canvas.draw()
    return ax


def test_two_classes_show_margin_and_support_vectors():
    model = SVC(C=5.0, gamma=1.0).fit(X, y)
    ax = drawn(draw_decision(model, X, y, resolution=40))
    assert ax.get_title() == f"SVC: {len(model.support_)} support vectors of 60 points"
    rings = ax.collections[-1].get_offsets()
    np.testing.assert_allclose(np.asarray(rings), model.support_vectors_)
    lines = [list(getattr(drawing, "levels", ())) for drawing in ax.collections]
    levels = sorted(level for each in lines if len(each) < 3 for level in each)
    assert levels == [-1.0, 0.0, 1.0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]


def test_three_classes_show_regions():
    Z, labels = make_blobs(45, centers=3, random_state=0)
    names = np.array(["one", "three", "two"])[labels]
    ax = drawn(draw_decision(SVC().fit(Z, names), Z, names, resolution=20))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "three", "two"]


def test_regression_shows_values():
    ax = drawn(draw_decision(KernelRidge().fit(X, X[:, 0]), X, X[:, 0], resolution=20))
    assert ax.get_title() == "KernelRidge"


def test_columns_of_a_frame_name_the_axes_and_given_axes_are_used():
    from matplotlib import pyplot as plt

    frame = pd.DataFrame(X, columns=["width", "height"])
    _, ax = plt.subplots()
    assert draw_decision(SVC().fit(frame, y), frame, ax=ax, resolution=20) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")


def test_decision_refusals():
    model = SVC().fit(np.c_[X, X], y)
    with pytest.raises(ValueError, match="draw_decision: the machine and X must have two columns"):
        draw_decision(model, np.c_[X, X])
    with pytest.raises(ValueError, match="y must have a value for each of the 60 rows"):
        draw_decision(SVC().fit(X, y), X, y[:5], resolution=5)


def test_scores_over_one_and_two_parameters():
    one = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=2).fit(X, y)
    ax = drawn(draw_scores(one))
    assert ax.get_title().startswith(f"best: C = {one.best_params_['C']:.3g}, score {one.best_score_:.4g}")
    two = GridSearchCV(SVC(), {"C": [0.1, 1.0], "gamma": [0.1, 1.0, 3.0]}, cv=2).fit(X, y)
    ax = drawn(draw_scores(two.cv_results_))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("gamma", "C")
    np.testing.assert_allclose(ax.images[0].get_array().ravel(), two.cv_results_["mean_test_score"])


def test_scores_over_names():
    results = {"param_kernel": ["rbf", "linear"], "mean_test_score": [0.5, 0.75]}
    assert draw_scores(results).get_title() == "best: kernel = linear, score 0.75"


def test_score_refusals():
    with pytest.raises(ValueError, match="draw_scores: a search must have cv_results_; got GridSearchCV"):
        draw_scores(GridSearchCV(SVC(), {"C": [1.0]}))
    with pytest.raises(ValueError, match="one or two parameters must vary; got 0"):
        draw_scores({"param_C": [1.0], "mean_test_score": [0.5]})
    with pytest.raises(ValueError, match="scores must hold finite numbers"):
        draw_scores({"param_C": [1.0], "mean_test_score": [np.nan]})


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="matplotlib must be installed"):
        draw_scores({"param_C": [1.0, 2.0], "mean_test_score": [0.5, 0.6]})
