"""Numbers by line and class as dots, a strip for each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.report.plots.style import SIGNS, Signs, faint, new_axes, numbers, shown_name
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["dot_strips"]

SMALL = 25
"""Lines from which their names are small."""


def dot_strips(
    table: pd.DataFrame,
    classes: Sequence[Any],
    title: str,
    ax: Axes | None = None,
    signs: Signs = SIGNS,
) -> Axes:
    """Dots on lines from zero, all strips to one scale.

    Parameters
    ----------
    table : DataFrame, lines by classes
        The first line is drawn on top.
    classes : sequence
        Labels of the columns.
    title : str
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    axes, _ = new_axes(ax, len(table))
    values = numbers(table)
    width = 2.3 * (float(np.abs(values).max(initial=0.0)) or 1.0)
    lines = np.arange(len(table))
    for k in range(values.shape[1]):
        colour = signs.colour(k)
        axes.axvline(k * width, color=faint(0.7), linewidth=0.8, zorder=1)
        axes.hlines(lines, k * width, k * width + values[:, k], color=colour, linewidth=1.2, zorder=2)
        axes.plot(k * width + values[:, k], lines, "o", color=colour, markersize=4, zorder=3)
    axes.set_yticks(
        lines, [shown_name(name) for name in table.index], fontsize="small" if len(table) >= SMALL else None
    )
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.set_xticks([k * width for k in range(values.shape[1])], [shown_name(label, 16) for label in classes])
    axes.set_xlim(-0.5 * width, (values.shape[1] - 0.5) * width)
    largest = float(np.abs(values).max(initial=0.0))
    axes.set_xlabel(f"Classes; all strips to one scale, the longest line is {largest:.3g}")
    set_title(axes, title)
    return axes
