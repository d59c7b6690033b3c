"""Plots of logistic regression, of indicator regression and of flexible discriminant analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.errors import DataError, NotSupportedError
from discrim.models.base.reading import format_argument, join_labels
from discrim.models.base.refits import stored_path
from discrim.models.hyperplanes.plots import distances
from discrim.models.plots import evaluation, planes, spaces
from discrim.models.plots.plottable import has_tuned_option, numeric_columns, plot, require_rows_to_draw
from discrim.models.plots.shared import POSTERIOR_PLOTS, WITH_POSTERIORS
from discrim.report.plots.bars import draw_errors, write_counts_above
from discrim.report.plots.style import (
    SIGNS,
    Signs,
    add_legend,
    faint_ink,
    ink,
    label_codes,
    new_axes,
    set_title,
    shown_name,
    to_floats,
)

if TYPE_CHECKING:
    from discrim.design.design_rows import DesignRows
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.plottable import PlotOptions
    from discrim.report.plots.style import Axes


MAX_NAMED_TERMS = 8
"""Number of terms whose lines have a colour and a name, the largest first."""


@plot(
    "choice",
    "deviance of rows left out by strength of the penalty",
    data=False,
    colors=False,
    default_if=has_tuned_option,
)
def strength_choice(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the deviance of held-out rows by strength of the penalty, with standard errors.

    The chosen strength is marked, for `select="1se"` also the limit of one standard error. The numbers of
    nonzero coefficients are written along the top.

    Parameters
    ----------
    results : PenalizedLogisticResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.

    Raises
    ------
    NotSupportedError
        Folds did not choose the strength, or the fit was loaded.
    """
    reason = "as the strength was given, or the fit was loaded"
    table = stored_path(fit, reason, 'fit with penalty="lasso" to have it chosen by folds')
    one_se = fit.spec.search.penalty.select == "1se"
    axes, _ = new_axes(options.ax)
    limit_label = "minimum + one standard error" if one_se else ""
    path_table = table[["strength", "deviance", "se"]]
    draw_errors(axes, path_table, results.penalty.strength, is_log=True, one_se_label=limit_label)
    axes.set_xlabel("Strength, lambda")
    axes.set_ylabel("Held-out deviance, ± one standard error")
    _write_nonzero_counts(axes, table)
    axes.legend(loc="best")
    set_title(axes, "Held-out deviance by strength")
    return axes


@plot("path", "coefficients along the strength of the penalty", data=False, colors=False)
def strength_path(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the coefficients of standardized columns against the strength of the penalty.

    For more than two classes each class has its own coefficients and line style. The `MAX_NAMED_TERMS`
    largest selected terms have a colour and a name. The strength of the fit is marked.

    Parameters
    ----------
    results : PenalizedLogisticResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.

    Raises
    ------
    NotSupportedError
        The fit was loaded.
    """
    path = results._strength_path()
    betas = np.stack([path_fit.beta for path_fit in path.fits])[:, :, 1:]
    axes, _ = new_axes(options.ax)
    strengths = path.table["strength"].to_numpy()
    functions = betas.shape[1]
    lines = ["-"] if functions == 1 else [SIGNS.line(c) for c in range(functions)]
    labelled_columns = results.terms.get_indexer(results.selected[:MAX_NAMED_TERMS]).tolist()
    for c, j in np.argwhere(betas.any(axis=0)).tolist():
        if j not in labelled_columns:
            axes.plot(strengths, betas[:, c, j], color=faint_ink(0.75), linestyle=lines[c], linewidth=0.8)
    # Selected terms are drawn over the others, and have one entry in the legend.
    for i, j in enumerate(labelled_columns):
        axes.plot([], [], color=SIGNS.colour(i), label=shown_name(results.terms[j]))
        for c in np.flatnonzero(betas[:, :, j].any(axis=0)).tolist():
            axes.plot(strengths, betas[:, c, j], color=SIGNS.colour(i), linestyle=lines[c], linewidth=1.2)
    if functions > 1:
        for c, label in enumerate(results.classes[:MAX_NAMED_TERMS]):
            axes.plot([], [], color=faint_ink(0.35), linestyle=lines[c], label=shown_name(label))
        if functions > MAX_NAMED_TERMS:
            axes.plot([], [], linestyle="none", label=f"and {functions - MAX_NAMED_TERMS} more classes")
    axes.set_xscale("log")
    axes.axhline(0.0, color=faint_ink(0.7), linewidth=0.8, zorder=1)
    style: dict[str, Any] = {"color": faint_ink(0.35), "linestyle": "--", "linewidth": 1.0}
    axes.axvline(results.penalty.strength, label="the fit", **style)
    axes.set_xlabel("Strength, lambda")
    axes.set_ylabel("Coefficient of a standardized column")
    _write_nonzero_counts(axes, path.table)
    axes.legend(loc="best", fontsize="small")
    set_title(axes, "Coefficients by strength")
    return axes


def _write_nonzero_counts(axes: Axes, table: pd.DataFrame) -> None:
    """Write the number of nonzero coefficients along the top; `table` has the columns strength and df."""
    strengths, nonzero = to_floats(table[["strength", "df"]]).T
    write_counts_above(axes, strengths, nonzero, "Coefficients not zero")


@plot("fitted", "fitted values of the indicators against a column", used_options=("columns",))
def fitted(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot fitted values along the first discriminant, or against a column of the table.

    A colour is a class, whose rows are ticks below the values. The column is named in `options.columns`; by
    default it is the only column of the formula, if that is numeric, else the first discriminant. Along the
    discriminant, the regression lines of the fitted values on it are drawn, with marks at the class means: a
    class whose line is nowhere the highest is masked. For a formula of one column the fitted values are drawn
    as functions of it.

    Parameters
    ----------
    results : IndicatorResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`; `data`, `columns`, and colours of the classes are used.

    Returns
    -------
    Axes
        The axes with the plot.

    Raises
    ------
    DataError
        The column is not in the formula.
    NotSupportedError
        The fit lacks rows or a discriminant, or the column is not numeric.
    """
    column = options.columns
    rows = require_rows_to_draw(fit, options, "fitted")
    design_rows = rows.design_rows
    values = results.fitted if options.data is None else results.predict_indicators(design_rows)
    used = list(design_rows.design.columns)
    if column is not None and not (isinstance(column, str) and column in used):
        raise DataError(
            f"columns={format_argument(column)} is not in the formula.",
            hint=f"Name one of {join_labels(used)}.",
        )
    fitted = values.to_numpy(dtype=np.float64)
    codes = label_codes(rows.labels, list(values.columns))
    signs = options.signs(fit.classes)
    masked = list(results.masked)
    along_discriminant = column is None and (len(used) > 1 or not numeric_columns(fit.design_rows.design))
    if along_discriminant:
        x = _first_discriminant(results, fitted)
        name = "First discriminant"
    else:
        x, name = _first_numeric_column(design_rows, used if column is None else [column])
    is_complete = np.isfinite(x) & np.isfinite(fitted).all(axis=1)
    x = x[is_complete]
    fitted = fitted[is_complete]
    codes = codes[is_complete]
    weights = rows.weights[is_complete]
    axes, is_new = new_axes(options.ax)
    has_one_column = len(used) == 1 and name == used[0]
    if has_one_column:
        grid = np.linspace(x.min(), x.max(), 401)
        fitted = results.predict_indicators(pd.DataFrame({name: grid})).to_numpy(dtype=np.float64)
        for k, label in enumerate(values.columns):
            line_style: dict[str, Any] = {"color": signs.colour(k), "linestyle": signs.line(k)}
            axes.plot(grid, fitted[:, k], label=shown_name(label), **line_style)
    else:
        _draw_values(axes, x, fitted, codes, list(values.columns), signs)
    if along_discriminant:
        _draw_regression_lines(axes, x, fitted, codes, weights, signs)
    _draw_row_ticks(axes, x, codes, fitted, signs)
    axes.set_xlabel(shown_name(name, 45))
    axes.set_ylabel("Fitted value")
    title = "Fitted values of the indicators"
    if masked:
        names = ", ".join(shown_name(label, 12) for label in masked[:3])
        title += f"\nmasked: {names}" + (f" and {len(masked) - 3} more" if len(masked) > 3 else "")
    if len(x) >= 2 * MAX_DRAWN_ROWS and not has_one_column:
        title += f"\nabout {MAX_DRAWN_ROWS:,} of {len(x):,} rows are drawn"
    add_legend(axes, is_new)
    set_title(axes, title)
    return axes


def _first_discriminant(results: Any, fitted: Floats) -> Floats:
    """Return scores on the first discriminant, with unit variance within classes (divisor N).

    Parameters
    ----------
    results : IndicatorResults
    fitted : (n, K) float64
        Fitted values.

    Returns
    -------
    (n,) float64
        Not scaled if the correlation is one.

    Raises
    ------
    NotSupportedError
        The class means do not differ.
    """
    scoring = results.optimal_scoring()
    if not len(scoring.correlations):
        raise NotSupportedError(
            "The class means do not differ, so there is no discriminant.",
            hint="Name a column in columns=.",
        )
    squared_correlation = float(scoring.correlations.iloc[0]) ** 2
    x = fitted @ scoring.scores.iloc[:, 0].to_numpy()
    return np.asarray(
        x / np.sqrt(squared_correlation * (1 - squared_correlation)) if squared_correlation < 1 else x
    )


MAX_DRAWN_ROWS = 3_000
"""Approximate number of rows whose fitted values are drawn; more would overlap."""


MAX_CLASSES_WITH_ALL_VALUES = 4
"""Largest number of classes for which all fitted values of a row are drawn, not only its own class's."""


def _draw_values(
    axes: Axes, x: Floats, fitted: Floats, codes: Codes, classes: list[Any], signs: Signs
) -> None:
    """Draw fitted values as faint points in the colour of the class whose indicator they fit.

    For more than `MAX_CLASSES_WITH_ALL_VALUES` classes only the fitted value of a row's own class is drawn.
    For `2 * MAX_DRAWN_ROWS` rows or more only every j-th row is drawn, j = n // `MAX_DRAWN_ROWS`. Labels for
    the legend are added.

    Parameters
    ----------
    axes : Axes
        The axes to draw into.
    x : (n,) float64
        Horizontal positions.
    fitted : (n, K) float64
        Fitted values.
    codes : (n,) int
        Classes of the rows; -1 if unknown.
    classes : list
        Class labels.
    signs : Signs
        Colours and markers of the classes.
    """
    for k, label in enumerate(classes):
        candidate_rows = np.flatnonzero((codes == k) | (len(classes) <= MAX_CLASSES_WITH_ALL_VALUES))
        drawn_rows = candidate_rows[:: max(len(x) // MAX_DRAWN_ROWS, 1)]
        point_style: dict[str, Any] = {"color": signs.colour(k), "marker": signs.marker(k)}
        faint_style = point_style | {
            "s": 12,
            "alpha": 0.3,
            "linewidths": 0,
            "rasterized": len(drawn_rows) > 1_000,
        }
        axes.scatter(x[drawn_rows], fitted[drawn_rows, k], **faint_style)
        axes.plot([], [], linestyle=signs.line(k), label=shown_name(label), **point_style)


def _draw_regression_lines(
    axes: Axes, x: Floats, fitted: Floats, codes: Codes, weights: Floats, signs: Signs
) -> None:
    """Draw weighted regression lines of the fitted values on x, over all rows, with marks at the class means.

    Parameters
    ----------
    axes : Axes
        The axes to draw into.
    x : (n,) float64
        Horizontal positions.
    fitted : (n, K) float64
        Fitted values.
    codes : (n,) int
        Classes of the rows.
    weights : (n,) float64
        Weights of the rows.
    signs : Signs
        Colours and markers of the classes.
    """
    ends = np.array([x[weights > 0].min(), x[weights > 0].max()])
    for k in range(fitted.shape[1]):
        slope, constant = np.polyfit(x, fitted[:, k], 1, w=np.sqrt(weights))
        line_style: dict[str, Any] = {"color": signs.colour(k), "linewidth": 2.0, "zorder": 4}
        axes.plot(ends, constant + slope * ends, linestyle=signs.line(k), **line_style)
        in_class = codes == k
        if weights[in_class].any():
            class_mean = float(np.average(x[in_class], weights=weights[in_class]))
            line_style |= {"marker": signs.marker(k), "markersize": 8, "markeredgecolor": ink(), "zorder": 5}
            axes.plot(class_mean, constant + slope * class_mean, **line_style)


def _first_numeric_column(design_rows: DesignRows, names: list[str]) -> tuple[Floats, str]:
    """Return the values (n,) and the name of the first numeric column among `names`; missing values are NaN.

    Raises NotSupportedError if no column is numeric.
    """
    columns = design_rows.table.frame(names)
    numeric = [name for name in names if columns[name].dtype.kind in "iuf"]
    if not numeric:
        raise NotSupportedError(
            f"kind='fitted' requires a numeric column, but {join_labels(list(columns))} "
            f"{'is' if len(list(columns)) == 1 else 'are'} not numeric.",
            hint="Name a numeric column of the formula in columns=, or see fitted.",
        )
    return columns[numeric[0]].to_numpy(dtype=np.float64, na_value=np.nan), numeric[0]


def _draw_row_ticks(axes: Axes, x: Floats, codes: Codes, fitted: Floats, signs: Signs) -> None:
    """Draw the rows of each class as a line of ticks below all fitted values.

    Parameters
    ----------
    axes : Axes
        The axes to draw into.
    x : (n,) float64
        Horizontal positions.
    codes : (n,) int
        Classes of the rows.
    fitted : (n, K) float64
        Fitted values, which determine the height.
    signs : Signs
        Colours of the classes.
    """
    k_classes = fitted.shape[1]
    # For any number of classes, the ticks occupy at most a third of the plot.
    low, high = (float(end(fitted)) for end in (np.nanmin, np.nanmax))
    step = min(0.05, 0.5 / (k_classes + 1)) * ((high - low) or 1.0)
    for k in range(k_classes):
        rows = x[codes == k]
        heights = np.full(len(rows), low - (k + 1.5) * step)
        tick_style: dict[str, Any] = {"color": signs.colour(k), "linewidths": 0.8}
        axes.scatter(rows, heights, marker="|", s=25, rasterized=len(rows) > 5_000, **tick_style)


# Each tuple is in the order in which the first plot that suits a fit is its default.
LOGISTIC_PLOTS = (
    planes.regions,
    evaluation.forest,
    *POSTERIOR_PLOTS,
    evaluation.odds_ratios,
)
PENALIZED_LOGISTIC_PLOTS = (strength_choice, strength_path, *WITH_POSTERIORS)
INDICATOR_PLOTS = (
    fitted,
    planes.regions,
    planes.partition,
    spaces.pairs,
    distances,
    evaluation.confusion,
    evaluation.roc,
    evaluation.precision_recall,
)
FDA_PLOTS = (spaces.scores, *WITH_POSTERIORS, spaces.territory)
