"""Search for the maximum of the likelihood of a logistic regression, and checks around it.

`logistic`, refits and the results use it. Designs are checked before or after a first pass over the rows. If
a hyperplane separates classes, the maximum does not exist: a certificate proves it, and the message names
classes, columns and rows. Computations that need a maximum are here too: profile likelihoods and the results
object of statsmodels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import dependencies
from discrim.core.hyperplanes.separation import Separation, decide_separation, scale_rows
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Codes, Floats, check_memory
from discrim.core.numerics.map_reduce import CountedPasses
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import chi2_isf
from discrim.core.regression.logistic import PENALIZED_STEP_FACTOR, LogisticFit, UnitWeightRows, fit_logistic
from discrim.core.regression.profile_likelihood import profile_bounds
from discrim.core.rules.rules import posteriors
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows
from discrim.design.rows import GatheredRows, gather_used_rows, used_codes
from discrim.design.slopes import count_level_class_cells
from discrim.errors import (
    CollinearError,
    DataError,
    NotSupportedError,
    SeparationError,
    SeparationWarning,
    warn_user,
)
from discrim.inference.error_rates import check_level
from discrim.models.base import reading
from discrim.models.base.fit import FittedModel
from discrim.models.hyperplanes.hyperplane import (
    Certificate,
    ClassPair,
    labelled_certificate,
    separated_pairs,
)

OVER_ALL_ROWS = "over all rows"
"""Phrase of messages on columns that are collinear over all rows, not only within classes."""

MAX_CACHED_COMPUTED_VALUES = 2**23
"""Largest number of values of computed columns that are kept, because computing them again is slow."""

N_INFORMATION_COPIES = 3
"""Number of copies of the information matrix in memory: the matrix, its factor and its inverse."""

MAX_COEFFICIENTS = 10_000
"""Largest number of coefficients; the time of a step grows with its cube, to minutes at this size."""

MAX_CATEGORY_COEFFICIENTS = 2000
"""Largest number of coefficients of categorical predictors; their information grows with the square."""


def cached_rows(design_rows: DesignRows, max_values: int) -> RowBlocks:
    """Return the rows, copied into memory if they are few, so that iterations do not compute them again.

    Rows of a source that are distributed to workers are not copied.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    max_values : int
        Largest number of values to copy; at least `MAX_CACHED_COMPUTED_VALUES` if the formula computes
        columns.

    Returns
    -------
    RowBlocks
        Copies of all blocks, or `design_rows` itself.
    """
    return design_rows.rows.copy_blocks(
        design_rows,
        max_values if design_rows.design.is_plain else max(max_values, MAX_CACHED_COMPUTED_VALUES),
    )


def check_search(tol: Any, maxiter: Any) -> None:
    """Raise DataError unless 0 < `tol` < 1 and `maxiter` is a whole number of at least 1."""
    reading.check_integer("maxiter", maxiter, 1, description="a whole number of steps")
    reading.check_number("tol", tol, 0, 1, ends="()")


def raise_if_too_few_rows(rows: int, terms: tuple[str, ...], *, bias_reduction: bool) -> None:
    """Raise CollinearError if there are at most as many rows as columns.

    Parameters
    ----------
    rows : int
        Number of rows; nothing is raised for 0.
    terms : tuple of str
        Names of the columns.
    bias_reduction : bool
        Option of the fit, for the hint.
    """
    p = len(terms)
    if 0 < rows <= p:
        penalty = "pass penalty='ridge'" + (" and leave out bias_reduction=" if bias_reduction else "")
        raise CollinearError(
            f"{rows} rows are too few for a constant and {p} columns ({reading.join_labels(terms)}).",
            hint=(
                f'Name fewer columns, {penalty}, or use lda(covariance="shrunk"). With so few rows the '
                "columns "
                'that collinear="drop" keeps separate the '
                f"classes{'' if bias_reduction else ', which also requires bias_reduction=True'}."
            ),
        )


def raise_if_many_coefficients(count: int, columns: int, n_classes: int, others: str) -> None:
    """Raise DataError, before it is computed, if the information matrix would be too large.

    It is too large for the memory or has more than `MAX_COEFFICIENTS` rows.

    Parameters
    ----------
    count : int
        Number of coefficients.
    columns : int
        Number of columns, for the message.
    n_classes : int
        Number of classes, for the message.
    others : str
        Alternatives, for the hint: an imperative without a full stop.
    """
    memory_label = f"The information of {count:,} coefficients ({columns:,} columns, {n_classes:,} classes)"
    hint = f"Merge rare classes or name fewer columns, or {others}."
    check_memory(N_INFORMATION_COPIES * float(count) ** 2, memory_label, hint)
    if count > MAX_COEFFICIENTS:
        raise DataError(
            f"{memory_label} has {count:,} rows and columns. logistic() supports at most "
            f"{MAX_COEFFICIENTS:,} coefficients, because a step would take many minutes.",
            hint=hint,
        )


def raise_if_many_levels(design_rows: DesignRows) -> None:
    """Raise DataError, before columns are multiplied, if there are too many coefficients.

    The limits are the same as in `raise_if_many_coefficients`, and `MAX_CATEGORY_COEFFICIENTS` for terms with
    a categorical factor.
    """
    spec = design_rows.design.spec
    n_classes = len(design_rows.design.levels)
    count = (len(design_rows.terms) + 1) * max(n_classes - 1, 1)
    raise_if_many_coefficients(count, len(design_rows.terms), n_classes, "use lda(), naive_bayes() or knn()")
    if spec is None:
        return
    coded = {
        ":".join(spec.factors[factor].code for factor, _ in product): math.prod(spec.widths(product))
        for product in spec.products
        if any(coding >= 0 for _, coding in product)
    }
    coefficients = sum(coded.values()) * (n_classes - 1)
    if coefficients > MAX_CATEGORY_COEFFICIENTS:
        widest = max(coded, key=lambda code: coded[code])
        raise DataError(
            f"Categorical predictors have {coefficients:,} coefficients for {n_classes} classes, most of "
            f"them by {widest!r} with {coded[widest]:,} columns. logistic() supports at most "
            f"{MAX_CATEGORY_COEFFICIENTS:,}, because a fit would take minutes and gigabytes.",
            hint=f"Merge rare levels, or leave the predictor out, for example by `. - {widest}`.",
            columns=(widest,),
        )


def without_collinear(
    design_rows: DesignRows, moments: ClassMoments, *, drop: bool, alternative: str = ""
) -> tuple[DesignRows, ClassMoments]:
    """Drop or refuse columns that are constant over all rows or combinations of others.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    moments : ClassMoments
        Their moments with pooled scatter.
    drop : bool
        Whether to drop such columns with a warning; else they raise CollinearError.
    alternative : str
        Alternative for the hint; empty for `collinear="drop"`.

    Returns
    -------
    design_rows : DesignRows
        The rows, without the dropped columns: the later ones of each dependency.
    moments : ClassMoments
        The moments of the remaining columns.

    Raises
    ------
    CollinearError
        There are such columns, and `drop` is False.
    """
    collinear = dependencies(moments.as_one_class())
    if not collinear:
        return design_rows, moments
    if not drop:
        raise reading.collinear_error(
            collinear, design_rows.terms, OVER_ALL_ROWS, alternative=alternative, can_drop=not alternative
        )
    return reading.drop_collinear_columns(design_rows, moments, collinear, OVER_ALL_ROWS)


MAX_CACHED_VALUES = 2**20
"""Largest number of values (rows times columns) that are kept in memory for several searches."""


def columns_of_terms(design_rows: DesignRows) -> dict[str, tuple[int, ...]]:
    """Return the positions of the columns of each term of the formula in the rows, by label of the term.

    Positions do not count the constant. Terms whose columns were all dropped are left out.
    """
    kept_columns = (
        range(len(design_rows.design.terms)) if design_rows.kept_columns is None else design_rows.kept_columns
    )
    position = {column: j for j, column in enumerate(kept_columns)}
    columns_by_term = {
        term_spec.label: tuple(position[j] for j in term_spec.columns if j in position)
        for term_spec in design_rows.design.design_terms()
    }
    return {label: columns for label, columns in columns_by_term.items() if columns}


def profile_intervals(fit: FittedModel[LogisticFit], level: float, index: pd.Index) -> pd.DataFrame:
    """Profile likelihood intervals of the coefficients; see `LogisticResults.conf_int`.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    level : float
        Level of the intervals.
    index : Index
        (class, term) of the rows of the result.

    Returns
    -------
    DataFrame
        Columns low and high, in the units of `LogisticFit.params`.

    Raises
    ------
    DataError
        The bound of a profile is not found.
    NotSupportedError
        The fit lacks rows or finite estimates.
    """
    check_level(level)
    design_rows = rows_with_maximum(fit, 'method="profile"')
    rows = cached_rows(design_rows, MAX_CACHED_VALUES)
    bounds = profile_bounds(fit.estimates, rows, float(chi2_isf(1 - level, 1)))
    table = pd.DataFrame({side: bounds[i].T.ravel() for i, side in enumerate(("low", "high"))}, index=index)
    if table.isna().any(axis=None):
        unfinished = table.index[table.isna().any(axis=1)]
        raise DataError(
            f"The profile likelihood of {reading.join_labels(unfinished)} could not be computed up to the "
            "limit.",
            hint='Use method="wald", or scale the columns of the formula.',
        )
    return table


def raise_if_no_maximum(fit: FittedModel[LogisticFit], caller: str) -> None:
    """Raise NotSupportedError if the search did not end at a maximum, because classes are separated.

    `caller` is the name of the method for the message, such as "residuals()".
    """
    if not fit.estimates.newton.converged:
        raise NotSupportedError(
            f"{caller} requires finite estimates, but a hyperplane separates the classes.",
            hint="Fit with bias_reduction=True.",
            options={"bias_reduction": True},
        )


def rows_with_maximum(fit: FittedModel[LogisticFit], caller: str) -> DesignRows:
    """Return the rows of a fit; raise NotSupportedError if it lacks rows or classes are separated.

    `caller` is the name of the method for the message, such as "residuals()".
    """
    raise_if_no_maximum(fit, caller)
    return fit.require_rows(caller)


def check_statsmodels(fit: FittedModel[LogisticFit]) -> None:
    """Raise NotSupportedError if `to_statsmodels` does not support a fit.

    It does not support bias reduction, weights, separated classes, and fits without rows.
    """
    if fit.estimates.bias_reduction:
        raise NotSupportedError(
            "statsmodels does not support logistic regression with Firth's bias reduction.",
            hint="Fit with bias_reduction=False.",
        )
    if rows_with_maximum(fit, "to_statsmodels()").weights is not None:
        raise NotSupportedError(
            "statsmodels' Logit and MNLogit do not support frequency weights.",
            hint="Repeat the rows, by data.loc[data.index.repeat(weights)], and fit without weights=.",
        )


def to_statsmodels(fit: FittedModel[LogisticFit]) -> Any:
    """Return results of statsmodels at the estimates; see `LogisticResults.to_statsmodels`.

    Parameters
    ----------
    fit : FittedModel
        A fit that passes `check_statsmodels`.

    Returns
    -------
    BinaryResultsWrapper or MultinomialResultsWrapper
        For two classes the response is 1 for the class that is not the reference.
    """
    design_rows = rows_with_maximum(fit, "to_statsmodels()")
    from statsmodels.base.model import LikelihoodModelResults
    from statsmodels.discrete import discrete_model

    estimates = fit.estimates
    exog, codes = _design_matrix(fit, design_rows)
    response = str(fit.classes.name)
    if len(fit.classes) == 2:
        event = estimates.others[0]
        endog = pd.Series((codes == event).astype(np.float64), index=exog.index)
        model = discrete_model.Logit(endog.rename(f"{response}={fit.classes[event]}"), exog, check_rank=False)
        results = discrete_model.LogitResults
        wrapper = discrete_model.BinaryResultsWrapper
        params = estimates.params()[:, 0]
    else:
        order = [estimates.reference, *estimates.others]
        categories: Any = fit.classes[order]
        labels = pd.Categorical.from_codes(np.argsort(order)[codes], categories)
        endog = pd.Series(labels, index=exog.index, name=response)
        model = discrete_model.MNLogit(endog, exog, check_rank=False)
        results = discrete_model.MultinomialResults
        wrapper = discrete_model.MultinomialResultsWrapper
        params = estimates.params()
    # statsmodels' own search would start from raw columns, whose offsets and units lose precision.
    cov_type = "nonrobust" if estimates.robust is None else estimates.robust.covariance_type
    model_results = LikelihoodModelResults(model, params, estimates.cov_params(), scale=1.0)
    model_results.cov_type = cov_type
    model_results.mle_retvals = {"converged": True, "iterations": estimates.newton.steps}
    model_results.mle_settings = {"optimizer": "newton", "start_params": params}
    return wrapper(results(model, model_results))


def _design_matrix(fit: FittedModel[LogisticFit], design_rows: DesignRows) -> tuple[pd.DataFrame, Codes]:
    """Return the design matrix (n, p + 1) of the n used rows, and their class codes (n,).

    The matrix has the index of the table and the columns "constant" and terms.
    """
    rows = gather_used_rows(design_rows)
    values = np.column_stack([np.ones(len(rows.x)), rows.x])
    index = design_rows.table.index[rows.positions]
    return pd.DataFrame(values, index=index, columns=["constant", *fit.terms]), rows.codes


PROGRESS_LABEL = "logistic regression, passes over the rows"

OUTLIER_DISTANCE_RATIO = 1e3
"""Value of `ScaledRows.size`, a robust distance from the medians, above which a row is an outlier."""

MIN_INFORMATION_SHARE = 1e-20
"""Smallest share of the information at the class proportions that is accepted if there are outliers."""

MAX_CACHED_VALUES_OF_SEARCH = 2**14
"""Largest number of values (rows times columns) that are kept in memory for one search."""

OVERLAP_MESSAGE = (
    "The classes overlap: no hyperplane lies between any of them, and the likelihood has a maximum."
)
"""Message of a certificate of overlap."""


def raise_if_empty_cells(design_rows: DesignRows) -> None:
    """Raise SeparationError if a level of a predictor has rows, but none of a class that has rows elsewhere.

    The error has the labels of such predictors and the absent classes. The indicator of such a level
    separates the class from others. A pass over the labels finds this before the columns of interactions are
    computed.
    """
    classes = design_rows.design.levels
    problems = []
    columns = []
    absent_classes = []
    for cells in count_level_class_cells(design_rows):
        present = cells.rows.sum(axis=0) > 0
        empty = (cells.rows == 0) & present & (cells.rows.sum(axis=1) > 0)[:, None]
        empty_cells = np.argwhere(empty)
        if len(empty_cells):
            level, code = empty_cells[0]
            rows = int(cells.rows[level].sum())
            n_incomplete_levels = int(empty.any(axis=1).sum())
            verb = "misses" if n_incomplete_levels == 2 else "miss"
            more = (
                f" and {n_incomplete_levels - 1:,} more of its {len(cells.levels):,} levels {verb} a class"
                * (n_incomplete_levels > 1)
            )
            condition = f"where {cells.label!r} is {cells.levels[level]!r}"
            label = format_value(classes[code])
            columns.append(cells.label)
            absent_classes.append(classes[code])
            several_rows = f"none of the {rows:,} rows {condition} is of class {label}"
            problems.append(
                (several_rows if rows > 1 else f"the only row {condition} is not of class {label}") + more
            )
    if problems:
        raise SeparationError(
            f"A hyperplane separates the classes partially: {'; '.join(problems[:3])}. The likelihood has no "
            "maximum, and the estimates would be infinite.",
            hint="Merge levels, leave the predictor out, pass bias_reduction=True, or use lda().",
            options={"bias_reduction": True},
            columns=columns,
            classes=dict.fromkeys(absent_classes),
        )


@dataclass(frozen=True, slots=True, eq=False)
class SeparatedData:
    """Classes, terms and rows of a separation, for the message and the attributes of SeparationError.

    Attributes
    ----------
    pairs : list of ClassPair
        Separated pairs of classes.
    class_labels : list
        Labels of their classes, in the order of the classes.
    terms : list of str
        Columns of the separating hyperplane, by decreasing slope of the standardized columns.
    touching_rows : list
        Labels of rows on the hyperplane; empty for complete separation.
    """

    pairs: list[ClassPair]
    class_labels: list[Any]
    terms: list[str]
    touching_rows: list[Any]


def certify(fit: LogisticFit, design_rows: DesignRows) -> tuple[Certificate, SeparatedData | None]:
    """Determine by linear programming whether classes are separated.

    Parameters
    ----------
    fit : LogisticFit
        The last estimates of the search.
    design_rows : DesignRows
        The rows.

    Returns
    -------
    certificate : Certificate
        Proof of separation or overlap, with a message in sentences.
    separated : SeparatedData or None
        None if the classes overlap.
    """
    rows = gather_used_rows(design_rows)
    columns = fit.frame.transform(rows.x)
    guess = np.insert(fit.newton.coef, fit.reference, 0.0, axis=1)
    with Progress(0, "separation of the classes") as progress:
        proof = decide_separation(columns, rows.codes, fit.moments.n_classes, guess, progress)
        if proof.separation_type == "quasi":
            proof = _recheck_with_scaled_outliers(proof, rows, fit.moments.n_classes)
    certificate = labelled_certificate(proof, fit.frame.to_data(), design_rows, rows)
    if proof.separation_type == "overlap":
        return certificate._replace(message=OVERLAP_MESSAGE), None
    pairs = separated_pairs(proof, columns, rows.codes)
    on_plane = np.unique(np.concatenate([pair.plane_rows for pair in pairs]))
    index = design_rows.table.index[rows.positions]
    separated = _separated_data(proof, pairs, fit, design_rows, rows.positions)
    message = _separation_message(separated, design_rows)
    return certificate._replace(on_plane=index[on_plane], message=message), separated


def _recheck_with_scaled_outliers(proof: Separation, rows: GatheredRows, n_classes: int) -> Separation:
    """Repeat the test for partial (quasi-complete) separation with outliers scaled down.

    A few outliers can make all other rows appear to lie on the plane. Without outliers nothing is repeated.

    Parameters
    ----------
    proof : Separation
        Partial separation that a linear program found.
    rows : GatheredRows
        The rows.
    n_classes : int
        Number of classes.

    Returns
    -------
    Separation
        A proof of overlap if the scaled rows overlap; otherwise, and without outliers, `proof` unchanged.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        even = scale_rows(rows.x) if np.isfinite(np.ptp(rows.x, axis=0)).all() else None
    if even is None or not OUTLIER_DISTANCE_RATIO < even.size.max() < np.inf:
        return proof
    of_even = decide_separation(even.columns, rows.codes, n_classes)
    if of_even.weights is None:
        return proof
    weights = of_even.weights / even.size[:, None]
    weights /= weights[weights > 0].min()
    return Separation("overlap", np.zeros_like(proof.coef), 0.0, np.arange(len(rows.codes)), weights)


def refit_to_rows(fit: LogisticFit, terms: tuple[str, ...], design_rows: DesignRows) -> LogisticFit | None:
    """Refit to rows with other weights or other columns.

    Parameters
    ----------
    fit : LogisticFit
        The fit with prior and options; its estimates are the start of the search if the columns are the same.
    terms : tuple of str
        Names of the columns of `fit`.
    design_rows : DesignRows
        The rows; their columns may be others.

    Returns
    -------
    LogisticFit or None
        None if a class is empty, or the search does not converge, for example because classes are separated.
    """
    codes = used_codes(design_rows)
    weights = None if design_rows.weights is None else design_rows.weights[codes >= 0]
    counts = np.bincount(codes[codes >= 0], weights, len(design_rows.design.levels)).astype(np.float64)
    start = (
        fit
        if design_rows.terms == terms
        else fit.unfitted_for_columns(reading.class_moments(design_rows, "pooled"))
    )
    refit = start.refit(cached_rows(design_rows, 0), counts)
    if refit is not None or fit.bias_reduction or not (counts > 0).all():
        return refit
    x = gather_used_rows(design_rows.unweighted()).x
    with np.errstate(over="ignore", invalid="ignore"):
        if not scale_rows(x).size.max() > OUTLIER_DISTANCE_RATIO:
            return refit
    # Outliers dominate the information matrix, and the other rows seem uninformative: lower the threshold.
    start = fit.unfitted_for_columns(reading.class_moments(design_rows, "pooled"))
    return start.refit(cached_rows(design_rows, 0), counts, MIN_INFORMATION_SHARE)


def overlap_by_score(fit: LogisticFit, design_rows: DesignRows) -> Certificate:
    """Return the certificate of overlap that a maximum implies.

    At a score (gradient) of zero the fitted probabilities are weights with which the differences of rows
    cancel.

    Parameters
    ----------
    fit : LogisticFit
        A fit by maximum likelihood that has converged.
    design_rows : DesignRows
        Its rows.

    Returns
    -------
    Certificate
        Its weights are the fitted probabilities of the other classes, times the weights of the rows.
    """
    rule = fit.rule(np.log(fit.counts / fit.counts.sum()))
    rows = gather_used_rows(design_rows)
    weights = posteriors(rule.scores(rows.x))
    weights[np.arange(len(weights)), rows.codes] = 0.0
    if rows.weights is not None:
        weights *= rows.weights[:, None]
    coef = np.zeros((len(fit.frame.scale) + 1, weights.shape[1]))
    proof = Separation("overlap", coef, 0.0, np.zeros(0, dtype=np.intp), weights)
    return labelled_certificate(proof, fit.frame.to_data(), design_rows, rows)._replace(
        message=OVERLAP_MESSAGE
    )


def _handle_separation(fit: LogisticFit, design_rows: DesignRows, *, warn: bool) -> Certificate | None:
    """Raise an error or warn if classes are separated, after a search that did not converge.

    Parameters
    ----------
    fit : LogisticFit
        The last estimates of the search.
    design_rows : DesignRows
        The rows.
    warn : bool
        Whether to warn instead of raising SeparationError.

    Returns
    -------
    Certificate or None
        The certificate of separation, after a SeparationWarning; None if the classes overlap.

    Raises
    ------
    SeparationError
        Classes are separated, and `warn` is False.
    """
    certificate, separated = certify(fit, design_rows)
    if separated is None:
        return None
    if not warn:
        # With many columns LDA needs a shrunk covariance.
        moments = fit.moments
        is_wide = moments.n_columns > moments.rows.sum() - moments.n_classes
        lda_call = 'lda(covariance="shrunk")' if is_wide else "lda()"
        alternative = "leave out one of these terms, " if moments.n_columns > 1 else ""
        raise SeparationError(
            certificate.message,
            hint=f"Pass bias_reduction=True, {alternative}or use {lda_call}.",
            options={"bias_reduction": True},
            certificate=certificate,
            columns=separated.terms,
            classes=separated.class_labels,
            rows=separated.touching_rows,
        )
    warn_user(
        f"{certificate.message} The reported estimates are those at which the search stopped, and are not "
        "meaningful; separation.direction is the direction in which they diverge.",
        SeparationWarning,
    )
    return certificate


def _raise_if_not_converged(fit: LogisticFit, maxiter: int) -> None:
    """Raise DataError if the search has not converged, although the classes overlap.

    The cause is rounding if it took fewer than `maxiter` steps.
    """
    steps = fit.newton.steps
    if fit.newton.converged:
        return
    cause = ""
    hint = "Increase maxiter=."
    if steps < maxiter:
        cause = (
            ": rounding has stopped the search, for example because weights differ by orders of magnitude, "
            "or because one row is far from the others"
        )
        hint = "Use weights of similar size, or correct or leave out the row."
    raise DataError(
        f"Newton's method has not converged in {steps} step{'s' * (steps != 1)}, though the classes overlap "
        f"and a maximum exists{cause}.",
        hint=hint,
    )


def maximize_or_certify(
    design_rows: DesignRows,
    moments: ClassMoments,
    prior: Floats,
    *,
    reference: int,
    estimated_prior: bool,
    tol: float,
    maxiter: int,
    bias_reduction: bool,
    warn: bool,
) -> tuple[LogisticFit, Certificate | None]:
    """Maximize the likelihood, and find out whether classes are separated if the search does not converge.

    With bias reduction a maximum exists, and separation is not examined.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    moments : ClassMoments
        Class moments of the rows.
    prior : (K,) float64
        Prior probabilities of the classes.
    reference : int
        Code of the reference class.
    estimated_prior : bool
        Whether the prior was estimated by the class proportions.
    tol, maxiter : float, int
        Tolerance and largest number of steps.
    bias_reduction : bool
        Whether to use Firth's bias reduction.
    warn : bool
        Whether separated classes cause a warning instead of an error.

    Returns
    -------
    fit : LogisticFit
        It has not converged if there is a certificate.
    certificate : Certificate or None
        A certificate of separation; None if the search has converged.

    Raises
    ------
    SeparationError
        Classes are separated, and `warn` is False.
    DataError
        The classes overlap, or the likelihood is bias-reduced, but the search does not converge.
    """
    table = cached_rows(design_rows, MAX_CACHED_VALUES_OF_SEARCH)
    with Progress(0, PROGRESS_LABEL) as progress:
        rows = CountedPasses(table, progress)
        fit = fit_logistic(
            rows, moments, prior, reference=reference, estimated_prior=estimated_prior, tol=tol,
            maxiter=maxiter, bias_reduction=bias_reduction,
        )  # fmt: skip
    certificate = None
    if not fit.newton.converged and bias_reduction:
        raise _firth_convergence_error(fit, maxiter)
    if not fit.newton.converged:
        certificate = _handle_separation(fit, design_rows, warn=warn)
        equally_weighted = None
        if design_rows.weights is not None:
            ones = np.where(design_rows.weights > 0, 1.0, design_rows.weights)
            equally_weighted = UnitWeightRows(design_rows.with_weights(ones), moments.rows.astype(np.float64))
        with Progress(0, PROGRESS_LABEL) as progress:
            rows = CountedPasses(table, progress)
            fit = fit.resume(
                rows, tol, maxiter, overlap=certificate is None, unit_weight_rows=equally_weighted
            )
    if certificate is None:
        _raise_if_not_converged(fit, maxiter)
    return fit, certificate


def _firth_convergence_error(fit: LogisticFit, maxiter: int) -> DataError:
    """Return the error of a search with bias reduction that did not converge, with the likely cause.

    It is the number of steps if all `PENALIZED_STEP_FACTOR * maxiter` were used, large weights if they sum to
    more than 1,000 times the number of rows, and rounding otherwise.
    """
    steps = fit.newton.steps
    message = f"Firth's bias-reduced likelihood has not converged in {steps} step{'s' * (steps != 1)}"
    if steps >= PENALIZED_STEP_FACTOR * maxiter:
        return DataError(f"{message}.", hint="Increase maxiter=.")
    weight = float(fit.counts.sum())
    rows = int(fit.moments.rows.sum())
    if weight > 1e3 * rows:
        return DataError(
            f"{message}, and more would not help: with weights that sum to {weight:.3g} over {rows:,} rows "
            "the bias reduction is smaller than the rounding errors.",
            hint="Divide the weights by their mean.",
        )
    return DataError(
        f"{message}, and more would not help: rounding has stopped the search.",
        hint="Leave out columns that few rows have, or merge rare classes.",
    )


def _separated_data(
    proof: Separation, pairs: list[ClassPair], fit: LogisticFit, design_rows: DesignRows, positions: Codes
) -> SeparatedData:
    """Find the labels of the separated classes, the columns of the hyperplane, and the rows that lie on it.

    Columns with a standardized slope below 1e-6 of the largest one are left out.

    Parameters
    ----------
    proof : Separation
        The proof, with coefficients in standard units.
    pairs : list of ClassPair
        The separated pairs of classes.
    fit : LogisticFit
        The last estimates, for units of the columns.
    design_rows : DesignRows
        The rows, for labels.
    positions : (n,) int
        Positions in the table of the rows that `pairs` count.

    Returns
    -------
    SeparatedData
        `touching_rows` contains the labels of the rows on the plane of any pair, and may be empty.
    """
    # Slopes for columns of unit variance show which columns the hyperplane uses.
    slopes = fit.frame.covariance.unwhiten(proof.coef[1:]) * fit.frame.covariance.sd[:, None]
    weight = np.abs(slopes - slopes.mean(axis=1, keepdims=True)).max(axis=1)
    terms = [design_rows.terms[j] for j in np.argsort(-weight) if weight[j] > 1e-6 * weight.max()]
    levels = design_rows.design.levels
    class_codes = sorted({code for pair in pairs for code in (pair.first, pair.second)})
    on_plane = np.unique(np.concatenate([pair.plane_rows for pair in pairs]))
    rows = [design_rows.table.label(int(positions[i])) for i in on_plane]
    return SeparatedData(pairs, [levels[code] for code in class_codes], terms, rows)


def _separation_message(separated: SeparatedData, design_rows: DesignRows) -> str:
    """Return sentences on the separated pairs of classes, the columns, and the rows on the plane.

    Pairs without and with rows on the plane are described separately; at most three rows are named.
    """
    terms = reading.join_labels(separated.terms)
    labels = separated.touching_rows
    complete = [pair for pair in separated.pairs if not len(pair.plane_rows)]
    touching = [pair for pair in separated.pairs if len(pair.plane_rows)]
    sentences = []
    if complete:
        sentences.append(
            f"A hyperplane separates {_pair_names(complete, design_rows)} by {terms}: every row lies on its "
            "own side."
        )
    if touching:
        sentences.append(
            f"A hyperplane separates {_pair_names(touching, design_rows)} partially, by {terms}: no row "
            f"lies on its wrong side, but {len(labels)} on it (the first: "
            f"{reading.join_labels(labels, 3)}). This is quasi-complete separation."
        )
    return f"{' '.join(sentences)} The likelihood has no maximum, and the estimates would be infinite."


def _pair_names(pairs: list[ClassPair], design_rows: DesignRows) -> str:
    """Return the labels of at most three pairs of classes, such as "'a' from 'b'", for a message.

    The number of further pairs is added.
    """
    levels = design_rows.design.levels
    pair_names = " and ".join(f"{levels[pair.first]!r} from {levels[pair.second]!r}" for pair in pairs[:3])
    n_more = len(pairs) - 3
    return pair_names + (f" and {n_more} more {'pair' if n_more == 1 else 'pairs'}" if n_more > 0 else "")
