"""Timing contenders against each other: warmed up, interleaved, medians, equal threads, equal answers."""

from __future__ import annotations

import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from _case import Measured
from threadpoolctl import threadpool_limits

ALLOWED = {np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-9}
"""How far answers may lie apart, as a share of the largest, for a ratio to be reported."""

HOW = """How it was measured: every contender runs once before the clock starts (compiling, caches, page faults), then
all take turns, the order moving by one each round; each figure is the median of {repeats} rounds. All sides get
{threads} threads unless the case says otherwise: OpenBLAS and OpenMP (KeOps) by threadpoolctl and OMP_NUM_THREADS,
PyTorch and oneDAL by their own calls. Preparation counts on every side: ours includes gram(), NumPy its norms and
scaling, KeOps its scaling (not its compilation); the line below a case also gives ours with the Gram object ready.
Chunk sizes of the NumPy loops are tuned beforehand; their buffers and threads are kept. {touched} GiB of memory were
touched and freed first, so that nobody is charged for the machine's first use of it; and before each turn the machine
rests {rest} s, since threads of OpenBLAS and OpenMP wait busily for a while after their work, and would take half of a
core from whoever comes next. A turn in which other processes were busy is taken again, up to five times. Answers are
compared before timing, as the largest difference over the largest value; above 1e-3 (float32) or 1e-9 (float64) no
ratio is reported."""


REST = 0.15
"""Seconds before each turn."""


def touch(gib: int) -> None:
    """Write to some memory and free it: first use is slow, and would be charged to whoever comes first."""
    blocks = [np.ones(2**27) for _ in range(gib)]
    del blocks


@contextmanager
def limited(threads: int) -> Iterator[None]:
    """Give every library the same number of threads."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
    if "daal4py" in sys.modules:
        sys.modules["daal4py"].daalinit(threads)
    with threadpool_limits(threads):
        yield


def clock(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def undisturbed(run: Callable[[], Any], attempts: int = 5, patience: float = math.inf) -> float:
    """Time one turn, anew if other processes took more of the machine meanwhile than a twentieth; Linux can tell.

    It is taken up to so many times, the last begun before ``patience`` seconds of timing are over.
    """
    best, spent = math.inf, 0.0
    for _ in range(attempts):
        time.sleep(REST)
        before = others_seconds()
        seconds = clock(run)
        if others_seconds() - before <= max(0.02, 0.05 * seconds):
            return seconds
        best, spent = min(best, seconds), spent + seconds
        if spent > patience:
            break
    return best


def others_seconds() -> float:
    """Return the seconds of all cores that went to other processes since the machine started (0: unknown)."""
    try:
        ticks = [int(k) for k in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    except (OSError, ValueError):
        return 0.0
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK") - time.process_time()


def race(
    contenders: Mapping[str, Callable[[], Any]],
    repeats: int,
    threads: int | None = None,
    digest: Callable[[Any], np.ndarray] = np.asarray,
    note: str = "",
) -> Measured:
    """Time contenders in turn, after comparing what they return; the first is the reference.

    ``digest`` picks what is compared (some rows of a large block). ``threads=None`` leaves threads to the contenders.
    """
    if threads is not None:
        with limited(threads):
            return race(contenders, repeats, None, digest, note)
    apart, allowed = compared(contenders, digest)
    if apart > allowed:
        return Measured({}, apart, allowed, note=note)
    names = list(contenders)
    found: dict[str, list[float]] = {name: [] for name in names}
    for k in range(repeats):
        for name in names[k % len(names) :] + names[: k % len(names)]:
            found[name].append(undisturbed(contenders[name]))
    medians = {name: statistics.median(times) for name, times in found.items()}
    spread = {name: (max(times) - min(times)) / medians[name] for name, times in found.items()}
    return Measured(medians, apart, allowed, spread, note)


def compared(contenders: Mapping[str, Callable[[], Any]], digest: Callable[[Any], np.ndarray]) -> tuple[float, float]:
    """Run each contender once; return the largest difference from the first, relative to its largest value."""
    reference, allowed, worst = None, 0.0, 0.0
    for run in contenders.values():
        answer = np.array(digest(run()))  # a copy: contenders may reuse their output
        if reference is None:
            reference, allowed = answer.reshape(-1).astype(np.float64), ALLOWED[answer.dtype]
            continue
        gap = np.abs(answer.reshape(-1) - reference).max() / np.abs(reference).max()
        worst = max(worst, float(gap) if np.isfinite(gap) else np.inf)
    return worst, allowed


def some_rows(K: Any) -> np.ndarray:
    """Return about a hundred rows of a block, the last among them."""
    return np.asarray(K[:: -max(1, len(K) // 100)])
