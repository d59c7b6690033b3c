"""Ellipses of hypothesis and error: whether class means differ beyond what rows within classes do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.pictures.ellipses import draw_outline
from discrim.report.pictures.style import SIGNS, Signs, add_legend, faint, ink, new_axes, numbers, shown_name

if TYPE_CHECKING:
    from discrim.report.pictures.style import Axes

__all__ = ["he"]

Floats = NDArray[np.float64]


def he(
    means: pd.DataFrame,
    hypothesis: Floats,
    error: Floats,
    radius: float,
    *,
    names: tuple[str, str],
    arrows: pd.DataFrame | None = None,
    equal: bool = False,
    ax: Axes | None = None,
    signs: Signs = SIGNS,
) -> Axes:
    """The ellipse between classes over that within, in a plane; the first reaches beyond where means differ.

    Parameters
    ----------
    means : DataFrame, classes by two columns or axes
    hypothesis, error : (2, 2) float
        H/(lambda v) and E/v; see `discrim.inference.he`.
    radius : float
        Distance at which both outlines lie.
    names : (str, str)
        Of the axes.
    arrows : DataFrame, columns by two axes, optional
        Structure correlations.
    equal : bool
        Equal units on both axes.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    axes, own = new_axes(ax)
    places = numbers(means)
    centre = places.mean(axis=0)
    draw_outline(axes, centre, error, radius, color=ink(), linestyle="--", linewidth=1.8, label="error")
    outer: dict[str, Any] = {"color": signs.colour(0), "linewidth": 2.0, "label": "hypothesis"}
    draw_outline(axes, centre, hypothesis, radius, **outer)
    for k, place in enumerate(places):
        axes.plot(*place, marker=signs.marker(k), color=signs.colour(k), markersize=7, zorder=4)
        style: dict[str, Any] = {
            "textcoords": "offset points",
            "ha": "center",
            "va": "bottom",
            "fontsize": "small",
        }
        axes.annotate(shown_name(means.index[k], 18), tuple(place.tolist()), (0, 6), zorder=6, **style)
    if arrows is not None:
        reach = 0.75 * radius * math.sqrt(float(np.diagonal(hypothesis).max()))
        _draw_arrows(axes, numbers(arrows), [shown_name(name, 20) for name in arrows.index], reach)
    axes.margins(0.08)
    if equal:
        axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    return add_legend(axes, own)


def _draw_arrows(axes: Axes, tips: Floats, texts: list[str], reach: float) -> None:
    """Arrows from the centre, of which the longest has the length given."""
    colour = faint(0.3)
    unit = reach / max(float(np.hypot(*tips.T).max(initial=0.0)), 1e-300)
    for tip, text in zip(tips * unit, texts, strict=True):
        style = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", tuple(tip.tolist()), (0.0, 0.0), arrowprops=style)
        side = "left" if tip[0] >= 0 else "right"
        across, up = (1.06 * tip).tolist()
        axes.text(across, up, text, color=colour, fontsize=8, ha=side, va="center")
