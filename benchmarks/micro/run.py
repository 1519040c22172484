"""Time the parts of Mercer alone, in kernel entries a second: python run.py [--n N] [--threads T]."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mercer import Engine, gram
from mercer._rules import cast
from mercer.gram._packed import WIDTH, padded
from mercer.gram._passes import Lone, fill, use
from mercer.gram._passes import Values as Written
from mercer.kernels import Gaussian, Kernel, Laplace, Matern, Polynomial
from mercer.kernels._form import ExpMinus, Identity
from mercer.kernels._statistics import Squares

ROWS = 128
LINE = "  {:<46} {:>9} {:>11}"
Timed = tuple[str, float, Callable[[], Any]]


def rate(entries: float, run: Callable[[], Any], seconds: float = 0.3) -> tuple[float, float]:
    """Return entries a second (or nothing to count: 0) and the seconds of the best of several runs."""
    run()
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end or not np.isfinite(best):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return entries / best, best


def tiles(dtype: Any) -> Iterator[Timed]:
    """Yield what happens inside one tile: summing differences, and the exponential."""
    r = np.random.default_rng(0)
    S = np.empty(ROWS * WIDTH, dtype)
    for d in (4, 20, 32):
        X = padded(r.standard_normal((WIDTH, d)), dtype)
        yield (
            f"fill a tile with |x - z|^2, d = {d}",
            S.size,
            lambda X=X: fill(Squares(), X.flat, X.depth, 0, ROWS, X.panels, 0, S),
        )
    T, out = np.abs(r.standard_normal(S.size)).astype(dtype), np.empty_like(S)
    sink = Written(out, WIDTH, 0, 0)
    for name, rule in (("copy a tile", Identity()), ("exp of a tile", cast(ExpMinus(1.0), dtype))):
        yield name, S.size, lambda rule=rule: use(sink, Lone(), rule, T, T, WIDTH, 0, ROWS, 0, WIDTH)


def products(n: int, engine: Engine) -> Iterator[Timed]:
    """Yield products: by dimension, kernel, and number of columns."""
    dtype = engine.dtype
    for d in (3, 8, 20, 64, 784):
        k = n if d < 64 else n // 4
        X, Y = normal(k, d, dtype), normal(k, d, dtype, 1)
        v, V = normal(k, 1, dtype, 2)[:, 0], normal(k, 100, dtype, 2)
        kernel = Gaussian.from_gamma(0.5 / d)
        general, symmetric = gram(kernel, X, Y, engine), gram(kernel, X, None, engine)
        yield f"Gaussian K @ v, d = {d}", k * k, lambda K=general, v=v: K @ v
        yield f"Gaussian K @ v, d = {d}, X = Y", k * k, lambda K=symmetric, v=v: K @ v
        if d in (3, 20):
            yield f"Gaussian K @ V, d = {d}, 100 columns", k * k, lambda K=general, V=V: K @ V
    X, Y, v = normal(n, 20, dtype), normal(n, 20, dtype, 1), normal(n, 1, dtype, 2)[:, 0]
    others: dict[str, Kernel] = {
        "Matern 5/2": Matern(2.5, 6.0),
        "Laplace": Laplace(20.0),
        "Polynomial 3": Polynomial(3),
    }
    for name, kernel in others.items():
        K = gram(kernel, X, Y, engine)
        yield f"{name} K @ v, d = 20", n * n, lambda K=K, v=v: K @ v


def parts(n: int, engine: Engine) -> Iterator[Timed]:
    """Yield making a Gram, and taking rows, blocks and the diagonal out of it."""
    dtype = engine.dtype
    for d in (3, 20, 784):
        k = n if d < 64 else n // 4
        X, kernel = normal(k, d, dtype), Gaussian.from_gamma(0.5 / d)
        K, out = gram(kernel, X, None, engine), np.empty((k, k), dtype)
        some = np.random.default_rng(3).choice(k, 100, replace=False)
        yield f"gram(), d = {d}, {k} rows", 0, lambda X=X, kernel=kernel: gram(kernel, X, None, engine)
        yield f"one row, d = {d}", k, lambda K=K: K.rows([7])
        yield f"100 rows, d = {d}", 100 * k, lambda K=K, some=some: K.rows(some)
        yield f"block(out=), d = {d}", k * k, lambda K=K, out=out: K.block(out=out)
        yield f"diag(), d = {d}", k, lambda K=K: K.diag()


def normal(n: int, d: int, dtype: Any, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=8000, help="rows (a quarter of it from d = 64 on)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=("single", "double"), default="single")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each line")
    options = parser.parse_args()
    engine = Engine(threads=options.threads, precision=options.precision)
    print(f"{options.precision} precision, {options.threads} thread(s), n = {options.n}, best of {options.seconds} s")
    print(LINE.format("", "time", "1e9 a second"))
    for title, timed in (
        ("inside a tile (one thread)", tiles(engine.dtype)),
        ("products", products(options.n, engine)),
        ("parts", parts(options.n, engine)),
    ):
        print(title)
        for name, entries, run in timed:
            speed, best = rate(entries, run, options.seconds)
            took = f"{best * 1e6:.0f} us" if best < 1e-3 else f"{best * 1e3:.1f} ms"
            print(LINE.format(name, took, f"{speed / 1e9:.3f}" if entries else "-"), flush=True)


if __name__ == "__main__":
    main()
