"""A block of a matrix product, held in registers while it is summed: what compiled passes multiply tiles with.

The compiler keeps no array in registers by itself, so the block is written out here, vector by vector. Each number of
the left side meets several vectors of the right side, and each vector several numbers: the processor multiplies in
nearly every cycle. Next to a library's product it spares the packing of both sides, as tiles are in cache already and
the right side is packed once; and it uses the widest vectors there are even where a library does not know the machine.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic, overload

from mercer._jit import compiled

DEEP = 256
"""Terms that are summed in one go, in the precision of the tile."""


def _machine() -> tuple[int, int]:
    """Return the bytes of a vector, and the rows of a block: with 3 vectors a row they fill the registers."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        return 16, 8
    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 64, 8
    return (32 if features.get("avx") else 16), 4


BYTES, ROWS = _machine()
AHEAD = 24  # rows of the right side that are asked for before they are needed: it may lie in memory, not in cache
MOST = 3  # vectors of a row of a block
_U = np.uintp


# ---------------------------------------------------------------- one block


def _block_of(rows: int, vectors: int) -> Callable[..., None]:
    """Return the function that sums a block of so many rows and vectors."""

    def block(K: Any, k: Any, krow: Any, kcol: Any, V: Any, v: Any, vrow: Any, depth: Any, B: Any) -> None:
        width = vectors * (BYTES // K.itemsize)
        steps = np.arange(int(depth))
        right = V[int(v) + steps[:, None] * int(vrow) + np.arange(width)]
        for r in range(rows):
            B[r * width : (r + 1) * width] = K[int(k) + r * int(krow) + steps * int(kcol)] @ right

    @intrinsic
    def generated(
        typingctx: Any, K: Any, k: Any, krow: Any, kcol: Any, V: Any, v: Any, vrow: Any, depth: Any, B: Any
    ) -> Any:
        u = types.uintp
        return types.void(K, u, u, u, V, u, u, u, B), _written_out(rows, vectors)

    @overload(block, inline="never")
    def _(K, k, krow, kcol, V, v, vrow, depth, B):  # type: ignore[no-untyped-def]  # Numba compares bare signatures
        return lambda K, k, krow, kcol, V, v, vrow, depth, B: generated(K, k, krow, kcol, V, v, vrow, depth, B)

    return block


def _written_out(rows: int, vectors: int) -> Callable[..., Any]:
    """Return what writes the instructions of a block, B[r, c] = sum over i of K[k + r krow + i kcol] V[v + i vrow + c].

    In one function, as one loop: the sums, as many as fit in registers, go from each round to the next.
    """

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = signature.args[0].dtype
        size = number.bitwidth // 8
        lanes, scalar = BYTES // size, context.get_data_type(number)
        vector, index = ir.VectorType(scalar, lanes), arguments[1].type
        start_k, krow, kcol, start_v, vrow, depth = (arguments[i] for i in (1, 2, 3, 5, 6, 7))
        left, right, sums = (
            builder.gep(context.make_array(signature.args[i])(context, builder, arguments[i]).data, [at])
            for i, at in ((0, start_k), (4, start_v), (8, ir.Constant(index, 0)))
        )
        first = [left]
        for _ in range(rows - 1):
            first.append(builder.gep(first[-1], [krow]))

        before, loop = builder.basic_block, builder.append_basic_block("terms")
        after = builder.append_basic_block("summed")
        builder.branch(loop)
        builder.position_at_end(loop)
        i = builder.phi(index)
        held = [[builder.phi(vector) for _ in range(vectors)] for _ in range(rows)]
        here = builder.gep(right, [builder.mul(i, vrow)])
        packed = [_vector_at(builder, here, c * lanes, vector, index) for c in range(vectors)]
        packed = [builder.load(place, align=size) for place in packed]
        later = builder.gep(here, [builder.mul(vrow, ir.Constant(index, AHEAD))])
        for c in range(0, vectors * BYTES, 64):
            _fetch(builder, builder.gep(later, [ir.Constant(index, c // size)]))
        along = builder.mul(i, kcol)
        new = []
        for r in range(rows):
            one = builder.load(builder.gep(first[r], [along]))
            spread = _spread(builder, one, vector)
            new.append(
                [
                    builder.fadd(builder.fmul(spread, p, flags=("contract",)), h, flags=("contract",))
                    for p, h in zip(packed, held[r], strict=True)
                ]
            )
        following = builder.add(i, ir.Constant(index, 1))
        builder.cbranch(builder.icmp_unsigned("<", following, depth), loop, after)
        i.add_incoming(ir.Constant(index, 0), before)
        i.add_incoming(following, loop)
        for old_row, new_row in zip(held, new, strict=True):
            for old, value in zip(old_row, new_row, strict=True):
                old.add_incoming(ir.Constant(vector, None), before)
                old.add_incoming(value, loop)

        builder.position_at_end(after)
        for r in range(rows):
            for c in range(vectors):
                place = _vector_at(builder, sums, (r * vectors + c) * lanes, vector, index)
                builder.store(new[r][c], place, align=size)
        return context.get_dummy_value()

    return write


def _fetch(builder: Any, place: Any) -> None:
    """Ask for a line of the cache that will be read later."""
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    builder.call(prefetch, [builder.bitcast(place, byte), number(0), number(3), number(1)])


def _vector_at(builder: Any, base: Any, offset: int, vector: Any, index: Any) -> Any:
    return builder.bitcast(builder.gep(base, [ir.Constant(index, offset)]), vector.as_pointer())


def _spread(builder: Any, one: Any, vector: Any) -> Any:
    """Return a vector of one number in every lane."""
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, one, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None))


_tall3, _tall2, _tall1 = (_block_of(ROWS, c) for c in (3, 2, 1))
_low3, _low2, _low1 = (_block_of(4, c) for c in (3, 2, 1))


# ---------------------------------------------------------------- a tile


@compiled
def multiply(
    K: Any, k: Any, krow: Any, kcol: Any, h: Any, depth: Any, V: Any, v: Any, width: Any,
    out: Any, o: Any, orow: Any, t: Any, add: Any,
) -> None:  # fmt: skip  # the left side, the right side, where to
    """out[o + r orow + c] (+)= sum over i of K[k + r krow + i kcol] V[v + i width + c], for r < h and c < t.

    All arrays are flat. Rows of V lie ``width`` numbers apart, whole multiples of 64 bytes; of K, rows up to the next
    multiple of 4 are read (and left out). Each sum runs over DEEP terms in the precision of K, and those sums in that
    of ``out``.
    Cost: h depth width multiplications.
    """
    lanes = BYTES // K.itemsize
    B = np.empty(ROWS * MOST * lanes, K.dtype)
    for i in range(0, depth, DEEP):
        terms = _U(min(DEEP, depth - i))
        c = 0
        while c < width:
            vectors = min(MOST, (width - c) // lanes)
            if width - c == 4 * lanes:  # two and two are faster than three and one
                vectors = 2
            right = _U(v + i * width + c)
            r = 0
            while r < h:
                rows = ROWS if h - r > ROWS - 4 else 4
                left = _U(k + r * krow + i * kcol)
                if rows == ROWS:
                    if vectors == 3:
                        _tall3(K, left, _U(krow), _U(kcol), V, right, _U(width), terms, B)
                    elif vectors == 2:
                        _tall2(K, left, _U(krow), _U(kcol), V, right, _U(width), terms, B)
                    else:
                        _tall1(K, left, _U(krow), _U(kcol), V, right, _U(width), terms, B)
                elif vectors == 3:
                    _low3(K, left, _U(krow), _U(kcol), V, right, _U(width), terms, B)
                elif vectors == 2:
                    _low2(K, left, _U(krow), _U(kcol), V, right, _U(width), terms, B)
                else:
                    _low1(K, left, _U(krow), _U(kcol), V, right, _U(width), terms, B)
                wide = vectors * lanes
                place(B, wide, out, o + r * orow + c, orow, min(rows, h - r), min(wide, t - c), add or i > 0)
                r += rows
            c += vectors * lanes


@compiled
def place(B: Any, width: Any, out: Any, o: Any, orow: Any, h: Any, t: Any, add: Any) -> None:
    """Write the first t columns of h rows of a block to ``out``, or add them."""
    for r in range(h):
        from_ = B[r * width : r * width + t]
        to = out[o + r * orow : o + r * orow + t]
        if add:
            for c in range(t):
                to[c] += from_[c]
        else:
            for c in range(t):
                to[c] = from_[c]
