"""What is shown of a sparse discriminant analysis: the sections of its summary, and its pictures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.models.base.labels import distinct
from discrim.models.results import headers
from discrim.report.grid import INTERVAL, HeaderItem, Pairs, Section
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.projections.sparse_lda import SparseFit
    from discrim.models.base.fit import FittedModel
    from discrim.models.projections.sparse_lda import SparseLDAResults

BRIEF = 10
"""Columns that the short form shows."""

MOST_COLUMNS = 30
"""Columns that the summary shows."""


def sparse_lda_sections(results: SparseLDAResults, fit: FittedModel[SparseFit]) -> Sections:
    """Sections of a sparse discriminant analysis, in their order."""
    parts: Sections = {"header": _header, "classes": headers.classes_section, "directions": _directions}
    parts |= {"path": _path, "selected": _selected}
    if fit.path is None:
        del parts["path"]
    return parts


def _header(results: SparseLDAResults, fit: FittedModel[SparseFit]) -> Pairs:
    numbers = fit.estimates
    by = "penalty" if numbers.by == "penalty" else "number of columns"
    chosen = "not in the file" if fit.loaded else f"{by} given"
    if fit.path is not None:
        search = fit.spec.search
        chosen = f"{search.folds.words}, {'one SE' if search.select == '1se' else 'least error'}"
    left = len(results.selected)
    items: list[HeaderItem] = [
        *headers.row_items(fit),
        HeaderItem(
            "Columns selected",
            left,
            f"{left} of {len(results.terms)}",
            brief="columns selected",
            options=("select",),
        ),
        HeaderItem("Directions", len(numbers.penalties), f"{len(numbers.penalties)} of {numbers.most}"),
        HeaderItem("Chosen by", chosen, chosen, "chosen_by", "chosen by" if fit.path is not None else ""),
        HeaderItem("Ridge", numbers.ridge, f"{numbers.ridge:.4g}"),
        HeaderItem("Covariance of scores", "pooled, 1/(N-K)", "pooled, 1/(N-K)"),
        *headers.size_items(fit),
        headers.prior_item(fit),
        headers.error_item(fit, "apparent"),
    ]
    note = "" if left else "No column is left, so that each posterior is the prior. "
    return headers.header(fit, items, f"{note}{headers.kept_note(fit)}".strip())


def _directions(results: SparseLDAResults, fit: FittedModel[SparseFit]) -> Section:
    penalty, columns = (distinct(word, results.classes) for word in ("penalty", "columns"))
    table = pd.DataFrame({penalty: results.penalty, columns: results.counts_selected})
    means = results._centroids().T.rename_axis(columns=None)
    table = pd.concat([table, means], axis=1).rename_axis(index=None)
    formats: dict[Any, Any] = {penalty: "general", columns: "count"}
    return Section(
        "Directions, with the class means on them",
        table,
        formats,
        note="The variance within classes is one, and zero is the prior-weighted mean.",
        source="fit.penalty, fit.counts_selected",
    )


def _path(results: SparseLDAResults, fit: FittedModel[SparseFit]) -> Section:
    table = headers.path_table(results.path, fit.estimates.tuning[0])
    formats: dict[Any, Any] = {
        "error": "share", "se": "share", "columns": "count", "directions": "count", "chosen": "text",
    }  # fmt: skip
    return Section("Cross-validated error by penalty", table, formats, headings=INTERVAL, source="fit.path")


def _selected(results: SparseLDAResults, fit: FittedModel[SparseFit], most: int = MOST_COLUMNS) -> Section:
    shown = results.selected
    left = len(shown) - most
    # By place, as a column may have any name.
    places = results.terms.get_indexer(shown[:most])
    table = results.standardized.iloc[places].rename_axis(index=None, columns=None)
    more = f" And {left} more: fit.standardized." if left > 0 else ""
    note = (
        f"The largest come first. Each is for a column divided by its standard deviation over all rows.{more}"
    )
    return Section(
        "Coefficients of the columns selected",
        table,
        note=note if len(shown) else "No column survives the penalty.",
        shared=True,
        source="fit.standardized, fit.scaling",
    )


sparse_lda_brief: Sections = {"classes": headers.classes_section, "selected": partial(_selected, most=BRIEF)}
"""The short form: classes, and the first of the columns selected."""
