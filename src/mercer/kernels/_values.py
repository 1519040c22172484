"""Parameters as values: how they compare, hash and print."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import describe

SUM, PRODUCT, POWER, ATOM = 1, 2, 3, 4  # how tightly printed forms bind, as Python reads them


class Frozen:
    """A read-only array that compares by value and hashes, for use in frozen records."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array).view()
        self.array.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and np.array_equal(self.array, other.array)

    def __hash__(self) -> int:
        # A few entries tell most arrays apart; equal numbers of any type hash equal.
        few = self.array.flat[:: max(1, self.array.size // 16)]
        return hash((self.array.shape, tuple(few.tolist())))

    def __repr__(self) -> str:
        return f"Frozen({describe(self.array)})"


def frozen(value: Any) -> Any:
    """Return a hashable stand-in for a parameter that is equal when the parameter is."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return Frozen(value)
    if isinstance(value, (list, tuple, np.ndarray)):
        return _frozen_list(list(value))
    if isinstance(value, slice):
        return (slice, value.start, value.stop, value.step)
    if sparse.issparse(value):
        csr = value.tocsr()
        return (csr.shape, Frozen(csr.data), Frozen(csr.indices), Frozen(csr.indptr))
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _frozen_list(values: list[Any]) -> Any:
    try:
        array = np.asarray(values)
    except ValueError:  # ragged
        array = np.empty(0, dtype=object)
    return Frozen(array) if array.size and array.dtype.kind in "fiub" else tuple(frozen(v) for v in values)


def shown(value: Any) -> str:
    """Return a parameter as it would be typed; large arrays by their shape."""
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.ndarray) and value.size <= 64:
        return repr(value.tolist())
    if isinstance(value, (list, tuple)) and len(value) <= 64 and all(isinstance(v, np.generic) for v in value):
        return repr(type(value)(v.item() for v in value))
    if isinstance(value, np.ufunc):
        return f"np.{value.__name__}"
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return describe(value, 1000)


def bracketed(part: Any, binds: int) -> str:
    """Return a part's printed form, in brackets if it binds less tightly than asked."""
    return repr(part) if part._binds >= binds else f"({part!r})"
