"""The distribution of a statistic by chance, and the value that was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from discrim.report.plots.style import SIGNS, Signs, faint, ink, new_axes
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["permuted"]

MOST_BARS = 100
"""Values that have a bar each; of more they are gathered in so many bins."""


def permuted(
    values: pd.Series,
    seen: float,
    said: str,
    names: tuple[str, str],
    ax: Axes | None = None,
    signs: Signs = SIGNS,
) -> Axes:
    """Bars of the values by chance, and a line at the one that was seen.

    Parameters
    ----------
    values : Series
    seen : float
    said : str
        Beside the line.
    names : (str, str)
        Of the values and of the picture.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    axes, _ = new_axes(ax)
    at, counts = np.unique(values.to_numpy(dtype=np.float64), return_counts=True)
    if len(at) <= MOST_BARS:
        # Rates of few rows have few values: bins of any other width would make gaps of their own.
        width = 0.85 * float(np.diff(at).min()) if len(at) > 1 else 0.02
    else:
        counts, edges = np.histogram(values, bins=MOST_BARS)
        at, width = (edges[1:] + edges[:-1]) / 2, float(edges[1] - edges[0])
    axes.bar(at, counts, width=width, color=signs.colour(0), alpha=0.75, linewidth=0, zorder=2)
    axes.axvline(seen, color=ink(), linewidth=1.6, zorder=3)
    low, high = min(float(at.min()) - width, seen), max(float(at.max()) + width, seen)
    space = 0.05 * (high - low)
    axes.set_xlim(low - space, high + space)
    axes.set_ylim(0, 1.18 * float(counts.max()))
    beyond = seen > (low + high) / 2
    axes.annotate(
        f"seen {seen:.3g}\n{said}",
        (seen, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(-5 if beyond else 5, -4),
        textcoords="offset points",
        ha="right" if beyond else "left",
        va="top",
    )
    axes.grid(axis="y", color=faint(0.85))
    axes.set_axisbelow(True)
    axes.locator_params(axis="y", integer=True)
    axes.set_xlabel(names[0])
    axes.set_ylabel("Permutations")
    set_title(axes, names[1])
    return axes
