"""What all estimators share: what comes in, how a fit is watched, what they say when they refuse."""

import numpy as np
import pytest
from sklearn.exceptions import DataConversionWarning

from mercer import Engine, KernelRidge
from mercer.estimators import _door as door
from mercer.kernels import Custom, Gaussian, Polynomial

sklearn_callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")

X = np.linspace(-1, 1, 40).reshape(-1, 2)
Y = X[:, 0] ** 2


def refused(match, X=X, y=Y, sample_weight=None, **given):
    with pytest.raises((ValueError, TypeError), match=match):
        KernelRidge(**given).fit(X, y, sample_weight)


@pytest.mark.parametrize(
    "given, match",
    [
        ({"alpha": -1.0}, "KernelRidge: 'alpha' must be a number >= 0, or 1 of them, one a target; got -1.0"),
        ({"alpha": np.inf}, "'alpha' must be"),
        ({"alpha": np.nan}, "'alpha' must be"),
        ({"alpha": [1.0, 2.0]}, "'alpha' must be"),
        ({"alpha": True}, "'alpha' must be"),
        ({"intercept": "yes"}, "'intercept' must be one of 'none', 'free'; got 'yes'"),
        ({"solver": "lsqr"}, "'solver' must be one of"),
        ({"solver": 3}, "'solver' must be one of"),
        ({"tol": 0.0}, "'tol' must be a positive number or None; got 0.0"),
        ({"deadline": -1}, "'deadline' must be a positive number"),
        ({"memory": "lots"}, "'memory' must be"),
        ({"engine": 4}, "'engine' must be an Engine or None; got 4"),
        ({"engine": Engine(), "memory": "1 GB"}, "'memory' must stand in the engine"),
        ({"kernel": "sigmoid"}, "not a kernel"),
        ({"kernel": "gaussian"}, "a kernel's name must be one of"),
        ({"kernel": 7}, "a kernel's name must be one of"),
        ({"gamma": -1.0}, "'gamma' must be a positive number"),
        ({"kernel": Gaussian(1.0), "gamma": 2.0}, r"'gamma' belongs to kernels given by name; got gamma beside Gau"),
        ({"kernel": Gaussian(1.0), "degree": 2}, "'degree' belongs to kernels given by name"),
        ({"kernel": Gaussian(1.0), "kernel_params": {}}, "'kernel_params' belongs to functions"),
        ({"kernel_params": {"a": 1}}, "'kernel_params' belongs to functions"),
        ({"kernel": min, "coef0": 2.0}, "'coef0' belongs to kernels given by name"),
    ],
)
def test_wrong_parameters_are_refused_by_name(given, match):
    refused(match, **given)


@pytest.mark.parametrize(
    "bad, match",
    [
        ({"X": np.where(X > 0.9, np.nan, X)}, "NaN"),
        ({"X": np.where(X > 0.9, np.inf, X)}, "infinity"),
        ({"X": X[:0], "y": Y[:0]}, "0 sample"),
        ({"X": X[:, 0]}, "2D array"),
        ({"X": [["a"], ["b"]], "y": [1, 2]}, "could not convert string"),
        ({"X": X + 1j}, "Complex data"),
        ({"y": np.where(Y > 0.9, np.nan, Y)}, "y contains NaN"),
        ({"y": Y[:-1]}, "inconsistent numbers of samples"),
        ({"y": ["a"] * 20}, "could not convert string"),
        ({"y": np.zeros((20, 2, 2))}, "y must have one or two dimensions; got 3"),
        ({"y": None}, "requires y"),
        ({"sample_weight": -np.ones(20)}, r"sample_weight must hold numbers >= 0; got -1 in row 0\. Give 0 to leave"),
        ({"sample_weight": np.zeros(20)}, "must not be 0 everywhere"),
        ({"sample_weight": np.full(20, np.nan)}, "NaN"),
        ({"sample_weight": np.ones(3)}, "sample_weight.shape"),
    ],
)
def test_wrong_data_are_refused(bad, match):
    refused(match, **bad)


def test_gram_matrices_must_be_square_symmetric_and_fit_at_predict():
    refused("must be a square matrix", X=np.ones((20, 3)), kernel="precomputed")
    refused("K must be symmetric", X=np.triu(np.ones((20, 20))), kernel="precomputed")
    fitted = KernelRidge(kernel="precomputed").fit(np.eye(20), Y)
    with pytest.raises(ValueError, match="20 features"):
        fitted.predict(np.eye(3))


def test_kernels_come_by_name_object_or_function():
    def rows(x, z, power):
        return float(1 + x @ z) ** power

    by_name = KernelRidge(kernel="poly", degree=2, gamma=1.0)
    by_object = KernelRidge(kernel=Polynomial(2))
    by_function = KernelRidge(kernel=rows, kernel_params={"power": 2})
    assert door.kernel_of(by_name) == door.kernel_of(by_object) == Polynomial(2, gamma=1.0)
    assert isinstance(door.kernel_of(by_function), Custom)
    wanted = by_object.fit(X, Y).predict(X)
    for other in (by_name, by_function):
        np.testing.assert_allclose(other.fit(X, Y).predict(X), wanted, rtol=1e-9, atol=1e-12)
    assert door.kernel_of(KernelRidge(kernel=Gaussian(1.0), coef0=1)) == Gaussian(1.0)  # the default, said aloud


def test_labels_of_any_type():
    for y in (["b", "a"] * 10, [True, False] * 10, np.array([3, -1] * 10), np.array(["b", "a"] * 10, dtype=object)):
        classes, codes = door.labels(KernelRidge(), X, y)
        assert list(classes[codes]) == list(y)
    with pytest.raises(ValueError, match=r"y must hold at least two classes; got one class, "):
        door.labels(KernelRidge(), X, ["a"] * 20)
    with pytest.raises(ValueError, match="Unknown label type"):
        door.labels(KernelRidge(), X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        door.labels(KernelRidge(), X, [1, 2])


class Classed:
    """An estimator with class weights."""

    def __init__(self, class_weight):
        self.class_weight = class_weight


def test_class_weights_count_rows_by_their_weights():
    classes, codes = np.array(["a", "b"]), np.array([0, 0, 0, 1])
    assert door.class_weights(Classed(None), classes, codes, None) is None
    np.testing.assert_allclose(door.class_weights(Classed("balanced"), classes, codes, None), [2 / 3] * 3 + [2.0])
    np.testing.assert_allclose(door.class_weights(Classed({"b": 5.0}), classes, codes, None), [1, 1, 1, 5])
    w = np.array([2.0, 1.0, 0.0, 1.0])
    balanced = door.class_weights(Classed("balanced"), classes, codes, w)
    np.testing.assert_allclose(balanced, w * np.array([4 / 6, 4 / 6, 4 / 6, 2.0]))
    with pytest.raises(ValueError, match="class_weight"):
        door.class_weights(Classed("even"), classes, codes, None)


def test_several_targets_only_where_they_may_be():
    assert door.targets(KernelRidge(), X, np.ones((20, 3))).shape == (20, 3)
    with pytest.raises(ValueError, match="1d array"):
        door.targets(KernelRidge(), X, np.ones((20, 3)), several=False)
    with pytest.warns(DataConversionWarning):
        assert door.targets(KernelRidge(), X, np.ones((20, 1)), several=False).shape == (20,)


# ---------------------------------------------------------------- watching


class Told:
    """A scikit-learn callback that notes what it is told, and stops if asked to."""

    def __init__(self, *, stop=False):
        self.stop, self.log, self.fitted = stop, [], None

    def setup(self, estimator, context):
        self.log.append("setup")

    def teardown(self, estimator, context):
        self.log.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.log.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.log.append(f"end {context.task_name}")
        self.fitted = fitted_estimator or self.fitted
        return self.stop


def test_callbacks_hear_of_each_step_and_of_the_fit():
    told = Told()
    model = KernelRidge(solver="cg", tol=1e-9).set_callbacks(told).fit(X, Y)
    assert told.log[:2] == ["setup", "begin fit"]
    assert told.log[-2:] == ["end fit", "teardown"]
    assert "end ConjugateGradients step" in told.log
    np.testing.assert_array_equal(told.fitted.predict(X), model.predict(X))


def test_a_callback_can_stop_a_fit():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((300, 3))
    with pytest.warns(UserWarning, match="interrupted"):
        KernelRidge(solver="cg", alpha=1e-6, tol=1e-9).set_callbacks(Told(stop=True)).fit(points, points[:, 0])


def test_callbacks_go_through_a_search():
    from sklearn.model_selection import GridSearchCV

    told = Told()
    told.max_propagation_depth = None
    GridSearchCV(KernelRidge(), {"alpha": [0.1, 1.0]}, cv=2).set_callbacks(told).fit(X, Y)
    assert told.log.count("setup") == 1
    assert len(told.log) > 10


def test_verbose_shows_steps(capsys):
    KernelRidge(solver="cg", verbose=True).fit(X, Y)
    assert "ConjugateGradients" in capsys.readouterr().err
    KernelRidge(solver="cg").fit(X, Y)
    captured = capsys.readouterr()
    assert captured.err == captured.out == ""
