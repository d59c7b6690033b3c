"""Three posteriors as places in a triangle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.plots.points import draw_points
from discrim.report.plots.regions import ring
from discrim.report.plots.style import (
    SIGNS,
    Signs,
    add_legend,
    faint,
    ink,
    label_codes,
    new_axes,
    numbers,
    shown_name,
)

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["CORNERS", "simplex"]

CORNERS: NDArray[np.float64] = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])
"""Where a posterior is one: the first class is at the left, the second at the right, the third at the top."""


def simplex(proba: pd.DataFrame, labels: pd.Series, ax: Axes | None = None, signs: Signs = SIGNS) -> Axes:
    """Rows in a triangle: the nearer a corner, the larger the posterior of its class.

    Parameters
    ----------
    proba : DataFrame, rows by three classes
        Each row sums to one, or is missing.
    labels : Series
        Class of each row.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    classes = list(proba.columns)
    axes, own = new_axes(ax)
    p, codes = numbers(proba), label_codes(labels, classes)
    places = p @ CORNERS
    border = np.vstack([CORNERS, CORNERS[:1]])
    axes.plot(*border.T, color=ink(), linewidth=1.2, zorder=2)
    for k in range(3):
        # Where two posteriors tie above the third: from the middle to the middle of an edge.
        middle = (CORNERS.sum(axis=0) - CORNERS[k]) / 2
        axes.plot(
            *np.vstack([CORNERS.mean(axis=0), middle]).T, color=faint(0.45), linestyle="--", linewidth=1.0
        )
    draw_points(axes, places[:, 0], places[:, 1], codes, classes, signs)
    known = np.isfinite(places).all(axis=1) & (codes >= 0)
    wrong = known & (p[np.arange(len(p)), codes] < p.max(axis=1, initial=0.0))
    ring(axes, places[wrong])
    # Long names at the foot reach inwards, so that they leave the triangle its room.
    long = max(len(str(label)) for label in classes) > 8
    left, right = ("left", "right") if long else ("center", "center")
    sides = ((left, "top"), (right, "top"), ("center", "bottom"))
    for corner, label, (across, up) in zip(CORNERS, classes, sides, strict=True):
        shift = -0.03 if up == "top" else 0.03
        axes.text(corner[0], corner[1] + shift, shown_name(label, 14), ha=across, va=up)
    axes.set_xlim(-0.12, 1.12)
    axes.set_ylim(-0.12, 1.0)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(
        f"Posteriors; ringed: of another predicted class ({int(wrong.sum())} of {int(known.sum())})",
        wrap=True,
    )
    return add_legend(axes, own)
