"""The compiled pass of K' u with u = w (K v - less): a strip of rows is computed, and used twice while in cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import compiled
from mercer._registers import multiply
from mercer.gram._passes import Values, sweep

_U = np.uintp


@compiled
def ahead(K: Any, stride: Any, h: Any, m: Any, V: Any, v: Any, u: Any) -> None:
    """u = K v for h rows ``stride`` apart, v standing in V from ``v`` on; four rows at a time."""
    zero, x = K.dtype.type(0), V[v : v + m]
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
        for cc in range(x.size):
            c = _U(cc)
            e0 += K[q0 + c] * x[cc]
            e1 += K[q1 + c] * x[cc]
            e2 += K[q2 + c] * x[cc]
            e3 += K[q3 + c] * x[cc]
        u[r] = e0
        u[r + 1] = e1
        u[r + 2] = e2
        u[r + 3] = e3
    for r in range(full, h):
        q0 = _U(r) * _U(stride)
        e0 = zero
        for cc in range(x.size):
            e0 += K[q0 + _U(cc)] * x[cc]
        u[r] = e0


@compiled
def back(K: Any, stride: Any, h: Any, m: Any, u: Any, part: Any) -> None:
    """part = K' u for h rows ``stride`` apart; eight rows at a time."""
    zero = K.dtype.type(0)
    for cc in range(m):
        part[cc] = zero
    full = h - h % 8
    for r in range(0, full, 8):
        q0 = _U(r) * _U(stride)
        q1 = q0 + _U(stride)
        q2 = q1 + _U(stride)
        q3 = q2 + _U(stride)
        q4 = q3 + _U(stride)
        q5 = q4 + _U(stride)
        q6 = q5 + _U(stride)
        q7 = q6 + _U(stride)
        u0, u1, u2, u3 = u[r], u[r + 1], u[r + 2], u[r + 3]
        u4, u5, u6, u7 = u[r + 4], u[r + 5], u[r + 6], u[r + 7]
        for cc in range(m):
            c = _U(cc)
            low = (K[q0 + c] * u0 + K[q1 + c] * u1) + (K[q2 + c] * u2 + K[q3 + c] * u3)
            high = (K[q4 + c] * u4 + K[q5 + c] * u5) + (K[q6 + c] * u6 + K[q7 + c] * u7)
            part[cc] = part[cc] + (low + high)
    for r in range(full, h):
        q0 = _U(r) * _U(stride)
        for cc in range(m):
            part[cc] = part[cc] + K[q0 + _U(cc)] * u[r]


@compiled
def pull(
    statistic: Any, side: Any, second: Any, second_side: Any, count: Any, two: Any, rule: Any, span: Any, m: Any,
    upper: Any, h: Any, stride: Any, S: Any, T: Any, strip: Any, V: Any, width: Any, t: Any, less: Any, w: Any,
    each: Any, given: Any, n: Any, ask: Any, u: Any, part: Any, out: Any, total: Any,
) -> None:  # fmt: skip  # what `sweep` takes, the columns, room and results
    """out += K' u and total += 1' u over rows span[0].. span[1], with u = w (K V - less), column by column.

    All arrays are flat: out is (m, t), w (t, n) or, where ``each`` is 0, one column for all, ``given`` (t, n). Where
    ``width`` is 0, V is (t, m), else (m, width), padded with zeros for products by blocks. Without ``ask`` u is given.
    All h rows of a strip are computed before they are used.
    """
    for i in range(span[0], span[1], h):
        a = min(h, span[1] - i)
        sink = Values(strip, stride, i, span[2])
        some = i, i + a, span[2], span[3]
        sweep(statistic, side, second, second_side, count, two, rule, sink, some, m, upper, h, S, T)
        if width:
            if ask:
                multiply(strip, 0, stride, 1, a, m, V, 0, width, u, 0, width, width, False)
            for k in range(t):
                for r in range(a):
                    q = r * width + k
                    u[q] = (u[q] - less[k]) * w[k * each + i + r] if ask else given[k * n + i + r]
                    total[k] += u[q]
            multiply(strip, 0, 1, stride, m, a, u, 0, width, out, 0, t, t, True)
            continue
        for k in range(t):
            if ask:
                ahead(strip, stride, a, m, V, k * m, u)
            for r in range(a):
                u[r] = (u[r] - less[k]) * w[k * each + i + r] if ask else given[k * n + i + r]
                total[k] += u[r]
            back(strip, stride, a, m, u, part)
            for c in range(m):
                out[c * t + k] += part[c]
