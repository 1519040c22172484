"""The form of a broken law."""

from __future__ import annotations

from typing import Any

import numpy as np


def require(who: str, law: str, holds: Any, got: object) -> None:
    """Raise an AssertionError that names the law, unless it holds."""
    if not holds:
        raise AssertionError(f"{who}: {law}; got {got}.")


def check_close(who: str, law: str, got: np.ndarray, wanted: np.ndarray, allowed: np.ndarray) -> None:
    """Require that numbers lie within what is allowed of those wanted, naming the worst."""
    over = np.abs(got - wanted) - allowed
    at = tuple(int(v) for v in np.unravel_index(over.argmax(), over.shape))
    require(who, law, over[at] <= 0, f"{got[at]:.17g} and {wanted[at]:.17g} at {at}")
