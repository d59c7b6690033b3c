"""The sections of the summary of shrunken centroids."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.results.headers import (
    Sections,
    error_items,
    header,
    prior_item,
    row_items,
    size_items,
    title,
)
from discrim.report.numbers import column_texts
from discrim.report.tables import INTERVAL, Pairs, Section, Summary

if TYPE_CHECKING:
    from discrim.models.independent.shrunken_centroids import ShrunkenCentroidsResults

__all__ = ["shrunken_centroids_brief", "shrunken_centroids_sections"]

BRIEF = 10
"""Survivors that the short form shows."""

MOST_SURVIVORS = 30
"""Survivors that the summary shows."""


def shrunken_centroids_sections(fit: ShrunkenCentroidsResults) -> Sections:
    """Sections of nearest shrunken centroids, in their order."""
    parts: Sections = {
        "header": partial(_header, fit),
        "classes": partial(_classes, fit),
    }
    if "path" in fit._fit.cache:
        parts["path"] = partial(_path, fit)
    return parts | {"survivors": partial(_survivors, fit)}


def shrunken_centroids_brief(fit: ShrunkenCentroidsResults) -> Summary:
    """The short form: classes, and the first of the survivors."""
    return Summary(title(fit), {"classes": _classes(fit), "survivors": _survivors(fit, BRIEF)})


def _header(fit: ShrunkenCentroidsResults) -> Pairs:
    chosen = (
        "cross-validation" if "path" in fit._fit.cache else "not in the file" if fit._fit.loaded else "given"
    )
    kind = "median of s" if fit._fit.numbers.offset == "median" else "given"
    left = int(fit._fit.numbers.shrunken().any(axis=0).sum())
    items: list[tuple[str, Any, str]] = [
        *row_items(fit),
        ("Threshold", fit.threshold, f"{fit.threshold:.4g}"),
        ("Chosen by", chosen, chosen),
        (f"Offset s0, {kind}", fit.offset, f"{fit.offset:.4g}"),
        ("Spread s", "pooled, 1/(N-K)", "pooled, 1/(N-K)"),
        *size_items(fit),
        ("Columns surviving", left, str(left)),
        prior_item(fit),
        *error_items(fit),
    ]
    notes = [] if left else ["No column is left: every row has the prior probabilities."]
    if "path" in fit._fit.cache:
        notes.append(
            "These errors keep the threshold, which the same rows chose; error_rates(['cv']) chooses "
            "it anew in each fold."
        )
    return header(fit, items, " ".join(notes))


def _classes(fit: ShrunkenCentroidsResults) -> Section:
    used = (fit._fit.numbers.shrunken() != 0).sum(axis=1)
    table = pd.DataFrame({"prior": fit.prior, "rows": fit.counts, "columns": used}, index=fit.classes)
    formats: dict[Any, Any] = {"prior": "share", "rows": "count", "columns": "count"}
    return Section(
        "Classes, with the columns in which their centroids differ from the common mean",
        table,
        formats,
        source="fit.prior, fit.counts, fit.survivors()",
    )


def _path(fit: ShrunkenCentroidsResults) -> Section:
    path = fit.path
    table = path.set_index("threshold")
    table.index = pd.Index(column_texts(path["threshold"].tolist(), "general"))
    table["chosen"] = np.where(path["threshold"] == fit.threshold, "*", "")
    formats: dict[Any, Any] = {"error": "share", "se": "share", "genes": "count", "chosen": "text"}
    title = "Cross-validated error by threshold"
    return Section(title, table, formats, headings=INTERVAL | {"genes": "columns"}, source="fit.path")


def _survivors(fit: ShrunkenCentroidsResults, most: int = MOST_SURVIVORS) -> Section:
    table = fit.survivors()
    left = len(table) - most
    more = f" And {left} more: fit.survivors()." if left > 0 else ""
    note = f"The largest first; zero where a class does not differ.{more}"
    return Section(
        "Shrunken standardized differences from the common mean",
        table.head(most).rename_axis(columns=None),
        "z",
        note=note if len(table) else "No column survives the threshold.",
        source="fit.survivors()",
    )
