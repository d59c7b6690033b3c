"""The sections of the summary of a regression of class indicators.

Which numbers of a regression of class indicators a picture shows.

The sections of the summary of a flexible discriminant analysis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.errors import DataError, NotSupportedError
from discrim.models.fits.reading import listed, told
from discrim.models.normal.covariance_options import text_of
from discrim.models.pictures.options import needed_rows
from discrim.models.results.headers import (
    Sections,
    coefficient_errors,
    dropped_note,
    error_item,
    error_items,
    header,
    holds_note,
    prior_item,
    row_items,
    score_sizes,
    size_items,
    title,
)
from discrim.report.grid import INTERVAL, Pairs, Section
from discrim.report.numbers import clean, shorten
from discrim.report.tables import Summary

if TYPE_CHECKING:
    from discrim.models.pictures.options import PictureOptions
    from discrim.models.regression.fda import FDAResults
    from discrim.models.regression.indicator import IndicatorResults
    from discrim.report.plots.style import Axes

FITTED = 0.0001
"""How far a fitted value by printed coefficients may be from the fit's."""


def indicator_sections(fit: IndicatorResults) -> Sections:
    """Sections of a regression of class indicators, in their order."""
    return {
        "header": lambda: _header(fit),
        "classes": lambda: _classes(fit),
        "regressions": lambda: _regressions(fit),
        "coefficients": lambda: _tests(fit),
    }


def indicator_brief(fit: IndicatorResults) -> Summary:
    """The short form: classes and coefficients."""
    parts = {"classes": _classes(fit), "coefficients": _coefficients(fit)}
    return Summary(title(fit), parts)


def _header(fit: IndicatorResults) -> Pairs:
    items = [
        *row_items(fit),
        ("Residual df", fit.df_resid, f"{fit.df_resid:.10g}"),
        _masked_pair(fit),
        *size_items(fit),
        *error_items(fit),
    ]
    return header(fit, items, _note(fit))


def _masked_pair(fit: IndicatorResults) -> tuple[str, Any, str]:
    if not fit._fit.has_rows:
        return "Masked classes", "not available", "not available"
    masked = fit.masked
    return "Masked classes", len(masked), str(len(masked)) if len(masked) else "none"


def _note(fit: IndicatorResults) -> str:
    said = [dropped_note(fit, "over all rows")]
    masked = list(fit.masked) if fit._fit.has_rows else []
    if masked:
        said.append(
            f"Masked: {listed(masked)}. No row has its largest fitted value there; try poly() in the "
            "formula, or lda()."
        )
    few = _few_won(fit, masked) if fit._fit.has_rows else []
    if few:
        said.append(
            f"Less than half of their own rows won: {listed(few)}. That is near masking, or overlap: see if "
            "lda() does better."
        )
    return " ".join(said).strip()


def _own_rows_won(fit: IndicatorResults) -> pd.Series:
    return pd.Series(np.diagonal(fit.confusion()), index=fit.classes)


def _few_won(fit: IndicatorResults, masked: list[Any]) -> list[Any]:
    """Classes that are not masked and have the largest fitted value in less than half of their rows."""
    few = _own_rows_won(fit) < 0.5 * fit.counts
    return [label for label in fit.classes[few] if label not in masked]


def _classes(fit: IndicatorResults) -> Section:
    table = pd.DataFrame({"share": fit.prior, "rows": fit.counts})
    formats: dict[Any, Any] = {"share": "share", "rows": "count"}
    try:
        table["given to it"] = fit.confusion().sum(axis=0)
        table["own rows won"] = _own_rows_won(fit)
        formats |= {"given to it": "count", "own rows won": "count"}
    except NotSupportedError:
        pass
    return Section("Classes", table.rename_axis(index=None), formats, source="fit.counts, fit.confusion()")


def _regressions(fit: IndicatorResults) -> Section:
    table = fit.regressions().rename_axis(index=None).drop(columns=["df1", "df2"])
    title = f"Regressions, F on {len(fit.terms)} and {fit.df_resid:.10g} degrees of freedom"
    formats: dict[Any, Any] = {"R2": "share", "sigma": "general", "F": "z", "p": "tail"}
    exact = fit.classes[fit._fit.numbers.fitted_exactly()]
    note = (
        f"Fitted without error: {listed(exact)}. Errors and tests of these are mere rounding."
        if len(exact)
        else ""
    )
    headings = {"p": "P > F"}
    return Section(title, table, formats, headings=headings, note=note, source="fit.regressions()")


def _coefficients(fit: IndicatorResults) -> Section:
    table = pd.concat([fit.intercept.to_frame("constant").T, fit.coef]).rename_axis(index=None, columns=None)
    errors = coefficient_errors(score_sizes(fit._fit.numbers.moments), FITTED)
    return Section("Coefficients", table, errors=errors, source="fit.coef, fit.intercept")


def _tests(fit: IndicatorResults) -> Section:
    table = fit.coefficients()
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "general") | {"t": "z", "p": "p"}
    headings = INTERVAL | {"p": "P>|t|"}
    sizes = score_sizes(fit._fit.numbers.moments)
    note = (
        "Standard errors of least squares, for normal errors of one variance, which indicators do not have. "
    )
    coef = table["coef"].unstack("class", sort=False)
    note += holds_note("fitted values", coef, sizes, FITTED)
    errors = np.tile(coefficient_errors(sizes, FITTED), len(fit.classes))
    if not fit.df_resid > 0:
        note += " Missing, as the rows or their weights leave no residual degrees of freedom."
    source = "fit.coefficients()"
    return Section("Coefficients", table, formats, headings=headings, errors=errors, note=note, source=source)


def fitted(results: Any, asked: PictureOptions) -> Axes:
    """Fitted values against a numeric column of the table, by default the first such of the formula."""
    from discrim.report.plots.indicator import fitted_values as draw

    fit, column = results._fit, asked.columns
    rows = needed_rows(fit, asked, "fitted")
    blocks = rows.blocks
    values = results.fitted if asked.data is None else results.fitted_values(blocks)
    used = list(blocks.design.columns)
    if column is not None and not (isinstance(column, str) and column in used):
        raise DataError(f"columns={told(column)} is not in the formula: name one of {listed(used)}.")
    columns = blocks.table.frame(used if column is None else [column])
    numeric = [name for name in columns if columns[name].dtype.kind in "iuf"]
    if not numeric:
        raise NotSupportedError(
            f"kind='fitted' draws against a column of numbers, which {listed(list(columns))} "
            f"{'is' if len(list(columns)) == 1 else 'are'} not: name a numeric one of the formula in "
            "columns= or see fitted."
        )
    name = numeric[0]
    held = columns[name]
    curves = None
    if len(used) == 1:
        at = np.linspace(held.min(), held.max(), 401)
        curves = results.fitted_values(pd.DataFrame({name: at})).set_axis(at)
    signs = asked.signs(fit.classes)
    return draw(held, values, rows.labels, list(results.masked), curves=curves, ax=asked.ax, signs=signs)


def fda_sections(fit: FDAResults) -> Sections:
    """Sections of a flexible discriminant analysis, in their order."""
    return {
        "header": lambda: _fda_header(fit),
        "classes": lambda: _fda_classes(fit),
        "axes": lambda: _axes(fit),
        "scores": lambda: Section(
            "Optimal scores of the classes", fit.scores.rename_axis(index=None), source="fit.scores"
        ),
        "centroids": lambda: _centroids(fit),
    }


def fda_brief(fit: FDAResults) -> Summary:
    """The short form: classes, axes and centroids."""
    parts = {"classes": _fda_classes(fit), "axes": _axes(fit), "centroids": _centroids(fit)}
    return Summary(title(fit), parts)


def _fda_header(fit: FDAResults) -> Pairs:
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


def _fda_classes(fit: FDAResults) -> Section:
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
