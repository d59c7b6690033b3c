"""Plots of k nearest neighbours and of kernel densities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discrim.models.plots.plottable import has_tuned_option, plot
from discrim.models.plots.shared import WITH_POSTERIORS
from discrim.report.plots.style import SIGNS, new_axes, set_title, to_floats

if TYPE_CHECKING:
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.plottable import PlotOptions
    from discrim.report.plots.style import Axes


@plot("path", "leave-one-out error by k", data=False, colors=False, default_if=has_tuned_option)
def knn_path(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the leave-one-out error by number of neighbours, with its standard error.

    A vertical line marks the chosen k. NotSupportedError is raised if the fit does not have a `path`.

    Parameters
    ----------
    results : KNNResults
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
    # Read the path first: it raises an error before a figure is created.
    k, error, se = to_floats(results.path[["k", "error", "se"]]).T
    axes, _ = new_axes(options.ax)
    label = f"k = {results.k}, chosen"
    _draw_left_out_errors(axes, k, error, se)
    axes.axvline(results.k, color=SIGNS.colour(1), linestyle="--", linewidth=1.0, label=label)
    axes.set_xlabel("Neighbours k")
    if k[-1] > 50 * k[0]:
        axes.set_xscale("log")
    axes.legend()
    set_title(axes, "Leave-one-out error by the number of neighbours")
    return axes


def _draw_left_out_errors(axes: Axes, parameter: Any, error: Any, se: Any, **style: Any) -> None:
    """Draw errors of left-out rows as a line, with a band of one standard error, against a tuning parameter.

    The label and the lower limit of the vertical axis are set.

    Parameters
    ----------
    axes : Axes
        The axes to draw into.
    parameter : (m,) float64
        Values of the tuning parameter.
    error, se : (m,) float64
        Errors and their standard errors.
    **style
        Further options of `Axes.plot` for the line, such as `label`.
    """
    axes.fill_between(parameter, error - se, error + se, color=SIGNS.colour(0), alpha=0.2, linewidth=0)
    axes.plot(parameter, error, color=SIGNS.colour(0), marker="o", markersize=3, **style)
    axes.set_ylim(bottom=min(0.0, float((error - se).min())))
    axes.set_ylabel("Leave-one-out error, ± one standard error")


@plot("path", "leave-one-out error and likelihood by bandwidth", data=False, colors=False)
def bandwidth_path(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the leave-one-out error by bandwidth with its standard error, and the likelihood on a second axis.

    A vertical line marks the chosen bandwidth. Candidates of likelihood zero are not drawn on the second
    axis. NotSupportedError is raised if the fit does not have a `path`.

    Parameters
    ----------
    results : KernelDensityResults
        Results of the fit.
    fit : FittedModel
        The fitted model; not used.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the errors.
    """
    chosen = float(results.bandwidth.iloc[0])
    axes, _ = new_axes(options.ax)
    radius, error, se, llf = to_floats(results.path[["bandwidth", "error", "se", "llf"]]).T
    _draw_left_out_errors(axes, radius, error, se, label="error")
    axes.axvline(chosen, color=SIGNS.colour(2), linestyle="--", linewidth=1.0, label=f"{chosen:.3g}, chosen")
    axes.set_xscale("log")
    axes.set_xlabel("Bandwidth")
    handles, labels = axes.get_legend_handles_labels()
    finite = np.isfinite(llf)
    if finite.any():
        likelihood_axes = axes.twinx()
        handles += likelihood_axes.plot(
            radius[finite], llf[finite], color=SIGNS.colour(1), marker="s", markersize=3
        )
        likelihood_axes.set_ylabel("Log-likelihood of left-out rows")
        axes.legend(handles, [*labels, "log-likelihood"], loc="lower right")
    else:
        axes.legend()
    set_title(axes, "Leave-one-out error and likelihood by bandwidth")
    return axes


KNN_PLOTS = (*WITH_POSTERIORS, knn_path)
"""Plots of `KNNResults.plot`; the first that is suitable for a fit is its default."""

KERNEL_DENSITY_PLOTS = (*WITH_POSTERIORS, bandwidth_path)
"""Plots of `KernelDensityResults.plot`; the first that is suitable for a fit is its default."""
