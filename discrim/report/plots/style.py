"""What all pictures share: the signs of the classes, ink and paper, names, axes, legends, panels.

Colours are those of Okabe and Ito, which stay apart for colour-blind readers; markers and line styles differ
as well, so that 64 classes have 64 signs and a copy in grey can be read. What is drawn in no class's colour
has the ink of the style in use, so that it is seen in the dark. A script that matplotlib's default font lacks
takes a font that has it, in ``rcParams["font.family"]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError
from discrim.report.numbers import clean, display_width, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes

__all__ = [
    "MOST_IN_LEGEND",
    "SIGNS",
    "Signs",
    "add_legend",
    "faint",
    "ink",
    "label_codes",
    "lay_out",
    "new_axes",
    "numbers",
    "panels",
    "paper",
    "shown_name",
    "signs_of",
]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C00", "ink")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
LINES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 2)), (0, (8, 2)))

MOST_IN_LEGEND = 12
"""Classes up to which a legend names them; beyond, the class means bear their labels."""

LABEL = 30
"""Display width of a label before it is cut in its middle."""

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


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


# ---- the signs of the classes


@dataclass(frozen=True, slots=True)
class Signs:
    """Colour, marker and line style of each class, by its position.

    Attributes
    ----------
    colours : tuple of str
        Repeated where the classes are more; "ink" is that of the style in use.
    """

    colours: tuple[str, ...] = COLOURS

    def colour(self, k: int) -> str:
        """Colour of class k."""
        held = self.colours[k % len(self.colours)]
        return ink() if held == "ink" else held

    def marker(self, k: int) -> str:
        """Marker of class k: classes of the same colour differ in it, and so do neighbours."""
        return MARKERS[(k + k // len(COLOURS)) % len(MARKERS)]

    def line(self, k: int) -> Any:
        """Line style of class k."""
        return LINES[k % len(LINES)]

    def of(self, k: int) -> dict[str, Any]:
        """All three of class k, as lines of matplotlib take them."""
        return {"color": self.colour(k), "marker": self.marker(k), "linestyle": self.line(k)}


SIGNS = Signs()
"""Those of a picture for which no colours were asked."""


def signs_of(classes: Sequence[Any], colors: Any = None) -> Signs:
    """The signs of classes, by colours that a person gave.

    Parameters
    ----------
    classes : sequence
    colors : mapping of label to colour, sequence of colours in the order of the classes, or str, optional
        A text is the name of a colormap of matplotlib, which is taken at even steps.

    Raises
    ------
    DataError
        A class has no colour, a label is of no class, or a colour or colormap is not known to matplotlib.
    """
    if colors is None:
        return Signs()
    import matplotlib as mpl

    if isinstance(colors, str):
        if colors not in mpl.colormaps:
            raise DataError(
                f"colors={colors!r} is no colormap: give a colour for each class, or a colormap's name."
            )
        held: Any = mpl.colormaps[colors]
        given = (
            [held(k) for k in range(held.N)]
            if held.N < 64
            else list(held(np.linspace(0, 0.92, len(classes))))
        )
    elif isinstance(colors, Mapping):
        unknown = [label for label in colors if label not in classes]
        if unknown:
            raise DataError(f"colors= names {unknown[0]!r}, which is no class: name some of {list(classes)}.")
        given = [colors.get(label, COLOURS[k % len(COLOURS)]) for k, label in enumerate(classes)]
    elif not isinstance(colors, Iterable):
        raise DataError(
            f"colors= is of type {type(colors).__name__}: give a colour for each class, or a colormap's name."
        )
    else:
        given = list(colors)
        if len(given) < len(classes):
            raise DataError(
                f"colors= has {len(given)} colours for {len(classes)} classes: give one for each."
            )
    return Signs(tuple(_hex(colour) for colour in given))


def _hex(colour: Any) -> str:
    from matplotlib.colors import to_hex

    if colour == "ink":
        return "ink"
    try:
        return str(to_hex(colour))
    except ValueError:
        raise DataError(
            f"colors= has {colour!r}, which matplotlib knows no colour by: give '#0072B2' and the like."
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


def new_axes(ax: Axes | None, lines: int = 0, size: tuple[float, float] | None = None) -> tuple[Axes, bool]:
    """The axes given, or those of a figure of our own, high enough for so many lines."""
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        raise DataError(
            f"ax= is of type {type(ax).__name__}: give axes of matplotlib, as plt.subplots()[1] are."
        )
    if ax is not None:
        return ax, False
    width, height = size or plt.rcParams["figure.figsize"]
    high = float(np.clip(0.17 * lines + 1, height, 30))
    return plt.subplots(figsize=(width, high), layout="constrained")[1], True


def panels(
    ax: Axes | None,
    rows: int,
    columns: int,
    size: tuple[float, float] | None = None,
    gaps: tuple[float, float] = (0.28, 0.30),
    titled: bool = False,
) -> tuple[Axes, NDArray[Any]]:
    """Axes of a picture with panels: the outer one, which bears the title alone, and those in it.

    Parameters
    ----------
    ax : Axes, optional
        Its place is taken by the panels.
    rows, columns : int
    size : (float, float), optional
        Inches of a figure of our own.
    gaps : (float, float)
        Share of the width and height that the gaps between panels take together.
    titled : bool
        The panels have titles of their own, for which there is room below that of the picture.

    Returns
    -------
    outer : Axes
        Its `child_axes` are the panels, row by row.
    inner : (rows, columns) array of Axes
    """
    outer, _ = new_axes(ax, size=size)
    outer.set_axis_off()
    gap_x, gap_y = gaps[0] / columns, gaps[1] / rows
    width, height = (1 - gap_x * (columns - 1)) / columns, (1 - gap_y * (rows - 1)) / rows
    top = 1.0
    if titled:
        high = outer.get_window_extent().height / outer.figure.dpi
        top = max(1.0 - 0.25 / high, 0.5)
    inner = np.empty((rows, columns), dtype=object)
    for i in range(rows):
        for j in range(columns):
            place = (j * (width + gap_x), top * (1 - height - i * (height + gap_y)), width, top * height)
            inner[i, j] = outer.inset_axes(place)
    return outer, inner


def lay_out(axes: Axes) -> None:
    """Let legend and names take their places, so that the axes have the size they will be drawn with."""
    from matplotlib.figure import Figure

    layout = axes.figure.get_layout_engine()
    if layout is not None and isinstance(axes.figure, Figure):
        layout.execute(axes.figure)


def add_legend(axes: Axes, own: bool) -> Axes:
    """Classes by name: beside the axes where the figure is ours, else where they leave room.

    Beyond 12 they are small and in several columns, where these take no more than a third of the width.
    """
    from matplotlib.collections import PathCollection

    handles, names = axes.get_legend_handles_labels()
    count = len(names)
    if not count:
        return axes
    box = axes.figure.bbox if own else axes.get_window_extent()
    inches = box.width / axes.figure.dpi, box.height / axes.figure.dpi
    small = count > MOST_IN_LEGEND
    columns = -(-count // max(int(inches[1] / 0.2), 1)) if small else 1
    # A letter of this size is some 0.08 inches wide, and the marker with its gaps takes 0.35.
    wide = columns * (0.35 + 0.075 * max(display_width(name) for name in names))
    if small and (wide > inches[0] * (0.4 if own else 0.3)):
        return axes
    size: dict[str, Any] = (
        {"ncols": columns, "fontsize": "small", "columnspacing": 0.8, "handletextpad": 0.3} if small else {}
    )
    # Over rows, a frame tells the markers of the legend from those of the rows.
    place: dict[str, Any] = (
        {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
        if own
        else {"loc": "best", "frameon": True, "framealpha": 0.8}
    )
    legend = axes.legend(handles, names, **place, **size)
    for handle in legend.legend_handles:
        # Small and faint as one of many, a marker alone would not be seen.
        if isinstance(handle, PathCollection):
            handle.set_sizes([30])
            handle.set_alpha(1.0)
    return axes
