"""Solving quadratic problems over boxes: many that share one Gram at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from mercer._checks import refuse
from mercer.gram import Gram
from mercer.gram._lines import Lines
from mercer.gram._pool import one_blas_thread, run
from mercer.solvers.dual._exact import Exact
from mercer.solvers.dual._front import Front, Moved
from mercer.solvers.dual._plan import Plan, plan
from mercer.solvers.dual._whole import solve_each, solve_whole, values_at_hand
from mercer.solvers.dual.quadratic import BoxAnswer, BoxQuadratic
from mercer.solvers.solution import Status
from mercer.solvers.watch import Clock

MOST_STEPS = 10**7
MANY = 50_000  # variables of all problems: for fewer what is not compiled stays on one thread
WORTH_THREADS = 5000  # variables of all problems: for fewer a thread costs more to start than it saves


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
    begin: list[np.ndarray | None] = [None] * len(problems) if starts is None else list(starts)
    values = values_at_hand(problems)
    if values is not None:
        return solve_each(
            problems, lambda k: solve_whole(problems[k], values, begin[k], tol, most, clock), partial(_all, problems)
        )
    fronts = _fronts(problems, plan(problems), tol, begin, cache)
    status = Status.CONVERGED
    try:
        status = _run(fronts, most, clock)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return [front.answer(status) for front in fronts]


def _fronts(
    problems: Sequence[BoxQuadratic], layout: Plan, tol: float, starts: list[np.ndarray | None], cache: int | None
) -> list[Front]:
    K = problems[0].gram
    shared = len(problems) > 1
    lines = Lines(K, layout.order, layout.starts, _cache(K, cache), shared=shared)
    exact, diag = Exact(K), K.diag()
    threads = 1 if shared else K.engine.n_threads
    return [
        Front(problem, start, tol, lines, layout.position[problem.rows], *layout.local(k), exact, diag, threads)
        for k, (problem, start) in enumerate(zip(problems, starts, strict=True))
    ]


def _cache(K: Gram, cache: int | None) -> int:
    """Return the bytes of rows to keep: those asked for, or 2 GB, more where rows are longer than 20,000."""
    if cache is not None:
        return int(cache)
    return int(min(K.engine.budget // 2, 2e9 * max(1.0, K.shape[0] / 20_000)))


def _run(fronts: list[Front], most: int, clock: Clock) -> Status:
    """Advance all problems, round by round; return why it ended."""
    threads = fronts[0].lines.engine.n_threads
    with one_blas_thread():
        _each(fronts, Front.begin, threads)
        running, number = list(fronts), 0
        while running:
            left = np.nan if clock.watch is None else max(front.left() for front in running)
            stop = clock.step(number, left)
            if stop is not None:
                return stop
            if any(front.steps >= most for front in running):
                return Status.MAX_STEPS
            running = _round(running, threads, most, partial(_expired, clock, number, left))
            number += 1
    return Status.CONVERGED


def _expired(clock: Clock, number: int, left: float) -> bool:
    return clock.step(number, left) is not None


def _round(running: list[Front], threads: int, most: int, expired: Callable[[], bool]) -> list[Front]:
    """Do a round of all problems; return those that are not over."""
    coming: dict[Front, np.ndarray] = {}
    found: dict[Front, Moved] = {}
    many = sum(front.problem.size for front in running) > MANY

    def choose(front: Front) -> None:
        lines = front.choose()
        if lines is not None:
            coming[front] = lines

    def advance(front: Front) -> None:
        found[front] = front.advance(most - front.steps, expired)

    def absorb(front: Front) -> None:
        at, change, added = found[front]
        front.absorb(at, change, front.added(at, change) if added is None else added)

    def descend(front: Front) -> None:
        front.descend(most - front.steps, expired)

    def go(front: Front) -> None:
        advance(front)
        absorb(front)

    def move(fronts: list[Front]) -> None:
        if many:
            _each(fronts, go, threads)
            return
        for front in fronts:
            front.gather()
        _each(sorted(fronts, key=lambda front: -front.steps), descend, threads)
        for front in fronts:
            found[front] = front.moved()
            absorb(front)

    if all(front.resident for front in running):
        busy = [front for front in running if many or front.doubtful]
        _each(busy, choose, threads)
        for front in running:
            if front not in busy:
                choose(front)
        running = [front for front in running if front in coming]
        _shelved(running, coming, threads, move)
        return running
    _each(running, choose, threads)
    running = [front for front in running if front in coming]
    if len(running) > 1 and running[0].lines.dear:  # most of those that come in will move: their rows, all at once
        running[0].lines.shelve(_needs(coming), threads)
    _each(running, advance, threads)
    _share([front for front in running if found[front].added is None], found, threads, absorb)
    _each([front for front in running if found[front].added is not None], absorb, threads)
    return running


def _needs(lines: Mapping[Front, np.ndarray]) -> list[tuple[np.ndarray, int]]:
    """Return the lines that problems want for each of the segments they own."""
    wanted: dict[int, list[np.ndarray]] = {}
    for front, some in lines.items():
        for segment, _, _ in front.spans:
            wanted.setdefault(segment, []).append(some)
    return [(np.unique(np.concatenate(rows)), segment) for segment, rows in wanted.items()]


def _share(fronts: list[Front], found: dict[Front, Moved], threads: int, absorb: Callable[[Front], None]) -> None:
    """Compute once the rows that several problems need now, and go on with these."""
    if len(fronts) > 1:
        wanted = {front: front.line[found[front].at] for front in fronts}
        _shelved(fronts, wanted, threads, lambda some: _each(some, absorb, threads))
    else:
        _each(fronts, absorb, threads)


def _shelved(
    fronts: list[Front], wanted: Mapping[Front, np.ndarray], threads: int, work: Callable[[list[Front]], None]
) -> None:
    """Do some work for problems once their rows are on the shelf: as many at a time as there is room for."""
    if not fronts:
        return
    if fronts[0].lines.shelve(_needs({front: wanted[front] for front in fronts}), threads) or len(fronts) == 1:
        work(fronts)
        return
    half = len(fronts) // 2
    _shelved(fronts[:half], wanted, threads, work)
    _shelved(fronts[half:], wanted, threads, work)


def _each(fronts: list[Front], work: Callable[[Front], None], threads: int) -> None:
    """Do some work for every problem, several at a time."""
    _parallel(fronts, work, threads if sum(front.problem.size for front in fronts) > WORTH_THREADS else 1)


def _all(problems: Sequence[BoxQuadratic], numbers: Sequence[int], work: Callable[[int], None]) -> None:
    """Do some work for the number of every problem, several at a time."""
    threads = problems[0].gram.engine.n_threads
    _parallel(numbers, work, threads if sum(p.size for p in problems) > WORTH_THREADS else 1)


def _parallel(items: Sequence[Any], work: Callable[[Any], None], threads: int) -> None:
    if threads == 1:
        for item in items:
            work(item)
    else:
        run(items, lambda item, _: work(item), threads, lambda: None)
