"""Kernels as values and as scikit-learn parameters: equality, printing, pickling, cloning, searching."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer.kernels import *  # noqa: F403  # printed forms are read back with eval
from mercer.kernels import Constant, Custom, Gaussian, Linear, Polynomial, Precomputed, SetIntersection, exp
from tests.kernels import points

PRINTED = [
    *(k for k in points.REAL if not isinstance(k, Custom)),
    *points.HISTOGRAMS,
    *points.STRINGS,
    *points.SETS,
    0.5 * Gaussian(2.0) + Linear() * Gaussian(2.0),
    2 * (3 * Linear()),
    2 * (Linear() * Gaussian(1.0)),
    Linear() * (Linear() * Gaussian(1.0)),
    Linear() + (Linear() + 1),
    (1 + Linear()) + (2 + Gaussian(1.0)),
    Constant(1.0) + Constant(2),
    (Linear() ** 2) ** 3,
    (2 * Linear()) ** 2 * 1e-5,
    exp(SetIntersection()).normalized(),
    (Gaussian("median") + 1).on(["a", "b"]),
    Gaussian(np.float64(2.0)).on(np.int64(3)),
    Linear().on(slice(0, 3)),
    Gaussian(np.array([1.0, 2.0])),
]


@pytest.mark.parametrize("kernel", PRINTED, ids=repr)
def test_prints_as_built_and_is_a_value(kernel):
    for other in (eval(repr(kernel)), pickle.loads(pickle.dumps(kernel)), clone(kernel)):
        assert other == kernel
        assert hash(other) == hash(kernel)
        assert repr(other) == repr(kernel)


def test_printed_as_built():
    assert repr(0.5 * Gaussian(scale=2.0) + Linear() * Gaussian(scale=1.0)) == (
        "0.5 * Gaussian(scale=2.0) + Linear() * Gaussian(scale=1.0)"
    )
    assert repr(Linear() ** 2 + 1) == "Linear() ** 2 + 1"
    assert repr(1 + 2 * Linear()) == "1 + 2 * Linear()"
    assert repr(Gaussian([1.0, 2.0])) == "Gaussian(scale=[1.0, 2.0])"


def test_equal_by_value():
    assert Gaussian(2) == Gaussian(2.0) == Gaussian(np.float32(2.0))
    assert Gaussian([1, 2]) == Gaussian((1.0, 2.0)) == Gaussian(np.array([1.0, 2.0]))
    assert hash(Gaussian([1, 2])) == hash(Gaussian((1.0, 2.0)))
    assert Gaussian(2.0) != Gaussian(2.5)
    assert Gaussian([1.0, 2.0]) != Gaussian([2.0, 1.0])
    assert Linear() + Gaussian() != Gaussian() + Linear()
    assert Linear().on(["a", 1]) != Linear().on(["a", "1"])
    assert Gaussian() != "Gaussian(scale=1.0)"
    K = np.eye(300)
    assert Precomputed(K) == Precomputed(K.copy())
    assert Precomputed(K) != Precomputed(2 * K)


def test_kernels_are_frozen():
    with pytest.raises(AttributeError):
        Gaussian(2.0).scale = 3.0


def test_parameters_by_name():
    k = 0.5 * Gaussian(2.0) + Polynomial(3)
    names = {"left", "left__factor", "left__kernel__scale", "right__degree", "right__gamma"}
    assert names <= set(k.get_params())
    assert set(k.get_params(deep=False)) == {"left", "right"}
    twin = clone(k).set_params(left__kernel__scale=4.0, right=Linear())
    assert twin == 0.5 * Gaussian(4.0) + Linear()
    assert k == 0.5 * Gaussian(2.0) + Polynomial(3)
    assert clone(k).set_params(left__kernel__scale=3.0, left=7 * Gaussian(1.0)).left == 7 * Gaussian(3.0)


def test_a_refused_parameter_leaves_the_kernel_as_it_was():
    k = Gaussian(2.0)
    with pytest.raises(ValueError, match=r"Gaussian: 'scale' must be a positive number; got -1\. Give scale > 0\."):
        k.set_params(scale=-1)
    with pytest.raises(ValueError, match=r"Gaussian: its parameters are scale; got 'gamma'"):
        k.set_params(gamma=1.0)
    with pytest.raises(ValueError, match=r"'scale' must be a kernel to have parameters of its own; got 'scale__x'"):
        k.set_params(scale__x=1.0)
    assert k == Gaussian(2.0)


class Nearest(ClassifierMixin, BaseEstimator):
    """The class of the most similar training point."""

    def __init__(self, kernel=None):
        self.kernel = kernel

    def fit(self, X, y):
        self.kernel_, self.X_, self.y_, self.classes_ = self.kernel.resolve(X), X, y, np.unique(y)
        return self

    def predict(self, X):
        score = self.kernel_(X, self.X_) @ (self.y_[:, None] == self.classes_)
        return self.classes_[score.argmax(axis=1)]


def test_grid_search_over_kernel_parameters(rng):
    X = rng.standard_normal((60, 2))
    y = (np.hypot(*X.T) < 1.1).astype(int)
    given = Gaussian(100.0)
    search = GridSearchCV(Nearest(given), {"kernel__scale": [0.3, 1.0, 100.0]}, cv=3).fit(X, y)
    assert search.best_params_["kernel__scale"] < 100.0
    assert given == Gaussian(100.0)
    grid = {"nearest__kernel": [Linear(), 1 + Gaussian("median")], "nearest__kernel__left": [Constant(0.5), Linear()]}
    with pytest.raises(ValueError, match="its parameters are A; got 'left'"):
        GridSearchCV(make_pipeline(StandardScaler(), Nearest()), grid, cv=2, error_score="raise").fit(X, y)
    grid = {"nearest__kernel": [1 + Gaussian("median")], "nearest__kernel__right__scale": [0.1, "median"]}
    grown = GridSearchCV(make_pipeline(StandardScaler(), Nearest()), grid, cv=2).fit(X, y)
    assert set(grown.cv_results_["param_nearest__kernel__right__scale"]) == {0.1, "median"}


def test_clone_keeps_a_fitted_transformer(rng):
    X = rng.standard_normal((8, 2)) * [1.0, 100.0]
    k = Gaussian(1.0).of(StandardScaler().fit(X))
    np.testing.assert_array_equal(clone(Nearest(k)).kernel(X), k(X))


# ---------------------------------------------------------------------------------------------- parameters from data


def test_scale_rules_match_scikit_learn(rng):
    from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

    X = 3 * rng.standard_normal((20, 4)) + 1
    for rule, gamma in {"scale": 1 / (4 * X.var()), "auto": 1 / 4}.items():
        np.testing.assert_allclose(Gaussian(rule)(X), rbf_kernel(X, gamma=gamma), rtol=1e-12)
        np.testing.assert_allclose(points.Laplace(rule)(X), laplacian_kernel(X, gamma=gamma), rtol=1e-12)
        wanted = polynomial_kernel(X, degree=2, gamma=gamma)
        np.testing.assert_allclose(Polynomial(2, gamma=rule)(X), wanted, rtol=1e-11)
    from scipy.sparse import csr_matrix

    X[X < 1] = 0
    assert Gaussian("scale").resolve(csr_matrix(X)).scale == pytest.approx(np.sqrt(4 * X.var()), rel=1e-14)


def test_median_is_the_median_distance(rng):
    from scipy.spatial.distance import pdist

    X = rng.standard_normal((30, 3))
    assert Gaussian("median").resolve(X) == Gaussian(float(np.median(pdist(X))))
    assert points.Laplace("median").resolve(X).scale == pytest.approx(np.median(pdist(X, "cityblock")))
    with pytest.raises(ValueError, match=r"needs two rows that differ; got 3 sample\(s\), all equal\. Give a number"):
        Gaussian("median").resolve(np.ones((3, 2)))


def test_resolve_reaches_into_composites_and_views(rng):
    X = rng.standard_normal((20, 3)) * [1.0, 10.0, 100.0]
    first, all_of_it = (Gaussian("median").resolve(Z) for Z in (X[:, [0]], X))
    assert Gaussian("median").on([0]).resolve(X) == first.on([0])
    assert (2 * Gaussian("median") + Gaussian("median").on(0)).resolve(X) == 2 * all_of_it + first.on(0)
    tamed = Gaussian("median").of(np.tanh)
    assert tamed.resolve(X).kernel == Gaussian("median").resolve(np.tanh(X))
    settled = Gaussian(1.0) + Linear().on([1])
    assert settled.resolve(X) is settled
    with pytest.raises(
        ValueError, match=r"'scale' must be a number where the kernel is used; got 'median'. Call k.res"
    ):
        Gaussian("median")(X, X)
    with pytest.raises(ValueError, match=r"'gamma' must be a number where the kernel is used; got 'auto'"):
        Polynomial(gamma="auto")(X, X)
