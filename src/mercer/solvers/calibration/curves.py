"""Probability as a rising function of the decision value d that is 1/2 at d = 0, where the decision changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from sklearn.isotonic import isotonic_regression

from mercer._checks import describe, refuse

MOST_HALVINGS = 200


@dataclass(frozen=True, eq=False)
class Curve:
    """p(d), rising, with p(0) = 1/2: a sigmoid with a slope for each side, or a polyline through knots.

    Parameters
    ----------
    slopes : tuple of two floats
        p(d) = 1 / (1 + exp(-s d)) with s the first for d < 0, the second for d > 0.
    knots, heights : arrays, optional
        Of the polyline, constant beyond its ends; it takes the place of the sigmoid.
    """

    slopes: tuple[float, float] = (1.0, 1.0)
    knots: np.ndarray | None = None
    heights: np.ndarray | None = None

    def __call__(self, d: np.ndarray) -> np.ndarray:
        """Return p(d)."""
        d = np.asarray(d, dtype=np.float64)
        if self.knots is not None and self.heights is not None:
            return np.interp(d, self.knots, self.heights)
        below, above = self.slopes
        return np.asarray(expit(d * np.where(d < 0, below, above)))


def fit_sigmoid(d: np.ndarray, positive: np.ndarray, w: np.ndarray | None = None) -> Curve:
    """Return the sigmoid of greatest likelihood among those that are 1/2 at 0, with a slope for each side.

    On each side it minimises sum_i w_i (log(1 + exp(s d_i)) - t_i s d_i) over s >= 0, where t are Platt's targets,
    (n+ + 1) / (n+ + 2) and 1 / (n- + 2), which keep s finite when no point is on the wrong side. A side without
    points takes the slope of the other. Cost: some tens of passes over d.

    Parameters
    ----------
    d : array of shape (n,)
        Decision values of points that had no part in the fit.
    positive : boolean array of shape (n,)
        Which points are of the class that d > 0 stands for.
    w : array of shape (n,), optional
        Weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.calibration import fit_sigmoid
    >>> p = fit_sigmoid(np.array([-2.0, -1.0, 0.5, 1.0]), np.array([False, False, True, True]))
    >>> p(np.array([-1.0, 0.0, 1.0])).round(2)
    array([0.34, 0.5 , 0.79])
    """
    d, t, w = _prepared("fit_sigmoid", d, positive, w)
    sides = [_slope(d[side], t[side], w[side]) for side in (d < 0, d > 0)]
    found = [1.0 if s is None else s for s in (sides[0] or sides[1], sides[1] or sides[0])]  # 1: no points at all
    return Curve(slopes=(found[0], found[1]))


def _slope(d: np.ndarray, t: np.ndarray, w: np.ndarray) -> float | None:
    """Return the s >= 0 at which sum w d (sigmoid(s d) - t) is 0, by bisection on a doubled bracket; None of no d."""

    def rise(s: float) -> float:
        return float(w @ (d * (expit(s * d) - t)))

    if not len(d) or not w.any():
        return None
    high = 1.0 / float(np.abs(d).max())
    low = 0.0
    if rise(0.0) >= 0:  # this side is wrong more often than right: no slope is better than a little
        return 1e-6 * high
    for _ in range(MOST_HALVINGS):
        if rise(high) >= 0:
            break
        low, high = high, 2 * high
    for _ in range(MOST_HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if rise(middle) >= 0 else (middle, high)
    return high


def fit_isotonic(d: np.ndarray, positive: np.ndarray, w: np.ndarray | None = None) -> Curve:
    """Return the rising curve nearest to Platt's targets in least squares, among those that are 1/2 at 0.

    On each side of 0 it is isotonic regression, cut at 1/2; between decision values it is linear. Cost: a sort.

    Parameters
    ----------
    d, positive, w
        As in `fit_sigmoid`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.calibration import fit_isotonic
    >>> p = fit_isotonic(np.array([-2.0, -1.0, 0.5, 1.0]), np.array([False, True, True, True]))
    >>> p(np.array([-3.0, -1.0, 0.0, 0.5])).round(2)
    array([0.33, 0.5 , 0.5 , 0.8 ])
    """
    d, t, w = _prepared("fit_isotonic", d, positive, w)
    order = np.argsort(d, kind="stable")
    d, t, w = d[order], t[order], w[order]
    at, first = np.unique(d, return_index=True)
    weight = np.add.reduceat(w, first)
    mean = np.add.reduceat(w * t, first) / np.where(weight > 0, weight, 1.0)
    keep = (weight > 0) & (at != 0)
    at, mean, weight = at[keep], mean[keep], weight[keep]
    below = at < 0
    heights = np.concatenate(
        [
            np.minimum(_isotonic(mean[below], weight[below]), 0.5),
            [0.5],
            np.maximum(_isotonic(mean[~below], weight[~below]), 0.5),
        ]
    )
    return Curve(knots=np.concatenate([at[below], [0.0], at[~below]]), heights=heights)


def _isotonic(mean: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.asarray(isotonic_regression(mean, sample_weight=weight)) if len(mean) else mean


def _prepared(
    who: str, d: np.ndarray, positive: np.ndarray, w: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return d, Platt's targets and weights, checked."""
    d, positive = np.asarray(d, dtype=np.float64), np.asarray(positive, dtype=bool)
    w = np.ones(len(d)) if w is None else np.asarray(w, dtype=np.float64)
    if not len(d) == len(positive) == len(w):
        lengths = f"{len(d)}, {len(positive)} and {len(w)}"
        refuse(who, "decision values, classes and weights must be of one length", lengths)
    if not np.isfinite(d).all():
        refuse(who, "decision values must be finite", describe(d))
    ahead, behind = float(w[positive].sum()), float(w[~positive].sum())
    return d, np.where(positive, (ahead + 1) / (ahead + 2), 1 / (behind + 2)), w
