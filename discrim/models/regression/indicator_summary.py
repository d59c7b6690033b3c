"""What is shown of regressions of class indicators and of flexible discriminant analyses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.errors import NotSupportedError
from discrim.models.base.reading import listed, text_of
from discrim.models.results import headers
from discrim.report.grid import INTERVAL, HeaderItem, Pairs, Section, clean, shorten
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.regression.indicator import FlexibleFit, IndicatorFit
    from discrim.models.base.fit import FittedModel
    from discrim.models.regression.fda import FDAResults, VariateResults
    from discrim.models.regression.indicator import IndicatorResults

FITTED = 0.0001
"""How far a fitted value by printed coefficients may be from the fit's."""


def _header(results: IndicatorResults, fit: FittedModel[IndicatorFit]) -> Pairs:
    masked = list(results.masked) if fit.has_rows else []
    number: Any = len(masked) if fit.has_rows else "not available"
    items = [
        *headers.row_items(fit),
        HeaderItem("Residual df", results.df_resid, f"{results.df_resid:.10g}"),
        HeaderItem("Masked classes", number, str(number or "none")),
        *headers.size_items(fit),
        *headers.error_items(fit),
    ]
    said = [headers.dropped_note(fit, "over all rows")]
    if masked:
        said.append(
            f"Masked: {listed(masked)}. For no observation is the fitted value of this class the largest; "
            "try poly() in the formula, or lda()."
        )
    few = []
    if fit.has_rows:
        few_won = results.classes[_own_rows_won(results) < 0.5 * results.counts]
        few = [label for label in few_won if label not in masked]
    if few:
        said.append(
            f"Less than half of their own observations won: {listed(few)}. The class is nearly masked, or "
            "overlaps others; compare with lda()."
        )
    return headers.header(fit, items, " ".join(said).strip())


def _own_rows_won(results: IndicatorResults) -> pd.Series:
    return pd.Series(np.diagonal(results.confusion()), index=results.classes)


def _classes(results: IndicatorResults, fit: FittedModel[IndicatorFit]) -> Section:
    table = pd.DataFrame({"share": results.prior, "rows": results.counts})
    formats: dict[Any, Any] = {"share": "share", "rows": "count"}
    try:
        table["given to it"] = results.confusion().sum(axis=0)
        table["own rows won"] = _own_rows_won(results)
        formats |= {"given to it": "count", "own rows won": "count"}
    except NotSupportedError:
        pass
    return Section("Classes", table.rename_axis(index=None), formats, source="fit.counts, fit.confusion()")


def _regressions(results: IndicatorResults, fit: FittedModel[IndicatorFit]) -> Section:
    table = results.regressions().rename_axis(index=None).drop(columns=["df1", "df2"])
    title = f"Regressions, F on {len(results.terms)} and {results.df_resid:.10g} degrees of freedom"
    formats: dict[Any, Any] = {"R2": "share", "sigma": "general", "F": "z", "p": "tail"}
    exact = results.classes[fit.estimates.fitted_exactly()]
    note = ""
    if len(exact):
        note = f"Fitted without error: {listed(exact)}. Their standard errors and tests are rounding errors."
    headings = {"p": "P > F"}
    return Section(title, table, formats, headings=headings, note=note, source="fit.regressions()")


def _coefficients(results: IndicatorResults, fit: FittedModel[IndicatorFit]) -> Section:
    table = pd.concat([results.intercept.to_frame("constant").T, results.coef])
    table = table.rename_axis(index=None, columns=None)
    errors = headers.coefficient_errors(headers.score_sizes(fit.estimates.moments), FITTED)
    return Section("Coefficients", table, errors=errors, source="fit.coef, fit.intercept")


def _tests(results: IndicatorResults, fit: FittedModel[IndicatorFit]) -> Section:
    table = results.coefficients()
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "general") | {"t": "z", "p": "p"}
    headings = INTERVAL | {"p": "P>|t|"}
    sizes = headers.score_sizes(fit.estimates.moments)
    note = (
        "Standard errors of least squares assume errors of one variance, and t normal ones; the errors of "
        "indicators are neither. "
    )
    coef = table["coef"].unstack("class", sort=False)
    note += headers.holds_note("fitted values", coef, sizes, FITTED)
    errors = np.tile(headers.coefficient_errors(sizes, FITTED), len(results.classes))
    if not results.df_resid > 0:
        note += " They are missing because no residual degrees of freedom are left."
    source = "fit.coefficients()"
    return Section("Coefficients", table, formats, headings=headings, errors=errors, note=note, source=source)


indicator_sections: Sections = {
    "header": _header,
    "classes": _classes,
    "regressions": _regressions,
    "coefficients": _tests,
}
"""Sections of a regression of class indicators, in their order."""


def _counted_classes(results: IndicatorResults, fit: FittedModel[IndicatorFit]) -> Section:
    """The classes, without what passes over a source of tables."""
    read_anew = fit.has_rows and fit.design_rows.rows.read_from
    return (headers.classes_section if read_anew else _classes)(results, fit)


indicator_brief: Sections = {"classes": _counted_classes, "coefficients": _coefficients}
"""The short form: classes and coefficients."""


def _fda_header(results: FDAResults, fit: FittedModel[FlexibleFit]) -> Pairs:
    items = [
        *headers.row_items(fit),
        headers.prior_item(fit),
        *headers.size_items(fit),
        headers.error_item(fit, "apparent"),
    ]
    note = (
        f"Engine: {shorten(clean(text_of(results.engine)), 80)}. The apparent error is optimistic: see "
        "error_rates(['cv'])."
    )
    return Pairs(results.formula, items, note)


def variate_classes(results: VariateResults, fit: FittedModel[Any]) -> Section:
    """The classes with prior and rows."""
    table = pd.DataFrame({"prior": results.prior, "rows": results.counts}).rename_axis(index=None)
    return Section("Classes", table, {"prior": "share", "rows": "count"}, source="fit.prior, fit.counts")


def variate_axes(results: VariateResults, fit: FittedModel[Any]) -> Section:
    """The axes with their correlations and shares."""
    table = pd.DataFrame({"squared correlation": results.values, "share": results.explained})
    formats: dict[Any, Any] = {"squared correlation": "share", "share": "share"}
    return Section("Axes", table, formats, source="fit.values, fit.explained")


def variate_scores(results: VariateResults, fit: FittedModel[Any]) -> Section:
    """Optimal scores of the classes."""
    scores = results.scores.rename_axis(index=None)
    return Section("Optimal scores of the classes", scores, source="fit.scores")


def variate_centroids(results: VariateResults, fit: FittedModel[Any]) -> Section:
    """Centroids of the classes."""
    centroids = results.centroids.rename_axis(index=None)
    return Section("Centroids among the variates", centroids, source="fit.centroids")


fda_sections: Sections = {
    "header": _fda_header,
    "classes": variate_classes,
    "axes": variate_axes,
    "scores": variate_scores,
    "centroids": variate_centroids,
}
"""Sections of a flexible discriminant analysis, in their order."""

fda_brief: Sections = {"classes": variate_classes, "axes": variate_axes, "centroids": variate_centroids}
"""The short form: classes, axes and centroids."""
