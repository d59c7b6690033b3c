"""Eigenvalues of covariances, with those that are taken for signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from discrim.report.plots.ellipses import class_legend
from discrim.report.plots.style import SIGNS, Signs, faint, new_axes, paper

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["scree"]

MOST_NUMBERS = 30
"""Eigenvalues that are drawn of each class beyond the signal of the widest."""


def scree(table: pd.DataFrame, noise: pd.Series, ax: Axes | None = None, signs: Signs = SIGNS) -> Axes:
    """Eigenvalues by their number on a scale of powers, a line for each class.

    Those of the signal are filled; at the chosen dimension a line drops to the level of the noise.

    Parameters
    ----------
    table : DataFrame, by (class, number)
        eigenvalue, signal.
    noise : Series by class
        The variance beyond the signal.
    ax : Axes, optional
    signs : Signs

    Returns
    -------
    Axes
    """
    axes, own = new_axes(ax)
    classes = list(noise.index)
    most = int(table["signal"].groupby(level=0, sort=False).sum().max()) + MOST_NUMBERS
    last = 1
    for k, label in enumerate(classes):
        held = table.loc[label].iloc[:most]
        at, values = held.index.to_numpy(), held["eigenvalue"].to_numpy(dtype=np.float64)
        colour, d = signs.colour(k), int(held["signal"].sum())
        axes.plot(at, values, color=colour, linestyle=signs.line(k), linewidth=1.3, zorder=3)
        for part, face in ((slice(0, d), colour), (slice(d, None), paper())):
            axes.scatter(
                at[part], values[part], marker=signs.marker(k), s=26, facecolor=face, edgecolor=colour,
                zorder=4,
            )  # fmt: skip
        level = float(noise.iloc[k])
        axes.plot([at[d - 1], at[d - 1]], [values[d - 1], level], color=colour, linewidth=0.9, zorder=2)
        axes.plot(
            [at[d - 1], at[-1]], [level, level], color=colour, linestyle=signs.line(k), linewidth=0.9,
            marker=signs.marker(k), markersize=4, markevery=[-1], zorder=2,
        )  # fmt: skip
        last = max(last, int(at[-1]))
    axes.set_yscale("log")
    axes.set_xlim(0.5, last + 0.5)
    axes.locator_params(axis="x", integer=True)
    axes.grid(axis="y", color=faint(0.85))
    axes.set_axisbelow(True)
    axes.set_xlabel("Number of the eigenvalue")
    axes.set_ylabel("Eigenvalue")
    return class_legend(axes, own, classes, signs, False)
