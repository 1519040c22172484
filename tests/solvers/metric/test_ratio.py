"""The ratio objective against fifty digits, semidefinite programmes and search; its certificate is never wrong."""

import cvxpy
import numpy as np
import pytest

from mercer.solvers.metric import LabelPairs, MetricProblem, Pairs, Ratio, Root, learn_metric
from tests.solvers.metric.problems import KINDS, exact_ratio, random_problem


def scatters(problem):
    S, D = (p.scatter(problem.X).matrix for p in (problem.similar, problem.dissimilar))
    return S + problem.ridge * np.eye(len(S)), D


@pytest.mark.parametrize("seed", range(300))
def test_the_optimum_lies_between_bound_and_value(seed):
    problem = random_problem(seed)
    found = learn_metric(problem, Ratio()).certificate
    exact = exact_ratio(problem)
    assert found.lower_bound <= exact * (1 + 1e-13)
    assert found.value >= exact * (1 - 1e-9) - 1e-25
    assert found.value <= exact * (1 + 1e-6) + found.resolution
    if exact == 0:
        assert found.is_zero
        assert found.relative_gap == 0
    elif exact > 1e-6 and KINDS[seed % len(KINDS)] != "near":
        assert found.relative_gap < 1e-6


@pytest.mark.parametrize("seed", [0, 4, 9, 18, 36, 43])
@pytest.mark.parametrize("regularization", [0.0, 0.1])
def test_the_value_is_that_of_the_semidefinite_programme(seed, regularization):
    problem = random_problem(seed, "plain", regularization)
    S, D = scatters(problem)
    S, D = S / np.trace(D), D / np.trace(D)
    A = cvxpy.Variable(S.shape, PSD=True)
    programme = cvxpy.Problem(cvxpy.Minimize(cvxpy.trace(A @ S)), [cvxpy.trace(A @ D) >= 1])
    wanted = programme.solve(solver=cvxpy.CLARABEL)
    found = learn_metric(problem, Ratio()).certificate
    assert found.value == pytest.approx(wanted, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("seed", range(40))
def test_every_matrix_of_the_face_is_optimal(seed):
    problem = random_problem(seed)
    found = learn_metric(problem, Ratio())
    rng, F = np.random.default_rng(seed), found.face.basis
    P = rng.normal(size=(F.shape[1], F.shape[1]))
    L = P @ F.T / np.linalg.norm(P)
    assert problem.dissimilar_squares(L) == pytest.approx(1.0, rel=1e-5)
    assert problem.similar_sum(L) == pytest.approx(found.certificate.value, rel=1e-5, abs=found.certificate.resolution)


def test_the_face_is_whole_where_eigenvalues_coincide():
    X = np.vstack([np.zeros(3), np.eye(3), 2 * np.eye(3)])
    similar = Pairs(np.zeros(3, int), np.array([1, 2, 3]), np.array([1.0, 1.0, 5.0]))
    dissimilar = Pairs(np.zeros(3, int), np.array([4, 5, 6]))
    found = learn_metric(MetricProblem(X, similar, dissimilar), Ratio())
    assert found.face.dimension == 2
    assert found.certificate.value == pytest.approx(0.25)
    np.testing.assert_allclose(found.components.T @ found.components, np.diag([0.125, 0.125, 0]), atol=1e-15)


def test_unseen_directions_are_counted_and_left_out():
    X = np.array([[0.0, 0, 7, 1], [1, 0, 7, 1], [0, 2, 7, 1], [1, 1, 7, 5]])
    found = learn_metric(MetricProblem(X, Pairs([0], [1]), Pairs([0], [2])), Ratio())
    assert found.face.unseen == 2
    np.testing.assert_allclose(found.components, [[0, 0.5, 0, 0]], atol=1e-15)
    assert found.certificate.is_zero


@pytest.mark.parametrize("seed", range(60))
def test_a_diagonal_metric_weighs_the_best_feature(seed):
    problem = random_problem(seed)
    S, D = problem.similar.energies(problem.X), problem.dissimilar.energies(problem.X)
    wanted = min(s / d for s, d in zip(S, D, strict=True) if d > 0)
    found = learn_metric(problem, Ratio(diagonal=True))
    assert found.certificate.value == pytest.approx(wanted, rel=1e-12)
    assert found.certificate.lower_bound <= wanted
    A = found.components.T @ found.components
    assert np.array_equal(A, np.diag(np.diagonal(A)))


# ------------------------------------------------------------------------------------------------------- given rank


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_no_projection_found_by_search_beats_the_trace_ratio(seed, rank):
    problem = random_problem(seed)
    found = learn_metric(problem, Ratio(rank=rank)).certificate
    S, D = scatters(problem)
    assert found.lower_bound <= found.value
    rng = np.random.default_rng(seed)
    Q = problem.pencil.basis if problem.pencil.unseen else np.eye(len(S))
    k = min(rank, Q.shape[1])
    Q = np.linalg.qr(Q)[0]
    for _ in range(50):
        V = Q @ np.linalg.qr(rng.normal(size=(Q.shape[1], k)))[0]
        spread = np.sum(V * (D @ V))
        if spread > 1e-12 * np.trace(D):
            assert np.sum(V * (S @ V)) / spread >= found.lower_bound * (1 - 1e-9) - found.resolution


@pytest.mark.parametrize("seed", range(0, 90, 9))
def test_the_trace_ratio_is_certified(seed):
    problem = random_problem(seed, "plain")
    for rank in (2, 4):
        found = learn_metric(problem, Ratio(rank=rank))
        assert found.certificate.relative_gap < 1e-9
        L = found.components
        np.testing.assert_allclose(L @ L.T, np.eye(len(L)) * (L @ L.T)[0, 0], atol=1e-12 * (L @ L.T)[0, 0])


def test_rank_one_is_the_optimum():
    problem = random_problem(0, "plain")
    one, free = (learn_metric(problem, Ratio(rank=r)).certificate.value for r in (1, None))
    assert one == free


# ------------------------------------------------------------------------------------------------------- invariances


def test_turning_the_points_turns_the_metric(rng):
    problem = random_problem(45, "plain")
    d = problem.X.shape[1]
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    turned = MetricProblem(problem.X @ Q, problem.similar, problem.dissimilar)
    for solver in (Ratio(), Ratio(rank=2)):
        A, B = (f.components.T @ f.components for f in (learn_metric(p, solver) for p in (problem, turned)))
        np.testing.assert_allclose(Q.T @ A @ Q, B, rtol=0, atol=1e-9 * np.abs(B).max())


def test_scaling_a_feature_scales_its_weight():
    problem = random_problem(27, "plain")
    s = 10.0 ** np.arange(-3, problem.X.shape[1] - 3)
    scaled = MetricProblem(problem.X * s, problem.similar, problem.dissimilar)
    one, other = (learn_metric(p, Ratio()) for p in (problem, scaled))
    assert one.certificate.value == pytest.approx(other.certificate.value, rel=1e-9)
    np.testing.assert_allclose(np.abs(other.components * s), np.abs(one.components), rtol=1e-6)


@pytest.mark.parametrize("solver", [Ratio(), Ratio(rank=2), Ratio(diagonal=True)])
def test_a_pair_of_weight_two_is_a_pair_given_twice(solver):
    problem = random_problem(45, "plain")

    def repeated(pairs):
        times = pairs.weights.astype(int)
        return Pairs(np.repeat(pairs.first, times), np.repeat(pairs.second, times))

    twice = MetricProblem(problem.X, repeated(problem.similar), repeated(problem.dissimilar))
    one, other = (learn_metric(p, solver) for p in (problem, twice))
    np.testing.assert_allclose(one.components, other.components, rtol=1e-9, atol=1e-12)


def test_answers_do_not_depend_on_threads(rng):
    X, labels = rng.normal(size=(6000, 20)), rng.integers(0, 3, 6000)
    i, j = np.arange(5999), np.arange(1, 6000)
    many = [Pairs(np.tile(i[k::2], 6), np.concatenate([(j[k::2] + s) % 6000 for s in range(6)])) for k in (0, 1)]
    from mercer import Engine

    for S, D in ((LabelPairs(labels, True), LabelPairs(labels, False)), (many[0], many[1])):
        one, two = (learn_metric(MetricProblem(X, S, D, 0.0, Engine(threads=t)), Ratio(rank=2)) for t in (1, 2))
        assert np.array_equal(one.components, two.components)


def test_equal_points_in_every_dissimilar_pair_are_refused():
    X = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 2.0]])
    for solver in (Ratio(), Ratio(rank=2), Ratio(diagonal=True)):
        with pytest.raises(ValueError, match="some dissimilar pair must differ"):
            learn_metric(MetricProblem(X, Pairs([0], [2]), Pairs([0], [1])), solver)


def test_rank_and_diagonal_exclude_each_other():
    with pytest.raises(ValueError, match="exclude"):
        Ratio(rank=2, diagonal=True)
    with pytest.raises(ValueError, match="positive integer"):
        Ratio(rank=0)


@pytest.mark.parametrize("solver", [Ratio(), Ratio(rank=2), Ratio(diagonal=True), Root(), Root(diagonal=True)])
def test_points_that_squares_cannot_tell_are_refused(solver):
    pairs, X = (Pairs(np.array([0]), np.array([1])), Pairs(np.array([0]), np.array([2]))), np.eye(3, 2)
    with pytest.raises(ValueError, match="some dissimilar pair must differ"):
        learn_metric(MetricProblem(np.ones((3, 2)), *pairs), solver)
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(ValueError, match="must be finite; got an overflow"),
    ):
        learn_metric(MetricProblem(1e200 * X, *pairs), solver)
