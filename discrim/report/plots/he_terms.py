"""Ellipses of several hypotheses beside that of the error, one for each term of a linear model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.plots.ellipses import draw_outline
from discrim.report.plots.style import SIGNS, Signs, add_legend, ink, new_axes, numbers, paper, shown_name

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

__all__ = ["he_terms"]

Floats = NDArray[np.float64]

MOST_NAMED = 12
"""Means of a term up to which each bears its name."""


def he_terms(
    means: Mapping[str, pd.DataFrame],
    hypotheses: Mapping[str, Floats],
    error: Floats,
    centre: Floats,
    radius: float,
    *,
    names: tuple[str, str],
    ax: Axes | None = None,
    signs: Signs = SIGNS,
) -> Axes:
    """The ellipse of each term and that of the residuals, about the mean of all rows.

    A term of one degree of freedom is a line.

    Parameters
    ----------
    means : mapping of term to DataFrame, cells by two columns
    hypotheses : mapping of term to (2, 2) float
    error : (2, 2) float
    centre : (2,) float
    radius : float
        Distance at which all outlines lie.
    names : (str, str)
        Of the axes.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    from matplotlib.patheffects import withStroke

    axes, own = new_axes(ax)
    draw_outline(axes, centre, error, radius, color=ink(), linestyle="--", linewidth=1.8, label="error")
    for k, (term, shape) in enumerate(hypotheses.items()):
        colour = signs.colour(k)
        outer: dict[str, Any] = {"color": colour, "linewidth": 2.0, "label": shown_name(term, 30)}
        draw_outline(axes, centre, shape, radius, **outer)
        cells = means[term]
        for label, place in zip(cells.index, numbers(cells), strict=True):
            axes.plot(*place, marker=signs.marker(k), color=colour, markersize=6, zorder=4)
            if len(cells) > MOST_NAMED:
                continue
            style: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": "small", "zorder": 6}
            at = tuple(place.tolist())
            text = axes.annotate(
                shown_name(label, 18), at, (0, 5), textcoords="offset points", color=colour, **style
            )
            text.set_path_effects([withStroke(linewidth=2, foreground=paper())])
    axes.margins(0.08)
    axes.set_xlabel(shown_name(names[0]))
    axes.set_ylabel(shown_name(names[1]))
    add_legend(axes, own)
    return axes
