"""Public contract checks, for the kernels and losses of this package and for your own."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.kernels._evaluate import all_pairs, diagonal
from mercer.kernels._form import Form, Fused, Mixed, Weighted, profile
from mercer.kernels._statistics import term
from mercer.kernels._views import look, n_rows, take
from mercer.losses import conjugate, curvature, highest, lowest, shortfall, slope, traits, value

__all__ = ["check_gram", "check_kernel", "check_loss"]


def check_kernel(kernel: Kernel, X: Any, *, rtol: float = 1e-12) -> None:
    """Check that a kernel keeps its laws on some points; raise an AssertionError that names the one it breaks.

    The laws: values are finite and symmetric; the matrix is positive semi-definite; ``diagonal`` is its diagonal;
    |k(x, z)| <= sqrt(k(x, x) k(z, z)); a value does not depend on what other points there are; the kernel is a value
    (equal to, and hashed as, its clone, its pickled copy and one made from its parameters); its derivation ends with
    its own formula; and its scalar rules mean the same for numbers and for arrays. Cost: n^3, so give few points.

    Parameters
    ----------
    kernel : Kernel
        The kernel; parameters that come from data are resolved with X.
    X : array, CSR matrix, DataFrame or list of length n
        Points; repeated and extreme ones make the check worth more.
    rtol : float
        The rounding error allowed in a value, relative to sqrt(k(x, x) k(z, z)).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Custom, Gaussian
    >>> from mercer.testing import check_kernel
    >>> X = np.array([[0.0], [1.0], [1.0], [3.0]])
    >>> check_kernel(Gaussian(2.0), X)
    >>> check_kernel(Custom(lambda x, z: float(abs(x - z).sum())), X)
    Traceback (most recent call last):
        ...
    AssertionError: Custom(f): the matrix must be positive semi-definite; got c'Kc = -3.48 for c = [...] on rows ...
    """
    who = repr(kernel).replace("<lambda>", "f")
    resolved = kernel.resolve(X)
    K, form = resolved(X), resolved.form()
    _check_matrix(who, K, n_rows(X), rtol)
    size = np.sqrt(np.maximum(K.diagonal(), 0.0))
    allowed = rtol * size[:, None] * size
    _check_close(who, "k(x, x) must be the diagonal of the matrix", diagonal(form, X), K.diagonal(), rtol * size**2)
    half = max(1, n_rows(X) // 2)
    part = resolved(take(X, slice(0, half)), take(X, slice(half - 1, None)))
    law = "a value must not depend on the other points"
    _check_close(who, law, part, K[:half, half - 1 :], allowed[:half, half - 1 :])
    _check_value(who, kernel)
    _check_proof(who, kernel)
    for fused in _fused(form):
        _check_rules(who, fused, X)


def _check_matrix(who: str, K: np.ndarray, n: int, rtol: float) -> None:
    _require(who, f"the matrix must be of shape {(n, n)}", K.shape == (n, n), K.shape)
    _require(who, "values must be finite", np.isfinite(K).all(), f"{K[~np.isfinite(K)][:1]}")
    size = np.sqrt(np.maximum(K.diagonal(), 0.0))
    _check_close(who, "k(x, z) must be k(z, x)", K, K.T, rtol * np.maximum(size[:, None] * size, np.abs(K)))
    _check_positive(who, K, rtol)
    excess = np.abs(K) - (1 + 2 * rtol) * size[:, None] * size
    i, j = (int(v) for v in np.unravel_index(excess.argmax(), K.shape))
    got = f"|k| = {abs(K[i, j]):.17g} and sqrt(..) = {size[i] * size[j]:.17g} for rows {i} and {j}"
    _require(who, "|k(x, z)| must be at most sqrt(k(x, x) k(z, z))", excess[i, j] <= 0, got)


def _check_positive(who: str, K: np.ndarray, rtol: float) -> None:
    """An error of rtol in each entry, relative to the roots of its diagonals, moves eigenvalues by rtol trace(K)."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    allowed = (rtol + 4 * len(K) * np.finfo(float).eps) * np.abs(K.diagonal()).sum()
    c = vectors[:, 0]
    rows = np.sort(np.argsort(-np.abs(c))[:8])
    got = f"c'Kc = {values[0]:.3g} for c = {np.array2string(c[rows], precision=2)} on rows {rows.tolist()}"
    _require(who, "the matrix must be positive semi-definite", values[0] >= -allowed, got)


def _check_close(who: str, law: str, got: np.ndarray, wanted: np.ndarray, allowed: np.ndarray) -> None:
    over = np.abs(got - wanted) - allowed
    at = tuple(int(v) for v in np.unravel_index(over.argmax(), over.shape))
    _require(who, law, over[at] <= 0, f"{got[at]:.17g} and {wanted[at]:.17g} at {at}")


def _check_value(who: str, kernel: Kernel) -> None:
    copies = {"its clone": clone(kernel), "one made anew": type(kernel)(**kernel.get_params(deep=False))}
    with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):  # lambdas do not pickle
        copies["its pickled copy"] = pickle.loads(pickle.dumps(kernel))
    for name, other in copies.items():
        _require(who, f"the kernel must equal {name}, and hash alike", kernel == other, repr(other))
        _require(who, f"the kernel must hash as {name}", hash(kernel) == hash(other), repr(other))
    _require(who, "the kernel must differ from 2 * kernel", kernel != 2 * kernel, "equal")


def _check_proof(who: str, kernel: Kernel) -> None:
    derivation, formula = kernel.derivation(), kernel.formula()
    last = derivation.lines[-1].claim
    _require(who, "the derivation must end with the kernel's formula", last == formula, last.text)
    cited = all(use < i for i, line in enumerate(derivation.lines, 1) for use in line.uses)
    _require(who, "a step of the derivation must cite earlier steps only", cited, f"\n{derivation}\n")


def _fused(form: Form) -> Iterator[Fused]:
    if isinstance(form, Fused):
        yield form
    elif isinstance(form, Mixed):
        for part in form.parts:
            yield from _fused(part)
    elif isinstance(form, Weighted):
        yield from _fused(form.part)


def _check_rules(who: str, form: Fused, X: Any, most: int = 4) -> None:
    """Compare the rules on whole arrays with the same rules on one pair of numbers at a time."""
    if not form.statistics:
        return
    A = look(form.view, X)[0]
    rows = np.asarray((A[:most].toarray() if sparse.issparse(A) else A[:most]), dtype=np.float64)
    found = [all_pairs(s, rows, rows) for s in form.statistics]
    with np.errstate(all="ignore"):
        one = [profile(form.rule, s, t) for s, t in zip(found[0].ravel(), found[-1].ravel(), strict=True)]
        many = np.broadcast_to(profile(form.rule, found[0], found[-1]), found[0].shape).ravel()
        law = "its rule must mean the same for a number and for an array"
        _require(who, law, np.allclose(one, many, rtol=1e-12, atol=0.0, equal_nan=True), f"{one} and {many}")
        for statistic, all_of_it in zip(form.statistics, found, strict=True):
            by_hand = [[sum(term(statistic, a, b) for a, b in zip(x, z, strict=True)) for z in rows] for x in rows]
            close = np.allclose(by_hand, all_of_it, rtol=1e-9, atol=1e-12 * np.abs(all_of_it).max())
            _require(who, f"{statistic} must be the sum of its terms", close, f"{by_hand} and {all_of_it}")


def _require(who: str, law: str, holds: Any, got: object) -> None:
    if not holds:
        raise AssertionError(f"{who}: {law}; got {got}.")


# ---------------------------------------------------------------- Gram


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
    _require(who, f"the shape must be {(n, m)}", K.shape == (n, m), K.shape)
    _require(who, "the dtype must be float32 or float64", K.dtype in (np.float32, np.float64), K.dtype)
    rtol = (2e-5 if K.dtype == np.float32 else 1e-12) if rtol is None else rtol
    size = rtol * np.abs(wanted).max(initial=0.0) + 8 * float(np.finfo(K.dtype).tiny)
    for law, got, values in _parts_of_gram(K, wanted):
        _require(who, f"{law} must be of shape {values.shape}", got.shape == values.shape, got.shape)
        if values.size:
            _check_close(who, f"{law} must hold the values", got, values, np.full(values.shape, size))
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
                _require(
                    who,
                    f"{law} must be of dtype {np.result_type(K.dtype, dtype)}",
                    got.dtype == np.result_type(K.dtype, dtype),
                    got.dtype,
                )
                _require(who, f"{law} must be of shape {exact.shape}", got.shape == exact.shape, got.shape)
                allowed = rtol * (np.abs(values) @ np.abs(V)) + 8 * float(np.finfo(K.dtype).tiny) * len(V)
                _check_close(who, f"{law} must be the product", got, exact, allowed)
                _require(who, f"{law} must come out the same twice", np.array_equal(got, G @ V), "another")


# ---------------------------------------------------------------- losses


def check_loss(loss: Any, targets: Any, *, reach: float = 8.0, rtol: float = 1e-9) -> None:
    """Check that a loss keeps its laws at some targets; raise an AssertionError that names the one it breaks.

    The laws: the value is finite and convex in t; the slope lies between the differences on either side, within the
    dual box, and the curvature between the slopes of smooth losses; the conjugate is the largest u t - value over t, by
    brute force, and infinite outside the box; value + conjugate - u t is the shortfall, never negative, and 0 where u
    is the slope; the form a loss claims for its conjugate holds; rules mean the same for numbers and for arrays.

    Parameters
    ----------
    loss : loss record
        See `mercer.losses`.
    targets : sequence of floats
        Values of y the loss is for: labels 1 and -1, or numbers.
    reach : float
        How far around each target predictions are tried.
    rtol : float
        The rounding error allowed.

    Examples
    --------
    >>> from mercer.losses import Hinge, Squared
    >>> from mercer.testing import check_loss
    >>> check_loss(Hinge(), [1.0, -1.0])
    >>> check_loss(Squared(), [0.0, 3.5])
    """
    for y in np.asarray(targets, dtype=np.float64):
        t = y + np.linspace(-reach, reach, 4001)
        _check_primal(f"{loss} at y = {y:g}", loss, y, t, rtol)
        _check_dual(f"{loss} at y = {y:g}", loss, y, t, rtol)


def _check_primal(who: str, loss: Any, y: float, t: np.ndarray, rtol: float) -> None:
    v, s = value(loss, y, t), slope(loss, y, t)
    size, step = 1.0 + np.abs(v), t[1] - t[0]
    _require(who, "the value must be finite", v.shape == t.shape and np.isfinite(v).all(), v[~np.isfinite(v)][:1])
    bend = v[:-2] + v[2:] - 2 * v[1:-1]
    at = int((bend / size[1:-1]).argmin())
    _require(who, "the value must be convex", bend[at] >= -rtol * size[at + 1], f"{bend[at]:.3g} at t = {t[at + 1]:g}")
    difference, allowed = np.diff(v) / step, rtol * (size[1:] + size[:-1]) / step
    law = "the slope must lie between the differences on either side"
    _check_close(who, law, s[1:], np.maximum(s[1:], difference - allowed), np.zeros(len(s) - 1))
    _check_close(who, law, s[:-1], np.minimum(s[:-1], difference + allowed), np.zeros(len(s) - 1))
    low, high = lowest(loss, y), highest(loss, y)
    _require(who, "the slope must lie in the dual box", ((s >= low) & (s <= high)).all(), f"{s.min()}, {s.max()}")
    if traits(loss).smooth:
        c = curvature(loss, y, t)
        law = "the curvature must be that of the slope"
        _require(who, law, (c >= 0).all(), c.min())
        jumps = np.maximum(c[1:], c[:-1]) * step * (1 + 1e-2) + allowed * step
        _check_close(who, law, np.diff(s), np.minimum(np.diff(s), jumps), np.zeros(len(s) - 1))
    one = [[float(rule(loss, y, x)) for x in t[::500]] for rule in (value, slope)]
    law = "a rule must mean the same for a number and for an array"
    _require(who, law, np.allclose(one, [v[::500], s[::500]], rtol=1e-14), one)


def _check_dual(who: str, loss: Any, y: float, t: np.ndarray, rtol: float) -> None:
    low, high = max(float(lowest(loss, y)), -4.0), min(float(highest(loss, y)), 4.0)
    u = np.linspace(low, high, 41)
    v, c = value(loss, y, t), conjugate(loss, y, u)
    lines = u[:, None] * t - v
    brute, size = lines.max(axis=1), 1.0 + np.abs(lines).max(axis=1)
    inside = (lines.argmax(axis=1) > 0) & (lines.argmax(axis=1) < len(t) - 1)  # else the best t may lie beyond
    missed = np.abs(np.diff(lines, axis=1)).max(axis=1)  # the best t may lie between two that were tried
    _check_close(who, "the conjugate must not be below u t - value", brute, np.minimum(brute, c), rtol * size)
    _check_close(who, "the conjugate must be the largest of u t - value", c[inside], brute[inside], missed[inside])
    for edge, beyond in ((lowest(loss, y), -0.01), (highest(loss, y), 0.01)):
        if np.isfinite(edge):
            got = conjugate(loss, y, edge + beyond)
            _require(who, "the conjugate must be infinite outside the dual box", got == np.inf, got)
    for k in range(len(u)):
        left, plain = shortfall(loss, y, t, u[k]), v + c[k] - u[k] * t
        _check_close(
            who, "the shortfall must be value + conjugate - u t", left, plain, rtol * (size[k] + np.abs(plain))
        )
        _require(who, "the shortfall must not be negative", left.min() >= 0, left.min())
    s = slope(loss, y, t)
    _check_close(who, "the shortfall must be 0 at the slope", shortfall(loss, y, t, s), 0 * t, rtol * (1 + np.abs(v)))
    form = traits(loss).boxed
    if form is not None:
        wanted = y * u + form.spread * np.abs(u) + form.ridge * u * u / 2
        _check_close(who, "the conjugate must have the form the loss claims", c, wanted, rtol * size)
