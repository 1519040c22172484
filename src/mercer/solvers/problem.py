"""The objective, written once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._checks import describe, refuse
from mercer.functions import Centers
from mercer.functions._points import as_points
from mercer.gram import Gram
from mercer.kernels._views import take
from mercer.solvers.penalties import HalfSquare, Penalty

WHO = "Problem"


@dataclass(frozen=True, eq=False)
class Problem:
    """minimise over f in H, b:  sum_i w_i loss(y_i, f(x_i) + b) + Omega(||f||), by default (lam / 2) ||f||^2.

    With centres z_j, f = sum_j c_j k(., z_j): m numbers to find, of a problem restricted to the span of the sections.

    Parameters
    ----------
    gram : Gram
        K on the training points; it knows the kernel and the points.
    y : array of shape (n,) or (n, t)
        Targets; t columns are t problems that share K.
    loss : loss record
        See `mercer.losses`.
    penalty : Penalty
        Omega: what the norm costs.
    weight : array of shape (n,), optional
        w; a weight of 2 is a row repeated, a weight of 0 a row absent.
    intercept : bool
        Whether there is a b, free of penalty.
    centers : Centers, positions of rows, or points; optional
        Whose sections f is a combination of; None for all training points, which loses nothing.
    """

    gram: Gram
    y: np.ndarray
    loss: Any
    penalty: Penalty = HalfSquare()  # noqa: RUF009  # a frozen record
    weight: np.ndarray | None = None
    intercept: bool = False
    centers: Any = None

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
        if not isinstance(self.penalty, Penalty):
            refuse(WHO, "penalty must be a penalty record", describe(self.penalty), "See mercer.solvers.")
        lam = getattr(self.penalty, "lam", None)
        if isinstance(lam, tuple) and len(lam) != self.n_targets:
            refuse(WHO, f"lam must be one number or {self.n_targets}, one a target", len(lam))
        object.__setattr__(self, "y", y)
        object.__setattr__(self, "weight", w)
        object.__setattr__(self, "centers", None if self.centers is None else _centers(self.gram, self.centers))

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
        """The factor of ||f||^2 / 2 for each target, (t,); not numbers for other penalties."""
        if not isinstance(self.penalty, HalfSquare):
            return np.full(self.n_targets, np.nan)
        return np.broadcast_to(np.asarray(self.penalty.lam, dtype=np.float64), (self.n_targets,))

    @property
    def n_coefficients(self) -> int:
        """How many coefficients f has for each target: one a centre, or one a training point."""
        return len(self.y) if self.centers is None else len(self.centers)


def _centers(K: Gram, given: Any) -> Centers:
    """Return centres given as they are, as positions of rows, or as points."""
    if isinstance(given, Centers):
        found = given
    elif np.ndim(given) == 1 and np.asarray(given).dtype.kind in "iu":
        found = _of_rows(K, np.asarray(given))
    else:
        found = Centers(None, as_points(WHO, given, "centers"), "given")
    if found.indices is None and K.kernel is None:
        refuse(WHO, "centers of a Gram given as a matrix must be positions of rows", describe(given))
    if len(found) == 0:
        refuse(WHO, "there must be at least one centre", "none")
    return found


def _of_rows(K: Gram, indices: np.ndarray) -> Centers:
    n = K.shape[0]
    if indices.size and not (-n <= indices.min() and indices.max() < n):
        refuse(WHO, f"positions of centers must lie in 0..{n - 1}", f"{indices.min()} to {indices.max()}")
    indices = indices % n if indices.size else indices.astype(int)
    return Centers(indices, None if K.kernel is None else take(K.points, indices), "given")
