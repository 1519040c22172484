"""The axioms and the geometry, on random spaces and vectors. Oracle: the definitions themselves."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.spaces import laws
from tests.spaces.strategies import entries, with_vectors

few = settings(max_examples=60)


def close(a, b, scale):
    return abs(a - b) <= 1e-12 * (scale + 1e-9)


@few
@given(with_vectors(3), st.data())
def test_inner_is_linear_in_the_first_argument(case, data):
    space, (x, y, z) = case
    a = data.draw(entries(space.complex))
    scale = (abs(a) * space.norm(x) + space.norm(z)) * space.norm(y)
    left = space.inner(space.combine([a, 1.0], [x, z]), y)
    assert close(left, a * space.inner(x, y) + space.inner(z, y), scale)


@few
@given(with_vectors(2))
def test_inner_is_conjugate_symmetric_and_positive(case):
    space, (x, y) = case
    assert type(space.inner(x, y)) is (complex if space.complex else float)
    assert close(space.inner(x, y), np.conj(space.inner(y, x)), space.norm(x) * space.norm(y))
    assert close(space.inner(x, x), space.norm(x) ** 2, space.norm(x) ** 2)
    assert (space.norm(x) > 0) == bool(np.any(x))


@few
@given(with_vectors(2))
def test_laws_hold(case):
    space, (x, y) = case
    assert laws.cauchy_schwarz(x, y, space)
    assert laws.parallelogram(x, y, space)
    if space.norm(x) > 0:
        z = space.combine([1.0, -1.0], [y, space.project(y, [x])])
        if space.norm(z) > 1e-6 * space.norm(y):
            assert laws.pythagoras(x, z, space)
            assert space.is_orthogonal(x, z, tol=1e-8)


@few
@given(with_vectors(2))
def test_distance_and_angle_agree_with_inner(case):
    space, (x, y) = case
    scale = space.norm(x) ** 2 + space.norm(y) ** 2
    square = space.inner(x, x) + space.inner(y, y) - 2 * complex(space.inner(x, y)).real
    assert close(space.distance(x, y) ** 2, square, scale)
    if space.norm(x) > 0 and space.norm(y) > 0:
        assert abs(space.cosine(x, y)) <= 1 + 1e-15
        assert abs(math.cos(space.angle(x, y)) - complex(space.cosine(x, y)).real) < 1e-12


@few
@given(with_vectors(4))
def test_projection_is_idempotent_with_an_orthogonal_residual(case):
    space, (x, *basis) = case
    basis.append(basis[0])  # dependent on purpose
    p = space.project(x, basis)
    rest = space.combine([1.0, -1.0], [x, p])
    tol = max(1e-9, 10 * space.dependence)  # what is closer to dependent counts as dependent
    assert all(abs(space.inner(rest, b)) <= tol * (space.norm(x) * space.norm(b) + 1e-9) for b in basis)
    assert space.distance(space.project(p, basis), p) <= tol * (space.norm(x) + 1e-9)


@few
@given(with_vectors(4))
def test_gram_schmidt_is_orthonormal_and_spans(case):
    space, vectors = case
    found = space.gram_schmidt(vectors)
    assert sorted(found.kept + found.dropped) == [0, 1, 2, 3]
    np.testing.assert_allclose(space.gram(found.vectors), np.eye(len(found)), atol=1e-9)
    for v in vectors:
        assert space.distance(space.project(v, found.vectors), v) <= 1e-6 * (space.norm(v) + 1e-9)


@few
@given(with_vectors(3))
def test_gram_holds_the_inner_products(case):
    space, vectors = case
    scale = max(space.norm(v) for v in vectors) ** 2
    gram = space.gram(vectors)
    assert (gram == gram.conj().T).all()
    assert all(close(gram[i, j], space.inner(vectors[i], vectors[j]), scale) for i in range(3) for j in range(3))
