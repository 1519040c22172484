"""A sum and product of kernels against the same formula written by hand as one Numba pass, one core, float32.

The pass by hand uses the same tiles (128 rows, panels of 256 columns, four rows and four coordinates at a time), knows
its formula, and is compiled for it alone. It is timed in several forms: both statistics summed in one loop; each in a
loop of its own; up to four coordinates, without a tile at all; and (shown, not judged) distances from inner products
and norms, which is less work and loses digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import _peers
import numpy as np
from _case import Case, Measured, Scene, Within
from _timing import race
from numba import njit, types
from numba.extending import intrinsic

from mercer import Engine, gram
from mercer.kernels import Gaussian, Kernel, Matern, Polynomial, RationalQuadratic

N, ROWS, WIDTH = 20_000, 128, 256
EXACT = {"contract", "nnan", "ninf", "nsz", "arcp"}  # no reassoc inside exp: it would undo its two-part reduction
inlined = njit(forceinline=True, fastmath=EXACT, error_model="numpy")
a_pass = njit(nogil=True, fastmath=EXACT | {"reassoc"}, error_model="numpy")

# ---------------------------------------------------------------- an exp that vectorises, by hand


@intrinsic
def bits_to_float(typingctx: Any, x: Any) -> Any:
    from llvmlite import ir

    return types.float32(types.int32), lambda context, builder, sig, args: builder.bitcast(args[0], ir.FloatType())


@intrinsic
def float_to_bits(typingctx: Any, x: Any) -> Any:
    from llvmlite import ir

    return types.int32(types.float32), lambda context, builder, sig, args: builder.bitcast(args[0], ir.IntType(32))


F = np.float32
LOG2E, HIGH, LOW, ROUND, DEEPEST = F(1.4426950408889634), F(0.693359375), F(-2.12194440e-4), F(1.5 * 2**23 + 127), F(87)
Q0, Q1, Q2, Q3, Q4 = F(0.499999934321), F(0.16666520399), F(0.0416683907835), F(0.00836874511), F(0.001381454)
ZERO, HALF, ONE, TWO = F(0), F(0.5), F(1), F(2)


@inlined
def exp_minus(x):
    y = min(x, DEEPEST)
    shifted = ROUND - y * LOG2E
    n = shifted - ROUND
    r = (-y - n * HIGH) - n * LOW
    q = (((Q4 * r + Q3) * r + Q2) * r + Q1) * r + Q0
    return (q * (r * r) + (r + ONE)) * bits_to_float(np.int32(float_to_bits(shifted) << np.int32(23)))


ROOT3 = F(math.sqrt(3.0))


@inlined
def three(s, t):  # 0.5 * Gaussian(1) + Polynomial(2) * RationalQuadratic(1)
    p = ONE + s
    return HALF * exp_minus(t) + p * p * (ONE / (ONE + t))


@inlined
def four(s, t):  # the same + Matern(1.5)
    p, u = ONE + s, ROOT3 * np.sqrt(t)
    return HALF * exp_minus(t) + p * p * (ONE / (ONE + t)) + (ONE + u) * exp_minus(u)


@inlined
def four_multiplied(s, t):  # (0.5 * Gaussian(1) + Matern(1.5)) * (Polynomial(2) + RationalQuadratic(1))
    p, u = ONE + s, ROOT3 * np.sqrt(t)
    return (HALF * exp_minus(t) + (ONE + u) * exp_minus(u)) * (p * p + ONE / (ONE + t))


# ---------------------------------------------------------------- the tile, by hand

U = np.uintp
W = U(WIDTH)
U0, U1, U2, U3, U4 = U(0), U(1), U(2), U(3), U(4)


@inlined
def dot4(a0, a1, a2, a3, p0, p1, p2, p3):
    return (a0 * p0 + a1 * p1) + (a2 * p2 + a3 * p3)


@inlined
def squares4(a0, a1, a2, a3, p0, p1, p2, p3):
    t0, t1, t2, t3 = a0 - p0, a1 - p1, a2 - p2, a3 - p3
    return (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)


def filler(of: Callable[..., Any]) -> Callable[..., Any]:
    """Return a loop that sums one statistic into a tile: four rows, four coordinates, 256 columns at a time."""

    @a_pass
    def fill(X, d, i0, h, P, b, S):
        D = U(d)
        panel = U(b) * D * W
        for r in range(0, h, 4):
            s0 = U(r) * W
            s1, s2, s3 = s0 + W, s0 + U2 * W, s0 + U3 * W
            x0 = U(i0 + r) * D
            for k in range(0, d, 4):
                x, p = x0 + U(k), panel + U(k) * W
                a0, a1, a2, a3 = X[x], X[x + U1], X[x + U2], X[x + U3]
                x = x + D
                b0, b1, b2, b3 = X[x], X[x + U1], X[x + U2], X[x + U3]
                x = x + D
                c0, c1, c2, c3 = X[x], X[x + U1], X[x + U2], X[x + U3]
                x = x + D
                e0, e1, e2, e3 = X[x], X[x + U1], X[x + U2], X[x + U3]
                if k == 0:
                    for jj in range(WIDTH):
                        j = U(jj)
                        p0, p1, p2, p3 = P[p + j], P[p + W + j], P[p + U2 * W + j], P[p + U3 * W + j]
                        S[s0 + j] = of(a0, a1, a2, a3, p0, p1, p2, p3)
                        S[s1 + j] = of(b0, b1, b2, b3, p0, p1, p2, p3)
                        S[s2 + j] = of(c0, c1, c2, c3, p0, p1, p2, p3)
                        S[s3 + j] = of(e0, e1, e2, e3, p0, p1, p2, p3)
                else:
                    for jj in range(WIDTH):
                        j = U(jj)
                        p0, p1, p2, p3 = P[p + j], P[p + W + j], P[p + U2 * W + j], P[p + U3 * W + j]
                        S[s0 + j] += of(a0, a1, a2, a3, p0, p1, p2, p3)
                        S[s1 + j] += of(b0, b1, b2, b3, p0, p1, p2, p3)
                        S[s2 + j] += of(c0, c1, c2, c3, p0, p1, p2, p3)
                        S[s3 + j] += of(e0, e1, e2, e3, p0, p1, p2, p3)

    return fill


fill_dots, fill_squares = filler(dot4), filler(squares4)


@a_pass
def fill_both(X, d, i0, h, P, b, S, T):
    """Sum both statistics in one loop, which reads each coordinate once: two rows, for want of registers."""
    D = U(d)
    panel = U(b) * D * W
    for r in range(0, h, 2):
        s0 = U(r) * W
        s1 = s0 + W
        x0 = U(i0 + r) * D
        for k in range(0, d, 4):
            x, p = x0 + U(k), panel + U(k) * W
            a0, a1, a2, a3 = X[x], X[x + U1], X[x + U2], X[x + U3]
            x = x + D
            b0, b1, b2, b3 = X[x], X[x + U1], X[x + U2], X[x + U3]
            if k == 0:
                for jj in range(WIDTH):
                    j = U(jj)
                    p0, p1, p2, p3 = P[p + j], P[p + W + j], P[p + U2 * W + j], P[p + U3 * W + j]
                    S[s0 + j] = dot4(a0, a1, a2, a3, p0, p1, p2, p3)
                    S[s1 + j] = dot4(b0, b1, b2, b3, p0, p1, p2, p3)
                    T[s0 + j] = squares4(a0, a1, a2, a3, p0, p1, p2, p3)
                    T[s1 + j] = squares4(b0, b1, b2, b3, p0, p1, p2, p3)
            else:
                for jj in range(WIDTH):
                    j = U(jj)
                    p0, p1, p2, p3 = P[p + j], P[p + W + j], P[p + U2 * W + j], P[p + U3 * W + j]
                    S[s0 + j] += dot4(a0, a1, a2, a3, p0, p1, p2, p3)
                    S[s1 + j] += dot4(b0, b1, b2, b3, p0, p1, p2, p3)
                    T[s0 + j] += squares4(a0, a1, a2, a3, p0, p1, p2, p3)
                    T[s1 + j] += squares4(b0, b1, b2, b3, p0, p1, p2, p3)


@a_pass
def distances_from_dots(S, h, nx, ny, T):
    for r in range(h):
        s, t, a = S[r * WIDTH : (r + 1) * WIDTH], T[r * WIDTH : (r + 1) * WIDTH], nx[r]
        for j in range(WIDTH):
            t[j] = max(a + ny[j] - TWO * s[j], ZERO)


def by_hand(formula: Callable[..., Any], how: str) -> Callable[..., np.ndarray]:
    """Return K @ v for one formula, preparation included; its pass is compiled on the first call."""

    @a_pass
    def use(S, T, h, v, out):  # four rows at a time share the loads of v
        for r in range(0, h, 4):
            q0 = U(r) * W
            q1, q2, q3 = q0 + W, q0 + U2 * W, q0 + U3 * W
            e0, e1, e2, e3 = ZERO, ZERO, ZERO, ZERO
            for jj in range(WIDTH):
                j = U(jj)
                x = v[jj]
                e0 += formula(S[q0 + j], T[q0 + j]) * x
                e1 += formula(S[q1 + j], T[q1 + j]) * x
                e2 += formula(S[q2 + j], T[q2 + j]) * x
                e3 += formula(S[q3 + j], T[q3 + j]) * x
            out[r] += e0
            out[r + 1] += e1
            out[r + 2] += e2
            out[r + 3] += e3

    @a_pass
    def use_rows(X, i0, h, P, b, v, out):  # four coordinates: statistics, formula and sum in registers, two rows a time
        p = U(b) * U4 * W
        for r in range(0, h, 2):
            x = U(i0 + r) * U4
            a0, a1, a2, a3 = X[x], X[x + U1], X[x + U2], X[x + U3]
            x = x + U4
            b0, b1, b2, b3 = X[x], X[x + U1], X[x + U2], X[x + U3]
            e0, e1 = ZERO, ZERO
            for jj in range(WIDTH):
                j = U(jj)
                p0, p1, p2, p3 = P[p + j], P[p + W + j], P[p + U2 * W + j], P[p + U3 * W + j]
                s0, t0 = dot4(a0, a1, a2, a3, p0, p1, p2, p3), squares4(a0, a1, a2, a3, p0, p1, p2, p3)
                s1, t1 = dot4(b0, b1, b2, b3, p0, p1, p2, p3), squares4(b0, b1, b2, b3, p0, p1, p2, p3)
                e0 += formula(s0, t0) * v[jj]
                e1 += formula(s1, t1) * v[jj]
            out[r] += e0
            out[r + 1] += e1

    apart, norms, untiled = how == "two loops", how == "norms", how == "no tile"

    @a_pass
    def everything(X, d, n, P, panels, v, out, S, T, nx, ny):
        for i in range(0, n, ROWS):
            o = out[i : i + ROWS]
            for b in range(panels):
                w = v[b * WIDTH : (b + 1) * WIDTH]
                if untiled:
                    use_rows(X, i, ROWS, P, b, w, o)
                    continue
                if apart:
                    fill_dots(X, d, i, ROWS, P, b, S)
                    fill_squares(X, d, i, ROWS, P, b, T)
                elif norms:
                    fill_dots(X, d, i, ROWS, P, b, S)
                    distances_from_dots(S, ROWS, nx[i : i + ROWS], ny[b * WIDTH : (b + 1) * WIDTH], T)
                else:
                    fill_both(X, d, i, ROWS, P, b, S, T)
                use(S, T, ROWS, w, o)

    def run(X: np.ndarray, Y: np.ndarray, v: np.ndarray) -> np.ndarray:
        A, B = padded(X, ROWS), padded(Y, WIDTH)
        depth = A.shape[1]
        P = np.ascontiguousarray(B.reshape(-1, WIDTH, depth).transpose(0, 2, 1)).reshape(-1)
        V = np.zeros(len(B), np.float32)
        V[: len(v)] = v
        out = np.zeros(len(A))  # float64, as ours
        S, T = np.empty(ROWS * WIDTH, np.float32), np.empty(ROWS * WIDTH, np.float32)
        nx, ny = (A * A).sum(1), (B * B).sum(1)
        everything(A.reshape(-1), depth, len(A), P, len(B) // WIDTH, V, out, S, T, nx, ny)
        return out[: len(X)].astype(np.float32)

    return run


def padded(X: np.ndarray, whole: int) -> np.ndarray:
    A = np.zeros((-(-len(X) // whole) * whole, -(-X.shape[1] // 4) * 4), np.float32)
    A[: len(X), : X.shape[1]] = X
    return A


# ---------------------------------------------------------------- the cases

FORMULAS: dict[str, tuple[Kernel, Callable[..., Any]]] = {
    "three": (0.5 * Gaussian(1.0) + Polynomial(2) * RationalQuadratic(1.0), three),
    "four": (0.5 * Gaussian(1.0) + Polynomial(2) * RationalQuadratic(1.0) + Matern(1.5), four),
    "four-multiplied": (
        (0.5 * Gaussian(1.0) + Matern(1.5)) * (Polynomial(2) + RationalQuadratic(1.0)),
        four_multiplied,
    ),
}


def fused(scene: Scene, name: str, d: int) -> Measured:
    kernel, formula = FORMULAS[name]
    n = scene.size(N)
    X, Y = (_peers.normal(n, d, np.float32, seed) for seed in (0, 1))
    v = _peers.normal(n, 1, np.float32, seed=2)[:, 0]
    one = Engine(threads=1)
    ready = gram(kernel, X, Y, one)
    contenders = {"mercer": lambda: gram(kernel, X, Y, one) @ v, "mercer, Gram ready": lambda: ready @ v}
    forms = {"by hand, one loop": "one loop", "by hand, two loops": "two loops", "norms by hand (not judged)": "norms"}
    forms |= {"by hand, no tile": "no tile"} if d <= 4 else {}
    for label, how in forms.items():
        run = by_hand(formula, how)
        contenders[label] = lambda run=run: run(X, Y, v)
    return race(contenders, scene.repeats, 1, note=f"one core; {kernel}")


CASES = [
    Case(f"fusion-{name}-d{d}", (Within(1.25, ("by hand",)),), lambda s, name=name, d=d: fused(s, name, d))
    for name in FORMULAS
    for d in (3, 20)
]
