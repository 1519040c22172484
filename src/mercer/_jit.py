"""Compiling rules and passes: the only module that sets Numba options.

Every pass compiled here is kept on disk by `mercer._code_cache`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering
from numba.extending import intrinsic, overload

import mercer._rules as _rules
from mercer._code_cache import Store
from mercer._rules import Scalar

STRICT = {"contract", "nnan", "ninf", "nsz", "arcp"}  # no reassoc: it would undo the two-part reduction inside exp
SUMS = STRICT | {"reassoc"}  # lets a running sum become vector lanes


class _WideLower(Lower):
    """Lets a function use the widest vectors there are.

    On machines with 512-bit vectors LLVM keeps to 256 bits unless told otherwise, for code that meets a vector now and
    then; loops over tiles do little else, and gain up to 1.4.
    """

    def pre_lower(self) -> None:
        super().pre_lower()
        # llvmlite prints any text here, though its own ``add`` knows attributes of one word only
        set.add(self.function.attributes, '"prefer-vector-width"="512"')


@register_pass(mutates_CFG=True, analysis_only=False)
class _WideLowering(NativeLowering):
    _name = "mercer_wide_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return _WideLower


class _Wide(CompilerBase):
    """Numba's compiler, with `_WideLower` in place of its own."""

    def define_pipelines(self) -> list[Any]:
        plan = DefaultPassBuilder.define_nopython_pipeline(self.state)
        plan.passes = [(_WideLowering if step is NativeLowering else step, text) for step, text in plan.passes]
        return [plan]


def compiled(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a pass over tiles: no interpreter lock, running sums in vector lanes, kept on disk."""
    options: dict[str, Any] = {"nogil": True, "fastmath": SUMS, "error_model": "numpy", "boundscheck": False}
    dispatcher = numba.njit(**options, pipeline_class=_Wide)(fn)
    if hasattr(dispatcher, "_cache"):  # not so when Numba is switched off
        dispatcher._cache = Store(fn)
    return dispatcher


def attach(stub: Scalar, *, sums: bool = False) -> None:
    """Let compiled code call a scalar function: the rule is picked by type while compiling, then fused.

    With ``sums``, rules are loops whose running sums may become vector lanes.
    """
    first, *_ = parameters = list(inspect.signature(stub).parameters)
    names = ", ".join(parameters)
    scope: dict[str, Any] = {"rule_of": lambda p: _bare(stub.rules.get(getattr(p, "instance_class", type(None))))}
    # Numba wants the very names of the stub; a signature can only be written out, so this is the one exec.
    exec(f"def pick({names}): return rule_of({first})", scope)  # noqa: S102
    overload(stub, jit_options=_RULE_OPTIONS | ({"fastmath": SUMS, "forceinline": False} if sums else {}))(
        scope["pick"]
    )


def _bare(rule: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Return a rule without its annotations: Numba compares signatures to the letter."""
    return rule and FunctionType(rule.__code__, rule.__globals__, rule.__name__, rule.__defaults__, rule.__closure__)


_RULE_OPTIONS: dict[str, Any] = {
    "fastmath": STRICT, "error_model": "numpy", "forceinline": True, "pipeline_class": _Wide,
}  # fmt: skip  # one line of options


@overload(_rules.where, jit_options=_RULE_OPTIONS)
def _where(condition, a, b):  # type: ignore[no-untyped-def]  # Numba compares bare signatures
    return lambda condition, a, b: a if condition else b


@overload(_rules.const, jit_options=_RULE_OPTIONS)
def _const(value, like):  # type: ignore[no-untyped-def]  # as above
    if like == types.float32:
        return lambda value, like: np.float32(value)
    return lambda value, like: np.float64(value)


# ---------------------------------------------------------------- running minima that vectorise
#
# A minimum becomes vector lanes only where the *select* carries fast-math flags, which Numba does not give it.


def _select(sign: str) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        chosen = builder.fcmp_ordered(sign, args[0], args[1], flags=("fast",))
        return builder.select(chosen, args[0], args[1], flags=("fast",))

    return generate


@intrinsic
def _fast_smaller(typingctx: Any, a: Any, b: Any) -> Any:
    return a(a, b), _select("<")


@intrinsic
def _fast_larger(typingctx: Any, a: Any, b: Any) -> Any:
    return a(a, b), _select(">")


@overload(_rules.smaller, jit_options=_RULE_OPTIONS)
def _smaller(a, b):  # type: ignore[no-untyped-def]  # as above
    return lambda a, b: _fast_smaller(a, b)


@overload(_rules.larger, jit_options=_RULE_OPTIONS)
def _larger(a, b):  # type: ignore[no-untyped-def]  # as above
    return lambda a, b: _fast_larger(a, b)


# ---------------------------------------------------------------- memory asked for before it is needed


@intrinsic
def _fetch(typingctx: Any, a: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array = context.make_array(sig.args[0])(context, builder, args[0])
        at = context.cast(builder, args[1], sig.args[1], types.intp)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        place = builder.bitcast(builder.gep(array.data, [at]), byte)
        builder.call(fetch, [place, word(0), word(3), word(1)])  # to read, and to keep in all caches
        return context.get_dummy_value()

    return types.void(a, i), generate


@overload(_rules.prefetch, jit_options=_RULE_OPTIONS)
def _prefetch(a, i):  # type: ignore[no-untyped-def]  # as above
    return lambda a, i: _fetch(a, i)


# ---------------------------------------------------------------- an exp that vectorises
#
# -x = n ln 2 + r with |r| <= ln(2) / 2, ln 2 in two parts. Adding a large constant rounds x log2(e) to n and leaves
# n + bias in the low bits, so that a shift makes 2^n. exp(r) = 1 + r + r^2 q(r) with q a minimax polynomial.


@intrinsic
def _bits32(typingctx: Any, x: Any) -> Any:
    return types.int32(types.float32), lambda context, builder, sig, args: builder.bitcast(args[0], ir.IntType(32))


@intrinsic
def _float32_of_bits(typingctx: Any, x: Any) -> Any:
    return types.float32(types.int32), lambda context, builder, sig, args: builder.bitcast(args[0], ir.FloatType())


@intrinsic
def _bits64(typingctx: Any, x: Any) -> Any:
    return types.int64(types.float64), lambda context, builder, sig, args: builder.bitcast(args[0], ir.IntType(64))


@intrinsic
def _float64_of_bits(typingctx: Any, x: Any) -> Any:
    return types.float64(types.int64), lambda context, builder, sig, args: builder.bitcast(args[0], ir.DoubleType())


_F = np.float32
_ROUND32 = _F(1.5 * 2**23 + 127)
_LOG2E, _LN2_HIGH, _LN2_LOW = _F(1.4426950408889634), _F(0.693359375), _F(-2.12194440e-4)
_Q0, _Q1, _Q2, _Q3, _Q4 = (_F(c) for c in (0.499999934321, 0.16666520399, 0.0416683907835, 0.00836874511, 0.001381454))
_DEEPEST32, _HIGHEST32, _ONE = _F(87.0), _F(-88.0), _F(1.0)
_ROUND64 = 1.5 * 2.0**52 + 1023
_D0, _D1, _D2, _D3, _D4, _D5, _D6, _D7, _D8, _D9 = (
    0.50000000000000106688, 0.16666666666666411508, 0.041666666666529728134, 0.008333333333494977261,
    0.0013888888943759984011, 0.00019841269505773806997, 0.000024801492949617070769, 2.7557586803847070697e-6,
    2.7630306255647857359e-7, 2.5000018853083341953e-8,
)  # fmt: skip  # one constant a power


@overload(_rules.exp_minus, jit_options=_RULE_OPTIONS)
def _exp_minus(x):  # type: ignore[no-untyped-def]  # as above
    if x == types.float32:

        def single(x):  # type: ignore[no-untyped-def]  # as above
            y = min(x, _DEEPEST32)
            shifted = _ROUND32 - y * _LOG2E
            n = shifted - _ROUND32
            r = (-y - n * _LN2_HIGH) - n * _LN2_LOW
            q = (((_Q4 * r + _Q3) * r + _Q2) * r + _Q1) * r + _Q0
            return (q * (r * r) + (r + _ONE)) * _float32_of_bits(np.int32(_bits32(shifted) << np.int32(23)))

        return single

    def double(x):  # type: ignore[no-untyped-def]  # as above
        y = min(x, 708.0)
        shifted = _ROUND64 - y * 1.4426950408889634
        n = shifted - _ROUND64
        r = (-y - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6
        r2 = r * r
        r4 = r2 * r2
        high = (_D4 + _D5 * r) + (_D6 + _D7 * r) * r2 + r4 * (_D8 + _D9 * r)
        p = (1.0 + r) + (_D0 + _D1 * r) * r2 + r4 * ((_D2 + _D3 * r) + r2 * high)
        return p * _float64_of_bits(_bits64(shifted) << np.int64(52))

    return double


_P = (
    0.69314720290688384135, 0.24022647906929344519, 0.055503323480922524614, 0.0096184378573674677094,
    0.0013398925975231476737, 0.00015353319416147326818,
)  # fmt: skip  # 2^f = 1 + f p(f), in float32
_P0, _P1, _P2, _P3, _P4, _P5 = (_F(c) for c in _P)
_DEEPEST2 = _F(125.0)
_R0, _R1, _R2, _R3, _R4, _R5, _R6, _R7, _R8, _R9 = (
    0.69314718055994919078, 0.24022650695909097832, 0.055504108664480741976, 0.0096181291079842302062,
    0.0013333558225989621044, 0.00015403529993335846517, 0.000015252659309227740583, 1.3215653838839541677e-6,
    1.0208347105582954977e-7, 7.0381700579442597319e-9,
)  # fmt: skip  # as above, in float64


@overload(_rules.exp2_minus, jit_options=_RULE_OPTIONS)
def _exp2_minus(x):  # type: ignore[no-untyped-def]  # as above
    if x == types.float32:

        def single(x):  # type: ignore[no-untyped-def]  # as above
            y = min(x, _DEEPEST2)
            shifted = _ROUND32 - y
            f = (_ROUND32 - shifted) - y
            p = ((((_P5 * f + _P4) * f + _P3) * f + _P2) * f + _P1) * f + _P0
            return (p * f + _ONE) * _float32_of_bits(np.int32(_bits32(shifted) << np.int32(23)))

        return single

    def double(x):  # type: ignore[no-untyped-def]  # as above
        y = min(x, 1021.0)
        shifted = _ROUND64 - y
        f = (_ROUND64 - shifted) - y
        f2 = f * f
        f4 = f2 * f2
        high = (_R4 + _R5 * f) + (_R6 + _R7 * f) * f2 + f4 * (_R8 + _R9 * f)
        p = (_R0 + _R1 * f) + (_R2 + _R3 * f) * f2 + f4 * high
        return (p * f + 1.0) * _float64_of_bits(_bits64(shifted) << np.int64(52))

    return double


@overload(_rules.exp, jit_options=_RULE_OPTIONS)
def _exp(x):  # type: ignore[no-untyped-def]  # as above
    if x == types.float32:
        return lambda x: _rules.exp_minus(max(-x, _HIGHEST32))
    return lambda x: _rules.exp_minus(max(-x, -709.0))
