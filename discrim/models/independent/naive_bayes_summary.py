"""The sections of a naive Bayes classifier's summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.models.results.headers import (
    Sections,
    classes_section,
    criterion_item,
    error_items,
    header,
    prior_item,
    row_items,
    size_items,
    title,
)
from discrim.models.results.printed import mean_errors
from discrim.report.tables import Pairs, Section, Summary

if TYPE_CHECKING:
    from discrim.models.independent.naive_bayes_results import NaiveBayesResults

__all__ = ["naive_bayes_brief", "naive_bayes_sections"]


def naive_bayes_sections(fit: NaiveBayesResults) -> Sections:
    """Sections of a naive Bayes classifier, in their order."""
    plan = fit._fit.numbers.plan
    parts: Sections = {
        "header": lambda: _header(fit),
        "classes": lambda: _classes(fit),
    }
    if len(plan.normal):
        parts |= {"means": lambda: _means(fit), "deviations": lambda: _deviations(fit)}
    if len(plan.tables):
        parts["tables"] = lambda: _tables(fit)
    if len(plan.kernels):
        parts["bandwidths"] = lambda: _bandwidths(fit)
    if len(plan.counts):
        parts["multinomial"] = lambda: _multinomial(fit)
    if fit._fit.numbers.available is not None:
        parts["available"] = lambda: _available(fit)
    return parts


def naive_bayes_brief(fit: NaiveBayesResults) -> Summary:
    """The short form: classes, and the densities but for their spread."""
    parts = {key: part() for key, part in naive_bayes_sections(fit).items() if key not in _LONG}
    return Summary(title(fit), parts)


_LONG = ("header", "deviations", "available")


def _header(fit: NaiveBayesResults) -> Pairs:
    items: list[tuple[str, Any, str]] = [
        *row_items(fit),
        *size_items(fit),
        *_densities(fit),
        prior_item(fit),
        criterion_item(fit, "llf", "Log-likelihood"),
        criterion_item(fit, "aic", "AIC"),
        criterion_item(fit, "bic", "BIC"),
        *error_items(fit),
    ]
    return header(fit, items)


def _densities(fit: NaiveBayesResults) -> list[tuple[str, Any, str]]:
    """What columns there are, and how each kind is estimated."""
    plan = fit._fit.numbers.plan
    items: list[tuple[str, Any, str]] = []
    if len(plan.normal):
        divisor = f"1/{'n' if plan.method == 'mle' else '(n-1)'}"
        items.append(("Normal columns", len(plan.normal), f"{len(plan.normal)}, variances {divisor}"))
        share = f"{fit.smoothing:g} of the largest variance" if fit.smoothing else "none"
        items.append(("Smoothing", fit.smoothing, share))
    if len(plan.tables):
        items.append(("Categorical columns", len(plan.tables), str(len(plan.tables))))
    if len(plan.kernels):
        given = int((plan.bandwidths > 0).sum())
        rule = "given" if given == len(plan.kernels) else plan.rule + (f", {given} given" if given else "")
        items.append(("Kernel densities", len(plan.kernels), f"{len(plan.kernels)}, bandwidths {rule}"))
    if len(plan.counts):
        items.append(("Columns of counts", len(plan.counts), str(len(plan.counts))))
    if len(plan.tables) or len(plan.counts):
        items.append(("Laplace's correction", fit.laplace, f"{fit.laplace:g}" if fit.laplace else "none"))
    return items


def _classes(fit: NaiveBayesResults) -> Section:
    if not fit._fit.numbers.is_normal:
        return classes_section(fit)
    table = pd.DataFrame({"prior": fit.prior, "rows": fit.counts, "logdet": fit.logdet})
    formats: dict[Any, Any] = {"prior": "share", "rows": "count", "logdet": "general"}
    title = "Classes, with the log-determinants of their covariances"
    return Section(title, table, formats, source="fit.prior, fit.counts, fit.logdet")


def _means(fit: NaiveBayesResults) -> Section:
    table = fit.means.rename_axis(index=None)
    return Section("Means", table, column_errors=mean_errors(fit._fit), source="fit.means")


def _deviations(fit: NaiveBayesResults) -> Section:
    title = (
        f"Standard deviations within classes, divisor {'n' if fit._fit.numbers.method == 'mle' else 'n-1'}"
    )
    if fit.smoothing:
        title += ", smoothed"
    return Section(title, fit.sds.rename_axis(index=None), source="fit.sds")


def _tables(fit: NaiveBayesResults) -> Section:
    table = pd.concat({term: shares.T for term, shares in fit.tables.items()})
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share")
    note = (
        "An entry of 0 makes a row impossible in the class; laplace= is the way out."
        if not fit.laplace and (table == 0).any(axis=None)
        else ""
    )
    named = table.set_axis(table.index.set_names([None, None])).rename_axis(columns=None)
    return Section("Levels within classes, P(level | class)", named, formats, note=note, source="fit.tables")


def _bandwidths(fit: NaiveBayesResults) -> Section:
    title = "Bandwidths of the kernel densities"
    return Section(title, fit.bandwidths.rename_axis(index=None), source="fit.bandwidths")


def _available(fit: NaiveBayesResults) -> Section:
    table = fit.available.T.rename_axis(index=None, columns=None)
    return Section(
        "Rows that have each column",
        table,
        dict.fromkeys(table.columns, "count"),
        note="Each column is fitted to the rows that have it.",
        source="fit.available",
    )


def _multinomial(fit: NaiveBayesResults) -> Section:
    table = fit.multinomial.T.rename_axis(index=None, columns=None)
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share")
    return Section(
        "Counts within classes, multinomial probabilities", table, formats, source="fit.multinomial"
    )
