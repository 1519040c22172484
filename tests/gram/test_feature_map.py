"""feature_map: K = P'P against K itself, with the spectral norm as oracle of the bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mercer import Engine
from mercer import gram as gram_of
from mercer.gram import feature_map
from mercer.kernels import Custom, Gaussian, Linear
from tests.oracles import tolerance

SEEDS = st.integers(0, 2**32 - 1)


def off(K, P):
    return np.linalg.norm(K - P.T @ P, 2)


@given(SEEDS, st.integers(1, 12), st.integers(1, 12), st.integers(-150, 150))
def test_the_error_bound_holds(seed, n, r, exponent):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, r))
    K = A @ A.T * 10.0**exponent
    found = feature_map(K)
    assert found.P.shape == (found.rank, n)
    assert found.rank <= min(n, r)
    assert off(K, found.P) <= found.error_bound
    assert found.error_bound <= 1e-11 * n * np.abs(K).max()


@given(SEEDS, st.integers(2, 12), st.integers(1, 12))
def test_a_short_map_leaves_the_trace_it_says(seed, n, rank):
    X = np.random.default_rng(seed).standard_normal((n, 2))
    K = Gaussian(1.0)(X)
    found = feature_map(K, rank=rank)
    assert found.rank <= rank
    assert found.error == pytest.approx(np.trace(K - found.P.T @ found.P), abs=n * tolerance(float, n))
    assert off(K, found.P) <= found.error_bound
    assert np.linalg.eigvalsh(K - found.P.T @ found.P)[0] >= -tolerance(float, n)


def test_pivots_are_the_largest_and_the_map_is_triangular_on_them(rng):
    X = rng.standard_normal((60, 3))
    found = feature_map(Gaussian(1.0)(X), rank=20)
    on = found.P[:, found.pivots]
    assert np.array_equal(on, np.triu(on))
    assert (np.diff(np.diag(on)) <= 1e-12).all()
    assert len(set(found.pivots.tolist())) == 20


def test_rank_is_that_of_the_data(rng):
    X = rng.standard_normal((500, 3))
    for K in (X @ X.T, gram_of(Linear(), X), gram_of(Linear(), X, engine=Engine(precision="double"))):
        assert feature_map(K).rank == 3


def test_lapack_and_step_by_step_agree(rng):
    X = rng.standard_normal((400, 5))
    K = Gaussian(2.0)(X)
    whole, steps = feature_map(K), feature_map(K, rank=400)
    assert off(K, whole.P) <= whole.error_bound
    assert off(K, steps.P) <= steps.error_bound
    assert whole.pivots[:20].tolist() == steps.pivots[:20].tolist()


class Counting:
    """A kernel function that counts the pairs it was asked for."""

    def __init__(self):
        self.pairs = 0

    def __call__(self, A, B):
        self.pairs += len(A) * len(B)
        return Gaussian(1.0)(A, B)


def test_a_gram_is_asked_for_few_rows(rng):
    X, count = rng.standard_normal((1000, 2)), Counting()
    K = gram_of(Custom(count, vectorized=True), X)
    count.pairs = 0
    found = feature_map(K, rank=10)
    assert found.rank == 10
    assert count.pairs < 200 * 1000  # 10 rows, 32 to look at, and what Custom tries on its own


def test_repeated_rows_in_single_precision(rng):
    X = rng.standard_normal((600, 3))
    X[300:] = X[:300]
    found = feature_map(gram_of(Gaussian(1.0), X))
    assert found.rank <= 300
    assert off(Gaussian(1.0)(X), found.P) <= found.error_bound <= 0.1


def test_tol_stops_early(rng):
    K = Gaussian(1.0)(rng.standard_normal((100, 2)))
    short, long = feature_map(K, tol=1e-2), feature_map(K, tol=1e-8)
    assert short.rank < long.rank
    assert short.error <= 100 * 1e-2


def test_sparse_and_integers():
    assert feature_map(sparse.identity(4)).rank == 4
    assert feature_map(np.array([[2, 1], [1, 2]])).rank == 2
    assert feature_map([[0.0]]).rank == 0


@pytest.mark.parametrize(
    "K",
    [
        -np.ones((3, 3)),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
        np.abs(np.arange(5.0)[:, None] - np.arange(5.0)),
        np.full((3, 3), -0.6) + 1.6 * np.eye(3),
        np.diag([1.0] * 300 + [-1e-3]),
    ],
)
def test_a_matrix_that_is_not_psd_is_refused_with_its_witness(K):
    with pytest.raises(ValueError, match=r"feature_map: K must be positive semi-definite; got c'Kc = -.* on points \["):
        feature_map(K)


def test_a_gram_that_is_not_psd_is_refused(rng):
    X = rng.standard_normal((400, 2))
    for fn in (lambda A, B: np.tanh(A @ B.T - 1), lambda A, B: np.abs(A[:, :1] - B[:, 0])):
        with pytest.raises(ValueError, match="must be positive semi-definite"):
            feature_map(gram_of(Custom(fn, vectorized=True), X))


@pytest.mark.parametrize(
    "bad, words",
    [
        (np.ones((2, 3)), "square"),
        (np.zeros((0, 0)), "at least one row"),
        ([[1.0, np.nan], [np.nan, 1.0]], "finite numbers; got nan in row 0, column 1"),
        ([[1.0, 2.0], [3.0, 9.0]], "symmetric"),
        ([[1j]], "real matrix"),
    ],
)
def test_bad_matrices_are_refused(bad, words):
    with pytest.raises((ValueError, TypeError), match=f"feature_map: .*{words}"):
        feature_map(bad)


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="'rank' must be an integer >= 1; got 0"):
        feature_map(np.eye(2), rank=0)
    with pytest.raises(ValueError, match="'tol'"):
        feature_map(np.eye(2), tol=-1.0)
