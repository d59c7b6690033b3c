"""A scatter plot for each pair of columns, with the outlines of the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.plots.ellipses import draw_outline
from discrim.report.plots.points import draw_points
from discrim.report.plots.style import SIGNS, Signs, label_codes, numbers, panels, shown_name

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["legend_of_classes", "pairs"]

Floats = NDArray[np.float64]

INCHES = 1.75
"""Of a panel."""

BINS = 24
"""Of the histograms on the diagonal."""


def pairs(
    means: pd.DataFrame,
    covariances: Mapping[Any, pd.DataFrame],
    radius: float,
    *,
    points: pd.DataFrame | None = None,
    labels: pd.Series | None = None,
    ax: Axes | None = None,
    signs: Signs = SIGNS,
) -> Axes:
    """Each pair of columns as a panel: rows and outlines below the diagonal, outlines alone above it.

    On the diagonal are the histograms of the rows by class, or, without rows, the names of the columns.

    Parameters
    ----------
    means : DataFrame, classes by p columns
    covariances : mapping of class to (p, p) DataFrame
    radius : float
        Mahalanobis distance, in the plane of two columns, at which the outlines lie.
    points, labels : DataFrame and Series, optional
    ax : Axes, optional

    Returns
    -------
    Axes
        The outer ones; `child_axes` are the panels, row by row.
    """
    names, classes = list(means.columns), list(means.index)
    p = len(names)
    outer, inner = panels(ax, p, p, size=(INCHES * p + 1.4, INCHES * p + 0.8), gaps=(0.1, 0.1))
    xy = None if points is None else numbers(points)
    codes = None if labels is None else label_codes(labels, classes)
    centres = numbers(means)
    held = {label: numbers(table) for label, table in covariances.items()}
    for i, name in enumerate(names):
        for j in range(p):
            panel = inner[i, j]
            if i == j:
                _diagonal(panel, None if xy is None else xy[:, i], codes, len(classes), name, signs)
            else:
                if i > j and xy is not None and codes is not None:
                    draw_points(panel, xy[:, j], xy[:, i], codes, classes, signs)
                place = np.ix_([j, i], [j, i])
                for k, label in enumerate(classes):
                    style = {"color": signs.colour(k), "linestyle": signs.line(k), "linewidth": 1.3}
                    if label in held:
                        draw_outline(panel, centres[k, [j, i]], held[label][place], radius, **style)
            panel.tick_params(labelsize="x-small")
    _share_limits(inner)
    for i, name in enumerate(names):
        inner[p - 1, i].set_xlabel(shown_name(name, 18), fontsize="small")
        inner[i, 0].set_ylabel(shown_name(name, 18), fontsize="small")
    legend_of_classes(outer, classes, signs)
    return outer


def legend_of_classes(outer: Axes, classes: Sequence[Any], signs: Signs) -> None:
    """Signs of the classes beside a picture with panels."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=shown_name(label, 18), **signs.of(k)) for k, label in enumerate(classes)]
    columns = 1 if len(classes) <= 24 else 2
    outer.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        ncols=columns,
        fontsize="small",
    )


def _diagonal(
    panel: Axes, x: Floats | None, codes: NDArray[np.intp] | None, k_classes: int, name: Any, signs: Signs
) -> None:
    panel.set_yticks([])
    if x is None or codes is None or not np.isfinite(x).any():
        panel.text(0.5, 0.5, shown_name(name, 18), ha="center", va="center", transform=panel.transAxes)
        return
    known = np.isfinite(x) & (codes >= 0)
    edges = np.linspace(float(x[known].min()), float(x[known].max()), BINS + 1) if known.any() else [0.0, 1.0]
    for k in range(k_classes):
        rows = known & (codes == k)
        if rows.any():
            colour = signs.colour(k)
            style: dict[str, Any] = {"facecolor": (colour, 0.25), "edgecolor": colour}
            panel.hist(x[rows], bins=list(edges), histtype="stepfilled", linestyle=signs.line(k), **style)


def _share_limits(inner: NDArray[Any]) -> None:
    """One span a column of the table, and names of ticks at the outer edges alone."""
    p = len(inner)
    for i in range(p):
        spans = [inner[r, i].get_xlim() for r in range(p) if r != i and inner[r, i].has_data()]
        spans += [inner[i, c].get_ylim() for c in range(p) if c != i and inner[i, c].has_data()]
        spans += [inner[i, i].get_xlim()] if inner[i, i].has_data() else []
        if not spans:
            continue
        low, high = min(s[0] for s in spans), max(s[1] for s in spans)
        for r in range(p):
            inner[r, i].set_xlim(low, high)
            if r != i:
                inner[i, r].set_ylim(low, high)
    for i in range(p):
        for j in range(p):
            if i < p - 1:
                inner[i, j].set_xticklabels([])
            if j > 0 or i == 0:
                inner[i, j].set_yticklabels([])
