"""What is shown of nearest neighbours and of kernel densities: summaries, and how each was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.results import headers
from discrim.report.grid import INTERVAL, HeaderItem, Pairs, Section
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.neighbours.kernel_density import KernelDensityFit
    from discrim.core.neighbours.knn import KNNFit
    from discrim.models.base.fit import FittedModel
    from discrim.models.neighbours.kernel_density import KernelDensityResults
    from discrim.models.neighbours.knn import KNNResults

MOST_STEPS = 20
"""Numbers of neighbours whose error the summary shows."""


def knn_sections(results: KNNResults, fit: FittedModel[KNNFit]) -> Sections:
    """Sections of nearest neighbours, in their order."""
    parts: Sections = {"header": _knn_header, "classes": _knn_classes}
    return parts if fit.path is None else parts | {"path": _knn_path}


def _knn_header(results: KNNResults, fit: FittedModel[KNNFit]) -> Pairs:
    scale = HeaderItem("Columns divided by", "SD, all rows" if fit.estimates.scale else "nothing")
    if results.metric == "mahalanobis":
        scale = HeaderItem("Covariance", "pooled, 1/(N-K)")
    items: list[HeaderItem] = [
        *headers.row_items(fit),
        HeaderItem("Neighbours k", results.k, brief="neighbours k", options=("k",)),
        headers.chosen_item(fit, "leave-one-out"),
        HeaderItem("Metric", results.metric),
        scale,
        *headers.size_items(fit),
        headers.prior_item(fit),
        *headers.error_items(fit),
    ]
    note = (
        "All neighbours at the distance of the k-th count; ties of posteriors go to the class of the nearest "
        "neighbour, then to the larger prior."
    )
    if fit.path is not None:
        note += " The leave-one-out error is optimistic, because k was chosen by it: see error_rates(['cv'])."
    return headers.header(fit, items, note)


def _knn_classes(results: KNNResults, fit: FittedModel[KNNFit]) -> Section:
    vote = fit.estimates.weights(fit.estimates.prior)
    table = pd.DataFrame({"prior": results.prior, "rows": results.counts, "vote": vote})
    formats: dict[Any, Any] = {"prior": "share", "rows": "count"}
    headings = {"vote": "weight of a vote"}
    return Section("Classes", table, formats, headings=headings, source="fit.prior, fit.counts, fit.tidy()")


def _knn_path(results: KNNResults, fit: FittedModel[KNNFit]) -> Section:
    path = results.path
    chosen = path["k"] == results.k
    steps = np.unique(np.linspace(0, len(path) - 1, min(MOST_STEPS, len(path))).round().astype(int))
    shown = path.loc[np.union1d(steps, np.flatnonzero(chosen))]
    table = shown.set_index("k").rename_axis(index=None)
    table["chosen"] = np.where(table.index == results.k, "*", "")
    formats: dict[Any, Any] = {"error": "share", "se": "share", "chosen": "text"}
    at_an_end = ""
    tried = path["k"]
    if len(tried) > 1 and results.k == tried.iloc[-1] < results.nobs - 1:
        at_an_end = " The chosen k is the largest that was tried; larger ones may be better: see grid=."
    elif len(tried) > 1 and results.k == tried.iloc[0] > 1:
        at_an_end = " The chosen k is the smallest that was tried; smaller ones may be better: see grid=."
    note = f"{len(shown)} of {len(path)} are shown; the largest k of least error is chosen.{at_an_end}"
    title = "Leave-one-out error by k"
    return Section(title, table, formats, headings=INTERVAL, note=note, source="fit.path")


knn_brief: Sections = {"classes": _knn_classes}
"""The short form, below how many neighbours and by which metric."""


METRICS = {"mahalanobis": "covariance", "diagonal": "variances", "euclidean": "none: units of the columns"}


def kernel_density_sections(results: KernelDensityResults, fit: FittedModel[KernelDensityFit]) -> Sections:
    """Sections of kernel densities, in their order."""
    parts: Sections = {"header": _kernel_header, "classes": _kernel_classes}
    return parts if fit.path is None else parts | {"path": _kernel_path}


def _kernel_header(results: KernelDensityResults, fit: FittedModel[KernelDensityFit]) -> Pairs:
    numbers = fit.estimates
    whose = "" if results.metric == "euclidean" else ", pooled" if numbers.common else " of each class"
    metric = f"{METRICS[results.metric]}{whose}"
    chosen = {"given": "given", "normal": "the normal rule", "chosen": "rows left out"}[numbers.rule_of_radii]
    brief = "" if numbers.rule_of_radii == "given" else "bandwidth by"
    items: list[HeaderItem] = [
        *headers.row_items(fit),
        HeaderItem("Kernel", results.kernel),
        HeaderItem("Metric", metric),
        HeaderItem("Bandwidth by", chosen, brief=brief, options=("bandwidth",)),
        *headers.size_items(fit),
        headers.prior_item(fit),
        *headers.error_items(fit),
    ]
    note = "Bandwidths are radii in the metric."
    if results.kernel != "normal":
        note += " An observation that no kernel reaches has no class."
    if fit.path is not None:
        note += (
            " The leave-one-out error is optimistic, because it chose the bandwidth: see error_rates(['cv'])."
        )
    return headers.header(fit, items, note)


def _kernel_classes(results: KernelDensityResults, fit: FittedModel[KernelDensityFit]) -> Section:
    table = pd.DataFrame({"prior": results.prior, "rows": results.counts, "bandwidth": results.bandwidth})
    return Section("Classes", table, {"prior": "share", "rows": "count"}, source="fit.prior, fit.bandwidth")


def _kernel_path(results: KernelDensityResults, fit: FittedModel[KernelDensityFit]) -> Section:
    path = results.path
    chosen = results.bandwidth.iloc[0]
    tried = path["bandwidth"]
    table = path.set_index(tried.map("{:.4g}".format))[["error", "se", "llf"]].rename_axis(None)
    table["chosen"] = np.where(np.isclose(tried, chosen), "*", "")
    note = "llf is the log-likelihood of left-out rows, given their classes."
    if many := path.attrs["equal_rows"]:
        rows = f"{many:g} of {results.counts.sum():g} rows"
        note += f" {rows} are equal to others, and equal rows are left out together."
    if len(tried) > 1 and chosen in (tried.iloc[0], tried.iloc[-1]):
        which = "largest" if chosen == tried.iloc[-1] else "smallest"
        note += f" The chosen bandwidth is the {which} that was tried: see grid=."
    formats: dict[Any, Any] = {"error": "share", "se": "share", "chosen": "text"}
    title = "Left-out error and likelihood, by bandwidth"
    return Section(title, table, formats, headings=INTERVAL, note=note, source="fit.path")


kernel_density_brief: Sections = {"classes": _kernel_classes}
"""The short form, below what the bandwidths were chosen by."""
