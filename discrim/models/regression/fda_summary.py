"""The sections of the summary of a flexible discriminant analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.models.normal.estimators import text_of
from discrim.models.results.headers import Sections, error_item, prior_item, row_items, size_items, title
from discrim.report.numbers import clean, shorten
from discrim.report.tables import Pairs, Section, Summary

if TYPE_CHECKING:
    from discrim.models.regression.fda import FDAResults

__all__ = ["fda_brief", "fda_sections"]


def fda_sections(fit: FDAResults) -> Sections:
    """Sections of a flexible discriminant analysis, in their order."""
    return {
        "header": lambda: _header(fit),
        "classes": lambda: _classes(fit),
        "axes": lambda: _axes(fit),
        "scores": lambda: Section(
            "Optimal scores of the classes", fit.scores.rename_axis(index=None), source="fit.scores"
        ),
        "centroids": lambda: _centroids(fit),
    }


def fda_brief(fit: FDAResults) -> Summary:
    """The short form: classes, axes and centroids."""
    parts = {"classes": _classes(fit), "axes": _axes(fit), "centroids": _centroids(fit)}
    return Summary(title(fit), parts)


def _header(fit: FDAResults) -> Pairs:
    items = [
        *row_items(fit),
        prior_item(fit),
        *size_items(fit),
        error_item(fit, "apparent", "Error, apparent"),
    ]
    note = (
        f"Engine: {shorten(clean(text_of(fit.engine)), 80)}. The apparent error is of rows that the engine "
        "has seen: see error_rates(['cv'])."
    )
    return Pairs(fit.formula, items, note)


def _classes(fit: FDAResults) -> Section:
    table = pd.DataFrame({"prior": fit.prior, "rows": fit.counts}).rename_axis(index=None)
    return Section("Classes", table, {"prior": "share", "rows": "count"}, source="fit.prior, fit.counts")


def _axes(fit: FDAResults) -> Section:
    table = pd.DataFrame({"squared correlation": fit.values, "share": fit.explained})
    formats: dict[Any, Any] = {"squared correlation": "share", "share": "share"}
    return Section("Axes", table, formats, source="fit.values, fit.explained")


def _centroids(fit: FDAResults) -> Section:
    return Section(
        "Centroids among the variates", fit.centroids.rename_axis(index=None), source="fit.centroids"
    )
