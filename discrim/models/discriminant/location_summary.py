"""What is shown of a location model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.results import headers
from discrim.report.grid import INTERVAL, HeaderItem, Pairs, Section
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.discriminant.location import LocationFit
    from discrim.models.base.fit import FittedModel
    from discrim.models.discriminant.location import LocationResults

MOST_CELLS = 24
"""Cells up to which a summary shows their tables."""


def location_sections(results: LocationResults, fit: FittedModel[LocationFit]) -> Sections:
    """Sections of a location model, in their order."""
    parts: Sections = {"header": _header, "classes": headers.classes_section}
    if 1 < fit.estimates.layout.n_cells <= MOST_CELLS:
        parts = parts | {"cells": _cells}
    if fit.estimates.layout.n_cells <= MOST_CELLS:
        parts = parts | {"means": _means}
    return parts if fit.path is None else parts | {"path": _path}


def _header(results: LocationResults, fit: FittedModel[LocationFit]) -> Pairs:
    numbers = fit.estimates
    cells = numbers.layout.n_cells
    filled = int((numbers.cells.counts > 0).sum())
    chosen = "given" if fit.path is None else "chosen by leave-one-out"
    items: list[HeaderItem] = [
        *headers.row_items(fit),
        *headers.size_items(fit),
        headers.prior_item(fit),
        HeaderItem("Cells", cells, f"{cells}, in {len(fit.classes)} classes; {filled} have rows"),
        HeaderItem("Smoothing", results.smoothing, f"{results.smoothing:g}, {chosen}"),
        HeaderItem("Degrees of freedom", numbers.divisor, f"{numbers.divisor:.1f}"),
        *headers.error_items(fit),
    ]
    return headers.header(fit, items)


def _cells(results: LocationResults, fit: FittedModel[LocationFit]) -> Section:
    table = results.probabilities
    note = "Smoothed over cells that differ in few variables."
    return Section(
        "Probabilities of the cells, by class", table, "share", note=note, source="fit.probabilities"
    )


def _means(results: LocationResults, fit: FittedModel[LocationFit]) -> Section:
    table = results.means
    keys = [(each[0], ", ".join(map(str, each[1:]))) for each in table.index]
    table = table.set_axis(pd.MultiIndex.from_tuples(keys, names=["class", "cell"]))
    errors = np.sqrt(np.diagonal(results.cov)) / 2000
    rounding = dict(zip(table.columns, errors, strict=True))
    title = "Smoothed means by class and cell"
    return Section(title, table, column_errors=rounding, source="fit.means")


def _path(results: LocationResults, fit: FittedModel[LocationFit]) -> Section:
    table = results.path.set_index("smoothing").rename_axis(index=None)
    formats: dict[Any, Any] = {"error": "share", "se": "share"}
    note = "The largest smoothing of least error is chosen; the covariance is kept fixed."
    title = "Leave-one-out error by smoothing"
    return Section(title, table, formats, headings=INTERVAL, note=note, source="fit.path")


location_brief: Sections = {"classes": headers.classes_section}
"""The short form: the classes."""
