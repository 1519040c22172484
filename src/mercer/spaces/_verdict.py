"""What a law check returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether a law holds, with the worst witness found; true exactly when it holds, and printed as a block.

    Parameters
    ----------
    law : str
        The law, as a formula.
    holds : bool
        Whether it holds, to rounding, wherever it was tried.
    worst : float
        The largest relative violation found.
    witness : tuple
        Where it was found: the vectors (and numbers) that enter the law.
    explanation : str
        The values on both sides there, or what else was learned.
    found : object
        What the law yields when it holds: the factor of dependent vectors, the matrix of a norm; else None.

    Examples
    --------
    >>> from mercer.spaces import laws, Euclidean
    >>> print(laws.parallelogram([1, 0], [0, 1], Euclidean(2)))
    parallelogram law: ||x + y||^2 + ||x - y||^2 = 2 ||x||^2 + 2 ||y||^2
      holds: yes (worst relative violation: none beyond rounding)
      witness: x = [1.0, 0.0], y = [0.0, 1.0]
      4 = 4
    """

    law: str
    holds: bool
    worst: float
    witness: tuple[Any, ...] = ()
    explanation: str = ""
    found: Any = None
    names: tuple[str, ...] = field(default=("x", "y", "z"), repr=False)

    def __bool__(self) -> bool:
        """Whether the law holds."""
        return self.holds

    def __str__(self) -> str:
        """Return the verdict as a readable block."""
        worst = "none beyond rounding" if self.holds and self.worst < 1e-14 else f"{self.worst:.3g}"
        lines = [self.law, f"  holds: {'yes' if self.holds else 'NO'} (worst relative violation: {worst})"]
        if self.witness:
            pairs = zip(self.names, self.witness, strict=False)
            lines.append("  witness: " + ", ".join(f"{name} = {_short(value)}" for name, value in pairs))
        return "\n".join([*lines, *(f"  {line}" for line in self.explanation.splitlines())])


def _short(value: Any) -> str:
    """Return a vector to six digits, or its shape when it is long."""
    if isinstance(value, np.ndarray):
        return str((np.round(value, 6) + 0.0).tolist()) if value.size <= 12 else f"<array of shape {value.shape}>"
    return repr(value)
