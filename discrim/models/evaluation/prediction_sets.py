"""Conformal prediction sets: sets of classes that contain the class of a row with a stated frequency.

The scores of rows are compared with the scores of calibration rows: rows of the fit, each left out, or rows
that the fit has not seen (`discrim.inference.conformal`). `predict_set` of results calls
`prediction_set_function`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.rules import best_class
from discrim.design.design_rows import DesignRows
from discrim.design.rows import used_codes
from discrim.errors import (
    DataError,
    DroppedRowsWarning,
    NotSupportedError,
    PriorError,
    warn_user,
)
from discrim.inference.conformal import (
    CalibrationScores,
    SetScore,
    conformal_pvalues,
    min_calibration_rows,
    miss_probability,
    nonconformity_scores,
)
from discrim.inference.error_rates import check_level
from discrim.inference.resampling import random_generator
from discrim.models.base.fit import AS_FITTED, FittedModel, MissingPolicy
from discrim.models.base.labels import make_unique_name
from discrim.models.base.reading import check_flag, check_word, join_labels
from discrim.models.base.scores import score_chunks
from discrim.models.evaluation.assessment import EvaluationOptions, evaluate_scores, read_labelled_rows
from discrim.models.evaluation.validation import raise_if_many_scores


class CalibrationRows(NamedTuple):
    """Calibration rows.

    Attributes
    ----------
    values : (n,) float
        Nonconformity of each row in its own class; larger values are less typical.
    codes : (n,) int
        Classes, none missing.
    weights : (n,) float or None
        Frequency weights.
    """

    values: Floats
    codes: Codes
    weights: Floats | None

    def select_classes(self, class_mask: NDArray[np.bool_]) -> CalibrationRows:
        """Return the rows whose class is in a mask of classes (K,)."""
        row_mask = class_mask[self.codes]
        return CalibrationRows(
            self.values[row_mask],
            self.codes[row_mask],
            None if self.weights is None else self.weights[row_mask],
        )

    def class_counts(self, n_classes: int) -> Floats:
        """Return the number of rows, or sum of weights, (K,) by class."""
        return np.bincount(self.codes, self.weights, n_classes).astype(np.float64)


def references_by_class(calibration: CalibrationRows, n_classes: int) -> list[CalibrationScores]:
    """Return the reference distribution of the calibration scores of each class, a list of length K."""
    members = [calibration.codes == k for k in range(n_classes)]
    weights = [
        None if calibration.weights is None else calibration.weights[class_mask] for class_mask in members
    ]
    return [
        CalibrationScores.from_values(calibration.values[class_mask], class_weights)
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
    """Read and score calibration rows that the fit has not used; a warning counts dropped rows.

    Raises DataError if all rows are dropped.

    Parameters
    ----------
    fit : FittedModel
    data : table or source of tables
        Calibration rows with their response.
    score_blocks : callable
        Function of `DesignRows` that yields row slices and the nonconformity (m, K) of their rows in each
        class, NaN for rows with missing values.
    weights : column name, (n,) array or None
        Frequency weights.
    missing_policy : MissingPolicy
        Options for missing values and unseen levels.

    Returns
    -------
    CalibrationRows
        The rows with a class, a nonconformity in it and a positive weight.
    """

    def compute_nonconformity(design_rows: DesignRows) -> Floats:
        """Return the nonconformity (m, K) of a chunk of m rows, NaN if missing."""
        raise_if_many_scores(design_rows.table.nrows, len(fit.classes), "Calibration")
        out = np.full((design_rows.table.nrows, len(fit.classes)), np.nan)
        for row_slice, chunk_values in score_blocks(design_rows):
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
    counts: Floats, classes: pd.Index, level: float, possible_mask: NDArray[np.bool_]
) -> None:
    """Warn of classes with too few calibration rows for the level, which are therefore in every set.

    Parameters
    ----------
    counts : (K,) float
        Numbers of calibration rows, or sums of weights, by class.
    classes : Index of length K
        Class labels.
    level : float
        Level of the sets, such as 0.95.
    possible_mask : (K,) bool
        Classes with a positive prior; other classes are not checked.
    """
    min_rows = min_calibration_rows(level)
    small_classes = np.flatnonzero(possible_mask & (counts < min_rows))
    if len(small_classes):
        counts_text = ", ".join(f"{counts[k]:g}" for k in small_classes[:6].tolist())
        warn_user(
            f"level={level:.15g} requires {min_rows} calibration rows in each class. "
            f"{join_labels(classes[small_classes])} {'has' if len(small_classes) == 1 else 'have'} "
            f"{counts_text} and {'is' if len(small_classes) == 1 else 'are'} therefore in every set. Pass a "
            "lower level, or more calibration rows."
        )


SET_SIZES = pd.CategoricalDtype(["empty", "single", "several", "full"])
"""Sizes of a set; "full" has all classes with a positive prior, even if there is only one."""

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
"""Statements of the coverage of the sets by method; `within` is empty or " within each class"."""


@dataclass(frozen=True, slots=True)
class PredictionSetOptions:
    """Options of `ClassifierResults.predict_set`, with the same names except `missing_policy`."""

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

    def with_defaults(self, fit: FittedModel[Any], data: Any) -> PredictionSetOptions:
        """Return the options with defaults filled in; raise an error for an option that cannot be used.

        `method` is by default "loo", or "split" with `calibration`. `score` is by default "lac", or "margin"
        for a model without posteriors.

        Parameters
        ----------
        fit : FittedModel
        data : table or None
            Rows to predict, of which only None, the rows of the fit, is checked.

        Raises
        ------
        DataError
            An option is not valid, or cannot be combined with `method` or `calibration`.
        NotSupportedError
            The score requires posteriors that the model lacks, or "split" would predict the rows of the fit.
        """
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
            fit.require_posteriors(f'score="{score}"')
        return replace(self, method=method, score=score)

    def generator(self) -> np.random.Generator | None:
        """Return a generator with the seed (random if None) for smoothed sets; None without smoothing."""
        return random_generator(self.seed) if self.smoothed else None


@dataclass(frozen=True, slots=True, eq=False)
class SetCalibration:
    """Calibration of prediction sets: options and sorted scores, without rows of the fit.

    Attributes
    ----------
    options : PredictionSetOptions
        Options with defaults filled in.
    references : list of CalibrationScores
        One distribution of nonconformity for all classes, or with `by="class"` one for each of the K classes.
    possible_mask : (K,) bool
        Classes with a positive prior; others are in no set.
    notes : dict
        Entries of the `attrs` of a table of sets: "promise", "level", "method", "by", "score" and
        "calibration_rows"; see `_set_notes`.
    """

    options: PredictionSetOptions
    references: list[CalibrationScores]
    possible_mask: NDArray[np.bool_]
    notes: dict[str, Any]

    def reference_of_class(self, k: int) -> CalibrationScores:
        """Return the distribution of the nonconformity of calibration rows for class k (position)."""
        return self.references[k if len(self.references) > 1 else 0]

    def predict_sets(self, fit: FittedModel[Any], design_rows: DesignRows) -> pd.DataFrame:
        """Return the table of prediction sets of new rows: a column "set" and one for each class.

        Rows with a missing value have no set; see `to_frame`. Raises DataError if the p-values do not fit
        into memory.
        """
        k = len(fit.classes)
        raise_if_many_scores(design_rows.table.nrows, k, "Prediction sets")
        p = np.full((design_rows.table.nrows, k), np.nan, order="F")
        predicted = np.full(len(p), -1)
        rng = self.options.generator()
        for row_slice, scores in score_chunks(design_rows, fit.rule_for(design_rows, self.options.prior), k):
            nonconformity, tie_shares = _nonconformity(scores, self.options, rng)
            for j in np.flatnonzero(self.possible_mask).tolist():
                p[row_slice, j] = conformal_pvalues(
                    self.reference_of_class(j), nonconformity[:, j], tie_weights=tie_shares
                )
            p[row_slice, ~self.possible_mask] = np.where(np.isnan(nonconformity[:, :1]), np.nan, -1.0)
            predicted[row_slice] = best_class(scores)
        return self.to_frame(fit, design_rows, p, predicted)

    def to_frame(
        self, fit: FittedModel[Any], design_rows: DesignRows, pvalues: Floats, predicted: NDArray[np.intp]
    ) -> pd.DataFrame:
        """Return the table of sets that contain the classes with a large p-value.

        Parameters
        ----------
        fit : FittedModel
        design_rows : DesignRows
            Rows of the table.
        pvalues : (n, K) float
            Conformal p-values, NaN if missing, -1 for classes with a prior of zero. A set has the classes
            whose p-value exceeds 1 - level.
        predicted : (n,) int
            Predicted classes, -1 if missing, which fill empty sets if `options.empty` is "best".

        Returns
        -------
        DataFrame of n rows
            Column "set" with the size (`SET_SIZES`), and for each class a nullable boolean column of whether
            it is in the set; all are missing in rows without p-values. The name "set" gets an underscore if a
            class has it. `attrs` has the notes.
        """
        missing = np.asarray(np.isnan(pvalues).any(axis=1))
        is_in_set = pvalues > miss_probability(self.options.level)
        if self.options.empty == "best":
            empty_rows = np.flatnonzero(~is_in_set.any(axis=1) & ~missing & (predicted >= 0))
            is_in_set[empty_rows, predicted[empty_rows]] = True
        is_in_set[missing] = False
        size = is_in_set.sum(axis=1)
        size_code = np.where(size > 1, 2, size)
        size_code[size == self.possible_mask.sum()] = 3
        size_code[missing] = -1
        index = design_rows.table.index
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
    """Rows of a fit, scored by rules fitted without them.

    Attributes
    ----------
    design_rows : DesignRows
        The rows of the fit.
    scores, nonconformity : (n, K) float
        Scores and nonconformity in each class; NaN in rows that cannot be left out or that the fit does not
        use.
    codes : (n,) int
        Classes, -1 for rows that the fit does not use.
    weights : (n,) float or None
        Frequency weights.
    tie_shares : (n,) float or None
        Random numbers from 0 to 1, the weight of ties in p-values of smoothed sets; None without smoothing.
    """

    design_rows: DesignRows
    scores: Floats
    nonconformity: Floats
    codes: NDArray[np.intp]
    weights: Floats | None
    tie_shares: Floats | None

    def to_calibration_rows(self) -> CalibrationRows:
        """Return the used rows as calibration rows; their `values` are NaN if they cannot be left out."""
        used = np.flatnonzero(self.codes >= 0)
        codes = self.codes[used]
        return CalibrationRows(
            self.nonconformity[used, codes], codes, None if self.weights is None else self.weights[used]
        )

    def predict_sets(self, fit: FittedModel[Any], calibration: SetCalibration) -> pd.DataFrame:
        """Return the table of prediction sets of these rows, each calibrated without the row itself.

        The columns are "set" and one for each class, as in `SetCalibration.to_frame`. They are missing in
        rows that the fit does not use or that cannot be left out.
        """
        n, k = self.nonconformity.shape
        own_classes = np.maximum(self.codes, 0)
        own_scores = self.nonconformity[np.arange(n), own_classes]
        own_scores = np.where(np.isnan(own_scores), np.inf, own_scores)
        removed_weights = np.where((self.codes >= 0) & calibration.possible_mask[own_classes], 1.0, 0.0)
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
                calibration.reference_of_class(j),
                self.nonconformity[:, j],
                left_out=(own_scores, removed),
                tie_weights=self.tie_shares,
            )
        p[:, ~calibration.possible_mask] = np.where(np.isnan(self.nonconformity[:, :1]), np.nan, -1.0)
        return calibration.to_frame(fit, self.design_rows, p, best_class(self.scores))


def calibrate_sets(
    fit: FittedModel[Any], options: PredictionSetOptions
) -> tuple[SetCalibration, LeftOutRows | None]:
    """Return the calibration of prediction sets, and the left-out rows of the fit if these calibrate them.

    Rows of classes with a prior of zero are not used. A warning is issued if there are too few rows for the
    level: in all, or with `by="class"` in a class.

    Parameters
    ----------
    fit : FittedModel
    options : PredictionSetOptions
        Options from `PredictionSetOptions.with_defaults`.

    Returns
    -------
    calibration : SetCalibration
    left_out : LeftOutRows or None
        None if the sets are calibrated by other rows (method "split").
    """
    k = len(fit.classes)
    if options.prior is not None:
        fit.require_posteriors("prior=")
    prior = fit.prior_values(options.prior) if fit.has_posteriors else None
    possible = np.ones(k, dtype=bool) if prior is None else prior > 0
    left_out = None
    if options.method == "split":
        score_blocks = partial(_nonconformity_blocks, fit, options, options.generator())
        calibration = calibration_rows(
            fit,
            options.calibration,
            score_blocks,
            weights=options.weights,
            missing_policy=options.missing_policy,
        )
    else:
        left_out = _left_out_rows(fit, options, prior)
        calibration = left_out.to_calibration_rows()
    calibration = calibration.select_classes(possible)
    counts = calibration.class_counts(k)
    if options.by == "class":
        references = references_by_class(calibration, k)
        warn_of_small_classes(counts, fit.classes, options.level, possible)
    else:
        references = [CalibrationScores.from_values(calibration.values, calibration.weights)]
        min_rows = min_calibration_rows(options.level)
        if counts.sum() < min_rows:
            warn_user(
                f"level={options.level:.15g} requires {min_rows} calibration rows. There are "
                f"{counts.sum():g}, and every set therefore has all classes. Pass a lower level, or more "
                "calibration rows."
            )
    return SetCalibration(options, references, possible, _set_notes(fit, options, counts)), left_out


def _left_out_rows(fit: FittedModel[Any], options: PredictionSetOptions, prior: Floats | None) -> LeftOutRows:
    """Return the rows of the fit, scored by rules that are fitted without them.

    With `options.prior` the scores are under this prior. Raises NotSupportedError if the fit lacks rows or
    the model cannot leave them out, and PriorError if the fit has a prior of zero for a class to which
    `options.prior` assigns a positive prior.

    Parameters
    ----------
    fit : FittedModel
    options : PredictionSetOptions
        `method` is "loo" or "cv".
    prior : (K,) float or None
        `options.prior` as an array, or the prior of the fit; None for a model without posteriors.
    """
    calibration_hint = f"a table of new rows with the response, {fit.design_rows.design.response!r}."
    if not fit.has_rows:
        raise NotSupportedError(
            "A fit that was loaded or computed from moments has no rows to leave out.",
            hint=f"Pass calibration=, {calibration_hint}",
        )
    method: Any = options.method
    evaluation = EvaluationOptions(
        folds=options.folds, seed=options.seed, refit_prior=None if options.prior is None else False
    )
    try:
        design_rows = fit.require_rows(f'method="{method}"')
        _, scores, weights, _ = evaluate_scores(fit, None, method, evaluation)
    except NotSupportedError as error:
        cv_hint = 'method="cv", or ' if options.method == "loo" else ""
        raise error.with_message(
            error.message, hint=f"{error.hint} For sets: {cv_hint}calibration=, {calibration_hint}"
        ) from None
    if options.prior is not None and prior is not None:
        scores = scores + _prior_score_shift(fit, prior)
    nonconformity, tie_shares = _nonconformity(scores, options, options.generator())
    return LeftOutRows(design_rows, scores, nonconformity, used_codes(design_rows), weights, tie_shares)


def _prior_score_shift(fit: FittedModel[Any], prior: Floats) -> Floats:
    """Return the change (K,) of the scores of the fit under another prior (K,): log ratios, -inf for zero.

    Raises PriorError for a class with a prior of zero in the fit only.
    """
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
    fit: FittedModel[Any],
    options: PredictionSetOptions,
    rng: np.random.Generator | None,
    design_rows: DesignRows,
) -> Iterator[tuple[slice, Floats]]:
    """Iterate over row slices and nonconformity (m, K) of new rows, block by block.

    Parameters
    ----------
    fit : FittedModel
    options : PredictionSetOptions
    rng : Generator or None
        Generator for smoothed sets; None without smoothing.
    design_rows : DesignRows
    """
    for row_slice, scores in score_chunks(
        design_rows, fit.rule_for(design_rows, options.prior), len(fit.classes)
    ):
        yield row_slice, _nonconformity(scores, options, rng)[0]


def _nonconformity(
    scores: Floats, options: PredictionSetOptions, rng: np.random.Generator | None
) -> tuple[Floats, Floats | None]:
    """Return the nonconformity (m, K) of scores (m, K), and random weights (m,) of ties, from 0 to 1.

    With a generator the nonconformity "aps" also adds a random fraction of the posterior of the class itself.
    Without one (None), for sets without smoothing, the weights are None.
    """
    score: Any = options.score
    if rng is None:
        return nonconformity_scores(scores, score), None
    draws = rng.random((len(scores), 2))
    return nonconformity_scores(scores, score, draws[:, 0]), draws[:, 1]


def _set_notes(fit: FittedModel[Any], options: PredictionSetOptions, counts: Floats) -> dict[str, Any]:
    """Return the entries of the `attrs` of a table of sets: a statement of its coverage, and the options.

    Parameters
    ----------
    fit : FittedModel
    options : PredictionSetOptions
    counts : (K,) float
        Numbers of calibration rows, or sums of weights, by class.

    Returns
    -------
    dict
        "promise" (the statement, a sentence), "level", "method", "by", "score", and "calibration_rows" (dict
        of counts by class label).
    """
    within = " within each class" if options.by == "class" else ""
    statement = COVERAGE_STATEMENTS[str(options.method)].format(level=options.level, within=within)
    if options.by is None and options.prior is not None:
        statement += (
            "; this is for rows with the class proportions of the calibration rows and not of prior=: use "
            'by="class" for other proportions'
        )
    return {
        "promise": f"{statement[0].upper()}{statement[1:]}.",
        "level": float(options.level),
        "method": options.method,
        "by": options.by,
        "score": options.score,
        "calibration_rows": dict(zip(fit.classes.tolist(), counts.tolist(), strict=True)),
    }


def prediction_set_function(
    fit: FittedModel[Any], data: Any, options: PredictionSetOptions
) -> Callable[[Any, Any], pd.DataFrame]:
    """Validate the options, calibrate the sets, and return the function that predicts them.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows to predict; None for the rows of the fit.
    options : PredictionSetOptions

    Returns
    -------
    callable
        Function of results and a table that returns the table of prediction sets. If `data` is None, the
        table is ignored: the sets are for the rows of the fit.
    """
    options = options.with_defaults(fit, data)
    calibration, left_out = calibrate_sets(fit, options)
    # The function may be sent to workers and must not contain the table.
    calibration = replace(calibration, options=replace(options, calibration=None, weights=None))
    return partial(_predict_sets, calibration, left_out if data is None else None)


def _predict_sets(
    calibration: SetCalibration, left_out: LeftOutRows | None, results: Any, rows: Any
) -> pd.DataFrame:
    """Return the prediction sets of the left-out rows of the fit or, if `left_out` is None, of new rows.

    Parameters
    ----------
    calibration : SetCalibration
    left_out : LeftOutRows or None
    results : ClassifierResults
    rows : table
        New rows, which are not read if there are left-out rows.

    Returns
    -------
    DataFrame of n rows
        Columns "set" and one for each class; see `SetCalibration.to_frame`.
    """
    fit = results._fit
    if left_out is not None:
        return left_out.predict_sets(fit, calibration)
    return calibration.predict_sets(fit, fit.new_rows(rows, calibration.options.missing_policy))
