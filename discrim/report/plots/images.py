"""Pictures as images in a page, for the day and for the night; as vectors where their points are few."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from discrim.report.colours import DARK, LIGHT, Colours

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["Image", "image_of"]

MOST_POINTS = 5_000
"""Points up to which a picture is made of vectors; more make a file that is slow to draw."""

MOST_BYTES = 400_000
"""Length up to which vectors are taken."""

DOTS = 160
"""Dots to the inch of a picture of many points."""


LACKS = re.compile(r"Glyph (\d+) .* missing from")
"""How matplotlib warns of each character, each time that it is drawn."""


class Image(NamedTuple):
    """A picture twice, as data: addresses.

    Attributes
    ----------
    light, dark : str
    width, height : int
        In pixels of a page.
    """

    light: str
    dark: str
    width: int
    height: int


def image_of(draw: Callable[[], Axes]) -> Image:
    """A picture in both colours; what draws it is called twice, and the figure it makes is closed.

    What is warned of is said once.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        light, width, height = _drawn(draw, LIGHT)
        dark, _, _ = _drawn(draw, DARK)
    _tell(caught)
    return Image(light, dark, width, height)


def _tell(caught: Iterable[warnings.WarningMessage]) -> None:
    """Give warnings once each; of characters without a font `fonts_for` has told."""
    said = set()
    for each in caught:
        text = str(each.message)
        if text not in said and not LACKS.match(text):
            said.add(text)
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


def _drawn(draw: Callable[[], Axes], colours: Colours) -> tuple[str, int, int]:
    import matplotlib.pyplot as plt

    # What a notebook's backend sets where it is loaded has to outlast the context; this has no types.
    backend: Any = plt
    backend.draw_if_interactive()
    with plt.rc_context(_settings(colours)), plt.ioff():
        axes = draw()
        figure: Any = axes.figure
        try:
            return _written(figure)
        finally:
            plt.close(figure)


def _settings(colours: Colours) -> Any:
    inks = (
        "text.color",
        "axes.edgecolor",
        "axes.labelcolor",
        "axes.titlecolor",
        "xtick.color",
        "ytick.color",
    )
    papers = ("figure.facecolor", "axes.facecolor", "savefig.facecolor", "savefig.edgecolor")
    return {
        **dict.fromkeys(inks, colours.ink),
        **dict.fromkeys((*papers, "figure.edgecolor"), colours.paper),
        "xtick.labelcolor": "inherit",
        "ytick.labelcolor": "inherit",
        "legend.facecolor": "inherit",
        "legend.edgecolor": colours.line,
        "legend.labelcolor": None,
        "grid.color": colours.line,
        "patch.edgecolor": colours.ink,
        "hatch.color": colours.ink,
        # The same numbers make the same bytes.
        "svg.hashsalt": "discrim",
    }


def _written(figure: Any) -> tuple[str, int, int]:
    buffer = io.BytesIO()
    if _points(figure) <= MOST_POINTS:
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata=nothing)
    if not 0 < buffer.tell() <= MOST_BYTES:
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", bbox_inches="tight", dpi=DOTS, metadata={"Software": None})
        kind = "png"
    else:
        kind = "svg+xml"
    box = figure.get_tightbbox()
    width, height = (round(96 * (side + 0.2)) for side in (box.width, box.height))
    text = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f"data:image/{kind};base64,{text}", width, height


def _points(figure: Any) -> int:
    """Points and corners of what is drawn as vectors."""
    count = 0
    for artist in figure.findobj():
        if artist.get_rasterized():
            continue
        if hasattr(artist, "get_offsets"):
            count += len(artist.get_offsets())
        if hasattr(artist, "get_coordinates"):
            count += artist.get_coordinates().size // 2
        elif hasattr(artist, "get_paths"):
            count += sum(len(path.vertices) for path in artist.get_paths())
        elif hasattr(artist, "get_xdata"):
            count += len(artist.get_xdata())
    return count
