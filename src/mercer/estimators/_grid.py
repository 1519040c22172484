"""A grid of parameters as kernels to be computed once and paths to be walked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

KERNELS = ("kernel", "gamma", "degree", "coef0", "engine", "memory")
"""Parameters that change K, or how it is computed."""
WALKED = ("C", "nu", "epsilon")
"""Parameters that a path may follow: the first of them that varies."""


@dataclass(frozen=True, eq=False)
class Path:
    """Estimators that differ in one number, in rising order, and the places of their cells in the grid."""

    estimators: tuple[Any, ...]
    cells: tuple[int, ...]


def cells_of(grid: Any) -> list[dict[str, Any]]:
    """Return the cells of a grid or of several, in scikit-learn's order."""
    return list(ParameterGrid(grid))


def by_kernel(machine: Any, cells: list[dict[str, Any]]) -> Iterator[list[Path]]:
    """Yield, for each kernel of the grid, the paths on its Gram."""
    settings: dict[Any, list[int]] = {}
    for k, cell in enumerate(cells):
        settings.setdefault(_key(cell, KERNELS), []).append(k)
    for members in settings.values():
        walked = next((name for name in WALKED if len({repr(cells[k].get(name)) for k in members}) > 1), None)
        paths: dict[Any, list[int]] = {}
        for k in members:
            paths.setdefault(_key(cells[k], [name for name in cells[k] if name != walked]), []).append(k)
        yield [_path(machine, cells, each, walked) for each in paths.values()]


def _key(cell: Mapping[str, Any], names: Any) -> tuple[tuple[str, str], ...]:
    return tuple((name, repr(cell[name])) for name in sorted(names) if name in cell)


def _path(machine: Any, cells: list[dict[str, Any]], members: list[int], walked: str | None) -> Path:
    numbers = [float(cells[k][walked]) if walked else 0.0 for k in members]
    order = [members[i] for i in np.argsort(numbers, kind="stable")]
    return Path(tuple(clone(machine).set_params(**cells[k]) for k in order), tuple(order))
