"""Set-up of a kernel before the first cell of a page: figures become SVG for light and dark mode."""

from __future__ import annotations

import ast
from collections.abc import Callable
from html import escape
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from IPython.core.getipython import get_ipython
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib_inline.config import InlineBackend

from discrim.report.plots.points import (
    CLASS_COLOURS,
    COLOUR,
    DARK,
    LIGHT,
    combine_modes,
    dark_colour,
    image_of,
)

INK_PARAMETERS = (
    "text.color axes.edgecolor axes.labelcolor xtick.color ytick.color patch.edgecolor hatch.color"
)
PAPER_PARAMETERS = "figure.facecolor axes.facecolor savefig.facecolor"
DARK_STYLE = (
    ".night{display:none}@media screen and (prefers-color-scheme:dark)"
    "{.day{display:none}.night{display:inline}}"
)
CSS_VARIABLE = "var(--c"
LUMINANCE = (0.2126, 0.7152, 0.0722)
"""Weights of red, green and blue in the luminance of a colour."""

EMPTY_SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"


def visible_axes(figure: Figure) -> list[Any]:
    """Return the visible axes of a figure and those inside them."""
    return [axes for each in figure.axes for axes in (each, *each.child_axes) if axes.get_visible()]


def describe_figure(figure: Figure) -> str:
    """Describe a figure in words: titles, axis labels and legend entries."""
    parts = [figure.get_suptitle()]
    for axes in visible_axes(figure):
        across, up = axes.get_xlabel(), axes.get_ylabel()
        sides = [f"{text} {direction}" for text, direction in ((across, "across"), (up, "upwards")) if text]
        parts += [axes.get_title() or axes.get_title(loc="left"), ", ".join(sides)]
    legends = [*figure.legends, *(axes.get_legend() for axes in visible_axes(figure))]
    names = [text.get_text() for legend in legends if legend is not None for text in legend.get_texts()]
    parts.append(f"legend: {', '.join(dict.fromkeys(names))}" if names else "")
    words = (" ".join(part.split()) for part in parts)
    return ". ".join(dict.fromkeys(part for part in words if part)) or figure_texts(figure)


def figure_texts(figure: Figure) -> str:
    """Return the first texts of a figure without titles and axis labels."""
    texts = [each.get_text().strip() for each in figure.findobj(Text)]
    return ", ".join([text for text in texts if text][:12])


def redraw_function() -> Callable[[], Any] | None:
    """Return a function that repeats the last line of the current cell if it is a plot call, or None."""
    shell = get_ipython()
    lines = ast.parse(shell.transform_cell(shell.get_parent()["content"]["code"])).body
    last = ast.unparse(lines[-1])
    is_plot_call = ".plot(" in last and "ax=" not in last and isinstance(lines[-1], ast.Expr)
    return (lambda: eval(last, shell.user_ns)) if is_plot_call else None


def inverted_colour(colour: str) -> str:
    """Invert the luminance of a colour "#rrggbb": white becomes dark paper, and black becomes dark ink."""
    rgb, paper, ink = (np.array(mpl.colors.to_rgb(each)) for each in (colour, DARK.paper, DARK.ink))
    return mpl.colors.to_hex(np.clip(paper + (rgb + 1 - 2 * rgb @ LUMINANCE) * (ink - paper), 0, 1))


def invert_figure(svg: str) -> str:
    """Add dark colours to an SVG: those of classes, ink and paper of the package, and others inverted.

    Bitmaps are inverted by a filter.
    """
    colours = COLOUR.findall(svg)
    # White becomes paper, unlike in plots of fits, where it is the colour of numbers in dark cells.
    dark = [(dark_colour(c) if c != "#ffffff" else None) or inverted_colour(c) for c in colours]
    svg = combine_modes(svg, dark, "g0")
    if "<image" not in svg:
        return svg
    paper, ink = (np.array(mpl.colors.to_rgb(each)) for each in (DARK.paper, DARK.ink))
    matrix = (np.eye(3) - 2 * np.array(LUMINANCE)) * (ink - paper)[:, None]
    values = [*np.column_stack([matrix, np.zeros(3), ink]).ravel(), 0, 0, 0, 1, 0]
    night = (
        "<filter id='g0dark' color-interpolation-filters='sRGB'>"
        f"<feColorMatrix values='{' '.join(f'{value:.4g}' for value in values)}'/></filter>"
        "<style>@media screen and (prefers-color-scheme:dark){image{filter:url(#g0dark)}}</style>"
    )
    return svg.replace("</svg>", f"{night}</svg>")


def figure_svg(figure: Figure) -> str:
    """Return a figure as SVG with a description; many points are embedded as an image."""
    if not figure.axes:
        return EMPTY_SVG
    words = escape(describe_figure(figure))
    paper = mpl.colors.to_hex(figure.get_facecolor())
    image, draw = image_of(lambda: figure.axes[0]), redraw_function()
    if CSS_VARIABLE not in image.light:
        # The dark colours of a plot of a fit are known only when it is drawn again. The dark bitmap of any
        # other figure has the ink of light mode on dark paper.
        image = image_of(draw) if draw is not None else image._replace(dark="")
    size = f"width='{image.width}' height='{image.height}'"
    day, night = (
        picture if not picture.startswith("data:") else f"<image href='{picture}' {size}/>"
        for picture in (image.light, image.dark)
    )
    has_dark_colours = CSS_VARIABLE in day
    if night and day != night:
        day = f"<style>{DARK_STYLE}</style><g class='day'>{day}</g><g class='night'>{night}</g>"
        has_dark_colours = True
    if not day.startswith("<svg"):
        box = f"viewBox='0 0 {image.width} {image.height}'"
        day = f"<svg xmlns='http://www.w3.org/2000/svg' {size} {box}>{day}</svg>"
    if not has_dark_colours and paper == LIGHT.paper:
        day = invert_figure(day)
    return day.replace("<svg", f"<svg role='img' aria-label='{words}'", 1)


def set_up_figures() -> None:
    """Use the light colours, and display each figure as SVG only."""
    shell = get_ipython()
    plt.switch_backend("module://matplotlib_inline.backend_inline")
    InlineBackend.instance(parent=shell).print_figure_kwargs = {"bbox_inches": "tight"}
    mpl.rcParams.update(
        dict.fromkeys(INK_PARAMETERS.split(), LIGHT.ink)
        | dict.fromkeys(PAPER_PARAMETERS.split(), LIGHT.paper)
    )
    mpl.rcParams["legend.edgecolor"] = mpl.rcParams["grid.color"] = LIGHT.line
    mpl.rcParams["axes.prop_cycle"] = mpl.cycler(color=CLASS_COLOURS)
    formatters = shell.display_formatter.formatters
    for each in formatters.values():
        each.pop(Figure, None)
    formatters["image/svg+xml"].for_type(Figure, figure_svg)


set_up_figures()
