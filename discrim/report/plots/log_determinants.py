"""Log-determinants of covariances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.plots.points import name_lines
from discrim.report.plots.style import SIGNS, Signs, ink, new_axes, numbers
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["log_determinants"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def log_determinants(table: pd.DataFrame, ax: Axes | None = None, signs: Signs = SIGNS) -> Axes:
    """Log-determinants of the classes' covariances with their intervals, and the pooled one as a line.

    Parameters
    ----------
    table : DataFrame
        By class, and "pooled" in the last row: debiased, low, high. The raw log-determinant is biased and may
        lie outside its interval.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    axes, _ = new_axes(ax, len(table))
    values = numbers(table[["debiased", "low", "high"]])
    for i, (value, low, high) in enumerate(values.tolist()):
        whole = i == len(values) - 1
        colour = ink() if whole else signs.colour(i)
        axes.plot([low, high], [i, i], color=colour, linewidth=1.5)
        axes.scatter([value], [i], color=colour, marker="D" if whole else "o", s=30, zorder=3)
    axes.axvline(float(values[-1, 0]), color=ink(), linestyle="--", linewidth=0.8)
    name_lines(axes, list(table.index))
    axes.set_xlabel("ln |S|, its bias subtracted")
    set_title(axes, "Log-determinants of the covariances, with intervals")
    return axes
