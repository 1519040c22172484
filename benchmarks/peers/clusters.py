"""Kernel k-means: one run against a NumPy loop, a whole fit against tslearn, restarts against the Gram matrix."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import _peers
import numpy as np
from _case import Case, Faster, Measured, Scene, Skip, Under, Within
from _timing import limited, race
from sklearn.datasets import make_moons

from mercer import Engine, KernelKMeans, gram
from mercer.gram import from_matrix
from mercer.kernels import Gaussian
from mercer.solvers import Clustering, GivenLabels, Lloyd, cluster

# ---------------------------------------------------------------- data and the other side


def rows(scene: Scene, name: str, n: int) -> tuple[np.ndarray, Gaussian, int]:
    """Return points, a kernel that suits them and a number of clusters."""
    n = scene.size(n)
    if name == "moons":
        return make_moons(n, noise=0.05, random_state=0)[0].astype(np.float32), Gaussian(0.5), 2
    if name == "mnist":
        X, gamma, _ = _peers.images(scene, n, np.float32)
        return X, Gaussian.from_gamma(gamma), 10
    file = scene.data / "letter.npz"
    if not file.exists():
        raise Skip("no letter.npz")
    X = np.load(file)["X_train"][:n].astype(np.float32)
    return (X - X.mean(axis=0)) / X.std(axis=0), Gaussian(4.0), 26


def textbook(K: np.ndarray, k: int, labels: np.ndarray) -> np.ndarray:
    """Lloyd's algorithm in feature space as it is written down: K times the indicators of the clusters, every step."""
    while True:
        Z = np.zeros((len(K), k), K.dtype)
        Z[np.arange(len(K)), labels] = 1
        Z /= Z.sum(axis=0)
        F = K @ Z
        new = ((Z * F).sum(axis=0) - 2 * F).argmin(axis=1)
        if (new == labels).all():
            return labels
        labels = new


def objective(K: np.ndarray, labels: np.ndarray) -> float:
    """The sum of squared distances to the means, from the formula."""
    total = float(np.trace(K, dtype=np.float64))
    for c in np.unique(labels):
        own = np.flatnonzero(labels == c)
        total -= float(K[np.ix_(own, own)].sum(dtype=np.float64)) / len(own)
    return total


# ---------------------------------------------------------------- cases


def one_run(scene: Scene, name: str, n: int) -> Measured:
    """One run from random centres, K given; the objectives are compared."""
    X, kernel, k = rows(scene, name, n)
    K = gram(kernel, X, engine=Engine(threads=scene.threads)).block()
    given = from_matrix(K, Engine(threads=scene.threads))
    start = K[np.random.default_rng(0).choice(len(X), k, replace=False)].argmax(axis=0)
    contenders = {
        "mercer": lambda: cluster(Clustering(given, k), Lloyd(GivenLabels(start)), certify_as="none").labels,
        "NumPy": lambda: textbook(K, k, start),
    }
    return race(contenders, min(scene.repeats, 3), scene.threads, lambda labels: np.array([objective(K, labels)]))


def whole_fit(scene: Scene, name: str) -> Measured:
    """A fit from one start with its Gram matrix, ours with a certificate; our objective must be no worse.

    Both sides may take as many steps.
    """
    try:
        from tslearn.clustering import KernelKMeans as Theirs
    except ImportError as error:
        raise Skip("tslearn is not installed") from error
    X, kernel, k = rows(scene, name, 5_000)
    gamma = float(kernel.scale) ** -2
    engine = Engine(threads=scene.threads)
    ours = KernelKMeans(k, gamma=gamma, n_init=1, random_state=0, engine=engine)
    theirs = Theirs(k, kernel="rbf", kernel_params={"gamma": gamma}, random_state=0, n_jobs=scene.threads)
    theirs.set_params(max_iter=ours.max_iter)
    labels: dict[str, np.ndarray] = {}

    def fit(who: str, model: Any, Z: np.ndarray) -> np.ndarray:
        labels[who] = model.fit(Z).labels_
        return np.ones(1)

    contenders = {"mercer": lambda: fit("mercer", ours, X), "tslearn": lambda: fit("tslearn", theirs, X[:, :, None])}
    found = race(contenders, min(scene.repeats, 3), scene.threads)
    K = kernel(X)
    mine, other = objective(K, labels["mercer"]), objective(K, labels["tslearn"])
    worse = max(0.0, mine / other - 1)
    return replace(found, disagreement=worse, allowed=1e-9, note=f"objective {mine:.2f}, tslearn's {other:.2f}")


def restarts(scene: Scene) -> Measured:
    """Ten starts with K given against the making of K, and that against as many products in matrix products."""
    X, kernel, k = rows(scene, "mnist", 20_000)
    n, engine = len(X), Engine(threads=scene.threads)
    K = np.empty((n, n), np.float32)
    K = gram(kernel, X, engine=engine).block(out=K)
    given = from_matrix(K, engine)
    block = min(n, 5_000)
    out = np.empty((block, block), np.float32)
    A, B = X[:block], np.ascontiguousarray(X[-block:].T)
    half = n * n / (2 * block * block)  # K is symmetric: so many blocks make half of it
    with limited(scene.threads):
        contenders = {
            "mercer": lambda: cluster(Clustering(given, k), Lloyd(random_state=0), certify_as="none"),
            "mercer, Gram": lambda: gram(kernel, X, engine=engine).block(out=K),
            "GEMM": lambda: [np.matmul(A, B, out=out) for _ in range(round(half))],
        }
        found = race(contenders, min(scene.repeats, 3), None, lambda _: np.ones(1))
    exact = {"GEMM": found.seconds["GEMM"] * half / round(half)}
    return replace(found, seconds={**found.seconds, **exact}, disagreement=None)


LARGE = """
import numpy as np, pathlib, resource, sys, time
from mercer import Engine, KernelKMeans
from mercer.kernels import Gaussian
n, rng = int(sys.argv[1]), np.random.default_rng(0)
X = (3 * rng.standard_normal((10, 10))[rng.integers(0, 10, n)] + rng.standard_normal((n, 10))).astype(np.float32)
begun = time.perf_counter()
model = KernelKMeans(10, kernel=Gaussian(6.0), random_state=0, memory="1 GB").fit(X)
proof = model.certificate_
assert proof.exact and proof.fixed_point and np.isfinite(proof.relative_gap)
status = pathlib.Path("/proc/self/status")
if status.exists():  # its own peak; getrusage counts that of the process it came from too
    peak = 1024 * int(status.read_text().split("VmHWM:")[1].split()[0])
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(time.perf_counter() - begun, peak, 100 * proof.relative_gap)
"""


def large(scene: Scene) -> Measured:
    """200,000 points in a process of their own; its peak of memory in GB stands for seconds."""
    n = scene.size(200_000)
    command = [sys.executable, "-c", LARGE, str(n)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, peak, gap = (float(word) for word in text.split())
    note = f"{seconds:.0f} s, at most {gap:.1f} % above the best possible; the figures are GB of memory, not seconds"
    return Measured({"mercer": peak / 1e9}, note=note)


CASES = [
    Case("kmeans-run-mnist-20k", (Faster(20, ("NumPy",)),), lambda s: one_run(s, "mnist", 20_000)),
    Case("kmeans-run-letter-16k", (Faster(20, ("NumPy",)),), lambda s: one_run(s, "letter", 16_000)),
    Case("kmeans-fit-moons-5k", (Faster(25, ("tslearn",)),), lambda s: whole_fit(s, "moons")),
    Case("kmeans-fit-mnist-5k", (Faster(25, ("tslearn",)),), lambda s: whole_fit(s, "mnist")),
    Case(
        "kmeans-restarts-mnist-20k",
        (Within(2, ("mercer, Gram",)), Within(1.3, ("GEMM",), "mercer, Gram")),
        restarts,
    ),
    Case("kmeans-memory-200k", (Under(2),), large),
]
