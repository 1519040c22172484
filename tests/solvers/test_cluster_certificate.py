"""The certificate of a partition. Oracle: eigenvalues in NumPy, brute force, and the objective of any partition."""

import numpy as np
import pytest
from scipy.sparse.linalg import eigsh

from mercer import Engine, gram
from mercer.gram import from_matrix, sum_of_squares
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.solvers import Clustering, Lloyd, certify_clusters, cluster
from mercer.solvers.clusters._spectrum import Moments, Products, krylov, of_matrix, of_products
from tests import oracles


def ky_fan_bound(K, k, w=None):
    """tr(B) less the k - 1 largest eigenvalues, B the weighted K centred on both sides."""
    w = np.ones(len(K)) if w is None else w
    u = np.sqrt(w) / np.sqrt(w.sum())
    B = np.sqrt(w)[:, None] * K * np.sqrt(w)
    B = B - np.outer(u, u @ B)
    B = B - np.outer(B @ u, u)
    values = np.linalg.eigvalsh(B) if len(B) < 1000 else eigsh(B, k - 1, which="LA", return_eigenvectors=False)
    return float(np.trace(B) - np.maximum(np.sort(values)[::-1][: k - 1], 0).sum())


def test_the_bound_is_never_above_the_objective_of_200_random_problems():
    rng = np.random.default_rng(7)
    for _ in range(200):
        n, d = int(rng.integers(2, 60)), int(rng.integers(1, 5))
        k = int(rng.integers(1, n + 1))
        X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4)
        if rng.random() < 0.3:
            X = X[rng.integers(0, n, n)]  # repeated points
        w = rng.choice([0.0, 0.5, 1.0, 3.0], n) if rng.random() < 0.5 else None
        if w is not None and np.count_nonzero(w) < k:
            w = None
        kernel = [Gaussian(1.0), Linear(), Polynomial(3), 1e6 * Gaussian(0.1)][rng.integers(4)]
        problem = Clustering(gram(kernel, X), k, w)
        found = cluster(problem, Lloyd(n_init=1, random_state=0))
        K = kernel(X)
        scale = float((np.ones(n) if w is None else w) @ np.diagonal(K))
        assert found.certificate.bound <= found.objective
        some = certify_clusters(problem, rng.integers(0, k, n))
        assert some.bound == pytest.approx(found.certificate.bound, abs=1e-9 * scale)
        assert found.certificate.bound == pytest.approx(ky_fan_bound(K, k, w), abs=1e-9 * scale)
        assert some.objective >= found.certificate.bound


def test_it_is_never_below_the_trace_less_k_eigenvalues(rng):
    for k in (1, 2, 5):
        X = rng.standard_normal((40, 2))
        K = Gaussian(1.5)(X)
        plain = np.trace(K) - np.linalg.eigvalsh(K)[::-1][:k].sum()
        assert certify_clusters(Clustering(gram(Gaussian(1.5), X), k), np.arange(40) % k).bound >= plain - 1e-9


@pytest.mark.parametrize("scale", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("stored", [True, False])
def test_products_give_a_bound_that_holds_and_is_near(scale, stored):
    rng = np.random.default_rng(3)
    X, k = rng.standard_normal((1300, 3)), 6
    w = rng.uniform(0.5, 2.0, len(X))
    K = Gaussian(scale)(X)
    engine = Engine() if stored else Engine(memory="3 MB")
    found = cluster(Clustering(gram(Gaussian(scale), X, engine=engine), k, w), Lloyd(n_init=1, random_state=0))
    best = ky_fan_bound(K, k, w)
    assert found.certificate.bound <= best
    assert found.certificate.bound >= best - (0.03 if stored else 0.06) * w.sum()
    assert found.certificate.bound <= found.objective


def test_values_in_single_are_allowed_for():
    X = np.random.default_rng(4).standard_normal((2300, 4))
    K = Gaussian(3.0)(X)
    found = cluster(Clustering(gram(Gaussian(3.0), X), 4), Lloyd(n_init=1, random_state=0))
    assert found.certificate.precision == "single"
    best = ky_fan_bound(K, 4)
    assert best - 2e-3 * np.trace(K) <= found.certificate.bound <= best


def test_top_sums_against_eigenvalues():
    rng = np.random.default_rng(0)
    for seed in range(30):
        n = int(rng.integers(3, 80))
        A = rng.standard_normal((n, n))
        A = A if seed % 2 else np.linalg.qr(A)[0] * 0.7 ** np.arange(n)
        B = A @ A.T
        values = np.linalg.eigvalsh(B)[::-1]
        for j in {0, 1, n // 2, n - 1, n}:
            exact = values[:j].sum()
            assert exact <= of_matrix(B, j).bound <= exact * (1 + 1e-9) + 1e-9
            few = Products(*krylov(lambda Z, B=B: B @ Z, rng.standard_normal((n, min(n, 3))), 1))
            assert of_products(few, moments(B), j).bound >= exact * (1 - 1e-12)
    low = Products(*krylov(lambda Z: B @ Z, rng.standard_normal((n, 8)), 6))
    assert of_products(low, moments(B), 2).values[:2] == pytest.approx(values[:2], rel=1e-3)


def test_eigenvalues_that_are_all_but_equal():
    X = np.random.default_rng(0).standard_normal((300, 3))  # far apart for so narrow a kernel: K is the identity
    found = cluster(Clustering(gram(Gaussian(1e-3), X), 4), Lloyd(n_init=1, random_state=0)).certificate
    assert found.bound == pytest.approx(296.0, abs=1e-6)


def test_no_eigenvalue_is_missed_by_directions_that_do_not_see_it():
    B = np.diag([5.0, 1.0, 1.0, 100.0])
    V = np.eye(4)[:, :3]  # an invariant space without the largest: residuals are 0
    assert of_products(Products(V, B @ V), moments(B), 1).bound >= 100.0


def test_products_that_are_rounded_are_allowed_for():
    rng = np.random.default_rng(5)
    for seed in range(100):
        n, p, j = int(rng.integers(6, 40)), int(rng.integers(1, 5)), int(rng.integers(1, 6))
        B = np.diag(rng.exponential(size=n) ** int(rng.integers(1, 5)))
        V, BV = krylov(lambda Z, B=B: B @ Z, rng.standard_normal((n, p)), 1 + seed % 2)
        E = rng.standard_normal(BV.shape) * 10.0 ** rng.integers(-4, 0)
        E = E if seed % 3 else -V  # towards lower eigenvalues
        found = of_products(Products(V, BV + E, float(np.linalg.norm(E))), moments(B), j)
        assert found.bound >= np.sort(np.diagonal(B))[::-1][:j].sum()


def moments(B):
    return Moments(float((B * B).sum()), float(np.trace(B)), 1e-12 * float(np.abs(np.diagonal(B)).sum()))


def test_it_says_what_it_proves():
    X = np.repeat([[0.0, 0.0], [3.0, 0.0]], 10, axis=0) + np.random.default_rng(0).standard_normal((20, 2)) * 0.1
    found = cluster(Clustering(gram(Linear(), X), 2), Lloyd(random_state=0)).certificate
    assert found.relative_gap < 3.0
    assert "a fixed point of Lloyd's algorithm" in str(found)
    useless = certify_clusters(Clustering(gram(Linear(), X[:, :1]), 2), np.arange(20) % 2)
    assert np.isinf(useless.relative_gap)
    assert "any factor above it" in str(useless)


def test_objective_of_a_given_partition(rng):
    X, w = rng.standard_normal((30, 2)), rng.integers(0, 3, 30).astype(float)
    labels = rng.integers(0, 4, 30)
    proof = certify_clusters(Clustering(gram(Gaussian(1.0), X), 4, w), labels)
    assert proof.objective == pytest.approx(oracles.partition_objective(Gaussian(1.0)(X), labels, w))


@pytest.mark.parametrize("n", [30, 600, 2500])
def test_sum_of_squares(rng, n):
    X, w = rng.standard_normal((n, 3)), rng.uniform(0.0, 2.0, n)
    K = Gaussian(1.5)(X)
    wanted = w @ (K * K) @ w
    for engine in (Engine(), Engine(precision="double"), Engine(threads=1)):
        got = sum_of_squares(gram(Gaussian(1.5), X, engine=engine), w)
        assert wanted * (1 - 1e-5) <= got <= wanted * (1 + 1e-3)
        if engine.precision == "double":
            assert wanted * (1 - 1e-12) <= got <= wanted * (1 + 1e-9)
    assert sum_of_squares(from_matrix(K), w) == pytest.approx(wanted)
