"""MetricLearner from pairs in chunks: the same metric as from all of them at once."""

import numpy as np
import pytest

from mercer import MetricLearner
from mercer.kernels import Gaussian


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 4)) * [1.0, 2.0, 0.5, 1.0]
    i = rng.integers(0, 60, (2, 150))
    pairs = np.stack([i, (i + rng.integers(1, 30, (2, 150))) % 60], axis=2)
    y = X[:, 0] > 0
    apart = y[pairs[..., 0]] != y[pairs[..., 1]]
    return X, pairs[~apart], pairs[apart]


def chunked(array, size=40):
    return lambda: (array[a : a + size] for a in range(0, len(array), size))


OPTIONS = [
    {},
    {"rank": 2},
    {"diagonal": True},
    {"regularization": 0.1},
    {"objective": "root"},
    {"objective": "root", "diagonal": True},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_chunks_of_points_are_those_points(data, options):
    X, S, D = data
    whole = MetricLearner(**options).fit(X, similar=S, dissimilar=D)
    stream = MetricLearner(**options).fit(similar=chunked(X[S]), dissimilar=chunked(X[D]))
    assert stream.n_pairs_ == whole.n_pairs_
    assert stream.n_features_in_ == 4
    assert stream.certificate_.value == pytest.approx(whole.certificate_.value, rel=1e-6)
    assert stream.certificate_.relative_gap < 1e-6
    np.testing.assert_allclose(stream.A_, whole.A_, rtol=0, atol=1e-4 * np.abs(whole.A_).max())
    assert stream.score(None, similar=chunked(X[S]), dissimilar=X[D]) == pytest.approx(
        whole.score(X, similar=S, dissimilar=D)
    )
    np.testing.assert_allclose(
        stream.pair_distance(chunked(X[S])), whole.pair_distance(S, X=X), rtol=1e-3, atol=1e-4 * whole.A_.max() ** 0.5
    )


@pytest.mark.parametrize("objective", ["ratio", "root"])
def test_chunks_of_row_numbers_may_be_an_iterator(data, objective):
    X, S, D = data
    whole = MetricLearner(objective=objective).fit(X, similar=S, dissimilar=D)
    parts = MetricLearner(objective=objective).fit(X, similar=chunked(S)(), dissimilar=chunked(D))
    assert np.array_equal(whole.A_, parts.A_)


def test_weights_come_with_their_chunk(data):
    X, S, D = data
    w = np.arange(len(S)) % 3.0
    for rows in (S, X[S]):
        given = MetricLearner().fit(X, similar=rows, dissimilar=D, similar_weight=w)
        chunks = MetricLearner().fit(
            X, similar=lambda rows=rows: [(rows[:50], w[:50]), (rows[50:], w[50:])], dissimilar=D
        )
        np.testing.assert_allclose(given.A_, chunks.A_, rtol=1e-9, atol=1e-12)


def test_a_kernel_takes_its_centres_from_the_points(data):
    X, S, D = data
    options = {"kernel": Gaussian(3.0), "objective": "root", "n_centers": 20, "random_state": 0}
    whole = MetricLearner(**options).fit(X, similar=S, dissimilar=D)
    stream = MetricLearner(**options).fit(X, similar=chunked(X[S]), dissimilar=D)
    assert stream.certificate_.value == pytest.approx(whole.certificate_.value, rel=1e-6)
    with pytest.raises(ValueError, match="X must be given, for the centres"):
        MetricLearner(kernel="rbf").fit(similar=chunked(X[S]), dissimilar=chunked(X[D]))


@pytest.mark.parametrize(
    "similar, message",
    [
        (lambda X, S: chunked(X[S])(), "gone through more than once"),
        (lambda X, S: iter([]), "must yield a chunk of pairs at least"),
        (lambda X, S: iter([S[:2], X[S[:2]]]), "all be row numbers or all be points"),
        (lambda X, S: lambda: [X[S[:2]], S[:2]], r"must all have shape \(m, 2, 4\); got shape \(2, 2\)"),
        (lambda X, S: iter([S[0]]), "a chunk of 'similar' must be row numbers"),
        (lambda X, S: iter([(S, -np.ones(len(S)))]), "must be .* finite numbers >= 0"),
        (lambda X, S: lambda: [np.full((3, 2, 4), np.nan)], "finite"),
        (lambda X, S: lambda: [np.zeros((3, 2, 5))], "as many features as X; got 5 and 4"),
        (lambda X, S: iter([[[0, 99]]]), r"row numbers in 0..59"),
    ],
)
def test_bad_chunks_are_named(data, similar, message):
    X, S, D = data
    with pytest.raises(ValueError, match=message):
        MetricLearner().fit(X, similar=similar(X, S), dissimilar=D)


def test_weights_beside_chunks_are_refused(data):
    X, S, D = data
    with pytest.raises(ValueError, match="weights of chunks come in 'similar'"):
        MetricLearner().fit(X, similar=iter([S]), dissimilar=D, similar_weight=np.ones(len(S)))
