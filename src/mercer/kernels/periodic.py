"""The periodic kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer._checks import describe, numeric_rows, positive, refuse
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import ExpMinus, Form, Fused
from mercer.kernels._kernel import Kernel
from mercer.kernels._statistics import Squares
from mercer.kernels._values import Frozen
from mercer.kernels._views import RowStep
from mercer.kernels.gaussian import Gaussian


@dataclass(frozen=True)
class Circle(RowStep):
    """Wind every column round a circle: x -> (cos, sin)(2 pi x / period)."""

    period: Frozen

    def map(self, X: Any) -> Any:
        X = numeric_rows("Periodic", X)
        period = self.period.array
        if period.ndim and len(period) != X.shape[1]:
            refuse(
                "Periodic", f"its periods are for {len(period)} columns", f"X with {X.shape[1]}", "Give one a column."
            )
        dense = (X.toarray() if sparse.issparse(X) else X).astype(np.float64, copy=False)
        angle = 2 * np.pi * (np.fmod(dense, period) / period)  # the remainder is exact, however far x is
        return np.hstack([np.cos(angle), np.sin(angle)])


@dataclass(frozen=True, eq=False, repr=False)
class Periodic(Kernel):
    """k(x, z) = exp(-2 sum_j sin^2(pi (x_j - z_j) / period) / scale^2).

    It is a Gaussian of rows wound round a circle, and is computed as one.

    Parameters
    ----------
    period : float or array
        After which values repeat; a vector gives one a column.
    scale : float
        How far along the circle values are alike, > 0.

    Examples
    --------
    >>> from mercer.kernels import Periodic
    >>> Periodic(period=2.0)([[0.0]], [[1.0], [2.0]]).round(4)
    array([[0.1353, 1.    ]])
    """

    period: Any = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        positive("Periodic", "scale", self.scale)
        self._periods()

    def _periods(self) -> np.ndarray:
        try:
            periods = np.asarray(self.period, dtype=np.float64)
        except (TypeError, ValueError):
            periods = np.array(np.nan)
        if periods.ndim > 1 or not periods.size or not (np.isfinite(periods) & (periods > 0)).all():
            wanted = "'period' must be a positive number, or a vector of them"
            refuse("Periodic", wanted, describe(self.period), "Give period > 0.")
        return periods

    def form(self) -> Form:
        return Fused(ExpMinus(0.5 / float(self.scale) ** 2), (Squares(),), (Circle(Frozen(self._periods())),))

    def formula(self) -> Formula:
        number = np.ndim(self.period) == 0
        p = ("" if self.period == 1 else f"/{self.period:g}") if number else "/period_j"
        q = p if number else "/p_j"
        s = "" if self.scale == 1 else f"/{self.scale:g}^2"
        text = f"exp(-2 sum_j sin^2(pi (x_j - z_j){p}){s})"
        return Formula(text, rf"\exp\left(-2 \textstyle\sum_j \sin^2(\pi (x_j - z_j){q}){s}\right)")

    def _prove(self, proof: Proof) -> int:
        step = proof.of(Gaussian(float(np.sqrt(2.0) * self.scale)))
        circle = "x -> u(x) = (cos, sin)(2 pi x_j/period) for all j"
        chord = "|u(x) - u(z)|^2 = 4 sum_j sin^2(pi (x_j - z_j)/period)"
        return proof.axiom(self.formula(), f"a kernel of mapped points: {circle}, where {chord}", step)
