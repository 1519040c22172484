"""Every user-facing message: ``<who>: <what was wanted>; got <what>. <what to do>.``"""

from __future__ import annotations

import math
import numbers
from typing import Any, NoReturn

import numpy as np


def message(who: str, wanted: str, got: object, remedy: str = "") -> str:
    """Return the one form every Mercer error takes.

    >>> message("SVC", "'C' must be a positive number", -1, "Give C > 0.")
    "SVC: 'C' must be a positive number; got -1. Give C > 0."
    """
    text = f"{who}: {wanted}; got {got}."
    return f"{text} {remedy}" if remedy else text


def refuse(who: str, wanted: str, got: object, remedy: str = "", error: type[Exception] = ValueError) -> NoReturn:
    """Raise ``error`` with a message in the house form."""
    raise error(message(who, wanted, got, remedy))


def describe(value: object, limit: int = 60) -> str:
    """Return a short text for a value in a message: its repr, or its type and shape when that is long."""
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    text = repr(value)
    return text if len(text) <= limit else f"{type(value).__name__} {text[: limit - 3]}..."


def is_number(value: object) -> bool:
    """Whether value is a real number (NumPy's included; booleans are not numbers here)."""
    return isinstance(value, (numbers.Real, np.floating, np.integer)) and not isinstance(value, (bool, np.bool_))


def number(who: str, name: str, value: Any, low: float = -math.inf, *, strict: bool = False) -> float:
    """Return value as a finite float not below low (above it, if strict); refuse anything else."""
    fine = is_number(value) and math.isfinite(value) and (value > low if strict else value >= low)
    if not fine:
        bound = "" if low == -math.inf else f" {'>' if strict else '>='} {low:g}"
        refuse(who, f"'{name}' must be a finite number{bound}", describe(value))
    return float(value)


def positive(who: str, name: str, value: Any) -> float:
    """Return value as a float > 0; refuse anything else."""
    if not (is_number(value) and math.isfinite(value) and value > 0):
        refuse(who, f"'{name}' must be a positive number", describe(value))
    return float(value)


def integer(who: str, name: str, value: Any, low: int = 0) -> int:
    """Return value as an int not below low; refuse anything else."""
    whole = isinstance(value, (numbers.Integral, np.integer)) and not isinstance(value, (bool, np.bool_))
    if not whole or value < low:
        refuse(who, f"'{name}' must be an integer >= {low}", describe(value))
    return int(value)
