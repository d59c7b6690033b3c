"""Plots of naive Bayes and of shrunken centroids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discrim.models.plots import planes, spaces
from discrim.models.plots.plottable import plot, read_column_option, rows_to_draw
from discrim.models.plots.shared import POSTERIOR_PLOTS, WITH_POSTERIORS
from discrim.report.plots.bars import draw_bar_strips, draw_errors, write_counts_above
from discrim.report.plots.style import add_legend, faint_ink, new_axes, set_title, shown_name, to_floats

if TYPE_CHECKING:
    from discrim.core.numerics.arrays import Codes, Floats
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.plottable import PlotOptions
    from discrim.report.plots.style import Axes, Signs


@plot("density", "density of a column in each class, with the rows below", used_options=("columns",))
def density(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the density of one column in each class, with marks of the rows below the horizontal axis.

    Parameters
    ----------
    results : NaiveBayesResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`. `columns` is a normal column or a column with kernel densities; by
        default the first normal column, or the first with kernel densities if none is normal. `data` has the
        rows to mark; by default the rows of the fit, if it has them.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    numeric = [*results.normal_terms, *results.bandwidths.columns]
    name = read_column_option("density", "numbers", numeric, options)
    densities = results.density(name)
    signs = options.signs(results.classes)
    axes, is_new = new_axes(options.ax)
    grid = densities.index.to_numpy(dtype=np.float64)
    for k, label in enumerate(densities.columns):
        values = densities.iloc[:, k].to_numpy(dtype=np.float64)
        style: dict[str, Any] = {"color": signs.colour(k), "linestyle": signs.line(k), "linewidth": 1.6}
        axes.plot(grid, values, label=shown_name(label), **style)
    axes.set_ylim(bottom=0.0)
    rows = rows_to_draw(fit, options)
    if rows is not None:
        _draw_rug(axes, rows.terms([name]).to_numpy()[:, 0], rows.codes, len(densities.columns), signs)
    axes.set_xlabel(shown_name(name))
    axes.set_ylabel("Density within the class")
    axes.set_title(f"{shown_name(name)} by class")
    return add_legend(axes, is_new)


MAX_RUG_MARKS = 400
"""Largest number of marks of a class; of more rows, evenly spaced quantiles are drawn."""


def _draw_rug(axes: Axes, x: Floats, codes: Codes, n_classes: int, signs: Signs) -> None:
    """Draw the values of the rows as marks below the horizontal axis, in a strip for each class.

    The lower limit of the vertical axis is extended, and its ticks below zero are removed.

    Parameters
    ----------
    axes : Axes
        The axes of the densities, with a lower limit of zero.
    x : (n,) float64
        Values of the rows; rows with a value that is not finite are not drawn.
    codes : (n,) int
        Classes of the rows; rows without a class (-1) are not drawn.
    n_classes : int
        Number of classes.
    signs : Signs
        Colours of the classes.
    """
    top = axes.get_ylim()[1]
    step = top * min(0.04, 0.3 / n_classes)
    axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= top])
    axes.axhline(0.0, color=faint_ink(0.6), linewidth=0.8, zorder=1)
    for k in range(n_classes):
        class_x = np.sort(x[(codes == k) & np.isfinite(x)])
        class_x = class_x[np.linspace(0, len(class_x) - 1, min(len(class_x), MAX_RUG_MARKS)).astype(int)]
        axes.vlines(
            class_x, -(k + 0.9) * step, -(k + 0.2) * step, color=signs.colour(k), linewidth=0.6, alpha=0.7
        )
    axes.set_ylim(-(n_classes + 0.1) * step, top)


@plot("table", "shares of the levels of a column in each class", used_options=("columns",), data=False)
def level_shares(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot P(level | class) of one categorical column: for each level a dot per class.

    Parameters
    ----------
    results : NaiveBayesResults
        Results of the fit.
    fit : FittedModel
        The fitted model; not used.
    options : PlotOptions
        Options of the method `plot`. `columns` is a categorical column, by default the first.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    name = read_column_option("table", "levels", list(results._levels_by_term), options)
    table = results.tables[name]
    signs = options.signs(results.classes)
    k_classes, levels = table.shape
    axes, is_new = new_axes(options.ax, levels * (1 + k_classes // 4))
    positions = np.arange(levels)
    for k, label in enumerate(table.index):
        probabilities = table.iloc[k].to_numpy(dtype=np.float64)
        # Shift the classes vertically; otherwise dots of equal shares would overlap.
        heights = positions + 0.6 * ((k + 0.5) / k_classes - 0.5)
        axes.hlines(heights, 0.0, probabilities, color=signs.colour(k), linewidth=1.2)
        style: dict[str, Any] = {"color": signs.colour(k), "marker": signs.marker(k)}
        axes.plot(probabilities, heights, linestyle="none", label=shown_name(label), **style)
    for position in positions[1:]:
        axes.axhline(position - 0.5, color=faint_ink(0.8), linewidth=0.5, zorder=0)
    axes.set_yticks(positions, [shown_name(label) for label in table.columns])
    axes.set(
        xlim=(-0.03 * float(table.max(axis=None)), None),
        ylim=(levels - 0.5, -0.5),
        xlabel="Probability within the class",
    )
    axes.set_title(f"Levels of {shown_name(table.columns.name)} by class")
    return add_legend(axes, is_new)


MAX_BARS = 50
"""Largest number of columns drawn as bars."""


@plot("path", "cross-validated error by threshold", data=False, colors=False)
def threshold_path(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the cross-validated error by threshold with its standard error, and the number of columns above.

    NotSupportedError is raised if the fit does not have a `path`.

    Parameters
    ----------
    results : ShrunkenCentroidsResults
        Results of the fit.
    fit : FittedModel
        The fitted model; not used.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    path = results.path
    chosen = results.shrinkage_threshold
    axes, _ = new_axes(options.ax)
    thresholds, error, se, genes = to_floats(path[["threshold", "error", "se", "genes"]]).T
    # Only the one-standard-error rule chooses a threshold whose error is not the least.
    limit = "least error + one standard error" if (error[thresholds == chosen] > error.min()).any() else ""
    draw_errors(axes, path[["threshold", "error", "se"]], chosen, size=4, one_se_label=limit)
    axes.set_ylim(bottom=min(0.0, float((error - se).min())))
    axes.set_xlabel("Threshold")
    axes.set_ylabel("Cross-validated error, ± one standard error")
    write_counts_above(axes, thresholds, genes, "Columns left")
    axes.legend(loc="best")
    set_title(axes, "Cross-validated error by threshold")
    return axes


@plot("centroids", "shrunken differences of the columns that survive, by class", data=False)
def centroids(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot shrunken standardized differences as bars, the largest first, in a strip for each class.

    At most `MAX_BARS` columns are drawn, and empty axes with a title if no column survives.

    Parameters
    ----------
    results : ShrunkenCentroidsResults
        Results of the fit.
    fit : FittedModel
        The fitted model; not used.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    survivors = results.survivors()
    signs = options.signs(results.classes)
    top = survivors.head(MAX_BARS)
    if not len(top):
        axes, _ = new_axes(options.ax)
        axes.set_title("No column survives the threshold")
        axes.set_axis_off()
        return axes
    count_text = f" ({len(top)} of {len(survivors)})" if len(survivors) > len(top) else ""
    title = f"Shrunken differences from the common mean{count_text}"
    return draw_bar_strips(top, list(top.columns), title, ax=options.ax, signs=signs)


NAIVE_BAYES_PLOTS = (
    planes.regions,
    level_shares,
    *POSTERIOR_PLOTS,
    spaces.ellipses,
    density,
)
"""Plots of `NaiveBayesResults.plot`; the first that is suitable for a fit is its default."""

SHRUNKEN_CENTROIDS_PLOTS = (centroids, threshold_path, *WITH_POSTERIORS)
"""Plots of `ShrunkenCentroidsResults.plot`; the first that is suitable for a fit is its default."""
