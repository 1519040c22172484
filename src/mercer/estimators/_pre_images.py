"""Pre-images: points whose sections lie near a given function, for any kernel on dense tables."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mercer.engine import Engine
from mercer.gram import gram
from mercer.kernels import Kernel
from mercer.kernels._evaluate import diagonal

STEPS = 30
NEAR = 10  # training points that a start is the mean of


def pre_images(kernel: Kernel, X: np.ndarray, a: np.ndarray, engine: Engine) -> np.ndarray:
    """Return for each row of a the point p that makes |k(., p) - f|^2 small, f = sum_i a_i k(., x_i).

    Up to a constant this is k(p, p) - 2 f(p). From the training point nearest in that sense, or the mean of the ten
    nearest, go down by steps along differences, halved where they do not pay and doubled where they do.
    """
    engine = dataclasses.replace(engine, precision="double")
    X = np.asarray(X, dtype=np.float64)

    def price(P: np.ndarray) -> np.ndarray:
        inner = gram(kernel, P, X, engine=engine).block()
        return diagonal(kernel.form(), P) - 2 * np.einsum("ij,ij->i", inner, a)

    on_all = diagonal(kernel.form(), X)[None, :] - 2 * (gram(kernel, X, engine=engine) @ a.T).T
    order = np.argsort(on_all, axis=1, kind="stable")[:, : min(NEAR, len(X))]
    best = X[order[:, 0]].copy()
    cost = price(best)
    best, cost = _better(best, cost, X[order].mean(axis=1), price)
    spread = np.maximum(X.std(axis=0), 1e-12 * (1 + np.abs(X).max()))
    step = np.full(len(best), 0.5)
    for _ in range(STEPS):
        slope = _slope(price, best, 1e-4 * spread)
        length = np.linalg.norm(slope * spread, axis=1)
        going = length > 0
        move = -(slope * spread**2) / np.where(going, length, 1.0)[:, None]
        trial = best + step[:, None] * move
        new = price(trial)
        won = (new < cost) & going
        best[won], cost[won] = trial[won], new[won]
        step = np.where(won, 1.5 * step, 0.4 * step)
    return best


def _better(best: np.ndarray, cost: np.ndarray, other: np.ndarray, price: Any) -> tuple[np.ndarray, np.ndarray]:
    new = price(other)
    won = new < cost
    return np.where(won[:, None], other, best), np.where(won, new, cost)


def _slope(price: Any, P: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the slopes by central differences: two prices a column."""
    out = np.empty_like(P)
    for j in range(P.shape[1]):
        ahead, behind = P.copy(), P.copy()
        ahead[:, j] += d[j]
        behind[:, j] -= d[j]
        out[:, j] = (price(ahead) - price(behind)) / (2 * d[j])
    return out
