"""The picture of the choice of a bandwidth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.report.plots.style import SIGNS, new_axes, numbers
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["bandwidth_path", "path"]


def path(results: Any, asked: Asked) -> Axes:
    """Leave-one-out error and likelihood by bandwidth."""
    return bandwidth_path(results.path, float(results.bandwidth.iloc[0]), ax=asked.ax)


def bandwidth_path(path: pd.DataFrame, chosen: float, ax: Axes | None = None) -> Axes:
    """Leave-one-out error by bandwidth with its standard error, and the likelihood on an axis of its own.

    Parameters
    ----------
    path : DataFrame
        bandwidth, error, se, llf; the bandwidth increasing.
    chosen : float
        The one marked.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    axes, _ = new_axes(ax)
    radius, error, se, llf = numbers(path[["bandwidth", "error", "se", "llf"]]).T
    axes.fill_between(radius, error - se, error + se, color=SIGNS.colour(0), alpha=0.2, linewidth=0)
    axes.plot(radius, error, color=SIGNS.colour(0), marker="o", markersize=3, label="error")
    axes.axvline(chosen, color=SIGNS.colour(2), linestyle="--", linewidth=1.0, label=f"{chosen:.3g}, chosen")
    axes.set_ylim(bottom=min(0.0, float((error - se).min())))
    axes.set_xscale("log")
    axes.set_xlabel("Bandwidth")
    axes.set_ylabel("Leave-one-out error, ± one standard error")
    finite = np.isfinite(llf)
    if finite.any():
        beside = axes.twinx()
        (line,) = beside.plot(radius[finite], llf[finite], color=SIGNS.colour(1), marker="s", markersize=3)
        beside.set_ylabel("Log-likelihood of rows left out")
        handles, labels = axes.get_legend_handles_labels()
        axes.legend([*handles, line], [*labels, "log-likelihood"], loc="lower right")
    else:
        axes.legend()
    set_title(axes, "Rows left out, by the bandwidth")
    return axes
