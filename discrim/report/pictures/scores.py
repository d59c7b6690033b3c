"""Discriminant scores by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.pictures.points import draw_labels, draw_points, draw_strips
from discrim.report.pictures.style import (
    MOST_IN_LEGEND,
    SIGNS,
    Signs,
    add_legend,
    ink,
    label_codes,
    new_axes,
    numbers,
    paper,
    shown_name,
)

if TYPE_CHECKING:
    from discrim.report.pictures.style import Axes

__all__ = ["scores"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def scores(
    scores: pd.DataFrame,
    labels: pd.Series,
    centroids: pd.DataFrame,
    ax: Axes | None = None,
    signs: Signs = SIGNS,
) -> Axes:
    """Discriminant scores by class: the first two axes, or the distribution on the only one.

    One axis is drawn as histograms on common bins, or, beyond 12 classes, as a strip for each class.

    Parameters
    ----------
    scores : DataFrame, rows by LD1, LD2, ...
    labels : Series
        Class of each row; a row without one, or without scores, is left out.
    centroids : DataFrame, classes by LD1, LD2, ...
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    classes = list(centroids.index)
    codes = label_codes(labels, classes)
    x, means = numbers(scores), numbers(centroids)
    strips = x.shape[1] == 1 and len(classes) > MOST_IN_LEGEND
    axes, own = new_axes(ax, len(classes) if strips else 0)
    if not x.shape[1]:
        axes.set_title("The class means do not differ: there is no discriminant.")
        axes.set_axis_off()
        return axes
    axes.set_xlabel(shown_name(scores.columns[0]))
    if strips:
        draw_strips(axes, x[:, 0], codes, classes, signs=signs)
        axes.scatter(means[:, 0], range(len(classes)), marker="|", s=60, color=ink(), zorder=3)
        axes.set_title("Discriminant scores; | marks the class means")
        return axes
    if x.shape[1] == 1:
        _draw_histograms(axes, x[:, 0], codes, classes, means[:, 0], signs)
        axes.set_title("Discriminant scores; lines mark the class means")
        return add_legend(axes, own)
    draw_points(axes, x[:, 0], x[:, 1], codes, classes, signs)
    axes.set_ylabel(shown_name(scores.columns[1]))
    # Both axes have unit variance within classes: equal units show distances as the rule sees them.
    axes.set_aspect("equal", adjustable="datalim")
    if len(classes) > MOST_IN_LEGEND:
        draw_labels(axes, means[:, :2], classes)
        axes.set_title("Discriminant scores; labels stand at the class means")
        return axes
    axes.scatter(means[:, 0], means[:, 1], marker="+", s=170, color=paper(), linewidths=3.5, zorder=4)
    axes.scatter(means[:, 0], means[:, 1], marker="+", s=140, color=ink(), linewidths=1.5, zorder=5)
    axes.set_title("Discriminant scores; + marks the class means")
    return add_legend(axes, own)


def _draw_histograms(
    axes: Axes, x: Floats, codes: Codes, classes: Sequence[Any], means: Floats, signs: Signs
) -> None:
    known = np.isfinite(x) & (codes >= 0)
    values, codes = x[known], codes[known]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    # Scores have unit variance within classes, so that Freedman and Diaconis' bins are 2.7 n^(-1/3) wide.
    width = 2.7 * (max(len(values), 1) / len(classes)) ** (-1 / 3)
    edges = np.linspace(low, high, int(np.clip((high - low) / width, 1, 200)) + 2).tolist()
    for k, label in enumerate(classes):
        colour, line = signs.colour(k), signs.line(k)
        style: dict[str, Any] = {"histtype": "stepfilled", "facecolor": (colour, 0.3), "edgecolor": colour}
        axes.hist(values[codes == k], bins=edges, label=shown_name(label), linestyle=line, **style)
        axes.axvline(float(means[k]), color=colour, linestyle=line)
    axes.set_ylabel("Rows")
