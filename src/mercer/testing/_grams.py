"""The contract of Grams."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.gram import Gram
from mercer.testing._laws import check_close, require


def check_gram(K: Gram, expected: Any, *, rtol: float | None = None) -> None:
    """Check that a Gram does with every method what an array of its values does; else raise an AssertionError.

    The laws: ``shape``, ``dtype``, ``rows``, ``block`` (positions, slices, a mask, ``out``), ``T``, ``diag`` where the
    rows are the columns, and ``@`` for vectors and matrices of both precisions agree with ``expected``, and each
    product comes out the same twice. Cost: some ten products.

    Parameters
    ----------
    K : Gram
        The Gram.
    expected : array of shape (n, m)
        Its values.
    rtol : float, optional
        The rounding error allowed, relative to the largest value, or to the sum of the absolute terms of a product;
        2e-5 in single precision and 1e-12 in double unless given.

    Examples
    --------
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.testing import check_gram
    >>> X = [[0.0], [1.0], [3.0]]
    >>> check_gram(gram(Gaussian(2.0), X), Gaussian(2.0)(X))
    >>> check_gram(gram(Gaussian(2.0), X), Gaussian(1.0)(X))
    Traceback (most recent call last):
        ...
    AssertionError: <Gram 3 x 3, float32, dense>: block() must hold the values; got 0.77880... and 0.36787... at (0, 1).
    """
    wanted = np.asarray(expected, dtype=np.float64)
    who, (n, m) = repr(K), wanted.shape
    require(who, f"the shape must be {(n, m)}", K.shape == (n, m), K.shape)
    require(who, "the dtype must be float32 or float64", K.dtype in (np.float32, np.float64), K.dtype)
    rtol = (2e-5 if K.dtype == np.float32 else 1e-12) if rtol is None else rtol
    size = rtol * np.abs(wanted).max(initial=0.0) + 8 * float(np.finfo(K.dtype).tiny)
    for law, got, values in _parts_of_gram(K, wanted):
        require(who, f"{law} must be of shape {values.shape}", got.shape == values.shape, got.shape)
        if values.size:
            check_close(who, f"{law} must hold the values", got, values, np.full(values.shape, size))
    _check_products(who, K, wanted, rtol)


def _parts_of_gram(K: Gram, wanted: np.ndarray) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    n, m = wanted.shape
    some, odd, mask = [n - 1, 0, -1], slice(m - 1, None, -2), np.arange(n) % 2 == 0
    yield "block()", K.block(), wanted
    yield f"rows({some})", K.rows(some), wanted[some]
    yield f"block(columns={odd})", K.block(columns=odd), wanted[:, odd]
    yield "block(mask, [0])", K.block(mask, [0]), wanted[mask][:, [0]]
    yield "block(slice(1, None), slice(1, None))", K.block(slice(1, None), slice(1, None)), wanted[1:, 1:]
    out = np.zeros((n, m + 2))
    yield "block(out=...)", K.block(out=out[:, 1:-1]), wanted
    yield "what stands beside out", out[:, [0, -1]], np.zeros((n, 2))
    yield "T", K.T.block(), wanted.T
    yield "numpy.asarray", np.asarray(K), wanted
    with contextlib.suppress(ValueError):  # a Gram of two sets of points has none, and says so
        yield "diag()", K.diag(), wanted.diagonal()


def _check_products(who: str, K: Gram, wanted: np.ndarray, rtol: float) -> None:
    rng = np.random.default_rng(0)
    for G, values in ((K, wanted), (K.T, wanted.T)):
        for shape in ((values.shape[1],), (values.shape[1], 1), (values.shape[1], 3)):
            for dtype in (np.float32, np.float64):
                V = rng.standard_normal(shape).astype(dtype)
                law = f"K @ V for {'K.T and ' if G is not K else ''}V of shape {shape} and {V.dtype}"
                got, exact = G @ V, values @ V.astype(np.float64)
                require(
                    who,
                    f"{law} must be of dtype {np.result_type(K.dtype, dtype)}",
                    got.dtype == np.result_type(K.dtype, dtype),
                    got.dtype,
                )
                require(who, f"{law} must be of shape {exact.shape}", got.shape == exact.shape, got.shape)
                allowed = rtol * (np.abs(values) @ np.abs(V)) + 8 * float(np.finfo(K.dtype).tiny) * len(V)
                check_close(who, f"{law} must be the product", got, exact, allowed)
                require(who, f"{law} must come out the same twice", np.array_equal(got, G @ V), "another")
