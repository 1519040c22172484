"""Compiled passes of kernel k-means: sums that follow moves, nearest means, and what the certificate asks of K."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import compiled
from mercer._registers import multiply


@compiled
def fill(K: Any, rows: Any, ends: Any, weights: Any, a: Any, b: Any, G: Any) -> None:
    """G[c, a:b] = the sum of w[q] K[rows[q], a:b] over the rows up to ends[c]: four rows at a time."""
    q = 0
    for c in range(G.shape[0]):
        g = G[c, a:b]
        for t in range(g.size):
            g[t] = 0.0
        while q + 4 <= ends[c]:
            r0, r1, r2, r3 = K[rows[q], a:b], K[rows[q + 1], a:b], K[rows[q + 2], a:b], K[rows[q + 3], a:b]
            w0, w1, w2, w3 = weights[q], weights[q + 1], weights[q + 2], weights[q + 3]
            for t in range(g.size):
                g[t] += (w0 * r0[t] + w1 * r1[t]) + (w2 * r2[t] + w3 * r3[t])
            q += 4
        while q < ends[c]:
            r0 = K[rows[q], a:b]
            w0 = weights[q]
            for t in range(g.size):
                g[t] += w0 * r0[t]
            q += 1


@compiled
def shift(K: Any, rows: Any, old: Any, new: Any, weights: Any, a: Any, b: Any, G: Any) -> None:
    """G[new[q], a:b] += w K[rows[q], a:b], and the same off G[old[q]]: four rows that go the same way at a time."""
    q = 0
    while q < rows.size:
        g, h = G[new[q], a:b], G[old[q], a:b]
        last = min(q + 3, rows.size - 1)
        if last == q + 3 and old[last] == old[q] and new[last] == new[q]:  # and all between: they are sorted
            r0, r1, r2, r3 = K[rows[q], a:b], K[rows[q + 1], a:b], K[rows[q + 2], a:b], K[rows[q + 3], a:b]
            w0, w1, w2, w3 = weights[q], weights[q + 1], weights[q + 2], weights[q + 3]
            for t in range(g.size):
                x = (w0 * r0[t] + w1 * r1[t]) + (w2 * r2[t] + w3 * r3[t])
                g[t] += x
                h[t] -= x
            q += 4
        else:
            r0 = K[rows[q], a:b]
            w0 = weights[q]
            for t in range(g.size):
                x = w0 * r0[t]
                g[t] += x
                h[t] -= x
            q += 1


@compiled
def nearest(G: Any, factor: Any, offset: Any, a: Any, b: Any, best: Any, second: Any, label: Any) -> None:
    """The least and second least of offset[c] + factor[c] G[c, i] over c, and where the least is, for i in a..b."""
    least, other, where = best[a:b], second[a:b], label[a:b]
    for t in range(least.size):
        least[t] = offset[0] + factor[0] * G[0, a + t]
        other[t] = 1e308
        where[t] = 0
    for c in range(1, G.shape[0]):
        g = G[c, a:b]
        f, o = factor[c], offset[c]
        for t in range(g.size):
            v = o + f * g[t]
            other[t] = min(other[t], max(least[t], v))
            where[t] = c if v < least[t] else where[t]
            least[t] = min(least[t], v)


@compiled
def times(K: Any, V: Any, width: Any, a: Any, b: Any, out: Any) -> None:
    """out[a:b] = K[a:b] V. Rows of V are ``width`` apart; sums of DEEP terms in its precision, theirs in float64."""
    n, t = K.shape[1], out.shape[1]
    flat, to = K.reshape(-1), out.reshape(-1)
    whole = (b - a) // 4 * 4
    multiply(flat, a * n, n, 1, whole, n, V, 0, width, to, a * t, t, t, False)
    if whole < b - a:  # the last rows in a block of four, of which the first are done anew
        multiply(flat, (b - 4) * n, n, 1, 4, n, V, 0, width, to, (b - 4) * t, t, t, False)


@compiled
def squares(K: Any, weights: Any, a: Any, b: Any) -> float:
    """The sum of w_i w_j K_ij^2 over rows i in a..b and columns j > i, in float64."""
    total = 0.0
    for i in range(a, b):
        row, w = K[i, i + 1 :], weights[i + 1 :]
        one = 0.0
        for t in range(row.size):
            x = np.float64(row[t])
            one += w[t] * (x * x)
        total += weights[i] * one
    return total


@compiled
def gains(
    G: Any, u: Any, label: Any, diagonal: Any, W: Any, S: Any, same: Any, a: Any, b: Any, apart: Any, gain: Any, to: Any
) -> None:
    """By how much the best move of each of the points a..b, of weight u, lowers the objective; see `_refine`."""
    weight, where, d, own, best, aim = u[a:b], label[a:b], diagonal[a:b], apart[a:b], gain[a:b], to[a:b]
    for t in range(best.size):
        best[t] = 1e308
        own[t] = 0.0
    for c in range(G.shape[0]):
        g = G[c, a:b]
        size = W[c] if W[c] > 0 else 1.0
        square, factor, there = S[c] / size**2, 2.0 / size, W[c]
        for t in range(g.size):
            far = max(d[t] + square - factor * g[t], 0.0)
            mine = where[t] == c
            joining = 1e308 if mine else weight[t] * there / (size + weight[t]) * far
            own[t] = far if mine else own[t]
            aim[t] = c if joining < best[t] else aim[t]
            best[t] = min(best[t], joining)
    for t in range(best.size):
        size = W[where[t]]
        rest = size - weight[t]
        leaving = weight[t] * size / rest * own[t] if rest > 1e-12 * size else 0.0
        best[t] = leaving - best[t] - same * weight[t] * d[t]
