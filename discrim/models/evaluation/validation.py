"""Scores of rows by rules that are fitted without them: leave-one-out, folds and bootstrap samples.

A model that is a function of moments is refitted from merged moments of folds, without a second pass over
the rows. Any other model is fitted again with the rows of a fold weighted zero, and so is a model whose
formula estimates transforms, for example `standardize`, which are then estimated without the fold too.

The prior of these rules is fixed to the prior of all rows, or estimated again. Class proportions of all rows
include the row that is left out. A logistic regression has them in its intercepts and then favours the class
of that row, and nearest neighbours have them as their only prior: both are refitted with the proportions of
the remaining rows. Other models estimate the prior separately, and by default it stays fixed, as in R's
MASS.

Throughout, `fold_ids` (n,) is the fold of each row, -1 for rows that are not used, and `labels` are the
names of the folds in messages. Scores are NaN for rows that are not used. `progress` is a function that is
called with the number of folds, or fraction of a fold, finished since the last call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.derived_moments import resampled_moments
from discrim.core.moments.moments import ROOT_WORK, requires_roots
from discrim.core.moments.row_sums import stable_order
from discrim.core.numerics.arrays import Codes, Floats, Mask, check_memory
from discrim.core.numerics.map_reduce import StoredValue
from discrim.core.numerics.progress import Progress
from discrim.core.rules.leave_one_out import FullLeaveOneOut, LeaveOneOutScorer
from discrim.core.rules.rules import Rule, accepts_sparse_rows, sparse_scores
from discrim.data.values import format_value
from discrim.design.design_rows import VALUES_PER_BLOCK, DesignRows
from discrim.design.levels import (
    has_learnt_transform,
    has_level_in_one_fold,
    levels_of_factors,
    relearn_design,
    rows_with_dropped_levels,
    unique_level_mask,
)
from discrim.design.rows import UsedRows, response_codes_of_all_rows, used_codes, used_rows
from discrim.errors import (
    DataError,
    DiscrimError,
    DiscrimWarning,
    FormulaError,
    MissingPredictionWarning,
    NotSupportedError,
    warn_user,
)
from discrim.inference import resampling
from discrim.inference.resampling import check_folds, random_generator
from discrim.models.base import reading
from discrim.models.base.fit import FittedModel
from discrim.models.base.refits import moments_outside_folds
from discrim.models.base.scores import Decision, UsedSparseRows, used_sparse_chunks, warn_of_impossible_rows
from discrim.models.evaluation.absent_classes import refit_present_classes

MAX_FOLD_IMBALANCE = 2.0
"""Largest deviation, in rows, of stratified folds from proportional class counts."""


def refits_prior(fit: FittedModel[Any], refit_prior: bool | None) -> bool:
    """Return whether refits to part of the rows, such as all folds except one, estimate the prior again.

    Parameters
    ----------
    fit : FittedModel
    refit_prior : bool or None
        Whether to estimate class proportions again; None for the default of the model.

    Returns
    -------
    bool
        False in any case if the user specified the prior or the model lacks one.

    Raises
    ------
    DataError
        `refit_prior` is neither a bool nor None.
    NotSupportedError
        `refit_prior` is False and the model lacks posteriors.
    """
    if refit_prior is not None and not isinstance(refit_prior, bool):
        raise DataError(
            f"refit_prior={refit_prior!r} is not valid.",
            hint="Pass True, False, or None for the default of the model.",
        )
    if fit.prior_in_refits == "none":
        if refit_prior is False:
            fit.require_posteriors("refit_prior=False")
        return False
    if not fit.estimates.estimated_prior:
        return False
    return fit.prior_in_refits == "refitted" if refit_prior is None else refit_prior


def refit_prior_source(fit: FittedModel[Any], refit_prior: bool | None) -> str:
    """Return how refits to part of the rows, such as all folds except one, obtain the prior.

    It is "given" (by the user), "fixed" (to the class proportions of all rows), "refitted", or empty for a
    model without a prior. `refit_prior` is as in `refits_prior`.
    """
    if fit.prior_in_refits == "none":
        return ""
    if not fit.estimates.estimated_prior:
        return "given"
    return "refitted" if refits_prior(fit, refit_prior) else "fixed"


def left_out_score_shift(codes: Codes, weights: Floats | None, counts: Floats) -> Floats:
    """Return the change of the score of each row in its own class if class proportions exclude the row.

    If a row of class g with weight w is left out, the log proportion of class g changes from ln n_g/N to
    ln (n_g - w)/(N - w). The change is ln(1 - w/n_g), apart from a constant that all classes share.

    Parameters
    ----------
    codes : (m,) int
        Class of each row.
    weights : (m,) float or None
        Frequency weights.
    counts : (K,) float
        Rows, or sums of weights, of each class.

    Returns
    -------
    (m,) float
        Negative; minus infinity if no weight of the class remains. A row loses at most a weight of one.
    """
    removed_weights = np.ones(len(codes)) if weights is None else np.minimum(weights, 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-np.minimum(removed_weights / counts[codes], 1.0)))


def find_unbalanced_fold(remaining_counts: Floats, counts: Floats) -> tuple[int, int] | None:
    """Return the positions of the fold and the class with the largest change of a class proportion.

    Parameters
    ----------
    remaining_counts : (F, K) float
        Rows by class outside each of F folds.
    counts : (K,) float
        Rows by class of the whole table.

    Returns
    -------
    (int, int) or None
        Fold whose removal changes the proportion of a class most, and this class; None if all folds contain
        the classes in proportion, up to `MAX_FOLD_IMBALANCE` rows.
    """
    proportions = counts / counts.sum()
    count_deviations = np.abs(remaining_counts - remaining_counts.sum(axis=1, keepdims=True) * proportions)
    if not (count_deviations > MAX_FOLD_IMBALANCE).any():
        return None
    with np.errstate(invalid="ignore"):
        proportion_changes = np.nan_to_num(
            np.abs(remaining_counts / remaining_counts.sum(axis=1, keepdims=True) - proportions)
        )
    fold, code = np.unravel_index(
        int(np.where(count_deviations > MAX_FOLD_IMBALANCE, proportion_changes, -1.0).argmax()),
        proportion_changes.shape,
    )
    return int(fold), int(code)


MAX_SUMMARY_OPERATIONS = 2.0**34
"""Rows times classes times columns above which a summary omits error rates."""

MIN_COSTED_COLUMNS = 48
"""Number of columns below which the time to score a row does not depend on the number of columns."""

LEFT_OUT_CACHE_KEYS = {False: "left out", True: "left out, prior too"}
"""Keys of leave-one-out scores in the cache of a fit, by whether the prior is estimated without the row."""


def left_out_scores(fit: FittedModel[Any], refit_prior: bool | None = None) -> Floats:
    """Return the leave-one-out scores (n, K) of the rows of a fit, and store them in its cache.

    Rows that cannot be left out have NaN, and a warning counts them. `refit_prior` is as in `refits_prior`.
    Raises NotSupportedError if the fit lacks rows or its model cannot be refitted, and DataError if the
    scores do not fit into memory.
    """
    design_rows = fit.require_rows("leave_one_out()")
    reestimate_prior = refits_prior(fit, refit_prior)
    cached: Floats | None = fit.cache.get(LEFT_OUT_CACHE_KEYS[reestimate_prior])
    if cached is not None:
        return cached
    table = LeftOutTable(fit, design_rows, reestimate_prior=reestimate_prior)
    with Progress(design_rows.table.nrows, "rows left out") as progress:
        for block in _used_blocks(design_rows, sparse=getattr(fit.estimates, "reads_sparse_rows", False)):
            table.add(block)
            progress(len(block[1]))
    return table.finish()


def distributed_left_out_scores(
    fit: FittedModel[Any], refit_prior: bool | None = None
) -> StoredValue[Floats]:
    """Return the leave-one-out scores (n, K) of a fit, stored on the workers that have the rows.

    They are computed in this process if the rows are local or if the score of some row requires a refit.
    `refit_prior` is as in `refits_prior`.
    """
    design_rows = fit.require_rows("leave_one_out()")
    reestimate_prior = refits_prior(fit, refit_prior)
    if design_rows.is_local:
        return StoredValue(left_out_scores(fit, refit_prior))
    left_out = _LeftOutScores(fit, design_rows, reestimate_prior=reestimate_prior)
    if callable(left_out.scores):
        task = partial(_score_left_out_chunk, left_out.scores, left_out.counts)
        scores = design_rows.rows.map_reduce_stored(design_rows, task, concatenate_scores)
        unscored = scores.apply(_flag_unscored_rows)
        used = used_codes(design_rows) >= 0
        if not (used & (unscored == NEEDS_REFIT)).any() and not len(left_out.rows_with_unique_level(used)):
            _warn_of_impossible(design_rows, np.flatnonzero(used & (unscored == IMPOSSIBLE)))
            return scores
    # Rows that need a refit require rows of all workers.
    return StoredValue(left_out_scores(fit, refit_prior))


def _score_left_out_chunk(left_out: LeaveOneOutScorer, counts: Floats | None, chunk: DesignRows) -> Floats:
    """Return the leave-one-out scores (m, K) of a chunk of m rows; this task runs in a worker.

    Parameters
    ----------
    left_out : LeaveOneOutScorer
        Function that scores rows under the rules without them.
    counts : (K,) float or None
        Class counts, if `left_out_score_shift` has to be added to the scores.
    chunk : DesignRows

    Returns
    -------
    (m, K) float
        NaN for rows that the fit does not use (see `used_rows`), such as rows without a class, and for rows
        whose scores require a refit. Minus infinity in every class for impossible rows.
    """
    out = np.full((len(chunk.design.levels), chunk.table.nrows), np.nan)
    for rows, x, codes, weights in used_rows(chunk):
        out[:, rows] = left_out(x, codes, weights).T
        _add_left_out_shift(out, row_positions(rows), codes, weights, counts)
    return out.T


def _add_left_out_shift(
    scores: Floats, positions: Codes, codes: Codes, weights: Floats | None, counts: Floats | None
) -> None:
    """Add `left_out_score_shift` to scores in place; do nothing if `counts` is None.

    Parameters
    ----------
    scores : (K, n) float
        Scores of n rows, one in each column.
    positions : (m,) int
        Columns of `scores` that are changed.
    codes : (m,) int
        Classes of these rows.
    weights : (m,) float or None
        Frequency weights.
    counts : (K,) float or None
        Class counts; None if the prior does not need the shift.
    """
    if counts is not None:
        scores[codes, positions] += left_out_score_shift(codes, weights, counts)


def _flag_unscored_rows(scores: Floats) -> Codes:
    """Return codes (n,) of rows of scores (n, K): NEEDS_REFIT for NaN, IMPOSSIBLE if all are -inf, else 0."""
    flags = np.where(np.isnan(scores[:, 0]), NEEDS_REFIT, 0)
    return np.where(np.isneginf(scores).all(axis=1), IMPOSSIBLE, flags).astype(np.int8)


def _warn_of_impossible(design_rows: DesignRows, rows: Codes) -> None:
    """Warn that rows, by position, have a posterior of zero in every class; do nothing without rows."""
    if len(rows):
        warn_of_impossible_rows(len(rows), design_rows.table.label(int(rows[0])))


def _used_blocks(design_rows: DesignRows, *, sparse: bool) -> Iterable[UsedRows | UsedSparseRows]:
    """Return the used rows of a fit in chunks (rows, x, codes, weights).

    With `sparse`, x is a `SparseRows` if the design has sparse columns, else a dense array (m, p).
    """
    sparse_blocks = used_sparse_chunks(design_rows) if sparse else None
    return used_rows(design_rows) if sparse_blocks is None else sparse_blocks


class _LeftOutScores:
    """Leave-one-out scores of the rows of a fit: the scorer of the model, and fallbacks for single rows.

    Parameters
    ----------
    fit : FittedModel
    design_rows : DesignRows
        Rows of the fit, with their classes in memory.
    reestimate_prior : bool
        Whether the prior is estimated without the row, too.

    Attributes
    ----------
    scores : LeaveOneOutScorer or (m, K) float
        Function that scores rows under the rules without them, or the scores of all m used rows in the order
        of the table.
    counts : (K,) float or None
        Class counts, if `left_out_score_shift` has to be added to the scores.
    """

    def __init__(self, fit: FittedModel[Any], design_rows: DesignRows, *, reestimate_prior: bool) -> None:
        self._fit = fit
        self._design_rows = design_rows
        self._reestimate_prior = reestimate_prior
        self.scores = fit.refits.leave_one_out(fit)
        is_fixed = fit.prior_in_refits == "fixed" or fit.spec.left_out_prior_is_fixed
        self.counts = fit.counts if reestimate_prior and is_fixed else None

    def rows_with_unique_level(self, used: Mask) -> Codes:
        """Return the positions of rows that alone have some level of a category, which cannot be left out.

        Rows outside the mask `used` (n,), and rows with a weight above one, are ignored.
        """
        design_rows = self._design_rows
        weights = self._design_rows.weights
        is_unique = used & unique_level_mask(
            design_rows.design, design_rows.table, used, design_rows.functions
        )
        # A row with a weight above one is left out once, and its level remains.
        return np.flatnonzero(is_unique if weights is None else is_unique & (weights <= 1))

    def rescore(self, rows: Codes, progress: Callable[[float], object]) -> Floats:
        """Return the leave-one-out scores of rows for which the closed form loses all digits.

        They are computed by a second pass over the rows if the model supports it, else by refits.

        Parameters
        ----------
        rows : (s,) int
            Positions of the rows.
        progress : callable
            Called with the number of rows that are finished.

        Returns
        -------
        (K, s) float
            NaN if the rule without the row does not exist.
        """
        design_rows = self._design_rows
        scores = self.scores
        codes = design_rows.codes[rows]
        weights = None if design_rows.weights is None else design_rows.weights[rows]
        out = np.full((len(self._fit.classes), len(rows)), np.nan)
        refitted = np.arange(len(rows))
        if isinstance(scores, FullLeaveOneOut):
            refitted = np.flatnonzero(~scores.is_singular(codes, weights))
            refitted_rows = rows[refitted]
            codes = codes[refitted]
            weights = None if weights is None else weights[refitted]
            if len(refitted_rows):
                x = design_rows.rows_at_positions(refitted_rows)
                all_blocks = (
                    (row_positions(block_rows), block_x, block_codes, w)
                    for block_rows, block_x, block_codes, w in used_rows(design_rows)
                )
                factors = scores.exact_determinant_ratios(all_blocks, refitted_rows, x, codes, weights)
                out[:, refitted] = scores(x, codes, weights, factors).T
                _add_left_out_shift(out, refitted, codes, weights, self.counts)
                refitted = refitted[np.isnan(out[0, refitted])]
        progress(len(rows) - len(refitted))
        for i in refitted.tolist():
            out[:, i] = scores_by_refit(
                self._fit, design_rows, int(rows[i]), reestimate_prior=self._reestimate_prior
            )
            progress(1)
        return out


class LeftOutTable(_LeftOutScores):
    """Leave-one-out scores of all rows, in memory: call `add` for each block, then `finish`.

    Parameters are as in `_LeftOutScores`. Raises DataError if the scores do not fit into memory.
    """

    def __init__(self, fit: FittedModel[Any], design_rows: DesignRows, *, reestimate_prior: bool) -> None:
        raise_if_many_scores(design_rows.table.nrows, len(fit.classes), "Leave-one-out")
        super().__init__(fit, design_rows, reestimate_prior=reestimate_prior)
        self._out = np.full((len(fit.classes), design_rows.table.nrows), np.nan)
        self._used = np.zeros(design_rows.table.nrows, dtype=bool)
        self._done = 0

    def add(self, block: UsedRows | UsedSparseRows) -> None:
        """Score the rows of the next block (rows, x, codes, weights), in the order of the table."""
        x: Any
        rows, x, codes, weights = block
        if callable(self.scores):
            self._out[:, rows] = self.scores(x, codes, weights).T
        else:
            self._out[:, rows] = self.scores[self._done : self._done + len(x)].T
            self._done += len(x)
        _add_left_out_shift(self._out, row_positions(rows), codes, weights, self.counts)
        self._used[rows] = True

    def finish(self) -> Floats:
        """Return the scores (n, K) after refits of the rows that need one, and store them in the cache.

        Warnings count rows that cannot be left out (NaN), and rows with probability zero in every class
        (-inf).
        """
        design_rows = self._design_rows
        out = self._out
        unique_level_rows = self.rows_with_unique_level(self._used)
        out[:, unique_level_rows] = np.nan
        refit_rows = np.setdiff1d(np.flatnonzero(self._used & np.isnan(out[0])), unique_level_rows)
        with Progress(len(refit_rows), "refits without a row") as progress:
            if len(refit_rows):
                out[:, refit_rows] = self.rescore(refit_rows, progress)
        unscored_rows = refit_rows[np.isnan(out[:, refit_rows]).all(axis=0)]
        warn_of_unscored_rows(design_rows, np.union1d(unscored_rows, unique_level_rows).tolist())
        _warn_of_impossible(design_rows, np.flatnonzero(self._used & np.isneginf(out).all(axis=0)))
        self._fit.cache[LEFT_OUT_CACHE_KEYS[self._reestimate_prior]] = out.T
        return out.T


def row_positions(rows: slice | Codes) -> Codes:
    """Return the positions (m,) of the rows of a block, given as a slice or as positions."""
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def warn_of_unscored_rows(design_rows: DesignRows, rows: list[int]) -> None:
    """Warn that rows, by position, cannot be left out, if there are any; the message names the first."""
    if rows:
        warn_user(
            f"{len(rows)} row{'s have' if len(rows) > 1 else ' has'} no leave-one-out rule (first row "
            f"{design_rows.table.label(rows[0])!r}): without the row a covariance is singular, the classes "
            "are separated, or a level of a category does not occur. The labels of such rows are missing.",
            MissingPredictionWarning,
        )


def raise_if_many_scores(n_rows: int, n_classes: int, computation: str) -> None:
    """Raise DataError if two arrays of scores (rows, classes) do not fit into memory.

    `computation` is the subject of the message, such as "Leave-one-out".
    """
    check_memory(
        2.0 * n_rows * n_classes,
        f"{computation} of {n_rows:,} rows, with a column for each of {n_classes:,} classes,",
        "Use error_rates() or predict(), which store labels only, or evaluate fewer rows or classes",
    )


def scores_by_refit(
    fit: FittedModel[Any], design_rows: DesignRows, row: int, *, reestimate_prior: bool
) -> Floats:
    """Return the scores (K,) of a row by a refit without it, NaN if the rule does not exist.

    Parameters
    ----------
    fit : FittedModel
    design_rows : DesignRows
        Rows of the fit.
    row : int
        Position of the row.
    reestimate_prior : bool
        Whether the prior is estimated without the row, too.
    """
    weights = np.ones(design_rows.table.nrows) if design_rows.weights is None else design_rows.weights.copy()
    removed_weight = min(1.0, weights[row])
    weights[row] -= removed_weight
    remaining_blocks = design_rows.with_weights(weights)
    if reestimate_prior:
        counts = fit.counts.astype(np.float64)
        counts[design_rows.codes[row]] -= removed_weight
        fit = fit.with_prior(counts / counts.sum())
    rule = refit_present_classes(fit, remaining_blocks, fixed=bool(fit.refits.choice_description(fit)))
    return (
        np.full(len(fit.classes), np.nan)
        if rule is None
        else rule.scores(design_rows.rows_at_positions(np.array([row])))[0]
    )


def assign_folds(fit: FittedModel[Any], folds: int, seed: int | None) -> Codes:
    """Assign the rows of a fit to folds at random, stratified by class; return the fold (n,) of each.

    Folds are numbered from 0, and rows that the fit does not use get -1. The rows of each class are shuffled
    and assigned in turn. This includes rows that the fit drops, and therefore all fits of a table have the
    same folds. If the fit has groups of rows, whole groups are assigned. Raises DataError if the rows or
    groups are too few.

    Parameters
    ----------
    fit : FittedModel
    folds : int
        Number of folds.
    seed : int or None
        Seed of the random numbers.
    """
    design_rows = fit.require_rows("cross-validation")
    used = used_codes(design_rows) >= 0
    check_folds(folds, int(used.sum()))
    groups = fit.refits.groups(fit)
    if groups is None:
        (fold_ids,) = resampling.assign_folds(
            response_codes_of_all_rows(design_rows), folds, 1, random_generator(seed)
        )
    else:
        fold_ids = assign_group_folds(design_rows, groups, folds, seed)
    return np.where(used, fold_ids, -1)


def assign_group_folds(design_rows: DesignRows, groups: Codes, folds: int, seed: int | None) -> Codes:
    """Assign whole groups of rows to folds at random, with similar class proportions.

    Returns the fold (n,) of each row, from 0, and -1 for rows that are not used. Raises DataError if there
    are fewer groups than folds.

    Parameters
    ----------
    design_rows : DesignRows
    groups : (n,) int
        Group of each row, numbered from 0.
    folds : int
        Number of folds.
    seed : int or None
        Seed of the random numbers.
    """
    codes = used_codes(design_rows)
    check_folds(folds, int((codes >= 0).sum()))
    n_groups = len(np.unique(groups[codes >= 0]))
    if n_groups < folds:
        raise DataError(
            f"folds={folds}: rows are left out by groups, and there are {n_groups}.",
            hint="Ask for fewer folds.",
        )
    (fold_ids,) = resampling.assign_group_folds(codes, groups, folds, 1, random_generator(seed))
    return np.asarray(fold_ids)


def folds_without_class(design_rows: DesignRows, fold_ids: Codes, folds: int) -> NDArray[np.bool_]:
    """Return which of the folds contain all used rows of some class, a mask (F,) of F = `folds` folds."""
    used = fold_ids >= 0
    k = len(design_rows.design.levels)
    counts = np.bincount(fold_ids[used] * k + design_rows.codes[used], minlength=folds * k).reshape(folds, k)
    return np.asarray((counts == counts.sum(axis=0)).any(axis=1))


def _no_rule_error(
    fit: FittedModel[Any], design_rows: DesignRows, fold_ids: Codes, fold: int, labels: Sequence[Any]
) -> NotSupportedError:
    """Return the error for a fold whose removal makes the fit impossible, with a cause and a hint.

    The model is refitted once to find the cause, which is the `__cause__` of the result if the refit raises
    an error.

    Parameters
    ----------
    fit : FittedModel
    design_rows : DesignRows
    fold_ids : (n,) int
        Fold of each row, -1 for rows that are not used.
    fold : int
        The fold at fault, numbered from 0.
    labels : sequence
        Name of each fold for messages.
    """
    weights = np.ones(design_rows.table.nrows) if design_rows.weights is None else design_rows.weights
    without = f"Without fold {format_value(labels[fold])} of {len(labels)}"
    error = fit.refits.refit_error(fit, design_rows.with_weights(np.where(fold_ids == fold, 0.0, weights)))
    if error is not None:
        failure = NotSupportedError(
            f"{without} the model cannot be fitted. {error.message}",
            hint=error.hint,
            columns=error.columns,
            classes=error.classes,
        )
        failure.__cause__ = error
        return failure
    others = np.bincount(design_rows.codes[(fold_ids >= 0) & (fold_ids != fold)], minlength=len(fit.classes))
    smallest_class = int(others.argmin())
    reason, hint = fit.spec.refit_failure
    return NotSupportedError(
        f"{without} the model cannot be fitted ({reason}). The class with the fewest of the remaining "
        f"{others.sum()} observations is {format_value(fit.classes[smallest_class])}, with "
        f"{others[smallest_class]}.",
        hint=f"Use more folds or {hint}.",
        classes=(fit.classes[smallest_class],),
    )


def fold_scores(fit: FittedModel[Any], fold_ids: Codes, folds: int, **options: Any) -> Floats:
    """Return the scores (n, K) of `distributed_fold_scores` as an array in this process.

    `options` are its keyword arguments: progress, nested, labels and refit_prior.
    """
    return distributed_fold_scores(fit, fold_ids, folds, **options).value()


def distributed_fold_scores(
    fit: FittedModel[Any],
    fold_ids: Codes,
    folds: int,
    *,
    progress: Callable[[float], object] = lambda n_folds: None,
    nested: bool = True,
    labels: Sequence[Any] | None = None,
    refit_prior: bool | None = None,
) -> StoredValue[Floats]:
    """Score each row by the rule that is fitted without its fold; scores stay on the workers of the rows.

    Raises NotSupportedError if the model cannot be fitted without some fold.

    Parameters
    ----------
    fit : FittedModel
    fold_ids : (n,) int
        Fold of each row, -1 for rows that are not used. Rows of folds from `folds` on are in all fits, and
        are not scored.
    folds : int
        Number of folds that are left out.
    progress : callable
        Called with the number of folds, or fraction of a fold, finished since the last call.
    nested : bool
        Whether choices of the fit, such as a tuning parameter, are repeated without each fold, or fixed.
    labels : sequence, optional
        Names of the folds for messages; by default numbers from 1.
    refit_prior : bool, optional
        Whether class proportions are estimated without the fold; by default as the model does.

    Returns
    -------
    StoredValue of (n, K) float
        NaN for rows that are not used, and for rows with a level of a category that occurs in their fold
        only; -inf for a class without rows outside the fold.
    """
    design_rows = fit.require_rows("cross-validation")
    labels = range(1, folds + 1) if labels is None else labels
    raise_if_many_scores(design_rows.table.nrows, len(fit.classes), "Cross-validation")
    out = np.full((len(fit.classes), design_rows.table.nrows), np.nan)
    fits = [fit] * folds
    n_parts = max(folds, int(fold_ids.max()) + 1)
    if refits_prior(fit, refit_prior):
        fits = [
            fit.with_prior(remaining_counts / remaining_counts.sum())
            for remaining_counts in counts_outside_folds(design_rows, fold_ids, n_parts)[:folds]
        ]
    if fit.refits.refits_by_function:
        _score_by_calls(fits, fold_ids, labels, out, progress)
    elif has_learnt_transform(design_rows.design) or has_level_in_one_fold(
        design_rows.design, design_rows.table, fold_ids, n_parts, design_rows.functions
    ):
        _score_with_refitted_transforms(fits, fold_ids, labels, out, progress, nested=nested)
    elif (single_row_scores := _single_row_fold_scores(fit, fold_ids, folds, refit_prior)) is not None:
        progress(folds)
        return StoredValue(single_row_scores)
    elif (required := fit.refits.required_moments(fit)) is not None:
        fold_moments = moments_outside_folds(design_rows, fold_ids, n_parts, required)[:folds]
        lacks_class = folds_without_class(design_rows, fold_ids, n_parts)
        rules = [
            _rule_without_fold(fold_fit, design_rows, fold_ids, fold, nested=nested)
            if lacks_class[fold]
            else fold_fit.refits.refit_to_moments(fold_fit, moments)
            for fold, (fold_fit, moments) in enumerate(zip(fits, fold_moments, strict=True))
        ]
        if None in rules:
            raise _no_rule_error(fit, design_rows, fold_ids, rules.index(None), labels)
        fold_rules = [rule for rule in rules if rule is not None]
        if not design_rows.is_local:
            return _score_on_workers(fold_rules, design_rows, fold_ids, progress)
        _score_folds(fold_rules, design_rows, fold_ids, out, progress)
    else:
        # Rules may be large: a limited number of folds at a time is fitted, then scored in one pass.
        for fold_range in design_rows.rows.folds_by_pass(folds):
            rules = []
            for fold in fold_range:
                rules.append(_rule_without_fold(fits[fold], design_rows, fold_ids, fold, nested=nested))
                if rules[-1] is None:
                    raise _no_rule_error(fit, design_rows, fold_ids, fold, labels)
            fold_rules = [rule for rule in rules if rule is not None]
            if not design_rows.is_local:
                return _score_on_workers(fold_rules, design_rows, fold_ids, progress)
            pass_fold_ids = np.where(
                (fold_ids >= fold_range.start) & (fold_ids < fold_range.stop), fold_ids - fold_range.start, -1
            )
            pass_blocks = design_rows.with_codes(np.where(pass_fold_ids >= 0, design_rows.codes, -1))
            _score_folds(fold_rules, pass_blocks, pass_fold_ids, out, progress)
    return StoredValue(out.T)


def _single_row_fold_scores(
    fit: FittedModel[Any], fold_ids: Codes, folds: int, refit_prior: bool | None
) -> Floats | None:
    """Return the leave-one-out scores (n, K) if each fold is one row and the model has a closed form.

    None otherwise, or if leave-one-out differs from folds: with weights, dropped columns, standardization, or
    choices such as a tuning parameter. Also None if a row lacks a score.

    Parameters
    ----------
    fit : FittedModel
    fold_ids : (n,) int
        Fold of each row, -1 for rows that are not used.
    folds : int
        Number of folds.
    refit_prior : bool or None
        Whether class proportions are estimated without the left-out rows; None for the model's default.
    """
    refits = fit.refits
    used = np.flatnonzero(fold_ids >= 0)
    if (
        not len(used) == folds == len(np.unique(fold_ids[used]))
        or fit.require_rows("cross-validation").weights is not None
    ):
        return None
    if refits.required_moments(fit) is None or refits.drops_columns(fit) or refits.choice_description(fit):
        return None
    if getattr(fit.estimates, "standardize", False):
        # Leave-one-out fixes the standard deviations, which folds estimate without the fold.
        return None
    try:
        with catch_warnings():
            # If a row cannot be left out, the error of its fold is more informative.
            simplefilter("ignore", DiscrimWarning)
            scores = left_out_scores(fit, refit_prior)
    except NotSupportedError:
        return None
    return None if np.isnan(scores[used]).any() else scores


def _score_on_workers(
    rules: Sequence[Rule], design_rows: DesignRows, fold_ids: Codes, progress: Callable[[float], object]
) -> StoredValue[Floats]:
    """Return scores (n, K) of the rows of each fold by the rule without it, computed on their workers.

    Parameters
    ----------
    rules : sequence of Rule
        Rule without each fold.
    design_rows : DesignRows
        Rows that are stored on workers.
    fold_ids : (n,) int
        Fold of each row, -1 for rows that are not used.
    progress : callable
        Called once, with the number of folds.
    """
    task = partial(_score_chunk, rules, len(design_rows.design.levels))
    design_rows = design_rows.unweighted().with_codes(fold_ids)
    scores = design_rows.rows.map_reduce_stored(design_rows, task, concatenate_scores)
    progress(len(rules))
    return scores


def _score_chunk(rules: Sequence[Rule], n_classes: int, chunk: DesignRows) -> Floats:
    """Return the scores (m, K) of a chunk of rows, each by the rule without its fold; runs in a worker.

    Parameters
    ----------
    rules : sequence of Rule
        Rule without each fold.
    n_classes : int
    chunk : DesignRows
        Rows whose `codes` are their folds instead of their classes.

    Returns
    -------
    (m, K) float
        NaN for rows that the fit does not use (see `used_rows`).
    """
    out = np.full((n_classes, chunk.table.nrows), np.nan)
    _score_folds(rules, chunk, chunk.codes, out, lambda n_folds: None)
    return out.T


def concatenate_scores(a: Floats, b: Floats) -> Floats:
    """Concatenate the scores of two chunks of rows, (m_1, K) and (m_2, K), in column-major order."""
    return np.concatenate([a.T, b.T], axis=1).T


def _score_folds(
    rules: Sequence[Rule],
    design_rows: DesignRows,
    fold_ids: Codes,
    out: Floats,
    progress: Callable[[float], object],
) -> None:
    """Write the scores of the rows of each fold under the rule without it into an array.

    Parameters
    ----------
    rules : sequence of Rule
        Rule without each fold.
    design_rows : DesignRows
    fold_ids : (n,) int
        Fold of each row, -1 for rows that are not used.
    out : (K, n) float
        Array to which the scores are written.
    progress : callable
        Called with the number of folds, or fraction of a fold, finished since the last call.
    """
    if _score_sparse(rules, design_rows, fold_ids, out, progress):
        return
    folds = len(rules)
    row_shares = 1.0 / np.maximum(np.bincount(fold_ids[fold_ids >= 0], minlength=folds), 1)
    for positions, x in _joined_blocks(design_rows):
        block_fold_ids = fold_ids[positions]
        order = stable_order(block_fold_ids, folds)
        columns = np.take(x.T, order, axis=1, mode="clip")
        stops = np.cumsum(np.bincount(block_fold_ids, minlength=folds)).tolist()
        for rule, row_share, start, stop in zip(rules, row_shares.tolist(), [0, *stops], stops, strict=False):
            if stop > start:
                out[:, positions[order[start:stop]]] = rule.scores(columns[:, start:stop].T).T
                progress(row_share * (stop - start))


def _joined_blocks(design_rows: DesignRows) -> Iterator[tuple[Codes, Floats]]:
    """Iterate over the positions (m,) and values (m, p) of used rows, with small blocks joined.

    Blocks are joined until they contain `VALUES_PER_BLOCK` values, because the scores of rules such as kernel
    densities take less time for many rows at once, and a block contains few rows of a fold.
    """
    positions: list[Codes] = []
    values: list[Floats] = []
    n_values = 0
    for rows, x, _, _ in used_rows(design_rows):
        if not values and x.size >= VALUES_PER_BLOCK:
            yield row_positions(rows), x
            continue
        positions.append(row_positions(rows))
        values.append(x.copy())
        n_values += x.size
        if n_values >= VALUES_PER_BLOCK:
            yield np.concatenate(positions), np.concatenate(values)
            positions, values, n_values = [], [], 0
    if values:
        yield np.concatenate(positions), np.concatenate(values)


def _score_sparse(
    rules: Sequence[Rule],
    design_rows: DesignRows,
    fold_ids: Codes,
    out: Floats,
    progress: Callable[[float], object],
) -> bool:
    """Write the scores of sparse rows, if the design and all rules support them; return whether they did.

    Parameters
    ----------
    rules : sequence of Rule
        Rule without each fold.
    design_rows : DesignRows
    fold_ids : (n,) int
        Fold of each row, -1 for rows that are not used.
    out : (K, n) float
        Array to which the scores are written.
    progress : callable
        Called with the number of folds, or fraction of a fold, finished since the last call.
    """
    if not all(accepts_sparse_rows(rule) for rule in rules):
        return False
    sparse_rows = reading.all_sparse_rows(design_rows)
    if sparse_rows is None:
        return False
    rows, missing = sparse_rows
    for fold, rule in enumerate(rules):
        test_index = np.flatnonzero((fold_ids == fold) & ~missing)
        out[:, test_index] = sparse_scores(rule, rows.select_rows(test_index)).T
        progress(1)
    return True


def counts_outside_folds(design_rows: DesignRows, fold_ids: Codes, folds: int) -> Floats:
    """Return the number of rows, or sum of weights, (F, K) of each class outside each of F folds."""
    used = fold_ids >= 0
    k = len(design_rows.design.levels)
    weights = None if design_rows.weights is None else design_rows.weights[used]
    counts = np.bincount(fold_ids[used] * k + design_rows.codes[used], weights, folds * k).reshape(folds, k)
    return np.asarray(counts.sum(axis=0) - counts, dtype=np.float64)


def _rule_without_fold(
    fit: FittedModel[Any], design_rows: DesignRows, fold_ids: Codes, fold: int, *, nested: bool
) -> Rule | None:
    """Return the rule that is fitted without a fold, or None if the model cannot be fitted.

    Parameters
    ----------
    fit : FittedModel
        Its prior is the prior of the rule.
    design_rows : DesignRows
        Rows of the fit.
    fold_ids : (n,) int
        Fold of each row, -1 for rows that are not used.
    fold : int
        Fold to leave out.
    nested : bool
        Whether choices of the fit are repeated without the fold, or fixed.
    """
    weights = np.ones(design_rows.table.nrows) if design_rows.weights is None else design_rows.weights
    remaining_blocks = design_rows.with_weights(np.where(fold_ids == fold, 0.0, weights))
    return refit_present_classes(
        fit, remaining_blocks, fixed=not nested and bool(fit.refits.choice_description(fit))
    )


def _score_by_calls(
    fits: Sequence[FittedModel[Any]],
    fold_ids: Codes,
    labels: Sequence[Any],
    out: Floats,
    progress: Callable[[float], object],
) -> None:
    """Write scores (K, n) for a model that is fitted by calls of a user's function, one call for each fold.

    Folds without rows are skipped. Raises NotSupportedError if a call fails.

    Parameters
    ----------
    fits : sequence of FittedModel
        For each fold the fit to refit without the fold. They differ in their prior only.
    fold_ids : (n,) int
        Fold of each row, -1 for rows that are not used.
    labels : sequence
        Name of each fold for messages.
    out : (K, n) float
        Array to which the scores are written.
    progress : callable
        Called with the number of folds, or fraction of a fold, finished since the last call.
    """
    for fold, (fit, label) in enumerate(zip(fits, labels, strict=True)):
        train = np.flatnonzero((fold_ids >= 0) & (fold_ids != fold))
        test = np.flatnonzero(fold_ids == fold)
        if not fit.refits.refits_by_function or not len(test):
            continue
        try:
            out[:, test] = fit.refits.scores_by_call(fit, train, test).T
        except DiscrimError as error:
            raise NotSupportedError(
                f"Without fold {format_value(label)} of {len(labels)}: {error.message}", hint=error.hint
            ) from None
        progress(1)


def _score_with_refitted_transforms(
    fits: Sequence[FittedModel[Any]],
    fold_ids: Codes,
    labels: Sequence[Any],
    out: Floats,
    progress: Callable[[float], object],
    *,
    nested: bool,
) -> None:
    """Write scores (K, n) with transforms of the formula estimated without each fold, too.

    Rows with a level that occurs only in their fold are not scored. Raises NotSupportedError if a transform
    or the model cannot be fitted without a fold.

    Parameters
    ----------
    fits : sequence of FittedModel
        For each fold the fit to refit without the fold. They differ in their prior only.
    fold_ids : (n,) int
        Fold of each row, -1 for rows that are not used.
    labels : sequence
        Name of each fold for messages.
    out : (K, n) float
        Array to which the scores are written.
    progress : callable
        Called with the number of folds, or fraction of a fold, finished since the last call.
    nested : bool
        Whether choices of the fit are repeated without each fold.
    """
    design_rows = fits[0].require_rows("cross-validation")
    for fold, (fit, label) in enumerate(zip(fits, labels, strict=True)):
        try:
            design = relearn_design(
                design_rows.design, design_rows.table, (fold_ids >= 0) & (fold_ids != fold),
                design_rows.functions,
                uses_incomplete_rows=design_rows.uses_incomplete_rows,
            )  # fmt: skip
        except FormulaError as error:
            raise NotSupportedError(
                f"Without fold {format_value(label)} of {len(labels)}: {error.message}", hint=error.hint
            ) from None
        relearned_blocks = replace(design_rows, design=design)
        if levels_of_factors(design) != levels_of_factors(design_rows.design):
            # A row is not scored if its level does not occur outside the fold.
            excluded = rows_with_dropped_levels(design, design_rows.table, design_rows.functions)
            relearned_blocks = replace(
                relearned_blocks, kept_columns=None, rows=relearned_blocks.rows.with_excluded(excluded)
            )
            if excluded is not None:
                relearned_blocks = relearned_blocks.with_codes(np.where(excluded, -1, relearned_blocks.codes))
            is_fixed = not nested and bool(fit.refits.choice_description(fit))
            fit, relearned_blocks = fit.refits.recode(fit, relearned_blocks, fixed=is_fixed)
        rule = _rule_without_fold(fit, relearned_blocks, fold_ids, fold, nested=nested)
        if rule is None:
            raise _no_rule_error(fit, relearned_blocks, fold_ids, fold, labels)
        for rows, x, _, _ in used_rows(
            relearned_blocks.with_codes(np.where(fold_ids == fold, relearned_blocks.codes, -1))
        ):
            out[:, rows] = rule.scores(x).T
        progress(1)


MAX_CACHED_SCORES = 2**23
"""Largest number of leave-one-out scores, rows times classes, that are stored in the cache of a fit."""

SCORES_PER_CHUNK = 2**17
"""Number of scores in a chunk if they are not stored; a chunk of this size fits the processor cache."""

NEEDS_REFIT = -2
IMPOSSIBLE = -3
"""Codes of rows whose closed-form scores are lost in rounding errors, and of rows with probability zero in
every class."""


@dataclass(frozen=True, slots=True, eq=False)
class _LeftOutLabelTask:
    """Task for workers: predict the class of each row by the rule without it.

    Attributes
    ----------
    scores : LeaveOneOutScorer
        Function that scores rows under the rules without them.
    sparse : bool
        Whether the model supports sparse rows.
    decision : Decision
        How scores are converted to classes.
    counts : (K,) float or None
        Class counts, if `left_out_score_shift` has to be added to the scores.
    """

    scores: LeaveOneOutScorer
    sparse: bool
    decision: Decision
    counts: Floats | None

    def __call__(self, design_rows: DesignRows) -> Codes:
        """Return the classes (n,) of rows by the rules without them, -1 for rows that are not used.

        `NEEDS_REFIT` stands for rows without scores, and `IMPOSSIBLE` for rows with probability zero in every
        class.
        """
        codes = np.full(design_rows.table.nrows, -1, dtype=np.intp)
        chunk_size = max(SCORES_PER_CHUNK // len(design_rows.design.levels), 1)
        with Progress(design_rows.table.nrows, "rows left out") as progress:
            for rows, x, block_codes, weights in _used_blocks(design_rows, sparse=self.sparse):
                positions = row_positions(rows)
                for start in range(0, len(x), chunk_size):
                    chunk = slice(start, min(start + chunk_size, len(x)))
                    w = None if weights is None else weights[chunk]
                    x_chunk = x[chunk] if isinstance(x, np.ndarray) else x.select_rows(chunk)
                    codes[positions[chunk]] = self._predict_chunk(x_chunk, block_codes[chunk], w)
                    progress(len(block_codes[chunk]))
        return codes

    def _predict_chunk(self, x: Any, actual: Codes, weights: Floats | None) -> Codes:
        """Return the classes (m,) of rows by the rules without them.

        `NEEDS_REFIT` stands for rows without scores, and `IMPOSSIBLE` for rows with probability zero in every
        class.

        Parameters
        ----------
        x : (m, p) array or SparseRows
        actual : (m,) int
            Actual classes.
        weights : (m,) float or None
            Frequency weights.
        """
        scores = np.asarray(self.scores(x, actual, weights))
        _add_left_out_shift(scores.T, np.arange(len(actual)), actual, weights, self.counts)
        codes = self.decision.codes(scores)
        unlabelled = np.flatnonzero(codes < 0)
        codes[unlabelled] = np.where(np.isnan(scores[unlabelled, 0]), NEEDS_REFIT, IMPOSSIBLE)
        return codes


def left_out_codes(fit: FittedModel[Any], decision: Decision, refit_prior: bool | None) -> Codes | None:
    """Predict the class (n,) of each row by the rule without it, in chunks and without a table of scores.

    Rows that are not used, cannot be left out or have probability zero in every class have -1; a warning
    counts the latter two. Rows on workers are scored there, and only the labels are returned to this process.
    Labels of the default decision are cached. None means that the scores are few or in the cache, or that the
    model does not score by chunks: use `left_out_scores`.

    Parameters
    ----------
    fit : FittedModel
    decision : Decision
        How scores are converted to classes.
    refit_prior : bool or None
        Whether class proportions are estimated without the left-out rows; None for the model's default.
    """
    design_rows = fit.require_rows("leave_one_out()")
    k = len(fit.classes)
    reestimate_prior = refits_prior(fit, refit_prior)
    is_small = design_rows.is_local and design_rows.table.nrows * k <= MAX_CACHED_SCORES
    if is_small or LEFT_OUT_CACHE_KEYS[reestimate_prior] in fit.cache:
        return None
    cache_key = f"labels {LEFT_OUT_CACHE_KEYS[reestimate_prior]}"
    is_default_decision = decision.is_default
    if is_default_decision and cache_key in fit.cache:
        labels: Codes = fit.cache[cache_key]
        return labels
    left_out = _LeftOutScores(fit, design_rows, reestimate_prior=reestimate_prior)
    if not callable(left_out.scores):
        return None
    sparse = getattr(fit.estimates, "reads_sparse_rows", False)
    codes = design_rows.rows.map_rows(
        design_rows, _LeftOutLabelTask(left_out.scores, sparse, decision, left_out.counts)
    )
    unique_level_rows = left_out.rows_with_unique_level(codes != -1)
    rescored_rows = np.setdiff1d(np.flatnonzero(codes == NEEDS_REFIT), unique_level_rows)
    codes[unique_level_rows] = -1
    with Progress(len(rescored_rows), "rows once more") as progress:
        chunk_size = max(SCORES_PER_CHUNK // k, 1)
        for start in range(0, len(rescored_rows), chunk_size):
            chunk_rows = rescored_rows[start : start + chunk_size]
            codes[chunk_rows] = decision.codes(left_out.rescore(chunk_rows, progress).T)
    warn_of_unscored_rows(
        design_rows, np.union1d(rescored_rows[codes[rescored_rows] < 0], unique_level_rows).tolist()
    )
    impossible = np.flatnonzero(codes == IMPOSSIBLE)
    _warn_of_impossible(design_rows, impossible)
    codes[impossible] = -1
    if is_default_decision:
        fit.cache[cache_key] = codes
    return codes


T = TypeVar("T")

MAX_FAILED_SAMPLES = 20
"""Number of bootstrap samples in a row to which a model cannot be fitted before an error is raised."""

MAX_RESAMPLED_COLUMNS = 128
"""Largest number of columns for which the moments of all bootstrap samples are computed in one pass."""


class BootstrapSamples:
    """Bootstrap samples of the rows of a fit, stratified by class, as weights of the rows.

    Parameters
    ----------
    design_rows : DesignRows
        Rows of the fit, whose weights have to be integers (NotSupportedError).
    replicates : int
        Number of samples, which is only validated; `draw` can be called any number of times.
    seed : int or None
        Seed of the random numbers.

    Attributes
    ----------
    codes : (n,) int
        Class of each row, -1 for rows that are not used.
    rng : numpy.random.Generator
    """

    def __init__(self, design_rows: DesignRows, replicates: int, seed: int | None) -> None:
        reading.check_integer("replicates", replicates, 2, description="a number of bootstrap samples")
        weights = design_rows.weights
        if weights is not None and (np.nan_to_num(weights) != np.round(np.nan_to_num(weights))).any():
            raise NotSupportedError(
                "A bootstrap requires integer weights.", hint='Pass integer weights, or use method "cv".'
            )
        self.codes = used_codes(design_rows)
        self.rng = random_generator(seed)
        self._design_rows = design_rows
        self._class_positions = [
            np.flatnonzero(self.codes == k) for k in range(len(design_rows.design.levels))
        ]

    def draw(self) -> Floats:
        """Draw the next sample; return the number of times (n,) that each row is in it.

        Each class has as many draws as rows, or its sum of weights; a row is drawn in proportion to its
        weight.
        """
        sample_counts = np.zeros(len(self.codes))
        for rows in self._class_positions:
            if self._design_rows.weights is None:
                # 64-bit draws make a seed portable; bincount requires intp.
                sampled_index = self.rng.integers(len(rows), size=len(rows)).astype(np.intp)
                sample_counts[rows] = np.bincount(sampled_index, minlength=len(rows))
            else:
                weights = self._design_rows.weights[rows]
                sample_counts[rows] = self.rng.multinomial(round(weights.sum()), weights / weights.sum())
        return sample_counts

    def sample_rule(self, fit: FittedModel[Any]) -> tuple[Rule, Floats]:
        """Return the rule fitted to the next sample for which this is possible, and its row counts (n,).

        Raises NotSupportedError as `fit_sample` does.
        """
        return self.fit_sample(partial(fit.refits.refit, fit))

    def fit_sample(self, fit: Callable[[DesignRows], T | None]) -> tuple[T, Floats]:
        """Return the result of `fit` for the next sample, and the row counts (n,) of the sample.

        `fit` is a function of the rows, weighted by their counts. Samples for which it returns None are
        skipped; NotSupportedError is raised after `MAX_FAILED_SAMPLES` of them.
        """
        for _ in range(MAX_FAILED_SAMPLES):
            weights = self.draw()
            fitted = fit(self._design_rows.with_weights(weights))
            if fitted is not None:
                return fitted, weights
        raise self._fit_error()

    def _fit_error(self) -> NotSupportedError:
        """Return the error for a model that cannot be fitted to several samples."""
        return NotSupportedError(
            "The model cannot be fitted to bootstrap samples of these observations (a covariance is "
            "singular, or the classes are separated).",
            hint=f"Fit more observations, or fewer columns than {len(self._design_rows.terms)}.",
        )

    def sample_linear_rules(
        self, fit: FittedModel[Any], replicates: int, progress: Callable[[float], object]
    ) -> tuple[list[Rule], NDArray[np.int32]] | None:
        """Return the rules fitted to the next samples for which this is possible, and their row counts.

        The samples are the same as in so many calls of `sample_rule`, but their moments are computed in one
        pass over the rows (`resampled_moments`).

        Parameters
        ----------
        fit : FittedModel
        replicates : int
            Number B of samples.
        progress : callable
            Called with the number of samples that are finished.

        Returns
        -------
        list of B rules, (B, n) int
            None if the model requires other moments than pooled ones, if the rows have weights or are not in
            this process, or if the rows are few or the columns many.
        """
        design_rows = self._design_rows
        n_rows = int((self.codes >= 0).sum())
        p = len(design_rows.terms)
        if (
            fit.refits.required_moments(fit) != "pooled"
            or design_rows.weights is not None
            or design_rows.uses_incomplete_rows
            or not design_rows.is_local
            or n_rows * p**2 <= 2 * ROOT_WORK
            or p > MAX_RESAMPLED_COLUMNS
        ):
            return None
        moments = reading.class_moments(design_rows, "pooled", with_roots=False)
        rules: list[Rule] = []
        sampled = np.empty((replicates, len(self.codes)), dtype=np.int32)
        n_failed = 0
        while len(rules) < replicates:
            # If samples are skipped, the later ones move forward.
            sample_counts = sampled[len(rules) :]
            for counts in sample_counts:
                counts[:] = self.draw()
            blocks = (
                (row_positions(rows), x, codes)
                for rows, x, codes, _ in used_rows(design_rows.with_codes(self.codes))
            )
            for counts, sample_moments in zip(
                sample_counts, resampled_moments(moments, blocks, sample_counts), strict=True
            ):
                rule = (
                    fit.refits.refit(fit, design_rows.with_weights(counts.astype(np.float64)))
                    if requires_roots(sample_moments)
                    else fit.refits.refit_to_moments(fit, sample_moments)
                )
                n_failed = 0 if rule is not None else n_failed + 1
                if n_failed == MAX_FAILED_SAMPLES:
                    raise self._fit_error()
                if rule is not None:
                    sampled[len(rules)] = counts
                    rules.append(rule)
                    progress(1)
        return rules, sampled


def is_slow_to_evaluate(fit: FittedModel[Any]) -> bool:
    """Return whether the evaluation of all rows of a fit is too slow for a summary; False without rows.

    It is if rows times classes times columns, of which `MIN_COSTED_COLUMNS` or more count, exceed
    `MAX_SUMMARY_OPERATIONS`.
    """
    n_classes = len(fit.classes)
    n_columns = max(len(fit.terms), MIN_COSTED_COLUMNS)
    return (
        fit.has_rows and float(fit.design_rows.table.nrows) * n_classes * n_columns > MAX_SUMMARY_OPERATIONS
    )
