"""Steps of a choice of terms, from the top down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.report.plots.points import name_lines
from discrim.report.plots.style import SIGNS, Signs, faint, ink, new_axes
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["steps"]


def steps(table: pd.DataFrame, names: tuple[str, str], ax: Axes | None = None, signs: Signs = SIGNS) -> Axes:
    """A criterion after each step, with the term that entered or left; the last step is ringed.

    Parameters
    ----------
    table : DataFrame
        name, value, low, high, text, a step a line; the text stands at the right of a figure of our own.
    names : (str, str)
        Of the criterion and of the picture.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    axes, own = new_axes(ax, int(1.6 * len(table)), size=(7.4, 4.0))
    if not len(table):
        axes.set_axis_off()
        set_title(axes, names[1])
        return axes
    lines = range(len(table))
    axes.plot(table["value"], lines, color=signs.colour(0), marker="o", markersize=5, zorder=3)
    for i, (low, high) in enumerate(table[["low", "high"]].to_numpy().tolist()):
        axes.plot([low, high], [i, i], color=faint(0.5), linewidth=1.0, zorder=2)
    ring: dict[str, Any] = {"facecolors": "none", "edgecolors": ink(), "linewidths": 1.2, "zorder": 4}
    axes.scatter(table["value"].iloc[-1:], [len(table) - 1], s=110, label="where it stopped", **ring)
    name_lines(axes, table["name"].tolist())
    axes.grid(axis="y", color=faint(0.9))
    axes.set_axisbelow(True)
    for i, text in enumerate(table["text"] if own else []):
        place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
        axes.annotate(text, (1.02, i), va="center", fontsize="small", **place)
    axes.set_xlabel(names[0])
    axes.legend(loc="best", framealpha=0.8)
    set_title(axes, names[1])
    return axes
