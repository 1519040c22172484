"""Products on a cluster. The oracle is the product in this process."""

import numpy as np
import pytest
from scipy import sparse

from mercer import Engine, gram
from mercer.kernels import Custom, Gaussian, Linear, SetIntersection
from tests.gram.conftest import assert_product, points

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")

# What dask itself warns of while it starts and stops is not ours to test.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def clients():
    """Clients of a cluster of one worker and of one of two."""
    made = []
    for workers in (1, 2):
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=None, scheduler_port=0
        )
        made.append((distributed.Client(cluster), cluster))
    yield [client for client, _ in made]
    for client, cluster in made:
        client.close()
        cluster.close()


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("k", [Gaussian(3.0), 0.5 * Gaussian(3.0) + Linear().on([0, 1])], ids=repr)
def test_products_equal_those_of_this_process(k, precision, clients, rng):
    X, Y = points(rng, 2500, 5), points(rng, 700, 5)
    for B in (None, Y):
        local = gram(k, X, B, Engine(precision=precision))
        V = rng.standard_normal((local.shape[1], 3))
        answers = []
        for client in clients:
            K = gram(k, X, B, Engine(threads=1, precision=precision, client=client))
            answers.append([K @ V, K @ V[:, 0], K.T @ np.ones(2500)])
            assert np.array_equal(K.rows([3, 5]), local.rows([3, 5]))
        for one, two in zip(*answers, strict=True):
            assert np.array_equal(one, two)
            assert one.dtype == (local @ V).dtype
        block, dtype = local.block().astype(float), local.dtype
        assert_product(answers[0][0], block, V, dtype)
        assert_product(answers[0][1], block, V[:, 0], dtype)
        assert_product(answers[0][2], block.T, np.ones(2500), dtype)


def test_frames_sparse_rows_and_sets(clients, rng):
    pd = pytest.importorskip("pandas")
    X = np.where(rng.random((1500, 6)) < 0.4, 1.0, 0.0)
    v = rng.standard_normal(1500)
    engine = Engine(threads=1, precision="double", client=clients[1])
    for data in (sparse.csr_matrix(X), pd.DataFrame(X, columns=list("abcdef"))):
        assert_product(gram(Gaussian(2.0), data, engine=engine) @ v, Gaussian(2.0)(X), v)
    sets = [set(np.flatnonzero(row).tolist()) for row in X]
    assert_product(gram(SetIntersection(), sets, engine=engine) @ v, X @ X.T, v)


def test_parameters_from_data_are_those_of_all_rows(clients, rng):
    """A worker sees a band of rows only; the scale is the one of the whole."""
    X = np.sort(points(rng, 2200, 1), axis=0)
    k = Gaussian("scale")
    K = gram(k, X, engine=Engine(threads=1, precision="double", client=clients[1]))
    assert_product(K @ np.ones(2200), k.resolve(X)(X), np.ones(2200))


def _broken(x, z):
    raise RuntimeError("this function always fails")


def test_errors_of_a_worker_reach_the_caller(clients, rng):
    K = gram(Custom(_broken, vectorized=True), points(rng, 1200, 2), engine=Engine(client=clients[1], threads=1))
    with pytest.raises(RuntimeError, match="this function always fails"):
        K @ np.ones(1200)


def test_stored_is_stored_here(clients, rng):
    X = points(rng, 600, 3)
    K = gram(Gaussian(2.0), X, engine=Engine(client=clients[0]), stored=True)
    clients[0].submit  # noqa: B018  # the client is alive, and not asked
    assert np.array_equal(K @ np.ones(600), gram(Gaussian(2.0), X, stored=True) @ np.ones(600))
