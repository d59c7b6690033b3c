"""ROC curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.report.plots.style import MOST_IN_LEGEND, SIGNS, Signs, faint, new_axes, shown_name
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["roc"]

MOST_NAMED = 6
"""Of more classes than a legend holds, those that are drawn in colour and named."""


MOST_BANDS = 3
"""Classes up to which curves have bands; those of more would cover one another."""

BAND = 0.14
"""Opacity of a band."""


def roc(
    curves: dict[Any, pd.DataFrame],
    areas: pd.DataFrame,
    title: str,
    ax: Axes | None = None,
    signs: Signs = SIGNS,
    level: float = 0.95,
    first: int = 0,
) -> Axes:
    """ROC curves by class, with the areas under them and, of few classes, bands.

    Beyond 12 classes those of the least areas are named and the others faint.

    Parameters
    ----------
    curves : dict of class to DataFrame
        false_positive, true_positive, from (0, 0) to (1, 1); false_low, false_high, true_low, true_high: the
        limits of both.
    areas : DataFrame by class
        auc, low, high; missing for a class without rows, or without others.
    title : str
    ax : Axes, optional
    level : float
        Of the intervals and bands, which the legend names.
    first : int
        Position of the first class of `areas` among those that have signs.

    Returns
    -------
    Axes
    """
    axes, _ = new_axes(ax, size=(5.8, 5.4))
    axes.plot([0, 1], [0, 1], color=faint(0.6), linewidth=0.8, zorder=1)
    order = np.argsort(areas["auc"].to_numpy(), kind="stable")
    few = len(areas) <= MOST_IN_LEGEND
    named = set(range(len(areas)) if few else order[:MOST_NAMED].tolist())
    for k in range(len(areas)) if few else order[::-1].tolist():
        label = areas.index[k]
        at = curves.get(label)
        style: dict[str, Any] = {"color": faint(0.6), "linewidth": 0.8, "zorder": 1.5}
        if k in named:
            style = {"color": signs.colour(k + first), "linestyle": signs.line(k), "linewidth": 1.6}
            style |= {"label": f"{shown_name(label, 24)}  {_area(areas.iloc[k])}"}
        if at is None:
            axes.plot([], [], **style)
        else:
            axes.plot(at["false_positive"], at["true_positive"], **style)
            if len(areas) <= MOST_BANDS:
                _add_band(axes, at, style["color"])
    axes.set_xlim(-0.01, 1.01)
    axes.set_ylim(-0.01, 1.01)
    axes.set_aspect("equal")
    axes.set_xlabel("False positive rate")
    axes.set_ylabel("True positive rate")
    heading = f"Area under the curve ({100 * level:g} %)"
    if not few:
        heading += f",\nthe least {len(named)} of {len(areas)}"
    # The corner below the diagonal, which useful curves leave free.
    small = "small" if len(named) > 4 or ax is not None else None
    axes.legend(loc="lower right", title=heading, fontsize=small, title_fontsize=small, framealpha=0.8)
    set_title(axes, title)
    return axes


def _add_band(axes: Axes, at: pd.DataFrame, colour: Any) -> None:
    """The band between the outer corners of the rectangles of the points."""
    upper = at["false_low"].to_numpy(), at["true_high"].to_numpy()
    lower = at["false_high"].to_numpy(), at["true_low"].to_numpy()
    # From corner to corner of the unit square, and back below.
    x = np.concatenate([[0.0], upper[0], [1.0], [1.0], lower[0][::-1], [0.0]])
    y = np.concatenate([[upper[1][0]], upper[1], [1.0], [lower[1][-1]], lower[1][::-1], [0.0]])
    axes.fill(x, y, color=colour, alpha=BAND, linewidth=0, zorder=1.2)


def _area(row: pd.Series) -> str:
    """An area with its interval; below one it is not rounded to one."""
    if np.isnan(row["auc"]):
        return "no rows"
    digits = next((d for d in (3, 4, 5) if row["auc"] == 1 or round(row["auc"], d) < 1), 6)
    text = f"{row['auc']:.{digits}f}"
    return text if np.isnan(row["low"]) else f"{text} ({row['low']:.3f}, {row['high']:.3f})"
