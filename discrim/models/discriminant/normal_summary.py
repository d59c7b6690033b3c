"""Summaries of linear, quadratic and regularized discriminant analysis.

Each model has the sections of its summary and of its short form by name. Sections for one covariance model,
such as flagged observations, are named by the description of the covariance model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.covariance.adjusted import ConditionalCovariance
from discrim.core.covariance.model import SPHERES
from discrim.models.base.fit import FittedModel
from discrim.models.base.labels import covariance_values, range_note
from discrim.models.base.reading import listed
from discrim.models.discriminant.covariance_models import describe, sphere_item
from discrim.models.discriminant.normal_fits import equal_covariance_tests
from discrim.models.evaluation.assessment import PassPredictions, takes_long
from discrim.models.results import headers
from discrim.models.results.geometry import class_deviations
from discrim.report.grid import (
    INTERVAL,
    Columns,
    HeaderItem,
    Pairs,
    Section,
    clean,
    p_text,
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

DRAWN = 0.01
"""How far differences of discriminant scores by printed coefficients may be off, in standard deviations."""

FIRST = 10
"""Columns of a ranking that a summary shows."""

MOST_COVARIANCES = 6
"""Classes whose covariances a summary prints."""

MOST_STEPS = 15
"""Numbers of principal axes whose error a summary shows."""

MOST_NAMED = 8
"""Flagged rows that a summary names."""


# ---- linear discriminant analysis


def lda_sections(results: LDAResults, fit: FittedModel[LDAFit]) -> SectionFunctions:
    """Sections of a linear discriminant analysis, in their order."""
    parts: Sections = {
        "header": _linear_header,
        "classes": headers.classes_section,
        "means": _means,
        "discriminants": _discriminants,
        "functions": _functions,
    }
    if fit.estimates.covariates:
        parts |= {"slopes": _slopes, "adjusted_means": _adjusted_means}
    sections = describe(fit.estimates.covariance_model).sections
    if "flagged" in sections and fit.has_rows:
        parts["flagged"] = _flagged
    if fit.estimates.has_errors:
        parts["log_odds"] = _log_odds
    if "ranking" in sections and fit.estimates.prior.max() < 1:
        parts["ranking"] = _ranking
    if fit.path is not None:
        parts["path"] = _axes_path if "components" in fit.path else _shrinkage_path
    parts["covariance"] = _covariance_within
    by_name = ["functions", "covariance"] if headers.has_many_columns(fit.terms) else []
    if by_name and "log_odds" in parts and len(fit.classes) == 2:
        # One axis and the log odds have the same coefficients, but for their unit.
        by_name.append("discriminants")
    return _with_equal_covariances(parts, fit, by_name)


def _linear_header(results: LDAResults, fit: FittedModel[LDAFit]) -> Pairs:
    left, right = _common_header(results, fit, by_class=False)
    if fit.estimates.has_tests:
        test = results.wilks
        f, *free, _ = test.approximations["F"]
        df1, df2 = (f"{d:.6g}" for d in free)
        left.append(
            HeaderItem(
                "Wilks' lambda", test.statistic, f"{test.statistic:.4g}", "wilks_lambda", "Wilks' lambda"
            )
        )
        if np.isnan(f):
            left.append(HeaderItem("Rao's F", f, "not available"))
        else:
            shown = f"{f:.2f}" if f < 1e6 else f"{f:.4e}"
            left += [
                HeaderItem(f"F({df1}, {df2})", f, shown),
                HeaderItem("P > F", test.pvalue, p_text(test.pvalue)),
            ]
    note = ""
    if fit.estimates.reduced() is not None:
        m = fit.estimates.ncomp
        first = "first canonical axis" if m == 1 else f"first {m} canonical axes"
        note = f"The rule uses the {first} only (ncomp={m})."
    note = f"{note} {headers.dropped_note(fit, 'within classes')} {_covariance_note(fit)}"
    return headers.header(fit, [*left, *right], note.strip())


def _covariance_within(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    q = fit.estimates.covariates
    divisor = "N" if fit.estimates.method == "mle" else f"N-K-{q}" if q else "N-K"
    covariance = fit.estimates.covariance
    held = covariance.rest if isinstance(covariance, ConditionalCovariance) else covariance
    return _covariance(fit, held, ("within classes", divisor), "fit.cov", by_class=False, first=q)


def _discriminants(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    numbers = np.vstack([results._coefficients(), results._shares()])
    axes = [f"LD{i + 1}" for i in range(numbers.shape[1])]
    table = Columns(numbers, [*fit.terms, "Share of trace"], axes)
    note = "On each axis the largest standardized coefficient is positive."
    errors = headers.coefficient_errors(headers.difference_sizes(fit.estimates.moments), DRAWN)
    return Section(
        "Discriminants (unit variance within classes)",
        table,
        row_formats={"Share of trace": "share"},
        errors=[*errors, np.inf],
        note=note if table.shape[1] else "The class means do not differ: there is no discriminant.",
        source="fit.scaling",
        worth=headers.worth(fit.estimates.moments, 1) if headers.has_many_columns(fit.terms) else None,
        last=0 if headers.has_many_columns(fit.terms) else None,
    )


def _slopes(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    """Slopes on the covariates, which the classes share."""
    table = results.covariate_model.slopes()[["coef", "se", "t", "p"]]
    table = table.set_axis([f"{column} on {covariate}" for covariate, column in table.index], axis=0)
    formats: dict[Any, Any] = {"coef": "general", "se": "general", "t": "z", "p": "p"}
    note = (
        "The rule compares the columns after these slopes are taken out; differences of the classes in a "
        f"covariate do not count. t has {fit.estimates.residual_df:.6g} degrees of freedom."
    )
    title = "Slopes on the covariates, common to the classes"
    return Section(
        title, table, formats, headings={"p": "P>|t|"}, note=note, source="fit.covariate_model.slopes()"
    )


def _adjusted_means(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    """Class means at equal covariates."""
    moments = fit.estimates.moments
    q = fit.estimates.covariates
    means = results.covariate_model.adjusted_means()["adjusted"].to_numpy().reshape(len(fit.classes), -1)
    centre = moments.counts @ moments.class_means[:, :q] / moments.total
    at = ", ".join(f"{name} {value:.5g}" for name, value in zip(fit.terms[:q], centre, strict=True))
    table = Columns(means, list(fit.classes), fit.terms[q:])
    note = f"At {at}, the mean of all rows."
    return Section(
        "Adjusted means, at equal covariates", table, note=note, source="fit.covariate_model.adjusted_means()"
    )


def _functions(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    source = "fit.coef, fit.intercept"
    short = headers.long_table_note(fit, "Classification functions", source)
    if short is not None:
        return short
    coef, constants = results._functions()
    table = Columns(np.vstack([constants, coef]), ["constant", *fit.terms], fit.classes)
    sizes = headers.score_sizes(fit.estimates.moments)
    note = (
        "An observation is assigned to the class whose function is largest; the constants contain ln(prior). "
    )
    note += headers.precision_note("the functions", np.vstack([constants, coef]), sizes, headers.SCORES)
    errors = headers.coefficient_errors(sizes, headers.SCORES)
    return Section("Classification functions", table, errors=errors, note=note, source=source)


def _log_odds(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    first, *others = fit.classes
    title = f"Log odds against {first} (asymptotic standard errors under the model)"
    source = "fit.log_odds()"
    short = headers.long_table_note(fit, title, source)
    if short is not None:
        return short
    columns = results._wald(0, 0.95, debiased=False)
    terms = ["constant", *fit.terms]
    labels = [(label, term) for label in others for term in terms]
    table = Columns(list(columns.values()), labels, list(columns), ("class", "term"))
    formats: dict[Any, Any] = dict.fromkeys(columns, "general") | {"z": "z", "p": "p"}
    headings = INTERVAL | {"p": "P>|z|"}
    errors = headers.coefficient_errors(headers.score_sizes(fit.estimates.moments), headers.LOG_ODDS)
    repeated = np.tile(errors, len(others))
    none = [label for label, share in zip(fit.classes, fit.prior, strict=True) if share == 0]
    note = f"No finite constant: {listed(none)} with a prior of zero." if len(none) else ""
    section = Section(title, table, formats, headings=headings, errors=repeated, note=note, source=source)
    return (
        replace(section, worth=("|z|", np.abs(columns["z"])))
        if headers.has_many_columns(fit.terms)
        else section
    )


def _ranking(results: LDAResults, fit: FittedModel[LDAFit]) -> Section:
    table = results.ranking(top=min(FIRST, len(results.terms)))[["score", "p", "q", "HC"]]
    more = f", the first of {len(results.terms):,}" if len(table) < len(results.terms) else ""
    scores = "t-scores" if fit.estimates.covariance.is_diagonal else "CAT scores"
    formats: dict[Any, Any] = {"score": "z", "p": "p", "q": "p", "HC": "z"}
    title = f"Columns by their {scores}{more}"
    note = "q: false discovery rate; HC: higher criticism."
    return Section(title, table.rename_axis(index=None), formats, note=note, source="fit.ranking()")


# ---- its canonical variates

STRUCTURES: dict[Any, str] = {
    "within": "correlations with the scores within classes (as Stata, SPSS)",
    "total": "total correlations with the scores (as R's candisc)",
    "between": "correlations of the class means",
}


def canonical_summary(result: CanonicalResults, sections: Sequence[str] | None = None) -> Summary:
    """Return the summary of a canonical analysis, or some of its sections."""
    title = f"Canonical discriminant analysis: {result._fit.formula}"
    return summarize(title, _canonical_sections(result), pick=sections)


def _canonical_sections(result: CanonicalResults) -> dict[str, Callable[[], Section]]:
    """Sections of a canonical analysis, in their order."""
    if not len(result.eigenvalues):
        nothing = Section("Canonical correlations", pd.DataFrame(), note="The class means do not differ.")
        return {"correlations": lambda: nothing}
    parts: dict[str, Callable[[], Section]] = {
        "correlations": partial(variate_correlations, result, "W^-1 B"),
        "dimensions": lambda: variate_tests(result.dimension_tests, _without_freedom(result)),
        "raw": partial(_raw_coefficients, result),
        "standardized": partial(_on_the_axes, result, "standardized"),
        "standardized_total": partial(_on_the_axes, result, "standardized_total"),
        **{f"structure_{kind}": partial(_structure, result, kind) for kind in STRUCTURES},
        "centroids": partial(_on_the_axes, result, "centroids"),
    }
    if result._numbers.covariates:
        for name in ("standardized_total", "structure_total", "structure_between"):
            del parts[name]
    elif result._numbers.moments.total <= 1:
        # No variance over all rows is defined by weights that sum to so little.
        del parts["standardized_total"]
    return parts


ON_THE_AXES = {
    "standardized": "Standardized coefficients (pooled standard deviations within classes)",
    "standardized_total": "Standardized coefficients (total standard deviations)",
    "centroids": "Class means on the canonical variates",
}


def _on_the_axes(result: CanonicalResults, name: str) -> Section:
    table = getattr(result, name).rename_axis(index=None)
    return Section(ON_THE_AXES[name], table, shared=True, source=f".{name}")


def _structure(result: CanonicalResults, kind: Any) -> Section:
    title = f"Structure: {STRUCTURES[kind]}"
    table = result.structure(kind)
    return Section(title, table, shared=True, source=f'.structure("{kind}")')


def variate_correlations(result: Any, matrix: str) -> Section:
    """Eigenvalues of a matrix and canonical correlations, for classes or a term."""
    parts = [result.eigenvalues, result.proportion, result.cumulative, result.correlations]
    formats: dict[Any, Any] = {"proportion": "share", "cumulative": "share", "correlation": "share"}
    return Section(f"Eigenvalues of {matrix} and canonical correlations", pd.concat(parts, axis=1), formats)


def variate_tests(tests: pd.DataFrame, more: str = "") -> Section:
    """Tests of the dimensions of a canonical analysis."""
    freedom = ("df1", "df2", "df")
    table = tests.assign(**{name: [f"{x:.6g}" for x in tests[name]] for name in freedom})
    formats: dict[Any, Any] = {"wilks": "share", "F": "z", "p": "tail", "chi2": "z", "p_chi2": "tail"}
    return Section(
        "Tests that this and all later eigenvalues are zero",
        table,
        formats | dict.fromkeys(freedom, "text"),
        note=f"Wilks' lambda with Rao's F; Bartlett's chi-square.{more}",
        source=".dimension_tests",
    )


def _without_freedom(result: CanonicalResults) -> str:
    tests = result.dimension_tests
    total = result._numbers.moments.total
    if tests["F"].notna().all() and tests["chi2"].notna().all():
        return ""
    return (
        f" Missing where a total weight of {total:.6g} leaves no degrees of freedom for a test of "
        f"{len(result._fit.terms)} columns."
    )


def _raw_coefficients(result: CanonicalResults) -> Section:
    table = pd.concat([result.constant.to_frame("constant").T, result.raw])
    sizes = headers.score_sizes(result._numbers.moments)
    described = result._system.description(result._numbers.covariates)
    note = f"{described}. {headers.precision_note('scores', table, sizes, headers.SCORES)}"
    errors = headers.coefficient_errors(sizes, headers.SCORES)
    return Section("Raw coefficients", table, errors=errors, note=note, source=".raw, .constant")


# ---- quadratic discriminant analysis


def qda_sections(results: QDAResults, fit: FittedModel[QDAFit]) -> SectionFunctions:
    """Sections of a quadratic discriminant analysis, in their order."""
    covariance_model = fit.estimates.covariance_model
    parts: Sections = {"header": _quadratic_header, "classes": _log_determinants}
    if "factors" in describe(covariance_model).sections:
        parts["factors"] = _factors
    parts["means"] = _means
    wide = headers.has_many_columns(fit.terms)
    subspace = covariance_model.subspace
    sliced = subspace is not None and subspace.is_supervised
    if sliced:
        parts["axes"] = _save_axes
    if wide and not covariance_model.is_common:
        parts["deviations"] = _deviations
    shown = set(parts)
    if covariance_model.is_common:
        parts["covariance"] = partial(_covariance_in, label=results.classes[0])
    else:
        for label in results.classes[:MOST_COVARIANCES]:
            own = _covariance_of_scores if sliced else _covariance_in
            parts[f"covariance {label}"] = partial(own, label=label)
    by_name = [name for name in parts if name not in shown] if wide and not sliced else []
    if "flagged" in describe(covariance_model).sections and fit.has_rows:
        parts["flagged"] = _flagged
    if fit.path is not None:
        parts["path"] = _axes_path if "components" in fit.path else _shrinkage_path
    return _with_equal_covariances(parts, fit, by_name)


def _deviations(results: QDAResults, fit: FittedModel[QDAFit]) -> Section:
    """Standard deviations by class, one row for each column."""
    sds = class_deviations(fit.estimates)
    table = Columns(np.column_stack(sds), fit.terms, fit.classes)
    worth = headers.worth(fit.estimates.moments)
    errors = [*headers.mean_errors(fit).values()]
    title = f"Standard deviations in the classes, divisor {'n' if fit.estimates.method == 'mle' else 'n-1'}"
    subspace = fit.estimates.within_axes
    source = "fit.tidy()" if subspace is not None and subspace.is_supervised else "fit.covs"
    return Section(title, table, errors=errors, source=source, worth=worth, last=0)


def _quadratic_header(results: QDAResults, fit: FittedModel[QDAFit]) -> Pairs:
    left, right = _common_header(results, fit, by_class=True)
    return headers.header(fit, [*left, *right], _covariance_note(fit))


def _save_axes(results: QDAResults, fit: FittedModel[QDAFit]) -> Section:
    """Directions of the axes of `ncomp=`, and their eigenvalues."""
    loadings = results.subspace.loadings
    eigenvalues = results.subspace.eigenvalues.to_numpy()
    numbers = np.vstack([loadings.to_numpy(), eigenvalues[: loadings.shape[1]]])
    table = Columns(numbers, [*fit.terms, "Eigenvalue"], list(loadings))
    wide = headers.has_many_columns(fit.terms)
    left = len(eigenvalues) - loadings.shape[1]
    note = "On each axis the largest coefficient of columns over their standard deviations is positive."
    if left:
        beyond = f"{left} more eigenvalue{'s' * (left > 1)}"
        note += f" {beyond}, the largest {eigenvalues[loadings.shape[1]]:.4f}: fit.subspace.eigenvalues."
    return Section(
        "Axes by SAVE (unit variance over all rows)",
        table,
        row_formats={"Eigenvalue": "share"},
        errors=[*headers.coefficient_errors(headers.difference_sizes(fit.estimates.moments), DRAWN), np.inf],
        note=note,
        source="fit.subspace.loadings",
        worth=headers.worth(fit.estimates.moments, 1) if wide else None,
        last=0 if wide else None,
    )


def _covariance_of_scores(results: QDAResults, fit: FittedModel[QDAFit], label: Any) -> Section:
    """Covariance of a class on the axes of `ncomp=`."""
    k = list(results.classes).index(label)
    more = len(results.classes) - MOST_COVARIANCES
    divisor = "n" if fit.estimates.method == "mle" else "n-1"
    table = results.covs[label]
    note = ""
    if more > 0 and k == MOST_COVARIANCES - 1:
        note = f"{more} more {'class' if more == 1 else 'classes'}: fit.covs."
    return Section(
        f"Covariance of the scores in {label}, divisor {divisor}",
        Columns(table.to_numpy(), list(table), list(table)),
        shared=True,
        triangle=True,
        note=note,
        source=f"fit.covs[{label!r}]",
    )


def _factors(results: QDAResults, fit: FittedModel[QDAFit]) -> Section:
    """Dimensions, variances of signal and noise, and share explained by the signal, by class."""
    table = results.covariance_model.factors.rename_axis(index=None)
    table = table.rename(columns={"largest": "signal, largest", "smallest": "signal, smallest"})
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "general")
    formats |= {"dimensions": "count", "explained": "share"}
    note = "One covariance for all classes." if fit.estimates.covariance_model.is_common else ""
    title = "Variances on the axes of the signal, and of the noise beyond them"
    return Section(title, table, formats, note=note, source="fit.covariance_model.factors")


def _covariance_in(results: QDAResults, fit: FittedModel[QDAFit], label: Any) -> Section:
    k = list(results.classes).index(label)
    more = len(results.classes) - MOST_COVARIANCES
    common = fit.estimates.covariance_model.is_common
    mle = fit.estimates.method == "mle"
    where = "within classes" if common else f"in {label}"
    divisor = ("N" if mle else "N-K") if common else ("n" if mle else "n-1")
    note = ""
    if more > 0 and not common and k == MOST_COVARIANCES - 1:
        note = f"{more} more {'class' if more == 1 else 'classes'}: fit.covs."
    source = f"fit.covs[{label!r}]"
    return _covariance(
        fit,
        fit.estimates.covariances[k],
        (where, divisor),
        source,
        by_class=True,
        note=note,
        name=f"correlations {label}",
    )


# ---- regularized discriminant analysis


def rda_sections(results: RDAResults, fit: FittedModel[RDAFit]) -> Sections:
    """Sections of a regularized discriminant analysis, in their order."""
    parts: Sections = {"header": _regularized_header, "classes": _log_determinants, "means": _means}
    return parts if fit.path is None else parts | {"path": _errors_of_pairs}


def _regularized_header(results: RDAResults, fit: FittedModel[RDAFit]) -> Pairs:
    numbers = fit.estimates
    chosen = chosen_by(fit)
    divisors = "n, N" if numbers.method == "mle" else "n-1, N-K"
    chosen += ", 1 SE rule" if numbers.cv is not None and numbers.select == "1se" else ""
    note = (
        "These errors are optimistic: the same rows chose alpha and gamma, which error_rates(['cv']) chooses "
        "anew."
        if numbers.cv is not None
        else ""
    )
    if numbers.within_axes is not None:
        note = f"{note} {describe(numbers.within_axes).note(clean)}".strip()
    items = [
        *headers.row_items(fit),
        *headers.size_items(fit),
        HeaderItem("Alpha", results.alpha, f"{results.alpha:g}", brief="alpha", options=("alpha",)),
        HeaderItem("Gamma", results.gamma, f"{results.gamma:g}", brief="gamma", options=("gamma",)),
        HeaderItem("Parametrization", numbers.parametrization, numbers.parametrization),
        *(
            [sphere_item(SPHERES[numbers.standardize])._replace(label="Ridge")]
            if numbers.within_axes is None
            else describe(numbers.within_axes).items(numbers.moments, numbers.covariances)
        ),
        HeaderItem("Divisors, by class and pooled", divisors, divisors),
        HeaderItem("Chosen by", chosen, chosen, "chosen_by", "chosen by" if numbers.cv is not None else ""),
        headers.prior_item(fit),
        headers.criterion_item(results, "llf", "Log-likelihood"),
        *headers.error_items(fit),
    ]
    return headers.header(fit, items, note)


def _errors_of_pairs(results: RDAResults, fit: FittedModel[RDAFit]) -> Section:
    if fit.path is not None and "components" in fit.path:
        return _axes_path(results, fit)
    table = results.path.pivot(index="alpha", columns="gamma", values="error")
    table.index = [f"{value:g}" for value in table.index]
    table.columns = [f"{value:g}" for value in table.columns]
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share")
    title = f"Error by {chosen_by(fit)}, alpha (rows) by gamma"
    without = "row" if fit.estimates.cv == "loo" else "fold"
    missing = table.isna().any(axis=None)
    note = f"Missing where a covariance is singular without some {without}." if missing else ""
    return Section(title, table, formats, note=note, source="fit.path")


def chosen_by(fit: FittedModel[RDAFit]) -> str:
    """Describe how alpha and gamma were chosen."""
    cv = fit.estimates.cv
    plan = fit.spec.search
    if cv is None:
        return "given"
    if plan is not None and plan.splits:
        return f"{cv} splits that were given" + (", prior held" if fit.estimates.estimated_prior else "")
    return "leave-one-out" if cv == "loo" else f"{cv}-fold cross-validation"


# ---- sections that they share


def _common_header(
    results: LDAResults | QDAResults, fit: FittedModel[Any], *, by_class: bool
) -> tuple[list[Any], list[Any]]:
    """Return the left and the right items of the header that linear and quadratic fits share."""
    covariance_model = fit.estimates.covariance_model
    moments = fit.estimates.moments
    covariances = fit.estimates.covariances if by_class else (fit.estimates.covariance,)
    words = describe(covariance_model).heading(by_class=by_class, mle=fit.estimates.method == "mle")
    left = [
        *headers.row_items(fit),
        HeaderItem("Covariance", words, words),
        headers.criterion_item(results, "llf", describe(covariance_model).likelihood_label),
    ]
    for item in describe(covariance_model).items(moments, covariances):
        if isinstance(item.value, tuple):
            by_label = dict(zip(fit.classes, item.value, strict=True)) if by_class else item.value[0]
            item = item._replace(value=by_label)
        left.append(item)
    right = [
        *headers.size_items(fit),
        headers.prior_item(fit),
        headers.criterion_item(results, "aic", "AIC"),
        headers.criterion_item(results, "bic", "BIC"),
    ]
    # Leaving out each row by a search, or a fit, is not for a summary.
    return left, [*right, *headers.error_items(fit, left_out=not covariance_model.refits_each_row)]


def _covariance_note(fit: FittedModel[Any]) -> str:
    """Return the note on the covariance below the header."""
    note: str = describe(fit.estimates.covariance_model).note(lambda text: shorten(clean(text), 90))
    return note


def _log_determinants(results: QDAResults | RDAResults, fit: FittedModel[Any]) -> Section:
    """Prior, rows and log-determinant of each class."""
    table = pd.DataFrame({"prior": results.prior, "rows": results.counts, "logdet": results.logdet})
    formats: dict[Any, Any] = {"prior": "share", "rows": "count", "logdet": "general"}
    covariance_model = getattr(fit.estimates, "covariance_model", None)
    for shrinkage in () if covariance_model is None else covariance_model.shrinkages:
        table["shrinkage"] = shrinkage.values
        formats["shrinkage"] = "general"
    title = "Classes, with the log-determinants of their covariances"
    return Section(title, table, formats, source="fit.logdet")


def _means(results: LDAResults | QDAResults | RDAResults, fit: FittedModel[Any]) -> Section:
    model = getattr(fit.estimates, "covariance_model", None)
    title = "Means" if model is None else describe(model).means_title
    return headers.long_table_note(fit, title, "fit.means") or headers.means_section(fit, title)


def _covariance(
    fit: FittedModel[Any],
    covariance: Covariance,
    where: tuple[str, str],
    source: str,
    *,
    by_class: bool,
    note: str = "",
    name: str = "correlations",
    first: int = 0,
) -> Section:
    """Covariance as a triangle, or its variances if it is diagonal or was never computed in full.

    If the values differ so much that they need exponents, standard deviations and correlations are shown.

    Parameters
    ----------
    fit : FittedModel
    covariance : Covariance
    where : (str, str)
        Rows and divisor, for the title.
    source : str
        Expression that returns the covariance.
    by_class : bool
        Whether it is the covariance of one class.
    note : str
    name : str
        Key of the table of correlations.
    first : int
        Position of the first column that is shown.
    """
    moments = fit.estimates.moments
    covariance_model = fit.estimates.covariance_model
    terms = fit.terms[first:]
    (rows, divisor), scale = where, moments.scale[first:]
    with np.errstate(over="ignore", under="ignore"):
        sd = covariance.sd / scale
        variances = (covariance.sd / scale) ** 2
    beyond = range_note([covariance], scale, terms)
    if covariance.is_diagonal or moments.spread in ("thin", "thin class"):
        title = f"Variances {rows}, divisor {divisor}"
        if not covariance.is_diagonal:
            note = f"The whole {covariance_model.name} covariance, {len(terms)} x {len(terms)}: {source}."
        elif not by_class:
            title = f"Variances ({covariance_model.name} covariance {rows}, divisor {divisor})"
        table = Columns(variances[None], ["variance"], terms)
        return Section(title, table, note=f"{note} {beyond}".strip(), source=source)
    title = describe(covariance_model).title(rows, divisor, by_class=by_class)
    note = f"{note} {beyond}".strip()
    values = covariance_values(covariance, scale)
    table = Columns(values, terms, terms)
    section = Section(title, table, shared=True, triangle=True, note=note, source=source)
    if suits_decimals(values.ravel().tolist()) or not (np.isfinite(sd) & (sd > 0)).all():
        return section
    matrix = covariance.matrix() / covariance.sd / covariance.sd[:, None]
    np.fill_diagonal(matrix, 1.0)
    spread = "sd" if "sd" not in terms else "standard deviation"
    correlations = Columns(np.column_stack([sd, matrix]), terms, [spread, *terms])
    formats: dict[Any, Any] = dict.fromkeys(terms, "share") | {spread: "general"}
    words = f"Standard deviations and correlations: {title[0].lower()}{title[1:]}"
    note = f"{note} The covariance: {source}.".strip()
    errors = np.full(correlations.shape, np.inf)
    shown = Section(words, correlations, formats, triangle=True, errors=errors, note=note, source=source)
    return replace(section, shown=(name, shown))


def _flagged(results: LDAResults | QDAResults, fit: FittedModel[Any]) -> Section:
    """Flagged rows by class, with the names of the farthest."""
    table = results.covariance_model.robust_distances()
    flagged = table[table["flagged"]].sort_values("distance", ascending=False, kind="stable")
    counted = pd.DataFrame(index=results.classes.rename(None))
    by_class = table.dropna(subset="distance").groupby("class", observed=False)
    counted["rows"] = by_class.size().reindex(counted.index, fill_value=0)
    counted["flagged"] = by_class["flagged"].sum().reindex(counted.index, fill_value=0)
    counted["share"] = counted["flagged"] / counted["rows"]
    counted["farthest"] = by_class["distance"].max().reindex(counted.index)
    cutoff = float(table["cutoff"].iloc[0])
    note = f"Farther from their class's mean than {cutoff:.4g}, as 2.5 % of normal observations are."
    if len(flagged):
        shown = [
            f"{shorten(clean(str(label)), 20)} ({distance:.3g})"
            for label, distance in zip(flagged.index[:MOST_NAMED], flagged["distance"], strict=False)
        ]
        more = f" and {len(flagged) - MOST_NAMED} more" if len(flagged) > MOST_NAMED else ""
        note += f" The farthest: {', '.join(shown)}{more}."
    formats: dict[Any, Any] = {"rows": "count", "flagged": "count", "share": "share", "farthest": "general"}
    return Section(
        "Rows flagged", counted, formats, note=note, source="fit.covariance_model.robust_distances()"
    )


def _shrinkage_path(results: LDAResults | QDAResults, fit: FittedModel[Any]) -> Section:
    """Leave-one-out errors of the candidate shrinkages."""
    table = results.covariance_model.path.set_index("shrinkage").rename_axis(index=None)
    table.index = [f"{value:g}" for value in table.index]
    note = (
        "Missing where a covariance is singular without some row, or distances exceed double precision."
        if table["error"].isna().any()
        else ""
    )
    formats: dict[Any, Any] = {"error": "share", "se": "share"}
    title = "Leave-one-out error by shrinkage"
    return Section(title, table, formats, headings=INTERVAL, note=note, source="fit.covariance_model.path")


def _axes_path(results: Any, fit: FittedModel[Any]) -> Section:
    """Errors of some of the candidate numbers of principal axes, including the chosen one."""
    path = results.subspace.path
    n_components = results.subspace.n_components
    steps = np.arange(len(path))
    if len(path) > MOST_STEPS:
        steps = np.unique(np.geomspace(1, len(path), MOST_STEPS).round().astype(int)) - 1
    chosen = int(np.flatnonzero(path["components"] == n_components)[0])
    table = path.iloc[np.unique([*steps, chosen])].set_index("components").rename_axis(index=None)
    table.index = [f"{count}{' *' if count == n_components else ''}" for count in table.index]
    formats: dict[Any, Any] = {"error": "share", "se": "share", "share": "share"}
    note = "* chosen: the fewest axes of least error. share is that of the variance of all columns."
    if len(table) < len(path):
        note += f" {len(table)} of {len(path)} numbers shown; all: fit.subspace.path."
    return Section("Error by number of principal axes", table, formats, note=note, source="fit.subspace.path")


def _with_equal_covariances(
    parts: Sections, fit: FittedModel[Any], by_name: Sequence[str]
) -> SectionFunctions:
    """Add a section on equal covariances if these can be tested."""
    whole = SectionFunctions(parts, by_name)
    if fit.estimates.has_distances and fit.has_rows:
        whole["equal_covariances"] = _equal_covariances
        whole.preparations.append(({"header", "equal_covariances"}, _read_rows_once))
    return whole


def _read_rows_once(_: Any, fit: FittedModel[Any]) -> None:
    """Compute and cache the errors of the header and the tests of covariances in one pass."""
    if "apparent" not in fit.cache and not takes_long(fit):
        predictions = PassPredictions(fit)
        equal_covariance_tests(fit, predictions.wrap)
        predictions.store()


def _equal_covariances(results: LDAResults | QDAResults, fit: FittedModel[Any]) -> Section:
    """Likelihood ratio test and Box's M of the rows of the fit."""
    title = "Was one covariance enough? (LDA against QDA)"
    tested = equal_covariance_tests(fit)
    if isinstance(tested, str):
        empty = pd.DataFrame(columns=["statistic", "df", "p"])
        return Section(title, empty, "text", note=f"Not tested. {tested}")
    ratio, box = tested
    tests = {
        label: numbers
        for test in (ratio, box)
        for label, numbers in test.approximations.items()
        if label != "Box's M"
    }
    statistics, dfs, df2s, pvalues = zip(*tests.values(), strict=True)
    df_texts = [f"{d:.6g}" for d in dfs], ["" if np.isnan(d) else f"{d:.0f}" for d in df2s]
    table = Columns([statistics, *df_texts, pvalues], list(tests), ["statistic", "df", "df2", "p"])
    formats: dict[Any, Any] = {"statistic": "z", "df": "text", "df2": "text", "p": "tail"}
    rejected = [test.pvalue < 0.05 for test in (ratio, box)]
    is_pooled = fit.refits.required_moments(fit) == "pooled"
    see = "qda() and covariance_models()" if is_pooled else "covariance_models()"
    verdict = "The two tests disagree at 5 %; in small samples the likelihood ratio rejects too often."
    if all(rejected):
        verdict = f"One covariance is rejected at 5 %: see {see}."
    elif not any(rejected):
        verdict = "One covariance is not rejected at 5 %."
    return Section(title, table, formats, note=verdict, source="fit.box_m(), lr_test()")


lda_brief: Sections = {
    "classes": headers.classes_section,
    "means": _means,
    "discriminants": _discriminants,
}
qda_brief: Sections = {"classes": _log_determinants, "means": _means}
rda_brief = qda_brief
