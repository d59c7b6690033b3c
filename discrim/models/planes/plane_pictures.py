"""Which numbers of a plane between classes a picture shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.core.planes.perceptron import first_moves
from discrim.errors import NotSupportedError
from discrim.frame.used_rows import gathered_rows
from discrim.models.pictures.plane_columns import ground_of, told_held
from discrim.models.pictures.planes import MOST_COLUMNS, draw_ground, regions
from discrim.models.pictures.rows import needed_rows

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["distances", "history", "margin", "margin_distances", "updates"]

MOST_MOVES = 4
"""Of which the last is that of the row ringed in the third panel."""


def distances(results: Any, asked: Asked, margin: float | None = None) -> Axes:
    """Signed distances of the rows of two classes to the plane between them."""
    from discrim.models.planes import plane_plots

    fit = results._fit
    if len(fit.classes) > 2:
        raise NotSupportedError(
            f"kind='distances' shows the plane between two classes; this fit has {len(fit.classes)}: see "
            "distance(a=, b=)."
        )
    rows = needed_rows(fit, asked, "distances")
    labels, signs = rows.labels, asked.signs(fit.classes)
    values = results.distance(rows.blocks)
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

    # Labels that are booleans would choose rows.
    errors = results.history["errors"].unstack("plane").reindex(columns=results.planes.index)
    numbers, fewest = results._fit.numbers, results.planes["errors"].tolist()
    kept = list(numbers.kept) or [None] * len(fewest)
    classes = list(results.classes)
    first = classes.index(errors.columns[0])
    signs = asked.signs(classes)
    return passes(errors, list(zip(kept, fewest, strict=True)), ax=asked.ax, signs=signs, first=first)


def updates(results: Any, asked: Asked) -> Axes:
    """The first lines of a perceptron of two classes and two columns, and the line that is kept."""
    from discrim.models.planes.update_plots import updates as draw

    fit = results._fit
    if len(fit.classes) > 2 or len(fit.terms) != 2:
        raise NotSupportedError(
            f"kind='updates' draws lines between two classes in the plane of two columns; this fit has "
            f"{len(fit.classes)} classes and {len(fit.terms)} columns: use kind='history'."
        )
    rows = gathered_rows(fit.drawn_rows())
    numbers = fit.numbers
    begin = None if numbers.start is None else numbers.start[:, 0]
    moved, after = first_moves(
        rows.x, rows.codes == 1, step=numbers.step, seed=numbers.seed, most=MOST_MOVES, start=begin
    )
    points = pd.DataFrame(rows.x, columns=fit.terms)
    ends = fit.numbers.coef[:, 0], results.updates
    signs = asked.signs(fit.classes)
    return draw(points, rows.codes, list(fit.classes), (moved, after), ends, ax=asked.ax, signs=signs)
