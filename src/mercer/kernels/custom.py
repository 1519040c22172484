"""A kernel that is a Python function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from mercer._checks import describe, numeric_rows, refuse
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Called, Form
from mercer.kernels._kernel import Kernel
from mercer.kernels._values import shown
from mercer.kernels._views import n_rows, points, take

_PROBES = 3  # how many points of each block are tried the other way round
_BLOCK = 64  # rows of which a vectorized function gives a block, for its diagonal


@dataclass(frozen=True, eq=False, repr=False)
class Custom(Kernel):
    """k(x, z) = fn(x, z), a Python function.

    Nothing proves that it is a kernel, and `derivation` says so; `check_psd` looks for a witness against it. What can
    be seen on the way is checked: values are finite numbers, and fn(x, z) = fn(z, x) on a few pairs of each block.

    Parameters
    ----------
    fn : callable
        A function of two points; or, if ``vectorized``, of two blocks of n and m points that returns an (n, m) array.
        A row of numbers comes as a float vector, anything else as it is.
    vectorized : bool
        Whether fn takes blocks. Do so if you can: a function of two points costs a Python call an entry.
    name : str, optional
        What formulas call it; the function's own name unless given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Custom
    >>> def shared(x, z):
    ...     return float(np.sum(x == z))
    >>> k = Custom(shared)
    >>> k([[1, 2, 3]], [[1, 2, 4], [0, 0, 0]])
    array([[2., 0.]])
    >>> print(k.derivation())
    1. shared(x, z)  [taken on trust: a function given from outside; check_psd(k, X) looks for a witness against it]
    >>> k.derivation().proven
    False
    """

    fn: Callable[[Any, Any], Any]
    vectorized: bool = False
    name: str | None = None

    def __post_init__(self) -> None:
        if not callable(self.fn):
            refuse("Custom", "'fn' must be a function of two points", describe(self.fn), "Give def fn(x, z): ...")
        if not isinstance(self.vectorized, (bool, np.bool_)):
            refuse("Custom", "'vectorized' must be True or False", describe(self.vectorized), "Say vectorized=True.")
        if not (self.name is None or isinstance(self.name, str)):
            refuse("Custom", "'name' must be a string", describe(self.name), "Leave it out to use the function's name.")

    def form(self) -> Form:
        return Called(self._values, self._diagonal)

    def _values(self, X: Any, Y: Any) -> np.ndarray:
        X, Y = _as_points(X), _as_points(Y)
        K = self._block(X, Y)
        i, j = (np.unique(np.linspace(0, n - 1, min(n, _PROBES)).astype(int)) for n in K.shape)
        back = self._block(take(Y, j), take(X, i)).T
        apart = np.abs(K[np.ix_(i, j)] - back)
        if apart.max() > 1e-8 * np.abs(K).max():
            a, b = np.unravel_index(apart.argmax(), apart.shape)
            got = f"{K[i[a], j[b]]:.6g} for (x, z) and {back[a, b]:.6g} for (z, x), row {i[a]} of X and {j[b]} of Y"
            also = " whatever block they stand in" if self.vectorized else ""
            refuse(self._called(), f"fn(x, z) must be fn(z, x){also}", got, "Use (f(x, z) + f(z, x)) / 2.")
        return K

    def _block(self, X: Any, Y: Any) -> np.ndarray:
        shape = (n_rows(X), n_rows(Y))
        if self.vectorized:
            return self._checked(self.fn(X, Y), shape)
        right = list(points(Y))
        return self._checked([[self.fn(x, z) for z in right] for x in points(X)], shape)

    def _diagonal(self, X: Any) -> np.ndarray:
        X = _as_points(X)
        if not self.vectorized:
            return self._checked([self.fn(x, x) for x in points(X)], (n_rows(X),))
        blocks = (take(X, slice(i, i + _BLOCK)) for i in range(0, n_rows(X), _BLOCK))
        return np.concatenate([self._block(b, b).diagonal() for b in blocks])

    def _checked(self, values: Any, shape: tuple[int, ...]) -> np.ndarray:
        if sparse.issparse(values):
            values = values.toarray()
        try:
            K = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            self._refuse_values("something else")
        if K.shape != shape:
            if self.vectorized:
                refuse(
                    self._called(), f"fn must return an array of shape {shape}", f"shape {K.shape}", "See vectorized."
                )
            self._refuse_values(f"arrays of shape {K.shape[len(shape) :]}")
        if not np.isfinite(K).all():
            at = tuple(int(v) for v in np.argwhere(~np.isfinite(K))[0])
            refuse(self._called(), "fn must return finite numbers", f"{K[at]} at {at}", "Guard the case in fn.")
        return K

    def _refuse_values(self, got: str) -> NoReturn:
        refuse(self._called(), "fn must return one number for two points", got, "For blocks use vectorized=True.")

    def _called(self) -> str:
        return f"Custom({self._label()})"

    def _label(self) -> str:
        name = self.name or str(getattr(self.fn, "__name__", "f"))
        return "f" if name == "<lambda>" else name

    def formula(self) -> Formula:
        label = self._label()
        latex = label if len(label) == 1 else rf"\mathrm{{{label}}}".replace("_", r"\_")
        return Formula(f"{label}(x, z)", f"{latex}(x, z)")

    def _prove(self, proof: Proof) -> int:
        reason = "taken on trust: a function given from outside; check_psd(k, X) looks for a witness against it"
        return proof.trust(self.formula(), reason)

    def __repr__(self) -> str:
        flag = ", vectorized=True" if self.vectorized else ""
        name = f", name={self.name!r}" if self.name is not None else ""
        return f"Custom({shown(self.fn)}{flag}{name})"


def _as_points(X: Any) -> Any:
    """Return a table of numbers as a checked float array (or CSR); anything else as it is."""
    if sparse.issparse(X):
        return numeric_rows("Custom", X)
    if hasattr(X, "iloc"):
        dtypes = X.dtypes if X.ndim == 2 else []
        return numeric_rows("Custom", X) if len(dtypes) and all(d.kind in "fiub" for d in dtypes) else X
    try:
        array = np.asarray(X)
    except ValueError:  # ragged, so objects
        return X
    return numeric_rows("Custom", array) if array.dtype.kind in "fiub" and array.ndim == 2 else X
