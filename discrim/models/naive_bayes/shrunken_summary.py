"""What is shown of shrunken centroids: the sections of their summary, and its pictures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.results import headers
from discrim.report.grid import INTERVAL, HeaderItem, Pairs, Section, column_texts
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.naive_bayes.shrunken_centroids import ShrunkenFit
    from discrim.models.base.fit import FittedModel
    from discrim.models.naive_bayes.shrunken_centroids import ShrunkenCentroidsResults

BRIEF = 10
"""Survivors that the short form shows."""

MOST_SURVIVORS = 30
"""Survivors that the summary shows."""


def shrunken_centroids_sections(results: ShrunkenCentroidsResults, fit: FittedModel[ShrunkenFit]) -> Sections:
    """Sections of nearest shrunken centroids, in their order."""
    parts: Sections = {"header": _header, "classes": _classes, "path": _path, "survivors": _survivors}
    if fit.path is None:
        del parts["path"]
    return parts


def _header(results: ShrunkenCentroidsResults, fit: FittedModel[ShrunkenFit]) -> Pairs:
    kind = "median of s" if fit.estimates.offset == "median" else "given"
    left = len(results.selected)
    items: list[HeaderItem] = [
        *headers.row_items(fit),
        HeaderItem(
            "Threshold",
            results.threshold,
            f"{results.threshold:.4g}",
            brief="threshold",
            options=("threshold",),
        ),
        headers.chosen_item(fit, "cross-validation"),
        HeaderItem(f"Offset s0, {kind}", results.offset, f"{results.offset:.4g}"),
        HeaderItem("Spread s", "pooled, 1/(N-K)", "pooled, 1/(N-K)"),
        *headers.size_items(fit),
        HeaderItem("Columns selected", left, str(left), brief="columns selected", options=("select",)),
        headers.prior_item(fit),
        *headers.error_items(fit),
    ]
    note = "" if left else "No column is left, so that each posterior is the prior. "
    return headers.header(fit, items, f"{note}{headers.kept_note(fit)}".strip())


def _classes(results: ShrunkenCentroidsResults, fit: FittedModel[ShrunkenFit]) -> Section:
    used = (fit.estimates.shrunken() != 0).sum(axis=1)
    table = pd.DataFrame(
        {"prior": results.prior, "rows": results.counts, "columns": used}, index=results.classes
    )
    formats: dict[Any, Any] = {"prior": "share", "rows": "count", "columns": "count"}
    return Section(
        "Classes, with the columns in which their centroids differ from the common mean",
        table,
        formats,
        source="fit.prior, fit.counts, fit.survivors()",
    )


def _path(results: ShrunkenCentroidsResults, fit: FittedModel[ShrunkenFit]) -> Section:
    path = results.path
    table = path.set_index("threshold")
    table.index = pd.Index(column_texts(path["threshold"].tolist(), "general"))
    table["chosen"] = np.where(path["threshold"] == results.threshold, "*", "")
    formats: dict[Any, Any] = {"error": "share", "se": "share", "genes": "count", "chosen": "text"}
    title = "Cross-validated error by threshold"
    return Section(title, table, formats, headings=INTERVAL | {"genes": "columns"}, source="fit.path")


def _survivors(
    results: ShrunkenCentroidsResults, fit: FittedModel[ShrunkenFit], most: int = MOST_SURVIVORS
) -> Section:
    table = results.survivors()
    left = len(table) - most
    more = f" And {left} more: fit.survivors()." if left > 0 else ""
    note = f"The largest come first; zero is no difference from the common mean.{more}"
    return Section(
        "Shrunken standardized differences from the common mean",
        table.head(most).rename_axis(columns=None),
        "z",
        note=note if len(table) else "No column survives the threshold.",
        source="fit.survivors()",
    )


shrunken_centroids_brief: Sections = {"classes": _classes, "survivors": partial(_survivors, most=BRIEF)}
"""The short form: classes, and the first of the survivors."""
