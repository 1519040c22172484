"""Learning a metric: the solver is run on one BLAS thread, so that its answer does not depend on how many there are."""

from __future__ import annotations

import time
from dataclasses import replace

from mercer.gram._pool import one_blas_thread
from mercer.solvers.metric.problem import MetricProblem, MetricSolution, MetricSolver
from mercer.solvers.watch import Clock, Watcher


def learn_metric(
    problem: MetricProblem, solver: MetricSolver, *, watch: Watcher | None = None, deadline: float | None = None
) -> MetricSolution:
    """Return the best metric found, certified; never raises for want of convergence, but says how it ended.

    Parameters
    ----------
    problem : MetricProblem
        Points and pairs.
    solver : Ratio or Root
        The objective, and how it is minimised.
    watch : callable, optional
        Called with each `Step`; returning True stops.
    deadline : float, optional
        Seconds after which the best so far is returned.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.metric import MetricProblem, Pairs, Ratio, learn_metric
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 2.0]])
    >>> one, other = Pairs(np.array([0]), np.array([1])), Pairs(np.array([0]), np.array([2]))
    >>> learn_metric(MetricProblem(X, one, other), Ratio(diagonal=True)).components
    array([[0. , 0.5]])
    """
    clock = Clock(type(solver).__name__, deadline, watch)
    begun = time.perf_counter()
    with one_blas_thread():
        found = solver.run(problem, clock)
    return replace(
        found, stats={"solver": type(solver).__name__, **found.stats, "seconds": time.perf_counter() - begun}
    )
