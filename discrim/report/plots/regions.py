"""Regions of the classes in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discrim.report.plots.borders import Classify, find_regions
from discrim.report.plots.points import draw_labels, draw_points
from discrim.report.plots.style import (
    MOST_IN_LEGEND,
    SIGNS,
    Signs,
    add_legend,
    faint,
    ink,
    new_axes,
    shown_name,
)
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["draw_line", "draw_plane", "draw_regions", "ring", "span"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

GRID = 160
"""Points a side of the grid on which regions are looked for."""

MOST_RINGS = 2_000
"""That are drawn: more hide what they are around, and take their time."""


def span(low: float, high: float, margin: float = 0.06) -> tuple[float, float]:
    """A range with a margin on both sides, also where it is one number."""
    wide = margin * (high - low) or margin * abs(low) or (1.0 if margin else 0.0)
    return low - wide, high + wide


def draw_regions(
    axes: Axes,
    classify: Classify,
    limits: tuple[tuple[float, float], tuple[float, float]],
    signs: Signs = SIGNS,
    grid: int = GRID,
) -> None:
    """Regions of a rectangle in the colours of the classes, and the lines between them.

    Parameters
    ----------
    classify : callable
        From points (m, 2) to the codes of their classes, -1 where there is none, which has no colour.
    limits : ((float, float), (float, float))
        Across and up.
    grid : int
        Points a side.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    across, up = (np.linspace(*ends, grid) for ends in limits)
    found = find_regions(classify, across, up)
    k_classes = int(found.colours.max()) + 1
    inks = np.array([to_rgb(signs.colour(k)) for k in range(k_classes)] + [(0.0, 0.0, 0.0)])
    shades = np.dstack([inks[found.colours], np.where(found.colours < 0, 0.0, 0.18)])
    extent = (across[0], across[-1], up[0], up[-1])
    axes.imshow(
        shades, origin="lower", extent=extent, interpolation="nearest", aspect=axes.get_aspect(), zorder=0.5
    )
    axes.add_collection(
        LineCollection(list(found.segments), colors=faint(0.35), linewidths=0.8, capstyle="round", zorder=1),
        autolim=False,
    )
    axes.set_xlim(across[0], across[-1])
    axes.set_ylim(up[0], up[-1])


def draw_plane(
    classify: Classify,
    limits: tuple[tuple[float, float], tuple[float, float]],
    names: tuple[Any, Any],
    points: Floats,
    codes: Codes,
    classes: Sequence[Any],
    ax: Axes | None = None,
    signs: Signs = SIGNS,
    *,
    title: str = "Regions of the predicted classes",
    wrong: NDArray[np.bool_] | None = None,
    labels: Floats | None = None,
    weak: bool = False,
    panel: bool = False,
) -> Axes:
    """Regions of the classes in the plane of two variables, with rows on top.

    Parameters
    ----------
    classify, limits
        As of `draw_regions`.
    names : (x, y)
    points : (n, 2) float
        Rows; one without both numbers is left out.
    codes : (n,) int
        Their classes, -1 where there is none.
    classes : sequence of length K
    ax : Axes, optional
    title : str
    wrong : (n,) bool, optional
        Rows that are ringed.
    labels : (K, 2) float, optional
        Places of the labels of the classes, such as their means; those of the rows by default, where the
        classes are more than a legend takes.
    weak : bool
        The rows are drawn faintly, as they do not lie in the plane.
    panel : bool
        One of several: no legend, and a coarser grid.

    Returns
    -------
    Axes
    """
    axes, own = new_axes(ax)
    draw_regions(axes, classify, limits, signs, GRID // 2 if panel else GRID)
    before = set(axes.collections), set(axes.images)
    draw_points(axes, points[:, 0], points[:, 1], codes, classes, signs)
    for artist in (*set(axes.collections) - before[0], *set(axes.images) - before[1]):
        if panel and hasattr(artist, "set_sizes"):
            artist.set_sizes([9])
        if weak:
            artist.set_alpha(0.35)
    if wrong is not None:
        ring(axes, points[wrong], size=24 if panel else 60)
    axes.set_xlim(*limits[0])
    axes.set_ylim(*limits[1])
    axes.set_xlabel(shown_name(names[0]))
    axes.set_ylabel(shown_name(names[1]))
    if panel:
        if title:
            axes.set_title(title, fontsize="small")
        return axes
    many = len(classes) > MOST_IN_LEGEND
    add_legend(axes, own)
    if labels is None and many:
        present = [k for k in range(len(classes)) if (codes == k).any()]
        with np.errstate(invalid="ignore"):
            means = [np.nanmean(points[codes == k], axis=0) for k in present]
        labels = np.full((len(classes), 2), np.nan)
        labels[present] = np.array(means).reshape(-1, 2)
        title += "; labels stand at the class means"
    set_title(axes, title)
    if labels is not None:
        there = np.flatnonzero(np.isfinite(labels).all(axis=1))
        draw_labels(axes, labels[there], [classes[k] for k in there.tolist()])
    return axes


def ring(axes: Axes, points: Floats, size: float = 60.0) -> None:
    """Rings around points (m, 2); of very many, around those at even steps."""
    many = len(points) > 200
    points = points[:: -(-max(len(points), 1) // MOST_RINGS)]
    axes.scatter(
        points[:, 0],
        points[:, 1],
        s=size / 4 if many else size,
        facecolors="none",
        edgecolors=ink(),
        linewidths=0.6 if many else 0.9,
        rasterized=many,
        zorder=3,
    )


def draw_line(
    at: Floats,
    values: Floats,
    called: Codes,
    names: tuple[Any, str],
    points: Floats,
    codes: Codes,
    classes: Sequence[Any],
    ax: Axes | None = None,
    signs: Signs = SIGNS,
    *,
    title: str,
) -> Axes:
    """Values of the classes along one variable, over the regions of the class called, with rows below.

    Parameters
    ----------
    at : (m,) float
        Rising.
    values : (m, K) float
        Posteriors, or what the rule decides by.
    called : (m,) int
        Class called there, -1 for none.
    names : (x, y)
    points, codes : (n,)
        Rows, drawn as ticks below in the colours of their classes.
    """
    axes, own = new_axes(ax)
    starts = np.flatnonzero(np.diff(called, prepend=-2))
    for start, stop in zip(starts, [*starts[1:], len(at) - 1], strict=True):
        if called[start] >= 0:
            colour = signs.colour(int(called[start]))
            axes.axvspan(at[start], at[stop], color=colour, alpha=0.15, linewidth=0, zorder=0.5)
        if start:
            axes.axvline(at[start], color=faint(0.35), linewidth=0.8, zorder=1)
    for k, label in enumerate(classes):
        style: dict[str, Any] = {"color": signs.colour(k), "linestyle": signs.line(k)}
        axes.plot(at, values[:, k], label=shown_name(label), linewidth=1.6, **style)
    low, high = axes.get_ylim()
    step = 0.035 * (high - low)
    for k in range(len(classes)):
        own_rows = points[(codes == k) & np.isfinite(points)]
        shown = np.quantile(own_rows, np.linspace(0, 1, 300)) if len(own_rows) > 300 else own_rows
        height = np.full(len(shown), low - step * (k + 1))
        axes.scatter(shown, height, marker="|", s=18, color=signs.colour(k), linewidths=0.8, zorder=2)
    axes.set_xlim(at[0], at[-1])
    axes.set_xlabel(shown_name(names[0]))
    axes.set_ylabel(names[1])
    add_legend(axes, own)
    set_title(axes, title)
    return axes
