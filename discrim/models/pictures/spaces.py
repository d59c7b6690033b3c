"""Pictures in the space of the discriminants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.pictures.style import Axes

__all__ = ["biplot", "scores"]


def scores(results: Any, asked: Asked) -> Axes:
    """Scores of the rows on the discriminants, by class."""
    from discrim.report.pictures import scores as pictures

    fit = results._fit
    labels = fit.labels_of(fit.drawn_rows())
    centroids: pd.DataFrame = results._centroids()
    return pictures.scores(
        results.transform(), labels, centroids, ax=asked.ax, signs=asked.signs(fit.classes)
    )


def biplot(results: Any, asked: Asked) -> Axes:
    """Canonical scores, and the columns as arrows of their structure correlations."""
    axes: Axes = results.canonical().plot(ax=asked.ax, colors=asked.colors)
    return axes
