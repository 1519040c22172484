"""Compiled steps on a block: pairs of variables where sums are given, single variables where they are not.

The block G is flat: the row of member i begins at ``place[i]``, and slice b of it, 64 members long, ``off[b]`` further;
members come in whole slices, and places without one have a box of no width. F is the gradient on the block, less a
constant, in the dtype of G. Whether a variable may rise or fall stands in additive penalties (0, or a number beyond
every gradient), so that the loops have no branches and vectorise.
Nothing here may be infinite: an upper bound of inf arrives as a large number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import compiled
from mercer._rules import larger, prefetch, smaller

LANES = 64  # members to a slice: the loops have this constant length
BEYOND = 1e30  # larger than any gradient, and finite in float32
AHEAD = 12  # slices of a row that are asked for before they are needed; short rows come by themselves
LONG = 24  # slices
BURST = 16  # pair steps on one group before the next has its turn


@compiled
def penalties(c: Any, lo: Any, hi: Any, group: Any, g: Any, up: Any, low: Any) -> None:
    """Set up[t] to 0 where c may rise and low[t] to 0 where it may fall, for members of group g (below 0: of any)."""
    zero, beyond = up.dtype.type(0), up.dtype.type(BEYOND)
    for t in range(c.size):
        mine = g < 0 or group[t] == g
        up[t] = zero if mine and c[t] < hi[t] else beyond
        low[t] = zero if mine and c[t] > lo[t] else -beyond


@compiled
def ask(far: Any, G: Any, place: Any, slices: Any) -> None:
    """Ask for some slices of a row, 64 bytes at a time, if rows are long."""
    if far:
        for t in range(0, slices * LANES, 64 // G.itemsize):
            prefetch(G, place + t)


@compiled
def pair_burst(
    G: Any, place: Any, off: Any, diag: Any, ridge: Any, c: Any, lo: Any, hi: Any, F: Any, up: Any, low: Any, S: Any,
    least: Any, tol: Any, most: Any, far: Any,
) -> Any:  # fmt: skip  # the block, the box, the state, scratch, when to stop
    """Take steps along e_i - e_j until no pair violates by ``tol``; return how many, the gap, whether it got stuck.

    i has the least gradient among those that may rise; j, among those that may fall, the largest decrease of the
    objective with i, (F_j - F_i)^2 / (G_ii + G_jj - 2 G_ij). Each step passes over the block twice.
    """
    q = F.size
    blocks = q // LANES
    number = F.dtype.type
    zero, two, one, beyond = number(0), number(2), number(1), number(BEYOND)
    small = number(4) * number(np.finfo(F.dtype).eps)
    tiny = number(1e-20)
    for b in range(blocks):
        f, p = F[b * LANES : b * LANES + LANES], up[b * LANES : b * LANES + LANES]
        m = beyond
        for t in range(LANES):
            m = smaller(f[t] + p[t], m)
        least[b] = m
    steps = 0
    gap = zero
    while steps < most:
        m, at = least[0], 0
        for b in range(1, blocks):
            if least[b] < m:
                m, at = least[b], b
        i = at * LANES
        for t in range(at * LANES, at * LANES + LANES):
            if F[t] + up[t] <= m:
                i = t
                break
        row_i, ki = place[i], diag[i]
        best, at, gap = -one, 0, -beyond
        ask(far, G, row_i, AHEAD)
        for b in range(blocks):
            o = b * LANES
            ask(far, G, row_i + off[b] + AHEAD * LANES, 1)
            f, p, s, d = F[o : o + LANES], low[o : o + LANES], S[o : o + LANES], diag[o : o + LANES]
            r = G[row_i + off[b] : row_i + off[b] + LANES]
            sm, gm = -one, -beyond
            for t in range(LANES):
                apart = f[t] + p[t] - m
                gm = larger(apart, gm)
                both = ki + d[t]
                curve = larger(both - two * r[t], small * both + tiny)
                apart = larger(apart, zero)
                gain = apart * apart / curve
                s[t] = gain
                sm = larger(gain, sm)
            gap = gm if gm > gap else gap
            if sm > best:
                best, at = sm, b
        if gap < tol:
            return steps, gap, False
        j = at * LANES
        for t in range(at * LANES, at * LANES + LANES):
            if S[t] >= best:
                j = t
                break
        row_j = place[j]
        ask(far, G, row_j, AHEAD)
        both = np.float64(ki) + np.float64(diag[j])
        curve = max(both - 2.0 * np.float64(G[row_i + off[j // LANES] + j % LANES]), np.float64(small) * both + 1e-20)
        step = (np.float64(F[j]) - np.float64(F[i])) / curve
        rise, fall = hi[i] - c[i], c[j] - lo[j]
        ci, cj = c[i] + step, c[j] - step
        if rise <= step or fall <= step:
            if rise <= fall:
                step = rise
                ci, cj = hi[i], c[j] - step
                if rise == fall:
                    cj = lo[j]
            else:
                step = fall
                ci, cj = c[i] + step, lo[j]
        if step <= 0.0 or (ci == c[i] and cj == c[j]):
            return steps, gap, True
        c[i], c[j] = ci, cj
        up[i] = zero if ci < hi[i] else beyond
        low[i] = zero if ci > lo[i] else -beyond
        up[j] = zero if cj < hi[j] else beyond
        low[j] = zero if cj > lo[j] else -beyond
        x = number(step)
        F[i] += x * ridge[i]
        F[j] -= x * ridge[j]
        for b in range(blocks):
            o = b * LANES
            ask(far, G, row_j + off[b] + AHEAD * LANES, 1)
            f, p = F[o : o + LANES], up[o : o + LANES]
            k = off[b]
            r, t_ = G[row_i + k : row_i + k + LANES], G[row_j + k : row_j + k + LANES]
            m = beyond
            for t in range(LANES):
                v = f[t] + x * (r[t] - t_[t])
                f[t] = v
                m = smaller(v + p[t], m)
            least[b] = m
        steps += 1
    return steps, gap, False


@compiled
def pair_steps(
    G: Any, place: Any, off: Any, diag: Any, ridge: Any, c: Any, lo: Any, hi: Any, F: Any, group: Any, groups: Any,
    tol: Any, most: Any, work: Any, far: Any,
) -> Any:  # fmt: skip  # as above
    """Take pair steps within each group in turn until none violates by ``tol``; return how many, and if stuck."""
    q = F.size
    up, low, S, least = work[:q], work[q : 2 * q], work[2 * q : 3 * q], work[3 * q :]
    steps, quiet, g = 0, 0, 0
    while True:  # one call of the burst: it is compiled into this loop
        penalties(c, lo, hi, group, g if groups > 1 else -1, up, low)
        burst = min(BURST, most - steps) if groups > 1 else most
        done, _, stuck = pair_burst(G, place, off, diag, ridge, c, lo, hi, F, up, low, S, least, tol, burst, far)
        steps += done
        if groups == 1:
            return steps, stuck
        quiet = quiet + 1 if done == 0 else 0
        if quiet >= groups or steps >= most:
            return steps, steps == 0
        g = (g + 1) % groups


@compiled
def single_steps(
    G: Any, place: Any, off: Any, diag: Any, ridge: Any, shift: Any, c: Any, lo: Any, hi: Any, F: Any,
    tol: Any, most: Any, work: Any, far: Any,
) -> Any:  # fmt: skip  # as above
    """Take exact steps along one variable, that of the largest decrease, until none violates by ``tol``.

    Return how many, and whether it got stuck. Each step passes over the block once.
    """
    q = F.size
    blocks = q // LANES
    number = F.dtype.type
    zero, one, beyond, tiny = number(0), number(1), number(BEYOND), number(1e-20)
    up, low, S, best, worst = work[:q], work[q : 2 * q], work[2 * q : 3 * q], work[3 * q : 3 * q + blocks], zero
    penalties(c, lo, hi, c, -1, up, low)
    steps, i, x = 0, 0, zero
    while True:
        row = place[i]
        worst = zero
        ask(far, G, row, AHEAD)
        for b in range(blocks):
            o = b * LANES
            ask(far, G, row + off[b] + AHEAD * LANES, 1)
            f, u, w = F[o : o + LANES], up[o : o + LANES], low[o : o + LANES]
            s, d = S[o : o + LANES], diag[o : o + LANES]
            r = G[row + off[b] : row + off[b] + LANES]
            sm, vm = -one, zero
            for t in range(LANES):
                v = f[t] + x * (r[t] + shift)
                f[t] = v
                far = larger(larger(-v - u[t], v + w[t]), zero)
                vm = larger(far, vm)
                gain = far * far / (d[t] + tiny)
                s[t] = gain
                sm = larger(gain, sm)
            best[b] = sm
            worst = vm if vm > worst else worst
        if worst < tol or steps >= most:
            return steps, False
        m, at = best[0], 0
        for b in range(1, blocks):
            if best[b] > m:
                m, at = best[b], b
        i = at * LANES
        for t in range(at * LANES, at * LANES + LANES):
            if S[t] >= m:
                i = t
                break
        new = c[i] - np.float64(F[i]) / (np.float64(diag[i]) + 1e-20)
        new = min(max(new, lo[i]), hi[i])
        if new == c[i]:
            return steps, True
        x = number(new - c[i])
        c[i] = new
        up[i] = zero if new < hi[i] else beyond
        low[i] = zero if new > lo[i] else -beyond
        F[i] += x * ridge[i]
        steps += 1
