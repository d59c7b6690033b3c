"""Plots of kernel discriminant analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discrim.core.kernels.kernel_ridge import N_SAMPLE_ROWS
from discrim.models.plots import spaces
from discrim.models.plots.plottable import has_tuned_option, plot
from discrim.models.plots.shared import WITH_POSTERIORS
from discrim.report.plots.points import name_lines
from discrim.report.plots.style import SIGNS, ink, new_axes, set_log_axis, set_title, to_floats

if TYPE_CHECKING:
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.plottable import PlotOptions
    from discrim.report.plots.style import Axes


MAX_BARS = 30
"""Largest number of terms whose importance is drawn."""


@plot(
    "path",
    "loss of left-out rows by width of the kernel",
    data=False,
    colors=False,
    default_if=has_tuned_option,
)
def kernel_path(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the loss of left-out rows by width of the kernel, with the best ridge of each.

    There is a line for each kernel and scale, of candidates whose losses were computed in the same way, and a
    star for the chosen kernel. NotSupportedError is raised if the fit does not have a `path`.

    Parameters
    ----------
    results : KernelLDAResults
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
    axes, _ = new_axes(options.ax)
    lines = path.groupby(["kernel", "scale"], sort=False)
    for number, ((kernel, scale), table) in enumerate(lines):
        line_style: dict[str, Any] = {
            "color": SIGNS.colour(number),
            "marker": SIGNS.marker(number),
            "markersize": 3,
        }
        line = table[table["by"] == table["by"].iloc[0]].sort_values("width")
        axes.plot(line["width"], line["loss"], label=f"{kernel}, {scale}", **line_style)
    chosen = path[path["chosen"]]
    line_style = {"color": SIGNS.colour(len(lines)), "marker": "*", "markersize": 12, "linestyle": "none"}
    chosen_by = ", by GCV of all rows" if chosen["by"].iloc[0] == "GCV" else ""
    sampled = results.components is None and (path["by"] == "sample").any()
    if sampled:
        chosen_by = ", by all rows"
    axes.plot(chosen["width"], chosen["loss"], label=f"chosen{chosen_by}", **line_style)
    set_log_axis(axes, path["width"].to_numpy())
    axes.set_xlabel("Width of the kernel")
    axes.set_ylabel(f"Mean {results._loss_name}, left-out rows")
    axes.legend(title=f"lines by a sample of about {N_SAMPLE_ROWS:,} rows" if sampled else None)
    set_title(axes, "Loss of left-out rows by width of the kernel")
    return axes


@plot(
    "importance", "increase of the log loss of left-out rows if a term is permuted", data=False, colors=False
)
def importance(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Plot the increase of the log loss by term as bars with standard errors, the largest first.

    At most `MAX_BARS` terms are drawn. The rows of the fit are used, each predicted without itself;
    NotSupportedError is raised if the fit does not have its rows or was made with `components=`.

    Parameters
    ----------
    results : KernelLDAResults
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
    table = results.importance()
    top = table.head(MAX_BARS)
    axes, _ = new_axes(options.ax, len(top))
    increases, se = to_floats(top[["log_loss", "log_loss_se"]]).T
    lines = np.arange(len(top))
    axes.barh(lines, increases, xerr=se, height=0.7, color=SIGNS.colour(0), ecolor=ink(), capsize=2, zorder=2)
    axes.axvline(0.0, color=ink(), linewidth=0.8, zorder=3)
    name_lines(axes, list(top.index), 24)
    axes.set_xlabel("Increase of the log loss, ± one standard error")
    count_text = f" ({len(top)} of {len(table)})" if len(table) > len(top) else ""
    set_title(axes, f"Importance of terms, by permutation in left-out rows{count_text}")
    return axes


KERNEL_LDA_PLOTS = (spaces.scores, *WITH_POSTERIORS, spaces.territory, kernel_path, importance)
"""Plots of `KernelLDAResults.plot`; the first that is suitable for a fit is its default."""
