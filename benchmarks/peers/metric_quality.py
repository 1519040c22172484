"""What learned metrics are good for, against metric-learn on the same pairs: python metric_quality.py --data DIR.

Each set is halved at random. At most 1,000 similar and 1,000 dissimilar pairs of the first half are learned from, the
same by all. Judged are the accuracy of three nearest neighbours (labels of the first half) and the adjusted Rand index
of k-means, on the second half. Settings of every method, on both sides, are chosen without it: the first half is halved
again, twice, and the setting with the largest sum of the judgements on the second parts is kept. The table is the
mean over several halvings, as reStructuredText.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from _elsewhere import Elsewhere, elsewhere
from _timing import limited
from metric import pairs_of
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier

from mercer import Engine, MetricLearner
from mercer.kernels import Gaussian

Scores = tuple[float, float]
"""Accuracy and adjusted Rand index."""
SETS = ("wine", "digits", "letter")
PAIRS = 2000
INNER = 2
"""How many times the first half is halved to choose a setting."""
LETTERS = 6000
"""Rows of letter that a halving draws."""


@dataclass(frozen=True, eq=False)
class Part:
    """Rows to learn from, with pairs of them, and rows to be judged on."""

    X: np.ndarray
    y: np.ndarray
    similar: np.ndarray
    dissimilar: np.ndarray
    new: np.ndarray
    truth: np.ndarray

    @staticmethod
    def halved(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Part:
        """Return one half to learn from and the other to be judged on."""
        order = rng.permutation(len(y))
        one, other = order[: len(y) // 2], order[len(y) // 2 :]
        S, D = pairs_of(y[one], PAIRS, int(rng.integers(2**31)))
        return Part(X[one], y[one], S, D, X[other], y[other])

    def scores(self, mapped: Callable[[np.ndarray], np.ndarray]) -> Scores:
        """Judge a map."""
        old, new = mapped(self.X), mapped(self.new)
        size = old.std()
        if not (np.isfinite(size) and size > 0):
            return 0.0, 0.0
        old, new = old / size, new / size  # k-means has a tolerance of its own
        near = KNeighborsClassifier(3).fit(old, self.y).score(new, self.truth)
        clusters = KMeans(len(np.unique(self.y)), n_init=10, random_state=0).fit_predict(new)
        return float(near), float(adjusted_rand_score(self.truth, clusters))


Learner = Callable[[Part], Callable[[np.ndarray], np.ndarray]]
"""Learns from a part and returns its map."""


def ours(part: Part) -> dict[str, list[Learner]]:
    """Return Mercer's methods, each with its settings."""
    k, d = len(np.unique(part.y)), part.X.shape[1]
    ranks = sorted({min(d, r) for r in (k - 1, k, 2 * k)})

    def learner(**options: Any) -> Learner:
        def learn(part: Part) -> Callable[[np.ndarray], np.ndarray]:
            model = MetricLearner(engine=Engine(threads=1), random_state=0, **options)
            return model.fit(part.X, similar=part.similar, dissimilar=part.dissimilar).transform

        return learn

    shares = (0.01, 0.1, 1.0)
    covariance = np.cov(part.X.T) + 1e-3 * np.eye(d)
    curved = [
        learner(kernel=Gaussian(scale=A / (2 * d * factor**2)), rank=rank, regularization=share)
        for A, factor, rank, share in product(
            (np.eye(d), np.linalg.inv(covariance)), (1, 2), (2 * k, 4 * k), shares[:2]
        )
    ]
    return {
        "Mercer, ratio of a rank": [learner(rank=r, regularization=share) for r, share in product(ranks, shares)],
        "Mercer, ratio of a rank, Gaussian": curved,
        "Mercer, root": [learner(objective="root", regularization=share) for share in (1e-3, *shares)],
    }


def theirs(there: Elsewhere) -> dict[str, list[Learner]]:
    """Return metric-learn's methods, each with its settings."""

    def learner(name: str, **options: Any) -> Learner:
        def learn(part: Part) -> Callable[[np.ndarray], np.ndarray]:
            found = there.fit(there.give(part.X, part.similar, part.dissimilar), name, **options)
            if "failed" in found:
                print(f"    {name} {options}: {found['failed']}", file=sys.stderr)
                return np.zeros_like
            values, V = np.linalg.eigh(np.asarray(found["A"]))
            L = V * np.sqrt(np.maximum(values, 0))
            return lambda X: X @ L

        return learn

    starts = ("identity", "covariance")
    return {
        "metric-learn, MMC": [*(learner("MMC", init=a) for a in starts), learner("MMC", diagonal=True)],
        "metric-learn, ITML": [learner("ITML", prior=a, gamma=gamma) for a, gamma in product(starts, (0.1, 1.0))],
        "metric-learn, LSML": [learner("LSML", prior=a) for a in starts],
    }


def one_halving(X: np.ndarray, y: np.ndarray, seed: int, there: Elsewhere, sides: list[str]) -> dict[str, Scores]:
    """Return the judgements of every method on one second half."""
    rng = np.random.default_rng(seed)
    if len(y) > LETTERS:
        some = rng.permutation(len(y))[:LETTERS]
        X, y = X[some], y[some]
    whole = Part.halved(X, y, rng)
    inner = [Part.halved(whole.X, whole.y, rng) for _ in range(INNER)]
    found = {"Euclidean": whole.scores(lambda X: X)}
    methods = {**(theirs(there) if "metric-learn" in sides else {}), **(ours(whole) if "Mercer" in sides else {})}
    for name, learners in methods.items():
        start = time.perf_counter()
        judged = [sum(sum(part.scores(learn(part))) for part in inner) for learn in learners]
        best = int(np.argmax(judged))
        found[name] = whole.scores(learners[best](whole))
        told = f"setting {best} of {len(learners)}, {found[name][0]:.3f} / {found[name][1]:.3f}"
        print(f"  {name}: {told}, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return found


def points(data: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a set, its features of variance 1."""
    if name == "letter":
        with np.load(data / "letter.npz", allow_pickle=True) as held:
            X, y = (np.concatenate([held[f"{v}_train"], held[f"{v}_test"]]) for v in "Xy")
        X, y = X.astype(float), np.unique(y, return_inverse=True)[1]
    else:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def table(found: dict[str, dict[str, np.ndarray]]) -> Iterator[str]:
    """Yield the lines of the table: means over halvings, (halvings, 2) a cell."""
    yield from (".. list-table::", "   :header-rows: 1", f"   :widths: 40{' 20' * len(found)}", "")
    methods = list(next(iter(found.values())))
    for row in (
        ["accuracy / adjusted Rand index", *found],
        *([m, *(" / ".join(f"{v:.3f}" for v in one[m].mean(axis=0)) for one in found.values())] for m in methods),
    ):
        yield from (f"   {'*' if k == 0 else ' '} - {cell}" for k, cell in enumerate(row))


def main() -> None:
    """Judge every method on every set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--sides", nargs="+", choices=("metric-learn", "Mercer"), default=["metric-learn", "Mercer"])
    parser.add_argument("--halvings", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, np.ndarray]] = {}
    with limited(1):
        for name in options.sets:
            X, y = points(options.data, name)
            rounds = []
            for seed in range(options.halvings):
                print(f"{name}, halving {seed + 1}", file=sys.stderr, flush=True)
                with elsewhere(1) as there:
                    rounds.append(one_halving(X, y, seed, there, options.sides))
            found[name] = {method: np.array([one[method] for one in rounds]) for method in rounds[0]}
            print("\n".join(table({name: found[name]})), file=sys.stderr, flush=True)
    print("\n".join(table(found)))


if __name__ == "__main__":
    main()
