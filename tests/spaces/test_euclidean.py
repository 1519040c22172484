"""Euclidean spaces. Oracle: the formula y^H A x in NumPy, and mpmath where float64 is at its limits."""

import math

import mpmath
import numpy as np
import pytest

from mercer.spaces import Euclidean


@pytest.mark.parametrize("complex", [False, True])
def test_inner_is_the_formula(rng, complex):
    b, x, y = (rng.standard_normal(s) + (1j * rng.standard_normal(s) if complex else 0) for s in ((5, 5), 5, 5))
    a = b.conj().T @ b
    space = Euclidean(A=a, complex=complex)
    assert space.inner(x, y) == pytest.approx(y.conj() @ a @ x, rel=1e-13)
    assert space.norm(x) == pytest.approx(math.sqrt((x.conj() @ a @ x).real), rel=1e-13)
    np.testing.assert_allclose(space.gram([x, y])[0, 1], y.conj() @ a @ x, rtol=1e-13)
    assert Euclidean(5, complex=complex).inner(x, y) == pytest.approx(np.sum(x * y.conj()), rel=1e-13)


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1.0, 1e200, 1e308])
def test_any_scale(size):
    space = Euclidean(2)
    x, y = [size, size], [size, -size]
    with mpmath.workdps(30):
        want = float(mpmath.sqrt(2) * mpmath.mpf(size))
    assert space.norm(x) == pytest.approx(want, rel=1e-14)
    assert space.inner(x, y) == 0.0
    assert space.cosine(x, [size, 0]) == pytest.approx(math.sqrt(0.5), rel=1e-10)
    assert space.gram_schmidt([x, y]).kept == (0, 1)
    np.testing.assert_allclose(space.project(x, [[size, 0]]), [size, 0], rtol=1e-14)


def test_inner_overflows_to_infinity_only_when_it_must():
    assert Euclidean(1).inner([1e200], [1e200]) == math.inf
    assert Euclidean(1).inner([1e300], [1e-300]) == pytest.approx(1.0)


@pytest.mark.parametrize("small", [1e-3, 1e-9, 1e-15])
def test_angle_is_accurate_at_both_ends(small):
    space = Euclidean(2)
    assert space.angle([1, 0], [1, small]) == pytest.approx(math.atan(small), rel=1e-14)
    assert space.angle([1, 0], [-1, 0]) == math.pi
    assert space.cosine([1 / 3, 1 / 7], [1 / 3, 1 / 7]) <= 1.0


def test_gram_schmidt_keeps_right_angles_for_an_ill_conditioned_basis():
    hilbert = 1 / (np.arange(10)[:, None] + np.arange(10) + 1)  # condition 1e13
    space = Euclidean(10)
    found = space.gram_schmidt(hilbert)
    np.testing.assert_allclose(space.gram(found), np.eye(len(found)), atol=1e-14)


def test_a_semi_definite_metric_is_a_pseudo_norm_and_says_so():
    space = Euclidean(A=[[1, 1], [1, 1]])
    assert not space.is_definite
    assert space.rank == 1
    assert space.norm([1, -1]) == 0.0
    assert space.norm([1, 0]) == 1.0
    assert "pseudo-norm: A has rank 1" in repr(space)
    assert space.gram_schmidt([[1, -1], [1, 0], [5, 2]]).kept == (1,)
    with pytest.raises(
        ValueError, match=r"cosine needs vectors of norm > 0; .*only semi-definite, and x lies in its null"
    ):
        space.cosine([1, -1], [1, 0])


def test_features_of_very_different_scale_stay_definite():
    space = Euclidean(A=np.diag([1e20, 1e-20]))
    assert space.is_definite
    assert space.norm([0, 1]) == pytest.approx(1e-10, rel=1e-14)


def test_repr_equality_and_hash():
    assert repr(Euclidean(3)) == "Euclidean(3)"
    assert repr(Euclidean(2, complex=True)) == "Euclidean(2, complex=True)"
    assert eval(repr(Euclidean(A=[[2, 1], [1, 2]]))) == Euclidean(A=[[2, 1], [1, 2]])
    assert Euclidean(2) != Euclidean(3)
    assert Euclidean(2) != Euclidean(A=np.eye(2))
    assert hash(Euclidean(2)) == hash(Euclidean(2))
    assert Euclidean(2) != "Euclidean(2)"
    assert (
        Euclidean(3)
        .describe()
        .endswith("Real. Complete: of finite dimension (modulo the vectors of norm 0, if A has any).")
    )


def test_the_metric_is_frozen():
    a = np.eye(2)
    space = Euclidean(A=a)
    a[0, 0] = 5.0
    assert space.norm([1, 0]) == 1.0
    with pytest.raises(ValueError, match="read-only"):
        space.A[0, 0] = 5.0


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({}, "'dim' or 'A' must be given; got neither"),
        ({"dim": 0}, "'dim' must be an integer >= 1; got 0"),
        ({"dim": 2.5}, "'dim' must be an integer >= 1; got 2.5"),
        ({"dim": 3, "A": np.eye(2)}, r"'A' must be 3 x 3, as dim says; got shape \(2, 2\)"),
        ({"A": [[1, 2], [3]]}, "'A' must be a rectangular array of numbers; got a ragged list"),
        ({"A": [1, 2]}, r"'A' must be a square matrix; got shape \(2,\)"),
        (
            {"A": [[1, 2], [0, 1]]},
            r"must equal its \(conjugate\) transpose; got a difference of 2. Give \(A \+ A.T\) / 2",
        ),
        ({"A": [[1, 2], [2, 1]]}, r"positive semi-definite; got x'Ax = -2 for x = \[-?1.0, -?1.0\]"),
        ({"A": [[0, 1], [1, 0]]}, "positive semi-definite"),
        ({"A": [[1, 1j], [-1j, 1]]}, "'A' of a real space must be real; .* Use complex=True"),
        ({"A": [[1, np.inf], [np.inf, 1]]}, "every entry of 'A' must be finite; got inf at row 0, column 1"),
    ],
)
def test_bad_spaces(arguments, text):
    with pytest.raises(ValueError, match=f"Euclidean: .*{text}"):
        Euclidean(**arguments)


@pytest.mark.parametrize(
    "x, text, error",
    [
        ([1, 2, 3], r"a vector must have shape \(2,\); got shape \(3,\)", ValueError),
        ([1, np.nan], "every entry of a vector must be finite; got nan at index 1", ValueError),
        ([1, [2]], "rectangular array of numbers; got a ragged list", ValueError),
        (["a", "b"], r"a vector must hold numbers; got \['a', 'b'\]", TypeError),
        ([None, 1], "a vector must hold numbers", TypeError),
        ("ab", "a vector must hold numbers; got 'ab'", TypeError),
        ([1j, 0], "a vector of a real space must be real; got .* Use complex=True", ValueError),
    ],
)
def test_bad_vectors(x, text, error):
    space = Euclidean(2)
    for verb in (space.norm, space.check, lambda v: space.inner([0, 0], v), lambda v: space.gram([v])):
        with pytest.raises(error, match=f"Euclidean: .*{text}"):
            verb(x)


def test_bad_coefficients():
    with pytest.raises(ValueError, match="one coefficient for each vector; got 1 coefficients, 2 vectors"):
        Euclidean(1).combine([1.0], [[1], [2]])
    with pytest.raises(ValueError, match="coefficients of a real space must be real"):
        Euclidean(1).combine([1j], [[1]])
