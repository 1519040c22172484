"""Two threads against one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import _peers
import numpy as np
from _case import Case, Faster, Measured, Scene
from _timing import race, some_rows

from mercer import Engine, Gram, gram
from mercer.kernels import Gaussian

N = 20_000
BAR = (Faster(1.8, ("1 thread",), "2 threads"),)


def compared(scene: Scene, make: Callable[[Engine], Any], digest: Callable[[Any], np.ndarray] = np.asarray) -> Measured:
    """Time what ``make`` does with one thread and with two; the answers must be the same to the last bit."""
    contenders = {
        "1 thread": lambda: make(Engine(threads=1)),
        "2 threads": lambda: make(Engine(threads=2)),
    }
    found = race(contenders, scene.repeats, 2, digest)
    return replace(found, allowed=0.0, note="bits must be equal")


def rows(scene: Scene, n: int, d: int) -> tuple[np.ndarray, np.ndarray, Gaussian]:
    n = scene.size(n)
    if d == 784:
        X, gamma, _ = _peers.images(scene, n, np.float32)
        return X, np.ascontiguousarray(X[::-1]), Gaussian.from_gamma(gamma)
    return _peers.normal(n, d, np.float32), _peers.normal(n, d, np.float32, seed=1), Gaussian.from_gamma(0.5 / d)


def product(scene: Scene, d: int, columns: int = 1, *, same: bool = False) -> Measured:
    X, Y, kernel = rows(scene, N if d < 784 else N // 2, d)
    V = _peers.normal(len(X), columns, np.float32, seed=2)
    V = V[:, 0] if columns == 1 else V
    return compared(scene, lambda engine: gram(kernel, X, None if same else Y, engine) @ V)


def block(scene: Scene, d: int) -> Measured:
    X, Y, kernel = rows(scene, N if d < 784 else N // 2, d)
    Y = Y[: len(Y) // 2]
    out = np.empty((len(X), len(Y)), np.float32)

    def make(engine: Engine) -> Any:
        K: Gram = gram(kernel, X, Y, engine)
        return K.block(out=out)

    return compared(scene, make, some_rows)


CASES = [
    Case("threads-product-d20", BAR, lambda s: product(s, 20)),
    Case("threads-product-d20-same", BAR, lambda s: product(s, 20, same=True)),
    Case("threads-product-d20-100columns", BAR, lambda s: product(s, 20, columns=100)),
    Case("threads-product-d784", BAR, lambda s: product(s, 784)),
    Case("threads-product-d784-same", BAR, lambda s: product(s, 784, same=True)),
    Case("threads-block-d20", BAR, lambda s: block(s, 20)),
    Case("threads-block-d784", BAR, lambda s: block(s, 784)),
]
