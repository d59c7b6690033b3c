"""Pictures of lines that separate: distances, the margin, the errors of a perceptron on its way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.plots.points import draw_strips
from discrim.report.plots.regions import ring
from discrim.report.plots.style import (
    SIGNS,
    Signs,
    add_legend,
    faint,
    ink,
    label_codes,
    new_axes,
    shown_name,
)
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["distances", "draw_margin", "passes"]

Floats = NDArray[np.float64]


def _edge() -> dict[str, Any]:
    """Style of the lines of a margin."""
    return {"color": faint(0.35), "linewidth": 1.0, "linestyle": "--", "zorder": 1}


def distances(
    values: pd.Series,
    labels: pd.Series,
    classes: Sequence[Any],
    margin: float | None = None,
    ax: Axes | None = None,
    signs: Signs = SIGNS,
) -> Axes:
    """Signed distances of rows to the plane between two classes, rows on the wrong side ringed.

    Parameters
    ----------
    values : Series
        Positive on the side of the second class.
    labels : Series
        Class of each row.
    classes : sequence of length 2
    margin : float, optional
        Drawn on both sides of the plane.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    codes = label_codes(labels, classes)
    at = values.to_numpy(dtype=np.float64)
    axes, _ = new_axes(ax)
    draw_strips(axes, at, codes, classes, wrong=(at > 0) != (codes == 1), signs=signs)
    axes.axvline(0.0, color=ink(), linewidth=1.2, zorder=1)
    for side in (-1, 1) if margin is not None else ():
        axes.axvline(side * float(margin or 0), **_edge())
    axes.set_xlabel(f"Signed distance to the plane, positive on the side of {shown_name(classes[1])}")
    set_title(axes, "Distances to the plane" + ("; dashed: the margin" if margin is not None else ""))
    return axes


def passes(
    errors: pd.DataFrame,
    kept: Sequence[tuple[int | None, int]],
    ax: Axes | None = None,
    signs: Signs = SIGNS,
    first: int = 0,
) -> Axes:
    """Errors on the rows after each pass of a perceptron, and where the plane that is kept was found.

    Parameters
    ----------
    errors : DataFrame, passes by planes
        Missing after a plane has come to rest.
    kept : sequence of (int or None, int), by plane
        The pass that found the plane kept, where that is known, and the errors of this plane, which are not
        those at the end of the pass where it was found on the way.
    ax : Axes, optional
    first : int
        Position of the first plane's class among those that have signs.

    Returns
    -------
    Axes
    """
    axes, own = new_axes(ax)
    for k, (name, (number, fewest)) in enumerate(zip(errors.columns, kept, strict=True)):
        line, style, colour = errors[name].dropna(), signs.line(k + first), signs.colour(k + first)
        told = f"kept: {fewest}" + (f" wrong, in pass {number}" if number else " wrong")
        label = f"{shown_name(name, 20)}; {told}" if errors.shape[1] > 1 else None
        axes.step(line.index, line, where="mid", color=colour, linestyle=style, label=label)
        if number is None:
            axes.axhline(
                fewest, color=colour, linestyle=":", linewidth=1.0, label=told if not label else None
            )
            continue
        mark: dict[str, Any] = {
            "color": colour,
            "markeredgecolor": ink(),
            "markersize": 11,
            "zorder": 4,
            "clip_on": False,
        }
        axes.plot([number], [fewest], marker="*", linestyle="none", label=None if label else told, **mark)
    axes.set_xlabel("Pass over the rows")
    axes.set_ylabel("Rows on the wrong side")
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="x", integer=True)
    if errors.shape[1] > 1:
        add_legend(axes, own)
    else:
        axes.legend(loc="best")
    set_title(axes, "Errors of the perceptron after each pass, and of the plane kept")
    return axes


def draw_margin(axes: Axes, values: Callable[[Floats], Floats], support: Floats | None) -> None:
    """Where the values (m,) of points (m, 2) are 0, and 1 and -1, and rings around support points (s, 2)."""
    across, up = (np.linspace(*ends, 81) for ends in (axes.get_xlim(), axes.get_ylim()))
    grid = np.stack(np.meshgrid(across, up), axis=-1)
    found = values(grid.reshape(-1, 2)).reshape(81, 81)
    axes.contour(across, up, found, levels=[0.0], colors=[ink()], linewidths=1.4, zorder=2)
    edge: dict[str, Any] = {"colors": [faint(0.2)], "linewidths": 1.0, "linestyles": "--", "zorder": 2}
    axes.contour(across, up, found, levels=[-1.0, 1.0], **edge)
    if support is not None:
        ring(axes, support, size=90)
