"""Pictures of planes that separate: distances, the margin, and a perceptron on its way.

The lines of a perceptron follow figure 4.7 of Bishop (2006), Pattern Recognition and Machine Learning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Floats
from discrim.report.plots import style
from discrim.report.plots.points import draw_points, draw_strips
from discrim.report.plots.regions import ring

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes, Signs


def draw_distances(
    values: pd.Series,
    labels: pd.Series,
    classes: Sequence[Any],
    margin: float | None = None,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Signed distances of rows to the plane between two classes, rows on the wrong side ringed.

    They are positive on the side of the second class; a margin is drawn on both sides of the plane.
    """
    codes = style.label_codes(labels, classes)
    at = values.to_numpy(dtype=np.float64)
    axes, _ = style.new_axes(ax)
    draw_strips(axes, at, codes, classes, wrong=(at > 0) != (codes == 1), signs=signs)
    axes.axvline(0.0, color=style.ink(), linewidth=1.2, zorder=1)
    edge: dict[str, Any] = {"color": style.faint(0.35), "linewidth": 1.0, "linestyle": "--", "zorder": 1}
    for place in () if margin is None else (-margin, margin):
        axes.axvline(place, **edge)
    axes.set_xlabel(f"Signed distance to the plane, positive on the side of {style.shown_name(classes[1])}")
    style.set_title(axes, "Distances to the plane" + ("; dashed: the margin" if margin is not None else ""))
    return axes


def passes(
    errors: pd.DataFrame,
    kept: Sequence[tuple[int | None, int]],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    first: int = 0,
) -> Axes:
    """Errors on the rows after each pass of a perceptron, and where the plane that is kept was found.

    Errors are by pass and plane, missing after a plane has come to rest. Of each plane are kept the pass that
    found it, where that is known, and its errors, which are not those at the end of the pass where it was
    found on the way. `first` is the position of the first plane's class among those that have signs.
    """
    axes, is_new = style.new_axes(ax)
    for k, (name, (number, fewest)) in enumerate(zip(errors.columns, kept, strict=True)):
        line, look, colour = errors[name].dropna(), signs.line(k + first), signs.colour(k + first)
        told = f"kept: {fewest}" + (f" wrong, in pass {number}" if number else " wrong")
        label = f"{style.shown_name(name, 20)}; {told}" if errors.shape[1] > 1 else None
        axes.step(line.index, line, where="mid", color=colour, linestyle=look, label=label)
        if number is None:
            dotted: dict[str, Any] = {"color": colour, "linestyle": ":", "linewidth": 1.0}
            axes.axhline(fewest, label=told if not label else None, **dotted)
            continue
        mark: dict[str, Any] = {"color": colour, "marker": "*", "markeredgecolor": style.ink()}
        mark |= {"markersize": 11, "zorder": 4, "clip_on": False}
        axes.plot([number], [fewest], linestyle="none", label=None if label else told, **mark)
    axes.set(xlabel="Pass over the rows", ylabel="Rows on the wrong side")
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="x", integer=True)
    if errors.shape[1] > 1:
        style.add_legend(axes, is_new)
    else:
        axes.legend(loc="best")
    style.set_title(axes, "Errors of the perceptron after each pass, and of the plane kept")
    return axes


def draw_margin(axes: Axes, values: Callable[[Floats], Floats], support: Floats | None) -> None:
    """Where the values (m,) of points (m, 2) are 0, and 1 and -1, and rings around support points (s, 2)."""
    across, up = (np.linspace(*ends, 81) for ends in (axes.get_xlim(), axes.get_ylim()))
    grid = np.stack(np.meshgrid(across, up), axis=-1)
    found = values(grid.reshape(-1, 2)).reshape(81, 81)
    axes.contour(across, up, found, levels=[0.0], colors=[style.ink()], linewidths=1.4, zorder=2)
    edge: dict[str, Any] = {"colors": [style.faint(0.2)], "linewidths": 1.0, "linestyles": "--", "zorder": 2}
    axes.contour(across, up, found, levels=[-1.0, 1.0], **edge)
    if support is not None:
        ring(axes, support, size=90)


FARTHEST = 2.0
"""Ranges of the rows from their middle, within which a line is brought into view."""


def draw_updates(
    points: pd.DataFrame,
    codes: NDArray[np.intp],
    classes: Sequence[Any],
    moves: tuple[NDArray[np.intp], Floats],
    end: tuple[Floats, int],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Up to three lines with the row that is to move each, and the line that is kept.

    Points (n, 2) are of two classes, by codes (n,). The moves are the rows (u,) that moved the line, in turn,
    and the coefficients (u, 3) after each, the constant first; the end has those that are kept, and counts
    all moves. The axes are the outer ones; their `child_axes` are the panels.
    """
    outer, inner = style.panels(ax, 2, 2, size=(7.6, 6.8))
    rows, after = moves
    xy = style.numbers(points)
    shown = [(f"after move {i + 1}", after[i], int(rows[i + 1])) for i in range(min(3, len(rows) - 1))]
    panes = [*shown, (f"kept, of {end[1]} moves", end[0], None)]
    for pane, (name, coef, row) in zip(inner.ravel(), panes, strict=False):
        draw_points(pane, xy[:, 0], xy[:, 1], codes, classes, signs)
        pane.set_title(name, fontsize="medium")
        pane.set(
            xlabel=style.shown_name(points.columns[0], 20), ylabel=style.shown_name(points.columns[1], 20)
        )
        if row is not None:
            look: dict[str, Any] = {"facecolors": "none", "edgecolors": style.ink(), "linewidths": 1.6}
            pane.scatter(xy[row, :1], xy[row, 1:], s=130, zorder=5, **look)
        low, high = _limits(xy, [coef for _, coef, _ in panes])
        pane.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        _draw_line(pane, coef)
    for pane in inner.ravel()[len(panes) :]:
        pane.set_axis_off()
    inner[0, 0].legend(fontsize="small", framealpha=0.8)
    side = style.shown_name(classes[1], 20)
    text = f"The perceptron's line, its arrow on the side of {side}; ringed: the row that moves it next"
    style.set_title(outer, text)
    # Room for the titles of the upper panels.
    outer.set_title(outer.get_title(), pad=24)
    return outer


def _limits(xy: Floats, lines: list[Floats]) -> tuple[Floats, Floats]:
    """Corners (2,) of what holds the rows, and of each line the point next to them unless it is too far."""
    low, size = xy.min(axis=0), np.ptp(xy, axis=0)
    size[size == 0] = 1.0
    places = [np.zeros(2), np.ones(2)]
    for line in lines:
        normal = line[1:] * size
        squared = float(normal @ normal)
        foot = 0.5 - (line[0] + line[1:] @ (low + size / 2)) * normal / squared if squared > 0 else places[0]
        if (np.abs(foot - 0.5) < FARTHEST).all():
            places.append(foot)
    return low + (np.min(places, axis=0) - 0.2) * size, low + (np.max(places, axis=0) + 0.2) * size


def _draw_line(axes: Axes, coef: Floats) -> None:
    """The line c + a x + b y = 0 within the limits of the axes, and an arrow upright on it as it is seen."""
    across, up = axes.get_xlim(), axes.get_ylim()
    low, size = np.array([across[0], up[0]]), np.array([across[1] - across[0], up[1] - up[0]])
    window = axes.get_window_extent()
    shape = np.array([window.width, window.height])
    # In units of the screen the line is c' + a'u + b'v = 0, and (a', b') is upright on it.
    normal = coef[1:] * size / shape
    constant = coef[0] + coef[1:] @ low
    length = float(np.linalg.norm(normal))
    middle = shape / 2
    gap = (constant + normal @ middle) / length if length > 0 else np.inf
    if not abs(gap) < np.linalg.norm(shape) / 2:
        note: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "fontsize": "small"}
        axes.text(0.5, 0.02, "the line is out of view" if length > 0 else "no line yet", **note)
        return
    unit = normal / length
    foot = middle - gap * unit
    along = np.array([-unit[1], unit[0]]) * float(np.linalg.norm(shape))
    ends = low + np.array([foot - along, foot + along]) / shape * size
    tip = low + (foot + 0.18 * shape.min() * unit) / shape * size
    start = low + foot / shape * size
    axes.plot(ends[:, 0], ends[:, 1], color=style.ink(), linewidth=1.4, zorder=4)
    arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": style.ink(), "linewidth": 1.4}
    arrow |= {"shrinkA": 0, "shrinkB": 0}
    axes.annotate("", tip, start, arrowprops=arrow, annotation_clip=False, zorder=6)
    axes.set_xlim(*across)
    axes.set_ylim(*up)
