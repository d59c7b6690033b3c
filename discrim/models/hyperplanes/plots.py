"""Plots of the perceptron and of the optimal separating hyperplane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.core.hyperplanes.perceptron import first_updates
from discrim.design.rows import gather_used_rows
from discrim.errors import NotSupportedError
from discrim.models.plots import evaluation, planes, spaces
from discrim.models.plots.planes import describe_fixed_columns, draw_section, read_section, regions
from discrim.models.plots.plottable import plot, reads_two_columns, require_rows_to_draw
from discrim.report.plots import planes as plane_plots

if TYPE_CHECKING:
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.plottable import PlotOptions
    from discrim.report.plots.style import Axes


MAX_DRAWN_UPDATES = 4
"""Number of updates that `updates` draws; the last one is due to the row ringed in the third panel."""


@plot("distances", "signed distances of the rows of two classes")
def distances(results: Any, fit: FittedModel[Any], options: PlotOptions, margin: float | None = None) -> Axes:
    """Plot the signed distances of the rows of two classes to the plane between them.

    Distances are in the units of the columns, positive on the side of the second class. Raises
    NotSupportedError for more than two classes, or if the fit lacks rows and `data=` was not passed;
    DataError if all classes of the rows are missing.

    Parameters
    ----------
    results : FittedResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`. `data` has the rows to draw, with their classes; by default the rows of
        the fit.
    margin : float, optional
        Margin to draw on both sides of the plane, as a distance; None for no margin.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    if len(fit.classes) > 2:
        raise NotSupportedError(
            f"kind='distances' requires two classes, but this fit has {len(fit.classes)}.",
            hint="See boundary(a, b).distance().",
        )
    rows = require_rows_to_draw(fit, options, "distances")
    values = results.boundary().distance(rows.design_rows)
    signs = options.signs(fit.classes)
    return plane_plots.draw_distances(
        values, rows.labels, list(fit.classes), margin=margin, ax=options.ax, signs=signs
    )


@plot("distances", "signed distances of the rows, with the margin")
def margin_distances(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the signed distances of the rows to the optimal plane, with its margin on both sides.

    Raises the errors of `distances`.

    Parameters
    ----------
    results : FittedResults
        Results of the fit, with `margin`.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`. `data` has the rows to draw, with their classes; by default the rows of
        the fit.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    return distances(results, fit, options, margin=results.margin)


@plot(
    "regions",
    "the line, its margin and support points, in the plane of two columns",
    used_options=("columns", "at"),
    default_if=reads_two_columns,
)
def margin(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the separating line, its margin and the support points in the plane of two columns.

    Support points are ringed for the rows of the fit if no other column is fixed. For one column, or more
    than two, the plot `regions` is drawn.

    Parameters
    ----------
    results : FittedResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    ground = read_section(fit, options)
    if len(ground.columns) != 2:
        return regions(results, fit, options)
    names = ground.columns
    caption = describe_fixed_columns(ground, names)
    title = "The optimal plane, its margin (dashed) and support points (ringed)"
    if caption:
        title = "The optimal plane and its margin (dashed)"
    axes = draw_section(ground, options, title)
    values = ground.evaluate(names, lambda table: fit.decision_values(fit.new_rows(table)).to_numpy())
    of_fit = options.data is None and fit.has_rows and not caption
    points = ground.points(names)[0][results._support_positions()] if of_fit else None
    plane_plots.draw_margin(axes, values, points)
    return axes


@plot("history", "errors of the perceptron after each pass", data=False)
def history(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the number of errors of each plane of a perceptron after each pass, and the fewest, which is kept.

    Parameters
    ----------
    results : FittedResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    # Use reindex, because indexing with boolean labels would select rows.
    errors = results.history["errors"].unstack("plane").reindex(columns=results.planes.index)
    fewest = results.planes["errors"].tolist()
    classes = list(results.classes)
    recorded_steps = list(fit.estimates.best_passes) or [None] * len(fewest)
    first = classes.index(errors.columns[0])
    signs = options.signs(classes)
    return plane_plots.draw_perceptron_errors(
        errors, list(zip(recorded_steps, fewest, strict=True)), ax=options.ax, signs=signs, first_class=first
    )


@plot(
    "updates",
    "the first lines of the perceptron, each with the row that moves it, and the line kept",
    data=False,
)
def updates(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the first lines of a perceptron of two classes and two columns, and the line that is kept.

    Raises NotSupportedError for more classes, another number of columns, or if the rows are not in memory.

    Parameters
    ----------
    results : FittedResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    if len(fit.classes) > 2 or len(fit.terms) != 2:
        raise NotSupportedError(
            "kind='updates' requires two classes and two columns, but this fit has "
            f"{len(fit.classes)} classes and {len(fit.terms)} columns.",
            hint="Use kind='history'.",
        )
    rows = gather_used_rows(fit.require_rows_in_memory())
    estimates = fit.estimates
    begin = None if estimates.start is None else estimates.start[:, 0]
    first_update, after = first_updates(
        rows.x,
        rows.codes == 1,
        step=estimates.step,
        seed=estimates.seed,
        max_updates=MAX_DRAWN_UPDATES,
        start=begin,
    )
    points = pd.DataFrame(rows.x, columns=fit.terms)
    ends = (estimates.coef[:, 0], results.updates)
    signs = options.signs(fit.classes)
    return plane_plots.draw_perceptron_steps(
        points, rows.codes, list(fit.classes), (first_update, after), ends, ax=options.ax, signs=signs
    )


PERCEPTRON_PLOTS = (
    history,
    updates,
    planes.regions,
    planes.partition,
    spaces.pairs,
    distances,
    evaluation.confusion,
    evaluation.roc,
    evaluation.precision_recall,
)
"""Plots of `perceptron`, in the order in which a default is chosen."""

HYPERPLANE_PLOTS = (
    margin,
    margin_distances,
    planes.partition,
    spaces.pairs,
    evaluation.confusion,
    evaluation.roc,
    evaluation.precision_recall,
)
"""Plots of `hyperplane`, in the order in which a default is chosen."""
