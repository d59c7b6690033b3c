"""Panels of all pairs of variables, below the diagonal of a matrix, with one legend for all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from discrim.report.plots.style import MOST_IN_LEGEND, Signs, lay_out, panels, shown_name
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["finish", "triangle"]


def triangle(
    ax: Axes | None, names: Sequence[Any], classes: Sequence[Any], signs: Signs
) -> tuple[Axes, dict[tuple[int, int], Axes]]:
    """The outer axes, and a panel for each pair (i, j), i < j: i across, j up.

    When all are drawn, `finish` gives them names and title.
    """
    count = len(names) - 1
    side = max(2.2 * count, 4.8)
    outer, inner = panels(ax, count, count, size=(side + 0.8, side))
    place = {(i, j): inner[j - 1, i] for i, j in combinations(range(len(names)), 2)}
    used = {id(axes) for axes in place.values()}
    for axes in inner.ravel():
        if id(axes) not in used:
            axes.remove()
    for k, label in enumerate(classes if len(classes) <= 2 * MOST_IN_LEGEND else ()):
        style: dict[str, Any] = {"linestyle": "", "marker": signs.marker(k), "color": signs.colour(k)}
        outer.plot([], [], label=shown_name(label), **style)
    if count > 1 and outer.get_legend_handles_labels()[1]:
        outer.legend(loc="upper right", frameon=False, fontsize="small", ncols=-(-len(classes) // 12))
    return outer, place


def finish(outer: Axes, place: dict[tuple[int, int], Axes], title: str) -> Axes:
    """Names on the left and below only, and the title over all panels."""
    last = max(j for _, j in place)
    for (i, j), axes in place.items():
        axes.tick_params(labelsize="small", labelleft=i == 0, labelbottom=j == last)
        if i:
            axes.set_ylabel("")
        if j < last:
            axes.set_xlabel("")
    # What the panels bear stands above the outer axes, and the title above that.
    set_title(outer, title)
    lay_out(outer)
    boxes = [axes.get_tightbbox() for axes in place.values()]
    beyond = max(box.y1 for box in boxes if box is not None) - outer.get_window_extent().y1
    if beyond > 0:
        outer.set_title(outer.get_title(), pad=72 * beyond / outer.figure.dpi + 6)
    return outer
