"""Which numbers of a fit a picture shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from discrim.errors import DataError, NotSupportedError
from discrim.models.fits.arguments import named, told

if TYPE_CHECKING:
    from discrim.models.planes.hyperplane import HyperplaneResults
    from discrim.models.planes.perceptron import PerceptronResults
    from discrim.models.regression.indicator import IndicatorResults
    from discrim.models.results.results import ClassifierResults
    from discrim.report.plots import Axes

__all__ = [
    "plot_distances",
    "plot_fitted",
    "plot_history",
    "plot_margin",
    "plot_posteriors",
    "plot_regions",
]


def plot_regions(fit: ClassifierResults, ax: Axes | None) -> Axes:
    """Regions of the classes in the plane of two numeric predictors."""
    from discrim.report import plots

    if len(fit.terms) != 2 or not fit._blocks.design.plain:
        has = f"{len(fit.terms)}" if len(fit.terms) != 2 else f"{named(fit.terms)}, not both plain columns"
        raise NotSupportedError(
            f"kind='regions' draws the plane of two numeric columns of the table; this fit has {has}."
        )
    blocks = fit._rows("plot()")
    labels = fit._labelled(blocks.codes, blocks.table.index)
    return plots.regions(fit.predict, blocks.table.frame(list(fit.terms)), labels, ax=ax)


def plot_posteriors(fit: ClassifierResults, ax: Axes | None) -> Axes:
    """Posterior of each row's own class."""
    from discrim.report import plots

    labels = fit._labelled(fit._rows("plot()").codes, fit._blocks.table.index)
    return plots.posteriors(fit.predict_proba(), labels, ax=ax)


def plot_distances(
    fit: PerceptronResults | HyperplaneResults | IndicatorResults,
    ax: Axes | None,
    margin: float | None = None,
) -> Axes:
    """Signed distances of the rows of two classes to the plane between them."""
    from discrim.models.planes import plane_plots as line_plots

    if len(fit.classes) > 2:
        raise NotSupportedError(
            f"kind='distances' shows the plane between two classes; this fit has {len(fit.classes)}: see "
            "distance(a=, b=)."
        )
    blocks = fit._rows("plot()")
    labels = fit._labelled(blocks.codes, blocks.table.index)
    return line_plots.distances(fit.distance(), labels, list(fit.classes), margin=margin, ax=ax)


def plot_fitted(fit: IndicatorResults, column: str | None, ax: Axes | None) -> Axes:
    """Fitted values against a numeric column of the table, by default the first such of the formula."""
    from discrim.models.regression.indicator_plots import fitted_values

    blocks = fit._rows("plot()")
    used = list(blocks.design.columns)
    if column is not None and not (isinstance(column, str) and column in used):
        raise DataError(f"column={told(column)} is not in the formula: name one of {named(used)}.")
    columns = blocks.table.frame(used if column is None else [column])
    numeric = [name for name in columns if columns[name].dtype.kind in "iuf"]
    if not numeric:
        raise NotSupportedError(
            f"kind='fitted' draws against a column of numbers, which {named(list(columns))} "
            f"{'is' if len(list(columns)) == 1 else 'are'} not: name a numeric one of the formula in column= "
            "or see fitted."
        )
    name = numeric[0]
    held = columns[name]
    curves = None
    if len(used) == 1:
        at = np.linspace(held.min(), held.max(), 401)
        curves = fit.fitted_values(pd.DataFrame({name: at})).set_axis(at)
    labels = fit._labelled(blocks.codes, blocks.table.index)
    return fitted_values(held, fit.fitted, labels, list(fit.masked), curves=curves, ax=ax)


def plot_history(fit: PerceptronResults, ax: Axes | None) -> Axes:
    """Errors of each plane after each pass."""
    from discrim.models.planes import plane_plots as line_plots

    return line_plots.passes(fit.history["errors"].unstack("plane")[fit.planes.index], ax=ax)


def plot_margin(fit: HyperplaneResults, ax: Axes | None) -> Axes:
    """The plane of two predictors with the line, its margin, and the support points."""
    from discrim.models.planes.plane_plots import draw_margin
    from discrim.report.plots import numbers

    axes = plot_regions(fit, ax)
    blocks = fit._rows("plot()")
    support = blocks.table.frame(list(fit.terms)).iloc[fit._support_positions()]
    draw_margin(axes, fit.coef.to_numpy(), fit.intercept, numbers(support))
    return axes
