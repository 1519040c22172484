"""A grid of costs and kernels, cross-validated, against scikit-learn's grid search."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from _case import Case, Faster, Measured, Scene
from _svm_data import Task, covtype, synthetic
from _timing import clock, limited, undisturbed

import mercer
from mercer import Engine

ROWS, FOLDS = 5000, 5
COSTS = np.logspace(-1, 2, 6).tolist()
GAMMAS = np.logspace(-3, 0, 6).tolist()
APART = 1e-3  # how far mean scores may differ


def search(load: Callable[[Scene], Task], scene: Scene) -> Measured:
    """Time a search of 36 cells; the ratio counts if the scores are the same, and the best cell as good."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    task = load(scene)
    grid = {"C": COSTS, "gamma": GAMMAS}
    few = {"C": COSTS[:2], "gamma": GAMMAS[:2]}
    machine = mercer.SVC(engine=Engine(threads=scene.threads))

    def peer(cells: dict[str, list[float]], rows: slice) -> GridSearchCV:
        return GridSearchCV(SVC(), cells, cv=FOLDS, n_jobs=scene.threads).fit(task.X[rows], task.y[rows])

    with limited(scene.threads):
        mercer.tune(machine, task.X[:600], task.y[:600], few, cv=FOLDS)
        ours, found = [], []
        for _ in range(min(scene.repeats, 3)):
            ours.append(undisturbed(lambda: found.append(mercer.tune(machine, task.X, task.y, grid, cv=FOLDS))))
        peer(few, slice(0, 600))  # its processes are started before the clock is
        theirs = []  # its processes count as others' work: a turn cannot be told undisturbed
        seconds = clock(lambda: theirs.append(peer(grid, slice(None))))
    mine, other = found[-1].cv_results_, theirs[0].cv_results_
    apart = float(np.abs(mine["mean_test_score"] - other["mean_test_score"]).max())
    at = found[-1].best_index_
    behind = theirs[0].best_score_ - other["mean_test_score"][at]
    error = other["std_test_score"][theirs[0].best_index_] / np.sqrt(FOLDS)
    note = f"best {_cell(mine['params'][at])}, theirs {_cell(theirs[0].best_params_)}, behind by {behind:.1e}"
    apart = apart if behind <= error else np.inf
    return Measured({"mercer": float(np.median(ours)), "GridSearchCV": seconds}, apart, APART, note=note)


def _cell(params: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in params.items())


CASES = [
    Case("tune-synthetic", (Faster(20.0, ("GridSearchCV",)),), partial(search, partial(synthetic, n=ROWS, C=1.0))),
    Case("tune-covtype", (Faster(20.0, ("GridSearchCV",)),), partial(search, partial(covtype, n=ROWS))),
]
