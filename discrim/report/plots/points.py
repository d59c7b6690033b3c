"""Draw observations as points, name lines and points, and make images for pages.

The other modules of this package use the functions on points and labels; `report/page/` uses `image_of` and
`dots_of`. An image for a page has light and dark colours, and is a vector graphic if its points are few.
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
    LABEL,
    MOST_BESIDE,
    MOST_IN_LEGEND,
    SIGNS,
    UNBOUNDED,
    Signs,
    faint,
    ink,
    lay_out,
    letters,
    new_axes,
    opacity,
    outline_colour,
    paper,
    seen_on,
    shown_name,
)
from discrim.report.plots.text_fit import LINE_NAMES, LineNames, thin_line_names

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

MOST_POINTS = 20_000
"""Largest number of rows that are drawn as points; more are drawn as shaded cells."""

TURN = 500
"""Number of points of a class that are drawn at a time; taking turns, no class hides another."""

RARE = 500
"""Largest size of a class that is drawn as points on top of shaded cells."""

MOST_IN_STRIP = 3_000
"""Largest number of points on the line of a class; more would look the same."""


ROWS: WeakKeyDictionary[Any, tuple[Codes, int]] = WeakKeyDictionary()
"""For each drawn artist, the positions of its rows and the number of all rows, for tooltips of an image."""


# ---- a plane


def draw_points(
    axes: Axes, x: Floats, y: Floats, codes: Codes, classes: Sequence[Any], signs: Signs = SIGNS
) -> None:
    """Draw observations in a plane, with the colour and marker of their class.

    The classes take turns, with the smallest drawn last in each turn. If there are more than `MOST_POINTS`
    rows, cells are shaded instead: the hue mixes the colours of the classes by their shares, and the opacity
    increases with the number of rows. Classes with at most `RARE` rows are still drawn as points.

    Parameters
    ----------
    axes : Axes
    x, y : (n,) float array
        Coordinates; rows with a missing one are not drawn.
    codes : (n,) int array
        Class of each row, -1 for none. Rows without a class are drawn only if no row has one.
    classes : sequence
        Labels (K,).
    signs : Signs
    """
    finite = np.isfinite(x) & np.isfinite(y)
    if len(x) and not (codes >= 0).any():
        # New rows, whose classes are unknown.
        bare: dict[str, Any] = {"color": ink(), "alpha": 0.5, "s": 10, "linewidths": 0}
        axes.scatter(x[finite], y[finite], rasterized=len(x) > 5_000, **bare)
    known = finite & (codes >= 0)
    counts = np.bincount(codes[known], minlength=len(classes))
    many = len(classes) > MOST_IN_LEGEND
    crowded = int(counts.sum()) > MOST_POINTS
    rare = counts <= RARE
    if crowded:
        _draw_shades(axes, x[known], y[known], codes[known], [signs.colour(k) for k in range(len(classes))])
    order = np.argsort(-counts, kind="stable")
    turns = max(int(-(-counts[counts <= MOST_POINTS].max(initial=0) // TURN)), 1)
    rows = [np.flatnonzero(known & (codes == k)) for k in range(len(classes))]
    small = many or (int(counts.sum()) > 2_000)
    for k, label in enumerate(classes):
        # The artist with the label is drawn first, because a legend has the order of drawing.
        style = _style(signs, k, small=small)
        first = _turn(rows[k], turns - 1, turns) if not crowded or rare[k] else rows[k][:0]
        zorder = 1.5 + 0.3 * (turns - 1) / turns + 0.001 * int(np.flatnonzero(order == k)[0]) / len(order)
        style |= {"label": shown_name(label), "rasterized": counts.sum() > 5_000}
        ROWS[axes.scatter(x[first], y[first], zorder=zorder, **style)] = first, len(x)
    for turn in range(turns - 1):
        for k in order.tolist():
            own = _turn(rows[k], turn, turns)
            if len(own) and (not crowded or rare[k]):
                zorder = 1.5 + 0.3 * turn / turns
                axes.scatter(x[own], y[own], zorder=zorder, rasterized=True, **_style(signs, k, small=small))


def _turn(rows: Codes, turn: int, turns: int) -> Codes:
    """Return the rows of a class that are drawn in one of the turns; small classes are drawn in the last.

    Parameters
    ----------
    rows : (m,) int array
    turn, turns : int
        Number of the turn, from 0, and number of turns.

    Returns
    -------
    int array
    """
    if len(rows) <= TURN:
        return rows if turn == turns - 1 else rows[:0]
    return rows[turns - 1 - turn :: turns]


def _draw_shades(axes: Axes, x: Floats, y: Floats, codes: Codes, colours: Sequence[str]) -> None:
    """Shade cells of the plane in the mixed colours of their rows.

    Parameters
    ----------
    axes : Axes
    x, y : (n,) float array
    codes : (n,) int array
    colours : sequence of str
        Colour of each class.
    """
    from matplotlib.colors import to_rgb
    from matplotlib.image import AxesImage

    box = axes.get_window_extent()
    # Cells of two pixels at 100 dots per inch, independent of the resolution of the figure.
    wide, high = (max(int(50 * side / axes.figure.dpi), 20) for side in (box.width, box.height))
    (left, right), (low, top) = ((float(v.min()), float(v.max())) for v in (x, y))
    width = (right - left) or 1.0
    height = (top - low) or 1.0
    column = np.minimum((x - left) / width * wide, wide - 1).astype(np.intp)
    row = np.minimum((y - low) / height * high, high - 1).astype(np.intp)
    k_classes = len(colours)
    counts = np.bincount((row * wide + column) * k_classes + codes, minlength=high * wide * k_classes)
    counts = counts.reshape(high, wide, k_classes)
    total = counts.sum(axis=2)
    mixed = counts @ np.array([to_rgb(colour) for colour in colours]) / np.maximum(total, 1)[..., None]
    strength = np.log1p(total) / np.log1p(total.max())
    alpha = np.where(total > 0, 0.3 + 0.65 * strength, 0.0)
    extent = (left, left + width, low, low + height)
    image = AxesImage(axes, origin="lower", extent=extent, interpolation="nearest", zorder=1.4)
    image.set_data(np.dstack([mixed, alpha]))
    axes.add_image(image)
    axes.update_datalim([(left, low), (left + width, low + height)])
    axes.autoscale_view()


def _style(signs: Signs, k: int, *, small: bool) -> dict[str, Any]:
    """Return the keyword arguments of `scatter` for class k."""
    size, alpha = (10, 0.5) if small else (22, 0.75)
    look: dict[str, Any] = {"color": signs.colour(k), "marker": signs.marker(k), "s": size}
    return look | {"alpha": opacity(alpha), "linewidths": 0}


def hollow_look(signs: Signs, k: int, size: float) -> dict[str, Any]:
    """Return the keyword arguments of `scatter` for misclassified rows of class k: a hollow marker."""
    look: dict[str, Any] = {"marker": signs.marker(k), "s": size, "zorder": 2.0}
    return look | {"facecolors": paper(), "edgecolors": signs.colour(k), "linewidths": 0.9}


MOST_HOLLOW = 200
"""Largest number of misclassified rows of a class that are drawn on top of shaded cells."""


def draw_hollow(
    axes: Axes, points: Floats, codes: Codes, wrong: NDArray[np.bool_], signs: Signs, size: float = 22
) -> None:
    """Draw misclassified rows as hollow points; of very many, an evenly spaced subset in each class.

    Parameters
    ----------
    axes : Axes
    points : (n, 2) float array
    codes : (n,) int array
    wrong : (n,) bool array
    signs : Signs
    size : float
        Area of a marker in square points.
    """
    crowded = len(points) > MOST_POINTS
    for k in np.unique(codes[wrong]).tolist():
        rows = np.flatnonzero(wrong & (codes == k))
        rows = rows[:: -(-len(rows) // MOST_HOLLOW)] if crowded else rows
        drawn = axes.scatter(*points[rows].T, rasterized=crowded, **hollow_look(signs, k, size))
        ROWS[drawn] = rows, len(points)


def told_hollow(rows: int) -> str:
    """Describe which rows are drawn hollow, for a title, given the number of all rows."""
    return f"misclassified{f' (at most {MOST_HOLLOW} a class)' if rows > MOST_POINTS else ''}"


# ---- a line for each class


def draw_strips(
    axes: Axes,
    values: Floats,
    codes: Codes,
    classes: Sequence[Any],
    wrong: NDArray[np.bool_] | None = None,
    signs: Signs = SIGNS,
) -> None:
    """Draw the values of each class on a line of its own, spread over the height of the line by rank.

    Parameters
    ----------
    axes : Axes
    values : (n,) float array
    codes : (n,) int array
    classes : sequence
        Labels (K,) of the lines from the top.
    wrong : (n,) bool array, optional
        Misclassified rows, which are hollow.
    signs : Signs

    Notes
    -----
    If a class has more than `MOST_IN_STRIP` rows, evenly spaced ranks are drawn, with a note in the corner.
    """
    most = 0
    small = len(classes) > MOST_IN_LEGEND
    rasterized = len(values) > 5_000
    for k in range(len(classes)):
        rows = np.flatnonzero((codes == k) & np.isfinite(values))
        rows = rows[np.argsort(values[rows], kind="stable")]
        # Spread by rank, not at random: the picture is the same each time.
        height = k + 0.7 * ((np.arange(len(rows)) + 0.5) / max(len(rows), 1) - 0.5)
        style = _style(signs, k, small=small)
        shown = np.arange(len(rows))
        if len(rows) > MOST_IN_STRIP:
            shown = np.linspace(0, len(rows) - 1, MOST_IN_STRIP).round().astype(np.intp)
        bad = np.zeros(len(shown), dtype=bool) if wrong is None else wrong[rows[shown]]
        looks = [(shown[~bad], style), (shown[bad], hollow_look(signs, k, style["s"]))]
        for some, look in looks[: 1 if wrong is None else 2]:
            drawn = axes.scatter(values[rows[some]], height[some], rasterized=rasterized, **look)
            ROWS[drawn] = rows[some], len(values)
        most = max(most, len(rows))
    if most > MOST_IN_STRIP:
        text = f"of a class at most {MOST_IN_STRIP:,} rows are drawn"
        corner: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        axes.annotate(text, (0, 0), (4, 4), fontsize="x-small", color=faint(0.3), **corner)
    name_lines(axes, classes)


def draw_spread(
    values: Floats,
    codes: Codes,
    classes: Sequence[Any],
    means: Floats,
    name: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw the values of each class on a line of its own, with the class mean.

    Parameters
    ----------
    values : (n,) float array
    codes : (n,) int array
    classes : sequence
        Labels (K,).
    means : (K,) float array
    name : str
        Name of the values.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    axes, _ = new_axes(ax, len(classes))
    draw_strips(axes, values, codes, classes)
    axes.vlines(means, np.arange(len(means)) - 0.42, np.arange(len(means)) + 0.42, color=ink(), zorder=3)
    axes.set_xlabel(name)
    return axes


def name_lines(axes: Axes, names: Sequence[Any], width: int = LABEL) -> None:
    """Write the names of lines from the top down.

    If there is not enough room, `thin_line_names` makes them smaller and leaves some out with a note.

    Parameters
    ----------
    axes : Axes
    names : sequence
        An empty name belongs to the line above.
    width : int
        Largest display width of a name.
    """
    LINE_NAMES[axes] = LineNames([shown_name(name, width) if name != "" else "" for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    thin_line_names(axes)


def write_beside(axes: Axes, texts: Iterable[str]) -> None:
    """Write texts to the right of lines, unless they would take too much of the width of the figure."""
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
    texts = list(texts)
    wide = 0.0064 * letters() * max(map(len, texts), default=0)
    if wide > 0.8 * MOST_BESIDE * axes.figure.bbox.width / axes.figure.dpi:
        return
    for i, text in enumerate(texts):
        axes.annotate(text, (1.02, i), va="center", fontsize="small", **place)


# ---- labels at places

MIN_LABEL_SIZE = 5.0
"""Smallest font size in points of labels of classes."""


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnLabels:
    """Labels of classes on axes: the arguments of `draw_labels`, the artists, and the frame in pixels."""

    places: Floats
    classes: Sequence[Any]
    size: Any
    obstacles: Sequence[Any]
    artists: Sequence[Any]
    frame: Floats


_DRAWN_LABELS: WeakKeyDictionary[Axes, _DrawnLabels] = WeakKeyDictionary()
"""Labels by axes."""


def replace_labels(axes: Axes) -> None:
    """Place the labels of classes again if the axes have another size than when they were placed."""
    drawn = _DRAWN_LABELS.get(axes)
    if drawn is None or np.allclose(axes.get_window_extent().get_points(), drawn.frame, atol=1.0):
        return
    for artist in drawn.artists:
        artist.remove()
    draw_labels(axes, drawn.places, drawn.classes, drawn.size, drawn.obstacles)


def draw_labels(
    axes: Axes, places: Floats, classes: Sequence[Any], size: Any = "medium", apart: Sequence[Any] = ()
) -> None:
    """Draw labels of classes, moved apart if they would overlap each other or other texts.

    Labels that still overlap become smaller. A label that had to move far gets a line to its place. The
    limits and the surroundings of the axes have to be final.

    Parameters
    ----------
    axes : Axes
    places : (K, 2) float array
        Places of the labels in data coordinates.
    classes : sequence
        Labels (K,).
    size : str or float
        Font size.
    apart : sequence of Text
        Other texts that the labels must not overlap.
    """
    import matplotlib as mpl
    from matplotlib.patheffects import Normal, Stroke

    lay_out(axes)
    at = axes.transData.transform(places)
    point = axes.figure.dpi / 72
    texts = []
    for (x, y), label in zip(places.tolist(), classes, strict=True):
        name = shown_name(label, 16)
        # Not every font has a bold face, and fallback fonts for other scripts would need one too.
        is_bold = name.isascii() and len(mpl.rcParams["font.family"]) == 1
        letters: dict[str, Any] = {"fontsize": size, "fontweight": "bold" if is_bold else "normal"}
        letters |= {"color": ink(), "ha": "center", "va": "center", "zorder": 6}
        text = axes.annotate(name, (x, y), (0, 0), textcoords="offset points", **letters)
        # Drawn in two strokes, each of all letters: the halo of one does not cut into the next.
        text.set_path_effects([Stroke(linewidth=2.6, foreground=paper()), Normal()])
        text.set_clip_on(True)
        texts.append(text)
    frame = axes.get_window_extent().get_points()
    font_size = float(texts[0].get_fontsize()) if texts else MIN_LABEL_SIZE
    while True:
        boxes = [text.get_window_extent() for text in (*texts, *apart)]
        sizes = np.array([(box.width, box.height) for box in boxes]).reshape(-1, 2) + 2 * point
        there = [(box.x0 + box.x1, box.y0 + box.y1) for box in boxes[len(texts) :]]
        still = np.array(there).reshape(-1, 2) / 2
        moved = _separated(np.vstack([at, still]), sizes, frame, len(still))
        if font_size <= MIN_LABEL_SIZE or not _any_overlap(moved, sizes):
            break
        font_size = max(0.85 * font_size, MIN_LABEL_SIZE)
        for text in texts:
            text.set_fontsize(font_size)
    artists: list[Any] = [*texts]
    for text, place, target, extent in zip(texts, at, moved, sizes, strict=False):
        gap = target - place
        text.set_position(tuple((gap / point).tolist()))
        if (np.abs(gap) > 0.8 * extent).any():
            line = np.array([axes.transData.inverted().transform(target), text.xy]).T
            thin: dict[str, Any] = {"color": faint(0.35), "linewidth": 0.7, "zorder": 5}
            artists += axes.plot(*line, scalex=False, scaley=False, **thin)
    _DRAWN_LABELS[axes] = _DrawnLabels(places, classes, size, apart, artists, frame)


def name_points(axes: Axes, points: Floats, order: Sequence[int], names: Sequence[str]) -> int:
    """Write names next to points, in order, if they overlap neither points nor earlier names.

    Parameters
    ----------
    axes : Axes
        Laid out, with final limits.
    points : (n, 2) float array
        Places of all points in pixels.
    order : sequence of int
        Points to name, the most important first. A point without a free place gets no name.
    names : sequence of str
        Names of all points.

    Returns
    -------
    int
        Number of names written.
    """
    pixels = axes.figure.dpi / 72
    frame = axes.get_window_extent()
    gap = 5 * pixels
    taken: list[Any] = []
    for i in order:
        for side, up in ((1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1.6), (0, -1.6)):
            place = (5.0 * side, 5.0 * up)
            look: dict[str, Any] = {"fontsize": 7, "textcoords": "offset points", "zorder": 3}
            look["ha"] = {1: "left", -1: "right", 0: "center"}[side]
            look["va"] = "center" if not up else "bottom" if up > 0 else "top"
            at = axes.transData.inverted().transform(points[i])
            text = axes.annotate(names[i], tuple(at.tolist()), place, **look)
            box = text.get_window_extent()
            inside = frame.x0 < box.x0 and box.x1 < frame.x1 and frame.y0 < box.y0 and box.y1 < frame.y1
            # Marks have a radius of some two points.
            is_free = not box.padded(0.4 * gap).count_contains(points) and not box.count_overlaps(taken)
            if inside and is_free:
                taken.append(box)
                break
            text.remove()
    return len(taken)


def _any_overlap(centres: Floats, sizes: Floats) -> bool:
    """Whether any two boxes with centres (n, 2) and sizes (n, 2) overlap."""
    hit = (np.abs(centres[:, None] - centres) < 0.99 * (sizes[:, None] + sizes) / 2).all(axis=2)
    return bool(np.triu(hit, 1).any())


def _separated(places: Floats, sizes: Floats, frame: Floats, still: int = 0) -> Floats:
    """Move boxes apart.

    In turn, from the middle outwards, each movable box is placed at the free place nearest to its own, on
    rings around it.

    Parameters
    ----------
    places : (K, 2) float array
        Wanted centres in pixels.
    sizes : (K, 2) float array
        Widths and heights.
    frame : (2, 2) float array
        Lower left and upper right corner of the axes.
    still : int
        Number of boxes at the end that do not move.

    Returns
    -------
    (K, 2) float array
        Centres.
    """
    found = places.copy()
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    rings = np.column_stack([np.cos(angles), np.sin(angles)])
    movable = len(places) - still
    middle = places[:movable].mean(axis=0) if movable else places
    taken = list(range(movable, len(places)))
    for k in np.argsort(np.hypot(*(places[:movable] - middle).T), kind="stable").tolist():
        step = 0.55 * sizes[k, 1]
        radii = step * np.arange(1, 25)
        tried = places[k] + np.vstack([np.zeros((1, 2)), (radii[:, None, None] * rings).reshape(-1, 2)])
        half = sizes[k] / 2
        inside = ((tried - half >= frame[0]) & (tried + half <= frame[1])).all(axis=1)
        least = (sizes[taken] + sizes[k]) / 2
        hit = (np.abs(tried[:, None] - found[taken]) < least).all(axis=2).any(axis=1)
        free = np.flatnonzero(~hit & inside)
        # A label whose place is outside the frame stays there, invisible; a place on the edge is inside.
        if len(free) and ((places[k] >= frame[0] - 1) & (places[k] <= frame[1] + 1)).all():
            found[k] = tried[free[0]]
        taken.append(k)
    return found


MOST_IMAGES = 8_000
"""Largest number of points of a vector graphic; browsers draw larger ones slowly."""

MOST_BYTES = 600_000
"""Largest length of an SVG before it is shortened; longer ones become bitmaps."""

DOTS = 160
"""Resolution in dots per inch of bitmaps of many points."""


LACKS = re.compile(r"Glyph (\d+) .* missing from")
"""Pattern of matplotlib's warning for a missing glyph, which is issued at each drawing."""


class Colours(NamedTuple):
    """Colours of a page as #rrggbb.

    Ink on paper has a contrast of at least 12:1, faint text of at least 7:1. `line` is for rules and frames,
    `panel` is the background of code. Paper is never pure white, because #ffffff stays white in dark mode.
    """

    paper: str
    ink: str
    faint: str
    line: str
    panel: str
    link: str


LIGHT = Colours("#fefefe", "#1b1e23", "#4b525c", "#b9c0ca", "#f3f5f8", "#0b57a4")
DARK = Colours("#15181d", "#e8ebf0", "#b4bcc8", "#4a525e", "#1f242b", "#8fc1ff")


class Image(NamedTuple):
    """A picture for a page, as an SVG element or as the data: address of a bitmap.

    Attributes
    ----------
    light : str
        Picture for light mode, or for both if `dark` is empty.
    dark : str
    width, height : int
        Size in pixels of the page.
    """

    light: str
    dark: str
    width: int
    height: int


def image_of(draw: Callable[[], Axes], name: str = "g0", told: Sequence[str] = ()) -> Image:
    """Draw a picture for light and dark mode, and close its figure.

    The picture is drawn once if all of its colours are those of classes, ink, paper and their mixtures, and
    otherwise once for each mode. Warnings are issued once.

    Parameters
    ----------
    draw : callable
        Function without arguments that draws on new axes and returns them.
    name : str
        Prefix of the ids in the SVG, unique in the page.
    told : sequence of str
        Tooltips in HTML of n rows. Points get them if they were drawn from n rows.

    Returns
    -------
    Image
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        day, place, known = _drawn(draw, LIGHT, len(told))
        night = day if known else _drawn(draw, DARK, len(told))[0]
    _tell(caught)
    size = [round(96 * inches) for inches in place[2:]]
    if isinstance(day, str) and isinstance(night, str):
        nights = [_night(each) or each for each in COLOUR.findall(day)] if known else COLOUR.findall(night)
        plain = [day] if known else {_shortened(COLOUR.sub("#", text), place, name) for text in (day, night)}
        if len(plain) == 1:
            both = _shortened(_in_both(day, nights, name), place, name)
            return Image(_telling(both, told), "", *size)
    light = _source(day, place, name)
    dark = _source(night, place, f"{name}n")
    return Image(_telling(light, told), _telling(dark, told), *size)


PLACED = "<title>{}</title>"


def _telling(text: str, told: Sequence[str]) -> str:
    """Replace the positions of rows in the tooltips of an SVG by their texts."""
    place = PLACED.format(r"(\d+)")
    return re.sub(place, lambda found: PLACED.format(told[int(found[1])]), text) if told else text


def _placed(text: str, artists: Mapping[str, Any], figure: Any) -> str:
    """Add a tooltip with the position of its row to each point of an SVG.

    Parameters
    ----------
    text : str
        The SVG.
    artists : mapping of str to PathCollection
        Points by the id of their group in the SVG.
    figure : Figure

    Returns
    -------
    str
    """
    for name, artist in artists.items():
        at = artist.get_offset_transform().transform(artist.get_offsets())
        at = np.column_stack([at[:, 0], figure.bbox.height - at[:, 1]]) * 72 / figure.dpi
        # matplotlib does not write points outside the figure, but keeps the order of the others.
        seen = (at >= 0).all(axis=1) & (at <= 72 * figure.get_size_inches()).all(axis=1)
        left = list(zip(ROWS[artist][0][seen].tolist(), at[seen].tolist(), strict=True))[::-1]
        group = re.search(rf'<g id="{name}">.*?</g>\s*</g>', text, re.DOTALL)
        parts = re.split("(<use [^>]*)/>", group[0]) if group else [""]
        for i in range(1, len(parts), 2):
            place = [float(side) for side in re.findall(' [xy]="([^"]*)"', parts[i])]
            is_next = bool(left) and np.allclose(place, left[-1][1], rtol=0, atol=0.01)
            parts[i] += f">{PLACED.format(left.pop()[0])}</use>" if is_next else "/>"
        text = text.replace(group[0], "".join(parts)) if group else text
    return text


def _source(picture: str | bytes, place: Place, name: str) -> str:
    """Return a shortened SVG, or a bitmap as a data: address."""
    if isinstance(picture, str):
        return _shortened(picture, place, name)
    return f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"


COLOUR = re.compile("#[0-9a-f]{6}")


def _in_both(picture: str, nights: Sequence[str], name: str) -> str:
    """Combine the light and dark version of an SVG: each colour that differs becomes a CSS variable.

    Parameters
    ----------
    picture : str
        The SVG in light mode.
    nights : sequence of str
        The colours in dark mode, in the order of occurrence.
    name : str
        Id of the SVG.

    Returns
    -------
    str
    """
    pairs = list(zip(COLOUR.findall(picture), nights, strict=True))
    names = {pair: f"--c{i}" for i, pair in enumerate(dict.fromkeys(pairs)) if pair[0] != pair[1]}
    shown = (f"var({names[pair]})" if pair in names else pair[0] for pair in pairs)
    text = COLOUR.sub(lambda _: next(shown), picture)
    day, night = (
        f"#{name}{{{';'.join(f'{each}:{pair[i]}' for pair, each in names.items())}}}" for i in range(2)
    )
    text = IMAGE_TAG.sub(partial(_cells_in_both, name), text)
    if f'"{name}night"' in text:
        day += f".{name}night{{display:none}}"
        night += f".{name}night{{display:inline}}.{name}day{{display:none}}"
    style = f"{day}@media screen and (prefers-color-scheme:dark){{{night}}}"
    return text.replace("</style>", f"{style}</style>", 1)


def _cells_in_both(name: str, found: re.Match[str]) -> str:
    """Duplicate an embedded bitmap for dark mode if it contains the colour of the ink."""
    from PIL import Image as Cells

    start, address, end = found.groups()
    cells = np.array(Cells.open(io.BytesIO(base64.b64decode(address))).convert("RGBA"))
    inked = (cells[..., :3] == _parts(LIGHT.ink)).all(axis=-1)
    if not inked.any():
        return found[0]
    cells[inked, :3] = _parts(DARK.ink)
    file = io.BytesIO()
    Cells.fromarray(cells).save(file, format="png")
    night = base64.b64encode(file.getvalue()).decode("ascii")
    pair = (("day", address), ("night", night))
    return "".join(f'<g class="{name}{time}">{start}{each}{end}</g>' for time, each in pair)


@lru_cache(maxsize=4096)
@lru_cache
def _dark_outlines() -> dict[str, str]:
    """Return the outline colour of each class on dark paper by its outline colour on light paper."""
    light, dark = (
        [outline_colour(seen_on(page.paper, colour), page.ink, page.paper) for colour in CLASS_COLOURS]
        for page in (LIGHT, DARK)
    )
    return dict(zip(light, dark, strict=True))


def _night(colour: str) -> str | None:
    """Return the dark-mode version of a colour; None if it is not derived from ink, paper or a class.

    A mixture of ink or a class colour with paper keeps its proportions.
    """
    if colour in CLASS_COLOURS:
        return seen_on(DARK.paper, colour)
    if colour in _dark_outlines():
        return _dark_outlines()[colour]
    if colour == "#ffffff":
        return colour
    if colour == LIGHT.line:
        return DARK.line
    if colour == "#010101":
        # Black numbers are on light cells, which are dark in dark mode.
        return "#ffffff"
    seen, paper_by_day, paper_by_night = map(_parts, (colour, LIGHT.paper, DARK.paper))
    inks = [(LIGHT.ink, DARK.ink), *((each, seen_on(DARK.paper, each)) for each in CLASS_COLOURS)]
    for by_day, by_night in ((_parts(day), _parts(night)) for day, night in inks):
        way = paper_by_day - by_day
        share = float((seen - by_day) @ way / (way @ way))
        if np.abs(by_day + share * way - seen).max() <= 1:
            mixed = np.clip(np.round(by_night + share * (paper_by_night - by_night)), 0, 255)
            return "#" + "".join(f"{int(part):02x}" for part in mixed)
    return None


def _parts(colour: str) -> Floats:
    """Return the components (3,) of a colour #rrggbb, from 0 to 255."""
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64)


CLASS_COLOURS = tuple(colour.lower() for colour in COLOURS if colour != "ink")


def _tell(caught: Iterable[warnings.WarningMessage]) -> None:
    """Issue each warning once, except those for missing glyphs, which `fonts_for` has reported."""
    said = set()
    for each in caught:
        text = str(each.message)
        if text not in said and not LACKS.match(text):
            said.add(text)
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


Place = Sequence[float]
"""Left, top, width and height in inches of the visible area."""


def dots_of(draw: Callable[[], Axes]) -> bytes:
    """Draw a picture as a PNG in light colours, and close its figure."""
    file = io.BytesIO()
    with _axes(draw, LIGHT) as axes:
        figure: Any = axes.figure
        figure.savefig(file, format="png", dpi=DPI, bbox_inches="tight")
    return file.getvalue()


def _drawn(draw: Callable[[], Axes], colours: Colours, rows: int = 0) -> tuple[str | bytes, Place, bool]:
    """Draw a picture in some colours.

    Parameters
    ----------
    draw : callable
    colours : Colours
    rows : int
        Number of rows that have tooltips.

    Returns
    -------
    picture : str or bytes
        An SVG or a PNG.
    place : sequence of float
        Visible area in inches.
    known : bool
        Whether all colours have a dark version, see `_is_known`.
    """
    with _axes(draw, colours) as axes:
        return _written(axes, rows)


@contextmanager
def _axes(draw: Callable[[], Axes], colours: Colours) -> Iterator[Axes]:
    """Draw without a display in some colours, yield the axes, and close the figure at the end."""
    import matplotlib.pyplot as plt

    # Load the backend of a notebook before the context, which would undo its settings at the end.
    backend: Any = plt
    backend.draw_if_interactive()
    with plt.rc_context(_settings(colours)), plt.ioff():
        unbounded = UNBOUNDED.set(True)
        try:
            axes = draw()
        finally:
            UNBOUNDED.reset(unbounded)
        figure: Any = axes.figure
        try:
            yield axes
        finally:
            plt.close(figure)


def _settings(colours: Colours) -> Any:
    """Return the matplotlib settings for the colours of a page and reproducible SVG."""
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


def _written(axes: Axes, rows: int) -> tuple[str | bytes, Place, bool]:
    """Write a figure as an SVG, or as a PNG if it has many points; see `_drawn`."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.collections import PathCollection

    figure: Any = axes.figure
    lay_out(axes)
    # The layout is final; without this it would be computed again at each drawing.
    figure.set_layout_engine("none")
    box = figure.get_tightbbox().padded(GAP)
    _keep_places(figure)
    place = box.x0, figure.get_figheight() - box.y1, box.width, box.height
    if _points(figure) <= MOST_IMAGES:
        buffer = io.BytesIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        dots = figure.dpi
        told = [each for each in figure.findobj(PathCollection) if each in ROWS and ROWS[each][1] == rows]
        artists = {f"rows{i}": each for i, each in enumerate(told)}
        for name, each in artists.items():
            each.set_gid(name)
        # matplotlib has no type annotations for this class.
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(buffer, metadata=nothing)
        figure.dpi = dots
        text = buffer.getvalue().decode("utf-8")
        if len(text) <= MOST_BYTES:
            return _placed(text, artists, figure), place, _is_known(text, figure)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches=box, dpi=DOTS, metadata={"Software": None})
    return buffer.getvalue(), place, False


def _keep_places(figure: Any) -> None:
    """Fix the positions of titles and labels, because computing them again takes an eighth of the time."""
    for axes in (each for outer in figure.axes for each in (outer, *outer.child_axes)):
        title = axes.title
        look = {"fontsize": title.get_fontsize(), "color": title.get_color()}
        axes.set_title(title.get_text(), y=title.get_position()[1], **look)
        for axis in (axes.xaxis, axes.yaxis):
            place = axis.label.get_transform().transform(axis.label.get_position())
            axis.set_label_coords(*axes.transAxes.inverted().transform(place))


def _is_known(text: str, figure: Any) -> bool:
    """Return whether all colours of an SVG and of its bitmaps have a dark version."""
    from matplotlib.image import AxesImage

    cells = [np.asarray(image.get_array()) for image in figure.findobj(AxesImage)]
    shades = [each for each in cells if each.shape[2:] == (4,) and each.dtype == np.float64]
    classes = [int(colour[1:], 16) for colour in (*CLASS_COLOURS, LIGHT.ink)]
    codes = [np.round(255 * each[each[..., 3] > 0, :3]) @ [65536, 256, 1] for each in shades]
    same = all(np.isin(each, classes).all() for each in codes)
    known = all(_night(colour) for colour in set(COLOUR.findall(text)))
    return same and known and text.count("<image") == len(shades)


GAP = 0.1
"""Margin around a picture in inches."""

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


def _shortened(text: str, place: Place, name: str) -> str:
    """Shorten an SVG of matplotlib, and crop it.

    Lengths are rounded to about a twentieth of a point. Each style is stored once, as a class. Ids become
    short names with a common prefix; ids without references are removed.

    Parameters
    ----------
    text : str
        The SVG.
    place : sequence of float
        Visible area in inches.
    name : str
        Prefix of ids.

    Returns
    -------
    str
    """
    left, top, wide, high = (f"{72 * side:.2f}" for side in place)
    header = f'xmlns="http://www.w3.org/2000/svg" id="{name}"'
    header += f' width="{wide}pt" height="{high}pt" viewBox="{left} {top} {wide} {high}"'
    text = re.sub("<svg[^>]*>", f"<svg {header}>", PROLOGUE.sub("", text), count=1)
    images = IMAGE.findall(text)
    # Coordinates of glyphs are in units of 1/6400 of the font size, more than necessary.
    text = GLYPH.sub(lambda found: f"{INTEGER.sub(_sixteenth, found[1])}scale(0.25)", text)
    text = NUMBER.sub(_rounded, IMAGE.sub('"data:"', text.replace("xlink:href", "href")))
    text = PATH.sub(lambda found: re.sub(r"\s*([MLCQZz])\s*", r"\1", found[0]), text)
    names = {each: f"{name}p{i}" for i, (_, each) in enumerate(dict.fromkeys(REFERENCE.findall(text)))}
    # The style sheet of the colours refers to the root element.
    names[name] = name
    text = NAME.sub(lambda found: f' id="{names[found[1]]}"' if found[1] in names else "", text)
    text = REFERENCE.sub(lambda found: found[1] + names[found[2]], text)
    styles = {style: f"{name}s{i}" for i, style in enumerate(dict.fromkeys(STYLE.findall(text)))}
    text = STYLE.sub(lambda found: f' class="{styles[found[1]]}"', text)
    rules = "".join(f".{each}{{{style}}}" for style, each in styles.items()).replace(": ", ":")
    # The first rule applies to each shape; on the root element, shapes would inherit it through <use>.
    text = re.sub(r">\s+<", "><", text.replace("</style>", f"{rules}</style>", 1))
    for image in images:
        text = text.replace('"data:"', image, 1)
    return text.replace('"', "'").strip()


def _sixteenth(found: re.Match[str]) -> str:
    """Divide a matched number by 16, and round it to an integer."""
    return str(round(float(found[0]) / 16))


def _rounded(found: re.Match[str]) -> str:
    """Round a matched number to a precision that depends on its size."""
    number = float(found[0])
    digits = 1 if abs(number) > 10 else 2 if abs(number) > 1 else 4
    return f"{number:.{digits}f}".rstrip("0").rstrip(".")


def _points(figure: Any) -> int:
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
