"""RKHS: the verbs of every space, on functions of one kernel, against the same verbs on explicit features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.functions import RKHS, RKHSFunction, section
from mercer.kernels import Gaussian, Linear, Polynomial, SetIntersection
from mercer.spaces import Euclidean, laws

SEEDS = st.integers(0, 2**32 - 1)


def some(rng, kernel, n=4, d=3):
    return RKHSFunction(kernel, rng.standard_normal((n, d)), rng.standard_normal(n))


@given(SEEDS)
def test_the_space_of_the_linear_kernel_is_euclidean(seed):
    rng = np.random.default_rng(seed)
    space, plain = RKHS(Linear()), Euclidean(3)
    f, g, h = (some(rng, Linear()) for _ in range(3))
    x, y, z = (v.weights() for v in (f, g, h))
    assert space.inner(f, g) == pytest.approx(plain.inner(x, y), abs=1e-10)
    assert space.norm(f) == pytest.approx(plain.norm(x), abs=1e-10)
    assert space.distance(f, g) == pytest.approx(plain.distance(x, y), abs=1e-7)
    assert space.angle(f, g) == pytest.approx(plain.angle(x, y), abs=1e-6)
    assert f.angle(g) == space.angle(f, g)
    assert np.allclose(space.gram([f, g, h]), plain.gram([x, y, z]), atol=1e-9)
    assert np.allclose(space.project(f, [g, h]).weights(), plain.project(x, [y, z]), atol=1e-6 * (1 + plain.norm(x)))


@given(SEEDS)
def test_gram_schmidt_is_orthonormal(seed):
    rng = np.random.default_rng(seed)
    space = RKHS(Gaussian(1.0))
    vectors = [some(rng, space.kernel) for _ in range(3)]
    found = space.gram_schmidt([*vectors, vectors[0] + vectors[1]])
    assert len(found) == 3
    assert found.dropped == (3,)
    assert np.allclose(space.gram(list(found)), np.eye(3), atol=1e-8)


def test_sections_take_the_short_way(rng):
    space, X = RKHS(Gaussian(1.0)), rng.standard_normal((5, 2))
    f = some(rng, space.kernel, d=2)
    sections = [2.0 * section(space.kernel, x) for x in X]
    assert np.allclose(space.gram(sections), 4 * Gaussian(1.0)(X))
    mixed = [*sections, sections[0] + sections[1]]
    assert np.allclose(space.gram(mixed)[:5, :5], space.gram(sections))
    p, q = space.project(f, sections), space.project(f, mixed)
    assert p.isclose(q)
    assert p.isclose(f.project(X))
    assert np.allclose(p(X), f(X))
    assert space.project(f, [*sections, 0.0 * f]).isclose(p)
    assert space.project(f, [0.0 * f]).norm() == 0.0
    assert space.project(f, sections, tol=0.5).norm() <= f.norm()
    assert space.gram([]).shape == (0, 0)


def test_several_outputs(rng):
    space, X = RKHS(Gaussian(1.0)), rng.standard_normal((4, 2))
    f, g = (RKHSFunction(space.kernel, X, rng.standard_normal((4, 2))) for _ in range(2))
    G = space.gram([f, g])
    assert G[0, 1] == pytest.approx(space.inner(f, g))
    p = space.project(f, [g])  # a multiple of g, not one for each output
    assert p.isclose((space.inner(f, g) / space.inner(g, g)) * g)
    assert space.project(f, [RKHSFunction(space.kernel, X[:1], [[1.0, 0.0]])]).coefficients[0, 1] == 0.0


def test_laws_give_verdicts(rng):
    space = RKHS(Gaussian(1.0))
    f = some(rng, space.kernel)
    equal = laws.cauchy_schwarz(f, 2.0 * f, space)
    assert equal
    assert equal.found == pytest.approx(0.5)
    assert "RKHSFunction" in str(equal)
    g = some(rng, space.kernel)
    right = g - space.project(g, [f])
    assert laws.pythagoras(f, right, space, tol=1e-8)
    assert space.is_orthogonal(f, right, tol=1e-8)
    assert not laws.pythagoras(f, f, space)


def test_sets_have_a_space_too():
    space = RKHS(SetIntersection())
    a, b = section(space.kernel, {1, 2}), section(space.kernel, {3})
    assert space.is_orthogonal(a, b)
    assert space.angle(a, a) == 0.0
    assert space.project(a + b, [b]).isclose(b)


def test_spaces_compare_and_describe():
    assert RKHS(Gaussian(1.0)) == RKHS(Gaussian(scale=1.0))
    assert RKHS(Gaussian(1.0)) != RKHS(Gaussian(2.0))
    assert "Complete" in RKHS(Gaussian(1.0)).describe()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda s, f: RKHS("rbf"), "RKHS: 'kernel' must be a Kernel"),
        (lambda s, f: RKHS(Gaussian(scale="median")), "'scale' must be a number"),
        (lambda s, f: s.inner(f, section(Polynomial(), 1.0)), r"functions of Gaussian\(scale=1.0\); got Polynomial"),
        (lambda s, f: s.norm(3.0), "vectors are RKHSFunctions; got 3.0"),
        (lambda s, f: s.gram([f, 1.0]), "vectors are RKHSFunctions"),
        (lambda s, f: s.project(1.0, [f]), "vectors are RKHSFunctions"),
        (lambda s, f: s.cosine(f, 0.0 * f), "norm > 0"),
    ],
)
def test_bad_input_is_refused(call, words):
    space = RKHS(Gaussian(1.0))
    with pytest.raises((ValueError, TypeError), match=words):
        call(space, section(space.kernel, 1.0))
