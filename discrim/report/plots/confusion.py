"""Actual by predicted classes, as cells of colour."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.plots.points import name_lines
from discrim.report.plots.style import (
    COLOURS,
    MOST_IN_LEGEND,
    faint,
    lay_out,
    new_axes,
    numbers,
    paper,
    shown_name,
)
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["confusion"]

Floats = NDArray[np.float64]

LARGEST, SMALLEST = 11.0, 5.0
"""Points of the numbers in the cells; below the smallest they are left out."""

CHARACTER = 0.62
"""Width of a digit, of the size of its font."""


def confusion(table: pd.DataFrame, title: str, ax: Axes | None = None, colormap: str | None = None) -> Axes:
    """Counts of actual by predicted classes, coloured by the share of the actual class.

    Right cells are blue and wrong ones orange, both the deeper the larger the square root of the share, so
    that one row in a hundred is seen. Where cells have room for them they bear the count, and below it the
    share.

    Parameters
    ----------
    table : DataFrame, actual by predicted
        Counts, or sums of weights.
    title : str
    ax : Axes, optional
    colormap : str, optional
        Of matplotlib, for right and wrong cells alike.

    Returns
    -------
    Axes
    """
    k = len(table)
    axes, own = new_axes(ax, size=(6.8, 5.6))
    counts = numbers(table)
    with np.errstate(invalid="ignore"):
        shares = counts / counts.sum(axis=1, keepdims=True)
    colours = _colours(shares, colormap)
    edges = np.arange(k + 1) - 0.5
    line: dict[str, Any] = {"edgecolors": faint(0.8), "linewidth": 0.5} if k <= 2 * MOST_IN_LEGEND else {}
    axes.pcolormesh(edges, edges, colours, rasterized=k > 100, **line)
    axes.set_aspect("equal" if own else "auto")
    name_lines(axes, list(table.index))
    axes.set_xlabel("Predicted class")
    axes.set_ylabel("Actual class")
    _name_columns(axes, list(table.columns))
    # name_lines leaves room at the ends, which cells do not.
    axes.set_xlim(-0.5, k - 0.5)
    axes.set_ylim(k - 0.5, -0.5)
    if own:
        _draw_scale(axes, colormap)
    set_title(axes, title)
    lay_out(axes)
    _write(axes, counts, shares, colours)
    return axes


def _ramps(colormap: str | None) -> list[Any]:
    """Colours of no row to all rows of a class, in right cells and in wrong ones."""
    import matplotlib as mpl
    from matplotlib.colors import LinearSegmentedColormap

    if colormap is not None:
        return [mpl.colormaps[colormap]] * 2
    return [LinearSegmentedColormap.from_list("", [paper(), hue]) for hue in COLOURS[:2]]


def _colours(shares: Floats, colormap: str | None) -> Floats:
    """Colours (K, K, 4) of cells; those of a class without rows are empty."""
    right, wrong = (ramp(np.sqrt(np.nan_to_num(shares))) for ramp in _ramps(colormap))
    on = np.eye(len(shares), dtype=bool)[..., None]
    held = np.where(on, right, wrong)
    held[np.isnan(shares)] = [*np.array([int(paper()[i : i + 2], 16) for i in (1, 3, 5)]) / 255, 1.0]
    return np.asarray(held)


def _name_columns(axes: Axes, names: list[Any]) -> None:
    """Names below the columns, as many as there is room for, upright where they are long."""
    inches = axes.get_window_extent().width / axes.figure.dpi
    step = math.ceil(0.13 * len(names) / inches)
    shown = [shown_name(name, 20) for name in names[::step]]
    upright = 0.085 * max(map(len, shown), default=0) > step * inches / len(names)
    small = "small" if len(names) > MOST_IN_LEGEND else None
    axes.set_xticks(range(0, len(names), step), shown, rotation=90 if upright else 0, fontsize=small)


def _draw_scale(axes: Axes, colormap: str | None) -> None:
    """What colours mean, beside the cells."""
    shares = np.linspace(0.0, 1.0, 256)
    columns = [ramp(shares) for ramp in _ramps(colormap)][: 1 if colormap else 2]
    scale = axes.inset_axes((1.04, 0.1, 0.035 * len(columns), 0.8))
    ends = (0, len(columns), 0, 1)
    held = np.stack(columns, axis=1)
    scale.imshow(held, origin="lower", aspect="auto", extent=ends, interpolation="nearest")
    names = ["right", "wrong"] if len(columns) == 2 else []
    scale.set_xticks(np.arange(len(names)) + 0.5, names, rotation=90, fontsize="small")
    scale.yaxis.tick_right()
    scale.yaxis.set_label_position("right")
    marks = np.array([0.0, 0.01, 0.05, 0.2, 0.5, 1.0])
    scale.set_yticks(np.sqrt(marks), [f"{100 * mark:g} %" for mark in marks], fontsize="small")
    scale.set_ylabel("Share of the actual class")


def _write(axes: Axes, counts: Floats, shares: Floats, colours: Floats) -> None:
    """Counts, and shares below them, where they can be read."""
    k = len(counts)
    window = axes.get_window_extent()
    wide, high = (length * 72 / axes.figure.dpi / k for length in (window.width, window.height))
    texts = [[_count(value) for value in row] for row in counts.tolist()]
    longest = max((len(text) for row in texts for text in row), default=1)
    both = min(0.9 * wide / (CHARACTER * max(longest, 6)), 0.36 * high, LARGEST)
    alone = min(0.9 * wide / (CHARACTER * longest), 0.7 * high, LARGEST)
    size = both if both >= SMALLEST + 2 else alone
    if size < SMALLEST:
        return
    # Of black and white the one of more contrast, by the luminance of light and not of its code.
    held = colours[..., :3]
    linear = np.where(held <= 0.04045, held / 12.92, ((held + 0.055) / 1.055) ** 2.4)
    dark = linear @ [0.2126, 0.7152, 0.0722] < 0.179
    for i, j in np.ndindex(k, k):
        if not counts[i, j] and size != both:
            continue
        text = texts[i][j]
        if size == both and counts[i, j]:
            text += f"\n{100 * shares[i, j]:.1f} %"
        colour = "white" if dark[i, j] else "black"
        axes.text(j, i, text, ha="center", va="center", fontsize=size, color=colour, linespacing=1.1)


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
