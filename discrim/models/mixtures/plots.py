"""Plots of mixture discriminant analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discrim.models.plots.plottable import plot, rows_to_draw
from discrim.models.plots.shared import WITH_POSTERIORS
from discrim.models.plots.spaces import ELLIPSE_COVERAGE, read_columns_option, read_level_option
from discrim.report.plots.columns import draw_criterion
from discrim.report.plots.spaces import draw_ellipses, outline_radius
from discrim.report.plots.style import set_title

if TYPE_CHECKING:
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.plottable import PlotOptions
    from discrim.report.plots.style import Axes


@plot(
    "components",
    "outlines of the components of each class in the plane of two columns",
    used_options=("columns", "level"),
)
def components(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot ellipses of the components of each class in the plane of two columns, and the observations.

    Parameters
    ----------
    results : MixtureResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`. `columns` are two columns, by default those that separate the classes
        best; `level` is the proportion of a component inside its ellipse, by default `ELLIPSE_COVERAGE`;
        `data` has the observations to draw, by default the observations of the fit, if available.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    names, chosen = read_columns_option(results, fit, options, "components", 2)
    rows = rows_to_draw(fit, options)
    level = read_level_option(options, ELLIPSE_COVERAGE)
    axes = draw_ellipses(
        results.component_means[names],
        {key: cov.loc[names, names] for key, cov in results.covs.items()},
        None,
        outline_radius(level),
        proportions=results.shares,
        points=None if rows is None else rows.terms(names),
        labels=None if rows is None else rows.labels,
        ax=options.ax,
        signs=options.signs(fit.classes),
    )
    title = f"Components of the classes; outlines contain {100 * level:.6g} % of each"
    set_title(axes, f"{title}\n{chosen}" if chosen else title)
    return axes


@plot("path", "BIC of the candidates, by number of components", data=False, colors=False)
def path(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot BIC by number of components, or by covariance form if there is only one number.

    There is a line for each class, or one for all classes if they share a form, of the best BIC at each
    number or form, minus the smallest BIC of the line. NotSupportedError is raised if the fit does not have a
    `path`.

    Parameters
    ----------
    results : MixtureResults
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
    table = results.path.dropna(subset=["bic"])
    if "class" not in table:
        table = table.assign(**{"class": "all classes"})
    axis_name = "components" if table["components"].nunique() > 1 else "covariance"
    best_criteria = table.groupby(["class", axis_name], sort=False, observed=True)["bic"].min().reset_index()
    axes = draw_criterion(best_criteria, axis_name, ax=options.ax, signs=options.signs(fit.classes))
    best = "the best form of each number of components" if axis_name == "components" else "each form"
    set_title(axes, f"BIC of {best}")
    return axes


MIXTURE_PLOTS = (*WITH_POSTERIORS, components, path)
"""Plots of `MixtureResults.plot`; the first that is suitable for a fit is its default."""
