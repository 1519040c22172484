"""The closure rules as operators. Oracle: the same operation on the matrices, and trees against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import (
    ArcCosine,
    Constant,
    Cosine,
    Gaussian,
    Kernel,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    SetIntersection,
    White,
    exp,
    polynomial,
)
from mercer.kernels._form import Fused, Mixed, Weighted
from mercer.testing import check_kernel
from tests.oracles import smallest_eigenvalue

pytestmark = pytest.mark.uncompiled

G, L, P = Gaussian(1.5), Linear(), Polynomial(2)


def double(x):
    return 2.0 * float(x.sum())


@pytest.fixture(name="X")
def some_rows(rng):
    return rng.standard_normal((9, 3))


@pytest.mark.parametrize(
    "kernel,oracle",
    [
        (3 * G, lambda g, el, p: 3 * g),
        (G * 0.5, lambda g, el, p: 0.5 * g),
        (G / 4, lambda g, el, p: g / 4),
        (G + L, lambda g, el, p: g + el),
        (2 + L, lambda g, el, p: 2 + el),
        (L + 2, lambda g, el, p: 2 + el),
        (G * L * P, lambda g, el, p: g * el * p),
        (L**3, lambda g, el, p: el**3),
        (L**7, lambda g, el, p: el**7),
        (polynomial(L, [1, 0, 0.5, 2]), lambda g, el, p: 1 + 0.5 * el**2 + 2 * el**3),
        (polynomial(L, [3]), lambda g, el, p: 3 + 0 * el),
        (exp(0.1 * P), lambda g, el, p: np.exp(0.1 * p)),
        (0.5 * G + P * G, lambda g, el, p: 0.5 * g + p * g),
        (P.normalized(), lambda g, el, p: p / np.sqrt(p.diagonal()[:, None] * p.diagonal())),
        ((G + Laplace(1.0)) * 0, lambda g, el, p: 0 * g),
    ],
    ids=lambda value: repr(value) if isinstance(value, Kernel) else "",  # a function's repr holds its address
)
def test_operators_are_the_operations(X, kernel, oracle):
    np.testing.assert_allclose(kernel(X), oracle(G(X), L(X), P(X)), rtol=1e-12, atol=1e-14)
    check_kernel(kernel, X)
    assert eval(repr(kernel)) == kernel


def test_warp_is_rule_6(X):
    f = np.array([double(x) for x in X])
    np.testing.assert_allclose(G.warp(double)(X), f[:, None] * G(X) * f, rtol=1e-12)
    rows = G.warp(lambda Z: Z.sum(axis=1), vectorized=True)
    np.testing.assert_allclose(rows(X, X[:2]), (X.sum(axis=1)[:, None] * G(X) * X.sum(axis=1))[:, :2], rtol=1e-12)
    check_kernel(G.warp(double), X)
    assert eval(repr(L.warp(double))) == L.warp(double)


def test_columns_and_transforms(X):
    np.testing.assert_array_equal(G.on([0, 2])(X), G(X[:, [0, 2]]))
    np.testing.assert_array_equal(G.on(1)(X), G(X[:, [1]]))
    np.testing.assert_array_equal(G.on(slice(0, 2))(X), G(X[:, :2]))
    np.testing.assert_array_equal(G.of(np.tanh)(X), G(np.tanh(X)))
    np.testing.assert_array_equal((P.normalized() + L).of(np.tanh)(X), (P.normalized() + L)(np.tanh(X)))
    for kernel in (G.on([0, 2]), P.normalized().on([0, 1]), (G * L).of(np.tanh), ArcCosine(1).on([2]).of(np.tanh)):
        check_kernel(kernel, X)


def test_what_shares_a_core_is_one_pass():
    fused = [
        0.5 * Gaussian(1.0) + P * RationalQuadratic(2.0),
        exp(L) + 3,
        Matern(2.5) * G * L**3 + 1,
        exp(SetIntersection()),
        polynomial(G, [1, 2]),
        3 * (1 + Cosine()) ** 2,
        (G + L).on([0, 1]),
    ]
    assert all(isinstance(kernel.form(), Fused) for kernel in fused)
    # Row factors come out of products, and what is inside still fuses.
    for kernel in (2 * ArcCosine(1) * ArcCosine(2), G.warp(double) * L, 3 * P.normalized()):
        form = kernel.form()
        while isinstance(form, Weighted):
            form = form.part
        assert isinstance(form, Fused)
    assert isinstance((G + Laplace(1.0)).form(), Mixed)  # two distances do not share a slot
    assert isinstance((G + Cosine()).form(), Mixed)  # nor do two views


# --------------------------------------------------------------------------------------------------------- random trees

leaves = st.one_of(
    st.builds(Gaussian, st.sampled_from([0.5, 1.0, 3.0, (0.5, 1.0)])),
    st.builds(Laplace, st.sampled_from([0.5, 2.0])),
    st.builds(Matern, st.sampled_from([0.5, 1.5, 2.5]), st.sampled_from([1.0, 2.0])),
    st.builds(RationalQuadratic, st.sampled_from([0.5, 1.0, 3.0])),
    st.builds(Constant, st.sampled_from([0.0, 0.5, 2])),
    st.builds(Linear, st.sampled_from([None, [[2.0, 1.0], [1.0, 0.5]]])),
    st.builds(Polynomial, st.integers(1, 3), st.sampled_from([0, 0.5])),
    st.sampled_from([Cosine(), ArcCosine(1), ArcCosine(2), White()]),
)


def grown(trees):
    numbers = st.sampled_from([0, 0.25, 1, 2.5])
    return st.one_of(
        st.builds(lambda c, k: c * k, numbers, trees),
        st.builds(lambda a, b: a + b, trees, trees),
        st.builds(lambda c, k: c + k, numbers, trees),
        st.builds(lambda a, b: a * b, trees, trees),
        st.builds(lambda k, n: k**n, trees, st.integers(1, 3)),
        st.builds(polynomial, trees, st.lists(numbers, min_size=1, max_size=3)),
        st.builds(lambda k: exp(0.1 * k.normalized()), trees),
        st.builds(lambda k: k.warp(double), trees),
        st.builds(lambda k: k.normalized(), trees),
        st.builds(lambda k: k.of(np.tanh), trees),
        st.builds(lambda k: k.on([0, 1]), trees),
    )


trees = st.recursive(leaves, grown, max_leaves=4)
data = st.builds(
    lambda seed, n, size, repeats: _points(seed, n, size, repeats),
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.sampled_from([1e-3, 1.0, 10.0]),
    st.booleans(),
)


def _points(seed, n, size, repeats):
    rng = np.random.default_rng(seed)
    X = size * rng.standard_normal((n, 2))
    return X[rng.integers(0, n, n)] if repeats else X


@settings(max_examples=150)
@given(trees, data)
def test_every_tree_of_rules_is_a_kernel(kernel, X):
    K = kernel(X)
    assert np.isfinite(K).all()
    assert smallest_eigenvalue(K) >= -1e-9 * np.trace(K)
    np.testing.assert_allclose(K, K.T, rtol=1e-12)
    derivation = kernel.derivation()
    assert derivation.proven
    assert derivation.lines[-1].claim == kernel.formula()


@given(trees)
def test_printed_trees_read_back(kernel):
    again = eval(repr(kernel))
    assert again == kernel
    assert hash(again) == hash(kernel)
    assert repr(again) == repr(kernel)


@given(trees, trees)
def test_trees_are_values(a, b):
    if repr(a) == repr(b):
        assert a == b
    if a == b:
        assert hash(a) == hash(b)
    assert len({a, b, a}) == (1 if a == b else 2)
    assert a != a + a


BREAKS = {
    "rule 2 allows": lambda k: -1 * k,
    "rules 2 and 3 allow": lambda k: k + -0.5,
    "rule 4 allows g": lambda k: polynomial(k, [1, -1]),
    r"rule 4 \(and 5\) allow": lambda k: k**0.5,
    "no closure rule covers a difference": lambda k: 2 - k,
    "no closure rule covers a quotient": lambda k: k / k,
}


@settings(max_examples=30)
@given(trees, st.sampled_from(sorted(BREAKS)))
def test_a_broken_rule_is_refused_in_any_tree(kernel, rule):
    with pytest.raises(ValueError, match=rule):
        exp(1 + BREAKS[rule](kernel) * kernel)
