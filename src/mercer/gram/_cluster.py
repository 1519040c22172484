"""Products on a cluster: bands of rows go to the workers of a dask.distributed client."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.engine import Engine
from mercer.kernels import Kernel
from mercer.kernels._views import n_rows, take


@dataclass(frozen=True)
class Remote:
    """What a worker needs to compute a band of K @ V."""

    kernel: Kernel
    X: Any
    Y: Any
    engine: Engine

    def swapped(self) -> Remote:
        """Return it for the transpose."""
        return self if self.Y is None else replace(self, X=self.Y, Y=self.X)


def remote_product(remote: Remote, V: np.ndarray) -> np.ndarray:
    """Return K @ V, a band of rows a task; Y and V are sent to each worker once.

    The bands depend on the number of rows only, so the result does not depend on the number of workers.
    """
    client = remote.engine.client
    Y = remote.X if remote.Y is None else remote.Y
    columns, multiplier = client.scatter([Y, V], broadcast=True, hash=False)
    local = replace(remote.engine, client=None)
    n = n_rows(remote.X)
    size = max(1024, -(-n // 64))
    bands = [take(remote.X, slice(i, min(i + size, n))) for i in range(0, n, size)]
    tasks = [client.submit(_band, remote.kernel, band, columns, multiplier, local, pure=False) for band in bands]
    return np.concatenate(client.gather(tasks))


def _band(kernel: Kernel, X: Any, Y: Any, V: np.ndarray, engine: Engine) -> np.ndarray:
    from mercer.gram._make import gram

    return gram(kernel, X, Y, engine) @ V
