"""metric-learn, asked from here; ``make peers-setup`` makes its environment, .venv-metric-learn."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from _case import Skip

HOME = Path(__file__).parents[2] / ".venv-metric-learn"


class Elsewhere:
    """A process in that environment, idle but for the fits that it is asked for."""

    def __init__(self, folder: Path, threads: int) -> None:
        python = HOME / "bin" / "python"
        if not python.exists():
            raise Skip("no .venv-metric-learn; make peers-setup makes it")
        self.folder, self.threads, self.count = folder, threads, 0
        command = [str(python), str(Path(__file__).with_name("_metric_learn.py"))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def give(self, X: np.ndarray, S: np.ndarray, D: np.ndarray) -> str:
        """Write points and pairs for it to read; returns the file."""
        self.count += 1
        file = self.folder / f"given{self.count}.npz"
        np.savez(file, X=X, similar=S, dissimilar=D)
        return str(file)

    def fit(self, file: str, learner: str, *, timed: bool = False, **options: Any) -> dict[str, Any]:
        """Return seconds, the metric A, and if timed the seconds of the loop there; or what failed."""
        request = {"file": file, "learner": learner, "options": options, "threads": self.threads, "timed": timed}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise Skip("metric-learn's process ended; see its message above")
        return dict(json.loads(line))


@contextmanager
def elsewhere(threads: int) -> Iterator[Elsewhere]:
    """Start the process, and end it."""
    with tempfile.TemporaryDirectory() as folder:
        there = Elsewhere(Path(folder), threads)
        try:
            yield there
        finally:
            assert there.process.stdin is not None
            there.process.stdin.close()
            there.process.wait()
