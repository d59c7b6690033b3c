"""What is shown of regressions of class indicators and of flexible discriminant analyses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.errors import DataError, NotSupportedError
from discrim.models.base.reading import listed, told
from discrim.models.base.refits import text_of
from discrim.models.plots.pictured import needed_rows, numeric_columns
from discrim.models.results import headers
from discrim.report.grid import INTERVAL, Pairs, Section, clean, shorten
from discrim.report.plots.style import Signs, add_legend, ink, label_codes, new_axes, set_title, shown_name
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.regression.indicator import FlexibleFit, IndicatorFit
    from discrim.design.blocks import Blocks
    from discrim.models.base.fit import Fit
    from discrim.models.plots.pictured import PictureOptions
    from discrim.models.regression.fda import FDAResults, VariateResults
    from discrim.models.regression.indicator import IndicatorResults
    from discrim.report.plots.style import Axes

FITTED = 0.0001
"""How far a fitted value by printed coefficients may be from the fit's."""


def _header(results: IndicatorResults, fit: Fit[IndicatorFit]) -> Pairs:
    masked = list(results.masked) if fit.has_rows else []
    number: Any = len(masked) if fit.has_rows else "not available"
    items = [
        *headers.row_items(fit),
        ("Residual df", results.df_resid, f"{results.df_resid:.10g}"),
        ("Masked classes", number, str(number or "none")),
        *headers.size_items(fit),
        *headers.error_items(fit),
    ]
    said = [headers.dropped_note(fit, "over all rows")]
    if masked:
        said.append(
            f"Masked: {listed(masked)}. For no observation is the fitted value of this class the largest; "
            "try poly() in the formula, or lda()."
        )
    few = [label for label in _few_won(results) if label not in masked] if fit.has_rows else []
    if few:
        said.append(
            f"Less than half of their own observations won: {listed(few)}. The class is nearly masked, or "
            "overlaps others; compare with lda()."
        )
    return headers.header(fit, items, " ".join(said).strip())


def _own_rows_won(results: IndicatorResults) -> pd.Series:
    return pd.Series(np.diagonal(results.confusion()), index=results.classes)


def _few_won(results: IndicatorResults) -> pd.Index:
    """Classes that have the largest fitted value in less than half of their rows."""
    return results.classes[_own_rows_won(results) < 0.5 * results.counts]


def _classes(results: IndicatorResults, fit: Fit[IndicatorFit]) -> Section:
    table = pd.DataFrame({"share": results.prior, "rows": results.counts})
    formats: dict[Any, Any] = {"share": "share", "rows": "count"}
    try:
        table["given to it"] = results.confusion().sum(axis=0)
        table["own rows won"] = _own_rows_won(results)
        formats |= {"given to it": "count", "own rows won": "count"}
    except NotSupportedError:
        pass
    return Section("Classes", table.rename_axis(index=None), formats, source="fit.counts, fit.confusion()")


def _regressions(results: IndicatorResults, fit: Fit[IndicatorFit]) -> Section:
    table = results.regressions().rename_axis(index=None).drop(columns=["df1", "df2"])
    title = f"Regressions, F on {len(results.terms)} and {results.df_resid:.10g} degrees of freedom"
    formats: dict[Any, Any] = {"R2": "share", "sigma": "general", "F": "z", "p": "tail"}
    exact = results.classes[fit.numbers.fitted_exactly()]
    note = ""
    if len(exact):
        note = f"Fitted without error: {listed(exact)}. Their standard errors and tests are rounding errors."
    headings = {"p": "P > F"}
    return Section(title, table, formats, headings=headings, note=note, source="fit.regressions()")


def _coefficients(results: IndicatorResults, fit: Fit[IndicatorFit]) -> Section:
    table = pd.concat([results.intercept.to_frame("constant").T, results.coef])
    table = table.rename_axis(index=None, columns=None)
    errors = headers.coefficient_errors(headers.score_sizes(fit.numbers.moments), FITTED)
    return Section("Coefficients", table, errors=errors, source="fit.coef, fit.intercept")


def _tests(results: IndicatorResults, fit: Fit[IndicatorFit]) -> Section:
    table = results.coefficients()
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "general") | {"t": "z", "p": "p"}
    headings = INTERVAL | {"p": "P>|t|"}
    sizes = headers.score_sizes(fit.numbers.moments)
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


def _counted_classes(results: IndicatorResults, fit: Fit[IndicatorFit]) -> Section:
    """The classes, without what passes over a source of tables."""
    read_anew = fit.has_rows and fit.blocks.rows.read_from
    return (headers.classes_section if read_anew else _classes)(results, fit)


indicator_brief: Sections = {"classes": _counted_classes, "coefficients": _coefficients}
"""The short form: classes and coefficients."""


def fitted(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Fitted values along the first discriminant, or against a column of the table.

    A colour is a class, whose rows are ticks below the values. Along the discriminant the fitted values have
    the lines of their regressions on it, and the class means are marked: a class whose line is nowhere the
    highest is masked. Of a formula of one column they are functions of it, which are drawn in their place.
    """
    column = options.columns
    rows = needed_rows(fit, options, "fitted")
    blocks = rows.blocks
    values = results.fitted if options.data is None else results.predict_indicators(blocks)
    used = list(blocks.design.columns)
    if column is not None and not (isinstance(column, str) and column in used):
        raise DataError(f"columns={told(column)} is not in the formula.", hint=f"Name one of {listed(used)}.")
    fitted = values.to_numpy(dtype=np.float64)
    codes = label_codes(rows.labels, list(values.columns))
    signs = options.signs(fit.classes)
    masked = list(results.masked)
    along = column is None and (len(used) > 1 or not numeric_columns(fit.blocks.design))
    if along:
        x = _first_discriminant(results, fitted)
        name = "First discriminant"
    else:
        x, name = _column(blocks, used if column is None else [column])
    known = np.isfinite(x) & np.isfinite(fitted).all(axis=1)
    x = x[known]
    fitted = fitted[known]
    codes = codes[known]
    weights = rows.weights[known]
    axes, is_new = new_axes(options.ax)
    alone = len(used) == 1 and name == used[0]
    if alone:
        at = np.linspace(x.min(), x.max(), 401)
        fitted = results.predict_indicators(pd.DataFrame({name: at})).to_numpy(dtype=np.float64)
        for k, label in enumerate(values.columns):
            look: dict[str, Any] = {"color": signs.colour(k), "linestyle": signs.line(k)}
            axes.plot(at, fitted[:, k], label=shown_name(label), **look)
    else:
        _draw_values(axes, x, fitted, codes, list(values.columns), signs)
    if along:
        _draw_lines(axes, x, fitted, codes, weights, signs)
    _draw_rows(axes, x, codes, fitted, signs)
    axes.set_xlabel(shown_name(name, 45))
    axes.set_ylabel("Fitted value")
    title = "Fitted values of the indicators"
    if masked:
        names = ", ".join(shown_name(label, 12) for label in masked[:3])
        title += f"\nmasked: {names}" + (f" and {len(masked) - 3} more" if len(masked) > 3 else "")
    if len(x) >= 2 * MOST_DRAWN and not alone:
        title += f"\nabout {MOST_DRAWN:,} of {len(x):,} rows are drawn"
    add_legend(axes, is_new)
    set_title(axes, title)
    return axes


def _first_discriminant(results: Any, fitted: Floats) -> Floats:
    """Scores (n,) of fitted values (n, K) on the first discriminant, with unit variance within classes."""
    scoring = results.optimal_scoring()
    if not len(scoring.correlations):
        raise NotSupportedError(
            "The class means do not differ, so that there is no discriminant.",
            hint="Name a column in columns=.",
        )
    share = float(scoring.correlations.iloc[0]) ** 2
    x = fitted @ scoring.scores.iloc[:, 0].to_numpy()
    return np.asarray(x / np.sqrt(share * (1 - share)) if share < 1 else x)


MOST_DRAWN = 3_000
"""Rows whose fitted values are drawn: more would cover one another."""

MOST_CLOUDS = 4
"""Classes up to which all fitted values of a row are drawn; of more it is that of its own class."""


def _draw_values(
    axes: Axes, x: Floats, fitted: Floats, codes: Codes, classes: list[Any], signs: Signs
) -> None:
    """Fitted values (n, K) as faint points in the colours of the classes that they are of."""
    for k, label in enumerate(classes):
        every = np.flatnonzero((codes == k) | (len(classes) <= MOST_CLOUDS))
        shown = every[:: max(len(x) // MOST_DRAWN, 1)]
        look: dict[str, Any] = {"color": signs.colour(k), "marker": signs.marker(k)}
        faint = look | {"s": 12, "alpha": 0.3, "linewidths": 0, "rasterized": len(shown) > 1_000}
        axes.scatter(x[shown], fitted[shown, k], **faint)
        axes.plot([], [], linestyle=signs.line(k), label=shown_name(label), **look)


def _draw_lines(axes: Axes, x: Floats, fitted: Floats, codes: Codes, weights: Floats, signs: Signs) -> None:
    """Lines of the regressions of the fitted values (n, K) on x (n,), with marks at the class means."""
    ends = np.array([x[weights > 0].min(), x[weights > 0].max()])
    for k in range(fitted.shape[1]):
        slope, constant = np.polyfit(x, fitted[:, k], 1, w=np.sqrt(weights))
        look: dict[str, Any] = {"color": signs.colour(k), "linewidth": 2.0, "zorder": 4}
        axes.plot(ends, constant + slope * ends, linestyle=signs.line(k), **look)
        own = codes == k
        if weights[own].any():
            place = float(np.average(x[own], weights=weights[own]))
            look |= {"marker": signs.marker(k), "markersize": 8, "markeredgecolor": ink(), "zorder": 5}
            axes.plot(place, constant + slope * place, **look)


def _column(blocks: Blocks, names: list[str]) -> tuple[Floats, str]:
    """The first numeric column of some of the table, and its name."""
    columns = blocks.table.frame(names)
    numeric = [name for name in names if columns[name].dtype.kind in "iuf"]
    if not numeric:
        raise NotSupportedError(
            f"kind='fitted' draws against a column of numbers, which {listed(list(columns))} "
            f"{'is' if len(list(columns)) == 1 else 'are'} not.",
            hint="Name a numeric one of the formula in columns= or see fitted.",
        )
    return columns[numeric[0]].to_numpy(dtype=np.float64, na_value=np.nan), numeric[0]


def _draw_rows(axes: Axes, x: Floats, codes: Codes, fitted: Floats, signs: Signs) -> None:
    """A line of ticks for the rows of each class, below all fitted values."""
    k_classes = fitted.shape[1]
    # However many classes there are, their ticks take no more than a third of the picture.
    low, high = (float(end(fitted)) for end in (np.nanmin, np.nanmax))
    step = min(0.05, 0.5 / (k_classes + 1)) * ((high - low) or 1.0)
    for k in range(k_classes):
        rows = x[codes == k]
        at = np.full(len(rows), low - (k + 1.5) * step)
        look: dict[str, Any] = {"color": signs.colour(k), "linewidths": 0.8}
        axes.scatter(rows, at, marker="|", s=25, rasterized=len(rows) > 5_000, **look)


def _fda_header(results: FDAResults, fit: Fit[FlexibleFit]) -> Pairs:
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


def variate_classes(results: VariateResults, fit: Fit[Any]) -> Section:
    """The classes with prior and rows."""
    table = pd.DataFrame({"prior": results.prior, "rows": results.counts}).rename_axis(index=None)
    return Section("Classes", table, {"prior": "share", "rows": "count"}, source="fit.prior, fit.counts")


def variate_axes(results: VariateResults, fit: Fit[Any]) -> Section:
    """The axes with their correlations and shares."""
    table = pd.DataFrame({"squared correlation": results.values, "share": results.explained})
    formats: dict[Any, Any] = {"squared correlation": "share", "share": "share"}
    return Section("Axes", table, formats, source="fit.values, fit.explained")


def variate_scores(results: VariateResults, fit: Fit[Any]) -> Section:
    """Optimal scores of the classes."""
    scores = results.scores.rename_axis(index=None)
    return Section("Optimal scores of the classes", scores, source="fit.scores")


def variate_centroids(results: VariateResults, fit: Fit[Any]) -> Section:
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
