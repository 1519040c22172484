"""Kernels on DataFrames and on tables that mix numbers, text and sets. Oracle: the same kernels on the columns."""

import numpy as np
import pandas as pd
import pytest

from mercer.kernels import Custom, Gaussian, Linear, SetIntersection, Spectrum, White
from mercer.testing import check_kernel


@pytest.fixture
def frame(rng):
    return pd.DataFrame(
        {
            "seq": ["ACGT", "ACG", "TTTT", "ACGT", "GAC"],
            "a": rng.standard_normal(5),
            "b": [1, 2, 3, 4, 5],
            "tags": [{"x"}, {"x", "y"}, set(), {"z"}, {"y"}],
            "flag": [True, False, True, False, True],
        }
    )


def test_columns_by_name(frame):
    wanted = Gaussian(2.0)(frame[["a", "b"]].to_numpy())
    np.testing.assert_array_equal(Gaussian(2.0).on(["a", "b"])(frame), wanted)
    np.testing.assert_array_equal(Gaussian(2.0).on([1, 2])(frame), wanted)
    np.testing.assert_array_equal(Gaussian(2.0)(frame[["a", "b"]]), wanted)
    np.testing.assert_array_equal(Linear().on("flag")(frame), np.outer(frame.flag, frame.flag))
    assert Gaussian("median").on("a").resolve(frame).kernel == Gaussian("median").resolve(frame[["a"]].to_numpy())


def test_mixed_types(frame):
    k = Spectrum(3).on("seq") * Gaussian(2.0).on(["a", "b"])
    wanted = Spectrum(3)(list(frame.seq)) * Gaussian(2.0)(frame[["a", "b"]].to_numpy())
    np.testing.assert_allclose(k(frame), wanted, rtol=1e-14)
    np.testing.assert_allclose(k(frame, frame[:2]), wanted[:, :2], rtol=1e-14)
    np.testing.assert_allclose(k.normalized()(frame).diagonal(), 1.0)
    more = k + SetIntersection().on("tags") + White().on(["seq", "b"])
    check_kernel(more, frame)
    np.testing.assert_array_equal(SetIntersection().on("tags")(frame), SetIntersection()(list(frame.tags)))


def test_mixed_arrays(frame):
    X = frame[["seq", "a", "b"]].to_numpy()
    k = Spectrum(3).on(0) * Gaussian(2.0).on([1, 2])
    np.testing.assert_allclose(k(X), (Spectrum(3).on("seq") * Gaussian(2.0).on(["a", "b"]))(frame), rtol=1e-14)
    np.testing.assert_array_equal(Gaussian(2.0).on(1)(X), Gaussian(2.0).on("a")(frame))
    np.testing.assert_allclose(k(X.tolist()), k(X))


def test_a_function_of_rows_and_of_columns(frame):
    k = Custom(lambda x, z: float(x["flag"] == z["flag"]))
    np.testing.assert_array_equal(k(frame), np.equal.outer(frame.flag.to_numpy(), frame.flag.to_numpy()))
    k = Custom(lambda x, z: float(x @ z)).on(["a", "b"])
    np.testing.assert_allclose(k(frame), Linear().on(["a", "b"])(frame))
    k = Linear().on(["a", "b"]).warp(lambda row: float(len(row["seq"])))
    np.testing.assert_allclose(
        k(frame), Linear().on(["a", "b"])(frame) * np.outer(frame.seq.str.len(), frame.seq.str.len())
    )


@pytest.mark.parametrize(
    "make,text",
    [
        (
            lambda f: Gaussian().on(["a", "q"])(f),
            r"columns \['a', 'q'\] must be in X; got none named \['q'\]. It has 'seq'",
        ),
        (lambda f: Gaussian().on("a")(np.eye(2)), r"columns given by name need a DataFrame; got ndarray"),
        (lambda f: Gaussian().on([7])(f), r"X must have the columns \[7\]; got shape \(5, 5\)"),
        (lambda f: Gaussian().on([7])(np.eye(2)), r"X must have the columns \[7\]; got shape \(2, 2\)"),
        (lambda f: Gaussian().on([])(f), r"columns must name at least one column; got \[\]"),
        (lambda f: Gaussian().on([-1]), r"names or positions >= 0; got -1"),
        (lambda f: Gaussian().on(slice(2, None)), r"a slice of columns must have a start and an end >= 0"),
        (lambda f: Gaussian().on("seq")(f), r"X must hold numbers|must be two-dimensional"),
        (lambda f: Gaussian()(f), r"X must hold numbers; got 'ACGT'"),
        (lambda f: Spectrum().on("a")(f), r"Spectrum: X must hold strings; got .* in row 0"),
        (lambda f: Gaussian().on([0])([[1, 2], [3]]), r"rows of one length; got ragged rows"),
    ],
)
def test_messages(frame, make, text):
    with pytest.raises(ValueError, match=text):
        make(frame)
