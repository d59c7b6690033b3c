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
    Sections,
    classes_section,
    coefficient_errors,
    dropped_note,
    error_item,
    holds_note,
    prior_item,
    row_items,
    score_sizes,
    size_items,
    title,
)
from discrim.report.grid import INTERVAL, Pairs, Section
from discrim.report.numbers import p_text
from discrim.report.tables import Summary

if TYPE_CHECKING:
    from discrim.models.regression.logistic_results import LogisticResults


MOST_TERMS = 12
"""Terms up to which a summary tests each of them."""


def logistic_sections(fit: LogisticResults) -> Sections:
    """Sections of a logistic regression, in their order."""
    parts: Sections = {
        "header": lambda: _header(fit),
        "classes": lambda: classes_section(fit),
        "log_odds": lambda: _log_odds(fit),
        "odds_ratios": lambda: _odds_ratios(fit),
    }
    # One term has the test of the whole model, in the header; each of many takes a search of its own.
    if (
        fit._fit.has_rows
        and fit._fit.numbers.newton.converged
        and 1 < len(parts_of(fit._fit.blocks)) <= MOST_TERMS
    ):
        parts["lr_terms"] = lambda: _lr_terms(fit)
    return parts


def logistic_brief(fit: LogisticResults) -> Summary:
    """The short form: classes and coefficients."""
    params = fit.params.rename_axis(index=None, columns=None)
    errors = coefficient_errors(score_sizes(fit._fit.numbers.moments), SCORES)
    section = Section(_against(fit), params, errors=errors, source="fit.params")
    parts = {"classes": classes_section(fit), "params": section}
    return Summary(title(fit), parts)


def _against(fit: LogisticResults) -> str:
    return f"Log odds against {fit.reference}"


def _header(fit: LogisticResults) -> Pairs:
    test, numbers = fit.lr_test(), fit._fit.numbers
    method = "bias reduced (Firth)" if numbers.bias_reduction else "maximum likelihood"
    items: list[tuple[str, Any, str]] = [
        *row_items(fit),
        ("Log-likelihood", fit.llf, f"{fit.llf:.2f}"),
        ("LL, constants only", fit.llnull, f"{fit.llnull:.2f}"),
        ("Pseudo R-squared", fit.prsquared, f"{fit.prsquared:.4f}"),
        (f"LR chi-square({test.df[0]:.0f})", test.statistic, f"{test.statistic:.2f}"),
        ("P > chi-square", test.pvalue, p_text(test.pvalue)),
        *size_items(fit),
        prior_item(fit),
        ("AIC", fit.aic, f"{fit.aic:.2f}"),
        ("BIC", fit.bic, f"{fit.bic:.2f}"),
        ("Estimates", method, method),
        ("Steps", numbers.newton.steps, str(numbers.newton.steps)),
        *_covariance_item(fit),
        error_item(fit, "apparent", "Error, apparent"),
    ]
    note = "" if numbers.newton.converged else fit.separation.message
    return Pairs(fit.formula, items, f"{dropped_note(fit, 'over all rows')} {note}".strip())


def _covariance_item(fit: LogisticResults) -> list[tuple[str, Any, str]]:
    """What the standard errors are by, where that is not the model."""
    if fit.cov_type == "nonrobust":
        return []
    return [("Standard errors", fit.cov_type, estimator_note(fit._fit.numbers.robust))]


def _log_odds(fit: LogisticResults) -> Section:
    table = fit.log_odds()
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "general") | {"z": "z", "p": "p"}
    headings = INTERVAL | {"p": "P>|z|"}
    sizes = score_sizes(fit._fit.numbers.moments)
    return Section(
        _against(fit),
        table,
        formats,
        headings=headings,
        errors=np.tile(coefficient_errors(sizes, SCORES), len(table) // len(sizes)),
        note=holds_note("log odds", fit.params, sizes, SCORES),
        source="fit.log_odds()",
    )


def _lr_terms(fit: LogisticResults) -> Section:
    penalized = "Penalized likelihood ratios. " if fit._fit.numbers.bias_reduction else ""
    note = f"{penalized}{type_note(fit._fit.blocks)}"
    if fit.cov_type != "nonrobust":
        note += f' They do not use {fit.cov_type} standard errors: see wald_test(by="term").'
    formats: dict[Any, Any] = {"statistic": "z", "df": "count", "p": "tail"}
    try:
        table = fit.lr_test(by="term")
    except DataError as error:
        # One test that was not found is no reason to show nothing of the fit.
        table, note = pd.DataFrame(columns=list(formats)), f"Not tested. {error}"
    return Section("Likelihood ratio by term", table, formats, note=note, source='fit.lr_test(by="term")')


def _odds_ratios(fit: LogisticResults) -> Section:
    table = fit.odds_ratios()
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "ratio")
    title = "Odds ratios for one unit of a column"
    return Section(title, table, formats, headings=INTERVAL, source="fit.odds_ratios()")
