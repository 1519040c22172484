"""What every solver offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from mercer.solvers._conjugate import Run
from mercer.solvers._system import System
from mercer.solvers.problem import Problem
from mercer.solvers.watch import Clock


class Solver(ABC):
    """A frozen record of options that solves some problems and says why it will not take others."""

    @abstractmethod
    def refuses(self, problem: Problem) -> str | None:
        """Return why it will not take a problem, in a sentence, or None."""

    @abstractmethod
    def run(self, system: System, clock: Clock, start: Any = None) -> tuple[Run, dict[str, Any]]:
        """Return the solution of the system and what was done."""
