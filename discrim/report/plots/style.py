"""What all pictures share: signs of the classes, ink and paper, names and their fonts, axes, legends, titles.

Colours are those of Okabe and Ito, which stay apart for colour-blind readers, and twelve that lie as far from
these and from each other as there is room for; markers and line styles differ as well, so that 160 classes
have 160 signs and a copy in grey can be read. A style of greys alone, such as matplotlib's "grayscale", gives
its own. What is drawn in no class's colour has the ink of the style, so that it is seen in the dark. A script
that the fonts in use lack takes an installed font that has it, in ``rcParams["font.family"]``. A file of a
picture is drawn without a display.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.errors import DataError, warn_user
from discrim.report.grid import clean, display_width, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.colors import Colormap as Colormap

COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C00", "ink"),
    *("#872D5A", "#2222EE", "#00E196", "#9669FF", "#5A5A00", "#5A2DB4"),
    *("#C30F87", "#FF4B69", "#E10FD2", "#B4C3D2", "#965A4B", "#B4D25A"),
)
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 2)), (0, (8, 2)))

HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "|||", "+++")
"""Of areas, in a style of greys."""

MOST_PLAIN = 8
"""Classes up to which colours tell at a glance; beyond, the class means bear their labels."""

MOST_IN_LEGEND = 12
"""Classes up to which a legend names them; beyond, the class means bear their labels."""

LABEL = 30
"""Display width of a label before it is cut in its middle."""


# ---- ink and paper


def ink() -> str:
    """The colour of text in the style in use: dark on light, light on dark."""
    import matplotlib as mpl

    return str(mpl.colors.to_hex(mpl.rcParams["text.color"]))


def paper() -> str:
    """The colour that is drawn on."""
    import matplotlib as mpl

    face = mpl.rcParams["axes.facecolor"]
    return str(mpl.colors.to_hex(face if face != "none" else mpl.rcParams["figure.facecolor"]))


def faint(share: float) -> str:
    """Ink with so large a share of the paper in it."""
    import matplotlib as mpl

    dark, light = (np.array(mpl.colors.to_rgb(colour)) for colour in (ink(), paper()))
    red, green, blue = ((1 - share) * dark + share * light).tolist()
    return str(mpl.colors.to_hex((red, green, blue)))


def opacity(share: float) -> float:
    """Opacity of points and areas that have such a share of it on white: in the dark they need more.

    An image of a page has one opacity by day and by night.
    """
    return share if UNBOUNDED.get() or luminance(_rgb(paper())) > 0.18 else min(1.0, 1.5 * share)


LEAST_IN_DARK = 3.0
"""Contrast with dark paper that guidelines ask of graphics."""


@lru_cache
def seen_on(dark: str, colour: str) -> str:
    """A colour with so much white in it that it is seen on what is dark; on what is light, as it is."""
    whiter = np.linspace(_rgb(colour), 1.0, 101)
    light = luminance(np.vstack([whiter, _rgb(dark)])) + 0.05
    if light[-1] > 0.23:
        return colour
    red, green, blue = whiter[np.argmax(light[:-1] >= LEAST_IN_DARK * light[-1])].tolist()
    return _hex((red, green, blue))


def halo() -> list[Any]:
    """What tells a line of some 1.6 points from rows and regions of its own colour."""
    from matplotlib.patheffects import Normal, Stroke

    return [Stroke(linewidth=3.4, foreground=paper(), alpha=0.8), Normal()]


def of_greys(key: str) -> list[Any]:
    """What the style in use cycles through, as "color" or "linestyle", where its colours are greys alone."""
    import matplotlib as mpl

    cycle = mpl.rcParams["axes.prop_cycle"].by_key()
    shades = np.array([mpl.colors.to_rgb(colour) for colour in cycle.get("color", ["red"])])
    return list(cycle.get(key, ())) if np.ptp(shades, axis=1).max() < 0.01 else []


POINT_OPACITY = 0.75
"""Opacity of the points of observations on white."""

MIN_OUTLINE_CONTRAST = 3.0
"""Contrast of an outline with the points that it surrounds; WCAG 2.2 requires it of graphical objects."""


@lru_cache
def outline_colour(colour: str, ink: str, paper: str) -> str:
    """Return the shade of a colour in which an outline is seen on points of this colour.

    It is the least change towards the ink, or if that does not suffice towards the paper, with a contrast of
    `MIN_OUTLINE_CONTRAST` to points of `POINT_OPACITY` on the paper.
    """
    points = POINT_OPACITY * _rgb(colour) + (1 - POINT_OPACITY) * _rgb(paper)
    base = luminance(points) + 0.05
    for target in (ink, paper):
        # Of eight bits, as colours are written.
        shades = np.round(255 * np.linspace(_rgb(colour), _rgb(target), 101)) / 255
        light = luminance(shades) + 0.05
        enough = np.maximum(light / base, base / light) >= MIN_OUTLINE_CONTRAST
        if enough.any():
            red, green, blue = shades[np.argmax(enough)].tolist()
            return _hex((red, green, blue))
    return ink


# ---- the signs of the classes


@dataclass(frozen=True, slots=True)
class Signs:
    """Colour, marker and line style of each class, by its position; "ink" is the colour of text."""

    colours: tuple[str, ...] = COLOURS

    def colour(self, k: int) -> str:
        """Colour of class k."""
        import matplotlib as mpl

        colours = self._cycle()
        colour = colours[k % len(colours)]
        colour = ink() if colour == "ink" else str(mpl.colors.to_hex(colour))
        return seen_on(paper(), colour) if self.colours == COLOURS else colour

    def outline(self, k: int) -> str:
        """Colour of an outline of class k, which is seen on the points of the class."""
        return outline_colour(self.colour(k), ink(), paper())

    def _cycle(self) -> Sequence[str]:
        """The colours, or the greys of a style that has no others."""
        return (of_greys("color") if self.colours == COLOURS else []) or self.colours

    def marker(self, k: int) -> str:
        """Marker of class k: classes of the same colour differ in it, and so do neighbours."""
        markers = of_greys("marker") or MARKERS
        return str(markers[(k + k // len(self._cycle())) % len(markers)])

    def line(self, k: int) -> Any:
        """Line style of class k."""
        lines = of_greys("linestyle") or LINES
        return lines[k % len(lines)]

    def hatch(self, k: int) -> str:
        """Hatch of the area of class k, which is empty but in a style of greys."""
        hatches = (of_greys("hatch") or HATCHES) if of_greys("color") else [""]
        return str(hatches[k % len(hatches)])

    def of(self, k: int) -> dict[str, Any]:
        """All three of class k, as lines of matplotlib take them."""
        return {"color": self.colour(k), "marker": self.marker(k), "linestyle": self.line(k)}


SIGNS = Signs()
"""Those of a picture for which no colours were asked."""


def signs_of(classes: Sequence[Any], colors: Any = None) -> Signs:
    """The signs of classes, by colours that a person gave.

    Colours are by label, in the order of the classes, or a colormap of matplotlib or its name. It is a
    DataError if a class has no colour, a label is of no class, or a colour or colormap is not known to
    matplotlib.
    """
    if colors is None:
        return Signs()
    if is_colormap(colors):
        given = _of_colormap(colormap_of(colors), len(classes))
    elif isinstance(colors, Mapping):
        unknown = [label for label in colors if label not in classes]
        if unknown:
            raise DataError(
                f"Unknown class {unknown[0]!r} in colors=.",
                hint=f"Name some of {list(classes)}.",
                classes=unknown,
            )
        given = [colors.get(label, COLOURS[k % len(COLOURS)]) for k, label in enumerate(classes)]
    elif not isinstance(colors, Iterable):
        raise DataError(
            f"colors= is of type {type(colors).__name__}.",
            hint="Give a colour for each class, or a colormap's name.",
        )
    else:
        given = list(colors)
        if len(given) < len(classes):
            raise DataError(
                f"colors= has {len(given)} colours for {len(classes)} classes.", hint="Give one for each."
            )
    return Signs(tuple(_hex(colour) for colour in given))


def is_colormap(given: Any) -> bool:
    """Whether it is a colormap, or a text that may be its name."""
    import matplotlib as mpl

    return isinstance(given, (str, mpl.colors.Colormap))


def colormap_of(given: Any) -> Colormap:
    """A colormap of matplotlib, or that of a name; a DataError of a name that it does not know."""
    import matplotlib as mpl

    if isinstance(given, mpl.colors.Colormap):
        return given
    if given not in mpl.colormaps:
        near = get_close_matches(given.lower(), {name.lower(): name for name in mpl.colormaps}, 1)
        hint = f" Did you mean {next(n for n in mpl.colormaps if n.lower() == near[0])!r}?" if near else ""
        raise DataError(
            f"colors={given!r} is no colormap.",
            hint=f"Give a colour for each class, or a colormap's name.{hint}",
        )
    return mpl.colormaps[given]


LEAST_CONTRAST = 1.5
"""Of a colour of a colormap with the paper, where it has so many: classes are seen at both of its ends."""


def _of_colormap(colormap: Colormap, count: int) -> list[Any]:
    """All colours of a colormap of few, or so many at even steps among those that are seen on the paper."""
    if colormap.N < 64:
        return [colormap(step) for step in range(colormap.N)]
    fine = np.asarray(colormap(np.linspace(0.0, 1.0, 256)))[:, :3]
    light = luminance(np.vstack([fine, _rgb(paper())])) + 0.05
    seen = fine[np.maximum(light[:-1] / light[-1], light[-1] / light[:-1]) >= LEAST_CONTRAST]
    seen = seen if len(seen) >= count else fine
    # A colormap that ends as it begins, such as "twilight", goes round.
    closed = bool(np.abs(fine[0] - fine[-1]).max() < 0.05)
    steps = np.linspace(0, len(seen) - 1, count, endpoint=not closed)
    return [tuple(colour) for colour in seen[steps.round().astype(int)].tolist()]


def luminance(colours: Floats) -> Floats:
    """Relative luminances (...) of colours (..., 3), which are codes and not light."""
    light = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return np.asarray(light @ [0.2126, 0.7152, 0.0722])


def _rgb(colour: str) -> Floats:
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(colour))


def _hex(colour: Any) -> str:
    from matplotlib.colors import to_hex

    if isinstance(colour, str) and colour == "ink":
        return "ink"
    try:
        return str(to_hex(colour))
    except ValueError:
        raise DataError(
            f"colors= has {colour!r}, which matplotlib knows no colour by.",
            hint="Give '#0072B2' and the like.",
        ) from None


# ---- names and numbers


def shown_name(label: Any, width: int = LABEL) -> str:
    """A label as matplotlib should show it: no mathematics, no control characters, not too long."""
    text = shorten(clean(label), width).replace("$", r"\$")
    # matplotlib keeps labels with a leading underscore out of legends.
    return f"\u200a{text}" if text.startswith("_") else text


def label_codes(labels: pd.Series, classes: Sequence[Any]) -> Codes:
    """Position of each label among the classes, -1 where there is none."""
    known = pd.Index(classes, dtype=object)
    codes = known.get_indexer(pd.Index(labels.astype(object), dtype=object))
    return np.where(labels.isna().to_numpy(), -1, codes).astype(np.intp)


def numbers(frame: pd.DataFrame) -> Floats:
    """The columns of a table as numbers (n, p)."""
    columns = [frame.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan) for j in range(frame.shape[1])]
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


# ---- axes, panels, legends

UNBOUNDED: ContextVar[bool] = ContextVar("unbounded", default=False)
"""Whether the axes of a picture have their size, and what stands beside them has the room that it takes.

To fit all of it into a figure takes half of the time of a picture, and an image of a page has no such size.
"""

AROUND = (2.0, 3.0, 1.5, 1.0)
"""Inches at the left, at the right, below and above of axes that are not bounded: lines end at a figure's."""


def letters() -> float:
    """Size of the text in use, in points."""
    import matplotlib as mpl

    return float(mpl.rcParams["font.size"])


def inches(width: float, height: float) -> tuple[float, float]:
    """Width and height of a figure of 6.4 inches, or of the share of them that narrower figures have."""
    import matplotlib as mpl

    share = min(1.0, mpl.rcParams["figure.figsize"][0] / 6.4)
    return share * width, share * height


def new_axes(ax: Axes | None, lines: int = 0, size: tuple[float, float] | None = None) -> tuple[Axes, bool]:
    """The axes given, or those of a new figure, high enough for so many lines; and whether they are new."""
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if isinstance(ax, Axes):
        return ax, False
    if ax is not None:
        raise DataError(
            f"ax= is of type {type(ax).__name__}.", hint="Give axes of matplotlib, as plt.subplots()[1] are."
        )
    width, height = size or plt.rcParams["figure.figsize"]
    high = float(np.clip(0.017 * letters() * lines + 1, height, 30))
    if not UNBOUNDED.get():
        return plt.subplots(figsize=(width, high), layout="constrained")[1], True
    left, right, below, above = AROUND
    wide = width + left + right
    tall = high + below + above
    place = ((left + 0.8) / wide, (below + 0.5) / tall, (width - 1.1) / wide, (high - 0.9) / tall)
    return plt.figure(figsize=(wide, tall)).add_axes(place), True


def panels(
    ax: Axes | None,
    rows: int,
    columns: int,
    size: tuple[float, float] | None = None,
    gaps: tuple[float, float] = (0.28, 0.30),
    titled: bool = False,
) -> tuple[Axes, NDArray[Any]]:
    """Axes of a picture with panels: the outer one, which bears the title alone, and (rows, columns) in it.

    These take the place of axes that are given, or of a figure of so many inches, and are the outer one's
    `child_axes`, row by row. The gaps between them take together such shares of the width and height. Panels
    that are titled have titles of their own, for which there is room below that of the picture.
    """
    outer, _ = new_axes(ax, size=size)
    outer.set_axis_off()
    gap_x = gaps[0] / columns
    gap_y = gaps[1] / rows
    width = (1 - gap_x * (columns - 1)) / columns
    height = (1 - gap_y * (rows - 1)) / rows
    high = outer.get_window_extent().height / outer.figure.dpi
    top = max(1.0 - 0.25 / high, 0.5) if titled else 1.0
    inner = np.empty((rows, columns), dtype=object)
    for i in range(rows):
        for j in range(columns):
            place = (j * (width + gap_x), top * (1 - height - i * (height + gap_y)), width, top * height)
            inner[i, j] = outer.inset_axes(place)
    return outer, inner


MOST_DECADES = 3.5
"""Of ratios whose axis has numbers; on wider ones it has powers of ten."""


def log_axis(axes: Axes, values: Floats) -> None:
    """Make the horizontal axis one of logs, with the numbers of some values written out where they are few.

    Values that are not positive have no place on it.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_xscale("log")
    ends = values[np.isfinite(values) & (values > 0)]
    decades = float(np.ptp(np.log10(ends))) if len(ends) else 0.0
    if decades < MOST_DECADES:
        # Odds of 2 and 5, and not 2 x 10^0; of many decades the labels are powers of ten.
        subs = [1.0, 2.0, 5.0] if decades < 2.5 else [1.0]
        axes.xaxis.set_major_locator(LogLocator(subs=subs))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif decades > 150:
        # Powers that matplotlib would choose lie beyond the doubles.
        axes.set_xticks([10.0**power for power in (-200, -100, 0, 100, 200)])
        axes.set_xticks([], minor=True)


def lay_out(axes: Axes) -> None:
    """Let legend and names take their places, so that the axes have the size they will be drawn with."""
    from matplotlib.figure import Figure

    layout = axes.figure.get_layout_engine()
    if layout is not None and isinstance(axes.figure, Figure):
        layout.execute(axes.figure)
    every: list[Any] = [axes, *axes.child_axes]
    for each in every:
        locator = each.get_axes_locator()
        each.apply_aspect(None if locator is None else locator(each, None))


BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
"""The place of a legend beside the axes."""


def add_legend(axes: Axes, is_new: bool) -> Axes:
    """Classes by name: beside the axes where the figure is new, else where the picture leaves space.

    Beyond 12 they are small and in several columns, where these take no more than a third of the width.
    """
    from matplotlib.collections import PathCollection

    handles, names = axes.get_legend_handles_labels()
    count = len(names)
    if not count:
        return axes
    box = axes.figure.bbox if is_new else axes.get_window_extent()
    inches = box.width / axes.figure.dpi, box.height / axes.figure.dpi
    small = count > MOST_IN_LEGEND
    columns = -(-count // max(int(inches[1] / 0.2), 1)) if small else 1
    # A letter of this size is some 0.08 inches wide, and the marker with its gaps takes 0.35.
    wide = columns * (0.35 + 0.075 * max(display_width(name) for name in names))
    if small and (wide > inches[0] * (0.4 if is_new else 0.3)):
        return axes
    place: dict[str, Any] = BESIDE
    if not is_new:
        # Over rows, a frame tells the markers of the legend from those of the rows.
        place = {"loc": "best", "frameon": True, "framealpha": 0.8}
    if small:
        place = place | {"ncols": columns, "fontsize": "small", "columnspacing": 0.8, "handletextpad": 0.3}
    legend = axes.legend(handles, names, **place)
    for handle in legend.legend_handles:
        # Small and faint as one of many, a marker alone would not be seen.
        if isinstance(handle, PathCollection):
            handle.set_sizes([30])
            handle.set_alpha(1.0)
    return axes


# ---- titles

NARROW = 3.5
"""Inches of axes whose title is no larger than their labels."""

LEAST_CHARACTERS = 8
"""Of a line, however narrow the axes are."""

MOST_BESIDE = 0.4
"""Share of the width of a figure that names of lines, or a legend beside the axes, may take."""


def set_title(axes: Axes, text: str) -> None:
    """Give axes a title, no larger than their labels where they are narrow; `fit_texts` breaks its lines."""
    title = axes.set_title(text)
    if axes.get_window_extent().width < NARROW * axes.figure.dpi:
        title.set_fontsize("medium")


FIRST = (
    "Noto Sans CJK JP, Noto Sans CJK SC, Source Han Sans, Hiragino Sans, PingFang SC, Yu Gothic, "
    "Microsoft YaHei, Malgun Gothic, WenQuanYi Zen Hei, Arial Unicode MS"
)
"""Fonts of East Asian scripts, which are looked into before the others."""

GENERIC = ("serif", "sans-serif", "cursive", "fantasy", "monospace")
"""Families that stand for a list of fonts each."""

NO_LETTERS = "Last Resort"
"""Fonts of boxes, one for all letters of a script."""


@contextmanager
def fonts_for(texts: Iterable[Any]) -> Iterator[None]:
    """Text that is written meanwhile has a font for each of its characters, where one is installed.

    A warning says so where none is, once for the same characters. The texts are labels and names that will be
    written.
    """
    import matplotlib as mpl

    characters = {c for text in texts for c in clean(text) if c.isprintable() and not c.isspace()}
    beyond = frozenset(c for c in characters if ord(c) > 0x7F)
    family = tuple(mpl.rcParams["font.family"])
    more = _more_fonts(family, beyond) if beyond else ()
    # A context of all settings would end what a notebook's backend sets where it is loaded meanwhile, and no
    # later picture would be shown.
    mpl.rcParams["font.family"] = [*family, *more]
    try:
        yield
    finally:
        mpl.rcParams["font.family"] = list(family)


@lru_cache
def _more_fonts(family: tuple[str, ...], characters: frozenset[str]) -> tuple[str, ...]:
    """Names of fonts that have what those of a family lack, as few as there can be in the order tried."""
    import matplotlib as mpl
    from matplotlib import font_manager

    def have(path: str) -> set[str]:
        try:
            known = font_manager.get_font(path).get_charmap()
        except (RuntimeError, OSError, ValueError):
            # A font of bitmaps, or a file that is none.
            return set()
        return {c for c in characters if ord(c) in known}

    missing = set(characters)
    settings: Any = mpl.rcParams
    generic = {name: settings[f"font.{name}"] for name in GENERIC}
    for name in family:
        for each in generic.get(name, [name]):
            with suppress(ValueError):
                missing -= have(_path_of(each))
    found: list[str] = []
    gains: dict[str, set[str]] = {}
    for name, path in _installed() if missing else ():
        gains[name] = have(path) & missing
        if gains[name] == missing:
            break
    while missing and gains:
        name = max(gains, key=lambda each: len(gains[each] & missing))
        if not gains[name] & missing:
            break
        found.append(name)
        missing -= gains.pop(name)
    if missing:
        warn_user(
            f"matplotlib finds no font that has the characters {''.join(sorted(missing)[:12])}, which are "
            "boxes in pictures: install one, such as Noto Sans CJK."
        )
    return tuple(found)


def _path_of(name: str) -> str:
    """Path of a font; a ValueError says that there is none."""
    from matplotlib import font_manager

    properties = font_manager.FontProperties(family=[name])
    return str(font_manager.findfont(properties, fallback_to_default=False))


def _installed() -> Iterator[tuple[str, str]]:
    """Name and path of each font, the likely ones first, at last those that matplotlib has not met."""
    from matplotlib import font_manager

    manager = font_manager.fontManager
    known = {
        entry.name: entry.fname
        for entry in reversed(manager.ttflist)
        if not entry.name.startswith(NO_LETTERS)
    }
    first = [name for name in FIRST.split(", ") if name in known]
    for name in [*first, *(name for name in known if name not in first)]:
        yield name, known[name]
    paths = {entry.fname for entry in manager.ttflist}
    others = [path for path in font_manager.findSystemFonts() if path not in paths]
    # Sans before serif, regular before bold: the shortest name of a file is that of the plainest face.
    plain = [path for path in others if "Sans" in path and "Regular" in path]
    for path in sorted(others, key=lambda each: (each not in plain, len(each), each)):
        try:
            manager.addfont(path)
        except (RuntimeError, OSError, ValueError):
            continue
        yield manager.ttflist[-1].name, path


FORMATS = ("png", "svg", "pdf")
"""Formats of pictures, which are also the ends of their files' names."""

DPI = 150
"""Dots an inch of a picture of dots: seven inches fill a screen, and are sharp in print."""


def picture_bytes(draw: Callable[[], object], form: str) -> bytes:
    """Draw without a display, and give what a file of the picture holds.

    A DataError says that the format is not among `FORMATS`.
    """
    if form not in FORMATS:
        raise DataError(f"A picture is not written as {form!r}.", hint=f"Give one of {', '.join(FORMATS)}.")
    import matplotlib.pyplot as plt

    # Whatever backend a person's settings name, a file needs no window.
    plt.switch_backend("agg")
    draw()
    figure = plt.gcf()
    file = io.BytesIO()
    try:
        figure.savefig(file, format=form, dpi=DPI)
    finally:
        plt.close(figure)
    return file.getvalue()
