"""Machines along paths: each of a path on the rows of the one before, and begun where it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mercer.gram import Gram
from mercer.gram._pool import run
from mercer.gram._sources import Buffers
from mercer.solvers.dual.forms import Form
from mercer.solvers.dual.held import Held
from mercer.solvers.dual.train import Trained, decisions, read, train
from mercer.solvers.watch import Clock

MOST_HELD = 8192  # rows: beyond, steps over all variables cost more than working sets


class Paths:
    """Trains paths on one Gram and says what their machines decide at its rows.

    Up to 8,192 rows, if the budget allows, K is held as an array (`Held`), and threads take a path each. Beyond, the
    machines of all paths that stand at the same place are trained together, by working sets.

    Parameters
    ----------
    K : Gram
        On all points.
    paths : sequence of sequences of Form
        All paths of one length; the machines of a path on the same rows.
    tol : float
        The largest violation of the optimality conditions.
    max_steps : int
        Inner steps for each machine; -1 for many.
    clock : Clock
        When to stop early: what is left then is missing.
    held : Held or None
        K as an array, made by `held_if_small`; None where working sets are to be used.
    """

    def __init__(
        self, K: Gram, paths: Sequence[Sequence[Form]], *, tol: float, max_steps: int, clock: Clock, held: Held | None
    ) -> None:
        self.gram, self.tol, self.max_steps, self.clock = K, tol, max_steps, clock
        self.machines: list[list[Trained]] = [[] for _ in paths]
        self._values: list[list[np.ndarray | None]] = [[] for _ in paths]
        self.held = held
        if held is None:
            self._together(paths)
        else:
            run(range(len(paths)), lambda k, own: self._alone(held, k, paths[k], own), K.engine.n_threads, Buffers)

    def decisions(self, which: Sequence[int], step: int, rows: np.ndarray) -> np.ndarray | None:
        """Return f + b at some rows, of the machines of some paths at a step; None where the time ran out before."""
        if any(len(self.machines[k]) <= step for k in which):
            return None
        machines = [self.machines[k][step] for k in which]
        values = [self._values[k][step] for k in which]
        if all(known is not None for known in values):
            D = np.column_stack([np.asarray(known)[rows] for known in values])
            margins = np.array([machine.margin for machine in machines])
            return D / margins + np.array([machine.offset for machine in machines])
        return decisions(machines, rows) if self.held is None else self._by_matrix(self.held, machines, rows)

    def _by_matrix(self, held: Held, machines: list[Trained], rows: np.ndarray) -> np.ndarray:
        A = np.zeros((held.n, len(machines)), held.matrix.dtype)
        for k, machine in enumerate(machines):
            A[machine.points, k] = machine.coefficients
        D = held.matrix[rows, : held.n] @ A
        return D.astype(np.float64) + np.array([machine.offset for machine in machines])

    def _alone(self, held: Held, k: int, path: Sequence[Form], buffers: Buffers) -> Iterator[None]:
        walk = held.walk(
            [form.box for form in path], tol=self.tol, max_steps=10**7 if self.max_steps < 0 else self.max_steps,
            expired=self._expired, buffers=buffers,
        )  # fmt: skip  # one call
        for form in path:
            if self._expired():
                return
            walked = next(walk)
            self.machines[k].append(read(form, walked.answer))
            self._values[k].append(walked.values)
            yield

    def _together(self, paths: Sequence[Sequence[Form]]) -> None:
        starts: list[np.ndarray | None] = [None] * len(paths)
        for step in range(len(paths[0])):
            if self._expired():
                return
            found = train(
                [path[step] for path in paths], tol=self.tol, max_steps=self.max_steps, clock=self.clock, starts=starts
            )  # fmt: skip  # one call
            starts = [machine.coefficients * machine.margin for machine in found]
            for k, machine in enumerate(found):
                self.machines[k].append(machine)
                self._values[k].append(None)

    def _expired(self) -> bool:
        return self.clock.step(0, np.nan) is not None


def held_if_small(K: Gram) -> Held | None:
    """Return K as an array where that pays and the budget allows it."""
    n = K.shape[0]
    return Held(K) if n <= MOST_HELD and n * n * K.dtype.itemsize <= K.engine.budget else None
