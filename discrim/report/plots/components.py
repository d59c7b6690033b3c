"""Components of mixtures as ellipses, and the criterion by their number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.plots.ellipses import class_legend, draw_outline
from discrim.report.plots.points import draw_points
from discrim.report.plots.style import SIGNS, Signs, faint, ink, label_codes, new_axes, numbers, shown_name

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["components", "criterion"]

Floats = NDArray[np.float64]

LEVEL_NAMES = 10
"""Forms whose names are level; those of more stand upright."""


def components(
    means: pd.DataFrame,
    shares: pd.Series,
    covariances: Mapping[Any, pd.DataFrame],
    radius: float,
    *,
    points: pd.DataFrame | None = None,
    labels: pd.Series | None = None,
    ax: Axes | None = None,
    signs: Signs = SIGNS,
) -> Axes:
    """The components of each class in the plane of two columns, with the sign of their class.

    Parameters
    ----------
    means : DataFrame, (class, component) by two columns
    shares : Series by (class, component)
        The size of a mark at the mean.
    covariances : mapping of (class, component) to (2, 2) DataFrame
    radius : float
        Mahalanobis distance at which the outlines lie.
    points, labels : DataFrame and Series, optional
        Rows to draw below, with their classes.
    ax : Axes, optional
    signs : Signs

    Returns
    -------
    Axes
    """
    classes = list(means.index.unique(level=0))
    axes, own = new_axes(ax)
    if points is not None and labels is not None:
        xy = numbers(points)
        draw_points(axes, xy[:, 0], xy[:, 1], label_codes(labels, classes), classes, signs)
    for key, place, share in zip(means.index, numbers(means), shares, strict=True):
        k = classes.index(key[0])
        colour = signs.colour(k)
        style = {"color": colour, "linestyle": signs.line(k), "linewidth": 1.6, "zorder": 4}
        draw_outline(axes, place, numbers(covariances[key]), radius, **style)
        axes.plot(
            *place, marker=signs.marker(k), color=colour, markeredgecolor=ink(), zorder=6,
            markersize=4 + 6 * np.sqrt(share),
        )  # fmt: skip
    axes.set_xlabel(shown_name(means.columns[0]))
    axes.set_ylabel(shown_name(means.columns[1]))
    axes.margins(0.06)
    return class_legend(axes, own, classes, signs, False)


def criterion(table: pd.DataFrame, across: str, ax: Axes | None = None, signs: Signs = SIGNS) -> Axes:
    """The criterion of what was tried, a line for each class, above the least of its class.

    Parameters
    ----------
    table : DataFrame
        class, components or covariance, and BIC: the least of each.
    across : {"components", "covariance"}
        What the lines run over.
    ax : Axes, optional
    signs : Signs

    Returns
    -------
    Axes
    """
    axes, own = new_axes(ax)
    places = list(dict.fromkeys(table[across]))
    classes = list(dict.fromkeys(table["class"]))
    for k, label in enumerate(classes):
        rows = table[table["class"] == label]
        at = [places.index(value) for value in rows[across]]
        above = rows["BIC"].to_numpy(np.float64) - rows["BIC"].min()
        axes.plot(
            at, above, color=signs.colour(k), linestyle=signs.line(k), marker=signs.marker(k), markersize=5
        )
    axes.set_xticks(range(len(places)), [f"{place}" for place in places])
    if across == "covariance" and len(places) > LEVEL_NAMES:
        axes.tick_params(axis="x", labelrotation=90)
    axes.axhline(0.0, color=faint(0.35), linestyle=":", linewidth=1.0)
    axes.set_xlabel("Components" if across == "components" else "Covariance")
    axes.set_ylabel("BIC above the least")
    return class_legend(axes, own, classes, signs, False) if len(classes) > 1 else axes
