"""Scores of a search: a curve over one parameter, a map over two."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._checks import refuse
from mercer.display._axes import COLORS, axes

WHO = "draw_scores"


def draw_scores(search: Any, *, ax: Any = None) -> Any:
    """Draw the mean scores of a search over one or two parameters, the best marked; return the axes.

    Parameters
    ----------
    search : object or dict
        What `mercer.tune` returned, scikit-learn's GridSearchCV, or any ``cv_results_`` of that form.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Examples
    --------
    >>> from mercer.display import draw_scores
    >>> results = {"param_C": [0.1, 1.0, 10.0], "mean_test_score": [0.8, 0.9, 0.85], "std_test_score": [0.02] * 3}
    >>> draw_scores(results).get_title()
    'best: C = 1, score 0.9'
    """
    results = search if isinstance(search, dict) else getattr(search, "cv_results_", None)
    if results is None or "mean_test_score" not in results:
        refuse(WHO, "a search must have cv_results_", type(search).__name__, "Fit it first.")
    mean = np.asarray(results["mean_test_score"], dtype=np.float64)
    if not np.isfinite(mean).any():
        refuse(WHO, "scores must hold finite numbers", "none", "Look at the search's warnings.")
    varied = {
        name.removeprefix("param_"): np.ma.getdata(values)
        for name, values in results.items()
        if name.startswith("param_") and len(set(map(str, values))) > 1
    }
    best = int(np.nanargmax(mean))
    if len(varied) == 1:
        ax = axes(WHO, ax, figsize=(6.4, 4.2))
        _curve(ax, *next(iter(varied.items())), mean, np.asarray(results.get("std_test_score", 0 * mean)), best)
    elif len(varied) == 2:
        ax = axes(WHO, ax, figsize=(6.4, 5.0))
        _map(ax, varied, mean, best)
    else:
        refuse(WHO, "one or two parameters must vary", f"{len(varied)}", "Fix the others.")
    at = ", ".join(f"{name} = {_text(values[best])}" for name, values in varied.items())
    ax.set_title(f"best: {at}, score {mean[best]:.4g}")
    return ax


def _curve(ax: Any, name: str, values: np.ndarray, mean: np.ndarray, spread: np.ndarray, best: int) -> None:
    at = _positions(values)
    order = np.argsort(at)
    ax.plot(at[order], mean[order], "o-", color=COLORS[0])
    ax.fill_between(at[order], (mean - spread)[order], (mean + spread)[order], color=COLORS[0], alpha=0.2, linewidth=0)
    ax.plot(at[best], mean[best], "o", ms=11, mfc="none", mec="black")
    if _is_number(values) and (at > 0).all() and at.max() > 20 * at.min():
        ax.set_xscale("log")
    elif not _is_number(values):
        ax.set_xticks(at, [_text(value) for value in values])
    ax.set(xlabel=name, ylabel="mean score")


def _map(ax: Any, varied: dict[str, np.ndarray], mean: np.ndarray, best: int) -> None:
    (first, rows), (second, columns) = varied.items()
    row_at, row_names = _ranks(rows)
    column_at, column_names = _ranks(columns)
    grid = np.full((len(row_names), len(column_names)), np.nan)
    grid[row_at, column_at] = mean
    shown = ax.imshow(grid, origin="lower", aspect="auto", cmap="viridis")
    ax.figure.colorbar(shown, ax=ax, label="mean score")
    for i, j in np.argwhere(np.isfinite(grid)):
        light = grid[i, j] > 0.5 * (np.nanmin(grid) + np.nanmax(grid))
        ax.text(j, i, f"{grid[i, j]:.3g}", ha="center", va="center", fontsize=8, color="black" if light else "white")
    _frame(ax, column_at[best], row_at[best])
    ax.set_xticks(range(len(column_names)), column_names, rotation=30)
    ax.set_yticks(range(len(row_names)), row_names)
    ax.set(xlabel=second, ylabel=first)


def _frame(ax: Any, column: int, row: int) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=COLORS[1], linewidth=2.5))


def _is_number(values: Any) -> bool:
    return all(isinstance(value, (int, float, np.number)) for value in values)


def _positions(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=np.float64) if _is_number(values) else np.arange(len(values), dtype=np.float64)


def _ranks(values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the place of each value among the different ones, in order, and their texts."""
    keys = [float(value) if _is_number(values) else str(value) for value in values]
    order = sorted(set(keys)) if _is_number(values) else list(dict.fromkeys(keys))
    return np.array([order.index(key) for key in keys]), [_text(key) for key in order]


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, (int, float, np.number)) else str(value)
