"""The sections of a logistic regression's summary, in the order statsmodels prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.errors import DataError
from discrim.models.regression.logistic_inference import parts_of
from discrim.models.regression.logistic_tests import estimator_note, type_note
from discrim.models.results.headers import (
    SCORES,
    classes_section,
    coefficient_errors,
    dropped_note,
    error_item,
    holds_note,
    prior_item,
    row_items,
    score_sizes,
    size_items,
)
from discrim.report.grid import INTERVAL, Pairs, Section
from discrim.report.numbers import p_text
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.regression.logistic import LogisticFit
    from discrim.models.fits.fit import Fit
    from discrim.models.regression.logistic_results import LogisticResults


MOST_TERMS = 12
"""Terms up to which a summary tests each of them."""


def logistic_sections(results: LogisticResults, fit: Fit[LogisticFit]) -> Sections:
    """Sections of a logistic regression, in their order."""
    parts: Sections = {
        "header": _header,
        "classes": classes_section,
        "log_odds": _log_odds,
        "odds_ratios": _odds_ratios,
    }
    # One term has the test of the whole model, in the header; each of many takes a search of its own.
    if fit.has_rows and fit.numbers.newton.converged and 1 < len(parts_of(fit.blocks)) <= MOST_TERMS:
        parts["lr_terms"] = _lr_terms
    return parts


def _params(results: LogisticResults, fit: Fit[LogisticFit]) -> Section:
    params = results.params.rename_axis(index=None, columns=None)
    errors = coefficient_errors(score_sizes(fit.numbers.moments), SCORES)
    return Section(_against(results), params, errors=errors, source="fit.params")


logistic_brief: Sections = {"classes": classes_section, "params": _params}
"""The short form: classes and coefficients."""


def _against(results: LogisticResults) -> str:
    return f"Log odds against {results.reference}"


def _header(results: LogisticResults, fit: Fit[LogisticFit]) -> Pairs:
    test, numbers = results.lr_test(), fit.numbers
    method = "bias reduced (Firth)" if numbers.bias_reduction else "maximum likelihood"
    items: list[tuple[str, Any, str]] = [
        *row_items(fit),
        ("Log-likelihood", results.llf, f"{results.llf:.2f}"),
        ("LL, constants only", results.llnull, f"{results.llnull:.2f}"),
        ("Pseudo R-squared", results.prsquared, f"{results.prsquared:.4f}"),
        (f"LR chi-square({test.df[0]:.0f})", test.statistic, f"{test.statistic:.2f}"),
        ("P > chi-square", test.pvalue, p_text(test.pvalue)),
        *size_items(fit),
        prior_item(fit),
        ("AIC", results.aic, f"{results.aic:.2f}"),
        ("BIC", results.bic, f"{results.bic:.2f}"),
        ("Estimates", method, method),
        ("Steps", numbers.newton.steps, str(numbers.newton.steps)),
        *_covariance_item(results, fit),
        error_item(results, fit, "apparent", "Error, apparent"),
    ]
    note = "" if numbers.newton.converged else results.separation.message
    return Pairs(results.formula, items, f"{dropped_note(fit, 'over all rows')} {note}".strip())


def _covariance_item(results: LogisticResults, fit: Fit[LogisticFit]) -> list[tuple[str, Any, str]]:
    """What the standard errors are by, where that is not the model."""
    if results.cov_type == "nonrobust":
        return []
    return [("Standard errors", results.cov_type, estimator_note(fit.numbers.robust))]


def _log_odds(results: LogisticResults, fit: Fit[LogisticFit]) -> Section:
    table = results.log_odds()
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "general") | {"z": "z", "p": "p"}
    headings = INTERVAL | {"p": "P>|z|"}
    sizes = score_sizes(fit.numbers.moments)
    return Section(
        _against(results),
        table,
        formats,
        headings=headings,
        errors=np.tile(coefficient_errors(sizes, SCORES), len(table) // len(sizes)),
        note=holds_note("log odds", results.params, sizes, SCORES),
        source="fit.log_odds()",
    )


def _lr_terms(results: LogisticResults, fit: Fit[LogisticFit]) -> Section:
    penalized = "Penalized likelihood ratios. " if fit.numbers.bias_reduction else ""
    note = f"{penalized}{type_note(fit.blocks)}"
    if results.cov_type != "nonrobust":
        note += f' They do not use {results.cov_type} standard errors: see wald_test(by="term").'
    formats: dict[Any, Any] = {"statistic": "z", "df": "count", "p": "tail"}
    try:
        table = results.lr_test(by="term")
    except DataError as error:
        # One test that was not found is no reason to show nothing of the fit.
        table, note = pd.DataFrame(columns=list(formats)), f"Not tested. {error}"
    return Section("Likelihood ratio by term", table, formats, note=note, source='fit.lr_test(by="term")')


def _odds_ratios(results: LogisticResults, fit: Fit[LogisticFit]) -> Section:
    table = results.odds_ratios()
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "ratio")
    title = "Odds ratios for one unit of a column"
    return Section(title, table, formats, headings=INTERVAL, source="fit.odds_ratios()")
