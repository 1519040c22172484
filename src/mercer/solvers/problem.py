"""The objective, written once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._checks import describe, is_number, refuse
from mercer.gram import Gram

WHO = "Problem"


@dataclass(frozen=True)
class HalfSquare:
    """The penalty (lam / 2) ||f||^2; lam = 0 asks for the minimum-norm minimiser of the loss.

    Parameters
    ----------
    lam : float or tuple of floats
        One number, or one for each target.
    """

    lam: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        """Check lam."""
        for value in self.lam if isinstance(self.lam, tuple) else (self.lam,):
            if not (is_number(value) and np.isfinite(value) and value >= 0):
                refuse("HalfSquare", "'lam' must be a finite number >= 0", describe(value))


@dataclass(frozen=True, eq=False)
class Problem:
    """minimise over f in H, b:  sum_i w_i loss(y_i, f(x_i) + b) + (lam / 2) ||f||^2.

    Parameters
    ----------
    gram : Gram
        K on the training points; it knows the kernel and the points.
    y : array of shape (n,) or (n, t)
        Targets; t columns are t problems that share K.
    loss : loss record
        See `mercer.losses`.
    penalty : HalfSquare
        What the norm costs.
    weight : array of shape (n,), optional
        w; a weight of 2 is a row repeated, a weight of 0 a row absent.
    intercept : bool
        Whether there is a b, free of penalty.
    """

    gram: Gram
    y: np.ndarray
    loss: Any
    penalty: HalfSquare = HalfSquare()
    weight: np.ndarray | None = None
    intercept: bool = False

    def __post_init__(self) -> None:
        """Check the parts against each other."""
        n = self.gram.shape[0]
        y = np.asarray(self.y, dtype=np.float64)
        if self.gram.shape[1] != n:
            refuse(WHO, "its Gram must be of the points with themselves", f"shape {self.gram.shape}")
        if y.ndim not in (1, 2) or len(y) != n or not np.isfinite(y).all():
            refuse(WHO, f"y must be {n} finite targets, or as many rows of them", describe(y))
        w = None if self.weight is None else np.asarray(self.weight, dtype=np.float64)
        if w is not None and (w.shape != (n,) or not np.isfinite(w).all() or (w < 0).any() or not (w > 0).any()):
            refuse(WHO, f"weight must be {n} finite numbers >= 0, not all 0", describe(w))
        if isinstance(self.penalty.lam, tuple) and len(self.penalty.lam) != self.n_targets:
            refuse(WHO, f"lam must be one number or {self.n_targets}, one a target", len(self.penalty.lam))
        object.__setattr__(self, "y", y)
        object.__setattr__(self, "weight", w)

    @property
    def n_targets(self) -> int:
        """How many columns y has."""
        return 1 if np.ndim(self.y) == 1 else int(np.shape(self.y)[1])

    @property
    def targets(self) -> np.ndarray:
        """The targets as columns, (n, t)."""
        return self.y.reshape(len(self.y), -1)

    @property
    def weights(self) -> np.ndarray:
        """The weights, ones if there are none."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @property
    def lam(self) -> np.ndarray:
        """The penalty of each target, (t,)."""
        return np.broadcast_to(np.asarray(self.penalty.lam, dtype=np.float64), (self.n_targets,))
