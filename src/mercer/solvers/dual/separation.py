"""The hard margin: the plane between two sets of points, or the proof that there is none.

With b free, f is what leads from the nearest point of one convex hull to that of the other:

    minimise ||sum_i c_i k(., x_i)||^2 / 2,  c >= 0 of sum 1 over one class, c <= 0 of sum -1 over the other.

It has always a solution. If that is 0 the hulls meet, and c is the witness; else f, divided by half the distance of its
two multipliers, has y f >= 1, and no smaller norm does. Without a free b the dual of the hard margin is solved as it
is: it has no solution when a convex combination of the points y_i k(., x_i) is 0, and then c grows along one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer._checks import message
from mercer.solvers._span import fresh
from mercer.solvers.dual.boxes import solve_box
from mercer.solvers.dual.forms import Form
from mercer.solvers.dual.quadratic import BoxAnswer
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

MEET = 1e-10  # of k(x, x): squared distances of hulls that count as 0
STAGE, MOST = 20_000, 10**7  # steps between two looks at whether the dual has no solution, and in all
FIRST, ROUNDS = 1e-3, 14  # of k(x, x): the violation asked for first, and how often a smaller one is


@dataclass(frozen=True, eq=False)
class Meeting:
    """Convex combinations of the rows of two classes that meet, up to rounding: no plane lies between them.

    Without a free offset: a convex combination of the points y_i k(., x_i) that is 0, or of y_i (k(., x_i), 1) where
    the offset is penalised.

    Parameters
    ----------
    rows : array
        The rows in the combinations.
    weights : array
        Their shares: positive ones in the class of sign +1, negative ones in the other; each sum to 1 (with no free
        offset all together, without signs).
    distance : float
        ||sum_i weights_i k(., x_i)||, next to sqrt(k(x, x)) of at most ``size``.
    size : float
        The largest norm of a point.
    """

    rows: np.ndarray
    weights: np.ndarray
    distance: float
    size: float


class NotSeparableError(ValueError):
    """There is no hard margin; ``witness`` says why.

    Parameters
    ----------
    text : str
        The message.
    witness : Meeting
        The proof.
    """

    def __init__(self, text: str, witness: Meeting) -> None:
        super().__init__(text, witness)
        self.witness = witness

    def __str__(self) -> str:
        return str(self.args[0])


def separate(
    form: Form, tol: float, max_steps: int, cache: int | None, clock: Clock, start: np.ndarray | None
) -> BoxAnswer:
    """Return where the quadratic problem of a hard margin ended; raise NotSeparableError where it has none.

    ``tol`` is the largest violation of y (f + b) >= 1 and its complements, with f + b as it is shown.
    """
    form = replace(form, box=replace(form.box, gram=fresh(form.box.gram)))  # hulls may be nearer than float32 can tell
    if len(form.box.totals):
        return _between_hulls(form, tol, max_steps, cache, clock, start)
    return _by_stages(form, tol, max_steps, cache, clock, start)


def _between_hulls(
    form: Form, tol: float, max_steps: int, cache: int | None, clock: Clock, start: np.ndarray | None
) -> BoxAnswer:
    size = float(form.box.gram.diag()[form.points].max())
    asked, steps, most = FIRST * size, 0, MOST if max_steps < 0 else max_steps
    for _ in range(ROUNDS):
        answer = solve_box(form.box, tol=asked, max_steps=most - steps, cache=cache, clock=clock, start=start)
        steps += answer.steps
        start, square = answer.c, float(answer.c @ answer.gradient)
        if square <= MEET * size:  # a last look, as near as they get
            answer = solve_box(form.box, tol=1e-16 * size, max_steps=STAGE, cache=cache, clock=clock, start=start)
            _refuse(form, answer.c, float(answer.c @ answer.gradient), size)
        margin = form.margin(answer.levels)
        if answer.status is not Status.CONVERGED or (margin > 0 and answer.violation <= tol * margin):
            break
        asked = min(0.1 * asked, 0.5 * tol * margin) if margin > 0 else 0.1 * asked
    return _scaled(answer, steps, answer.violation / margin if margin > 0 else np.inf, tol)


def _by_stages(
    form: Form, tol: float, max_steps: int, cache: int | None, clock: Clock, start: np.ndarray | None
) -> BoxAnswer:
    box = form.box
    size = float(box.gram.diag()[form.points].max()) + box.shift
    stage, steps, most = STAGE, 0, MOST if max_steps < 0 else max_steps
    while True:
        answer = solve_box(box, tol=tol, max_steps=min(stage, most - steps), cache=cache, clock=clock, start=start)
        steps, start, stage = steps + answer.steps, answer.c, 2 * stage
        total = float(np.abs(answer.c).sum())
        square = float(answer.c @ (answer.gradient - box.linear)) / max(total, 1e-300) ** 2
        if answer.status is not Status.CONVERGED and total > 0 and square <= MEET * size:
            _refuse(form, answer.c / total, square, size)
        if answer.status is not Status.MAX_STEPS or steps >= most:
            return _scaled(answer, steps, answer.violation, tol)


def _scaled(answer: BoxAnswer, steps: int, violation: float, tol: float) -> BoxAnswer:
    status = answer.status
    if violation <= tol and status is Status.STALLED:
        status = Status.CONVERGED
    elif violation > tol and status is Status.CONVERGED:
        status = Status.STALLED
    return BoxAnswer(answer.c, answer.gradient, answer.levels, violation, steps, status)


def _refuse(form: Form, c: np.ndarray, square: float, size: float) -> None:
    rows = np.flatnonzero(c)
    witness = Meeting(form.points[rows], c[rows], float(np.sqrt(max(square, 0.0))), float(np.sqrt(size)))
    strongest = form.points[np.argsort(-np.abs(c), kind="stable")[:4]]
    named = ", ".join(str(row) for row in sorted(strongest))
    free = "convex combinations of the two classes that meet" if len(form.box.totals) else "a combination that is 0"
    more = ", ..." if len(rows) > 4 else ""
    got = f"{free}: {witness.distance:.1e} apart, with norms up to {witness.size:.3g}, of rows {named}{more}"
    remedy = "Give a finite C, or another kernel; the error's 'witness' is the proof."
    text = message("hard margin", "C=inf needs classes that the kernel separates", got, remedy)
    raise NotSeparableError(text, witness)
