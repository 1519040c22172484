"""Learning a metric from pairs.

metric-learn lives in an environment of its own (``make peers`` makes .venv-metric-learn); its seconds are multiplied by
the ratio of one NumPy loop timed here and there, and its objective must not be better than ours.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from _case import Case, Faster, Measured, Scene, Skip, Under
from _metric_learn import loop
from _timing import clock, limited
from sklearn import datasets

from mercer import Engine
from mercer.solvers.metric import MetricProblem, Pairs, Ratio, Root, learn_metric

HOME = Path(__file__).parents[2] / ".venv-metric-learn"


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
    theirs = elsewhere(X, S, D, ["MMC"], diagonal=diagonal, repeats=scene.repeats)
    solver = Root(diagonal=diagonal)
    found = learn_metric(make(), solver)
    with limited(scene.threads):
        seconds = median(lambda: learn_metric(make(), solver), max(20, scene.repeats))
        here = loop()
    ours, other = (spread(np.asarray(A), X, S, D) for A in (found.components.T @ found.components, theirs["MMC"]["A"]))
    ratio = here / theirs["loop"]
    note = f"relative gap {found.certificate.relative_gap:.0e}; MMC falls short by {100 * (1 - other / ours):.2g} %; "
    note += f"the loop takes {ratio:.2f} times as long here"
    short = max(found.certificate.relative_gap, other / ours - 1)
    return Measured({"mercer": seconds, "metric-learn MMC": theirs["MMC"]["seconds"] * ratio}, short, 1e-6, note=note)


def elsewhere(
    X: np.ndarray, S: np.ndarray, D: np.ndarray, names: list[str], *, diagonal: bool = False, repeats: int = 3
) -> dict[str, Any]:
    """Return what metric-learn finds in its own environment, and its seconds."""
    python = HOME / "bin" / "python"
    if not python.exists():
        raise Skip("no .venv-metric-learn; make peers-setup makes it")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "given.npz"
        np.savez(file, X=X, similar=S, dissimilar=D, names=" ".join(names), diagonal=diagonal, repeats=repeats)
        command = [str(python), str(Path(__file__).with_name("_metric_learn.py")), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Skip(f"metric-learn failed: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(done.stdout))


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
    """Time against the first experiment, on one core."""
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
        seconds = {"mercer": median(lambda: learn_metric(make(), solver), repeats), "prototype": median(then, repeats)}
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
            f"metric-root-{name}", (Faster(bar, ("metric-learn",)),),
            lambda s, name=name, n=n: against_mmc(s, name, n, diagonal=False),
        )
        for name, n, bar in MMC
    ),
    *(
        Case(
            f"metric-root-diagonal-{name}", (Faster(1.5, ("metric-learn",)),),
            lambda s, name=name, n=n: against_mmc(s, name, n, diagonal=True),
        )
        for name, n, _ in MMC
    ),
    Case("metric-root-9e5-d50", (Under(2.5),), lambda s: alone(s, "mnist-pca50", 1_000_000, Root(rank=5))),
    Case("metric-root-1e6-d784", (Under(30.0),), lambda s: alone(s, "mnist", 1_000_000, Root(), 1e-3)),
    *(
        Case(
            f"metric-prototype-{kind}-{name}-{n}", (Faster(1.0, ("prototype",)),),
            lambda s, name=name, n=n, kind=kind: against_prototype(s, name, n, kind),
        )
        for kind in KINDS
        for name, n in SETS
    ),
]  # fmt: skip  # a case a line or three
