"""Making Gram matrices: from a kernel and data, from a matrix, from a factor."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from mercer._checks import describe, numeric_rows, refuse
from mercer.engine import Engine
from mercer.gram._block import stored as store
from mercer.gram._block import stored_bytes
from mercer.gram._cluster import Remote
from mercer.gram._gram import Gram
from mercer.gram._held import DenseSource, FactorSource
from mercer.gram._lower import lower
from mercer.gram._sources import Source
from mercer.kernels import Kernel
from mercer.kernels._evaluate import diagonal, evaluate
from mercer.kernels._form import Form
from mercer.kernels._views import n_rows

SMALL = 2**16  # entries: up to here NumPy evaluates the plain rules in float64, and nothing is compiled
MOST_IF_DEAR = 3 * 2**30  # bytes stored unasked


def gram(
    kernel: Kernel, X: Any, Y: Any = None, engine: Engine | None = None, stored: bool | Literal["auto", "dear"] = False
) -> Gram:
    """Return the Gram matrix k(x_i, y_j) as a lazy linear map.

    Parameters
    ----------
    kernel : Kernel
        What k is. Parameters that come from data (``scale="median"``) are resolved on X when Y is not given.
    X, Y : array, DataFrame, sparse matrix, or a list of the objects the kernel takes
        Rows are points. Without Y it is X, and products compute each kernel value once for both its places.
    engine : Engine, optional
        Threads, memory, precision, cluster.
    stored : bool, "auto" or "dear"
        Compute all values now and keep them (half of them, if X = Y): pays from a few products on. ``"auto"`` does
        so when they fit the memory budget; ``"dear"`` when they also take longer to compute than to read (Gaussians
        of up to 16 columns do not) and fit a quarter of the budget and 3 GiB.

    Notes
    -----
    In single precision entries of a Gaussian above 1e-3 have a relative error below 2e-6 (d <= 32) or 2e-5 (d up to
    1,000) for standardised data, wherever its origin lies; in double, 1e-13. Data whose squares would leave the range
    of single is computed in double. Up to 65,536 entries everything is computed in float64 by plain NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Engine, gram
    >>> from mercer.kernels import Gaussian, Linear
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> K = gram(Gaussian(scale=4.0) + Linear(), X, engine=Engine(precision="double"))
    >>> K.block(rows=[0], columns=[0, 2]).round(3)
    array([[2.   , 5.135]])
    """
    engine = _engine(engine)
    if not isinstance(kernel, Kernel):
        refuse(
            "gram", "'kernel' must be a Kernel", describe(kernel), "See mercer.kernels, e.g. Gaussian(1.0).", TypeError
        )
    _check_rows(X, "X")
    Y = None if Y is X else Y
    if Y is not None:
        _check_rows(Y, "Y")
    kernel = kernel.resolve(X) if Y is None else kernel
    form = kernel.form()
    source = _source(form, X, Y, engine)
    if stored not in (True, False, "auto", "dear"):
        refuse("gram", "'stored' must be True, False, 'auto' or 'dear'", describe(stored))
    if stored and _may_store(source, engine, stored):
        source = store(source, engine)
    remote = None if engine.client is None or stored is True else Remote(kernel, X, Y, engine)
    own = None if Y is not None else lambda: diagonal(form, X)
    return Gram(source, engine, own, remote, kernel, X)


def _check_rows(X: Any, name: str) -> None:
    """Refuse what has no rows to count: a number, one string, an iterator."""
    if (
        isinstance(X, (str, bytes))
        or not (hasattr(X, "shape") or hasattr(X, "__len__"))
        or getattr(X, "shape", None) == ()
    ):
        refuse("gram", f"{name} must be a table or a list of points", describe(X), "Give one point a row.")


def _source(form: Form, X: Any, Y: Any, engine: Engine) -> Any:
    if n_rows(X) * n_rows(X if Y is None else Y) <= SMALL:
        return DenseSource(evaluate(form, X, Y), engine.dtype, symmetric=Y is None)
    source = lower(form, X, Y, engine)
    source.prepare()  # packed here, once, so that a product takes no more than its own
    return source


def _may_store(source: Source, engine: Engine, stored: bool | str) -> bool:
    need = stored_bytes(source)
    if stored == "dear":
        return not source.cheap and engine.client is None and need <= min(engine.budget // 4, MOST_IF_DEAR)
    if need <= engine.budget:
        return True
    if stored is True:
        refuse(
            "gram", f"a stored {source.n} x {source.m} {engine.dtype.name} matrix needs {need / 2**30:.3g} GiB",
            f"a budget of {engine.budget / 2**30:.3g} GiB", "Use the lazy Gram (the default), or Engine(memory=...).",
            MemoryError,
        )  # fmt: skip  # message and remedy on a line each
    return False


def from_matrix(K: Any, engine: Engine | None = None, *, symmetric: bool | None = None) -> Gram:
    """Return a given matrix as a Gram: square ones must be symmetric unless ``symmetric=False``.

    Examples
    --------
    >>> from mercer.gram import from_matrix
    >>> from_matrix([[2.0, 1.0], [1.0, 2.0]]) @ [1.0, -1.0]
    array([ 1., -1.])
    """
    K = numeric_rows("from_matrix", K, "K")
    K = K.toarray() if sparse.issparse(K) else K
    square = K.shape[0] == K.shape[1]
    if symmetric and not square:
        refuse("from_matrix", "a symmetric K must be square", f"shape {K.shape}")
    symmetric = square if symmetric is None else symmetric
    if symmetric:
        check_symmetric("from_matrix", K)
    return Gram(DenseSource(K, K.dtype, symmetric=symmetric), _engine(engine), (lambda: _diag(K)) if square else None)


def _diag(K: np.ndarray) -> np.ndarray:
    return np.diagonal(K).astype(np.float64)


def check_symmetric(who: str, K: np.ndarray) -> None:
    """Refuse a matrix that is not symmetric up to rounding, naming the worst pair."""
    size = float(np.abs(K).max(initial=0.0))
    allowed = 64 * np.finfo(K.dtype).eps * size
    for i in range(0, len(K), 1024):
        gap = np.abs(K[i : i + 1024] - K[:, i : i + 1024].T)
        if gap.max(initial=0.0) > allowed:
            r, c = np.unravel_index(int(gap.argmax()), gap.shape)
            r += i
            got = f"K[{r},{c}] = {K[r, c]:.6g} but K[{c},{r}] = {K[c, r]:.6g}"
            refuse(who, "K must be symmetric", got, "Use (K + K.T) / 2, or symmetric=False for two sets of points.")


def from_factor(Z: Any, W: Any = None, engine: Engine | None = None) -> Gram:
    """Return Z W' (W None: Z Z') as a Gram that never forms it; dense or CSR features. K @ v costs (n + m) r.

    Examples
    --------
    >>> from mercer.gram import from_factor
    >>> from_factor([[1.0, 0.0], [1.0, 1.0]]) @ [1.0, 1.0]
    array([2., 3.])
    """
    Z = numeric_rows("from_factor", Z, "Z").astype(np.float64)
    right = Z if W is None else numeric_rows("from_factor", W, "W").astype(np.float64)
    if Z.shape[1] != right.shape[1]:
        refuse("from_factor", "Z and W must have as many columns", f"{Z.shape[1]} and {right.shape[1]}")
    own = (
        (lambda: np.asarray(Z.multiply(Z).sum(axis=1)).ravel()) if sparse.issparse(Z) else (lambda: (Z * Z).sum(axis=1))
    )
    return Gram(FactorSource(Z, right, np.float64), _engine(engine), own if W is None else None)


def _engine(engine: Engine | None) -> Engine:
    if engine is None:
        return Engine()
    if not isinstance(engine, Engine):
        refuse("gram", "'engine' must be an Engine", describe(engine), "For example Engine(threads=2).", TypeError)
    return engine
