"""Plots of decision regions in a plane, on a line and in a triangle, and of planes that separate two classes.

Regions are found on a coarse grid. If the classes at the ends of a side of a cell differ, a border crosses
it, and bisection of the rule locates the crossing. The lines are therefore as smooth as the rule.

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
from discrim.report.plots.points import draw_hollow, draw_labels, draw_points, draw_strips, told_hollow
from discrim.report.plots.text_fit import fit_texts

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes, Signs

Classify = Callable[[Floats], Codes]
"""Function from points (m, 2) to their classes (m,), -1 for none."""

HALVINGS = 16
"""Number of bisection steps for the crossing of a border with the side of a cell."""

FINE = 4
"""Number of colours along each side of a cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Regions of classes in a rectangle, on a grid.

    Attributes
    ----------
    across : (g,) float array
    up : (h,) float array
    codes : (h, g) int array
        Classes at the points of the grid, -1 for none.
    colours : (FINE (h - 1), FINE (g - 1)) int array
        Classes of small rectangles that fill the whole.
    segments : (s, 2, 2) float array
        Ends of the line segments of the borders.
    """

    across: Floats
    up: Floats
    codes: Codes
    colours: Codes
    segments: Floats


def find_regions(classify: Classify, across: Floats, up: Floats) -> Regions:
    """Compute the classes at the points of a grid, and the borders between them.

    Parameters
    ----------
    classify : callable
        Function from points (m, 2) to codes (m,).
    across : (g,) float array
        Increasing, equally spaced.
    up : (h,) float array
        Increasing, equally spaced.

    Returns
    -------
    Regions
    """
    g = len(across)
    h = len(up)
    points = np.stack(np.meshgrid(across, up), axis=-1)
    codes = np.asarray(classify(points.reshape(-1, 2))).reshape(h, g)
    places = np.full((4, h - 1, g - 1, 2), np.nan)
    level = np.full((h, g - 1, 2), np.nan)
    upright = np.full((h - 1, g, 2), np.nan)
    here = codes[:, :-1] != codes[:, 1:]
    above = codes[:-1] != codes[1:]
    near = np.concatenate([points[:, :-1][here], points[:-1][above]])
    far = np.concatenate([points[:, 1:][here], points[1:][above]])
    first = np.concatenate([codes[:, :-1][here], codes[:-1][above]])
    crossed = _crossed(classify, near, far, first)
    level[here], upright[above] = np.split(crossed, [np.count_nonzero(here)])
    places[0], places[2] = level[:-1], level[1:]
    places[1], places[3] = upright[:, 1:], upright[:, :-1]
    return Regions(across, up, codes, _coloured(classify, across, up, codes), _joined(places))


def _crossed(classify: Classify, near: Floats, far: Floats, first: Codes) -> Floats:
    """Locate by bisection where the class changes between pairs of points.

    Parameters
    ----------
    classify : callable
    near, far : (m, 2) float arrays
        The pairs, of different classes.
    first : (m,) int array
        Classes of `near`.

    Returns
    -------
    (m, 2) float array
    """
    for _ in range(HALVINGS if len(first) else 0):
        middle = (near + far) / 2
        same = (np.asarray(classify(middle)) == first)[:, None]
        near = np.where(same, middle, near)
        far = np.where(same, far, middle)
    return (near + far) / 2


def _joined(places: Floats) -> Floats:
    """Join the crossings of borders with the sides of cells to line segments.

    Parameters
    ----------
    places : (4, h, g, 2) float array
        Crossing with each side of each cell, NaN if there is none.

    Returns
    -------
    (s, 2, 2) float array
    """
    corners = places.reshape(4, -1, 2)
    crossed = ~np.isnan(corners[..., 0])
    count = crossed.sum(axis=0)
    pieces = [np.empty((0, 2, 2))]
    two = np.flatnonzero(count == 2)
    if len(two):
        order = np.argsort(~crossed[:, two], axis=0, kind="stable")[:2]
        pieces.append(np.stack([corners[order[0], two], corners[order[1], two]], axis=1))
    # If three regions meet in a cell, their borders are drawn to the mean of the crossings.
    for cell in np.flatnonzero(count > 2).tolist():
        ends = corners[crossed[:, cell], cell]
        pieces.append(np.stack([ends, np.broadcast_to(ends.mean(axis=0), ends.shape)], axis=1))
    return np.concatenate(pieces)


def _coloured(classify: Classify, across: Floats, up: Floats, codes: Codes) -> Codes:
    """Compute the classes of small rectangles; only cells whose corners differ are evaluated further.

    Parameters
    ----------
    classify : callable
    across : (g,) float array
    up : (h,) float array
    codes : (h, g) int array

    Returns
    -------
    (FINE (h - 1), FINE (g - 1)) int array
    """
    low = codes[:-1, :-1]
    mixed = (low != codes[:-1, 1:]) | (low != codes[1:, :-1]) | (low != codes[1:, 1:])
    out = np.repeat(np.repeat(low, FINE, axis=0), FINE, axis=1)
    i, j = np.nonzero(mixed)
    if not len(i):
        return out
    within = (np.arange(FINE) + 0.5) / FINE
    x = across[j][:, None] + within * (across[j + 1] - across[j])[:, None]
    y = up[i][:, None] + within * (up[i + 1] - up[i])[:, None]
    inside = np.stack(np.broadcast_arrays(x[:, None, :], y[:, :, None]), axis=-1)
    rows = FINE * i[:, None, None] + np.arange(FINE)[None, :, None]
    columns = FINE * j[:, None, None] + np.arange(FINE)[None, None, :]
    out[rows, columns] = np.asarray(classify(inside.reshape(-1, 2))).reshape(inside.shape[:3])
    return out


GRID = 110
COARSE = 80
"""Grid points per side for regions, and for regions in panels and interactive plots."""

MOST_RINGS = 2_000
"""Largest number of rings; more are slow to draw, and hide the points."""


def span(low: float, high: float, margin: float = 0.06) -> tuple[float, float]:
    """Return a range with a margin on both sides, also if its ends are equal."""
    wide = margin * (high - low) or margin * abs(low) or (1.0 if margin else 0.0)
    return low - wide, high + wide


def draw_regions(
    axes: Axes,
    classify: Classify,
    limits: tuple[tuple[float, float], tuple[float, float]],
    signs: Signs,
    grid: int,
) -> Regions:
    """Draw the regions of a rectangle in the colours of the classes, with lines between them.

    Parameters
    ----------
    axes : Axes
    classify : callable
        Function from points (m, 2) to codes (m,).
    limits : pair of (float, float)
        Limits of the axes.
    signs : Signs
    grid : int
        Number of grid points per side.

    Returns
    -------
    Regions
    """
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    across, up = (np.linspace(*ends, grid) for ends in limits)
    found = find_regions(classify, across, up)
    k_classes = int(found.colours.max()) + 1
    inks = np.array([to_rgb(signs.colour(k)) for k in range(k_classes)] + [(0.0, 0.0, 0.0)])
    shades = np.dstack([inks[found.colours], np.where(found.colours < 0, 0.0, style.opacity(0.18))])
    extent = (across[0], across[-1], up[0], up[-1])
    for k in range(k_classes):
        _draw_hatch(axes, found.colours == k, extent, signs.hatch(k))
    axes.imshow(
        shades, origin="lower", extent=extent, interpolation="nearest", aspect=axes.get_aspect(), zorder=0.5
    )
    look: dict[str, Any] = {"colors": style.faint(0.35), "linewidths": 0.8, "capstyle": "round", "zorder": 1}
    axes.add_collection(LineCollection(list(found.segments), **look), autolim=False)
    axes.set(xlim=(across[0], across[-1]), ylim=(up[0], up[-1]))
    return found


def _draw_hatch(axes: Axes, inside: NDArray[np.bool_], extent: tuple[float, ...], hatch: str) -> None:
    """Hatch the cells of a region faintly, in greyscale styles.

    Parameters
    ----------
    axes : Axes
    inside : (h, g) bool array
        Cells of the region.
    extent : tuple of float
        Left, right, lower and upper end of the rectangle.
    hatch : str
        Nothing is drawn if it is empty.
    """
    if not hatch or not inside.any():
        return
    shape: dict[str, Any] = {"extent": extent, "origin": "lower", "levels": [0.5, 1.5], "colors": "none"}
    strokes = axes.contourf(inside.astype(np.float64), hatches=[hatch], zorder=0.6, **shape)
    strokes.set(edgecolor=style.faint(0.75), linewidth=0)


def middles(regions: Regions, k_classes: int) -> Floats:
    """Return the point of each region that is farthest from its border.

    Parameters
    ----------
    regions : Regions
    k_classes : int

    Returns
    -------
    (K, 2) float array
        NaN for a class without a region.

    Examples
    --------
    >>> halves = find_regions(lambda x: (x[:, 0] > 0.6).astype(int), *np.linspace([0, 0], [1, 1], 51).T)
    >>> middles(halves, 3).round(1).tolist()
    [[0.3, 0.3], [0.8, 0.2], [nan, nan]]
    """
    from scipy.ndimage import distance_transform_edt

    out = np.full((k_classes, 2), np.nan)
    for k in np.unique(regions.codes[regions.codes >= 0]).tolist():
        depth = distance_transform_edt(np.pad(regions.codes == k, 1))[1:-1, 1:-1]
        row, column = np.unravel_index(int(depth.argmax()), depth.shape)
        out[k] = regions.across[column], regions.up[row]
    return out


@dataclass(frozen=True, slots=True, eq=False)
class PlaneRows:
    """Rows that are drawn in a plane.

    Attributes
    ----------
    points : (n, 2) float
        Their coordinates. A row with a missing coordinate is not drawn.
    codes : (n,) int
        Their classes, -1 for none.
    wrong : (n,) bool, optional
        Whether a row is misclassified, which makes its marker hollow.
    weak : bool
        Whether they are drawn faintly, because they do not lie in the plane.
    """

    points: Floats
    codes: Codes
    wrong: NDArray[np.bool_] | None = None
    weak: bool = False


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
    panel: bool = False,
) -> Axes:
    """Draw the regions of the classes in the plane of two variables, with rows on top.

    Parameters
    ----------
    classify : callable
        Function that returns the codes (m,) of points (m, 2).
    limits : pair of (float, float)
        Limits of the two axes.
    names : pair of str
        Names of the two variables.
    rows : PlaneRows
        The rows.
    classes : sequence of length K
        Labels of the classes.
    ax : Axes, optional
        Axes to draw on.
    signs : Signs
        Colours and markers of the classes.
    title : str
        Title of the axes.
    labels : (K, 2) float, optional
        Places of the labels of the classes; by default the middles of the regions.
    panel : bool
        Whether the axes are one of several, without a legend. Otherwise a legend shows the classes if some of
        those with rows have no region.

    Returns
    -------
    Axes
    """
    points = rows.points
    codes = rows.codes
    axes, is_new = style.new_axes(ax)
    found = draw_regions(axes, classify, limits, signs, COARSE if panel else GRID)
    before = set(axes.collections), set(axes.images)
    draw_points(axes, points[:, 0], points[:, 1], codes, classes, signs)
    for artist in (*set(axes.collections) - before[0], *set(axes.images) - before[1]):
        if panel and hasattr(artist, "set_sizes"):
            artist.set_sizes([9])
        if rows.weak:
            artist.set_alpha(style.opacity(0.35))
    if rows.wrong is not None:
        draw_hollow(axes, points, codes, rows.wrong, signs, size=12 if panel else 22)
    axes.set_xlim(*limits[0])
    axes.set_ylim(*limits[1])
    axes.set(xlabel=style.shown_name(names[0]), ylabel=style.shown_name(names[1]))
    labels = middles(found, len(classes)) if labels is None else labels
    there = np.flatnonzero(np.isfinite(labels).all(axis=1))
    shown = labels[there], [classes[k] for k in there.tolist()]
    if panel:
        if title:
            axes.set_title(title, fontsize="small")
        if style.of_greys("color"):
            draw_labels(axes, *shown, size="x-small")
        return axes
    if len(np.setdiff1d(codes[codes >= 0], there)):
        style.add_legend(axes, is_new)
    style.set_title(axes, title)
    # The texts affect the size of the axes, hence the labels are drawn afterwards.
    fit_texts(axes, is_new)
    draw_labels(axes, *shown)
    return axes


def ring(axes: Axes, points: Floats, size: float = 60.0) -> None:
    """Draw rings around points (m, 2); of very many, around an evenly spaced subset."""
    many = len(points) > 200
    points = points[:: -(-max(len(points), 1) // MOST_RINGS)]
    look: dict[str, Any] = {"facecolors": "none", "edgecolors": style.ink(), "zorder": 3}
    look |= {"s": size / 4 if many else size, "linewidths": 0.6 if many else 0.9, "rasterized": many}
    axes.scatter(points[:, 0], points[:, 1], **look)


def draw_line(
    at: Floats,
    values: Floats,
    called: Codes,
    names: tuple[Any, str],
    points: Floats,
    codes: Codes,
    classes: Sequence[Any],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    *,
    title: str,
) -> Axes:
    """Draw posteriors or scores along one variable, on the regions of the predicted class.

    Parameters
    ----------
    at : (m,) float array
        Increasing values of the variable.
    values : (m, K) float array
        Posteriors or scores.
    called : (m,) int array
        Predicted classes, -1 for none.
    names : tuple of str
        Names of the variable and of the values.
    points : (n,) float array
        The variable of the rows, which are drawn as ticks below.
    codes : (n,) int array
        Their classes.
    classes : sequence
        Labels (K,).
    ax : Axes, optional
    signs : Signs
    title : str

    Returns
    -------
    Axes
    """
    axes, is_new = style.new_axes(ax)
    starts = np.flatnonzero(np.diff(called, prepend=-2))
    look: dict[str, Any]
    for start, stop in zip(starts, [*starts[1:], len(at) - 1], strict=True):
        if called[start] >= 0:
            look = {"color": signs.colour(int(called[start])), "alpha": style.opacity(0.15)}
            axes.axvspan(at[start], at[stop], linewidth=0, zorder=0.5, **look)
        if start:
            axes.axvline(at[start], color=style.faint(0.35), linewidth=0.8, zorder=1)
    for k, label in enumerate(classes):
        look = {"color": signs.colour(k), "linestyle": signs.line(k)}
        axes.plot(at, values[:, k], label=style.shown_name(label), linewidth=1.6, **look)
    low, high = axes.get_ylim()
    step = 0.035 * (high - low)
    for k in range(len(classes)):
        own_rows = points[(codes == k) & np.isfinite(points)]
        shown = np.quantile(own_rows, np.linspace(0, 1, 300)) if len(own_rows) > 300 else own_rows
        height = np.full(len(shown), low - step * (k + 1))
        axes.scatter(shown, height, marker="|", s=18, color=signs.colour(k), linewidths=0.8, zorder=2)
    axes.set(xlim=(at[0], at[-1]), xlabel=style.shown_name(names[0]), ylabel=names[1])
    style.add_legend(axes, is_new)
    style.set_title(axes, title)
    return axes


CORNERS: NDArray[np.float64] = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])
"""Corners of posterior 1: the first class on the left, the second on the right, the third at the top."""


def draw_simplex(
    proba: pd.DataFrame, labels: pd.Series, ax: Axes | None = None, signs: Signs = style.SIGNS
) -> Axes:
    """Draw observations in a triangle: the nearer to a corner, the larger the posterior of its class.

    Parameters
    ----------
    proba : DataFrame (n, 3)
        Posteriors.
    labels : Series (n,)
        Classes.
    ax : Axes, optional
    signs : Signs

    Returns
    -------
    Axes
    """
    classes = list(proba.columns)
    axes, is_new = style.new_axes(ax)
    p = style.numbers(proba)
    codes = style.label_codes(labels, classes)
    places = p @ CORNERS
    border = np.vstack([CORNERS, CORNERS[:1]])
    axes.plot(*border.T, color=style.ink(), linewidth=1.2, zorder=2)
    for k in range(3):
        # Two posteriors are equal, and above the third, on the line from the centre to the middle of an edge.
        middle = (CORNERS.sum(axis=0) - CORNERS[k]) / 2
        axes.plot(
            *np.vstack([CORNERS.mean(axis=0), middle]).T,
            color=style.faint(0.45),
            linestyle="--",
            linewidth=1.0,
        )
    draw_points(axes, places[:, 0], places[:, 1], codes, classes, signs)
    known = np.isfinite(places).all(axis=1) & (codes >= 0)
    wrong = known & (p[np.arange(len(p)), codes] < p.max(axis=1, initial=0.0))
    draw_hollow(axes, places, codes, wrong, signs, size=30)
    # Long names at the bottom extend inwards, otherwise they would narrow the triangle.
    long = max(len(str(label)) for label in classes) > 8
    left, right = ("left", "right") if long else ("center", "center")
    sides = ((left, "top"), (right, "top"), ("center", "bottom"))
    for corner, label, (across, up) in zip(CORNERS, classes, sides, strict=True):
        shift = -0.03 if up == "top" else 0.03
        axes.text(corner[0], corner[1] + shift, style.shown_name(label, 14), ha=across, va=up)
    axes.set(xlim=(-0.12, 1.12), ylim=(-0.12, 1.0))
    axes.set_aspect("equal")
    axes.set_axis_off()
    title = f"Posteriors; hollow: {told_hollow(len(p))}, {int(wrong.sum()):,} of {int(known.sum()):,}"
    style.set_title(axes, title)
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
        Distances, positive on the side of the second class.
    labels : Series (n,)
        Classes.
    classes : sequence
        The two labels.
    margin : float or None
        Distance at which lines are drawn on both sides of the plane.
    ax : Axes, optional
    signs : Signs

    Returns
    -------
    Axes
    """
    codes = style.label_codes(labels, classes)
    at = values.to_numpy(dtype=np.float64)
    axes, _ = style.new_axes(ax)
    draw_strips(axes, at, codes, classes, wrong=(at > 0) != (codes == 1), signs=signs)
    axes.axvline(0.0, color=style.ink(), linewidth=1.2, zorder=1)
    edge: dict[str, Any] = {"color": style.faint(0.35), "linewidth": 1.0, "linestyle": "--", "zorder": 1}
    for place in () if margin is None else (-margin, margin):
        axes.axvline(place, **edge)
    axes.set_xlabel(f"Signed distance to the plane, positive on the side of {style.shown_name(classes[1])}")
    style.set_title(
        axes,
        "Distances to the plane; hollow: on the wrong side"
        + ("; dashed: the margin" if margin is not None else ""),
    )
    return axes


def passes(
    errors: pd.DataFrame,
    kept: Sequence[tuple[int | None, int]],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    first: int = 0,
) -> Axes:
    """Draw the errors of a perceptron after each pass, and when the planes that are kept were found.

    Parameters
    ----------
    errors : DataFrame
        Number of misclassified rows by pass and plane, missing after convergence.
    kept : sequence of (int or None, int)
        For each plane the pass that found it, if known, and its errors, which may be fewer than at the
        end of that pass.
    ax : Axes, optional
    signs : Signs
    first : int
        Position of the class of the first plane, which determines its colour.

    Returns
    -------
    Axes

    Notes
    -----
    Of many planes those with the most errors are named, and the others are faint.
    """
    axes, is_new = style.new_axes(ax)
    few = len(kept) <= style.MOST_IN_LEGEND
    order = np.argsort([-fewest for _, fewest in kept], kind="stable").tolist()
    named = range(len(kept)) if few else sorted(order[: style.MOST_PLAIN])
    for k in set(range(len(kept))) - set(named):
        line = errors.iloc[:, k].dropna()
        axes.step(line.index, line, where="mid", color=style.faint(0.6), linewidth=0.8, zorder=1.5)
    for k in named:
        name, (number, fewest) = errors.columns[k], kept[k]
        line = errors[name].dropna()
        look = signs.line(k + first)
        colour = signs.colour(k + first)
        told = f"kept: {fewest}" + (f" wrong, in pass {number}" if number else " wrong")
        label = f"{style.shown_name(name, 20)}; {told}" if errors.shape[1] > 1 else None
        axes.step(line.index, line, where="mid", color=colour, linestyle=look, label=label)
        if number is None:
            dotted: dict[str, Any] = {"color": colour, "linestyle": ":", "linewidth": 1.0}
            axes.axhline(fewest, label=told if not label else None, **dotted)
            continue
        mark: dict[str, Any] = {"color": colour, "marker": "*", "markeredgecolor": style.ink()}
        mark |= {"markersize": 11, "zorder": 4, "clip_on": False}
        axes.plot([number], [fewest], linestyle="none", label=None if label else told, **mark)
    axes.set(xlabel="Pass over the rows", ylabel="Rows on the wrong side")
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="x", integer=True)
    if errors.shape[1] > 1:
        style.add_legend(axes, is_new)
    else:
        axes.legend(loc="best")
    some = "" if few else f"\nnamed: the {len(named)} of most errors of {len(kept)} planes"
    style.set_title(axes, f"Errors of the perceptron after each pass, and of the plane kept{some}")
    return axes


def draw_margin(axes: Axes, values: Callable[[Floats], Floats], support: Floats | None) -> None:
    """Draw the lines at which a decision function is 0, 1 and -1, and rings around support vectors.

    Parameters
    ----------
    axes : Axes
    values : callable
        Function from points (m, 2) to values (m,).
    support : (s, 2) float array or None
    """
    across, up = (np.linspace(*ends, 81) for ends in (axes.get_xlim(), axes.get_ylim()))
    grid = np.stack(np.meshgrid(across, up), axis=-1)
    found = values(grid.reshape(-1, 2)).reshape(81, 81)
    axes.contour(across, up, found, levels=[0.0], colors=[style.ink()], linewidths=1.4, zorder=2)
    edge: dict[str, Any] = {"colors": [style.faint(0.2)], "linewidths": 1.0, "linestyles": "--", "zorder": 2}
    axes.contour(across, up, found, levels=[-1.0, 1.0], **edge)
    if support is not None:
        ring(axes, support, size=90)


def draw_contours(
    axes: Axes,
    values: Callable[[Floats], Floats],
    signs: Signs = style.SIGNS,
    *,
    level: float | None = None,
    share: float | None = None,
) -> None:
    """Draw a contour line for each class.

    Parameters
    ----------
    axes : Axes
    values : callable
        Function from points (m, 2) to values (m, K). If `share` is used, these are log densities up to a
        constant per class.
    signs : Signs
    level : float, optional
        Level of the contours.
    share : float, optional
        Draw the contour of the smallest area that contains this proportion of the density instead.
    """
    limits = axes.get_xlim(), axes.get_ylim()
    # A density may extend outside the range of the rows.
    across, up = (np.linspace(*(span(*ends, 0.25) if share else ends), GRID) for ends in limits)
    found = values(np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2))
    for k, own in enumerate(found.T):
        height = own if share is None else np.exp(own - own.max())
        at = level if share is None else _least_within(height, share)
        if at is not None and height.min() < at < height.max():
            line = signs.line(k)
            look: dict[str, Any] = {"colors": [signs.colour(k)], "linewidths": 1.6, "linestyles": [line]}
            drawn = axes.contour(across, up, height.reshape(GRID, GRID), levels=[at], zorder=4, **look)
            drawn.set_path_effects(style.halo())
    axes.set(xlim=limits[0], ylim=limits[1])


def _least_within(density: Floats, share: float) -> float | None:
    """Return the density level whose upper level set contains a proportion of the total.

    Parameters
    ----------
    density : (m,) float array
        Density at points of equal area.
    share : float

    Returns
    -------
    float or None
        None if the density is zero everywhere.
    """
    falling = np.sort(density)[::-1]
    whole = float(falling.sum())
    return float(falling[int(np.searchsorted(np.cumsum(falling), share * whole))]) if whole > 0 else None


FARTHEST = 2.0
"""Distance from the centre of the rows, in ranges of the rows, up to which lines are included in the view."""


def draw_updates(
    points: pd.DataFrame,
    codes: NDArray[np.intp],
    classes: Sequence[Any],
    moves: tuple[NDArray[np.intp], Floats],
    end: tuple[Floats, int],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Draw up to three steps of a perceptron with the row that moves the line next, and the final line.

    Parameters
    ----------
    points : DataFrame (n, 2)
    codes : (n,) int array
        Two classes.
    classes : sequence
        The two labels.
    moves : tuple of (u,) int array and (u, 3) float array
        Rows that moved the line, and the coefficients after each move, intercept first.
    end : tuple of (3,) float array and int
        Coefficients of the final line, and the number of all moves.
    ax : Axes, optional
    signs : Signs

    Returns
    -------
    Axes
        Outer axes; its `child_axes` are the panels.
    """
    outer, inner = style.panels(ax, 2, 2, size=style.inches(7.6, 6.8), titled=True)
    rows, after = moves
    xy = style.numbers(points)
    shown = [(f"after move {i + 1}", after[i], int(rows[i + 1])) for i in range(min(3, len(rows) - 1))]
    panes = [*shown, (f"kept, of {end[1]} moves", end[0], None)]
    for pane, (name, coef, row) in zip(inner.ravel(), panes, strict=False):
        draw_points(pane, xy[:, 0], xy[:, 1], codes, classes, signs)
        pane.set_title(name, fontsize="medium")
        if row is not None:
            look: dict[str, Any] = {"facecolors": "none", "edgecolors": style.ink(), "linewidths": 1.6}
            pane.scatter(xy[row, :1], xy[row, 1:], s=130, zorder=5, **look)
        low, high = _limits(xy, [coef for _, coef, _ in panes])
        pane.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        _draw_line(pane, coef)
    for pane in inner.ravel()[len(panes) :]:
        pane.set_axis_off()
    for place in range(len(panes)):
        # Only the bottom panel of a column names the axis.
        if place + 2 >= len(panes):
            inner.ravel()[place].set_xlabel(style.shown_name(points.columns[0], 20))
        else:
            inner.ravel()[place].tick_params(labelbottom=False)
        if place % 2 == 0:
            inner.ravel()[place].set_ylabel(style.shown_name(points.columns[1], 20))
    inner[0, 0].legend(fontsize="small", framealpha=0.8)
    side = style.shown_name(classes[1], 20)
    text = f"The perceptron's line, its arrow on the side of {side}; ringed: the row that moves it next"
    style.set_title(outer, text)
    return outer


def _limits(xy: Floats, lines: list[Floats]) -> tuple[Floats, Floats]:
    """Return the corners of a rectangle around the rows and the nearest points of the lines.

    Parameters
    ----------
    xy : (n, 2) float array
    lines : list of (3,) float array
        Coefficients; lines that are too far away are ignored.

    Returns
    -------
    low, high : (2,) float array
    """
    low = xy.min(axis=0)
    size = np.ptp(xy, axis=0)
    size[size == 0] = 1.0
    places = [np.zeros(2), np.ones(2)]
    for line in lines:
        normal = line[1:] * size
        squared = float(normal @ normal)
        foot = 0.5 - (line[0] + line[1:] @ (low + size / 2)) * normal / squared if squared > 0 else places[0]
        if (np.abs(foot - 0.5) < FARTHEST).all():
            places.append(foot)
    return low + (np.min(places, axis=0) - 0.2) * size, low + (np.max(places, axis=0) + 0.2) * size


def _draw_line(axes: Axes, coef: Floats) -> None:
    """Draw the line c + a x + b y = 0 within the limits of the axes, with a perpendicular arrow.

    Parameters
    ----------
    axes : Axes
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
    length = float(np.linalg.norm(normal))
    middle = shape / 2
    gap = (constant + normal @ middle) / length if length > 0 else np.inf
    if not abs(gap) < np.linalg.norm(shape) / 2:
        note: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "fontsize": "small"}
        axes.text(0.5, 0.02, "the line is out of view" if length > 0 else "no line yet", **note)
        return
    unit = normal / length
    foot = middle - gap * unit
    along = np.array([-unit[1], unit[0]]) * float(np.linalg.norm(shape))
    ends = low + np.array([foot - along, foot + along]) / shape * size
    tip = low + (foot + 0.18 * shape.min() * unit) / shape * size
    start = low + foot / shape * size
    axes.plot(ends[:, 0], ends[:, 1], color=style.ink(), linewidth=1.4, zorder=4)
    arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": style.ink(), "linewidth": 1.4}
    arrow |= {"shrinkA": 0, "shrinkB": 0}
    axes.annotate("", tip, start, arrowprops=arrow, annotation_clip=False, zorder=6)
    axes.set_xlim(*across)
    axes.set_ylim(*up)
