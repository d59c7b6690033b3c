"""Summaries of linear, quadratic and regularized discriminant analysis.

For each model a function returns the section functions of its summary, by name, and a dict contains the
section functions of its short form. Each section function has the results and the fit as arguments. The
description of a covariance model names additional sections, such as flagged observations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.covariance.adjusted import ConditionalCovariance
from discrim.core.covariance.model import TARGET_UNITS
from discrim.models.base.fit import FittedModel
from discrim.models.base.labels import covariance_values, range_note
from discrim.models.base.reading import join_labels
from discrim.models.discriminant.covariance_models import describe, sphere_item
from discrim.models.discriminant.normal_fits import equal_covariance_tests
from discrim.models.evaluation.assessment import PassPredictions
from discrim.models.evaluation.validation import is_slow_to_evaluate
from discrim.models.results import headers
from discrim.models.results.geometry import class_sds
from discrim.report.grid import (
    SHARED_HEADINGS,
    Columns,
    HeaderItem,
    Pairs,
    Section,
    clean,
    format_pvalue,
    shorten,
    suits_decimals,
)
from discrim.report.tables import SectionFunctions, Sections, Summary, summarize

if TYPE_CHECKING:
    from discrim.core.covariance.covariance import Covariance
    from discrim.core.discriminant.lda import LDAFit
    from discrim.core.discriminant.qda import QDAFit
    from discrim.core.discriminant.rda import RDAFit
    from discrim.models.discriminant.lda import LDAResults
    from discrim.models.discriminant.qda import QDAResults
    from discrim.models.discriminant.rda import RDAResults
    from discrim.models.results.canonical import CanonicalResults

MAX_SCORE_ERROR = 0.01
"""Largest rounding error of differences of scores by printed coefficients, in standard deviations."""

MAX_RANKED_COLUMNS = 10
"""Largest number of columns of a ranking that a summary shows."""

MAX_SHOWN_COVARIANCES = 6
"""Largest number of classes whose covariance matrices a summary shows."""

MAX_PATH_ROWS = 15
"""Largest number of candidate numbers of principal axes that a summary shows."""

MAX_NAMED_ROWS = 8
"""Largest number of flagged observations that a summary names."""


# ---- linear discriminant analysis


def lda_sections(results: LDAResults, fit: FittedModel[LDAFit]) -> SectionFunctions:
    """Return the section functions of a linear discriminant analysis, by name, in their order.

    Each is a function of `results` and `fit` that returns a section. The names are "header", "classes",
    "means", "discriminants", "functions", "slopes", "adjusted_means", "flagged", "log_odds", "ranking",
    "path", "covariance" and "equal_covariances". Sections that the fit does not support are left out. With
    many columns "functions" and "covariance" are shown only if they are requested by name, and so is
    "discriminants" for two classes with "log_odds".
    """
    section_functions: Sections = {
        "header": _lda_header_section,
        "classes": headers.classes_section,
        "means": _means_section,
        "discriminants": _discriminants_section,
        "functions": _classification_functions_section,
    }
    if fit.estimates.covariates:
        section_functions |= {"slopes": _slopes_section, "adjusted_means": _adjusted_means_section}
    sections = describe(fit.estimates.covariance_model).sections
    if "flagged" in sections and fit.has_rows:
        section_functions["flagged"] = _flagged_section
    if fit.estimates.has_standard_errors:
        section_functions["log_odds"] = _log_odds_section
    if "ranking" in sections and fit.estimates.prior.max() < 1:
        section_functions["ranking"] = _ranking_section
    if fit.path is not None:
        section_functions["path"] = (
            _axes_path_section if "components" in fit.path else _shrinkage_path_section
        )
    section_functions["covariance"] = _within_covariance_section
    by_name = ["functions", "covariance"] if headers.has_many_columns(fit.terms) else []
    if by_name and "log_odds" in section_functions and len(fit.classes) == 2:
        # For two classes the coefficients of the only axis are proportional to the log odds.
        by_name.append("discriminants")
    return _add_equal_covariances(section_functions, fit, by_name)


def _lda_header_section(results: LDAResults, fit: FittedModel[LDAFit]) -> Pairs:
    """Return the header of the summary of `lda`.

    It has the items that `lda` and `qda` share and, if the fit has tests, Wilks' lambda with Rao's F and p.
    The note is on `ncomp=`, dropped columns, and the covariance model.
    """
    left_items, right_items = _common_header_items(results, fit, by_class=False)
    if fit.estimates.has_tests:
        test = results.wilks
        f, *dfs, _ = test.approximations["F"]
        df1, df2 = (f"{d:.6g}" for d in dfs)
        left_items.append(
            HeaderItem(
                "Wilks' lambda", test.statistic, f"{test.statistic:.4g}", "wilks_lambda", "Wilks' lambda"
            )
        )
        if np.isnan(f):
            left_items.append(HeaderItem("Rao's F", f, "not available"))
        else:
            f_text = f"{f:.2f}" if f < 1e6 else f"{f:.4e}"
            left_items += [
                HeaderItem(f"F({df1}, {df2})", f, f_text),
                HeaderItem("P > F", test.pvalue, format_pvalue(test.pvalue)),
            ]
    note = ""
    if fit.estimates.reduced_axes() is not None:
        m = fit.estimates.ncomp
        axes_text = "first canonical axis" if m == 1 else f"first {m} canonical axes"
        note = f"The rule uses the {axes_text} only (ncomp={m})."
    note = f"{note} {headers.dropped_note(fit, 'within classes')} {_covariance_note(fit)}"
    return headers.header(fit, [*left_items, *right_items], note.strip())


def _within_covariance_section(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    """Return the section of the covariance matrix within classes; with covariates, conditional on them."""
    q = fit.estimates.covariates
    divisor = "N" if fit.estimates.method == "mle" else f"N-K-{q}" if q else "N-K"
    covariance = fit.estimates.covariance
    shown_covariance = (
        covariance.residual_covariance if isinstance(covariance, ConditionalCovariance) else covariance
    )
    return _covariance_section(
        fit, shown_covariance, ("within classes", divisor), "fit.cov", by_class=False, first_column=q
    )


def _discriminants_section(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    """Return the section of the linear discriminants, terms by axes, and last the proportions of trace."""
    coefficients = np.vstack([results._discriminant_coefficients(), results._trace_proportions()])
    axes = [f"LD{i + 1}" for i in range(coefficients.shape[1])]
    table = Columns(coefficients, [*fit.terms, "Proportion of trace"], axes)
    note = "On each axis the largest standardized coefficient is positive."
    errors = headers.coefficient_errors(headers.difference_sizes(fit.estimates.moments), MAX_SCORE_ERROR)
    return Section(
        "Coefficients of linear discriminants (unit variance within classes)",
        table,
        row_formats={"Proportion of trace": "share"},
        errors=[*errors, np.inf],
        note=note if table.shape[1] else "The class means are equal: there is no linear discriminant.",
        source="fit.scaling",
        ranking=headers.rank_columns(fit.estimates.moments, 1)
        if headers.has_many_columns(fit.terms)
        else None,
        n_last_columns=0 if headers.has_many_columns(fit.terms) else None,
    )


def _slopes_section(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    """Return the section of the common slopes: coef, se, t, p, with rows named "column on covariate"."""
    table = results.covariate_model.slopes()[["coef", "se", "t", "p"]]
    table = table.set_axis([f"{column} on {covariate}" for covariate, column in table.index], axis=0)
    formats: dict[Any, Any] = {"coef": "general", "se": "general", "t": "z", "p": "p"}
    note = (
        "Classification uses the variables adjusted by these slopes; differences of the classes in the "
        f"covariates are ignored. t has {fit.estimates.residual_df:.6g} degrees of freedom."
    )
    title = "Common slopes on the covariates"
    return Section(
        title, table, formats, headings={"p": "P>|t|"}, note=note, source="fit.covariate_model.slopes()"
    )


def _adjusted_means_section(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    """Return the section of the class means at the overall means of the covariates, classes by columns."""
    moments = fit.estimates.moments
    q = fit.estimates.covariates
    means = results.covariate_model.adjusted_means()["adjusted"].to_numpy().reshape(len(fit.classes), -1)
    centre = moments.counts @ moments.class_means[:, :q] / moments.total
    covariate_means = ", ".join(
        f"{name} {value:.5g}" for name, value in zip(fit.terms[:q], centre, strict=True)
    )
    table = Columns(means, list(fit.classes), fit.terms[q:])
    note = f"At {covariate_means}, the overall means."
    return Section("Adjusted means", table, note=note, source="fit.covariate_model.adjusted_means()")


def _classification_functions_section(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    """Return the section of the classification functions, constant and terms by classes.

    For a table that is too long it is a note with the expression that returns the table.
    """
    source = "fit.coef, fit.intercept"
    long_table_note = headers.long_table_note(fit, "Classification functions", source)
    if long_table_note is not None:
        return long_table_note
    coef, constants = results._classification_functions()
    table = Columns(np.vstack([constants, coef]), ["constant", *fit.terms], fit.classes)
    sizes = headers.score_sizes(fit.estimates.moments)
    note = (
        "An observation is assigned to the class with the largest function; the constants include ln(prior). "
    )
    note += headers.precision_note(
        "the functions", np.vstack([constants, coef]), sizes, headers.MAX_SCORE_ERROR
    )
    errors = headers.coefficient_errors(sizes, headers.MAX_SCORE_ERROR)
    return Section("Classification functions", table, errors=errors, note=note, source=source)


def _log_odds_section(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    """Return the section of the log odds against the first class, with standard errors and 95 % intervals.

    The table has a row for each other class and term, or "constant". With many columns the section has a
    ranking by |z|. For a table that is too long it is a note with the expression that returns the table.
    """
    first, *others = fit.classes
    title = f"Log odds against {first} (asymptotic standard errors under the model)"
    source = "fit.log_odds()"
    long_table_note = headers.long_table_note(fit, title, source)
    if long_table_note is not None:
        return long_table_note
    columns = results._wald_columns(0, 0.95, debiased=False)
    terms = ["constant", *fit.terms]
    labels = [(label, term) for label in others for term in terms]
    table = Columns(list(columns.values()), labels, list(columns), ("class", "term"))
    formats: dict[Any, Any] = dict.fromkeys(columns, "general") | {"z": "z", "p": "p"}
    headings = SHARED_HEADINGS | {"p": "P>|z|"}
    errors = headers.coefficient_errors(
        headers.score_sizes(fit.estimates.moments), headers.MAX_LOG_ODDS_ERROR
    )
    repeated = np.tile(errors, len(others))
    zero_prior_classes = [
        label for label, class_prior in zip(fit.classes, fit.prior, strict=True) if class_prior == 0
    ]
    note = ""
    if zero_prior_classes:
        note = f"The constant is not finite for {join_labels(zero_prior_classes)}, whose prior is zero."
    section = Section(title, table, formats, headings=headings, errors=repeated, note=note, source=source)
    return (
        replace(section, ranking=("|z|", np.abs(columns["z"])))
        if headers.has_many_columns(fit.terms)
        else section
    )


def _ranking_section(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    """Return the section of the first `MAX_RANKED_COLUMNS` columns of the ranking: score, p, q, HC."""
    table = results.ranking(top=min(MAX_RANKED_COLUMNS, len(results.terms)))[["score", "p", "q", "HC"]]
    count_text = f", the first of {len(results.terms):,}" if len(table) < len(results.terms) else ""
    scores = "t-scores" if fit.estimates.covariance.is_diagonal else "CAT scores"
    formats: dict[Any, Any] = {"score": "z", "p": "p", "q": "p", "HC": "z"}
    title = f"Variables ranked by {scores}{count_text}"
    note = "q: false discovery rate; HC: higher criticism."
    return Section(title, table.rename_axis(index=None), formats, note=note, source="fit.ranking()")


# ---- its canonical variates

STRUCTURE_TITLES: dict[Any, str] = {
    "within": "pooled within-class correlations with the scores (Stata, SPSS)",
    "total": "total correlations with the scores (R's candisc)",
    "between": "between-class correlations with the scores (SAS)",
}
"""Types of structure coefficients, and the titles of their tables."""


def canonical_summary(result: CanonicalResults, sections: Sequence[str] | None = None) -> Summary:
    """Return the summary of a canonical analysis with the named sections (see `_canonical_sections`).

    By default it has all sections.
    """
    title = f"Canonical discriminant analysis: {result._fit.formula}"
    return summarize(title, _canonical_sections(result), pick=sections)


def _canonical_sections(result: CanonicalResults) -> dict[str, Callable[[], Section]]:
    """Return the section functions of a canonical analysis, by name, in their order.

    Each is a function without arguments. The names are "correlations", "dimensions", "raw", "standardized",
    "standardized_total", "structure_within", "structure_total", "structure_between" and "centroids". If the
    class means are equal, there is only "correlations", with an empty table. "standardized_total" and the
    structures "total" and "between" are left out for fits with covariates, and "standardized_total" also if
    the total weight is at most 1.
    """
    if not len(result.eigenvalues):
        empty_section = Section("Canonical correlations", pd.DataFrame(), note="The class means are equal.")
        return {"correlations": lambda: empty_section}
    section_functions: dict[str, Callable[[], Section]] = {
        "correlations": partial(variate_correlations_section, result, "W^-1 B"),
        "dimensions": lambda: dimension_tests_section(result.dimension_tests, _missing_tests_note(result)),
        "raw": partial(_raw_coefficients_section, result),
        "standardized": partial(_variate_section, result, "standardized"),
        "standardized_total": partial(_variate_section, result, "standardized_total"),
        **{
            f"structure_{structure_type}": partial(_structure_section, result, structure_type)
            for structure_type in STRUCTURE_TITLES
        },
        "centroids": partial(_variate_section, result, "centroids"),
    }
    if result._estimates.covariates:
        for name in ("standardized_total", "structure_total", "structure_between"):
            del section_functions[name]
    elif result._estimates.moments.total <= 1:
        # Total variances have the divisor N - 1, which is not positive.
        del section_functions["standardized_total"]
    return section_functions


VARIATE_TABLE_TITLES = {
    "standardized": "Standardized coefficients (pooled standard deviations within classes)",
    "standardized_total": "Standardized coefficients (total standard deviations)",
    "centroids": "Class means on the canonical variates",
}
"""Attributes of `CanonicalResults` that are shown as tables, and their titles."""


def _variate_section(result: CanonicalResults, name: str) -> Section:
    """Return the section of an attribute of a canonical analysis: a key of `VARIATE_TABLE_TITLES`."""
    table = getattr(result, name).rename_axis(index=None)
    return Section(VARIATE_TABLE_TITLES[name], table, shared=True, source=f".{name}")


def _structure_section(result: CanonicalResults, structure_type: Any) -> Section:
    """Return the section of the structure coefficients of a type: "within", "total" or "between"."""
    title = f"Structure coefficients: {STRUCTURE_TITLES[structure_type]}"
    table = result.structure(structure_type)
    return Section(title, table, shared=True, source=f'.structure("{structure_type}")')


def variate_correlations_section(result: Any, matrix: str) -> Section:
    """Return the section of eigenvalues and canonical correlations of classes or of a term of a formula.

    Parameters
    ----------
    result : object
        Canonical analysis with `eigenvalues`, `proportion`, `cumulative` and `correlations`.
    matrix : str
        The matrix of the eigenvalues for the title, such as "W^-1 B".

    Returns
    -------
    Section
        One row for each axis: eigenvalue, proportion, cumulative proportion and canonical correlation.
    """
    columns = [result.eigenvalues, result.proportion, result.cumulative, result.correlations]
    formats: dict[Any, Any] = {"proportion": "share", "cumulative": "share", "correlation": "share"}
    title = f"Eigenvalues of {matrix} and canonical correlations"
    headings = {"correlation": "canonical correlation"}
    return Section(title, pd.concat(columns, axis=1), formats, headings=headings)


def dimension_tests_section(tests: pd.DataFrame, further_note: str = "") -> Section:
    """Return the section of the dimension tests of a canonical analysis; `further_note` extends its note.

    `tests` has the columns wilks, F, df1, df2, p, chi2, df and p_chi2, and a row for each dimension.
    """
    df_columns = ("df1", "df2", "df")
    table = tests.assign(**{name: [f"{x:.6g}" for x in tests[name]] for name in df_columns})
    formats: dict[Any, Any] = {"wilks": "share", "F": "z", "p": "tail", "chi2": "z", "p_chi2": "tail"}
    return Section(
        "Tests that the current and all smaller canonical correlations are zero",
        table,
        formats | dict.fromkeys(df_columns, "text"),
        headings={"wilks": "Wilks' lambda", "p": "P>F", "p_chi2": "P>chi2"},
        note=f"Wilks' lambda with Rao's F; Bartlett's chi-square.{further_note}",
        source=".dimension_tests",
    )


def _missing_tests_note(result: CanonicalResults) -> str:
    """Return a note, after a space, if F or chi-square of some dimension is missing; else ""."""
    tests = result.dimension_tests
    total = result._estimates.moments.total
    if tests["F"].notna().all() and tests["chi2"].notna().all():
        return ""
    return (
        f" Missing if a total weight of {total:.6g} leaves no degrees of freedom for a test of "
        f"{len(result._fit.terms)} variables."
    )


def _raw_coefficients_section(result: CanonicalResults) -> Section:
    """Return the section of the raw canonical coefficients, with the constants in the first row."""
    table = pd.concat([result.constant.to_frame("constant").T, result.raw])
    sizes = headers.score_sizes(result._estimates.moments)
    described = result._system.description(result._estimates.covariates)
    note = f"{described}. {headers.precision_note('scores', table, sizes, headers.MAX_SCORE_ERROR)}"
    errors = headers.coefficient_errors(sizes, headers.MAX_SCORE_ERROR)
    return Section("Raw coefficients", table, errors=errors, note=note, source=".raw, .constant")


# ---- quadratic discriminant analysis


def qda_sections(results: QDAResults, fit: FittedModel[QDAFit]) -> SectionFunctions:
    """Return the section functions of a quadratic discriminant analysis, by name, in their order.

    Each is a function of `results` and `fit` that returns a section. The names are "header", "classes",
    "factors", "means", "axes", "deviations", "covariance <class>" for the first `MAX_SHOWN_COVARIANCES`
    classes (or one "covariance" if it is common), "flagged", "path" and "equal_covariances". Sections that
    the fit does not support are left out. With many columns "deviations" is added, and the covariances are
    shown only if they are requested by name, except covariances of scores (`ncomp=`).
    """
    covariance_model = fit.estimates.covariance_model
    section_functions: Sections = {"header": _qda_header_section, "classes": _log_determinants_section}
    if "factors" in describe(covariance_model).sections:
        section_functions["factors"] = _factors_section
    section_functions["means"] = _means_section
    has_many_columns = headers.has_many_columns(fit.terms)
    subspace = covariance_model.subspace
    has_save_axes = subspace is not None and subspace.is_supervised
    if has_save_axes:
        section_functions["axes"] = _save_axes_section
    if has_many_columns and not covariance_model.is_common:
        section_functions["deviations"] = _standard_deviations_section
    unconditional = set(section_functions)
    if covariance_model.is_common:
        section_functions["covariance"] = partial(_class_covariance_section, label=results.classes[0])
    else:
        for label in results.classes[:MAX_SHOWN_COVARIANCES]:
            covariance_section = _score_covariance_section if has_save_axes else _class_covariance_section
            section_functions[f"covariance {label}"] = partial(covariance_section, label=label)
    by_name = (
        [name for name in section_functions if name not in unconditional]
        if has_many_columns and not has_save_axes
        else []
    )
    if "flagged" in describe(covariance_model).sections and fit.has_rows:
        section_functions["flagged"] = _flagged_section
    if fit.path is not None:
        section_functions["path"] = (
            _axes_path_section if "components" in fit.path else _shrinkage_path_section
        )
    return _add_equal_covariances(section_functions, fit, by_name)


def _standard_deviations_section(results: QDAResults, fit: FittedModel[QDAFit]) -> Section:
    """Return the section of the standard deviations within classes, terms by classes."""
    sds = class_sds(fit.estimates)
    table = Columns(np.column_stack(sds), fit.terms, fit.classes)
    ranking = headers.rank_columns(fit.estimates.moments)
    errors = [*headers.mean_rounding_errors(fit).values()]
    title = f"Standard deviations within classes, divisor {'n' if fit.estimates.method == 'mle' else 'n-1'}"
    subspace = fit.estimates.subspace_model
    source = "fit.tidy()" if subspace is not None and subspace.is_supervised else "fit.covs"
    return Section(title, table, errors=errors, source=source, ranking=ranking, n_last_columns=0)


def _qda_header_section(results: QDAResults, fit: FittedModel[QDAFit]) -> Pairs:
    """Return the header of the summary of `qda`: the items that it shares with `lda`, by class.

    The covariance model provides the note, if it has one.
    """
    left_items, right_items = _common_header_items(results, fit, by_class=True)
    return headers.header(fit, [*left_items, *right_items], _covariance_note(fit))


def _save_axes_section(results: QDAResults, fit: FittedModel[QDAFit]) -> Section:
    """Return the section of the SAVE axes (`ncomp=`): terms by axes, and a last row of eigenvalues."""
    loadings = results.subspace.loadings
    eigenvalues = results.subspace.eigenvalues.to_numpy()
    coefficients = np.vstack([loadings.to_numpy(), eigenvalues[: loadings.shape[1]]])
    table = Columns(coefficients, [*fit.terms, "Eigenvalue"], list(loadings))
    has_many_columns = headers.has_many_columns(fit.terms)
    n_omitted = len(eigenvalues) - loadings.shape[1]
    note = "On each axis the largest coefficient of the standardized variables is positive."
    if n_omitted:
        omitted_text = f"{n_omitted} more eigenvalue{'s' * (n_omitted > 1)}"
        note += (
            f" {omitted_text}, the largest {eigenvalues[loadings.shape[1]]:.4f}: fit.subspace.eigenvalues."
        )
    return Section(
        "SAVE axes (unit total variance)",
        table,
        row_formats={"Eigenvalue": "share"},
        errors=[
            *headers.coefficient_errors(headers.difference_sizes(fit.estimates.moments), MAX_SCORE_ERROR),
            np.inf,
        ],
        note=note,
        source="fit.subspace.loadings",
        ranking=headers.rank_columns(fit.estimates.moments, 1) if has_many_columns else None,
        n_last_columns=0 if has_many_columns else None,
    )


def _score_covariance_section(results: QDAResults, fit: FittedModel[QDAFit], label: Any) -> Section:
    """Return the section of the covariance of a class for the scores on SAVE axes (`ncomp=`).

    Parameters
    ----------
    results : QDAResults
    fit : FittedModel
    label : object
        The class. The note of the last class that is shown counts the others.

    Returns
    -------
    Section
        The covariance, axes by axes, as a triangle.
    """
    k = list(results.classes).index(label)
    n_omitted = len(results.classes) - MAX_SHOWN_COVARIANCES
    divisor = "n" if fit.estimates.method == "mle" else "n-1"
    table = results.covs[label]
    note = ""
    if n_omitted > 0 and k == MAX_SHOWN_COVARIANCES - 1:
        note = f"{n_omitted} more {'class' if n_omitted == 1 else 'classes'}: fit.covs."
    return Section(
        f"Covariance matrix of the scores in {label}, divisor {divisor}",
        Columns(table.to_numpy(), list(table), list(table)),
        shared=True,
        triangle=True,
        note=note,
        source=f"fit.covs[{label!r}]",
    )


def _factors_section(results: QDAResults, fit: FittedModel[QDAFit]) -> Section:
    """Return the section of the factor analytic covariance.

    By class: dimensions, the largest and smallest variance of the signal, noise, and explained share.
    """
    table = results.covariance_model.factors.rename_axis(index=None)
    table = table.rename(columns={"largest": "signal, largest", "smallest": "signal, smallest"})
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "general")
    formats |= {"dimensions": "count", "explained": "share"}
    note = "Common covariance matrix of all classes." if fit.estimates.covariance_model.is_common else ""
    title = "Signal variances and noise variance"
    return Section(title, table, formats, note=note, source="fit.covariance_model.factors")


def _class_covariance_section(results: QDAResults, fit: FittedModel[QDAFit], label: Any) -> Section:
    """Return the section of the covariance of a class, or of the common covariance if the model has one.

    Parameters
    ----------
    results : QDAResults
    fit : FittedModel
    label : object
        The class; any class for a common covariance. The note of the last class that is shown counts the
        others.

    Returns
    -------
    Section
        The covariance as a triangle, or its variances if it is diagonal (see `_covariance_section`).
    """
    k = list(results.classes).index(label)
    n_omitted = len(results.classes) - MAX_SHOWN_COVARIANCES
    is_common = fit.estimates.covariance_model.is_common
    mle = fit.estimates.method == "mle"
    scope = "within classes" if is_common else f"in {label}"
    divisor = ("N" if mle else "N-K") if is_common else ("n" if mle else "n-1")
    note = ""
    if n_omitted > 0 and not is_common and k == MAX_SHOWN_COVARIANCES - 1:
        note = f"{n_omitted} more {'class' if n_omitted == 1 else 'classes'}: fit.covs."
    source = f"fit.covs[{label!r}]"
    return _covariance_section(
        fit,
        fit.estimates.covariances[k],
        (scope, divisor),
        source,
        by_class=True,
        note=note,
        name=f"correlations {label}",
    )


# ---- regularized discriminant analysis


def rda_sections(results: RDAResults, fit: FittedModel[RDAFit]) -> Sections:
    """Return the section functions of a regularized discriminant analysis, by name, in their order.

    Each is a function of `results` and `fit` that returns a section. The names are "header", "classes",
    "means" and "path", which is left out if the fit does not store the errors of a choice.
    """
    section_functions: Sections = {
        "header": _rda_header_section,
        "classes": _log_determinants_section,
        "means": _means_section,
    }
    return section_functions if fit.path is None else section_functions | {"path": _pair_errors_section}


def _rda_header_section(results: RDAResults, fit: FittedModel[RDAFit]) -> Pairs:
    """Return the header of the summary of `rda`: rows, alpha, gamma and their choice, prior and errors."""
    estimates = fit.estimates
    choice_text = choice_description(fit)
    divisors = "n, N" if estimates.method == "mle" else "n-1, N-K"
    choice_text += ", 1 SE rule" if estimates.cv is not None and estimates.select == "1se" else ""
    note = (
        "The errors are optimistic, because alpha and gamma were chosen from the same observations; "
        "error_rates(['cv']) chooses them again in each fold."
        if estimates.cv is not None
        else ""
    )
    if estimates.subspace_model is not None:
        note = f"{note} {describe(estimates.subspace_model).note(clean)}".strip()
    items = [
        *headers.observation_items(fit),
        *headers.size_items(fit),
        HeaderItem("Alpha", results.alpha, f"{results.alpha:g}", brief="alpha", options=("alpha",)),
        HeaderItem("Gamma", results.gamma, f"{results.gamma:g}", brief="gamma", options=("gamma",)),
        HeaderItem("Parametrization", estimates.parametrization, estimates.parametrization),
        *(
            [sphere_item(TARGET_UNITS[estimates.standardize])._replace(label="Ridge")]
            if estimates.subspace_model is None
            else describe(estimates.subspace_model).items(estimates.moments, estimates.covariances)
        ),
        HeaderItem("Divisors, by class and pooled", divisors, divisors),
        HeaderItem(
            "Chosen by",
            choice_text,
            choice_text,
            "chosen_by",
            "chosen by" if estimates.cv is not None else "",
        ),
        headers.prior_item(fit),
        headers.criterion_item(results, "llf", "Log-likelihood"),
        *headers.error_items(fit),
    ]
    return headers.header(fit, items, note)


def _pair_errors_section(results: RDAResults, fit: FittedModel[RDAFit]) -> Section:
    """Return the section of the errors by alpha (rows) and gamma (columns).

    For a fit that chose the number of axes, it is the section of the errors by this number.
    """
    if fit.path is not None and "components" in fit.path:
        return _axes_path_section(results, fit)
    table = results.path.pivot(index="alpha", columns="gamma", values="error")
    table.index = [f"{value:g}" for value in table.index]
    table.columns = [f"{value:g}" for value in table.columns]
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share")
    title = f"Error by {choice_description(fit)}, alpha (rows) by gamma (columns)"
    left_out_unit = "row" if fit.estimates.cv == "loo" else "fold"
    has_missing = table.isna().any(axis=None)
    note = f"Missing if a covariance matrix is singular without some {left_out_unit}." if has_missing else ""
    return Section(title, table, formats, note=note, source="fit.path")


def choice_description(fit: FittedModel[RDAFit]) -> str:
    """Describe how alpha and gamma were chosen: "given", "leave-one-out", "10-fold cross-validation", ..."""
    cv = fit.estimates.cv
    plan = fit.spec.search
    if cv is None:
        return "given"
    if plan is not None and plan.splits:
        return f"{cv} splits, given" + (", prior fixed" if fit.estimates.estimated_prior else "")
    return "leave-one-out" if cv == "loo" else f"{cv}-fold cross-validation"


# ---- sections that they share


def _common_header_items(
    results: LDAResults | QDAResults, fit: FittedModel[Any], *, by_class: bool
) -> tuple[list[Any], list[Any]]:
    """Return the header items that linear and quadratic fits share.

    Parameters
    ----------
    results : LDAResults or QDAResults
    fit : FittedModel
    by_class : bool
        Whether each class has its own covariance.

    Returns
    -------
    left_items : list of HeaderItem
        Numbers of observations, covariance, log-likelihood and parameters of the covariance model. A value
        that is a tuple by class becomes a dict by class label if `by_class`, else its first element.
    right_items : list of HeaderItem
        Numbers of classes and terms, prior, AIC, BIC and error rates.
    """
    covariance_model = fit.estimates.covariance_model
    moments = fit.estimates.moments
    covariances = fit.estimates.covariances if by_class else (fit.estimates.covariance,)
    covariance_text = describe(covariance_model).heading(by_class=by_class, mle=fit.estimates.method == "mle")
    left_items = [
        *headers.observation_items(fit),
        HeaderItem("Covariance", covariance_text, covariance_text),
        headers.criterion_item(results, "llf", describe(covariance_model).likelihood_label),
    ]
    for item in describe(covariance_model).items(moments, covariances):
        if isinstance(item.value, tuple):
            by_label = dict(zip(fit.classes, item.value, strict=True)) if by_class else item.value[0]
            item = item._replace(value=by_label)
        left_items.append(item)
    right_items = [
        *headers.size_items(fit),
        headers.prior_item(fit),
        headers.criterion_item(results, "aic", "AIC"),
        headers.criterion_item(results, "bic", "BIC"),
    ]
    # The summary omits leave-one-out if each row requires a search or a refit.
    return left_items, [
        *right_items,
        *headers.error_items(fit, left_out=not covariance_model.refits_each_row),
    ]


def _covariance_note(fit: FittedModel[Any]) -> str:
    """Return the note of the header on the covariance model; user text is cut to 90 characters."""
    note: str = describe(fit.estimates.covariance_model).note(lambda text: shorten(clean(text), 90))
    return note


def _log_determinants_section(results: QDAResults | RDAResults, fit: FittedModel[Any]) -> Section:
    """Return the section of the classes: prior, n (rows or weights), logdet, and any shrinkage."""
    table = pd.DataFrame({"prior": results.prior, "n": results.counts, "logdet": results.logdet})
    formats: dict[Any, Any] = {"prior": "share", "n": "count", "logdet": "general"}
    covariance_model = getattr(fit.estimates, "covariance_model", None)
    for shrinkage in () if covariance_model is None else covariance_model.shrinkages:
        table["shrinkage"] = shrinkage.values
        formats["shrinkage"] = "general"
    title = "Classes, with the log determinants of their covariance matrices"
    return Section(title, table, formats, source="fit.logdet")


def _means_section(results: LDAResults | QDAResults | RDAResults, fit: FittedModel[Any]) -> Section:
    """Return the section of the class means; for a table that is too long, a note that names `fit.means`."""
    model = getattr(fit.estimates, "covariance_model", None)
    title = "Means" if model is None else describe(model).means_title
    return headers.long_table_note(fit, title, "fit.means") or headers.means_section(fit, title)


def _covariance_section(
    fit: FittedModel[Any],
    covariance: Covariance,
    scope_and_divisor: tuple[str, str],
    source: str,
    *,
    by_class: bool,
    note: str = "",
    name: str = "correlations",
    first_column: int = 0,
) -> Section:
    """Return the section of a covariance matrix, as a triangle.

    If the matrix is diagonal, or was never computed in full, the section has its variances. If its values
    would need exponents, the section has a `replacement` with standard deviations and correlations, which is
    shown instead.

    Parameters
    ----------
    fit : FittedModel
    covariance : Covariance
        The covariance to show, of the columns of the fit from `first_column` to the last.
    scope_and_divisor : (str, str)
        Rows of the covariance, such as "within classes", and divisor, such as "N-K", for the title.
    source : str
        Expression that returns the covariance, such as "fit.cov", for the reader of the summary.
    by_class : bool
        Whether it is the covariance of one class.
    note : str
        First part of the note below the table.
    name : str
        Name of the table of correlations.
    first_column : int
        Position in the fit of the first column of `covariance`: with covariates, which come first, their
        number.

    Returns
    -------
    Section
        Terms by terms, or one row "variance" by terms.
    """
    moments = fit.estimates.moments
    covariance_model = fit.estimates.covariance_model
    terms = fit.terms[first_column:]
    (scope, divisor), scale = scope_and_divisor, moments.scale[first_column:]
    with np.errstate(over="ignore", under="ignore"):
        sd = covariance.sd / scale
        variances = (covariance.sd / scale) ** 2
    range_text = range_note([covariance], scale, terms)
    if covariance.is_diagonal or moments.scatter_type in ("thin", "thin class"):
        title = f"Variances {scope}, divisor {divisor}"
        if not covariance.is_diagonal:
            note = f"Full {covariance_model.name} covariance matrix, {len(terms)} x {len(terms)}: {source}."
        elif not by_class:
            title = f"Variances ({covariance_model.name} covariance matrix {scope}, divisor {divisor})"
        table = Columns(variances[None], ["variance"], terms)
        return Section(title, table, note=f"{note} {range_text}".strip(), source=source)
    title = describe(covariance_model).title(scope, divisor, by_class=by_class)
    note = f"{note} {range_text}".strip()
    values = covariance_values(covariance, scale)
    table = Columns(values, terms, terms)
    section = Section(title, table, shared=True, triangle=True, note=note, source=source)
    if suits_decimals(values.ravel().tolist()) or not (np.isfinite(sd) & (sd > 0)).all():
        return section
    matrix = covariance.matrix() / covariance.sd / covariance.sd[:, None]
    np.fill_diagonal(matrix, 1.0)
    sd_name = "sd" if "sd" not in terms else "standard deviation"
    correlations = Columns(np.column_stack([sd, matrix]), terms, [sd_name, *terms])
    formats: dict[Any, Any] = dict.fromkeys(terms, "share") | {sd_name: "general"}
    correlation_title = f"Standard deviations and correlations: {title[0].lower()}{title[1:]}"
    note = f"{note} Covariance matrix: {source}.".strip()
    errors = np.full(correlations.shape, np.inf)
    correlation_section = Section(
        correlation_title, correlations, formats, triangle=True, errors=errors, note=note, source=source
    )
    return replace(section, replacement=(name, correlation_section))


def _flagged_section(results: LDAResults | QDAResults, fit: FittedModel[Any]) -> Section:
    """Return the section of flagged observations by class, with the names of the most distant ones.

    The columns are the rows with a distance, the flagged rows, their share, and the largest distance.
    """
    table = results.covariance_model.robust_distances()
    flagged = table[table["flagged"]].sort_values("distance", ascending=False, kind="stable")
    class_table = pd.DataFrame(index=results.classes.rename(None))
    by_class = table.dropna(subset="distance").groupby("class", observed=False)
    class_table["rows"] = by_class.size().reindex(class_table.index, fill_value=0)
    class_table["flagged"] = by_class["flagged"].sum().reindex(class_table.index, fill_value=0)
    class_table["share"] = class_table["flagged"] / class_table["rows"]
    class_table["farthest"] = by_class["distance"].max().reindex(class_table.index)
    cutoff = float(table["cutoff"].iloc[0])
    note = (
        f"Flagged: robust distance from the class mean above {cutoff:.4g}, which 2.5 % of normal "
        "observations exceed."
    )
    if len(flagged):
        farthest_texts = [
            f"{shorten(clean(str(label)), 20)} ({distance:.3g})"
            for label, distance in zip(flagged.index[:MAX_NAMED_ROWS], flagged["distance"], strict=False)
        ]
        omitted_text = f" and {len(flagged) - MAX_NAMED_ROWS} more" if len(flagged) > MAX_NAMED_ROWS else ""
        note += f" Largest distances: {', '.join(farthest_texts)}{omitted_text}."
    formats: dict[Any, Any] = {"rows": "count", "flagged": "count", "share": "share", "farthest": "general"}
    return Section(
        "Flagged observations",
        class_table,
        formats,
        note=note,
        source="fit.covariance_model.robust_distances()",
    )


def _shrinkage_path_section(results: LDAResults | QDAResults, fit: FittedModel[Any]) -> Section:
    """Return the section of the leave-one-out errors and their standard errors by candidate shrinkage."""
    table = results.covariance_model.path.set_index("shrinkage").rename_axis(index=None)
    table.index = [f"{value:g}" for value in table.index]
    note = (
        "Missing if a covariance matrix is singular without some row, or if distances exceed double "
        "precision."
        if table["error"].isna().any()
        else ""
    )
    formats: dict[Any, Any] = {"error": "share", "se": "share"}
    title = "Leave-one-out error by shrinkage"
    return Section(
        title, table, formats, headings=SHARED_HEADINGS, note=note, source="fit.covariance_model.path"
    )


def _axes_path_section(results: Any, fit: FittedModel[Any]) -> Section:
    """Return the section of the errors by number of principal axes.

    Of many candidates about `MAX_PATH_ROWS` on a logarithmic scale are shown, and the chosen one.
    """
    path = results.subspace.path
    n_components = results.subspace.n_components
    steps = np.arange(len(path))
    if len(path) > MAX_PATH_ROWS:
        steps = np.unique(np.geomspace(1, len(path), MAX_PATH_ROWS).round().astype(int)) - 1
    chosen = int(np.flatnonzero(path["components"] == n_components)[0])
    table = path.iloc[np.unique([*steps, chosen])].set_index("components").rename_axis(index=None)
    table.index = [f"{count}{' *' if count == n_components else ''}" for count in table.index]
    formats: dict[Any, Any] = {"error": "share", "se": "share", "share": "share"}
    note = (
        "* chosen: the smallest number of axes with the smallest error. share: cumulative share of the total "
        "variance."
    )
    if len(table) < len(path):
        note += f" {len(table)} of {len(path)} candidates are shown; all: fit.subspace.path."
    return Section("Error by number of principal axes", table, formats, note=note, source="fit.subspace.path")


def _add_equal_covariances(
    section_functions: Sections, fit: FittedModel[Any], by_name: Sequence[str]
) -> SectionFunctions:
    """Return the section functions, with tests of equal covariance matrices if the fit supports them.

    Parameters
    ----------
    section_functions : dict of str to callable
        The other section functions, by name.
    fit : FittedModel
    by_name : sequence of str
        Sections that a summary shows only if they are requested by name.

    Returns
    -------
    SectionFunctions
        `section_functions`, and "equal_covariances" if the fit has rows and full covariances.
    """
    sections = SectionFunctions(section_functions, by_name)
    if fit.estimates.has_distances and fit.has_rows:
        sections["equal_covariances"] = _equal_covariances_section
        sections.preparations.append(({"header", "equal_covariances"}, _cache_errors_and_tests))
    return sections


def _cache_errors_and_tests(_: Any, fit: FittedModel[Any]) -> None:
    """Compute the apparent errors and the tests of equal covariances in one pass, and cache both.

    Does nothing if the errors are cached, or if predicting all rows takes long.
    """
    if "apparent" not in fit.cache and not is_slow_to_evaluate(fit):
        predictions = PassPredictions(fit)
        equal_covariance_tests(fit, predictions.wrap)
        predictions.store()


def _equal_covariances_section(results: LDAResults | QDAResults, fit: FittedModel[Any]) -> Section:
    """Return the section of the likelihood ratio test and of Box's M, with a verdict at 5 % in the note.

    The table has the columns statistic, df, df2 and p. If the tests cannot be computed, it is empty and the
    note has the reason.
    """
    title = "Tests of equal covariance matrices (LDA against QDA)"
    test_results = equal_covariance_tests(fit)
    if isinstance(test_results, str):
        empty = pd.DataFrame(columns=["statistic", "df", "p"])
        return Section(title, empty, "text", note=f"Not tested. {test_results}")
    ratio, box = test_results
    tests = {
        label: approximation
        for test in (ratio, box)
        for label, approximation in test.approximations.items()
        if label != "Box's M"
    }
    statistics, dfs, df2s, pvalues = zip(*tests.values(), strict=True)
    df_texts = [f"{d:.6g}" for d in dfs], ["" if np.isnan(d) else f"{d:.0f}" for d in df2s]
    table = Columns([statistics, *df_texts, pvalues], list(tests), ["statistic", "df", "df2", "p"])
    formats: dict[Any, Any] = {"statistic": "z", "df": "text", "df2": "text", "p": "tail"}
    rejected = [test.pvalue < 0.05 for test in (ratio, box)]
    is_pooled = fit.refits.required_moments(fit) == "pooled"
    see_also = "qda() and covariance_models()" if is_pooled else "covariance_models()"
    verdict = "The tests disagree at 5 %. In small samples the likelihood ratio test rejects too often."
    if all(rejected):
        verdict = f"Equal covariances are rejected at 5 %: see {see_also}."
    elif not any(rejected):
        verdict = "Equal covariances are not rejected at 5 %."
    return Section(title, table, formats, note=verdict, source="fit.box_m(), lr_test()")


lda_brief: Sections = {
    "classes": headers.classes_section,
    "means": _means_section,
    "discriminants": _discriminants_section,
}
"""Sections of the short summary of `lda`."""

qda_brief: Sections = {"classes": _log_determinants_section, "means": _means_section}
"""Sections of the short summary of `qda`."""

rda_brief = qda_brief
"""Sections of the short summary of `rda`."""
