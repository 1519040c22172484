"""The certificate of machines that are quadratic problems over boxes, from the data alone, in float64.

With g = K c + shift sum c + p - level, the gap between the objective and its dual at c and any levels is

    sum_i [ phi_i(c_i) - min over the box of phi_i ],   phi_i(v) = g_i v + ridge_i v^2 / 2,

a sum of terms >= 0. Both sides are strongly convex in f, hence ||f - f*||^2 <= gap. The level of a group is where the
minimisers of its phi_i can have the sum they must have; as no value of f moves by more than ||f - f*|| sqrt(k(x, x)),
that leaves an interval for it, and so for b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.gram import Gram
from mercer.gram._lines import product_of_part
from mercer.solvers._span import EPS, fresh, rounding
from mercer.solvers.certificate import Certificate
from mercer.solvers.dual._survey import survey
from mercer.solvers.dual.forms import Form
from mercer.solvers.dual.quadratic import BoxQuadratic

SCOPE = "all functions of the space"
HALVINGS = 80  # of an interval, to find a level


@dataclass(frozen=True, eq=False)
class Found:
    """A point of a form: its variables and the multipliers of its sums."""

    form: Form
    c: np.ndarray
    levels: np.ndarray


@dataclass(frozen=True, eq=False)
class Proof:
    """What was proved of one point, before it is divided by the margin.

    Parameters
    ----------
    objective : float
        That of the quadratic problem: minus the dual value.
    gap : float
        At least the distance to the optimum of both, rounding included.
    violation : float
        The largest violation of the optimality conditions, as ``tol`` counts it.
    worst : int
        The row of K with the largest share of the gap.
    square : float
        ||f||^2.
    levels : array of shape (g, 2)
        Where the levels of the exact solution lie.
    """

    objective: float
    gap: float
    violation: float
    worst: int
    square: float
    levels: np.ndarray


def certify_machines(found: Sequence[Found], K: Gram) -> Certificate:
    """Return the certificate of machines on one Gram, with one entry for each.

    Cost: the kernel values between the machines' rows and the rows whose coefficients are not 0, in double.
    """
    double, roots = fresh(K), np.sqrt(np.maximum(K.diag(), 0.0))
    values = _values(found, double, roots)
    lines = [
        (prove_hard if each.form.hard else _shown)(each, *known, roots)
        for each, known in zip(found, values, strict=True)
    ]
    primal, gap, violation, worst, radius, offset = (np.array(column) for column in zip(*lines, strict=True))
    return Certificate(primal, primal - gap, gap, violation, worst, radius, SCOPE, K.kernel, offset)


Line = tuple[float, float, float, int, float, float]
"""Of one machine: objective, gap, violation, worst row, and r, o with |decision - exact decision| <= r sqrt(k) + o."""


def _shown(found: Found, values: np.ndarray, slack: np.ndarray, roots: np.ndarray) -> Line:
    proof = prove(found, values, slack, roots)
    radius, offset = _bounds(found, proof)
    return proof.gap - proof.objective, proof.gap, proof.violation, proof.worst, radius, offset


def prove_hard(found: Found, values: np.ndarray, slack: np.ndarray, roots: np.ndarray) -> Line:
    """Return what holds of a hard margin: f over its least margin is feasible, and c, up to a factor, for the dual.

    So the least ||f||^2 / 2 lies between (sum |c|)^2 / (2 ||f||^2) and ||f||^2 / (2 margin^2). The feasible f is off by
    at most sqrt(2 gap), and the exact b lies between the ends that all f so near to it leave.
    """
    form, c = found.form, found.c
    margin = form.margin(found.levels)
    if margin <= 0:
        return 0.0, np.inf, np.inf, int(form.points[0]), np.inf, np.inf
    y = np.where(form.box.upper > 0, 1.0, -1.0)
    c, t, slack, roots = c / margin, values / margin, slack / margin, roots[form.points]
    b = form.offset(found.c, found.levels) / margin
    shift = form.box.shift
    slack = slack + 4 * EPS * (np.abs(t) + abs(b))
    signed = y * (t + b)
    least = float((signed - slack).min())
    square = float(c @ values) / margin + shift * b * b
    above = square + float(np.abs(c) @ slack)
    objective = 0.5 * above / least**2 if least > 0 else np.inf
    off = abs(float(c.sum())) if len(form.box.totals) else 0.0  # of a sum that is 0 up to rounding
    dual = max(float(np.abs(c).sum()) - off * (1 + abs(b)), 0.0) ** 2 / (2 * above)
    gap = max(objective - dual, 0.0) + EPS * len(c) * objective
    shown = np.maximum(1.0 - signed, np.where(c != 0, signed - 1.0, 0.0))
    if least <= 0:  # not even on the right sides: nothing is proved
        return 0.5 * square, np.inf, float(shown.max()), int(form.points[int(signed.argmin())]), np.inf, np.inf
    radius = float(np.sqrt(2 * gap)) + float(np.sqrt(above)) * abs(1 - 1 / least)
    worst = int(form.points[int(np.where(c != 0, np.abs(signed - 1.0), 1.0 - signed).argmax())])
    return objective, gap, max(float(shown.max()), 0.0), worst, radius, _offset_of(form, y, t, b, radius, roots, slack)


def _offset_of(
    form: Form, y: np.ndarray, t: np.ndarray, b: float, radius: float, roots: np.ndarray, slack: np.ndarray
) -> float:
    """Return a bound on the error of b: where it may lie when no value of f is off by more than its reach."""
    if not len(form.box.totals):
        return radius if form.box.shift else 0.0
    reach = radius * roots + slack
    low = float((1 - t - reach)[y > 0].max())
    high = float((-1 - t + reach)[y < 0].min())
    return max(b - low, high - b, 0.0)


def _values(found: Sequence[Found], K: Gram, roots: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return f at the rows of each machine, and bounds on its rounding: of all together if that takes fewer values."""
    parts = [_Part(each.form.points, each.form.folded(each.c)) for each in found]
    rows, columns = _union([p.points for p in parts]), _union([p.used for p in parts])
    if len(found) == 1 or len(rows) * len(columns) >= sum(len(p.points) * len(p.used) for p in parts):
        return [_product(K, p.points, p.used, p.a[p.a != 0], roots) for p in parts]
    A = np.zeros((len(columns), len(parts)))
    for k, part in enumerate(parts):
        A[np.searchsorted(columns, part.used), k] = part.a[part.a != 0]
    V, slack = _product(K, rows, columns, A, roots)
    places = [np.searchsorted(rows, part.points) for part in parts]
    return [(V[at, k], slack[at, k]) for k, at in enumerate(places)]


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of a machine and its coefficients there."""

    points: np.ndarray
    a: np.ndarray

    @property
    def used(self) -> np.ndarray:
        """The rows with a coefficient."""
        return self.points[self.a != 0]


def _product(
    K: Gram, rows: np.ndarray, columns: np.ndarray, A: np.ndarray, roots: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return K[rows, columns] A and a bound on its rounding."""
    if not len(columns):
        return np.zeros((len(rows), *A.shape[1:])), np.zeros((len(rows), *A.shape[1:]))
    slack = rounding(K, roots[rows], roots[columns], A.reshape(len(A), -1))
    return product_of_part(K, rows, columns, A, K.engine), slack.reshape(len(rows), *A.shape[1:])


def _union(sets: Sequence[np.ndarray]) -> np.ndarray:
    return np.unique(np.concatenate(sets))


def prove(found: Found, values: np.ndarray, slack: np.ndarray, roots: np.ndarray) -> Proof:
    """Return what holds of a point whose f has these values at the machine's rows, each known up to its slack."""
    form, box, c = found.form, found.form.box, found.c
    copies = len(c) // len(form.points)
    t, slack, roots = np.tile(values, copies), np.tile(slack, copies), np.tile(roots[form.points], copies)
    smooth = t + box.shift * float(c.sum()) + box.linear  # the gradient, without the ridge
    slack = slack + 4 * EPS * (np.abs(t) + np.abs(box.linear) + box.shift * float(np.abs(c).sum()))
    level = found.levels[box.group] if len(found.levels) else np.zeros(len(c))
    terms = np.maximum(_short(box, c, smooth - level - slack), _short(box, c, smooth - level + slack))
    gap = float(terms.sum()) * (1 + len(c) * EPS) + _unbalanced(found)
    square = float(form.folded(c) @ values)
    shifted = box.shift * float(c.sum()) ** 2
    objective = 0.5 * (square + shifted + float(box.ridge @ c**2)) + float(box.linear @ c)
    at = survey(c, box.lower, box.upper, smooth + box.ridge * c, np.asarray(box.group, np.int64), len(found.levels))
    reach = np.sqrt(gap) * np.sqrt(roots**2 + box.shift) + slack
    levels = [_interval(box, c, smooth, reach, g) for g in range(len(found.levels))]
    return Proof(
        objective, gap, at.violation, int(box.rows[int(terms.argmax())]), square, np.array(levels).reshape(-1, 2)
    )


def _short(box: BoxQuadratic, c: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return phi(c) - min phi over the box, of each variable."""
    least = _minimiser(box, g)
    apart = c - least
    with np.errstate(invalid="ignore"):
        short = apart * (g + 0.5 * box.ridge * (c + least))
    return np.where(apart == 0, 0.0, np.where(np.isnan(short), np.inf, short))


def _minimiser(box: BoxQuadratic, g: np.ndarray) -> np.ndarray:
    """Return where phi is least in the box; the lower bound where it is flat."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.clip(-g / box.ridge, box.lower, box.upper)
    return np.where(box.ridge > 0, inside, np.where(g < 0, box.upper, box.lower))


def _unbalanced(found: Found) -> float:
    """Return what sums that are right up to rounding only may add to the gap."""
    box, more = found.form.box, 0.0
    for g, total in enumerate(box.totals):
        mine = found.c[box.group == g]
        off = abs(float(mine.sum()) - float(total)) + len(mine) * EPS * float(np.abs(mine).sum())
        more += abs(float(found.levels[g])) * off
    return more


def _interval(box: BoxQuadratic, c: np.ndarray, smooth: np.ndarray, reach: np.ndarray, g: int) -> tuple[float, float]:
    """Return where the level of a group lies if no entry of the gradient is off by more than its reach."""
    mine = box.group == g
    part = replace(
        box, rows=box.rows[mine], linear=box.linear[mine], lower=box.lower[mine], upper=box.upper[mine],
        ridge=box.ridge[mine], group=box.group[mine],
    )  # fmt: skip  # the group's own
    mirror = replace(part, lower=-part.upper, upper=-part.lower)
    s, r, total = smooth[mine], reach[mine], float(box.totals[g])
    if not np.isfinite(r).all():
        return -np.inf, np.inf
    size = 1e-12 * float(np.abs(c[mine]).sum())
    high = _first_above(part, s + r, total + size)
    return -_first_above(mirror, r - s, size - total), high


def _first_above(box: BoxQuadratic, s: np.ndarray, total: float) -> float:
    """Return a level at which even the least minimisers sum to more than ``total``: near the least such, or inf."""
    low, high = float(s.min()), float(np.nextafter(s.max(), np.inf))
    width = max(high - low, 1e-12 * abs(high), 1e-300)
    while not _minimiser(box, s - high).sum() > total:
        if width > 1e200 or not (box.ridge > 0).any():
            return np.inf
        high, width = high + width, 4 * width
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if _minimiser(box, s - middle).sum() > total else (middle, high)
    return high


def _bounds(found: Found, proof: Proof) -> tuple[float, float]:
    """Return r and o with |decision - exact decision| <= r sqrt(k(x, x)) + o."""
    form, radius = found.form, float(np.sqrt(proof.gap))
    if not len(proof.levels):
        return radius, radius if form.box.shift else 0.0
    b = form.offset(found.c, found.levels)
    ends = -proof.levels.mean(axis=0)
    off = float(np.abs(ends - b).max())
    if not form.scaled:
        return radius, off
    rise, fall = proof.levels
    margin, least, most = form.margin(found.levels), 0.5 * (rise[0] - fall[1]), 0.5 * (rise[1] - fall[0])
    if least <= 0 or margin <= 0 or not np.isfinite(most):
        return np.inf, np.inf
    change = max(abs(1 / margin - 1 / least), abs(1 / margin - 1 / most))
    size = float(np.sqrt(max(proof.square, 0.0)))
    return radius / margin + (size + radius) * change, off / margin + (abs(b) + off) * change
