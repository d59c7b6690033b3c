"""Logistic regression with a ridge, lasso or elastic net penalty, whose strength folds may choose.

`logistic` uses it for `penalty=`. The results have coefficients and the path over strengths; standard errors,
tests and intervals raise NotSupportedError.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats, check_memory, slices
from discrim.core.numerics.map_reduce import CountedPasses
from discrim.core.numerics.progress import Progress
from discrim.core.regression import penalized as core
from discrim.core.regression.penalized import PenalizedFit
from discrim.core.regression.proximal_newton import Likelihood, PenalizedResult
from discrim.core.rules.rules import Rule, best_class, log_of_prior, log_posteriors
from discrim.design.design_rows import DesignRows
from discrim.design.rows import used_codes
from discrim.errors import DataError, NotSupportedError, sentence
from discrim.inference.error_rates import error_rates_of_rules, near_minimum_mask
from discrim.inference.resampling import stratified_fold_ids
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import Collinear, Separation
from discrim.models.evaluation.tuning import TuningFolds, raise_if_no_test_rows, used_splits
from discrim.models.regression.logistic_results import LogisticResults, LogisticSpec
from discrim.models.regression.logistic_search import raise_if_many_coefficients
from discrim.models.results import headers
from discrim.models.results.geometry import LinearGeometry
from discrim.models.results.results import ClassifierResults
from discrim.penalty import AnyPenalty
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section
from discrim.report.tables import Sections


class Penalty(NamedTuple):
    """The penalty of a fit, strength * ((1 - l1_ratio) / 2 |b|^2 + l1_ratio |b|_1).

    It is added to the mean negative log-likelihood. b are the coefficients of columns that were divided by
    their standard deviations (divisor N), without the constants.

    Attributes
    ----------
    name : {"ridge", "lasso", "elastic_net"}
        Kind of penalty; l1_ratio is 0 for a ridge and 1 for a lasso.
    strength, l1_ratio : float
        Strength of the penalty and share of the lasso, which are glmnet's lambda and alpha.
    """

    name: str
    strength: float
    l1_ratio: float


@dataclass(frozen=True, slots=True, eq=False)
class StrengthSearch:
    """Options of a penalized fit, with a fixed strength or a choice of the strength by cross-validation.

    Attributes
    ----------
    penalty : Ridge, Lasso or ElasticNet
        The penalty that the user passed.
    tol : float
        Largest violation of the conditions of a minimum, relative to the strength.
    maxiter : int
        Largest number of steps for each strength.
    folds : TuningFolds or None
        Folds of the choice of a strength; None if the penalty has one.
    """

    penalty: AnyPenalty
    tol: float
    maxiter: int
    folds: TuningFolds | None

    @classmethod
    def for_rows(cls, penalty: AnyPenalty, tol: float, maxiter: int, design_rows: DesignRows) -> Self:
        """Return the options of a fit, with folds of the rows if the strength is to be chosen.

        Parameters
        ----------
        penalty : Ridge, Lasso or ElasticNet
            The penalty that the user passed.
        tol : float
            Largest violation of the conditions of a minimum, relative to the strength.
        maxiter : int
            Largest number of steps.
        design_rows : DesignRows
            The rows.

        Returns
        -------
        StrengthSearch
            Its `folds` are None if the penalty has a strength.

        Raises
        ------
        DataError
            The folds of the penalty are invalid for the rows.
        """
        chosen = penalty.strength is None
        folds = TuningFolds.read(penalty.folds, penalty.seed, design_rows) if chosen else None
        return cls(penalty, tol, int(maxiter), folds)

    @property
    def grid(self) -> Floats | None:
        """Strengths (L,) of the user in decreasing order; None if `core.path_strengths` computes them."""
        return None if self.penalty.grid is None else np.array(self.penalty.grid[::-1])


def raise_if_not_penalizable(*, bias_reduction: bool, separation: Any, collinear: Any) -> None:
    """Raise DataError for options of `logistic` that cannot be combined with a penalty.

    Parameters
    ----------
    bias_reduction : bool
        Has to be False.
    separation : {"raise", "warn"}
        Only validated.
    collinear : {"raise", "drop"}
        Has to be "raise".
    """
    reading.check_word("separation", separation, Separation)
    reading.check_word("collinear", collinear, Collinear)
    if bias_reduction:
        raise DataError(
            "bias_reduction=True cannot be combined with penalty=.", hint="Leave one of them out."
        )
    if collinear == "drop":
        raise DataError(
            "collinear= cannot be combined with penalty=, which allows collinear columns.",
            hint="Leave collinear= out.",
        )


class StrengthPath(NamedTuple):
    """Fits along decreasing strengths.

    Attributes
    ----------
    table : DataFrame
        strength, df and explained; after a choice also deviance, se and error. See
        `PenalizedLogisticResults.path`.
    fits : list of PenalizedResult
        The fit to all rows at each strength, to columns of unit variance.
    """

    table: pd.DataFrame
    fits: list[PenalizedResult]


def _coefficient_path(model: Likelihood, search: StrengthSearch, *, within: float = np.inf) -> StrengthPath:
    """Fit along the strengths of the grid, or along strengths with equal ratios (`core.path_strengths`).

    Parameters
    ----------
    model : Likelihood
        The standardized rows.
    search : StrengthSearch
        Penalty, grid and largest number of steps.
    within : float
        Strength of the fit. A path without a grid may stop early, once the fit hardly improves, unless this
        strength is smaller than all of them.

    Returns
    -------
    StrengthPath
        Without deviance, se and error.

    Raises
    ------
    DataError
        A search does not converge, or the coefficients do not fit into memory.
    """
    strengths = search.grid
    if strengths is None:
        strengths = core.path_strengths(model, search.penalty.l1_ratio, search.penalty.n_strengths)
    memory_label = f"The coefficients of {len(strengths):,} strengths"
    n_values = float(len(strengths)) * model.n_functions * len(model.z)
    check_memory(n_values, memory_label, "Pass a penalty with a shorter grid=, or with one strength")
    may_end = search.grid is None and within >= strengths[-1]
    with Progress(len(strengths), "path of the strength") as progress:
        fits = core.penalized_path(
            model,
            search.penalty.l1_ratio,
            strengths,
            search.maxiter,
            may_end_early=may_end,
            progress=progress,
        )
    _raise_if_not_converged(fits, strengths, search)
    null = model.evaluate(model.linear_functions(model.null_coef())).loss
    table = pd.DataFrame({"strength": strengths[: len(fits)]})
    table["df"] = [int(np.count_nonzero(fit.beta[:, 1:])) for fit in fits]
    table["explained"] = [1 - fit.loss / null for fit in fits]
    return StrengthPath(table, fits)


def _raise_if_not_converged(fits: list[PenalizedResult], strengths: Floats, search: StrengthSearch) -> None:
    """Raise DataError if a fit of a path did not converge.

    Parameters
    ----------
    fits : list of PenalizedResult
        The fits.
    strengths : (L,) float64
        Their strengths; a path that stopped early has fewer fits.
    search : StrengthSearch
        The options, for the hint.
    """
    for fit, strength in zip(fits, strengths.tolist(), strict=False):
        if not fit.converged:
            raise DataError(
                f"At strength {strength:.4g} the search has not converged in {fit.steps} steps.",
                hint=f"Increase maxiter={search.maxiter}, or pass a penalty with larger strengths in grid=.",
            )


def _choose_strength(
    design_rows: DesignRows, model: Likelihood, search: StrengthSearch, prior: Floats, *, sampled: bool
) -> tuple[int, StrengthPath]:
    """Choose the strength by cross-validation.

    The test rows of each fold are predicted by the path of the other rows, at the strengths of the path of
    all rows. The deviance is the weighted mean of -2 log P over test rows, with P the probability of the
    row's class under the class proportions; its standard error is computed from the means of the folds, as in
    cv.glmnet. The choice is the smallest deviance or, for `select="1se"`, the largest strength whose deviance
    is within one standard error of it. Splits without test rows are skipped.

    Parameters
    ----------
    design_rows : DesignRows
        The rows, for labels and folds.
    model : Likelihood
        The standardized rows.
    search : StrengthSearch
        Penalty, folds and rule of the choice.
    prior : (K,) float64
        Prior probabilities, which the predicted labels and the error use.
    sampled : bool
        Whether the prior was estimated by the class proportions. The error then weights classes by their test
        rows, else by the prior.

    Returns
    -------
    position : int
        Position of the chosen strength in the path.
    path : StrengthPath
        Its table has the columns deviance, se and error.

    Raises
    ------
    DataError
        A class lacks training rows, a search does not converge, or all test sets are empty.
    """
    path = _coefficient_path(model, search)
    strengths = path.table["strength"].to_numpy()
    deviances = np.empty((0, len(strengths)))
    fold_sizes = np.empty(0)
    k = model.n_classes
    wrong = np.zeros((len(strengths), k))
    test_weights = np.zeros(k)
    shift = log_of_prior(prior) - np.log(model.class_proportions)
    folds: Any = search.folds
    fold_weights = _training_and_test_counts(design_rows, folds)
    for fold, (train, _) in enumerate(fold_weights):
        _raise_if_class_absent(fold, model, train, design_rows, folds)
    with Progress(len(fold_weights), "choice of the strength") as progress:
        for test, scores in _test_scores(model, fold_weights, strengths, search, path.fits):
            progress(1)
            test_positions = np.flatnonzero(test)
            if not len(test_positions):
                continue
            if scores.shape[1] == 1:
                scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
            scores = np.swapaxes(scores, 1, 2)
            row_weights = model.weights[test_positions] * test[test_positions]
            codes = model.codes[test_positions]
            row_index = np.arange(len(test_positions))
            logs = np.stack([log_posteriors(class_scores)[row_index, codes] for class_scores in scores])
            deviances = np.vstack([deviances, -2 * (logs @ row_weights)[None] / row_weights.sum()])
            fold_sizes = np.append(fold_sizes, row_weights.sum())
            class_weights = np.equal(codes[:, None], np.arange(k)) * row_weights[:, None]
            test_weights += class_weights.sum(axis=0)
            wrong += (
                np.stack([best_class(class_scores + shift) != codes for class_scores in scores])
                @ class_weights
            )
    raise_if_no_test_rows(fold_sizes, "strengths")
    fold_proportions = fold_sizes / fold_sizes.sum()
    table = path.table
    table["deviance"] = fold_proportions @ deviances
    variance = fold_proportions @ (deviances - table["deviance"].to_numpy()) ** 2
    table["se"] = np.sqrt(variance / max(len(fold_sizes) - 1, 1))
    table["error"] = error_rates_of_rules(wrong, test_weights, prior, sampled=sampled)[0]
    deviance = table["deviance"].to_numpy()
    if search.penalty.select == "min":
        return int(np.argmin(deviance)), path
    # The largest strength is the first.
    return int(np.argmax(near_minimum_mask(deviance, table["se"].to_numpy()))), path


def _training_and_test_counts(design_rows: DesignRows, folds: TuningFolds) -> list[tuple[Floats, Floats]]:
    """Return how often each used row is in the training and in the test set, for each fold or split.

    Parameters
    ----------
    design_rows : DesignRows
    folds : TuningFolds

    Returns
    -------
    list of ((n,) float64, (n,) float64)
        Training and test counts of the n used rows; 0 or 1 for folds.
    """
    if folds.splits:
        return [(split.train, split.test) for split in used_splits(folds.splits, design_rows)]
    codes = used_codes(design_rows)
    fold_ids = stratified_fold_ids(codes, folds.count, folds.seed)[codes >= 0]
    test_counts = [(fold_ids == fold).astype(np.float64) for fold in range(folds.count)]
    return [(1.0 - test, test) for test in test_counts]


def _raise_if_class_absent(
    fold: int, model: Likelihood, row_counts: Floats, design_rows: DesignRows, folds: Any
) -> None:
    """Raise DataError if a class has no rows in a training set.

    Parameters
    ----------
    fold : int
        Number of the fold or split, for the message.
    model : Likelihood
        All rows, standardized.
    row_counts : (n,) float64
        How often each row is in the training set.
    design_rows : DesignRows
        The rows, for labels.
    folds : TuningFolds
        The folds, for the message.
    """
    levels = design_rows.design.levels
    absent = [levels[k] for k in np.setdiff1d(np.arange(len(levels)), model.codes[row_counts > 0])]
    if absent:
        fold_label, more = folds.describe_training_rows(fold)
        raise DataError(
            f"{fold_label} class {reading.join_labels(absent)} has no rows.",
            hint=f"Pass a strength, or {more}, or merge the class with another.",
            classes=absent,
        )


def _test_scores(
    model: Likelihood,
    fold_weights: list[tuple[Floats, Floats]],
    strengths: Floats,
    search: StrengthSearch,
    path: list[PenalizedResult],
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the linear functions of the test rows of each fold along the path of its training rows.

    Folds with few coefficients are computed together, as many as `core.MAX_SHARED_ELEMENTS` allows.

    Parameters
    ----------
    model : Likelihood
        All rows, standardized.
    fold_weights : list of ((n,) float64, (n,) float64)
        Training and test counts of the rows.
    strengths : (L,) float64
        Strengths in decreasing order.
    search : StrengthSearch
        Penalty and largest number of steps.
    path : list of PenalizedResult
        Path of all rows.

    Yields
    ------
    test : (n,) float64
        Test counts.
    scores : (L, C, m) float64
        Linear functions of the m rows with a positive count.

    Raises
    ------
    DataError
        A search does not converge.
    """
    n_coefs = model.n_functions * len(model.z)
    is_shared = n_coefs <= core.MAX_SHARED_COEFS and len(model.z) <= len(model.codes)
    n_together = max(core.MAX_SHARED_ELEMENTS // (n_coefs * len(model.codes)), 1)
    for chunk in slices(len(fold_weights), n_together):
        tests = [np.flatnonzero(test) for _, test in fold_weights[chunk]]
        shared_scores: list[Floats | None] = [None] * len(tests)
        if is_shared:
            counts = np.stack([train for train, _ in fold_weights[chunk]])
            shared_scores = core.training_path_scores(
                model, counts, tests, search.penalty.l1_ratio, strengths, path, search.maxiter
            )
        for (train, test), scores, positions in zip(fold_weights[chunk], shared_scores, tests, strict=True):
            if scores is None:
                training_model, mean, sd = _training_set(model, train)
                fits = core.penalized_path(
                    training_model, search.penalty.l1_ratio, strengths, search.maxiter, similar_path=path
                )
                _raise_if_not_converged(fits, strengths, search)
                z = model.z[:, positions].copy()
                z[1:] -= mean[:, None]
                z[1:] /= sd[:, None]
                scores = core.path_scores(fits, z)
            yield test, scores


def _training_set(model: Likelihood, row_counts: Floats) -> tuple[Likelihood, Floats, Floats]:
    """Return the rows of a training set, standardized by their own means and standard deviations.

    Parameters
    ----------
    model : Likelihood
        All rows, standardized.
    row_counts : (n,) float64
        How often each row is in the training set.

    Returns
    -------
    tuple of Likelihood, (p,) float64, (p,) float64
        Rows, and the weighted means and standard deviations in the units of `model`. Columns that are
        constant in the training set are set to zero, with standard deviation one.
    """
    positions = np.flatnonzero(row_counts)
    weights = model.weights[positions] * row_counts[positions]
    weights /= weights.sum()
    z = model.z[:, positions].copy()
    mean = z[1:] @ weights
    z[1:] -= mean[:, None]
    sd = np.sqrt((z[1:] ** 2) @ weights)
    constant = sd <= core.MAX_CONSTANT_SD
    z[1:][constant] = 0.0
    sd[constant] = 1.0
    z[1:] /= sd[:, None]
    return Likelihood(z, model.codes[positions], weights, model.n_classes), mean, sd


N_ROW_COPIES = 3
"""Number of copies of the rows in memory: all rows, a training set, and the active columns of the search."""

N_FUNCTION_ARRAYS = 8
"""Number of arrays (K, n) and (K, p) that a search needs in memory."""

PROGRESS_LABEL = "penalized logistic regression, passes over the rows"


def _read_standardized_rows(design_rows: DesignRows, moments: ClassMoments) -> Likelihood:
    """Read the used rows into memory, standardized by means and standard deviations of all classes together.

    Raises DataError if they do not fit into memory.
    """
    rows = int(moments.rows.sum())
    p = moments.n_columns
    check_memory(
        N_ROW_COPIES * float(rows) * (p + 1),
        f"A penalized logistic regression of {rows:,} rows by {p:,} columns, which are held in memory,",
        "Fit a part of the rows, or without penalty=, which reads them part by part",
    )
    functions = 1 if moments.n_classes == 2 else moments.n_classes
    check_memory(
        N_FUNCTION_ARRAYS * float(functions) * (rows + p + 1),
        f"The probabilities of {rows:,} rows in {moments.n_classes:,} classes, and slopes of {p:,} columns,",
        "Merge rare classes, or use lda(), naive_bayes() or knn()",
    )
    with Progress(0, PROGRESS_LABEL) as progress:
        passed = CountedPasses(design_rows, progress)
        return core.read_standardized_rows(passed, moments)


def fit_penalized(
    design_rows: DesignRows,
    moments: ClassMoments,
    prior: Floats,
    options: Mapping[str, Any],
    *,
    estimated_prior: bool,
    reference: int,
    search: StrengthSearch,
) -> FittedModel[PenalizedFit]:
    """Fit a penalized logistic regression to rows.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    moments : ClassMoments
        Diagonal class moments of the rows.
    prior : (K,) float64
        Prior probabilities of the classes.
    options : mapping
        Options of the verb, which the fit stores.
    estimated_prior : bool
        Whether the prior was estimated by the class proportions.
    reference : int
        Code of the reference class.
    search : StrengthSearch
        Penalty and choice of the strength.

    Returns
    -------
    FittedModel
        With the table of the path in `path` and the path in its cache, if the strength was chosen.

    Raises
    ------
    DataError
        The search does not converge, the folds do not suit the rows, or the fit needs too much memory.
    """
    penalty = search.penalty
    start = PenalizedFit(
        moments, prior, estimated_prior, reference, penalty.word, 1.0, penalty.l1_ratio, np.zeros((1, 1)),
        0.0, 0.0, 0,
    )  # fmt: skip
    if not penalty.l1_ratio:
        # A ridge estimates all coefficients jointly, in the space of the rows if there are fewer rows.
        rank = min(moments.n_columns, int(moments.rows.sum()))
        count = (1 if moments.n_classes == 2 else moments.n_classes) * (rank + 1)
        others = "use penalty='lasso', lda(), naive_bayes() or knn()"
        raise_if_many_coefficients(count, rank, moments.n_classes, others)
    estimates, path = _fit_at_strength(start, design_rows, moments, search, prior)
    table, cache = (None, {}) if path is None else (path.table, {"penalty_path": path})
    return PenalizedLogisticSpec(search).fit(estimates, design_rows, options, path=table, cache=cache)


def _fit_at_strength(
    fit: PenalizedFit, design_rows: DesignRows, moments: ClassMoments, search: StrengthSearch, prior: Floats
) -> tuple[PenalizedFit, StrengthPath | None]:
    """Find the estimates at the strength of the penalty, or at a strength chosen by cross-validation.

    Parameters
    ----------
    fit : PenalizedFit
        A fit whose strength and estimates are replaced in the result.
    design_rows : DesignRows
        The rows.
    moments : ClassMoments
        Diagonal class moments of the rows.
    search : StrengthSearch
        Penalty and choice of the strength.
    prior : (K,) float64
        Prior probabilities of the classes.

    Returns
    -------
    fit : PenalizedFit
        `fit` with the strength and the new coefficients; its moments and prior are not changed.
    path : StrengthPath or None
        The path of the choice; None for a fixed strength.

    Raises
    ------
    DataError
        The search does not converge, or no strength can be chosen (see `_choose_strength`).
    """
    model = _read_standardized_rows(design_rows, moments)
    strength = search.penalty.strength
    l1_ratio = search.penalty.l1_ratio
    path = None
    start = None
    if strength is None:
        chosen, path = _choose_strength(design_rows, model, search, prior, sampled=fit.estimated_prior)
        strength = float(path.table["strength"].iloc[chosen])
        start = path.fits[chosen].beta
    full_fit = core.fit_at_strength(
        model, l1_ratio, strength, tol=search.tol, maxiter=search.maxiter, start=start
    )
    if not full_fit.converged:
        by_rounding = full_fit.steps < search.maxiter
        more = "" if by_rounding else f", or increase maxiter={search.maxiter}"
        raise DataError(
            f"At strength {strength:.4g} the search has not converged in {full_fit.steps} "
            f"steps{', because of rounding' if by_rounding else ''}.",
            hint=f"Pass a larger strength{more}.",
        )
    return fit.with_result(full_fit, strength), path


def fit_path(fit: FittedModel[PenalizedFit]) -> StrengthPath:
    """Return the path of a fit, which is computed and cached if it does not exist yet.

    Its table has the columns deviance, se and error only if folds chose the strength. Raises
    NotSupportedError if the fit lacks rows.
    """
    if "penalty_path" not in fit.cache:
        model = _read_standardized_rows(fit.require_rows("path"), fit.estimates.moments)
        fit.cache["penalty_path"] = _coefficient_path(model, fit.spec.search, within=fit.estimates.strength)
    path: StrengthPath = fit.cache["penalty_path"]
    return path


ALTERNATIVES = {
    "odds_ratios": "their estimates are np.exp(fit.params)",
    "conf_int": "a bootstrap of whole fits shows how far they move",
    "log_odds": "the estimates are fit.params, and tidy() has them in rows",
    "to_statsmodels": "statsmodels' own fit_regularized() has other penalties",
    "to_list": "the estimates are fit.params",
    "separation": "with a penalty the estimates are finite whether or not classes are separated",
}
"""Alternatives to methods that are not defined with a penalty, as clauses of hints, by name of the method."""


class PenalizedLogisticResults(LogisticResults):
    """A fitted logistic regression with a ridge, lasso or elastic net penalty.

    Attributes
    ----------
    params : DataFrame, "constant" and terms by the classes except the reference
        Log odds against the reference, in the units of the columns.
    reference : label
        The class in the denominator of the odds.

    Notes
    -----
    A penalty shrinks the estimates towards zero by an amount that cannot be estimated from the rows. Standard
    errors, tests, intervals and criteria that need a maximum of the likelihood are therefore not defined:
    methods that would return them raise NotSupportedError.
    """

    def __init__(self, fit: FittedModel[Any]) -> None:
        """Wrap a fit whose estimates are a PenalizedFit."""
        super().__init__(fit)

    @property
    def _estimates(self) -> PenalizedFit:
        """The estimates, with the type of a penalized fit."""
        fit: Any = self._fit
        estimates: PenalizedFit = fit.estimates
        return estimates

    @property
    def penalty(self) -> Penalty:
        """Name, strength and l1_ratio of the penalty; the last two are glmnet's lambda and alpha."""
        estimates: Any = self._estimates
        return Penalty(estimates.penalty, estimates.strength, estimates.l1_ratio)

    @property
    def class_params(self) -> pd.DataFrame:
        """Penalized coefficients by class, in the units of the columns.

        Shape: "constant" and terms by classes. For two classes they are the log odds of the second, and zeros
        for the first; for more classes each has its own (the symmetric parametrization), and `params` are
        their differences.
        """
        return pd.DataFrame(self._estimates.class_params(), index=self._columns, columns=self.classes)

    @property
    def selected(self) -> pd.Index:
        """Terms with a nonzero coefficient for some class, the largest standardized one first.

        The size of a term is the range over the classes of its coefficients of standardized columns.
        """
        slopes = self._estimates.standardized_class_params[1:]
        size = slopes.max(axis=1) - slopes.min(axis=1)
        order = np.argsort(-size, kind="stable")[: int((slopes != 0).any(axis=1).sum())]
        return self.terms[order]

    @property
    @available_if()
    @with_display_formats(explained="share", deviance="general", se="general")
    def path(self) -> pd.DataFrame:
        """Fits at all strengths that were tried.

        Returns
        -------
        DataFrame
            strength, in decreasing order; df, the number of nonzero coefficients of `class_params` without
            constants; explained, the share of the deviance of a model with only constants that is explained.
            If folds chose the strength, also deviance, the mean -2 log P of held-out rows, with
            its standard error se; and error, the misclassification rate of these rows.

        Raises
        ------
        NotSupportedError
            The fit was loaded.
        """
        return self._strength_path().table.copy()

    def _strength_path(self) -> StrengthPath:
        """Return the path of the fit by `fit_path`, which raises NotSupportedError if the fit lacks rows."""
        fit: Any = self._fit
        return fit_path(fit)

    @property
    def prsquared(self) -> float:
        """Share of the deviance of a model with only constants that is explained (McFadden's R-squared)."""
        return self._estimates.explained_deviance()

    # ---- attributes that are not defined with a penalty

    def _raise_not_available(self, method_name: str, hint: str) -> NoReturn:
        """Raise NotSupportedError for `method_name`; the hint is an alternative as a clause."""
        raise NotSupportedError(
            f"{method_name} is not available for a fit with penalty={self.penalty.name!r}, which shrinks the "
            "estimates toward zero.",
            hint=sentence(hint),
        )

    @property
    @available_if()
    def llf(self) -> float:
        """Raise NotSupportedError, because the likelihood is not at its maximum at penalized estimates."""
        self._raise_not_available(
            "A maximum of the likelihood",
            "prsquared is the share of the deviance that is explained, and cross_validate() has log losses "
            "of rows left out",
        )

    @property
    @available_if()
    def df_model(self) -> int:
        """Raise NotSupportedError, because penalized coefficients are not free parameters."""
        self._raise_not_available(
            "A number of free parameters", "fit.path has df, the coefficients that are not zero"
        )

    @property
    @available_if()
    def aic(self) -> float:
        """Raise NotSupportedError, because the criterion needs a maximum of the likelihood."""
        self._raise_not_available(
            "AIC", "choose a strength by folds, with penalty='lasso', or fit without penalty="
        )

    @property
    @available_if()
    def bic(self) -> float:
        """Raise NotSupportedError, because the criterion needs a maximum of the likelihood."""
        self._raise_not_available(
            "BIC", "choose a strength by folds, with penalty='lasso', or fit without penalty="
        )

    # ---- tables

    @with_display_formats()
    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """One row for each class and term, with the column names of R's broom: class, term, estimate.

        Standard errors are not defined.

        Parameters
        ----------
        level : float
            Not used. It exists because other models have intervals.
        """
        params = self.params
        labels = np.repeat(params.columns.to_numpy(dtype=object), len(params))
        table = pd.DataFrame({"class": labels, "term": np.tile(params.index.to_numpy(), params.shape[1])})
        table["estimate"] = params.to_numpy().T.ravel()
        return table

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One row for the fit.

        Returns
        -------
        DataFrame
            nobs, classes and terms (their numbers), name, strength and l1_ratio of the penalty, nonzero
            (number of nonzero coefficients), llnull, and prsquared.
        """
        row = {"nonzero": self._estimates.n_nonzero(), "llnull": self.llnull, "prsquared": self.prsquared}
        return pd.DataFrame([self._sizes() | self.penalty._asdict() | row])


def raise_if_penalized(fits: Iterable[Any], caller: str) -> None:
    """Raise NotSupportedError if one of the results in `fits` has a penalty.

    `caller` is the name of the function or method that requires maximum likelihood estimates.
    """
    if any(isinstance(fit, PenalizedLogisticResults) for fit in fits):
        raise NotSupportedError(
            f"{caller} requires maximum likelihood estimates, but the fit has a penalty.",
            hint="Fit without penalty=, or compare the fits by cross-validation, with compare(folds=).",
        )


def _unavailable_attribute(name: str, inherited: Any) -> Any:
    """Return a property or method that raises NotSupportedError instead of an inherited one.

    Parameters
    ----------
    name : str
        Name of the attribute, for the message and its alternative in `ALTERNATIVES`.
    inherited : property or function
        The attribute of LogisticResults, whose docstring is kept.

    Returns
    -------
    property or ConditionalAttribute
        A property if `inherited` is one, otherwise a method; access raises NotSupportedError.
    """
    more = f"; {ALTERNATIVES[name]}" if name in ALTERNATIVES else ""

    def refuse(self: PenalizedLogisticResults, *_: Any, **__: Any) -> NoReturn:
        """Raise NotSupportedError with the name of the attribute and an alternative; ignore arguments."""
        self._raise_not_available(
            name if isinstance(inherited, property) else f"{name}()", f"fit without penalty={more}"
        )

    if isinstance(inherited, property):
        return property(available_if(refuse)(refuse), doc=f"Not available: {inherited.__doc__}")
    return available_if(refuse)(wraps(inherited)(refuse))


def _disable_inference() -> None:
    """Replace the public attributes that only LogisticResults defines, except params and llnull, by errors.

    They are inferences, which need estimates without a penalty. PenalizedLogisticResults is changed in place.
    """
    available_names = {*dir(ClassifierResults), *dir(LinearGeometry), *vars(PenalizedLogisticResults)}
    for name in sorted(set(dir(LogisticResults)) - available_names - {"params", "llnull"}):
        if not name.startswith("_"):
            setattr(
                PenalizedLogisticResults, name, _unavailable_attribute(name, getattr(LogisticResults, name))
            )


_disable_inference()


@dataclass(frozen=True, eq=False)
class PenalizedLogisticSpec(LogisticSpec):
    """Penalized logistic regression: how it is refitted, scored and saved.

    Parameters
    ----------
    search : StrengthSearch, optional
        Penalty and choice of the strength; None for a fit from a file.
    """

    name = "penalized_logistic"
    title = "Penalized logistic regression"
    results_class = PenalizedLogisticResults
    refit_failure = ("a class has no row", "a strength that is given")
    chosen_options = MappingProxyType({"penalty": "chosen_penalty"})
    constructor = PenalizedFit
    file_moments = "diagonal"
    allows_constant = True

    search: StrengthSearch | None = None

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `penalized_logistic_sections` and `penalized_logistic_brief`, for full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        return penalized_logistic_sections, penalized_logistic_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the `Plot` objects of the method `plot`; the first that suits a fit is its default.

        In addition to `shared.WITH_POSTERIORS`, they are "choice" and "path".
        """
        from discrim.models.regression.plots import PENALIZED_LOGISTIC_PLOTS

        return PENALIZED_LOGISTIC_PLOTS

    @property
    def verb(self) -> str:
        """Name of the verb that fits the model, "logistic"."""
        return "logistic"

    def choice_description(self, fit: FittedModel[PenalizedFit]) -> str:
        """Return "the strength" if folds chose it; "" otherwise, and for a fit from a file."""
        return "the strength" if self.search is not None and self.search.folds is not None else ""

    def refit_to_rows(self, fit: FittedModel[PenalizedFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that chooses the strength again if folds chose it.

        Otherwise the strength is kept. None if a class is empty, no strength can be chosen (for example
        because a class is empty without a fold), or a search does not converge.
        """
        if self.search is None or self.search.folds is None:
            return self.refit_with_fixed(fit, rows)
        moments = reading.class_moments(rows, "diagonal")
        if not (moments.counts > 0).all():
            return None
        start = replace(fit.estimates, moments=moments)
        try:
            refit, _ = _fit_at_strength(start, rows, moments, self.search, fit.prior)
        except DataError:
            return None
        return refit.rule(fit.log_prior())

    def refit_with_fixed(self, fit: FittedModel[PenalizedFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that keeps the strength and the prior; columns are standardized again.

        A fit from a file is refitted in at most 50 steps. None if a class is empty or the search does not
        converge.
        """
        moments = reading.class_moments(rows, "diagonal")
        if not (moments.counts > 0).all():
            return None
        maxiter = 50 if self.search is None else self.search.maxiter
        refit = core.refit_penalized(fit.estimates, moments, _read_standardized_rows(rows, moments), maxiter)
        return None if refit is None else refit.rule(fit.log_prior())

    def drops_columns(self, fit: FittedModel[PenalizedFit]) -> bool:
        """Return False, because a penalized fit does not need to drop columns."""
        return False

    def array_shapes(self, k: int, p: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of "beta" in a file of k classes and p columns; two classes have one row."""
        return {"beta": (1 if k == 2 else k, p + 1)}


MAX_TERMS = 40
"""Largest number of selected terms whose coefficients the summary shows."""


MAX_TERMS_BRIEF = 10
"""Largest number of selected terms whose coefficients the short summary shows."""


PENALTY_NAMES = {"ridge": "ridge", "lasso": "lasso", "elastic_net": "elastic net"}
"""Names of the penalties in the summary."""


def penalized_logistic_sections(results: PenalizedLogisticResults, fit: FittedModel[Any]) -> Sections:
    """Return the section functions of the summary, by name, in their order.

    The names are "header", "classes", "params", "class_params" and "path"; each function accepts `results`
    and `fit` and returns a section. "class_params" is included for more than two classes, and "path" if folds
    chose the strength and the fit was not loaded.
    """
    section_builders: Sections = {"header": _header_section, "classes": headers.classes_section}
    section_builders["params"] = _params_section
    if len(results.classes) > 2:
        section_builders["class_params"] = partial(_params_section, by_class=True)
    if fit.path is not None:
        section_builders["path"] = _path_section
    return section_builders


def _header_section(results: PenalizedLogisticResults, fit: FittedModel[Any]) -> Pairs:
    """Return the header of the summary: penalty, choice of its strength, nonzero coefficients and deviance.

    Prior, sizes and apparent error are included. The note explains the scale of the penalty.
    """
    estimates = results._estimates
    penalty = results.penalty
    by_path = fit.path is not None
    search = fit.spec.search
    choice_text = "not in the file" if fit.is_loaded else "given"
    if by_path:
        choice_text = (
            f"{search.folds.description}, {'one SE' if search.penalty.select == '1se' else 'least deviance'}"
        )
    parametrization_text = "log odds of two classes" if len(results.classes) == 2 else "symmetric, by class"
    n_coefficients = estimates.beta[:, 1:].size
    nonzero = estimates.n_nonzero()
    items: list[HeaderItem] = [
        *headers.observation_items(fit),
        HeaderItem("Penalty", penalty.name, PENALTY_NAMES[penalty.name]),
        HeaderItem(
            "Strength (lambda)", penalty.strength, f"{penalty.strength:.4g}", brief="strength (lambda)"
        ),
        HeaderItem("Chosen by", choice_text, key="chosen_by", brief="chosen by" if by_path else ""),
        HeaderItem("L1 ratio (alpha)", penalty.l1_ratio, f"{penalty.l1_ratio:g}"),
        HeaderItem("Parametrization", parametrization_text),
        HeaderItem(
            "Coefficients not zero",
            nonzero,
            f"{nonzero} of {n_coefficients}",
            "n_nonzero",
            "coefficients not zero",
        ),
        HeaderItem(
            "Deviance explained",
            results.prsquared,
            f"{results.prsquared:.4f}",
            "deviance_explained",
            "deviance explained",
        ),
        *headers.size_items(fit),
        headers.prior_item(fit),
        HeaderItem("Iterations", estimates.steps),
        headers.error_item(fit, "apparent"),
    ]
    note = (
        "The coefficients of columns divided by their standard deviations (divisor N) are penalized, "
        "and constants are not; those shown are in the columns' own units. KKT conditions hold to "
        f"{estimates.violation:.0e} of the strength. There are no standard errors, because a penalty shrinks "
        "the estimates."
    )
    if by_path:
        note += (
            " The resubstitution error is optimistic, because the strength was chosen from the same rows. "
            "error_rates(['cv']) chooses it again in each fold."
        )
    return Pairs(results.formula, items, note)


def _params_section(
    results: PenalizedLogisticResults,
    fit: FittedModel[Any],
    max_terms: int = MAX_TERMS,
    *,
    by_class: bool = False,
) -> Section:
    """Return the section of the coefficients of the constant and of the largest selected terms.

    Parameters
    ----------
    results : PenalizedLogisticResults
        Results of the fit.
    fit : FittedModel
        The fitted model.
    max_terms : int
        Largest number of terms to show.
    by_class : bool
        Whether to show the penalized coefficients by class, not the log odds.

    Returns
    -------
    Section
        The constant and the selected terms, by classes except the reference or, if `by_class`, by classes.
    """
    selected = results.selected
    n_terms = len(results.terms)
    heading = f"Log odds against {results.reference}"
    table = results.params
    source = "fit.params"
    notes = ["Largest first, of standardized columns."]
    if by_class:
        heading = "Coefficients by class, symmetric parametrization"
        table = results.class_params
        source = "fit.class_params"
        notes.append("The penalty is on these; their differences are the log odds.")
    if len(selected) > max_terms:
        notes.append(f"And {len(selected) - max_terms} more: fit.params.")
    if n_terms > len(selected):
        zero = f"{n_terms - len(selected)} of {n_terms} terms"
        notes.append(f"{zero} are not selected: all their coefficients are zero.")
    sizes = headers.score_sizes(fit.estimates.moments)
    # Select by position: a column may also be named "constant".
    row_positions = np.append(0, 1 + results.terms.get_indexer(selected[:max_terms])).astype(np.intp)
    shown_rows = table.iloc[row_positions].rename_axis(index=None, columns=None)
    errors = headers.coefficient_errors(sizes, headers.MAX_SCORE_ERROR)[row_positions]
    notes.append(
        headers.precision_note("log odds", shown_rows, sizes[row_positions], headers.MAX_SCORE_ERROR)
    )
    return Section(heading, shown_rows, errors=errors, note=" ".join(notes), source=source)


def _path_section(results: PenalizedLogisticResults, fit: FittedModel[Any]) -> Section:
    """Return the section of the candidate strengths of the penalty, with their held-out deviances.

    A long path is thinned. The note warns if the chosen strength is the smallest candidate.
    """
    table = headers.path_table(results.path, results.penalty.strength)
    formats: dict[Any, Any] = {
        "df": "count", "explained": "share", "deviance": "share", "se": "share", "error": "share",
        "chosen": "text",
    }  # fmt: skip
    note = "deviance is the mean of -2 ln P(class) of held-out observations."
    if results.penalty.strength == results.path["strength"].iloc[-1]:
        note += (
            " The chosen strength is the smallest candidate; a smaller one may be better. Pass a grid= of "
            "smaller strengths to the penalty."
        )
    return Section(
        "Held-out deviance by strength",
        table,
        formats,
        headings=SHARED_HEADINGS | {"df": "not zero"},
        note=note,
        source="fit.path",
    )


penalized_logistic_brief: Sections = {
    "classes": headers.classes_section,
    "params": partial(_params_section, max_terms=MAX_TERMS_BRIEF),
}
"""Sections of the short summary: classes, and the largest coefficients."""
