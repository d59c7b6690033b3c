"""The picture of the choice of k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.report.plots.style import SIGNS, new_axes, numbers
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["error_path", "path"]


def path(results: Any, asked: Asked) -> Axes:
    """Leave-one-out error by k."""
    return error_path(results.path, results.k, ax=asked.ax)


def error_path(path: pd.DataFrame, chosen: int, ax: Axes | None = None) -> Axes:
    """Leave-one-out error by number of neighbours, with its standard error.

    Parameters
    ----------
    path : DataFrame
        k, error, se; k increasing.
    chosen : int
        The k marked.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    axes, _ = new_axes(ax)
    k, error, se = numbers(path[["k", "error", "se"]]).T
    axes.fill_between(k, error - se, error + se, color=SIGNS.colour(0), alpha=0.2, linewidth=0)
    axes.plot(k, error, color=SIGNS.colour(0), marker="o", markersize=3)
    axes.axvline(chosen, color=SIGNS.colour(1), linestyle="--", linewidth=1.0, label=f"k = {chosen}, chosen")
    axes.set_ylim(bottom=min(0.0, float((error - se).min())))
    axes.set_xlabel("Neighbours k")
    axes.set_ylabel("Leave-one-out error, ± one standard error")
    if k[-1] > 50 * k[0]:
        axes.set_xscale("log")
    axes.legend()
    set_title(axes, "Leave-one-out error by the number of neighbours")
    return axes
