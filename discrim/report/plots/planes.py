"""Plots of decision regions in a plane, on a line and in a triangle, and of planes that separate two classes.

Regions are found on a coarse grid. Its points near borders are found first, from every third point and the
rows in the plane; other points have the class of the points around them. If the classes at the ends of a side
of a cell differ, a border crosses it, and bisection of the rule locates the crossing. The lines are therefore
as smooth as the rule.

The lines of a perceptron follow figure 4.7 of Bishop (2006), Pattern Recognition and Machine Learning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.report.plots import style
from discrim.report.plots.points import (
    draw_labels,
    draw_misclassified,
    draw_points,
    draw_strips,
    hollow_description,
)
from discrim.report.plots.text_fit import fit_texts

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes, Signs

Classify = Callable[[Floats], Codes]
"""Function from points (m, 2) to the positions (m,) of their classes, -1 for none."""

GRID_STEP = 3
"""Step between the grid points that are classified first, to find the points near borders."""

N_BISECTIONS = 13
"""Number of bisection steps for the crossing of a border with the side of a cell.

They locate it to a part in 8,192 of the side, far less than a pixel.
"""

COLOURS_PER_SIDE = 4
"""Number of small cells along each side of a grid cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Regions of classes in a rectangle, on a grid.

    Attributes
    ----------
    x_grid : (g,) float array
        Horizontal coordinates of the grid.
    y_grid : (h,) float array
        Vertical coordinates of the grid.
    codes : (h, g) int array
        Classes at the points of the grid, -1 for none; the first row is the lowest.
    cell_codes : (c (h - 1), c (g - 1)) int array
        Classes of small cells that fill the rectangle, with c = `COLOURS_PER_SIDE`, -1 for none.
    segments : (s, 2, 2) float array
        The s line segments of the borders: their two ends, each with both coordinates.
    """

    x_grid: Floats
    y_grid: Floats
    codes: Codes
    cell_codes: Codes
    segments: Floats


def find_regions(
    classify: Classify, x_grid: Floats, y_grid: Floats, rows: PlaneRows | None = None
) -> Regions:
    """Compute the classes at the points of a grid, and the borders between them.

    Parameters
    ----------
    classify : callable
        Function from points (m, 2) to codes (m,).
    x_grid : (g,) float array
        Horizontal coordinates, increasing and equally spaced.
    y_grid : (h,) float array
        Vertical coordinates, increasing and equally spaced.
    rows : PlaneRows, optional
        Rows in the plane, around which also small regions are found.

    Returns
    -------
    Regions
    """
    g = len(x_grid)
    h = len(y_grid)
    points = np.stack(np.meshgrid(x_grid, y_grid), axis=-1)
    codes = _classify_grid(classify, points, rows)
    crossings = np.full((4, h - 1, g - 1, 2), np.nan)
    horizontal = np.full((h, g - 1, 2), np.nan)
    vertical = np.full((h - 1, g, 2), np.nan)
    differs_across = codes[:, :-1] != codes[:, 1:]
    differs_up = codes[:-1] != codes[1:]
    starts = np.concatenate([points[:, :-1][differs_across], points[:-1][differs_up]])
    ends = np.concatenate([points[:, 1:][differs_across], points[1:][differs_up]])
    start_codes = np.concatenate([codes[:, :-1][differs_across], codes[:-1][differs_up]])
    border_points = _find_crossings(classify, starts, ends, start_codes)
    horizontal[differs_across], vertical[differs_up] = np.split(
        border_points, [np.count_nonzero(differs_across)]
    )
    crossings[0], crossings[2] = horizontal[:-1], horizontal[1:]
    crossings[1], crossings[3] = vertical[:, 1:], vertical[:, :-1]
    return Regions(
        x_grid,
        y_grid,
        codes,
        _classify_small_cells(classify, x_grid, y_grid, codes),
        _join_crossings(crossings),
    )


def _classify_grid(classify: Classify, points: Floats, rows: PlaneRows | None) -> Codes:
    """Compute the classes at the points of a grid, without applying the rule far from borders.

    The rule is applied to every point at `GRID_STEP` in both directions. If such a point and the eight around
    it have the same class, so do the points nearest to it, unless a row in another region is among them. An
    isolated region without rows, narrower than `GRID_STEP` steps, is therefore not found unless another
    border is near.

    Parameters
    ----------
    classify : callable
        Function from points (m, 2) to codes (m,).
    points : (h, g, 2) float array
        Points of the grid.
    rows : PlaneRows, optional
        Rows in the plane.

    Returns
    -------
    (h, g) int array
    """
    from scipy.ndimage import maximum_filter, minimum_filter

    sizes = points.shape[:2]
    first_index = [np.unique(np.append(np.arange(0, size, GRID_STEP), size - 1)) for size in sizes]
    first_points = points[np.ix_(*first_index)]
    first_codes = np.asarray(classify(first_points.reshape(-1, 2))).reshape(first_points.shape[:2])
    is_uniform = maximum_filter(first_codes, 3) == minimum_filter(first_codes, 3)
    if rows is not None:
        has_island = _find_islands(classify, points, rows, first_codes, is_uniform)
        is_uniform &= ~maximum_filter(has_island, 3)
    nearest = np.ix_(*((np.arange(size) + GRID_STEP // 2) // GRID_STEP for size in sizes))
    codes = first_codes[nearest]
    is_near_border = ~is_uniform[nearest]
    if is_near_border.any():
        codes[is_near_border] = classify(points[is_near_border])
    return codes


def _find_islands(
    classify: Classify, points: Floats, rows: PlaneRows, first_codes: Codes, is_uniform: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return the points of the first grid with a row near them that lies in the region of another class.

    The rule is applied to one row of each other class near each point, which bounds the number of rows.

    Parameters
    ----------
    classify : callable
        Function from points (m, 2) to codes (m,).
    points : (h, g, 2) float array
        All points of the grid.
    rows : PlaneRows
        Rows in the plane.
    first_codes : (H, G) int array
        Classes at the points at `GRID_STEP`.
    is_uniform : (H, G) bool array
        Which of these points are examined.

    Returns
    -------
    (H, G) bool array
    """
    step = GRID_STEP * (points[1, 1] - points[0, 0])
    nearest = np.rint((rows.points - points[0, 0]) / step)[:, ::-1]
    # Comparisons with missing coordinates are false.
    inside = np.flatnonzero(((nearest >= 0) & (nearest < first_codes.shape)).all(axis=1))
    i, j = nearest[inside].astype(np.intp).T
    is_other = is_uniform[i, j] & (rows.codes[inside] != first_codes[i, j])
    keys = np.stack([i, j, rows.codes[inside]])[:, is_other]
    (i, j, _), first = np.unique(keys, axis=1, return_index=True)
    has_island = np.zeros(first_codes.shape, dtype=bool)
    if len(first):
        differs = classify(rows.points[inside[is_other][first]]) != first_codes[i, j]
        has_island[i[differs], j[differs]] = True
    return has_island


def _find_crossings(classify: Classify, starts: Floats, ends: Floats, start_codes: Codes) -> Floats:
    """Locate class changes between pairs of points by bisection.

    Parameters
    ----------
    classify : callable
        Function from points (m, 2) to codes (m,).
    starts, ends : (m, 2) float arrays
        The pairs, of different classes.
    start_codes : (m,) int array
        Classes of `starts`.

    Returns
    -------
    (m, 2) float array
        Points at which the class of `starts` ends, one of them if there are several.
    """
    for _ in range(N_BISECTIONS if len(start_codes) else 0):
        midpoints = (starts + ends) / 2
        has_start_class = (np.asarray(classify(midpoints)) == start_codes)[:, None]
        starts = np.where(has_start_class, midpoints, starts)
        ends = np.where(has_start_class, ends, midpoints)
    return (starts + ends) / 2


def _join_crossings(crossings: Floats) -> Floats:
    """Join the crossings of borders with the sides of cells to line segments.

    Parameters
    ----------
    crossings : (4, h - 1, g - 1, 2) float array
        Crossing with the lower, right, upper and left side of each cell of a grid of h by g points, NaN if
        absent.

    Returns
    -------
    (s, 2, 2) float array
        Ends of the segments: one segment in a cell with two crossings; in a cell with more, one from each
        crossing to their mean.
    """
    flat_crossings = crossings.reshape(4, -1, 2)
    is_crossed = ~np.isnan(flat_crossings[..., 0])
    n_crossings = is_crossed.sum(axis=0)
    segments = [np.empty((0, 2, 2))]
    two_crossings = np.flatnonzero(n_crossings == 2)
    if len(two_crossings):
        order = np.argsort(~is_crossed[:, two_crossings], axis=0, kind="stable")[:2]
        segments.append(
            np.stack(
                [flat_crossings[order[0], two_crossings], flat_crossings[order[1], two_crossings]], axis=1
            )
        )
    # If three regions meet in a cell, their borders are drawn to the mean of the crossings.
    for cell in np.flatnonzero(n_crossings > 2).tolist():
        ends = flat_crossings[is_crossed[:, cell], cell]
        segments.append(np.stack([ends, np.broadcast_to(ends.mean(axis=0), ends.shape)], axis=1))
    return np.concatenate(segments)


def _classify_small_cells(classify: Classify, x_grid: Floats, y_grid: Floats, codes: Codes) -> Codes:
    """Compute the classes of small cells.

    The rule is applied to the centres of the small cells of a grid cell whose corners differ; others get the
    class of the corners.

    Parameters
    ----------
    classify : callable
        Function from points (m, 2) to codes (m,).
    x_grid : (g,) float array
        Horizontal coordinates of the grid.
    y_grid : (h,) float array
        Vertical coordinates of the grid.
    codes : (h, g) int array
        Classes at the points of the grid.

    Returns
    -------
    (c (h - 1), c (g - 1)) int array
        Classes, with c = `COLOURS_PER_SIDE` small cells along each side of a grid cell.
    """
    lower_left = codes[:-1, :-1]
    is_mixed = (lower_left != codes[:-1, 1:]) | (lower_left != codes[1:, :-1]) | (lower_left != codes[1:, 1:])
    colours = np.repeat(np.repeat(lower_left, COLOURS_PER_SIDE, axis=0), COLOURS_PER_SIDE, axis=1)
    i, j = np.nonzero(is_mixed)
    if not len(i):
        return colours
    offsets = (np.arange(COLOURS_PER_SIDE) + 0.5) / COLOURS_PER_SIDE
    x = x_grid[j][:, None] + offsets * (x_grid[j + 1] - x_grid[j])[:, None]
    y = y_grid[i][:, None] + offsets * (y_grid[i + 1] - y_grid[i])[:, None]
    points = np.stack(np.broadcast_arrays(x[:, None, :], y[:, :, None]), axis=-1)
    rows = COLOURS_PER_SIDE * i[:, None, None] + np.arange(COLOURS_PER_SIDE)[None, :, None]
    columns = COLOURS_PER_SIDE * j[:, None, None] + np.arange(COLOURS_PER_SIDE)[None, None, :]
    colours[rows, columns] = np.asarray(classify(points.reshape(-1, 2))).reshape(points.shape[:3])
    return colours


GRID_POINTS = 110
COARSE_GRID_POINTS = 80
"""Grid points per side for regions, and for contours and regions in panels and interactive plots."""

MAX_RINGS = 2_000
"""Largest number of rings around support vectors; more are slow to draw, and hide the points."""


def range_with_margin(low: float, high: float, margin: float = 0.06) -> tuple[float, float]:
    """Return the range from `low` to `high`, extended on both sides by a share `margin` of its width.

    If the ends are equal, the extension is this share of their absolute value, or 1 if they are zero.
    """
    margin_width = margin * (high - low) or margin * abs(low) or (1.0 if margin else 0.0)
    return low - margin_width, high + margin_width


def draw_regions(
    axes: Axes,
    classify: Classify,
    limits: tuple[tuple[float, float], tuple[float, float]],
    rows: PlaneRows,
    signs: Signs,
    grid_size: int,
) -> Regions:
    """Draw the regions of a rectangle in the colours of the classes, with lines between them.

    The limits of the axes are set to the rectangle. Points without a class are not coloured.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    classify : callable
        Function from points (m, 2) to codes (m,).
    limits : pair of (float, float)
        Horizontal and vertical limits of the rectangle.
    rows : PlaneRows
        Rows in the plane, which are not drawn.
    signs : Signs
        Colours, markers and line styles of the classes.
    grid_size : int
        Number of grid points per side.

    Returns
    -------
    Regions
    """
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    x_grid, y_grid = (np.linspace(*ends, grid_size) for ends in limits)
    regions = find_regions(classify, x_grid, y_grid, rows)
    k_classes = int(regions.cell_codes.max()) + 1
    inks = np.array([to_rgb(signs.colour(k)) for k in range(k_classes)] + [(0.0, 0.0, 0.0)])
    shades = np.dstack(
        [inks[regions.cell_codes], np.where(regions.cell_codes < 0, 0.0, style.adapted_opacity(0.18))]
    )
    extent = (x_grid[0], x_grid[-1], y_grid[0], y_grid[-1])
    for k in range(k_classes):
        _draw_hatch(axes, regions.cell_codes == k, extent, signs.hatch(k))
    axes.imshow(
        shades, origin="lower", extent=extent, interpolation="nearest", aspect=axes.get_aspect(), zorder=0.5
    )
    line_style: dict[str, Any] = {
        "colors": style.faint_ink(0.35),
        "linewidths": 0.8,
        "capstyle": "round",
        "zorder": 1,
    }
    axes.add_collection(LineCollection(list(regions.segments), **line_style), autolim=False)
    axes.set(xlim=(x_grid[0], x_grid[-1]), ylim=(y_grid[0], y_grid[-1]))
    return regions


def _draw_hatch(axes: Axes, in_region: NDArray[np.bool_], extent: tuple[float, ...], hatch: str) -> None:
    """Hatch the region of a class with faint lines, which replace colours in greyscale styles.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    in_region : (h, g) bool array
        Whether each cell of a grid belongs to the region; the first row is the lowest.
    extent : tuple of float
        Left, right, lower and upper end of the grid in data coordinates.
    hatch : str
        Hatch pattern of matplotlib, such as "//"; nothing is drawn if it is empty, as in styles with colours.
    """
    if not hatch or not in_region.any():
        return
    contour_options: dict[str, Any] = {
        "extent": extent,
        "origin": "lower",
        "levels": [0.5, 1.5],
        "colors": "none",
    }
    strokes = axes.contourf(in_region.astype(np.float64), hatches=[hatch], zorder=0.6, **contour_options)
    strokes.set(edgecolor=style.faint_ink(0.75), linewidth=0)


def region_centres(regions: Regions, k_classes: int) -> Floats:
    """Return the grid point of each region that is farthest from its border, in steps of the grid.

    The sides of the rectangle are borders too.

    Parameters
    ----------
    regions : Regions
    k_classes : int
        Number K of classes.

    Returns
    -------
    (K, 2) float array
        NaN for a class without a region.

    Examples
    --------
    >>> halves = find_regions(lambda x: (x[:, 0] > 0.6).astype(int), *np.linspace([0, 0], [1, 1], 51).T)
    >>> region_centres(halves, 3).round(1).tolist()
    [[0.3, 0.3], [0.8, 0.2], [nan, nan]]
    """
    from scipy.ndimage import distance_transform_edt

    points = np.full((k_classes, 2), np.nan)
    for k in np.unique(regions.codes[regions.codes >= 0]).tolist():
        depth = distance_transform_edt(np.pad(regions.codes == k, 1))[1:-1, 1:-1]
        row, column = np.unravel_index(int(depth.argmax()), depth.shape)
        points[k] = regions.x_grid[column], regions.y_grid[row]
    return points


@dataclass(frozen=True, slots=True, eq=False)
class PlaneRows:
    """Rows that are drawn in a plane.

    Attributes
    ----------
    points : (n, 2) float
        Their coordinates. A row with a missing coordinate is not drawn.
    codes : (n,) int
        Their classes, -1 for none.
    wrong_mask : (n,) bool, optional
        Whether a row is misclassified, which makes its marker hollow.
    is_faint : bool
        Whether they are drawn faintly, because they do not lie in the plane.
    """

    points: Floats
    codes: Codes
    wrong_mask: NDArray[np.bool_] | None = None
    is_faint: bool = False


def draw_plane(
    classify: Classify,
    limits: tuple[tuple[float, float], tuple[float, float]],
    names: tuple[Any, Any],
    rows: PlaneRows,
    classes: Sequence[Any],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    *,
    title: str = "Regions of the predicted classes",
    labels: Floats | None = None,
    is_panel: bool = False,
) -> Axes:
    """Draw the regions of the classes in the plane of two variables, with rows on top.

    Parameters
    ----------
    classify : callable
        Function that returns the codes (m,) of points (m, 2).
    limits : pair of (float, float)
        Horizontal and vertical limits of the axes.
    names : pair of str
        Names of the two variables.
    rows : PlaneRows
        The rows.
    classes : sequence of length K
        Labels of the classes.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours and markers of the classes.
    title : str
        Title of the axes.
    labels : (K, 2) float, optional
        Places of the labels of the classes, NaN for no label; by default the middles of the regions, see
        `region_centres`.
    is_panel : bool
        Whether the axes are one of several, with a coarser grid and without a legend; classes are labelled
        only in greyscale styles. Otherwise a legend shows the classes if some classes with rows lack a
        label.

    Returns
    -------
    Axes
    """
    points = rows.points
    codes = rows.codes
    axes, is_new = style.new_axes(ax)
    grid_size = COARSE_GRID_POINTS if is_panel else GRID_POINTS
    regions = draw_regions(axes, classify, limits, rows, signs, grid_size)
    earlier_artists = set(axes.collections), set(axes.images)
    draw_points(axes, points[:, 0], points[:, 1], codes, classes, signs)
    for artist in (*set(axes.collections) - earlier_artists[0], *set(axes.images) - earlier_artists[1]):
        if is_panel and hasattr(artist, "set_sizes"):
            artist.set_sizes([9])
        if rows.is_faint:
            artist.set_alpha(style.adapted_opacity(0.35))
    if rows.wrong_mask is not None:
        draw_misclassified(axes, points, codes, rows.wrong_mask, signs, size=12 if is_panel else 22)
    axes.set_xlim(*limits[0])
    axes.set_ylim(*limits[1])
    axes.set(xlabel=style.shown_name(names[0]), ylabel=style.shown_name(names[1]))
    labels = region_centres(regions, len(classes)) if labels is None else labels
    labelled_classes = np.flatnonzero(np.isfinite(labels).all(axis=1))
    drawn_labels = labels[labelled_classes], [classes[k] for k in labelled_classes.tolist()]
    if is_panel:
        if title:
            axes.set_title(title, fontsize="small")
        if style.grey_cycle("color"):
            draw_labels(axes, *drawn_labels, size="x-small")
        return axes
    if len(np.setdiff1d(codes[codes >= 0], labelled_classes)):
        style.add_legend(axes, is_new)
    style.set_title(axes, title)
    # The texts affect the size of the axes, hence the labels are drawn afterwards.
    fit_texts(axes, is_new)
    draw_labels(axes, *drawn_labels)
    return axes


def draw_rings(axes: Axes, points: Floats, size: float = 60.0) -> None:
    """Draw rings around points; of more than `MAX_RINGS`, around an evenly spaced subset.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    points : (m, 2) float array
        Centres of the rings.
    size : float
        Area of a ring in square points; a quarter is used if there are more than 200 points.
    """
    has_many_points = len(points) > 200
    points = points[:: -(-max(len(points), 1) // MAX_RINGS)]
    ring_style: dict[str, Any] = {"facecolors": "none", "edgecolors": style.ink(), "zorder": 3}
    ring_style |= {
        "s": size / 4 if has_many_points else size,
        "linewidths": 0.6 if has_many_points else 0.9,
        "rasterized": has_many_points,
    }
    axes.scatter(points[:, 0], points[:, 1], **ring_style)


def draw_along_variable(
    grid: Floats,
    values: Floats,
    predicted: Codes,
    names: tuple[Any, str],
    points: Floats,
    codes: Codes,
    classes: Sequence[Any],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    *,
    title: str,
) -> Axes:
    """Draw posteriors or scores as curves over one variable, on the shaded regions of the predicted class.

    Parameters
    ----------
    grid : (m,) float array
        Increasing values of the variable.
    values : (m, K) float array
        Posteriors or scores of the classes at the values of the grid.
    predicted : (m,) int array
        Predicted classes at the values of the grid, -1 for none.
    names : (str, str)
        Name of the variable in plain text, and label of the vertical axis as matplotlib shows it.
    points : (n,) float array
        The variable of the rows, which are drawn as ticks below, on a line for each class. Of more than 300
        rows of a class, 300 quantiles are drawn.
    codes : (n,) int array
        Classes of the rows, -1 for none; rows without a class are not drawn.
    classes : sequence
        Labels (K,).
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.
    title : str
        Title of the plot.

    Returns
    -------
    Axes
    """
    axes, is_new = style.new_axes(ax)
    starts = np.flatnonzero(np.diff(predicted, prepend=-2))
    style_options: dict[str, Any]
    for start, stop in zip(starts, [*starts[1:], len(grid) - 1], strict=True):
        if predicted[start] >= 0:
            style_options = {
                "color": signs.colour(int(predicted[start])),
                "alpha": style.adapted_opacity(0.15),
            }
            axes.axvspan(grid[start], grid[stop], linewidth=0, zorder=0.5, **style_options)
        if start:
            axes.axvline(grid[start], color=style.faint_ink(0.35), linewidth=0.8, zorder=1)
    for k, label in enumerate(classes):
        style_options = {"color": signs.colour(k), "linestyle": signs.line(k)}
        axes.plot(grid, values[:, k], label=style.shown_name(label), linewidth=1.6, **style_options)
    low, high = axes.get_ylim()
    step = 0.035 * (high - low)
    for k in range(len(classes)):
        own_rows = points[(codes == k) & np.isfinite(points)]
        ticks = np.quantile(own_rows, np.linspace(0, 1, 300)) if len(own_rows) > 300 else own_rows
        height = np.full(len(ticks), low - step * (k + 1))
        axes.scatter(ticks, height, marker="|", s=18, color=signs.colour(k), linewidths=0.8, zorder=2)
    axes.set(xlim=(grid[0], grid[-1]), xlabel=style.shown_name(names[0]), ylabel=names[1])
    style.add_legend(axes, is_new)
    style.set_title(axes, title)
    return axes


CORNERS: NDArray[np.float64] = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])
"""Corners of posterior 1: the first class on the left, the second on the right, the third at the top."""


def draw_simplex(
    proba: pd.DataFrame, labels: pd.Series, ax: Axes | None = None, signs: Signs = style.SIGNS
) -> Axes:
    """Draw observations in a triangle, nearer to the corner of a class if its posterior is larger.

    Observations are hollow if another class than their own has a larger posterior. Dashed lines separate the
    classes of the largest posterior.

    Parameters
    ----------
    proba : DataFrame (n, 3)
        Posteriors; the columns are the classes.
    labels : Series (n,)
        Actual classes.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.

    Returns
    -------
    Axes
    """
    classes = list(proba.columns)
    axes, is_new = style.new_axes(ax)
    p = style.to_floats(proba)
    codes = style.label_codes(labels, classes)
    coordinates = p @ CORNERS
    border = np.vstack([CORNERS, CORNERS[:1]])
    axes.plot(*border.T, color=style.ink(), linewidth=1.2, zorder=2)
    for k in range(3):
        # Two posteriors are equal, and above the third, on the line from the centre to the middle of an edge.
        edge_midpoint = (CORNERS.sum(axis=0) - CORNERS[k]) / 2
        axes.plot(
            *np.vstack([CORNERS.mean(axis=0), edge_midpoint]).T,
            color=style.faint_ink(0.45),
            linestyle="--",
            linewidth=1.0,
        )
    draw_points(axes, coordinates[:, 0], coordinates[:, 1], codes, classes, signs)
    is_classified = np.isfinite(coordinates).all(axis=1) & (codes >= 0)
    wrong = is_classified & (p[np.arange(len(p)), codes] < p.max(axis=1, initial=0.0))
    draw_misclassified(axes, coordinates, codes, wrong, signs, size=30)
    # Long names at the bottom extend inwards, otherwise they would narrow the triangle.
    has_long_names = max(len(str(label)) for label in classes) > 8
    left_alignment, right_alignment = ("left", "right") if has_long_names else ("center", "center")
    sides = ((left_alignment, "top"), (right_alignment, "top"), ("center", "bottom"))
    for corner, label, (across, up) in zip(CORNERS, classes, sides, strict=True):
        shift = -0.03 if up == "top" else 0.03
        axes.text(corner[0], corner[1] + shift, style.shown_name(label, 14), ha=across, va=up)
    axes.set(xlim=(-0.12, 1.12), ylim=(-0.12, 1.0))
    axes.set_aspect("equal")
    axes.set_axis_off()
    counts_text = f"{int(wrong.sum()):,} of {int(is_classified.sum()):,}"
    style.set_title(axes, f"Posteriors; hollow: {hollow_description(len(p))}, {counts_text}")
    return style.add_legend(axes, is_new)


# ---- planes that separate two classes


def draw_distances(
    values: pd.Series,
    labels: pd.Series,
    classes: Sequence[Any],
    margin: float | None = None,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Draw signed distances of observations to the plane between two classes, hollow on the wrong side.

    Parameters
    ----------
    values : Series (n,)
        Distances, positive on the side of the second class; 0 counts as the side of the first.
    labels : Series (n,)
        Actual classes; observations of other classes than the two are not drawn.
    classes : sequence
        The two labels, first and second class.
    margin : float or None
        Distance at which lines are drawn on both sides of the plane.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.

    Returns
    -------
    Axes
    """
    codes = style.label_codes(labels, classes)
    distances = values.to_numpy(dtype=np.float64)
    axes, _ = style.new_axes(ax)
    draw_strips(axes, distances, codes, classes, wrong_mask=(distances > 0) != (codes == 1), signs=signs)
    axes.axvline(0.0, color=style.ink(), linewidth=1.2, zorder=1)
    line_style: dict[str, Any] = {
        "color": style.faint_ink(0.35),
        "linewidth": 1.0,
        "linestyle": "--",
        "zorder": 1,
    }
    for margin_position in () if margin is None else (-margin, margin):
        axes.axvline(margin_position, **line_style)
    axes.set_xlabel(f"Signed distance to the plane, positive on the side of {style.shown_name(classes[1])}")
    style.set_title(
        axes,
        "Distances to the plane; hollow: on the wrong side"
        + ("; dashed: the margin" if margin is not None else ""),
    )
    return axes


def draw_perceptron_errors(
    errors: pd.DataFrame,
    kept_planes: Sequence[tuple[int | None, int]],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    first_class: int = 0,
) -> Axes:
    """Draw the errors of a perceptron after each pass, and mark the pass in which the kept plane was found.

    The kept plane is the one with the fewest misclassified rows.

    Parameters
    ----------
    errors : DataFrame (passes, planes)
        Number of misclassified rows after each pass, by number of the pass and name of the plane, missing
        after convergence. With more than two classes there are several planes.
    kept_planes : sequence of (int or None, int)
        For each column of `errors` the pass in which the plane was found, None if unknown, and its number of
        misclassified rows, which may be smaller than at the end of that pass.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.
    first_class : int
        Position of the class of the first plane, which determines its colour.

    Returns
    -------
    Axes

    Notes
    -----
    Of more than `style.MAX_IN_LEGEND` planes, the `style.MAX_UNLABELLED` ones whose kept planes have the most
    errors are named, and the others are faint.
    """
    axes, is_new = style.new_axes(ax)
    names_all = len(kept_planes) <= style.MAX_IN_LEGEND
    order = np.argsort([-min_errors for _, min_errors in kept_planes], kind="stable").tolist()
    named_planes = range(len(kept_planes)) if names_all else sorted(order[: style.MAX_UNLABELLED])
    for k in set(range(len(kept_planes))) - set(named_planes):
        line = errors.iloc[:, k].dropna()
        axes.step(line.index, line, where="mid", color=style.faint_ink(0.6), linewidth=0.8, zorder=1.5)
    for k in named_planes:
        name, (pass_number, min_errors) = errors.columns[k], kept_planes[k]
        line = errors[name].dropna()
        line_style = signs.line(k + first_class)
        colour = signs.colour(k + first_class)
        kept_text = f"kept: {min_errors}" + (f" wrong, in pass {pass_number}" if pass_number else " wrong")
        label = f"{style.shown_name(name, 20)}; {kept_text}" if errors.shape[1] > 1 else None
        axes.step(line.index, line, where="mid", color=colour, linestyle=line_style, label=label)
        if pass_number is None:
            dotted_style: dict[str, Any] = {"color": colour, "linestyle": ":", "linewidth": 1.0}
            axes.axhline(min_errors, label=kept_text if not label else None, **dotted_style)
            continue
        marker_style: dict[str, Any] = {"color": colour, "marker": "*", "markeredgecolor": style.ink()}
        marker_style |= {"markersize": 11, "zorder": 4, "clip_on": False}
        axes.plot(
            [pass_number], [min_errors], linestyle="none", label=None if label else kept_text, **marker_style
        )
    axes.set(xlabel="Pass over the data", ylabel="Observations on the wrong side")
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="x", integer=True)
    if errors.shape[1] > 1:
        style.add_legend(axes, is_new)
    else:
        axes.legend(loc="best")
    named_note = (
        "" if names_all else f"\nnamed: the {len(named_planes)} of most errors of {len(kept_planes)} planes"
    )
    style.set_title(axes, f"Errors of the perceptron after each pass, and of the kept plane{named_note}")
    return axes


def draw_margin(axes: Axes, values: Callable[[Floats], Floats], support: Floats | None) -> None:
    """Draw the lines at which a decision function is 0 (solid), 1 and -1, and rings around support vectors.

    Parameters
    ----------
    axes : Axes
        Axes to draw on, with final limits.
    values : callable
        Function from points (m, 2) to values (m,) of the decision function.
    support : (s, 2) float array or None
        Support vectors; None for no rings.
    """
    x_grid, y_grid = (np.linspace(*ends, 81) for ends in (axes.get_xlim(), axes.get_ylim()))
    grid = np.stack(np.meshgrid(x_grid, y_grid), axis=-1)
    grid_values = values(grid.reshape(-1, 2)).reshape(81, 81)
    axes.contour(x_grid, y_grid, grid_values, levels=[0.0], colors=[style.ink()], linewidths=1.4, zorder=2)
    line_style: dict[str, Any] = {
        "colors": [style.faint_ink(0.2)],
        "linewidths": 1.0,
        "linestyles": "--",
        "zorder": 2,
    }
    axes.contour(x_grid, y_grid, grid_values, levels=[-1.0, 1.0], **line_style)
    if support is not None:
        draw_rings(axes, support, size=90)


def draw_contours(
    axes: Axes,
    values: Callable[[Floats], Floats],
    signs: Signs = style.SIGNS,
    *,
    level: float | None = None,
    proportion: float | None = None,
) -> None:
    """Draw a contour line for each class within the limits of the axes, at a level or around a proportion.

    A class whose values do not cross the level gets no line.

    Parameters
    ----------
    axes : Axes
        Axes to draw on, with final limits.
    values : callable
        Function from points (m, 2) to values (m, K) of the K classes. If `proportion` is used, these are log
        densities up to a constant per class.
    signs : Signs
        Colours, markers and line styles of the classes.
    level : float, optional
        Value at the contours; ignored if there is a `proportion`.
    proportion : float, optional
        Draw the contour of the smallest area that contains this proportion of the density in the limits of
        the axes, extended by a quarter on each side.
    """
    limits = axes.get_xlim(), axes.get_ylim()
    # A density may extend outside the range of the rows.
    x_grid, y_grid = (
        np.linspace(*(range_with_margin(*ends, 0.25) if proportion else ends), COARSE_GRID_POINTS)
        for ends in limits
    )
    grid_values = values(np.stack(np.meshgrid(x_grid, y_grid), axis=-1).reshape(-1, 2))
    for k, class_values in enumerate(grid_values.T):
        height = class_values if proportion is None else np.exp(class_values - class_values.max())
        contour_level = level if proportion is None else _density_level(height, proportion)
        if contour_level is not None and height.min() < contour_level < height.max():
            line = signs.line(k)
            line_style: dict[str, Any] = {
                "colors": [signs.colour(k)],
                "linewidths": 1.6,
                "linestyles": [line],
            }
            contour = axes.contour(
                x_grid,
                y_grid,
                height.reshape(COARSE_GRID_POINTS, COARSE_GRID_POINTS),
                levels=[contour_level],
                zorder=4,
                **line_style,
            )
            contour.set_path_effects(style.halo())
    axes.set(xlim=limits[0], ylim=limits[1])


def _density_level(density: Floats, proportion: float) -> float | None:
    """Return the density above which the points of a grid contain a proportion of the total.

    Parameters
    ----------
    density : (m,) float array
        Density at the points of an equally spaced grid.
    proportion : float
        Proportion of the sum of the densities.

    Returns
    -------
    float or None
        None if the density is zero everywhere.
    """
    descending = np.sort(density)[::-1]
    total = float(descending.sum())
    return (
        float(descending[int(np.searchsorted(np.cumsum(descending), proportion * total))])
        if total > 0
        else None
    )


MAX_LINE_DISTANCE = 2.0
"""Distance from the centre of the rows, in ranges of the rows, up to which lines are included in the view."""


def draw_perceptron_steps(
    points: pd.DataFrame,
    codes: NDArray[np.intp],
    classes: Sequence[Any],
    moves: tuple[NDArray[np.intp], Floats],
    final_line: tuple[Floats, int],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Draw the line of a perceptron after each of its first three moves, and the final line, in four panels.

    There are fewer panels if there are fewer moves. The row that moves a line next is ringed.

    Parameters
    ----------
    points : DataFrame (n, 2)
        Values of the two variables.
    codes : (n,) int array
        Class of each row, 0 or 1.
    classes : sequence
        The two labels.
    moves : tuple of (u,) int array and (u, 3) float array
        Positions of the rows of the first u moves, and the coefficients (c, a, b) of the line
        c + a x + b y = 0 after each move.
    final_line : tuple of (3,) float array and int
        Coefficients of the final line, the one that is kept, and the number of all moves.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.

    Returns
    -------
    Axes
        Outer axes; its `child_axes` are the panels.
    """
    outer, inner = style.panels(ax, 2, 2, size=style.scaled_inches(7.6, 6.8), has_titles=True)
    rows, coefficients = moves
    xy = style.to_floats(points)
    moves_shown = [
        (f"after move {i + 1}", coefficients[i], int(rows[i + 1])) for i in range(min(3, len(rows) - 1))
    ]
    panes = [*moves_shown, (f"kept, of {final_line[1]} moves", final_line[0], None)]
    for pane, (name, coef, row) in zip(inner.ravel(), panes, strict=False):
        draw_points(pane, xy[:, 0], xy[:, 1], codes, classes, signs)
        pane.set_title(name, fontsize="medium")
        if row is not None:
            ring_style: dict[str, Any] = {"facecolors": "none", "edgecolors": style.ink(), "linewidths": 1.6}
            pane.scatter(xy[row, :1], xy[row, 1:], s=130, zorder=5, **ring_style)
        low, high = _view_limits(xy, [coef for _, coef, _ in panes])
        pane.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        _draw_separating_line(pane, coef)
    for pane in inner.ravel()[len(panes) :]:
        pane.set_axis_off()
    for panel_index in range(len(panes)):
        # Only the bottom panel of a column names the axis.
        if panel_index + 2 >= len(panes):
            inner.ravel()[panel_index].set_xlabel(style.shown_name(points.columns[0], 20))
        else:
            inner.ravel()[panel_index].tick_params(labelbottom=False)
        if panel_index % 2 == 0:
            inner.ravel()[panel_index].set_ylabel(style.shown_name(points.columns[1], 20))
    inner[0, 0].legend(fontsize="small", framealpha=0.8)
    side = style.shown_name(classes[1], 20)
    text = (
        f"The perceptron's line, its arrow on the side of {side}; ringed: the observation that moves it next"
    )
    style.set_title(outer, text)
    return outer


def _view_limits(xy: Floats, lines: list[Floats]) -> tuple[Floats, Floats]:
    """Return the corners of a rectangle around the rows and the points of the lines nearest to their centre.

    Parameters
    ----------
    xy : (n, 2) float array
        Coordinates of the rows.
    lines : list of (3,) float array
        Coefficients (c, a, b) of the lines c + a x + b y = 0. Lines that are farther away than
        `MAX_LINE_DISTANCE` are ignored.

    Returns
    -------
    low, high : (2,) float array
        Lower left and upper right corner.
    """
    low = xy.min(axis=0)
    ranges = np.ptp(xy, axis=0)
    ranges[ranges == 0] = 1.0
    relative_points = [np.zeros(2), np.ones(2)]
    for line in lines:
        normal = line[1:] * ranges
        squared = float(normal @ normal)
        foot = (
            0.5 - (line[0] + line[1:] @ (low + ranges / 2)) * normal / squared
            if squared > 0
            else relative_points[0]
        )
        if (np.abs(foot - 0.5) < MAX_LINE_DISTANCE).all():
            relative_points.append(foot)
    return low + (np.min(relative_points, axis=0) - 0.2) * ranges, low + (
        np.max(relative_points, axis=0) + 0.2
    ) * ranges


def _draw_separating_line(axes: Axes, coef: Floats) -> None:
    """Draw the line c + a x + b y = 0 within the limits of the axes, with a perpendicular arrow.

    The arrow points to the side of positive values. A note replaces a line that is out of view.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    coef : (3,) float array
        c, a and b.
    """
    across = axes.get_xlim()
    up = axes.get_ylim()
    low = np.array([across[0], up[0]])
    size = np.array([across[1] - across[0], up[1] - up[0]])
    window = axes.get_window_extent()
    shape = np.array([window.width, window.height])
    # In pixels the line is c' + a'u + b'v = 0, and (a', b') is perpendicular to it.
    normal = coef[1:] * size / shape
    constant = coef[0] + coef[1:] @ low
    norm = float(np.linalg.norm(normal))
    centre = shape / 2
    signed_distance = (constant + normal @ centre) / norm if norm > 0 else np.inf
    if not abs(signed_distance) < np.linalg.norm(shape) / 2:
        note: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "fontsize": "small"}
        axes.text(0.5, 0.02, "the line is out of view" if norm > 0 else "no line", **note)
        return
    unit = normal / norm
    foot = centre - signed_distance * unit
    direction = np.array([-unit[1], unit[0]]) * float(np.linalg.norm(shape))
    ends = low + np.array([foot - direction, foot + direction]) / shape * size
    tip = low + (foot + 0.18 * shape.min() * unit) / shape * size
    start = low + foot / shape * size
    axes.plot(ends[:, 0], ends[:, 1], color=style.ink(), linewidth=1.4, zorder=4)
    arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": style.ink(), "linewidth": 1.4}
    arrow |= {"shrinkA": 0, "shrinkB": 0}
    axes.annotate("", tip, start, arrowprops=arrow, annotation_clip=False, zorder=6)
    axes.set_xlim(*across)
    axes.set_ylim(*up)
