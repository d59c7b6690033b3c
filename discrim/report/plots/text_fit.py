"""Fit the texts of a finished plot into their space: names, legend, labels and title.

`fit_texts` wraps, cuts, rotates, shrinks or moves texts that are too long. Names without space are left out,
with a note of how many are written.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from discrim.core.numerics.arrays import Floats
from discrim.report.grid import display_width
from discrim.report.plots.style import (
    MAX_IN_LEGEND,
    MAX_SIDE_WIDTH,
    MIN_CHARACTERS,
    UNBOUNDED,
    faint_ink,
    font_points,
    run_layout,
    shown_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

MAX_LEGEND_HEIGHT = 0.3
"""Largest share of the height of a given figure for a legend below the axes."""

MAX_UPRIGHT_HEIGHT = 0.3
"""Largest share of the height of a figure for upright names of columns."""


def fit_texts(axes: Axes, is_new: bool) -> None:
    """Make room for names, legend, labels and title of a finished plot.

    If the axes are alone in their figure, a legend that covers marks or leaves the axes too little space
    moves below them, and a new figure grows accordingly. Names of lines that take too much of the width are
    cut, names of columns that overlap are set upright, and titles and labels are wrapped between words.

    Parameters
    ----------
    axes : Axes
        Axes of the plot; its `child_axes` are included.
    is_new : bool
        Whether the figure is new, and may grow; a figure of the user keeps its size.
    """
    all_axes: list[Any] = [axes, *axes.child_axes]
    # Twin axes have the same SubplotSpec and count once.
    specs = {inner_axes.get_subplotspec() for inner_axes in axes.figure.axes} - {None}
    is_alone = len(specs) == 1 and axes.figure.get_layout_engine() is not None
    legends_below: list[Any] = []
    # Each change alters the room for the other texts, hence the iteration.
    for _ in range(8):
        run_layout(axes)
        moved_legends = [
            inner_axes for inner_axes in all_axes if is_alone and _move_legend_below(inner_axes, axes, is_new)
        ]
        legends_below += moved_legends
        if not is_alone:
            moved_legends = [inner_axes for inner_axes in all_axes if _shrink_legend(inner_axes)]
        changed = (
            [True] if moved_legends else [_fit_names(inner_axes, axes, is_alone) for inner_axes in all_axes]
        )
        if not any(changed) and not _wrap_text(axes.title, axes, 0, is_alone and len(axes.figure.axes) == 1):
            break
        for inner_axes in legends_below:
            _place_legend_below(inner_axes.get_legend(), axes)


def _fit_names(axes: Any, outer: Axes, is_alone: bool) -> bool:
    """Cut, rotate or wrap the names of lines and columns and the labels of axes.

    Parameters
    ----------
    axes, outer : Axes
        The axes, and those that contain them, which may be the same.
    is_alone : bool
        Whether the outer axes are alone in their figure, so that labels may extend outside their sides.

    Returns
    -------
    bool
        Whether anything has changed.
    """
    changed = [thin_line_names(axes) or _shorten_names(axes) or _rotate_names(axes)]
    outer_width = outer.get_window_extent().width
    can_extend = is_alone and (axes is outer or axes.get_window_extent().width > 0.9 * outer_width)
    max_lines = None if can_extend or axes is outer else 2
    changed += [_wrap_text(axes.xaxis.label, axes, 0, can_extend, max_lines)]
    changed += [_wrap_text(axes.yaxis.label, axes, 1, is_alone and axes is outer, max_lines)]
    return any(changed) or (
        axes is not outer and _wrap_text(axes.title, axes, 0, is_alone=False, max_lines=1)
    )


def _wrap_text(text: Text, axes: Axes, direction: int, is_alone: bool, max_lines: int | None = None) -> bool:
    """Wrap a text between words if it is longer than its space.

    The space is the side of the axes or, if they are alone in their figure, extends to the edges of the
    figure.

    Parameters
    ----------
    text : Text
        Text of the axes, changed in place.
    axes : Axes
        The axes that the text belongs to.
    direction : {0, 1}
        0 for a horizontal text, 1 for a vertical one.
    is_alone : bool
        Whether the text may extend to the edges of the figure.
    max_lines : int, optional
        Largest number of lines; if it is 1, the text is made smaller and cut, not wrapped. By default the
        number is unlimited.

    Returns
    -------
    bool
        Whether the text or its size has changed.
    """
    full_text = text.get_text()
    is_cut = max_lines == 1

    def text_extent() -> float:
        """Return the current length of the text in its direction in pixels."""
        return float(text.get_window_extent().size[direction])

    figure = axes.figure.bbox
    box = axes.get_window_extent()
    available = (1.2 if UNBOUNDED.get() and not is_cut else 1.0) * box.size[direction]
    if is_alone:
        centre = (box.min[direction] + box.max[direction]) / 2
        available = 1.96 * min(centre - figure.min[direction], figure.max[direction] - centre)
        title = axes.title.get_window_extent()
        if direction and axes.title.get_text() and title.x0 < text.get_window_extent().x1:
            # The title is above the label, which must end below it.
            available = min(available, 1.96 * (title.y0 - centre))
    if not full_text or text_extent() <= available:
        return False
    size = float(text.get_fontsize())
    min_size = min(size, 0.7 * font_points())
    if is_cut:
        text.set_fontsize(max(size * max(0.75, available / text_extent()), min_size))
    lines = []
    for line in full_text.split("\n"):
        text.set_text(line)
        line_extent = text_extent()
        # Lines of about equal length, otherwise the last may be a single word.
        equal_length = len(line) // math.ceil(line_extent / (0.97 * available)) + 6 if line_extent else 0
        max_characters = max(
            min(int(0.97 * len(line) * available / max(line_extent, 1.0)), equal_length), MIN_CHARACTERS
        )
        if line_extent <= 1.02 * available:
            lines.append(line)
        elif is_cut:
            lines.append(shown_name(line.replace(r"\$", "$"), max_characters))
        else:
            wrap_options: dict[str, Any] = {"max_lines": max_lines, "placeholder": "…"}
            # Do not break hyphenated terms such as "leave-one-out".
            wrap_options |= {"break_long_words": False, "break_on_hyphens": False}
            lines += textwrap.wrap(line, max_characters, **wrap_options)
    text.set_text("\n".join(lines))
    text.set_fontsize(max(float(text.get_fontsize()) * min(1.0, available / text_extent()), min_size))
    return text.get_text() != full_text or float(text.get_fontsize()) != size


MIN_NAME_SIZE = 5.0
"""Smallest font size in points of names of lines."""

NAME_SPACING = 1.2
"""Smallest distance between names of lines, in font sizes."""


@dataclass
class LineNames:
    """Names of the lines of axes, as they are written.

    Attributes
    ----------
    names : list of str
        Names of lines 0, 1, ...; an empty name belongs to the line above.
    shown_lines : list of int
        Lines whose names are written; empty before `thin_line_names` has written any.
    size : float
        Font size of the names in points; 0 before they are written.
    note : Text, optional
        Note of how many names are written, if not all are.
    """

    names: list[str]
    shown_lines: list[int] = field(default_factory=list)
    size: float = 0.0
    note: Any = None


LINE_NAMES: WeakKeyDictionary[Axes, LineNames] = WeakKeyDictionary()
"""Names of lines by axes."""


def thin_line_names(axes: Any) -> bool:
    """Make the names of `LINE_NAMES` smaller, and leave some out with a note, if they do not fit the axes.

    The last name is always written, because it may be the pooled covariance. Names never grow again. Return
    whether anything has changed; False for axes that are not in `LINE_NAMES`.
    """
    lines = LINE_NAMES.get(axes)
    if lines is None:
        return False
    named_lines = [i for i, name in enumerate(lines.names) if name]
    ends = axes.transData.transform([[0.0, 0.0], [0.0, 1.0]])[:, 1]
    spacing = float(abs(ends[1] - ends[0])) * 72 / axes.figure.dpi
    min_distance = spacing * float(np.diff(named_lines).min(initial=len(lines.names)))
    normal_size = font_points() * (0.833 if len(named_lines) > MAX_IN_LEGEND else 1.0)
    size = round(float(np.clip(min_distance / NAME_SPACING, min(MIN_NAME_SIZE, normal_size), normal_size)), 1)
    # Smaller names leave more room for the axes. If they grew again, the iteration would not converge.
    size = min(size, lines.size or size)
    shown_lines: list[int] = []
    for i in named_lines[::-1]:
        if not shown_lines or (shown_lines[-1] - i) * spacing >= 0.98 * NAME_SPACING * size:
            shown_lines.append(i)
    shown_lines = (
        lines.shown_lines
        if lines.shown_lines and len(shown_lines) > len(lines.shown_lines)
        else shown_lines[::-1]
    )
    if (shown_lines, size) == (lines.shown_lines, lines.size):
        return False
    lines.shown_lines = shown_lines
    lines.size = size
    axes.set_yticks(shown_lines, [lines.names[i] for i in shown_lines], fontsize=size)
    if lines.note is not None:
        lines.note.remove()
        lines.note = None
    if len(shown_lines) < len(named_lines):
        text_style: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        text_style |= {"ha": "right", "va": "top", "fontsize": size, "color": faint_ink(0.3)}
        lines.note = axes.annotate(
            f"{len(shown_lines)} of {len(named_lines)} named", (0, 0), (-10, -2), **text_style
        )
    return True


def _shorten_names(axes: Any) -> bool:
    """Cut the tick labels of the vertical axis if they are wider than a share of the figure.

    The share is `MAX_SIDE_WIDTH`, or less if there are texts to the right of the axes. Return whether labels
    were cut.
    """
    names = [label.get_text() for label in axes.get_yticklabels()]
    names_width = max((label.get_window_extent().width for label in axes.get_yticklabels()), default=0.0)
    edge = axes.get_window_extent().x1
    width = axes.figure.bbox.width
    texts_width = max([text.get_window_extent().x1 - edge for text in axes.texts], default=0.0)
    max_width = max(MAX_SIDE_WIDTH * width - max(texts_width, 0.0) / 2, MAX_SIDE_WIDTH / 2 * width)
    if names_width <= max_width or max(map(display_width, names)) <= MIN_CHARACTERS:
        return False
    axes.set_yticks(axes.get_yticks(), _cut_names(names, max_width / names_width))
    return True


def _cut_names(names: Sequence[str], width_fraction: float) -> list[str]:
    """Cut names to a share `width_fraction` of the display width of the longest, at least `MIN_CHARACTERS`.

    Names, given and returned, are as matplotlib shows them; see `shown_name`.
    """
    width = max(int(0.97 * width_fraction * max(map(display_width, names))), MIN_CHARACTERS)
    return [shown_name(name.replace(r"\$", "$"), width) for name in names]


def _rotate_names(axes: Any) -> bool:
    """Make the tick labels of the horizontal axis fit if they overlap; return whether any has changed.

    Names are set upright, and cut if they are too high then. Numbers become fewer.
    """
    from matplotlib.ticker import AutoLocator, FixedFormatter, FuncFormatter, MaxNLocator, NullFormatter

    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent().padded(2) for label in labels]
    has_names = isinstance(axes.xaxis.get_major_formatter(), (FixedFormatter, FuncFormatter))
    if has_names and any(label.get_rotation() for label in labels):
        names = [label.get_text() for label in axes.get_xticklabels()]
        height_fraction = MAX_UPRIGHT_HEIGHT * axes.figure.bbox.height / max(box.height for box in boxes)
        if height_fraction >= 1 or max(map(display_width, names)) <= MIN_CHARACTERS:
            return False
        axes.set_xticks(axes.get_xticks(), _cut_names(names, height_fraction))
        return True
    minor_boxes = [
        label.get_window_extent() for label in axes.get_xticklabels(minor=True) if label.get_text()
    ]
    boxes = sorted(boxes + minor_boxes, key=lambda box: box.x0)
    if not any(first.overlaps(second) for first, second in pairwise(boxes)):
        return False
    if minor_boxes:
        # On logarithmic axes powers of ten suffice.
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif has_names:
        axes.tick_params(axis="x", labelrotation=90)
    elif isinstance(axes.xaxis.get_major_locator(), AutoLocator):
        axes.xaxis.set_major_locator(MaxNLocator(3))
    else:
        return False
    return True


def _move_legend_below(axes: Any, outer: Axes, is_new: bool) -> bool:
    """Move the legend of axes below all axes if it covers marks or leaves them too little space.

    A given figure does not grow; its legend gets smaller text, or fewer names with a count of the others.

    Parameters
    ----------
    axes, outer : Axes
        The axes, and those that contain them.
    is_new : bool
        Whether the figure is new, and may grow.

    Returns
    -------
    bool
        Whether the legend was moved.
    """
    legend = axes.get_legend()
    figure = axes.figure
    if legend is None:
        return False
    box = legend.get_window_extent()
    is_beside = box.x0 >= axes.get_window_extent().x1 - 1
    fits = box.width <= MAX_SIDE_WIDTH * figure.bbox.width and box.y0 >= figure.bbox.y0 - 1
    if fits if is_beside else not _covers_marks(legend):
        return False
    legend_options: dict[str, Any] = {"loc": "upper center", "frameon": False}
    max_height = figure.bbox.height * (math.inf if is_new else MAX_LEGEND_HEIGHT)
    legend_below = _redraw_legend_within(axes, 0.98 * figure.bbox.width, max_height, legend_options)
    _place_legend_below(legend_below, outer)
    if is_new:
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + legend_below.get_window_extent().height / figure.dpi)
    return True


def _shrink_legend(axes: Any) -> bool:
    """Reduce a legend within axes to their size by smaller text or fewer names; return whether it shrank.

    A legend next to the axes is not changed.
    """
    legend = axes.get_legend()
    box = axes.get_window_extent()
    if legend is None or legend.get_window_extent().x0 >= box.x1 - 1:
        return False
    size, (width, height) = legend.get_window_extent().size, box.size
    if (size <= box.size).all():
        return False
    smaller_legend = _redraw_legend_within(axes, width, height, {"loc": "best", "framealpha": 0.8})
    return bool((smaller_legend.get_window_extent().size < size).any())


def _redraw_legend_within(axes: Any, width: float, height: float, position_options: dict[str, Any]) -> Any:
    """Draw the legend of axes again within a size, by smaller text or by fewer names and a count.

    Parameters
    ----------
    axes : Axes
        Axes with a legend, which is replaced.
    width, height : float
        Largest size in pixels.
    position_options : dict
        Keyword arguments of `legend` for its position.

    Returns
    -------
    Legend
        The new legend; with a single name it may exceed the size.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    legend = axes.get_legend()
    handle_by_name = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    names = [text.get_text() for text in legend.get_texts()]
    # The legend stores only the bars of error bars, hence the original handles.
    handles = [
        handle_by_name.get(name, handle) if isinstance(handle, LineCollection) else handle
        for name, handle in zip(names, legend.legend_handles, strict=True)
    ]
    heading = legend.get_title().get_text() or None
    size = min(float(text.get_fontsize()) for text in legend.get_texts())
    # Width of the longest name with its marker and gaps, per point of font size.
    entry_width = max(text.get_window_extent().width for text in legend.get_texts()) / size
    entry_width += axes.figure.dpi / 72 * 4.5
    min_size = min(size, 0.7 * font_points())
    n_shown = len(names)
    while True:
        columns = int(np.clip(width // (size * entry_width), 1, n_shown))
        count_entry = [f"and {len(names) - n_shown} more"] if n_shown < len(names) else []
        shown_handles = [*handles[:n_shown], *([Line2D([], [], linestyle="none")] * len(count_entry))]
        text_options: dict[str, Any] = {
            "ncols": columns,
            "fontsize": size,
            "title_fontsize": size,
            "title": heading,
        }
        new_legend = axes.legend(
            shown_handles, names[:n_shown] + count_entry, **text_options, **position_options
        )
        box = new_legend.get_window_extent()
        if (box.height <= height and box.width <= width) or n_shown == 1:
            return new_legend
        if size > min_size:
            size = max(min_size, 0.9 * size)
        else:
            n_shown -= 1


def _place_legend_below(legend: Any, outer: Axes) -> None:
    """Place a legend below the outer axes, their panels and labels, centred in the figure."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    legend.set_in_layout(False)
    tight = outer.get_tightbbox()
    figure = outer.figure
    legend.set_in_layout(True)
    low = 0.0 if tight is None else (tight.y0 - outer.get_window_extent().y0) / figure.dpi
    below = outer.transAxes + ScaledTranslation(0, low, figure.dpi_scale_trans)
    legend.set_bbox_to_anchor((0.5, 0.0), blended_transform_factory(figure.transFigure, below))


def _covers_marks(legend: Any) -> bool:
    """Return whether a legend covers lines, points, bars, texts or panels of its axes.

    Lines of a zorder of 1 or less, such as reference lines, do not count.
    """
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.patches import Rectangle

    box = legend.get_window_extent()
    axes = legend.axes
    points = [_interpolate_line(line.get_transform().transform(line.get_xydata())) for line in axes.lines
              if line.get_zorder() > 1 and line.get_transform() == axes.transData]  # fmt: skip
    for collection in axes.collections:
        if isinstance(collection, PathCollection):
            points.append(
                collection.get_offset_transform().transform(np.ma.filled(collection.get_offsets(), np.nan))
            )
        elif isinstance(collection, LineCollection) and collection.get_zorder() > 1:
            points += [
                _interpolate_line(collection.get_transform().transform(path.vertices))
                for path in collection.get_paths()
            ]
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    boxes += [bar.get_window_extent() for bar in axes.patches if isinstance(bar, Rectangle)]
    boxes += [panel.get_tightbbox() for panel in axes.child_axes]
    return any(box.count_contains(pixels) for pixels in points) or bool(box.count_overlaps(boxes))


def _interpolate_line(vertices: Floats) -> Floats:
    """Insert 19 points between adjacent vertices (n, 2) of a line.

    Lines of a single vertex or of more than 200 vertices are returned unchanged.
    """
    if not 2 <= len(vertices) <= 200:
        return vertices
    fractions = np.linspace(0.0, 1.0, 20, endpoint=False)[:, None, None]
    return np.concatenate(
        [((1 - fractions) * vertices[:-1] + fractions * vertices[1:]).reshape(-1, 2), vertices[-1:]]
    )


def select_separated(points: Floats, order: Sequence[int], min_distances: Floats) -> list[int]:
    """Select points that are not too close to one another, in order of priority.

    Parameters
    ----------
    points : (n, 2) float array
        Coordinates, in the units of `min_distances`.
    order : sequence of int
        Positions of the candidates in `points`, the most important first.
    min_distances : (2,) float array
        Horizontal and vertical distance, of which a point must keep at least one from each selected point.

    Returns
    -------
    list of int
        Positions of the selected points, in the order of priority.

    Examples
    --------
    >>> points = np.array([[0.0, 0.0], [5.0, 5.0], [5.0, 20.0]])
    >>> select_separated(points, [0, 1, 2], min_distances=np.array([20.0, 10.0]))
    [0, 2]
    """
    selected: list[int] = []
    for i in order:
        is_near = np.abs(points[selected] - points[i]) < min_distances
        if not is_near.all(axis=1).any():
            selected.append(i)
    return selected
