"""Pictures of partial least squares: the path of components, and the importance of the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.report.plots.style import SIGNS, faint, new_axes, numbers, shown_name
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["component_path", "importance", "path", "vip"]

MOST_BARS = 40
"""Columns whose bars are drawn."""


def path(results: Any, asked: Asked) -> Axes:
    """Cross-validated error, R2 and Q2 by number of components."""
    return component_path(results.path, results.components, ax=asked.ax)


def vip(results: Any, asked: Asked) -> Axes:
    """Importance of the columns."""
    return importance(results.vip(), ax=asked.ax)


def component_path(path: pd.DataFrame, chosen: int, ax: Axes | None = None) -> Axes:
    """Cross-validated error by number of components with its standard error, and beside it R2 and Q2.

    Parameters
    ----------
    path : DataFrame
        components, error, se, R2, Q2.
    chosen : int
        The number marked.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    axes, _ = new_axes(ax)
    at, error, se, explained, predicted = numbers(path[["components", "error", "se", "R2", "Q2"]]).T
    axes.errorbar(
        at,
        error,
        yerr=se,
        color=SIGNS.colour(0),
        ecolor=faint(0.6),
        marker="o",
        markersize=4,
        capsize=2,
        label="error, ± one standard error",
    )
    for k, (values, name) in enumerate([(explained, "R2"), (predicted, "Q2")], start=1):
        axes.plot(at, values, color=SIGNS.colour(k), marker="s", markersize=3, linestyle="--", label=name)
    axes.axvline(chosen, color=faint(0.35), linestyle=":", linewidth=1.0, label="chosen")
    low = min(0.0, float((error - se).min()), float(predicted.min()))
    axes.set_ylim(low - 0.02, 1.02)
    axes.set_xticks(at, [f"{count:.0f}" for count in at])
    axes.set_xlabel("Components")
    axes.set_ylabel("Cross-validated error; R2, Q2")
    axes.legend(loc="best", framealpha=0.8)
    set_title(axes, "Error, R2 and Q2 by number of components")
    return axes


def importance(values: pd.Series, ax: Axes | None = None) -> Axes:
    """Importance of columns in the projection as horizontal bars, with a line at one.

    Parameters
    ----------
    values : Series by term
        The largest first; so many are drawn as can be told apart.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    shown = values.head(MOST_BARS)
    axes, _ = new_axes(ax, len(shown))
    lines = np.arange(len(shown))
    axes.barh(lines, shown.to_numpy(np.float64), height=0.7, color=SIGNS.colour(0), zorder=2)
    axes.axvline(1.0, color=faint(0.35), linestyle=":", linewidth=1.0, zorder=3)
    small = "small" if len(shown) > MOST_BARS // 2 else None
    axes.set_yticks(lines, [shown_name(name, 24) for name in shown.index], fontsize=small)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel("VIP")
    some = f" ({len(shown)} of {len(values)})" if len(values) > len(shown) else ""
    set_title(axes, f"Importance of the columns in the projection{some}")
    return axes
