"""A table of numbers as colours, with one cell marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from discrim.report.plots.style import new_axes, numbers, paper
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["heat_map"]


def heat_map(
    table: pd.DataFrame,
    marked: tuple[float, float],
    title: str,
    ax: Axes | None = None,
    colormap: str | None = None,
) -> Axes:
    """Cells of a table by colour, dark where a number is small; a cross marks one, missing ones stay empty.

    Parameters
    ----------
    table : DataFrame
        Rows and columns bear the names and values of the two axes.
    marked : (row label, column label)
    title : str
        Of what the colours show.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    axes, _ = new_axes(ax)
    values = numbers(table)
    mesh = axes.pcolormesh(values, cmap=colormap or "viridis", edgecolors=paper(), linewidth=0.5)
    across = [i + 0.5 for i in range(values.shape[1])]
    up = [i + 0.5 for i in range(values.shape[0])]
    axes.set_xticks(across, [f"{value:g}" for value in table.columns])
    axes.set_yticks(up, [f"{value:g}" for value in table.index])
    row, column = table.index.get_loc(marked[0]), table.columns.get_loc(marked[1])
    axes.plot(across[column], up[row], marker="X", markersize=12, color="white", markeredgecolor="black")
    axes.set_xlabel(str(table.columns.name))
    axes.set_ylabel(str(table.index.name))
    set_title(axes, f"{title}; the cross marks the pair chosen")
    axes.figure.colorbar(mesh, ax=axes, label=title)
    return axes
