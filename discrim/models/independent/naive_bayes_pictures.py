"""Pictures of one column by class: its densities, or the shares of its levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.pictures.columns import one_column
from discrim.report.plots.style import SIGNS, Signs, add_legend, faint, new_axes, shown_name

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["density", "draw_densities", "draw_shares", "table"]

MOST_COLOURS = 8
"""Levels that are told apart by the colours of bars."""


def density(results: Any, asked: Asked) -> Axes:
    """Density of a column in each class."""
    numeric = [*results.normal_terms, *results.bandwidths.columns]
    name = one_column("density", "numbers", numeric, asked)
    return draw_densities(results.density(name), asked.ax, asked.signs(results.classes))


def table(results: Any, asked: Asked) -> Axes:
    """Table of a categorical column."""
    name = one_column("table", "levels", list(results._levels), asked)
    return draw_shares(results.tables[name], asked.ax, asked.signs(results.classes))


def draw_densities(densities: pd.DataFrame, ax: Axes | None = None, signs: Signs = SIGNS) -> Axes:
    """Density of a column in each class, a line a class.

    Parameters
    ----------
    densities : DataFrame, values by classes
        The name of its index is that of the column.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    axes, own = new_axes(ax)
    at = densities.index.to_numpy(dtype=np.float64)
    for k, label in enumerate(densities.columns):
        values = densities.iloc[:, k].to_numpy(dtype=np.float64)
        style: dict[str, Any] = {"color": signs.colour(k), "linestyle": signs.line(k), "linewidth": 1.6}
        axes.plot(at, values, label=shown_name(label), **style)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(shown_name(densities.index.name))
    axes.set_ylabel("Density within the class")
    axes.set_title(f"{shown_name(densities.index.name)} by class")
    return add_legend(axes, own)


def draw_shares(table: pd.DataFrame, ax: Axes | None = None, signs: Signs = SIGNS) -> Axes:
    """Shares of the levels in each class, a bar a class; a line a level where they are more than colours.

    Parameters
    ----------
    table : DataFrame, classes by levels
        The name of its columns is that of the column.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    if table.shape[1] > MOST_COLOURS:
        return _draw_shares_by_level(table, ax, signs)
    axes, own = new_axes(ax, 2 * len(table))
    places, start = np.arange(len(table)), np.zeros(len(table))
    for level, label in enumerate(table.columns):
        shares = table.iloc[:, level].to_numpy(dtype=np.float64)
        colour = SIGNS.colour(level)
        axes.barh(places, shares, left=start, color=colour, label=shown_name(label), height=0.7)
        start = start + shares
    axes.set_yticks(places, [shown_name(label) for label in table.index])
    axes.invert_yaxis()
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("Probability within the class")
    axes.set_title(f"Levels of {shown_name(table.columns.name)} by class")
    return add_legend(axes, own)


def _draw_shares_by_level(table: pd.DataFrame, ax: Axes | None, signs: Signs) -> Axes:
    axes, own = new_axes(ax, table.shape[1])
    lines = np.arange(table.shape[1])
    for k, label in enumerate(table.index):
        shares = table.iloc[k].to_numpy(dtype=np.float64)
        style: dict[str, Any] = {"color": signs.colour(k), "marker": signs.marker(k)}
        axes.plot(shares, lines, linestyle="none", label=shown_name(label), **style)
    axes.set_yticks(lines, [shown_name(level) for level in table.columns])
    axes.grid(axis="y", color=faint(0.9))
    axes.set_axisbelow(True)
    axes.invert_yaxis()
    axes.set_xlim(left=0.0)
    axes.set_xlabel("Probability within the class")
    axes.set_title(f"Levels of {shown_name(table.columns.name)} by class")
    return add_legend(axes, own)
