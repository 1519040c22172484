"""Watching a solve: steps reported as they come, and the reasons to stop early."""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mercer.solvers.solution import Status


@dataclass(frozen=True)
class Step:
    """One step of a solver: its number, how far the worst target is from done, the seconds since the start, the aim."""

    number: int
    residual: float
    seconds: float
    solver: str
    tol: float = 0.0


Watcher = Callable[[Step], Any]


class Stopped(Exception):  # noqa: N818  # not an error: the clock's word, carried out of a pass
    """Why a pass was left before its end."""

    def __init__(self, status: Status) -> None:
        self.status = status


@dataclass
class Clock:
    """Tells a solver when to stop: at a deadline, or when the watcher returns True."""

    solver: str
    deadline: float | None = None
    watch: Watcher | None = None
    started: float = field(default_factory=time.perf_counter)
    tol: float = 0.0

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    def step(self, number: int, residual: float) -> Status | None:
        """Report a step; return why to stop, or None to go on."""
        if self.watch is not None and self.watch(Step(number, residual, self.seconds, self.solver, self.tol)):
            return Status.INTERRUPTED
        return Status.DEADLINE if self.deadline is not None and self.seconds > self.deadline else None

    def go_on(self, number: int, residual: float) -> None:
        """Report a step from deep within a pass; raise `Stopped` where it is time to stop."""
        if (status := self.step(number, residual)) is not None:
            raise Stopped(status)


class Progress:
    """A watcher that shows a bar on standard error: tqdm's where it is installed, else one of characters.

    The bar is full when the residual, which falls by factors, is down to the tolerance.

    Parameters
    ----------
    stream : text file, optional
        Where to; None is standard error.
    every : float
        Seconds between two looks.

    Examples
    --------
    >>> from mercer.solvers import Progress, Step
    >>> import io
    >>> stream = io.StringIO()
    >>> with Progress(stream) as watch:
    ...     watch(Step(0, 1.0, 0.0, "PCG", 1e-4))
    ...     watch(Step(3, 1e-2, 0.5, "PCG", 1e-4))
    >>> stream.getvalue().splitlines()[-1]
    'PCG [##########..........] step 3, residual 1.00e-02, 0.5 s'
    """

    def __init__(self, stream: Any = None, every: float = 0.2) -> None:
        self.stream, self.every, self._last, self._first = stream, every, -math.inf, 0.0
        self._bar: _Bar | _Tqdm | None = None

    def __call__(self, step: Step) -> None:
        """Show the step, unless one was shown just before."""
        self._first = max(self._first, step.residual) if math.isfinite(step.residual) else self._first
        if step.seconds - self._last < self.every and step.number:
            return
        self._last = step.seconds
        self._bar = self._bar or (_Tqdm() if self.stream is None and _has_tqdm() else _Bar(self.stream or sys.stderr))
        told = f"step {step.number}, residual {step.residual:.2e}, {step.seconds:.1f} s"
        self._bar.show(step.solver, _share(step, self._first), told)

    def close(self) -> None:
        """End the line."""
        if self._bar is not None:
            self._bar.close()
        self._bar, self._last, self._first = None, -math.inf, 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _share(step: Step, first: float) -> float:
    """Return how much of the way is behind, counted in factors of the residual."""
    if not (0 < step.tol < first and step.residual > 0):
        return 0.0
    return min(max(math.log(first / step.residual) / math.log(first / step.tol), 0.0), 1.0)


def _has_tqdm() -> bool:
    return importlib.util.find_spec("tqdm") is not None


class _Bar:
    """A bar of characters on one line."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def show(self, solver: str, share: float, told: str) -> None:
        full = round(20 * share)
        self.stream.write(f"\r{solver} [{'#' * full}{'.' * (20 - full)}] {told}")
        self.stream.flush()

    def close(self) -> None:
        self.stream.write("\n")
        self.stream.flush()


class _Tqdm:
    """A bar of tqdm, which is one of HTML in notebooks."""

    def __init__(self) -> None:
        from tqdm.auto import tqdm

        self.bar = tqdm(total=100, bar_format="|{bar:20}| {desc}", leave=True)  # a postfix starts with a comma

    def show(self, solver: str, share: float, told: str) -> None:
        self.bar.set_description_str(f"{solver}: {told}", refresh=False)
        self.bar.n = round(100 * share)
        self.bar.refresh()

    def close(self) -> None:
        self.bar.close()
