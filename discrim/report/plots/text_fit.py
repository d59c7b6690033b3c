"""Room for the texts of a finished picture: names, legend, labels and title.

`fit_texts` breaks, cuts, turns, shrinks or moves what is too long for its place. Names that have no room are
left out with a note of how many are written.
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
"""Share of the height of a given figure that a legend below the axes may take."""

MOST_UPRIGHT = 0.3
"""Share of the height of a figure that names of columns may take where they are turned."""


def fit_texts(axes: Axes, is_new: bool) -> None:
    """Give names, legend, labels and title of a finished picture their room.

    A legend that hides marks, or leaves the axes little room, moves below them, in a figure that has these
    axes alone; one that is new grows by it. Names of lines are cut where they take too much of the width, and
    those of columns stand upright where they meet. Titles and labels are broken between words.
    """
    every: list[Any] = [axes, *axes.child_axes]
    # Axes with a second scale share their place.
    specs = {each.get_subplotspec() for each in axes.figure.axes} - {None}
    alone = len(specs) == 1 and axes.figure.get_layout_engine() is not None
    below: list[Any] = []
    # What is broken, cut or moved leaves other room to the rest.
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
    """Cut, turn or break the names of lines and columns, and the labels; whether any was too long."""
    changed = [thin_line_names(axes) or _shorten_names(axes) or _turn_names(axes)]
    whole = outer.get_window_extent().width
    free = alone and (axes is outer or axes.get_window_extent().width > 0.9 * whole)
    most = None if free or axes is outer else 2
    changed += [_break(axes.xaxis.label, axes, 0, free, most)]
    changed += [_break(axes.yaxis.label, axes, 1, alone and axes is outer, most)]
    return any(changed) or (axes is not outer and _break(axes.title, axes, 0, alone=False, lines_most=1))


def _break(text: Text, axes: Axes, way: int, alone: bool, lines_most: int | None = None) -> bool:
    """Break a text between words, across (0) or up (1), where it is longer than its place.

    The place is that of the axes, or, where these are alone in their figure, that up to its edges. A text of
    one line at most is cut, and what is beyond two is left out.
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
            # The title begins above the label, which ends below it.
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
        # No longer than lines of one length need, so that the last is not a word alone.
        even = len(line) // math.ceil(wide / (0.97 * room)) + 6 if wide else 0
        most = max(min(int(0.97 * len(line) * room / max(wide, 1.0)), even), LEAST_CHARACTERS)
        if wide <= 1.02 * room:
            lines.append(line)
        elif cut:
            lines.append(shown_name(line.replace(r"\$", "$"), most))
        else:
            shape: dict[str, Any] = {"max_lines": lines_most, "placeholder": "…"}
            # "leave-one-out" stays on one line.
            shape |= {"break_long_words": False, "break_on_hyphens": False}
            lines += textwrap.wrap(line, most, **shape)
    text.set_text("\n".join(lines))
    text.set_fontsize(max(float(text.get_fontsize()) * min(1.0, room / measured()), least))
    return text.get_text() != whole or float(text.get_fontsize()) != size


MIN_NAME_SIZE = 5.0
"""Points of the smallest names of lines."""

NAME_SPACING = 1.2
"""Least distance of two names of lines, in font sizes."""


@dataclass
class LineNames:
    """Names of the lines of axes, as they are written.

    Attributes
    ----------
    names : list of str
        Names of lines 0, 1, ...; an empty one belongs to the line above.
    shown : list of int
        Lines whose names are written.
    size : float
        Font size of the names in points.
    note : Text, optional
        How many of the names are written, if not all are.
    """

    names: list[str]
    shown: list[int] = field(default_factory=list)
    size: float = 0.0
    note: Any = None


LINE_NAMES: WeakKeyDictionary[Axes, LineNames] = WeakKeyDictionary()
"""Names of the lines of the axes that exist."""


def thin_line_names(axes: Any) -> bool:
    """Make names of lines smaller, and leave some out with a note, as far as their lines have no room.

    The last name is written in any case: it is that of the pooled covariance where there is one. Return
    whether anything changed.
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
    # Smaller names leave the axes more room. If they grew again, the layout would not settle.
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
    """Cut the names of lines that take too much of the width of the figure."""
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
    """Names as they are shown, none longer than a share of the longest."""
    width = max(int(0.97 * share * max(map(display_width, names))), LEAST_CHARACTERS)
    return [shown_name(name.replace(r"\$", "$"), width) for name in names]


def _turn_names(axes: Any) -> bool:
    """Turn names of columns upright where they meet, and cut long ones; of numbers, leave some out."""
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
        # Of logs, powers of ten are enough.
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif named:
        axes.tick_params(axis="x", labelrotation=90)
    elif isinstance(axes.xaxis.get_major_locator(), AutoLocator):
        axes.xaxis.set_major_locator(MaxNLocator(3))
    else:
        return False
    return True


def _move_legend(axes: Any, outer: Axes, is_new: bool) -> bool:
    """Move the legend of axes below all of them, where it hides what is drawn or leaves them little room.

    A figure that is given does not grow by it: its legend has smaller text, or names some and counts the
    rest.
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
    """Keep a legend within its axes by smaller text, or by fewer names and a count of the rest."""
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
    """Draw the legend of axes again at a place, no wider and higher than so many pixels.

    Its text becomes smaller, and if that does not suffice it names some and counts the rest.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    legend = axes.get_legend()
    known = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    names = [text.get_text() for text in legend.get_texts()]
    # Of error bars, a legend keeps the bars alone.
    handles = [
        known.get(name, handle) if isinstance(handle, LineCollection) else handle
        for name, handle in zip(names, legend.legend_handles, strict=True)
    ]
    heading = legend.get_title().get_text() or None
    size = min(float(text.get_fontsize()) for text in legend.get_texts())
    # Width of the longest name and of the marker with its gaps, for text of one point.
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
    """Place a legend below axes and what stands below these, in the middle of the figure."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    legend.set_in_layout(False)
    tight = outer.get_tightbbox()
    figure = outer.figure
    legend.set_in_layout(True)
    low = 0.0 if tight is None else (tight.y0 - outer.get_window_extent().y0) / figure.dpi
    below = outer.transAxes + ScaledTranslation(0, low, figure.dpi_scale_trans)
    legend.set_bbox_to_anchor((0.5, 0.0), blended_transform_factory(figure.transFigure, below))


def _hides(legend: Any) -> bool:
    """Whether a legend lies on marks, texts or panels of its axes, or beyond the figure."""
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
    """Places (n, 2) of a line, and others between them where they are few."""
    if not 2 <= len(places) <= 200:
        return places
    share = np.linspace(0.0, 1.0, 20, endpoint=False)[:, None, None]
    return np.concatenate([((1 - share) * places[:-1] + share * places[1:]).reshape(-1, 2), places[-1:]])


def with_room(points: Floats, order: Sequence[int], size: Floats) -> list[int]:
    """Those of the points (n, 2), taken in order, that are not within a size (2,) of one before them.

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
