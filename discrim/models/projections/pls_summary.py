"""The sections of the summary of partial least squares."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.results.headers import (
    LEFT_OUT,
    Item,
    Sections,
    classes_section,
    error_item,
    error_items,
    header,
    prior_item,
    row_items,
    size_items,
    title,
)
from discrim.report.tables import INTERVAL, Pairs, Section, Summary

if TYPE_CHECKING:
    from discrim.models.projections.pls_results import PLSResults

__all__ = ["pls_brief", "pls_sections"]

MOST_COLUMNS = 20
"""Columns that the summary shows."""

BRIEF = 10
"""Columns that the short form shows."""

LONG = 2**19
"""Rows by components beyond which a summary does not leave each row out: each takes a fit of its own."""

MOST_COMPONENTS = 6
"""Components whose weights stand beside the importance of the columns."""

RULES = {
    "lda": "LDA of the scores",
    "max": "largest fitted indicator",
    "centroid": "nearest centroid of the scores",
}


ALGORITHMS = {"nipals": "NIPALS", "simpls": "SIMPLS", "engine": "an engine"}


def pls_sections(fit: PLSResults) -> Sections:
    """Sections of partial least squares, in their order."""
    parts: Sections = {
        "header": partial(_header, fit),
        "classes": partial(classes_section, fit),
        "components": partial(_components, fit),
    }
    if "path" in fit._fit.cache:
        parts["path"] = partial(_path, fit)
    return parts | {"centroids": partial(_centroids, fit), "columns": partial(_columns, fit)}


def pls_brief(fit: PLSResults) -> Summary:
    """The short form: components, and the first of the columns."""
    return Summary(title(fit), {"components": _components(fit), "columns": _columns(fit, BRIEF)})


def _header(fit: PLSResults) -> Pairs:
    numbers = fit._fit.numbers
    path = "path" in fit._fit.cache
    chosen = "cross-validation" if path else "not in the file" if fit._fit.loaded else "given"
    units = "over their SD, 1/(N-1)" if numbers.scale else "as they are"
    responses = "over their SD" if numbers.indicators == "scaled" else "as they are"
    items: list[Item] = [
        *row_items(fit),
        ("Components", fit.components, str(fit.components)),
        ("Chosen by", chosen, chosen),
        ("Rule", numbers.decides, RULES[numbers.decides]),
        ("Algorithm", numbers.algorithm, ALGORITHMS[numbers.algorithm]),
        ("Columns taken", units, units),
        ("Indicators taken", responses, responses),
        *size_items(fit),
    ]
    if numbers.decides == "lda":
        items.append(prior_item(fit))
    note = (
        "These errors keep the number of components, which the same rows chose; error_rates(['cv']) "
        "chooses it anew in each fold."
        if path
        else ""
    )
    return header(fit, [*items, *_errors(fit)], note)


def _errors(fit: PLSResults) -> list[Item]:
    """The error rates, leave-one-out where it is no matter of many seconds."""
    if fit._fit.has_rows and fit._fit.blocks.table.nrows * fit.components > LONG:
        return [error_item(fit, "apparent", "Error, apparent"), (LEFT_OUT, np.nan, "see error_rates()")]
    return error_items(fit)


def _components(fit: PLSResults) -> Section:
    table = fit.explained_variance()
    headings = {"x": "columns", "y": "indicators", "x_cumulative": "so far", "y_cumulative": "so far "}
    return Section(
        "Shares of the squares of columns and of indicators that components explain",
        table,
        dict.fromkeys(table.columns, "share"),
        headings=headings,
        source="fit.explained_variance()",
    )


def _path(fit: PLSResults) -> Section:
    path = fit.path
    table = path.set_index("components").rename_axis(index=None)
    table["chosen"] = np.where(path["components"] == fit.components, "*", "")
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"chosen": "text"}
    return Section(
        "Cross-validated error, R2 and Q2 by number of components",
        table,
        formats,
        headings=INTERVAL,
        note="R2X and R2 use all rows; Q2 is the R2 of the indicators for rows left out.",
        source="fit.path",
    )


def _centroids(fit: PLSResults) -> Section:
    table = fit.centroids.rename_axis(index=None)
    return Section("Means of the scores by class", table, "general", source="fit.centroids")


def _columns(fit: PLSResults, most: int = MOST_COLUMNS) -> Section:
    importance = fit.vip()
    weights = fit.weights.loc[importance.index].iloc[:, :MOST_COMPONENTS]
    table = pd.concat([importance, weights], axis=1).head(most)
    left = len(importance) - most
    more = f" And {left} more: fit.vip(), fit.weights." if left > 0 else ""
    beyond = fit.components - MOST_COMPONENTS
    others = f" Components beyond {MOST_COMPONENTS}: fit.weights." if beyond > 0 else ""
    note = (
        "A column with a VIP above one counts for more than average. In each component the largest "
        f"weight in absolute value is positive.{others}{more}"
    )
    return Section(
        "Importance of the columns (VIP), the largest first, and their weights",
        table.rename_axis(index=None),
        "share",
        headings={"vip": "VIP"},
        note=note,
        source="fit.vip(), fit.weights",
    )
