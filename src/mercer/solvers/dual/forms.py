"""Support vector machines as quadratic problems over boxes, and how their answers are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer._checks import refuse
from mercer.gram import Gram
from mercer.losses import highest, lowest, traits
from mercer.solvers.dual.quadratic import BoxQuadratic

Intercept = Literal["free", "penalized", "none"]


@dataclass(frozen=True, eq=False)
class Form:
    """A machine f + b as a `BoxQuadratic`: its variables stand at some rows of K, one or two at each.

    With sums given b is minus the mean of their multipliers; with a shift it is the sum of c. A machine ``scaled`` is
    f and b divided by half the distance of two multipliers, the functional margin of nu-SVC.

    Parameters
    ----------
    box : BoxQuadratic
        The problem; variables v, v + q, ... stand at the same row, for the q rows of the machine.
    points : array of shape (q,)
        The rows of K it is about.
    scaled : bool
        Whether the answer is divided by its margin.
    open_group : int
        A group whose variables must all be at their bounds, which leaves its multiplier open to one side, or -1. Such a
        machine takes the multiplier that makes its margin 1, if it is open to that.
    hard : bool
        Whether it is a hard margin: no error is allowed, and there may be no solution.
    """

    box: BoxQuadratic
    points: np.ndarray
    scaled: bool = False
    open_group: int = -1
    hard: bool = False

    def folded(self, c: np.ndarray) -> np.ndarray:
        """Return the coefficients of f at the machine's rows."""
        return c.reshape(-1, len(self.points)).sum(axis=0)

    def unfolded(self, coefficients: np.ndarray) -> np.ndarray:
        """Return variables that fold to coefficients: a place to start from."""
        if len(self.box.rows) == len(self.points):
            return coefficients
        return np.concatenate([np.maximum(coefficients, 0.0), np.minimum(coefficients, 0.0)])

    def chosen(self, levels: np.ndarray) -> np.ndarray:
        """Return the multipliers, an open one as wanted."""
        if self.open_group < 0 or self.margin(levels) >= 1:
            return levels
        rise, fall = levels
        return np.array([fall + 2.0, fall] if self.open_group == 0 else [rise, rise - 2.0])

    def margin(self, levels: np.ndarray) -> float:
        """Return what f and b are divided by."""
        return 0.5 * float(levels[0] - levels[1]) if self.scaled else 1.0

    def offset(self, c: np.ndarray, levels: np.ndarray) -> float:
        """Return b, before it is divided by the margin."""
        return -float(levels.mean()) if len(levels) else self.box.shift * float(c.sum())


def of_loss(
    gram: Gram, rows: np.ndarray, y: np.ndarray, loss: Any, cost: np.ndarray, intercept: Intercept = "free"
) -> Form:
    """Return: minimise over f, b  sum_i cost_i loss(y_i, f(x_i) + b) + ||f||^2 / 2, with "penalized" + b^2 / 2.

    For losses whose conjugate has the form y u + spread |u| + ridge u^2 / 2 (their traits are ``boxed``): the hinge,
    the epsilon-insensitive loss, and the squares of both.

    Parameters
    ----------
    gram : Gram
        K on all points.
    rows : array of shape (q,)
        The points of this machine, by their rows.
    y, cost : arrays of shape (q,)
        Their targets, +1 and -1 for losses of two classes; C times their weights, > 0 and finite.
    loss : loss record
        See `mercer.losses`.
    intercept : {"free", "penalized", "none"}
        What b costs.
    """
    form = traits(loss).boxed
    if form is None:
        refuse("of_loss", "a loss whose dual is quadratic over a box", repr(loss), "Use Newton for smooth losses.")
    low, high = -cost * highest(loss, y), -cost * lowest(loss, y)
    p, ridge, points = -y, form.ridge / cost, rows
    if form.spread > 0:  # a kink at 0, inside the box: a variable for each side
        p = np.concatenate([form.spread - y, -form.spread - y])
        low, high = np.concatenate([np.zeros(len(y)), low]), np.concatenate([high, np.zeros(len(y))])
        rows, ridge = np.concatenate([rows, rows]), np.concatenate([ridge, ridge])
    totals = np.zeros(1 if intercept == "free" else 0)
    shift = 1.0 if intercept == "penalized" else 0.0
    group = np.zeros(len(rows), dtype=np.int64)
    return Form(BoxQuadratic(gram, rows, p, low, high, totals, group, ridge, shift), points)


def hard_margin(gram: Gram, rows: np.ndarray, y: np.ndarray, intercept: Intercept = "free") -> Form:
    """Return: minimise ||f||^2 / 2, with "penalized" + b^2 / 2, such that y_i (f(x_i) + b) >= 1 for all rows."""
    zero, high = np.zeros(len(rows)), np.full(len(rows), np.inf)
    low, high = np.where(y > 0, zero, -high), np.where(y > 0, high, zero)
    if intercept != "free":
        box = BoxQuadratic(
            gram, rows, -y, low, high, np.zeros(0), np.zeros(len(rows), dtype=np.int64), zero,
            1.0 if intercept == "penalized" else 0.0,
        )  # fmt: skip  # in the order of the record
        return Form(box, rows, hard=True)
    box = BoxQuadratic(
        gram, rows, zero, low, high, np.array([1.0, -1.0]), (y < 0).astype(np.int64), zero
    )  # fmt: skip  # in the order of the record
    return Form(box, rows, scaled=True, hard=True)


def nu_classes(
    gram: Gram, rows: np.ndarray, y: np.ndarray, weight: np.ndarray, nu: float, factor: np.ndarray | None = None
) -> Form:
    """Return nu-SVC: minimise ||f||^2 / 2 - nu W margin + sum_i w_i max(0, margin - y_i (f(x_i) + b)), W = sum_i w_i.

    The answer is divided by the margin, which makes it that of C = 1 / margin. A nu too large for the lighter class is
    cut to the largest there is; the objective then knows no upper limit of the margin, which is at least 1.

    Parameters
    ----------
    gram : Gram
        K on all points.
    rows : array of shape (q,)
        The points of this machine, by their rows.
    y : array of shape (q,)
        +1 and -1.
    weight : array of shape (q,)
        w, > 0.
    nu : float
        The share of errors.
    factor : array of shape (q,), optional
        What multiplies the weights, by class.
    """
    weight = weight if factor is None else weight * factor
    sides = [float(weight[y > 0].sum()), float(weight[y < 0].sum())]
    total, light = 0.5 * nu * sum(sides), int(sides[1] < sides[0])
    cut, total, zero = total > sides[light] * (1 + 1e-12), min(total, sides[light]), np.zeros(len(rows))
    box = BoxQuadratic(
        gram, rows, zero, np.where(y > 0, zero, -weight), np.where(y > 0, weight, zero),
        np.array([total, -total]), (y < 0).astype(np.int64), zero,
    )  # fmt: skip  # in the order of the record
    return Form(box, rows, scaled=True, open_group=light if cut else -1)


def nu_values(gram: Gram, rows: np.ndarray, y: np.ndarray, cost: np.ndarray, nu: float) -> Form:
    """Return nu-SVR: minimise ||f||^2 / 2 + nu T epsilon + sum_i cost_i max(0, |y_i - t_i| - epsilon), T = sum cost."""
    zero, half = np.zeros(len(rows)), 0.5 * nu * float(cost.sum())
    box = BoxQuadratic(
        gram, np.concatenate([rows, rows]), np.concatenate([-y, -y]), np.concatenate([zero, -cost]),
        np.concatenate([cost, zero]), np.array([half, -half]), np.repeat([0, 1], len(rows)), np.zeros(2 * len(rows)),
    )  # fmt: skip  # in the order of the record
    return Form(box, rows)


def one_class(gram: Gram, rows: np.ndarray, weight: np.ndarray, nu: float) -> Form:
    """Return the one-class machine: minimise ||f||^2 / 2 - nu W rho + sum_i w_i max(0, rho - f(x_i)); b = -rho."""
    zero = np.zeros(len(rows))
    group, total = np.zeros(len(rows), dtype=np.int64), np.array([nu * float(weight.sum())])
    return Form(BoxQuadratic(gram, rows, zero, zero, weight, total, group, zero), rows)
