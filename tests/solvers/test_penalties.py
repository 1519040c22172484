"""Every loss with every penalty against cvxpy with Clarabel; certificates that never fall short; what is not convex."""

import cvxpy as cp
import numpy as np
import pytest

from mercer import Engine, KernelMachine, gram, losses
from mercer.kernels import Gaussian, Linear
from mercer.losses._top import largest
from mercer.solvers import (
    Auto,
    Ball,
    Exponential,
    HalfSquare,
    Increasing,
    Newton,
    Norm,
    NormSearch,
    Power,
    Problem,
    Proximal,
    Status,
    certify,
    solve,
)
from tests.solvers.convex import optimum
from tests.solvers.test_newton import SMOOTH, data

LOSSES = [*SMOOTH, losses.Hinge(), losses.EpsilonInsensitive(0.2), losses.Quantile(0.3), losses.Absolute()]
DOUBLE = Engine(precision="double")
PENALTIES = {
    "lam ||f||": (Norm(2.0), lambda r: 2 * r),
    "lam ||f||, large": (Norm(60.0), lambda r: 60 * r),
    "||f||^3": (Power(0.1, 3), lambda r: 0.1 * cp.power(r, 3)),
    "||f||^1.5": (Power(2.0, 1.5), lambda r: 2 * cp.power(r, 1.5)),
    "exp": (Exponential(0.5), lambda r: 0.5 * cp.exp(r)),
    "||f|| <= 1": (Ball(1.0), 1.0),
    "a user's": (Increasing(lambda r: 0.2 * r**2 + r), lambda r: 0.2 * cp.square(r) + r),
}


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_optimum_is_that_of_clarabel(loss, name):
    X, y = data(loss, n=24)
    w = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    K, (penalty, asked) = gram(Gaussian(2.0), X, engine=DOUBLE), PENALTIES[name]
    free = name != "exp"
    found = solve(Problem(K, y, loss, penalty, w, free), Auto(1e-8))
    given = {"penalty": lambda r: 0, "most": asked} if isinstance(asked, float) else {"penalty": asked}
    wanted = optimum(np.asarray(K, dtype=float), y, loss, w, intercept=free, **given)
    proof = found.certificate
    assert found.converged
    assert proof.primal[0] == pytest.approx(wanted, rel=1e-7)
    assert proof.gap[0] >= proof.primal[0] - wanted - 1e-8 * wanted  # Clarabel's own last digits
    assert proof.relative_gap < 3e-8
    assert found.stats["why"].startswith(f"the penalty is {type(penalty).__name__}")


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_proximal_steps_find_the_optimum_on_points_and_on_centres(loss):
    X, y = data(loss, n=24)
    w, lam = np.random.default_rng(1).integers(0, 3, len(y)).astype(float), 0.2
    K = gram(Gaussian(2.0), X, engine=DOUBLE)
    wanted = optimum(np.asarray(K, dtype=float), y, loss, w / lam, intercept=True) * lam
    on_all = solve(Problem(K, y, loss, HalfSquare(lam), w, True), Proximal(1e-8))
    on_centers = solve(Problem(K, y, loss, HalfSquare(lam), w, True, centers=np.arange(24)), Proximal(1e-8))
    some = Problem(K, y, loss, HalfSquare(lam), w, True, centers=np.arange(0, 24, 2))
    on_some = solve(some, Proximal(1e-8), certify="full")
    for found in (on_all, on_centers):
        assert found.converged
        assert found.certificate.relative_gap < 2e-8
        assert found.certificate.primal[0] == pytest.approx(wanted, rel=1e-7)
    assert on_some.certificate.primal[0] - wanted <= on_some.certificate.gap[0]
    assert on_some.converged


def test_a_half_square_by_any_other_name():
    X, y = data(losses.Logistic(), n=40)
    K = gram(Gaussian(2.0), X, engine=DOUBLE)
    one = solve(Problem(K, y, losses.Logistic(), HalfSquare(0.3), intercept=True), Newton(1e-11))
    for penalty in (Power(0.15, 2), Increasing(lambda r: 0.15 * r * r)):
        other = solve(Problem(K, y, losses.Logistic(), penalty, intercept=True), Auto(1e-9))
        assert other.certificate.primal[0] == pytest.approx(one.certificate.primal[0], rel=1e-9)
        assert other.stats["lam"][0] == pytest.approx(0.3, rel=1e-3)
        off = other.coefficients - one.coefficients
        assert np.sqrt(off @ (K @ off)) <= other.certificate.radius[0] + one.certificate.radius[0]
        assert other.certificate.radius[0] <= 4 * np.sqrt(2 * other.certificate.gap[0] / 0.3)


def test_any_dual_point_makes_a_true_certificate():
    X, y = data(losses.Hinge(), n=24)
    K = gram(Gaussian(2.0), X, engine=DOUBLE)
    for penalty in (Norm(2.0), Ball(1.0), Exponential(0.5), Power(0.1, 3), Power(2.0, 1.5)):
        problem = Problem(K, y, losses.Hinge(), penalty, intercept=True)
        found = solve(problem, Auto(1e-9))
        best, reach = found.certificate.primal[0], found.certificate.radius[0]
        assert np.isfinite(reach)
        assert reach < 1e-2 or isinstance(penalty, Norm)  # the length of f is not what its dual tells
        rng = np.random.default_rng(0)
        for size in (0.0, 1e-3, 0.1):
            c, dual = size * rng.standard_normal(24), rng.standard_normal((24, 1))
            proof = certify(problem, c, dual=dual)
            assert proof.gap[0] >= proof.primal[0] - best * (1 + 1e-9)
            for part in (proof, certify(problem, found.coefficients + c, found.offset)):  # f may be near or far
                off = c - found.coefficients if part is proof else c
                assert np.sqrt(off @ (K @ off)) <= part.radius[0] + min(reach, 1e-2)


def test_a_large_norm_penalty_gives_the_zero_function():
    X, y = data(losses.Absolute())
    found = solve(Problem(gram(Gaussian(2.0), X), y, losses.Absolute(), Norm(1e3), intercept=True))
    assert not found.coefficients.any()
    assert found.certificate.primal[0] == pytest.approx(np.abs(y - np.median(y)).sum())


def test_inside_a_large_ball_the_constraint_does_nothing():
    X, y = data(losses.Poisson())
    K = gram(Linear(), X, engine=DOUBLE)
    found = solve(Problem(K, y, losses.Poisson(), Ball(5.0), intercept=True), Auto(3e-5))
    free = solve(Problem(K, y, losses.Poisson(), HalfSquare(1e-7), intercept=True), Newton(1e-9))
    assert found.converged
    assert found.certificate.primal[0] == pytest.approx(free.certificate.primal[0], rel=1e-5)
    far = solve(Problem(K, y, losses.Poisson(), Ball(1e5), intercept=True), Auto(1e-9))  # rounding forbids it
    assert far.certificate.gap[0] >= far.certificate.primal[0] - free.certificate.primal[0]


@pytest.mark.parametrize("loss", [losses.Squared(), losses.Hinge(), losses.Logistic()], ids=repr)
def test_all_stationary_points_of_a_penalty_that_is_not_convex(loss):
    X, y = data(loss, n=20)
    K = gram(Gaussian(2.0), X, engine=DOUBLE)
    penalty = Increasing(lambda r: r + 3 * np.tanh(4 * (r - 2)))
    assert not penalty.convex
    problem = Problem(K, y, loss, penalty, intercept=True)
    found = solve(problem, Auto(1e-6))
    norms = np.linspace(1e-6, 8, 60)
    part = [
        optimum(np.asarray(K, float), y, loss, intercept=True, penalty=lambda r: 0, most=r) for r in norms
    ]  # the losses at each norm
    assert found.converged
    assert found.certificate.relative_gap < 2e-6
    assert found.certificate.dual[0] <= (part + penalty.value(norms)).min() * (1 + 1e-7)
    stationary = found.stats["stationary"][0]
    minima = [objective for _, objective, kind in stationary if kind == "minimum"]
    assert min(minima) == pytest.approx(found.certificate.primal[0], rel=1e-6)
    assert [kind for *_, kind in stationary] == ["minimum", "maximum", "minimum"][: len(stationary)]


def test_targets_are_searched_one_by_one_and_starts_save_steps():
    X, y = data(losses.Huber(), n=40)
    K, Y = gram(Gaussian(2.0), X), np.column_stack([y, 3 * y])
    together = solve(Problem(K, Y, losses.Huber(), Norm(1.0), intercept=True))
    alone = [solve(Problem(K, col, losses.Huber(), Norm(1.0), intercept=True)) for col in Y.T]
    assert np.allclose(together.certificate.primal, [one.certificate.primal[0] for one in alone], rtol=1e-6)
    again = solve(Problem(K, Y, losses.Huber(), Norm(1.0), intercept=True), start=together)
    assert again.stats["steps"] <= 2 < together.stats["steps"]
    both = solve(Problem(K, Y, losses.Huber(), Power(3.0, 0.5), intercept=True), Auto(1e-4))
    assert both.certificate.relative_gap < 1e-3
    assert len(both.stats["stationary"]) == 2


def test_stops_keep_the_best_so_far():
    X, y = data(losses.Logistic(), n=200)
    problem = Problem(gram(Gaussian(2.0), X), y, losses.Logistic(), Norm(1.0), intercept=True)
    for way in ({"deadline": 1e-9}, {"watch": lambda step: True}):
        found = solve(problem, Auto(1e-9), **way)
        assert found.status in (Status.DEADLINE, Status.INTERRUPTED)
        assert found.certificate.primal[0] <= 200 * np.log(2) * 1.5


def test_a_machine_takes_records_numbers_and_functions():
    X, y = data(losses.Logistic(), n=60)
    same = (0.3, HalfSquare(0.3), Power(0.15, 2.0), lambda r: 0.15 * r * r)
    values = [KernelMachine("logistic", p, gamma=0.3, tol=1e-8).fit(X, y).certificate_.primal[0] for p in same]
    assert np.allclose(values, values[0], rtol=2e-8)
    ball = KernelMachine("hinge", Ball(1.5), gamma=0.3).fit(X, y)
    assert ball.function_.norm() == pytest.approx(1.5, abs=1e-9)
    assert ball.solver_ == "NormSearch"
    assert ball.certificate_.relative_gap < 1e-5
    few = KernelMachine("hinge", Ball(1.5), gamma=0.3, n_centers=20, random_state=0).fit(X, y)
    assert few.function_.norm() <= 1.5 * (1 + 1e-9)
    assert few.certificate_.relative_gap < 1


@pytest.mark.parametrize(
    "make, match",
    [
        (lambda: Norm(0.0), "Norm: 'lam' must be a positive number"),
        (lambda: Power(1.0, -1.0), "Power: 'p' must be"),
        (lambda: Ball(-1.0), "Ball: 'radius' must be"),
        (lambda: Exponential(np.inf), "'lam' must be"),
        (lambda: Increasing(lambda r: -r), "must increase strictly; got -1e-06 at 1e-06"),
        (lambda: Increasing(lambda r: np.minimum(r, 1.0)), "must increase strictly; got 1 at"),
        (lambda: Increasing(3.0), "'function' must be a function of the norm"),
    ],
)
def test_refusals(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_functions_of_one_number_will_do_and_convexity_is_found_out():
    import math

    assert Increasing(lambda r: math.exp(r)).convex
    assert Increasing(lambda r: r**1.01).convex
    assert not Increasing(lambda r: math.sqrt(r)).convex
    assert Increasing(lambda r: math.sqrt(1 + r * r)).convex


@pytest.mark.parametrize("penalty", [Power(0.7, 1.3), Exponential(0.4), Power(1.0, 4.0)], ids=repr)
def test_conjugates_found_by_search_are_those_in_closed_form(penalty):
    s = np.array([0.0, 0.1, 1.0, 7.0, 60.0])
    same = Increasing(penalty.value)
    exact, found = penalty.conjugate(s), same.conjugate(s)
    assert (found >= exact - 1e-12 * (1 + np.abs(exact))).all()
    assert np.allclose(found, exact, rtol=1e-10, atol=1e-9)
    r = np.array([0.1, 1.0, 3.0])
    assert np.allclose(same.slope(r), penalty.slope(r), rtol=1e-6)


def test_the_safe_search_never_falls_short():
    centre = np.array([-3.0, 0.0, 1e-9, 5.0, 1e4, -1e7])
    for bend in np.array([1e-4, 1.0, 1e5]):
        bound, _ = largest(lambda x, a=bend: 2.0 - a * (x - centre) ** 2, np.zeros(6))
        assert (bound >= 2.0).all()
        assert (bound <= 2.0 + 1e-8 + bend * (1e-7 * centre) ** 2).all()
        kinked, at = largest(lambda x, a=bend: 2.0 - a * np.abs(x - centre), np.zeros(6))
        assert (kinked >= 2.0).all()
        assert (np.abs(at - centre) <= 1e-5 * (1 + np.abs(centre))).all()
    assert np.isinf(largest(lambda x: x, np.zeros(1))[0])
    assert largest(lambda x: -np.exp(np.minimum(x, 700.0)), np.zeros(1))[0] == pytest.approx(0.0, abs=1e-6)


def test_a_search_refuses_what_its_solver_refuses():
    X, y = data(losses.Hinge())
    with pytest.raises(ValueError, match="no jumps"):
        solve(Problem(gram(Gaussian(2.0), X), y, losses.Hinge(), Norm(1.0)), NormSearch(lambda _: Newton()))
