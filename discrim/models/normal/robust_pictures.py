"""Pictures of robust distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.numbers import clean, shorten
from discrim.report.plots.points import draw_points
from discrim.report.plots.room import with_room
from discrim.report.plots.style import (
    MOST_IN_LEGEND,
    SIGNS,
    Signs,
    add_legend,
    faint,
    label_codes,
    new_axes,
)

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["distance_distance", "distances"]

MOST_LABELS = 12
"""Flagged rows that bear their names."""

LABEL_SIZE = (5.0, 10.0)
"""Width of a character and height of a line of the rows' labels, in points."""


def distances(results: Any, asked: Asked) -> Axes:
    """Robust distances of the rows against classical ones."""
    table, classical = results.robust_distances(), results._classical_distances()
    signs = asked.signs(results.classes)
    return distance_distance(table, classical, list(results.classes), ax=asked.ax, signs=signs)


def distance_distance(
    table: pd.DataFrame,
    classical: NDArray[np.float64],
    classes: Sequence[Any],
    ax: Axes | None = None,
    signs: Signs = SIGNS,
) -> Axes:
    """Robust distances of rows against classical ones (Rousseeuw & van Zomeren, 1990, JASA 85, 633-651).

    Parameters
    ----------
    table : DataFrame
        By row: class, distance, cutoff, flagged; the farthest of the flagged rows bear their labels, where
        these do not cover one another.
    classical : (n,) float
    classes : sequence
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    codes = label_codes(table["class"], classes)
    robust = table["distance"].to_numpy(dtype=np.float64)
    cutoff = float(table["cutoff"].iloc[0])
    axes, own = new_axes(ax)
    draw_points(axes, classical, robust, codes, list(classes), signs)
    edge: dict[str, Any] = {"color": faint(0.35), "linewidth": 1.0, "linestyle": "--", "zorder": 1}
    axes.axhline(cutoff, **edge)
    axes.axvline(cutoff, **edge)
    ends = np.array([0.0, np.nanmax(classical) * 1.05])
    axes.plot(ends, ends, color=faint(0.6), linewidth=0.8, zorder=1)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    flagged = np.flatnonzero(table["flagged"].to_numpy())
    farthest = flagged[np.argsort(-robust[flagged], kind="stable")]
    names = {i: shorten(clean(str(table.index[i])), 16) for i in farthest.tolist()}
    room = np.array([LABEL_SIZE[0] * (1 + max(map(len, names.values()), default=0)), LABEL_SIZE[1]])
    points = axes.transData.transform(np.column_stack([classical, robust])) * 72 / axes.figure.dpi
    for i in with_room(points, list(names), room)[:MOST_LABELS]:
        xy = (classical[i], robust[i])
        axes.annotate(names[i], xy, xytext=(4, 3), textcoords="offset points", fontsize=8)
    axes.set_xlabel("Distance by means and covariances of moments")
    axes.set_ylabel("Robust distance")
    axes.set_title("Distances to the own class; dashed: the cutoff")
    return add_legend(axes, own) if len(classes) <= MOST_IN_LEGEND else axes
