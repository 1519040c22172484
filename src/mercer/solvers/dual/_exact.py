"""The float64 correction: what gradients are near the margin, computed afresh."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np

from mercer.gram import Gram
from mercer.gram._lines import product_of_part
from mercer.solvers._span import fresh


class Exact:
    """Values of K in float64, and how large the error is where they are not used.

    A sum of float32 entries, each right to a few roundings, has an error near 10 eps sqrt(sum c^2) max k(x, x), as
    measured on rows of up to 20,000 entries.
    """

    def __init__(self, K: Gram) -> None:
        self.gram = K
        rounded = K.kernel is not None and K._source.tile_dtype == np.float32
        self.eps = 10 * float(np.finfo(np.float32).eps if rounded else np.finfo(np.float64).eps)
        self.rounded = rounded

    @cached_property
    def double(self) -> Gram:
        """The Gram in float64."""
        return fresh(self.gram)

    def values(self, rows: np.ndarray, columns: np.ndarray, v: np.ndarray, threads: int) -> np.ndarray:
        """Return K[rows, columns] v in float64."""
        engine = dataclasses.replace(self.double.engine, threads=threads)
        return product_of_part(self.double, rows, columns, v, engine)
