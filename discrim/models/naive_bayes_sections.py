"""The sections of a naive Bayes classifier's summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.models.labels import known
from discrim.models.sections import error_pair
from discrim.report.numbers import clean, shorten
from discrim.report.tables import Pairs, Section, Summary

if TYPE_CHECKING:
    from discrim.models.naive_bayes import NaiveBayesResults

__all__ = ["naive_bayes_brief", "naive_bayes_sections"]


def naive_bayes_sections(fit: NaiveBayesResults) -> dict[str, Callable[[], Section | Pairs]]:
    """Sections of a Gaussian naive Bayes classifier, in their order."""
    return {
        "header": lambda: _header(fit),
        "classes": lambda: _classes(fit),
        "means": lambda: _means(fit),
        "deviations": lambda: _deviations(fit),
    }


def naive_bayes_brief(fit: NaiveBayesResults) -> Summary:
    """The short form: classes and means."""
    parts = {"classes": _classes(fit), "means": _means(fit)}
    return Summary(f"{fit.title}: {shorten(clean(fit.formula), 70)}", parts)


def _header(fit: NaiveBayesResults) -> Pairs:
    rows = "Rows used" if fit._blocks.weights is None else "Sum of weights"
    divisor = f"diagonal by class, 1/{'n' if fit._fit.method == 'mle' else '(n-1)'}"
    smoothing = f"{fit.smoothing:g} of the largest variance" if fit.smoothing else "none"
    items: list[tuple[str, Any, str]] = [
        (rows, fit.nobs, f"{fit.nobs:.9g}"),
        ("Rows dropped, missing", fit._dropped, str(fit._dropped)),
        ("Covariance", divisor, divisor),
        ("Smoothing", fit.smoothing, smoothing),
        ("Classes", len(fit.classes), str(len(fit.classes))),
        ("Columns", len(fit.terms), str(len(fit.terms))),
        ("Prior", *("class proportions" if fit._fit.estimated_prior else "given",) * 2),
    ]
    for name, label in (("llf", "Log-likelihood"), ("aic", "AIC"), ("bic", "BIC")):
        value = known(fit, name)
        items.append((label, value, "not available" if pd.isna(value) else f"{value:.2f}"))
    items.append(error_pair(fit, "apparent", "Error, apparent"))
    items.append(error_pair(fit, "loo", "Error, leave-one-out"))
    return Pairs(fit.formula, items)


def _classes(fit: NaiveBayesResults) -> Section:
    table = pd.DataFrame({"prior": fit.prior, "rows": fit.counts, "ln|S|": fit.logdet})
    formats: dict[Any, Any] = {"prior": "share", "rows": "count", "ln|S|": "general"}
    title = "Classes, with the log-determinants of their covariances"
    return Section(title, table, formats, source="fit.prior, fit.counts, fit.logdet")


def _means(fit: NaiveBayesResults) -> Section:
    return Section("Means", fit.means.rename_axis(index=None), source="fit.means")


def _deviations(fit: NaiveBayesResults) -> Section:
    table = fit.tidy().pivot(index="class", columns="term", values="sd").loc[fit.classes, fit.terms]
    title = f"Standard deviations within classes, divisor {'n' if fit._fit.method == 'mle' else 'n-1'}"
    if fit.smoothing:
        title += ", smoothed"
    return Section(title, table.rename_axis(index=None, columns=None), source="fit.tidy()")
