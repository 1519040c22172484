"""Where pictures are drawn: matplotlib, asked for only when a picture is."""

from __future__ import annotations

from typing import Any

from mercer._checks import message


def axes(who: str, ax: Any = None, **size: Any) -> Any:
    """Return ``ax``, or the axes of a new figure; say what to install where matplotlib is not."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError as missing:
        text = message(who, "matplotlib must be installed", "none", "Install it: pip install 'mercer[display]'.")
        raise ImportError(text) from missing
    return plt.subplots(**size)[1]


COLORS = ("#3b6fb6", "#d1603d", "#4c9f70", "#8f5aa8", "#c29b2f", "#4fa3b5", "#a8505f", "#7d7d7d", "#9fbf3b", "#e0a1c0")
"""One a class, told apart in grey too where there are two."""
