"""The other sides, each written as well as we can: NumPy and PyTorch loops, KeOps, the data they all get."""

from __future__ import annotations

import contextlib
import io
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from _case import Scene
from _timing import clock
from threadpoolctl import ThreadpoolController

# ---------------------------------------------------------------- data


def normal(n: int, d: int, dtype: Any, seed: int = 0) -> np.ndarray:
    """Return standard normal rows."""
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


def images(scene: Scene, n: int, dtype: Any) -> tuple[np.ndarray, float, str]:
    """Return rows of 784 numbers and a gamma that suits them: MNIST in 0..1 if it is there, normal numbers if not."""
    file = scene.data / "mnist.npz"
    if file.exists():
        return np.load(file)["X_train"][:n].astype(dtype) / dtype(255), 0.02, "MNIST"
    return normal(n, 784, dtype), 0.5 / 784, "normal numbers (no mnist.npz)"


# ---------------------------------------------------------------- Gaussian products in NumPy


class Plan(NamedTuple):
    """How a NumPy loop cuts its tiles, and whether Python threads or BLAS threads share the work."""

    rows: int
    columns: int
    python_threads: bool
    augmented: bool


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


class NumpyLoop:
    """exp(-gamma |x - y|^2) @ V in chunks: precomputed norms, one matrix product a tile, buffers kept, exp in place.

    ``augmented`` folds the norms into the matrix product as two more columns, which saves two passes over the tile.
    ``mirrored`` (X = Y) computes the upper tiles only, with an output for each thread.
    """

    def __init__(self, plan: Plan, threads: int, *, mirrored: bool = False) -> None:
        self.plan, self.threads, self.mirrored = plan, threads, mirrored
        self.pool = ThreadPoolExecutor(threads) if plan.python_threads and threads > 1 else None
        self.local = threading.local()

    def __call__(self, X: np.ndarray, Y: np.ndarray, V: np.ndarray, gamma: float) -> np.ndarray:
        A, B, nx, ny = self._prepared(X, Y, gamma)
        if self.mirrored:
            return self._upper(A, B, nx, ny, V)
        out = np.empty((len(X), *V.shape[1:]), X.dtype)
        h = self.plan.rows
        self._share(range(0, len(X), h), lambda i: self._band(A, B, nx, ny, V, i, min(i + h, len(X)), out))
        return out

    def _share(self, items: Any, work: Callable[[Any], Any]) -> None:
        with _blas().limit(limits=1 if self.pool else self.threads, user_api="blas"):
            list(self.pool.map(work, items) if self.pool else map(work, items))

    def _prepared(self, X: np.ndarray, Y: np.ndarray, gamma: float) -> tuple[np.ndarray, ...]:
        """Return A, B and norms with A B' + nx + ny = -gamma |x - y|^2."""
        t = X.dtype.type
        nx, ny = -t(gamma) * np.einsum("ij,ij->i", X, X), -t(gamma) * np.einsum("ij,ij->i", Y, Y)
        A = t(2 * gamma) * X
        if self.plan.augmented:
            A = np.column_stack([A, nx, np.ones_like(nx)])
            Y = np.column_stack([Y, np.ones_like(ny), ny])
        return A, np.ascontiguousarray(Y.T), nx, ny

    def _tile(self, A: Any, B: Any, nx: Any, ny: Any, i: int, a: int, j: int, b: int) -> np.ndarray:
        size = (a - i) * (b - j)
        if getattr(self.local, "size", 0) < size or self.local.buffer.dtype != A.dtype:
            self.local.buffer, self.local.size = np.empty(size, A.dtype), size
        tile = self.local.buffer[:size].reshape(a - i, b - j)
        np.matmul(A[i:a], B[:, j:b], out=tile)
        if not self.plan.augmented:
            tile += ny[j:b]
            tile += nx[i:a, None]
        np.minimum(tile, 0, out=tile)
        return np.exp(tile, out=tile)

    def _band(self, A: Any, B: Any, nx: Any, ny: Any, V: Any, i: int, a: int, out: np.ndarray) -> None:
        m, w = B.shape[1], self.plan.columns
        total: Any = 0
        for j in range(0, m, w):
            b = min(j + w, m)
            total = self._tile(A, B, nx, ny, i, a, j, b) @ V[j:b] + total
        out[i:a] = total

    def _upper(self, A: Any, B: Any, nx: Any, ny: Any, v: np.ndarray) -> np.ndarray:
        n, h = len(A), self.plan.rows
        outs: dict[int, np.ndarray] = {}

        def work(pair: tuple[int, int]) -> None:
            out = outs.setdefault(threading.get_ident(), np.zeros(n, A.dtype))
            i, j = pair
            a, b = min(i + h, n), min(j + h, n)
            tile = self._tile(A, B, nx, ny, i, a, j, b)
            out[i:a] += tile @ v[j:b]
            if i != j:
                out[j:b] += v[i:a] @ tile

        starts = range(0, n, h)
        self._share([(i, j) for i in starts for j in starts if i <= j], work)
        return np.sum(list(outs.values()), axis=0)


CHUNKS = ((64, 4096), (128, 2048), (256, 1024), (256, 4096), (512, 2048), (1024, 4096), (256, 10**9))


def tuned_loop(
    X: np.ndarray, Y: np.ndarray, V: np.ndarray, gamma: float, threads: int, *, python: bool, augmented: bool
) -> NumpyLoop:
    """Return the loop with the best chunk size, found on the first rows, as a user would who cares."""
    few = X[: max(500, len(X) // 10)]
    loops = [NumpyLoop(Plan(r, c, python, augmented), threads) for r, c in CHUNKS if r * threads <= len(few)]

    def best_of_two(loop: NumpyLoop) -> float:
        loop(few, Y, V, gamma)
        return min(clock(lambda: loop(few, Y, V, gamma)) for _ in range(2))

    return min(loops, key=best_of_two)


def numpy_loops(
    X: np.ndarray, Y: np.ndarray, V: np.ndarray, gamma: float, threads: int
) -> dict[str, Callable[[], np.ndarray]]:
    """Return the NumPy contenders, each tuned: Python or BLAS threads, norms added or as two more columns."""
    found: dict[str, Callable[[], np.ndarray]] = {}
    for python, augmented in itertools.product((True, False) if threads > 1 else (False,), (False, True)):
        loop = tuned_loop(X, Y, V, gamma, threads, python=python, augmented=augmented)
        shared = f"{threads} {'Python' if python else 'BLAS'} threads" if threads > 1 else "1 thread"
        name = (
            f"NumPy ({shared}{', augmented' if augmented else ''}, {loop.plan.rows}x{min(loop.plan.columns, len(Y))})"
        )
        found[name] = lambda loop=loop: loop(X, Y, V, gamma)
    return found


# ---------------------------------------------------------------- PyTorch and KeOps


def torch_loop(X: np.ndarray, Y: np.ndarray, v: np.ndarray, gamma: float, rows: int = 512) -> Callable[[], np.ndarray]:
    """Return the same chunked loop in PyTorch."""
    import torch

    A, B, V = torch.from_numpy(X), torch.from_numpy(Y), torch.from_numpy(v)
    buffer = torch.empty(rows, len(Y), dtype=A.dtype)

    def run() -> np.ndarray:
        nx, ny = -gamma * (A * A).sum(1), -gamma * (B * B).sum(1)
        out = torch.empty(len(A), dtype=A.dtype)
        for i in range(0, len(A), rows):
            tile = buffer[: min(rows, len(A) - i)]
            torch.addmm(ny, A[i : i + rows], B.T, alpha=2 * gamma, out=tile)
            tile.add_(nx[i : i + rows, None]).clamp_(max=0).exp_()
            torch.mv(tile, V, out=out[i : i + rows])
        return out.numpy()

    return run


FORMULAS = {
    "gaussian": "Exp(-SqDist(X,Y))*B",
    "laplace": "Exp(-Sum(Abs(X-Y)))*B",
    "matern": "(IntCst(1)+Sqrt(SqDist(X,Y))+SqDist(X,Y)/IntCst(3))*Exp(-Sqrt(SqDist(X,Y)))*B",
}


def keops(kind: str, X: np.ndarray, Y: np.ndarray, v: np.ndarray, scale: float) -> Callable[[], np.ndarray]:
    """Return the product by KeOps; X and Y are multiplied by scale first, which spares it a product an entry.

    Genred with direct_sum: on CPUs a few percent faster than its default, and than a LazyTensor.
    """
    with contextlib.redirect_stdout(io.StringIO()):  # it speaks of GPUs it did not find
        import pykeops
        from pykeops.numpy import Genred
    pykeops.set_verbose(False)
    d = X.shape[1]
    product = Genred(
        FORMULAS[kind],
        [f"X=Vi({d})", f"Y=Vj({d})", "B=Vj(1)"],
        reduction_op="Sum",
        axis=1,
        sum_scheme="direct_sum",
    )
    t = X.dtype.type(scale)
    return lambda: product(t * X, t * Y, v[:, None])
