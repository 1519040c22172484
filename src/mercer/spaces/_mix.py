"""Linear combinations of vectors that have no finite list of coordinates, and estimates with their error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from mercer.spaces._space import Scalar


class Estimate(NamedTuple):
    """A number and a bound on, or estimate of, its error.

    Examples
    --------
    >>> from mercer.spaces import Functions
    >>> value, error = Functions(0, 1).inner_with_error(lambda t: t, lambda t: t**2)
    >>> round(value, 12), error < 1e-12
    (0.25, True)
    """

    value: Scalar
    error: float


@dataclass(frozen=True)
class Mix:
    """The combination ``sum_i coefficients[i] parts[i]``, kept flat: no part is itself a Mix, and none occurs twice."""

    coefficients: tuple[Scalar, ...]
    parts: tuple[Any, ...]

    def total(self, evaluate: Callable[[Any], Any]) -> Any:
        """Return the combination of ``evaluate(part)`` over the parts."""
        return sum((c * evaluate(p) for c, p in zip(self.coefficients, self.parts, strict=True)), 0.0)

    def __call__(self, t: Any) -> Any:
        """Return the value at t, where the parts are functions."""
        return self.total(lambda part: part(t))


def flatten(coefficients: Iterable[Scalar], vectors: Iterable[Any]) -> Mix:
    """Return the combination with nested ones opened and equal parts gathered, so that x - x is empty."""
    gathered: dict[int, tuple[Scalar, Any]] = {}
    for c, v in zip(coefficients, vectors, strict=True):
        mix = v if isinstance(v, Mix) else Mix((1.0,), (v,))
        for d, part in zip(mix.coefficients, mix.parts, strict=True):
            before = gathered.get(id(part), (0.0, part))[0]
            gathered[id(part)] = (before + c * d, part)
    pairs = [(c, part) for c, part in gathered.values() if c != 0]
    return Mix(tuple(c for c, _ in pairs), tuple(part for _, part in pairs))
