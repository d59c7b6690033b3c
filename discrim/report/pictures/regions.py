"""Regions of the classes in a plane."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError
from discrim.report.pictures.points import draw_labels, draw_points
from discrim.report.pictures.style import (
    MOST_IN_LEGEND,
    SIGNS,
    Signs,
    add_legend,
    faint,
    label_codes,
    new_axes,
    numbers,
    shown_name,
)

if TYPE_CHECKING:
    from discrim.report.pictures.style import Axes

__all__ = ["draw_regions", "regions"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

GRID = 240
"""Points a side of the grid that regions are drawn on."""


def regions(
    predict: Callable[[pd.DataFrame], pd.Series],
    points: pd.DataFrame,
    labels: pd.Series,
    ax: Axes | None = None,
    signs: Signs = SIGNS,
) -> Axes:
    """Regions of the classes in the plane of two predictors, with the rows on top.

    Parameters
    ----------
    predict : callable
        From a DataFrame with the columns of points to predicted labels.
    points : DataFrame
        Two numeric columns.
    labels : Series
        Class of each row; a row without one, or without both predictors, is left out.
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    DataError
        No row has both predictors.
    """
    xy = numbers(points)
    known = np.isfinite(xy).all(axis=1)
    if not known.any():
        names = " and ".join(repr(name) for name in points.columns)
        raise DataError(
            f"No row has finite numbers in both {names}: give rows that have, or name other columns."
        )
    across, up = (_span(column) for column in xy[known].T)
    mesh = np.meshgrid(across, up)
    plane = pd.DataFrame({name: m.ravel() for name, m in zip(points.columns, mesh, strict=True)})
    predicted = predict(plane)
    classes = _classes(labels, predicted)
    cells = label_codes(predicted, classes).reshape(GRID, GRID)
    codes = np.where(known, label_codes(labels, classes), -1)
    axes, own = new_axes(ax)
    draw_regions(axes, across, up, cells, len(classes), signs)
    draw_points(axes, xy[:, 0], xy[:, 1], codes, classes, signs)
    axes.set_xlim(across[0], across[-1])
    axes.set_ylim(up[0], up[-1])
    axes.set_xlabel(shown_name(points.columns[0]))
    axes.set_ylabel(shown_name(points.columns[1]))
    if len(classes) <= MOST_IN_LEGEND:
        axes.set_title("Regions of the predicted classes")
        return add_legend(axes, own)
    present = [k for k in range(len(classes)) if (codes == k).any()]
    means = np.array([xy[codes == k].mean(axis=0) for k in present]).reshape(-1, 2)
    draw_labels(axes, means, [classes[k] for k in present])
    axes.set_title("Regions of the predicted classes; labels stand at the class means")
    return axes


def draw_regions(
    axes: Axes, across: Floats, up: Floats, cells: Codes, n_classes: int, signs: Signs = SIGNS
) -> None:
    """Cells of a grid by the class predicted there, -1 where there is none, and the lines between classes."""
    from matplotlib.colors import ListedColormap

    colours = ListedColormap([signs.colour(k) for k in range(n_classes)])
    layout: dict[str, Any] = {"vmin": -0.5, "vmax": n_classes - 0.5, "shading": "nearest", "linewidth": 0}
    # A cell that has no predicted class stays white.
    axes.pcolormesh(
        across, up, np.ma.masked_less(cells, 0), cmap=colours, alpha=0.18, rasterized=True, **layout
    )
    for k in np.unique(cells).tolist():
        if not (cells == k).all():
            axes.contour(across, up, cells == k, levels=[0.5], colors=faint(0.35), linewidths=0.6)


def _classes(labels: pd.Series, predicted: pd.Series) -> list[Any]:
    """Classes in the order of the categories, else sorted."""
    if isinstance(labels.dtype, pd.CategoricalDtype):
        first = labels.cat.categories.tolist()
    else:
        first = pd.Index(labels.dropna().astype(object).unique()).sort_values().tolist()
    return list(dict.fromkeys([*first, *predicted.dropna().astype(object).unique().tolist()]))


def _span(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 0.06 * abs(low) or 1.0
    return np.linspace(low - margin, high + margin, GRID)
