"""Typicality of single rows: p-values of a row in each class.

A p-value follows from the distribution of the distance under normality, or from the rank among the rows of
the class (`discrim.inference.conformal`). The ranked quantity is the squared distance to the class, or minus
twice its log density, or a nonconformity score if the model has neither; "relative" subtracts the distance to
one normal distribution of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.projected import DistributionOnAxes
from discrim.core.discriminant.lda import LDAFit
from discrim.core.discriminant.nearest_centroid import NearestCentroidFit
from discrim.core.discriminant.qda import QDAFit
from discrim.core.discriminant.rda import RDAFit
from discrim.core.naive_bayes.naive_bayes import NaiveBayesFit
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import chi2_sf
from discrim.core.rules.gaussian import PooledNormal, pooled_normal
from discrim.core.rules.leave_one_out import RefitEachRow
from discrim.design.design_rows import DesignRows
from discrim.design.rows import used_codes, used_rows
from discrim.errors import (
    DataError,
    MissingPredictionWarning,
    NotSupportedError,
    warn_user,
)
from discrim.inference import parametric_errors
from discrim.inference.conformal import (
    CalibrationScores,
    conformal_pvalues,
    nonconformity_scores,
)
from discrim.models.base.fit import AS_FITTED, FittedModel, MissingPolicy
from discrim.models.base.reading import raise_if_small_class_weight
from discrim.models.base.scores import score_chunks
from discrim.models.evaluation.prediction_sets import CalibrationRows, calibration_rows, references_by_class
from discrim.models.evaluation.validation import left_out_scores, raise_if_many_scores

MeasureType = Literal["distance", "common", "density", "scores"]


@dataclass(frozen=True, slots=True)
class TypicalityMeasure:
    """Quantity that is ranked for typicality; larger values are less typical of the class.

    `measure_type` is "distance" (squared distances under unbiased covariances, with a closed form for leaving
    out), "common" (squared distances under a common or robust covariance without one), "density" (minus twice
    the log density) or "scores" (nonconformity of the scores of the rule). `total_distribution` is the normal
    distribution of all rows, whose squared distances are subtracted for relative measures; None for others.
    """

    measure_type: MeasureType
    total_distribution: PooledNormal | DistributionOnAxes | None = None

    def compute_new_rows(
        self, fit: FittedModel[Any], design_rows: DesignRows
    ) -> Iterator[tuple[slice, Floats]]:
        """Iterate over row slices and values (m, K) of the measure for rows that were not used in the fit.

        Rows with a missing value have NaN.
        """
        if self.measure_type in ("distance", "common"):
            estimates = fit.estimates
            distances = (
                estimates.unbiased_distances()[0]
                if self.measure_type == "distance"
                else estimates.distances()
            )
            for row_slice, x, _ in design_rows.iter_all_rows():
                yield row_slice, self._subtract_total_distances(distances.squared(x).T, x, None)
            return
        rule = fit.rule_for(design_rows, None if self.measure_type == "scores" else "equal")
        for row_slice, scores in score_chunks(design_rows, rule, len(fit.classes)):
            if self.measure_type == "scores":
                yield row_slice, _score_nonconformity(fit, scores)
            else:
                values = -2.0 * (scores + np.log(len(fit.classes)))
                if self.total_distribution is not None:
                    values = self._subtract_total_distances(
                        values,
                        design_rows.rows_at_positions(np.arange(row_slice.start, row_slice.stop)),
                        None,
                    )
                yield row_slice, values

    def _subtract_total_distances(self, values: Floats, x: Floats, left_out: Floats | None) -> Floats:
        """Subtract the squared distances of rows to the distribution of all rows, for relative measures.

        Parameters
        ----------
        values : (m, K) float
            Measure of the rows in each class, which is returned unchanged without `total_distribution`.
        x : (m, p) float
            Rows.
        left_out : (m,) float or None
            Squared distances to the distribution of the other rows, if each row is left out; else None.
        """
        if self.total_distribution is None:
            return values
        return values - (self.total_distribution.squared(x) if left_out is None else left_out)[:, None]

    def compute_left_out_rows(self, fit: FittedModel[Any]) -> Floats:
        """Return the measure (n, K) of the rows of the fit, each computed from estimates without the row.

        NaN for rows that are not used; infinite in its own class for a "distance" that does not exist without
        the row. Raises NotSupportedError if the fit lacks rows, the covariance is robust, or a "common" or
        "density" measure requires a refit for each row.
        """
        design_rows = fit.require_rows(
            "typicality()", "pass calibration=, a table of rows with their response"
        )
        raise_if_many_scores(design_rows.table.nrows, len(fit.classes), "Typicality")
        if self.measure_type == "scores":
            return _score_nonconformity(fit, left_out_scores(fit))
        # A class with a prior of zero would lack a score.
        fit_with_equal_prior = fit
        k = len(fit.classes)
        if self.measure_type == "common" or not (fit.prior > 0).all():
            fit_with_equal_prior = fit.with_prior(np.full(k, 1.0 / k))
        left_out: Any = None
        out = np.full((design_rows.table.nrows, k), np.nan)
        if isinstance(fit.estimates, NaiveBayesFit):
            out[:] = -2.0 * (left_out_scores(fit_with_equal_prior, False) - fit_with_equal_prior.log_prior())
        elif self.measure_type != "distance":
            if (
                getattr(fit.estimates, "covariance_model", None) is not None
                and fit.estimates.covariance_model.traits.is_robust
            ):
                raise NotSupportedError(
                    "Distances of left-out rows would repeat the search of the robust covariance "
                    f'(covariance="{fit.estimates.method}") for each row.',
                    hint="Fit without covariance=.",
                )
            # Only in closed form: a refit may rescale columns, which changes densities.
            left_out = fit_with_equal_prior.refits.leave_one_out(fit_with_equal_prior)
            if isinstance(left_out, RefitEachRow):
                raise NotSupportedError(
                    "Densities of left-out rows would require a refit for each row, in which the units "
                    "differ.",
                    hint='Use method="distance".',
                )
        for rows, x, codes, weights in used_rows(design_rows):
            with np.errstate(over="ignore", invalid="ignore"):
                if self.measure_type == "distance":
                    d2, remaining_counts, _ = fit.estimates.left_out_distances(x, codes, weights)
                    values = d2.T
                    row_index = np.arange(len(x))
                    # The row is alone in its class, or the covariance without it is singular.
                    has_distance = (values[row_index, codes] >= 0) & (
                        remaining_counts[codes, row_index] < fit.counts[codes]
                    )
                    values[row_index, codes] = np.where(has_distance, values[row_index, codes], np.inf)
                elif left_out is not None:
                    values = -2.0 * (left_out(x, codes, weights) - fit_with_equal_prior.log_prior())
                else:
                    values = out[rows]
                left_out_total = (
                    None
                    if self.total_distribution is None
                    else self.total_distribution.leave_one_out_squared(x, weights)
                )
                out[rows] = self._subtract_total_distances(values, x, left_out_total)
        return out


def _score_nonconformity(fit: FittedModel[Any], scores: Floats) -> Floats:
    """Return the nonconformity (m, K) of scores (m, K) of the rule; larger values are less typical.

    It is minus the log odds of the class ("lac"), or for models without posteriors the best score of the
    other classes minus the score of the class ("margin"); see `nonconformity_scores`.
    """
    return nonconformity_scores(scores, "lac" if fit.has_posteriors else "margin")


def _select_measure_type(fit: FittedModel[Any]) -> MeasureType:
    """Return the type of measure of a model.

    "distance" if squared distances have a closed form; "common" for other fits of LDA with all axes, nearest
    centroids and robust QDA; "density" for other fits of QDA, naive Bayes and RDA with alpha > 0; else
    "scores".
    """
    estimates = fit.estimates
    if getattr(estimates, "has_distances", False):
        return "distance"
    if isinstance(estimates, LDAFit | NearestCentroidFit):
        return (
            "scores" if isinstance(estimates, LDAFit) and estimates.reduced_axes() is not None else "common"
        )
    if isinstance(estimates, QDAFit) and estimates.covariance_model.traits.is_robust:
        return "common"
    if isinstance(estimates, QDAFit | NaiveBayesFit) or (
        isinstance(estimates, RDAFit) and estimates.alpha > 0
    ):
        return "density"
    return "scores"


def typicality_measure(fit: FittedModel[Any], *, relative: bool) -> TypicalityMeasure:
    """Return the measure by which rows are compared with the classes of a fit.

    With `relative`, squared distances to the distribution of all rows are subtracted. NotSupportedError is
    raised if these are not defined: for "scores", covariates, and a singular total covariance.
    """
    measure_type = _select_measure_type(fit)
    if not relative:
        return TypicalityMeasure(measure_type)
    adjusts = getattr(fit.estimates, "covariates", 0) > 0
    total_distribution: PooledNormal | DistributionOnAxes | None = None
    if measure_type != "scores" and not adjusts:
        moments = fit.estimates.moments
        axes = getattr(fit.estimates, "subspace_model", None)
        total_distribution = (
            pooled_normal(moments)
            if axes is None
            else DistributionOnAxes.from_scores(axes.axis_scores(moments))
        )
    if total_distribution is None:
        reason = (
            "has no distances to classes"
            if measure_type == "scores"
            else "adjusts its columns for covariates"
            if adjusts
            else "has a singular total covariance"
        )
        raise NotSupportedError(
            f"Relative distances are not defined: this {fit.title_in_sentence} {reason}.",
            hint='Use method="conformal", or fit lda() or qda() with full covariances.',
        )
    return TypicalityMeasure(measure_type, total_distribution)


@dataclass(frozen=True, slots=True)
class TypicalityRanks:
    """Reference distributions of a measure, one for each of the K classes, for p-values by rank."""

    measure: TypicalityMeasure
    references: list[CalibrationScores]

    def rank_new_rows(self, fit: FittedModel[Any], design_rows: DesignRows) -> Floats:
        """Return p-values (n, K) of rows that were not used in the fit, NaN for rows with a missing value."""
        raise_if_many_scores(design_rows.table.nrows, len(fit.classes), "Typicality")
        out = np.full((design_rows.table.nrows, len(fit.classes)), np.nan)
        for row_slice, values in self.measure.compute_new_rows(fit, design_rows):
            for k, reference in enumerate(self.references):
                out[row_slice, k] = conformal_pvalues(reference, values[:, k])
        return out

    def rank_fit_rows(self, values: Floats, own_rows: CalibrationRows, positions: NDArray[np.intp]) -> Floats:
        """Return p-values (n, K) of the rows of the fit, each ranked among the others.

        Parameters
        ----------
        values : (n, K) float
            Measure of each row in each class, from `compute_left_out_rows`.
        own_rows : CalibrationRows
            Measure of the m used rows in their own classes, from which each row is removed in turn.
        positions : (m,) int
            Positions of the used rows in the table.
        """
        out = np.full(values.shape, np.nan)
        own_values = np.full(len(values), np.inf)
        own_values[positions] = own_rows.values
        for k, reference in enumerate(self.references):
            removed_weights = np.zeros(len(values))
            class_positions = positions[own_rows.codes == k]
            removed_weights[class_positions] = 1.0
            if own_rows.weights is not None:
                removed_weights[class_positions] = np.minimum(1.0, own_rows.weights[own_rows.codes == k])
            out[:, k] = conformal_pvalues(reference, values[:, k], left_out=(own_values, removed_weights))
        return out


def ranks_among_fit_rows(fit: FittedModel[Any], method: str) -> TypicalityRanks:
    """Return the reference distributions of the left-out rows of the fit, to find outliers in new rows.

    `method` is "relative" or "conformal". Raises NotSupportedError if the rows cannot be left out.
    """
    hint = (
        f'Call typicality(data, method="{method}", calibration=), with a table of rows that the fit has not '
        "used, and compare its values with the bound."
    )
    return _reference_ranks(fit, method, None, AS_FITTED, hint)[0]


def _reference_ranks(
    fit: FittedModel[Any], method: str, calibration: Any, missing_policy: MissingPolicy, hint: str
) -> tuple[TypicalityRanks, Floats | None, CalibrationRows, NDArray[np.intp]]:
    """Return the reference distributions from calibration rows or from the rows of the fit, each left out.

    Parameters
    ----------
    fit : FittedModel
    method : {"relative", "conformal"}
    calibration : table or None
        Rows that the fit has not used, with their response; None for the rows of the fit.
    missing_policy : MissingPolicy
        Options for missing values and unseen levels.
    hint : str
        Hint of the error if the fit lacks rows that can be left out.

    Returns
    -------
    ranks : TypicalityRanks
    values : (n, K) float or None
        Measure of the rows of the fit, each left out; None with calibration rows.
    reference_rows : CalibrationRows
        Rows of the distributions, with the measure in their own classes.
    positions : (m,) int
        Positions of these rows in the fit; empty with calibration rows.
    """
    measure = typicality_measure(fit, relative=method == "relative")
    k = len(fit.classes)
    if calibration is not None:
        reference_rows = calibration_rows(
            fit,
            calibration,
            lambda blocks: measure.compute_new_rows(fit, blocks),
            missing_policy=missing_policy,
        )
        return (
            TypicalityRanks(measure, references_by_class(reference_rows, k)),
            None,
            reference_rows,
            np.zeros(0, dtype=np.intp),
        )
    if not fit.has_rows:
        raise NotSupportedError(
            f'method="{method}" ranks rows among the rows of the fit. A fit that was loaded or computed from '
            "moments has none.",
            hint=hint,
        )
    try:
        values = measure.compute_left_out_rows(fit)
    except NotSupportedError as error:
        raise error.with_message(error.message, hint=f"{error.hint} {hint}".strip()) from None
    codes = used_codes(fit.design_rows)
    weights = fit.design_rows.weights
    positions = np.flatnonzero(codes >= 0)
    reference_rows = CalibrationRows(
        values[positions, codes[positions]], codes[positions], None if weights is None else weights[positions]
    )
    return TypicalityRanks(measure, references_by_class(reference_rows, k)), values, reference_rows, positions


def typicality_by_ranks(
    fit: FittedModel[Any],
    data: Any,
    method: str,
    calibration: Any = None,
    missing_policy: MissingPolicy = AS_FITTED,
) -> pd.DataFrame:
    """Return p-values from ranks among reference rows, for the methods "relative" and "conformal".

    Raises NotSupportedError if `data` is None and `calibration` is passed, or if the rows of the fit have to
    be left out and cannot be.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows; None for the rows of the fit.
    method : {"relative", "conformal"}
    calibration : table, optional
        Rows that the fit has not used, with their response; by default the rows of the fit.
    missing_policy : MissingPolicy
        Options for missing values and unseen levels.

    Returns
    -------
    DataFrame of n rows by K classes
        P-values, NaN for rows with a missing value, and for rows of the fit that it does not use.
    """
    if data is None and calibration is not None:
        raise NotSupportedError(
            "The rows of the fit cannot be ranked among the new rows of calibration=.",
            hint="Pass data=, or leave out calibration=.",
        )
    data_hint = "" if data is not None else "new rows as data=, and "
    hint = f"Pass {data_hint}calibration=, a table of new rows with their response."
    ranks, values, reference_rows, positions = _reference_ranks(
        fit, method, calibration, missing_policy, hint
    )
    design_rows = fit.design_rows if data is None else fit.new_rows(data, missing_policy)
    p = (
        ranks.rank_new_rows(fit, design_rows)
        if values is None or data is not None
        else ranks.rank_fit_rows(values, reference_rows, positions)
    )
    return pd.DataFrame(p, index=design_rows.table.index, columns=fit.classes, copy=False)


def relative_distances(
    fit: FittedModel[Any], data: Any, missing_policy: MissingPolicy = AS_FITTED
) -> pd.DataFrame:
    """Return squared distances to the classes minus the squared distance to the distribution of all rows.

    For a "density" measure minus twice the log density replaces the squared distance; see
    `TypicalityMeasure`. Raises NotSupportedError if they are not defined, or rows cannot be left out.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows; None for the rows of the fit, each left out.
    missing_policy : MissingPolicy
        Options for missing values and unseen levels.

    Returns
    -------
    DataFrame of n rows by K classes
        Differences of squared distances, negative if a row is closer to the class; NaN for rows with a
        missing value.
    """
    measure = typicality_measure(fit, relative=True)
    if data is None:
        design_rows = fit.require_rows("relative_distances()", "pass data=")
        try:
            distances = measure.compute_left_out_rows(fit)
        except NotSupportedError as error:
            raise error.with_message(
                error.message,
                hint=f"{error.hint} Pass new rows as data=.".strip(),
            ) from None
    else:
        design_rows = fit.new_rows(data, missing_policy)
        raise_if_many_scores(design_rows.table.nrows, len(fit.classes), "Relative distances")
        distances = np.full((design_rows.table.nrows, len(fit.classes)), np.nan)
        for row_slice, values in measure.compute_new_rows(fit, design_rows):
            distances[row_slice] = values
    return pd.DataFrame(distances, index=design_rows.table.index, columns=fit.classes, copy=False)


MAX_CHUNK_ELEMENTS = 2**21
"""Largest number of array elements, of rows by classes or by coefficients, in a chunk."""


def typicality(
    fit: FittedModel[Any],
    data: Any,
    missing_policy: MissingPolicy = AS_FITTED,
    method: str = "exact",
    calibration: Any = None,
) -> pd.DataFrame:
    """Return the typicality of rows in each class by any method; see `ClassifierResults.typicality`.

    Raises DataError if `calibration` is passed for another method, and NotSupportedError if the model does
    not support the method.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows; None for the rows of the fit.
    missing_policy : MissingPolicy
        Options for missing values and unseen levels.
    method : {"exact", "chi2", "relative", "conformal"}
        Distribution of the squared distances (F for "exact"), or ranks.
    calibration : table, optional
        Rows that the fit has not used, for the methods "relative" and "conformal".

    Returns
    -------
    DataFrame of n rows by K classes
        P-values, NaN for rows with a missing value.
    """
    if method in ("relative", "conformal"):
        return typicality_by_ranks(fit, data, method, calibration, missing_policy)
    if calibration is not None:
        raise DataError(
            f'calibration= cannot be combined with method="{method}", which does not use rows.',
            hint="Leave out calibration=.",
        )
    design_rows = (
        fit.require_rows("typicality()", "pass data=") if data is None else fit.new_rows(data, missing_policy)
    )
    pvalues = _parametric_typicality(fit, design_rows, method, are_fit_rows=data is None)
    return pd.DataFrame(pvalues, index=design_rows.table.index, columns=fit.classes, copy=False)


def typicality_function(
    fit: FittedModel[Any], method: str, bound: float
) -> Callable[[FittedModel[Any], DesignRows], Floats]:
    """Return a function of a fit and new rows (`DesignRows`) that computes their typicality (n, K).

    A warning is issued for "relative" and "conformal" if p-values in the class with the smallest weight n_k
    cannot be below a positive bound: the smallest possible one is 1 / (n_k + 1). Raises NotSupportedError if
    the model does not support the method.

    Parameters
    ----------
    fit : FittedModel
    method : {"exact", "chi2", "relative", "conformal"}
    bound : float
        Typicality below which a row is an outlier.
    """
    if method in ("relative", "conformal"):
        rank_new_rows = ranks_among_fit_rows(fit, method).rank_new_rows
        min_ranks = 1 / (fit.counts + 1)
        k = int(min_ranks.argmax())
        if min_ranks[k] >= bound > 0:
            warn_user(
                f"outlier={bound:g} finds no outliers: a p-value by ranks among the {fit.counts[k]:g} rows "
                f"of class {fit.classes[k]!r} is at least {min_ranks[k]:.2g}. Pass a larger bound, or "
                "another typicality=."
            )
        return rank_new_rows
    _tail_probability_function(fit, method)
    return partial(_parametric_typicality, method=method, are_fit_rows=False)


def find_outliers(pvalues: Floats, codes: Codes, bound: float) -> NDArray[np.bool_]:
    """Return a mask (n,) of rows with a predicted class and a typicality below the bound in every class.

    A warning counts rows with a class but without typicality: missing columns were integrated out.

    Parameters
    ----------
    pvalues : (n, K) float
        Typicality, NaN if missing.
    codes : (n,) int
        Predicted classes, -1 if missing.
    bound : float
        Typicality below which a row is an outlier.
    """
    labelled = codes >= 0
    n_without_typicality = int((labelled & np.isnan(pvalues).all(axis=1)).sum())
    if n_without_typicality:
        warn_user(
            f"outlier= ignores {n_without_typicality} {'row' if n_without_typicality == 1 else 'rows'} with "
            "missing values, which have no typicality. Their labels are predicted from the observed columns.",
            MissingPredictionWarning,
        )
    return np.asarray(labelled & (pvalues < bound).all(axis=1))


def _parametric_typicality(
    fit: FittedModel[Any], design_rows: DesignRows, method: str, *, are_fit_rows: bool
) -> Floats:
    """Return typicality (n, K) from the distribution of the squared distances, NaN if missing.

    Raises NotSupportedError as `_tail_probability_function` does.

    Parameters
    ----------
    fit : FittedModel
    design_rows : DesignRows
    method : {"exact", "chi2"}
    are_fit_rows : bool
        Whether the rows are rows of the fit, each of which is then left out.
    """
    tail_probability = _tail_probability_function(fit, method)
    raise_if_many_scores(design_rows.table.nrows, len(fit.classes), "Typicality")
    out = np.full((len(fit.classes), design_rows.table.nrows), np.nan)
    with Progress(design_rows.table.nrows, "typicality") as progress:
        for row_slice, values in typicality_blocks(
            fit, design_rows, tail_probability, are_fit_rows=are_fit_rows
        ):
            out[:, row_slice] = values
            progress(values.shape[1])
    return out.T


def is_robust_fit(fit: FittedModel[Any]) -> bool:
    """Return whether the covariance of a fit is robust: its estimate is not a function of moments."""
    covariance_model = getattr(fit.estimates, "covariance_model", None)
    return covariance_model is not None and not covariance_model.traits.is_moment_estimate


def has_distance_distribution(fit: FittedModel[Any], method: str) -> bool:
    """Return whether `typicality` supports the method "exact" or "chi2" for a fit.

    Both require distances in closed form; "chi2" also accepts a robust covariance.
    """
    has_closed_form: bool = getattr(fit.estimates, "has_distances", False)
    return has_closed_form or (method == "chi2" and is_robust_fit(fit))


def _tail_probability_function(fit: FittedModel[Any], method: str) -> Callable[..., Floats]:
    """Return the function that converts squared distances to typicality, for `typicality_blocks`.

    `method` is "exact" (scaled F distribution) or "chi2". Raises NotSupportedError if the distribution of
    the distances is unknown or a class is too small.
    """
    is_robust = is_robust_fit(fit)
    if not has_distance_distribution(fit, method):
        chi2_hint = 'method="chi2" or ' if is_robust else ""
        raise NotSupportedError(
            "typicality() requires normal classes with full covariances, which this "
            f"{fit.title_in_sentence} does not have.",
            hint=f'Use {chi2_hint}method="conformal", or fit lda() or qda() with full covariances.',
        )
    if not is_robust:
        raise_if_small_classes(fit, len(fit.terms), "typicality")
    return (
        parametric_errors.typicality_pvalues
        if method == "exact"
        else lambda d2, counts, df, p: np.asarray(chi2_sf(d2, p))
    )


def typicality_blocks(
    fit: FittedModel[Any],
    design_rows: DesignRows,
    tail_probability: Callable[..., Floats],
    *,
    are_fit_rows: bool,
) -> Iterator[tuple[Any, Floats]]:
    """Compute the typicality of rows in each class from their squared distances, block by block.

    Parameters
    ----------
    fit : FittedModel
    design_rows : DesignRows
    tail_probability : callable
        Function of squared distances (K, m), class counts and degrees of freedom of the covariances, both
        (K, m) or (K, 1), and the number of columns. It returns the typicality (K, m). Distances are under
        unbiased covariances if they have a closed form.
    are_fit_rows : bool
        Whether the rows are rows of the fit. Each is then left out of the estimates, if distances have a
        closed form; only used rows are yielded.

    Yields
    ------
    rows : slice or (m,) int
        Rows of the table: all, or positions of used ones.
    typicality : (K, m) float
        Values that `tail_probability` returns.
    """
    p = len(fit.terms)
    estimates = fit.estimates
    if are_fit_rows and estimates.has_distances:
        for rows, x, codes, weights in used_rows(design_rows):
            d2, remaining_counts, df = estimates.left_out_distances(x, codes, weights)
            yield rows, tail_probability(d2, remaining_counts, df, p)
        return
    counts = estimates.moments.counts
    distances, df = (
        estimates.unbiased_distances() if estimates.has_distances else (estimates.distances(), counts)
    )
    for row_slice, x, _ in design_rows.iter_all_rows():
        yield row_slice, tail_probability(distances.squared(x), counts[:, None], df[:, None], p)


def raise_if_small_classes(fit: FittedModel[Any], n_parameters: int, option: str) -> None:
    """Raise NotSupportedError if a class has too little weight for a covariance of its own.

    Parameters
    ----------
    fit : FittedModel
        Only fits with a covariance for each class are checked.
    n_parameters : int
        Number that the weight (sum of frequency weights) of each class must exceed.
    option : str
        Name of the method or option in the message.
    """
    if isinstance(fit.estimates, QDAFit):
        raise_if_small_class_weight(fit.counts, fit.classes, n_parameters, option)
