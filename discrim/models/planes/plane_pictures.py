"""Which numbers of a plane between classes a picture shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import NotSupportedError
from discrim.models.fits.fit import Fit
from discrim.models.results.pictures import plot_regions

if TYPE_CHECKING:
    from discrim.report.plots import Axes

__all__ = ["plot_distances", "plot_margin"]


def plot_distances(
    fit: Fit[Any], distance: Callable[[], pd.Series], ax: Axes | None, margin: float | None = None
) -> Axes:
    """Signed distances of the rows of two classes to the plane between them."""
    from discrim.models.planes import plane_plots

    if len(fit.classes) > 2:
        raise NotSupportedError(
            f"kind='distances' shows the plane between two classes; this fit has {len(fit.classes)}: see "
            "distance(a=, b=)."
        )
    blocks = fit.drawn_rows()
    labels = fit.labels_of(blocks)
    return plane_plots.distances(distance(), labels, list(fit.classes), margin=margin, ax=ax)


def plot_margin(
    fit: Fit[Any], coef: NDArray[np.float64], intercept: float, support: NDArray[np.intp], ax: Axes | None
) -> Axes:
    """The plane of two predictors with the line, its margin, and the support points, by position."""
    from discrim.models.planes.plane_plots import draw_margin
    from discrim.report.plots import numbers

    axes = plot_regions(fit, ax)
    points = fit.drawn_rows().table.frame(list(fit.terms)).iloc[support]
    draw_margin(axes, coef, intercept, numbers(points))
    return axes
