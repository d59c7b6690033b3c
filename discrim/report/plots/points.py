"""Rows as points, on a plane or on a line for each class; the names of lines and places; images of pictures.

An image of a page has the colours of day and of night, and is made of vectors where its points are few.
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
"""Rows up to which each is a point of its own; more become the shade of a cell."""

TURN = 500
"""Rows that are drawn before it is the next class's turn, so that the last class hides no other."""

RARE = 500
"""Rows up to which a class bears points over the shades of the others."""

MOST_IN_STRIP = 3_000
"""Points of a line, which lie side by side by rank: more would look the same."""


ROWS: WeakKeyDictionary[Any, tuple[Codes, int]] = WeakKeyDictionary()
"""Of points that are drawn, the positions of their rows, and among how many: an image tells of them."""


# ---- a plane


def draw_points(
    axes: Axes, x: Floats, y: Floats, codes: Codes, classes: Sequence[Any], signs: Signs = SIGNS
) -> None:
    """Rows at (x, y), (n,) each, with the sign of their class; a code of -1 is no class.

    Rows of no class are left out, but where all are: these are drawn in the colour of text.

    The classes take turns, the rarest last in each. Beyond 20,000 rows cells are shaded instead: their
    colour is that of the classes by their shares, their strength tells the number of rows, and a class of
    few rows bears its points all the same.
    """
    finite = np.isfinite(x) & np.isfinite(y)
    if len(x) and not (codes >= 0).any():
        # New rows whose classes nobody knows.
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
        # What bears the name comes first, so that a legend has the order of the classes.
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
    """The rows of a class drawn in one of the turns, which for few rows is the last."""
    if len(rows) <= TURN:
        return rows if turn == turns - 1 else rows[:0]
    return rows[turns - 1 - turn :: turns]


def _draw_shades(axes: Axes, x: Floats, y: Floats, codes: Codes, colours: Sequence[str]) -> None:
    """Cells of the plane in the mixed colours of the rows that they hold."""
    from matplotlib.colors import to_rgb
    from matplotlib.image import AxesImage

    box = axes.get_window_extent()
    # Cells of two pixels at 100 dots to the inch, whatever the figure has.
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
    size, alpha = (10, 0.5) if small else (22, 0.75)
    look: dict[str, Any] = {"color": signs.colour(k), "marker": signs.marker(k), "s": size}
    return look | {"alpha": opacity(alpha), "linewidths": 0}


def hollow_look(signs: Signs, k: int, size: float) -> dict[str, Any]:
    """How a row of class k is drawn that is called another class: with its sign, and nothing in it."""
    look: dict[str, Any] = {"marker": signs.marker(k), "s": size, "zorder": 2.0}
    return look | {"facecolors": paper(), "edgecolors": signs.colour(k), "linewidths": 0.9}


MOST_HOLLOW = 200
"""Rows of a class that are drawn as wrong over the shades of very many."""


def draw_hollow(
    axes: Axes, points: Floats, codes: Codes, wrong: NDArray[np.bool_], signs: Signs, size: float = 22
) -> None:
    """Rows (n, 2) that are wrong (n,) as hollow points; of very many, those at even steps in each class."""
    crowded = len(points) > MOST_POINTS
    for k in np.unique(codes[wrong]).tolist():
        rows = np.flatnonzero(wrong & (codes == k))
        rows = rows[:: -(-len(rows) // MOST_HOLLOW)] if crowded else rows
        drawn = axes.scatter(*points[rows].T, rasterized=crowded, **hollow_look(signs, k, size))
        ROWS[drawn] = rows, len(points)


def told_hollow(rows: int) -> str:
    """Which rows are hollow, of so many, for a title."""
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
    """One line for each class, from the top; the rows of a class are spread over its line.

    Rows that are wrong are hollow. Of a class of many rows those at even ranks are drawn, which a note in the
    corner says.
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
    """One line for each class, with the values of its rows and their mean."""
    axes, _ = new_axes(ax, len(classes))
    draw_strips(axes, values, codes, classes)
    axes.vlines(means, np.arange(len(means)) - 0.42, np.arange(len(means)) + 0.42, color=ink(), zorder=3)
    axes.set_xlabel(name)
    return axes


def name_lines(axes: Axes, names: Sequence[Any], width: int = LABEL) -> None:
    """Write the names of lines from the top down; an empty name belongs to the line above.

    If there is no room for all of them, `thin_line_names` makes them smaller and leaves some out with a note.
    """
    LINE_NAMES[axes] = LineNames([shown_name(name, width) if name != "" else "" for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    thin_line_names(axes)


def write_beside(axes: Axes, texts: Iterable[str]) -> None:
    """Texts at the right of lines, in a figure of our own, where they leave the axes most of the width."""
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
    texts = list(texts)
    wide = 0.0064 * letters() * max(map(len, texts), default=0)
    if wide > 0.8 * MOST_BESIDE * axes.figure.bbox.width / axes.figure.dpi:
        return
    for i, text in enumerate(texts):
        axes.annotate(text, (1.02, i), va="center", fontsize="small", **place)


# ---- labels at places

MIN_LABEL_SIZE = 5.0
"""Points of the smallest labels of classes."""


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnLabels:
    """Labels of classes on axes: the arguments of `draw_labels`, what it drew, and the frame in pixels."""

    places: Floats
    classes: Sequence[Any]
    size: Any
    obstacles: Sequence[Any]
    artists: Sequence[Any]
    frame: Floats


_DRAWN_LABELS: WeakKeyDictionary[Axes, _DrawnLabels] = WeakKeyDictionary()
"""Labels of the axes that exist."""


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
    """Labels of classes at places (K, 2), moved apart where they would lie on each other or on other texts.

    Labels that still overlap become smaller. A label that had to move far has a line to its place. The
    limits of the axes are to be set before, and what stands around them.
    """
    import matplotlib as mpl
    from matplotlib.patheffects import Normal, Stroke

    lay_out(axes)
    at = axes.transData.transform(places)
    point = axes.figure.dpi / 72
    texts = []
    for (x, y), label in zip(places.tolist(), classes, strict=True):
        name = shown_name(label, 16)
        # Not every font has bold letters, and one that is added for names of columns is asked for them too.
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
    """Write names of points beside them, in turn, where they lie neither on points nor on other names.

    Parameters
    ----------
    axes : Axes
        Laid out, with limits that do not change any more.
    points : (n, 2)
        Places of all points in pixels.
    order : sequence of int
        The points to name, the most important first. One without a free place has no name.
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
    """Centres (K, 2) of boxes with sizes (K, 2) near their places, none on another where there is space.

    Each in turn, from the middle outwards, takes the free place nearest to its own on rings around it; so
    many at the end stand still.
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
        # A place outside the frame keeps its label there, where it is not seen; one on its edge is inside.
        if len(free) and ((places[k] >= frame[0] - 1) & (places[k] <= frame[1] + 1)).all():
            found[k] = tried[free[0]]
        taken.append(k)
    return found


MOST_IMAGES = 8_000
"""Points up to which a picture is made of vectors; more make a file that is slow to draw."""

MOST_BYTES = 600_000
"""Length up to which vectors are taken, before they are shortened."""

DOTS = 160
"""Dots to the inch of a picture of many points."""


LACKS = re.compile(r"Glyph (\d+) .* missing from")
"""How matplotlib warns of each character, each time that it is drawn."""


class Colours(NamedTuple):
    """Colours as #rrggbb: ink on paper has a contrast of 12 to 1 or more, faint notes of 7 to 1 or more.

    Lines are rules and frames; a panel lies behind code. Paper is never white: what is white stays so.
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
    """A picture for a page: vectors in the colours of day and night at once, or for each of them apart.

    What is shown by day is an element of SVG, or an address of dots; what is shown by night is empty where
    the first has its colours too. Width and height are in pixels of the page.
    """

    light: str
    dark: str
    width: int
    height: int


def image_of(draw: Callable[[], Axes], name: str = "g0", told: Sequence[str] = ()) -> Image:
    """A picture in both colours; the figure that is drawn is closed.

    It is drawn once where all of its colours are those of classes, ink, paper and what lies between, and else
    again for the night. What is warned of is said once. Names in the vectors begin with the name, which no
    other picture of the page has. Points of as many rows as are told of, in HTML, tell it to a pointer.
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
    """Vectors whose points tell of their rows, in the place of the positions of these."""
    place = PLACED.format(r"(\d+)")
    return re.sub(place, lambda found: PLACED.format(told[int(found[1])]), text) if told else text


def _placed(text: str, artists: Mapping[str, Any], figure: Any) -> str:
    """Vectors in which each point has the position of its row, by the names of groups of points."""
    for name, artist in artists.items():
        at = artist.get_offset_transform().transform(artist.get_offsets())
        at = np.column_stack([at[:, 0], figure.bbox.height - at[:, 1]]) * 72 / figure.dpi
        # Of points beyond the figure others are written, in their order with the rest.
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
    """Vectors that are short, or a data: address of dots."""
    if isinstance(picture, str):
        return _shortened(picture, place, name)
    return f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"


COLOUR = re.compile("#[0-9a-f]{6}")


def _in_both(picture: str, nights: Sequence[str], name: str) -> str:
    """Vectors by day and night, of colours in turn: one that changes is a variable of their style."""
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
    """An image within vectors; where its cells have the ink of the day, that of the night beside it."""
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
    """A colour of the day by night, as ink, or a class, mixed with paper has the same shares; white stays."""
    if colour in CLASS_COLOURS:
        return seen_on(DARK.paper, colour)
    if colour in _dark_outlines():
        return _dark_outlines()[colour]
    if colour == "#ffffff":
        return colour
    if colour == LIGHT.line:
        return DARK.line
    if colour == "#010101":
        # Black numbers on what is light by day stand on what is dark by night.
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
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64)


CLASS_COLOURS = tuple(colour.lower() for colour in COLOURS if colour != "ink")


def _tell(caught: Iterable[warnings.WarningMessage]) -> None:
    """Give warnings once each; of characters without a font `fonts_for` has told."""
    said = set()
    for each in caught:
        text = str(each.message)
        if text not in said and not LACKS.match(text):
            said.add(text)
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


Place = Sequence[float]
"""Left, top, width and height in inches of what is seen."""


def dots_of(draw: Callable[[], Axes]) -> bytes:
    """A picture as a file of dots, in the colours of day; the figure that is drawn is closed."""
    file = io.BytesIO()
    with _axes(draw, LIGHT) as axes:
        figure: Any = axes.figure
        figure.savefig(file, format="png", dpi=DPI, bbox_inches="tight")
    return file.getvalue()


def _drawn(draw: Callable[[], Axes], colours: Colours, rows: int = 0) -> tuple[str | bytes, Place, bool]:
    """Vectors as text, or dots, their place, and whether colours in the vectors are what they seem."""
    with _axes(draw, colours) as axes:
        return _written(axes, rows)


@contextmanager
def _axes(draw: Callable[[], Axes], colours: Colours) -> Iterator[Axes]:
    """What is drawn, without a display and in some colours; the figure is closed at the end."""
    import matplotlib.pyplot as plt

    # What a notebook's backend sets where it is loaded has to outlast the context; this has no types.
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
        # Names of classes and numbers are outlines, which are not taken for what vectors are written in.
        "svg.fonttype": "path",
        # The same numbers make the same bytes.
        "svg.hashsalt": "discrim",
    }


def _written(axes: Axes, rows: int) -> tuple[str | bytes, Place, bool]:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.collections import PathCollection

    figure: Any = axes.figure
    lay_out(axes)
    # All is in its place, and would be put there again each time that it is drawn.
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
        # This has no types.
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
    """Keep titles and labels where they are: to find their places anew is an eighth of the work."""
    for axes in (each for outer in figure.axes for each in (outer, *outer.child_axes)):
        title = axes.title
        look = {"fontsize": title.get_fontsize(), "color": title.get_color()}
        axes.set_title(title.get_text(), y=title.get_position()[1], **look)
        for axis in (axes.xaxis, axes.yaxis):
            place = axis.label.get_transform().transform(axis.label.get_position())
            axis.set_label_coords(*axes.transAxes.inverted().transform(place))


def _is_known(text: str, figure: Any) -> bool:
    """Whether it is known what the colours of vectors are by night, those of their images as well."""
    from matplotlib.image import AxesImage

    cells = [np.asarray(image.get_array()) for image in figure.findobj(AxesImage)]
    shades = [each for each in cells if each.shape[2:] == (4,) and each.dtype == np.float64]
    classes = [int(colour[1:], 16) for colour in (*CLASS_COLOURS, LIGHT.ink)]
    codes = [np.round(255 * each[each[..., 3] > 0, :3]) @ [65536, 256, 1] for each in shades]
    same = all(np.isin(each, classes).all() for each in codes)
    known = all(_night(colour) for colour in set(COLOUR.findall(text)))
    return same and known and text.count("<image") == len(shades)


GAP = 0.1
"""Inches around a picture."""

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
    """An SVG of matplotlib in fewer characters, of which a place is seen.

    Lengths are in points, of which a twentieth is not seen. A style stands once, and names are short and
    begin with the one given; those of parts that nothing refers to are left out.
    """
    left, top, wide, high = (f"{72 * side:.2f}" for side in place)
    header = f'xmlns="http://www.w3.org/2000/svg" id="{name}"'
    header += f' width="{wide}pt" height="{high}pt" viewBox="{left} {top} {wide} {high}"'
    text = re.sub("<svg[^>]*>", f"<svg {header}>", PROLOGUE.sub("", text), count=1)
    images = IMAGE.findall(text)
    # Outlines of letters are in 6,400 parts of their size.
    text = GLYPH.sub(lambda found: f"{INTEGER.sub(_sixteenth, found[1])}scale(0.25)", text)
    text = NUMBER.sub(_rounded, IMAGE.sub('"data:"', text.replace("xlink:href", "href")))
    text = PATH.sub(lambda found: re.sub(r"\s*([MLCQZz])\s*", r"\1", found[0]), text)
    names = {each: f"{name}p{i}" for i, (_, each) in enumerate(dict.fromkeys(REFERENCE.findall(text)))}
    # The rule of the colours refers to the whole.
    names[name] = name
    text = NAME.sub(lambda found: f' id="{names[found[1]]}"' if found[1] in names else "", text)
    text = REFERENCE.sub(lambda found: found[1] + names[found[2]], text)
    styles = {style: f"{name}s{i}" for i, style in enumerate(dict.fromkeys(STYLE.findall(text)))}
    text = STYLE.sub(lambda found: f' class="{styles[found[1]]}"', text)
    rules = "".join(f".{each}{{{style}}}" for style, each in styles.items()).replace(": ", ":")
    # The rule before them is one of each shape: of the whole, it would come to a shape through its use.
    text = re.sub(r">\s+<", "><", text.replace("</style>", f"{rules}</style>", 1))
    for image in images:
        text = text.replace('"data:"', image, 1)
    return text.replace('"', "'").strip()


def _sixteenth(found: re.Match[str]) -> str:
    return str(round(float(found[0]) / 16))


def _rounded(found: re.Match[str]) -> str:
    number = float(found[0])
    digits = 1 if abs(number) > 10 else 2 if abs(number) > 1 else 4
    return f"{number:.{digits}f}".rstrip("0").rstrip(".")


def _points(figure: Any) -> int:
    """Points and corners of what is drawn as vectors."""
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
