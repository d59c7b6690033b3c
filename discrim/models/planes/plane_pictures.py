"""Which numbers of a plane between classes a picture shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discrim.errors import NotSupportedError
from discrim.models.pictures.planes import regions

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.pictures.style import Axes

__all__ = ["distances", "history", "margin", "margin_distances"]


def distances(results: Any, asked: Asked, margin: float | None = None) -> Axes:
    """Signed distances of the rows of two classes to the plane between them."""
    from discrim.models.planes import plane_plots

    fit = results._fit
    if len(fit.classes) > 2:
        raise NotSupportedError(
            f"kind='distances' shows the plane between two classes; this fit has {len(fit.classes)}: see "
            "distance(a=, b=)."
        )
    labels, signs = fit.labels_of(fit.drawn_rows()), asked.signs(fit.classes)
    values = results.distance()
    return plane_plots.distances(values, labels, list(fit.classes), margin=margin, ax=asked.ax, signs=signs)


def margin_distances(results: Any, asked: Asked) -> Axes:
    """Signed distances of the rows, with the margin."""
    return distances(results, asked, margin=results.margin)


def margin(results: Any, asked: Asked) -> Axes:
    """The plane of two predictors with the line, its margin, and the support points."""
    from discrim.models.planes.plane_plots import draw_margin
    from discrim.report.pictures.style import numbers

    fit = results._fit
    axes = regions(results, asked)
    points = fit.drawn_rows().table.frame(list(fit.terms)).iloc[results._support_positions()]
    draw_margin(axes, results.coef.to_numpy(), results.intercept, numbers(points))
    return axes


def history(results: Any, asked: Asked) -> Axes:
    """Errors of a perceptron after each pass."""
    from discrim.models.planes.plane_plots import passes

    errors = results.history["errors"].unstack("plane")[results.planes.index]
    return passes(errors, ax=asked.ax)
