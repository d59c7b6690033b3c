"""What is shown of kernel densities: the sections of their summary, and the choice of a bandwidth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.results import headers
from discrim.models.results.headers import Item
from discrim.report.grid import INTERVAL, Pairs, Section
from discrim.report.plots.style import SIGNS, new_axes, numbers, set_title
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.neighbours.kernel_density import KernelDensityFit
    from discrim.models.fits.fit import Fit
    from discrim.models.neighbours.kernel_density import KernelDensityResults
    from discrim.models.pictures.pictured import PictureOptions
    from discrim.report.plots.style import Axes

METRICS = {"mahalanobis": "covariance", "diagonal": "variances", "euclidean": "none: units of the columns"}


def kernel_density_sections(results: KernelDensityResults, fit: Fit[KernelDensityFit]) -> Sections:
    """Sections of kernel densities, in their order."""
    parts: Sections = {"header": _header, "classes": _classes}
    return parts | ({"path": _path} if fit.path is not None else {})


def _kernel_items(results: KernelDensityResults, fit: Fit[KernelDensityFit]) -> list[Item]:
    numbers = fit.numbers
    whose = "" if results.metric == "euclidean" else ", pooled" if numbers.common else " of each class"
    metric = f"{METRICS[results.metric]}{whose}"
    chosen = {"given": "given", "normal": "the normal rule", "chosen": "rows left out"}[numbers.rule_of_radii]
    return [
        ("Kernel", results.kernel, results.kernel),
        ("Metric", metric, metric),
        ("Bandwidth by", chosen, chosen),
    ]


def _kernel(results: KernelDensityResults, fit: Fit[KernelDensityFit]) -> Pairs:
    return Pairs("", _kernel_items(results, fit))


def _header(results: KernelDensityResults, fit: Fit[KernelDensityFit]) -> Pairs:
    items: list[Item] = [
        *headers.row_items(fit),
        *_kernel_items(results, fit),
        *headers.size_items(fit),
        headers.prior_item(fit),
        *headers.error_items(fit),
    ]
    reach = "" if results.kernel == "normal" else " A row that no kernel reaches has no class."
    note = f"Bandwidths are radii in the metric.{reach}"
    if fit.path is not None:
        note = (
            f"{note} The leave-one-out error is that of a bandwidth that was chosen: see error_rates(['cv'])."
        )
    return headers.header(fit, items, note)


def _classes(results: KernelDensityResults, fit: Fit[KernelDensityFit]) -> Section:
    table = pd.DataFrame({"prior": results.prior, "rows": results.counts, "bandwidth": results.bandwidth})
    return Section("Classes", table, {"prior": "share", "rows": "count"}, source="fit.prior, fit.bandwidth")


def _path(results: KernelDensityResults, fit: Fit[KernelDensityFit]) -> Section:
    path = results.path
    table = path.set_index(path["bandwidth"].map("{:.4g}".format))[["error", "se", "llf"]].rename_axis(None)
    table["chosen"] = np.where(np.isclose(path["bandwidth"], results.bandwidth.iloc[0]), "*", "")
    return Section(
        "Rows left out, by bandwidth",
        table,
        {"error": "share", "se": "share", "chosen": "text"},
        headings=INTERVAL,
        note=f"llf is of the rows given their classes.{_of_equal_rows(results, fit)}{_at_an_end(results)}",
        source="fit.path",
    )


def _of_equal_rows(results: KernelDensityResults, fit: Fit[KernelDensityFit]) -> str:
    """How many rows are equal to others, and what becomes of them."""
    many = results.path.attrs["equal_rows"]
    if not many:
        return ""
    return f" {many:g} of {results.counts.sum():g} rows equal others, and equal rows are left out together."


def _at_an_end(results: KernelDensityResults) -> str:
    """Whether the bandwidth is the first or the last of several that were tried."""
    tried, chosen = results.path["bandwidth"], results.bandwidth.iloc[0]
    if len(tried) > 1 and chosen in (tried.iloc[0], tried.iloc[-1]):
        which = "largest" if chosen == tried.iloc[-1] else "smallest"
        return f" The chosen one is the {which} that was tried: see grid=."
    return ""


kernel_density_brief: Sections = {"kernel": _kernel, "classes": _classes}
"""The short form: kernel, metric and classes."""


def path(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Leave-one-out error and likelihood by bandwidth."""
    return bandwidth_path(results.path, float(results.bandwidth.iloc[0]), ax=options.ax)


def bandwidth_path(path: pd.DataFrame, chosen: float, ax: Axes | None = None) -> Axes:
    """Leave-one-out error by bandwidth with its standard error, and the likelihood on an axis of its own.

    Parameters
    ----------
    path : DataFrame
        bandwidth, error, se, llf; the bandwidth increasing.
    chosen : float
        The one marked.
    """
    axes, _ = new_axes(ax)
    radius, error, se, llf = numbers(path[["bandwidth", "error", "se", "llf"]]).T
    axes.fill_between(radius, error - se, error + se, color=SIGNS.colour(0), alpha=0.2, linewidth=0)
    axes.plot(radius, error, color=SIGNS.colour(0), marker="o", markersize=3, label="error")
    axes.axvline(chosen, color=SIGNS.colour(2), linestyle="--", linewidth=1.0, label=f"{chosen:.3g}, chosen")
    axes.set_ylim(bottom=min(0.0, float((error - se).min())))
    axes.set_xscale("log")
    axes.set_xlabel("Bandwidth")
    axes.set_ylabel("Leave-one-out error, ± one standard error")
    finite = np.isfinite(llf)
    if finite.any():
        beside = axes.twinx()
        (line,) = beside.plot(radius[finite], llf[finite], color=SIGNS.colour(1), marker="s", markersize=3)
        beside.set_ylabel("Log-likelihood of rows left out")
        handles, labels = axes.get_legend_handles_labels()
        axes.legend([*handles, line], [*labels, "log-likelihood"], loc="lower right")
    else:
        axes.legend()
    set_title(axes, "Rows left out, by the bandwidth")
    return axes
