"""Draw observations as points, name lines and points, and make images for pages.

The other modules of this package use the functions on points and labels; `report/page/` uses `image_of` and
`png_of`. An image for a page has light and dark colours, and is a vector graphic if its points are few.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.report.plots.style import (
    COLOURS,
    DPI,
    MAX_IN_LEGEND,
    MAX_LABEL_WIDTH,
    MAX_SIDE_WIDTH,
    SIGNS,
    UNBOUNDED,
    Signs,
    adapted_opacity,
    faint_ink,
    font_points,
    ink,
    new_axes,
    outline_colour,
    paper,
    run_layout,
    shown_name,
    visible_colour,
)
from discrim.report.plots.text_fit import LINE_NAMES, LineNames, thin_line_names

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

MAX_POINTS = 20_000
"""Largest number of rows that are drawn as points; more are drawn as shaded cells."""

POINTS_PER_TURN = 500
"""Number of points of a class that are drawn at a time; taking turns, no class hides another."""

MAX_RARE_SIZE = 500
"""Largest size of a class that is drawn as points on top of shaded cells."""

MAX_IN_STRIP = 3_000
"""Largest number of points on the line of a class; more would look the same."""


ROWS_BY_ARTIST: WeakKeyDictionary[Any, tuple[Codes, int]] = WeakKeyDictionary()
"""Positions of the rows that a scatter artist draws, and the number of all rows; for tooltips."""


# ---- a plane


def draw_points(
    axes: Axes, x: Floats, y: Floats, codes: Codes, classes: Sequence[Any], signs: Signs = SIGNS
) -> None:
    """Draw observations in a plane, with the colour and marker of their class.

    The classes take turns, with the smallest drawn last in each turn. If there are more than `MAX_POINTS`
    rows, cells are shaded instead: the hue mixes the colours of the classes by their shares, and the opacity
    increases with the number of rows. Classes with at most `MAX_RARE_SIZE` rows are still drawn as points.

    One artist of each class has its label, for a legend, and is in `ROWS_BY_ARTIST`, for tooltips.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    x, y : (n,) float array
        Coordinates; rows with a missing one are not drawn.
    codes : (n,) int array
        Class of each row, -1 for none. Rows without a class are drawn only if no row has one.
    classes : sequence
        Labels (K,).
    signs : Signs
        Colours, markers and line styles of the classes.
    """
    finite = np.isfinite(x) & np.isfinite(y)
    if len(x) and not (codes >= 0).any():
        # New rows, whose classes are unknown.
        unlabelled_style: dict[str, Any] = {"color": ink(), "alpha": 0.5, "s": 10, "linewidths": 0}
        axes.scatter(x[finite], y[finite], rasterized=len(x) > 5_000, **unlabelled_style)
    drawable = finite & (codes >= 0)
    counts = np.bincount(codes[drawable], minlength=len(classes))
    has_many_classes = len(classes) > MAX_IN_LEGEND
    is_shaded = int(counts.sum()) > MAX_POINTS
    is_rare = counts <= MAX_RARE_SIZE
    if is_shaded:
        _draw_shades(
            axes, x[drawable], y[drawable], codes[drawable], [signs.colour(k) for k in range(len(classes))]
        )
    order = np.argsort(-counts, kind="stable")
    n_turns = max(int(-(-counts[counts <= MAX_POINTS].max(initial=0) // POINTS_PER_TURN)), 1)
    rows = [np.flatnonzero(drawable & (codes == k)) for k in range(len(classes))]
    uses_small_points = has_many_classes or (int(counts.sum()) > 2_000)
    for k, label in enumerate(classes):
        # The artist with the label is drawn first, because a legend has the order of drawing.
        style = _point_style(signs, k, is_small=uses_small_points)
        first_rows = (
            _rows_of_turn(rows[k], n_turns - 1, n_turns) if not is_shaded or is_rare[k] else rows[k][:0]
        )
        zorder = 1.5 + 0.3 * (n_turns - 1) / n_turns + 0.001 * int(np.flatnonzero(order == k)[0]) / len(order)
        style |= {"label": shown_name(label), "rasterized": counts.sum() > 5_000}
        ROWS_BY_ARTIST[axes.scatter(x[first_rows], y[first_rows], zorder=zorder, **style)] = (
            first_rows,
            len(x),
        )
    for turn in range(n_turns - 1):
        for k in order.tolist():
            class_rows = _rows_of_turn(rows[k], turn, n_turns)
            if len(class_rows) and (not is_shaded or is_rare[k]):
                zorder = 1.5 + 0.3 * turn / n_turns
                axes.scatter(
                    x[class_rows],
                    y[class_rows],
                    zorder=zorder,
                    rasterized=True,
                    **_point_style(signs, k, is_small=uses_small_points),
                )


def _rows_of_turn(rows: Codes, turn: int, n_turns: int) -> Codes:
    """Select the rows of a class that are drawn in one of the turns; small classes are drawn in the last.

    Parameters
    ----------
    rows : (m,) int array
        Positions of the rows of the class.
    turn : int
        Number of the turn, from 0.
    n_turns : int
        Number of turns.

    Returns
    -------
    int array
        Positions of the rows to draw.
    """
    if len(rows) <= POINTS_PER_TURN:
        return rows if turn == n_turns - 1 else rows[:0]
    return rows[n_turns - 1 - turn :: n_turns]


def _draw_shades(axes: Axes, x: Floats, y: Floats, codes: Codes, colours: Sequence[str]) -> None:
    """Draw an image of small cells in the mixed colours of their rows, more opaque if there are more rows.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    x, y : (n,) float array
        Finite coordinates.
    codes : (n,) int array
        Class of each observation, 0 or more.
    colours : sequence of str
        Colour (K,) of each class.
    """
    from matplotlib.colors import to_rgb
    from matplotlib.image import AxesImage

    box = axes.get_window_extent()
    # Cells of two pixels at 100 dots per inch, independent of the resolution of the figure.
    n_columns, n_rows = (max(int(50 * side / axes.figure.dpi), 20) for side in (box.width, box.height))
    (x_min, x_max), (y_min, y_max) = ((float(v.min()), float(v.max())) for v in (x, y))
    width = (x_max - x_min) or 1.0
    height = (y_max - y_min) or 1.0
    column = np.minimum((x - x_min) / width * n_columns, n_columns - 1).astype(np.intp)
    row = np.minimum((y - y_min) / height * n_rows, n_rows - 1).astype(np.intp)
    k_classes = len(colours)
    counts = np.bincount(
        (row * n_columns + column) * k_classes + codes, minlength=n_rows * n_columns * k_classes
    )
    counts = counts.reshape(n_rows, n_columns, k_classes)
    total = counts.sum(axis=2)
    mixed_colours = (
        counts @ np.array([to_rgb(colour) for colour in colours]) / np.maximum(total, 1)[..., None]
    )
    strength = np.log1p(total) / np.log1p(total.max())
    alpha = np.where(total > 0, 0.3 + 0.65 * strength, 0.0)
    extent = (x_min, x_min + width, y_min, y_min + height)
    image = AxesImage(axes, origin="lower", extent=extent, interpolation="nearest", zorder=1.4)
    image.set_data(np.dstack([mixed_colours, alpha]))
    axes.add_image(image)
    axes.update_datalim([(x_min, y_min), (x_min + width, y_min + height)])
    axes.autoscale_view()


def _point_style(signs: Signs, k: int, *, is_small: bool) -> dict[str, Any]:
    """Return the keyword arguments of `scatter` for the points of class k: colour, marker, size, opacity."""
    size, alpha = (10, 0.5) if is_small else (22, 0.75)
    style: dict[str, Any] = {"color": signs.colour(k), "marker": signs.marker(k), "s": size}
    return style | {"alpha": adapted_opacity(alpha), "linewidths": 0}


def misclassified_style(signs: Signs, k: int, size: float) -> dict[str, Any]:
    """Return the keyword arguments of `scatter` for misclassified rows of class k: a hollow marker.

    The outline and shape of the marker are the sign of the class; `size` is its area in square points.
    """
    style: dict[str, Any] = {"marker": signs.marker(k), "s": size, "zorder": 2.0}
    return style | {"facecolors": paper(), "edgecolors": signs.colour(k), "linewidths": 0.9}


MAX_HOLLOW = 200
"""Largest number of misclassified rows of a class that are drawn if there are more than `MAX_POINTS` rows."""


def draw_misclassified(
    axes: Axes, points: Floats, codes: Codes, wrong_mask: NDArray[np.bool_], signs: Signs, size: float = 22
) -> None:
    """Draw misclassified rows as hollow markers, in the colour of their actual class.

    If there are more than `MAX_POINTS` rows, at most `MAX_HOLLOW` evenly spaced ones of each class are drawn.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    points : (n, 2) float array
        Coordinates of the observations.
    codes : (n,) int array
        Actual class of each observation, 0 or more for misclassified ones.
    wrong_mask : (n,) bool array
        Whether each observation is misclassified.
    signs : Signs
        Colours, markers and line styles of the classes.
    size : float
        Area of a marker in square points.
    """
    is_shaded = len(points) > MAX_POINTS
    for k in np.unique(codes[wrong_mask]).tolist():
        rows = np.flatnonzero(wrong_mask & (codes == k))
        rows = rows[:: -(-len(rows) // MAX_HOLLOW)] if is_shaded else rows
        artist = axes.scatter(*points[rows].T, rasterized=is_shaded, **misclassified_style(signs, k, size))
        ROWS_BY_ARTIST[artist] = rows, len(points)


def hollow_description(rows: int) -> str:
    """Return "misclassified", for a title, with `MAX_HOLLOW` if `draw_misclassified` limits `rows` rows."""
    return f"misclassified{f' (at most {MAX_HOLLOW} per class)' if rows > MAX_POINTS else ''}"


# ---- a line for each class


def draw_strips(
    axes: Axes,
    values: Floats,
    codes: Codes,
    classes: Sequence[Any],
    wrong_mask: NDArray[np.bool_] | None = None,
    signs: Signs = SIGNS,
) -> None:
    """Draw the values of each class on a line of its own, spread over the height of the line by rank.

    The line of class k is at the height k, the first at the top; the lines have the names of the classes.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    values : (n,) float array
        Horizontal positions; missing ones are not drawn.
    codes : (n,) int array
        Class of each observation, -1 for none. Observations without a class are not drawn.
    classes : sequence
        Labels (K,) of the lines from the top.
    wrong_mask : (n,) bool array, optional
        Misclassified rows, which are hollow.
    signs : Signs
        Colours, markers and line styles of the classes.

    Notes
    -----
    If a class has more than `MAX_IN_STRIP` rows, as many of evenly spaced ranks are drawn, with a note in the
    corner.
    """
    max_rows = 0
    uses_small_points = len(classes) > MAX_IN_LEGEND
    rasterized = len(values) > 5_000
    for k in range(len(classes)):
        rows = np.flatnonzero((codes == k) & np.isfinite(values))
        rows = rows[np.argsort(values[rows], kind="stable")]
        # Spread by rank, not at random: the picture is the same each time.
        heights = k + 0.7 * ((np.arange(len(rows)) + 0.5) / max(len(rows), 1) - 0.5)
        style = _point_style(signs, k, is_small=uses_small_points)
        drawn_index = np.arange(len(rows))
        if len(rows) > MAX_IN_STRIP:
            drawn_index = np.linspace(0, len(rows) - 1, MAX_IN_STRIP).round().astype(np.intp)
        is_wrong = (
            np.zeros(len(drawn_index), dtype=bool) if wrong_mask is None else wrong_mask[rows[drawn_index]]
        )
        index_and_style = [
            (drawn_index[~is_wrong], style),
            (drawn_index[is_wrong], misclassified_style(signs, k, style["s"])),
        ]
        for point_index, point_style in index_and_style[: 1 if wrong_mask is None else 2]:
            artist = axes.scatter(
                values[rows[point_index]], heights[point_index], rasterized=rasterized, **point_style
            )
            ROWS_BY_ARTIST[artist] = rows[point_index], len(values)
        max_rows = max(max_rows, len(rows))
    if max_rows > MAX_IN_STRIP:
        text = f"at most {MAX_IN_STRIP:,} observations per class are drawn"
        corner_coordinates: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        axes.annotate(text, (0, 0), (4, 4), fontsize="x-small", color=faint_ink(0.3), **corner_coordinates)
    name_lines(axes, classes)


def draw_strips_with_means(
    values: Floats,
    codes: Codes,
    classes: Sequence[Any],
    means: Floats,
    name: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw the values of each class as points on a line of its own, with a vertical bar at the class mean.

    Parameters
    ----------
    values : (n,) float array
        Values of one variable or score.
    codes : (n,) int array
        Class of each observation, -1 for none.
    classes : sequence
        Labels (K,).
    means : (K,) float array
        Class means of the values.
    name : str
        Name of the values, for the horizontal axis; matplotlib interprets "$".
    ax : Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    Axes
    """
    axes, _ = new_axes(ax, len(classes))
    draw_strips(axes, values, codes, classes)
    axes.vlines(means, np.arange(len(means)) - 0.42, np.arange(len(means)) + 0.42, color=ink(), zorder=3)
    axes.set_xlabel(name)
    return axes


def name_lines(axes: Axes, names: Sequence[Any], width: int = MAX_LABEL_WIDTH) -> None:
    """Write the names of horizontal lines at the left of the axes, from the top down.

    Line i is at the height i; the vertical limits are set to contain all lines. If there is not enough room,
    `thin_line_names` makes the names smaller and leaves some out with a note.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    names : sequence
        An empty name belongs to the line above.
    width : int
        Largest display width of a name.
    """
    LINE_NAMES[axes] = LineNames([shown_name(name, width) if name != "" else "" for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    thin_line_names(axes)


def write_next_to_lines(axes: Axes, texts: Iterable[str]) -> None:
    """Write text i to the right of the axes at the height i; none if they would take too much width."""
    annotation_options: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
    texts = list(texts)
    text_width = 0.0064 * font_points() * max(map(len, texts), default=0)
    if text_width > 0.8 * MAX_SIDE_WIDTH * axes.figure.bbox.width / axes.figure.dpi:
        return
    for i, text in enumerate(texts):
        axes.annotate(text, (1.02, i), va="center", fontsize="small", **annotation_options)


# ---- labels of classes and points

MIN_LABEL_SIZE = 5.0
"""Smallest font size in points of labels of classes."""


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnLabels:
    """Labels of classes on axes: the arguments of `draw_labels`, the artists, and the corners of the axes.

    Attributes
    ----------
    anchors, classes, size, obstacles
        Arguments of `draw_labels`.
    artists : sequence
        Texts and lines that were drawn.
    frame : (2, 2) float array
        Lower left and upper right corner of the axes in pixels.
    """

    anchors: Floats
    classes: Sequence[Any]
    size: Any
    obstacles: Sequence[Any]
    artists: Sequence[Any]
    frame: Floats


_DRAWN_LABELS: WeakKeyDictionary[Axes, _DrawnLabels] = WeakKeyDictionary()
"""Labels by axes."""


def reposition_labels(axes: Axes) -> None:
    """Place the labels that `draw_labels` has drawn again if the size of the axes has changed since then."""
    labels = _DRAWN_LABELS.get(axes)
    if labels is None or np.allclose(axes.get_window_extent().get_points(), labels.frame, atol=1.0):
        return
    for artist in labels.artists:
        artist.remove()
    draw_labels(axes, labels.anchors, labels.classes, labels.size, labels.obstacles)


def draw_labels(
    axes: Axes, anchors: Floats, classes: Sequence[Any], size: Any = "medium", obstacles: Sequence[Any] = ()
) -> None:
    """Draw labels of classes, moved apart if they would overlap each other or other texts.

    Labels that still overlap become smaller. A label that had to move far gets a line to its anchor. The
    limits and the surroundings of the axes have to be final; if their size changes nevertheless, call
    `reposition_labels`.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    anchors : (K, 2) float array
        Wanted centres of the labels in data coordinates. Labels of anchors outside the axes are invisible.
    classes : sequence
        Labels (K,).
    size : str or float
        Font size of matplotlib: a name or a number of points.
    obstacles : sequence of Text
        Other texts that the labels must not overlap.
    """
    import matplotlib as mpl
    from matplotlib.patheffects import Normal, Stroke

    run_layout(axes)
    anchor_pixels = axes.transData.transform(anchors)
    pixels_per_point = axes.figure.dpi / 72
    texts = []
    for (x, y), label in zip(anchors.tolist(), classes, strict=True):
        name = shown_name(label, 16)
        # Not every font has a bold face, and fallback fonts for other scripts would need one too.
        is_bold = name.isascii() and len(mpl.rcParams["font.family"]) == 1
        text_style: dict[str, Any] = {"fontsize": size, "fontweight": "bold" if is_bold else "normal"}
        text_style |= {"color": ink(), "ha": "center", "va": "center", "zorder": 6}
        text = axes.annotate(name, (x, y), (0, 0), textcoords="offset points", **text_style)
        # Drawn in two strokes, each of all letters: the halo of one does not cut into the next.
        text.set_path_effects([Stroke(linewidth=2.6, foreground=paper()), Normal()])
        text.set_clip_on(True)
        texts.append(text)
    frame = axes.get_window_extent().get_points()
    font_size = float(texts[0].get_fontsize()) if texts else MIN_LABEL_SIZE
    while True:
        boxes = [text.get_window_extent() for text in (*texts, *obstacles)]
        sizes = np.array([(box.width, box.height) for box in boxes]).reshape(-1, 2) + 2 * pixels_per_point
        fixed_centres = [(box.x0 + box.x1, box.y0 + box.y1) for box in boxes[len(texts) :]]
        fixed_boxes = np.array(fixed_centres).reshape(-1, 2) / 2
        label_pixels = _separate_boxes(
            np.vstack([anchor_pixels, fixed_boxes]), sizes, frame, len(fixed_boxes)
        )
        if font_size <= MIN_LABEL_SIZE or not _has_overlap(label_pixels, sizes):
            break
        font_size = max(0.85 * font_size, MIN_LABEL_SIZE)
        for text in texts:
            text.set_fontsize(font_size)
    artists: list[Any] = [*texts]
    for text, anchor, target, extent in zip(texts, anchor_pixels, label_pixels, sizes, strict=False):
        shift = target - anchor
        text.set_position(tuple((shift / pixels_per_point).tolist()))
        if (np.abs(shift) > 0.8 * extent).any():
            line = np.array([axes.transData.inverted().transform(target), text.xy]).T
            line_style: dict[str, Any] = {"color": faint_ink(0.35), "linewidth": 0.7, "zorder": 5}
            artists += axes.plot(*line, scalex=False, scaley=False, **line_style)
    _DRAWN_LABELS[axes] = _DrawnLabels(anchors, classes, size, obstacles, artists, frame)


def name_points(axes: Axes, points: Floats, order: Sequence[int], names: Sequence[str]) -> int:
    """Write names next to points, in order, if they overlap neither points nor earlier names.

    Parameters
    ----------
    axes : Axes
        Axes to draw on, laid out, with final limits.
    points : (n, 2) float array
        Places of all points in pixels of the figure.
    order : sequence of int
        Points to name, the most important first. A point without a free place gets no name.
    names : sequence of str
        Names (n,) of all points, as matplotlib shows them; see `shown_name`.

    Returns
    -------
    int
        Number of names written.
    """
    pixels_per_point = axes.figure.dpi / 72
    frame = axes.get_window_extent()
    margin = 5 * pixels_per_point
    occupied_boxes: list[Any] = []
    for i in order:
        for side, up in ((1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1.6), (0, -1.6)):
            offset = (5.0 * side, 5.0 * up)
            text_style: dict[str, Any] = {"fontsize": 7, "textcoords": "offset points", "zorder": 3}
            text_style["ha"] = {1: "left", -1: "right", 0: "center"}[side]
            text_style["va"] = "center" if not up else "bottom" if up > 0 else "top"
            data_point = axes.transData.inverted().transform(points[i])
            text = axes.annotate(names[i], tuple(data_point.tolist()), offset, **text_style)
            box = text.get_window_extent()
            is_inside = frame.x0 < box.x0 and box.x1 < frame.x1 and frame.y0 < box.y0 and box.y1 < frame.y1
            # Marks have a radius of some two points.
            is_free = not box.padded(0.4 * margin).count_contains(points) and not box.count_overlaps(
                occupied_boxes
            )
            if is_inside and is_free:
                occupied_boxes.append(box)
                break
            text.remove()
    return len(occupied_boxes)


def _has_overlap(centres: Floats, sizes: Floats) -> bool:
    """Return whether any two boxes with centres (n, 2) and sizes (n, 2) overlap by more than 1 %."""
    overlaps = (np.abs(centres[:, None] - centres) < 0.99 * (sizes[:, None] + sizes) / 2).all(axis=2)
    return bool(np.triu(overlaps, 1).any())


def _separate_boxes(anchors: Floats, sizes: Floats, frame: Floats, n_fixed: int = 0) -> Floats:
    """Move boxes apart until they do not overlap.

    From the middle outwards, each movable box is placed at the free place nearest to its wanted centre, on
    rings around it. Places outside the axes are not free.

    Parameters
    ----------
    anchors : (K, 2) float array
        Wanted centres in pixels.
    sizes : (K, 2) float array
        Widths and heights in pixels.
    frame : (2, 2) float array
        Lower left and upper right corner of the axes in pixels.
    n_fixed : int
        Number of boxes at the end that do not move.

    Returns
    -------
    (K, 2) float array
        Centres in pixels; a box for which no place is free keeps its wanted centre.
    """
    centres = anchors.copy()
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    rings = np.column_stack([np.cos(angles), np.sin(angles)])
    n_movable = len(anchors) - n_fixed
    mean_anchor = anchors[:n_movable].mean(axis=0) if n_movable else anchors
    placed = list(range(n_movable, len(anchors)))
    for k in np.argsort(np.hypot(*(anchors[:n_movable] - mean_anchor).T), kind="stable").tolist():
        step = 0.55 * sizes[k, 1]
        radii = step * np.arange(1, 25)
        candidates = anchors[k] + np.vstack([np.zeros((1, 2)), (radii[:, None, None] * rings).reshape(-1, 2)])
        half_size = sizes[k] / 2
        is_inside = ((candidates - half_size >= frame[0]) & (candidates + half_size <= frame[1])).all(axis=1)
        min_distances = (sizes[placed] + sizes[k]) / 2
        overlaps = (np.abs(candidates[:, None] - centres[placed]) < min_distances).all(axis=2).any(axis=1)
        free_index = np.flatnonzero(~overlaps & is_inside)
        # A label whose place is outside the frame stays there, invisible; a place on the edge is inside.
        if len(free_index) and ((anchors[k] >= frame[0] - 1) & (anchors[k] <= frame[1] + 1)).all():
            centres[k] = candidates[free_index[0]]
        placed.append(k)
    return centres


MAX_VECTOR_POINTS = 8_000
"""Largest number of points of a vector graphic; browsers draw larger ones slowly."""

MAX_SVG_LENGTH = 600_000
"""Largest number of characters of an SVG before it is shortened; longer ones become bitmaps."""

BITMAP_DPI = 160
"""Resolution in dots per inch of bitmaps of many points."""


MISSING_GLYPH = re.compile(r"Glyph (\d+) .* missing from")
"""Pattern of matplotlib's warning for a missing glyph, which is issued at each drawing."""


class Colours(NamedTuple):
    """Colours of a page as #rrggbb.

    `ink` is the colour of text on the background `paper`, with a contrast of at least 12:1. `faint` is for
    captions and notes, with a contrast of at least 7:1, `line` for rules and frames, `panel` for the
    background of code, `link` for links. Paper is never pure white, because #ffffff stays white in dark mode.
    """

    paper: str
    ink: str
    faint: str
    line: str
    panel: str
    link: str


LIGHT = Colours("#fefefe", "#1b1e23", "#4b525c", "#b9c0ca", "#f3f5f8", "#0b57a4")
DARK = Colours("#15181d", "#e8ebf0", "#b4bcc8", "#4a525e", "#1f242b", "#8fc1ff")
"""Colours of a page in light and in dark mode."""


class Image(NamedTuple):
    """A picture for a page, as an SVG element or as the data: address of a bitmap.

    Attributes
    ----------
    light : str
        Picture for light mode, or for both if `dark` is empty.
    dark : str
        Picture for dark mode, or empty.
    width, height : int
        Size in pixels of the page.
    """

    light: str
    dark: str
    width: int
    height: int


def image_of(draw: Callable[[], Axes], name: str = "g0", tooltips: Sequence[str] = ()) -> Image:
    """Draw a picture for light and dark mode, and close its figure.

    The picture is drawn once if all of its colours are colours of classes, ink, paper or their mixtures, and
    otherwise once for each mode. Warnings are issued once.

    Parameters
    ----------
    draw : callable
        Function without arguments that draws on new axes and returns them.
    name : str
        Prefix of the ids in the SVG, unique in the page.
    tooltips : sequence of str
        Tooltips in HTML of n rows, inserted as they are. Points get them if they were drawn from n rows.

    Returns
    -------
    Image
        SVG elements, or the data: addresses of PNG bitmaps if there are many points.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        light_picture, area, has_dark_colours = _draw_in_colours(draw, LIGHT, len(tooltips))
        dark_picture = light_picture if has_dark_colours else _draw_in_colours(draw, DARK, len(tooltips))[0]
    _issue_warnings(caught)
    size = [round(96 * inches) for inches in area[2:]]
    if isinstance(light_picture, str) and isinstance(dark_picture, str):
        dark_colours = (
            [dark_colour(colour) or colour for colour in COLOUR.findall(light_picture)]
            if has_dark_colours
            else COLOUR.findall(dark_picture)
        )
        colourless = (
            [light_picture]
            if has_dark_colours
            else {_shorten_svg(COLOUR.sub("#", text), area, name) for text in (light_picture, dark_picture)}
        )
        if len(colourless) == 1:
            combined = _shorten_svg(combine_modes(light_picture, dark_colours, name), area, name)
            return Image(_fill_tooltips(combined, tooltips), "", *size)
    light = _image_source(light_picture, area, name)
    dark = _image_source(dark_picture, area, f"{name}n")
    return Image(_fill_tooltips(light, tooltips), _fill_tooltips(dark, tooltips), *size)


TOOLTIP = "<title>{}</title>"
"""Template of a tooltip: an element of an SVG, at first with the position of a row, then with its tooltip."""


def _fill_tooltips(text: str, tooltips: Sequence[str]) -> str:
    """Replace row positions in the <title> elements of an SVG by the tooltips (n,) of the rows.

    Tooltips are HTML and are inserted without escaping. Without tooltips the text is returned unchanged.
    """
    pattern = TOOLTIP.format(r"(\d+)")
    return re.sub(pattern, lambda match: TOOLTIP.format(tooltips[int(match[1])]), text) if tooltips else text


def _add_tooltips(text: str, artists: Mapping[str, Any], figure: Any) -> str:
    """Add a tooltip with the position of its row to each point of an SVG.

    Parameters
    ----------
    text : str
        The SVG, as matplotlib has written it.
    artists : mapping of str to PathCollection
        Points by the id of their group in the SVG; their rows are in `ROWS_BY_ARTIST`.
    figure : Figure
        The figure of the SVG.

    Returns
    -------
    str
    """
    for name, artist in artists.items():
        point_positions = artist.get_offset_transform().transform(artist.get_offsets())
        point_positions = (
            np.column_stack([point_positions[:, 0], figure.bbox.height - point_positions[:, 1]])
            * 72
            / figure.dpi
        )
        # matplotlib does not write points outside the figure, but keeps the order of the others.
        is_written = (point_positions >= 0).all(axis=1) & (
            point_positions <= 72 * figure.get_size_inches()
        ).all(axis=1)
        remaining_rows = list(
            zip(
                ROWS_BY_ARTIST[artist][0][is_written].tolist(),
                point_positions[is_written].tolist(),
                strict=True,
            )
        )[::-1]
        group = re.search(rf'<g id="{name}">.*?</g>\s*</g>', text, re.DOTALL)
        fragments = re.split("(<use [^>]*)/>", group[0]) if group else [""]
        for i in range(1, len(fragments), 2):
            position = [float(side) for side in re.findall(' [xy]="([^"]*)"', fragments[i])]
            is_next = bool(remaining_rows) and np.allclose(position, remaining_rows[-1][1], rtol=0, atol=0.01)
            fragments[i] += f">{TOOLTIP.format(remaining_rows.pop()[0])}</use>" if is_next else "/>"
        text = text.replace(group[0], "".join(fragments)) if group else text
    return text


def _image_source(picture: str | bytes, area: Area, name: str) -> str:
    """Return a picture for a page: an SVG (str) is shortened by `_shorten_svg`, a PNG becomes a data: URL.

    Parameters
    ----------
    picture : str or bytes
        SVG or PNG.
    area : sequence of float
        Visible area of an SVG in inches, see `Area`; ignored for a PNG.
    name : str
        Id of an SVG, and prefix of the ids in it.

    Returns
    -------
    str
    """
    if isinstance(picture, str):
        return _shorten_svg(picture, area, name)
    return f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"


COLOUR = re.compile("#[0-9a-f]{6}")
"""A colour as matplotlib writes it."""


def combine_modes(picture: str, dark_colours: Sequence[str], name: str) -> str:
    """Combine the light and dark version of an SVG: each colour that differs becomes a CSS variable.

    Parameters
    ----------
    picture : str
        The SVG in light mode.
    dark_colours : sequence of str
        Dark version of each match of `COLOUR` in `picture`, in order.
    name : str
        Id that the SVG will have.

    Returns
    -------
    str
    """
    pairs = list(zip(COLOUR.findall(picture), dark_colours, strict=True))
    names = {pair: f"--c{i}" for i, pair in enumerate(dict.fromkeys(pairs)) if pair[0] != pair[1]}
    css_colours = (f"var({names[pair]})" if pair in names else pair[0] for pair in pairs)
    text = COLOUR.sub(lambda _: next(css_colours), picture)
    light_rule, dark_rule = (
        f"#{name}{{{';'.join(f'{variable}:{pair[i]}' for pair, variable in names.items())}}}"
        for i in range(2)
    )
    text = IMAGE_TAG.sub(partial(_duplicate_bitmap, name), text)
    if f'"{name}night"' in text:
        light_rule += f".{name}night{{display:none}}"
        dark_rule += f".{name}night{{display:inline}}.{name}day{{display:none}}"
    style = f"{light_rule}@media screen and (prefers-color-scheme:dark){{{dark_rule}}}"
    return text.replace("</style>", f"{style}</style>", 1)


def _duplicate_bitmap(name: str, match: re.Match[str]) -> str:
    """Duplicate an embedded bitmap for dark mode, with dark ink, if it contains the light-mode ink.

    Parameters
    ----------
    name : str
        Id of the SVG, prefix of the CSS classes of the two bitmaps.
    match : re.Match
        Match of `IMAGE_TAG`: the beginning of the element, the PNG in base64 and the end.

    Returns
    -------
    str
        SVG of the unchanged bitmap, or of both, which CSS shows by the classes "<name>day" and "<name>night".
    """
    from PIL import Image as Cells

    start, address, end = match.groups()
    cells = np.array(Cells.open(io.BytesIO(base64.b64decode(address))).convert("RGBA"))
    is_ink = (cells[..., :3] == _rgb(LIGHT.ink)).all(axis=-1)
    if not is_ink.any():
        return match[0]
    cells[is_ink, :3] = _rgb(DARK.ink)
    file = io.BytesIO()
    Cells.fromarray(cells).save(file, format="png")
    night = base64.b64encode(file.getvalue()).decode("ascii")
    pair = (("day", address), ("night", night))
    return "".join(f'<g class="{name}{mode}">{start}{data}{end}</g>' for mode, data in pair)


@lru_cache
def _dark_outlines() -> dict[str, str]:
    """Return the outline colour of each class on dark paper by its outline colour on light paper."""
    light, dark = (
        [outline_colour(visible_colour(page.paper, colour), page.ink, page.paper) for colour in CLASS_COLOURS]
        for page in (LIGHT, DARK)
    )
    return dict(zip(light, dark, strict=True))


@lru_cache(maxsize=4096)
def dark_colour(colour: str) -> str | None:
    """Return the dark-mode version of a colour "#rrggbb", or None if it is not a colour of the style.

    Colours of the style are ink, paper, lines, outlines, class colours and white, which does not change. The
    black of numbers in cells becomes white. A mixture of ink or a class colour with paper becomes the mixture
    of the dark-mode colours in the same proportions.
    """
    if colour in CLASS_COLOURS:
        return visible_colour(DARK.paper, colour)
    if colour in _dark_outlines():
        return _dark_outlines()[colour]
    if colour == "#ffffff":
        return colour
    if colour == LIGHT.line:
        return DARK.line
    if colour == "#010101":
        # Black numbers are on light cells, which are dark in dark mode.
        return "#ffffff"
    rgb, light_paper, dark_paper = map(_rgb, (colour, LIGHT.paper, DARK.paper))
    inks = [
        (LIGHT.ink, DARK.ink),
        *((class_colour, visible_colour(DARK.paper, class_colour)) for class_colour in CLASS_COLOURS),
    ]
    for light_rgb, dark_rgb in ((_rgb(light_ink), _rgb(dark_ink)) for light_ink, dark_ink in inks):
        ink_to_paper = light_paper - light_rgb
        paper_share = float((rgb - light_rgb) @ ink_to_paper / (ink_to_paper @ ink_to_paper))
        if np.abs(light_rgb + paper_share * ink_to_paper - rgb).max() <= 1:
            mixed = np.clip(np.round(dark_rgb + paper_share * (dark_paper - dark_rgb)), 0, 255)
            return "#" + "".join(f"{int(channel):02x}" for channel in mixed)
    return None


def _rgb(colour: str) -> Floats:
    """Return the components (3,) of a colour #rrggbb, from 0 to 255."""
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64)


CLASS_COLOURS = tuple(colour.lower() for colour in COLOURS if colour != "ink")
"""Default colours of classes on light paper as #rrggbb."""


def _issue_warnings(caught: Iterable[warnings.WarningMessage]) -> None:
    """Issue each warning once, except those for missing glyphs, which `fonts_for` has reported."""
    reported = set()
    for warning in caught:
        text = str(warning.message)
        if text not in reported and not MISSING_GLYPH.match(text):
            reported.add(text)
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


Area = Sequence[float]
"""Left, top, width and height in inches of the visible area."""


def png_of(draw: Callable[[], Axes], dpi: int = DPI) -> bytes:
    """Draw a picture as a PNG in light colours, and close its figure."""
    file = io.BytesIO()
    with _drawn_axes(draw, LIGHT) as axes:
        figure: Any = axes.figure
        figure.savefig(file, format="png", dpi=dpi, bbox_inches="tight")
    return file.getvalue()


PREVIEW_DPI = 80
"""Resolution of `preview_of` in dots per inch, for which its pictures have the size of a cell's output."""

MAX_PREVIEW_BYTES = 40_000
"""Size above which a preview gets fewer colours: notebooks store it, with a third more characters."""


def preview_of(draw: Callable[[], Axes]) -> str:
    """Draw a picture as a small PNG of up to 256 colours, and close its figure; warnings are not issued.

    Returns its data: address.
    """
    from PIL import Image as Cells

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        picture = Cells.open(io.BytesIO(png_of(draw, PREVIEW_DPI))).convert("RGB")
    png = b""
    for n_colours in (256, 64):
        file = io.BytesIO()
        picture.quantize(n_colours).save(file, format="png", optimize=True)
        png = file.getvalue()
        if len(png) <= MAX_PREVIEW_BYTES:
            break
    return _image_source(png, (), "")


def _draw_in_colours(
    draw: Callable[[], Axes], colours: Colours, n_rows: int = 0
) -> tuple[str | bytes, Area, bool]:
    """Draw a picture in the colours of a page, and close its figure.

    Parameters
    ----------
    draw : callable
        Function without arguments that draws on new axes and returns them.
    colours : Colours
    n_rows : int
        Number of rows that have tooltips. Points that were drawn from as many rows get the positions of their
        rows as tooltips, which `_fill_tooltips` replaces.

    Returns
    -------
    picture : str or bytes
        An SVG, or a PNG if there are many points.
    area : sequence of float
        Visible area in inches, see `Area`.
    has_dark_colours : bool
        Whether all colours have a dark version, see `_all_have_dark_colours`; False for a PNG.
    """
    with _drawn_axes(draw, colours) as axes:
        return _write_picture(axes, n_rows)


@contextmanager
def _drawn_axes(draw: Callable[[], Axes], colours: Colours) -> Iterator[Axes]:
    """Draw without a display in the colours of a page, yield the axes, and close the figure at the end."""
    import matplotlib.pyplot as plt

    # Load the backend of a notebook before the context, which would undo its settings at the end.
    backend: Any = plt
    backend.draw_if_interactive()
    with plt.rc_context(_matplotlib_settings(colours)), plt.ioff():
        unbounded = UNBOUNDED.set(True)
        open_figures = plt.get_fignums()
        try:
            axes = draw()
        except BaseException:
            # A notebook would show the incomplete figure.
            for number in set(plt.get_fignums()).difference(open_figures):
                plt.close(number)
            raise
        finally:
            UNBOUNDED.reset(unbounded)
        figure: Any = axes.figure
        try:
            yield axes
        finally:
            plt.close(figure)


def _matplotlib_settings(colours: Colours) -> Any:
    """Return the matplotlib settings (rcParams) for the colours of a page and reproducible SVG."""
    inks = "text.color axes.edgecolor axes.labelcolor axes.titlecolor xtick.color ytick.color"
    papers = "figure.facecolor axes.facecolor savefig.facecolor savefig.edgecolor figure.edgecolor"
    return {
        **dict.fromkeys(inks.split(), colours.ink),
        **dict.fromkeys(papers.split(), colours.paper),
        "xtick.labelcolor": "inherit",
        "ytick.labelcolor": "inherit",
        "legend.facecolor": "inherit",
        "legend.edgecolor": colours.line,
        "legend.labelcolor": None,
        "grid.color": colours.line,
        "patch.edgecolor": colours.ink,
        "hatch.color": colours.ink,
        # Text is drawn as outlines, because text of the user must not be mistaken for SVG markup.
        "svg.fonttype": "path",
        # Makes the bytes of the file reproducible.
        "svg.hashsalt": "discrim",
    }


def _write_picture(axes: Axes, n_rows: int) -> tuple[str | bytes, Area, bool]:
    """Write a figure as an SVG, or as a PNG if it has many points; see `_draw_in_colours`."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.collections import PathCollection

    figure: Any = axes.figure
    run_layout(axes)
    # The layout is final; without this it would be computed again at each drawing.
    figure.set_layout_engine("none")
    box = figure.get_tightbbox().padded(PICTURE_MARGIN)
    _fix_title_positions(figure)
    area = box.x0, figure.get_figheight() - box.y1, box.width, box.height
    if _count_points(figure) <= MAX_VECTOR_POINTS:
        buffer = io.BytesIO()
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        dpi = figure.dpi
        row_artists = [
            artist
            for artist in figure.findobj(PathCollection)
            if artist in ROWS_BY_ARTIST and ROWS_BY_ARTIST[artist][1] == n_rows
        ]
        artists = {f"rows{i}": artist for i, artist in enumerate(row_artists)}
        for name, artist in artists.items():
            artist.set_gid(name)
        # matplotlib lacks type annotations for this class.
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(buffer, metadata=metadata)
        figure.dpi = dpi
        text = buffer.getvalue().decode("utf-8")
        if len(text) <= MAX_SVG_LENGTH:
            return _add_tooltips(text, artists, figure), area, _all_have_dark_colours(text, figure)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches=box, dpi=BITMAP_DPI, metadata={"Software": None})
    return buffer.getvalue(), area, False


def _fix_title_positions(figure: Any) -> None:
    """Fix the positions of titles and labels, because computing them again takes an eighth of the time."""
    for axes in (inner_axes for outer in figure.axes for inner_axes in (outer, *outer.child_axes)):
        title = axes.title
        title_style = {"fontsize": title.get_fontsize(), "color": title.get_color()}
        axes.set_title(title.get_text(), y=title.get_position()[1], **title_style)
        for axis in (axes.xaxis, axes.yaxis):
            position = axis.label.get_transform().transform(axis.label.get_position())
            axis.set_label_coords(*axes.transAxes.inverted().transform(position))


def _all_have_dark_colours(text: str, figure: Any) -> bool:
    """Return whether all colours of an SVG, and of the images in its figure, have a dark version.

    Pixels of images must have unmixed colours of classes or ink. Images with a colormap lack a dark version.
    """
    from matplotlib.image import AxesImage

    cells = [np.asarray(image.get_array()) for image in figure.findobj(AxesImage)]
    shades = [
        cell_colours
        for cell_colours in cells
        if cell_colours.shape[2:] == (4,) and cell_colours.dtype == np.float64
    ]
    classes = [int(colour[1:], 16) for colour in (*CLASS_COLOURS, LIGHT.ink)]
    codes = [
        np.round(255 * cell_colours[cell_colours[..., 3] > 0, :3]) @ [65536, 256, 1]
        for cell_colours in shades
    ]
    all_class_colours = all(np.isin(cell_colours, classes).all() for cell_colours in codes)
    all_have_dark = all(dark_colour(colour) for colour in set(COLOUR.findall(text)))
    return all_class_colours and all_have_dark and text.count("<image") == len(shades)


PICTURE_MARGIN = 0.1
"""Margin around a picture in inches."""

# Patterns of the elements and attributes of an SVG of matplotlib that are shortened, removed or replaced.
PROLOGUE = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)
IMAGE_TAG = re.compile('(<image xlink:href="data:image/png;base64,)([^"]*)("[^>]*>)')
IMAGE = re.compile('"data:[^"]*"')
NUMBER = re.compile(r"-?\d*\.\d+")
NAME = re.compile(' id="([^"]*)"')
REFERENCE = re.compile(r"""(href="#|url\(#)([^")]+)""")
GLYPH = re.compile(r'( d="[^"]*" transform=")scale\(0\.015625\)')
INTEGER = re.compile(r"-?\d+(?:\.\d+)?")
PATH = re.compile(' d="[^"]*"')
STYLE = re.compile(' style="([^"]*)"')


def _shorten_svg(text: str, area: Area, name: str) -> str:
    """Shorten an SVG of matplotlib to an element for an HTML page, and crop it.

    Lengths are rounded to about a twentieth of a point. Each style is stored once, as a class. Ids become
    short names with a common prefix; ids without references are removed. Quotation marks become apostrophes.

    Parameters
    ----------
    text : str
        The SVG.
    area : sequence of float
        Visible area in inches, see `Area`.
    name : str
        Id of the SVG, and prefix of ids and classes.

    Returns
    -------
    str
    """
    x_min, y_min, width, height = (f"{72 * side:.2f}" for side in area)
    header = f'xmlns="http://www.w3.org/2000/svg" id="{name}"'
    header += f' width="{width}pt" height="{height}pt" viewBox="{x_min} {y_min} {width} {height}"'
    text = re.sub("<svg[^>]*>", f"<svg {header}>", PROLOGUE.sub("", text), count=1)
    images = IMAGE.findall(text)
    # Coordinates of glyphs are in units of 1/6400 of the font size, more than necessary.
    text = GLYPH.sub(lambda match: f"{INTEGER.sub(_divide_by_16, match[1])}scale(0.25)", text)
    text = NUMBER.sub(_round_number, IMAGE.sub('"data:"', text.replace("xlink:href", "href")))
    text = PATH.sub(lambda match: re.sub(r"\s*([MLCQZz])\s*", r"\1", match[0]), text)
    names = {
        identifier: f"{name}p{i}" for i, (_, identifier) in enumerate(dict.fromkeys(REFERENCE.findall(text)))
    }
    # The style sheet of the colours refers to the root element.
    names[name] = name
    text = NAME.sub(lambda match: f' id="{names[match[1]]}"' if match[1] in names else "", text)
    text = REFERENCE.sub(lambda match: match[1] + names[match[2]], text)
    styles = {style: f"{name}s{i}" for i, style in enumerate(dict.fromkeys(STYLE.findall(text)))}
    text = STYLE.sub(lambda match: f' class="{styles[match[1]]}"', text)
    rules = "".join(f".{identifier}{{{style}}}" for style, identifier in styles.items()).replace(": ", ":")
    # The first rule applies to each shape; on the root element, shapes would inherit it through <use>.
    text = re.sub(r">\s+<", "><", text.replace("</style>", f"{rules}</style>", 1))
    for image in images:
        text = text.replace('"data:"', image, 1)
    return text.replace('"', "'").strip()


def _divide_by_16(match: re.Match[str]) -> str:
    """Divide a matched number of an SVG by 16, and return its text rounded to an integer."""
    return str(round(float(match[0]) / 16))


def _round_number(match: re.Match[str]) -> str:
    """Return the rounded text of a matched number of an SVG, without trailing zeros.

    Numbers above 10 in absolute value have at most one decimal, others above 1 two, and smaller ones four.
    """
    number = float(match[0])
    digits = 1 if abs(number) > 10 else 2 if abs(number) > 1 else 4
    return f"{number:.{digits}f}".rstrip("0").rstrip(".")


def _count_points(figure: Any) -> int:
    """Count the points and vertices of the vector artists of a figure."""
    count = 0
    for artist in figure.findobj(lambda artist: not artist.get_rasterized()):
        if hasattr(artist, "get_offsets"):
            count += len(artist.get_offsets())
        if hasattr(artist, "get_coordinates"):
            count += artist.get_coordinates().size // 2
        elif hasattr(artist, "get_paths"):
            count += sum(len(path.vertices) for path in artist.get_paths())
        elif hasattr(artist, "get_xdata"):
            count += len(artist.get_xdata())
    return count
