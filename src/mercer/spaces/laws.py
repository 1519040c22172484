"""The laws of inner product spaces, each as a check that returns a verdict with its worst witness."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from mercer._checks import describe, refuse
from mercer.spaces._arrays import numeric
from mercer.spaces._jordan import checked_norm, induced_by_inner_product
from mercer.spaces._space import Array, Scalar, Space
from mercer.spaces._verdict import Verdict

__all__ = ["cauchy_schwarz", "check_inner_product", "induced_by_inner_product", "parallelogram", "pythagoras"]


def check_inner_product(fn: Callable[[Any, Any], Scalar], samples: Sequence[Any], tol: float = 1e-9) -> Verdict:
    """Check that fn(x, y) is an inner product, on the samples and on their combinations.

    Tries ``<y, x> = conj(<x, y>)`` on pairs, ``<a x + z, y> = a <x, y> + <z, y>`` on triples, and ``<x, x> > 0`` on the
    samples and on the combination that makes it least, from the smallest eigenvalue of their Gram matrix. It can
    refute, and name a witness; it proves nothing beyond the span of the samples. n^3 calls, n at most 12 for triples.

    Parameters
    ----------
    fn : callable
        A function of two arrays that returns a number.
    samples : sequence of arrays
        Vectors of one shape; complex if any of them is.
    tol : float
        Relative violation that still counts as rounding.

    Returns
    -------
    Verdict
        The axiom broken worst, with its vectors; if none is, the one nearest to it.

    Examples
    --------
    >>> from mercer.spaces import laws
    >>> bool(laws.check_inner_product(lambda x, y: x[0] * y[0] + 2 * x[1] * y[1], [[1, 0], [0, 1], [1, 1]]))
    True
    >>> print(laws.check_inner_product(lambda x, y: x[0] * y[0] - x[1] * y[1], [[1, 0], [0, 1]]))
    positivity: <x, x> > 0 for x != 0
      holds: NO (worst relative violation: 1)
      witness: x = [0.0, 1.0]
      <x, x> = -1
    """
    vectors = _samples("check_inner_product", samples)
    gram = _gram(fn, vectors)
    found = [_symmetry(gram, vectors, tol), _linearity(fn, gram, vectors, tol), _positivity(fn, vectors, tol)]
    worst = max([v for v in found if not v] or found, key=lambda v: v.worst)
    return replace(worst, law=f"inner product, nearest to failing in {worst.law}") if worst else worst


def cauchy_schwarz(x: Any, y: Any, space: Space[Any], tol: float = 1e-10) -> Verdict:
    """Check ``|<x, y>| <= ||x|| ||y||``, and whether equality holds because x and y are dependent.

    Equality means x = c y (or y = 0): then ``found`` is c, the factor. Five inner products.

    Parameters
    ----------
    x, y : vectors
        Two vectors of the space.
    space : Space
        The space.
    tol : float
        Relative violation, and relative distance of x to the line of y, that count as rounding.

    Examples
    --------
    >>> from mercer.spaces import laws, Euclidean
    >>> verdict = laws.cauchy_schwarz([2, 4], [1, 2], Euclidean(2))
    >>> bool(verdict), round(verdict.found, 12)
    (True, 2.0)
    """
    law, (x, y) = "Cauchy-Schwarz: |<x, y>| <= ||x|| ||y||", (space.check(x), space.check(y))
    nx, ny = space.norm(x), space.norm(y)
    if nx == 0.0 or ny == 0.0:
        which = "x" if nx == 0.0 else "y"
        return Verdict(law, True, 0.0, (x, y), f"0 = 0: equality, since {which} has norm 0", 0.0 if nx == 0.0 else None)
    u, v = space.combine([1.0 / nx], [x]), space.combine([1.0 / ny], [y])
    ratio = space.inner(u, v)
    worst = max(0.0, abs(ratio) - 1.0)
    dependent = space.distance(u, space.combine([ratio], [v])) <= max(tol, 10 * space.dependence)
    text = f"|<x, y>| / (||x|| ||y||) = {abs(ratio):.6g}"
    if not dependent:
        return Verdict(law, worst <= tol, worst, (x, y), f"{text}; x and y are independent")
    c = ratio * (nx / ny)
    return Verdict(law, worst <= tol, worst, (x, y), f"{text}: equality, since x = c y with c = {c:.6g}", c)


def pythagoras(x: Any, y: Any, space: Space[Any], tol: float = 1e-10) -> Verdict:
    """Check ``||x + y||^2 = ||x||^2 + ||y||^2``, which holds exactly when the real part of <x, y> is 0.

    Parameters
    ----------
    x, y : vectors
        Two vectors of the space.
    space : Space
        The space.
    tol : float
        Relative violation that counts as rounding.

    Examples
    --------
    >>> from mercer.spaces import laws, Euclidean
    >>> print(laws.pythagoras([3, 0], [0, 4], Euclidean(2)))
    Pythagoras: ||x + y||^2 = ||x||^2 + ||y||^2 for orthogonal x and y
      holds: yes (worst relative violation: none beyond rounding)
      witness: x = [3.0, 0.0], y = [0.0, 4.0]
      25 = 25, cosine 0
    """
    law, (x, y) = "Pythagoras: ||x + y||^2 = ||x||^2 + ||y||^2 for orthogonal x and y", (space.check(x), space.check(y))
    nx, ny = space.norm(x), space.norm(y)
    worst, text = _compare([space.norm(space.combine([1.0, 1.0], [x, y]))], [nx, ny], tol)
    cosine = space.cosine(x, y) if nx and ny else 0.0
    return Verdict(law, worst <= tol, worst, (x, y), f"{text}, cosine {cosine:.3g}")


def parallelogram(x: Any, y: Any, space: Space[Any] | Callable[[Array], float], tol: float = 1e-10) -> Verdict:
    """Check ``||x + y||^2 + ||x - y||^2 = 2 ||x||^2 + 2 ||y||^2``, in a space or for any norm of arrays.

    Parameters
    ----------
    x, y : vectors
        Two vectors.
    space : Space or callable
        The space, or a norm: a function of an array.
    tol : float
        Relative violation that counts as rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.spaces import laws
    >>> print(laws.parallelogram([1, 0], [0, 1], lambda x: np.abs(x).sum()))
    parallelogram law: ||x + y||^2 + ||x - y||^2 = 2 ||x||^2 + 2 ||y||^2
      holds: NO (worst relative violation: 1)
      witness: x = [1.0, 0.0], y = [0.0, 1.0]
      8 != 4
    """
    norm: Callable[[Any], float]
    if isinstance(space, Space):
        x, y, norm = space.check(x), space.check(y), space.norm
        plus, minus = space.combine([1.0, 1.0], [x, y]), space.combine([1.0, -1.0], [x, y])
    else:
        (x, y), norm = _samples("parallelogram", [x, y]), checked_norm("parallelogram", space)
        plus, minus = x + y, x - y
    nx, ny = norm(x), norm(y)
    worst, text = _compare([norm(plus), norm(minus)], [nx, nx, ny, ny], tol)
    law = "parallelogram law: ||x + y||^2 + ||x - y||^2 = 2 ||x||^2 + 2 ||y||^2"
    return Verdict(law, worst <= tol, worst, (x, y), text)


def _compare(left: list[float], right: list[float], tol: float) -> tuple[float, str]:
    """Return the relative gap between two sums of squares, and both sides as text."""
    top = max(*left, *right) or 1.0  # so that squares stay in range
    a, b = sum((v / top) ** 2 for v in left), sum((v / top) ** 2 for v in right)
    gap = abs(a - b) / (b or 1.0)
    sides = [math.hypot(*left), math.hypot(*right)]
    text = [f"{v * v:.6g}" if v < 1e150 else f"{v:.6g}^2" for v in sides]
    return gap, f"{text[0]} {'=' if gap <= tol else '!='} {text[1]}"


def _samples(who: str, samples: Sequence[Any]) -> list[Array]:
    """Return the samples as finite arrays of one shape and field."""
    if len(samples) == 0:
        refuse(who, "'samples' must hold at least one vector", "none")
    arrays = [numeric(who, s, complex=True) for s in samples]
    if len({a.shape for a in arrays}) > 1:
        refuse(who, "the vectors must have one shape", f"{sorted({a.shape for a in arrays})}")
    field_is_complex = any(np.iscomplexobj(np.asarray(s)) for s in samples)
    return arrays if field_is_complex else [a.real for a in arrays]


def _value(fn: Callable[[Any, Any], Scalar], x: Array, y: Array) -> Scalar:
    value = np.asarray(fn(x, y))
    if value.size != 1 or value.dtype.kind not in "biufc" or not np.isfinite(value).all():
        refuse("check_inner_product", "fn(x, y) must be one finite number", describe(value))
    number: Scalar = value.item()
    return number


def _gram(fn: Callable[[Any, Any], Scalar], vectors: list[Array]) -> Array:
    return np.array([[_value(fn, x, y) for y in vectors] for x in vectors])


def _symmetry(gram: Array, vectors: list[Array], tol: float) -> Verdict:
    size = np.sqrt(np.abs(gram.diagonal()))
    scale = np.maximum(np.maximum(np.abs(gram), np.abs(gram.T)), np.outer(size, size))
    gap = np.abs(gram - gram.conj().T) / np.where(scale > 0, scale, 1.0)
    i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
    text, worst = f"<x, y> = {gram[i, j]:.6g}, <y, x> = {gram[j, i]:.6g}", float(gap[i, j])
    return Verdict("symmetry: <y, x> = conj(<x, y>)", worst <= tol, worst, (vectors[i], vectors[j]), text)


def _linearity(fn: Callable[[Any, Any], Scalar], gram: Array, vectors: list[Array], tol: float) -> Verdict:
    law, some = "linearity: <a x + z, y> = a <x, y> + <z, y>", range(min(len(vectors), 12))
    size = np.sqrt(np.abs(gram.diagonal()))
    worst: tuple[float, tuple[Any, ...], str] = (-1.0, (), "")
    factors: tuple[Scalar, ...] = (-2.0, 0.5, 1j) if np.iscomplexobj(vectors[0]) else (-2.0, 0.5)
    for a, (i, k, j) in product(factors, product(some, some, some)):
        left, right = _value(fn, a * vectors[i] + vectors[k], vectors[j]), a * gram[i, j] + gram[k, j]
        gap = abs(left - right) / (
            max(abs(left), abs(gram[i, j]), abs(gram[k, j]), (size[i] + size[k]) * size[j]) or 1.0
        )
        if gap > worst[0]:
            worst = (float(gap), (vectors[i], vectors[j], vectors[k], a), f"{left:.6g} against {right:.6g}")
    return Verdict(law, worst[0] <= tol, worst[0], worst[1], worst[2], names=("x", "y", "z", "a"))


def _positivity(fn: Callable[[Any, Any], Scalar], vectors: list[Array], tol: float) -> Verdict:
    """Look for x != 0 with <x, x> <= 0: the samples, and the combination of the least eigenvalue of their Gram."""
    law, units = "positivity: <x, x> > 0 for x != 0", [_tidy(v) for v in vectors if np.any(v)]
    if not units:
        return Verdict(law, True, 0.0, (), "every sample is 0")
    gram = _gram(fn, units)
    c = np.linalg.eigh(0.5 * (gram + gram.conj().T))[1][:, 0].conj()  # ||sum c_i x_i||^2 = c'G conj(c)
    mixed: Array = np.tensordot(c if np.iscomplexobj(units[0]) else c.real, np.stack(units), 1)
    tried = [*units, _tidy(mixed)] if np.max(np.abs(mixed)) > 1e-7 else units  # else the samples are dependent
    values = [complex(_value(fn, v, v)) for v in tried]
    k = min(range(len(tried)), key=lambda i: values[i].real - abs(values[i].imag))
    value, scale = values[k], max(abs(v) for v in values) or 1.0
    holds = value.real > 1e-13 * scale and abs(value.imag) <= tol * scale
    text = f"<x, x> = {value if value.imag else value.real:.6g}"
    return Verdict(law, holds, 0.0 if holds else max(0.0, -value.real, abs(value.imag)) / scale, (tried[k],), text)


def _tidy(x: Array) -> Array:
    """Return x scaled so that its largest entry has size 1, and is positive if it is real."""
    top = x.flat[int(np.argmax(np.abs(x)))]
    return x / (-abs(top) if top.real < 0 else abs(top))
