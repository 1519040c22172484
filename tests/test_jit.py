"""What rules are compiled to: exponentials that vectorise, rules picked by type. The oracle is NumPy in long double."""

import inspect
import re
from typing import NamedTuple

import numba
import numpy as np
import pytest

from mercer import _rules
from mercer._jit import attach, compiled
from mercer._rules import scalar

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled here")


def over(function):
    """A compiled loop over a vector."""

    def loop(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    return numba.njit(loop)


def applied(function, x):
    out = np.empty_like(x)
    over(function)(x, out)
    return out


EXACT = {"exp": np.exp, "exp_minus": lambda x: np.exp(-x), "exp2_minus": lambda x: np.exp2(-x)}
ERROR = {  # relative, over the range where nothing is clamped
    ("exp", np.float32): 1.3e-7,
    ("exp_minus", np.float32): 1.3e-7,
    ("exp2_minus", np.float32): 1.3e-7,
    ("exp", np.float64): 5e-16,
    ("exp_minus", np.float64): 5e-16,
    ("exp2_minus", np.float64): 5e-16,
}


@pytest.mark.parametrize("name, dtype", ERROR, ids=lambda v: getattr(v, "__name__", v))
def test_exponentials_are_accurate(name, dtype, rng):
    deepest = 86.0 if dtype == np.float32 else 700.0
    x = np.concatenate([np.linspace(0, deepest, 200_001), 10.0 ** rng.uniform(-30, 0, 50_000)]).astype(dtype)
    x = np.concatenate([x, -x]) if name == "exp" else x
    exact = EXACT[name](x.astype(np.longdouble))
    error = np.abs(applied(getattr(_rules, name), x) - exact) / exact
    assert error.max() < ERROR[name, dtype]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["exp_minus", "exp2_minus"])
def test_windows_at_their_ends(name, dtype):
    largest = np.finfo(dtype).max
    x = np.array([0.0, -0.0, 1e30, largest, np.inf, np.finfo(dtype).tiny], dtype)
    values = applied(getattr(_rules, name), x)
    assert (values[[0, 1, 5]] == 1).all()
    assert (values[2:5] >= 0).all()
    assert (values[2:5] < 4 * np.finfo(dtype).tiny).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_stays_finite(dtype):
    values = applied(_rules.exp, np.array([0.0, 1e30, -1e30, -np.inf, np.inf], dtype))
    assert values[0] == 1
    assert np.isfinite(values).all()
    assert (values[[1, 4]] > np.finfo(dtype).max / 10).all()
    assert (values[2:4] < 4 * np.finfo(dtype).tiny).all()


def test_monotone_where_it_matters():
    """A larger distance is never a larger kernel value, beyond a rounding."""
    x = np.linspace(0, 4, 100_001, dtype=np.float32)
    values = applied(_rules.exp_minus, x).astype(float)
    assert (np.diff(values) <= 1.3e-7 * values[1:]).all()


# ---------------------------------------------------------------- rules


class Straight(NamedTuple):
    slope: object


class Twice(NamedTuple):
    inner: object


@scalar
def line(p, x):
    """A line."""


@line.rule(Straight)
def _(p: object, x: object) -> object:
    return p.slope * x


@line.rule(Twice)
def _(p: object, x: object) -> object:
    return _rules.const(2.0, x) * line(p.inner, x)


attach(line)


@compiled
def lines(p, x, out):
    """Fill out."""
    for i in range(x.size):
        out[i] = line(p, x[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nested_rules_are_fused(dtype):
    x, out = np.arange(5, dtype=dtype), np.empty(5, dtype)
    lines(Twice(Twice(Straight(dtype(1.5)))), x, out)
    assert np.array_equal(out, 6 * x)


def test_a_literal_keeps_the_precision():
    result = numba.njit(lambda x: _rules.const(0.1, x) * x)
    assert result(np.float32(1)) == np.float32(0.1)
    assert numba.typeof(result(np.float64(1))) == numba.float64
    assert result.overloads[(numba.float32,)].signature.return_type == numba.float32


def test_a_type_without_a_rule_does_not_compile():
    class Unknown(NamedTuple):
        slope: float

    with pytest.raises(numba.TypingError):
        lines(Unknown(1.0), np.ones(1), np.ones(1))


def test_attach_keeps_the_names_of_the_stub():
    assert list(inspect.signature(line).parameters) == ["p", "x"]


def test_compiled_passes_release_the_interpreter():
    assert lines.targetoptions["nogil"]


def test_compiled_passes_and_their_rules_may_use_the_widest_vectors():
    lines(Twice(Straight(np.float32(1.5))), np.ones(4, np.float32), np.empty(4, np.float32))
    text = next(iter(lines.inspect_llvm().values()))
    group = re.search(r"^define .*lines.*\) \w+ #(\d+) \{$", text, re.MULTILINE)
    assert re.search(rf'^attributes #{group[1]} = .*"prefer-vector-width"="512"', text, re.MULTILINE)


@compiled
def total_of_what_was_asked_for(a):
    s = a.dtype.type(0)
    for i in range(a.size):
        _rules.prefetch(a, i + 1000)  # beyond the end: nothing is read
        s += a[i]
    return s


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_asked_for_changes_nothing(dtype):
    a = np.arange(100, dtype=dtype)
    assert total_of_what_was_asked_for(a) == a.sum()
    assert any("llvm.prefetch" in text for text in total_of_what_was_asked_for.inspect_llvm().values())
