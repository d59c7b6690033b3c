"""The summary of a regularized discriminant analysis: which tables, under which words."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from discrim.models.normal.gaussian_summary import (
    brief_by_class,
    logdets_section,
    means_section,
    units_text,
)
from discrim.models.normal.rda_choice import chosen_by
from discrim.models.results.headers import Sections, error_items, header, prior_item, row_items, size_items
from discrim.report.tables import Pairs, Section

if TYPE_CHECKING:
    from discrim.models.normal.rda import RDAResults

__all__ = ["rda_brief", "rda_sections"]

rda_brief = brief_by_class


def rda_sections(fit: RDAResults) -> Sections:
    """Sections of a regularized discriminant analysis, in their order."""
    parts: Sections = {
        "header": partial(_regularized_header, fit),
        "classes": partial(logdets_section, fit),
        "means": partial(means_section, fit),
    }
    if "path" in fit._fit.cache:
        parts["path"] = partial(_path, fit)
    return parts


def _regularized_header(fit: RDAResults) -> Pairs:
    numbers, chosen = fit._fit.numbers, chosen_by(fit._fit)
    divisors = "n, N" if numbers.method == "mle" else "n-1, N-K"
    chosen += ", 1 SE rule" if numbers.cv is not None and numbers.select == "1se" else ""
    note = (
        "These errors keep alpha and gamma, which the same rows chose; error_rates(['cv']) chooses them anew."
        if numbers.cv is not None
        else ""
    )
    items = [
        *row_items(fit),
        *size_items(fit),
        ("Alpha", fit.alpha, f"{fit.alpha:g}"),
        ("Gamma", fit.gamma, f"{fit.gamma:g}"),
        ("Parametrization", numbers.parametrization, numbers.parametrization),
        ("Ridge", units_text(numbers.standardize), units_text(numbers.standardize)),
        ("Divisors, by class and pooled", divisors, divisors),
        ("Chosen by", chosen, chosen),
        prior_item(fit),
        ("Log-likelihood", fit.llf, f"{fit.llf:.2f}"),
        *error_items(fit),
    ]
    return header(fit, items, note)


def _path(fit: RDAResults) -> Section:
    table = fit.path.pivot(index="alpha", columns="gamma", values="error")
    table.index = [f"{value:g}" for value in table.index]
    table.columns = [f"{value:g}" for value in table.columns]
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share")
    title = f"Error by {chosen_by(fit._fit)}, alpha (rows) by gamma"
    without = "row" if fit._fit.numbers.cv == "loo" else "fold"
    note = (
        f"Missing where a covariance is singular without some {without}."
        if table.isna().any(axis=None)
        else ""
    )
    return Section(title, table, formats, note=note, source="fit.path")
