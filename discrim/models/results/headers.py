"""Parts of summaries that models share: items of the header, tables of classes, rounding of coefficients.

Printed coefficients have enough digits that scores computed from them lead to the decisions of the fit; the
functions at the end bound the rounding error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats, min_class_rows, sample_of_classes
from discrim.design.levels import has_learnt_transform
from discrim.design.rows import gather_weighted_rows
from discrim.errors import NotSupportedError
from discrim.inference.calibration import estimate_recalibration, log_odds_against_rest
from discrim.inference.error_rates import ErrorRateEstimate, confusion_counts, error_rate_from_counts
from discrim.inference.mean_differences import anova_table
from discrim.models.base.display import format_count
from discrim.models.base.fit import FittedModel
from discrim.models.base.labels import make_unique_name, value_or_nan, whole_counts
from discrim.models.base.reading import join_labels
from discrim.models.base.scores import Decision
from discrim.models.evaluation.assessment import (
    EvaluationOptions,
    counted_rates,
)
from discrim.models.evaluation.validation import (
    LEFT_OUT_CACHE_KEYS,
    MIN_COSTED_COLUMNS,
    is_slow_to_evaluate,
    refit_prior_source,
)
from discrim.report.grid import (
    LABEL_WIDTH,
    MAX_DIGITS,
    Columns,
    HeaderItem,
    Pairs,
    Section,
    clean,
    column_texts,
    frame_of,
    shorten,
)
from discrim.specification import Specification

MAX_SUMMARY_PAIRS = 2**24
MIN_SUMMARY_ROWS = 1000
"""Number of pairs of rows above which a summary shows error rates of a sample, if the model compares rows.

The rows of the sample form as many pairs with all rows, and are at least `MIN_SUMMARY_ROWS`. Samples of more
than half of the rows are not used.
"""

MAX_COLUMNS_ACROSS = 8
MAX_NAMES_WIDTH = 84
"""Number of columns, and width of their names, above which summaries have one row for each column."""

MAX_TABLE_CLASSES = 1000
MAX_TABLE_CELLS = 2**18
"""Numbers of classes and of cells above which a summary omits a table of classes by columns."""


def observation_items(fit: FittedModel[Any]) -> list[HeaderItem]:
    """Return the header items with the numbers of observations and of dropped rows."""
    rows = "Observations" if not fit.design_rows.has_weights else "Sum of weights"
    return [
        HeaderItem(rows, fit.nobs, format_count(fit.nobs)),
        HeaderItem("Dropped, missing values", fit.dropped),
    ]


def size_items(fit: FittedModel[Any]) -> list[HeaderItem]:
    """Return the header items with the numbers of classes and columns.

    A third item names the dropped constant columns, if there are any.
    """
    items: list[HeaderItem] = [
        HeaderItem("Classes", len(fit.classes)),
        HeaderItem("Variables", len(fit.terms)),
    ]
    constant = fit.design_rows.constant_terms
    if constant:
        items.append(
            HeaderItem(
                "Dropped, constant", list(constant), shorten(clean(join_labels(constant, max_labels=2)), 40)
            )
        )
    return items


def prior_item(fit: FittedModel[Any]) -> HeaderItem:
    """Return the header item on the origin of the prior: class proportions, equal or specified."""
    user_prior = "equal" if len(set(fit.prior.tolist())) == 1 else "specified"
    prior = "class proportions" if fit.estimates.estimated_prior else user_prior
    return HeaderItem("Prior", prior, key="prior")


def error_item(fit: FittedModel[Any], method: Literal["apparent", "loo"]) -> HeaderItem:
    """Return the header item with an error rate, in percent with the counts.

    The value of the item is the rate. If it would be slow to compute, the model or the fit does not support
    it, or no row is evaluated, the value is NaN and the text is "see error_rates()" or "not available". A
    model that compares rows evaluates a sample of many rows (`error_sample_note`).
    """
    label = "Error, leave-one-out" if method == "loo" else "Error, resubstitution"
    key = f"error_{method}"
    if is_slow_to_evaluate(fit) and not (method == "apparent" and method in fit.cache):
        return HeaderItem(label, np.nan, "see error_rates()", key)
    try:
        rates = sampled_error_rate(fit, method) or counted_rates(fit, method, EvaluationOptions())
    except NotSupportedError:
        return HeaderItem(label, np.nan, "not available", key)
    if not rates.total > 0:
        return HeaderItem(label, np.nan, "not available", key)
    wrong = format_count(rates.wrong)
    total = format_count(rates.total)
    return HeaderItem(label, float(rates.estimate), f"{100 * rates.estimate:.1f} %  ({wrong}/{total})", key)


MAX_FAST_OPERATIONS = 2.0**22
"""Rows by classes by columns up to which the short form shows the leave-one-out error."""

FIT_MEASURES = ("wilks_lambda", "pseudo_r_squared", "deviance_explained", "margin")
"""Keys of header items that measure the fit; other items of the short form describe choices."""

BRIEF_ORDER = {"chosen_by": 1, "n_nonzero": 2}
"""Keys of items that follow the others in a short form."""

SEARCH_OPTIONS = {
    "folds",
    "cv",
    "grid",
    "seed",
    "tol",
    "maxiter",
    "separation",
    "collinear",
    "starts",
    "most",
}
"""Options that control the search for the estimates, and do not describe the model."""


def brief_facts(fit: FittedModel[Any], header: Pairs, defaults: Mapping[str, Any]) -> Pairs:
    """Return the first lines of a short summary: sizes, error and tests, then the choices.

    Parameters
    ----------
    fit : FittedModel
    header : Pairs
        Header whose items do not require a pass over the rows.
    defaults : dict
        Default values of the arguments of the verb.

    Returns
    -------
    Pairs
        Without items: the sizes and measures of the fit are its title; options that differ from their
        defaults, and the choices that the rows made, are its note.
    """
    rows = (
        f"Sum of weights {format_count(fit.nobs)}"
        if fit.design_rows.has_weights
        else f"{fit.nobs:,} observations"
    )
    dropped_text = f" ({fit.dropped} dropped, missing values)" if fit.dropped else ""
    columns = f"{len(fit.terms):,} column{'' if len(fit.terms) == 1 else 's'}"
    sizes = f"{rows}{dropped_text}, {columns}, {len(fit.classes)} classes"
    brief_items = sorted(
        (item for item in header.items if item.brief), key=lambda item: BRIEF_ORDER.get(item.key, 0)
    )
    prior = header.item("prior")
    if prior is not None and prior.value != (defaults.get("prior") or "class proportions"):
        brief_items.append(prior._replace(brief="prior", options=("prior",)))
    choice_items = [item for item in brief_items if item.key not in FIT_MEASURES]
    stated_options = {option for item in choice_items for option in item.options} | SEARCH_OPTIONS
    options = [
        f"{name}={value!r}".replace("'", '"')
        for name, value in fit.options.items()
        if isinstance(value, str | bool | int | float | Specification)
        and value != defaults.get(name)
        and name not in stated_options
    ]
    error = _error_phrases(fit, header.item("error_loo") is not None)
    measures = [*error, *(_brief_phrase(item) for item in brief_items if item.key in FIT_MEASURES)]
    heading, note = (
        "; ".join(", ".join(phrases) for phrases in pair if phrases)
        for pair in (([sizes], measures), (options, list(map(_brief_phrase, choice_items))))
    )
    return Pairs(heading, [], note)


def _brief_phrase(item: HeaderItem) -> str:
    """Return a header item as a phrase for the short form; text after a comma is put into parentheses."""
    value, _, how = item.printed.partition(", ")
    return f"{item.brief} {value}{f' ({how})' if how else ''}"


def _error_phrases(fit: FittedModel[Any], left_out: bool) -> list[str]:
    """Return a phrase with the leave-one-out error or, if this is slow, the apparent error, in a list.

    The list is empty if both are slow or not available, if the fit does not have its rows, or if they are a
    source of tables, which is not read for it.

    Parameters
    ----------
    fit : FittedModel
    left_out : bool
        Whether the summary of the model shows the leave-one-out error.
    """
    if not fit.has_rows or fit.design_rows.rows.source_description:
        return []
    size = float(fit.design_rows.table.nrows) * len(fit.classes) * max(len(fit.terms), MIN_COSTED_COLUMNS)
    is_fast = left_out and size * fit.spec.leave_one_out_cost <= MAX_FAST_OPERATIONS
    methods: tuple[Literal["loo", "apparent"], ...] = ("loo", "apparent") if is_fast else ("apparent",)
    # The error may be in the cache, from another table or page.
    for method in methods if size <= MAX_FAST_OPERATIONS or "apparent" in fit.cache else ():
        error = error_item(fit, method).value
        if not np.isnan(error):
            error_text = f"{'left-out' if method == 'loo' else method} error {100 * error:.1f} %"
            error_text += " of a sample" * (sampled_error_rate(fit, method) is not None)
            is_choice_kept = fit.path is not None and method == "loo"
            return [error_text + " (optimistic: choice fixed)" * is_choice_kept]
    return []


def sampled_error_rate(fit: FittedModel[Any], method: Literal["apparent", "loo"]) -> ErrorRateEstimate | None:
    """Return the error rate of a sample of the rows of a fit, for a summary; None if all rows are evaluated.

    The sample is random, the same in each call, and stratified by class, with at least `min_class_rows` of
    each class. All rows are evaluated if the model does not compare rows (`ModelSpec.compares_rows`), if
    there are at most `MAX_SUMMARY_PAIRS` pairs of rows, if the sample would have more than half of the rows,
    and if a row of the sample requires a refit. The result is None also if `is_slow_to_evaluate`, because
    the summary then omits the rate.
    """
    if not (fit.spec.compares_rows and fit.has_rows) or is_slow_to_evaluate(fit):
        return None
    if fit.design_rows.table.nrows**2 <= MAX_SUMMARY_PAIRS:
        return None
    key = f"error rate of a sample, {method}"
    if key not in fit.cache:
        # An interrupted or failed evaluation stores nothing.
        fit.cache[key] = _evaluate_sample(fit, method)
    rate: ErrorRateEstimate | None = fit.cache[key]
    return rate


def _evaluate_sample(fit: FittedModel[Any], method: Literal["apparent", "loo"]) -> ErrorRateEstimate | None:
    """Return the error rate of a sample of the used rows; None if it is over half of them or needs refits."""
    x, codes, weights = gather_weighted_rows(fit.design_rows)
    n_classes = len(fit.classes)
    size = max(MAX_SUMMARY_PAIRS / len(x), MIN_SUMMARY_ROWS)
    positions = sample_of_classes(codes, size, min_class_rows(size, n_classes))
    if 2 * len(positions) > len(x):
        return None
    if method == "apparent":
        scores = fit.rule().scores(x[positions])
    else:
        scores = fit.spec.leave_one_out_of_rows(fit, x, codes, positions)
    if np.isnan(scores).any():
        return None
    weights = None if weights is None else weights[positions]
    counts = confusion_counts(codes[positions], Decision().codes(scores), n_classes, weights)
    return error_rate_from_counts(
        counts.astype(np.float64), fit.prior_values(), None, EvaluationOptions().level, sampled=False
    )


def skipped_error_item() -> HeaderItem:
    """Return the header item for a leave-one-out error that is not computed, because it is slow."""
    return HeaderItem("Error, leave-one-out", np.nan, "see error_rates()", key="error_loo")


def error_items(fit: FittedModel[Any], *, left_out: bool = True) -> list[HeaderItem]:
    """Return the header items with the apparent error and, with `left_out`, the leave-one-out error."""
    return [error_item(fit, "apparent"), *([error_item(fit, "loo")] if left_out else [])]


def error_sample_note(fit: FittedModel[Any]) -> str:
    """Return a sentence, after a space, on the sample that is evaluated; empty if no sample is.

    It is about the rates that `error_items` shows.
    """
    sampled_rates: dict[str, ErrorRateEstimate] = {}
    methods: tuple[tuple[str, Literal["apparent", "loo"]], ...]
    methods = ("leave-one-out", "loo"), ("resubstitution", "apparent")
    for label, method in methods:
        try:
            rates = sampled_error_rate(fit, method)
        except NotSupportedError:
            continue
        if rates is not None and rates.total > 0:
            sampled_rates[label] = rates
    if not sampled_rates:
        return ""
    label, rates = next(iter(sampled_rates.items()))
    subject = "error rates are" if len(sampled_rates) == 2 else f"{label} error is"
    return (
        f" The {subject} estimated from a random sample of {format_count(rates.total)} observations "
        f"(standard error of {label}: {100 * rates.se:.1f} %); error_rates() uses all."
    )


def long_table_note(fit: FittedModel[Any], heading: str, source: str) -> Section | None:
    """Return a section with a note instead of a table of classes by columns that is too long, else None.

    A table is too long if both `MAX_TABLE_CLASSES` and `MAX_TABLE_CELLS` are exceeded.

    Parameters
    ----------
    fit : FittedModel
    heading : str
        Heading of the section.
    source : str
        Expression that returns the table, such as "fit.means", for the note.
    """
    n_classes = len(fit.classes)
    n_columns = len(fit.terms)
    if n_classes <= MAX_TABLE_CLASSES or n_classes * n_columns <= MAX_TABLE_CELLS:
        return None
    note = f"{n_classes:,} classes by {n_columns:,} columns: {source}."
    return Section(heading, pd.DataFrame(), "text", note=note, source=source)


def has_many_columns(terms: pd.Index) -> bool:
    """Return whether summaries have one row for each column, and no tables columns by columns.

    This is the case if there are more than `MAX_COLUMNS_ACROSS`, or if the names of the columns are too long.
    """
    return (
        len(terms) > MAX_COLUMNS_ACROSS
        or sum(2 + min(len(str(term)), LABEL_WIDTH) for term in terms) > MAX_NAMES_WIDTH
    )


def rank_columns(moments: ClassMoments, more: int = 0) -> tuple[str, Floats]:
    """Return the name "F" and the values (p + more,) by which a long table ranks its p columns.

    F is from the one-way analysis of variance of each column.

    Parameters
    ----------
    moments : ClassMoments
    more : int
        Number of additional rows of the table, which have NaN.
    """
    tests = anova_table(moments, pd.RangeIndex(moments.n_columns))
    return "F", np.concatenate([tests["F"], np.full(more, np.nan)])


def means_section(
    fit: FittedModel[Any],
    title: str = "Means",
    errors: Mapping[Any, float] | None = None,
    terms_and_moments: tuple[pd.Index, ClassMoments] | None = None,
) -> Section:
    """Return the section of class means, classes by columns.

    With many columns its `replacement` has one row for each column, with the standard deviation within
    classes (divisor N - K) and F.

    Parameters
    ----------
    fit : FittedModel
    title : str
        Heading of the section.
    errors : dict by term, optional
        Acceptable rounding errors of the means, which determine the digits; see `mean_rounding_errors`.
    terms_and_moments : (Index, ClassMoments), optional
        Terms and moments that replace the terms and moments of the fit.
    """
    terms, moments = (fit.terms, fit.estimates.moments) if terms_and_moments is None else terms_and_moments
    errors = mean_rounding_errors(fit) if errors is None else errors
    table = Columns(moments.class_means, list(fit.classes), terms)
    section = Section(title, table, column_errors=errors, source="fit.means")
    if not has_many_columns(terms):
        return section
    tests = anova_table(moments, terms)
    names = make_unique_name("SD", fit.classes), make_unique_name("F", fit.classes)
    values = np.column_stack([moments.class_means.T, tests["sd_within"], tests["F"]])
    df1, df2 = (f"{tests[name].iloc[0]:.6g}" for name in ("df1", "df2"))
    by_column = Section(
        f"{title} by class, standard deviations within classes, F({df1}, {df2})",
        Columns(values, terms, [*fit.classes, *names]),
        {names[1]: "z"},
        errors=[errors[term] for term in terms],
        source=section.source,
        ranking=("F", tests["F"].to_numpy()),
        n_last_columns=2,
    )
    return replace(section, replacement=("by_column", by_column))


def transpose_if_wide(section: Section, name: str, ranking: tuple[str, Floats] | None = None) -> Section:
    """Transpose a section of classes by columns if there are many columns.

    Parameters
    ----------
    section : Section
    name : str
        Key of the table of the section.
    ranking : (str, (p,) float), optional
        Name and values of the statistic by which the most important of p columns are selected.

    Returns
    -------
    Section
        The section, with its transpose as the replacement if it is wide.
    """
    table = frame_of(section.table)
    if not has_many_columns(table.columns):
        return section
    labels = [" ".join(map(str, label)) if isinstance(label, tuple) else label for label in table.index]
    errors = [section.column_errors.get(column, np.inf) for column in table.columns]
    columns = Columns(table.to_numpy().T, table.columns, labels)
    rows = section.formats if isinstance(section.formats, Mapping) else {}
    by_column = replace(
        section, table=columns, formats="general", row_formats=rows, column_errors={}, n_last_columns=0
    )
    return replace(section, replacement=(name, replace(by_column, errors=errors, ranking=ranking)))


def criterion_item(results: Any, name: str, label: str) -> HeaderItem:
    """Return the header item of a likelihood or criterion.

    Parameters
    ----------
    results : ClassifierResults
    name : str
        Attribute of the results, such as "aic". If it is NaN or the model does not have it, the value is NaN
        and the text "not available".
    label : str
        Label of the item.
    """
    value = value_or_nan(results, name)
    return HeaderItem(label, value, "not available" if np.isnan(value) else f"{value:.2f}")


def chosen_item(fit: FittedModel[Any], by: str) -> HeaderItem:
    """Return the header item on how a tuning parameter was chosen.

    Parameters
    ----------
    fit : FittedModel
    by : str
        Description of the method that chose it. The item shows it if the fit has a `path`; else "not in the
        file" for a loaded fit and "given" for a value that the user specified.
    """
    chosen = by if fit.path is not None else "not in the file" if fit.is_loaded else "given"
    return HeaderItem("Chosen by", chosen, key="chosen_by", brief="chosen by" if fit.path is not None else "")


def fixed_choice_note(fit: FittedModel[Any]) -> str:
    """Return a note that errors are optimistic if the same rows chose a tuning parameter, else "".

    This is so if the fit has a `path`.
    """
    if fit.path is None:
        return ""
    return (
        f"These errors are optimistic: the same observations chose {fit.refits.choice_description(fit)}. "
        "error_rates(['cv']) repeats this choice in each fold."
    )


MAX_PATH_LINES = 25
"""Number of lines of a path that a summary shows."""


def path_table(path: pd.DataFrame, chosen: float) -> pd.DataFrame:
    """Return a table of candidate values with a mark at the chosen one, thinned to `MAX_PATH_LINES` lines.

    Parameters
    ----------
    path : DataFrame
        Candidates in the first column, and their errors or criteria.
    chosen : float
        Chosen candidate; the nearest candidate in the table is marked.

    Returns
    -------
    DataFrame
        Indexed by the candidates as text, with the other columns of `path`, and "*" or "" in `chosen`. The
        first, the last and the chosen candidate are always shown.
    """
    parameter = path.columns[0]
    chosen_row = int((path[parameter] - chosen).abs().argmin())
    row_index = np.arange(len(path))
    if len(path) > MAX_PATH_LINES:
        row_index = np.union1d(
            np.linspace(0, len(path) - 1, MAX_PATH_LINES - 1).round().astype(int), [chosen_row]
        )
    table = path.iloc[row_index].set_index(parameter)
    table.index = pd.Index(column_texts(path[parameter].iloc[row_index].tolist(), "general"))
    table["chosen"] = np.where(row_index == chosen_row, "*", "")
    return table


def classes_section(results: Any, fit: FittedModel[Any]) -> Section:
    """Return the section with the prior and the number of rows, or sum of weights, of each class.

    `results` are not used; all functions of sections have these two parameters.
    """
    table = Columns([fit.prior, whole_counts(fit.counts)], fit.classes, ["prior", "n"])
    return Section("Classes", table, {"prior": "share", "n": "count"}, source="fit.prior, fit.counts")


MAX_RECALIBRATED_SCORES = 2**15
"""Number of leave-one-out scores up to which a summary checks their calibration."""

SLOPE_NOTE_Z = 1.96
"""Number of standard errors from one above which a calibration slope is noted."""


def header(fit: FittedModel[Any], items: list[HeaderItem], note: str = "") -> Pairs:
    """Return the header of a summary, with notes on the leave-one-out error if it is among the items.

    Parameters
    ----------
    fit : FittedModel
    items : list of HeaderItem
    note : str
        Additional note, which comes first.

    Returns
    -------
    Pairs
        The title is the formula.
    """
    shows_leave_one_out = any(item.key == "error_loo" and not np.isnan(item.value) for item in items)
    prior_text = {"fixed": "uses the prior of all observations", "refitted": "estimates the prior again"}.get(
        refit_prior_source(fit, None)
    )
    notes = [f"Leave-one-out {prior_text}."] if prior_text else []
    notes += [_balance_note(fit), _calibration_note(fit)]
    fixed_parts = []
    if fit.design_rows.design.spec is not None and has_learnt_transform(fit.design_rows.design):
        fixed_parts.append("the estimated transforms of the formula")
    if getattr(fit.estimates, "standardize", False) is True:
        fixed_parts.append("the standard deviations of the columns")
    if fixed_parts:
        notes.append(
            f"It fixes {' and '.join(fixed_parts)}; error_rates(['cv']) estimates them again in each fold."
        )
    note_text = " ".join(sentence for sentence in (note, *notes) if sentence)
    return Pairs(fit.formula, items, note_text if shows_leave_one_out else note)


def _balance_note(fit: FittedModel[Any]) -> str:
    """Return a note on the bias of leave-one-out for balanced classes with more columns than rows, or "".

    It applies to lda() without components= and to nearest_centroid(), if there are at least as many columns
    as rows (or total weight) and the largest class has at most 1.5 times the weight of the smallest.

    If a row of a class of n rows is left out, the class mean moves away from it: its squared distance in p
    columns increases by p/(n - 1) - p/n on average, and the log odds of its class decrease by
    p/(2 n (n - 1)). The standard deviation of the log odds is about sqrt(2 p/n) if the means are mostly
    noise. The note appears if the ratio exceeds 1/30, which is about one percentage point of error.
    """
    counts = fit.counts
    components = getattr(fit.estimates, "components", None)
    if fit.spec.name not in ("lda", "nearest_centroid") or components is not None:
        return ""
    min_count = float(counts.min())
    p = float(len(fit.terms))
    shift = p / (2 * min_count * max(min_count - 1, 1))
    sd = np.sqrt(2 * p / min_count)
    if p < counts.sum() or counts.max() > 1.5 * min_count or not shift > sd / 30:
        return ""
    return (
        "Leave-one-out is pessimistic with so few observations in so many columns, because the class mean "
        f"moves away from a left-out observation; error_rates(['cv'], folds={min_count:.0f}) leaves out one "
        "of each class."
    )


def _calibration_note(fit: FittedModel[Any]) -> str:
    """Return a note if leave-one-out posteriors are too extreme or too cautious, else "".

    The note appears if the slope differs from one by more than `SLOPE_NOTE_Z` standard errors. Only
    leave-one-out scores that are in the cache of the fit are used, and at most `MAX_RECALIBRATED_SCORES`.
    """
    scores = fit.cache.get(LEFT_OUT_CACHE_KEYS[False])
    if scores is None or not fit.has_posteriors or scores.size > MAX_RECALIBRATED_SCORES:
        return ""
    design_rows = fit.design_rows
    # Rows that the fit does not use lack scores.
    is_scored = scores.max(axis=1) > -np.inf
    weights = None if design_rows.weights is None else design_rows.weights[is_scored]
    slope, se = estimate_recalibration(
        log_odds_against_rest(scores[is_scored]), design_rows.codes[is_scored], weights
    ).slope
    if not abs(slope - 1) > SLOPE_NOTE_Z * se:
        return ""
    adverb = "extreme" if slope < 1 else "cautious"
    return (
        f"Leave-one-out posteriors are too {adverb}: slope {slope:.2f} (se {se:.2f}, independent "
        'observations); see method="calibrated".'
    )


def dropped_note(fit: FittedModel[Any], where: str) -> str:
    """Return a note on columns that were dropped as collinear in the rows described by `where`, or ""."""
    collinear = fit.design_rows.collinear_terms
    return f"Dropped, collinear {where}: {join_labels(collinear)}." if collinear else ""


PRINTED_RANGE_SD = 6.0
"""Range around the class means, in within-class standard deviations, in which printed digits suffice."""

MAX_SCORE_ERROR = 0.001
"""Largest error of a score computed from printed coefficients, on the scale of log odds."""

MAX_LOG_ODDS_ERROR = 0.025
"""Largest error of log odds computed from printed coefficients that have standard errors."""


def score_sizes(moments: ClassMoments) -> Floats:
    """Return the largest absolute values (1 + p,) of the constant 1 and of the p columns, in their units.

    Columns are considered up to `PRINTED_RANGE_SD` standard deviations from the class means.
    """
    means = moments.class_means[moments.counts > 0]
    return np.concatenate(
        [[1.0], np.abs(means).max(axis=0, initial=0.0) + PRINTED_RANGE_SD * _within_class_sd(moments)]
    )


def difference_sizes(moments: ClassMoments) -> Floats:
    """Return the largest differences (p,) of two rows by column, in the units of the data.

    Rows are considered up to `PRINTED_RANGE_SD` standard deviations from the class means.
    """
    means = moments.class_means[moments.counts > 0]
    return np.asarray(np.ptp(means, axis=0) + 2 * PRINTED_RANGE_SD * _within_class_sd(moments))


def coefficient_errors(sizes: Floats, within: float) -> Floats:
    """Return the rounding errors of coefficients that together change a score by at most `within`.

    Parameters
    ----------
    sizes : (m,) float
        Largest absolute values by which the coefficients are multiplied.
    within : float
        Largest change of the score.

    Returns
    -------
    (m,) float
        Each coefficient may change the score by within / m; infinite if it is multiplied by zero.
    """
    with np.errstate(divide="ignore"):
        return np.asarray(within / len(sizes) / sizes)


def min_score_sd(moments: ClassMoments, coef: Floats) -> float:
    """Return the smallest positive standard deviation of scores x'coef within classes.

    The columns are assumed to be uncorrelated. `coef` is (p, r), in the units of the data. Infinite if no
    score varies.
    """
    sds = np.sqrt(((coef * _within_class_sd(moments)[:, None]) ** 2).sum(axis=0))
    return float(sds[sds > 0].min(initial=np.inf))


def mean_rounding_errors(fit: FittedModel[Any]) -> dict[Any, float]:
    """Return the acceptable rounding error of class means by term: 1/200 of the sd (divisor N - K)."""
    return dict(zip(fit.terms, _within_class_sd(fit.estimates.moments) / 200, strict=True))


def precision_note(scores_noun: str, table: Floats | pd.DataFrame, sizes: Floats, within: float) -> str:
    """Return a note on the precision of scores that are computed from printed coefficients.

    Parameters
    ----------
    scores_noun : str
        Noun for the scores, in the plural.
    table : (m, K) float
        Coefficients.
    sizes : (m,) float
        Largest absolute values by which they are multiplied.
    within : float
        Acceptable error of a score.

    Returns
    -------
    str
        A sentence that the printed digits determine the scores within `within`, or, if even `MAX_DIGITS`
        digits of the coefficients do not, a sentence that warns of it.
    """
    values = np.abs(np.asarray(table, dtype=np.float64))
    largest = np.where(np.isfinite(values), values, 0.0).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rounding_errors = 0.5 * 10.0 ** (np.floor(np.log10(largest)) - MAX_DIGITS + 1)
        score_error = float(np.nansum(rounding_errors * sizes))
    if score_error > within:
        problem = (
            f"determine {scores_noun} only within {score_error:.0g}"
            if score_error < 1
            else f"do not determine {scores_noun}"
        )
        return (
            f"The columns are so far from zero that fifteen digits {problem}: use predict(), or centre the "
            "columns."
        )
    range_text = f"{PRINTED_RANGE_SD:g} standard deviations from a class mean"
    return f"The printed digits determine {scores_noun} within {within:g}, up to {range_text}."


def _within_class_sd(moments: ClassMoments) -> Floats:
    """Return the standard deviations (p,) within classes, in the units of the data.

    The divisor is the total weight minus the number of classes with rows, at least one.
    """
    df = max(moments.total - np.count_nonzero(moments.counts), 1.0)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.sqrt(moments.squares.sum(axis=0) / df) / moments.scale)
