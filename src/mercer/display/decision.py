"""A machine on two features: where it says what, its margin, and the points that hold it up."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._checks import describe, integer, refuse
from mercer.display._axes import COLORS, axes

WHO = "draw_decision"


def draw_decision(machine: Any, X: Any, y: Any = None, *, ax: Any = None, resolution: int = 200) -> Any:
    """Draw what a machine fitted on two features says over the plane, and its points; return the axes.

    Two classes or an outlier detector: the decision function in shades, its zero as a line, and where the machine has
    support vectors the margin, at -1 and 1, dashed. More classes: the regions of ``predict``. Regression: the values.
    Support vectors are ringed.

    Cost: resolution^2 predictions.

    Parameters
    ----------
    machine : estimator
        Fitted on two columns.
    X : array of shape (n, 2)
        Points to draw; they set the limits.
    y : array of shape (n,), optional
        Their labels or targets, as colours.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.
    resolution : int
        Grid points a side.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SVC
    >>> from mercer.display import draw_decision
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> ax = draw_decision(SVC(C=10.0).fit(X, y), X, y, resolution=50)
    >>> ax.get_title()
    'SVC: 11 support vectors of 100 points'
    """
    check_is_fitted(machine)
    names = list(X.columns) if hasattr(X, "columns") else ["first feature", "second feature"]
    points = check_array(X, input_name="X")
    if points.shape[1] != 2 or getattr(machine, "n_features_in_", 2) != 2:
        wanted = "the machine and X must have two columns"
        refuse(WHO, wanted, f"{points.shape[1]} in X", "Fit it on two columns, or on two components of the data.")
    ax = axes(WHO, ax, figsize=(6.4, 5.2))
    first, second = _grid(points, integer(WHO, "resolution", resolution, 2))
    plane = np.column_stack([first.ravel(), second.ravel()])
    if hasattr(X, "columns"):
        plane = type(X)(plane, columns=X.columns)
    _draw_values(ax, machine, plane, first, second)
    _draw_points(ax, machine, points, y)
    ax.set(xlabel=str(names[0]), ylabel=str(names[1]), title=_title(machine, points))
    return ax


def _grid(points: np.ndarray, resolution: int) -> tuple[np.ndarray, np.ndarray]:
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.08 * np.where(high > low, high - low, 1.0)
    sides = [np.linspace(a, b, resolution) for a, b in zip(low - room, high + room, strict=True)]
    first, second = np.meshgrid(*sides)
    return first, second


def _draw_values(ax: Any, machine: Any, plane: Any, first: np.ndarray, second: np.ndarray) -> None:
    values = _decision(machine, plane)
    if values is not None:
        reach = max(float(np.abs(values).max()), 1e-12)
        levels = np.linspace(-reach, reach, 22)
        Z = values.reshape(first.shape)
        ax.contourf(first, second, Z, levels=levels, cmap=_shades(), alpha=0.55)
        ax.contour(first, second, Z, levels=[0.0], colors="black", linewidths=1.6)
        if hasattr(machine, "support_") and is_classifier(machine):
            ax.contour(first, second, Z, levels=[-1.0, 1.0], colors="black", linewidths=0.9, linestyles="dashed")
        return
    said = np.asarray(machine.predict(plane))
    if is_classifier(machine):
        from matplotlib.colors import ListedColormap

        codes = np.searchsorted(machine.classes_, said).reshape(first.shape)
        k = len(machine.classes_)
        colours = [COLORS[c % len(COLORS)] for c in range(k)]
        ax.contourf(first, second, codes, levels=np.arange(k + 1) - 0.5, cmap=ListedColormap(colours), alpha=0.35)
        ax.contour(first, second, codes, levels=np.arange(k - 1) + 0.5, colors="black", linewidths=0.8)
        return
    shown = ax.contourf(first, second, said.reshape(first.shape), levels=24, cmap="viridis", alpha=0.7)
    ax.figure.colorbar(shown, ax=ax, label="prediction")


def _decision(machine: Any, plane: Any) -> np.ndarray | None:
    """Return one decision value a point where the machine has one, of two classes or of an outlier detector."""
    if not hasattr(machine, "decision_function") or len(getattr(machine, "classes_", (0, 1))) != 2:
        return None
    values = np.asarray(machine.decision_function(plane))
    return values if values.ndim == 1 else None


def _shades() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("two classes", [COLORS[0], "white", COLORS[1]])


def _draw_points(ax: Any, machine: Any, points: np.ndarray, y: Any) -> None:
    if y is None:
        ax.scatter(*points.T, s=18, color="black", alpha=0.6, linewidths=0)
    else:
        y = np.asarray(y).ravel()
        if len(y) != len(points):
            refuse(WHO, f"y must have a value for each of the {len(points)} rows of X", describe(y.shape))
        if is_classifier(machine):
            for k, label in enumerate(machine.classes_):
                here = y == label
                colour = COLORS[k % len(COLORS)]
                ax.scatter(*points[here].T, s=20, color=colour, edgecolors="white", linewidths=0.4, label=str(label))
            ax.legend(title="class", loc="best", framealpha=0.9)
        else:
            ax.scatter(*points.T, s=20, c=y, cmap="viridis", edgecolors="white", linewidths=0.4)
    vectors = getattr(machine, "support_vectors_", None)
    if vectors is not None and np.ndim(vectors) == 2 and vectors.shape[1] == 2:
        ax.scatter(*np.asarray(vectors).T, s=62, facecolors="none", edgecolors="black", linewidths=0.7)


def _title(machine: Any, points: np.ndarray) -> str:
    name = type(machine).__name__
    count = len(machine.support_) if hasattr(machine, "support_") else None
    return name if count is None else f"{name}: {count} support vectors of {len(points)} points"
