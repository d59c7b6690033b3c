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
    LEAST_CHARACTERS,
    MOST_BESIDE,
    MOST_IN_LEGEND,
    UNBOUNDED,
    faint,
    lay_out,
    letters,
    shown_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

MOST_BELOW = 0.3
"""Largest share of the height of a given figure for a legend below the axes."""

MOST_UPRIGHT = 0.3
"""Largest share of the height of a figure for upright names of columns."""


def fit_texts(axes: Axes, is_new: bool) -> None:
    """Make room for names, legend, labels and title of a finished plot.

    If the axes are alone in their figure, a legend that covers marks or leaves the axes too little space
    moves below them, and a new figure grows accordingly. Names of lines that take too much of the width are
    cut, names of columns that overlap are set upright, and titles and labels are wrapped between words.

    Parameters
    ----------
    axes : Axes
        Its `child_axes` are included.
    is_new : bool
        Whether the figure is new.
    """
    every: list[Any] = [axes, *axes.child_axes]
    # Twin axes have the same SubplotSpec and count once.
    specs = {each.get_subplotspec() for each in axes.figure.axes} - {None}
    alone = len(specs) == 1 and axes.figure.get_layout_engine() is not None
    below: list[Any] = []
    # Each change alters the room for the other texts, hence the iteration.
    for _ in range(8):
        lay_out(axes)
        moved = [each for each in every if alone and _move_legend(each, axes, is_new)]
        below += moved
        if not alone:
            moved = [each for each in every if _shrink_legend(each)]
        changed = [True] if moved else [_fit_names(each, axes, alone) for each in every]
        if not any(changed) and not _break(axes.title, axes, 0, alone and len(axes.figure.axes) == 1):
            break
        for each in below:
            _put_below(each.get_legend(), axes)


def _fit_names(axes: Any, outer: Axes, alone: bool) -> bool:
    """Cut, rotate or wrap the names of lines and columns and the labels of axes.

    Parameters
    ----------
    axes, outer : Axes
        The axes, and those that contain them, which may be the same.
    alone : bool
        Whether the outer axes are alone in their figure.

    Returns
    -------
    bool
        Whether anything has changed.
    """
    changed = [thin_line_names(axes) or _shorten_names(axes) or _turn_names(axes)]
    whole = outer.get_window_extent().width
    free = alone and (axes is outer or axes.get_window_extent().width > 0.9 * whole)
    most = None if free or axes is outer else 2
    changed += [_break(axes.xaxis.label, axes, 0, free, most)]
    changed += [_break(axes.yaxis.label, axes, 1, alone and axes is outer, most)]
    return any(changed) or (axes is not outer and _break(axes.title, axes, 0, alone=False, lines_most=1))


def _break(text: Text, axes: Axes, way: int, alone: bool, lines_most: int | None = None) -> bool:
    """Wrap a text between words if it is longer than its space.

    The space is the side of the axes or, if they are alone in their figure, extends to the edges of the
    figure.

    Parameters
    ----------
    text : Text
    axes : Axes
    way : {0, 1}
        Horizontal or vertical text.
    alone : bool
        Whether the text may extend to the edges of the figure.
    lines_most : int, optional
        Largest number of lines; if it is 1 the text is cut and not wrapped.

    Returns
    -------
    bool
        Whether the text or its size has changed.
    """
    whole = text.get_text()
    cut = lines_most == 1

    def measured() -> float:
        return float(text.get_window_extent().size[way])

    figure = axes.figure.bbox
    box = axes.get_window_extent()
    room = (1.2 if UNBOUNDED.get() and not cut else 1.0) * box.size[way]
    if alone:
        middle = (box.min[way] + box.max[way]) / 2
        room = 1.96 * min(middle - figure.min[way], figure.max[way] - middle)
        title = axes.title.get_window_extent()
        if way and axes.title.get_text() and title.x0 < text.get_window_extent().x1:
            # The title is above the label, which must end below it.
            room = min(room, 1.96 * (title.y0 - middle))
    if not whole or measured() <= room:
        return False
    size = float(text.get_fontsize())
    least = min(size, 0.7 * letters())
    if cut:
        text.set_fontsize(max(size * max(0.75, room / measured()), least))
    lines = []
    for line in whole.split("\n"):
        text.set_text(line)
        wide = measured()
        # Lines of about equal length, otherwise the last may be a single word.
        even = len(line) // math.ceil(wide / (0.97 * room)) + 6 if wide else 0
        most = max(min(int(0.97 * len(line) * room / max(wide, 1.0)), even), LEAST_CHARACTERS)
        if wide <= 1.02 * room:
            lines.append(line)
        elif cut:
            lines.append(shown_name(line.replace(r"\$", "$"), most))
        else:
            shape: dict[str, Any] = {"max_lines": lines_most, "placeholder": "…"}
            # Do not break hyphenated terms such as "leave-one-out".
            shape |= {"break_long_words": False, "break_on_hyphens": False}
            lines += textwrap.wrap(line, most, **shape)
    text.set_text("\n".join(lines))
    text.set_fontsize(max(float(text.get_fontsize()) * min(1.0, room / measured()), least))
    return text.get_text() != whole or float(text.get_fontsize()) != size


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
    shown : list of int
        Lines whose names are written.
    size : float
        Font size of the names in points.
    note : Text, optional
        Note of how many names are written, if not all are.
    """

    names: list[str]
    shown: list[int] = field(default_factory=list)
    size: float = 0.0
    note: Any = None


LINE_NAMES: WeakKeyDictionary[Axes, LineNames] = WeakKeyDictionary()
"""Names of lines by axes."""


def thin_line_names(axes: Any) -> bool:
    """Make names of lines smaller, and leave some out with a note, if they do not fit.

    The last name is always written, because it may be the pooled covariance. Return whether anything has
    changed.
    """
    lines = LINE_NAMES.get(axes)
    if lines is None:
        return False
    named = [i for i, name in enumerate(lines.names) if name]
    ends = axes.transData.transform([[0.0, 0.0], [0.0, 1.0]])[:, 1]
    spacing = float(abs(ends[1] - ends[0])) * 72 / axes.figure.dpi
    gap = spacing * float(np.diff(named).min(initial=len(lines.names)))
    normal = letters() * (0.833 if len(named) > MOST_IN_LEGEND else 1.0)
    size = round(float(np.clip(gap / NAME_SPACING, min(MIN_NAME_SIZE, normal), normal)), 1)
    # Smaller names leave more room for the axes. If they grew again, the iteration would not converge.
    size = min(size, lines.size or size)
    shown: list[int] = []
    for i in named[::-1]:
        if not shown or (shown[-1] - i) * spacing >= 0.98 * NAME_SPACING * size:
            shown.append(i)
    shown = lines.shown if lines.shown and len(shown) > len(lines.shown) else shown[::-1]
    if (shown, size) == (lines.shown, lines.size):
        return False
    lines.shown = shown
    lines.size = size
    axes.set_yticks(shown, [lines.names[i] for i in shown], fontsize=size)
    if lines.note is not None:
        lines.note.remove()
        lines.note = None
    if len(shown) < len(named):
        place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        place |= {"ha": "right", "va": "top", "fontsize": size, "color": faint(0.3)}
        lines.note = axes.annotate(f"{len(shown)} of {len(named)} named", (0, 0), (-10, -2), **place)
    return True


def _shorten_names(axes: Any) -> bool:
    """Cut the names of lines if they take too much of the width; return whether they were cut."""
    names = [label.get_text() for label in axes.get_yticklabels()]
    wide = max((label.get_window_extent().width for label in axes.get_yticklabels()), default=0.0)
    edge = axes.get_window_extent().x1
    width = axes.figure.bbox.width
    beside = max([text.get_window_extent().x1 - edge for text in axes.texts], default=0.0)
    most = max(MOST_BESIDE * width - max(beside, 0.0) / 2, MOST_BESIDE / 2 * width)
    if wide <= most or max(map(display_width, names)) <= LEAST_CHARACTERS:
        return False
    axes.set_yticks(axes.get_yticks(), _cut(names, most / wide))
    return True


def _cut(names: Sequence[str], share: float) -> list[str]:
    """Cut names to a share of the display width of the longest."""
    width = max(int(0.97 * share * max(map(display_width, names))), LEAST_CHARACTERS)
    return [shown_name(name.replace(r"\$", "$"), width) for name in names]


def _turn_names(axes: Any) -> bool:
    """Rotate overlapping names of columns, cut long ones, thin out numbers; return whether any changed."""
    from matplotlib.ticker import AutoLocator, FixedFormatter, FuncFormatter, MaxNLocator, NullFormatter

    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent().padded(2) for label in labels]
    named = isinstance(axes.xaxis.get_major_formatter(), (FixedFormatter, FuncFormatter))
    if named and any(label.get_rotation() for label in labels):
        names = [label.get_text() for label in axes.get_xticklabels()]
        share = MOST_UPRIGHT * axes.figure.bbox.height / max(box.height for box in boxes)
        if share >= 1 or max(map(display_width, names)) <= LEAST_CHARACTERS:
            return False
        axes.set_xticks(axes.get_xticks(), _cut(names, share))
        return True
    small = [label.get_window_extent() for label in axes.get_xticklabels(minor=True) if label.get_text()]
    boxes = sorted(boxes + small, key=lambda box: box.x0)
    if not any(one.overlaps(other) for one, other in pairwise(boxes)):
        return False
    if small:
        # On logarithmic axes powers of ten suffice.
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif named:
        axes.tick_params(axis="x", labelrotation=90)
    elif isinstance(axes.xaxis.get_major_locator(), AutoLocator):
        axes.xaxis.set_major_locator(MaxNLocator(3))
    else:
        return False
    return True


def _move_legend(axes: Any, outer: Axes, is_new: bool) -> bool:
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
    beside = box.x0 >= axes.get_window_extent().x1 - 1
    fits = box.width <= MOST_BESIDE * figure.bbox.width and box.y0 >= figure.bbox.y0 - 1
    if fits if beside else not _hides(legend):
        return False
    below: dict[str, Any] = {"loc": "upper center", "frameon": False}
    most = figure.bbox.height * (math.inf if is_new else MOST_BELOW)
    moved = _legend_within(axes, 0.98 * figure.bbox.width, most, below)
    _put_below(moved, outer)
    if is_new:
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + moved.get_window_extent().height / figure.dpi)
    return True


def _shrink_legend(axes: Any) -> bool:
    """Reduce a legend to the size of its axes by smaller text or fewer names; return whether it shrank."""
    legend = axes.get_legend()
    box = axes.get_window_extent()
    if legend is None or legend.get_window_extent().x0 >= box.x1 - 1:
        return False
    size, (width, height) = legend.get_window_extent().size, box.size
    if (size <= box.size).all():
        return False
    drawn = _legend_within(axes, width, height, {"loc": "best", "framealpha": 0.8})
    return bool((drawn.get_window_extent().size < size).any())


def _legend_within(axes: Any, width: float, height: float, place: dict[str, Any]) -> Any:
    """Draw the legend of axes again within a size, by smaller text or by fewer names and a count.

    Parameters
    ----------
    axes : Axes
    width, height : float
        Largest size in pixels.
    place : dict
        Keyword arguments of `legend` for its position.

    Returns
    -------
    Legend
    """
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    legend = axes.get_legend()
    known = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    names = [text.get_text() for text in legend.get_texts()]
    # The legend stores only the bars of error bars, hence the original handles.
    handles = [
        known.get(name, handle) if isinstance(handle, LineCollection) else handle
        for name, handle in zip(names, legend.legend_handles, strict=True)
    ]
    heading = legend.get_title().get_text() or None
    size = min(float(text.get_fontsize()) for text in legend.get_texts())
    # Width of the longest name with its marker and gaps, per point of font size.
    letter = max(text.get_window_extent().width for text in legend.get_texts()) / size
    letter += axes.figure.dpi / 72 * 4.5
    smallest = min(size, 0.7 * letters())
    shown = len(names)
    while True:
        columns = int(np.clip(width // (size * letter), 1, shown))
        rest = [f"and {len(names) - shown} more"] if shown < len(names) else []
        some = [*handles[:shown], *([Line2D([], [], linestyle="none")] * len(rest))]
        look: dict[str, Any] = {"ncols": columns, "fontsize": size, "title_fontsize": size, "title": heading}
        drawn = axes.legend(some, names[:shown] + rest, **look, **place)
        box = drawn.get_window_extent()
        if (box.height <= height and box.width <= width) or shown == 1:
            return drawn
        if size > smallest:
            size = max(smallest, 0.9 * size)
        else:
            shown -= 1


def _put_below(legend: Any, outer: Axes) -> None:
    """Place a legend below axes and their labels, in the middle of the figure."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    legend.set_in_layout(False)
    tight = outer.get_tightbbox()
    figure = outer.figure
    legend.set_in_layout(True)
    low = 0.0 if tight is None else (tight.y0 - outer.get_window_extent().y0) / figure.dpi
    below = outer.transAxes + ScaledTranslation(0, low, figure.dpi_scale_trans)
    legend.set_bbox_to_anchor((0.5, 0.0), blended_transform_factory(figure.transFigure, below))


def _hides(legend: Any) -> bool:
    """Return whether a legend covers marks, texts or panels of its axes, or extends outside the figure."""
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.patches import Rectangle

    box = legend.get_window_extent()
    axes = legend.axes
    points = [_along(line.get_transform().transform(line.get_xydata())) for line in axes.lines
              if line.get_zorder() > 1 and line.get_transform() == axes.transData]  # fmt: skip
    for held in axes.collections:
        if isinstance(held, PathCollection):
            points.append(held.get_offset_transform().transform(np.ma.filled(held.get_offsets(), np.nan)))
        elif isinstance(held, LineCollection) and held.get_zorder() > 1:
            points += [_along(held.get_transform().transform(path.vertices)) for path in held.get_paths()]
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    boxes += [bar.get_window_extent() for bar in axes.patches if isinstance(bar, Rectangle)]
    boxes += [panel.get_tightbbox() for panel in axes.child_axes]
    return any(box.count_contains(places) for places in points) or bool(box.count_overlaps(boxes))


def _along(places: Floats) -> Floats:
    """Return the points (n, 2) of a line, with interpolated points between them if they are few."""
    if not 2 <= len(places) <= 200:
        return places
    share = np.linspace(0.0, 1.0, 20, endpoint=False)[:, None, None]
    return np.concatenate([((1 - share) * places[:-1] + share * places[1:]).reshape(-1, 2), places[-1:]])


def with_room(points: Floats, order: Sequence[int], size: Floats) -> list[int]:
    """Select points in order of priority that are not too close to a selected one.

    Parameters
    ----------
    points : (n, 2) float array
    order : sequence of int
        Candidates, the most important first.
    size : (2,) float array
        Smallest distances, of which at least one has to be kept.

    Returns
    -------
    list of int

    Examples
    --------
    >>> points = np.array([[0.0, 0.0], [5.0, 5.0], [5.0, 20.0]])
    >>> with_room(points, [0, 1, 2], size=np.array([20.0, 10.0]))
    [0, 2]
    """
    kept: list[int] = []
    for i in order:
        near = np.abs(points[kept] - points[i]) < size
        if not near.all(axis=1).any():
            kept.append(i)
    return kept
