"""Compiled passes over tiles filled by matrix products: distances without cancellation, and CSR rows."""

from __future__ import annotations

from typing import Any

from mercer._jit import compiled


@compiled
def distances(
    S: Any, w: Any, h: Any, nx: Any, ny: Any, X: Any, Y: Any, depth: Any, i0: Any, j0: Any, near: Any
) -> None:
    """Turn inner products S[r, c] into squared distances; recompute from the rows those that cancelled.

    |x|^2 + |z|^2 - 2 x'z loses the digits that |x - z|^2 is smaller by, so below ``near`` (|x|^2 + |z|^2) it is summed
    from the differences instead.
    """
    zero, two = S.dtype.type(0), S.dtype.type(2)
    for r in range(h):
        s = S[r * w : (r + 1) * w]
        a = nx[i0 + r]
        b = ny[j0 : j0 + w]
        cancelled = 0
        for c in range(w):
            both = a + b[c]
            t = both - two * s[c]
            cancelled += 1 if t < near * both else 0
            s[c] = t
        if cancelled:
            x = X[(i0 + r) * depth : (i0 + r + 1) * depth]
            for c in range(w):
                if s[c] < near * (a + b[c]):
                    y = Y[(j0 + c) * depth : (j0 + c + 1) * depth]
                    t = zero
                    for k in range(depth):
                        t += (x[k] - y[k]) * (x[k] - y[k])
                    s[c] = t


@compiled
def fill_sparse(ptr: Any, ind: Any, val: Any, i0: Any, h: Any, P: Any, w: Any, S: Any, stride: Any) -> None:
    """S[r, c] = x_{i0 + r}' y_c for CSR rows x and a dense panel P[k, c], four non-zeros at a time.

    Rows of S lie ``stride`` apart.
    """
    zero = S.dtype.type(0)
    for r in range(h):
        s = S[r * stride : r * stride + w]
        for c in range(w):
            s[c] = zero
        p, e = ptr[i0 + r], ptr[i0 + r + 1]
        while p + 4 <= e:
            y0 = P[ind[p] * w : ind[p] * w + w]
            y1 = P[ind[p + 1] * w : ind[p + 1] * w + w]
            y2 = P[ind[p + 2] * w : ind[p + 2] * w + w]
            y3 = P[ind[p + 3] * w : ind[p + 3] * w + w]
            v0, v1, v2, v3 = val[p], val[p + 1], val[p + 2], val[p + 3]
            for c in range(w):
                s[c] += (v0 * y0[c] + v1 * y1[c]) + (v2 * y2[c] + v3 * y3[c])
            p += 4
        while p < e:
            y0 = P[ind[p] * w : ind[p] * w + w]
            v0 = val[p]
            for c in range(w):
                s[c] += v0 * y0[c]
            p += 1


@compiled
def distances_sparse(
    S: Any, stride: Any, w: Any, h: Any, nx: Any, ny: Any, xp: Any, xi: Any, xv: Any, yp: Any, yi: Any, yv: Any,
    i0: Any, j0: Any, near: Any,
) -> None:  # fmt: skip  # the tile, both sides, where
    """As `distances`, for CSR rows with sorted indices; rows of S lie ``stride`` apart."""
    zero, two = S.dtype.type(0), S.dtype.type(2)
    for r in range(h):
        s = S[r * stride : r * stride + w]
        a, b = nx[i0 + r], ny[j0 : j0 + w]
        cancelled = 0
        for c in range(w):
            both = a + b[c]
            t = both - two * s[c]
            cancelled += 1 if t < near * both else 0
            s[c] = t
        if not cancelled:
            continue
        for c in range(w):
            if s[c] < near * (a + b[c]):
                t = zero
                p, q, pe, qe = xp[i0 + r], yp[j0 + c], xp[i0 + r + 1], yp[j0 + c + 1]
                while p < pe or q < qe:
                    if q >= qe or (p < pe and xi[p] < yi[q]):
                        d = xv[p]
                        p += 1
                    elif p >= pe or yi[q] < xi[p]:
                        d = yv[q]
                        q += 1
                    else:
                        d = xv[p] - yv[q]
                        p += 1
                        q += 1
                    t += d * d
                s[c] = t


@compiled
def fill_distances_sparse(
    P: Any, S: Any, stride: Any, w: Any, h: Any, nx: Any, ny: Any, xp: Any, xi: Any, xv: Any, yp: Any, yi: Any,
    yv: Any, i0: Any, j0: Any, near: Any,
) -> None:  # fmt: skip  # the panel, the tile, both sides, where
    """Fill S with squared distances, a row at a time, each while in cache."""
    for r in range(h):
        row = S[r * stride : r * stride + w]
        fill_sparse(xp, xi, xv, i0 + r, 1, P, w, row, w)
        distances_sparse(row, w, w, 1, nx, ny, xp, xi, xv, yp, yi, yv, i0 + r, j0, near)
