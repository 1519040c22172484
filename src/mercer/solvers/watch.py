"""Watching a solve: steps reported as they come, and the reasons to stop early."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mercer.solvers.solution import Status


@dataclass(frozen=True)
class Step:
    """One step of a solver: its number, how far the worst target is from done, and the seconds since the start."""

    number: int
    residual: float
    seconds: float
    solver: str


Watcher = Callable[[Step], Any]


@dataclass
class Clock:
    """Tells a solver when to stop: at a deadline, or when the watcher returns True."""

    solver: str
    deadline: float | None = None
    watch: Watcher | None = None
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    def step(self, number: int, residual: float) -> Status | None:
        """Report a step; return why to stop, or None to go on."""
        if self.watch is not None and self.watch(Step(number, residual, self.seconds, self.solver)):
            return Status.INTERRUPTED
        return Status.DEADLINE if self.deadline is not None and self.seconds > self.deadline else None


class Progress:
    """A watcher that shows each step on one line of standard error.

    Examples
    --------
    >>> from mercer.solvers import Progress, Step
    >>> import io
    >>> Progress(stream=io.StringIO())(Step(3, 1e-2, 0.5, "PCG"))
    """

    def __init__(self, stream: Any = None, every: float = 0.2) -> None:
        self.stream, self.every, self._last = stream or sys.stderr, every, -1.0

    def __call__(self, step: Step) -> None:
        """Show the step, unless one was shown just before."""
        if step.seconds - self._last < self.every and step.number:
            return
        self._last = step.seconds
        self.stream.write(f"\r{step.solver}: step {step.number}, residual {step.residual:.2e}, {step.seconds:.1f} s")
        self.stream.flush()
