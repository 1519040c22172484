"""Histograms: rows without negative entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import numeric_rows, refuse
from mercer.kernels._views import RowStep


@dataclass(frozen=True)
class NonNegative(RowStep):
    """Let rows through unless they have a negative entry, which is named."""

    who: str

    def map(self, X: Any) -> Any:
        rows = numeric_rows(self.who, X)
        values = rows.data if sparse.issparse(rows) else rows
        if values.size and values.min() < 0:
            coordinates = rows.tocoo() if sparse.issparse(rows) else None
            at = int(np.flatnonzero(values.ravel() < 0)[0])
            i, j = (
                np.unravel_index(at, rows.shape) if coordinates is None else (coordinates.row[at], coordinates.col[at])
            )
            got = f"{values.ravel()[at]:g} in row {i}, column {j}"
            refuse(self.who, "histograms have entries >= 0", got, "Shift the column, or use Laplace.")
        return rows
