"""The derived verbs need inner and combine only. Oracle: NumPy's QR and least squares on the same vectors."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from mercer.spaces import Space


@dataclass(frozen=True)
class Opaque:
    """A vector that no verb can look into."""

    hidden: np.ndarray


class Bare(Space[Opaque]):
    """The least a space can define; complex if told so."""

    def __init__(self, complex=False):
        self.complex = complex

    def inner(self, x, y):
        value = np.vdot(y.hidden, x.hidden)
        return complex(value) if self.complex else float(value)

    def combine(self, coefficients, vectors):
        return Opaque(sum(c * v.hidden for c, v in zip(coefficients, vectors, strict=True)))


def rows(rng, n, dim, complex):
    return rng.standard_normal((n, dim)) + (1j * rng.standard_normal((n, dim)) if complex else 0)


@pytest.mark.parametrize("complex", [False, True])
def test_project_is_least_squares_even_on_a_dependent_basis(rng, complex):
    x, basis = rows(rng, 1, 6, complex)[0], rows(rng, 3, 6, complex)
    basis = np.vstack([basis, basis[0] - 2 * basis[1], np.zeros(6), 1e-8 * basis[2]])
    want = basis.T @ np.linalg.lstsq(basis.T, x, rcond=1e-12)[0]
    got = Bare(complex).project(Opaque(x), [Opaque(b) for b in basis])
    np.testing.assert_allclose(got.hidden, want, atol=1e-12)


@pytest.mark.parametrize("complex", [False, True])
def test_gram_schmidt_is_qr(rng, complex):
    v = rows(rng, 4, 6, complex)
    v[2] = v[0] + v[1]
    found = Bare(complex).gram_schmidt([Opaque(r) for r in v])
    assert (found.kept, found.dropped) == ((0, 1, 3), (2,))
    q, r = np.linalg.qr(v[[0, 1, 3]].T)
    want = (q * (r.diagonal() / abs(r.diagonal()))).T
    np.testing.assert_allclose([o.hidden for o in found], want, atol=1e-12)


def test_gram_schmidt_sweeps_twice():
    eps = 1e-6  # one classical sweep leaves right angles off by about 1e-10 / eps
    v = [Opaque(np.array(r)) for r in ([1, eps, 0, 0], [1, 0, eps, 0], [1, 0, 0, eps])]
    space = Bare()
    np.testing.assert_allclose(space.gram(space.gram_schmidt(v)), np.eye(3), atol=1e-9)


def test_verbs(rng):
    space, x, y = Bare(), Opaque(np.array([3.0, 0.0])), Opaque(np.array([0.0, 4.0]))
    assert (space.norm(x), space.distance(x, y), space.cosine(x, y)) == (3.0, 5.0, 0.0)
    assert space.angle(x, y) == pytest.approx(math.pi / 2, rel=1e-15)
    assert space.is_orthogonal(x, y)
    assert not space.is_orthogonal(x, Opaque(np.array([1.0, 1.0])))
    assert space.gram([]).shape == (0, 0)
    assert space.norm(space.project(x, [])) == 0.0
    assert "Not stated" in space.describe()


def test_zero_vectors(rng):
    space, zero, x = Bare(), Opaque(np.zeros(2)), Opaque(np.ones(2))
    assert space.is_orthogonal(zero, x)
    for verb in (space.cosine, space.angle):
        with pytest.raises(
            ValueError, match=r"Bare: \w+ needs vectors of norm > 0; got a vector of norm 0\. Leave out"
        ):
            verb(x, zero)


def test_orthonormal_reads_like_a_list(rng):
    found = Bare().gram_schmidt([Opaque(np.eye(3)[i]) for i in range(3)])
    assert len(found) == 3
    assert found[0] is found.vectors[0]
    assert found[1:] == found.vectors[1:]
    assert list(found) == list(found.vectors)
