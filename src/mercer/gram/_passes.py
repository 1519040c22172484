"""The compiled passes: fill a tile with statistics, turn them into kernel values, and use them, all while in cache.

There is one tile loop, `sweep`. What is done with a tile is a *sink*: a product with a vector, a product with both a
tile and its mirror, or writing the values out; its rule is picked by type and fuses into the loop.

Arrays are flat and panels have a width known while compiling, with unsigned indices: so the compiler sees constant
distances between rows and proves that they do not overlap. That alone is worth a factor of 1.5 here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import attach, compiled
from mercer._registers import multiply
from mercer._rules import scalar
from mercer.gram._distances import distances
from mercer.gram._packed import WIDTH
from mercer.kernels._form import profile
from mercer.kernels._statistics import term

attach(profile)
attach(term)

_U = np.uintp
_W = _U(WIDTH)
_0, _1, _2, _3, _4 = _U(0), _U(1), _U(2), _U(3), _U(4)


# ---------------------------------------------------------------- statistics of a tile


@compiled
def plus4(s: Any, statistic: Any, a: Any, b: Any, c: Any, d: Any, p: Any, q: Any, r: Any, t: Any) -> Any:
    """Return s and the terms of four coordinates; four fused multiply-adds for a distance."""
    return s + term(statistic, a, p) + term(statistic, b, q) + term(statistic, c, r) + term(statistic, d, t)


@compiled
def fill(statistic: Any, X: Any, depth: Any, i0: Any, h: Any, P: Any, b: Any, S: Any) -> None:
    """S[r, c] = sum over k of term(X[i0 + r, k], P[b, k, c]); h and depth are multiples of 4.

    Four rows by four coordinates at a time: each number of the panel is used four times while in a register.
    """
    D = _U(depth)
    panel = _U(b) * D * _W
    zero = S.dtype.type(0)
    i = _0
    while i < _U(h):
        s0 = i * _W
        s1 = s0 + _W
        s2 = s1 + _W
        s3 = s2 + _W
        x = (_U(i0) + i) * D
        k = _0
        while k < D:
            p = panel + k * _W
            a = x + k
            a0, a1, a2, a3 = X[a], X[a + _1], X[a + _2], X[a + _3]
            a = a + D
            b0, b1, b2, b3 = X[a], X[a + _1], X[a + _2], X[a + _3]
            a = a + D
            c0, c1, c2, c3 = X[a], X[a + _1], X[a + _2], X[a + _3]
            a = a + D
            d0, d1, d2, d3 = X[a], X[a + _1], X[a + _2], X[a + _3]
            if k == _0:
                for jj in range(WIDTH):
                    j = _U(jj)
                    p0, p1, p2, p3 = P[p + j], P[p + _W + j], P[p + _2 * _W + j], P[p + _3 * _W + j]
                    S[s0 + j] = plus4(zero, statistic, a0, a1, a2, a3, p0, p1, p2, p3)
                    S[s1 + j] = plus4(zero, statistic, b0, b1, b2, b3, p0, p1, p2, p3)
                    S[s2 + j] = plus4(zero, statistic, c0, c1, c2, c3, p0, p1, p2, p3)
                    S[s3 + j] = plus4(zero, statistic, d0, d1, d2, d3, p0, p1, p2, p3)
            else:
                for jj in range(WIDTH):
                    j = _U(jj)
                    p0, p1, p2, p3 = P[p + j], P[p + _W + j], P[p + _2 * _W + j], P[p + _3 * _W + j]
                    S[s0 + j] = plus4(S[s0 + j], statistic, a0, a1, a2, a3, p0, p1, p2, p3)
                    S[s1 + j] = plus4(S[s1 + j], statistic, b0, b1, b2, b3, p0, p1, p2, p3)
                    S[s2 + j] = plus4(S[s2 + j], statistic, c0, c1, c2, c3, p0, p1, p2, p3)
                    S[s3 + j] = plus4(S[s3 + j], statistic, d0, d1, d2, d3, p0, p1, p2, p3)
            k += _4
        i += _4


# ---------------------------------------------------------------- one statistic, or two


class Lone(NamedTuple):
    """The form has one statistic: it fills both slots of the rule."""


class Two(NamedTuple):
    """The form has an inner product and another statistic."""


@scalar
def other(count: Any, s: Any, t: Any) -> Any:
    """What goes into the second slot of a rule."""


@other.rule(Lone)
def _(count: Any, s: Any, t: Any) -> Any:
    return s


@other.rule(Two)
def _(count: Any, s: Any, t: Any) -> Any:
    return t


attach(other)


# ---------------------------------------------------------------- sinks


@scalar
def consume(sink: Any, count: Any, rule: Any, S: Any, T: Any, stride: Any, i: Any, h: Any, j: Any, w: Any) -> None:
    """Use the tile of rows i.. i+h and columns j.. j+w, whose statistics stand in S and T, rows ``stride`` apart."""


class Product(NamedTuple):
    """out += K v, for one column; out is float64. The first entries stand for (row0, column0)."""

    v: Any
    out: Any
    row0: Any
    column0: Any


class Mirrored(NamedTuple):
    """out += K v from the upper tiles only: each serves its own rows and, mirrored, those of its columns."""

    v: Any
    out: Any
    part: Any


class Transposed(NamedTuple):
    """out += K' v, for one column; out is float64. The first entries stand for (row0, column0)."""

    v: Any
    out: Any
    part: Any
    row0: Any
    column0: Any


class Columns(NamedTuple):
    """out += K V, for many columns: V is flat, its rows padded to ``width``; out is flat, float64, its rows ``t`` long.

    The first entries stand for (row0, column0).
    """

    v: Any
    out: Any
    width: Any
    t: Any
    row0: Any
    column0: Any


class MirroredColumns(NamedTuple):
    """out += K V for many columns from the upper tiles only, as `Mirrored` does for one."""

    v: Any
    out: Any
    width: Any
    t: Any


class Kept(NamedTuple):
    """As `Transposed`, and row r is written to ``held`` from ``places[r - row0]`` on."""

    v: Any
    out: Any
    part: Any
    row0: Any
    column0: Any
    held: Any
    places: Any


class Values(NamedTuple):
    """Write the values of the tile to a flat array, rows ``stride`` apart, (row0, column0) its first entry."""

    out: Any
    stride: Any
    row0: Any
    column0: Any


@consume.rule(Product)
def _(sink: Any, count: Any, rule: Any, S: Any, T: Any, stride: Any, i: Any, h: Any, j: Any, w: Any) -> None:
    v, out = sink.v[j - sink.column0 : j - sink.column0 + w], sink.out
    o = i - sink.row0
    zero = S.dtype.type(0)
    full = h - h % 4
    for r in range(0, full, 4):
        q0 = _U(r) * _U(stride)
        q1 = q0 + _U(stride)
        q2 = q1 + _U(stride)
        q3 = q2 + _U(stride)
        e0 = zero
        e1 = zero
        e2 = zero
        e3 = zero
        for cc in range(v.size):
            c = _U(cc)
            x = v[cc]
            e0 += profile(rule, S[q0 + c], other(count, S[q0 + c], T[q0 + c])) * x
            e1 += profile(rule, S[q1 + c], other(count, S[q1 + c], T[q1 + c])) * x
            e2 += profile(rule, S[q2 + c], other(count, S[q2 + c], T[q2 + c])) * x
            e3 += profile(rule, S[q3 + c], other(count, S[q3 + c], T[q3 + c])) * x
        out[o + r] += e0
        out[o + r + 1] += e1
        out[o + r + 2] += e2
        out[o + r + 3] += e3
    for r in range(full, h):
        q0 = _U(r) * _U(stride)
        e0 = zero
        for cc in range(v.size):
            c = _U(cc)
            e0 += profile(rule, S[q0 + c], other(count, S[q0 + c], T[q0 + c])) * v[cc]
        out[o + r] += e0


@consume.rule(Mirrored)
def _(sink: Any, count: Any, rule: Any, S: Any, T: Any, stride: Any, i: Any, h: Any, j: Any, w: Any) -> None:
    if j <= i < j + w:  # the tile on the diagonal holds its own mirror
        consume(Product(sink.v, sink.out, 0, 0), count, rule, S, T, stride, i, h, j, w)
        return
    v, u, part = sink.v[j : j + w], sink.v, sink.part
    zero = S.dtype.type(0)
    for cc in range(w):
        part[cc] = zero
    full = h - h % 4
    for r in range(0, full, 4):
        q0 = _U(r) * _U(stride)
        q1 = q0 + _U(stride)
        q2 = q1 + _U(stride)
        q3 = q2 + _U(stride)
        u0, u1, u2, u3 = u[i + r], u[i + r + 1], u[i + r + 2], u[i + r + 3]
        e0 = zero
        e1 = zero
        e2 = zero
        e3 = zero
        for cc in range(v.size):
            c = _U(cc)
            k0 = profile(rule, S[q0 + c], other(count, S[q0 + c], T[q0 + c]))
            k1 = profile(rule, S[q1 + c], other(count, S[q1 + c], T[q1 + c]))
            k2 = profile(rule, S[q2 + c], other(count, S[q2 + c], T[q2 + c]))
            k3 = profile(rule, S[q3 + c], other(count, S[q3 + c], T[q3 + c]))
            x = v[cc]
            e0 += k0 * x
            e1 += k1 * x
            e2 += k2 * x
            e3 += k3 * x
            part[cc] = part[cc] + ((k0 * u0 + k1 * u1) + (k2 * u2 + k3 * u3))
        sink.out[i + r] += e0
        sink.out[i + r + 1] += e1
        sink.out[i + r + 2] += e2
        sink.out[i + r + 3] += e3
    for r in range(full, h):
        q0 = _U(r) * _U(stride)
        e0 = zero
        for cc in range(v.size):
            c = _U(cc)
            k0 = profile(rule, S[q0 + c], other(count, S[q0 + c], T[q0 + c]))
            e0 += k0 * v[cc]
            part[cc] = part[cc] + k0 * u[i + r]
        sink.out[i + r] += e0
    for cc in range(w):
        sink.out[j + cc] += part[cc]


@consume.rule(Transposed)
def _(sink: Any, count: Any, rule: Any, S: Any, T: Any, stride: Any, i: Any, h: Any, j: Any, w: Any) -> None:
    part, u = sink.part, sink.v[i - sink.row0 : i - sink.row0 + h]
    zero = S.dtype.type(0)
    for cc in range(w):
        part[cc] = zero
    full = h - h % 4
    for r in range(0, full, 4):
        q0 = _U(r) * _U(stride)
        q1 = q0 + _U(stride)
        q2 = q1 + _U(stride)
        q3 = q2 + _U(stride)
        u0, u1, u2, u3 = u[r], u[r + 1], u[r + 2], u[r + 3]
        for cc in range(w):
            c = _U(cc)
            k0 = profile(rule, S[q0 + c], other(count, S[q0 + c], T[q0 + c]))
            k1 = profile(rule, S[q1 + c], other(count, S[q1 + c], T[q1 + c]))
            k2 = profile(rule, S[q2 + c], other(count, S[q2 + c], T[q2 + c]))
            k3 = profile(rule, S[q3 + c], other(count, S[q3 + c], T[q3 + c]))
            part[cc] = part[cc] + ((k0 * u0 + k1 * u1) + (k2 * u2 + k3 * u3))
    for r in range(full, h):
        q0 = _U(r) * _U(stride)
        for cc in range(w):
            c = _U(cc)
            part[cc] = part[cc] + profile(rule, S[q0 + c], other(count, S[q0 + c], T[q0 + c])) * u[r]
    o = j - sink.column0
    for cc in range(w):
        sink.out[o + cc] += part[cc]


@compiled
def in_place(count: Any, rule: Any, S: Any, T: Any, stride: Any, h: Any, w: Any) -> None:
    """Turn the statistics of a tile into kernel values where they stand."""
    for r in range(h):
        q = _U(r) * _U(stride)
        for cc in range(w):
            c = _U(cc)
            S[q + c] = profile(rule, S[q + c], other(count, S[q + c], T[q + c]))


@consume.rule(Columns)
def _(sink: Any, count: Any, rule: Any, S: Any, T: Any, stride: Any, i: Any, h: Any, j: Any, w: Any) -> None:
    in_place(count, rule, S, T, stride, h, w)
    v, o = (j - sink.column0) * sink.width, (i - sink.row0) * sink.t
    multiply(S, 0, stride, 1, h, w, sink.v, v, sink.width, sink.out, o, sink.t, sink.t, True)


@consume.rule(MirroredColumns)
def _(sink: Any, count: Any, rule: Any, S: Any, T: Any, stride: Any, i: Any, h: Any, j: Any, w: Any) -> None:
    in_place(count, rule, S, T, stride, h, w)
    width, t = sink.width, sink.t
    multiply(S, 0, stride, 1, h, w, sink.v, j * width, width, sink.out, i * t, t, t, True)
    if not j <= i < j + w:  # the tile on the diagonal holds its own mirror
        multiply(S, 0, 1, stride, w, h, sink.v, i * width, width, sink.out, j * t, t, t, True)


@consume.rule(Kept)
def _(sink: Any, count: Any, rule: Any, S: Any, T: Any, stride: Any, i: Any, h: Any, j: Any, w: Any) -> None:
    part, held = sink.part, sink.held
    zero = S.dtype.type(0)
    o = j - sink.column0
    for cc in range(w):
        part[cc] = zero
    for r in range(h):
        q0 = _U(r) * _U(stride)
        u = sink.v[i - sink.row0 + r]
        row = held[sink.places[i - sink.row0 + r] + o : sink.places[i - sink.row0 + r] + o + w]
        for cc in range(w):
            c = _U(cc)
            k = profile(rule, S[q0 + c], other(count, S[q0 + c], T[q0 + c]))
            row[cc] = k
            part[cc] = part[cc] + k * u
    for cc in range(w):
        sink.out[o + cc] += part[cc]


@consume.rule(Values)
def _(sink: Any, count: Any, rule: Any, S: Any, T: Any, stride: Any, i: Any, h: Any, j: Any, w: Any) -> None:
    out = sink.out
    for r in range(h):
        q = _U(r) * _U(stride)
        o = _U(i - sink.row0 + r) * _U(sink.stride) + _U(j - sink.column0)
        for cc in range(w):
            c = _U(cc)
            out[o + c] = profile(rule, S[q + c], other(count, S[q + c], T[q + c]))


attach(consume, sums=True)


@compiled
def use(sink: Any, count: Any, rule: Any, S: Any, T: Any, stride: Any, i: Any, h: Any, j: Any, w: Any) -> None:
    """Give one tile, filled elsewhere (by a matrix product), to a sink."""
    consume(sink, count, rule, S, T, stride, i, h, j, w)


class Summed(NamedTuple):
    """What a statistic is summed from, coordinate by coordinate: rows on the left, panels on the right, flat."""

    rows: Any
    panels: Any
    depth: Any


class Multiplied(NamedTuple):
    """What an inner product by blocks is made from; with ``distance`` a squared distance is made of it.

    That takes the squares of both sides, and the rows on the right where it loses digits.
    """

    rows: Any
    panels: Any
    depth: Any
    distance: Any
    squares: Any
    right_squares: Any
    right_rows: Any
    near: Any


@scalar
def gather(side: Any, statistic: Any, i: Any, h: Any, b: Any, S: Any) -> None:
    """Write a statistic of rows i.. i+h and panel b to S; h a multiple of 4.

    Which way is a matter of type: so what is not needed is not compiled.
    """


@gather.rule(Summed)
def _(side: Any, statistic: Any, i: Any, h: Any, b: Any, S: Any) -> None:
    fill(statistic, side.rows, side.depth, i, h, side.panels, b, S)


@gather.rule(Multiplied)
def _(side: Any, statistic: Any, i: Any, h: Any, b: Any, S: Any) -> None:
    D = side.depth
    multiply(side.rows, i * D, D, 1, h, D, side.panels, b * D * WIDTH, WIDTH, S, 0, WIDTH, WIDTH, False)
    if side.distance:
        squares = side.squares, side.right_squares
        distances(S, WIDTH, h, squares[0], squares[1], side.rows, side.right_rows, D, i, b * WIDTH, side.near)


attach(gather, sums=True)


@compiled
def sweep(
    statistic: Any, side: Any, second: Any, second_side: Any, count: Any, two: Any,
    rule: Any, sink: Any, span: Any, m: Any, upper: Any, step: Any, S: Any, T: Any,
) -> None:  # fmt: skip  # what is summed, what is made of it, where
    """The tile loop: rows span[0].. span[1] by ``step``, panels span[2].. span[3] (the upper ones only, if asked).

    m is the number of real columns; S and T hold step x WIDTH numbers.
    """
    i1, b0, b1 = span[1], span[2], span[3]
    for i in range(span[0], i1, step):
        h = min(step, i1 - i)
        h4 = h + (4 - h % 4) % 4
        first = max(b0, i // WIDTH) if upper else b0
        for b in range(first, b1):
            gather(side, statistic, i, h4, b, S)
            if two:
                gather(second_side, second, i, h4, b, T)
            consume(sink, count, rule, S, T, WIDTH, i, h, b * WIDTH, min(WIDTH, m - b * WIDTH))
