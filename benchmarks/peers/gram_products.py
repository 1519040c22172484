"""K @ v, never stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import _peers
import numpy as np
from _case import Case, Faster, Measured, Rate, Scene
from _timing import race

from mercer import Engine, gram
from mercer.kernels import Gaussian, Kernel, Laplace, Matern

N = 20_000
NAMES = {np.float32: "single", np.float64: "double"}


def ours(
    kernel: Kernel, X: np.ndarray, Y: np.ndarray | None, V: np.ndarray, threads: int
) -> dict[str, Callable[[], Any]]:
    """Return our product, with gram() and without."""
    engine = Engine(threads=threads, precision=NAMES[X.dtype.type])
    ready = gram(kernel, X, Y, engine)
    return {"mercer": lambda: gram(kernel, X, Y, engine) @ V, "mercer, Gram ready": lambda: ready @ V}


def gaussian(
    scene: Scene, d: int, dtype: Any = np.float32, columns: int = 1, *, same: bool = False, peers: bool = True
) -> Measured:
    """Time a Gaussian of normal rows; X and Y are different arrays unless ``same``."""
    n, gamma = scene.size(N), 0.5 / d
    X = _peers.normal(n, d, dtype)
    Y = X if same else _peers.normal(n, d, dtype, seed=1)
    V = _peers.normal(n, columns, dtype, seed=2)
    V = V[:, 0] if columns == 1 else V
    contenders = ours(Gaussian.from_gamma(gamma), X, None if same else Y, V, scene.threads)
    contenders |= _peers.numpy_loops(X, Y, V, gamma, scene.threads)
    if peers:
        contenders["KeOps"] = _peers.keops("gaussian", X, Y, V, gamma**0.5)
        contenders["PyTorch loop"] = _peers.torch_loop(X, Y, V, gamma)
    return race(contenders, scene.repeats, scene.threads)


def wide(scene: Scene) -> Measured:
    """Time d = 784 with X = Y; a NumPy loop that also mirrors its tiles is shown, not judged."""
    n = scene.size(N)
    X, gamma, what = _peers.images(scene, n, np.float32)
    v = _peers.normal(n, 1, np.float32, seed=2)[:, 0]
    contenders = ours(Gaussian.from_gamma(gamma), X, None, v, scene.threads)
    contenders |= _peers.numpy_loops(X, X, v, gamma, scene.threads)
    plan = _peers.Plan(1024, 1024, python_threads=True, augmented=False)
    mirrored = _peers.NumpyLoop(plan, scene.threads, mirrored=True)
    contenders["mirrored NumPy (not judged)"] = lambda: mirrored(X, X, v, gamma)
    return race(contenders, scene.repeats, scene.threads, note=what)


def against_keops(scene: Scene, kind: str, d: int) -> Measured:
    """Time Matern 5/2 or Laplace against KeOps, the one peer that multiplies without storing."""
    n = scene.size(N)
    X, Y = (_peers.normal(n, d, np.float32, seed) for seed in (0, 1))
    v = _peers.normal(n, 1, np.float32, seed=2)[:, 0]
    scale = float(d if kind == "laplace" else np.sqrt(2 * d))
    kernel = Laplace(scale) if kind == "laplace" else Matern(2.5, scale)
    contenders = ours(kernel, X, Y, v, scene.threads)
    contenders["KeOps"] = _peers.keops(kind, X, Y, v, 1 / scale if kind == "laplace" else np.sqrt(5.0) / scale)
    return race(contenders, scene.repeats, scene.threads)


def large(scene: Scene) -> Measured:
    """Time X = Y, d = 3, 200,000 rows, on one thread and on all."""
    n = scene.size(10 * N)
    X, v = _peers.normal(n, 3, np.float32), _peers.normal(n, 1, np.float32, seed=2)[:, 0]
    kernel = Gaussian(1.0)
    contenders = {
        f"mercer, {t} thread{'s' * (t > 1)}": lambda t=t: gram(kernel, X, None, Engine(threads=t)) @ v
        for t in (1, scene.threads)
    }
    found = race(contenders, min(3, scene.repeats))
    return replace(found, entries=float(n) ** 2)


SHOWN = Faster(None, ("NumPy",)), Faster(None, ("KeOps",))

CASES = [
    Case(
        "product-gaussian-f32-d3",
        (Faster(15, ("KeOps",)), Faster(5, ("NumPy",)), Faster(None, ("PyTorch",))),
        lambda s: gaussian(s, 3),
    ),
    Case(
        "product-gaussian-f32-d20",
        (Faster(15, ("KeOps",)), Faster(2.5, ("NumPy",)), Faster(None, ("PyTorch",))),
        lambda s: gaussian(s, 20),
    ),
    Case("product-gaussian-f32-d3-same", SHOWN, lambda s: gaussian(s, 3, same=True)),
    Case("product-gaussian-f32-d20-same", SHOWN, lambda s: gaussian(s, 20, same=True)),
    Case(
        "product-gaussian-f32-d3-100columns",
        (Faster(1.5, ("NumPy",)),),
        lambda s: gaussian(s, 3, columns=100, peers=False),
    ),
    Case(
        "product-gaussian-f32-d20-100columns",
        (Faster(1.5, ("NumPy",)),),
        lambda s: gaussian(s, 20, columns=100, peers=False),
    ),
    Case("product-gaussian-f32-d784-same", (Faster(1.8, ("NumPy",)),), wide),
    Case("product-gaussian-f64-d3", (Faster(4, ("NumPy",)),), lambda s: gaussian(s, 3, np.float64, peers=False)),
    Case("product-gaussian-f64-d20", (Faster(2.7, ("NumPy",)),), lambda s: gaussian(s, 20, np.float64, peers=False)),
    Case("product-matern-f32-d3", (Faster(12, ("KeOps",)),), lambda s: against_keops(s, "matern", 3)),
    Case("product-matern-f32-d20", (Faster(12, ("KeOps",)),), lambda s: against_keops(s, "matern", 20)),
    Case("product-laplace-f32-d3", (Faster(12, ("KeOps",)),), lambda s: against_keops(s, "laplace", 3)),
    Case("product-laplace-f32-d20", (Faster(12, ("KeOps",)),), lambda s: against_keops(s, "laplace", 20)),
    Case(
        "product-gaussian-f32-d3-n200000-same",
        (Rate(4e9, 1, "mercer, 1 thread"), Rate(4e9, 2, "mercer, 2 threads")),
        large,
    ),
]
