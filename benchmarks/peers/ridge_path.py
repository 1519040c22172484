"""Kernel ridge tuned: 20 penalties by exact leave-one-out, against a grid search over 5 folds."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from _case import Case, Faster, Measured, Scene, Skip
from _timing import clock, limited

N = 5_000
ALPHAS = np.geomspace(1e-4, 10.0, 20)
GAMMA = 0.25  # of kin40k: a length scale of 1.41


def kin40k(scene: Scene, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return n rows to train on and 5,000 others."""
    file = scene.data / "kin40k.npz"
    if not file.exists():
        raise Skip("no kin40k.npz")
    data = np.load(file)
    X, y = data["X"].astype(np.float64), data["y"].astype(np.float64)
    return X[:n], y[:n], X[-5_000:], y[-5_000:]


def path(scene: Scene) -> Measured:
    """Time both searches; each is judged by the error of the model it picks on rows neither has seen."""
    from joblib import parallel_config
    from sklearn.kernel_ridge import KernelRidge as Theirs
    from sklearn.model_selection import GridSearchCV

    from mercer import Engine, KernelRidge
    from mercer.kernels import Gaussian

    X, y, new, wanted = kin40k(scene, scene.size(N))
    ours = KernelRidge("loo", alphas=ALPHAS, kernel=Gaussian.from_gamma(GAMMA), engine=Engine(threads=scene.threads))
    theirs = GridSearchCV(
        Theirs(kernel="rbf", gamma=GAMMA), {"alpha": ALPHAS}, cv=5, n_jobs=scene.threads,
        scoring="neg_mean_squared_error",
    )  # fmt: skip  # what is searched, then how
    runs: dict[str, Callable[[], Any]] = {
        "mercer": lambda: ours.fit(X, y),
        "scikit-learn GridSearchCV, 5 folds": lambda: theirs.fit(X, y),
    }
    # each of its workers gets one core and one thread, its best setting: run.py's OMP_NUM_THREADS would give it two
    with limited(scene.threads), parallel_config("loky", inner_max_num_threads=1):
        ours.fit(X[:500], y[:500])
        theirs.fit(X[:500], y[:500])
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(min(scene.repeats, 3)):
            for name, run in runs.items():
                times[name].append(clock(run))
    errors = [float(np.sqrt(np.mean((model.predict(new) - wanted) ** 2))) for model in (ours, theirs)]
    theirs_alpha = theirs.best_params_["alpha"]
    note = f"test RMSE {errors[0]:.4f} with alpha {ours.alpha_:.2g}, {errors[1]:.4f} with {theirs_alpha:.2g}"
    seconds = {name: statistics.median(found) for name, found in times.items()}
    spread = {name: (max(found) - min(found)) / seconds[name] for name, found in times.items()}
    return Measured(seconds, max(0.0, errors[0] / errors[1] - 1.0), 1e-2, spread, note)


CASES = [Case("ridge-path-loo", (Faster(8.0, ("scikit-learn",)),), path)]
