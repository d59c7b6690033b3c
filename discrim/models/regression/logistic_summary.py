"""What is shown of logistic regressions, with a penalty or without: sections of summaries, and pictures.

The sections of a regression without a penalty have the order in which statsmodels prints them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.errors import DataError
from discrim.models.regression.logistic_search import parts_of
from discrim.models.regression.logistic_tests import estimator_note, type_note
from discrim.models.results import headers
from discrim.report.grid import INTERVAL, HeaderItem, Pairs, Section, p_text
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.regression.logistic import LogisticFit
    from discrim.models.base.fit import FittedModel
    from discrim.models.regression.logistic_results import LogisticResults
    from discrim.models.regression.penalized import PenalizedLogisticResults

MOST_TESTED = 12
"""Terms up to which a summary tests each of them."""


def logistic_sections(results: LogisticResults, fit: FittedModel[LogisticFit]) -> Sections:
    """Sections of a logistic regression, in their order."""
    parts: Sections = {
        "header": _header,
        "classes": headers.classes_section,
        "log_odds": _log_odds,
        "odds_ratios": _odds_ratios,
    }
    # One term has the test of the whole model, in the header; each of many takes a search of its own.
    if fit.has_rows and fit.estimates.newton.converged and 1 < len(parts_of(fit.design_rows)) <= MOST_TESTED:
        parts["lr_terms"] = _lr_terms
    return parts


def _params(results: LogisticResults, fit: FittedModel[LogisticFit]) -> Section:
    params = results.params.rename_axis(index=None, columns=None)
    errors = headers.coefficient_errors(headers.score_sizes(fit.estimates.moments), headers.SCORES)
    return Section(f"Log odds against {results.reference}", params, errors=errors, source="fit.params")


logistic_brief: Sections = {"classes": headers.classes_section, "params": _params}
"""The short form: classes and coefficients."""


def _header(results: LogisticResults, fit: FittedModel[LogisticFit]) -> Pairs:
    test = results.lr_test()
    numbers = fit.estimates
    method = "bias reduced (Firth)" if numbers.bias_reduction else "maximum likelihood"
    robust = []
    if results.cov_type != "nonrobust":
        robust = [HeaderItem("Standard errors", results.cov_type, estimator_note(numbers.robust))]
    items: list[HeaderItem] = [
        *headers.row_items(fit),
        HeaderItem("Log-likelihood", results.llf, f"{results.llf:.2f}"),
        HeaderItem("LL, constants only", results.llnull, f"{results.llnull:.2f}"),
        HeaderItem(
            "Pseudo R-squared",
            results.prsquared,
            f"{results.prsquared:.4f}",
            "pseudo_r_squared",
            "pseudo R-squared",
        ),
        HeaderItem(f"LR chi-square({test.df:.0f})", test.statistic, f"{test.statistic:.2f}"),
        HeaderItem("P > chi-square", test.pvalue, p_text(test.pvalue)),
        *headers.size_items(fit),
        headers.prior_item(fit),
        HeaderItem("AIC", results.aic, f"{results.aic:.2f}"),
        HeaderItem("BIC", results.bic, f"{results.bic:.2f}"),
        HeaderItem("Estimates", method),
        HeaderItem("Steps", numbers.newton.steps),
        *robust,
        headers.error_item(fit, "apparent"),
    ]
    note = "" if numbers.newton.converged else results.separation.message
    return Pairs(results.formula, items, f"{headers.dropped_note(fit, 'over all rows')} {note}".strip())


def _log_odds(results: LogisticResults, fit: FittedModel[LogisticFit]) -> Section:
    table = results.log_odds()
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "general") | {"z": "z", "p": "p"}
    sizes = headers.score_sizes(fit.estimates.moments)
    return Section(
        f"Log odds against {results.reference}",
        table,
        formats,
        headings=INTERVAL | {"p": "P>|z|"},
        errors=np.tile(headers.coefficient_errors(sizes, headers.SCORES), len(table) // len(sizes)),
        note=headers.holds_note("log odds", results.params, sizes, headers.SCORES),
        source="fit.log_odds()",
    )


def _lr_terms(results: LogisticResults, fit: FittedModel[LogisticFit]) -> Section:
    penalized = "Penalized likelihood ratios. " if fit.estimates.bias_reduction else ""
    note = f"{penalized}{type_note(fit.design_rows)}"
    if results.cov_type != "nonrobust":
        note += f' They do not use {results.cov_type} standard errors: see wald_test(by="term").'
    formats: dict[Any, Any] = {"statistic": "z", "df": "count", "p": "tail"}
    try:
        table = results.lr_test(by="term")
    except DataError as error:
        # One test that was not found is no reason to show nothing of the fit.
        table = pd.DataFrame(columns=list(formats))
        note = f"Not tested. {error}"
    return Section("Likelihood ratio by term", table, formats, note=note, source='fit.lr_test(by="term")')


def _odds_ratios(results: LogisticResults, fit: FittedModel[LogisticFit]) -> Section:
    table = results.odds_ratios()
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "ratio")
    title = "Odds ratios for one unit of a column"
    return Section(title, table, formats, headings=INTERVAL, source="fit.odds_ratios()")


MOST_TERMS = 40
"""Terms that the summary shows."""

BRIEF = 10
"""Terms that the short form shows."""

NAMES = {"ridge": "ridge", "lasso": "lasso", "elastic_net": "elastic net"}


def penalized_logistic_sections(results: PenalizedLogisticResults, fit: FittedModel[Any]) -> Sections:
    """Sections of a penalized logistic regression, in their order."""
    parts: Sections = {"header": _penalized_header, "classes": headers.classes_section}
    parts["params"] = _penalized_params
    if len(results.classes) > 2:
        parts["class_params"] = partial(_penalized_params, by_class=True)
    if fit.path is not None:
        parts["path"] = _strength_path
    return parts


def _penalized_header(results: PenalizedLogisticResults, fit: FittedModel[Any]) -> Pairs:
    numbers = results._numbers
    penalty = results.penalty
    by_path = fit.path is not None
    search = fit.spec.search
    chosen = "not in the file" if fit.loaded else "given"
    if by_path:
        chosen = (
            f"{search.folds.description}, {'one SE' if search.penalty.select == '1se' else 'least deviance'}"
        )
    of = "log odds of two classes" if len(results.classes) == 2 else "symmetric, by class"
    every = numbers.beta[:, 1:].size
    nonzero = numbers.nonzero()
    items: list[HeaderItem] = [
        *headers.row_items(fit),
        HeaderItem("Penalty", penalty.name, NAMES[penalty.name]),
        HeaderItem(
            "Strength (lambda)", penalty.strength, f"{penalty.strength:.4g}", brief="strength (lambda)"
        ),
        HeaderItem("Chosen by", chosen, key="chosen_by", brief="chosen by" if by_path else ""),
        HeaderItem("L1 ratio (alpha)", penalty.l1_ratio, f"{penalty.l1_ratio:g}"),
        HeaderItem("Parametrization", of),
        HeaderItem(
            "Coefficients not zero", nonzero, f"{nonzero} of {every}", "n_nonzero", "coefficients not zero"
        ),
        HeaderItem(
            "Deviance explained",
            results.prsquared,
            f"{results.prsquared:.4f}",
            "deviance_explained",
            "deviance explained",
        ),
        *headers.size_items(fit),
        headers.prior_item(fit),
        HeaderItem("Steps", numbers.steps),
        headers.error_item(fit, "apparent"),
    ]
    note = (
        "The coefficients of columns divided by their standard deviations (divisor N) are penalized, "
        "and constants are not; those shown are in the columns' own units. KKT conditions hold to "
        f"{numbers.violation:.0e} of the strength. There are no standard errors: see the help."
    )
    if by_path:
        note += (
            " The apparent error is optimistic: the same rows chose the strength. error_rates(['cv']) "
            "chooses it anew in each fold."
        )
    return Pairs(results.formula, items, note)


def _penalized_params(
    results: PenalizedLogisticResults,
    fit: FittedModel[Any],
    most: int = MOST_TERMS,
    *,
    by_class: bool = False,
) -> Section:
    """The coefficients of the constant and of the largest terms."""
    selected = results.selected
    every = len(results.terms)
    heading = f"Log odds against {results.reference}"
    table = results.params
    source = "fit.params"
    notes = ["Largest first, of standardized columns."]
    if by_class:
        heading = "Coefficients by class, symmetric parametrization"
        table = results.class_params
        source = "fit.class_params"
        notes.append("The penalty is on these; their differences are the log odds.")
    if len(selected) > most:
        notes.append(f"And {len(selected) - most} more: fit.params.")
    if every > len(selected):
        zero = f"{every - len(selected)} of {every} terms"
        notes.append(f"{zero} have no part: all their coefficients are zero.")
    sizes = headers.score_sizes(fit.estimates.moments)
    # The constant comes first whatever a column is called.
    places = np.append(0, 1 + results.terms.get_indexer(selected[:most])).astype(np.intp)
    shown = table.iloc[places].rename_axis(index=None, columns=None)
    errors = headers.coefficient_errors(sizes, headers.SCORES)[places]
    notes.append(headers.holds_note("log odds", shown, sizes[places], headers.SCORES))
    return Section(heading, shown, errors=errors, note=" ".join(notes), source=source)


def _strength_path(results: PenalizedLogisticResults, fit: FittedModel[Any]) -> Section:
    table = headers.path_table(results.path, results.penalty.strength)
    formats: dict[Any, Any] = {
        "df": "count", "explained": "share", "deviance": "share", "se": "share", "error": "share",
        "chosen": "text",
    }  # fmt: skip
    note = "deviance is the mean of -2 ln P(class) of left-out rows."
    if results.penalty.strength == results.path["strength"].iloc[-1]:
        note += (
            " The chosen strength is the smallest that was tried; a smaller one may be better: give the "
            "penalty a grid=."
        )
    return Section(
        "Left-out deviance, by strength",
        table,
        formats,
        headings=INTERVAL | {"df": "not zero"},
        note=note,
        source="fit.path",
    )


penalized_logistic_brief: Sections = {
    "classes": headers.classes_section,
    "params": partial(_penalized_params, most=BRIEF),
}
"""The short form: classes, and the first of the coefficients."""
