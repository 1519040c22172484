"""The multinomial loss: Clarabel, scikit-learn on a linear kernel, laws, and a certificate that never falls short."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import estimator_checks_generator

from mercer import Engine, KernelLogisticRegression, gram, losses
from mercer.kernels import Gaussian
from mercer.losses import conjugate, shortfall, slope, value
from mercer.solvers import CenterVectorNewton, HalfSquare, Problem, Status, VectorNewton, certify, solve
from mercer.testing import check_machine


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, np.digitize(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.5 * rng.standard_normal(n), [-0.5, 0.5])


def optimum(K, Y, w, lam, *, intercept):
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-13 * values[-1]
    root = vectors[:, kept] * np.sqrt(values[kept])
    theta, b = cp.Variable((int(kept.sum()), Y.shape[1])), cp.Variable((1, Y.shape[1]))
    T = root @ theta + (np.ones((len(Y), 1)) @ b if intercept else 0)
    rows = cp.log_sum_exp(T, axis=1) - cp.sum(cp.multiply(Y, T), axis=1)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(w, rows)) + lam / 2 * cp.sum_squares(theta)))
    problem.solve(solver=cp.CLARABEL)
    return problem.value


@pytest.mark.parametrize("intercept", [False, True])
def test_optimum_is_that_of_clarabel(intercept):
    X, y = data(30)
    w, Y = np.random.default_rng(1).integers(0, 3, 30).astype(float), np.eye(3)[y]
    K = gram(Gaussian(2.0), X, engine=Engine(precision="double"))
    problem = Problem(K, Y, losses.Multinomial(), HalfSquare(0.3), w, intercept)
    found = solve(problem, VectorNewton(1e-11))
    wanted = optimum(np.asarray(K, float), Y, w, 0.3, intercept=intercept)
    assert found.converged
    assert found.certificate.primal[0] == pytest.approx(wanted, rel=1e-7)
    assert found.certificate.relative_gap < 1e-10
    assert (found.coefficients[w == 0] == 0).all()
    rng = np.random.default_rng(2)
    for size in (0.0, 0.01, 1.0):  # whatever f: never below the true gap
        c = found.coefficients + size * rng.standard_normal(Y.shape)
        proof = certify(problem, c, found.offset)
        assert proof.gap[0] >= proof.primal[0] - found.certificate.primal[0] - 1e-12


@pytest.mark.parametrize("intercept", [False, True])
def test_on_centres_it_is_the_best_of_their_span(intercept):
    X, y = data(30)
    w, Y = np.random.default_rng(1).integers(0, 3, 30).astype(float), np.eye(3)[y]
    K, some = gram(Gaussian(2.0), X, engine=Engine(precision="double")), np.arange(0, 30, 3)
    whole = solve(Problem(K, Y, losses.Multinomial(), HalfSquare(0.3), w, intercept), VectorNewton(1e-11))
    every = few_problem(K, Y, w, intercept, np.arange(30))
    found = solve(every, CenterVectorNewton(1e-10), certify="full")
    assert found.converged
    assert found.certificate.primal[0] == pytest.approx(whole.certificate.primal[0], rel=1e-8)
    assert found.certificate.relative_gap < 1e-8
    few = solve(few_problem(K, Y, w, intercept, some), certify="none")
    assert few.stats["solver"] == "CenterVectorNewton"
    inside, proof = (certify(few_problem(K, Y, w, intercept, some), few.coefficients, few.offset, full=full)
                     for full in (False, True))  # fmt: skip  # among functions on the centres, and among all
    assert inside.relative_gap < 1e-5
    assert proof.gap[0] >= proof.primal[0] - whole.certificate.primal[0] > 0
    again = solve(few_problem(K, Y, w, intercept, some), start=few)
    assert again.stats["steps"] == 0


def few_problem(K, Y, w, intercept, some):
    return Problem(K, Y, losses.Multinomial(), HalfSquare(0.3), w, intercept, centers=some)


def test_rules_are_those_of_the_likelihood():
    rng = np.random.default_rng(0)
    Y, T = np.eye(4)[rng.integers(0, 4, 20)], 3 * rng.standard_normal((20, 4))
    loss, P = losses.Multinomial(), rng.dirichlet(np.ones(4), 20)
    wanted = np.log(np.exp(T).sum(axis=1)) - (Y * T).sum(axis=1)
    assert np.allclose(value(loss, Y, T).sum(axis=1), wanted)
    d = 1e-6 * rng.standard_normal(T.shape)
    differences = (value(loss, Y, T + d) - value(loss, Y, T - d)).sum(axis=1) / 2
    assert np.allclose((slope(loss, Y, T) * d).sum(axis=1), differences, atol=1e-14)
    u = P - Y
    plain = (value(loss, Y, T) + conjugate(loss, Y, u) - u * T).sum(axis=1)
    assert np.allclose(shortfall(loss, Y, T, u).sum(axis=1), plain)
    assert (shortfall(loss, Y, T, u) >= 0).all()
    assert np.allclose(shortfall(loss, Y, T, slope(loss, Y, T)), 0, atol=1e-14)


@pytest.mark.peer
def test_logistic_regression_of_scikit_learn_on_a_linear_kernel():
    X, y = data(300)
    ours = KernelLogisticRegression(0.7, kernel="linear", tol=1e-12).fit(X, y)
    theirs = LogisticRegression(C=0.7, tol=1e-12, max_iter=3000, solver="newton-cg").fit(X, y)
    assert ours.solver_ == "VectorNewton"
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-5)
    assert np.allclose(ours.predict_proba(X).sum(axis=1), 1)


def test_laws_and_conventions():
    X, y = data(80)
    check_machine(KernelLogisticRegression(tol=1e-13), X, y, conventions=False, rtol=1e-4)
    for model, check in estimator_checks_generator(KernelLogisticRegression()):
        if check.func.__name__ in ("check_classifiers_train", "check_classifiers_classes"):
            check(model)


def test_it_agrees_with_two_classes_and_stops_when_told():
    X, y = data(200)
    two = (y > 0).astype(int)
    K, w = gram(Gaussian(1.5), X), np.ones(200)
    binary = solve(Problem(K, 2.0 * two - 1, losses.Logistic(), HalfSquare(1.0), w, True))
    both = Problem(K, np.eye(2)[two], losses.Multinomial(), HalfSquare(2.0), w, True)  # f_2 - f_1 has twice the square
    found = solve(both, VectorNewton(1e-9))
    difference = found.function(X)[:, 1] - found.function(X)[:, 0] + found.offset[1] - found.offset[0]
    assert np.allclose(difference, binary.function(X) + binary.offset[0], atol=2e-3)
    stopped = solve(both, VectorNewton(1e-12), watch=lambda step: step.number >= 1)
    assert stopped.status is Status.INTERRUPTED
    assert np.isfinite(stopped.certificate.relative_gap)
    assert solve(both, VectorNewton(1e-6), start=found).stats["steps"] == 0
    for bad, reason in (
        (Problem(K, y * 1.0, losses.Squared()), "multinomial"),
        (Problem(K, np.eye(2)[two], losses.Multinomial(), HalfSquare(0.0)), "lam > 0"),
        (Problem(K, np.eye(2)[two], losses.Multinomial(), centers=[0, 1]), "centres"),
    ):
        with pytest.raises(ValueError, match=reason):
            solve(bad, VectorNewton())
    with pytest.raises(ValueError, match="needs a problem with centres"):
        solve(both, CenterVectorNewton())
    on_centers = KernelLogisticRegression(n_centers=40, random_state=0).fit(X, y)
    near = KernelLogisticRegression().fit(X, y).predict_proba(X)
    assert on_centers.solver_ == "CenterVectorNewton"
    assert np.abs(on_centers.predict_proba(X) - near).mean() < 0.02
