"""The engine: what a computation may use. A frozen record, passed on, never global."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer._checks import describe, integer, is_number, refuse

__all__ = ["Engine"]

_UNITS = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


@dataclass(frozen=True)
class Engine:
    """Threads, memory, precision and (optionally) a cluster.

    Parameters
    ----------
    threads : int, optional
        Threads for the passes over tiles; None takes every core this process may use. Results do not depend on it.
    memory : float or str, optional
        Budget for what is stored (a stored Gram, a factor), in bytes or as ``"2 GB"``; None takes half of what the
        machine has. Lazy products need little and ignore it.
    precision : {"single", "double"}
        What tiles are computed in. Sums over tiles are always kept in double.
    client : dask.distributed.Client, optional
        Where row blocks of products are computed; None is this process.

    Examples
    --------
    >>> from mercer import Engine
    >>> Engine(threads=2, memory="1 GiB", precision="double").budget
    1073741824
    """

    threads: int | None = None
    memory: float | str | None = None
    precision: Literal["single", "double"] = "single"
    client: Any = None

    def __post_init__(self) -> None:
        if self.threads is not None:
            integer("Engine", "threads", self.threads, 1)
        if self.precision not in ("single", "double"):
            refuse("Engine", "'precision' must be 'single' or 'double'", describe(self.precision))
        if self.client is not None and not hasattr(self.client, "submit"):
            refuse("Engine", "'client' must be a dask.distributed Client", describe(self.client))
        if self.memory is not None:
            self.budget  # noqa: B018  # asked for its checks

    @property
    def budget(self) -> int:
        """The memory budget in bytes."""
        if self.memory is None:
            return _physical_memory() // 2
        size: Any = _parsed(self.memory) if isinstance(self.memory, str) else self.memory
        if not is_number(size) or not 0 < size < math.inf:
            refuse(
                "Engine", "'memory' must be a positive number of bytes or a text such as '2 GB'", describe(self.memory)
            )
        return int(size)

    @property
    def n_threads(self) -> int:
        """How many threads a pass runs on."""
        if self.threads is not None:
            return int(self.threads)
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of tiles."""
        return np.dtype(np.float32 if self.precision == "single" else np.float64)


def _parsed(text: str) -> float | None:
    head = text.strip().lower().rstrip("bik gmt").strip()
    unit = text.strip().lower()[len(head) :].strip()
    try:
        return float(head) * (_UNITS[unit] if unit else 1)
    except (ValueError, KeyError):
        return None


def _physical_memory() -> int:
    """Return the machine's memory in bytes; 4 GiB where the system does not say."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 4 * 2**30
