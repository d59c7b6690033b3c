"""Estimates with their intervals, a line each: forest plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.report.plots.points import name_lines
from discrim.report.plots.style import SIGNS, Signs, add_legend, faint, ink, new_axes, shown_name
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["forest"]

MOST_WRITTEN = 40
"""Lines up to which the numbers stand beside them."""


def forest(
    table: pd.DataFrame,
    classes: Sequence[Any],
    names: tuple[str, str],
    ax: Axes | None = None,
    signs: Signs = SIGNS,
    ratios: bool = False,
) -> Axes:
    """Estimates and intervals, a line for each term and class, and in a figure of our own their numbers.

    Parameters
    ----------
    table : DataFrame
        class, term, estimate, low, high, from the top down; of ratios the numbers are ratios. A number that
        is not finite is left to the text.
    classes : sequence
        All classes, whose order gives the signs.
    names : (str, str)
        Of the axis and of the picture.
    ax : Axes, optional
    ratios : bool
        The axis is of logs, and the line of no effect at one.

    Returns
    -------
    Axes
    """
    axes, own = new_axes(ax, int(1.6 * len(table)), size=(7.4, 4.0))
    order = {label: k for k, label in enumerate(classes)}
    several = table["class"].nunique() > 1
    axes.axvline(1.0 if ratios else 0.0, color=faint(0.35), linewidth=0.8, linestyle="--", zorder=1)
    if ratios:
        from matplotlib.ticker import LogFormatter

        axes.set_xscale("log")
        # Odds of 2 and 3, and not 2 x 10^0.
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(2, 0.5)))
    seen: set[Any] = set()
    for i, (label, _, value, low, high) in enumerate(table.itertuples(index=False, name=None)):
        k = order[label]
        style: dict[str, Any] = {"color": signs.colour(k), "marker": signs.marker(k), "markersize": 5}
        name = shown_name(label) if label not in seen else None
        seen.add(label)
        there = np.isfinite([low, high]).all() and (not ratios or low > 0)
        if there:
            axes.plot([low, high], [i, i], color=signs.colour(k), linewidth=1.5, solid_capstyle="butt")
        drawn = np.isfinite(value) and (not ratios or value > 0)
        axes.plot([value] if drawn else [], [i] if drawn else [], linestyle="none", label=name, **style)
    terms = table["term"].tolist()
    name_lines(axes, ["" if i and several and term == terms[i - 1] else term for i, term in enumerate(terms)])
    for i in range(1, len(terms)):
        if several and terms[i] != terms[i - 1]:
            axes.axhline(i - 0.5, color=faint(0.8), linewidth=0.5, zorder=0)
    axes.set_xlabel(names[0])
    if own and len(table) <= MOST_WRITTEN:
        for i, row in enumerate(table[["estimate", "low", "high"]].to_numpy().tolist()):
            text = "{}  ({}, {})".format(*(f"{value:.3g}".replace("-", "\u2212") for value in row))
            place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
            axes.annotate(text, (1.02, i), va="center", fontsize="small", color=ink(), **place)
    if several:
        add_legend(axes, own)
        legend = axes.get_legend()
        if own and legend is not None:
            # Beside the lines stand their numbers.
            where: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "frameon": False}
            axes.legend(ncols=min(3, len(seen)), **where)
    set_title(axes, names[1])
    return axes
