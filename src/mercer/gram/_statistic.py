"""The distances of points, kept for kernels that are functions of them: other length scales then cost no pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.engine import Engine
from mercer.gram._block import block
from mercer.gram._gram import Gram
from mercer.gram._lower import lower
from mercer.gram._make import SMALL, from_matrix
from mercer.kernels import Kernel
from mercer.kernels._evaluate import all_pairs, of_profile
from mercer.kernels._form import Fused, Identity
from mercer.kernels._views import look, n_rows

KEPT_UP_TO = 4000  # rows


@dataclass(frozen=True, eq=False)
class KeptStatistic:
    """The one statistic of all pairs of points that a kernel is a function of, in double precision."""

    form: Fused
    values: np.ndarray
    engine: Engine

    def gram(self, kernel: Kernel) -> Gram | None:
        """Return the Gram matrix of another kernel of the same statistic, or None if it is not one."""
        form = kernel.form()
        if not isinstance(form, Fused) or (form.statistics, form.view) != (self.form.statistics, self.form.view):
            return None
        return from_matrix(of_profile(form.rule, [self.values]), self.engine)


def kept_statistic(kernel: Kernel, X: Any, engine: Engine) -> KeptStatistic | None:
    """Return the statistic of all pairs of X, or None where the kernel is no function of one, or rows are too many."""
    form, n = kernel.form(), n_rows(X)
    if not isinstance(form, Fused) or len(form.statistics) != 1 or n > KEPT_UP_TO:
        return None
    if n * n <= SMALL:
        A, _ = look(form.view, X)
        return KeptStatistic(form, all_pairs(form.statistics[0], A, A), engine)
    double = replace(engine, precision="double")
    source = lower(Fused(Identity(), form.statistics, form.view), X, None, double)
    source.prepare()
    return KeptStatistic(form, block(source, double, np.empty((n, n))), engine)
