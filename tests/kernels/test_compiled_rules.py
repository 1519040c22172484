"""Each scalar rule, compiled. Oracle: the same rule as plain Python on whole arrays."""

import numpy as np
import pytest

from mercer._rules import cast
from mercer.kernels import (
    ArcCosine,
    Cauchy,
    Chi2,
    Constant,
    Cosine,
    Gaussian,
    Intersection,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    exp,
)
from mercer.kernels._form import Fused, Weighted, profile
from mercer.kernels._statistics import Dot, term
from tests.oracles import tolerance

pytest.importorskip("mercer.gram._passes")  # it makes the rules known to the compiler

KERNELS = [
    Linear(),
    Polynomial(3, inner=0.5, outer=2.0, gamma=0.25),
    Gaussian(1.5),
    Matern(0.5),
    Matern(1.5),
    Matern(2.5),
    RationalQuadratic(2.5, scale=1.5),
    Cauchy(1.5),
    Constant(2.5),
    Chi2(0.5),
    Intersection(),
    Cosine(),
    ArcCosine(0),
    ArcCosine(1),
    ArcCosine(2),
    exp(0.5 * Linear()),
    0.5 * Gaussian(1.0) + Polynomial(2) * RationalQuadratic(1.0),
]


def rule_of(kernel):
    form = kernel.form()
    while isinstance(form, Weighted):
        form = form.part
    assert isinstance(form, Fused)
    return form


def every_rule_inside(rule):
    yield type(rule)
    for part in rule:
        if isinstance(part, tuple):
            yield from every_rule_inside(part)


def test_every_rule_is_tried():
    tried = {inner for kernel in KERNELS for inner in every_rule_inside(rule_of(kernel).rule)}
    missing = {rule for rule in profile.rules if rule.__module__.startswith("mercer.")} - tried
    assert not missing


def looped(rule, s, t, out):
    for i in range(len(s)):
        out[i] = profile(rule, s[i], t[i])
    return profile(rule, s[0], t[0])


def summed(statistic, a, b, out):
    for i in range(len(a)):
        out[i] = term(statistic, a[i], b[i])
    return term(statistic, a[0], b[0])


def returned(dispatcher):
    """The type one value has inside the loop, before it is stored: a literal could have made it wider."""
    (made,) = dispatcher.overloads.values()
    return np.dtype(str(made.signature.return_type))


@pytest.fixture(scope="module")
def compile_():
    numba = pytest.importorskip("numba")
    if numba.config.DISABLE_JIT:
        pytest.skip("the compiler is switched off")
    return numba.njit(error_model="numpy")


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_profile_is_the_plain_one(compile_, kernel, dtype):
    form = rule_of(kernel)
    rule = cast(form.rule, dtype)
    inner = form.statistics and isinstance(form.statistics[0], Dot)
    s = np.linspace(-1.5, 1.5, 61, dtype=dtype) if inner else np.geomspace(1e-6, 1e3, 61, dtype=dtype)
    t = np.concatenate([[0.0], np.geomspace(1e-6, 50, 59), [1e30]]).astype(dtype)  # the last would make inf times 0
    s = t if len(form.statistics) == 1 and not inner else s
    got = np.empty_like(s)
    fast = compile_(looped)
    fast(rule, s, t, got)
    with np.errstate(over="ignore", under="ignore"):
        wanted = np.broadcast_to(
            profile(cast(form.rule, np.float64), s.astype(np.float64), t.astype(np.float64)), s.shape
        )
    # exp magnifies the rounding of its argument, and arccos that of a cosine near 1 by the root of it.
    rtol = tolerance(dtype, 10)
    atol = rtol if not isinstance(kernel, ArcCosine) or kernel.order else np.sqrt(np.finfo(dtype).eps)
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol * min(1.0, float(np.abs(wanted).max())))
    assert returned(fast) == dtype


@pytest.mark.parametrize("statistic", list(term.rules), ids=lambda s: s.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_term_is_the_plain_one(compile_, statistic, dtype):
    a, b = (grid.ravel() for grid in np.meshgrid([0.0, 0.5, 1.0, 3.0], [0.0, 0.25, 1.0, 7.0]))
    a, b = a.astype(dtype), b.astype(dtype)
    got, fast = np.empty_like(a), compile_(summed)
    fast(statistic(), a, b, got)
    np.testing.assert_allclose(got, term(statistic(), a, b), rtol=tolerance(dtype))
    assert returned(fast) == dtype
