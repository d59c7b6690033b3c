"""What is shown of a probabilistic linear discriminant analysis: its summary, and its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.results import headers
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.discriminant.plda import PLDAFit
    from discrim.models.base.fit import FittedModel
    from discrim.models.discriminant.plda import PLDAResults

MOST_AXES = 12
"""Axes that the summary shows."""


def plda_sections(results: PLDAResults, fit: FittedModel[PLDAFit]) -> Sections:
    """Sections of a probabilistic linear discriminant analysis, in their order."""
    return {"header": _header, "classes": headers.classes_section, "columns": _columns, "axes": _axes}


def _header(results: PLDAResults, fit: FittedModel[PLDAFit]) -> Pairs:
    numbers = fit.estimates
    between, within = (float(np.trace(each)) for each in numbers.covariances())
    steps = "none: classes of one size" if not numbers.steps else f"{numbers.steps}"
    steps += "" if numbers.converged else ", not converged"
    items: list[HeaderItem] = [
        *headers.row_items(fit),
        *headers.size_items(fit),
        headers.prior_item(fit),
        HeaderItem("Rank of B", results.rank, str(results.rank)),
        HeaderItem("Trace of B", between, f"{between:.5g}"),
        HeaderItem("Trace of W", within, f"{within:.5g}"),
        HeaderItem("Steps of EM", numbers.steps, steps),
        HeaderItem("Log-lik. given the classes", results.llf_given, f"{results.llf_given:.2f}"),
        headers.criterion_item(results, "llf", "Log-likelihood"),
        headers.criterion_item(results, "aic", "AIC"),
        headers.criterion_item(results, "bic", "BIC"),
        headers.error_item(fit, "apparent"),
    ]
    note = f"B is estimated from {len(fit.classes):,} classes, however many rows there are."
    if numbers.normalize:
        note += " Rows are centred, whitened and scaled to one length; B, W and likelihoods are of these."
    return headers.header(fit, items, note)


def _columns(results: PLDAResults, fit: FittedModel[PLDAFit]) -> Section:
    table = results.tidy().set_index("term").rename_axis(index=None)
    formats: dict[Any, Any] = {"between": "general", "within": "general", "share": "share"}
    return Section(
        "Mean, and variances between and within classes",
        table,
        formats,
        note="share is the variance between classes, divided by the sum of both variances.",
        source="fit.mean, fit.between, fit.within",
        worth=headers.worth(fit.estimates.moments) if headers.has_many_columns(fit.terms) else None,
    )


def _axes(results: PLDAResults, fit: FittedModel[PLDAFit]) -> Section:
    ratios = results.ratios
    table = pd.DataFrame({"ratio": ratios, "reliability": ratios / (1 + ratios)}).head(MOST_AXES)
    more = f" And {len(ratios) - MOST_AXES} more: fit.ratios." if len(ratios) > MOST_AXES else ""
    return Section(
        "Axes: variance between classes over that within",
        table,
        {"ratio": "general", "reliability": "share"},
        note=f"reliability is the correlation of two observations of one class on the axis.{more}",
        source="fit.ratios, fit.axes",
    )


plda_brief: Sections = {"axes": _axes}
"""The short form: the axes."""
