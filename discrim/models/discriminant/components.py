"""Principal axes within which normal classes are compared: the choice of their number, and `fit.subspace`.

`lda`, `qda` and `rda` use this module for `components=`, and `qda` also for `ncomp=`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from discrim.core.covariance.adjusted import adjusted_model
from discrim.core.covariance.covariance import dependencies
from discrim.core.covariance.model import CovarianceModel
from discrim.core.covariance.projected import (
    AxisScores,
    SubspaceCovariance,
    candidate_axis_counts,
    count_errors_by_axis_count,
    relearning_too_slow,
    scores_by_axis_count,
)
from discrim.core.covariance.sliced import SlicedAxes
from discrim.core.covariance.total_axes import TotalAxes
from discrim.core.errors import NoEstimateError, SingularEstimateError
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats, Mask
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import log_of_prior
from discrim.design.design_rows import DesignRows
from discrim.design.levels import indicator_design
from discrim.design.rows import used_codes, used_rows
from discrim.errors import CollinearError
from discrim.inference.error_rates import near_minimum_mask
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.base.fitted_results import FitComponent
from discrim.models.base.refits import error_path, stored_path
from discrim.models.discriminant.covariance_models import describe
from discrim.models.evaluation import validation
from discrim.models.evaluation.tuning import TuningFolds, iterate_test_rows, raise_if_single_row_classes
from discrim.models.moments.sample import NeedsRows


def raise_if_collinear_total(
    covariance_model: CovarianceModel, moments: ClassMoments, terms: tuple[str, ...]
) -> None:
    """Raise an error if the axes require a regular total covariance and it is singular.

    Only the axes of `ncomp=` of `qda` (SAVE) require it; other models are not checked.

    Parameters
    ----------
    covariance_model : CovarianceModel
        Model with or without axes.
    moments : ClassMoments
        Moments of the rows.
    terms : tuple of str
        Names of the columns.

    Raises
    ------
    SingularEstimateError
        There are at most as many rows as columns, or `moments` lack scatter matrices by class
        (`scatter_type` is not "class").
    CollinearError
        Columns are collinear over all rows.
    """
    subspace = covariance_model.subspace
    if subspace is None or not subspace.is_supervised:
        return
    n_rows = int(moments.rows.sum())
    p = moments.n_columns
    if n_rows <= p or moments.scatter_type != "class":
        raise SingularEstimateError("singular_total", n_rows=n_rows, n_columns=p)
    if collinear := dependencies(moments.as_one_class(), 0):
        instead = "pass components= for principal axes"
        raise reading.collinear_error(collinear, terms, "over all rows", alternative=instead)


def reason_rows_are_needed(components: object) -> NeedsRows:
    """Return the message and the hint of the error for `components="cv"` or "loo" with moments, not rows."""
    return NeedsRows(
        f"components={components!r} chooses the number of axes and requires the rows.",
        "Pass a number, or a proportion such as 0.9",
    )


N_FOLDS = 10
SEED = 0
"""Number of folds that choose a number of axes, and the seed of their assignment, the same in each call."""

MAX_CHUNK_SCORES = 2**22
"""Largest number of scores (numbers of axes times classes times rows) in memory at once.

Chunks of at least 1024 rows may exceed it.
"""


@dataclass(frozen=True, slots=True, eq=False)
class AxesChoice:
    """Candidates for the number of principal axes, and the rows that choose among them.

    Attributes
    ----------
    covariance_model : SubspaceCovariance
        Model of the scores on principal axes, whose number is to be chosen.
    design_rows : DesignRows
        Training rows, which are also the test rows of folds or leave-one-out.
    moments : ClassMoments
        Moments of these rows.
    divisors : callable
        Returns the divisors of the scatters from moments: (1,) for a common covariance, (K,) for one by
        class.
    prior : (K,) float
        Prior probabilities of the K classes.
    """

    covariance_model: SubspaceCovariance
    design_rows: DesignRows
    moments: ClassMoments
    divisors: Callable[[ClassMoments], Floats]
    prior: Floats

    def candidate_counts(self, max_axes: int) -> Codes:
        """Return the candidate numbers of axes (G,) in increasing order, from 1 to `max_axes`.

        They are all numbers for the full covariance, else 1 to 20 and then steps of ten percent, because each
        requires a fit of its own. Raises CollinearError if `max_axes` is less than 1.
        """
        if max_axes < 1:
            raise CollinearError(
                "The training rows are too few for a covariance matrix within classes, even on one principal "
                "axis.",
                hint='Pass more rows, or covariance="spherical" and a number of components.',
                options={"covariance": "spherical"},
            )
        return (
            np.arange(1, max_axes + 1)
            if self.covariance_model.inner.traits.is_full
            else candidate_axis_counts(max_axes)
        )

    def max_axis_count(self, moments: ClassMoments, rank: int, n_left_out: int = 0) -> int:
        """Return the largest number of axes for which the covariance of the scores can be regular.

        Parameters
        ----------
        moments : ClassMoments
            Moments of the rows.
        rank : int
            Rank of the columns, the largest possible number of axes.
        n_left_out : int
            Number of these rows that are left out of a fit, from any class.

        Returns
        -------
        int
            `rank` if the covariance of the scores may have less than full rank. Else at most the degrees of
            freedom that are left within classes or, with one covariance by class, in the smallest class. May
            be zero or negative.
        """
        if not self.covariance_model.inner.requires_full_rank(rank):
            return rank
        is_common = len(self.divisors(self.moments)) == 1
        rows_left = moments.rows - n_left_out
        df = (
            int(moments.rows.sum()) - n_left_out - moments.n_classes
            if is_common
            else int(rows_left.min()) - 1
        )
        return min(rank, df)

    def count_misclassified(
        self,
        scores: AxisScores,
        moments: ClassMoments,
        rows: tuple[Floats, Codes, Floats | None],
        candidates: Codes,
    ) -> Floats:
        """Classify test rows with each number of axes, and sum the weights of misclassified rows.

        Parameters
        ----------
        scores : AxisScores
            Moments of the scores of the training rows on the q axes that the largest candidate needs.
        moments : ClassMoments
            Moments of the columns of the training rows, for the divisors.
        rows : (y, codes, weights)
            Scores (m, q) of the test rows on these axes, their classes (m,) and their weights (m,), or None
            if all are 1.
        candidates : (G,) int
            Numbers of axes in increasing order.

        Returns
        -------
        (G, K) float
            Sums of the weights of misclassified rows, by candidate and true class; NaN for a candidate for
            which a covariance is singular on its axes.
        """
        y, codes, weights = rows
        divisors = self.divisors(moments)
        log_prior = log_of_prior(self.prior)
        misclassified = np.zeros((len(candidates), len(log_prior)))
        chunk_size = max(MAX_CHUNK_SCORES // (len(candidates) * len(log_prior)), 1024)
        for start in range(0, len(y), chunk_size):
            chunk = slice(start, start + chunk_size)
            class_scores = scores_by_axis_count(
                self.covariance_model, scores.moments, divisors, log_prior, y[chunk], candidates
            )
            misclassified += count_errors_by_axis_count(
                class_scores, codes[chunk], None if weights is None else weights[chunk]
            )
        return misclassified


def choose_axes(choice: AxesChoice, *, sampled: bool) -> tuple[SubspaceCovariance, pd.DataFrame]:
    """Choose the smallest number of axes with the smallest error by cross-validation or leave-one-out.

    The axes are computed again without each fold or row.

    Parameters
    ----------
    choice : AxesChoice
        Candidates and rows; the option of the covariance model selects folds ("cv") or leave-one-out ("loo").
    sampled : bool
        Whether the prior is the class proportions of the rows, whose sampling error counts in `se`.

    Returns
    -------
    SubspaceCovariance
        The covariance model with this number of axes.
    DataFrame
        One row for each candidate: components (the number of axes), error, se (standard error of the error),
        and share, the cumulative share of the total variance along these axes of all rows.

    Raises
    ------
    DataError
        A class has only one row.
    CollinearError
        For each candidate, a covariance is singular in some fold or without some row.
    NotSupportedError
        Leave-one-out would take too long.
    """
    raise_if_single_row_classes(choice.moments, choice.design_rows.design.levels, "components=")
    spectrum = choice.covariance_model.spectrum(choice.moments)
    count_errors = (
        _count_errors_by_leave_one_out if choice.covariance_model.options == "loo" else _count_errors_by_folds
    )
    candidates, misclassified, class_counts = count_errors(choice, spectrum)
    path = error_path("components", candidates, misclassified, class_counts, choice.prior, sampled=sampled)
    path["share"] = np.cumsum(spectrum.eigenvalues)[candidates - 1]
    errors = path["error"].to_numpy()
    if np.isnan(errors).all():
        raise CollinearError(
            "For each candidate number of principal axes, a covariance matrix is singular in some fold or "
            "without some row.",
            hint='Pass components= as a number, or covariance="shrunk".',
            options={"covariance": "shrunk"},
        )
    return choice.covariance_model.with_count(int(candidates[near_minimum_mask(errors)].min())), path


def _count_errors_by_folds(choice: AxesChoice, spectrum: TotalAxes) -> tuple[Codes, Floats, Floats]:
    """Count misclassified rows by number of axes in cross-validation; each fold computes the axes again.

    Parameters
    ----------
    choice : AxesChoice
        Covariance model, and the rows that choose.
    spectrum : TotalAxes
        Not used; the parameter makes the signature equal to `_count_errors_by_leave_one_out`.

    Returns
    -------
    candidates : (G,) int
        Numbers of axes, up to the largest that is feasible in each fold.
    misclassified : (G, K) float
        Sums of the weights of misclassified rows by true class over all folds; NaN if a covariance is
        singular in some fold.
    class_counts : (K,) float
        Sums of the weights of the tested rows by class.

    Raises
    ------
    CollinearError
        The training rows of some fold are too few for a covariance even on one axis.
    """
    design_rows = choice.design_rows
    k = choice.moments.n_classes
    n_used = int((used_codes(design_rows) >= 0).sum())
    folds = TuningFolds.read(min(N_FOLDS, n_used), SEED, design_rows)
    fold_moments, test_frequencies = folds.training_moments(
        design_rows, choice.moments.scatter_type, with_roots=False
    )
    train_axes = [(moments, choice.covariance_model.spectrum(moments)) for moments in fold_moments]
    max_axes = min(choice.max_axis_count(moments, len(axes.eigenvalues)) for moments, axes in train_axes)
    candidates = choice.candidate_counts(max_axes)
    scores = [AxisScores.from_spectrum(moments, axes, max_axes) for moments, axes in train_axes]
    misclassified = np.zeros((len(candidates), k))
    class_counts = np.zeros(k)
    with Progress(design_rows.table.nrows * folds.count, "choice of components") as progress:
        for fold, x, codes, test_weights in iterate_test_rows(design_rows, test_frequencies, progress):
            test_rows = scores[fold].transform(x), codes, test_weights
            misclassified += choice.count_misclassified(
                scores[fold], train_axes[fold][0], test_rows, candidates
            )
            class_counts += np.bincount(codes, test_weights, minlength=k)
    return candidates, misclassified, class_counts


def _count_errors_by_leave_one_out(choice: AxesChoice, spectrum: TotalAxes) -> tuple[Codes, Floats, Floats]:
    """Count misclassified rows by number of axes in leave-one-out, with axes computed without each row.

    Parameters
    ----------
    choice : AxesChoice
        Covariance model, and the rows that choose.
    spectrum : TotalAxes
        Axes of all rows.

    Returns
    -------
    candidates : (G,) int
        Numbers of axes.
    misclassified : (G, K) float
        Sums of the weights of misclassified rows by true class; NaN if a covariance is singular without some
        row.
    class_counts : (K,) float
        Sums of the weights of the rows by class.

    Raises
    ------
    NotSupportedError
        There are too many rows or columns to compute the axes again without each row.
    CollinearError
        The rows but one are too few for a covariance even on one axis.
    """
    moments = choice.moments
    rank = len(spectrum.eigenvalues)
    if not choice.covariance_model.relearns_axes(moments, rank):
        raise relearning_too_slow('components="loo"', moments)
    max_axes = choice.max_axis_count(moments, min(rank, int(moments.rows.sum()) - 2), n_left_out=1)
    candidates = choice.candidate_counts(max_axes)
    left_out_axes = choice.covariance_model.leave_one_out_axes(moments, spectrum)
    covariance_model = choice.covariance_model
    log_prior = log_of_prior(choice.prior)
    divisors = choice.divisors(moments)
    misclassified = np.zeros((len(candidates), moments.n_classes))
    for rows, x, codes, weights in used_rows(choice.design_rows):
        row_weights = np.ones(len(codes)) if weights is None else weights
        positions = validation.row_positions(rows).tolist()
        for i, row in enumerate(left_out_axes.leave_out_rows(x, codes, weights)):
            class_scores = np.full((len(candidates), 1, len(log_prior)), np.nan)
            feasible = candidates[: 0 if row is None else int((candidates <= row.rank).sum())]
            if row is not None and len(feasible):
                scores = row.axis_scores(int(feasible[-1]))
                score_arguments = (
                    scores.moments,
                    row.divisors_without_row(divisors),
                    log_prior,
                    scores.transform(row.y),
                    feasible,
                )
                class_scores[: len(feasible)] = scores_by_axis_count(
                    covariance_model, *score_arguments, row.rounding_error
                )
                class_scores = row.mark_lone_class(class_scores)
            if np.isnan(class_scores).any():
                class_scores = _scores_without_row(choice, positions[i], x[i : i + 1], candidates)
            misclassified += count_errors_by_axis_count(
                class_scores, codes[i : i + 1], row_weights[i : i + 1]
            )
    return candidates, misclassified, moments.counts


def _scores_without_row(choice: AxesChoice, position: int, x: Floats, candidates: Codes) -> Floats:
    """Refit without a row (or one unit of its weight) and score it by the rule on each number of axes.

    Parameters
    ----------
    choice : AxesChoice
        Covariance model, and the rows that choose. The prior and the kind of divisors are kept.
    position : int
        Position of the row in the table.
    x : (1, p) float
        The row.
    candidates : (G,) int
        Numbers of axes in increasing order.

    Returns
    -------
    (G, 1, K) float
        Scores of the K classes, the largest for the predicted class. NaN for a number of axes above the rank
        of the remaining rows, or on whose axes a covariance is singular.
    """
    design_rows = choice.design_rows
    weights = np.ones(design_rows.table.nrows) if design_rows.weights is None else design_rows.weights.copy()
    weights[position] -= min(1.0, weights[position])
    moments = reading.class_moments(design_rows.with_weights(weights), choice.moments.scatter_type)
    spectrum = choice.covariance_model.spectrum(moments)
    log_prior = log_of_prior(choice.prior)
    class_scores = np.full((len(candidates), 1, len(log_prior)), np.nan)
    feasible = candidates[candidates <= len(spectrum.eigenvalues)]
    if len(feasible):
        scores = AxisScores.from_spectrum(moments, spectrum, int(feasible[-1]))
        score_arguments = scores.moments, choice.divisors(moments), log_prior, scores.transform(x), feasible
        class_scores[: len(feasible)] = scores_by_axis_count(choice.covariance_model, *score_arguments)
    return class_scores


MIN_RELATIVE_VARIANCE = 1e-8
"""Variance along an axis, relative to the largest, below which cross-products are too imprecise."""


def add_roots_if_imprecise(
    covariance_model: CovarianceModel, design_rows: DesignRows, moments: ClassMoments
) -> ClassMoments:
    """Return the moments, with square roots of the scatter if cross-products are too imprecise for an axis.

    They are too imprecise if the model keeps all axes of positive variance, or an axis whose variance is less
    than `MIN_RELATIVE_VARIANCE` times the largest. The rows are then read once more. Before "cv" or "loo"
    has chosen the number of axes, only the first axis counts.

    Parameters
    ----------
    covariance_model : CovarianceModel
        Model whose principal axes are computed from the moments.
    design_rows : DesignRows
        The rows; empty for a fit to moments.
    moments : ClassMoments
        Moments of these rows.

    Returns
    -------
    ClassMoments
        `moments` if they are precise enough or have roots, or without rows or principal axes; otherwise the
        moments of the rows with roots.
    """
    subspace = covariance_model.subspace
    if subspace is None or moments.roots is not None or not design_rows.table.nrows:
        return moments
    spectrum = subspace.spectrum(moments)
    variance_shares = spectrum.eigenvalues
    try:
        count = 1 if subspace.needs_rows else subspace.n_axes(spectrum)
    except NoEstimateError:
        count = len(variance_shares)
    is_imprecise = (
        count == len(variance_shares)
        or variance_shares[count - 1] < MIN_RELATIVE_VARIANCE * variance_shares[0]
    )
    return reading.class_moments(design_rows, moments.scatter_type) if is_imprecise else moments


def add_level_indicators(design_rows: DesignRows) -> tuple[DesignRows, frozenset[str]]:
    """Return the rows with one indicator column for each level, and the names of the indicator columns.

    Raises NotSupportedError for a categorical term in a product.
    """
    design, names = indicator_design(design_rows.design)
    return replace(design_rows, design=design), names


def adapt_to_levels(fit: FittedModel[Any], design_rows: DesignRows) -> tuple[FittedModel[Any], DesignRows]:
    """Adapt a fit and rows that lack levels of the fit: count indicator columns or covariates again.

    With multiple correspondence analysis, return rows with one indicator column for each of their levels, and
    the fit with a covariance model that marks these columns. With covariates, return the fit with a model for
    the number of covariates of the rows, and the rows unchanged. Other fits and their rows are returned
    unchanged.
    """
    covariance_model: CovarianceModel = fit.estimates.covariance_model
    subspace = covariance_model.subspace
    if subspace is not None and subspace.indicators is not None:
        design_rows, names = add_level_indicators(design_rows)
        covariance_model = replace(subspace, indicators=tuple(term in names for term in design_rows.terms))
    elif covariance_model.covariates:
        covariance_model = adjusted_model(design_rows.n_covariates)
    return replace(fit, estimates=replace(fit.estimates, covariance_model=covariance_model)), design_rows


def mark_indicators(
    covariance_model: CovarianceModel,
    design_rows: DesignRows,
    moments: ClassMoments,
    names: frozenset[str] | None,
) -> tuple[CovarianceModel, ClassMoments]:
    """Mark the indicator columns in the covariance model, and ensure that the moments are precise enough.

    Parameters
    ----------
    covariance_model : CovarianceModel
        Model of the scores on principal axes.
    design_rows : DesignRows
        The rows.
    moments : ClassMoments
        Moments of these rows.
    names : frozenset of str or None
        Names of the indicator columns; None without multiple correspondence analysis.

    Returns
    -------
    CovarianceModel
        With `names`, the model that divides indicators by the square roots of their means and other columns
        by their standard deviations over all rows; else `covariance_model`.
    ClassMoments
        `moments`, or the moments with square roots of the scatter if cross-products are too imprecise for the
        axes (see `add_roots_if_imprecise`).
    """
    subspace = covariance_model.subspace
    if names is not None and subspace is not None:
        indicator_mask = tuple(term in names for term in design_rows.terms)
        covariance_model = replace(subspace, standardized=True, indicators=indicator_mask)
    return covariance_model, add_roots_if_imprecise(covariance_model, design_rows, moments)


class Subspace(FitComponent):
    """Principal axes within which the classes are compared.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.datasets import load_iris
    >>> subspace = lda("species ~ .", load_iris(), components=2).subspace
    >>> subspace.n_components, subspace.shares.round(3).to_dict()
    (2, {'PC1': 0.925, 'PC2': 0.053})
    """

    @property
    def _covariance_model(self) -> SubspaceCovariance:
        """Covariance model of the fit."""
        covariance_model: SubspaceCovariance = self._fit.estimates.subspace_model
        return covariance_model

    def _scores(self) -> AxisScores:
        """Return the axes that the fit keeps, with the moments of the scores of its rows on them.

        They are computed once and cached.
        """
        cache = self._fit.cache
        if "principal axes" not in cache:
            cache["principal axes"] = self._covariance_model.axis_scores(self._fit.estimates.moments)
        scores: AxisScores = cache["principal axes"]
        return scores

    @property
    def n_components(self) -> int:
        """Number of axes that the fit keeps."""
        return len(self._scores().axes)

    def _axis_names(self) -> pd.Index:
        """Return the names of the axes: PC1, PC2, ..., or SAVE1, SAVE2, ... with `ncomp=`."""
        return pd.Index(
            [f"{describe(self._covariance_model).axis_name}{i + 1}" for i in range(self.n_components)]
        )

    @property
    def shares(self) -> pd.Series:
        """Share of the total variance of the (standardized) columns along each axis, indexed by axis."""
        variance_shares = self._scores().spectrum.eigenvalues[: self.n_components]
        return pd.Series(variance_shares.copy(), index=self._axis_names(), name="share")

    @property
    def loadings(self) -> pd.DataFrame:
        """Coefficients of the axes, columns of the fit by axes.

        Each axis has unit length. The coefficients refer to standardized columns if the fit standardizes.
        """
        scores = self._scores()
        axes = scores.spectrum.loadings(scores.scale)[: self.n_components]
        return pd.DataFrame(axes.T, index=self._fit.terms, columns=self._axis_names())

    @property
    @available_if()
    @with_display_formats(se="share", share="share")
    def path(self) -> pd.DataFrame:
        """Errors of each number of axes: components, error, se, share.

        The axes are computed again without each fold ("cv") or row ("loo"). "se" is the standard error of the
        error; the share is the share of the total variance along the first axes together. The smallest number
        of axes with the smallest error is chosen. An error is missing if a covariance is singular without
        some fold or row, or if distances exceed double precision.

        Raises
        ------
        NotSupportedError
            The number of axes was not chosen by "cv" or "loo", or the fit was loaded from a file.
        """
        reason = (
            'because the number of axes was not chosen by components="cv" or "loo", or the fit was loaded'
        )
        return stored_path(self._fit, reason, 'fit with components="cv"', "components")


class CorrespondenceSubspace(Subspace):
    """Axes of multiple correspondence analysis within which the classes are compared.

    Examples
    --------
    >>> from discrim import lda
    >>> from discrim.datasets import load_penguins
    >>> from discrim.subspace import MultipleCorrespondence
    >>> fit = lda("species ~ island + sex", load_penguins(), components=MultipleCorrespondence(2))
    >>> fit.subspace.eigenvalues.round(3).tolist()
    [0.507, 0.5]
    >>> fit.subspace.level_coordinates().round(2).loc["island[Dream]"].tolist()
    [0.37, 0.05, 1.3]
    """

    def _indicator_mask(self) -> Mask:
        """Return a mask (p,) of the columns that are indicators of levels."""
        return np.array(self._covariance_model.indicators)

    def _level_proportions_and_variances(self) -> tuple[Floats, Floats]:
        """Return the proportions (p,) of rows with each level, and the variances (q,) along the q kept axes.

        The proportion is weighted, and zero for a numeric column. The variances (divisor N) are of scores of
        the standardized columns.
        """
        indicator_mask = self._indicator_mask()
        moments = self._fit.estimates.moments
        proportions = np.where(indicator_mask, moments.counts @ moments.class_means / moments.total, 0.0)
        total_variance = (1.0 - proportions).sum()
        return proportions, total_variance * self._scores().spectrum.eigenvalues[: self.n_components]

    @property
    def eigenvalues(self) -> pd.Series:
        """Eigenvalues of the axes that the fit keeps, indexed by axis.

        They are the variances along the axes divided by the number of variables of the formula. If some are
        numeric, they are the eigenvalues of factor analysis of mixed data divided by this number.
        """
        proportions, variances = self._level_proportions_and_variances()
        # The proportions of the levels of each categorical column sum to one.
        n_columns = proportions.sum() + (~self._indicator_mask()).sum()
        return pd.Series(variances / n_columns, index=self._axis_names(), name="eigenvalue")

    @with_display_formats(share="share")
    def level_coordinates(self) -> pd.DataFrame:
        """Principal coordinates of the levels on the axes.

        Returns
        -------
        DataFrame by level
            share, the proportion of rows with the level, and PC1, PC2, ...: principal coordinates, the mean
            score of the rows with the level divided by the standard deviation of the scores. Squares of
            `loadings` are the contributions of levels to an axis.
        """
        indicator_mask = self._indicator_mask()
        proportions, variances = self._level_proportions_and_variances()
        coordinates = (
            self.loadings.to_numpy()[indicator_mask]
            * np.sqrt(variances)
            / np.sqrt(proportions[indicator_mask])[:, None]
        )
        table = pd.DataFrame(coordinates, index=self._fit.terms[indicator_mask], columns=self._axis_names())
        table.insert(0, "share", proportions[indicator_mask])
        return table.rename_axis("level")


class SlicedSubspace(Subspace):
    """Axes of sliced average variance estimation on which the classes are compared, of `qda(ncomp=)`.

    The `loadings` are directions in the units of the columns, along which all rows have a variance of one
    (divisor N) and are uncorrelated. The `shares` are shares of the sum of all eigenvalues.

    Examples
    --------
    >>> from discrim import qda
    >>> from discrim.datasets import load_iris
    >>> qda("species ~ .", load_iris(), ncomp=2).subspace.eigenvalues.round(3).tolist()
    [0.948, 0.739, 0.082, 0.049]
    """

    def _spectrum(self) -> SlicedAxes:
        """Return all p axes of sliced average variance estimation, with their eigenvalues."""
        return cast("SlicedAxes", self._scores().spectrum)

    @property
    def eigenvalues(self) -> pd.Series:
        """All p eigenvalues of the SAVE matrix (see the Notes of `qda`), in decreasing order.

        They include the eigenvalues of axes that the fit does not keep.
        """
        eigenvalues = self._spectrum().kernel_eigenvalues
        index = pd.Index(
            [f"{describe(self._covariance_model).axis_name}{i + 1}" for i in range(len(eigenvalues))]
        )
        return pd.Series(eigenvalues.copy(), index=index, name="eigenvalue")

    def _covariances(self) -> dict[Any, pd.DataFrame]:
        """Return the covariance of the scores on the kept axes, axes by axes, of each class by label."""
        spectrum = self._spectrum()
        names = self._axis_names()
        covariances = [spectrum.covariance_of_scores(c, len(names)) for c in self._fit.estimates.covariances]
        frames = [pd.DataFrame(covariance, index=names, columns=names) for covariance in covariances]
        return dict(zip(self._fit.classes, frames, strict=True))


def subspace_of(fit: FittedModel[Any]) -> Subspace | None:
    """Return `fit.subspace`, of the class for the kind of axes; None if the fit compares all columns."""
    subspace = fit.estimates.subspace_model
    if subspace is None:
        return None
    if subspace.is_supervised:
        return SlicedSubspace(fit)
    return Subspace(fit) if subspace.indicators is None else CorrespondenceSubspace(fit)
