"""The sections of the summary of a penalized logistic regression."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.results.headers import (
    Sections,
    classes_section,
    error_item,
    prior_item,
    row_items,
    size_items,
    title,
)
from discrim.models.results.printed import SCORES, coefficient_errors, holds_note, score_sizes
from discrim.report.numbers import column_texts
from discrim.report.tables import INTERVAL, Pairs, Section, Summary

if TYPE_CHECKING:
    from discrim.models.regression.penalized_results import PenalizedLogisticResults

__all__ = ["penalized_logistic_brief", "penalized_logistic_sections"]

MOST_TERMS = 40
"""Terms that the summary shows."""

BRIEF = 10
"""Terms that the short form shows."""

MOST_STRENGTHS = 25
"""Strengths of a path that the summary shows."""

NAMES = {"ridge": "ridge", "lasso": "lasso", "elastic_net": "elastic net"}


def penalized_logistic_sections(fit: PenalizedLogisticResults) -> Sections:
    """Sections of a penalized logistic regression, in their order."""
    parts: Sections = {
        "header": partial(_header, fit),
        "classes": lambda: classes_section(fit),
        "params": partial(_params, fit),
    }
    if len(fit.classes) > 2:
        parts["class_params"] = partial(_class_params, fit)
    if "path" in fit._fit.cache:
        parts["path"] = partial(_path, fit)
    return parts


def penalized_logistic_brief(fit: PenalizedLogisticResults) -> Summary:
    """The short form: classes, and the first of the coefficients."""
    return Summary(title(fit), {"classes": classes_section(fit), "params": _params(fit, BRIEF)})


def _header(fit: PenalizedLogisticResults) -> Pairs:
    numbers, penalty = fit._numbers, fit.penalty
    by_path, search = "path" in fit._fit.cache, fit._fit.refits.asked
    chosen = "not in the file" if fit._fit.loaded else "given"
    if by_path:
        how = f"{search.folds} splits" if search.splits else f"{search.folds} folds"
        chosen = f"{how}, {'one SE' if search.select == '1se' else 'least deviance'}"
    of = "log odds of two classes" if len(fit.classes) == 2 else "symmetric, by class"
    every = numbers.beta[:, 1:].size
    nonzero = numbers.nonzero()
    items: list[tuple[str, Any, str]] = [
        *row_items(fit),
        ("Penalty", penalty.name, NAMES[penalty.name]),
        ("Strength (lambda)", penalty.strength, f"{penalty.strength:.4g}"),
        ("Chosen by", chosen, chosen),
        ("L1 ratio (alpha)", penalty.l1_ratio, f"{penalty.l1_ratio:g}"),
        ("Parametrization", of, of),
        ("Coefficients not zero", nonzero, f"{nonzero} of {every}"),
        ("Deviance explained", fit.prsquared, f"{fit.prsquared:.4f}"),
        *size_items(fit),
        prior_item(fit),
        ("Steps", numbers.steps, str(numbers.steps)),
        error_item(fit, "apparent", "Error, apparent"),
    ]
    note = (
        "The coefficients of columns divided by their standard deviations (divisor N) are penalized, "
        "and constants are not; those shown are in the columns' own units. KKT conditions hold to "
        f"{numbers.violation:.0e} of the strength. There are no standard errors: see the help."
    )
    if by_path:
        note += (
            " The apparent error is that of rows that have chosen the strength; error_rates(['cv']) chooses "
            "anew in each fold."
        )
    return Pairs(fit.formula, items, note)


def _order(fit: PenalizedLogisticResults, most: int) -> tuple[list[str], str]:
    """The terms to show, the constant first and then the largest, and how many are not shown."""
    shown = fit.selected
    zero, more = len(fit.terms) - len(shown), len(shown) - most
    said = []
    if more > 0:
        said.append(f"And {more} more: fit.params.")
    if zero:
        said.append(f"{zero} of {len(fit.terms)} terms have no part: all their coefficients are zero.")
    return ["constant", *shown[:most]], " ".join(said)


def _section(
    fit: PenalizedLogisticResults, heading: str, table: pd.DataFrame, most: int, note: str, source: str
) -> Section:
    terms, less = _order(fit, most)
    sizes = score_sizes(fit._fit.numbers.moments)
    # The constant comes first whatever a column is called.
    places = np.concatenate([[0], 1 + fit.terms.get_indexer(pd.Index(terms[1:]))]).astype(np.intp)
    shown = table.iloc[places].rename_axis(index=None, columns=None)
    errors = coefficient_errors(sizes, SCORES)[places]
    holds = holds_note("log odds", shown, sizes[places], SCORES)
    text = " ".join(each for each in ("Largest first, of standardized columns.", note, less, holds) if each)
    return Section(heading, shown, errors=errors, note=text, source=source)


def _params(fit: PenalizedLogisticResults, most: int = MOST_TERMS) -> Section:
    return _section(fit, f"Log odds against {fit.reference}", fit.params, most, "", "fit.params")


def _class_params(fit: PenalizedLogisticResults) -> Section:
    note = "These are penalized; their differences are the log odds."
    heading = "Coefficients by class, symmetric parametrization"
    return _section(fit, heading, fit.class_params, MOST_TERMS, note, "fit.class_params")


def _path(fit: PenalizedLogisticResults) -> Section:
    path = fit.path
    at = int((path["strength"] - fit.penalty.strength).abs().argmin())
    shown = np.arange(len(path))
    if len(path) > MOST_STRENGTHS:
        shown = np.union1d(np.linspace(0, len(path) - 1, MOST_STRENGTHS - 1).round().astype(int), [at])
    table = path.set_index("strength").iloc[shown]
    table.index = pd.Index(column_texts(path["strength"].iloc[shown].tolist(), "general"))
    table["chosen"] = np.where(shown == at, "*", "")
    formats: dict[Any, Any] = {
        "df": "count", "explained": "share", "deviance": "share", "se": "share", "error": "share",
        "chosen": "text",
    }  # fmt: skip
    return Section(
        "Rows left out, by strength",
        table,
        formats,
        headings=INTERVAL | {"df": "not zero"},
        note="deviance is the mean of -2 log P of rows left out.",
        source="fit.path",
    )
