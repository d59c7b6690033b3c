"""What a kernel does before the first cell of a page: figures become vectors for day and night."""

from __future__ import annotations

import ast
from collections.abc import Callable
from html import escape
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from IPython.core.getipython import get_ipython
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib_inline.config import InlineBackend

from discrim.report.plots.points import LIGHT, image_of

INK = "text.color axes.edgecolor axes.labelcolor xtick.color ytick.color patch.edgecolor hatch.color"
PAPER = "figure.facecolor axes.facecolor savefig.facecolor"
NIGHT = (
    ".night{display:none}@media screen and (prefers-color-scheme:dark)"
    "{.day{display:none}.night{display:inline}}"
)
VARIABLE = "var(--c"
NOTHING = "<svg xmlns='http://www.w3.org/2000/svg'/>"


def panels(figure: Figure) -> list[Any]:
    """Axes of a figure that are seen, and those within them."""
    return [axes for each in figure.axes for axes in (each, *each.child_axes) if axes.get_visible()]


def described(figure: Figure) -> str:
    """A figure in words: its titles, its axes and the names in its legends."""
    parts = [figure.get_suptitle()]
    for axes in panels(figure):
        across, up = axes.get_xlabel(), axes.get_ylabel()
        sides = [f"{text} {way}" for text, way in ((across, "across"), (up, "upwards")) if text]
        parts += [axes.get_title() or axes.get_title(loc="left"), ", ".join(sides)]
    legends = [*figure.legends, *(axes.get_legend() for axes in panels(figure))]
    names = [text.get_text() for legend in legends if legend is not None for text in legend.get_texts()]
    parts.append(f"legend: {', '.join(dict.fromkeys(names))}" if names else "")
    words = (" ".join(part.split()) for part in parts)
    return ". ".join(dict.fromkeys(part for part in words if part)) or first_words(figure)


def first_words(figure: Figure) -> str:
    """Texts in a figure that has no titles and names no axes."""
    texts = [each.get_text().strip() for each in figure.findobj(Text)]
    return ", ".join([text for text in texts if text][:12])


def repeated() -> Callable[[], Any] | None:
    """What draws the picture of the last line of a cell again, where it is one by itself."""
    shell = get_ipython()
    lines = ast.parse(shell.transform_cell(shell.get_parent()["content"]["code"])).body
    last = ast.unparse(lines[-1])
    alone = ".plot(" in last and "ax=" not in last and isinstance(lines[-1], ast.Expr)
    return (lambda: eval(last, shell.user_ns)) if alone else None


def vectors(figure: Figure) -> str:
    """A figure as SVG that says what it shows; dots stand within it where points are many."""
    if not figure.axes:
        return NOTHING
    words = escape(described(figure))
    image, draw = image_of(lambda: figure.axes[0]), repeated()
    if VARIABLE not in image.light and draw is not None:
        # Its colours by night are known to what draws it alone.
        image = image_of(draw)
    size = f"width='{image.width}' height='{image.height}'"
    day, night = (
        picture if not picture.startswith("data:") else f"<image href='{picture}' {size}/>"
        for picture in (image.light, image.dark)
    )
    if night and day != night:
        day = f"<style>{NIGHT}</style><g class='day'>{day}</g><g class='night'>{night}</g>"
    if not day.startswith("<svg"):
        box = f"viewBox='0 0 {image.width} {image.height}'"
        day = f"<svg xmlns='http://www.w3.org/2000/svg' {size} {box}>{day}</svg>"
    return day.replace("<svg", f"<svg role='img' aria-label='{words}'", 1)


def draw_vectors() -> None:
    """Take ink and paper of the day, and show each figure as vectors alone."""
    shell = get_ipython()
    plt.switch_backend("module://matplotlib_inline.backend_inline")
    InlineBackend.instance(parent=shell).print_figure_kwargs = {"bbox_inches": "tight"}
    mpl.rcParams.update(dict.fromkeys(INK.split(), LIGHT.ink) | dict.fromkeys(PAPER.split(), LIGHT.paper))
    mpl.rcParams["legend.edgecolor"] = mpl.rcParams["grid.color"] = LIGHT.line
    formatters = shell.display_formatter.formatters
    for each in formatters.values():
        each.pop(Figure, None)
    formatters["image/svg+xml"].for_type(Figure, vectors)


draw_vectors()
