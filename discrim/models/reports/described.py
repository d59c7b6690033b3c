"""The rows of a fit, described: classes, columns, what is missing, and how far values reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from discrim.errors import DiscrimError
from discrim.models.fits.fit import Fit
from discrim.report.tables import Section

__all__ = ["described", "sizes"]


def sizes(fit: Fit[Any]) -> list[tuple[str, str]]:
    """Rows and columns, in words."""
    design = fit.blocks.design
    given = fit.has_rows and fit.blocks.source is None
    return [
        *([("Rows of the table", f"{fit.blocks.table.nrows:,}")] if given else []),
        ("Rows used", f"{fit.nobs:,}" + (" (sum of the weights)" if fit.blocks.weighted else "")),
        ("Rows dropped because a value is missing", f"{fit.dropped:,}"),
        ("Response", design.response),
        ("Classes", f"{len(fit.classes):,}"),
        ("Columns of the table used", f"{len(design.columns):,}"),
        ("Columns of the design", f"{len(fit.terms):,}"),
        *(
            [("Left out because they have one value", ", ".join(fit.blocks.constant))]
            if fit.blocks.constant
            else []
        ),
        *(
            [("Left out because others determine them", ", ".join(fit.blocks.collinear))]
            if fit.blocks.collinear
            else []
        ),
    ]


def described(fit: Fit[Any]) -> tuple[dict[str, Section], str]:
    """Tables of the classes and the columns, and a sentence on what could not be told."""
    parts = {"classes": _classes(fit)}
    try:
        if not fit.has_rows:
            why = "The fit was loaded or made of moments, so that the ranges of its columns are not known."
            return parts | {"means": _means(fit)}, why
        if fit.blocks.source is not None:
            why = (
                f"The rows are read part by part from {fit.blocks.source.table.source.what}, so that ranges "
            )
            return parts | {"means": _means(fit)}, why + "would take another pass, which is not made."
        names = list(fit.blocks.design.columns)
        frame = fit.rows("The description of the columns").table.frame(names)
    except DiscrimError as error:
        return parts, str(error)
    numeric = [j for j in range(len(names)) if _is_number(frame.iloc[:, j])]
    others = [j for j in range(len(names)) if j not in set(numeric)]
    if numeric:
        parts["numbers"] = _numbers(frame.iloc[:, numeric])
    if others:
        parts["categories"] = _categories(frame.iloc[:, others])
    return parts, ""


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _classes(fit: Fit[Any]) -> Section:
    table = pd.DataFrame(
        {"rows": fit.rows_by_class, "share": fit.counts / fit.counts.sum()}, index=fit.classes
    )
    if not fit.model.instead:
        table["prior"] = fit.prior
    return Section(
        "Classes", table, {"rows": "count", "share": "share", "prior": "share"}, source="fit.counts"
    )


def _means(fit: Fit[Any]) -> Section:
    return Section("Means by class", fit.class_means(), source="fit.group_summary()")


def _numbers(frame: pd.DataFrame) -> Section:
    values = [
        pd.to_numeric(frame.iloc[:, j]).to_numpy(dtype=np.float64, na_value=np.nan)
        for j in range(frame.shape[1])
    ]
    rows = []
    for column in values:
        seen = column[~np.isnan(column)]
        quartiles = np.quantile(seen, [0, 0.25, 0.5, 0.75, 1]) if len(seen) else np.full(5, np.nan)
        sd = seen.std(ddof=1) if len(seen) > 1 else np.nan
        rows.append([len(column) - len(seen), *quartiles, seen.mean() if len(seen) else np.nan, sd])
    headings = ["missing", "min", "25 %", "median", "75 %", "max", "mean", "sd"]
    table = pd.DataFrame(rows, index=frame.columns, columns=headings).T
    formats: dict[Any, Any] = {}
    return Section(
        "Columns of numbers",
        table,
        formats,
        row_formats={"missing": "count"},
        note="Over all rows of the table, each counted once.",
        source="data.describe()",
    )


def _categories(frame: pd.DataFrame) -> Section:
    rows = []
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j].astype(object)
        counts = column.dropna().value_counts()
        most = (str(counts.index[0]), counts.iloc[0] / counts.sum()) if len(counts) else ("", np.nan)
        rows.append([int(column.isna().sum()), len(counts), *most])
    table = pd.DataFrame(
        rows, index=frame.columns, columns=["missing", "levels", "most frequent", "its share"]
    )
    formats: dict[Any, Any] = {"missing": "count", "levels": "count", "most frequent": "text"}
    return Section("Columns of categories", table, formats | {"its share": "share"}, source="data.describe()")
