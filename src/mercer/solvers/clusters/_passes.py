"""The compiled passes of kernel k-means: sums that follow the points that moved, and the nearest mean of each point."""

from __future__ import annotations

from typing import Any

from mercer._jit import compiled


@compiled
def shift(K: Any, rows: Any, old: Any, new: Any, weights: Any, a: Any, b: Any, G: Any) -> None:
    """G[new[q], a:b] += w K[rows[q], a:b], and the same off G[old[q]]; -1 is no cluster. Columns stay in cache."""
    for q in range(rows.size):
        r = K[rows[q], a:b]
        w = weights[q]
        if new[q] >= 0:
            g = G[new[q], a:b]
            if old[q] >= 0:
                h = G[old[q], a:b]
                for t in range(r.size):
                    x = w * r[t]
                    g[t] += x
                    h[t] -= x
            else:
                for t in range(r.size):
                    g[t] += w * r[t]


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
