"""Ellipses of hypothesis and error: whether class means differ beyond what rows within classes do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.plots.biplot import draw_arrows
from discrim.report.plots.ellipses import draw_outline, outline
from discrim.report.plots.scores import equal_size
from discrim.report.plots.style import (
    SIGNS,
    Signs,
    add_legend,
    ink,
    lay_out,
    new_axes,
    numbers,
    paper,
    shown_name,
)

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["he"]

Floats = NDArray[np.float64]


def he(
    means: pd.DataFrame,
    hypothesis: Floats,
    error: Floats,
    centre: Floats,
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
    centre : (2,) float
        Of both outlines: the mean of all rows.
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
    from matplotlib.patheffects import withStroke

    spans = radius * np.sqrt(np.maximum(np.diagonal(hypothesis), np.diagonal(error)))
    axes, own = new_axes(ax, size=equal_size(*(2 * spans).tolist()) if equal else None)
    places = numbers(means)
    draw_outline(axes, centre, error, radius, color=ink(), linestyle="--", linewidth=1.8, label="error")
    outer: dict[str, Any] = {"color": signs.colour(0), "linewidth": 2.0, "label": "hypothesis"}
    draw_outline(axes, centre, hypothesis, radius, **outer)
    for k, place in enumerate(places):
        sign: dict[str, Any] = {"marker": signs.marker(k), "color": signs.colour(k)}
        sign |= {"markersize": 7, "zorder": 4}
        name = shown_name(means.index[k], 18)
        if arrows is not None:
            # Arrows bear names as well: those of the classes have room in the legend.
            axes.plot(*place, linestyle="none", label=name, **sign)
            continue
        axes.plot(*place, **sign)
        style: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": "small", "zorder": 6}
        text = axes.annotate(name, tuple(place.tolist()), (0, 6), textcoords="offset points", **style)
        text.set_path_effects([withStroke(linewidth=2, foreground=paper())])
    axes.margins(0.08)
    if equal:
        axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    add_legend(axes, own)
    if arrows is not None:
        if own:
            lay_out(axes)
        draw_arrows(axes, outline(centre, hypothesis, radius), numbers(arrows), list(arrows.index))
    return axes
