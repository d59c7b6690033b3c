"""Ellipses of equal density, and the picture of covariances by class beside the pooled one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.plots.points import draw_points
from discrim.report.plots.style import (
    SIGNS,
    Signs,
    ink,
    label_codes,
    new_axes,
    numbers,
    shown_name,
)

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["class_legend", "draw_outline", "ellipses", "outline"]

Floats = NDArray[np.float64]

POINTS = 121
"""Points of an outline."""


def outline(mean: Floats, covariance: Floats, radius: float) -> Floats:
    """Points (121, 2) whose Mahalanobis distance from the mean is the radius.

    A covariance of rank one gives a line, one of zero a point.

    Parameters
    ----------
    mean : (2,) float
    covariance : (2, 2) float
    radius : float

    Examples
    --------
    >>> points = outline(np.zeros(2), np.diag([4.0, 1.0]), 1.0)
    >>> points.max(axis=0).round(3).tolist()
    [2.0, 1.0]
    """
    scale = np.sqrt(np.maximum(np.diagonal(covariance), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(covariance / scale[:, None] / scale)
    half = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    # The turn of the axes is that of the symmetric root, so that a circle begins at its right.
    angle = np.linspace(0.0, 2.0 * np.pi, POINTS)
    circle = vectors.T @ np.vstack([np.cos(angle), np.sin(angle)])
    return np.asarray(mean + radius * (half @ circle).T)


def draw_outline(axes: Axes, mean: Floats, covariance: Floats, radius: float, **style: Any) -> None:
    """An ellipse as a line; an empty one where its covariance is not known."""
    if np.isfinite(covariance).all() and np.isfinite(mean).all():
        axes.plot(*outline(mean, covariance, radius).T, **style)


def ellipses(
    means: pd.DataFrame,
    covariances: Mapping[Any, pd.DataFrame],
    pooled: pd.DataFrame | None,
    radius: float,
    *,
    points: pd.DataFrame | None = None,
    labels: pd.Series | None = None,
    centred: bool = False,
    ax: Axes | None = None,
    signs: Signs = SIGNS,
) -> Axes:
    """Ellipses of the classes' covariances in the plane of two columns, beside the pooled one.

    Parameters
    ----------
    means : DataFrame, classes by two columns
    covariances : mapping of class to (2, 2) DataFrame
    pooled : (2, 2) DataFrame, optional
    radius : float
        Mahalanobis distance at which the outlines lie.
    points, labels : DataFrame and Series, optional
        Rows to draw below, with their classes.
    centred : bool
        All ellipses about zero, where their shapes can be compared; rows are not drawn then.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    classes = list(means.index)
    axes, own = new_axes(ax)
    if points is not None and labels is not None and not centred:
        xy, codes = numbers(points), label_codes(labels, classes)
        draw_points(axes, xy[:, 0], xy[:, 1], codes, classes, signs)
    places = np.zeros((len(classes), 2)) if centred else numbers(means)
    for k, label in enumerate(classes):
        style = {"color": signs.colour(k), "linestyle": signs.line(k), "linewidth": 1.6, "zorder": 4}
        held = covariances.get(label)
        if held is not None:
            draw_outline(axes, places[k], numbers(held), radius, **style)
        if not centred:
            axes.plot(
                *places[k], marker=signs.marker(k), color=signs.colour(k), markeredgecolor=ink(), zorder=6
            )
    if pooled is not None:
        known = places[np.isfinite(places).all(axis=1)]
        centre = known.mean(axis=0) if len(known) else np.zeros(2)
        style = {"color": ink(), "linewidth": 2.2, "zorder": 5}
        draw_outline(axes, centre, numbers(pooled), radius, **style)
    axes.set_xlabel(shown_name(means.columns[0]))
    axes.set_ylabel(shown_name(means.columns[1]))
    axes.margins(0.06)
    return class_legend(axes, own, classes, signs, pooled is not None)


def class_legend(axes: Axes, own: bool, classes: Sequence[Any], signs: Signs, pooled: bool) -> Axes:
    """Marker and line of each class together, and the pooled line."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=shown_name(label), **signs.of(k)) for k, label in enumerate(classes)]
    handles += [Line2D([], [], label="pooled", color=ink(), linewidth=2.2)] if pooled else []
    place: dict[str, Any] = (
        {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False} if own else {"loc": "best"}
    )
    axes.legend(
        handles=handles,
        ncols=1 if len(handles) <= 20 else 2,
        fontsize="medium" if len(handles) <= 12 else "small",
        **place,
    )
    return axes
