"""Learning a metric from pairs.

metric-learn lives in an environment of its own and is asked from here (``_elsewhere``). Both sides take turns, each
alone, each turn between two runs of one NumPy loop, on as many BLAS threads: its seconds are multiplied by the ratio of
the loop here and there, and medians are compared. Its objective must not be better than ours. Beside what finds and
certifies a metric of prepared pairs ("mercer") the whole fit of the estimator is timed, which checks what it is given.
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from _case import Case, Faster, Measured, Scene, Skip, Under
from _elsewhere import elsewhere
from _metric_learn import loop
from _timing import clock, limited
from sklearn import datasets

from mercer import Engine, MetricLearner
from mercer.solvers.metric import MetricProblem, Pairs, Ratio, Root, learn_metric

FIT = "mercer's fit"

# ---------------------------------------------------------------- data


@cache
def points(data: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return points, features scaled to variance 1 (mnist: pixels, or 50 principal components), and labels."""
    if name.startswith("mnist"):
        file = data / "mnist.npz"
        if not file.exists():
            raise Skip("no mnist.npz")
        with np.load(file) as held:
            X, y = held["X_train"].reshape(len(held["y_train"]), -1) / 255.0, held["y_train"].astype(int)
        if name == "mnist-pca50":
            X = X - X.mean(axis=0)
            X = np.ascontiguousarray(X @ np.linalg.eigh(X.T @ X)[1][:, -50:])
        return X, y
    bunch = getattr(datasets, f"load_{name}")()
    X = bunch.data[:, bunch.data.std(axis=0) > 0].astype(float)
    return (X - X.mean(axis=0)) / X.std(axis=0), bunch.target


def pairs_of(y: np.ndarray, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return n pairs, half of each kind as far as there are."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, len(y), (2, 4 * n))
    a, b = a[a != b], b[a != b]
    same = y[a] == y[b]
    both = np.column_stack([a, b])
    return both[same][: n // 2], both[~same][: n // 2]


def problem_of(scene: Scene, name: str, n: int, threads: int, regularization: float = 0.0) -> Any:
    """Return what makes a problem anew, and its points and pairs."""
    X, y = points(scene.data, name)
    S, D = pairs_of(y, n if n <= 4000 else scene.size(n))

    def make() -> MetricProblem:
        similar, dissimilar = (Pairs(p[:, 0].copy(), p[:, 1].copy()) for p in (S, D))
        return MetricProblem(X, similar, dissimilar, regularization, Engine(threads=threads))

    return make, X, S, D


def spread(A: np.ndarray, X: np.ndarray, S: np.ndarray, D: np.ndarray) -> float:
    """Return sum_D d_A at sum_S d_A^2 = 1."""
    G, H = X[D[:, 0]] - X[D[:, 1]], X[S[:, 0]] - X[S[:, 1]]
    squares = np.maximum(np.einsum("ij,ij->i", G @ A, G), 0)
    return float(np.sqrt(squares).sum() / np.sqrt(np.einsum("ij,ij->", H @ A, H)))


def median(run: Any, repeats: int) -> float:
    run()
    return statistics.median(clock(run) for _ in range(repeats))


# ---------------------------------------------------------------- cases


def alone(scene: Scene, name: str, n: int, solver: Any, regularization: float = 0.0) -> Measured:
    """Time one problem, certified."""
    make, _, S, D = problem_of(scene, name, n, scene.threads, regularization)
    found = learn_metric(make(), solver)
    with limited(scene.threads):
        seconds = median(lambda: learn_metric(make(), solver), scene.repeats)
    proof = found.certificate
    note = f"{len(S)} + {len(D)} pairs, relative gap {proof.relative_gap:.0e}, rank {found.stats['rank']}"
    gap = proof.relative_gap if isinstance(solver, Root) else 0.0
    return Measured({"mercer": seconds}, gap, 1e-6, note=note)


def against_mmc(scene: Scene, name: str, n: int, *, diagonal: bool) -> Measured:
    """Time the root objective against metric-learn's MMC, which is after the same optimum."""
    make, X, S, D = problem_of(scene, name, n, scene.threads)
    solver = Root(diagonal=diagonal)
    fit = fitted(scene, "root", diagonal, X, S, D)
    found = learn_metric(make(), solver)
    rounds = []
    with elsewhere(scene.threads) as there:
        file = there.give(X, S, D)
        options = {"diagonal": diagonal, "max_iter": 100, "max_proj": 1000, "tol": 1e-3}
        there.fit(file, "MMC", **options)
        for _ in range(scene.repeats):
            answer = there.fit(file, "MMC", timed=True, **options)
            here = loop(scene.threads)
            with limited(scene.threads):
                ours, whole = median(lambda: learn_metric(make(), solver), 25), median(fit, 25)
            scale = (here + loop(scene.threads)) / 2 / answer["loop"]
            rounds.append((ours, whole, answer["seconds"] * scale, scale))
    ours, whole, other, _ = map(statistics.median, zip(*rounds, strict=True))
    seconds = {"mercer": ours, FIT: whole, "metric-learn MMC": other}
    mine, theirs = (spread(np.asarray(A), X, S, D) for A in (found.components.T @ found.components, answer["A"]))
    scales = sorted(scale for *_, scale in rounds)
    note = f"relative gap {found.certificate.relative_gap:.0e}; MMC falls short by {100 * (1 - theirs / mine):.2g} %; "
    note += f"the loop takes {scales[0]:.2f} to {scales[-1]:.2f} times as long here"
    return Measured(seconds, max(found.certificate.relative_gap, theirs / mine - 1), 1e-6, note=note)


def fitted(scene: Scene, objective: str, diagonal: bool, X: np.ndarray, S: np.ndarray, D: np.ndarray) -> Any:
    """Return what fits the estimator, from rows and pairs as a person gives them."""
    model = MetricLearner(objective=objective, diagonal=diagonal, engine=Engine(threads=scene.threads))
    return lambda: model.fit(X, similar=S, dissimilar=D)


@cache
def prototype(folder: Path) -> dict[str, Any]:
    """Return the functions of the first experiment, without its own run and its peers."""
    file = folder / "gram" / "p4_metric.py"
    if not file.exists():
        raise Skip("no prototypes there; give --prototypes DIR")
    text = file.read_text().replace("from metric_learn import MMC,ITML,LSML,SDML", "").split("rng=np.random")[0]
    names: dict[str, Any] = {}
    exec(compile(text, str(file), "exec"), names)  # noqa: S102  # a file of the project, not of a user
    return names


def against_prototype(scene: Scene, name: str, n: int, kind: str) -> Measured:
    """Time against the first experiment, on one core; it checks nothing, and with "ratio" it proves nothing."""
    old = prototype(scene.prototypes)
    make, X, S, D = problem_of(scene, name, n, 1)
    SS, DD = tuple(S.T.copy()), tuple(D.T.copy())
    solver = Ratio() if kind == "ratio" else Root(diagonal=kind == "diagonal")
    then = (lambda: old["seed_exact"](X, SS, DD)) if kind == "ratio" else (
        lambda: old["xing"](X, SS, DD, diag=kind == "diagonal"))  # fmt: skip  # one line a prototype
    with limited(1):
        A, B = learn_metric(make(), solver), then()[0]
        ours = spread(A.components.T @ A.components, X, S, D)
        repeats = scene.repeats if n > 4000 else max(20, scene.repeats)
        turns = {
            "mercer": lambda: learn_metric(make(), solver),
            FIT: fitted(replace(scene, threads=1), "ratio" if kind == "ratio" else "root", kind == "diagonal", X, S, D),
            "prototype": then,
        }
        if kind == "ratio":
            turns["mercer, without certificate"] = lambda: make().pencil
        rounds = [{name: median(run, repeats) for name, run in turns.items()} for _ in range(1 if n > 4000 else 3)]
        seconds = {name: statistics.median(found[name] for found in rounds) for name in turns}
    worse = max(0.0, spread(B, X, S, D) / ours - 1) if kind != "ratio" else None
    return Measured(seconds, worse, 1e-6, note=f"{len(S)} + {len(D)} pairs")


KINDS = ("ratio", "full", "diagonal")
SETS = (("iris", 1000), ("wine", 1000), ("mnist-pca50", 4000), ("mnist-pca50", 1_000_000))
MMC = (("iris", 1000, 100), ("wine", 1000, 100), ("mnist-pca50", 4000, 20))

CASES = [
    *(
        Case(f"metric-ratio-{name}", (Under(0.010),), lambda s, name=name: alone(s, name, 1000, Ratio()))
        for name in ("iris", "wine", "digits")
    ),
    Case("metric-ratio-1e6-d50", (Under(0.3),), lambda s: alone(s, "mnist-pca50", 1_000_000, Ratio())),
    Case("metric-ratio-1e5-d784", (Under(3.0),), lambda s: alone(s, "mnist", 100_000, Ratio(), 1e-3)),
    *(
        Case(
            f"metric-root-{name}", (Faster(bar, ("metric-learn",)), Faster(bar, ("metric-learn",), FIT)),
            lambda s, name=name, n=n: against_mmc(s, name, n, diagonal=False),
        )
        for name, n, bar in MMC
    ),
    *(
        Case(
            f"metric-root-diagonal-{name}", (Faster(1.5, ("metric-learn",)), Faster(1.5, ("metric-learn",), FIT)),
            lambda s, name=name, n=n: against_mmc(s, name, n, diagonal=True),
        )
        for name, n, _ in MMC
    ),
    Case("metric-root-9e5-d50", (Under(2.5),), lambda s: alone(s, "mnist-pca50", 1_000_000, Root(rank=5))),
    Case("metric-root-1e6-d784", (Under(10.0),), lambda s: alone(s, "mnist", 1_000_000, Root(), 1e-3)),
    *(
        Case(
            f"metric-prototype-{kind}-{name}-{n}", (Faster(1.0, ("prototype",)),),
            lambda s, name=name, n=n, kind=kind: against_prototype(s, name, n, kind),
        )
        for kind in KINDS
        for name, n in SETS
    ),
]  # fmt: skip  # a case a line or three
