"""Machines of any loss, against scikit-learn and against our own ridge and support vector regression.

Where the peer is our own, the question is what a loss costs that is not the usual one: logistic next to squared,
quantiles and Huber next to epsilon-insensitive, a plain Python function next to a built-in rule.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from _case import Case, Faster, Measured, Scene, Skip, Within
from _timing import race

GAP = 1e-4


@cache
def table(folder: Any, name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows of a table, columns of unit deviation, and its targets."""
    file = folder / f"{name}.npz"
    if not file.exists():
        raise Skip(f"no {name}.npz")
    stored = np.load(file)
    X, y = np.asarray(stored["X"], dtype=np.float64), np.asarray(stored["y"])
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    X, y = X[rows], y[rows]
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), y


def separated(n: int, d: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Return normal rows and labels that overlap."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(n) > 0).astype(int)


def checked(model: Any, limit: float) -> Any:
    """Return a fitted model whose certificate is what was asked for."""
    gap = model.certificate_.relative_gap
    if gap > 1.01 * limit:
        raise AssertionError(f"{type(model).__name__}: a gap of {gap:.1e}, {limit:g} was asked for")
    return model


# ---------------------------------------------------------------- cases


def logistic_against_sklearn(scene: Scene) -> Measured:
    """The mode of scikit-learn's Gaussian process classifier is kernel logistic regression without b and with C = 1."""
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF

    from mercer import KernelLogisticRegression
    from mercer.kernels import Gaussian

    X, y = separated(scene.size(3000))
    scale, new = 6.0, X[:500] + 0.1

    def ours() -> np.ndarray:
        model = KernelLogisticRegression(kernel=Gaussian(np.sqrt(2) * scale), intercept="none", tol=1e-11)
        model.fit(X, y)
        return np.float32(checked(model, 1e-6).decision_function(new))

    def theirs() -> np.ndarray:
        model = GaussianProcessClassifier(RBF(scale), optimizer=None, max_iter_predict=100).fit(X, y)
        f = model.base_estimator_
        return np.float32(f.kernel_(f.X_train_, new).T @ (f.y_train_ - f.pi_))  # the mode at new points

    found = race({"mercer": ours, "sklearn": theirs}, min(scene.repeats, 3), scene.threads)
    return Measured(found.seconds, found.disagreement, 1e-5, found.spread, f"n = {len(X)}, one decision each")


def logistic_against_ridge(scene: Scene) -> Measured:
    """Logistic to a relative gap of 1e-6, ridge as it comes."""
    from mercer import KernelLogisticRegression, KernelRidge
    from mercer.kernels import Gaussian

    X, y = separated(scene.size(20_000))
    kernel = Gaussian(6.0)

    def logistic() -> Any:
        return checked(KernelLogisticRegression(kernel=kernel, tol=1e-6, random_state=0).fit(X, y), 1e-6).solver_

    def ridge() -> Any:
        return KernelRidge(1.0, kernel=kernel, intercept="free", random_state=0).fit(X, 2.0 * y - 1).solver_

    return timed({"mercer": logistic, "our ridge": ridge}, scene, f"n = {len(X)}")


def on_protein(loss: str) -> Any:
    """Return a case of protein rows: a loss to a gap of 1e-4 next to our support vector regression."""

    def measure(scene: Scene) -> Measured:
        from mercer import SVR, KernelHuberRegressor, KernelQuantileRegressor
        from mercer.kernels import Gaussian

        X, y = table(scene.data, "protein", scene.size(20_000))
        y = (y - y.mean()) / y.std()
        kernel = Gaussian(3.0)

        def ours() -> Any:
            if loss == "huber":
                return checked(KernelHuberRegressor(1.0, 0.5, kernel=kernel, tol=GAP, random_state=0).fit(X, y), GAP)
            model = KernelQuantileRegressor(1.0, quantiles=[float(loss)], kernel=kernel, tol=GAP, random_state=0)
            return checked(model.fit(X, y), GAP)

        def svr() -> Any:
            return SVR(C=1.0, epsilon=0.1, kernel=kernel).fit(X, y)

        return timed({"mercer": ours, "our SVR": svr}, scene, f"n = {len(X)}, gap {GAP:g}")

    return measure


def own_loss(scene: Scene) -> Measured:
    """A loss as a plain Python function of arrays, next to the built-in rule."""
    from mercer import KernelMachine
    from mercer.kernels import Gaussian

    X, y = separated(scene.size(5000))
    target, kernel = X[:, 1] + 0.5 * y, Gaussian(6.0)

    def builtin() -> np.ndarray:
        model = KernelMachine("log_cosh", 1.0, kernel=kernel, random_state=0)
        return model.fit(X, target).predict(X[:100]).astype(np.float32)

    def plain() -> np.ndarray:
        own = KernelMachine(lambda y, t: np.log(np.cosh(y - t)), 1.0, kernel=kernel, random_state=0)
        return own.fit(X, target).predict(X[:100]).astype(np.float32)

    found = race({"mercer": plain, "built in": builtin}, min(scene.repeats, 3), scene.threads)
    return Measured(found.seconds, found.disagreement, 1e-3, found.spread, f"n = {len(X)}, log cosh")


def on_centers(scene: Scene) -> Measured:
    """Logistic on covtype with 2,000 centres, next to our ridge with the same centres."""
    from mercer import KernelLogisticRegression, KernelRidge
    from mercer.kernels import Gaussian

    X, y = table(scene.data, "covtype", scene.size(100_000))
    y, m = (y == np.bincount(y.astype(int)).argmax()).astype(int), min(2000, len(X) // 10)
    centers, kernel = X[:m], Gaussian(5.0)

    def logistic() -> Any:
        model = KernelLogisticRegression(1.0, kernel=kernel, centers=centers, random_state=0)
        return model.fit(X, y).solver_

    def ridge() -> Any:
        return KernelRidge(1.0, kernel=kernel, centers=centers, intercept="free").fit(X, 2.0 * y - 1).solver_

    return timed({"mercer": logistic, "our ridge": ridge}, scene, f"n = {len(X)}, {m} centres")


def timed(contenders: dict[str, Any], scene: Scene, note: str) -> Measured:
    """Time contenders that solve different problems, so that there is nothing to compare."""
    found = race(
        {name: (lambda run=run: (run(), np.zeros(1))[1]) for name, run in contenders.items()},
        min(scene.repeats, 3), scene.threads, lambda _: np.ones(1),
    )  # fmt: skip  # contenders, then how
    return Measured(found.seconds, None, spread=found.spread, note=note)


CASES = [
    Case("logistic, n = 3,000, against a GP", (Faster(5.0, ("sklearn",)),), logistic_against_sklearn),
    Case("logistic, n = 20,000, next to ridge", (Within(4.0, ("our ridge",)),), logistic_against_ridge),
    *(
        Case(f"quantile {level} on protein", (Within(3.0, ("our SVR",)),), on_protein(level))
        for level in ("0.1", "0.5", "0.9")
    ),
    Case("Huber on protein", (Within(3.0, ("our SVR",)),), on_protein("huber")),
    Case("a loss in plain Python", (Within(5.0, ("built in",)),), own_loss),
    Case("logistic on covtype, 2,000 centres", (Within(3.0, ("our ridge",)),), on_centers),
]
