"""Losses that users write: one function of targets and predictions, or one object, and nothing else that must be known.

What is not given is found: slopes and curvatures by differences, the conjugate by a search whose result is never too
small, so that certificates hold. That a loss is convex is tried on many triples; one on which it fails is the witness.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer._checks import describe, refuse
from mercer.losses._loss import Boxed, Traits, conjugate, curvature, highest, lowest, shortfall, slope, traits, value
from mercer.losses._top import EPS, largest

WHO = "user_loss"
FAR = 1e4  # predictions, in units of 1 + |y|, between which slopes are taken to range
REACH = 50.0  # around a target: where convexity is tried
Function = Callable[[Any, Any], Any]


class UserLoss(NamedTuple):
    """A loss of a user's, as `user_loss` makes it.

    Parameters
    ----------
    function : callable
        ``function(y, t)`` is the cost of predicting t where the target is y; on arrays or on numbers.
    derivative : callable, optional
        Its derivative in t; differences without it.
    conjugated : callable, optional
        ``conjugated(y, u)``, the largest u t - function(y, t) over t; a search without it.
    two_classes : bool
        Targets are +1 and -1; else they are numbers.
    smooth : bool
        The slope has no jumps.
    by_number : bool
        The function takes numbers only.
    form : Boxed, optional
        The form of the conjugate, where it is such that the dual is a quadratic problem over a box.
    """

    function: Function
    derivative: Function | None = None
    conjugated: Function | None = None
    two_classes: bool = False
    smooth: bool = True
    by_number: bool = False
    form: Boxed | None = None


def user_loss(
    loss: Any,
    targets: Any = (-1.0, 0.0, 1.0),
    *,
    derivative: Function | None = None,
    conjugated: Function | None = None,
    two_classes: bool = False,
) -> UserLoss:
    """Return a loss from a plain function, or from an object with a method ``value`` (and ``slope``, ``conjugate``).

    It is tried on the targets: where it is not finite or not convex, the error names predictions that show it.

    Parameters
    ----------
    loss : callable or object
        ``loss(y, t)``, or an object whose ``value(y, t)`` it is; its attribute ``two_classes`` counts too.
    targets : sequence of floats
        Some values of y it is for; 1 and -1 for two classes.
    derivative, conjugated : callable, optional
        ``(y, t)`` and ``(y, u)``, where they are known.
    two_classes : bool
        Whether targets are labels, +1 and -1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import slope, user_loss
    >>> fair = user_loss(lambda y, t: np.abs(y - t) - np.log1p(np.abs(y - t)))
    >>> round(float(slope(fair, 0.0, 1.0)), 6), fair.smooth
    (0.5, True)
    """
    if hasattr(loss, "value"):
        derivative = derivative or getattr(loss, "slope", None)
        conjugated = conjugated or getattr(loss, "conjugate", None)
        two_classes, loss = two_classes or bool(getattr(loss, "two_classes", False)), loss.value
    if not callable(loss):
        refuse(WHO, "'loss' must be a function of y and t, or an object with a method value", describe(loss))
    y = np.array([-1.0, 1.0]) if two_classes else np.unique(np.asarray(targets, dtype=np.float64))
    if len(y) > 9:
        y = np.unique(np.quantile(y, np.linspace(0, 1, 9), method="nearest"))
    made = UserLoss(loss, derivative, conjugated, two_classes, True, _by_number(loss, y))
    for one in y:
        _check_convex(made, float(one))
    if all(_smooth(made, float(one)) for one in y):
        return made
    return made._replace(smooth=False, form=_form(made._replace(smooth=False), y))


def _by_number(function: Function, y: np.ndarray) -> bool:
    t = np.linspace(-1.0, 1.0, 5)
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(function(np.full(5, y[0]), t), dtype=np.float64)
    except (TypeError, ValueError):
        return True
    return found.shape != (5,)


def _sample(y: float) -> np.ndarray:
    far = np.concatenate([-np.geomspace(REACH, 1e-4, 60), [0.0], np.geomspace(1e-4, REACH, 60)])
    return np.unique(np.concatenate([y + (1 + abs(y)) * far, far]))


def _check_convex(loss: UserLoss, y: float) -> None:
    t = _sample(y)
    v = value(loss, np.full_like(t, y), t)
    near = np.abs(t - y) <= 1 + abs(y)
    if not np.isfinite(v[near]).all():
        at = t[near][~np.isfinite(v[near])][0]
        refuse(WHO, "a loss must be finite", f"{value(loss, y, at)} at y = {y:g}, t = {at:.6g}")
    kept = np.isfinite(v)
    t, v = t[kept], v[kept]
    a, b, c = t[:-2], t[1:-1], t[2:]
    chord = v[:-2] + (v[2:] - v[:-2]) * (b - a) / (c - a)
    over = v[1:-1] - chord - 64 * EPS * (np.abs(v[1:-1]) + np.abs(v[:-2]) + np.abs(v[2:]))
    if (over > 0).any():
        k = int(over.argmax())
        refuse(
            WHO, "a loss must be convex in t",
            f"{v[k + 1]:.6g} at t = {b[k]:.6g}, above the chord between t = {a[k]:.6g} and {c[k]:.6g} (y = {y:g})",
            "Losses that are not convex go by majorisation: see robust=True of KernelMachine.",
        )  # fmt: skip  # wanted, got, what to do


def _smooth(loss: UserLoss, y: float) -> bool:
    """Whether the slope has no jumps: where it changes most, the interval is cut until the change is gone, or not."""
    t = _sample(y)
    t = t[np.abs(t - y) <= 5 * (1 + abs(y))]
    v = value(loss, np.full_like(t, y), t)
    t, v = t[np.isfinite(v)], v[np.isfinite(v)]
    slopes = np.diff(v) / np.diff(t)
    size = float(np.abs(slopes).max(initial=0.0))
    for k in np.argsort(np.diff(slopes))[::-1][:6]:
        low, high = t[k], t[k + 2]
        while high - low > 1e-5 * (1 + abs(low)):
            x = np.linspace(low, high, 9)
            steps = np.diff(value(loss, np.full(9, y), x)) / np.diff(x)
            j = int(np.diff(steps).argmax())
            low, high, change = x[j], x[j + 2], float(np.diff(steps)[j])
        if change > 1e-2 * min(size, 1.0 + float(np.abs(steps).max())):
            return False
    return True


def _form(loss: UserLoss, y: np.ndarray) -> Boxed | None:
    """Return the form y u + spread |u| + ridge u^2 / 2 of the conjugate, if it has it at all targets."""
    low, high = np.maximum(lowest(loss, y), -3.0), np.minimum(highest(loss, y), 3.0)
    u = low + (high - low) * np.linspace(0.02, 0.98, 9)[:, None]
    rest = conjugate(loss, y, u) - y * u
    if not np.isfinite(rest).all():
        return None
    parts = np.column_stack([np.abs(u).ravel(), 0.5 * u.ravel() ** 2])
    found = np.linalg.lstsq(parts, rest.ravel(), rcond=None)[0]
    found = np.where(np.abs(found) < 1e-7, 0.0, found)
    off = np.abs(parts @ found - rest.ravel()).max()
    return Boxed(*map(float, found)) if off <= 1e-7 * (1 + np.abs(rest).max()) and (found >= 0).all() else None


# ---------------------------------------------------------------- rules


@value.rule(UserLoss)
def _(loss: Any, y: Any, t: Any) -> Any:
    y, t = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(t, dtype=np.float64))
    with np.errstate(all="ignore"):
        if not loss.by_number:
            return np.asarray(loss.function(y, t), dtype=np.float64)
        found = [_number(loss.function, a, b) for a, b in zip(y.ravel(), t.ravel(), strict=True)]
    return np.array(found, dtype=np.float64).reshape(t.shape)


def _number(function: Function, y: float, t: float) -> float:
    try:
        return float(function(float(y), float(t)))
    except OverflowError:
        return np.inf


@slope.rule(UserLoss)
def _(loss: Any, y: Any, t: Any) -> Any:
    if loss.derivative is not None:
        with np.errstate(all="ignore"):
            found = loss.derivative(np.asarray(y, dtype=np.float64), np.asarray(t, dtype=np.float64))
        return np.clip(np.asarray(found, dtype=np.float64), lowest(loss, y), highest(loss, y))
    d = (6e-6 if loss.smooth else 1e-7) * (1 + np.abs(t))
    with np.errstate(invalid="ignore"):
        found = (value(loss, y, t + d) - value(loss, y, t - d)) / (2 * d)
    return np.where(np.isnan(found), np.where(np.asarray(t) > np.asarray(y), np.inf, -np.inf), found)


@curvature.rule(UserLoss)
def _(loss: Any, y: Any, t: Any) -> Any:
    with np.errstate(all="ignore"):
        if loss.derivative is not None:
            d = 1e-5 * (1 + np.abs(t))
            found = (slope(loss, y, t + d) - slope(loss, y, t - d)) / (2 * d)
        else:
            d = 2e-4 * (1 + np.abs(t))
            found = (value(loss, y, t + d) + value(loss, y, t - d) - 2 * value(loss, y, t)) / (d * d)
    return np.maximum(np.where(np.isnan(found), 0.0, found), 0.0)


@conjugate.rule(UserLoss)
def _(loss: Any, y: Any, u: Any) -> Any:
    if loss.conjugated is not None:
        return np.asarray(loss.conjugated(y, u), dtype=np.float64)
    y, u = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(u, dtype=np.float64))
    start = 0.0 * y if loss.two_classes else y
    return largest(lambda z: u * z - value(loss, y, z), start, step=1e-2)[0]


@shortfall.rule(UserLoss)
def _(loss: Any, y: Any, t: Any, u: Any) -> Any:
    y, t, u = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (y, t, u)))
    v = value(loss, y, t)
    noise = 4 * EPS * (np.abs(v) + np.abs(u * t))
    if loss.conjugated is not None:
        return np.maximum(v + conjugate(loss, y, u) - u * t, 0.0) + noise
    with np.errstate(invalid="ignore"):
        return largest(lambda z: u * (z - t) - (value(loss, y, z) - v), t)[0] + noise


@lowest.rule(UserLoss)
def _(loss: Any, y: Any) -> Any:
    return _far_slope(loss, y, -1.0)


@highest.rule(UserLoss)
def _(loss: Any, y: Any) -> Any:
    return _far_slope(loss, y, 1.0)


def _far_slope(loss: UserLoss, y: Any, side: float) -> Any:
    """Return a slope that is attained far out: the box of the dual is taken to end there, which is safe."""
    far = side * FAR * (1 + np.abs(np.asarray(y, dtype=np.float64)))
    with np.errstate(invalid="ignore"):
        found = (value(loss, y, far) - value(loss, y, far / 2)) / (far / 2)
    return np.where(np.isnan(found) | np.isinf(found), side * np.inf, found)


@traits.rule(UserLoss)
def _(loss: Any) -> Traits:
    return Traits(smooth=loss.smooth, boxed=loss.form, two_classes=loss.two_classes)
