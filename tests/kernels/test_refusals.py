"""Bad parameters and bad points, each with its message."""

import re

import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import (
    ArcCosine,
    Cauchy,
    Chi2,
    Constant,
    Custom,
    Gaussian,
    Intersection,
    Laplace,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    SetIntersection,
    Spectrum,
    White,
    exp,
    named,
    polynomial,
)

pytestmark = pytest.mark.uncompiled
POINTS = [[1.0, 2.0], [3.0, 4.0]]

PARAMETERS = [
    (lambda: Gaussian(-1), "Gaussian: 'scale' must be a positive number; got -1. Give scale > 0."),
    (lambda: Gaussian(0.0), "Gaussian: 'scale' must be a positive number; got 0.0."),
    (lambda: Gaussian(np.nan), "got nan."),
    (lambda: Gaussian(True), "got True."),
    (lambda: Gaussian(None), "got None."),
    (lambda: Gaussian(1j), "a vector of them, or a metric matrix; got 1j."),
    (lambda: Gaussian([1.0, -2.0]), "Gaussian: every 'scale' must be a positive number; got the vector [ 1. -2.]."),
    (lambda: Gaussian([]), "every 'scale' must be a positive number"),
    (lambda: Gaussian("mean"), "got 'mean'. The rules by name are 'median', 'scale', 'auto'."),
    (lambda: Gaussian([[1.0, 2.0], [2.0, 1.0]]), "rule 8 needs 'scale' positive semi-definite; got an eigenvalue -1."),
    (
        lambda: Gaussian([[1.0, 2.0], [0.0, 1.0]]),
        "rule 8 needs 'scale' symmetric; got scale[0,1] = 2 and scale[1,0] = 0.",
    ),
    (lambda: Gaussian(np.ones((2, 2, 2))), "a vector of them; got shape (2, 2, 2)."),
    (lambda: Gaussian.from_gamma(0), "Gaussian: 'gamma' must be a positive number; got 0."),
    (lambda: Gaussian.from_length_scale([[1.0]]), "a vector of them; got shape (1, 1)."),
    (lambda: Linear([[1.0, 2.0]]), "Linear: 'A' must be a finite square matrix; got shape (1, 2)."),
    (lambda: Linear([[np.inf]]), "'A' must be a finite square matrix; got NaN or infinity."),
    (lambda: Linear("A"), "Linear: 'A' must be a matrix of numbers; got 'A'."),
    (lambda: Linear([[-1.0]]), "c'Ac < 0 for c = [1.]"),
    (lambda: Laplace([[1.0]]), "Laplace: 'scale' must be a positive number or a vector of them; got shape (1, 1)."),
    (lambda: Matern(nu=1.0), "Matern: 'nu' must be 0.5, 1.5 or 2.5; got 1.0. For nu = infinity use Gaussian."),
    (lambda: Matern(scale=-2), "Matern: 'scale' must be a positive number; got -2."),
    (lambda: RationalQuadratic(alpha=0), "RationalQuadratic: 'alpha' must be a positive number; got 0."),
    (lambda: Cauchy("x"), "Cauchy: 'scale' must be"),
    (lambda: Polynomial(0), "Polynomial: rule 4 (and 5) allow k ** n only for an integer n >= 1; got 0."),
    (lambda: Polynomial(2.5), "got 2.5."),
    (lambda: Polynomial(2, inner=-1), "Polynomial: 'inner' must be a finite number >= 0; got -1."),
    (lambda: Polynomial(2, outer=-1), "Polynomial: 'outer' must be a finite number >= 0; got -1."),
    (lambda: Polynomial(2, gamma=-1), "Polynomial: 'gamma' must be a positive number; got -1."),
    (lambda: Polynomial(2, gamma="median"), "'gamma' must be a positive number, 'scale' or 'auto'; got 'median'."),
    (lambda: ArcCosine(3), "ArcCosine: 'order' must be 0, 1 or 2; got 3."),
    (lambda: ArcCosine([1]), "ArcCosine: 'order' must be 0, 1 or 2; got [1]."),
    (lambda: Chi2(-1), "Chi2: 'scale' must be a positive number; got -1."),
    (lambda: Periodic(0), "Periodic: 'period' must be a positive number, or a vector of them; got 0."),
    (lambda: Periodic("day"), "got 'day'."),
    (lambda: Periodic(1, scale=0), "Periodic: 'scale' must be a positive number; got 0."),
    (lambda: Constant(-1), "Constant: 'value' must be a finite number >= 0; got -1."),
    (lambda: Spectrum(0), "Spectrum: 'k' must be an integer >= 1; got 0."),
    (lambda: Spectrum(2, mismatches=2, alphabet="ab"), "'mismatches' must be below k = 2; got 2."),
    (lambda: Spectrum(2, mismatches=1), "Spectrum: mismatches need an alphabet; got None. Give alphabet='ACGT'"),
    (lambda: Spectrum(2, alphabet="AA"), "'alphabet' must be a string of distinct letters; got 'AA'."),
    (lambda: Spectrum(2, alphabet=["A"]), "'alphabet' must be a string of distinct letters; got ['A']."),
    (lambda: Custom(3), "Custom: 'fn' must be a function of two points; got 3."),
    (lambda: Custom(max, name=3), "Custom: 'name' must be a string; got 3."),
    (lambda: Custom(max, vectorized="yes"), "Custom: 'vectorized' must be True or False; got 'yes'."),
    (lambda: Precomputed([[1.0, 2.0]]), "Precomputed: 'K' must be square; got shape (1, 2)."),
    (lambda: Precomputed([[1.0, np.nan], [np.nan, 1.0]]), "K must hold finite numbers; got nan in row 0, column 1."),
    (
        lambda: Precomputed([[1.0, 0.5, 0], [0.25, 1, 0], [0, 0, 1]]),
        "Precomputed: 'K' must be symmetric; got K[0,1] = 0.5 and K[1,0] = 0.25. Use (K + K.T) / 2",
    ),
    (lambda: Precomputed(sparse.eye(2)), "'K' must be a dense matrix; got a sparse one. Use K.toarray()."),
    (lambda: Linear() - 1, "no closure rule covers a difference of kernels"),
    (lambda: -Linear(), "rule 2 allows c * k only for a finite c >= 0; got -1."),
    (lambda: np.inf * Linear(), "rule 2 allows"),
    (lambda: Linear() + np.inf, "rules 2 and 3 allow k + c only for c >= 0"),
    (lambda: Linear() / Linear(), "no closure rule covers a quotient of kernels"),
    (lambda: Linear().warp(3), "kernel.warp: rule 6 needs a function f of a point; got 3. For a number use c * k."),
    (lambda: Linear().of(3), "kernel.of: transform must be a function of a block of rows or have .transform; got 3."),
    (lambda: polynomial(Linear(), []), "rule 4 allows g(k) only for a polynomial g whose coefficients"),
]


def not_finite(x, z):
    return np.inf


def one_sided(x, z):
    return x[0] - z[0]


USES = [
    (lambda: Gaussian([1.0, 2.0, 3.0])(POINTS), "its metric is for 3 columns; got X with 2."),
    (lambda: Gaussian()([[1.0, np.nan]]), "got nan in row 0, column 1."),
    (lambda: Gaussian()([[1j]]), "X must be real; got complex numbers."),
    (lambda: Gaussian()([[1.0], [1.0, 2.0]]), "got ragged rows."),
    (lambda: Gaussian()(["a", "b"]), "X must hold numbers; got"),
    (lambda: Gaussian()(np.zeros((0, 2))), "at least one row"),
    (lambda: Gaussian()(POINTS, [[1.0]]), "X and Y must have as many columns; got 2 and 1."),
    (lambda: Periodic([1.0])(POINTS), "Periodic: its periods are for 1 columns; got X with 2."),
    (lambda: Chi2()([[1.0, 2.0], [3.0, -4.0]]), "Chi2: histograms have entries >= 0; got -4 in row 1, column 1."),
    (lambda: Intersection()(POINTS, [[0.0, -1.0]]), "Intersection: histograms have entries >= 0; got -1 in row 0"),
    (lambda: Chi2()(sparse.csr_matrix([[0.0, 0.0], [0.0, -2.0]])), "got -2 in row 1, column 1."),
    (lambda: SetIntersection()(["abc", "b"]), "SetIntersection: X must hold sets; got 'abc' in row 0. Use set(x) for"),
    (lambda: SetIntersection()([{1}, 3]), "X must hold sets; got 3 in row 1."),
    (lambda: SetIntersection()([[[1], [2]]]), "elements of sets must be hashable; got [[1], [2]] in row 0."),
    (lambda: SetIntersection()("abc"), "X must be a list of sets; got 'abc'. Put it in a list: [x]."),
    (lambda: SetIntersection()([]), "X must be a list of sets; got an empty list."),
    (lambda: SetIntersection()(np.array([[0.0, 2.0]])), "must hold 0 and 1 only; got the entry 2. Use (X > 0), or"),
    (lambda: SetIntersection()([{1}], np.eye(2)), "both be lists of sets, or both 0-1 tables; got one of each."),
    (lambda: Spectrum()("ACGT"), "Spectrum: X must be a list of strings; got 'ACGT'. Put it in a list: [x]."),
    (lambda: Spectrum()(["ACGT", 3]), "Spectrum: X must hold strings; got 3 in row 1. For sets use SetIntersection."),
    (lambda: Spectrum(2, alphabet="ACGT")(["ACGN"]), "strings must use the alphabet 'ACGT'; got 'N' in row 0."),
    (lambda: Spectrum()(np.ones((2, 2))), "X must be a list of strings; got an array of shape (2, 2)."),
    (lambda: White()([{}, {}]), "White: points must be rows of numbers or hashable objects; got {} in row 0."),
    (lambda: Precomputed(np.eye(2))([0, 2]), "Precomputed: indices must be from 0 to 1; got 2. K has no such row."),
    (lambda: Precomputed(np.eye(2))([0, -1]), "indices must be from 0 to 1; got -1."),
    (lambda: Precomputed(np.eye(2))([0.5]), "points must be a list of indices; got [0.5]. Give integers from 0 to 1."),
    (lambda: Precomputed(np.eye(2))(POINTS), "points must be a list of indices"),
    (lambda: Custom(not_finite)(POINTS), "Custom(not_finite): fn must return finite numbers; got inf at (0, 0)."),
    (lambda: Custom(one_sided)(POINTS), "Custom(one_sided): fn(x, z) must be fn(z, x); got -2 for (x, z)"),
    (lambda: Custom(lambda x, z: x)(POINTS), "fn must return one number for two points; got arrays of shape (2,)"),
    (lambda: Custom(lambda x, z: "a")(POINTS), "fn must return one number for two points; got something else."),
    (lambda: Custom(lambda X, Z: X, vectorized=True, name="g")([[1.0, 2.0]]), "Custom(g): fn must return an array of"),
    (lambda: Linear().warp(lambda x: np.nan)(POINTS), "f must give one finite number for each of the 2 rows; got NaN"),
    (lambda: Linear().warp(lambda x: x)(POINTS), "f must give one finite number for each of the 2 rows; got shape"),
    (lambda: Linear().of(lambda X: X[:1])(np.eye(3)), "must return a row for each of the 3 given; got 1 rows."),
]  # fmt: skip  # one case a line

NAMES = [
    (lambda: named("sigmoid"), "tanh(gamma x'z + coef0) is not a kernel"),
    (lambda: named("sigmoid"), "Custom(lambda X, Z: np.tanh(X @ Z.T - 1), vectorized=True)"),
    (lambda: named("additive_chi2"), "Use 'chi2', its exponential."),
    (lambda: named("precomputed"), "Use Precomputed(K) with indices as points, or kernel='precomputed'"),
    (lambda: named("rbg"), "must be one of linear, poly, polynomial, rbf, laplacian, chi2, cosine; got 'rbg'."),
    (lambda: named(3), "got 3. Or pass a kernel: Gaussian(1.0)."),
    (lambda: named("rbf", gamma="median"), "'gamma' must be a positive number, 'scale' or 'auto'; got 'median'."),
    (lambda: named("rbf", gamma=-1), "kernel: 'gamma' must be a positive number; got -1."),
    (lambda: named("chi2", gamma="auto"), "kernel: 'gamma' must be a positive number; got 'auto'."),
    (lambda: named("poly", coef0=-1), "kernel: 'coef0' must be a finite number >= 0; got -1."),
]  # fmt: skip  # one case a line


@pytest.mark.parametrize("make,text", [*PARAMETERS, *USES, *NAMES], ids=lambda v: v if isinstance(v, str) else "")
def test_refused(make, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        make()


@pytest.mark.parametrize("make", [lambda: exp(1.0), lambda: polynomial(2.0, [1]), lambda: Linear() + "1"])
def test_refused_types(make):
    with pytest.raises(TypeError):
        make()
