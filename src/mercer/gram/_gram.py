"""The Gram matrix: a linear map that computes what it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from mercer._checks import describe, refuse
from mercer.engine import Engine
from mercer.gram._block import block
from mercer.gram._cluster import Remote, remote_product
from mercer.gram._product import product
from mercer.gram._sources import Source
from mercer.kernels import Kernel

SMALLEST, LARGEST = 1e-20, 1e20  # of a multiplier that is taken as it is


@final
class Gram:
    """The matrix K[i, j] = k(x_i, y_j), as a linear map; made by `gram`, `from_matrix` or `from_factor`.

    It computes products, rows, blocks and its diagonal tile by tile; nothing of size n x m is kept unless it was
    asked to be stored. ``numpy.asarray(K)`` is the whole matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Gaussian
    >>> K = gram(Gaussian(scale=2.0), np.eye(3))
    >>> K.shape, K.dtype.name
    ((3, 3), 'float32')
    >>> (K @ np.ones(3)).round(4)
    array([2.2131, 2.2131, 2.2131])
    """

    def __init__(
        self,
        source: Source,
        engine: Engine,
        diagonal: Callable[[], np.ndarray] | None = None,
        remote: Remote | None = None,
        kernel: Kernel | None = None,
        points: Any = None,
    ) -> None:
        self._source, self._engine, self._diagonal, self._remote = source, engine, diagonal, remote
        self._kernel, self._points = kernel, points

    @property
    def kernel(self) -> Kernel | None:
        """The kernel, its parameters numbers; None for a matrix that was given."""
        return self._kernel

    @property
    def points(self) -> Any:
        """The points x_i of the rows; None for a matrix that was given."""
        return self._points

    @property
    def engine(self) -> Engine:
        """What products may use."""
        return self._engine

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._source.n, self._source.m

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of blocks and rows; sums are kept in float64 whatever it is."""
        return self._source.dtype

    @property
    def T(self) -> Gram:  # NumPy's name for it
        """The transpose."""
        remote = self._remote and self._remote.swapped()
        points = self._points if self._source.symmetric else None
        return Gram(self._source.swapped(), self._engine, self._diagonal, remote, self._kernel, points)

    def __matmul__(self, V: Any) -> np.ndarray:
        """Return K @ V for a vector or a matrix V.

        Cost: n m d for the kernel values (half if X = Y) and n m t for t columns. Memory: the result and at most
        64 MB. The result is float32 only if K and V both are.
        """
        V = self._multiplier(V)
        size = float(max(V.max(initial=0.0), -V.min(initial=0.0)))
        if size and not SMALLEST <= size <= LARGEST:  # tiles in single would lose it
            return np.asarray((self @ (V / size)) * V.dtype.type(size))
        if self._remote is not None:
            return remote_product(self._remote, V)
        return product(self._source, V, self._engine)

    def rows(self, indices: Any) -> np.ndarray:
        """Return the rows K[indices, :] as an array."""
        return self.block(indices)

    def block(self, rows: Any = None, columns: Any = None, out: np.ndarray | None = None) -> np.ndarray:
        """Return the entries of some rows and columns (positions or slices; None: all) as an array.

        ``out`` takes the result, so that memory is touched once; each of its rows must be contiguous.
        """
        r, c = self._index(rows, "rows", 0), self._index(columns, "columns", 1)
        source = self._source if r is None and c is None else self._source.take(r, c)
        return block(source, self._engine, self._fitting(out, (source.n, source.m)))

    def diag(self) -> np.ndarray:
        """Return k(x_i, x_i) in float64. Cost: n d."""
        if self._diagonal is None:
            refuse("gram", "diag needs a Gram of points with themselves", f"shape {self.shape} of two sets of points")
        return self._diagonal()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            refuse("gram", "an array of K must be made anew", "copy=False", "Say numpy.asarray(K).")
        return self.block().astype(self.dtype if dtype is None else dtype, copy=False)

    def __repr__(self) -> str:
        kind = type(self._source).__name__.removesuffix("Source").lower()
        return f"<Gram {self.shape[0]} x {self.shape[1]}, {self.dtype.name}, {kind}>"

    # ------------------------------------------------------------ checks

    def _multiplier(self, V: Any) -> np.ndarray:
        V = np.asarray(V)
        if V.dtype.kind not in "fiub":
            refuse("gram", "K @ V needs real numbers in V", f"dtype {V.dtype}")
        if V.dtype not in (np.float32, np.float64):
            V = V.astype(np.float64)
        if V.ndim not in (1, 2) or V.shape[0] != self.shape[1]:
            refuse("gram", f"K @ V needs a V with {self.shape[1]} rows, one for each column of K", f"shape {V.shape}")
        if not np.isfinite(V.sum(dtype=np.float64)) and not np.isfinite(V).all():
            row = int(np.argwhere(~np.isfinite(V))[0, 0])
            refuse("gram", "K @ V needs finite numbers in V", f"{V[row]} in row {row}")
        return V

    def _index(self, index: Any, name: str, axis: int) -> Any:
        if index is None or isinstance(index, slice):
            return None if index is None or index == slice(None) else index
        array = np.atleast_1d(np.asarray(index))
        if array.dtype == bool and array.shape == (self.shape[axis],):
            return np.flatnonzero(array)
        size = self.shape[axis]
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            refuse("gram", f"'{name}' must be positions, a mask or a slice", describe(index))
        if array.size and not (-size <= array.min() and array.max() < size):
            refuse("gram", f"'{name}' must lie in 0..{size - 1}", f"positions from {array.min()} to {array.max()}")
        return array % size if array.size else array.astype(int)

    def _fitting(self, out: Any, shape: tuple[int, int]) -> np.ndarray | None:
        if out is None:
            return None
        fine = isinstance(out, np.ndarray) and out.shape == shape and out.dtype in (np.float32, np.float64)
        if not fine or (out.size > 1 and shape[1] > 1 and out.strides[1] != out.itemsize) or not out.flags.writeable:
            got = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else describe(out)
            refuse("gram", f"'out' must be a writeable float array of shape {shape} with contiguous rows", got)
        return out
