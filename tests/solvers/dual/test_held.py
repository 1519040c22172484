"""Paths on a matrix that is held: the answers of the working set solver, whatever the order, the sums and the costs."""

import numpy as np
import pytest

from mercer import Engine, gram
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge, SquaredHinge
from mercer.solvers import Status
from mercer.solvers.dual import Held, Paths, nu_classes, of_loss, solve_box
from mercer.solvers.watch import Clock

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
SIGN = np.where(X[:, 0] + 0.8 * RNG.normal(size=300) > 0, 1.0, -1.0)
K = gram(Gaussian(2.0), X, engine=Engine(precision="double"))
COSTS = (0.1, 1.0, 30.0, 1000.0)


def objective(box, c):
    v = np.asarray(K)[np.ix_(box.rows, box.rows)] @ c
    return 0.5 * c @ (v + box.ridge * c) + 0.5 * box.shift * c.sum() ** 2 + box.linear @ c


def check(boxes, tol=1e-6, values=None):
    for box, walked in zip(boxes, Held(K).walk(boxes, tol=tol), strict=True):
        other = solve_box(box, tol=tol)
        c = walked.answer.c
        assert walked.answer.status is Status.CONVERGED
        assert walked.answer.violation < tol
        assert (c >= box.lower).all()
        assert (c <= box.upper).all()
        for g, total in enumerate(box.totals):
            assert c[box.group == g].sum() == pytest.approx(total, abs=1e-9 * np.abs(c).sum())
        wanted = objective(box, other.c)
        assert objective(box, c) == pytest.approx(wanted, rel=1e-6)
        v = np.asarray(K)[np.ix_(box.rows, box.rows)] @ c
        gradient = v + box.ridge * c + box.shift * c.sum() + box.linear
        np.testing.assert_allclose(walked.answer.gradient, gradient, atol=1e-8 * max(1, np.abs(c).sum()))
        if values is not None:
            np.testing.assert_allclose(walked.values, np.asarray(K)[:, box.rows] @ c, atol=1e-8 * np.abs(c).sum())


@pytest.mark.parametrize("rows", [np.arange(300), np.arange(0, 300, 4), np.sort(RNG.permutation(300)[:240])])
@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_costs(rows, intercept):
    boxes = [of_loss(K, rows, SIGN[rows], Hinge(), np.full(len(rows), C), intercept).box for C in COSTS]
    check(boxes, values=True if len(rows) > 150 else None)


def test_falling_costs_and_a_ridge():
    rows = np.arange(300)
    check([of_loss(K, rows, SIGN, SquaredHinge(), np.full(300, C)).box for C in COSTS[::-1]])


def test_rows_in_any_order_and_two_variables_a_row():
    rows = RNG.permutation(300)[:200]
    check([of_loss(K, rows, X[rows, 0], EpsilonInsensitive(0.1), np.full(200, C)).box for C in COSTS[:3]])


def test_sums_that_are_not_zero():
    rows = np.arange(300)
    check([nu_classes(K, rows, SIGN, np.ones(300), nu).box for nu in (0.2, 0.5, 0.8)])


def test_paths_give_decisions_at_all_rows():
    rows = np.arange(0, 300, 2)
    path = [of_loss(K, rows, SIGN[rows], Hinge(), np.full(150, C)) for C in (0.5, 5.0)]
    by_held = Paths(K, [path], tol=1e-8, max_steps=-1, clock=Clock("t"), held=Held(K))
    by_sets = Paths(K, [path], tol=1e-8, max_steps=-1, clock=Clock("t"), held=None)
    at = np.arange(1, 300, 7)
    for step in (0, 1):
        np.testing.assert_allclose(by_held.decisions([0], step, at), by_sets.decisions([0], step, at), atol=1e-5)


def test_when_time_is_out_the_rest_is_missing():
    path = [of_loss(K, np.arange(300), SIGN, Hinge(), np.full(300, C)) for C in (0.5, 5.0)]
    found = Paths(K, [path], tol=1e-3, max_steps=-1, clock=Clock("t", deadline=1e-9), held=Held(K))
    assert found.decisions([0], 0, np.arange(5)) is None


def test_most_steps():
    box = of_loss(K, np.arange(300), SIGN, Hinge(), np.full(300, 100.0)).box
    (walked,) = Held(K).walk([box], max_steps=20)
    assert walked.answer.status is Status.MAX_STEPS
    assert walked.answer.steps <= 20
