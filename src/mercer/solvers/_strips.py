"""The compiled passes of the reduction to a band and of the inverses behind it: all products of tiles in cache.

A matrix is kept in strips of columns, each with its rows one after the other, so that what a pass touches at a time is
near in memory. Arrays are flat, and all sizes are multiples of four.
"""

from __future__ import annotations

from typing import Any

from mercer._jit import compiled
from mercer._registers import multiply

TILE = 64  # rows of a strip that stay in cache while they are updated and multiplied
DEEP_TILE = 128  # the same where a strip is turned


@compiled
def update_and_multiply(
    A: Any, a: Any, width: Any, column: Any, n: Any, first: Any,
    pending: Any, left: Any, right: Any, packed: Any, b: Any, V: Any, out: Any,
) -> None:  # fmt: skip  # the strip, the update, the product
    """Add left right' to a strip of the lower half of a symmetric matrix, and to ``out`` what the strip adds to A V.

    The strip stands in A from ``a`` on; its first column is ``column`` of the matrix, and those before ``first`` are
    done. ``left`` and ``right`` have 2 b columns, V and ``out`` b; ``packed`` is room for what is used of ``right``.
    The block on the diagonal is whole; what is below it stands for its transpose too. Cost: 8 b flops an entry.
    """
    start = max(column, first)
    stop = column + width
    live, two = stop - start, 2 * b
    if pending:
        for i in range(two):
            for c in range(live):
                packed[i * live + c] = right[(start + c) * two + i]
    r = start
    while r < n:
        h = min(TILE, stop - r) if r < stop else min(TILE, n - r)
        tile = a + r * width + start - column
        if pending:
            multiply(left, r * two, two, 1, h, two, packed, 0, live, A, tile, width, live, True)
        multiply(A, tile, width, 1, h, live, V, start * b, b, out, r * b, b, b, True)
        if r >= stop:
            multiply(A, tile, 1, width, live, h, V, r * b, b, out, start * b, b, b, True)
        r += h


@compiled
def turn(C: Any, c: Any, width: Any, start: Any, n: Any, V: Any, b: Any, T: Any, Z: Any, Y: Any) -> None:
    """Multiply rows ``start`` to n of a strip, in C from c on, with I + V T V'; V and T have b columns.

    Z and Y are room for b width numbers each. Cost: 4 b flops an entry.
    """
    for i in range(b * width):
        Z[i] = 0.0
    for r in range(start, n, DEEP_TILE):
        h = min(DEEP_TILE, n - r)
        multiply(V, (r - start) * b, 1, b, b, h, C, c + r * width, width, Z, 0, width, width, True)
    multiply(T, 0, b, 1, b, b, Z, 0, width, Y, 0, width, width, False)
    for r in range(start, n, DEEP_TILE):
        h = min(DEEP_TILE, n - r)
        multiply(V, (r - start) * b, b, 1, h, b, Y, 0, width, C, c + r * width, width, width, True)


@compiled
def squared_norms(
    U: Any, strip: Any, n: Any, row: Any, h: Any, b: Any, wide: Any, chain: Any, count: Any, old: Any, new: Any,
    total: Any,
) -> None:  # fmt: skip  # U, the factors, room and result
    """Add to total[r, l] the squared norms of h rows of U L_l^-T, from ``row`` on, for count banded factors L_l.

    U stands in strips of n rows; b is the width of a block. Block k of row r is X_k = U_k wide_kl + X_k-1 chain_kl.
    ``old`` and ``new`` are room for h count b numbers. Cost: 4 b^2 flops a row, block and factor.
    """
    across = count * b
    for k in range(len(wide) // (b * across)):
        column = k * b
        at = column // strip
        width = min(strip, n - at * strip)
        place = n * at * strip + row * width + column - at * strip
        multiply(U, place, width, 1, h, b, wide, k * b * across, across, new, 0, across, across, False)
        if k > 0:
            for m in range(count):
                block = (k * count + m) * b * b
                multiply(old, m * b, across, 1, h, b, chain, block, b, new, m * b, across, b, True)
        for r in range(h):
            for m in range(count):
                sum = 0.0
                for c in range(b):
                    x = new[r * across + m * b + c]
                    sum += x * x
                total[r * count + m] += sum
        old, new = new, old
