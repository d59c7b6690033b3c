"""Plots of partial least squares and of sparse discriminant analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.plots import spaces
from discrim.models.plots.plottable import has_tuned_option, plot
from discrim.models.plots.shared import WITH_POSTERIORS
from discrim.models.plots.spaces import draw_discriminant_scores, read_axes_option
from discrim.models.projections.pls_summary import component_adjective
from discrim.report.plots.bars import draw_errors, write_counts_above
from discrim.report.plots.points import name_lines, name_points
from discrim.report.plots.style import (
    SIGNS,
    add_legend,
    faint_ink,
    new_axes,
    run_layout,
    set_title,
    shown_name,
    to_floats,
)  # fmt: skip
from discrim.report.plots.text_fit import fit_texts

if TYPE_CHECKING:
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.plottable import PlotOptions
    from discrim.report.plots.interactive import Figure
    from discrim.report.plots.style import Axes


MAX_AXIS_NAMES = 30
"""Largest number of columns whose names label an axis."""


MAX_BARS = 40
"""Largest number of columns drawn as bars."""


@plot(
    "scores",
    "scores of the rows on two components, by class, with outlines of the classes",
    used_options=("axes", "level", "interactive"),
)
def scores(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes | Figure:
    """Plot the scores of the rows on one or two components, by class, with outlines of the classes.

    Parameters
    ----------
    results : PLSResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    options : PlotOptions
        Options of the method `plot`. `axes` are one or two components, by default the first two; `level` is
        the proportion of a normal class inside its outline, by default 0.5; `data` contains the rows to draw,
        by default the rows of the fit, if it stores them.

    Returns
    -------
    Axes or Figure
        The axes with the plot; with `interactive=True` a plotly figure.
    """
    centroids = results.centroids
    names = read_axes_option(list(centroids.columns), options)
    axis_positions = [list(centroids.columns).index(name) for name in names]
    return draw_discriminant_scores(
        results,
        fit,
        centroids[names],
        options,
        proportions=results.explained,
        within_covariance=results.score_covariance.to_numpy()[np.ix_(axis_positions, axis_positions)],
        proportion_of=" of the squares of the columns",
    )


@plot(
    "loadings",
    "loadings of the columns in their order, a line for each component",
    used_options=("axes",),
    data=False,
    colors=False,
)
def loadings(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the loadings of the columns in their order (such as a spectrum), a line for each component.

    If there is room for the names of the columns, markers are drawn instead of lines.

    Parameters
    ----------
    results : PLSResults
        Results of the fit.
    fit : FittedModel
        The fitted model; not used.
    options : PlotOptions
        Options of the method `plot`. `axes` are up to three components, by default the first three.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    names = read_axes_option(list(results.loadings.columns), options, max_axes=3)
    table = results.loadings[names]
    axes, is_new = new_axes(options.ax)
    bar_positions = np.arange(len(table))
    values = to_floats(table)
    has_room_for_names = (
        len(table) <= MAX_AXIS_NAMES and axes.get_window_extent().width > len(table) * axes.figure.dpi / 6
    )
    for j, name in enumerate(table.columns):
        style: dict[str, Any] = {
            "color": SIGNS.colour(j),
            "linestyle": "none" if has_room_for_names else SIGNS.line(j),
        }
        style |= {"marker": SIGNS.marker(j) if has_room_for_names else "", "markersize": 5}
        axes.plot(bar_positions, values[:, j], label=shown_name(name), **style)
    axes.axhline(0.0, color=faint_ink(0.35), linewidth=0.8, zorder=1)
    if has_room_for_names:
        axes.grid(axis="x", color=faint_ink(0.85))
        axes.set_axisbelow(True)
        axes.set_xticks(
            bar_positions, [shown_name(name, 24) for name in table.index], rotation=45, ha="right"
        )
    else:
        axes.set_xlabel("Columns, in their order")
    axes.set_ylabel("Loading")
    add_legend(axes, is_new)
    set_title(axes, "Loadings of the columns")
    return axes


@plot("path", "cross-validated error, R2 and Q2 by number of components", data=False, colors=False)
def pls_path(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot cross-validated error with its standard error, R2 and Q2 by number of components.

    A vertical line marks the chosen number. NotSupportedError is raised if the fit does not have a `path`.

    Parameters
    ----------
    results : PLSResults
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
    table = results.path
    ncomps, error, se, explained, predicted = to_floats(
        table[[table.columns[0], "error", "se", "R2", "Q2"]]
    ).T
    axes, _ = new_axes(options.ax)
    style: dict[str, Any] = {
        "color": SIGNS.colour(0),
        "ecolor": faint_ink(0.6),
        "marker": "o",
        "markersize": 4,
    }
    axes.errorbar(ncomps, error, yerr=se, capsize=2, label="error, ± one standard error", **style)
    for k, (values, name) in enumerate([(explained, "R2"), (predicted, "Q2")], start=1):
        axes.plot(ncomps, values, color=SIGNS.colour(k), marker="s", markersize=3, linestyle="--", label=name)
    axes.axvline(
        results.orthogonal or results.ncomp,
        color=faint_ink(0.35),
        linestyle=":",
        linewidth=1.0,
        label="chosen",
    )
    low = min(0.0, float((error - se).min()), float(predicted.min()))
    axes.set_ylim(low - 0.02, 1.02)
    axes.set_xticks(ncomps, [f"{count:.0f}" for count in ncomps])
    axes.set_xlabel(f"{component_adjective(results)}components".capitalize())
    axes.set_ylabel("Cross-validated error; R2, Q2")
    axes.legend(loc="best", framealpha=0.8)
    set_title(axes, f"Error, R2 and Q2 by number of {component_adjective(results)}components")
    return axes


@plot("vip", "importance of the columns in the projection (VIP)", data=False, colors=False)
def vip(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the importance of columns in the projection as bars, the largest first, with a line at one.

    At most `MAX_BARS` columns are drawn; all predictive components are included.

    Parameters
    ----------
    results : PLSResults
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
    values = results.vip()
    shown_values = values.head(MAX_BARS)
    axes, _ = new_axes(options.ax, len(shown_values))
    lines = np.arange(len(shown_values))
    axes.barh(lines, shown_values.to_numpy(np.float64), height=0.7, color=SIGNS.colour(0), zorder=2)
    axes.axvline(1.0, color=faint_ink(0.35), linestyle=":", linewidth=1.0, zorder=3)
    name_lines(axes, list(shown_values.index), 24)
    axes.set_xlabel("VIP")
    count_note = f" ({len(shown_values)} of {len(values)})" if len(values) > len(shown_values) else ""
    set_title(axes, f"Importance of the columns in the projection{count_note}")
    return axes


N_LABELLED = 8
"""Largest number of columns named in an S-plot, those with the largest absolute covariance."""


@plot(
    "s_plot",
    "covariance and correlation of the columns with the scores of a component",
    used_options=("axes",),
    data=False,
    colors=False,
)
def s_plot(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the correlation of the columns with the scores of a component against their covariance (S-plot).

    In the covariance, columns are divided by the square root of their standard deviation.

    Parameters
    ----------
    results : PLSResults
        Results of the fit.
    fit : FittedModel
        The fitted model; not used.
    options : PlotOptions
        Options of the method `plot`. `axes` is one component, by default the first.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    (name,) = read_axes_option(list(results.loadings.columns), options, max_axes=1)[:1]
    table = results.s_plot(list(results.loadings.columns).index(name) + 1)
    axes, _ = new_axes(options.ax)
    covariance, correlation = to_floats(table).T
    axes.scatter(covariance, correlation, s=16, color=SIGNS.colour(0), marker=SIGNS.marker(0), zorder=2)
    for line in (axes.axhline, axes.axvline):
        line(0.0, color=faint_ink(0.35), linewidth=0.8, zorder=1)
    axes.set_ylim(-1.05, 1.05)
    axes.set_xlabel(f"Covariance with {name}, of columns over the root of their SD")
    axes.set_ylabel(f"Correlation with {name}")
    set_title(axes, f"S-plot of {name}")
    fit_texts(axes, options.ax is None)
    run_layout(axes)
    points = axes.transData.transform(np.column_stack([covariance, correlation]))
    labelled_columns = np.argsort(-np.abs(covariance), kind="stable")[:N_LABELLED]
    count = name_points(
        axes, points, labelled_columns.tolist(), [shown_name(name, 16) for name in table.index]
    )
    if count < len(table):
        set_title(axes, f"S-plot of {name} ({count} of {len(table)} columns named)")
    return axes


@plot(
    "stability",
    "how often columns are selected if rows are left out",
    data=False,
    colors=False,
    refits=True,
)
def stability(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot how often columns are selected as bars, the most frequent first, with a marker per component.

    A bar is the share of the refits without a fold in which any component uses the column, and a marker the
    share in which one component does; markers at zero are not drawn. `PLSResults.stability`
    refits the model for this with its default arguments. At most `MAX_BARS` columns are drawn.
    NotSupportedError is raised if the components use all columns or the fit lacks its rows.

    Parameters
    ----------
    results : PLSResults
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
    table = results.stability()
    shown_rows = table.head(MAX_BARS)
    axes, is_new = new_axes(options.ax, len(shown_rows))
    lines = np.arange(len(shown_rows))
    axes.barh(
        lines,
        shown_rows["any"].to_numpy(np.float64),
        height=0.7,
        color=faint_ink(0.85),
        zorder=2,
        label="any",
    )
    for j, name in enumerate(shown_rows.columns[1:]):
        is_selected = shown_rows[name].to_numpy() > 0
        style: dict[str, Any] = {"color": SIGNS.colour(j), "marker": SIGNS.marker(j), "linestyle": "none"}
        axes.plot(
            shown_rows[name].to_numpy(np.float64)[is_selected],
            lines[is_selected],
            label=name,
            zorder=3,
            **style,
        )
    name_lines(axes, list(shown_rows.index), 24)
    axes.set_xlim(0.0, 1.05)
    axes.set_xlabel("Share of fits without a fold that use the column")
    add_legend(axes, is_new)
    count_note = f" ({len(shown_rows)} of {len(table)})" if len(table) > len(shown_rows) else ""
    set_title(axes, f"How often columns are selected{count_note}")
    return axes


MAX_NAMED_COLUMNS = 8
"""Largest number of selected columns whose lines have a colour and a name, the largest coefficient first."""


@plot("choice", "cross-validated error by penalty", data=False, colors=False, default_if=has_tuned_option)
def penalty_choice(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the cross-validated error by penalty, with the number of selected columns at the top.

    NotSupportedError is raised if the fit does not have a `path`.

    Parameters
    ----------
    results : SparseLDAResults
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
    table = results.path
    axes, _ = new_axes(options.ax)
    penalties, error, se, columns = to_floats(table[["penalty", "error", "se", "columns"]]).T
    chosen = fit.estimates.tuning[0]
    one_se = fit.options["penalty"] == "1se"
    limit = "least error + one standard error" if one_se else ""
    draw_errors(axes, table[["penalty", "error", "se"]], chosen, is_log=True, one_se_label=limit)
    axes.set_ylim(bottom=min(0.0, float((error - se).min())))
    axes.set_xlabel("Penalty")
    axes.set_ylabel("Cross-validated error, ± one standard error")
    write_counts_above(axes, penalties, columns, "Columns selected")
    axes.legend(loc="best")
    set_title(axes, "Cross-validated error by penalty")
    return axes


@plot("path", "coefficients of the directions along the penalty", data=False, colors=False)
def penalty_path(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot standardized coefficients against the penalty, with a line style for each direction.

    Vertical lines mark the penalties of the fit. If no column is selected at any penalty, the axes have only
    a title.

    Parameters
    ----------
    results : SparseLDAResults
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
    table = results.coefficient_path()
    axes, is_new = new_axes(options.ax)
    if not len(table):
        axes.set_title("No column is selected at any penalty")
        axes.set_axis_off()
        return axes
    penalties = table.index.get_level_values("penalty").unique().to_numpy()
    labelled_names = [name for name in results.selected[:MAX_NAMED_COLUMNS] if name in table.columns]
    names = sorted(table.index.get_level_values("axis").unique())
    for r, axis in enumerate(names):
        of_axis = table.xs(axis, level="axis").reindex(penalties, fill_value=0.0)
        _draw_coefficient_lines(axes, of_axis, labelled_names, SIGNS.line(r))
    for i, name in enumerate(labelled_names):
        axes.plot([], [], color=SIGNS.colour(i), label=shown_name(name))
    if len(names) > 1:
        for r, axis in enumerate(names):
            axes.plot([], [], color=faint_ink(0.35), linestyle=SIGNS.line(r), label=axis)
    axes.set_xscale("log")
    axes.axhline(0.0, color=faint_ink(0.7), linewidth=0.8, zorder=1)
    mark: dict[str, Any] = {"color": faint_ink(0.35), "linestyle": "--", "linewidth": 1.0}
    for r, penalty in enumerate(results.penalty.unique()):
        if penalty > 0:
            axes.axvline(float(penalty), label="the fit" if r == 0 else None, **mark)
    axes.set_xlabel("Penalty")
    axes.set_ylabel("Coefficient of a standardized column")
    used = (table != 0).groupby(level="penalty", sort=False).any().sum(axis=1)
    write_counts_above(axes, penalties, used.reindex(penalties).to_numpy(), "Columns selected")
    set_title(axes, "Coefficients by penalty")
    return add_legend(axes, is_new)


def _draw_coefficient_lines(axes: Axes, table: pd.DataFrame, labelled_names: list[Any], style: str) -> None:
    """Draw the coefficients of one direction against the penalty.

    Parameters
    ----------
    axes : Axes
        The axes to draw into.
    table : DataFrame
        Coefficients, penalties by columns of the table of data; columns of zeros are not drawn.
    labelled_names : list
        Columns that are drawn in colour, over the others, which are grey.
    style : str
        Line style of the direction, as in matplotlib.
    """
    penalties = table.index.to_numpy()
    values = table.to_numpy()
    columns = table.columns.to_list()
    colour_by_position = {columns.index(name): i for i, name in enumerate(labelled_names)}
    for j in np.flatnonzero(values.any(axis=0)).tolist():
        if j not in colour_by_position:
            axes.plot(
                penalties, values[:, j], color=faint_ink(0.75), linestyle=style, linewidth=0.8, zorder=1.5
            )
    for j, i in colour_by_position.items():
        if values[:, j].any():
            axes.plot(penalties, values[:, j], color=SIGNS.colour(i), linestyle=style, linewidth=1.3)


PLS_PLOTS = (scores, vip, loadings, s_plot, stability, pls_path, *WITH_POSTERIORS)
"""Plots of `PLSResults.plot`; the first that is suitable for a fit is its default."""

SPARSE_LDA_PLOTS = (spaces.scores, penalty_choice, penalty_path, *WITH_POSTERIORS, spaces.territory)
"""Plots of `SparseLDAResults.plot`; the first that is suitable for a fit is its default."""
