"""Predicted probabilities against shares that were seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.report.plots.style import SIGNS, Signs, add_legend, faint, new_axes, shown_name
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["calibration"]

HISTOGRAM = 0.24
"""Share of the height for the histogram of the predictions."""

MOST_BANDS = 3
"""Classes up to which the intervals of bins are joined to a band; those of more would hide one another."""

BAND = 0.14
"""Opacity of a band."""


def calibration(
    bins: dict[Any, pd.DataFrame],
    predicted: dict[Any, pd.Series],
    title: str,
    names: tuple[str, str],
    ax: Axes | None = None,
    signs: Signs = SIGNS,
    first: int = 0,
) -> Axes:
    """Observed shares by predicted probability, with bands of few classes; the predictions below.

    Parameters
    ----------
    bins : dict of class to DataFrame
        predicted, observed, low, high.
    predicted : dict of class to Series
        Counts of rows by the lower end of an interval of probability, of even width.
    title : str
    names : (str, str)
        What the probability is, and what the share.
    ax : Axes, optional
        Its place is taken by the two panels.
    first : int
        Position of the first class of `bins` among those that have signs.

    Returns
    -------
    Axes
        The outer ones; its `child_axes` are the curve and the histogram.
    """
    outer, own = new_axes(ax, size=(5.8, 6.4))
    outer.set_axis_off()
    upper = outer.inset_axes((0.0, HISTOGRAM + 0.04, 1.0, 0.96 - HISTOGRAM))
    lower = outer.inset_axes((0.0, 0.0, 1.0, HISTOGRAM), sharex=upper)
    upper.plot([0, 1], [0, 1], color=faint(0.6), linewidth=0.8, zorder=1)
    for k, (label, at) in enumerate(bins.items()):
        colour, line = signs.colour(k + first), signs.line(k)
        limits = np.abs(at[["low", "high"]].to_numpy().T - at["observed"].to_numpy())
        style: dict[str, Any] = {
            "color": colour,
            "linestyle": line,
            "marker": signs.marker(k + first),
            "markersize": 5,
        }
        style |= {"linewidth": 1.2, "elinewidth": 0.8, "capsize": 2, "label": shown_name(label)}
        upper.errorbar(at["predicted"], at["observed"], yerr=limits, **style)
        if len(bins) <= MOST_BANDS:
            band = at["predicted"], at["low"], at["high"]
            upper.fill_between(*band, color=colour, alpha=BAND, linewidth=0, zorder=1.2)
        counts = predicted[label]
        edges = np.append(counts.index.to_numpy(dtype=np.float64), 1.0)
        lower.stairs(counts.to_numpy(dtype=np.float64), edges, color=colour, linestyle=line, linewidth=1.2)
    upper.set_xlim(-0.02, 1.02)
    upper.set_ylim(-0.02, 1.02)
    upper.tick_params(labelbottom=False)
    upper.set_ylabel(names[1])
    lower.set_ylim(bottom=0.0)
    lower.set_ylabel("Rows")
    lower.locator_params(axis="y", nbins=3)
    lower.set_xlabel(names[0])
    if len(bins) > 1:
        add_legend(upper, own)
    set_title(outer, title)
    return outer
