"""From a form and data to a source: rows are looked at through views, centred, rounded and packed, once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import refuse
from mercer.engine import Engine
from mercer.gram._fused import FusedSource, Pairs
from mercer.gram._packed import Points, centre, csr, padded
from mercer.gram._sources import CalledSource, MixedSource, Source, WeightedSource
from mercer.kernels._evaluate import diagonal_of_statistics
from mercer.kernels._form import Called, Form, Fused, Mixed, Weighted
from mercer.kernels._statistics import SHIFT_INVARIANT, Dot, Squares, Statistic
from mercer.kernels._views import look

LARGEST = {np.dtype(np.float32): 1e15, np.dtype(np.float64): 1e140}  # squares and their sums stay finite
LARGEST_VALUE = {np.dtype(np.float32): 1e30, np.dtype(np.float64): 1e300}
LARGEST_FACTOR = 1e15  # of f in f(x) k(x, z) f(z): beyond, the product leaves single
SMALLEST = {np.dtype(np.float32): 1e-12, np.dtype(np.float64): 1e-140}


def lower(form: Form, X: Any, Y: Any, engine: Engine) -> Source:
    """Return the source of a form on rows X and columns Y (None: X again)."""
    if isinstance(form, Fused):
        return _fused(form, X, Y, engine)
    if isinstance(form, Mixed):
        return MixedSource(form.operation, tuple(lower(part, X, Y, engine) for part in form.parts))
    if isinstance(form, Weighted):
        left = form.factor(X)
        right = left if Y is None else form.factor(Y)
        if max(np.abs(left).max(initial=0.0), np.abs(right).max(initial=0.0)) > LARGEST_FACTOR:
            engine = replace(engine, precision="double")
        return WeightedSource(left, right, lower(form.part, X, Y, engine))
    assert isinstance(form, Called)
    return CalledSource(form.values, X, X if Y is None else Y, engine.dtype)


def _fused(form: Fused, X: Any, Y: Any, engine: Engine) -> Source:
    statistics = form.statistics or (Dot(),)  # a constant looks at nothing; any statistic will do
    A, B = look(form.view, X, Y, "gram")
    values, tiles = _dtypes(form, A, B, engine)
    pairs = tuple(_pairs(s, A, B, tiles, engine) for s in statistics)
    return FusedSource(form.rule, pairs, values, tiles)


def _pairs(statistic: Statistic, A: Any, B: Any, dtype: Any, engine: Engine) -> Pairs:
    if sparse.issparse(A):
        if isinstance(statistic, (Dot, Squares)):
            left = csr(A, dtype)
            return Pairs(statistic, left, left if B is None else csr(B, dtype))
        A, B = _densified(A, dtype, engine), None if B is None else _densified(B, dtype, engine)
    shift = centre(A if B is None else B) if isinstance(statistic, SHIFT_INVARIANT) else None
    left_points: Points = padded(A, dtype, shift)
    return Pairs(statistic, left_points, left_points if B is None else padded(B, dtype, shift))


def _densified(A: Any, dtype: Any, engine: Engine) -> np.ndarray:
    need = A.shape[0] * A.shape[1] * np.dtype(dtype).itemsize
    if need > engine.budget // 4:
        refuse(
            "gram", f"this kernel needs dense rows, {need / 2**30:.3g} GiB here",
            f"a budget of {engine.budget / 2**30:.3g} GiB",
            "Raise Engine(memory=...), reduce the columns, or use a kernel of inner products or Euclidean distances.",
        )  # fmt: skip  # message and remedy on a line each
    return np.asarray(A.astype(dtype).toarray())


def _dtypes(form: Fused, A: Any, B: Any, engine: Engine) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the dtypes of values and of tiles: that of the engine, or double where single would over- or underflow."""
    wanted, double = engine.dtype, np.dtype(np.float64)
    sides = [A] if B is None else [A, B]
    largest = max(_largest(side) for side in sides)
    if largest > LARGEST[double]:
        refuse("gram", "data must stay below 1e140, or squares overflow", f"{largest:.3g}", "Scale X.")
    value = max(_largest_value(form, side) for side in sides)
    if not value <= LARGEST_VALUE[double]:
        refuse("gram", "kernel values must stay below 1e300", f"k(x, x) = {value:.3g}", "Scale X, or the kernel.")
    fits = (largest == 0 or SMALLEST[wanted] <= largest <= LARGEST[wanted]) and _numbers_fit(form.rule, wanted)
    values = wanted if value <= LARGEST_VALUE[wanted] else double
    return values, values if fits else double


def _largest(A: Any) -> float:
    data = A.data if sparse.issparse(A) else A
    return float(max(data.max(initial=0.0), -data.min(initial=0.0)))


def _largest_value(form: Fused, A: Any) -> float:
    """Return a bound on k(x, x), so on |k| (Cauchy and Schwarz): first a rough one, then from the largest rows."""
    rough = np.abs(diagonal_of_statistics(form, np.full((1, A.shape[1]), _largest(A)))).max()
    if rough <= LARGEST_VALUE[np.dtype(np.float32)]:
        return float(rough)
    sizes = abs(A).max(axis=1).toarray().ravel() if sparse.issparse(A) else _row_sizes(A)
    count = min(len(sizes), 32)
    rows = np.sort(np.argpartition(-sizes, count - 1)[:count])
    return float(np.abs(diagonal_of_statistics(form, A[rows])).max(initial=0.0))


def _row_sizes(A: np.ndarray) -> np.ndarray:
    return np.maximum(A.max(axis=1), -A.min(axis=1))


def _numbers_fit(rule: Any, dtype: np.dtype[Any]) -> bool:
    if isinstance(rule, tuple):
        return all(_numbers_fit(field, dtype) for field in rule)
    return dtype == np.float64 or rule == 0 or 1e-30 < abs(rule) < 1e30
