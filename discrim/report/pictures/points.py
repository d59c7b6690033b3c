"""Rows as points, on a plane or on a line for each class, and the names of lines and places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discrim.report.pictures.style import MOST_IN_LEGEND, SIGNS, Signs, ink, paper, shown_name

if TYPE_CHECKING:
    from discrim.report.pictures.style import Axes

__all__ = ["draw_labels", "draw_points", "draw_strips", "name_lines"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def draw_points(
    axes: Axes, x: Floats, y: Floats, codes: Codes, classes: Sequence[Any], signs: Signs = SIGNS
) -> None:
    """Rows at (x, y), (n,) each, with the sign of their class; a code of -1 is no class."""
    many = len(classes) > MOST_IN_LEGEND
    for k, label in enumerate(classes):
        rows = codes == k
        axes.scatter(x[rows], y[rows], label=shown_name(label), **_style(signs, k, int(rows.sum()), many))


def draw_strips(
    axes: Axes,
    values: Floats,
    codes: Codes,
    classes: Sequence[Any],
    wrong: NDArray[np.bool_] | None = None,
    signs: Signs = SIGNS,
) -> None:
    """One line for each class, from the top; the rows of a class are spread over its line."""
    for k in range(len(classes)):
        rows = np.flatnonzero((codes == k) & np.isfinite(values))
        rows = rows[np.argsort(values[rows], kind="stable")]
        # Spread by rank, not at random: the picture is the same each time.
        height = k + 0.7 * ((np.arange(len(rows)) + 0.5) / max(len(rows), 1) - 0.5)
        style = _style(signs, k, len(rows), len(classes) > MOST_IN_LEGEND)
        axes.scatter(values[rows], height, **style)
        if wrong is not None:
            ring = wrong[rows]
            style |= {"facecolors": "none", "edgecolors": ink(), "linewidths": 1.0, "alpha": 1.0}
            del style["color"]
            axes.scatter(values[rows][ring], height[ring], **style)
    name_lines(axes, classes)


def draw_labels(axes: Axes, places: Floats, classes: Sequence[Any]) -> None:
    """Labels of classes at places (K, 2)."""
    from matplotlib.patheffects import withStroke

    for (x, y), label in zip(places.tolist(), classes, strict=True):
        text = axes.annotate(shown_name(label, 16), (x, y), fontsize=7, ha="center", va="center", zorder=6)
        text.set_path_effects([withStroke(linewidth=2, foreground=paper())])
        text.set_clip_on(True)


def name_lines(axes: Axes, names: Sequence[Any]) -> None:
    """Names of lines from the top down, as many as there is room for, and always the last."""
    inches = axes.get_window_extent().height / axes.figure.dpi
    step = math.ceil(0.13 * len(names) / inches)
    small = "small" if len(names) > MOST_IN_LEGEND else None
    # Counted from the last line, which is that of the pooled covariance where there is one.
    ticks = range(len(names) - 1, -1, -step)[::-1]
    axes.set_yticks(ticks, [shown_name(names[k]) for k in ticks], fontsize=small)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _style(signs: Signs, k: int, rows: int, small: bool) -> dict[str, Any]:
    size, alpha = (10, 0.5) if small else (22, 0.75)
    style = {"color": signs.colour(k), "marker": signs.marker(k), "s": size, "alpha": alpha, "linewidths": 0}
    # Vector files of a million points cannot be opened.
    return style | {"rasterized": rows > 5_000}
