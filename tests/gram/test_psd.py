"""check_psd: the interval against mpmath at fifty digits, the witnesses against their own arithmetic."""

import fractions

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mercer import Engine
from mercer import gram as gram_of
from mercer.gram import check_psd, psd
from mercer.gram._entries import entries
from mercer.gram._rounded import Rounded
from mercer.gram._smallest import dense, lanczos
from mercer.kernels import Custom, Gaussian, Laplace, Linear, Matern, Polynomial, SetIntersection, Spectrum, exp

SEEDS = st.integers(0, 2**32 - 1)


def smallest(K):
    """The smallest eigenvalue to fifty digits."""
    with mpmath.workdps(50):
        return min(mpmath.eigsy(mpmath.matrix(K.tolist()), eigvals_only=True))


def exact(K, c):
    """c'Kc as a fraction, without rounding."""
    K, c = (np.vectorize(fractions.Fraction)(a) for a in (K, c))
    return c @ K @ c


def some_matrix(rng, n, kind):
    A = rng.standard_normal((n, rng.integers(1, n + 1)))
    if kind == "repeated":
        A[n // 2 :] = A[: n - n // 2]
    if kind == "graded":
        A *= 10.0 ** rng.uniform(-8, 8, (n, 1))
    K = A @ A.T
    if kind == "indefinite":
        K -= np.eye(n) * rng.uniform(0, 2)
    return (K + K.T) / 2


# ---------------------------------------------------------------- the interval


@given(
    SEEDS, st.integers(1, 7), st.sampled_from(["singular", "repeated", "graded", "indefinite"]), st.integers(-250, 250)
)
def test_interval_holds_the_smallest_eigenvalue(seed, n, kind, exponent):
    K = some_matrix(np.random.default_rng(seed), n, kind) * 10.0**exponent
    found, truth = check_psd(K), smallest(K)
    assert found.interval[0] <= truth <= found.interval[1]
    assert found.confidence == 1.0
    assert found.interval[1] - found.interval[0] <= 1e-12 * np.abs(K).max() * n


@given(SEEDS, st.integers(1, 7))
def test_interval_holds_before_entries_are_allowed_for(seed, n):
    K = some_matrix(np.random.default_rng(seed), n, "singular")
    found = dense(K)
    assert found.low <= smallest(K) <= found.high


@given(SEEDS, st.integers(1, 7), st.sampled_from(["singular", "repeated", "indefinite"]))
def test_verdict_agrees_with_the_truth_beyond_the_bound(seed, n, kind):
    K = some_matrix(np.random.default_rng(seed), n, kind)
    found, truth = check_psd(K), smallest(K)
    if truth < -found.bound:
        assert found.verdict == "not psd"
    if truth >= 0:
        assert found
    if found.witness is not None:
        part = K[np.ix_(found.witness.indices, found.witness.indices)]
        assert exact(part, found.witness.coefficients) < 0


@given(
    SEEDS,
    st.sampled_from([Gaussian(2.0), Laplace(1.0), Matern(nu=2.5), Linear(), Polynomial(degree=3), exp(0.1 * Linear())]),
)
def test_proven_kernels_are_psd_by_the_numbers_too(seed, kernel):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, 2)) * 10.0 ** rng.uniform(-2, 1)
    X[5:] = X[:4]
    found = check_psd(kernel, X)
    assert found
    assert found.proof.proven
    assert found.witness is None
    assert 0.0 <= found.interval[0] <= found.interval[1]
    assert "proof" in str(found)


@given(SEEDS, st.floats(0.1, 3.0))
def test_entry_bounds_hold_for_the_gaussian(seed, scale):
    X = np.random.default_rng(seed).standard_normal((4, 3)) * 3
    k = Gaussian(scale=scale)
    K, E = entries(k.form(), X, X)
    gamma = fractions.Fraction(k.form().rule.gamma)  # the bound is about the rule as it is, scale rounded
    for i in range(4):
        for j in range(4):
            square = sum((fractions.Fraction(a) - fractions.Fraction(b)) ** 2 for a, b in zip(X[i], X[j], strict=True))
            with mpmath.workdps(50):
                t = gamma * square
                truth = mpmath.exp(-mpmath.mpf(t.numerator) / t.denominator)
                assert abs(truth - mpmath.mpf(float(K[i, j]))) <= E[i, j]
    assert E.max() < 1e-13


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x - 3 * x,
        lambda x: np.exp(-x) / (1 + x * x),
        lambda x: np.sqrt(x * x + 1) ** -1.5,
        lambda x: (x + 2) ** 3,
        lambda x: np.tanh(x) + np.cos(x) * np.sin(x),
        lambda x: np.where(x > 0, np.maximum(x, 0.5), np.abs(x)),
        lambda x: np.arccos(np.minimum(np.maximum(x, -1.0), 1.0)),
        lambda x: np.log1p(x * x),
    ],
)
def test_rounded_numbers_hold_what_moves_within_their_error(function, rng):
    x = rng.uniform(-2, 2, 400)
    found = function(Rounded(x, 1e-6))
    for moved in (x - 1e-6, x + 1e-6, x + rng.uniform(-1e-6, 1e-6, 400)):
        same_side = np.sign(moved) == np.sign(x)  # where() is decided on the values
        assert (np.abs(function(moved) - found.value) <= found.error)[same_side].all()
    assert np.median(found.error) < 1e-4


def test_unknown_functions_are_not_bounded():
    with pytest.raises(TypeError):
        np.floor(Rounded([1.0]))


# ---------------------------------------------------------------- the witnesses


def minus_one(x, z):
    return -1.0


def tanh(x, z):
    return np.tanh(x @ z - 1)


def apart(x, z):
    return np.linalg.norm(x - z)


@pytest.mark.parametrize("fn, most", [(minus_one, 1), (tanh, 2), (apart, 2)])
def test_functions_that_are_no_kernels_are_found_out(fn, most, rng):
    X = rng.standard_normal((30, 3))
    found = check_psd(Custom(fn), X)
    assert not found
    assert found.verdict == "not psd"
    w = found.witness
    assert len(w.indices) <= most
    part = np.array([[fn(x, z) for x in X[w.indices]] for z in X[w.indices]])
    assert w.coefficients @ part @ w.coefficients == pytest.approx(w.value)
    assert w.value + w.error < 0
    assert np.array_equal(w.points, X[w.indices])
    assert found.interval[1] < 0
    assert str(X[w.indices[0]][0].round(4))[:5] in str(found)


def test_a_witness_on_three_points_is_found():
    # Every pair is fine; all three together are not: cosines of angles that do not close.
    K = np.full((3, 3), -0.6) + 1.6 * np.eye(3)
    found = check_psd(K)
    assert found.witness.indices.tolist() == [0, 1, 2]
    assert exact(K, found.witness.coefficients) < 0
    wide = np.eye(40)
    wide[np.ix_([3, 17, 30], [3, 17, 30])] = K
    assert check_psd(wide).witness.indices.tolist() == [3, 17, 30]


def test_what_is_small_beside_large_entries_is_seen():
    assert check_psd(np.diag([1e10, -1e-7])).witness.indices.tolist() == [1]
    K = np.array([[1e12, 0, 0], [0, 1e-3, 2e-3], [0, 2e-3, 1e-3]])
    assert check_psd(K).witness.indices.tolist() == [1, 2]


def test_rounding_is_not_taken_for_a_witness(rng):
    for n, d in ((50, 3), (200, 1), (100, 99)):
        X = rng.standard_normal((n, d))
        assert check_psd(X @ X.T)
        assert check_psd((X @ X.T).astype(np.float32))


def test_tol_forgives_a_little():
    K = np.array([[1.0, 1.0 + 1e-6], [1.0 + 1e-6, 1.0]])
    assert check_psd(K).verdict == "not psd"
    assert check_psd(K, tol=1e-5)
    assert check_psd(K, tol=1e-7).verdict == "not psd"


def test_a_witness_prints(rng):
    text = str(check_psd(-np.eye(2)))
    assert "positive semi-definite: NO" in text
    assert "c'Kc = -1" in text
    assert "point" in text


def test_many_points_are_cut_short_in_print():
    n = 12  # no part of it is negative: only all twelve are
    K = np.full((n, n), -1.0 / (n - 1.01)) + np.eye(n) * (1 + 1.0 / (n - 1.01))
    found = check_psd(K)
    assert len(found.witness.indices) == n
    assert "and 2 more" in str(found)


def test_sets_strings_frames_and_sparse_rows():
    assert check_psd(exp(SetIntersection()), [{1, 2}, {2, 3}, {1, 2}, set()])
    assert check_psd(Spectrum(k=2), ["abab", "baba", "xyz"])
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]})
    assert check_psd(Gaussian(1.0).on(["a"]), table)
    assert check_psd(Gaussian(1.0), sparse.random(20, 8, 0.3, format="coo", random_state=0))
    found = check_psd(Custom(lambda s, t: -float(len(s & t))), [{1, 2}, {2, 3}])
    assert found.witness.points in ([{1, 2}], [{2, 3}])
    assert "{" in str(found)


def test_a_scale_from_data_is_resolved():
    assert check_psd(Gaussian(scale="median"), [[0.0], [1.0], [2.0]])


# ---------------------------------------------------------------- large, sparse


def test_lanczos_meets_eigh(rng):
    A = rng.standard_normal((300, 300))
    K = A + A.T
    values = np.linalg.eigvalsh(K)
    found = lanczos(lambda v: K @ v, 300, 120, 0, lambda ritz: False)
    assert found.smallest == pytest.approx(values[0], rel=1e-8)
    assert found.largest == pytest.approx(values[-1], rel=1e-8)
    assert np.linalg.norm(K @ found.vector - found.smallest * found.vector) == pytest.approx(found.residual, abs=1e-8)


def test_the_probable_bound_holds_wherever_it_starts(rng):
    values = np.concatenate([[-1.0], np.linspace(0, 100, 399)])  # one small outlier at the end
    for seed in range(20):
        for steps in (25, 60):
            found = lanczos(lambda v: values * v, 400, steps, seed, lambda ritz: False)
            assert found.low(1e-6) <= -1.0 <= found.smallest


def test_large_matrices_are_decided_by_lanczos(monkeypatch, rng):
    monkeypatch.setattr(psd, "DENSE", 50)
    X = rng.standard_normal((400, 2))
    proven = check_psd(Gaussian(1.0), X)
    assert proven.verdict == "psd"
    assert "Lanczos" in proven.how
    assert proven.confidence == 1 - 1e-6
    assert "probability" in str(proven)
    K = Gaussian(1.0)(X)
    truth = np.linalg.eigvalsh(K)[0]
    found = check_psd(K)
    assert found.interval[0] <= truth <= found.interval[1]
    assert found.verdict in ("psd", "undecided")
    assert check_psd(K + 2 * np.eye(400))
    assert check_psd(sparse.csr_matrix(K + 2 * np.eye(400)))
    assert check_psd(K, tol=0.5)
    for fn in (lambda A, B: -np.ones((len(A), len(B))), lambda A, B: np.tanh(A @ B.T - 1)):
        worse = check_psd(Custom(fn, vectorized=True), X, engine=Engine(threads=1))
        assert worse.verdict == "not psd"
        assert len(worse.witness.indices) <= 2
        assert worse.interval[1] < 0
    apart = check_psd(np.abs(X[:, :1] - X[:, 0]))
    assert len(apart.witness.indices) == 2


def test_lanczos_starts_where_it_is_told(monkeypatch, rng):
    monkeypatch.setattr(psd, "DENSE", 5)
    A = rng.standard_normal((200, 200))
    K = A @ A.T
    assert check_psd(K, random_state=1).interval == check_psd(K, random_state=1).interval
    assert check_psd(K, random_state=1).interval != check_psd(K, random_state=2).interval


def test_a_gram_is_checked_too(rng):
    X = rng.standard_normal((300, 3))
    for engine in (Engine(), Engine(precision="double")):
        assert check_psd(gram_of(Gaussian(2.0), X, engine=engine))


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "bad, words",
    [
        ([[1, 2], [3, 4]], r"must be symmetric.*got 2 for points 0 and 1, 3 for 1 and 0"),
        ([[1, np.nan], [np.nan, 1]], "finite numbers; got nan for points 0 and 1"),
        ([[np.inf]], "finite numbers; got inf"),
        (np.ones((2, 3)), r"square.*got shape \(2, 3\)"),
        (np.zeros((0, 0)), "at least one row"),
        ([1.0, 2.0], "square"),
        ([[1], [1, 2]], "ragged"),
        (sparse.csr_matrix([[0, 1.0], [0, 0]]), "must be symmetric"),
        (sparse.csr_matrix([[np.nan]]), "finite numbers"),
    ],
)
def test_bad_matrices_are_refused(bad, words):
    with pytest.raises(ValueError, match=rf"^check_psd: .*{words}"):
        check_psd(bad)


@pytest.mark.parametrize("bad", ["K", [["a"]], [[1j]], None])
def test_what_is_no_matrix_is_refused(bad):
    with pytest.raises((TypeError, ValueError), match=r"^check_psd: "):
        check_psd(bad)


def test_kernels_need_points_and_matrices_none():
    with pytest.raises(ValueError, match="on points; got no X"):
        check_psd(Gaussian(1.0))
    with pytest.raises(ValueError, match="X belongs to a kernel"):
        check_psd(np.eye(2), [[1.0], [2.0]])
    with pytest.raises(ValueError, match="at least one point"):
        check_psd(Gaussian(1.0), [])
    with pytest.raises(ValueError, match="'tol' must be"):
        check_psd(np.eye(2), tol=-1)
    with pytest.raises(ValueError, match="'random_state'"):
        check_psd(np.eye(2), random_state="a")


def test_an_unsymmetric_function_is_no_kernel():
    with pytest.raises(ValueError, match=r"\(z, x\)"):
        check_psd(Custom(lambda A, B: A @ B.T + A[:, :1], vectorized=True), [[1.0], [2.0], [3.0]])
    with pytest.raises(ValueError, match="check_psd: a matrix must be square"):
        check_psd(gram_of(Gaussian(1.0), [[1.0], [2.0]], [[1.0]]))
