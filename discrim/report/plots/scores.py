"""Discriminant scores by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.plots.ellipses import draw_outline, outline
from discrim.report.plots.points import draw_labels, draw_points, draw_strips
from discrim.report.plots.style import (
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
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["CHI2_95", "axis_name", "equal_size", "scores"]

BETWEEN = " of the variance between classes"

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

CHI2_95 = 5.991464547107979
"""Quantile of chi-square with two degrees of freedom, -2 ln 0.05."""


def scores(
    scores: pd.DataFrame,
    labels: pd.Series,
    centroids: pd.DataFrame,
    ax: Axes | None = None,
    signs: Signs = SIGNS,
    *,
    shares: pd.Series | None = None,
    counts: pd.Series | None = None,
    level: float | None = 0.5,
    within: Floats | None = None,
    of: str = BETWEEN,
) -> Axes:
    """Discriminant scores by class on two axes, or their distribution on the only one.

    Scores have unit variance within classes unless a covariance is given: an outline of a class holds a share
    `level` of a normal class, at the distance sqrt(-2 ln(1 - level)), and a filled circle its mean at 95 %
    confidence, with the radius sqrt(chi2(0.95, 2)/n_k) (Seal, 1964, Multivariate Statistical Analysis for
    Biologists). One axis is drawn as histograms on common bins, or, beyond 12 classes, as a strip for each
    class.

    Parameters
    ----------
    scores : DataFrame, rows by one or two axes
        No rows of a fit that has none.
    labels : Series
        Class of each row; a row without one, or without scores, is left out.
    centroids : DataFrame, classes by axes
    ax : Axes, optional
    shares : Series by axis, optional
        Share of the variance between classes, named on the axes.
    counts : Series by class, optional
        n_k, for the circles of the means.
    level : float or None
        Share of a class in its outline; None for no outlines.
    within : (r, r) float, optional
        Covariance of the scores within classes, where it is not the identity.
    of : str
        What the shares are of.

    Returns
    -------
    Axes
    """
    classes = list(centroids.index)
    codes = label_codes(labels, classes)
    x, means = numbers(scores), numbers(centroids)
    if not means.shape[1]:
        axes, _ = new_axes(ax)
        set_title(axes, "The class means do not differ: there is no discriminant.")
        axes.set_axis_off()
        return axes
    if means.shape[1] == 1:
        sd = 1.0 if within is None else math.sqrt(float(within[0, 0]))
        name = axis_name(centroids.columns[0], shares, of)
        return _one_axis(x[:, 0], codes, classes, means[:, 0], name, ax, signs, sd)
    spread = np.eye(2) if within is None else within
    radius = 0.0 if level is None else math.sqrt(-2.0 * math.log1p(-level))
    axes, own = new_axes(ax, size=_size(x, means, radius * np.sqrt(np.diagonal(spread))))
    draw_points(axes, x[:, 0], x[:, 1], codes, classes, signs)
    for k, mean in enumerate(means):
        colour = signs.colour(k)
        if radius:
            style = {"color": colour, "linestyle": signs.line(k), "linewidth": 1.3, "zorder": 3}
            draw_outline(axes, mean, spread, radius, **style)
        if counts is not None and counts.iloc[k] > 0:
            _draw_mean(axes, mean, spread, math.sqrt(CHI2_95 / float(counts.iloc[k])), colour)
    axes.set_xlabel(axis_name(centroids.columns[0], shares, of))
    axes.set_ylabel(axis_name(centroids.columns[1], shares, of=""))
    # Where axes have unit variance within classes, equal units show distances as the rule sees them.
    axes.set_aspect("equal", adjustable="datalim")
    set_title(axes, _title(len(x) > 0, radius > 0, level, of == BETWEEN))
    if not len(x):
        axes.scatter(means[:, 0], means[:, 1], marker="+", s=90, color=ink(), linewidths=1.2, zorder=5)
        draw_labels(axes, means, classes)
        return axes
    if len(classes) > MOST_IN_LEGEND:
        draw_labels(axes, means, classes)
        return axes
    axes.scatter(means[:, 0], means[:, 1], marker="+", s=170, color=paper(), linewidths=3.5, zorder=4)
    axes.scatter(means[:, 0], means[:, 1], marker="+", s=140, color=ink(), linewidths=1.5, zorder=5)
    return add_legend(axes, own)


def axis_name(name: Any, shares: pd.Series | None, of: str = BETWEEN) -> str:
    """Name of an axis, with its share of the variance between classes, or of what is said."""
    if shares is None or not np.isfinite(shares.loc[name]):
        return shown_name(name)
    return f"{shown_name(name)} ({100 * float(shares.loc[name]):.1f} %{of})"


def _title(rows: bool, outlines: bool, level: float | None, discriminants: bool) -> str:
    title = "Discriminant scores" if discriminants else "Scores"
    if not rows:
        title = f"Class means on the {'discriminants' if discriminants else 'components'}"
    return f"{title}; outlines hold {100 * level:.6g} % of a normal class" if outlines and level else title


def _size(x: Floats, means: Floats, radius: Floats) -> tuple[float, float]:
    """Inches that suit what is drawn in equal units, so that no half of the picture is empty."""
    known = x[np.isfinite(x).all(axis=1)]
    held = np.vstack([known, means - radius, means + radius])
    return equal_size(*np.ptp(held, axis=0).tolist())


def equal_size(across: float, up: float) -> tuple[float, float]:
    """Inches of a figure that draws so much across and up in equal units."""
    import matplotlib.pyplot as plt

    width, height = plt.rcParams["figure.figsize"]
    across, up = max(across, 1e-9), max(up, 1e-9)
    # An inch and a half of the width is the legend's and the axis's, one inch of the height the title's.
    return width, float(np.clip((width - 1.8) * up / across + 1.1, 0.62 * height, 1.35 * height))


def _draw_mean(axes: Axes, mean: Floats, spread: Floats, radius: float, colour: str) -> None:
    from matplotlib.patches import Circle, Polygon

    style: dict[str, Any] = {"facecolor": (colour, 0.3), "edgecolor": colour, "zorder": 3}
    if (spread == np.eye(2)).all():
        axes.add_patch(Circle(tuple(mean.tolist()), radius, **style))
    else:
        axes.add_patch(Polygon(outline(mean, spread, radius), **style))


def _one_axis(
    x: Floats,
    codes: Codes,
    classes: Sequence[Any],
    means: Floats,
    name: str,
    ax: Axes | None,
    signs: Signs,
    sd: float,
) -> Axes:
    strips = len(classes) > MOST_IN_LEGEND or not len(x)
    axes, own = new_axes(ax, len(classes) if strips else 0)
    axes.set_xlabel(name)
    if strips:
        draw_strips(axes, x, codes, classes, signs=signs)
        axes.scatter(means, range(len(classes)), marker="|", s=60, color=ink(), zorder=3)
        set_title(axes, "Discriminant scores; | marks the class means" if len(x) else "Class means")
        return axes
    _draw_histograms(axes, x, codes, classes, means, signs, sd)
    set_title(axes, "Discriminant scores; lines mark the class means")
    return add_legend(axes, own)


def _draw_histograms(
    axes: Axes, x: Floats, codes: Codes, classes: Sequence[Any], means: Floats, signs: Signs, sd: float
) -> None:
    known = np.isfinite(x) & (codes >= 0)
    values, codes = x[known], codes[known]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    # Freedman and Diaconis' bins are 2.7 n^(-1/3) standard deviations within classes wide.
    width = 2.7 * sd * (max(len(values), 1) / len(classes)) ** (-1 / 3)
    edges = np.linspace(low, high, int(np.clip((high - low) / width, 1, 200)) + 2).tolist()
    highest = 1.0
    for k, label in enumerate(classes):
        colour, line = signs.colour(k), signs.line(k)
        style: dict[str, Any] = {"histtype": "stepfilled", "facecolor": (colour, 0.3), "edgecolor": colour}
        held, *_ = axes.hist(values[codes == k], bins=edges, label=shown_name(label), linestyle=line, **style)
        highest = max(highest, float(np.max(held)))
    for k, mean in enumerate(means.tolist()):
        # Not over the whole height: arrows may lie below the histograms.
        axes.plot([mean, mean], [0.0, 1.05 * highest], color=signs.colour(k), linestyle=signs.line(k))
    axes.set_ylabel("Rows")
