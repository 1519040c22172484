"""Jordan and von Neumann: a norm comes from an inner product exactly when it obeys the parallelogram law."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, islice, product
from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer._checks import describe, integer, is_number, refuse
from mercer.spaces._space import Array
from mercer.spaces._verdict import Verdict

LAW = "norm from an inner product (Jordan-von Neumann): ||x + y||^2 + ||x - y||^2 = 2 ||x||^2 + 2 ||y||^2"
Norm = Callable[[Array], float]
Pair = tuple[Array, Array]


def induced_by_inner_product(
    norm: Callable[[Array], Any], dim: int, tol: float = 1e-8, random_state: int | np.random.Generator = 0
) -> Verdict:
    """Tell whether a norm on R^dim comes from an inner product: its matrix if so, the worst pair found if not.

    Searches for vectors that break the parallelogram law: unit vectors, sign patterns, random pairs, then a local
    search from the worst. If none does, polarisation, ``A_ij = (||e_i + e_j||^2 - ||e_i - e_j||^2) / 4``, gives the
    matrix, and ``||x||^2 = x'Ax`` is verified on random x at three scales. Some 600 + 3 dim^2 norms.

    Parameters
    ----------
    norm : callable
        A function of an array of shape (dim,).
    dim : int
        The dimension.
    tol : float
        Relative violation that counts as rounding: a norm nearer than this to one of an inner product passes.
    random_state : int or Generator
        The seed of the random pairs.

    Returns
    -------
    Verdict
        ``found`` is A when it holds; otherwise ``witness`` is (x, y).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.spaces import induced_by_inner_product
    >>> print(induced_by_inner_product(lambda x: np.abs(x).sum(), 2))
    norm from an inner product (Jordan-von Neumann): ||x + y||^2 + ||x - y||^2 = 2 ||x||^2 + 2 ||y||^2
      holds: NO (worst relative violation: 1)
      witness: x = [1.0, 0.0], y = [0.0, 1.0]
      8 != 4
    >>> induced_by_inner_product(np.linalg.norm, 2).found.round(12).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    dim = integer("induced_by_inner_product", "dim", dim, 1)
    rng = np.random.default_rng(random_state)
    size = checked_norm("induced_by_inner_product", norm)
    pairs = list(_candidates(dim, rng))
    worst = max(pairs, key=lambda p: _violation(size, *p))  # the first of equals: the simplest
    worst = _refine(size, worst)
    gap, (left, right) = _violation(size, *worst), _sides(size, *worst)
    if gap > tol:
        return Verdict(LAW, False, gap, worst, f"{left:.6g} != {right:.6g}")
    return _recover(size, dim, tol, rng, gap, worst)


def _candidates(dim: int, rng: np.random.Generator) -> Iterator[Pair]:
    """Yield pairs, the simplest first: unit vectors, pairs of sums of two, sign patterns, random."""
    unit = np.eye(dim)
    for i, j in islice(combinations(range(dim), 2), 200):
        yield unit[i], unit[j]
        yield unit[i] + unit[j], unit[i] - unit[j]
    signs = [np.array(s, dtype=float) for s in islice(product((1.0, -1.0), repeat=min(dim, 4)), 8)]
    yield from combinations([np.resize(s, dim) for s in signs], 2)
    for _ in range(200):
        x, y = rng.standard_normal((2, dim))
        yield x, y


def _sides(norm: Norm, x: Array, y: Array) -> tuple[float, float]:
    return norm(x + y) ** 2 + norm(x - y) ** 2, 2 * norm(x) ** 2 + 2 * norm(y) ** 2


def _violation(norm: Norm, x: Array, y: Array) -> float:
    """Return the relative gap between the two sides of the parallelogram law."""
    left, right = _sides(norm, x, y)
    return abs(left - right) / (right or max(left, 1.0))


def _refine(norm: Norm, start: Pair) -> Pair:
    """Return a worse pair nearby if a local search finds one that is worse by 1 in 100, else the simple one."""
    dim = len(start[0])

    def loss(z: Array) -> float:
        return -_violation(norm, z[:dim], z[dim:])

    found = minimize(loss, np.concatenate(start), method="Powell", options={"maxfev": 400, "xtol": 1e-4, "ftol": 1e-6})
    if -found.fun <= 1.01 * _violation(norm, *start):
        return start
    z = found.x / np.max(np.abs(found.x))
    return z[:dim], z[dim:]


def _recover(norm: Norm, dim: int, tol: float, rng: np.random.Generator, gap: float, pair: Pair) -> Verdict:
    """Return the verdict on ||x||^2 = x'Ax, with A by polarisation."""
    unit = np.eye(dim)
    a = np.diag([norm(e) ** 2 for e in unit])
    for i, j in combinations(range(dim), 2):
        a[i, j] = a[j, i] = (norm(unit[i] + unit[j]) ** 2 - norm(unit[i] - unit[j]) ** 2) / 4
    tried = [s * x for x in rng.standard_normal((20, dim)) for s in (1.0, -1e3, 1e-3)]
    gaps = [abs(norm(x) ** 2 - x @ a @ x) / max(norm(x) ** 2, 1e-300) for x in tried]
    k = int(np.argmax(gaps))
    if gaps[k] > tol:
        x = tried[k]
        text = f"the parallelogram law holds where tried, but ||x||^2 = {norm(x) ** 2:.6g} and x'Ax = {x @ a @ x:.6g}"
        return Verdict(LAW, False, float(gaps[k]), (x,), text)
    text = f"||x||^2 = x'Ax with A =\n{np.array2string(a + 0.0, precision=6, suppress_small=True, threshold=50)}"
    return Verdict(LAW, True, gap, pair, text, a)


def checked_norm(who: str, norm: Callable[[Array], Any]) -> Norm:
    """Return the norm with its values checked: one finite number >= 0."""

    def size(x: Array) -> float:
        value = norm(x)
        if not is_number(value) or not 0 <= value < np.inf:
            refuse(who, "the norm must be a finite number >= 0", f"{describe(value)} at x = {x}")
        return float(value)

    return size
