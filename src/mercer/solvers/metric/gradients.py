"""Which directions a function of the RKHS varies in: the average outer product of its gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._checks import describe, refuse
from mercer.engine import Engine
from mercer.gram import gram
from mercer.kernels import Gaussian, Kernel, Matern

NEAR = 1e-6
"""Distances below which the slope of exp(-r), infinite in r^2 at 0, is taken as 0."""
ROWS = 1024


def average_gradients(
    kernel: Kernel, centers: np.ndarray, coefficients: np.ndarray, X: np.ndarray, weights: np.ndarray, engine: Engine
) -> np.ndarray:
    """Return sum_i w_i (grad f(x_i))(grad f(x_i))' / sum_i w_i, summed over the columns of coefficients.

    For k = g(q), q = (x - z)'A(x - z), the gradient of f = sum_j c_j k(., x_j) is sum_j 2 c_j g'(q_j) A (x - x_j), so
    that all gradients come from one product with the matrix of g', whose values are those of a kernel too.
    Cost: n m (d + 1) flops for each column, and n m kernel values.

    Parameters
    ----------
    kernel : Gaussian or Matern
        With a matrix as its scale.
    centers : array of shape (m, d)
        x_j.
    coefficients : array of shape (m, t)
        c, a column for each function.
    X : array of shape (n, d)
        x_i.
    weights : array of shape (n,)
        w.
    engine : Engine
        What values are computed with; in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Engine
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.metric import average_gradients
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> average_gradients(Gaussian(scale=np.eye(2)), X, np.array([[1.0], [1.0]]), X, np.ones(2), Engine()).round(3)
    array([[0.541, 0.   ],
           [0.   , 0.   ]])
    """
    A, middle = np.asarray(kernel.scale, dtype=np.float64), weights @ X / weights.sum()  # type: ignore[attr-defined]
    engine = replace(engine, precision="double")
    X, moved = X - middle, centers - middle
    total = np.zeros(A.shape)
    for c in coefficients.T:
        slopes = _slopes(kernel, X + middle, centers, np.column_stack([c, c[:, None] * moved]), engine)
        gradients = 2.0 * (slopes[:, :1] * X - slopes[:, 1:])  # times A on either side, below
        total += gradients.T @ (gradients * weights[:, None])
    found = A @ total @ A / weights.sum()
    return np.asarray((found + found.T) / 2)


def _slopes(kernel: Kernel, X: np.ndarray, Z: np.ndarray, V: np.ndarray, engine: Engine) -> np.ndarray:
    """Return the product of -g'(q), for rows of X and Z, with V."""
    if isinstance(kernel, Gaussian):
        return np.asarray(gram(kernel, X, Z, engine) @ V)
    if not isinstance(kernel, Matern):
        refuse("average_gradients", "a Gaussian or Matern kernel", describe(kernel))
    A: Any = np.asarray(kernel.scale)
    if kernel.nu == 2.5:
        return np.asarray(gram(Matern(1.5, A * (5 / 3)), X, Z, engine) @ V) * (5 / 6)
    if kernel.nu == 1.5:
        return np.asarray(gram(Matern(0.5, A * 3), X, Z, engine) @ V) * 1.5
    return np.vstack([_rough(gram(kernel, X[i : i + ROWS], Z, engine).block()) @ V for i in range(0, len(X), ROWS)])


def _rough(K: np.ndarray) -> np.ndarray:
    """Return exp(-r) / (2 r) from exp(-r)."""
    with np.errstate(divide="ignore"):
        r = -np.log(K)
    return np.where(r > NEAR, K / (2.0 * np.maximum(r, NEAR)), 0.0)
