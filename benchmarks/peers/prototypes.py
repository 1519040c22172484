"""Not slower than the project's own first experiments, in the same process, one core each.

Both sides include their preparation. The prototypes are outside the repository (``--prototypes``).
"""

from __future__ import annotations

import importlib
import math
import sys
from functools import cache
from pathlib import Path
from typing import Any

import _peers
import numpy as np
from _case import Case, Faster, Measured, Scene, Skip
from _timing import race, some_rows

from mercer import Engine, gram
from mercer.kernels import Gaussian

N = 20_000
BAR = (Faster(1.0, ("prototype",)),)
PRECISION = {np.float32: "single", np.float64: "double"}


@cache
def modules(folder: Path) -> tuple[Any, Any, Any]:
    """Return gk, gk2 and krr of the prototypes."""
    if not (folder / "gram" / "krr.py").exists():
        raise Skip("no prototypes there; give --prototypes DIR")
    sys.path.insert(0, str(folder / "gram"))
    try:
        gk, gk2, krr = (importlib.import_module(name) for name in ("gk", "gk2", "krr"))
    finally:
        sys.path.pop(0)
    return gk, gk2, krr


def engine(dtype: Any) -> Engine:
    return Engine(threads=1, precision=PRECISION[dtype])


def rectangle(scene: Scene, d: int, dtype: Any) -> Measured:
    gk, gk2, krr = modules(scene.prototypes)
    n, gamma = scene.size(N), 0.5 / d
    X, Y = (_peers.normal(n, d, dtype, seed) for seed in (0, 1))
    v = _peers.normal(n, 1, dtype, seed=2)[:, 0]
    passes = krr.R32 if dtype is np.float32 else krr.R64
    kernel = Gaussian.from_gamma(gamma)
    contenders = {
        "mercer": lambda: gram(kernel, X, Y, engine(dtype)) @ v,
        "prototype, differences": lambda: gk2.direct_mv(passes, X, Y, v, math.sqrt(gamma)),
        "prototype, products": lambda: gk.rbf_mv(X, Y, v, gamma, dt=dtype),
    }
    return race(contenders, scene.repeats, 1)


def symmetric(scene: Scene, d: int, dtype: Any) -> Measured:
    _, _, krr = modules(scene.prototypes)
    n, gamma = scene.size(N), 0.5 / d
    X = _peers.normal(n, d, dtype)
    v = _peers.normal(n, 1, dtype, seed=2)[:, 0]
    passes = (krr.R32, krr.SYM32) if dtype is np.float32 else (krr.R64, krr.SYM64)
    kernel = Gaussian.from_gamma(gamma)
    contenders = {
        "mercer": lambda: gram(kernel, X, None, engine(dtype)) @ v,
        "prototype": lambda: krr.SymOp(*passes, X, math.sqrt(gamma))(v),
    }
    return race(contenders, scene.repeats, 1)


def wide(scene: Scene) -> Measured:
    """Time d = 784, X = Y, against the prototype's symmetric tiles of 1024 rows."""
    gk, _, _ = modules(scene.prototypes)
    n = scene.size(N // 2)
    X, gamma, what = _peers.images(scene, n, np.float32)
    v = _peers.normal(n, 1, np.float32, seed=2)[:, 0]
    kernel = Gaussian.from_gamma(gamma)

    def prototype(size: int = 1024) -> np.ndarray:
        A, _, norms, _ = gk.augment(X, X, gamma, np.float32)
        out, held = np.zeros(n, np.float32), np.empty(size * size, np.float32)
        for i in range(0, n, size):
            h = min(size, n - i)
            for j in range(i, n, size):
                w = min(size, n - j)
                tile = held[: h * w].reshape(h, w)
                np.matmul(A[i : i + h], A[j : j + w].T, out=tile)
                gk.expf_in_n(tile, norms[i : i + h], norms[j : j + w])
                out[i : i + h] += tile @ v[j : j + w]
                if j > i:
                    out[j : j + w] += v[i : i + h] @ tile
        return out

    contenders = {"mercer": lambda: gram(kernel, X, None, engine(np.float32)) @ v, "prototype": prototype}
    return race(contenders, scene.repeats, 1, note=what)


def block(scene: Scene, d: int) -> Measured:
    gk, gk2, krr = modules(scene.prototypes)
    n, m = (scene.size(k) for k in ((N, N // 2) if d < 784 else (N // 4, N // 4)))
    if d < 784:
        X, Y, gamma = _peers.normal(n, d, np.float32), _peers.normal(m, d, np.float32, seed=1), 0.5 / d
    else:
        both, gamma, _ = _peers.images(scene, n + m, np.float32)
        X, Y = both[:n], both[n:]
    kernel = Gaussian.from_gamma(gamma)
    contenders = {"mercer": lambda: gram(kernel, X, Y, engine(np.float32)).block()}
    if d < 784:
        contenders["prototype, differences"] = lambda: gk2.direct_gram(krr.R32, X, Y, math.sqrt(gamma))
    contenders["prototype, products"] = lambda: gk.rbf_gram(X, Y, gamma)
    return race(contenders, scene.repeats, 1, some_rows)


TYPES = {"f32": np.float32, "f64": np.float64}

CASES = [
    *(
        Case(f"prototype-product-{t}-d{d}", BAR, lambda s, d=d, t=t: rectangle(s, d, TYPES[t]))
        for t in TYPES
        for d in (3, 8, 20)
    ),
    *(
        Case(f"prototype-product-{t}-d{d}-same", BAR, lambda s, d=d, t=t: symmetric(s, d, TYPES[t]))
        for t in TYPES
        for d in (3, 8, 20)
    ),
    Case("prototype-product-f32-d784-same", BAR, wide),
    *(Case(f"prototype-block-f32-d{d}", BAR, lambda s, d=d: block(s, d)) for d in (3, 8, 20, 784)),
]
