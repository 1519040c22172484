"""A catalogue of hard problems, each of which every solver that accepts it closes the gap on."""

import numpy as np
import pytest

from mercer import gram, losses
from mercer.kernels import Gaussian, Linear
from mercer.solvers import (
    Auto,
    Ball,
    BoxDual,
    CenterGradients,
    CenterNewton,
    CenterVectorNewton,
    Cholesky,
    ConjugateGradients,
    Eigen,
    HalfSquare,
    Majorize,
    Newton,
    Norm,
    NormSearch,
    Problem,
    Proximal,
    VectorNewton,
    certify,
)
from mercer.solvers.watch import Clock

rng = np.random.default_rng(0)
NORMAL, SIGNS = rng.standard_normal((20, 2)), np.tile([1.0, -1.0], 10)
CATALOGUE = {  # points, targets that are labels and numbers, weights
    "one row": (np.ones((1, 2)), np.ones(1), None),
    "two rows": (np.eye(2), np.array([1.0, -1.0]), None),
    "one class": (np.arange(6.0).reshape(3, 2), np.ones(3), None),
    "duplicates": (np.repeat(np.eye(3), 5, axis=0), np.tile([1.0, -1.0, 1.0], 5), None),
    "duplicates that disagree": (np.repeat(NORMAL[:5], 4, axis=0), SIGNS, None),
    "constant columns": (np.ones((8, 2)), np.array([1.0, -1.0] * 4), None),
    "singular": (np.outer(np.arange(20.0) - 9.5, [1.0, 2.0]), SIGNS, None),
    "huge scale": (1e8 * NORMAL, SIGNS, None),
    "tiny scale": (1e-8 * NORMAL, SIGNS, None),
    "float32": (NORMAL.astype(np.float32), SIGNS, None),
    "separable": (np.linspace(-1, 1, 20).reshape(-1, 1), np.sign(np.linspace(-1, 1, 20)), None),
    "zero weights": (NORMAL, SIGNS, np.repeat([0.0, 1.0], 10)),
    "uneven weights": (NORMAL, SIGNS, np.logspace(-2, 2, 20)),
    "one row left": (NORMAL, SIGNS, np.eye(20)[3]),
}
CENTERS = "centers"
SOLVERS = {
    "Cholesky": (Cholesky(), losses.Squared()),
    "ConjugateGradients": (ConjugateGradients(1e-9), losses.Squared()),
    "Eigen": (Eigen(), losses.Squared()),
    "CenterGradients": (CenterGradients(1e-9), losses.Squared(), CENTERS),
    "Newton, logistic": (Newton(1e-8), losses.Logistic()),
    "Newton, smoothed hinge": (Newton(1e-8), losses.SmoothedHinge(1.0)),
    "Newton, Huber": (Newton(1e-8), losses.Huber(0.5)),
    "Newton, exponential": (Newton(1e-8), losses.Exponential()),
    "CenterNewton": (CenterNewton(1e-8), losses.Logistic(), CENTERS),
    "BoxDual, hinge": (BoxDual(1e-7), losses.Hinge()),
    "BoxDual, absolute": (BoxDual(1e-7), losses.Absolute()),
    "BoxDual, insensitive": (BoxDual(1e-7), losses.EpsilonInsensitive(0.1)),
    "Proximal": (Proximal(1e-7), losses.Hinge()),
    "Proximal on centres": (Proximal(1e-7), losses.Hinge(), CENTERS),
    "VectorNewton": (VectorNewton(1e-8), losses.Multinomial()),
    "CenterVectorNewton": (CenterVectorNewton(1e-8), losses.Multinomial(), CENTERS),
    "Majorize": (Majorize(Auto(1e-8).choose, 1e-7), losses.Welsch(2.0)),
    "NormSearch, norm": (NormSearch(Auto(1e-10).choose, 1e-6), losses.Logistic(), Norm(0.3)),
    "NormSearch, ball": (NormSearch(Auto(1e-10).choose, 1e-6), losses.Logistic(), Ball(0.5)),
}


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("case", CATALOGUE)
def test_the_gap_is_closed(case, name, intercept):
    (solver, loss, *more), (X, y, w) = SOLVERS[name], CATALOGUE[case]
    y = np.column_stack([y > 0, y < 0]).astype(float) if losses.traits(loss).coupled else y
    kernel = Gaussian(1.0) if case == "huge scale" else Gaussian(1.0) + Linear()  # 1e16 leaves no digits for answers
    centers = np.arange(0, len(X), 2) if CENTERS in more else None
    penalty = more[0] if more and more[0] is not CENTERS else HalfSquare(0.1)
    problem = Problem(gram(kernel, X), y, loss, penalty, w, intercept, centers)
    assert solver.refuses(problem) is None
    answer = solver.run(problem, Clock(name), {})
    proof = certify(problem, answer.coefficients, answer.offset, full=False, dual=answer.dual)
    close = {"NormSearch, norm": 1e-5, "NormSearch, ball": 1e-5}.get(name, 1e-6)
    nothing = 1e-12 * (1.0 if w is None else w.sum())  # what is left where all losses can be 0, if b is far enough
    assert proof.gap.max() <= max(close * np.abs(proof.primal).max(), nothing), (answer.status, proof.relative_gap)
