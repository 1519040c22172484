"""Kernel ridge: exact, on centres, on all the data, and a million rows; against scikit-learn and the first experiments.

Names say the data and the rows (or centres). Times are whole fits, certificates included unless the line says so.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _case import Below, Case, Faster, Measured, NoWorse, Scene, Skip
from _timing import limited, undisturbed

from mercer import Engine, KernelRidge
from mercer.kernels import Gaussian

LENGTH = {"kin40k": 1.41, "protein": 0.5, "sgemm": 4.0, "covtype": 3.0}  # exp(-|x - z|^2 / (2 length^2))
ALPHA = {"kin40k": 1e-2, "protein": 0.3, "sgemm": 1e-2, "covtype": 1.0}
EXACT, ROUGH = 1e-12, 1e-4


class Rows(NamedTuple):
    """Training and test rows."""

    X: np.ndarray
    y: np.ndarray
    Xt: np.ndarray
    yt: np.ndarray


@cache
def rows(folder: Path, name: str) -> Rows:
    """Return a data set, standardised and split at random; one tenth of it, at most 10,000 rows, is for the test."""
    file = folder / f"{name}.npz"
    if not file.exists():
        raise Skip(f"no {file.name} there; give --data DIR")
    held = np.load(file)
    X, y = held["X"].astype(np.float64), held["y"].astype(np.float64)
    order = np.random.default_rng(1).permutation(len(X))
    X, y = X[order][:, X.std(axis=0) > 0], y[order]
    y = 2.0 * (y == 2) - 1.0 if name == "covtype" else (y - y.mean()) / y.std()
    q = min(len(X) // 10, 10_000)
    X = ((X - X[q:].mean(axis=0)) / np.maximum(X[q:].std(axis=0), 1e-9)).astype(np.float32)
    return Rows(X[q:], y[q:], X[:q], y[:q])


def ours(name: str, **given: Any) -> KernelRidge:
    kernel = Gaussian(scale=LENGTH[name] * 2**0.5)
    return KernelRidge(ALPHA[name], kernel=kernel, random_state=0, **given)


def gamma(name: str) -> float:
    return 0.5 / LENGTH[name] ** 2


def rmse(predicted: np.ndarray, yt: np.ndarray) -> float:
    return float(np.sqrt(np.mean((predicted - yt) ** 2)))


def timed(
    fits: Mapping[str, Callable[[], Any]], scene: Scene, rounds: int, score: Callable[[str, Any], float], note: str = ""
) -> Measured:
    """Fit every contender in turn; keep median seconds and the test error of the last fit."""
    seconds: dict[str, list[float]] = {name: [] for name in fits}
    scores: dict[str, float] = {}
    with limited(scene.threads):
        for _ in range(min(rounds, scene.repeats)):
            for name, fit in fits.items():
                model: list[Any] = []
                seconds[name].append(
                    undisturbed(lambda fit=fit, model=model: model.append(fit()), attempts=2 if rounds > 1 else 1)
                )
                scores[name] = score(name, model[-1])
    medians = {name: float(np.median(times)) for name, times in seconds.items()}
    told = ", ".join(f"{name} {value:.5f}" for name, value in scores.items())
    return Measured(medians, note=f"test RMSE: {told}{'; ' if note else ''}{note}", scores=scores)


def warmed(scene: Scene, name: str) -> Rows:
    """Return the data, after small fits that compile what is timed."""
    found = rows(scene.data, name)
    few = slice(0, 9_000)
    for given in ({"n_centers": 300}, {"solver": "cg", "tol": 1e-6}, {"solver": "cholesky", "tol": 1e-6}):
        part = few if "n_centers" in given else slice(0, 2_000)
        ours(name, **given).fit(found.X[part], found.y[part]).predict(found.Xt[:500])
    return found


# ---------------------------------------------------------------- exact


def exact(scene: Scene, n: int) -> Measured:
    """Fit n rows of kin40k to a certified residual below 1e-12, and to 1e-4."""
    from sklearn.kernel_ridge import KernelRidge as Theirs

    data, n = warmed(scene, "kin40k"), scene.size(n)
    X, y, wide = data.X[:n], data.y[:n], data.X[:n].astype(np.float64)
    fits = {
        "mercer to 1e-12": lambda: ours("kin40k", solver="cholesky", tol=EXACT).fit(X, y),
        "mercer to 1e-4": lambda: ours("kin40k", solver="cg", tol=ROUGH).fit(X, y),
        "scikit-learn": lambda: Theirs(kernel="rbf", gamma=gamma("kin40k"), alpha=ALPHA["kin40k"]).fit(wide, y),
    }
    proved: dict[str, float] = {}

    def score(name: str, model: Any) -> float:
        if name != "scikit-learn":
            proved[name] = float(model.certificate_.residual.max())
        return rmse(model.predict(data.Xt if name != "scikit-learn" else data.Xt.astype(np.float64)), data.yt)

    found = timed(fits, scene, 3 if n <= 10_000 else 1, score)
    if proved["mercer to 1e-12"] > EXACT:
        return Measured({}, proved["mercer to 1e-12"], EXACT, note="the certified residual is too large")
    apart = max(found.scores.values()) - min(found.scores.values())
    return found.but(disagreement=apart, allowed=5e-6)  # equal to five digits


# ---------------------------------------------------------------- centres


def centers(scene: Scene, name: str, m: int) -> Measured:
    """Fit on the m centres that scikit-learn's Nystroem draws."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    data = warmed(scene, name)
    n = scene.size(len(data.X))
    X, y = data.X[:n], data.y[:n]
    theirs = lambda: make_pipeline(  # noqa: E731  # what a user of scikit-learn writes
        Nystroem(kernel="rbf", gamma=gamma(name), n_components=m, random_state=0),
        Ridge(alpha=ALPHA[name], solver="cholesky", fit_intercept=False),
    ).fit(X, y)
    chosen = np.random.RandomState(0).permutation(n)[:m]  # the same rows
    fits = {"mercer": lambda: ours(name, centers=X[chosen]).fit(X, y), "scikit-learn": theirs}
    return timed(fits, scene, 3, lambda _, model: rmse(model.predict(data.Xt), data.yt))


def centers_prototype(scene: Scene, m: int) -> Measured:
    """Fit kin40k on m centres beside the prototype's 20 steps, to an error no larger, one core each, uncertified."""
    from prototypes import modules

    krr = modules(scene.prototypes)[2]
    data = warmed(scene, "kin40k")
    X, y, C = data.X, data.y, data.X[np.random.default_rng(0).choice(len(data.X), m, replace=False)]
    s, lam = gamma("kin40k") ** 0.5, ALPHA["kin40k"]
    krr.falkon_like(krr.R32, krr.KTK32, X[:2000], y[:2000], C[:200], s, lam, 1)
    krr.predict(krr.R32, data.Xt[:100], C, y[:m], s)
    fits = {
        "mercer": lambda: ours("kin40k", centers=C, tol=1e-2, certify="none", engine=Engine(threads=1)).fit(X, y),
        "prototype": lambda: krr.falkon_like(krr.R32, krr.KTK32, X, y, C, s, lam, 20)[0],
    }

    def score(name: str, model: Any) -> float:
        f = krr.predict(krr.R32, data.Xt, C, model, s) if name == "prototype" else model.predict(data.Xt)
        return rmse(f, data.yt)

    return timed(fits, _alone(scene), 3, score)


def _alone(scene: Scene) -> Scene:
    return Scene(scene.data, scene.prototypes, 1, scene.repeats, scene.shrink)


# ---------------------------------------------------------------- all the data


def everything(scene: Scene, name: str) -> Measured:
    """Fit all rows, default settings, beside scikit-learn on 15,000 of them."""
    from sklearn.kernel_ridge import KernelRidge as Theirs

    data = warmed(scene, name)
    n, most = scene.size(len(data.X)), scene.size(15_000)
    X, y, wide = data.X[:n], data.y[:n], data.X[:most].astype(np.float64)
    fits = {
        "mercer": lambda: ours(name).fit(X, y),
        "scikit-learn, 15,000 rows": lambda: Theirs(
            kernel="rbf", gamma=gamma(name), alpha=ALPHA[name]
        ).fit(wide, data.y[:most]),
    }  # fmt: skip

    def score(contender: str, model: Any) -> float:
        Xt = data.Xt if contender == "mercer" else data.Xt.astype(np.float64)
        return rmse(model.predict(Xt), data.yt)

    return timed(fits, scene, 1, score)


# ---------------------------------------------------------------- a million rows

GIB = 2**30


def million(scene: Scene) -> Measured:
    """Fit generated rows of ten columns, default settings, in a process of its own; its memory in GB is the score."""
    n = scene.size(1_000_000)
    command = [sys.executable, __file__, str(n), str(scene.threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, memory, error, gap, solver, steps = done.stdout.split()[-6:]
    bars = "step" in done.stderr
    note = (
        f"test RMSE {error}, relative gap {gap}, {solver}, {steps} steps, progress {'shown' if bars else 'NOT shown'}"
    )
    return Measured({"mercer": float(seconds)}, note=note, scores={"memory": float(memory)})


def generated(n: int) -> Rows:
    """Return rows of ten columns in 0..1 and a smooth target of five of them, with noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n + 10_000, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    y = (y - y.mean()) / y.std() + 0.1 * rng.standard_normal(len(y))
    return Rows(X[10_000:], y[10_000:], X[:10_000], y[:10_000])


def one_fit(n: int, threads: int, **given: Any) -> tuple[float, KernelRidge, float]:
    """Return the seconds of a fit of n generated rows, the model, and its test error."""
    data = generated(n)
    with limited(threads):
        start = time.perf_counter()
        model = KernelRidge(verbose=True, random_state=0, **given).fit(data.X, data.y)
        seconds = time.perf_counter() - start
    return seconds, model, rmse(model.predict(data.Xt), data.yt)


def _main(n: int, threads: int) -> None:
    KernelRidge(n_centers=50).fit(*generated(3_000)[:2])  # compiles
    seconds, model, error = one_fit(n, threads)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    stats = model.solution_.stats
    print(seconds, memory, error, model.certificate_.relative_gap, stats["solver"], stats["steps"])


CASES = [
    *(
        Case(
            f"ridge-exact-kin40k-{n // 1000}k",
            (
                Faster(2.3, ("scikit-learn",), "mercer to 1e-12"),
                Faster(limit, ("scikit-learn",), "mercer to 1e-4"),
            ),
            lambda s, n=n: exact(s, n),
        )
        for n, limit in ((10_000, 4.0), (20_000, 8.0))
    ),
    *(
        Case(
            f"ridge-centers-{name}-1000",
            (Faster(limit, ("scikit-learn",)), NoWorse("RMSE", ("scikit-learn",))),
            lambda s, name=name: centers(s, name, 1000),
        )
        for name, limit in (("kin40k", 2.5), ("protein", 2.5), ("sgemm", 2.5), ("covtype", 2.0))
    ),
    *(
        Case(
            f"ridge-centers-prototype-{m}",
            (Faster(1.0, ("prototype",)), NoWorse("RMSE", ("prototype",))),
            lambda s, m=m: centers_prototype(s, m),
        )
        for m in (1000, 2000, 4000)
    ),
    *(
        Case(
            f"ridge-all-{name}",
            (Faster(1.0, ("scikit-learn",)), Below(limit, "RMSE", "mercer")),
            lambda s, name=name: everything(s, name),
        )
        for name, limit in (("kin40k", 0.085), ("protein", 0.60))
    ),
    Case("ridge-million", (Below(4.0, "GB of memory", "memory"),), million),
]

if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]))
