"""Conformal prediction sets, typicality and intervals of posteriors for single rows.

*Prediction sets* contain the class of a row with a stated frequency. The scores of rows are compared with the
scores of calibration rows: rows of the fit, each left out, or rows that the fit has not seen. *Typicality* is
a p-value of a row in each class, from the distribution of its distance under normality, or by its rank among
the rows of the class (`discrim.inference.conformal`). The ranked quantity is the squared distance to the
class, or minus twice its log density, or a nonconformity score if the model has neither; "relative" subtracts
the distance to one normal distribution of all rows. *Posteriors* have intervals by the delta method, or by a
bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

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
from discrim.core.regression.logistic import LogisticFit
from discrim.core.rules.gaussian import PooledNormal, pooled_normal
from discrim.core.rules.leave_one_out import MomentsFit, RefitEachRow, squared_distances_between_means
from discrim.core.rules.rules import best_class, posteriors
from discrim.design.design_rows import DesignRows
from discrim.design.rows import used_codes, used_rows
from discrim.errors import (
    DataError,
    DroppedRowsWarning,
    MissingPredictionWarning,
    NotSupportedError,
    PriorError,
    warn_user,
)
from discrim.inference import parametric_errors
from discrim.inference.conformal import (
    Reference,
    SetScore,
    conformal_pvalues,
    min_calibration_rows,
    miss_probability,
    nonconformity_scores,
)
from discrim.inference.error_rates import check_level
from discrim.inference.parametric_errors import ScoreCovariance
from discrim.inference.resampling import RunningInterval, random_generator
from discrim.models.base.fit import AS_FITTED, FittedModel, MissingPolicy
from discrim.models.base.labels import make_unique_name
from discrim.models.base.reading import check_flag, check_word, join_labels, refuse_little_weight
from discrim.models.base.scores import score_chunks
from discrim.models.evaluation.assessment import EvaluationOptions, evaluate_scores, read_labelled_rows
from discrim.models.evaluation.validation import BootstrapSamples, left_out_scores, refuse_many_scores


class CalibrationRows(NamedTuple):
    """Calibration rows: nonconformity `values` (n,) in the own class, classes (n,), and weights (n,)."""

    values: Floats
    codes: Codes
    weights: Floats | None

    def among(self, class_mask: NDArray[np.bool_]) -> CalibrationRows:
        """Return the rows whose class is in a mask of classes (K,)."""
        row_mask = class_mask[self.codes]
        return CalibrationRows(
            self.values[row_mask],
            self.codes[row_mask],
            None if self.weights is None else self.weights[row_mask],
        )

    def counts(self, n_classes: int) -> Floats:
        """Return the number of rows, or sum of weights, (K,) by class."""
        return np.bincount(self.codes, self.weights, n_classes).astype(np.float64)


def references_by_class(calibration: CalibrationRows, n_classes: int) -> list[Reference]:
    """Return the reference distribution of the scores of each class."""
    members = [calibration.codes == k for k in range(n_classes)]
    weights = [
        None if calibration.weights is None else calibration.weights[class_mask] for class_mask in members
    ]
    return [
        Reference.of(calibration.values[class_mask], class_weights)
        for class_mask, class_weights in zip(members, weights, strict=True)
    ]


def calibration_rows(
    fit: FittedModel[Any],
    data: Any,
    score_blocks: Callable[[DesignRows], Iterator[tuple[slice, Floats]]],
    *,
    weights: Any = None,
    missing_policy: MissingPolicy = AS_FITTED,
) -> CalibrationRows:
    """Read calibration rows that the fit has not seen; a warning counts rows that are left out.

    Parameters
    ----------
    fit, data
        The fit, and a table or source of tables with the response.
    score_blocks : callable
        Function of blocks that yields slices and scores (m, K), NaN for rows with missing values.
    weights, missing_policy
        Frequency weights; options for missing values and unseen levels.
    """

    def compute_nonconformity(blocks: DesignRows) -> Floats:
        refuse_many_scores(blocks.table.nrows, len(fit.classes), "Calibration")
        out = np.full((blocks.table.nrows, len(fit.classes)), np.nan)
        for row_slice, chunk_values in score_blocks(blocks):
            out[row_slice] = chunk_values
        return out

    rows = read_labelled_rows(fit, data, missing_policy, weights, compute_nonconformity)
    scores = rows.predictions[np.arange(len(rows.actual)), np.maximum(rows.actual, 0)]
    is_counted = (rows.actual >= 0) & ~np.isnan(scores)
    if rows.weights is not None:
        is_counted &= rows.weights > 0
    n_rows = len(is_counted)
    n_dropped = int((~is_counted).sum())
    if n_dropped == n_rows:
        raise DataError(
            f"All {n_rows} rows of calibration= have a missing class, value or weight.",
            hint=f"Pass complete rows with the response, {fit.design_rows.design.response!r}.",
        )
    if n_dropped:
        warn_user(
            f"{n_dropped} of the {n_rows} rows of calibration= {'has' if n_dropped == 1 else 'have'} a "
            f"missing class, value or weight and {'is' if n_dropped == 1 else 'are'} dropped.",
            DroppedRowsWarning,
        )
    return CalibrationRows(
        scores[is_counted],
        rows.actual[is_counted],
        None if rows.weights is None else rows.weights[is_counted],
    )


def warn_of_small_classes(
    counts: Floats, classes: pd.Index, level: float, possible: NDArray[np.bool_]
) -> None:
    """Warn of classes with too few calibration rows for the level: they are in every set.

    Parameters
    ----------
    counts : (K,) float
        Numbers of calibration rows.
    classes : Index of length K
    level : float
    possible : (K,) bool
        Classes with a positive prior; no others are checked.
    """
    min_rows = min_calibration_rows(level)
    small_classes = np.flatnonzero(possible & (counts < min_rows))
    if len(small_classes):
        counts_text = ", ".join(f"{counts[k]:g}" for k in small_classes[:6].tolist())
        warn_user(
            f"level={level:.15g} requires {min_rows} calibration rows in each class. "
            f"{join_labels(classes[small_classes])} {'has' if len(small_classes) == 1 else 'have'} "
            f"{counts_text} and "
            f"{'is' if len(small_classes) == 1 else 'are'} therefore in every set. Pass a lower level, or "
            "more calibration rows."
        )


SET_SIZES = pd.CategoricalDtype(["empty", "single", "several", "full"])

COVERAGE_STATEMENTS = {
    "split": (
        "at least {level:.10g} of rows exchangeable with the calibration rows{within} have their class in "
        "the set"
    ),
    "loo": (
        "nearly {level:.10g} of rows exchangeable with those of the fit{within} have their class in the set: "
        "leave-one-out keeps the level in practice, and no distribution-free bound guarantees it"
    ),
    "cv": (
        "nearly {level:.10g} of rows exchangeable with those of the fit{within} have their class in the set: "
        "cross-validation keeps the level in practice, and no distribution-free bound guarantees it"
    ),
}


@dataclass(frozen=True, slots=True)
class PredictionSetOptions:
    """Options of `ClassifierResults.predict_set`."""

    level: float = 0.95
    by: str | None = None
    method: str | None = None
    calibration: Any = None
    score: str | None = None
    smoothed: bool = False
    empty: str = "keep"
    prior: Any = None
    weights: Any = None
    folds: int = 10
    seed: int | None = None
    missing_policy: MissingPolicy = AS_FITTED

    def checked(self, fit: FittedModel[Any], data: Any) -> PredictionSetOptions:
        """Return the options with defaults filled in; raise an error for an option that cannot be used."""
        check_level(self.level)
        check_word("by", self.by, ("class",), optional=True)
        check_word("method", self.method, ("loo", "cv", "split"), optional=True)
        check_word("score", self.score, SetScore, optional=True)
        check_word("empty", self.empty, ("keep", "best"))
        check_flag("smoothed", self.smoothed)
        method = self.method or ("loo" if self.calibration is None else "split")
        if method == "split" and self.calibration is None:
            raise DataError(
                'method="split" requires calibration rows that were not used in the fit.',
                hint=f"Pass calibration=, a table of new rows with the response, {fit.classes.name!r}.",
            )
        if method != "split" and self.calibration is not None:
            raise DataError(
                f'calibration= cannot be combined with method="{method}", which calibrates by the rows of '
                "the fit.",
                hint="Leave out calibration= or method=.",
            )
        if method != "split" and self.weights is not None:
            raise DataError(
                "weights= are the weights of the rows of calibration=, which were not passed.",
                hint="Leave weights= out.",
            )
        if data is None and method == "split":
            other = ', or use method="loo"' if fit.has_rows else ""
            raise NotSupportedError(
                'method="split" is not valid for the rows of the fit.',
                hint=f"Pass new rows as data={other}.",
            )
        score = self.score or ("lac" if fit.has_posteriors else "margin")
        if score != "margin":
            fit.need_posteriors(f'score="{score}"')
        return replace(self, method=method, score=score)

    def generator(self) -> np.random.Generator | None:
        """Return the random generator that breaks ties of smoothed sets; None for other sets."""
        return random_generator(self.seed) if self.smoothed else None


@dataclass(frozen=True, slots=True, eq=False)
class SetCalibration:
    """Calibration of prediction sets: options and sorted scores, without rows of the fit.

    `references` has one distribution of scores, or one for each class. `possible` (K,) marks classes with a
    positive prior. `notes` are stored in the `attrs` of a table of sets.
    """

    options: PredictionSetOptions
    references: list[Reference]
    possible: NDArray[np.bool_]
    notes: dict[str, Any]

    def reference(self, k: int) -> Reference:
        """Return the distribution of calibration scores for class k."""
        return self.references[k if len(self.references) > 1 else 0]

    def sets(self, fit: FittedModel[Any], blocks: DesignRows) -> pd.DataFrame:
        """Return the table of prediction sets of new rows."""
        k = len(fit.classes)
        refuse_many_scores(blocks.table.nrows, k, "Prediction sets")
        p = np.full((blocks.table.nrows, k), np.nan, order="F")
        predicted = np.full(len(p), -1)
        rng = self.options.generator()
        for row_slice, scores in score_chunks(blocks, fit.rule_for(blocks, self.options.prior), k):
            nonconformity, tie_shares = _nonconformity(scores, self.options, rng)
            for j in np.flatnonzero(self.possible).tolist():
                p[row_slice, j] = conformal_pvalues(
                    self.reference(j), nonconformity[:, j], tie_weights=tie_shares
                )
            p[row_slice, ~self.possible] = np.where(np.isnan(nonconformity[:, :1]), np.nan, -1.0)
            predicted[row_slice] = best_class(scores)
        return self.frame(fit, blocks, p, predicted)

    def frame(
        self, fit: FittedModel[Any], blocks: DesignRows, pvalues: Floats, predicted: NDArray[np.intp]
    ) -> pd.DataFrame:
        """Return the table of sets.

        Parameters
        ----------
        fit : FittedModel
        blocks : DesignRows
            Rows of the table.
        pvalues : (n, K) float
            Conformal p-values, NaN if missing. A set has the classes whose p-value exceeds 1 - level.
        predicted : (n,) int
            Predicted classes, -1 if missing, which fill empty sets if `options.empty` is "best".

        Returns
        -------
        DataFrame of n rows
            Size of the set ("set"), and whether each class is in it.
        """
        missing = np.asarray(np.isnan(pvalues).any(axis=1))
        is_in_set = pvalues > miss_probability(self.options.level)
        if self.options.empty == "best":
            empty_rows = np.flatnonzero(~is_in_set.any(axis=1) & ~missing & (predicted >= 0))
            is_in_set[empty_rows, predicted[empty_rows]] = True
        is_in_set[missing] = False
        size = is_in_set.sum(axis=1)
        size_code = np.where(size > 1, 2, size)
        size_code[size == self.possible.sum()] = 3
        size_code[missing] = -1
        index = blocks.table.index
        columns = {
            j: pd.arrays.BooleanArray(is_in_set[:, j].copy(), missing.copy()) for j in range(len(fit.classes))
        }
        frame = pd.DataFrame(columns, index=index).set_axis(fit.classes, axis=1)
        sizes = pd.Series(pd.Categorical.from_codes(size_code, dtype=SET_SIZES), index=index)
        frame.insert(0, make_unique_name("set", fit.classes), sizes)
        frame = frame.rename_axis(columns=None)
        frame.attrs.update(self.notes)
        return frame


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutRows:
    """Rows of a fit with scores (n, K) and nonconformity `nonconformity` (n, K) by rules fitted without them.

    Both are NaN in rows that cannot be left out and in rows that the fit does not use, whose `codes` (n,) are
    -1. `tie_shares` (n,) are random shares of ties, for smoothed sets.
    """

    blocks: DesignRows
    scores: Floats
    nonconformity: Floats
    codes: NDArray[np.intp]
    weights: Floats | None
    tie_shares: Floats | None

    def to_calibration_rows(self) -> CalibrationRows:
        """Return the used rows as calibration rows; NaN if the row cannot be left out."""
        used = np.flatnonzero(self.codes >= 0)
        codes = self.codes[used]
        return CalibrationRows(
            self.nonconformity[used, codes], codes, None if self.weights is None else self.weights[used]
        )

    def sets(self, fit: FittedModel[Any], calibration: SetCalibration) -> pd.DataFrame:
        """Return the table of prediction sets of these rows, each calibrated by the others."""
        n, k = self.nonconformity.shape
        own_classes = np.maximum(self.codes, 0)
        own_scores = self.nonconformity[np.arange(n), own_classes]
        own_scores = np.where(np.isnan(own_scores), np.inf, own_scores)
        removed_weights = np.where((self.codes >= 0) & calibration.possible[own_classes], 1.0, 0.0)
        if self.weights is not None:
            removed_weights = np.minimum(removed_weights, self.weights)
        p = np.full((n, k), np.nan, order="F")
        for j in range(k):
            removed = (
                removed_weights
                if calibration.options.by is None
                else np.where(self.codes == j, removed_weights, 0.0)
            )
            p[:, j] = conformal_pvalues(
                calibration.reference(j),
                self.nonconformity[:, j],
                left_out=(own_scores, removed),
                tie_weights=self.tie_shares,
            )
        p[:, ~calibration.possible] = np.where(np.isnan(self.nonconformity[:, :1]), np.nan, -1.0)
        return calibration.frame(fit, self.blocks, p, best_class(self.scores))


def calibrate_sets(
    fit: FittedModel[Any], plan: PredictionSetOptions
) -> tuple[SetCalibration, LeftOutRows | None]:
    """Return the calibration by a checked plan, and the rows of the fit left out if they are the basis."""
    k = len(fit.classes)
    if plan.prior is not None:
        fit.need_posteriors("prior=")
    prior = fit.prior_values(plan.prior) if fit.has_posteriors else None
    possible = np.ones(k, dtype=bool) if prior is None else prior > 0
    left_out = None
    if plan.method == "split":
        score_blocks = partial(_nonconformity_blocks, fit, plan, plan.generator())
        calibration = calibration_rows(
            fit, plan.calibration, score_blocks, weights=plan.weights, missing_policy=plan.missing_policy
        )
    else:
        left_out = _left_out_rows(fit, plan, prior)
        calibration = left_out.to_calibration_rows()
    calibration = calibration.among(possible)
    counts = calibration.counts(k)
    if plan.by == "class":
        references = references_by_class(calibration, k)
        warn_of_small_classes(counts, fit.classes, plan.level, possible)
    else:
        references = [Reference.of(calibration.values, calibration.weights)]
        min_rows = min_calibration_rows(plan.level)
        if counts.sum() < min_rows:
            warn_user(
                f"level={plan.level:.15g} requires {min_rows} calibration rows. There are "
                f"{counts.sum():g}, and "
                "every set therefore has all classes. Pass a lower level, or more calibration rows."
            )
    return SetCalibration(plan, references, possible, _set_notes(fit, plan, counts)), left_out


def _left_out_rows(fit: FittedModel[Any], plan: PredictionSetOptions, prior: Floats | None) -> LeftOutRows:
    """Score the rows of the fit by rules that are fitted without them.

    Parameters
    ----------
    fit : FittedModel
    plan : PredictionSetOptions
    prior : (K,) float or None
        Values of `plan.prior`.
    """
    calibration_hint = f"a table of new rows with the response, {fit.design_rows.design.response!r}."
    if not fit.has_rows:
        raise NotSupportedError(
            "A fit that was loaded or computed from moments has no rows to leave out.",
            hint=f"Pass calibration=, {calibration_hint}",
        )
    method: Any = plan.method
    evaluation = EvaluationOptions(
        folds=plan.folds, seed=plan.seed, refit_prior=None if plan.prior is None else False
    )
    try:
        blocks = fit.require_rows(f'method="{method}"')
        _, scores, weights, _ = evaluate_scores(fit, None, method, evaluation)
    except NotSupportedError as error:
        cv_hint = 'method="cv", or ' if plan.method == "loo" else ""
        raise error.with_message(
            error.message, hint=f"{error.hint} For sets: {cv_hint}calibration=, {calibration_hint}"
        ) from None
    if plan.prior is not None and prior is not None:
        scores = scores + _prior_score_shift(fit, prior)
    nonconformity, tie_shares = _nonconformity(scores, plan, plan.generator())
    return LeftOutRows(blocks, scores, nonconformity, used_codes(blocks), weights, tie_shares)


def _prior_score_shift(fit: FittedModel[Any], prior: Floats) -> Floats:
    """Return the change (K,) of the scores of the fit under another prior (K,)."""
    zero_prior_classes = np.flatnonzero((fit.prior_values() == 0) & (prior > 0))
    if len(zero_prior_classes):
        raise PriorError(
            f"The fit has a prior of zero for {join_labels(fit.classes[zero_prior_classes])}. Left-out rows "
            "have no scores in such classes.",
            hint="Fit with the prior that you want, or pass calibration=.",
            classes=fit.classes[zero_prior_classes],
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(prior > 0, np.log(prior) - fit.log_prior(), -np.inf)


def _nonconformity_blocks(
    fit: FittedModel[Any], plan: PredictionSetOptions, rng: np.random.Generator | None, blocks: DesignRows
) -> Iterator[tuple[slice, Floats]]:
    """Yield row slices and nonconformity (m, K) of new rows, block by block.

    Parameters
    ----------
    fit : FittedModel
    plan : PredictionSetOptions
    rng : Generator or None
        Generator that breaks ties of smoothed sets.
    blocks : DesignRows
    """
    for row_slice, scores in score_chunks(blocks, fit.rule_for(blocks, plan.prior), len(fit.classes)):
        yield row_slice, _nonconformity(scores, plan, rng)[0]


def _nonconformity(
    scores: Floats, plan: PredictionSetOptions, rng: np.random.Generator | None
) -> tuple[Floats, Floats | None]:
    """Return nonconformity (m, K) of scores (m, K), and random shares (m,) of ties for smoothed sets."""
    score: Any = plan.score
    if rng is None:
        return nonconformity_scores(scores, score), None
    draws = rng.random((len(scores), 2))
    return nonconformity_scores(scores, score, draws[:, 0]), draws[:, 1]


def _set_notes(fit: FittedModel[Any], plan: PredictionSetOptions, counts: Floats) -> dict[str, Any]:
    """Return the notes in the `attrs` of a table of sets: the coverage that holds, and the options.

    Parameters
    ----------
    fit : FittedModel
    plan : PredictionSetOptions
    counts : (K,) float
        Numbers of calibration rows by class.
    """
    within = " within each class" if plan.by == "class" else ""
    statement = COVERAGE_STATEMENTS[str(plan.method)].format(level=plan.level, within=within)
    if plan.by is None and plan.prior is not None:
        statement += '; they come in the mix of the calibration rows, whatever prior= says: see by="class"'
    return {
        "promise": f"{statement[0].upper()}{statement[1:]}.",
        "level": float(plan.level),
        "method": plan.method,
        "by": plan.by,
        "score": plan.score,
        "calibration_rows": dict(zip(fit.classes.tolist(), counts.tolist(), strict=True)),
    }


def prediction_set_function(
    fit: FittedModel[Any], data: Any, plan: PredictionSetOptions
) -> Callable[[Any, Any], pd.DataFrame]:
    """Return a function of results and a table that returns prediction sets; checks all options first."""
    plan = plan.checked(fit, data)
    calibration, left_out = calibrate_sets(fit, plan)
    # The function may be sent to workers and must not contain the table.
    calibration = replace(calibration, options=replace(plan, calibration=None, weights=None))
    return partial(_sets, calibration, left_out if data is None else None)


def _sets(calibration: SetCalibration, left_out: LeftOutRows | None, results: Any, rows: Any) -> pd.DataFrame:
    """Return the table of prediction sets of the left-out rows of the fit, or of new rows if there are none.

    Parameters
    ----------
    calibration : SetCalibration
    left_out : LeftOutRows or None
    results : ClassifierResults
    rows : table
        New rows, which are not read if there are left-out rows.
    """
    fit = results._fit
    if left_out is not None:
        return left_out.sets(fit, calibration)
    return calibration.sets(fit, fit.new_rows(rows, calibration.options.missing_policy))


MeasureType = Literal["distance", "common", "density", "scores"]


@dataclass(frozen=True, slots=True)
class TypicalityMeasure:
    """Quantity that is ranked for typicality; larger values are less typical of the class.

    `measure_type` is "distance" (squared distances with a closed form for leaving out), "common" (of a common
    covariance or robust), "density" (minus twice the log density) or "scores" (nonconformity of the scores).
    `total_distribution` is the normal distribution of all rows, to which relative distances refer.
    """

    measure_type: MeasureType
    total_distribution: PooledNormal | DistributionOnAxes | None = None

    def compute_new(self, fit: FittedModel[Any], blocks: DesignRows) -> Iterator[tuple[slice, Floats]]:
        """Yield slices of rows that the fit has not seen and their values (m, K)."""
        if self.measure_type in ("distance", "common"):
            estimates = fit.estimates
            distances = (
                estimates.unbiased_distances()[0]
                if self.measure_type == "distance"
                else estimates.distances()
            )
            for row_slice, x, _ in blocks.iter_all_rows():
                yield row_slice, self._relative(distances.squared(x).T, x, None)
            return
        rule = fit.rule_for(blocks, None if self.measure_type == "scores" else "equal")
        for row_slice, scores in score_chunks(blocks, rule, len(fit.classes)):
            if self.measure_type == "scores":
                yield row_slice, _score_nonconformity(fit, scores)
            else:
                values = -2.0 * (scores + np.log(len(fit.classes)))
                if self.total_distribution is not None:
                    values = self._relative(
                        values, blocks.rows_at_positions(np.arange(row_slice.start, row_slice.stop)), None
                    )
                yield row_slice, values

    def _relative(self, values: Floats, x: Floats, left_out: Floats | None) -> Floats:
        """Subtract distances to all rows from values (m, K); `left_out` (m,) if each row is left out."""
        if self.total_distribution is None:
            return values
        return values - (self.total_distribution.squared(x) if left_out is None else left_out)[:, None]

    def compute_left_out(self, fit: FittedModel[Any]) -> Floats:
        """Return values (n, K) of the rows of the fit, each from estimates without it."""
        blocks = fit.require_rows("typicality()", "pass calibration=, a table of rows with their response")
        refuse_many_scores(blocks.table.nrows, len(fit.classes), "Typicality")
        if self.measure_type == "scores":
            return _score_nonconformity(fit, left_out_scores(fit))
        # A class with a prior of zero would have no score.
        fit_with_equal_prior = fit
        k = len(fit.classes)
        if self.measure_type == "common" or not (fit.prior > 0).all():
            fit_with_equal_prior = fit.with_prior(np.full(k, 1.0 / k))
        left_out: Any = None
        out = np.full((blocks.table.nrows, k), np.nan)
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
        for rows, x, codes, weights in used_rows(blocks):
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
                    None if self.total_distribution is None else self.total_distribution.left_out(x, weights)
                )
                out[rows] = self._relative(values, x, left_out_total)
        return out


def _score_nonconformity(fit: FittedModel[Any], scores: Floats) -> Floats:
    return nonconformity_scores(scores, "lac" if fit.has_posteriors else "margin")


def _measure_type(fit: FittedModel[Any]) -> MeasureType:
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


def distance_measure(fit: FittedModel[Any], *, relative: bool) -> TypicalityMeasure:
    """Return the measure by which rows are compared with the classes.

    Raises NotSupportedError if relative distances are requested and are not defined for the fit.
    """
    measure_type = _measure_type(fit)
    if not relative:
        return TypicalityMeasure(measure_type)
    adjusts = getattr(fit.estimates, "covariates", 0) > 0
    total_distribution: PooledNormal | DistributionOnAxes | None = None
    if measure_type != "scores" and not adjusts:
        moments = fit.estimates.moments
        axes = getattr(fit.estimates, "within_axes", None)
        total_distribution = (
            pooled_normal(moments) if axes is None else DistributionOnAxes.from_scores(axes.scores(moments))
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
    """Reference distributions of a measure, one for each class, for p-values of new rows."""

    measure: TypicalityMeasure
    references: list[Reference]

    def rank_new_rows(self, fit: FittedModel[Any], blocks: DesignRows) -> Floats:
        """Return p-values (n, K) of rows that the fit has not seen."""
        refuse_many_scores(blocks.table.nrows, len(fit.classes), "Typicality")
        out = np.full((blocks.table.nrows, len(fit.classes)), np.nan)
        for row_slice, values in self.measure.compute_new(fit, blocks):
            for k, reference in enumerate(self.references):
                out[row_slice, k] = conformal_pvalues(reference, values[:, k])
        return out

    def rank_fit_rows(self, values: Floats, own_rows: CalibrationRows, positions: NDArray[np.intp]) -> Floats:
        """Return p-values (n, K) of the rows of the fit, each ranked among the others.

        Parameters
        ----------
        values : (n, K) float
            Measure of each row in each class.
        own_rows : CalibrationRows
            Measure of the used rows in their own classes (m,), from which each row is removed in turn.
        positions : (m,) int
            Positions of the used rows.
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


def fit_row_ranks(fit: FittedModel[Any], method: str) -> TypicalityRanks:
    """Return ranks among the rows of the fit left out, to label outliers in new rows."""
    hint = (
        f'Call typicality(data, method="{method}", calibration=), with a table of rows that the fit has not '
        "used, and compare its values with the bound."
    )
    return _reference_ranks(fit, method, None, AS_FITTED, hint)[0]


def _reference_ranks(
    fit: FittedModel[Any], method: str, calibration: Any, missing_policy: MissingPolicy, hint: str
) -> tuple[TypicalityRanks, Floats | None, CalibrationRows, NDArray[np.intp]]:
    """Return the distributions of typicality among calibration rows, or among the rows of the fit left out.

    Parameters
    ----------
    fit : FittedModel
    method : {"relative", "conformal"}
    calibration : table or None
        Rows that the fit has not used, with their response; None for the rows of the fit.
    missing_policy : MissingPolicy
    hint : str
        Hint of the error if the fit has no rows that can be left out.

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
    measure = distance_measure(fit, relative=method == "relative")
    k = len(fit.classes)
    if calibration is not None:
        reference_rows = calibration_rows(
            fit, calibration, lambda blocks: measure.compute_new(fit, blocks), missing_policy=missing_policy
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
        values = measure.compute_left_out(fit)
    except NotSupportedError as error:
        raise error.with_message(error.message, hint=f"{error.hint} {hint}".strip()) from None
    codes = used_codes(fit.design_rows)
    weights = fit.design_rows.weights
    positions = np.flatnonzero(codes >= 0)
    reference_rows = CalibrationRows(
        values[positions, codes[positions]], codes[positions], None if weights is None else weights[positions]
    )
    return TypicalityRanks(measure, references_by_class(reference_rows, k)), values, reference_rows, positions


def rank_typicality(
    fit: FittedModel[Any],
    data: Any,
    method: str,
    calibration: Any = None,
    missing_policy: MissingPolicy = AS_FITTED,
) -> pd.DataFrame:
    """Return p-values by ranks; see `ClassifierResults.typicality`.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows; None for the rows of the fit.
    method : {"relative", "conformal"}
    calibration : table, optional
        Rows that the fit has not used, with their response; by default the rows of the fit.
    missing_policy : MissingPolicy

    Returns
    -------
    DataFrame of n rows by K classes
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
    blocks = fit.design_rows if data is None else fit.new_rows(data, missing_policy)
    p = (
        ranks.rank_new_rows(fit, blocks)
        if values is None or data is not None
        else ranks.rank_fit_rows(values, reference_rows, positions)
    )
    return pd.DataFrame(p, index=blocks.table.index, columns=fit.classes, copy=False)


def relative_distances(
    fit: FittedModel[Any], data: Any, missing_policy: MissingPolicy = AS_FITTED
) -> pd.DataFrame:
    """Return relative distances; see `ClassifierResults.relative_distances`.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows; None for the rows of the fit, each left out.
    missing_policy : MissingPolicy

    Returns
    -------
    DataFrame of n rows by K classes
    """
    measure = distance_measure(fit, relative=True)
    if data is None:
        blocks = fit.require_rows("relative_distances()", "pass data=")
        try:
            distances = measure.compute_left_out(fit)
        except NotSupportedError as error:
            raise error.with_message(
                error.message,
                hint=f"{error.hint} Pass new rows as data=.".strip(),
            ) from None
    else:
        blocks = fit.new_rows(data, missing_policy)
        refuse_many_scores(blocks.table.nrows, len(fit.classes), "Relative distances")
        distances = np.full((blocks.table.nrows, len(fit.classes)), np.nan)
        for row_slice, values in measure.compute_new(fit, blocks):
            distances[row_slice] = values
    return pd.DataFrame(distances, index=blocks.table.index, columns=fit.classes, copy=False)


MAX_CHUNK_ELEMENTS = 2**21
"""Largest number of array elements, of rows by classes or by coefficients, in a chunk."""


def typicality(
    fit: FittedModel[Any],
    data: Any,
    missing_policy: MissingPolicy = AS_FITTED,
    method: str = "exact",
    calibration: Any = None,
) -> pd.DataFrame:
    """Return P(D2 >= d2 | class) or p-values by ranks; see `ClassifierResults.typicality`.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows; None for the rows of the fit.
    missing_policy : MissingPolicy
    method : {"exact", "chi2", "relative", "conformal"}
    calibration : table, optional
        Rows that the fit has not used, for the methods "relative" and "conformal".

    Returns
    -------
    DataFrame of n rows by K classes
    """
    if method in ("relative", "conformal"):
        return rank_typicality(fit, data, method, calibration, missing_policy)
    if calibration is not None:
        raise DataError(
            f'calibration= cannot be combined with method="{method}", which does not use rows.',
            hint="Leave out calibration=.",
        )
    blocks = (
        fit.require_rows("typicality()", "pass data=") if data is None else fit.new_rows(data, missing_policy)
    )
    pvalues = _parametric_typicality(fit, blocks, method, seen=data is None)
    return pd.DataFrame(pvalues, index=blocks.table.index, columns=fit.classes, copy=False)


def typicality_of_new(
    fit: FittedModel[Any], method: str, bound: float
) -> Callable[[FittedModel[Any], DesignRows], Floats]:
    """Return a function that computes typicality (n, K) of new rows.

    A warning is issued if p-values by ranks cannot be below the bound.

    Parameters
    ----------
    fit : FittedModel
    method : {"exact", "chi2", "relative", "conformal"}
    bound : float
        Typicality below which a row is an outlier.
    """
    if method in ("relative", "conformal"):
        rank_new_rows = fit_row_ranks(fit, method).rank_new_rows
        min_ranks = 1 / (fit.counts + 1)
        k = int(min_ranks.argmax())
        if min_ranks[k] >= bound > 0:
            warn_user(
                f"outlier={bound:g} finds no outliers: a p-value by ranks among the {fit.counts[k]:g} rows "
                "of "
                f"class {fit.classes[k]!r} is at least {min_ranks[k]:.2g}. Pass a larger bound, or another "
                "typicality=."
            )
        return rank_new_rows
    _tail_probability_function(fit, method)
    return partial(_parametric_typicality, method=method, seen=False)


def find_outliers(pvalues: Floats, codes: Codes, bound: float) -> NDArray[np.bool_]:
    """Return which labelled rows (n,) have a typicality below the bound in every class.

    A warning counts rows with a label but without typicality: missing columns were integrated out.

    Parameters
    ----------
    pvalues : (n, K) float
        Typicality, NaN if missing.
    codes : (n,) int
        Predicted classes, -1 without a label.
    bound : float
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


def _parametric_typicality(fit: FittedModel[Any], blocks: DesignRows, method: str, *, seen: bool) -> Floats:
    """Return typicality (n, K) from the distribution of the squared distances, NaN if missing.

    Parameters
    ----------
    fit : FittedModel
    blocks : DesignRows
    method : {"exact", "chi2"}
    seen : bool
        Whether the rows are rows of the fit, which are left out.
    """
    tail_probability = _tail_probability_function(fit, method)
    refuse_many_scores(blocks.table.nrows, len(fit.classes), "Typicality")
    out = np.full((len(fit.classes), blocks.table.nrows), np.nan)
    with Progress(blocks.table.nrows, "typicality") as progress:
        for row_slice, values in typicality_blocks(fit, blocks, tail_probability, seen=seen):
            out[:, row_slice] = values
            progress(values.shape[1])
    return out.T


def is_robust_fit(fit: FittedModel[Any]) -> bool:
    """Return whether the covariance is robust, and therefore not a function of moments."""
    covariance_model = getattr(fit.estimates, "covariance_model", None)
    return covariance_model is not None and not covariance_model.traits.is_moment_estimate


def has_distance_distribution(fit: FittedModel[Any], method: str) -> bool:
    """Return whether the distribution of the squared distances is available for a method of `typicality`."""
    has_closed_form: bool = getattr(fit.estimates, "has_distances", False)
    return has_closed_form or (method == "chi2" and is_robust_fit(fit))


def _tail_probability_function(fit: FittedModel[Any], method: str) -> Callable[..., Floats]:
    """Return the function of distances (K, m), counts, degrees of freedom and p that computes typicality."""
    is_robust = is_robust_fit(fit)
    if not has_distance_distribution(fit, method):
        chi2_hint = 'method="chi2" or ' if is_robust else ""
        raise NotSupportedError(
            "typicality() requires normal classes with full covariances, which this "
            f"{fit.title_in_sentence} does not have.",
            hint=f'Use {chi2_hint}method="conformal", or fit lda() or qda() with full covariances.',
        )
    if not is_robust:
        _refuse_small_classes(fit, len(fit.terms), "typicality")
    return (
        parametric_errors.typicality_pvalues
        if method == "exact"
        else lambda d2, counts, df, p: np.asarray(chi2_sf(d2, p))
    )


def typicality_blocks(
    fit: FittedModel[Any], blocks: DesignRows, tail_probability: Callable[..., Floats], *, seen: bool
) -> Iterator[tuple[Any, Floats]]:
    """Yield positions and typicality (K, m) of rows, block by block.

    Parameters
    ----------
    fit : FittedModel
    blocks : DesignRows
    tail_probability : callable
        Function of squared distances (K, m), counts, degrees of freedom and p.
    seen : bool
        Whether the rows are rows of the fit. Each is then left out of its class, if distances have a closed
        form.
    """
    p = len(fit.terms)
    estimates = fit.estimates
    if seen and estimates.has_distances:
        for rows, x, codes, weights in used_rows(blocks):
            d2, remaining_counts, df = estimates.left_out_distances(x, codes, weights)
            yield rows, tail_probability(d2, remaining_counts, df, p)
        return
    counts = estimates.moments.counts
    distances, df = (
        estimates.unbiased_distances() if estimates.has_distances else (estimates.distances(), counts)
    )
    for row_slice, x, _ in blocks.iter_all_rows():
        yield row_slice, tail_probability(distances.squared(x), counts[:, None], df[:, None], p)


def _refuse_small_classes(fit: FittedModel[Any], n_parameters: int, option: str) -> None:
    """Raise an error if the weight of a class is too small for the degrees of freedom of its covariance."""
    if isinstance(fit.estimates, QDAFit):
        refuse_little_weight(fit.counts, fit.classes, n_parameters, option)


def posterior_intervals(
    fit: FittedModel[Any],
    data: Any,
    method: str,
    level: float,
    replicates: int,
    seed: int | None,
    unseen: Any = None,
) -> pd.DataFrame:
    """Return posteriors with intervals; see `ClassifierResults.posterior_intervals`.

    Parameters
    ----------
    fit : FittedModel
    data : table
    method : {"delta", "bootstrap"}
    level : float
    replicates : int
        Number of bootstrap samples.
    seed : int or None
    unseen : {"raise", "missing"}, optional

    Returns
    -------
    DataFrame of n rows
        Columns posterior, low and high of each class.
    """
    check_level(level)
    blocks = fit.new_rows(data, MissingPolicy(unseen))
    refuse_many_scores(3 * blocks.table.nrows, len(fit.classes), "Posteriors and two ends of intervals")
    if method == "delta":
        if not (fit.estimates.has_distances or isinstance(fit.estimates, LogisticFit)):
            raise NotSupportedError(
                'method="delta" requires normal classes with full covariances, which this '
                f"{fit.title_in_sentence} does not have.",
                hint='Use method="bootstrap".',
            )
        _refuse_small_classes(fit, 1, 'method="delta"')
        rule = fit.rule()
        covariance = _score_covariance(fit)
        # Number of array elements per row for the covariances of its scores.
        elements_per_row = len(fit.classes) * (
            len(fit.terms) + 1 if isinstance(fit.estimates, LogisticFit) else 1
        )
        chunks = []
        chunk_size = max(MAX_CHUNK_ELEMENTS // elements_per_row, 1)
        with Progress(blocks.table.nrows, "posterior intervals") as progress:
            for _, block, _ in blocks.iter_all_rows():
                for start in range(0, len(block), chunk_size):
                    x = block[start : start + chunk_size]
                    p = posteriors(rule.scores(x))
                    chunks.append(
                        np.stack([p, *parametric_errors.delta_intervals(p, covariance(x), level)], axis=2)
                    )
                    progress(len(x))
        intervals = np.concatenate(chunks) if chunks else np.empty((0, len(fit.classes), 3))
    else:
        intervals = _bootstrap_intervals(fit, blocks, level, replicates, seed)
    columns = pd.MultiIndex.from_product(
        [fit.classes, ["posterior", "low", "high"]], names=[fit.classes.name, None]
    )
    return pd.DataFrame(
        intervals.reshape(len(intervals), len(columns)), index=blocks.table.index, columns=columns
    )


def _score_covariance(fit: FittedModel[Any]) -> Callable[[Floats], ScoreCovariance]:
    """Return a function of rows (m, p) that computes the covariances of their scores."""
    if isinstance(fit.estimates, LogisticFit):
        score_covariances = fit.estimates.score_covariances()
        return lambda x: ScoreCovariance(*score_covariances(x))
    estimates: MomentsFit = fit.estimates
    unbiased, df = estimates.unbiased_distances()
    # Only the relative noise of a covariance matters, which does not depend on its divisor.
    distances = estimates.distances()
    counts = estimates.moments.counts
    estimated_prior = estimates.estimated_prior
    p = len(fit.terms)
    if len(unbiased.covariances) > 1:
        return lambda x: parametric_errors.separate_covariance(
            distances.squared(x).T, counts, df, p, estimated_prior=estimated_prior
        )
    (covariance,) = distances.covariances
    squared_mean_differences = squared_distances_between_means(covariance.whiten(estimates.moments.means.T).T)
    nu = float(df[0])
    return lambda x: parametric_errors.common_covariance(
        distances.squared(x).T, squared_mean_differences, counts, nu, estimated_prior=estimated_prior
    )


def _bootstrap_intervals(
    fit: FittedModel[Any], blocks: DesignRows, level: float, replicates: int, seed: int | None
) -> Floats:
    """Return posteriors, and percentiles of posteriors under fits to bootstrap samples of the rows.

    Parameters
    ----------
    fit : FittedModel
    blocks : DesignRows
        Rows to predict.
    level : float
    replicates : int
        Number of bootstrap samples.
    seed : int or None

    Returns
    -------
    (n, K, 3) float
        Posterior, lower and upper limit.
    """
    samples = BootstrapSamples(fit.require_rows('method="bootstrap"'), replicates, seed)
    k = len(fit.classes)
    counts = fit.counts
    log_prior = fit.log_prior()
    fitted = fit.rule_for(blocks)
    intervals = np.empty((blocks.table.nrows, k, 3))
    for row_slice, x, _ in blocks.iter_all_rows():
        intervals[row_slice, :, 0] = posteriors(fitted.scores(x))
    interval = RunningInterval((len(intervals), k), replicates, level)
    sample_posteriors = np.empty((len(intervals), k))
    with Progress(replicates, "posterior intervals") as progress:
        for _ in range(replicates):
            # A rule may contain its rows: only one is kept in memory.
            rule, _ = samples.sample_rule(fit)
            log_prior_change = np.zeros(k)
            if fit.estimates.estimated_prior:
                # The samples are stratified: class proportions are drawn separately.
                with np.errstate(divide="ignore"):
                    log_proportions = np.log(
                        samples.rng.multinomial(round(counts.sum()), counts / counts.sum()) / counts.sum()
                    )
                log_prior_change = log_proportions - log_prior
            for row_slice, x, _ in blocks.iter_all_rows():
                sample_posteriors[row_slice] = posteriors(rule.scores(x) + log_prior_change)
            interval.add(sample_posteriors)
            progress(1)
    intervals[..., 1], intervals[..., 2] = interval.limits()
    return intervals
