"""The sections of the summary of kernel densities."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from discrim.models.results.headers import (
    Item,
    Sections,
    error_items,
    header,
    prior_item,
    row_items,
    size_items,
    title,
)
from discrim.report.tables import INTERVAL, Pairs, Section, Summary

if TYPE_CHECKING:
    from discrim.models.neighbours.kernel_results import KernelDensityResults

__all__ = ["kernel_density_brief", "kernel_density_sections"]

METRICS = {"mahalanobis": "covariance", "diagonal": "variances", "euclidean": "none: units of the columns"}


def kernel_density_sections(fit: KernelDensityResults) -> Sections:
    """Sections of kernel densities, in their order."""
    parts: Sections = {"header": partial(_header, fit), "classes": partial(_classes, fit)}
    return parts | ({"path": partial(_path, fit)} if "path" in fit._fit.cache else {})


def kernel_density_brief(fit: KernelDensityResults) -> Summary:
    """The short form: kernel, metric and classes."""
    return Summary(title(fit), {"kernel": Pairs("", _kernel_items(fit)), "classes": _classes(fit)})


def _kernel_items(fit: KernelDensityResults) -> list[Item]:
    numbers = fit._fit.numbers
    whose = "" if fit.metric == "euclidean" else ", pooled" if numbers.common else " of each class"
    metric = f"{METRICS[fit.metric]}{whose}"
    chosen = {"given": "given", "normal": "the normal rule", "chosen": "rows left out"}[numbers.rule_of_radii]
    return [
        ("Kernel", fit.kernel, fit.kernel),
        ("Metric", metric, metric),
        ("Bandwidth by", chosen, chosen),
    ]


def _header(fit: KernelDensityResults) -> Pairs:
    items: list[Item] = [
        *row_items(fit),
        *_kernel_items(fit),
        *size_items(fit),
        prior_item(fit),
        *error_items(fit),
    ]
    reach = "" if fit.kernel == "normal" else " A row that no kernel reaches has no class."
    note = f"Bandwidths are radii in the metric.{reach}"
    if "path" in fit._fit.cache:
        note = (
            f"{note} The leave-one-out error is that of a bandwidth that was chosen: see error_rates(['cv'])."
        )
    return header(fit, items, note)


def _classes(fit: KernelDensityResults) -> Section:
    table = pd.DataFrame({"prior": fit.prior, "rows": fit.counts, "bandwidth": fit.bandwidth})
    return Section("Classes", table, {"prior": "share", "rows": "count"}, source="fit.prior, fit.bandwidth")


def _path(fit: KernelDensityResults) -> Section:
    path = fit.path
    table = path.set_index(path["bandwidth"].map("{:.4g}".format))[["error", "se", "llf"]].rename_axis(None)
    table["chosen"] = np.where(np.isclose(path["bandwidth"], fit.bandwidth.iloc[0]), "*", "")
    return Section(
        "Rows left out, by bandwidth",
        table,
        {"error": "share", "se": "share", "chosen": "text"},
        headings=INTERVAL,
        note=f"llf is of the rows given their classes.{_of_equal_rows(fit)}{_at_an_end(fit)}",
        source="fit.path",
    )


def _of_equal_rows(fit: KernelDensityResults) -> str:
    """How many rows are equal to others, and what becomes of them."""
    many = fit._fit.cache["path"].attrs["equal_rows"]
    if not many:
        return ""
    return f" {many:g} of {fit.counts.sum():g} rows equal others, and equal rows are left out together."


def _at_an_end(fit: KernelDensityResults) -> str:
    """Whether the bandwidth is the first or the last of several that were tried."""
    tried, chosen = fit.path["bandwidth"], fit.bandwidth.iloc[0]
    if len(tried) > 1 and chosen in (tried.iloc[0], tried.iloc[-1]):
        which = "largest" if chosen == tried.iloc[-1] else "smallest"
        return f" The chosen one is the {which} that was tried: see grid=."
    return ""
