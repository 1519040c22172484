"""Solving boxes: against an interior point method, row by row, and where data are unkind."""

import numpy as np
import pytest

from mercer import Engine
from mercer.gram import _make, from_matrix, gram
from mercer.kernels import Gaussian, Linear
from mercer.solvers.dual import _members, _resident, _whole, boxes, solve_box, solve_boxes
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock
from tests import oracles
from tests.solvers.dual.problems import (
    KINDS,
    assert_feasible,
    boxed,
    c_svc,
    data,
    dense,
    gaussian,
    kinds,
    objective,
    violation,
)  # fmt: skip  # one import


@pytest.fixture
def tight(monkeypatch):
    """Working sets far smaller than the problems."""
    monkeypatch.setattr(_whole, "SMALL", 0)
    monkeypatch.setattr(_members, "LEAST_SET", 64)
    monkeypatch.setattr(_members, "MOST_SET", 128)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_objective_of_an_interior_point_method(kind, seed):
    X, y, t = data(np.random.default_rng(seed), 40)
    problem = kinds(gaussian(X), X, y, t)[kind]
    found = solve_box(problem, tol=1e-9)
    assert found.status is Status.CONVERGED
    assert_feasible(problem, found.c)
    _, best = oracles.box_quadratic(
        dense(problem), problem.linear, problem.lower, problem.upper, problem.group, problem.totals
    )
    assert objective(problem, found.c) <= best + 1e-7 * abs(best) + 1e-10
    assert violation(problem, found.c) <= 1e-8
    np.testing.assert_allclose(found.gradient, dense(problem) @ found.c + problem.linear, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_levels_are_the_gradients_of_free_variables(kind, rng):
    X, y, t = data(rng, 60)
    problem = kinds(gaussian(X), X, y, t)[kind]
    found = solve_box(problem, tol=1e-8)
    assert len(found.levels) == len(problem.totals)
    free = (found.c > problem.lower) & (found.c < problem.upper)
    level = found.levels[problem.group[free]] if len(problem.totals) else 0.0
    np.testing.assert_allclose(found.gradient[free], level, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("tight")
def test_working_sets_smaller_than_the_problem(kind, rng, monkeypatch):
    monkeypatch.setattr(_make, "SMALL", 0)  # float32 tiles
    X, y, t = data(rng, 600)
    problem = kinds(gaussian(X), X, y, t, C=5.0)[kind]
    exact = kinds(gaussian(X, precision="double"), X, y, t, C=5.0)[kind]
    found = solve_box(problem, tol=1e-3)
    assert found.status is Status.CONVERGED
    assert_feasible(problem, found.c)
    assert violation(exact, found.c) <= 1.1e-3
    better = solve_box(exact, tol=1e-6)
    lowest = objective(exact, better.c)
    assert objective(exact, found.c) <= lowest + 2e-3 * max(abs(lowest), 1.0)


@pytest.mark.parametrize("C", [10.0, 100.0, 1e6])
@pytest.mark.usefixtures("tight")
def test_large_costs_converge(C, rng):
    X, y, _ = data(rng, 300)
    problem = c_svc(gaussian(X, precision="double"), y, C)
    found = solve_box(problem, tol=1e-3)
    assert found.status is Status.CONVERGED
    assert violation(problem, found.c) <= 1.01e-3


def test_float32_rows_are_corrected(rng, monkeypatch):
    monkeypatch.setattr(_make, "SMALL", 0)
    X, y, _ = data(rng, 400)
    exact = c_svc(gaussian(X, precision="double"), y, 1000.0)
    found = solve_box(c_svc(gaussian(X), y, 1000.0), tol=1e-3)
    assert found.status is Status.CONVERGED
    assert violation(exact, found.c) <= 1.5e-3


def test_a_start_is_used_and_made_feasible(rng):
    X, y, _ = data(rng, 200)
    problem = c_svc(gaussian(X), y)
    cold = solve_box(problem, tol=1e-6)
    warm = solve_box(problem, tol=1e-6, start=cold.c)
    assert warm.steps == 0
    np.testing.assert_allclose(warm.c, cold.c, atol=1e-12)
    wild = solve_box(problem, tol=1e-6, start=rng.standard_normal(200) * 10)
    assert_feasible(problem, wild.c)
    assert objective(problem, wild.c) == pytest.approx(objective(problem, cold.c), rel=1e-6)


def test_several_problems_on_one_gram(rng):
    X, y, _ = data(rng, 240)
    K, label = gaussian(X), rng.integers(3, size=240)
    pairs = [(a, b) for a in range(3) for b in range(a + 1, 3)]
    rows = [np.flatnonzero((label == a) | (label == b)) for a, b in pairs]
    problems = [c_svc(K, np.where(label[r] == a, 1.0, -1.0), rows=r) for r, (a, _) in zip(rows, pairs, strict=True)]
    problems.append(c_svc(K, y))  # and one about all of them
    together = solve_boxes(problems, tol=1e-7)
    for problem, found in zip(problems, together, strict=True):
        alone = solve_box(problem, tol=1e-7)
        assert objective(problem, found.c) == pytest.approx(objective(problem, alone.c), rel=1e-7)
        assert_feasible(problem, found.c)
    assert solve_boxes([]) == []


@pytest.mark.parametrize("cache", [0, 60 * 1000 * 4, 10**8])
@pytest.mark.parametrize("d", [3, 120])
@pytest.mark.usefixtures("tight")
def test_caches_of_any_size_threads_and_stored_grams(cache, d, rng, monkeypatch):
    monkeypatch.setattr(_make, "SMALL", 0)
    X, y, _ = data(rng, 500, d)
    label = rng.integers(3, size=500)
    pairs = [(a, b) for a in range(3) for b in range(a + 1, 3)]
    found = []
    for threads, stored in ((1, False), (2, False), (2, True)):
        K = gram(Gaussian(np.sqrt(d)), X, engine=Engine(precision="double", threads=threads), stored=stored)
        rows = [np.flatnonzero((label == a) | (label == b)) for a, b in pairs]
        problems = [c_svc(K, np.where(label[r] == a, 1.0, -1.0), rows=r) for r, (a, _) in zip(rows, pairs, strict=True)]
        answers = solve_boxes([*problems, c_svc(K, y)], tol=1e-8, cache=cache)
        alone = solve_box(c_svc(K, y), tol=1e-8, cache=cache)
        np.testing.assert_allclose(alone.gradient, answers[-1].gradient, atol=1e-6)
        found.append(np.concatenate([answer.gradient for answer in answers]))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], found[2], atol=1e-6)


@pytest.mark.parametrize("room", [400, 600])
def test_rows_that_problems_share_need_not_all_fit(room, rng, monkeypatch):
    monkeypatch.setattr(_make, "SMALL", 0)
    monkeypatch.setattr(_whole, "SMALL", 0)
    monkeypatch.setattr(_resident, "FEWEST_ROWS", 100)
    monkeypatch.setattr(boxes, "MANY", 0 if room == 400 else 10_000)
    X, _, _ = data(rng, 800, 120)
    label, K = rng.integers(3, size=800), gram(Gaussian(8.0), X, engine=Engine(precision="double"))
    pairs = [np.flatnonzero(label != out) for out in range(3)]
    problems = [c_svc(K, np.where(label[r] == label[r].min(), 1.0, -1.0), 10.0, rows=r) for r in pairs]
    roomy = solve_boxes(problems, tol=1e-6, cache=10**8)
    found = solve_boxes(problems, tol=1e-6, cache=room * 900 * 8)
    for problem, one, two in zip(problems, found, roomy, strict=True):
        assert one.status is two.status is Status.CONVERGED
        assert violation(problem, one.c) <= 1.01e-6
        assert objective(problem, one.c) == pytest.approx(objective(problem, two.c), rel=1e-9)


def test_rows_in_another_order(rng):
    X, y, _ = data(rng, 300)
    p = rng.permutation(300)
    one = solve_box(c_svc(gaussian(X, precision="double"), y), tol=1e-9)
    two = solve_box(c_svc(gaussian(X[p], precision="double"), y[p]), tol=1e-9)
    np.testing.assert_allclose(one.c[p], two.c, atol=1e-7)


def test_problems_must_share_their_gram(rng):
    X, y, _ = data(rng, 10)
    with pytest.raises(ValueError, match="share one Gram"):
        solve_boxes([c_svc(gaussian(X), y), c_svc(gaussian(X), y)])


def test_impossible_sums_and_boxes_are_refused(rng):
    X, _, _ = data(rng, 10)
    K, rows, one = gaussian(X), np.arange(10), np.ones(10)
    with pytest.raises(ValueError, match="attainable"):
        solve_box(boxed(K, rows, -one, 0 * one, one, [11.0]))
    with pytest.raises(ValueError, match="must not exceed"):
        solve_box(boxed(K, rows, -one, one, 0 * one))


@pytest.mark.usefixtures("tight")
def test_steps_a_deadline_and_a_watcher_end_it_with_the_best_so_far(rng):
    X, y, _ = data(rng, 300)
    problem = c_svc(gaussian(X, precision="double"), y, 100.0)
    few = solve_box(problem, tol=1e-9, max_steps=50)
    assert few.status is Status.MAX_STEPS
    assert few.steps <= 50
    assert_feasible(problem, few.c)
    assert objective(problem, few.c) < 0
    late = solve_box(problem, tol=1e-9, clock=Clock("test", deadline=0.0))
    assert late.status is Status.DEADLINE
    seen = []
    watched = solve_box(problem, tol=1e-9, clock=Clock("test", watch=lambda step: seen.append(step) or len(seen) > 2))
    assert watched.status is Status.INTERRUPTED
    assert_feasible(problem, watched.c)


def test_ctrl_c_leaves_small_problems_where_they_are(rng):
    X, y, _ = data(rng, 300)
    K, calls = gaussian(X, precision="double"), []

    def interrupt(step):
        calls.append(step)
        if len(calls) == 2:
            raise KeyboardInterrupt

    problems = [c_svc(K, y, 100.0), c_svc(K, y, 10.0), c_svc(K, y, 1.0)]
    found = solve_boxes(problems, tol=1e-9, clock=Clock("test", watch=interrupt))
    assert found[0].status in (Status.CONVERGED, Status.INTERRUPTED)
    assert found[-1].status is Status.INTERRUPTED
    for problem, answer in zip(problems, found, strict=True):
        assert_feasible(problem, answer.c)
        np.testing.assert_allclose(answer.gradient, dense(problem) @ answer.c + problem.linear, atol=1e-9)


@pytest.mark.usefixtures("tight")
def test_ctrl_c_keeps_the_best_so_far(rng):
    X, y, _ = data(rng, 300)
    problem = c_svc(gaussian(X, precision="double"), y, 100.0)

    def interrupt(step):
        if step.number == 1:
            raise KeyboardInterrupt

    found = solve_box(problem, tol=1e-9, clock=Clock("test", watch=interrupt))
    assert found.status is Status.INTERRUPTED
    assert_feasible(problem, found.c)


@pytest.mark.usefixtures("tight")
def test_the_objective_decreases_from_round_to_round(rng):
    X, y, _ = data(rng, 400)
    problem = c_svc(gaussian(X, precision="double"), y, 50.0)
    values = []
    for rounds in range(8):
        clock = Clock("test", watch=lambda step, rounds=rounds: step.number >= rounds)
        values.append(objective(problem, solve_box(problem, tol=1e-6, clock=clock).c))
    assert (np.diff(values) <= 1e-9).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("small", [True, False])
def test_what_a_watcher_is_told_is_a_certified_gap_that_never_rises(kind, small, rng, monkeypatch):
    if not small:
        monkeypatch.setattr(_whole, "SMALL", 0)
        monkeypatch.setattr(_members, "LEAST_SET", 64)
        monkeypatch.setattr(_members, "FEWEST_NEW", 16)
    X, y, t = data(rng, 300)
    problem = kinds(gaussian(X, precision="double"), X, y, t, C=5.0)[kind]
    lowest = objective(problem, solve_box(problem, tol=1e-9).c)
    told: list[float] = []
    solve_box(problem, tol=1e-5, clock=Clock("test", watch=lambda step: told.append(step.residual)))
    assert told == sorted(told, reverse=True)
    assert small or 0 <= told[-1] < 1e-3
    for rounds in range(1, len(told), 1 + len(told) // 5):
        heard: list[float] = []

        def stop(step, heard=heard, rounds=rounds):
            heard.append(step.residual)
            return len(heard) > rounds

        value = objective(problem, solve_box(problem, tol=1e-5, clock=Clock("test", watch=stop)).c)
        bound = value / (1 + np.sign(value) * heard[-1]) if value > 0 else value / (1 - heard[-1])
        assert bound <= lowest + 1e-9 * abs(lowest) or heard[-1] >= 1


UNKIND = {
    "duplicates of both classes": lambda X: np.repeat(X[: len(X) // 4], 4, axis=0),
    "one point only": lambda X: np.ones_like(X),
    "a constant column": lambda X: np.column_stack([X, np.full(len(X), 7.0)]),
    "columns in 1e8": lambda X: X * [1e8, 1.0, 1e4],
    "tiny": lambda X: X * 1e-9,
}


@pytest.mark.parametrize("name", UNKIND)
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0)], ids=["linear", "gaussian"])
def test_unkind_data_never_hang(name, kernel, rng):
    X, y, _ = data(rng, 120)
    problem = c_svc(gram(kernel, UNKIND[name](X)), y, 10.0)
    found = solve_box(problem, max_steps=10**6)
    assert found.status is Status.CONVERGED or name == "columns in 1e8"
    assert_feasible(problem, found.c)
    assert objective(problem, found.c) <= 0


def test_a_matrix_that_is_not_positive_semidefinite(rng):
    _, y, _ = data(rng, 80)
    A = rng.standard_normal((80, 80))
    problem = c_svc(from_matrix(A + A.T), y, 3.0)
    found = solve_box(problem, clock=Clock("test", deadline=20.0))
    assert found.status in (Status.CONVERGED, Status.STALLED)
    assert_feasible(problem, found.c)
    assert objective(problem, found.c) < 0


def test_classes_that_no_plane_separates_have_no_hard_margin(rng):
    X, y, _ = data(rng, 60)
    problem = c_svc(gram(Linear(), X), y, np.inf)
    found = solve_box(problem, max_steps=10**5)
    assert found.status in (Status.STALLED, Status.MAX_STEPS)
    assert_feasible(problem, found.c)


def test_threads_do_not_change_a_bit(rng, monkeypatch):
    monkeypatch.setattr(_make, "SMALL", 0)
    X, y, _ = data(rng, 700)
    one, two = (solve_box(c_svc(gaussian(X, threads=k), y, 5.0)) for k in (1, 2))
    np.testing.assert_array_equal(one.c, two.c)
    np.testing.assert_array_equal(one.gradient, two.gradient)


def test_bounds_without_width_stay(rng):
    X, y, _ = data(rng, 50)
    weight = np.where(np.arange(50) < 10, 0.0, 1.0)
    found = solve_box(c_svc(gaussian(X), y, weight=weight), tol=1e-8)
    left = solve_box(c_svc(gaussian(X[10:]), y[10:]), tol=1e-8)
    np.testing.assert_array_equal(found.c[:10], 0)
    np.testing.assert_allclose(found.c[10:], left.c, atol=1e-6)
