"""Sections of the summary of naive Bayes (`NaiveBayesResults.summary`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.models.results import headers
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.moments.moments import ClassMoments
    from discrim.core.naive_bayes.naive_bayes import NaiveBayesFit
    from discrim.models.base.fit import FittedModel
    from discrim.models.naive_bayes.naive_bayes import NaiveBayesResults


def naive_bayes_sections(results: NaiveBayesResults, fit: FittedModel[NaiveBayesFit]) -> Sections:
    """Return the section functions of the full summary, by name, in their order.

    Each is a function of `results` and `fit` that returns a section. The names are "header" and the names of
    `naive_bayes_brief`; "deviations", standard deviations, if there are normal columns; and "available",
    numbers of observed values, for fits with missing="available".
    """
    brief_sections = naive_bayes_brief(results, fit)
    section_functions: Sections = {"header": _header_section, "classes": brief_sections.pop("classes")}
    if "means" in brief_sections:
        section_functions |= {
            "means": brief_sections.pop("means"),
            "deviations": _standard_deviations_section,
        }
    return (
        section_functions
        | brief_sections
        | ({} if fit.estimates.available is None else {"available": _available_section})
    )


def naive_bayes_brief(results: NaiveBayesResults, fit: FittedModel[NaiveBayesFit]) -> Sections:
    """Return the section functions of the short summary, by name, in their order.

    Each is a function of `results` and `fit` that returns a section. The names are "classes" and, for the
    families of columns that the fit has, "means" (normal), "tables" (categorical), "bandwidths" (kernel
    densities) and "multinomial" (counts).
    """
    plan = fit.estimates.plan
    densities: dict[str, Any] = {
        "means": (plan.normal_positions, _means_section),
        "tables": (plan.categorical_positions, _tables_section),
        "bandwidths": (plan.kernel_positions, _bandwidths_section),
        "multinomial": (plan.count_positions, _multinomial_section),
    }
    return {"classes": _classes_section} | {
        name: section for name, (columns, section) in densities.items() if len(columns)
    }


def _header_section(results: NaiveBayesResults, fit: FittedModel[NaiveBayesFit]) -> Pairs:
    """Return the header of the summary: rows, families of columns, prior, likelihood, criteria and errors.

    The errors are the apparent and the leave-one-out error.
    """
    items: list[HeaderItem] = [
        *headers.observation_items(fit),
        *headers.size_items(fit),
        *_density_items(results, fit),
        headers.prior_item(fit),
        headers.criterion_item(results, "llf", "Log-likelihood"),
        headers.criterion_item(results, "aic", "AIC"),
        headers.criterion_item(results, "bic", "BIC"),
        *headers.error_items(fit),
    ]
    return headers.header(fit, items)


def _density_items(results: NaiveBayesResults, fit: FittedModel[NaiveBayesFit]) -> list[HeaderItem]:
    """Return the header items of the families of columns that the fit has, with their numbers of columns.

    Normal columns also have the divisor of the variances and the smoothing, kernel densities the rule of the
    bandwidths, and categorical columns and counts share an item with Laplace's correction.
    """
    plan = fit.estimates.plan
    items: list[HeaderItem] = []
    if len(plan.normal_positions):
        divisor = f"1/{'n' if plan.method == 'mle' else '(n-1)'}"
        items.append(
            HeaderItem(
                "Normal columns",
                len(plan.normal_positions),
                f"{len(plan.normal_positions)}, variances {divisor}",
            )
        )
        smoothing_text = f"{results.smoothing:g} of the largest variance" if results.smoothing else "none"
        items.append(HeaderItem("Smoothing", results.smoothing, smoothing_text))
    if len(plan.categorical_positions):
        items.append(HeaderItem("Categorical columns", len(plan.categorical_positions)))
    if len(plan.kernel_positions):
        n_fixed = int((plan.bandwidths > 0).sum())
        rule = (
            "given"
            if n_fixed == len(plan.kernel_positions)
            else plan.rule + (f", {n_fixed} given" if n_fixed else "")
        )
        items.append(
            HeaderItem(
                "Kernel densities",
                len(plan.kernel_positions),
                f"{len(plan.kernel_positions)}, bandwidths {rule}",
            )
        )
    if len(plan.count_positions):
        items.append(HeaderItem("Columns of counts", len(plan.count_positions)))
    if len(plan.categorical_positions) or len(plan.count_positions):
        items.append(
            HeaderItem(
                "Laplace's correction", results.laplace, f"{results.laplace:g}" if results.laplace else "none"
            )
        )
    return items


def _classes_section(results: NaiveBayesResults, fit: FittedModel[NaiveBayesFit]) -> Section:
    """Return the section of the classes: prior, rows and, if all columns are normal, log determinants."""
    if not fit.estimates.is_normal:
        return headers.classes_section(results, fit)
    table = pd.DataFrame({"prior": results.prior, "n": results.counts, "logdet": results.logdet})
    formats: dict[Any, Any] = {"prior": "share", "n": "count", "logdet": "general"}
    title = "Classes, with the log determinants of their covariance matrices"
    return Section(title, table, formats, source="fit.prior, fit.counts, fit.logdet")


def _means_section(results: NaiveBayesResults, fit: FittedModel[NaiveBayesFit]) -> Section:
    """Return the section of the means of the normal columns by class.

    If there are many columns it has one row for each column and, except for fits with missing="available",
    standard deviations and F statistics.
    """
    if (moments := _normal_moments(fit)) is not None:
        return headers.means_section(fit, terms_and_moments=(results.normal_terms, moments))
    table = results.means.rename_axis(index=None)
    section = Section("Means", table, column_errors=headers.mean_rounding_errors(fit), source="fit.means")
    return headers.transpose_if_wide(section, "by_column")


def _standard_deviations_section(results: NaiveBayesResults, fit: FittedModel[NaiveBayesFit]) -> Section:
    """Return the section of the standard deviations of the normal columns, classes by columns.

    If there are many columns, it has one row for each column.
    """
    title = f"Standard deviations within classes, divisor {'n' if fit.estimates.method == 'mle' else 'n-1'}"
    if results.smoothing:
        title += ", smoothed"
    section = Section(title, results.sds.rename_axis(index=None), source="fit.sds")
    moments = _normal_moments(fit)
    ranking = None if moments is None else headers.rank_columns(moments)
    return headers.transpose_if_wide(section, "deviations_by_column", ranking)


def _normal_moments(fit: FittedModel[NaiveBayesFit]) -> ClassMoments | None:
    """Return the moments of the normal columns; None without normal columns or with missing="available"."""
    normal = fit.estimates.normal
    return None if normal is None or fit.estimates.available is not None else normal.moments


def _tables_section(results: NaiveBayesResults, fit: FittedModel[NaiveBayesFit]) -> Section:
    """Return the section of the level probabilities, with a row for each categorical column and level."""
    table = pd.concat({term: probabilities.T for term, probabilities in results.tables.items()})
    note = (
        "A probability of 0 excludes the class for any other values; see laplace=."
        if not results.laplace and (table == 0).any(axis=None)
        else ""
    )
    unnamed = table.set_axis(table.index.set_names([None, None])).rename_axis(columns=None)
    return Section(
        "Levels within classes, P(level | class)", unnamed, "share", note=note, source="fit.tables"
    )


def _bandwidths_section(results: NaiveBayesResults, fit: FittedModel[NaiveBayesFit]) -> Section:
    """Return the section of the bandwidths, classes by columns with kernel densities."""
    title = "Bandwidths of the kernel densities"
    return Section(title, results.bandwidths.rename_axis(index=None), source="fit.bandwidths")


def _available_section(results: NaiveBayesResults, fit: FittedModel[NaiveBayesFit]) -> Section:
    """Return the section of the numbers of observed values, or their weights, columns by classes."""
    table = results.available.T.rename_axis(index=None, columns=None)
    return Section(
        "Observed values of each column",
        table,
        "count",
        note="Each column is fitted to the rows in which it is observed.",
        source="fit.available",
    )


def _multinomial_section(results: NaiveBayesResults, fit: FittedModel[NaiveBayesFit]) -> Section:
    """Return the section of the multinomial probabilities of the counts, columns of counts by classes."""
    table = results.multinomial.T.rename_axis(index=None, columns=None)
    return Section(
        "Counts within classes, multinomial probabilities", table, "share", source="fit.multinomial"
    )
