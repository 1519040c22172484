"""The contract of kernels."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from mercer.kernels import Kernel
from mercer.kernels._evaluate import all_pairs, diagonal
from mercer.kernels._form import Form, Fused, Mixed, Weighted, profile
from mercer.kernels._statistics import term
from mercer.kernels._views import look, n_rows, take
from mercer.testing._laws import check_close, require


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
    check_close(who, "k(x, x) must be the diagonal of the matrix", diagonal(form, X), K.diagonal(), rtol * size**2)
    half = max(1, n_rows(X) // 2)
    part = resolved(take(X, slice(0, half)), take(X, slice(half - 1, None)))
    law = "a value must not depend on the other points"
    check_close(who, law, part, K[:half, half - 1 :], allowed[:half, half - 1 :])
    _check_value(who, kernel)
    _check_proof(who, kernel)
    for fused in _fused(form):
        _check_rules(who, fused, X)


def _check_matrix(who: str, K: np.ndarray, n: int, rtol: float) -> None:
    require(who, f"the matrix must be of shape {(n, n)}", K.shape == (n, n), K.shape)
    require(who, "values must be finite", np.isfinite(K).all(), f"{K[~np.isfinite(K)][:1]}")
    size = np.sqrt(np.maximum(K.diagonal(), 0.0))
    check_close(who, "k(x, z) must be k(z, x)", K, K.T, rtol * np.maximum(size[:, None] * size, np.abs(K)))
    _check_positive(who, K, rtol)
    excess = np.abs(K) - (1 + 2 * rtol) * size[:, None] * size
    i, j = (int(v) for v in np.unravel_index(excess.argmax(), K.shape))
    got = f"|k| = {abs(K[i, j]):.17g} and sqrt(..) = {size[i] * size[j]:.17g} for rows {i} and {j}"
    require(who, "|k(x, z)| must be at most sqrt(k(x, x) k(z, z))", excess[i, j] <= 0, got)


def _check_positive(who: str, K: np.ndarray, rtol: float) -> None:
    """An error of rtol in each entry, relative to the roots of its diagonals, moves eigenvalues by rtol trace(K)."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    allowed = (rtol + 4 * len(K) * np.finfo(float).eps) * np.abs(K.diagonal()).sum()
    c = vectors[:, 0]
    rows = np.sort(np.argsort(-np.abs(c))[:8])
    got = f"c'Kc = {values[0]:.3g} for c = {np.array2string(c[rows], precision=2)} on rows {rows.tolist()}"
    require(who, "the matrix must be positive semi-definite", values[0] >= -allowed, got)


def _check_value(who: str, kernel: Kernel) -> None:
    copies = {"its clone": clone(kernel), "one made anew": type(kernel)(**kernel.get_params(deep=False))}
    with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):  # lambdas do not pickle
        copies["its pickled copy"] = pickle.loads(pickle.dumps(kernel))
    for name, other in copies.items():
        require(who, f"the kernel must equal {name}, and hash alike", kernel == other, repr(other))
        require(who, f"the kernel must hash as {name}", hash(kernel) == hash(other), repr(other))
    require(who, "the kernel must differ from 2 * kernel", kernel != 2 * kernel, "equal")


def _check_proof(who: str, kernel: Kernel) -> None:
    derivation, formula = kernel.derivation(), kernel.formula()
    last = derivation.lines[-1].claim
    require(who, "the derivation must end with the kernel's formula", last == formula, last.text)
    cited = all(use < i for i, line in enumerate(derivation.lines, 1) for use in line.uses)
    require(who, "a step of the derivation must cite earlier steps only", cited, f"\n{derivation}\n")


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
        require(who, law, np.allclose(one, many, rtol=1e-12, atol=0.0, equal_nan=True), f"{one} and {many}")
        for statistic, all_of_it in zip(form.statistics, found, strict=True):
            by_hand = [[sum(term(statistic, a, b) for a, b in zip(x, z, strict=True)) for z in rows] for x in rows]
            close = np.allclose(by_hand, all_of_it, rtol=1e-9, atol=1e-12 * np.abs(all_of_it).max())
            require(who, f"{statistic} must be the sum of its terms", close, f"{by_hand} and {all_of_it}")
