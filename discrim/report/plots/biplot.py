"""The biplot of a canonical analysis: rows, class means, and columns as arrows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.numbers import display_width
from discrim.report.plots.scores import scores
from discrim.report.plots.style import SIGNS, Signs, faint, lay_out, numbers, paper, shown_name
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["biplot", "draw_arrows"]

Floats = NDArray[np.float64]

MOST_ARROWS = 20
"""Columns that a biplot shows as arrows, those of the longest."""

LABEL = 20
"""Display width of a column's name before it is cut in its middle."""

FONT_SIZE = 8
"""Of columns' names, in points."""


def biplot(
    points: pd.DataFrame,
    labels: pd.Series,
    centroids: pd.DataFrame,
    arrows: pd.DataFrame,
    counts: pd.Series,
    ax: Axes | None = None,
    signs: Signs = SIGNS,
    *,
    shares: pd.Series | None = None,
) -> Axes:
    """Canonical scores with the columns as arrows of their structure correlations.

    Circles hold the mean of their class at 95 % confidence: its scores have unit variance within classes,
    so that the radius is sqrt(chi2(0.95, 2)/n_k) (Seal, 1964, Multivariate Statistical Analysis for
    Biologists). With one axis only, arrows lie below the histograms.

    Parameters
    ----------
    points : DataFrame, rows by axes
        Canonical scores.
    labels : Series
        Class of each row.
    centroids : DataFrame, classes by axes
    arrows : DataFrame, terms by axes
        Structure correlations; drawn to one common scale that fills the picture.
    counts : Series by class
        n_k.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    shown = points.iloc[:, :2]
    axes = scores(
        shown, labels, centroids.iloc[:, :2], ax=ax, signs=signs, shares=shares, counts=counts, level=None
    )
    if not centroids.shape[1]:
        return axes
    lengths = numbers(arrows.iloc[:, :2])
    longest = np.argsort(-np.hypot(*lengths.T) if lengths.shape[1] > 1 else -np.abs(lengths[:, 0]))
    named = longest[:MOST_ARROWS]
    title = "Canonical scores, and structure correlations as arrows"
    if len(lengths) > MOST_ARROWS:
        title += f" (the {MOST_ARROWS} longest of {len(lengths)})"
    set_title(axes, title)
    if centroids.shape[1] == 1:
        _draw_bars(axes, lengths[named, 0], [arrows.index[i] for i in named])
        return axes
    if ax is None:
        lay_out(axes)
    draw_arrows(
        axes,
        numbers(shown) if len(shown) else numbers(centroids),
        lengths[named],
        [arrows.index[i] for i in named],
    )
    return axes


def draw_arrows(axes: Axes, points: Floats, tips: Floats, names: Sequence[Any]) -> None:
    """Arrows from the origin, to one scale that brings them towards the edge of the points.

    It lies midway between those that fill the picture across and up, so that points which spread along one
    axis alone do not stand in an empty square.
    """
    known = points[np.isfinite(points).all(axis=1)]
    edges, longest = np.abs(known).max(axis=0, initial=0.0), np.abs(tips).max(axis=0, initial=0.0)
    ratios = [edge / long for edge, long in zip(edges, longest, strict=True) if edge > 0 and long > 0]
    tips = tips * (0.85 * float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0)
    texts = [shown_name(name, LABEL) for name in names]
    box = {"boxstyle": "round,pad=0.1", "facecolor": (paper(), 0.7), "edgecolor": "none"}
    places, ends = _place_labels(axes, tips, texts)
    for (x, y), (left, up), text in zip(tips.tolist(), places.tolist(), texts, strict=True):
        arrow = {"arrowstyle": "-|>", "color": faint(0.25), "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
        stick = axes.annotate("", (x, y), (0, 0), arrowprops=arrow, zorder=5)
        side = "left" if left >= 0 else "right"
        name = axes.text(left, up, text, ha=side, va="center", fontsize=FONT_SIZE, zorder=6, bbox=box)
        # The limits below have room for them; before, they may lie far outside, where no layout suits them.
        stick.set_in_layout(False)
        name.set_in_layout(False)
    axes.update_datalim(ends)
    axes.autoscale_view()


def _place_labels(axes: Axes, tips: Floats, texts: Sequence[str]) -> tuple[Floats, Floats]:
    """Where labels of arrows (m, 2) begin, and where, written outwards, they end, in data units."""
    size = axes.get_window_extent()
    width, height = size.width / axes.figure.dpi, size.height / axes.figure.dpi
    letter = FONT_SIZE / 72
    # Letters are 0.6 of their size wide. Both sides may have labels, and the rows keep a third of the width.
    lengths = np.minimum(0.6 * letter * np.array([display_width(text) for text in texts]), width / 3)
    (low, bottom), (high, top) = axes.dataLim.get_points()
    left, outer = tips[:, 0] < 0, 1.06 * tips
    west, east = np.append(outer[left, 0], low), np.append(outer[~left, 0], high)
    room = 0.9 * width - np.append(lengths[left], 0)[:, None] - np.append(lengths[~left], 0)
    # One unit is as long across as up: how much of it is an inch, for what is farthest apart with its labels.
    across = ((east - west[:, None]) / room).max()
    up = np.ptp([bottom, top, *outer[:, 1]]) / (0.9 * height)
    unit = max(float(across), float(up))
    places = _spread_labels(outer, 1.4 * letter * unit)
    ends = np.column_stack([places[:, 0] + np.where(left, -1, 1) * lengths * unit, 1.05 * places[:, 1]])
    return places, ends


def _spread_labels(places: Floats, gap: float) -> Floats:
    """Places (m, 2) moved up or down, on each side of the origin, until lines of text do not overlap."""
    moved = places.copy()
    for right in (True, False):
        side = np.flatnonzero((places[:, 0] >= 0) == right)
        side = side[np.argsort(places[side, 1])]
        heights = moved[side, 1]
        for _ in range(50):
            close = np.diff(heights) < gap * (1 - 1e-9)
            if not close.any():
                break
            push = np.where(close, (gap - np.diff(heights)) / 2, 0.0)
            heights[:-1] -= push
            heights[1:] += push
        moved[side, 1] = heights
    return moved


def _draw_bars(axes: Axes, lengths: Floats, names: Sequence[Any]) -> None:
    """Arrows of one axis below the picture, one line each; lines of classes count from the top down."""
    low, high = axes.get_xlim()
    bottom, top = axes.get_ylim()
    step = 0.07 * (top - bottom)
    scale = 0.4 * (high - low) / max(float(np.abs(lengths).max(initial=0.0)), 1e-300)
    middle = 0.5 * (low + high)
    for i, (length, name) in enumerate(zip(lengths.tolist(), names, strict=True)):
        height = bottom - step * (i + 1)
        arrow = {"arrowstyle": "-|>", "color": faint(0.25), "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (middle + scale * length, height), (middle, height), arrowprops=arrow)
        side = "right" if length >= 0 else "left"
        edge = middle - math.copysign(0.01 * (high - low), length)
        axes.text(edge, height, shown_name(name, LABEL), ha=side, va="center", fontsize=FONT_SIZE)
    axes.axhline(bottom, color=faint(0.6), linewidth=0.8)
    axes.set_ylim(bottom - step * (len(lengths) + 1), top)
    axes.set_yticks([tick for tick in axes.get_yticks() if min(bottom, top) <= tick <= max(bottom, top)])
