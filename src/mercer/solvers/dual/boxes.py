"""Solving quadratic problems over boxes: many that share one Gram at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from mercer._checks import refuse
from mercer.gram._lines import Lines
from mercer.solvers.dual._exact import Exact
from mercer.solvers.dual._front import Front
from mercer.solvers.dual._plan import Plan, plan
from mercer.solvers.dual.quadratic import BoxAnswer, BoxQuadratic
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

MOST_STEPS = 10**7


def solve_box(
    problem: BoxQuadratic, *, tol: float = 1e-3, max_steps: int = -1, cache: int | None = None,
    clock: Clock | None = None, start: np.ndarray | None = None,
) -> BoxAnswer:  # fmt: skip  # the problem, then how to solve it
    """Solve one problem: `solve_boxes` of one."""
    starts = None if start is None else [start]
    return solve_boxes([problem], tol=tol, max_steps=max_steps, cache=cache, clock=clock, starts=starts)[0]


def solve_boxes(
    problems: Sequence[BoxQuadratic], *, tol: float = 1e-3, max_steps: int = -1, cache: int | None = None,
    clock: Clock | None = None, starts: Sequence[np.ndarray | None] | None = None,
) -> list[BoxAnswer]:  # fmt: skip  # the problems, then how to solve them
    """Solve problems that share one Gram: the pairs of a multiclass fit, the folds of a validation, costs of a path.

    Each keeps a working set whose part of K is at hand, on which it descends by steps along pairs of variables (where
    sums are given) or single ones; the problems advance together, and share the rows of K that several of them need.
    The objective of each decreases from round to round.

    Parameters
    ----------
    problems : sequence of BoxQuadratic
        On one Gram.
    tol : float
        The largest violation of the optimality conditions an answer may have.
    max_steps : int
        Inner steps for each problem; -1 for ten million, or a hundred for each variable if that is more.
    cache : int, optional
        Bytes of kernel rows that may be kept; None takes what suits the number of points.
    clock : Clock, optional
        When to stop early.
    starts : sequence of arrays, optional
        Where to begin; moved into the box and to the sums.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.dual import BoxQuadratic, solve_boxes
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> zeros = np.zeros(4)
    >>> K, rows = gram(Linear(), X), np.arange(4)
    >>> lower, upper = np.minimum(10 * y, 0), np.maximum(10 * y, 0)
    >>> svm = BoxQuadratic(K, rows, -y, lower, upper, np.zeros(1), zeros.astype(int), zeros)
    >>> answer, = solve_boxes([svm])
    >>> answer.c.round(3)
    array([ 0. , -0.5,  0.5,  0. ])
    """
    if not problems:
        return []
    if any(problem.gram is not problems[0].gram for problem in problems):
        refuse("solve_boxes", "all problems must share one Gram", "several", "Call it once for each Gram.")
    clock = Clock("solve_boxes") if clock is None else clock
    most = max(MOST_STEPS, 100 * max(p.size for p in problems)) if max_steps < 0 else int(max_steps)
    fronts = _fronts(problems, plan(problems), tol, [None] * len(problems) if starts is None else list(starts))
    status = Status.CONVERGED
    try:
        status = _run(fronts, most, clock)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return [front.answer(status) for front in fronts]


def _fronts(problems: Sequence[BoxQuadratic], layout: Plan, tol: float, starts: list[np.ndarray | None]) -> list[Front]:
    K = problems[0].gram
    lines, exact, diag = Lines(K, layout.order, layout.starts), Exact(K), K.diag()
    return [
        Front(problem, start, tol, lines, layout.position[problem.rows], *layout.local(k), exact, diag)
        for k, (problem, start) in enumerate(zip(problems, starts, strict=True))
    ]


def _run(fronts: list[Front], most: int, clock: Clock) -> Status:
    """Advance all problems, round by round; return why it ended."""
    for front in fronts:
        if (begun := front.started()) is not None:
            front.begin(_values(front, *begun))
    running, number = list(fronts), 0
    while running:
        worst = max(front.standing.violation for front in running)
        stop = clock.step(number, worst)
        if stop is not None:
            return stop
        if any(front.steps >= most for front in running):
            return Status.MAX_STEPS
        running = [front for front in running if _round(front, most, partial(_expired, clock, number, worst))]
        number += 1
    return Status.CONVERGED


def _expired(clock: Clock, number: int, worst: float) -> bool:
    return clock.step(number, worst) is not None


def _round(front: Front, most: int, expired: Callable[[], bool]) -> bool:
    """Do a round of one problem; return whether there was anything to do."""
    moved = front.advance(most - front.steps, expired)
    if moved is not None:
        front.absorb(*moved, _values(front, *moved))
    return moved is not None


def _values(front: Front, moved: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Return K[points of the problem, moved] change."""
    out = np.zeros(front.spans[-1][2])
    for segment, a, b in front.spans:
        front.lines.add(front.line[moved], change, segment, out[a:b], front.threads)
    return out
