"""Checks and their messages. The oracle is the one form: who: what was wanted; got what. what to do."""

import numpy as np
import pytest
from scipy import sparse

from mercer import _checks
from mercer._checks import describe, integer, is_number, message, number, numeric_rows, positive, refuse

pytestmark = pytest.mark.uncompiled


def test_the_one_form():
    assert message("SVC", "'C' must be positive", -1) == "SVC: 'C' must be positive; got -1."
    assert message("SVC", "'C' must be positive", -1, "Give C > 0.") == "SVC: 'C' must be positive; got -1. Give C > 0."
    with pytest.raises(TypeError, match=r"^who: what; got 1. Do it.$"):
        refuse("who", "what", 1, "Do it.", TypeError)


def test_values_are_described_briefly():
    assert describe([1, 2]) == "[1, 2]"
    assert describe(np.zeros((3, 4))) == "an array of shape (3, 4) and dtype float64"
    assert describe(np.arange(3)) == "array([0, 1, 2])"
    assert describe(list(range(99))).startswith("list [0, 1, 2")
    assert len(describe("x" * 1000)) < 80


@pytest.mark.parametrize("value", [0, 1.5, np.float32(2), np.int8(3), float("nan")])
def test_numbers(value):
    assert is_number(value)


@pytest.mark.parametrize("value", [True, np.True_, "1", None, 1j, [1]])
def test_other_things_are_no_numbers(value):
    assert not is_number(value)


CALLS = [
    (lambda: number("f", "x", "a"), "f: 'x' must be a finite number; got 'a'."),
    (lambda: number("f", "x", float("inf")), "f: 'x' must be a finite number; got inf."),
    (lambda: number("f", "x", -1, 0), "f: 'x' must be a finite number >= 0; got -1."),
    (lambda: number("f", "x", 0, 0, strict=True), "f: 'x' must be a finite number > 0; got 0."),
    (lambda: positive("f", "x", 0), "f: 'x' must be a positive number; got 0."),
    (lambda: positive("f", "x", float("nan")), "f: 'x' must be a positive number; got nan."),
    (lambda: positive("f", "x", True), "f: 'x' must be a positive number; got True."),
    (lambda: integer("f", "x", 1.0), "f: 'x' must be an integer >= 0; got 1.0."),
    (lambda: integer("f", "x", 1, 2), "f: 'x' must be an integer >= 2; got 1."),
    (lambda: integer("f", "x", False), "f: 'x' must be an integer >= 0; got False."),
]


@pytest.mark.parametrize("call, text", CALLS, ids=[t for _, t in CALLS])
def test_refusals_of_numbers(call, text):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        call()
    assert str(caught.value) == text


def test_numbers_that_pass():
    assert number("f", "x", np.float32(0.5)) == 0.5
    assert (positive("f", "x", 2), type(positive("f", "x", 2))) == (2.0, float)
    assert (integer("f", "x", np.int64(3)), type(integer("f", "x", np.int64(3)))) == (3, int)


# ---------------------------------------------------------------- rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_right_rows_are_not_copied(dtype):
    X = np.ones((3, 2), dtype)
    assert numeric_rows("f", X) is X


@pytest.mark.parametrize(
    "X",
    [[[1, 2]], np.ones((1, 2), bool), np.ones((1, 2), np.uint8), np.ones((1, 2), np.float16), np.ones((1, 2), object)],
)
def test_other_numbers_become_double(X):
    assert numeric_rows("f", X).dtype == np.float64


def test_sparse_rows_become_csr():
    X = sparse.coo_matrix(np.eye(3, dtype=int))
    rows = numeric_rows("f", X)
    assert (rows.format, rows.dtype) == ("csr", np.float64)
    kept = sparse.csr_matrix(np.eye(3, dtype=np.float32))
    assert numeric_rows("f", kept).dtype == np.float32


def test_huge_finite_numbers_are_finite():
    """Their sum is not, so the quick look is not enough."""
    X = np.full((4, 4), 1e308)
    assert numeric_rows("f", X) is X
    X[2, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"f: X must hold finite numbers; got nan in row 2, column 1. Impute or drop it."
    ):
        numeric_rows("f", X)


def test_infinities_that_cancel_are_found():
    with pytest.raises(ValueError, match="got inf in row 0, column 1"):
        numeric_rows("f", [[0.0, np.inf], [-np.inf, 0.0]])


def test_the_first_bad_entry_of_csr_is_named():
    X = sparse.csr_matrix(np.diag([1.0, 2.0, np.inf, np.nan]))
    with pytest.raises(ValueError, match=r"f: X must hold finite numbers; got inf in row 2, column 2. Drop it."):
        numeric_rows("f", X)


@pytest.mark.parametrize(
    "X, culprit",
    [
        ([["a", "b"]], "'a'"),
        ([[1.0, "b"]], "'b'"),
        ([["1", "2"]], "'1'"),
        (np.array([[1, "b"]], object), "'b'"),
        ([[{}]], "{}"),
    ],
)
def test_what_is_no_number_is_shown(X, culprit):
    with pytest.raises(
        ValueError, match=rf"f: X must hold numbers; got {culprit}. Encode it as numbers, or use a kernel on"
    ):
        numeric_rows("f", X)


def test_frames_name_their_columns():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"age": [1.0, np.inf], "size": [1, 2]})
    with pytest.raises(ValueError, match=r"got inf in row 1, column 0 \('age'\)"):
        numeric_rows("f", X)
    assert numeric_rows("f", X.replace(np.inf, 0)).dtype == np.float64


def test_messages_name_the_side():
    with pytest.raises(
        ValueError, match=r"f: Y must be two-dimensional; got shape \(2,\). Use Y.reshape\(-1, 1\) for one"
    ):
        numeric_rows("f", [1.0, 2.0], "Y")


def test_every_check_is_documented():
    functions = [v for v in vars(_checks).values() if getattr(v, "__module__", "") == _checks.__name__]
    assert all(f.__doc__ for f in functions if not f.__name__.startswith("_"))
