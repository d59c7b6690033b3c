"""Ordered distances beside the quantiles of their law, a panel a class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.report.numbers import clean
from discrim.report.plots.room import with_room
from discrim.report.plots.style import SIGNS, Signs, faint, ink, panels, shown_name

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["quantiles"]

NAMED = 3
"""Rows of a class, of those beyond the limits, that bear their names, where there is room."""

ROOM = np.array([24.0, 8.0])
"""Width and height of a name, in points."""


def quantiles(
    tables: Mapping[Any, pd.DataFrame],
    places: Mapping[Any, int],
    law: str,
    ax: Axes | None = None,
    signs: Signs = SIGNS,
) -> Axes:
    """Squared distances against quantiles by class, with pointwise limits.

    Parameters
    ----------
    tables : mapping of class to DataFrame
        quantile, squared, low, high, and the names of the rows as index; in order.
    places : mapping of class to int
        Position among all classes, for the colours.
    law : str
        What the quantiles are of.
    ax : Axes, optional

    Returns
    -------
    Axes
        The outer ones; `child_axes` are the panels.
    """
    columns = min(len(tables), 4 if len(tables) > 6 else 3)
    rows = math.ceil(len(tables) / columns)
    outer, inner = panels(ax, rows, columns, size=(max(2.5 * columns, 4.4), 2.5 * rows + 0.9), titled=True)
    for panel in inner.ravel()[len(tables) :]:
        panel.set_axis_off()
    for panel, (label, table) in zip(inner.ravel(), tables.items(), strict=False):
        panel.set_title(shown_name(label, 22), fontsize="medium")
        panel.tick_params(labelsize="small")
        if not len(table):
            panel.text(0.5, 0.5, "too few rows", ha="center", va="center", transform=panel.transAxes)
            panel.set_xticks([])
            panel.set_yticks([])
            continue
        k = places[label]
        x, y = (table[name].to_numpy(dtype=np.float64) for name in ("quantile", "squared"))
        panel.fill_between(x, table["low"], table["high"], color=faint(0.8), linewidth=0, zorder=1)
        ends = [0.0, float(x[-1])]
        panel.plot(ends, ends, color=ink(), linewidth=0.9, zorder=2)
        style = {"color": signs.colour(k), "marker": signs.marker(k), "s": 12, "rasterized": len(x) > 5_000}
        panel.scatter(x, y, linewidths=0, zorder=3, **style)
        far = (y > table["high"].to_numpy(dtype=np.float64)) & (np.arange(len(y)) >= len(y) / 2)
        beyond = np.flatnonzero(far)[::-1][:NAMED]
        pixels = panel.transData.transform(np.column_stack([x, y])) * 72 / panel.figure.dpi
        for i in with_room(pixels, beyond.tolist(), ROOM):
            text = shown_name(clean(str(table.index[i])), 14)
            panel.annotate(text, (x[i], y[i]), (-3, 0), textcoords="offset points", ha="right", fontsize=7)
    for panel in inner[:, 0]:
        panel.set_ylabel("Squared distance", fontsize="small")
    for place in range(max(len(tables) - columns, 0), len(tables)):
        inner.ravel()[place].set_xlabel(f"Quantile of {law}", fontsize="small")
    return outer
