"""The sections of the summary of a sparse discriminant analysis."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.fits.labels import distinct
from discrim.models.results.headers import (
    Sections,
    classes_section,
    error_item,
    header,
    prior_item,
    row_items,
    size_items,
    title,
)
from discrim.report.numbers import column_texts
from discrim.report.tables import INTERVAL, Pairs, Section, Summary

if TYPE_CHECKING:
    from discrim.models.projections.sparse_results import SparseLDAResults

__all__ = ["sparse_lda_brief", "sparse_lda_sections"]

BRIEF = 10
"""Columns that the short form shows."""

MOST_COLUMNS = 30
"""Columns that the summary shows."""

MOST_PENALTIES = 25
"""Penalties of a path that the summary shows."""


def sparse_lda_sections(fit: SparseLDAResults) -> Sections:
    """Sections of a sparse discriminant analysis, in their order."""
    parts: Sections = {
        "header": partial(_header, fit),
        "classes": lambda: classes_section(fit),
        "directions": partial(_directions, fit),
    }
    if "path" in fit._fit.cache:
        parts["path"] = partial(_path, fit)
    return parts | {"selected": partial(_selected, fit)}


def sparse_lda_brief(fit: SparseLDAResults) -> Summary:
    """The short form: classes, and the first of the columns selected."""
    return Summary(title(fit), {"classes": classes_section(fit), "selected": _selected(fit, BRIEF)})


def _header(fit: SparseLDAResults) -> Pairs:
    numbers, by_path = fit._fit.numbers, "path" in fit._fit.cache
    chosen = "penalty" if numbers.by == "penalty" else "number of columns"
    chosen += "" if fit._fit.loaded else " given"
    if by_path:
        search = fit._fit.refits.asked
        how = f"{search.folds} splits" if search.splits else f"{search.folds} folds"
        chosen = f"{how}, {'one SE' if search.select == '1se' else 'least error'}"
    left = len(fit.selected)
    items: list[tuple[str, Any, str]] = [
        *row_items(fit),
        ("Columns selected", left, f"{left} of {len(fit.terms)}"),
        ("Directions", len(numbers.penalties), f"{len(numbers.penalties)} of {numbers.most}"),
        ("Chosen by", chosen, chosen),
        ("Ridge", numbers.ridge, f"{numbers.ridge:.4g}"),
        ("Covariance of scores", "pooled, 1/(N-K)", "pooled, 1/(N-K)"),
        *size_items(fit),
        prior_item(fit),
        error_item(fit, "apparent", "Error, apparent"),
    ]
    notes = [] if left else ["No column is left: every row has the prior probabilities."]
    if by_path:
        notes.append(
            "These errors keep the penalty, which the same rows chose; error_rates(['cv']) chooses "
            "it anew in each fold."
        )
    return header(fit, items, " ".join(notes))


def _directions(fit: SparseLDAResults) -> Section:
    penalty, columns = (distinct(word, fit.classes) for word in ("penalty", "columns"))
    table = pd.DataFrame({penalty: fit.penalty, columns: fit.counts_selected})
    table = pd.concat([table, fit._centroids().T.rename_axis(columns=None)], axis=1).rename_axis(index=None)
    formats: dict[Any, Any] = {penalty: "general", columns: "count"}
    return Section(
        "Directions, with the class means on them",
        table,
        formats,
        note="Unit variance within classes; zero is the prior-weighted mean.",
        source="fit.penalty, fit.counts_selected",
    )


def _path(fit: SparseLDAResults) -> Section:
    path = fit.path
    at = int((path["penalty"] - fit._fit.numbers.asked[0]).abs().argmin())
    shown = np.arange(len(path))
    if len(path) > MOST_PENALTIES:
        shown = np.union1d(np.linspace(0, len(path) - 1, MOST_PENALTIES - 1).round().astype(int), [at])
    table = path.set_index("penalty").iloc[shown]
    table.index = pd.Index(column_texts(path["penalty"].iloc[shown].tolist(), "general"))
    table["chosen"] = np.where(shown == at, "*", "")
    formats: dict[Any, Any] = {
        "error": "share", "se": "share", "columns": "count", "directions": "count", "chosen": "text",
    }  # fmt: skip
    return Section("Cross-validated error by penalty", table, formats, headings=INTERVAL, source="fit.path")


def _selected(fit: SparseLDAResults, most: int = MOST_COLUMNS) -> Section:
    shown = fit.selected
    left = len(shown) - most
    # By place, as a column may have any name.
    places = fit.terms.get_indexer(shown[:most])
    table = fit.standardized.iloc[places].rename_axis(index=None, columns=None)
    more = f" And {left} more: fit.standardized." if left > 0 else ""
    note = f"The largest first, for columns divided by their standard deviations over all rows.{more}"
    return Section(
        "Coefficients of the columns selected",
        table,
        note=note if len(shown) else "No column survives the penalty.",
        shared=True,
        source="fit.standardized, fit.scaling",
    )
