"""Rows, blocks, the diagonal and the transpose. The oracle is the plain matrix kernel(X, Y), indexed by NumPy."""

import numpy as np
import pytest

from mercer import Engine, gram
from mercer.gram import _make, from_matrix
from mercer.kernels import Gaussian, Linear
from tests import oracles
from tests.gram.conftest import FORMS, assert_entries, form, points

INDICES = {
    "all": None,
    "a whole slice": slice(None),
    "unaligned": slice(3, 270),
    "aligned": slice(256, 512),
    "steps": slice(5, 500, 7),
    "backwards": slice(400, 10, -9),
    "an empty slice": slice(10, 10),
    "the last": slice(-20, None),
    "one": [0],
    "repeated": [299, 0, 257, 0],
    "negative": [-1, -300],
    "unsigned": np.array([4, 8, 256], np.uint16),
    "a mask": np.arange(300) % 3 == 1,
    "an empty mask": np.zeros(300, bool),
    "an empty list": [],
}


def positions(name):
    """What NumPy makes of an index of 300 rows."""
    index = {"all": slice(None), "an empty list": slice(0)}.get(name, INDICES[name])
    return np.arange(300)[index]


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("d", [1, 5, 33])
@pytest.mark.parametrize("name", FORMS)
def test_blocks_of_every_form(name, d, precision, rng, compiled):
    X, Y = points(rng, 301, d), points(rng, 530, d)
    k, engine = form(name, d), Engine(precision=precision)
    for A, B in ((X, None), (Y, None), (X, Y)):
        K, expected = gram(k, A, B, engine), k(A, B)
        whole = K.block()
        assert whole.dtype == engine.dtype
        assert_entries(whole, expected, engine.dtype)
        assert_entries(K.T.block(), expected.T, engine.dtype)
        assert_entries(K.rows([3, 0, -1]), expected[[3, 0, -1]], engine.dtype)
        assert_entries(K.block(slice(1, 290), slice(7, 283)), expected[1:290, 7:283], engine.dtype)
        if B is None:
            assert_entries(whole, whole.T, engine.dtype, condition=0.25)
            np.testing.assert_allclose(K.diag(), np.diagonal(expected), rtol=1e-12)


@pytest.mark.parametrize("columns", list(INDICES))
@pytest.mark.parametrize("rows", list(INDICES)[::2])
def test_every_kind_of_index(rows, columns, rng, compiled):
    X, Y = points(rng, 300, 3), points(rng, 300, 3)
    k = Gaussian(2.0)
    for B in (None, Y):
        got = gram(k, X, B, Engine(precision="double")).block(INDICES[rows], INDICES[columns])
        assert_entries(got, k(X, B)[np.ix_(positions(rows), positions(columns))])


@pytest.mark.parametrize("rows", list(INDICES))
@pytest.mark.parametrize("kind", ["packed", "dense", "matrix"])
def test_indices_into_what_is_stored(kind, rows, rng, compiled):
    X = points(rng, 300, 3)
    k = Gaussian(2.0)
    K = from_matrix(k(X)) if kind == "matrix" else gram(k, X, X.copy() if kind == "dense" else None, stored=True)
    expected, r, index = np.asarray(K), positions(rows), INDICES[rows]
    assert np.array_equal(K.block(index), expected[r])
    assert np.array_equal(K.block(None, index), expected[:, r])
    assert np.array_equal(K.block([5, 3], index), expected[[5, 3]][:, r])


def test_one_position_is_one_row(rng):
    K = gram(Gaussian(2.0), points(rng, 9, 2))
    assert K.rows(3).shape == (1, 9)
    assert K.block(3, np.int8(2)).shape == (1, 1)


@pytest.mark.parametrize("n", [20, 600])
def test_array_protocol(n, rng, compiled):
    X = points(rng, n, 4)
    K = gram(Gaussian(2.0), X)
    assert np.asarray(K).dtype == np.float32
    assert np.array_equal(np.asarray(K), K.block())
    assert np.asarray(K, dtype=np.float64).dtype == np.float64
    assert np.array_equal(np.array(K), K.block())
    with pytest.raises(ValueError, match="gram: an array of K must be made anew"):
        np.asarray(K, copy=False)


# ---------------------------------------------------------------- out=


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("name", ["one statistic", "two statistics", "mixed", "weighted", "called"])
def test_out_takes_the_result(name, d, precision, rng, compiled):
    X, Y = points(rng, 530, d), points(rng, 259, d)
    k, engine = form(name, d), Engine(precision=precision)
    for B in (None, Y):
        K = gram(k, X, B, engine)
        expected = K.block()
        for dtype in (np.float32, np.float64):
            plain = np.full(K.shape, 7, dtype)
            assert K.block(out=plain) is plain
            np.testing.assert_allclose(plain, expected, rtol=0 if expected.dtype == dtype else 5e-7)
            larger = np.full((2 * K.shape[0] + 1, K.shape[1] + 9), 7, dtype)
            view = larger[1::2, 4:-5]
            assert K.block(out=view) is view
            np.testing.assert_array_equal(view, plain)
            assert (larger[::2] == 7).all()
            assert (larger[:, :4] == 7).all()
            assert (larger[:, -5:] == 7).all()


def test_out_for_a_part(rng, compiled):
    X = points(rng, 530, 3)
    K = gram(Gaussian(2.0), X)
    out = np.empty((3, 500), np.float32)
    K.block([1, 5, 2], slice(2, 502), out=out)
    assert_entries(out, Gaussian(2.0)(X)[[1, 5, 2], 2:502], np.float32)
    column = np.zeros((530, 8), np.float32)
    K.block(None, [7], out=column[:, 3:4])
    assert_entries(column[:, 3:4], Gaussian(2.0)(X)[:, [7]], np.float32)
    flipped = np.zeros((530, 530), np.float32)
    K.block(out=flipped[::-1])
    assert np.array_equal(flipped[::-1], K.block())
    records = np.zeros(530, [("values", np.float32, 530), ("flag", np.int8)])
    K.block(out=records["values"])
    assert np.array_equal(records["values"], K.block())
    assert not records["flag"].any()


BAD_OUT = [
    np.empty((2, 3), np.float32),
    np.empty((3, 3), np.int64),
    np.empty((3, 3), np.float16),
    np.asfortranarray(np.empty((3, 3))),
    np.empty((3, 6))[:, ::2],
    np.broadcast_to(np.zeros(3), (3, 3)),
    [[0.0] * 3] * 3,
]


@pytest.mark.parametrize("out", BAD_OUT, ids=range(len(BAD_OUT)))
def test_an_out_that_does_not_fit_is_refused(out):
    wanted = r"gram: 'out' must be a writeable float array of shape \(3, 3\) with contiguous rows; got "
    with pytest.raises(ValueError, match=wanted):
        from_matrix(np.eye(3)).block(out=out)


# ---------------------------------------------------------------- small problems, against a double loop


def _slow_gaussian(X, Y):
    return oracles.gaussian(X, Y, scale=1.5)


def _slow_composite(X, Y):
    return 0.5 * _slow_gaussian(X, Y) + oracles.linear(X, Y) * oracles.gaussian(X, Y, scale=2.0)


SLOW = [
    (Gaussian(1.5), _slow_gaussian),
    (Linear(), oracles.linear),
    (0.5 * Gaussian(1.5) + Linear() * Gaussian(2.0), _slow_composite),
]


@pytest.mark.parametrize("small", [2**16, 0], ids=["plain", "compiled"])
@pytest.mark.parametrize("k, slow", SLOW, ids=[repr(k) for k, _ in SLOW])
def test_a_double_loop_agrees(k, slow, small, rng, monkeypatch):
    monkeypatch.setattr(_make, "SMALL", small)
    X, Y = points(rng, 9, 3), points(rng, 7, 3)
    for A, B in ((X, None), (X, Y)):
        assert_entries(gram(k, A, B, Engine(precision="double")).block(), slow(A, X if B is None else B))


# ---------------------------------------------------------------- refusals

BAD_INDEX = [
    ([300], r"'rows' must lie in 0..299; got positions from 300 to 300"),
    ([-301], r"'rows' must lie in 0..299; got positions from -301 to -301"),
    ([0.5], r"'rows' must be positions, a mask or a slice; got \[0.5\]"),
    (["a"], r"'rows' must be positions, a mask or a slice; got \['a'\]"),
    ([[0, 1]], r"'rows' must be positions, a mask or a slice; got \[\[0, 1\]\]"),
    ([True, False], r"'rows' must be positions, a mask or a slice; got \[True, False\]"),
]


@pytest.mark.parametrize("index, text", BAD_INDEX, ids=[str(i) for i, _ in BAD_INDEX])
def test_a_wrong_index_is_refused(index, text, rng):
    K = gram(Gaussian(2.0), points(rng, 300, 2))
    with pytest.raises(ValueError, match="gram: " + text):
        K.rows(index)
    with pytest.raises(ValueError, match="gram: " + text.replace("rows", "columns")):
        K.block(columns=index)


def test_the_diagonal_of_two_sets_is_refused(rng):
    K = gram(Gaussian(2.0), points(rng, 3, 2), points(rng, 3, 2))
    with pytest.raises(
        ValueError, match=r"gram: diag needs a Gram of points with themselves; got shape \(3, 3\) of two"
    ):
        K.diag()
