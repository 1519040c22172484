"""Support vector machines against scikit-learn and its extension by Intel, and against the project's own first ones."""

from __future__ import annotations

import importlib
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from _case import Case, Faster, Measured, Scene, Skip, Under, Within
from _svm_data import Task, a9a, covtype, kin40k, mnist, moons, scaled, synthetic, worth
from _timing import limited, undisturbed
from startup import seconds_of

import mercer
from mercer import Engine

PEERS = ("scikit-learn", "sklearnex")
TOL, CACHE = 1e-3, 2000  # of all sides; megabytes of kernel rows the others may keep
FINE, FURTHER = 1e-6, 2e-3  # a tolerance whose answers count as right; a share of them by which ours may be worse
PATIENCE = 100.0  # seconds of timing after which no further round begins
LONG_TURN = 10.0  # seconds: a turn that was disturbed is not taken again after so many
WORSE, GAP = 1e-6, 1.1  # a dual objective that much worse, or a gap so many times the peers', and no ratio counts


@cache
def intel() -> Any:
    try:
        return importlib.import_module("sklearnex.svm")
    except ImportError as reason:
        raise Skip("scikit-learn-intelex is not installed") from reason


def makers(task: Task, threads: int, name: str = "SVC", **options: Any) -> dict[str, Callable[[], Any]]:
    """Return what makes an estimator of each side."""
    import sklearn.svm

    if name in ("SVC", "SVR"):
        options = {"C": task.C} | options
    options = {"gamma": task.gamma, "tol": TOL} | options
    peers = {"scikit-learn": sklearn.svm, "sklearnex": intel()}  # Intel's has no machine of one class
    return {"mercer": partial(getattr(mercer, name), engine=Engine(threads=threads), **options)} | {
        side: partial(getattr(module, name), cache_size=CACHE, **options)
        for side, module in peers.items()
        if hasattr(module, name)
    }


def rounds(runs: Mapping[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Run all in turn, so long as there is patience; return median seconds and what each returned last."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    last: dict[str, Any] = {}
    for k in range(repeats):
        names = list(runs)
        for name in names[k % len(names) :] + names[: k % len(names)]:
            if k and 2 * sum(sum(t) for t in times.values()) > PATIENCE:
                continue

            def run(name: str = name) -> None:
                last[name] = runs[name]()

            times[name].append(undisturbed(run, patience=LONG_TURN))
    return {name: statistics.median(t) for name, t in times.items()}, last


def fits(load: Callable[[Scene], Task], scene: Scene, skip: tuple[str, ...] = (), **options: Any) -> Measured:
    """Time fits; the ratio counts if our dual objective and gap are as good as the peers'."""
    task = load(scene)
    make = {side: maker for side, maker in makers(task, scene.threads, **options).items() if side not in skip}
    with limited(scene.threads):
        warm_up(make, task)
        seconds, models = rounds({side: lambda m=m: m().fit(task.X, task.y) for side, m in make.items()}, scene.repeats)
    return judged(Measured(seconds), task, models)


def warm_up(make: Mapping[str, Callable[[], Any]], task: Task) -> None:
    """Fit and predict a few rows on every side: compiling and first calls are not timed."""
    rows = np.sort(np.random.default_rng(0).permutation(len(task.y))[:1500])
    for maker in make.values():
        maker().fit(task.X[rows], task.y[rows]).predict(task.new[:300])


def judged(found: Measured, task: Task, models: Mapping[str, Any]) -> Measured:
    """Add what the answers are worth; infinite disagreement if ours is worth less than allowed."""
    values = worth(task, dict(models))
    ours, theirs = values.pop("mercer"), list(values.values())
    excess = max((ours.dual - min(w.dual for w in theirs)) / abs(ours.dual), 0.0)
    loose = ours.gap / max(w.gap for w in theirs)
    note = f"dual {ours.dual:.7g}, worse by {excess:.0e}; gap {ours.gap:.2e}, {loose:.2f} of the peers'"
    apart = np.inf if loose > GAP else excess
    return replace(found, disagreement=apart, allowed=WORSE, note=note)


def predictions(load: Callable[[Scene], Task], scene: Scene) -> Measured:
    """Time predictions of fitted models on the same rows; scikit-learn is left out, being far slower than Intel's."""
    task = load(scene)
    make = {side: maker for side, maker in makers(task, scene.threads).items() if side != "scikit-learn"}
    with limited(scene.threads):
        warm_up(make, task)
        models = {side: maker().fit(task.X, task.y) for side, maker in make.items()}
        runs = {side: lambda m=m: np.asarray(m.predict(task.new)) for side, m in models.items()}
        seconds, found = rounds(runs, scene.repeats)
    apart = float(np.mean(found["mercer"] != found["sklearnex"]))
    return Measured(seconds, apart, 2e-3, note=f"{len(found['mercer'])} rows; labels that differ: {apart:.1e}")


def others(name: str, load: Callable[[Scene], Task], scene: Scene, **options: Any) -> Measured:
    """Time fits of the other machines; ours may be no further than a peer from answers to a finer tolerance."""
    if not hasattr(mercer, name):
        raise Skip(f"no {name} yet")
    task = load(scene)
    make = makers(task, scene.threads, name, **options)
    with limited(scene.threads):
        warm_up(make, task)
        seconds, models = rounds({side: lambda m=m: m().fit(task.X, task.y) for side, m in make.items()}, scene.repeats)
        truth = make["scikit-learn"](tol=FINE).fit(task.X, task.y).predict(task.new)
    answers = {side: model.predict(task.new) for side, model in models.items()}
    scale = float(np.abs(truth).max())
    off = {
        side: float(np.mean(np.abs(found - truth)) / scale if name == "SVR" else np.mean(found != truth))
        for side, found in answers.items()
    }
    apart = max(off["mercer"] - min(off[side] for side in off if side != "mercer"), 0.0)
    note = "off the answers at tol=" + f"{FINE:g}: " + ", ".join(f"{side} {value:.1e}" for side, value in off.items())
    return Measured(seconds, apart, FURTHER, note=note)


def small(name: str, scene: Scene) -> Measured:
    """Time fits of a textbook dataset."""
    import sklearn.datasets
    from sklearn.svm import SVC

    X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    X = (X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1.0)
    ours = partial(mercer.SVC, engine=Engine(threads=scene.threads))
    runs = {"mercer": lambda: ours().fit(X, y), "scikit-learn": lambda: SVC().fit(X, y)}
    with limited(scene.threads):
        answers = [run().predict(X) for run in runs.values()]
        seconds, _ = rounds(runs, 10 * scene.repeats)
    return Measured(seconds, float(np.mean(answers[0] != answers[1])), 5e-3)


FIRST = """
import time
import numpy as np
from mercer import SVC
r = np.random.default_rng(0)
X = r.standard_normal((2000, 10))
y = X[:, 0] + X[:, 1] ** 2 + r.standard_normal(2000) > 1
t = time.perf_counter()
SVC().fit(X, y)
print(time.perf_counter() - t)
"""


def first_fit(scene: Scene) -> Measured:
    """Time the first fit of a process (imports not counted), machine code on disk or not."""
    repeats = min(scene.repeats, 3)
    with tempfile.TemporaryDirectory() as folder:
        cold = [seconds_of(FIRST, Path(folder) / str(k)) for k in range(repeats)]
        warm = [seconds_of(FIRST, Path(folder) / "0") for _ in range(repeats)]
    return Measured({"warm cache": statistics.median(warm), "cold cache": statistics.median(cold)})


# ---------------------------------------------------------------- the project's first experiment, one core each


@cache
def spike(folder: Path) -> Any:
    if not (folder / "svm" / "spike3.py").exists():
        raise Skip("no prototypes there; give --prototypes DIR")
    sys.path.insert(0, str(folder / "svm"))
    try:
        return importlib.import_module("spike3")
    finally:
        sys.path.pop(0)


def against_prototype(load: Callable[[Scene], Task], scene: Scene) -> Measured:
    module, task = spike(scene.prototypes), load(scene)
    few = replace(task, X=task.X[:1500], y=task.y[:1500])

    def ours(t: Task) -> Any:
        return mercer.SVC(C=t.C, gamma=t.gamma, engine=Engine(threads=1)).fit(t.X, t.y)

    def theirs(t: Task) -> Any:
        return module.SVC2(t.C, t.gamma, cache_bytes=2e9).fit(t.X, t.y)

    with limited(1):
        ours(few), theirs(few)
        seconds, _ = rounds({"mercer": lambda: ours(task), "prototype": lambda: theirs(task)}, scene.repeats)
    return Measured(seconds)


TASKS: dict[str, tuple[Callable[[Scene], Task], float]] = {
    "synthetic-10k": (partial(synthetic, n=10_000, C=1.0), 6),
    "synthetic-20k": (partial(synthetic, n=20_000, C=1.0), 7),
    "synthetic-20k-C10": (partial(synthetic, n=20_000, C=10.0), 7),
    "synthetic-10k-C100": (partial(synthetic, n=10_000, C=100.0), 4),
    "moons-20k": (partial(moons, n=20_000), 7),
    "covtype-20k": (partial(covtype, n=20_000), 4.5),
    "covtype-50k": (partial(covtype, n=50_000), 6),
    "a9a": (partial(a9a, n=32_561), 5),
    "mnist-10k": (partial(mnist, n=10_000), 7),
    "mnist-20k": (partial(mnist, n=20_000), 12),
    "mnist-60k": (partial(mnist, n=60_000), 10),
}
LONG = {"covtype-50k": ("scikit-learn",), "mnist-60k": ("scikit-learn",)}  # minutes: never the faster peer there

TEXTBOOK = ("iris", "wine", "digits", "breast_cancer")
ALONE = tuple(name for name in TASKS if name not in ("covtype-50k", "mnist-20k", "mnist-60k"))  # in the prototype

CASES = [
    *(Case(f"svm-small-{name}", (Within(1.5, PEERS),), partial(small, name)) for name in TEXTBOOK),
    Case("svm-first-fit", (Under(1.0, "warm cache"), Under(6.0, "cold cache")), first_fit),
    *(
        Case(f"svm-fit-{name}", (Faster(bar, PEERS),), partial(fits, load, skip=LONG.get(name, ())))
        for name, (load, bar) in TASKS.items()
    ),
    *(
        Case(f"svm-predict-{name}", (Faster(6 if "mnist" in name else 4, PEERS),), partial(predictions, TASKS[name][0]))
        for name in ("synthetic-20k", "covtype-20k", "a9a", "mnist-10k")
    ),
    *(
        Case(f"svm-prototype-{name}", (Faster(1.0, ("prototype",)),), partial(against_prototype, TASKS[name][0]))
        for name in ALONE
    ),
    Case("svm-regression-kin40k", (Faster(5, PEERS),), partial(others, "SVR", partial(kin40k, n=20_000), epsilon=0.1)),
    *(
        Case(f"svm-{label}-{name}", (Faster(3, PEERS),), partial(others, kind, partial(scaled, name=name, n=n), nu=nu))
        for label, kind, nu in (("one-class", "OneClassSVM", 0.1), ("nu", "NuSVC", 0.02))
        for name, n in (("shuttle", 20_000), ("satimage", 4_435))
    ),
]  # fmt: skip  # a kind a line
