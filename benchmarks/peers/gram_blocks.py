"""A block of K stored in memory, float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import _peers
import numpy as np
from _case import Case, Faster, Measured, Scene, Skip
from _timing import race, some_rows
from sklearn.metrics import pairwise

from mercer import Engine, gram
from mercer.kernels import Gaussian, Kernel, Laplace, Polynomial

PEERS = ("scikit-learn",)


def ours(kernel: Kernel, X: np.ndarray, Y: np.ndarray, threads: int) -> dict[str, Callable[[], Any]]:
    """Return our block: fresh memory, memory given, and memory given with the Gram ready."""
    engine = Engine(threads=threads)
    out = np.empty((len(X), len(Y)), np.float32)
    ready = gram(kernel, X, Y, engine)
    return {
        "mercer": lambda: gram(kernel, X, Y, engine).block(),
        "mercer, out=": lambda: gram(kernel, X, Y, engine).block(out=out),
        "mercer, out=, Gram ready": lambda: ready.block(out=out),
    }


def rows(scene: Scene, n: int, m: int, d: int) -> tuple[np.ndarray, np.ndarray, float, str]:
    """Return X, Y, a gamma and what they are."""
    n, m = scene.size(n), scene.size(m)
    if d == 784:
        both, gamma, what = _peers.images(scene, n + m, np.float32)
        return both[:n], both[n:], gamma, what
    return _peers.normal(n, d, np.float32), _peers.normal(m, d, np.float32, seed=1), 0.5 / d, ""


def onedal() -> Any:
    """Return the kernel functions of scikit-learn-intelex."""
    try:
        import daal4py  # noqa: F401  # _timing tells it the number of threads once it is loaded
        from onedal import primitives
    except ImportError as error:
        raise Skip("scikit-learn-intelex is not installed") from error
    return primitives


def gaussian(scene: Scene, n: int, m: int, d: int) -> Measured:
    X, Y, gamma, what = rows(scene, n, m, d)
    other = onedal()
    contenders = ours(Gaussian.from_gamma(gamma), X, Y, scene.threads)
    contenders["scikit-learn"] = lambda: pairwise.rbf_kernel(X, Y, gamma=gamma)
    contenders["scikit-learn, n_jobs"] = lambda: pairwise.pairwise_kernels(
        X, Y, "rbf", gamma=gamma, n_jobs=scene.threads
    )
    contenders["scikit-learn-intelex"] = lambda: other.rbf_kernel(X, Y, gamma=gamma)
    return race(contenders, scene.repeats, scene.threads, some_rows, what)


def laplace(scene: Scene, n: int, m: int, d: int) -> Measured:
    X, Y, _, what = rows(scene, n, m, d)
    gamma = 0.05 if d == 784 else 1.0 / d
    contenders = ours(Laplace(1 / gamma), X, Y, scene.threads)
    contenders["scikit-learn"] = lambda: pairwise.laplacian_kernel(X, Y, gamma=gamma)
    contenders["scikit-learn, n_jobs"] = lambda: pairwise.pairwise_kernels(
        X, Y, "laplacian", gamma=gamma, n_jobs=scene.threads
    )
    return race(contenders, scene.repeats, scene.threads, some_rows, what)


def polynomial(scene: Scene, n: int, m: int, d: int) -> Measured:
    X, Y, _, what = rows(scene, n, m, d)
    other = onedal()
    gamma = 1.0 / d
    contenders = ours(Polynomial(3, gamma=gamma), X, Y, scene.threads)
    options = {"gamma": gamma, "degree": 3, "coef0": 1.0}
    contenders["scikit-learn"] = lambda: pairwise.polynomial_kernel(X, Y, **options)
    contenders["scikit-learn, n_jobs"] = lambda: pairwise.pairwise_kernels(
        X, Y, "poly", n_jobs=scene.threads, **options
    )
    contenders["scikit-learn-intelex"] = lambda: other.poly_kernel(X, Y, **options)
    return race(contenders, scene.repeats, scene.threads, some_rows, what)


def both(limit: float | None) -> tuple[Faster, Faster]:
    """Return the bar for fresh memory and for memory given."""
    return Faster(limit, PEERS), Faster(limit, PEERS, "mercer, out=")


CASES = [
    Case("block-gaussian-f32-d3", both(3), lambda s: gaussian(s, 20_000, 10_000, 3)),
    Case("block-gaussian-f32-d20", both(3), lambda s: gaussian(s, 20_000, 10_000, 20)),
    Case("block-gaussian-f32-d784", both(1.1), lambda s: gaussian(s, 10_000, 5_000, 784)),
    Case("block-laplace-f32-d3", both(4), lambda s: laplace(s, 10_000, 10_000, 3)),
    Case("block-laplace-f32-d20", both(5), lambda s: laplace(s, 10_000, 10_000, 20)),
    Case("block-laplace-f32-d784", both(12), lambda s: laplace(s, 2_000, 4_000, 784)),
    Case("block-polynomial3-f32-d3", both(2), lambda s: polynomial(s, 10_000, 10_000, 3)),
    Case("block-polynomial3-f32-d20", both(2), lambda s: polynomial(s, 10_000, 10_000, 20)),
    Case("block-polynomial3-f32-d784", both(None), lambda s: polynomial(s, 10_000, 10_000, 784)),
]
