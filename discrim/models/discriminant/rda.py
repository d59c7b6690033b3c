"""Regularized discriminant analysis: mixtures of class covariances, the pooled covariance and a sphere.

The verb `rda`, its results, and the choice of the two regularization parameters alpha and gamma, if the user
does not set them. Cross-validation merges the moments of the folds and reads the rows of one fold at a time.
Leave-one-out reads the rows once for each group of (alpha, gamma) pairs that share their decompositions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal, NoReturn

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import dependencies
from discrim.core.covariance.projected import SubspaceCovariance
from discrim.core.discriminant import rda as core
from discrim.core.discriminant.leave_one_out_rda import Regularization, RowSpan, leave_one_out_groups
from discrim.core.discriminant.rda import PathRule, RDAFit, classes_without_covariance, fit_rda, needs_roots
from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import ScatterType
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import Rule, best_class, log_of_prior
from discrim.covariance import Parametrization, Regularized, read_regularized
from discrim.design.design_rows import DesignRows, rows_from_arrays
from discrim.design.rows import used_codes, used_rows
from discrim.errors import CollinearError, DataError, NotSupportedError, sentence
from discrim.inference.error_rates import error_rates_of_rules, near_minimum_mask
from discrim.inference.resampling import check_folds, seed_or_random, stratified_fold_ids
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.core_errors import named_errors
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FOLD_OPTIONS, FittedModel, ModelSpec
from discrim.models.base.labels import value_or_nan
from discrim.models.base.reading import Data, Divisor, NaAction, Prior, SelectRule, verb_options
from discrim.models.base.refits import moments_outside_folds, stored_path
from discrim.models.base.stored import register_class
from discrim.models.discriminant.components import AxesChoice, choose_axes, reason_rows_are_needed
from discrim.models.discriminant.covariance_models import warn_of_separated_axes
from discrim.models.discriminant.normal_fits import (
    class_divisors,
    warn_if_units_differ,
    warn_of_units,
)
from discrim.models.discriminant.normal_results import SubspaceResults
from discrim.models.evaluation.tuning import (
    Split,
    Splits,
    TuningFolds,
    read_choice,
    read_splits,
    split_moments,
    used_splits,
)
from discrim.models.moments.moments import Moments
from discrim.models.moments.sample import NeedsRows, Sample
from discrim.models.results.geometry import SeparateCovariances
from discrim.subspace import PrincipalComponents, read_subspace

MAX_CACHED_VALUES = 2**22
"""Largest number of values (rows times columns) of a table that is read once for all folds."""

MAX_BATCHED_VALUES = 2**18
"""Largest number of values (rows times columns) of a table whose folds are predicted in batches."""

PROGRESS_LABEL = "choice of alpha and gamma"
"""Label of the progress bar."""

DEFAULT_GRID = np.linspace(0, 1, 11).round(1)
"""Default candidates of alpha and gamma."""


@dataclass(frozen=True, slots=True, eq=False)
class RDAPlan:
    """Options of the fit and of the choice of alpha and gamma.

    Attributes
    ----------
    pairs : list of Regularization
        G candidate pairs of alpha and gamma.
    cv : int, "loo" or None
        Number of folds or splits, or leave-one-out; None if alpha and gamma are set.
    seed : int or None
        Seed of the random folds; not used for splits and leave-one-out.
    select : {"min", "1se"}
        Choose the pair of smallest error, or the simplest pair within one standard error of it.
    parametrization : {"esl", "friedman", "klar"}
        Which covariances are mixed; see the Notes of `discrim.rda`.
    method : {"moment", "mle"}
        Divisor of the class covariances: n_k - 1 or n_k.
    prior : (K,) float
        Prior probabilities of the classes, for the rules and as weights of the classes in the error.
    estimated_prior : bool
        Whether the prior consists of the class proportions.
    n_columns : int, optional
        Number of columns of the data, by which the average variance divides, if the rows are coordinates in a
        space of lower dimension.
    splits : tuple of Split
        Splits of the user, which replace folds.
    standardize : bool
        Whether columns are divided by their standard deviations within classes, computed from all rows of the
        choice, before the ridge is added.
    axes : SubspaceCovariance, optional
        Principal axes within which classes are compared. They are computed again without each fold.
    """

    pairs: list[Regularization]
    cv: Any
    seed: int | None
    select: str
    parametrization: Parametrization
    method: str
    prior: Floats
    estimated_prior: bool
    n_columns: int | None = None
    splits: tuple[Split, ...] = ()
    standardize: bool = False
    axes: SubspaceCovariance | None = None

    @property
    def log_prior(self) -> Floats:
        """Logs of the prior (K,), minus infinity for a prior of zero."""
        return log_of_prior(self.prior)

    @property
    def requires_roots(self) -> bool:
        """Whether the moments of all rows must contain square roots of the scatter matrices.

        True if a candidate pair needs the roots, unless there are folds, which compute their own roots.
        """
        return self.cv in (None, "loo") and needs_roots(self.pairs, self.parametrization)

    def iter_rules(
        self,
        training_moments: Sequence[ClassMoments],
        pairs: list[Regularization],
        rooted_moments: Sequence[Callable[[], ClassMoments]] | None = None,
    ) -> Iterator[PathRule]:
        """Fit candidate pairs to the training rows of each fold, and yield the classification rules.

        Parameters
        ----------
        training_moments : sequence of ClassMoments
            Moments of the training rows of each fold.
        pairs : list of Regularization
            Pairs of alpha and gamma to fit, to which the positions in `PathRule.pairs` refer.
        rooted_moments : sequence of callables, optional
            For each fold a function that returns its moments with square roots of scatter matrices. It is
            called only if a rule needs the precision.

        Yields
        ------
        PathRule
            Rules of one or more pairs in one or more folds, which share decompositions. A pair whose
            covariance is singular in a fold is omitted, or has NaN constants, in this fold.
        """
        options = self.parametrization, self.method, self.log_prior, self.n_columns
        return core.path_rules(training_moments, pairs, *options, rooted_moments)

    def fit(self, moments: ClassMoments, pair: Regularization) -> RDAFit:
        """Fit the model to moments of all rows with one pair of alpha and gamma, within the axes, if any.

        The covariances of the result may be singular, which `RDAFit.find_singular_classes` reports and this
        method does not.
        """
        subspace_model = None
        if self.axes is not None:
            subspace_model = replace(
                self.axes, inner=core.RegularizedCovariance(pair, self.parametrization, self.method)
            )
        return fit_rda(
            moments,
            self.prior,
            alpha=pair.alpha,
            gamma=pair.gamma,
            parametrization=self.parametrization,
            method=self.method,
            estimated_prior=self.estimated_prior,
            cv=self.cv,
            select=self.select,
            standardize=self.standardize,
            subspace_model=subspace_model,
        )

    def choose_and_fit(
        self, design_rows: DesignRows, moments: ClassMoments
    ) -> tuple[RDAFit, pd.DataFrame | None]:
        """Choose alpha and gamma, or the number of principal axes, if required, and fit the model.

        Parameters
        ----------
        design_rows : DesignRows
        moments : ClassMoments
            Moments of these rows.

        Returns
        -------
        RDAFit
            The fit, whose covariances may be singular.
        DataFrame or None
            Errors of the candidates: alpha, gamma, error and se of pairs, or components, error, se and share
            of numbers of axes. None if there was nothing to choose.
        """
        if self.axes is not None and self.axes.needs_rows:
            divisors = partial(class_divisors, method=self.method)
            axes_choice = AxesChoice(self.axes, design_rows, moments, divisors, self.prior)
            axes, path = choose_axes(axes_choice, sampled=self.estimated_prior)
            return replace(self, axes=axes).fit(moments, self.pairs[0]), path
        if self.cv is None:
            return self.fit(moments, self.pairs[0]), None
        pair, path = choose_pair(design_rows, moments, self)
        if moments.roots is None and needs_roots([pair], self.parametrization):
            moments = reading.class_moments(design_rows, moments.scatter_type)
        return self.fit(moments, pair), path

    def refit(self, design_rows: DesignRows, required_moments: ScatterType) -> RDAFit | None:
        """Repeat the choice and the fit with the prior of the plan on rows with other weights.

        Parameters
        ----------
        design_rows : DesignRows
            The rows with the new weights.
        required_moments : ScatterType
            Which second moments are accumulated: "class", or "thin class" with more columns than rows.

        Returns
        -------
        RDAFit or None
            None if a class has a total weight of one or less, the choice raises CollinearError or DataError,
            or a covariance of the fit is singular.
        """
        moments = reading.class_moments(design_rows, required_moments, with_roots=self.requires_roots)
        if classes_without_covariance(moments):
            return None
        try:
            fit, _ = self.choose_and_fit(design_rows, moments)
        except (CollinearError, DataError):
            return None
        return None if fit.find_singular_classes() else fit

    def simplicity_key(self, pair: Regularization) -> tuple[float, float]:
        """Return the sort key of a pair: alpha, then gamma under "esl" and -gamma otherwise.

        It is smaller for a smaller alpha, then for more ridge.
        """
        return pair.alpha, pair.gamma if self.parametrization == "esl" else -pair.gamma


def choose_pair(
    design_rows: DesignRows, moments: ClassMoments, plan: RDAPlan
) -> tuple[Regularization, pd.DataFrame]:
    """Choose alpha and gamma by cross-validation or leave-one-out.

    By folds, the error of a pair is the mean over folds of the error rate, with each class weighted by its
    prior, and its standard error is the standard error of this mean. By leave-one-out, both are computed as
    in `discrim.inference.error_rates.error_rates_of_rules`. Of the pairs with the smallest error or, by
    "1se", within one standard error of it, the simplest is chosen (see `RDAPlan.simplicity_key`).

    Parameters
    ----------
    design_rows : DesignRows
    moments : ClassMoments
        Moments of these rows.
    plan : RDAPlan
        Candidate pairs, and options of the choice.

    Returns
    -------
    Regularization
        The chosen pair.
    DataFrame
        alpha, gamma, error, se of each candidate; the error is missing if a covariance is singular in some
        fold or without some row.

    Raises
    ------
    DataError
        There are too many or too few folds, a class has too few training rows, or no row is tested.
    CollinearError
        Every pair has a singular covariance without some fold or row.
    """
    if plan.standardize and plan.axes is None:
        design_rows, moments = reading.standardize_within_classes(design_rows, moments)
        plan = replace(plan, standardize=False)
    if moments.scatter_type == "thin class" and plan.axes is None:
        span = RowSpan.from_moments(moments)
        splits = used_splits(plan.splits, design_rows)
        plan = replace(plan, n_columns=span.n_columns, splits=splits)
        design_rows = _span_coordinates(span, design_rows)
        moments = span.moments
    errors, standard_errors = (
        _estimate_leave_one_out_errors(design_rows, moments, plan)
        if plan.cv == "loo"
        else _estimate_fold_errors(design_rows, plan)
    )
    alphas, gammas = np.array(plan.pairs, dtype=np.float64).T
    path = pd.DataFrame({"alpha": alphas, "gamma": gammas, "error": errors, "se": standard_errors})
    if np.isnan(errors).all():
        raise CollinearError(
            "For each pair of the grid, the covariance matrix of a class is singular in some fold or without "
            "some row.",
            hint="Use a grid with more ridge or an alpha below 1, or more folds.",
        )
    eligible = near_minimum_mask(errors, standard_errors if plan.select == "1se" else None)
    return min((plan.pairs[i] for i in np.flatnonzero(eligible)), key=plan.simplicity_key), path


def _span_coordinates(span: RowSpan, design_rows: DesignRows) -> DesignRows:
    """Return the rows that a fit uses, in coordinates of the space that they span, read into memory.

    Rows without a class, weight or complete values are left out, so that positions of rows change.
    """
    chunks = [(span.coordinates(x), codes, weights) for _, x, codes, weights in used_rows(design_rows)]
    y, codes = (np.concatenate([chunk[j] for chunk in chunks]) for j in range(2))
    weights = (
        None
        if design_rows.weights is None
        else np.concatenate([chunk_weights for _, _, chunk_weights in chunks])
    )
    return rows_from_arrays(y, codes, design_rows.design.levels, weights)


def _estimate_fold_errors(design_rows: DesignRows, plan: RDAPlan) -> tuple[Floats, Floats]:
    """Estimate the error rate of each candidate pair by cross-validation over folds or splits.

    Parameters
    ----------
    design_rows : DesignRows
    plan : RDAPlan
        Candidate pairs, folds or splits, and prior.

    Returns
    -------
    errors : (G,) float
        Means over folds of error rates, with each class that has test rows weighted by its prior; NaN if a
        covariance is singular in some fold.
    se : (G,) float
        Standard errors of these means; NaN if only one fold has test rows.

    Raises
    ------
    DataError
        The number of folds exceeds the number of rows, a class has at most one training row in some fold, or
        no fold has a test row of a class with positive prior.
    """
    k = len(plan.prior)
    if not plan.splits:
        check_folds(plan.cv, int((used_codes(design_rows) >= 0).sum()))
    misclassified = np.full((len(plan.pairs), plan.cv, k), np.nan)
    test_counts = np.zeros((plan.cv, k))
    with Progress(plan.cv * len(plan.pairs), PROGRESS_LABEL) as progress:
        folds = _read_folds(design_rows, plan)
        start = 0
        p = len(design_rows.terms)
        is_batched = design_rows.table.nrows * p <= MAX_BATCHED_VALUES and plan.axes is None
        batch_size = core.parts_at_once(k, p, plan.pairs) if is_batched else 1
        while batch := list(islice(folds, batch_size)):
            for position, fold in enumerate(batch, start):
                small_classes = classes_without_covariance(fold.moments)
                if small_classes:
                    _raise_small_classes(fold, small_classes, position, design_rows, plan)
                test_counts[position] = np.bincount(fold.codes, fold.weights, minlength=k)
            x, codes, weights = _stack_test_rows(batch)
            training_moments = [fold.moments for fold in batch]
            with_roots = [fold.compute_rooted_moments for fold in batch]
            for rule in plan.iter_rules(training_moments, plan.pairs, with_roots):
                cells = np.ix_(rule.pairs, start + rule.parts)
                batch_errors = np.swapaxes(core.count_misclassified(rule, x, codes, weights), 0, 1)
                misclassified[cells] = np.where(np.isnan(batch_errors), misclassified[cells], batch_errors)
                progress(len(rule.pairs) * len(rule.parts))
            start += len(batch)
    # Classes without test rows in a fold do not contribute to its error rate.
    has_rows = test_counts > 0
    row_weights = np.where(has_rows, plan.prior, 0.0) / np.where(has_rows, test_counts, 1.0)
    tested_prior = np.where(has_rows, plan.prior, 0.0).sum(axis=1)
    is_tested = tested_prior > 0
    if not is_tested.any():
        raise DataError(
            "No observation is left to evaluate alpha and gamma.", hint="Pass splits with larger test sets."
        )
    rates = (misclassified * row_weights).sum(axis=2)[:, is_tested] / tested_prior[is_tested]
    if rates.shape[1] < 2:
        # The variance between splits cannot be estimated from one.
        return rates.mean(axis=1), np.full(len(rates), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return rates.mean(axis=1), rates.std(axis=1, ddof=1) / np.sqrt(is_tested.sum())


def _raise_small_classes(
    fold: _Fold, small_classes: list[int], position: int, design_rows: DesignRows, plan: RDAPlan
) -> NoReturn:
    """Raise the error for a fold that leaves fewer than two training rows of some class.

    Parameters
    ----------
    fold : _Fold
        The fold with its training moments.
    small_classes : list of int
        Positions of the classes with fewer than two training rows.
    position : int
        Position of the fold, from zero.
    design_rows : DesignRows
    plan : RDAPlan
        Folds or splits, for the message.
    """
    subject, remedy = (
        (f"Split {position + 1} of folds has", "pass splits with two training rows of each class")
        if plan.splits
        else (f"folds={plan.cv} leaves", 'use more folds or folds="loo"')
    )
    # With two rows in the class, more folds would not help: one of them is left out in some fold.
    has_rows_to_spare = (fold.moments.rows + np.bincount(fold.codes, minlength=len(plan.prior)))[
        small_classes
    ] > 2
    remedy = f"{remedy}, " if plan.splits or has_rows_to_spare.all() else ""
    raise DataError(
        f"{subject} at most one training row of class "
        f"{reading.join_labels(design_rows.design.levels[c] for c in small_classes)}.",
        hint=sentence(f"{remedy}merge the class with another one, or pass alpha= and gamma="),
        classes=[design_rows.design.levels[c] for c in small_classes],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Fold:
    """Training moments and test rows of one fold or split.

    Attributes
    ----------
    moments : ClassMoments
        Moments of the training rows, without square roots of the scatter matrices.
    compute_rooted_moments : callable
        Function without arguments that computes the moments with these roots, for rules that need the
        precision.
    x, codes, weights : (m, p) float, (m,) int, (m,) float or None
        Test rows, their classes and weights.
    """

    moments: ClassMoments
    compute_rooted_moments: Callable[[], ClassMoments]
    x: Floats
    codes: Codes
    weights: Floats | None


def _read_folds(design_rows: DesignRows, plan: RDAPlan) -> Iterator[_Fold]:
    """Yield the training moments and test rows of each fold or split, in their order.

    The test rows of a table of up to `MAX_CACHED_VALUES` values are read once for all folds; otherwise, and
    for splits, each fold reads them. With axes, the moments and rows of a fold are scores on its axes.
    """
    if plan.axes is not None:
        yield from _read_folds_on_axes(design_rows, plan, plan.axes)
        return
    if plan.splits:
        split_training = split_moments(design_rows, plan.splits, "class", with_roots=False)
        for moments, split in zip(split_training, plan.splits, strict=True):
            rooted_split = split_moments(design_rows, [split], "class")
            yield _Fold(moments, partial(next, rooted_split), *_test_rows(design_rows, split.test))
        return
    fold_ids = stratified_fold_ids(used_codes(design_rows), plan.cv, plan.seed)
    training_moments = moments_outside_folds(design_rows, fold_ids, plan.cv, "class", with_roots=False)
    rooted_moments = cache(partial(moments_outside_folds, design_rows, fold_ids, plan.cv, "class"))
    with_roots = [partial(lambda fold: rooted_moments()[fold], fold) for fold in range(plan.cv)]
    if design_rows.table.nrows * len(design_rows.terms) > MAX_CACHED_VALUES:
        for fold, moments in enumerate(training_moments):
            yield _Fold(
                moments, with_roots[fold], *_test_rows(design_rows, (fold_ids == fold).astype(np.float64))
            )
        return
    x, codes, weights = _test_rows(design_rows, np.ones(len(fold_ids)))
    used_fold_ids = fold_ids[fold_ids >= 0]
    for fold, moments in enumerate(training_moments):
        test_index = np.flatnonzero(used_fold_ids == fold)
        x_test = np.take(x.T, test_index, axis=1).T
        yield _Fold(
            moments,
            with_roots[fold],
            x_test,
            codes[test_index],
            None if weights is None else weights[test_index],
        )


def _read_folds_on_axes(design_rows: DesignRows, plan: RDAPlan, axes: SubspaceCovariance) -> Iterator[_Fold]:
    """Yield the folds or splits, with rows replaced by scores on principal axes of the training rows.

    Parameters
    ----------
    design_rows : DesignRows
    plan : RDAPlan
        Folds or splits.
    axes : SubspaceCovariance
        Options of the axes, which are computed for each fold.

    Yields
    ------
    _Fold
        Moments and test rows of the scores, whose number may differ between folds.
    """
    folds = TuningFolds(plan.cv, seed_or_random(plan.seed), plan.splits)
    required_moments: ScatterType = "thin class" if reading.is_wide(design_rows) else "class"
    training_moments, test_frequencies = folds.training_moments(design_rows, required_moments)
    for moments, frequencies in zip(training_moments, test_frequencies, strict=True):
        with named_errors(design_rows.terms, design_rows.design.levels):
            scores = axes.axis_scores(moments)
        x, codes, weights = _test_rows(design_rows, frequencies)
        score_moments = scores.moments
        yield _Fold(score_moments, partial(replace, score_moments), scores.transform(x), codes, weights)


def _stack_test_rows(folds: Sequence[_Fold]) -> tuple[Floats, Codes, Floats | None]:
    """Stack the test rows of F folds into arrays, padded to the m rows of the largest fold.

    Parameters
    ----------
    folds : sequence of _Fold
        The folds, with test rows.

    Returns
    -------
    x : (F, m, p) float
        Test rows; zero for padding.
    codes : (F, m) int
        -1 for padding.
    weights : (F, m) float or None
        Weights, 0 for padding; None if all are 1.
    """
    max_rows = max(len(fold.codes) for fold in folds)
    p = folds[0].x.shape[1]
    if len(folds) == 1:
        x = folds[0].x
        codes = folds[0].codes
        weights = folds[0].weights
        return x[None], codes[None], None if weights is None else weights[None]
    columns = np.zeros((len(folds), p, max_rows))
    codes = np.full((len(folds), max_rows), -1)
    weights = np.zeros((len(folds), max_rows)) if any(fold.weights is not None for fold in folds) else None
    for i, fold in enumerate(folds):
        n_rows = len(fold.codes)
        columns[i, :, :n_rows] = fold.x.T
        codes[i, :n_rows] = fold.codes
        if weights is not None:
            weights[i, :n_rows] = 1.0 if fold.weights is None else fold.weights
    return np.swapaxes(columns, 1, 2), codes, weights


def _test_rows(design_rows: DesignRows, frequencies: Floats) -> tuple[Floats, Codes, Floats | None]:
    """Return the test rows of a fold with their classes and weights.

    Parameters
    ----------
    design_rows : DesignRows
    frequencies : (n,) float
        How often each row of the table is tested; 0 for training rows.

    Returns
    -------
    x : (m, p) float
        Values of the test rows.
    codes : (m,) int
        Their classes.
    weights : (m,) float or None
        Weights of the rows times `frequencies`; None if all are 1.
    """
    columns = []
    codes = []
    weights = []
    has_repetitions = frequencies.max() > 1
    for rows, x, block_codes, block_weights in used_rows(design_rows):
        tested = np.flatnonzero(frequencies[rows])
        columns.append(np.take(x.T, tested, axis=1))
        codes.append(block_codes[tested])
        if block_weights is not None or has_repetitions:
            weights.append(
                (1.0 if block_weights is None else block_weights[tested]) * frequencies[rows][tested]
            )
    test_weights = np.concatenate(weights) if weights else None
    return np.concatenate(columns, axis=1).T, np.concatenate(codes), test_weights


def _estimate_leave_one_out_errors(
    design_rows: DesignRows, moments: ClassMoments, plan: RDAPlan
) -> tuple[Floats, Floats]:
    """Estimate the error rate of each candidate pair by leave-one-out.

    Parameters
    ----------
    design_rows : DesignRows
    moments : ClassMoments
        Moments of these rows.
    plan : RDAPlan
        Candidate pairs and prior.

    Returns
    -------
    errors : (G,) float
        Error rates, with each class weighted by its prior; NaN if the covariance of a class is singular for
        all rows or without some row.
    se : (G,) float
        Standard errors.

    Raises
    ------
    DataError
        A class has a total weight of two or less.
    """
    k = len(plan.prior)
    small_classes = [design_rows.design.levels[c] for c in np.flatnonzero(moments.counts <= 2)]
    if small_classes:
        raise DataError(
            f'folds="loo" requires three rows of each class; class {reading.join_labels(small_classes)} has '
            "fewer.",
            hint="Merge the class with another one, or pass alpha= and gamma=.",
            classes=small_classes,
        )
    regular_index = np.sort(
        np.concatenate([[], *(rule.pairs for rule in plan.iter_rules([moments], plan.pairs))])
    )
    regular_index = regular_index.astype(np.intp)
    pairs = [plan.pairs[i] for i in regular_index]
    misclassified = np.full((len(plan.pairs), k), np.nan)
    misclassified[regular_index] = 0.0
    pairs_by_row: dict[int, list[int]] = {}
    groups = leave_one_out_groups(
        moments, pairs, plan.parametrization, plan.method, plan.log_prior, plan.n_columns
    )
    with Progress(len(pairs), PROGRESS_LABEL) as progress:
        for group in groups:
            pair_index = regular_index[group.positions]
            for rows, x, codes, weights in used_rows(design_rows):
                positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
                for i, scores in zip(pair_index.tolist(), group.scores(x, codes, weights), strict=True):
                    labels = best_class(scores.T)
                    is_misclassified = (labels != codes) & (labels >= 0)
                    error_weights = is_misclassified if weights is None else is_misclassified * weights
                    misclassified[i] += np.bincount(codes, error_weights, minlength=k)
                    for row in positions[labels < 0].tolist():
                        pairs_by_row.setdefault(row, []).append(i)
            progress(len(pair_index))
    _add_refit_errors(design_rows, plan, pairs_by_row, misclassified)
    return error_rates_of_rules(misclassified, moments.counts, plan.prior, sampled=plan.estimated_prior)


def _add_refit_errors(
    design_rows: DesignRows, plan: RDAPlan, pairs_by_row: dict[int, list[int]], misclassified: Floats
) -> None:
    """Add the leave-one-out errors of rows for which the closed form fails, by a refit without each row.

    Parameters
    ----------
    design_rows : DesignRows
    plan : RDAPlan
        Candidate pairs and prior.
    pairs_by_row : dict of int to list of int
        Positions of the pairs to refit, by position of the row.
    misclassified : (G, K) float
        Sums of weights of misclassified rows by pair and true class, changed in place. They become NaN for a
        pair whose covariance is singular without some row.
    """
    weights = np.ones(design_rows.table.nrows) if design_rows.weights is None else design_rows.weights
    with Progress(len(pairs_by_row), "refits without a row") as progress:
        for row, pair_index in pairs_by_row.items():
            progress(1)
            code = int(design_rows.codes[row])
            row_weight = float(weights[row])
            remaining = [i for i in pair_index if not np.isnan(misclassified[i, 0])]
            if not remaining:
                continue
            weights_without = weights.copy()
            weights_without[row] -= min(1.0, row_weight)
            moments = reading.class_moments(
                design_rows.with_weights(weights_without), "class", with_roots=plan.requires_roots
            )
            row_errors = np.full((len(remaining), len(plan.prior)), np.nan)
            x = design_rows.rows_at_positions(np.array([row]))
            for rule in plan.iter_rules([moments], [plan.pairs[i] for i in remaining]):
                (row_errors[rule.pairs],) = core.count_misclassified(
                    rule, x[None], np.array([[code]]), np.array([[row_weight]])
                )
            misclassified[remaining] += row_errors


CHOICE_NEEDS_ROWS = NeedsRows(
    "The choice of alpha and gamma requires the rows.",
    "Pass both, for example alpha=0.5, gamma=0.5",
)


@reading.with_public_errors
def rda(
    formula: str | None = None,
    data: Data | None = None,
    *,
    moments: Moments | None = None,
    alpha: float | Literal["1se"] | None = None,
    gamma: float | Literal["1se"] | None = None,
    parametrization: Parametrization | Regularized = "esl",
    folds: int | Literal["loo"] | Splits = 10,
    grid: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    seed: int | None = None,
    components: int | float | Literal["cv", "loo"] | PrincipalComponents | None = None,
    prior: Prior = None,
    weights: Any = None,
    method: Divisor = "moment",
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> RDAResults:
    """Regularized discriminant analysis.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    moments : Moments, optional
        Moments in place of formula and data; see the page on shared arguments. alpha and gamma must both be
        given with moments, because they are chosen from rows.
    alpha : float or "1se", optional
        Weight of each class's own covariance: 0 yields a common covariance matrix like LDA, and 1 a
        covariance for each class like QDA. The lambda of Friedman and klaR is 1 - alpha. By default it is
        chosen by cross-validation: the pair of smallest error and, of equal errors, the simpler pair (smaller
        alpha, then more ridge). "1se" for alpha or gamma chooses the simplest pair whose error is within one
        standard error of the smallest.
    gamma : float or "1se", optional
        Under "esl", 1 leaves the pooled covariance as it is and 0 replaces it by its average variance times
        the identity. Under "friedman" and "klar", 0 adds no ridge and 1 keeps only the average variance. By
        default it is chosen by cross-validation.
    parametrization : {"esl", "friedman", "klar"} or `discrim.covariance.Regularized`
        Which covariances are mixed; see the Notes of `discrim.rda`. The specification also divides the
        columns by their standard deviations within classes: ``Regularized(standardize=True)``. By default
        they keep their units, and a warning is shown if their standard deviations differ greatly.
    folds : int, "loo", or iterable of (train, test)
        Number of folds of the cross-validation that makes the choice, or "loo" for leave-one-out, which is
        exact and refits only for the few observations without which a covariance is nearly singular. Folds
        cost less if there are many observations. Or splits in the form of scikit-learn, which are positions
        of rows of the table; methods that evaluate the fit by folds then choose again on the same splits,
        without the rows of the fold. The choice uses the prior of all rows, also if the splits are uneven by
        class.
    grid : sequence of float, or mapping of "alpha" and "gamma" to one, optional
        Values to try for alpha and gamma if they are not given; by default 0, 0.1, ..., 1.
    seed : int, optional
        Seed of the random assignment of rows to folds.
    components : int, float, "cv", "loo" or `discrim.subspace.PrincipalComponents`, optional
        Principal axes within which the classes are compared: their number, or the smallest share of the total
        variance, between 0 and 1, that they have to explain. "cv" and "loo" choose the number of smallest
        error by ten folds or by leaving out each row, and the smallest of several such numbers (see `path`);
        alpha and gamma are then required. The axes are computed from all observations about their common
        mean, without regard to the classes. Folds and refits compute them again, also if alpha and gamma are
        chosen by folds.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes; by default the class proportions.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    method : {"moment", "mle"}
        Divisor of the covariance of each class k of n_k rows: n_k - 1 for "moment", n_k for "mle".
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    RDAResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left. Also alpha or gamma
        outside 0 to 1, an empty grid, and too few rows for the folds.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        A covariance is singular at this alpha and gamma; the message names the class and a solution.

    Notes
    -----
    With a ridge there may be more columns than rows, and columns that are constant or collinear.

    - "esl" is alpha S_k + (1 - alpha) [gamma S + (1 - gamma) s2 I] with s2 = tr(S)/p (Hastie, Tibshirani &
      Friedman, 2009, The Elements of Statistical Learning, sec. 4.3.1).
    - "friedman" mixes the sums of squares and the divisors of the class with the sums over all classes, and
      then replaces the share gamma of the mixture by its average variance (Friedman, 1989, JASA 84, 165-175).
    - "klar" mixes covariances instead of sums of squares, like R's klaR.

    A grid costs little more than its longer decompositions: all gammas of one alpha share theirs under
    "friedman" and "klar", and all alphas of one gamma under "esl".

    *Principal axes.* With components= the covariance is estimated for the scores on leading eigenvectors of
    the covariance of all rows about their common mean, which is discriminant analysis of principal components
    (Jombart, Devillard & Balloux, 2010, BMC Genetics 11, 94; R's adegenet). The fit needs only the moments of
    the columns, and its coefficients refer to the columns: axes times coefficients. Directions outside the
    axes are ignored. If the number of axes separates axes of equal eigenvalues, the axes that are kept are
    arbitrary, and a `TiedAxesWarning` names the tied axes. `leave_one_out()` computes the axes again without
    each of up to a thousand rows if that requires only seconds, with the standard deviations on which they
    depend; otherwise it keeps all of these, or raises an error if there are more columns than rows.
    Likelihoods cannot be compared between numbers of axes, and tests and standard errors are not available.

    The smallest error of a path is optimistic, because it is the best of many. `error_rates(["cv"])` and
    `discrim.cross_validate` choose alpha and gamma again without each fold, and so do bootstrap samples,
    while `leave_one_out()` keeps a pair that was chosen.

    Examples
    --------
    >>> from discrim import rda
    >>> from discrim.datasets import load_iris
    >>> fit = rda("species ~ .", load_iris(), alpha=0.5, gamma=0.9)
    >>> fit.confusion().to_numpy().tolist()
    [[50, 0, 0], [0, 48, 2], [0, 1, 49]]
    """
    options = verb_options(locals())
    regularized = read_regularized(parametrization)
    parametrization_name = regularized.parametrization
    reading.check_word("method", method, Divisor)
    choices = {"alpha": read_choice(alpha), "gamma": read_choice(gamma)}
    select: SelectRule = "1se" if "1se" in [rule for _, rule in choices.values()] else "min"
    fixed_values = {name: _read_proportion(name, value) for name, (value, _) in choices.items()}
    pairs = _candidate_pairs(fixed_values, grid)
    chooses = None in fixed_values.values()
    axes = _read_axes(components, pairs, folds, regularized, method)
    sample = Sample("rda", "class", moments, formula, data, weights, levels, functions, na_action)
    if sample.has_rows:
        design_rows = reading.drop_constant_columns_if_wide(sample.read())
        required_moments: ScatterType = "thin class" if reading.is_wide(design_rows) else "class"
        # A choice by folds computes the roots that it needs.
        is_known = not chooses or isinstance(folds, str)
        with_roots = components is None and is_known and needs_roots(pairs, parametrization_name)
        design_rows, stats = reading.usable_rows(
            design_rows, required_moments, na_action, with_roots=with_roots
        )
    else:
        reason = CHOICE_NEEDS_ROWS if chooses else None
        if axes is not None and axes.needs_rows:
            reason = reason_rows_are_needed(axes.options)
        design_rows, stats = sample.read_moments("class", reason)
    splits = _read_user_splits(folds, design_rows)
    if len(splits) == 1 and select == "1se":
        raise DataError(
            '"1se" requires the standard error over several splits, but folds= has only one.',
            hint="Pass two or more splits.",
        )
    _raise_if_few_rows(stats, design_rows.design.levels)
    priors, estimated = reading.read_prior(prior, design_rows.design.levels, stats.counts)
    standardize = regularized.standardize if axes is None else axes.standardized
    # Refits choose with the same seed, which makes them reproducible.
    plan = RDAPlan(
        pairs, (len(splits) or folds) if chooses else None, seed_or_random(seed), select,
        parametrization_name, method, priors, estimated, splits=splits if chooses else (),
        standardize=standardize, axes=axes,
    )  # fmt: skip
    with named_errors(design_rows.terms, design_rows.design.levels):
        fit, path = plan.choose_and_fit(design_rows, stats)
    _raise_if_singular(fit, design_rows)
    warn_of_separated_axes(fit.subspace_model, design_rows.design.levels)
    if axes is not None or not standardize:
        _warn_of_units(fit, stats, design_rows.terms)
    spec = RDASpec(plan if path is not None else None)
    return RDAResults(spec.fit(fit, design_rows, options, has_rows=sample.has_rows, path=path))


def _read_axes(
    components: Any,
    pairs: list[Regularization],
    folds: Any,
    regularized: Regularized,
    method: str,
) -> SubspaceCovariance | None:
    """Validate `components=` and return the covariance model on principal axes that it specifies.

    Parameters
    ----------
    components : int, float, "cv", "loo", PrincipalComponents or None
        Option of the verb: the number of axes, or how it is chosen.
    pairs : list of Regularization
        Candidate pairs; the covariance on the axes is regularized by the first.
    folds : int, "loo" or splits
        Option of the verb, by which alpha and gamma are chosen if there are several pairs.
    regularized : Regularized
        Value of `parametrization=`.
    method : {"moment", "mle"}
        Divisor of the class covariances.

    Returns
    -------
    SubspaceCovariance or None
        None without `components=`.

    Raises
    ------
    DataError
        The specification is not supported, or columns would be standardized twice.
    NotSupportedError
        There are several pairs, and `components` is "cv" or "loo", or `folds` is "loo".
    """
    subspace = read_subspace(components)
    if subspace is None:
        return None
    if not isinstance(subspace, PrincipalComponents):
        raise DataError(f"rda() does not support components={subspace!r}.", hint="Use PrincipalComponents().")
    requested = subspace.n
    if regularized.standardize:
        raise DataError(
            f"parametrization={regularized!r} cannot be combined with components=, because principal axes "
            "are linear combinations of the columns.",
            hint=f"Pass components={replace(subspace, standardize=True)!r}.",
        )
    if len(pairs) > 1 and isinstance(requested, str):
        raise NotSupportedError(
            f"components={requested!r} cannot be combined with a choice of alpha and gamma.",
            hint="Pass both, for example alpha=0.5, gamma=0.5, or pass a number of components.",
            options={"alpha": 0.5, "gamma": 0.5},
        )
    if len(pairs) > 1 and isinstance(folds, str):
        raise NotSupportedError(
            f"folds={folds!r} cannot be combined with components=, because the axes change without each row.",
            hint="Choose alpha and gamma by folds, for example folds=10, or pass both.",
            options={"folds": 10},
        )
    mixture = core.RegularizedCovariance(pairs[0], regularized.parametrization, method)
    return SubspaceCovariance(mixture, requested, subspace.standardize)


def _warn_of_units(fit: RDAFit, moments: ClassMoments, terms: tuple[str, ...]) -> None:
    """Warn if the columns have very different standard deviations, on which axes and ridge depend.

    It does not warn of a fit without axes and ridge, or with axes of standardized columns.
    """
    if fit.subspace_model is not None:
        hint = "Pass components=discrim.subspace.PrincipalComponents(n, standardize=True)"
        warn_if_units_differ(fit.subspace_model, moments, terms, hint)
    elif fit.ridged:
        regularized = Regularized(fit.parametrization, standardize=True)
        hint = f"Pass parametrization=discrim.covariance.{regularized!r}"
        warn_of_units(moments, terms, "The ridge", hint)


def _read_user_splits(folds: Any, design_rows: DesignRows) -> tuple[Split, ...]:
    """Return the train-test splits in `folds=`; an empty tuple if it is an integer of at least 2 or "loo".

    Raises DataError for any other value without valid splits.
    """
    if isinstance(folds, str) and folds == "loo":
        return ()
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool) and folds >= 2:
        return ()
    return read_splits(folds, design_rows, 'a number of folds, 2 or more, or "loo"')


def _read_proportion(name: str, value: Any) -> float | None:
    """Return alpha or gamma, a number from 0 to 1, or None if it is to be chosen; else raise DataError.

    `name` is "alpha" or "gamma", for the message.
    """
    if value is None:
        return None
    try:
        number = np.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not 0 <= number <= 1:
        raise DataError(
            f"{name}={value!r} is not valid.",
            hint="Pass a number from 0 to 1, or None or '1se' to have it chosen.",
        )
    return number


def _candidate_pairs(fixed_values: Mapping[str, float | None], grid: Any) -> list[Regularization]:
    """Return all candidate pairs of alpha and gamma.

    Parameters
    ----------
    fixed_values : mapping of str to float or None
        Values of "alpha" and "gamma" from the user; None if the value is to be chosen.
    grid : sequence of float, mapping or None
        Candidates for the values to choose.

    Returns
    -------
    list of Regularization
        All combinations, ascending in alpha, then in gamma; a single pair if both are set.

    Raises
    ------
    DataError
        `grid` is passed although both values are set; has candidates for a value that is set, or an unknown
        name; is empty; or has a value that is not a number from 0 to 1.
    """
    fixed_names = [name for name, value in fixed_values.items() if value is not None]
    if grid is not None and len(fixed_names) == len(fixed_values):
        raise DataError("grid= cannot be combined with both alpha= and gamma=.", hint="Leave out grid=.")
    if isinstance(grid, Mapping):
        repeated_names = [name for name in fixed_names if name in grid]
        if repeated_names:
            raise DataError(
                f"grid= has candidates for {reading.join_labels(repeated_names)}, which is also set.",
                hint="Leave out one of the two.",
            )
        unknown = [name for name in grid if name not in Regularization._fields]
        if unknown:
            raise DataError(
                f"Unknown parameter {reading.join_labels(unknown)} in grid.",
                hint="Pass candidates for 'alpha' and 'gamma'.",
            )
        by_name = {name: grid.get(name) for name in Regularization._fields}
    else:
        by_name = dict.fromkeys(Regularization._fields, grid)
    alphas, gammas = (
        [value] if value is not None else _read_candidates(by_name[name])
        for name, value in fixed_values.items()
    )
    return [Regularization(alpha, gamma) for alpha in alphas for gamma in gammas]


def _read_candidates(grid: Any) -> list[float]:
    """Return the distinct candidates of `grid`, ascending; None stands for `DEFAULT_GRID`.

    Raises DataError if `grid` is empty, not a sequence of numbers, or has a number outside 0 to 1.
    """
    try:
        values = [float(value) for value in (DEFAULT_GRID if grid is None else grid)]
    except (TypeError, ValueError):
        raise DataError(f"grid={grid!r} is not valid.", hint="Pass numbers from 0 to 1.") from None
    invalid = [value for value in values if not 0 <= value <= 1]
    if not values or invalid:
        problem = f"{invalid[0]!r} is outside 0 to 1" if invalid else "it is empty"
        raise DataError(f"grid={values!r} is not valid: {problem}.", hint="Pass numbers from 0 to 1.")
    return sorted(set(values))


def _raise_if_few_rows(moments: ClassMoments, levels: Sequence[Any]) -> None:
    """Raise CollinearError, which names the classes, if some have a total weight of one or less."""
    single = classes_without_covariance(moments)
    if not single:
        return
    k = single[0]
    has_light_weights = moments.counts[k] != moments.rows[k]
    rows = f"a total weight of {moments.counts[k]:g}" if has_light_weights else "only one row"
    weight_hint = (
        ", or pass weights that count rows, for example divided by their mean" if has_light_weights else ""
    )
    subject = "Class" if len(single) == 1 else "Each of the classes"
    raise CollinearError(
        f"{subject} {reading.join_labels(levels[k] for k in single)} has {rows}, which is not enough to "
        "estimate a covariance matrix.",
        hint=f"Merge it with another class, or leave it out{weight_hint}.",
        classes=[levels[k] for k in single],
    )


def _raise_if_singular(fit: RDAFit, design_rows: DesignRows) -> None:
    """Raise CollinearError if the regularized covariance matrix of a class is singular.

    The message names the classes, alpha and gamma, and the cause for the first of these classes.
    """
    singular = fit.find_singular_classes()
    if not singular:
        return
    classes = reading.join_labels(design_rows.design.levels[k] for k in singular)
    ridge = "gamma below 1" if fit.parametrization == "esl" else "gamma above 0"
    uses_class_only = fit.parametrization == "esl" and fit.alpha == 1
    varies = fit.moments.scatters.any()
    if varies:
        cause = _singularity_reason(fit, singular[0], design_rows.terms)
        hint = f"Use {'alpha below 1' if uses_class_only else ridge}."
    else:
        cause = "no column varies within classes"
        hint = "Use other predictors."
    raise CollinearError(
        f"The covariance matrix of class {classes} is singular at alpha={fit.alpha:g}, gamma={fit.gamma:g}: "
        f"{cause}.",
        hint=hint,
        classes=[design_rows.design.levels[k] for k in singular],
    )


def _singularity_reason(fit: RDAFit, k: int, terms: tuple[str, ...]) -> str:
    """Describe why the covariance of a class is singular.

    A mixture of covariances is singular only if the pooled covariance is, unless alpha is 1.

    Parameters
    ----------
    fit : RDAFit
        The fit with a singular covariance.
    k : int
        Position of the class.
    terms : tuple of str
        Names of the columns.

    Returns
    -------
    str
        A clause that names the columns, without a full stop.
    """
    moments = fit.moments
    class_index = k if fit.alpha == 1 else None
    scope = "within classes" if class_index is None else "in this class"
    df = int(moments.rows.sum() - moments.n_classes if class_index is None else moments.rows[k] - 1)
    if df < len(terms):
        columns = f"the {len(terms)} columns ({reading.join_labels(terms)})"
        return f"{columns} outnumber the {df} degrees of freedom {scope}"
    culprits = [terms[dependency.column] for dependency in dependencies(moments, class_index)]
    if not culprits:
        return f"some of the {len(terms)} columns ({reading.join_labels(terms)}) are nearly collinear {scope}"
    verb = "is" if len(culprits) == 1 else "are"
    names = reading.join_labels(culprits)
    return f"{names} {verb} constant or a linear combination of preceding columns {scope}"


class RDAResults(SeparateCovariances, SubspaceResults):
    """A fitted regularized discriminant analysis.

    `llf` is the log-likelihood of class and row at the means and covariances of the fit, which do not
    maximize it.
    """

    _fit: FittedModel[RDAFit]

    @property
    def alpha(self) -> float:
        """Weight of the class covariance in the mixture with the pooled one, from 0 (LDA) to 1 (QDA)."""
        return self._fit.estimates.alpha

    @property
    def gamma(self) -> float:
        """Ridge parameter from 0 to 1; no ridge is 1 under "esl", and 0 under "friedman" and "klar"."""
        return self._fit.estimates.gamma

    @property
    @available_if()
    @with_display_formats(se="share")
    def path(self) -> pd.DataFrame:
        """Errors of the candidate pairs: alpha, gamma, error, se (its standard error).

        They are errors of the folds or of leave-one-out, with the classes weighted by the prior. An error is
        missing if a covariance is singular in some fold or without some row.

        Raises
        ------
        NotSupportedError
            alpha and gamma were both given, or the fit was loaded from a file.
        """
        reason = "because alpha and gamma were set, or the fit was loaded"
        return stored_path(self._fit, reason, "fit without one of them to have it chosen", "alpha")

    @property
    @available_if()
    def df_model(self) -> int:
        """Not supported: the number of free parameters of regularized covariances is not defined."""
        raise NotSupportedError(
            "The number of free parameters, AIC and BIC are not defined for regularized covariance matrices.",
            hint="Compare fits by error_rates(['cv']).",
        )

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: nobs, classes, terms, alpha, gamma, llf."""
        llf = value_or_nan(self, "llf")
        return pd.DataFrame([self._sizes() | {"alpha": self.alpha, "gamma": self.gamma, "llf": llf}])


register_class(core.RegularizedCovariance)


@dataclass(frozen=True, eq=False)
class RDASpec(ModelSpec[RDAFit]):
    """Specification of regularized discriminant analysis.

    Attributes
    ----------
    search : RDAPlan or None
        Options with which refits repeat the choice; None if nothing was chosen or the fit was loaded.
    """

    name = "rda"
    title = "Regularized discriminant analysis"
    results_class = RDAResults
    chosen_options = MappingProxyType({"alpha": "alpha", "gamma": "gamma", "components": "chosen_components"})
    search_options = FOLD_OPTIONS
    constructor = staticmethod(core.fit_rda)
    file_moments = "class"
    allows_few_rows = True

    search: RDAPlan | None = None

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `rda_sections` and `rda_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        from discrim.models.discriminant.normal_summary import rda_brief, rda_sections

        return rda_sections, rda_brief

    def plots(self) -> tuple[Any, ...]:
        """Return `RDA_PLOTS`, the plots of the method `plot`; the first that suits a fit is its default."""
        from discrim.models.discriminant.plots import RDA_PLOTS

        return RDA_PLOTS

    def required_moments(self, fit: FittedModel[RDAFit]) -> ScatterType | None:
        """Return the second moments of the fit, "class" or "thin class", which suffice for a refit.

        None if a refit needs the rows to repeat the choice.
        """
        return super().required_moments(fit) if self.search is None else None

    def choice_description(self, fit: FittedModel[RDAFit]) -> str:
        """Return "alpha and gamma" or "the number of principal axes" if the rows chose them; else ""."""
        if self.search is None:
            return ""
        return "alpha and gamma" if fit.estimates.components_by is None else "the number of principal axes"

    def refit_to_rows(self, fit: FittedModel[RDAFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit with the prior of the fit, which repeats any choice of the parameters.

        None if a class has too few rows, the choice fails, or a covariance is singular.
        """
        if self.search is None:
            return self.refit_with_fixed(fit, rows)
        refit = replace(self.search, prior=fit.prior).refit(rows, fit.estimates.moments.scatter_type)
        return None if refit is None else refit.rule(fit.log_prior())

    def shows_log_posteriors(self, fit: FittedModel[RDAFit]) -> bool:
        """Return False: `decision_function` shows the scores of the rule instead of log posteriors."""
        return False

    def has_marginals(self, fit: FittedModel[RDAFit]) -> bool:
        """Return whether `marginal_rule` supports the fit: True unless it was fitted with `components=`."""
        return fit.estimates.components is None

    def marginal_rule(self, estimates: RDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
        """Return the rule of a subset of columns under the marginal normal distributions.

        Parameters
        ----------
        estimates : RDAFit
        log_prior : (K,) float
            Logs of the prior probabilities of the classes.
        method : str
            Method of `predict_proba`: "predictive", or the plug-in rule for any other.
        keep : (q,) int
            Positions of the columns that the rule uses.

        Returns
        -------
        Rule
            Rule for rows of these q columns.
        """
        return core.rda_marginal_rule(estimates, log_prior, method, keep)

    def from_arrays(self, moments: ClassMoments, prior: Floats, arguments: Mapping[str, Any]) -> RDAFit:
        """Return the estimates stored in a file; raise InvalidStateError if an option is invalid.

        Parameters
        ----------
        moments : ClassMoments
            Moments in the file.
        prior : (K,) float
            Prior probabilities of the classes.
        arguments : mapping
            Stored arguments of `fit_rda`.

        Returns
        -------
        RDAFit
            Estimates computed again from the moments.
        """
        allowed_by_option = {"method": ("moment", "mle"), "select": ("min", "1se")}
        if any(arguments[name] not in allowed for name, allowed in allowed_by_option.items()):
            raise InvalidStateError("its options are not options of rda()")
        return super().from_arrays(moments, prior, arguments)
