"""Starting up: each figure is measured inside a new process, by its own clock."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _case import Case, Measured, Scene, Under, Within

IMPORT = "import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
FIRST = """
import time
import numpy as np
from mercer import gram
from mercer.kernels import Gaussian
r = np.random.default_rng(0)
X, v = r.standard_normal((2000, 10)), r.standard_normal(2000)
t = time.perf_counter()
gram(Gaussian(1.0), X) @ v
print(time.perf_counter() - t)
"""


def seconds_of(program: str, cache: Path | None = None) -> float:
    """Run a program in a new process and return the number it prints."""
    env = dict(os.environ) | ({"MERCER_CACHE_DIR": str(cache)} if cache else {})
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    return float(done.stdout)


def imports(scene: Scene) -> Measured:
    """Time the two imports in turn; one round before the clock makes bytecode and fills the disk's cache."""
    programs = {"mercer": IMPORT.format(module="mercer"), "sklearn.svm": IMPORT.format(module="sklearn.svm")}
    found: dict[str, list[float]] = {name: [] for name in programs}
    for k in range(scene.repeats + 1):
        for name, program in programs.items():
            seconds = seconds_of(program)
            if k:
                found[name].append(seconds)
    return Measured({name: statistics.median(times) for name, times in found.items()})


def first_product(scene: Scene) -> Measured:
    """Time the first product of a process (imports not counted), machine code on disk or not."""
    with tempfile.TemporaryDirectory() as folder:
        cold = [seconds_of(FIRST, Path(folder) / str(k)) for k in range(scene.repeats)]
        warm = [seconds_of(FIRST, Path(folder) / "0") for _ in range(scene.repeats)]
    return Measured({"warm cache": statistics.median(warm), "cold cache": statistics.median(cold)})


CASES = [
    Case("startup-import", (Within(1.3, ("sklearn.svm",)),), imports),
    Case("startup-first-product", (Under(1.0, "warm cache"), Under(6.0, "cold cache")), first_product),
]
