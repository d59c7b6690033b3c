"""Shared elements of all plots: colours, markers, fonts, axes, legends and titles.

The first colours are from Okabe and Ito, which colour-blind readers can distinguish; twelve more are as far
from these and from each other as possible. Markers and line styles differ too, hence 160 classes have
different combinations, and a greyscale copy is legible. A style sheet of greys, such as matplotlib's
"grayscale", replaces the colours. Elements without a class have the text colour of the style sheet, which is
visible on dark backgrounds. For scripts that the current fonts lack, an installed font is added to
``rcParams["font.family"]``. Files are drawn without a display.
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
"""Default colours of the classes; "ink" is the text colour of the style sheet."""

MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 2)), (0, (8, 2)))
"""Default markers and line styles of the classes."""

HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "|||", "+++")
"""Default hatches of areas of the classes in greyscale styles."""

MAX_UNLABELLED = 8
"""Largest number of classes that colours alone distinguish easily; for more, class means are labelled."""

MAX_IN_LEGEND = 12
"""Largest number of classes in a normal legend; for more, class means are labelled."""

MAX_LABEL_WIDTH = 30
"""Largest display width of a label; longer ones are cut in the middle."""


# ---- ink and paper


def ink() -> str:
    """Return the colour of text in the current style of matplotlib as #rrggbb."""
    import matplotlib as mpl

    return str(mpl.colors.to_hex(mpl.rcParams["text.color"]))


def paper() -> str:
    """Return the background colour of axes in the current style of matplotlib as #rrggbb."""
    import matplotlib as mpl

    face = mpl.rcParams["axes.facecolor"]
    return str(mpl.colors.to_hex(face if face != "none" else mpl.rcParams["figure.facecolor"]))


def faint_ink(paper_share: float) -> str:
    """Return the text colour mixed with a proportion `paper_share` of the background colour, as #rrggbb."""
    import matplotlib as mpl

    dark, light = (np.array(mpl.colors.to_rgb(colour)) for colour in (ink(), paper()))
    red, green, blue = ((1 - paper_share) * dark + paper_share * light).tolist()
    return str(mpl.colors.to_hex((red, green, blue)))


def adapted_opacity(base_opacity: float) -> float:
    """Return the opacity of points and areas: `base_opacity`, or 1.5 times as much on dark backgrounds.

    Images for pages have the same opacity in light and dark mode.
    """
    return (
        base_opacity if UNBOUNDED.get() or luminance(_rgb(paper())) > 0.18 else min(1.0, 1.5 * base_opacity)
    )


MIN_DARK_CONTRAST = 3.0
"""Smallest contrast of graphics with dark paper; WCAG 2.2 requires 3:1."""


@lru_cache
def visible_colour(dark: str, colour: str) -> str:
    """Mix a colour with white until its contrast with a background is at least `MIN_DARK_CONTRAST`.

    Parameters
    ----------
    dark : str
        Colour of the background. If it is light, the colour is returned unchanged.
    colour : str
        Colour to mix.

    Returns
    -------
    str
        Colour as #rrggbb.
    """
    whiter = np.linspace(_rgb(colour), 1.0, 101)
    relative_luminance = luminance(np.vstack([whiter, _rgb(dark)])) + 0.05
    if relative_luminance[-1] > 0.23:
        return colour
    red, green, blue = whiter[
        np.argmax(relative_luminance[:-1] >= MIN_DARK_CONTRAST * relative_luminance[-1])
    ].tolist()
    return _hex_colour((red, green, blue))


def halo() -> list[Any]:
    """Return path effects with an outline in the background colour, which separates lines from points."""
    from matplotlib.patheffects import Normal, Stroke

    return [Stroke(linewidth=3.4, foreground=paper(), alpha=0.8), Normal()]


def grey_cycle(key: str) -> list[Any]:
    """Return the values of a property, such as "color", in the property cycle of matplotlib's style.

    Returns [] if the style is not one of greys, or its cycle does not have the property.
    """
    import matplotlib as mpl

    cycle = mpl.rcParams["axes.prop_cycle"].by_key()
    shades = np.array([mpl.colors.to_rgb(colour) for colour in cycle.get("color", ["red"])])
    return list(cycle.get(key, ())) if np.ptp(shades, axis=1).max() < 0.01 else []


POINT_OPACITY = 0.75
"""Opacity of the points of observations on white."""

MIN_OUTLINE_CONTRAST = 3.0
"""Smallest contrast of an outline with the points that it surrounds; WCAG 2.2 requires 3:1."""


@lru_cache
def outline_colour(colour: str, ink: str, paper: str) -> str:
    """Return the shade of a colour in which an outline is visible on points of this colour.

    The colour is mixed with as much of the ink, or else of the paper, as a contrast of
    `MIN_OUTLINE_CONTRAST` to points of opacity `POINT_OPACITY` on the paper requires.

    Parameters
    ----------
    colour : str
        Colour of the points.
    ink, paper : str
        Colours of text and background.

    Returns
    -------
    str
        Colour as #rrggbb; the ink if no shade has the contrast.
    """
    points = POINT_OPACITY * _rgb(colour) + (1 - POINT_OPACITY) * _rgb(paper)
    base = luminance(points) + 0.05
    for target in (ink, paper):
        # Rounded to eight bits, the precision of written colours.
        shades = np.round(255 * np.linspace(_rgb(colour), _rgb(target), 101)) / 255
        light = luminance(shades) + 0.05
        has_contrast = np.maximum(light / base, base / light) >= MIN_OUTLINE_CONTRAST
        if has_contrast.any():
            red, green, blue = shades[np.argmax(has_contrast)].tolist()
            return _hex_colour((red, green, blue))
    return ink


# ---- the signs of the classes


@dataclass(frozen=True, slots=True)
class Signs:
    """Colour, marker and line style that distinguish the classes in plots.

    All methods take the position k of a class, from 0.

    Attributes
    ----------
    colours : tuple of str
        Colours by position, repeated as often as needed. The colour "ink" is the text colour.
    """

    colours: tuple[str, ...] = COLOURS

    def colour(self, k: int) -> str:
        """Return the colour of class k as #rrggbb, visible on the background of the current style."""
        import matplotlib as mpl

        colours = self._cycle()
        colour = colours[k % len(colours)]
        colour = ink() if colour == "ink" else str(mpl.colors.to_hex(colour))
        return visible_colour(paper(), colour) if self.colours == COLOURS else colour

    def outline(self, k: int) -> str:
        """Return the colour of outlines of class k, which are visible on the points of the class."""
        return outline_colour(self.colour(k), ink(), paper())

    def _cycle(self) -> Sequence[str]:
        """Return the colours by position, or the greys of a greyscale style if the user chose no colours."""
        return (grey_cycle("color") if self.colours == COLOURS else []) or self.colours

    def marker(self, k: int) -> str:
        """Return the marker of class k, which differs between classes of the same colour."""
        markers = grey_cycle("marker") or MARKERS
        return str(markers[(k + k // len(self._cycle())) % len(markers)])

    def line(self, k: int) -> Any:
        """Return the line style of class k, a name or a pattern of dashes (offset, lengths)."""
        lines = grey_cycle("linestyle") or LINES
        return lines[k % len(lines)]

    def hatch(self, k: int) -> str:
        """Return the hatch of areas of class k; empty except in a greyscale style."""
        hatches = (grey_cycle("hatch") or HATCHES) if grey_cycle("color") else [""]
        return str(hatches[k % len(hatches)])

    def line_options(self, k: int) -> dict[str, Any]:
        """Return colour, marker and line style of class k as keyword arguments of `plot`."""
        return {"color": self.colour(k), "marker": self.marker(k), "linestyle": self.line(k)}


SIGNS = Signs()
"""Default signs."""


def signs_of(classes: Sequence[Any], colors: Any = None) -> Signs:
    """Return the signs of classes in the colours that the user passed as `colors`.

    Parameters
    ----------
    classes : sequence
        Labels (K,).
    colors : mapping, sequence, colormap or str, optional
        Colours by label, in the order of the classes, or a colormap of matplotlib or its name. Classes that a
        mapping does not name have their default colours; the colours of a short discrete colormap repeat.

    Returns
    -------
    Signs

    Raises
    ------
    DataError
        A sequence has fewer colours than classes, a label is not a class, `colors` has another type, or
        matplotlib does not accept a colour or colormap.
    """
    if colors is None:
        return Signs()
    if is_colormap(colors):
        class_colours = _colours_from_colormap(colormap_of(colors), len(classes))
    elif isinstance(colors, Mapping):
        unknown = [label for label in colors if label not in classes]
        if unknown:
            raise DataError(
                f"Unknown class {unknown[0]!r} in colors=.",
                hint=f"The classes are {list(classes)}.",
                classes=unknown,
            )
        class_colours = [colors.get(label, COLOURS[k % len(COLOURS)]) for k, label in enumerate(classes)]
    elif not isinstance(colors, Iterable):
        raise DataError(
            f"colors= has the type {type(colors).__name__}, which is not a collection of colours.",
            hint="Pass a colour for each class, or the name of a colormap.",
        )
    else:
        class_colours = list(colors)
        if len(class_colours) < len(classes):
            raise DataError(
                f"colors= has {len(class_colours)} colours for {len(classes)} classes.",
                hint="Pass a colour for each class.",
            )
    return Signs(tuple(_hex_colour(colour) for colour in class_colours))


def is_colormap(candidate: Any) -> bool:
    """Return whether an object is a colormap of matplotlib, or a str, which may be the name of one."""
    import matplotlib as mpl

    return isinstance(candidate, (str, mpl.colors.Colormap))


def colormap_of(colormap: Any) -> Colormap:
    """Return a colormap of matplotlib by object or name; raise a DataError for an unknown name."""
    import matplotlib as mpl

    if isinstance(colormap, mpl.colors.Colormap):
        return colormap
    if colormap not in mpl.colormaps:
        close_matches = get_close_matches(colormap.lower(), {name.lower(): name for name in mpl.colormaps}, 1)
        hint = (
            f" Did you mean {next(n for n in mpl.colormaps if n.lower() == close_matches[0])!r}?"
            if close_matches
            else ""
        )
        raise DataError(
            f"colors={colormap!r} is not a colormap of matplotlib.",
            hint=f"Pass a colour for each class, or the name of a colormap.{hint}",
        )
    return mpl.colormaps[colormap]


MIN_PAPER_CONTRAST = 1.5
"""Smallest contrast with the paper of a colour that is taken from a continuous colormap."""


def _colours_from_colormap(colormap: Colormap, count: int) -> list[Any]:
    """Return all colours of a discrete colormap, or `count` evenly spaced ones of a continuous colormap.

    A colormap is discrete if it has fewer than 64 colours. In a continuous one, colours of low contrast with
    the paper are avoided if there are enough others.
    """
    if colormap.N < 64:
        return [colormap(step) for step in range(colormap.N)]
    rgb_values = np.asarray(colormap(np.linspace(0.0, 1.0, 256)))[:, :3]
    relative_luminance = luminance(np.vstack([rgb_values, _rgb(paper())])) + 0.05
    visible = rgb_values[
        np.maximum(
            relative_luminance[:-1] / relative_luminance[-1], relative_luminance[-1] / relative_luminance[:-1]
        )
        >= MIN_PAPER_CONTRAST
    ]
    visible = visible if len(visible) >= count else rgb_values
    # A colormap that ends as it begins, such as "twilight", goes round.
    is_cyclic = bool(np.abs(rgb_values[0] - rgb_values[-1]).max() < 0.05)
    steps = np.linspace(0, len(visible) - 1, count, endpoint=not is_cyclic)
    return [tuple(colour) for colour in visible[steps.round().astype(int)].tolist()]


def luminance(colours: Floats) -> Floats:
    """Compute the relative luminance (...), from 0 to 1, of sRGB colours (..., 3) in the range 0 to 1."""
    light = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return np.asarray(light @ [0.2126, 0.7152, 0.0722])


def _rgb(colour: str) -> Floats:
    """Return the red, green and blue (3,) of a colour, from 0 to 1."""
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(colour))


def _hex_colour(colour: Any) -> str:
    """Return a colour as #rrggbb, or "ink" unchanged; raise a DataError if matplotlib does not accept it."""
    from matplotlib.colors import to_hex

    if isinstance(colour, str) and colour == "ink":
        return "ink"
    try:
        return str(to_hex(colour))
    except ValueError:
        raise DataError(
            f"colors= contains {colour!r}, which is not a colour of matplotlib.",
            hint="Pass a name or a code such as '#0072B2'.",
        ) from None


# ---- names and numbers


def shown_name(label: Any, width: int = MAX_LABEL_WIDTH) -> str:
    """Format a label for matplotlib, which then shows it literally.

    "$" and control characters are escaped. A leading underscore, which would keep the label out of legends,
    gets a hair space before it.

    Parameters
    ----------
    label : object
        Label of a class, a column or a row.
    width : int
        Display width in characters; the middle of a wider label is replaced by an ellipsis.

    Returns
    -------
    str
    """
    text = shorten(clean(label), width).replace("$", r"\$")
    # matplotlib keeps labels with a leading underscore out of legends.
    return f"\u200a{text}" if text.startswith("_") else text


def label_codes(labels: pd.Series, classes: Sequence[Any]) -> Codes:
    """Return the position (n,) of each label among the classes, -1 if missing or not a class."""
    class_index = pd.Index(classes, dtype=object)
    codes = class_index.get_indexer(pd.Index(labels.astype(object), dtype=object))
    return np.where(labels.isna().to_numpy(), -1, codes).astype(np.intp)


def to_floats(frame: pd.DataFrame) -> Floats:
    """Return the p columns of a table as a float64 array (n, p); missing values become NaN."""
    columns = [frame.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan) for j in range(frame.shape[1])]
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


# ---- axes, panels, legends

UNBOUNDED: ContextVar[bool] = ContextVar("unbounded", default=False)
"""Whether new axes have a fixed size within a larger figure, which is cropped to the texts around them.

Images for pages are drawn so, because fitting everything into a figure takes half of the time.
"""

MARGINS = (2.0, 3.0, 1.5, 1.0)
"""Inches to the left, to the right, below and above unbounded axes, within which their texts must fit."""


def font_points() -> float:
    """Return the current font size in points."""
    import matplotlib as mpl

    return float(mpl.rcParams["font.size"])


def scaled_inches(width: float, height: float) -> tuple[float, float]:
    """Return a figure size in inches, reduced in proportion if the style's default width is below 6.4."""
    import matplotlib as mpl

    scale = min(1.0, mpl.rcParams["figure.figsize"][0] / 6.4)
    return scale * width, scale * height


def new_axes(ax: Axes | None, n_lines: int = 0, size: tuple[float, float] | None = None) -> tuple[Axes, bool]:
    """Return the user's axes, or the axes of a new figure.

    If `UNBOUNDED` is set, the new figure is larger by `MARGINS`, into which texts may extend.

    Parameters
    ----------
    ax : Axes or None
        Axes to draw on; None for a new figure.
    n_lines : int
        Number of lines with names, for which a new figure is made high enough, up to 30 inches.
    size : tuple of float, optional
        Width and minimum height of a new figure in inches; by default the size of the style.

    Returns
    -------
    axes : Axes
        `ax`, or the only axes of the new figure.
    is_new : bool
        Whether the figure is new.

    Raises
    ------
    DataError
        `ax` is not an Axes of matplotlib.
    """
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if isinstance(ax, Axes):
        return ax, False
    if ax is not None:
        raise DataError(
            f"ax= has the type {type(ax).__name__}.",
            hint="Pass axes of matplotlib, for example plt.subplots()[1].",
        )
    width, height = size or plt.rcParams["figure.figsize"]
    axes_height = float(np.clip(0.017 * font_points() * n_lines + 1, height, 30))
    if not UNBOUNDED.get():
        return plt.subplots(figsize=(width, axes_height), layout="constrained")[1], True
    left_margin, right_margin, bottom_margin, top_margin = MARGINS
    figure_width = width + left_margin + right_margin
    figure_height = axes_height + bottom_margin + top_margin
    axes_box = (
        (left_margin + 0.8) / figure_width,
        (bottom_margin + 0.5) / figure_height,
        (width - 1.1) / figure_width,
        (axes_height - 0.9) / figure_height,
    )
    return plt.figure(figsize=(figure_width, figure_height)).add_axes(axes_box), True


def panels(
    ax: Axes | None,
    rows: int,
    columns: int,
    size: tuple[float, float] | None = None,
    relative_gaps: tuple[float, float] = (0.28, 0.30),
    has_titles: bool = False,
) -> tuple[Axes, NDArray[Any]]:
    """Create a grid of panels within outer axes, which have only the title.

    Parameters
    ----------
    ax : Axes or None
        Axes to divide; None for a new figure.
    rows, columns : int
        Numbers of rows and columns of panels.
    size : tuple of float, optional
        Width and height of a new figure in inches; by default from the style.
    relative_gaps : (float, float)
        Horizontal and vertical gap between adjacent panels, as a share of 1/columns of the width and of
        1/rows of the height.
    has_titles : bool
        Whether panels have titles, for which room is left below the title of the plot.

    Returns
    -------
    outer : Axes
        Outer axes, invisible except for their title. Their `child_axes` are the panels, row by row.
    inner : (rows, columns) array of Axes
        The panels, the first row at the top.
    """
    outer, _ = new_axes(ax, size=size)
    outer.set_axis_off()
    gap_x = relative_gaps[0] / columns
    gap_y = relative_gaps[1] / rows
    width = (1 - gap_x * (columns - 1)) / columns
    height = (1 - gap_y * (rows - 1)) / rows
    outer_height = outer.get_window_extent().height / outer.figure.dpi
    top = max(1.0 - 0.25 / outer_height, 0.5) if has_titles else 1.0
    inner = np.empty((rows, columns), dtype=object)
    for i in range(rows):
        for j in range(columns):
            panel_box = (j * (width + gap_x), top * (1 - height - i * (height + gap_y)), width, top * height)
            inner[i, j] = outer.inset_axes(panel_box)
    return outer, inner


MAX_PLAIN_DECADES = 3.5
"""Largest number of decades of a logarithmic axis with plain numbers; wider ones have powers of ten."""


def set_log_axis(axes: Axes, values: Floats) -> None:
    """Make the horizontal axis logarithmic, with plain numbers as ticks if the values span few decades.

    Wider axes have powers of ten as ticks; see `MAX_PLAIN_DECADES`.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    values : float array
        Values to draw, of any shape; those that are not positive and finite are ignored.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_xscale("log")
    ends = values[np.isfinite(values) & (values > 0)]
    decades = float(np.ptp(np.log10(ends))) if len(ends) else 0.0
    if decades < MAX_PLAIN_DECADES:
        # Odds of 2 and 5 instead of 2 x 10^0; axes of many decades keep powers of ten.
        subs = [1.0, 2.0, 5.0] if decades < 2.5 else [1.0]
        axes.xaxis.set_major_locator(LogLocator(subs=subs))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif decades > 150:
        # matplotlib would choose powers outside the range of float64.
        axes.set_xticks([10.0**power for power in (-200, -100, 0, 100, 200)])
        axes.set_xticks([], minor=True)


def run_layout(axes: Axes) -> None:
    """Run the layout of the figure, after which the axes and their child axes have their final size."""
    from matplotlib.figure import Figure

    layout = axes.figure.get_layout_engine()
    if layout is not None and isinstance(axes.figure, Figure):
        layout.execute(axes.figure)
    all_axes: list[Any] = [axes, *axes.child_axes]
    for inner_axes in all_axes:
        locator = inner_axes.get_axes_locator()
        inner_axes.apply_aspect(None if locator is None else locator(inner_axes, None))


LEGEND_BESIDE_AXES: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
"""Placement of a legend next to the axes."""


def add_legend(axes: Axes, is_new: bool) -> Axes:
    """Add a legend of the classes: next to the axes of a new figure, otherwise in free space.

    A legend of more than 12 classes has small text in several columns. It is left out if it would take more
    than 40 % of the width of a new figure, or 30 % of given axes.

    Parameters
    ----------
    axes : Axes
        Axes to draw on. The artists with labels are in the legend; without any the legend is omitted.
    is_new : bool
        Whether the figure is new.

    Returns
    -------
    Axes
        `axes`.
    """
    from matplotlib.collections import PathCollection

    handles, names = axes.get_legend_handles_labels()
    count = len(names)
    if not count:
        return axes
    box = axes.figure.bbox if is_new else axes.get_window_extent()
    inches = box.width / axes.figure.dpi, box.height / axes.figure.dpi
    has_small_text = count > MAX_IN_LEGEND
    columns = -(-count // max(int(inches[1] / 0.2), 1)) if has_small_text else 1
    # A letter of this size is some 0.08 inches wide, and the marker with its gaps takes 0.35.
    legend_width = columns * (0.35 + 0.075 * max(display_width(name) for name in names))
    if has_small_text and (legend_width > inches[0] * (0.4 if is_new else 0.3)):
        return axes
    legend_options: dict[str, Any] = LEGEND_BESIDE_AXES
    if not is_new:
        # On top of points, a frame separates the markers of the legend from them.
        legend_options = {"loc": "best", "frameon": True, "framealpha": 0.8}
    if has_small_text:
        legend_options = legend_options | {
            "ncols": columns,
            "fontsize": "small",
            "columnspacing": 0.8,
            "handletextpad": 0.3,
        }
    legend = axes.legend(handles, names, **legend_options)
    for handle in legend.legend_handles:
        # The small transparent markers of many rows would hardly be visible in the legend.
        if isinstance(handle, PathCollection):
            handle.set_sizes([30])
            handle.set_alpha(1.0)
    return axes


# ---- titles

MAX_NARROW_WIDTH = 3.5
"""Width in inches below which the title of axes is as small as their labels."""

MIN_CHARACTERS = 8
"""Smallest number of characters of a line, even in narrow axes."""

MAX_SIDE_WIDTH = 0.4
"""Largest share of the width of a figure for names of lines, or for a legend next to the axes."""


def set_title(axes: Axes, text: str) -> None:
    """Set the title of axes, in the size of the labels if they are narrower than `MAX_NARROW_WIDTH`.

    The text is shown as it is; `fit_texts` wraps it.
    """
    title = axes.set_title(text)
    if axes.get_window_extent().width < MAX_NARROW_WIDTH * axes.figure.dpi:
        title.set_fontsize("medium")


PREFERRED_FONTS = (
    "Noto Sans CJK JP, Noto Sans CJK SC, Source Han Sans, Hiragino Sans, PingFang SC, Yu Gothic, "
    "Microsoft YaHei, Malgun Gothic, WenQuanYi Zen Hei, Arial Unicode MS"
)
"""Fonts of East Asian scripts, separated by commas, which have priority over other added fonts."""

GENERIC_FAMILIES = ("serif", "sans-serif", "cursive", "fantasy", "monospace")
"""Generic font families, each of which is a list of fonts."""

PLACEHOLDER_FONT = "Last Resort"
"""Prefix of fonts that have the same box for all letters of a script."""


@contextmanager
def fonts_for(texts: Iterable[Any]) -> Iterator[None]:
    """Add fonts for the characters of some texts within a block, if installed ones have them.

    The fonts are appended to ``rcParams["font.family"]``, which is restored at the end. Characters that no
    font has are reported in one warning, which is not repeated for the same characters.
    """
    import matplotlib as mpl

    characters = {c for text in texts for c in clean(text) if c.isprintable() and not c.isspace()}
    non_ascii = frozenset(c for c in characters if ord(c) > 0x7F)
    family = tuple(mpl.rcParams["font.family"])
    extra_fonts = _find_fonts(family, non_ascii) if non_ascii else ()
    # Not rc_context: it would undo the settings of a notebook's backend that is loaded within the block, and
    # later plots would not be displayed.
    mpl.rcParams["font.family"] = [*family, *extra_fonts]
    try:
        yield
    finally:
        mpl.rcParams["font.family"] = list(family)


@lru_cache
def _find_fonts(family: tuple[str, ...], characters: frozenset[str]) -> tuple[str, ...]:
    """Find installed fonts for the characters that a font family lacks.

    Parameters
    ----------
    family : tuple of str
        Names of fonts or generic families.
    characters : frozenset of str
        Characters to show.

    Returns
    -------
    tuple of str
        Names of fonts, chosen greedily by the number of characters that they add. A warning reports the
        characters that remain missing.
    """
    import matplotlib as mpl
    from matplotlib import font_manager

    def characters_in(path: str) -> set[str]:
        """Return which of the characters a font file supports."""
        try:
            charmap = font_manager.get_font(path).get_charmap()
        except (RuntimeError, OSError, ValueError):
            # A bitmap font, or a file that is not a font.
            return set()
        return {c for c in characters if ord(c) in charmap}

    missing = set(characters)
    settings: Any = mpl.rcParams
    generic = {name: settings[f"font.{name}"] for name in GENERIC_FAMILIES}
    for name in family:
        for font in generic.get(name, [name]):
            with suppress(ValueError):
                missing -= characters_in(_font_path(font))
    extra_fonts: list[str] = []
    gains: dict[str, set[str]] = {}
    for name, path in _installed_fonts() if missing else ():
        gains[name] = characters_in(path) & missing
        if gains[name] == missing:
            break
    while missing and gains:
        name = max(gains, key=lambda font: len(gains[font] & missing))
        if not gains[name] & missing:
            break
        extra_fonts.append(name)
        missing -= gains.pop(name)
    if missing:
        warn_user(
            f"matplotlib does not find a font with the characters {''.join(sorted(missing)[:12])}, which "
            "appear as boxes in pictures. Install one, for example Noto Sans CJK."
        )
    return tuple(extra_fonts)


def _font_path(name: str) -> str:
    """Return the path of the file of a font by its name; raise a ValueError if it is not installed."""
    from matplotlib import font_manager

    properties = font_manager.FontProperties(family=[name])
    return str(font_manager.findfont(properties, fallback_to_default=False))


def _installed_fonts() -> Iterator[tuple[str, str]]:
    """Yield name and path of each installed font.

    `PREFERRED_FONTS` come first, then the other fonts that matplotlib knows, then those installed since its
    font list was written, which are added to the list.
    """
    from matplotlib import font_manager

    manager = font_manager.fontManager
    path_by_name = {
        entry.name: entry.fname
        for entry in reversed(manager.ttflist)
        if not entry.name.startswith(PLACEHOLDER_FONT)
    }
    first = [name for name in PREFERRED_FONTS.split(", ") if name in path_by_name]
    for name in [*first, *(name for name in path_by_name if name not in first)]:
        yield name, path_by_name[name]
    paths = {entry.fname for entry in manager.ttflist}
    new_paths = [path for path in font_manager.findSystemFonts() if path not in paths]
    # Sans before serif, regular before bold: the plainest face usually has the shortest file name.
    regular_sans = [path for path in new_paths if "Sans" in path and "Regular" in path]
    for path in sorted(
        new_paths, key=lambda font_path: (font_path not in regular_sans, len(font_path), font_path)
    ):
        try:
            manager.addfont(path)
        except (RuntimeError, OSError, ValueError):
            continue
        yield manager.ttflist[-1].name, path


FORMATS = ("png", "svg", "pdf")
"""Formats of pictures, which are also the extensions of their files."""

DPI = 150
"""Resolution of bitmaps in dots per inch: seven inches fill a screen, and are sharp in print."""


def picture_bytes(draw: Callable[[], object], file_format: str) -> bytes:
    """Draw a picture without a display, and return it as the content of a file.

    matplotlib's backend is switched to "agg" for good; the figure is closed.

    Parameters
    ----------
    draw : callable
        Function without arguments that draws on a new figure.
    file_format : str
        One of `FORMATS`.

    Returns
    -------
    bytes

    Raises
    ------
    DataError
        The format is unknown.
    """
    if file_format not in FORMATS:
        raise DataError(
            f"Pictures cannot be written in the format {file_format!r}.",
            hint=f"The formats are {', '.join(FORMATS)}.",
        )
    import matplotlib.pyplot as plt

    # A file needs no window, even if the user's settings name an interactive backend.
    plt.switch_backend("agg")
    draw()
    figure = plt.gcf()
    file = io.BytesIO()
    try:
        figure.savefig(file, format=file_format, dpi=DPI)
    finally:
        plt.close(figure)
    return file.getvalue()
