"""Bars: structure correlations of columns, and shares of discriminants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from discrim.report.numbers import p_text
from discrim.report.plots.scores import axis_name
from discrim.report.plots.style import SIGNS, faint, ink, new_axes, numbers, panels, shown_name
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["scree", "structure"]

MOST_AXES = 12
"""Discriminants that a scree plot shows."""


def structure(table: pd.DataFrame, total: int, shares: pd.Series, ax: Axes | None = None) -> Axes:
    """Correlations of columns with discriminants, from -1 to 1, a panel for each discriminant.

    Parameters
    ----------
    table : DataFrame, columns by one to three discriminants
    total : int
        Columns of the fit, of which the table may have some.
    shares : Series by discriminant
    ax : Axes, optional

    Returns
    -------
    Axes
        The outer ones; `child_axes` are the panels.
    """
    import matplotlib.pyplot as plt

    width, height = plt.rcParams["figure.figsize"]
    high = float(np.clip(0.24 * len(table) + 1.3, 0.6 * height, 12))
    outer, inner = panels(ax, 1, table.shape[1], size=(width, high))
    lines = np.arange(len(table))
    names = [shown_name(name, 24) for name in table.index]
    values = numbers(table)
    for j, panel in enumerate(inner[0]):
        panel.barh(lines, values[:, j], height=0.7, color=SIGNS.colour(0), zorder=2)
        panel.axvline(0.0, color=ink(), linewidth=0.8, zorder=3)
        panel.set_xlim(-1.05, 1.05)
        panel.set_ylim(len(table) - 0.4, -0.6)
        panel.set_yticks(lines, names if j == 0 else [""] * len(names))
        panel.grid(axis="x", color=faint(0.85))
        panel.set_axisbelow(True)
        panel.set_xlabel(axis_name(table.columns[j], shares, of=""))
    some = f" (the {len(table)} largest of {total})" if len(table) < total else ""
    few = f"; {table.shape[1]} of {len(shares)} discriminants" if table.shape[1] < len(shares) else ""
    set_title(outer, f"Correlations of the columns with the discriminants{some}{few}")
    return outer


def scree(shares: pd.Series, eigenvalues: pd.Series, p: pd.Series, ax: Axes | None = None) -> Axes:
    """Share of each discriminant in the variance between classes, and the p-value of its dimension.

    Parameters
    ----------
    shares, eigenvalues : Series by discriminant
    p : Series by discriminant
        Of the test that this and all later discriminants have no eigenvalue.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    axes, _ = new_axes(ax)
    count = min(len(shares), MOST_AXES)
    places, heights = np.arange(count), 100 * shares.to_numpy(dtype=np.float64)[:count]
    axes.bar(places, heights, width=0.6, color=SIGNS.colour(0), label="share")
    together = 100 * np.cumsum(shares.to_numpy(dtype=np.float64))[:count]
    axes.plot(places, together, color=SIGNS.colour(1), marker="o", linestyle="--", label="shares so far")
    for place, value, test in zip(range(count), eigenvalues, p, strict=False):
        text = f"{value:.3g}" if np.isnan(test) else f"{value:.3g}\np {_with_sign(p_text(test))}"
        axes.text(place, 103.0, text, ha="center", va="bottom", fontsize="small")
    axes.set_xticks(places, [shown_name(name) for name in shares.index[:count]])
    # As wide as three bars at least: one bar alone would fill the picture.
    axes.set_xlim(-0.5 - max(3 - count, 0) / 2, count - 0.5 + max(3 - count, 0) / 2)
    axes.set_ylim(0.0, 118.0)
    axes.set_yticks(range(0, 101, 20))
    axes.set_ylabel("% of the variance between classes")
    set_title(axes, "Eigenvalues, and p of the test that this and all later ones are zero")
    axes.legend(loc="center right", framealpha=0.8)
    return axes


def _with_sign(text: str) -> str:
    return text if text.startswith("<") else f"= {text}"
