"""What runs in the environment of metric-learn, which needs an older scikit-learn: python _metric_learn.py.

Each line of the standard input is a request: a file of points and pairs, a learner, its options, threads, and whether
it is timed. If so, it is fitted between two runs of ``loop``, which the caller runs as well, so that times in the two
environments are compared by their ratios. Each answer is a line of JSON: seconds of the fit and the loop, the metric.
"""

from __future__ import annotations

import json
import sys
import warnings
from functools import cache
from typing import Any

import numpy as np
from _timing import clock, limited, undisturbed

SIZE = 500, 13
"""Pairs and features of the loop: small, as all that metric-learn does."""


def loop(threads: int, turns: int = 400) -> float:
    """Return the seconds of a fixed NumPy computation of the kind that MMC consists of: about 60 ms."""
    rng = np.random.default_rng(0)
    G = rng.normal(size=SIZE)
    A = np.eye(SIZE[1])

    def run() -> None:
        B = A
        for _ in range(turns):
            values, V = np.linalg.eigh((B + B.T) / 2)
            B = np.dot(V * np.maximum(1e-3, values[None, :]), V.T)
            c = np.sqrt(np.einsum("ij,ij->i", G @ B, G))
            B = np.einsum("ij,ik->jk", G, G / c[:, None]) / len(G)

    with limited(threads):
        run()
        return undisturbed(run)


@cache
def given(file: str) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Return what learners of pairs and of quadruplets are fitted to."""
    with np.load(file, allow_pickle=False) as held:
        X, S, D = held["X"], held["similar"], held["dissimilar"]
    labels = np.r_[np.ones(len(S)), -np.ones(len(D))].astype(int)
    q = min(len(S), len(D))
    return (np.concatenate([X[S], X[D]]), labels), (np.concatenate([X[S[:q]], X[D[:q]]], axis=1),)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Fit one learner once, and say what came of it."""
    import metric_learn

    arguments = given(request["file"])[request["learner"] == "LSML"]
    learner = getattr(metric_learn, request["learner"])(random_state=0, **request["options"])
    threads, timed = int(request["threads"]), bool(request["timed"])
    told: dict[str, Any] = {"loop": loop(threads)} if timed else {}
    with limited(threads):
        told["seconds"] = (undisturbed if timed else clock)(lambda: learner.fit(*arguments))
    if timed:
        told["loop"] = (told["loop"] + loop(threads)) / 2
    return {**told, "A": learner.get_mahalanobis_matrix().tolist()}


def main() -> None:
    """Answer requests until there are no more."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        try:
            said = answer(json.loads(line))
        except (ValueError, np.linalg.LinAlgError) as error:  # a learner that cannot cope with its data
            said = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
