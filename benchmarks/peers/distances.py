"""Nearest neighbours in feature space and sums of Parzen windows, against scikit-learn."""

from __future__ import annotations

from collections.abc import Callable

import _peers
import numpy as np
from _case import Case, Faster, Measured, Scene, Skip, Within
from _timing import race
from sklearn.neighbors import KernelDensity, NearestNeighbors

from mercer import Engine, KernelNeighborsClassifier, ParzenClassifier
from mercer.kernels import Gaussian

K = 5
Rows = tuple[np.ndarray, np.ndarray, float]


def mnist(scene: Scene) -> Rows:
    """60,000 images, 2,000 others to be placed among them, and a length."""
    file = scene.data / "mnist.npz"
    if not file.exists():
        raise Skip("no mnist.npz")
    data = np.load(file)
    train, test = (data[name].astype(np.float32) / np.float32(255) for name in ("X_train", "X_test"))
    return train[: scene.size(60_000)], test[:2_000], 7.0


def kin40k(scene: Scene) -> Rows:
    X = _named(scene, "kin40k")["X"].astype(np.float64)
    n = scene.size(36_000)
    return X[:n], X[-4_000:], 1.4


def covtype(scene: Scene) -> Rows:
    X = _named(scene, "covtype")["X"][:, :10].astype(np.float64)
    X = (X / X.std(axis=0))[np.random.default_rng(0).permutation(len(X))]
    return X[: scene.size(100_000)], X[-5_000:], 0.7


def normal(scene: Scene) -> Rows:
    return _peers.normal(scene.size(100_000), 3, np.float64), _peers.normal(10_000, 3, np.float64, seed=1), 0.3


def _named(scene: Scene, name: str) -> dict[str, np.ndarray]:
    file = scene.data / f"{name}.npz"
    if not file.exists():
        raise Skip(f"no {file.name}")
    return dict(np.load(file))


def neighbours(scene: Scene, data: Callable[[Scene], Rows], algorithm: str) -> Measured:
    """Fit and find the nearest of all queries; both sides start from the rows. Indices are compared."""
    X, Z, scale = data(scene)
    y = np.arange(len(X)) % 2
    engine = Engine(threads=scene.threads)
    ours = KernelNeighborsClassifier(K, kernel=Gaussian(scale), engine=engine)
    theirs = NearestNeighbors(n_neighbors=K, algorithm=algorithm, n_jobs=scene.threads)
    fitted = KernelNeighborsClassifier(K, kernel=Gaussian(scale), engine=engine).fit(X, y)
    contenders = {
        "mercer": lambda: ours.fit(X, y).kneighbors(Z, return_distance=False),
        f"scikit-learn, {algorithm}": lambda: theirs.fit(X).kneighbors(Z, return_distance=False),
        "mercer, fitted": lambda: fitted.kneighbors(Z, return_distance=False),
    }
    return race(contenders, min(scene.repeats, 3), scene.threads, lambda at: at.astype(np.float64))


def windows(scene: Scene, data: Callable[[Scene], Rows]) -> Measured:
    """Sums of windows over two classes at all queries; scikit-learn's come from a density for each class.

    Its trees take long where the dimension is high, so they get every tenth query, and ten times their time is shown.
    """
    X, Z, scale = data(scene)
    y = (np.random.default_rng(0).random(len(X)) < 0.5).astype(int)
    ours = ParzenClassifier(Gaussian(scale), engine=Engine(threads=scene.threads)).fit(X, y)
    densities = [KernelDensity(bandwidth=scale / np.sqrt(2), rtol=1e-4).fit(X[y == c]) for c in (0, 1)]
    volume = X.shape[1] / 2 * np.log(np.pi * scale**2)
    share = 1 if X.shape[1] <= 3 else 10
    log_p = np.log(ours.priors_)

    def theirs() -> np.ndarray:
        return np.exp(np.column_stack([each.score_samples(Z[::share]) for each in densities]) + volume)

    def digest(sums: np.ndarray) -> np.ndarray:
        return sums[:: share if len(sums) == len(Z) else 1]

    contenders = {"mercer": lambda: np.exp(ours.predict_joint_log_proba(Z) - log_p), "scikit-learn": theirs}
    # what is compared is right to rtol, so to four digits
    found = race(contenders, min(scene.repeats, 2), scene.threads, lambda sums: digest(sums).astype(np.float32))
    seconds = dict(found.seconds)
    if seconds:
        seconds["scikit-learn"] *= share
    return Measured(seconds, found.disagreement, found.allowed, found.spread, found.note)


CASES = [
    Case("neighbours-mnist-60k", (Faster(2, ("scikit-learn",)),), lambda s: neighbours(s, mnist, "brute")),
    Case("neighbours-normal-d3", (Within(1.3, ("scikit-learn",)),), lambda s: neighbours(s, normal, "kd_tree")),
    Case("neighbours-kin40k", (Within(1.3, ("scikit-learn",)),), lambda s: neighbours(s, kin40k, "kd_tree")),
    Case("neighbours-covtype-d10", (Within(1.3, ("scikit-learn",)),), lambda s: neighbours(s, covtype, "kd_tree")),
    Case("parzen-kin40k", (Faster(50, ("scikit-learn",)),), lambda s: windows(s, kin40k)),
    Case("parzen-covtype-d10", (Faster(50, ("scikit-learn",)),), lambda s: windows(s, covtype)),
    Case("parzen-normal-d3", (Faster(4, ("scikit-learn",)),), lambda s: windows(s, normal)),
]
