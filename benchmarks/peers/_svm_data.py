"""The data of the support vector benchmarks, and what an answer is worth: its dual objective and gap in float64."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _case import Scene, Skip
from scipy import sparse

from mercer import Engine, gram
from mercer.kernels import Gaussian


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to fit and rows to predict, with the parameters that all sides get."""

    X: Any
    y: np.ndarray
    new: Any
    C: float
    gamma: float


def synthetic(scene: Scene, n: int, C: float) -> Task:
    """Return 20 features, 16 clusters, a tenth of the labels flipped."""
    from sklearn.datasets import make_classification

    n = scene.size(n)
    X, y = make_classification(
        n + 5000, 20, n_informative=12, n_redundant=4, n_clusters_per_class=8, flip_y=0.1, random_state=0
    )
    X = (X - X[:n].mean(0)) / X[:n].std(0)
    return Task(X[:n], y[:n], X[n:], C, 0.05)


def moons(scene: Scene, n: int) -> Task:
    from sklearn.datasets import make_moons

    n = scene.size(n)
    X, y = make_moons(n + 5000, noise=0.3, random_state=0)
    return Task(X[:n], y[:n], X[n:], 1.0, 1.0)


def covtype(scene: Scene, n: int) -> Task:
    data, n = _load(scene.data / "covtype.npz"), scene.size(n)
    p = np.random.default_rng(0).permutation(len(data["y"]))
    rows, new = p[:n], p[-5000:]
    X, y = data["X"].astype(np.float64), (data["y"] == 2).astype(int)
    mean, spread = X[rows].mean(0), X[rows].std(0)
    X = (X - mean) / np.where(spread > 0, spread, 1.0)
    return Task(X[rows], y[rows], X[new], 10.0, 1 / 54)


def a9a(scene: Scene, n: int) -> Task:
    n, y = scene.size(n), _load(scene.data / "a9a_y.npz")["y_train"]
    X, new = (sparse.load_npz(scene.data / f"a9a_X_{part}.npz").astype(np.float64) for part in ("train", "test"))
    X.resize(X.shape[0], 123)
    new.resize(new.shape[0], 123)
    return Task(X.tocsr()[:n], y[:n], new.tocsr()[:10_000], 1.0, 0.05)


def mnist(scene: Scene, n: int) -> Task:
    data, n = _load(scene.data / "mnist.npz"), scene.size(n)
    rows = np.random.default_rng(0).permutation(60_000)[:n]
    X, new = (data[f"X_{part}"].astype(np.float64) / 255.0 for part in ("train", "test"))
    return Task(X[rows], data["y_train"][rows].astype(int), new[: max(1000, 10_000 // scene.shrink)], 5.0, 0.02)


def kin40k(scene: Scene, n: int) -> Task:
    data, n = _load(scene.data / "kin40k.npz"), scene.size(n)
    X, y = data["X"].astype(np.float64), data["y"].astype(np.float64)
    return Task(X[:n], y[:n], X[-5000:], 1.0, 1 / 8)


def scaled(scene: Scene, name: str, n: int) -> Task:
    """Return shuttle or satimage, each feature of unit spread."""
    data, n = _load(scene.data / f"{name}.npz"), scene.size(n)
    X, new = data["X_train"].astype(np.float64), data["X_test"].astype(np.float64)
    mean, spread = X.mean(0), X.std(0)
    X, new = (X - mean) / spread, (new - mean) / spread
    y = data["y_train"]
    kept = np.isin(y, np.flatnonzero(np.bincount(y[:n]) >= 100))
    return Task(X[kept][:n], y[kept][:n], new, 1.0, 1 / X.shape[1])


def _load(file: Path) -> Any:
    if not file.exists():
        raise Skip(f"no {file.name}; give --data DIR")
    return np.load(file, allow_pickle=True)


# ---------------------------------------------------------------- quality


@dataclass(frozen=True)
class Worth:
    """The dual objective of all machines, as one minimises it, and the relative gap."""

    dual: float
    gap: float


def worth(task: Task, models: dict[str, Any]) -> dict[str, Worth]:
    """Return what fitted classifiers are worth; kernel values are computed in double, once for all of them."""
    support = np.unique(np.concatenate([model.support_ for model in models.values()]))
    coefficients = {name: _by_pair(task, model) for name, model in models.items()}
    V = np.concatenate([c[support] for c, _ in coefficients.values()], axis=1)
    K = gram(Gaussian.from_gamma(task.gamma), task.X, task.X[support], engine=Engine(threads=2, precision="double"))
    F, found, at = K @ V, {}, 0
    for name, (c, offsets) in coefficients.items():
        values, at = F[:, at : at + c.shape[1]], at + c.shape[1]
        found[name] = _worth(task, c, offsets, values)
    return found


def _by_pair(task: Task, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients (n, pairs), positive for the first class of a pair, and offsets."""
    k, sizes = len(model.classes_), np.asarray(model.n_support_)
    dual = model.dual_coef_.toarray() if sparse.issparse(model.dual_coef_) else np.asarray(model.dual_coef_)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    c = np.zeros((len(task.y), len(pairs)))
    for p, (i, j) in enumerate(pairs):
        for own, other in ((i, j - 1), (j, i)):
            part = slice(ends[own], ends[own + 1])
            c[model.support_[part], p] = dual[other, part]
    sign = -1.0 if k == 2 else 1.0  # of two classes the second is the positive one
    return sign * c, sign * np.asarray(model.intercept_, dtype=np.float64).ravel()


def _worth(task: Task, c: np.ndarray, offsets: np.ndarray, F: np.ndarray) -> Worth:
    classes = np.unique(task.y)
    pairs = [(a, b) for i, a in enumerate(classes) for b in classes[i + 1 :]]
    dual = primal = 0.0
    for p, (a, b) in enumerate(pairs):
        rows = np.flatnonzero((task.y == a) | (task.y == b))
        y, f = np.where(task.y[rows] == a, 1.0, -1.0), F[rows, p]
        square = float(c[rows, p] @ f)
        dual += 0.5 * square - float(np.abs(c[rows, p]).sum())
        primal += 0.5 * square + task.C * float(np.maximum(0.0, 1.0 - y * (f + offsets[p])).sum())
    return Worth(dual, (primal + dual) / abs(dual))
