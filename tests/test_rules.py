"""Scalar functions with rules. The oracles are NumPy's own functions and rules called by hand."""

from typing import NamedTuple

import numpy as np
import pytest

from mercer import _rules
from mercer._rules import cast, const, exp, exp2_minus, exp_minus, scalar, where

pytestmark = pytest.mark.uncompiled


class Square(NamedTuple):
    side: float


class Both(NamedTuple):
    first: object
    second: object


@scalar
def area(shape):
    """The area of a shape."""


@area.rule(Square)
def _(shape):
    return shape.side * shape.side


@area.rule(Both)
def _(shape):
    return area(shape.first) + area(shape.second)


def test_a_rule_is_picked_by_type_at_every_level():
    assert area(Both(Square(2.0), Both(Square(1.0), Square(3.0)))) == 14.0


def test_the_same_rule_takes_arrays():
    sides = np.arange(4.0)
    assert np.array_equal(area(Square(sides)), sides**2)


def test_a_scalar_function_keeps_its_name_and_meaning():
    assert area.__name__ == "area"
    assert area.__doc__ == "The area of a shape."


def test_a_type_without_a_rule_is_an_error():
    with pytest.raises(KeyError):
        area((1.0,))


def test_the_first_rule_of_a_type_stays():
    @scalar
    def size(p):
        """The size."""

    first = size.rule(Square)(lambda p: 1)
    assert size.rule(Square)(lambda p: 2) is first
    assert size(Square(0.0)) == 1


def test_the_words_of_rules_are_those_of_numpy():
    x = np.linspace(0, 5, 7)
    assert np.array_equal(exp(-x), np.exp(-x))
    assert np.array_equal(exp_minus(x), np.exp(-x))
    assert np.array_equal(exp2_minus(x), np.exp2(-x))
    assert np.array_equal(where(x > 2, x, -x), np.where(x > 2, x, -x))
    assert const(2.5, x) == 2.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cast_reaches_every_number(dtype):
    p = cast(Both(Square(1), Both(Square(0.1), 3.0)), dtype)
    numbers = [p.first.side, p.second.first.side, p.second.second]
    assert [type(v) for v in numbers] == [dtype] * 3
    assert isinstance(p, Both)
    assert isinstance(p.second.first, Square)
    assert p.second.first.side == dtype(0.1)


def test_every_public_word_is_documented():
    assert all(getattr(_rules, name).__doc__ for name in ("exp", "exp_minus", "exp2_minus", "where", "const", "cast"))
