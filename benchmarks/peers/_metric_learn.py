"""What runs in the environment of metric-learn, which needs an older scikit-learn: python _metric_learn.py FILE.

FILE holds differences-to-be: points, pairs (similar, dissimilar) and options; what was found is printed as JSON. The
same NumPy loop is timed here and by the caller, so that times in two environments can be compared by their ratios.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def loop() -> float:
    """Return the least seconds of a fixed NumPy computation of the kind that metrics are learned by.

    The least: what other processes take is no part of how fast an environment is.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 50))
    found = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(20):
            M = X.T @ (X / np.sqrt((X * X).sum(axis=1, keepdims=True)))
            np.linalg.eigh(M)
        found.append(time.perf_counter() - start)
    return min(found)


def learners(names: list[str], diagonal: bool) -> dict[str, Any]:
    """Return metric-learn's learners by name."""
    import metric_learn as ml

    made = {
        "MMC": lambda: ml.MMC(diagonal=diagonal, max_iter=100, max_proj=1000, tol=1e-3, random_state=0),
        "ITML": lambda: ml.ITML(random_state=0),
        "LSML": lambda: ml.LSML(random_state=0),
    }
    return {name: made[name]() for name in names}


def main(file: Path) -> None:
    """Learn from one file and print what was found."""
    warnings.simplefilter("ignore")
    given = np.load(file, allow_pickle=False)
    X, S, D = given["X"], given["similar"], given["dissimilar"]
    pairs = np.concatenate([X[S], X[D]])
    labels = np.r_[np.ones(len(S)), -np.ones(len(D))].astype(int)
    q = min(len(S), len(D))
    quadruplets = np.concatenate([X[S[:q]], X[D[:q]]], axis=1)
    found: dict[str, Any] = {"loop": loop()}
    for name, learner in learners(str(given["names"]).split(), bool(given["diagonal"])).items():
        arguments = (quadruplets,) if name == "LSML" else (pairs, labels)
        times = []
        for _ in range(1 + int(given["repeats"])):  # the first warms up
            start = time.perf_counter()
            learner.fit(*arguments)
            times.append(time.perf_counter() - start)
        found[name] = {"seconds": statistics.median(times[1:]), "A": learner.get_mahalanobis_matrix().tolist()}
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
