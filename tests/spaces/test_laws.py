"""The laws refuse what breaks them and name it. Oracle: the witness, put back into the formula by hand."""

import math

import numpy as np
import pytest

from mercer.spaces import Euclidean, Functions, Verdict, laws

PLANE = Euclidean(2)
SAMPLES = [[1, 0], [0, 1], [1, 1]]


def test_true_inner_products_pass(rng):
    a = [[2, 1], [1, 3]]
    assert laws.check_inner_product(lambda x, y: y @ np.array(a) @ x, SAMPLES)
    assert laws.check_inner_product(lambda x, y: np.vdot(y, x), rng.standard_normal((5, 3)) * 1j)
    assert laws.check_inner_product(lambda x, y: x[0] * y[0] + 1e-10 * x[1] * y[1], SAMPLES)
    assert laws.check_inner_product(lambda x, y: x @ y, [[0, 0]])


@pytest.mark.parametrize(
    "fn, law, broken",
    [
        (lambda x, y: x[0] * y[1], "symmetry", lambda f, x, y: f(x, y) != f(y, x)),
        (lambda x, y: (x @ y) ** 3, "linearity", lambda f, x, y, z, a: f(a * x + z, y) != a * f(x, y) + f(z, y)),
        (lambda x, y: x @ y + 1, "linearity", lambda f, x, y, z, a: f(a * x + z, y) != a * f(x, y) + f(z, y)),
        (lambda x, y: x[0] * y[0] - x[1] * y[1], "positivity", lambda f, x: f(x, x) < 0),
        (lambda x, y: 2 * x @ y - 1.01 * x.sum() * y.sum(), "positivity", lambda f, x: f(x, x) < 0),
        (lambda x, y: x[0] * y[0], "positivity", lambda f, x: f(x, x) == 0 and np.any(x)),
    ],
)
def test_false_ones_fail_with_a_witness(fn, law, broken):
    verdict = laws.check_inner_product(fn, SAMPLES)
    assert not verdict
    assert verdict.law.startswith(law)
    assert broken(fn, *verdict.witness)


def test_positivity_fails_between_the_samples():
    fn = lambda x, y: x @ np.array([[1, 2], [2, 1]]) @ y  # noqa: E731 - positive on both unit vectors
    verdict = laws.check_inner_product(fn, [[1, 0], [0, 1]])
    assert not verdict
    assert fn(*verdict.witness * 2) < 0


def test_a_bilinear_form_is_no_complex_inner_product():
    verdict = laws.check_inner_product(lambda x, y: x @ y, [[1j, 0], [0, 1]])
    assert not verdict
    assert "<x, x> = -1" in str(verdict)


def test_cauchy_schwarz_and_its_equality():
    strict = laws.cauchy_schwarz([1, 2], [1, 3], PLANE)
    assert strict
    assert strict.found is None
    assert "independent" in strict.explanation
    equal = laws.cauchy_schwarz([-2, -6], [1, 3], PLANE)
    assert equal.found == pytest.approx(-2.0)
    assert "equality, since x = c y with c = -2" in str(equal)
    assert laws.cauchy_schwarz([2j, 0], [1, 0], Euclidean(2, complex=True)).found == pytest.approx(2j)
    assert laws.cauchy_schwarz(math.sin, lambda t: 4 * math.sin(t), Functions(0, 1)).found == pytest.approx(0.25)


def test_cauchy_schwarz_of_zero_vectors():
    assert laws.cauchy_schwarz([0, 0], [1, 3], PLANE).found == 0.0
    assert laws.cauchy_schwarz([1, 3], [0, 0], PLANE)


def test_pythagoras_is_for_orthogonal_vectors():
    assert laws.pythagoras([3e200, 0], [0, 4e200], PLANE)
    verdict = laws.pythagoras([1, 0], [1, 1], PLANE)
    assert not verdict
    assert "5 != 3" in str(verdict)
    assert laws.pythagoras(math.sin, math.cos, Functions(-math.pi, math.pi))


def test_parallelogram():
    assert laws.parallelogram([1, 2], [3, 4], PLANE)
    assert laws.parallelogram([1, 2], [3, 4], np.linalg.norm)
    sup = laws.parallelogram([1, 0], [0, 1], lambda x: np.abs(x).max())
    assert (sup.holds, sup.worst) == (False, 0.5)
    assert "2 != 4" in str(sup)


@pytest.mark.parametrize(
    "fn, samples, text",
    [
        (np.dot, [], "'samples' must hold at least one vector"),
        (np.dot, [[1, 2], [1]], "the vectors must have one shape"),
        (np.dot, [[math.nan]], "every entry of a vector must be finite; got nan"),
        (lambda x, y: x, [[1, 2]], r"fn\(x, y\) must be one finite number"),
        (lambda x, y: math.inf, [[1, 2]], r"fn\(x, y\) must be one finite number"),
    ],
)
def test_bad_input(fn, samples, text):
    with pytest.raises(ValueError, match=f"check_inner_product: {text}"):
        laws.check_inner_product(fn, samples)


def test_a_verdict_is_its_truth_and_prints_as_a_block():
    verdict = Verdict("law", False, 0.25, (np.ones(20), 3), "2 != 1")
    assert not verdict
    assert str(verdict).splitlines() == [
        "law",
        "  holds: NO (worst relative violation: 0.25)",
        "  witness: x = <array of shape (20,)>, y = 3",
        "  2 != 1",
    ]
    assert str(Verdict("law", True, 0.0)) == "law\n  holds: yes (worst relative violation: none beyond rounding)"
