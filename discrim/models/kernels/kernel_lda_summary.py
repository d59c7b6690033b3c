"""What is shown of a kernel discriminant analysis: its summary, and how it was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.regression.indicator_summary import variate_axes, variate_centroids, variate_classes
from discrim.models.results import headers
from discrim.report.grid import INTERVAL, HeaderItem, Pairs, Section
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.kernels.kernel_lda import KernelLDAFit
    from discrim.models.base.fit import FittedModel
    from discrim.models.kernels.kernel_lda import KernelLDAResults


MOST_TRIED = 12
"""Lines of the path that the summary shows, the best."""

INTERPOLATED = 0.999
"""Squared canonical correlation from which a fit is said to pass through its rows."""

LOSSES = {"squared": "squared error", "log_loss": "log loss", "error": "error rate"}


def kernel_lda_sections(results: KernelLDAResults, fit: FittedModel[KernelLDAFit]) -> Sections:
    """Sections of a kernel discriminant analysis, in their order."""
    parts: Sections = {"header": _header, "classes": variate_classes, "axes": _axes}
    parts |= {"centroids": variate_centroids}
    return parts if fit.path is None else parts | {"path": _path}


def _header(results: KernelLDAResults, fit: FittedModel[KernelLDAFit]) -> Pairs:
    numbers = fit.estimates
    width = "none" if np.isnan(results.width) else f"{results.width:.4g}"
    posteriors = f"calibrated, {numbers.map_kind}" if numbers.map_kind else "normal classes"
    name = f"{results.kernel}, degree {numbers.degree}" if results.kernel == "polynomial" else results.kernel
    items: list[HeaderItem] = [
        *headers.row_items(fit),
        HeaderItem(
            "Kernel and scale",
            results.kernel,
            f"{name}, {results.scale}",
            brief="kernel and scale",
            options=("kernel", "scale", "degree"),
        ),
        HeaderItem(
            "Width and ridge",
            results.width,
            f"{width}, {results.ridge:.4g}",
            brief="width and ridge",
            options=("width", "ridge"),
        ),
        *(
            [HeaderItem("Features", numbers.components, f"{numbers.components:,}, {numbers.kind}")]
            if numbers.kind
            else []
        ),
        headers.chosen_item(fit, "sample and GCV" if numbers.kind else "leave-one-out"),
        HeaderItem("Posteriors", posteriors, posteriors),
        *headers.size_items(fit),
        headers.prior_item(fit),
        *headers.error_items(fit),
    ]
    note = ""
    if fit.path is not None:
        note = (
            f"The leave-one-out error is optimistic: the same rows chose {fit.refits.choice(fit)}. See "
            "error_rates(['cv'])."
        )
    return headers.header(fit, items, note)


def _axes(results: KernelLDAResults, fit: FittedModel[KernelLDAFit]) -> Section:
    """The axes, and what of them is found again in rows left out."""
    if fit.estimates.kind or fit.estimates.left is None:
        return variate_axes(results, fit)
    columns = {"squared correlation": results.values, "share": results.explained}
    table = pd.DataFrame(columns).assign(predicted=fit.estimates.predicted())
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share")
    note = (
        "Squared correlation: the mean product of class scores and fitted values, which the ridge lowers. "
        "Predicted: the share of the variance of the class scores that leave-one-out fits predict, with "
        "scores, kernel and ridge fixed."
    )
    if results.values.iloc[0] > INTERPOLATED:
        note += (
            " The fit nearly interpolates the rows: variates and centroids are in units of the small spread "
            "that is left within classes, and do not tell how far apart the classes are."
        )
    return Section("Axes", table, formats, note=note, source="fit.values, fit.explained")


def _path(results: KernelLDAResults, fit: FittedModel[KernelLDAFit]) -> Section:
    path = results.path
    best = path.sort_values("loss", kind="stable").index[:MOST_TRIED]
    shown = path.loc[sorted({*best, *path.index[path["chosen"]]})]
    table = shown.drop(columns="chosen")
    table["chosen"] = np.where(shown["chosen"], "*", "")
    # Kernels stand in many lines, and names of lines are distinct.
    table.index = pd.Index([f"{place + 1}" for place in shown.index])
    formats: dict[Any, Any] = {
        "kernel": "text",
        "scale": "text", "width": "general", "ridge": "general", "loss": "general", "se": "general",
        "by": "text", "chosen": "text",
    }  # fmt: skip
    note = (
        f"The best {len(shown)} of {len(path)} that were tried, in their order, each with its best ridge. "
        f"loss is the mean {LOSSES[fit.options['select']]} of left-out rows; its standard error assumes "
        "independent rows."
    )
    if (shown["by"] == "GCV").any():
        note += " Generalized cross-validation (GCV) uses all rows and has no standard error."
    title = "Left-out loss, by kernel"
    return Section(title, table, formats, headings=INTERVAL, note=note, source="fit.path")


kernel_lda_brief: Sections = {"classes": variate_classes, "axes": variate_axes}
"""The short form, below the kernel: classes and axes."""
