"""Which numbers of a plane between classes a picture shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discrim.errors import NotSupportedError
from discrim.models.pictures.plane_columns import ground_of, told_held
from discrim.models.pictures.planes import MOST_COLUMNS, draw_ground, regions

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
    """The plane of two columns with the line, its margin, and the support points."""
    from discrim.models.planes.plane_plots import draw_margin

    ground = ground_of(results, asked, "regions", MOST_COLUMNS)
    if len(ground.columns) != 2:
        return regions(results, asked)
    fit, names = results._fit, ground.columns
    held = told_held(ground, names)
    title = "The optimal plane and its margin (dashed)"
    if not held:
        title = "The optimal plane, its margin (dashed) and support points (ringed)"
    axes = draw_ground(ground, asked, title)
    values = ground.values(names, lambda table: fit.decision_values(fit.new_rows(table)).to_numpy())
    own = asked.data is None and fit.has_rows and not held
    points = ground.points(names)[0][results._support_positions()] if own else None
    draw_margin(axes, values, points)
    return axes


def history(results: Any, asked: Asked) -> Axes:
    """Errors of a perceptron after each pass."""
    from discrim.models.planes.plane_plots import passes

    errors = results.history["errors"].unstack("plane")[results.planes.index]
    return passes(errors, ax=asked.ax)
