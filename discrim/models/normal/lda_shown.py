"""The summary of a linear discriminant analysis: which tables, under which words.

The picture of a ranking of columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.fits.reading import listed
from discrim.models.normal import gaussian_shown
from discrim.models.results import headers
from discrim.report.grid import INTERVAL, Pairs, Section
from discrim.report.numbers import p_text
from discrim.report.plots.bars import dot_strips
from discrim.report.tables import Parts, Sections

if TYPE_CHECKING:
    from discrim.core.normal.lda import LDAFit
    from discrim.models.fits.fit import Fit
    from discrim.models.normal.lda import LDAResults
    from discrim.models.pictures.pictured import PictureOptions
    from discrim.report.plots.style import Axes

DRAWN = 0.01
"""How far differences of discriminant scores by printed coefficients may be off, in standard deviations."""


FIRST = 10
"""Columns of a ranking that are shown."""


def lda_sections(results: LDAResults, fit: Fit[LDAFit]) -> Parts:
    """Sections of a linear discriminant analysis, in their order."""
    parts: Sections = {
        "header": _linear_header,
        "classes": headers.classes_section,
        "means": gaussian_shown.means_section,
        "covariance": _covariance,
        "discriminants": _discriminants,
        "functions": _functions,
    }
    own = fit.numbers.scatter.sections
    if "flagged" in own and fit.has_rows:
        parts["flagged"] = gaussian_shown.flagged_section
    if fit.numbers.has_errors:
        parts["log_odds"] = _log_odds
    if "ranking" in own and fit.numbers.prior.max() < 1:
        parts["ranking"] = _ranking
    if fit.path is not None:
        parts["path"] = gaussian_shown.shrinkage_path_section
    return gaussian_shown.with_equal_covariances(parts, fit)


def _linear_header(results: LDAResults, fit: Fit[LDAFit]) -> Pairs:
    left, right = gaussian_shown.common_header(results, fit, by_class=False)
    if fit.numbers.has_distances:
        test = results.wilks
        f = float(test.table["statistic"].iloc[0])
        df1, df2 = (f"{d:.6g}" for d in test.df)
        left.append(("Wilks' lambda", test.statistic, f"{test.statistic:.4g}"))
        if np.isnan(f):
            left.append(("Rao's F", f, "not available"))
        else:
            shown = f"{f:.2f}" if f < 1e6 else f"{f:.4e}"
            left += [(f"F({df1}, {df2})", f, shown), ("P > F", test.pvalue, p_text(test.pvalue))]
    note = ""
    if fit.numbers.reduced() is not None:
        m = fit.numbers.ncomp
        first = "first canonical axis" if m == 1 else f"first {m} canonical axes"
        note = f"The rule uses the {first} only (ncomp={m})."
    note = f"{note} {headers.dropped_note(fit, 'within classes')} {gaussian_shown.covariance_note(fit)}"
    return headers.header(fit, [*left, *right], note.strip())


def _covariance(results: LDAResults, fit: Fit[LDAFit]) -> Section:
    held, divisor = fit.numbers.covariance, "N" if fit.numbers.method == "mle" else "N-K"
    where, scatter = "within classes", fit.numbers.scatter
    if held.is_diagonal:
        title = f"Variances ({scatter.word} covariance {where}, divisor {divisor})"
        return gaussian_shown.variances_section(fit, held, title, "fit.cov")
    if fit.numbers.moments.spread == "thin":
        return gaussian_shown.thin_variances_section(fit, held, f"{where}, divisor {divisor}", "fit.cov")
    return gaussian_shown.covariance_section(
        fit, held, scatter.title(where, divisor, by_class=False), "fit.cov"
    )


def _discriminants(results: LDAResults, fit: Fit[LDAFit]) -> Section:
    table = pd.concat([results.scaling, results.explained.to_frame("Share of trace").T])
    note = "In each column the largest coefficient times its standard deviation within classes is positive."
    errors = headers.coefficient_errors(headers.difference_sizes(fit.numbers.moments), DRAWN)
    return Section(
        "Discriminants (unit variance within classes)",
        table,
        row_formats={"Share of trace": "share"},
        errors=[*errors, np.inf],
        note=note if table.shape[1] else "The class means do not differ: there is no discriminant.",
        source="fit.scaling",
    )


def _functions(results: LDAResults, fit: Fit[LDAFit]) -> Section:
    short = headers.instead_of(fit, "Classification functions", "fit.coef, fit.intercept")
    if short is not None:
        return short
    table = pd.concat([results.intercept.to_frame("constant").T, results.coef])
    sizes = headers.score_sizes(fit.numbers.moments)
    note = "A row belongs to the class whose function is largest; the constants contain ln(prior). "
    note += headers.holds_note("the functions", table, sizes, headers.SCORES)
    errors = headers.coefficient_errors(sizes, headers.SCORES)
    source = "fit.coef, fit.intercept"
    return Section("Classification functions", table, errors=errors, note=note, source=source)


def _ranking(results: LDAResults, fit: Fit[LDAFit]) -> Section:
    table = results.ranking(top=min(FIRST, len(results.terms)))[["score", "p", "q", "HC"]]
    more = f", the first of {len(results.terms):,}" if len(table) < len(results.terms) else ""
    scores = "t-scores" if fit.numbers.covariance.is_diagonal else "CAT scores"
    formats: dict[Any, Any] = {"score": "z", "p": "p", "q": "p", "HC": "z"}
    title = f"Columns by their {scores}{more}"
    note = "q: false discovery rate; HC: higher criticism."
    return Section(title, table.rename_axis(index=None), formats, note=note, source="fit.ranking()")


def _log_odds(results: LDAResults, fit: Fit[LDAFit]) -> Section:
    title = f"Log odds against {results.classes[0]} (asymptotic standard errors under the model)"
    short = headers.instead_of(fit, title, "fit.log_odds()")
    if short is not None:
        return short
    table = results.log_odds()
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "general") | {"z": "z", "p": "p"}
    headings = INTERVAL | {"p": "P>|z|"}
    errors = headers.coefficient_errors(headers.score_sizes(fit.numbers.moments), headers.LOG_ODDS)
    repeated = np.tile(errors, len(table) // len(errors))
    none = results.classes[results.prior.to_numpy() == 0]
    note = f"No finite constant: {listed(none)} with a prior of zero." if len(none) else ""
    return Section(
        title, table, formats, headings=headings, errors=repeated, note=note, source="fit.log_odds()"
    )


lda_brief: Sections = {
    "classes": headers.classes_section,
    "means": gaussian_shown.means_section,
    "discriminants": _discriminants,
}
"""The short form: classes, means, discriminants."""


MOST_DOTS = 30
"""Columns that are drawn."""


def ranking(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """The first columns of the ranking, with their scores by class."""
    table = results.ranking(top=min(MOST_DOTS, len(results.terms)))
    scores = table.iloc[:, -len(results.classes) :]
    kind = "t-scores" if fit.numbers.covariance.is_diagonal else "Cat scores"
    of = f" ({len(table)} of {len(results.terms)})" if len(table) < len(results.terms) else ""
    title = f"{kind} of the classes against the common mean{of}"
    return dot_strips(
        scores, list(results.classes), title, ax=options.ax, signs=options.signs(results.classes)
    )
