"""The compiled passes of kernel k-means: sums that follow the points that moved, and the nearest mean of each point."""

from __future__ import annotations

from typing import Any

from mercer._jit import compiled


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
    """G[new[q], a:b] += w K[rows[q], a:b], and the same off G[old[q]]. Columns stay in cache."""
    for q in range(rows.size):
        r, g, h = K[rows[q], a:b], G[new[q], a:b], G[old[q], a:b]
        w = weights[q]
        for t in range(r.size):
            x = w * r[t]
            g[t] += x
            h[t] -= x


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
