"""The root objective against semidefinite programmes and fifty digits; its certificate is never wrong."""

import cvxpy
import numpy as np
import pytest

from mercer import Engine
from mercer.solvers import Status
from mercer.solvers.metric import LabelPairs, MetricProblem, Pairs, Root, learn_metric
from mercer.solvers.metric.climb import Climber
from mercer.solvers.metric.pairs import sampled_pairs
from mercer.solvers.metric.root import spread_of
from mercer.solvers.metric.spread import FeatureSpread, GraphSpread, RowSpread, held
from tests.solvers.metric.problems import KINDS, exact_root, random_pairs, random_problem


def differences(problem):
    pairs = problem.dissimilar
    return problem.X[pairs.first] - problem.X[pairs.second]


def similar_scatter(problem):
    return problem.similar.scatter(problem.X).matrix + problem.ridge * np.eye(problem.X.shape[1])


def plain_problem(seed, d=5, n=40, m=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 2, size=d)
    return MetricProblem(X, random_pairs(rng, n, m), random_pairs(rng, n, m))


# ------------------------------------------------------------------------------------------------------- the optimum


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("diagonal", [False, True])
def test_the_value_is_that_of_the_semidefinite_programme(seed, diagonal):
    problem = plain_problem(seed, d=2 + seed)
    S, G = similar_scatter(problem), differences(problem)
    size = np.trace(S)
    A = cvxpy.diag(cvxpy.Variable(len(S), nonneg=True)) if diagonal else cvxpy.Variable(S.shape, PSD=True)
    apart = cvxpy.sum(cvxpy.multiply(problem.dissimilar.weights, cvxpy.sqrt(cvxpy.diag(G @ A @ G.T))))
    programme = cvxpy.Problem(cvxpy.Maximize(apart), [cvxpy.trace(A @ S) / size <= 1])
    best = programme.solve(solver=cvxpy.CLARABEL)
    found = learn_metric(problem, Root(diagonal=diagonal))
    assert found.certificate.value == pytest.approx(size / best**2, rel=1e-5)
    assert found.certificate.relative_gap < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_the_classical_form_has_the_same_optimum(seed):
    problem = plain_problem(seed, d=3)
    S, G = similar_scatter(problem), differences(problem)
    A = cvxpy.Variable(S.shape, PSD=True)
    apart = cvxpy.sum(cvxpy.multiply(problem.dissimilar.weights, cvxpy.sqrt(cvxpy.diag(G @ A @ G.T)))) / 100
    wanted = cvxpy.Problem(cvxpy.Minimize(cvxpy.trace(A @ S)), [apart >= 1]).solve(solver=cvxpy.CLARABEL)
    found = learn_metric(problem, Root())
    assert found.certificate.value * 1e4 == pytest.approx(wanted, rel=1e-5)
    w, L = problem.dissimilar.weights, found.components
    assert w @ np.linalg.norm(G @ L.T, axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(300))
def test_the_certificate_is_never_wrong(seed):
    problem = random_problem(seed, regularization=0.1 * (seed % 4 == 3))
    found = learn_metric(problem, Root())
    best = exact_root(problem, found.components)
    assert found.certificate.value == pytest.approx(best, rel=1e-7, abs=found.certificate.resolution)
    assert found.certificate.lower_bound <= best * (1 + 1e-13)
    for steps in (1, 4):  # bounds from afar hold as well
        early = learn_metric(problem, Root(max_steps=steps))
        assert early.certificate.lower_bound <= best * (1 + 1e-13)
        assert early.certificate.value >= found.certificate.lower_bound * (1 - 1e-13)
    if KINDS[seed % len(KINDS)] != "near" and not found.certificate.is_zero:
        assert found.certificate.relative_gap <= 1e-6
        assert found.status is Status.CONVERGED


@pytest.mark.parametrize("seed", range(60))
def test_the_certificate_of_diagonal_metrics_is_never_wrong(seed):
    problem = random_problem(seed)
    found = learn_metric(problem, Root(diagonal=True))
    best = exact_root(problem, found.components)
    A = found.components.T @ found.components
    assert np.array_equal(A, np.diag(np.diagonal(A)))
    assert found.certificate.lower_bound <= best * (1 + 1e-13)
    assert found.certificate.relative_gap <= 1e-6
    early = learn_metric(problem, Root(diagonal=True, max_steps=2))
    assert early.certificate.lower_bound <= best * (1 + 1e-13)


def test_a_value_of_zero_is_taken_wherever_similar_pairs_allow_it():
    X = np.array([[0.0, 0, 7, 1], [1, 0, 7, 1], [0, 2, 7, 1], [1, 1, 7, 5]])
    found = learn_metric(MetricProblem(X, Pairs([0], [1]), Pairs([0, 0], [2, 3])), Root())
    assert found.certificate.is_zero
    assert found.certificate.relative_gap == 0
    assert found.face.dimension == 2
    assert found.face.unseen == 1
    np.testing.assert_allclose(found.components[:, [0, 2]], 0, atol=1e-15)


def test_dissimilar_pairs_of_equal_points_do_not_count():
    problem = plain_problem(3)
    X = problem.X.copy()
    X[0] = X[1]
    without = MetricProblem(X, problem.similar, problem.dissimilar)
    more = Pairs(np.r_[problem.dissimilar.first, 0], np.r_[problem.dissimilar.second, 1],
                 np.r_[problem.dissimilar.weights, 5.0])  # fmt: skip
    one, other = (learn_metric(p, Root()) for p in (without, MetricProblem(X, problem.similar, more)))
    assert one.certificate.value == pytest.approx(other.certificate.value, rel=1e-6)
    assert other.certificate.relative_gap <= 1e-6
    with pytest.raises(ValueError, match="some dissimilar pair must differ"):
        learn_metric(MetricProblem(X, problem.similar, Pairs([0], [1])), Root())
    with pytest.raises(ValueError, match="some dissimilar pair must differ"):
        learn_metric(MetricProblem(X, problem.similar, Pairs([0], [1])), Root(diagonal=True))


def test_many_directions_where_pairs_need_them(rng):
    X = np.vstack([np.zeros(20), np.eye(20), 3 * np.eye(20)])
    similar, dissimilar = (Pairs(np.zeros(20, int), np.arange(20) + k) for k in (1, 21))
    found = learn_metric(MetricProblem(X, similar, dissimilar), Root())
    assert found.status is Status.CONVERGED
    assert found.certificate.value == pytest.approx(20 * 1 / (20 * 3) ** 2)
    np.testing.assert_allclose(found.components.T @ found.components, np.eye(20) / 3600, atol=1e-8)


# ------------------------------------------------------------------------------------------------------- given rank


@pytest.mark.parametrize("seed", range(5))
def test_a_rank_costs_what_the_certificate_says(seed):
    problem = plain_problem(seed, d=12, m=200)
    whole = learn_metric(problem, Root())
    assert np.linalg.matrix_rank(whole.components, tol=1e-6) == len(whole.components)
    for rank in (1, 2, 12):
        found = learn_metric(problem, Root(rank=rank))
        assert found.components.shape == (min(rank, len(whole.components)), 12)
        assert found.status is Status.CONVERGED
        assert whole.certificate.lower_bound * (1 - 1e-9) <= found.certificate.value
        assert found.certificate.lower_bound <= whole.certificate.value
        assert found.certificate.value < 1.5 * whole.certificate.value


def test_rank_and_diagonal_exclude_each_other():
    with pytest.raises(ValueError, match="exclude"):
        Root(rank=2, diagonal=True)
    with pytest.raises(ValueError, match="'tol' must be"):
        Root(tol=0.0)


# ------------------------------------------------------------------------------------------------------- the climb


@pytest.mark.parametrize("diagonal", [False, True])
def test_every_way_to_the_spread_is_the_sum_over_pairs(rng, diagonal):
    problem = plain_problem(1)
    pairs, G, w = problem.dissimilar, differences(problem), problem.dissimilar.weights
    B = rng.normal(size=(5, 4))
    L = rng.normal(size=(5, 1) if diagonal else (4, 3))
    if diagonal:
        scale = rng.uniform(1, 2, 5)
        c = np.linalg.norm(G * scale * L[:, 0], axis=1)
        M = np.diag(((w / c)[:, None] * (G * scale) ** 2).sum(axis=0))
        squares = [lambda piece=piece: (piece()[0], piece()[1] ** 2) for piece in pairs.pieces(problem.X)]
        ways = [FeatureSpread(squares, scale**2, 2), FeatureSpread(held(squares, len(G), 5), scale**2, 1)]
    else:
        Q = G @ B
        c = np.linalg.norm(Q @ L, axis=1)
        M = Q.T @ (Q * (w / c)[:, None])
        ways = [
            RowSpread(pairs.pieces(problem.X), B, 2),
            RowSpread(held(pairs.pieces(problem.X), len(G), 5), B, 1),
            GraphSpread(problem.X @ B, pairs.first, pairs.second, w, 2),
        ]
    for way in ways:
        f, ML = way.at(L)
        assert f == pytest.approx(w @ c)
        np.testing.assert_allclose(ML, M @ L, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(way.distances(L), c)


def test_the_climb_never_goes_down():
    from mercer.solvers.watch import Clock

    problem = plain_problem(4, d=10, m=300)
    basis = problem.pencil.basis / np.sqrt(problem.pencil.share)
    spread = spread_of(problem, problem.dissimilar, basis, problem.pencil)
    climber, heights = Climber(spread, np.eye(10)[:, :3], Clock("Root")), []
    for most in range(2, 40):
        climber.climb(1e-12, most)
        heights.append(climber.f)
    assert (np.diff(heights) >= -1e-14 * heights[-1]).all()
    assert climber.residual < 1e-3


def test_it_stops_when_told(rng):
    problem = plain_problem(5, d=10, m=300)
    late = learn_metric(problem, Root(tol=1e-10), deadline=1e-9)
    told = learn_metric(problem, Root(tol=1e-10), watch=lambda step: step.number > 2)
    few = learn_metric(problem, Root(tol=1e-10, max_steps=4))
    for found, status in ((late, Status.DEADLINE), (told, Status.INTERRUPTED), (few, Status.MAX_STEPS)):
        assert found.status is status
        assert 0 < found.certificate.relative_gap < 1

    def interrupt(step):
        if step.number > 3:
            raise KeyboardInterrupt

    assert learn_metric(problem, Root(tol=1e-10), watch=interrupt).status is Status.INTERRUPTED


# ------------------------------------------------------------------------------------------------------- invariances


def test_turning_and_scaling_the_points_turns_and_scales_the_metric(rng):
    problem = plain_problem(6)
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0] @ np.diag(10.0 ** np.arange(-2, 3))
    turned = MetricProblem(problem.X @ Q, problem.similar, problem.dissimilar)
    A, B = (f.components.T @ f.components for f in (learn_metric(p, Root(tol=1e-9)) for p in (problem, turned)))
    np.testing.assert_allclose(Q @ B @ Q.T, A, rtol=0, atol=1e-4 * np.abs(A).max())


@pytest.mark.parametrize("solver", [Root(tol=1e-9), Root(rank=2, tol=1e-9), Root(diagonal=True, tol=1e-9)])
def test_a_pair_of_weight_two_is_a_pair_given_twice(solver):
    problem = plain_problem(7)

    def repeated(pairs):
        times = pairs.weights.astype(int)
        return Pairs(np.repeat(pairs.first, times), np.repeat(pairs.second, times))

    twice = MetricProblem(problem.X, repeated(problem.similar), repeated(problem.dissimilar))
    A, B = (f.components.T @ f.components for f in (learn_metric(p, solver) for p in (problem, twice)))
    np.testing.assert_allclose(A, B, rtol=0, atol=1e-4 * np.abs(A).max())


@pytest.mark.parametrize("rank", [None, 2])
def test_answers_do_not_depend_on_threads(rng, rank):
    X, labels = rng.normal(size=(3000, 12)), rng.integers(0, 3, 3000)
    X[:, :3] += labels[:, None]
    S, D = LabelPairs(labels, True), sampled_pairs(labels, 60_000, rng)[1]
    one, two = (learn_metric(MetricProblem(X, S, D, 0.0, Engine(threads=t)), Root(rank=rank)) for t in (1, 2))
    assert np.array_equal(one.components, two.components)
    assert one.certificate.relative_gap <= (1e-6 if rank is None else 1.0)


def test_labels_imply_pairs_one_by_one():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(30, 3)), rng.integers(-1, 3, 30)
    i, j = np.triu_indices(30, 1)
    D = Pairs(*(v[(labels[i] >= 0) & (labels[j] >= 0) & (labels[i] != labels[j])] for v in (i, j)))
    implied = learn_metric(MetricProblem(X, LabelPairs(labels, True), LabelPairs(labels, False)), Root())
    listed = learn_metric(MetricProblem(X, LabelPairs(labels, True), D), Root())
    assert implied.certificate.value == pytest.approx(listed.certificate.value, rel=1e-6)
