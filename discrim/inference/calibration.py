"""Calibration of probabilities: bins, Brier score and its decomposition, mean losses, recalibration.

The results of all models use these functions for calibration tables, plots and scores.

*Bins.* Rows are sorted by their probability and cut into bins of about equal counts; ties stay together. The
mean probability of each bin is compared with the proportion of its rows that belong to the class, with
Wilson's interval (1927, Journal of the American Statistical Association 22, 209-212). A frequency weight
counts as that many rows, here and below.

*The Brier score* of a row is the sum over classes of (p_k - o_k)^2, with o_k one for its class and zero
otherwise (Brier, 1950, Monthly Weather Review 78, 1-3); for two classes it is twice the square for one. For
bins b of rows by p_k, the contribution of each class decomposes exactly into

    reliability       sum n_b (pbar_b - obar_b)^2 / n
  - resolution        sum n_b (obar_b - obar)^2 / n
  + uncertainty       obar (1 - obar)
  + within variance   sum_b sum_i (p_i - pbar_b)^2 / n
  - within covariance sum_b sum_i 2 (p_i - pbar_b) (o_i - obar_b) / n.

The first three are Murphy's (1973, Journal of Applied Meteorology 12, 595-600), and suffice if all rows of a
bin have the same probability; the other two were added by Stephenson, Coelho & Jolliffe (2008, Weather and
Forecasting 23, 752-757).

*Mean losses* follow `discrim.inference.error_rates`: for rows drawn from the mixture the variance is the
variance of a mean; for fixed class proportions it is the stratified variance, sum pi_k^2 var_k / n_k, and the
limits of an error rate combine the limits of the classes. Rows within a group are dependent: the variance is
then computed from the sums of deviations of the G groups, with the factor G/(G - 1), and the exact interval
of an error rate uses the effective number of rows, r (1 - r) / variance (Korn & Graubard, 1998, Survey
Methodology 24, 193-201), at most the number of rows.

*Intervals of mean losses.* The log loss of a row is small if the label is right; it is large if the label is
wrong and the rule is confident. A sample with at most one wrong row does not show how large the mean may be,
and no interval has a guaranteed level for all distributions of an unbounded loss (Bahadur & Savage, 1956,
Annals of Mathematical Statistics 27, 1115-1122). The interval is log-normal. With w_i the loss of row i if it
belonged to the class with the second largest probability, the upper limit is at least

    mean + u mean(w),    u = 1 - ((1 - level)/2)^(1/n), the exact limit of no error in n rows (or groups),

and for fixed proportions mean + sqrt(sum_k (pi_k u_k mean_k(w))^2), similar to `weighted_mean_interval`. The
assumption is that the probability of a wrong label does not increase with the confidence of the rule: then
the mean loss due to wrong labels is at most the error rate times the mean of w (Chebyshev's inequality for
ordered functions). `python -m tests.benchmarks.rare_errors` simulates the coverage of this and of other
intervals.

*Recalibration.* With p_k the probabilities of a rule, the recalibrated probabilities have the log odds
a_k + b ln p_k, up to a constant common to the classes of a row. The slope b is one for a calibrated rule, and
less than one for an overconfident rule, for example after overfitting. For two classes this is Cox's logistic
regression of the outcome on the log odds (1958, Biometrika 45, 562-565); its intercept, for the second class,
is zero for a calibrated rule. Estimates and standard errors are maximum likelihood, by Newton's method. Log
probabilities are divided by their largest difference R within a row; differences in log odds between a row's
own class and another one are then at most sqrt(3) times the length of a direction in the parameters. If the
classes were separated, a maximum would not exist, and the squared Newton decrement d^2 would be at least a
third of the smallest eigenvalue of the information (see `discrim.core.regression.newton`). The search ends
when d^2 is small and this case is excluded; otherwise the estimate does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.errors import DataError
from discrim.inference.error_rates import (
    check_level,
    exact_interval,
    exact_interval_of_dependent_rows,
    log_interval,
    weighted_mean_interval,
)


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bins of rows by their predicted probability.

    Attributes
    ----------
    predicted : (B,) float
        Mean probability of each of the B bins, ascending.
    observed : (B,) float
        Proportion of rows of the bin that belong to the class.
    low, high : (B,) float
        Limits of Wilson's interval of `observed`.
    rows : (B,) float
        Number of rows, or sum of their weights.
    """

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    rows: Floats


def calibration_bins(
    proba: Floats,
    in_class: NDArray[np.bool_],
    bins: int = 10,
    weights: Floats | None = None,
    level: float = 0.95,
) -> Bins:
    """Compare predicted probabilities of one class with observed proportions in bins.

    Parameters
    ----------
    proba : (n,) float
        Predicted probabilities of one class.
    in_class : (n,) bool
        Whether the row belongs to the class.
    bins : int
        Maximum number of bins; there are fewer if ties leave a bin empty.
    weights : (n,) float, optional
        Frequency weights.
    level : float
        Confidence level of the intervals of the observed proportions.

    Returns
    -------
    Bins

    Raises
    ------
    DataError
        If `bins` is not a positive integer, or `level` is not between 0 and 1.

    Examples
    --------
    >>> bins = calibration_bins(np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, True, True, True]), bins=2)
    >>> bins.predicted.round(2).tolist(), bins.observed.tolist()
    ([0.15, 0.85], [0.5, 1.0])
    """
    binning = assign_bins(proba, in_class, bins, weights)
    return Bins(
        binning.predicted,
        binning.observed,
        *wilson_interval(binning.observed, binning.rows, level),
        binning.rows,
    )


class BinAssignment(NamedTuple):
    """Distinct probabilities and the bins that contain them.

    Attributes
    ----------
    values : (v,) float
        Distinct probabilities of rows with positive weight, ascending.
    counts, hits : (v,) float
        Sum of the weights of the rows with each probability, and of those rows that belong to the class.
    bin_ids : (v,) int
        Bin of each probability, from 0 to B - 1.
    rows, predicted, observed : (B,) float
        See `Bins`.
    """

    values: Floats
    counts: Floats
    hits: Floats
    bin_ids: NDArray[np.intp]
    rows: Floats
    predicted: Floats
    observed: Floats


def assign_bins(
    proba: Floats, in_class: NDArray[np.bool_], bins: int = 10, weights: Floats | None = None
) -> BinAssignment:
    """Cut probabilities into bins of about equal counts.

    Parameters
    ----------
    proba : (n,) float
        Predicted probabilities of one class.
    in_class : (n,) bool
        Whether the row belongs to the class.
    bins : int
        Maximum number of bins; empty bins are dropped.
    weights : (n,) float, optional
        Frequency weights.

    Returns
    -------
    BinAssignment

    Raises
    ------
    DataError
        If `bins` is not a positive integer.
    """
    if not isinstance(bins, (int, np.integer)) or isinstance(bins, bool) or bins < 1:
        raise DataError(f"bins={bins!r} is not valid.", hint="Pass a whole number, 1 or more.")
    values, positions = np.unique(proba, return_inverse=True)
    weights = np.ones(len(proba)) if weights is None else weights
    counts = np.bincount(positions, weights, len(values)).astype(np.float64)
    hits = np.bincount(positions, weights * in_class, len(values)).astype(np.float64)
    counts_before = np.cumsum(counts) - counts
    total = float(counts.sum())
    nonempty = counts > 0
    values = values[nonempty]
    counts = counts[nonempty]
    hits = hits[nonempty]
    # Ties are assigned by their midrank, which makes the bins symmetric.
    bin_ids = np.minimum((bins * (counts_before[nonempty] + counts / 2) / total).astype(np.intp), bins - 1)
    _, bin_ids = np.unique(bin_ids, return_inverse=True)
    rows = np.bincount(bin_ids, counts).astype(np.float64)
    predicted = np.bincount(bin_ids, counts * values) / rows
    return BinAssignment(values, counts, hits, bin_ids, rows, predicted, np.bincount(bin_ids, hits) / rows)


def wilson_interval(proportions: Floats, rows: Floats, level: float) -> tuple[Floats, Floats]:
    """Compute Wilson's interval of binomial proportions.

    Parameters
    ----------
    proportions, rows : (B,) float
        Observed proportions, and the positive number of rows (or sum of weights) of each.
    level : float
        Confidence level.

    Returns
    -------
    low, high : (B,) float

    Examples
    --------
    >>> low, high = wilson_interval(np.array([0.0]), np.array([10.0]), 0.95)
    >>> low.tolist(), high.round(4).tolist()
    ([0.0], [0.2775])
    """
    squared_quantile = check_level(level) ** 2
    # Roots of a quadratic, written so that the limits of 0 and 1 are exact. In statsmodels'
    # proportion_confint(method="wilson") they are off by rounding errors.
    centre = proportions * rows + squared_quantile / 2
    half = np.sqrt(squared_quantile) * np.sqrt(rows * proportions * (1 - proportions) + squared_quantile / 4)
    low = np.where(proportions > 0, centre - half, 0.0) / (rows + squared_quantile)
    high = np.where(proportions < 1, centre + half, rows + squared_quantile) / (rows + squared_quantile)
    return np.asarray(low), np.asarray(high)


class BrierDecomposition(NamedTuple):
    """Brier score of one class against the rest, and its decomposition.

    brier = reliability - resolution + uncertainty + within_variance - within_covariance, all defined in the
    module docstring.

    Attributes
    ----------
    brier : float
        Mean squared difference of probability and outcome.
    reliability, resolution, uncertainty : float
        Murphy's three terms.
    within_variance, within_covariance : float
        Terms due to different probabilities in one bin.
    bins : int
        Number of nonempty bins.
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within_variance: float
    within_covariance: float
    bins: int


def probability_residuals(log_odds: Floats, codes: Codes) -> Floats:
    """Return probability minus outcome, accurate even if probabilities round to one.

    The outcome is one for the class of the row and zero otherwise.

    Parameters
    ----------
    log_odds : (m, K) float
        Log odds of each class against the rest.
    codes : (m,) int
        Class of each row, a position among the K columns.

    Returns
    -------
    (m, K) float
        Positive or zero except in the column of the class of the row.

    Examples
    --------
    >>> [f"{residual:.4g}" for residual in probability_residuals(np.array([[50.0, -50.0]]), np.array([0]))[0]]
    ['-1.929e-22', '1.929e-22']
    """
    own_class = (np.arange(len(codes)), codes)
    signed = np.array(log_odds)
    signed[own_class] *= -1
    with np.errstate(over="ignore"):
        residuals = np.asarray(1 / (1 + np.exp(-signed)))
    residuals[own_class] *= -1
    return residuals


def brier_decomposition(
    proba: Floats, in_class: NDArray[np.bool_], bins: int = 10, weights: Floats | None = None
) -> BrierDecomposition:
    """Compute the Brier score of one class against the rest, and its decomposition over bins.

    Parameters
    ----------
    proba : (n,) float
        Predicted probabilities of one class.
    in_class : (n,) bool
        Whether the row belongs to the class.
    bins : int
        Maximum number of bins, see `calibration_bins`. A DataError is raised unless it is a positive integer.
    weights : (n,) float, optional
        Frequency weights.

    Returns
    -------
    BrierDecomposition

    Examples
    --------
    >>> occurred = np.array([False, True, True, True])
    >>> parts = brier_decomposition(np.array([0.2, 0.2, 0.8, 0.8]), occurred, bins=2)
    >>> [round(part, 4) for part in parts[:4]]
    [0.19, 0.065, 0.0625, 0.1875]
    """
    binning = assign_bins(proba, in_class, bins, weights)
    rows = binning.rows
    total = float(binning.rows.sum())
    predicted = binning.predicted
    observed = binning.observed
    overall = float(rows @ observed) / total
    probability_deviations = binning.values - predicted[binning.bin_ids]
    outcome_deviations = binning.hits - binning.counts * observed[binning.bin_ids]
    misses = binning.counts - binning.hits
    return BrierDecomposition(
        float(misses @ binning.values**2 + binning.hits @ (1 - binning.values) ** 2) / total,
        float(rows @ (predicted - observed) ** 2) / total,
        float(rows @ (observed - overall) ** 2) / total,
        overall * (1 - overall),
        float(binning.counts @ probability_deviations**2) / total,
        2 * float(probability_deviations @ outcome_deviations) / total,
        len(rows),
    )


MAX_SQUARED_LOSS = 1e100
"""Largest absolute loss that is squared as it is; larger losses are first divided by the largest one."""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedRows:
    """Rows on which a rule is evaluated.

    Attributes
    ----------
    codes : (m,) int
        Class of each row, from 0 to K - 1.
    weights : (m,) float
        Frequency weights.
    n_classes : int
        Number of classes K.
    prior : (K,) float or None
        Fixed class proportions to which the classes are reweighted; None if the rows are a sample of the
        mixture of the classes.
    clusters : (m,) int or None
        Group of each row, numbered from 0; None if the rows are independent.
    """

    codes: Codes
    weights: Floats
    n_classes: int
    prior: Floats | None
    clusters: Codes | None

    @property
    def rows(self) -> Floats:
        """Number of rows (K,) of each class, as sums of their weights."""
        return np.bincount(self.codes, self.weights, self.n_classes).astype(np.float64)

    def row_weights(self) -> Floats:
        """Return the weight (m,) of each row in a mean, not normalized.

        With a prior it is the frequency weight times prior_k N / n_k, with n_k of the N rows in class k.
        """
        if self.prior is None:
            return self.weights
        rows = self.rows
        factor = np.divide(self.prior * rows.sum(), rows, out=np.zeros(self.n_classes), where=rows > 0)
        return np.asarray(self.weights * factor[self.codes])


def mean_loss_interval(
    losses: Floats,
    test_rows: EvaluatedRows,
    level: float,
    *,
    is_zero_one: bool,
    losses_if_wrong: Floats | None = None,
) -> tuple[float, float, float, float]:
    """Return the mean of losses, its standard error and its interval (see the module docstring).

    Parameters
    ----------
    losses : (m,) float
        Loss of each row; ignored for rows of weight zero.
    test_rows : EvaluatedRows
        Classes, weights, prior and groups of the rows.
    level : float
        Confidence level.
    is_zero_one : bool
        Whether losses are 0 or 1, or means of such values. Their interval is exact: Clopper-Pearson for the
        effective number of rows or, for independent rows under a prior, combined from the classes. The
        interval of other losses is log-normal, and NaN unless the mean is positive.
    losses_if_wrong : (m,) float, optional
        Losses of the rows if their labels were wrong. They raise the upper limit of a log-normal interval
        to allow for unobserved errors, also for a mean of zero, whose lower limit is then zero.

    Returns
    -------
    mean, se, low, high : float
        All are NaN if no row has weight; all except the mean are NaN if the mean is infinite or there is a
        single group.
    """
    row_weights = test_rows.row_weights()
    total_weight = float(row_weights.sum())
    # A row of weight zero may have an infinite loss.
    losses = np.where(row_weights > 0, losses, 0.0)
    largest = float(np.abs(losses).max(initial=0.0))
    if MAX_SQUARED_LOSS < largest < np.inf:
        scaled_if_wrong = None if losses_if_wrong is None else losses_if_wrong / largest
        mean, se, low, high = mean_loss_interval(
            losses / largest, test_rows, level, is_zero_one=is_zero_one, losses_if_wrong=scaled_if_wrong
        )
        return mean * largest, se * largest, low * largest, high * largest
    mean = float(row_weights @ losses) / total_weight if total_weight else np.nan
    if not np.isfinite(mean):
        return mean, np.nan, np.nan, np.nan
    clusters = test_rows.clusters
    rows = float(test_rows.weights.sum())
    if clusters is None:
        variance = _variance_of_mean(losses, test_rows, mean)
        n_units = rows
    else:
        cluster_sums = np.bincount(clusters, row_weights * (losses - mean))
        n_units = float(len(np.unique(clusters)))
        if n_units < 2:
            return mean, np.nan, np.nan, np.nan
        variance = float(cluster_sums @ cluster_sums) / total_weight**2 * n_units / (n_units - 1)
    se = float(np.sqrt(variance))
    if not is_zero_one:
        low, high = log_interval(mean, variance, level)
        if losses_if_wrong is not None:
            high = float(
                np.fmax(high, mean + _unobserved_loss_limit(losses_if_wrong, test_rows, n_units, level))
            )
            low = 0.0 if mean == 0 else low
        return mean, se, low, high
    if clusters is None and test_rows.prior is not None:
        class_means, pi, class_rows = _class_means_under_prior(losses, test_rows, test_rows.prior)
        return mean, se, *weighted_mean_interval(pi, class_means, class_rows, level)
    return mean, se, *exact_interval_of_dependent_rows(mean, variance, rows, n_units, level)


def _class_means_under_prior(
    values: Floats, test_rows: EvaluatedRows, prior: Floats
) -> tuple[Floats, Floats, Floats]:
    """Compute class means of values, for the classes that contribute to a mean under a prior.

    Parameters
    ----------
    values : (m,) float
        Value of each row.
    test_rows : EvaluatedRows
        Classes and weights of the rows.
    prior : (K,) float
        Prior probabilities of the K classes.

    Returns
    -------
    means, pi, rows : (k,) float
        Mean of the values, prior (with sum one) and number of rows, for the k classes with rows and a
        positive prior.
    """
    rows = test_rows.rows
    has_weight = (rows > 0) & (prior > 0)
    means = (
        np.bincount(test_rows.codes, test_rows.weights * values, test_rows.n_classes)[has_weight]
        / rows[has_weight]
    )
    return means, prior[has_weight] / prior[has_weight].sum(), rows[has_weight]


def _unobserved_loss_limit(
    losses_if_wrong: Floats, test_rows: EvaluatedRows, n_units: float, level: float
) -> float:
    """Return an upper limit of the mean loss due to wrong labels when no wrong label is observed.

    The limit is the second term of the formulas in the module docstring (*Intervals of mean losses*).

    Parameters
    ----------
    losses_if_wrong : (m,) float
        Losses of the rows if their labels were wrong.
    test_rows : EvaluatedRows
        Classes, weights and groups of the rows.
    n_units : float
        Number of independent rows or groups.
    level : float
        Confidence level.

    Returns
    -------
    float
    """
    row_weights = test_rows.row_weights()
    losses_if_wrong = np.where(row_weights > 0, losses_if_wrong, 0.0)
    if test_rows.prior is None or test_rows.clusters is not None:
        return (
            float(row_weights @ losses_if_wrong / row_weights.sum()) * exact_interval(0.0, n_units, level)[1]
        )
    means, pi, rows = _class_means_under_prior(losses_if_wrong, test_rows, test_rows.prior)
    limits = np.array([exact_interval(0.0, n, level)[1] for n in rows.tolist()])
    return float(np.sqrt(((pi * limits * means) ** 2).sum()))


def second_best_classes(scores: Floats) -> Codes:
    """Return the class with the second largest score in each row, as the position of its column.

    Parameters
    ----------
    scores : (m, K) float
        Score of each of two or more classes.

    Returns
    -------
    (m,) int

    Examples
    --------
    >>> second_best_classes(np.array([[0.1, 0.7, 0.2], [0.5, 0.4, 0.1]])).tolist()
    [2, 1]
    """
    return np.asarray(np.argpartition(scores, -2, axis=1)[:, -2])


def _variance_of_mean(losses: Floats, test_rows: EvaluatedRows, mean: float) -> float:
    """Return the variance of the mean loss of independent rows.

    With pi_k the prior (normalized over the classes with rows), n_k the counts, and m_k and v_k the means and
    variances (with divisor n_k) of the losses within classes, the mean is sum pi_k m_k and its variance sum
    pi_k^2 v_k/n_k. Without a prior, pi_k = n_k/n is estimated, which adds sum pi_k (m_k - mean)^2/n: the sum
    is the variance of all losses divided by n.

    Parameters
    ----------
    losses : (m,) float
        Loss of each row.
    test_rows : EvaluatedRows
        Classes, weights and prior of the rows.
    mean : float
        Mean loss, with classes weighted to the prior if there is one; used only without a prior.

    Returns
    -------
    float
    """
    k = test_rows.n_classes
    codes = test_rows.codes
    weights = test_rows.weights
    rows = test_rows.rows
    pi = rows if test_rows.prior is None else np.where(rows > 0, test_rows.prior, 0.0)
    pi = pi / pi.sum()
    class_means = np.divide(np.bincount(codes, weights * losses, k), rows, out=np.zeros(k), where=rows > 0)
    squared_deviations = np.bincount(codes, weights * (losses - class_means[codes]) ** 2, k)
    variance = float(pi**2 @ np.divide(squared_deviations, rows**2, out=np.zeros(k), where=rows > 0))
    return variance + (float(pi @ (class_means - mean) ** 2) / rows.sum() if test_rows.prior is None else 0.0)


def fold_means(values: Floats, weights: Floats, folds: Codes, n_folds: int) -> Floats:
    """Return the weighted mean of the values in each fold.

    Parameters
    ----------
    values, weights : (m,) float
        Value and weight of each row.
    folds : (m,) int
        Fold of each row, numbered from 0.
    n_folds : int
        Number of folds.

    Returns
    -------
    (n_folds,) float
        NaN for an empty fold.
    """
    fold_weights = np.bincount(folds, weights, n_folds)
    weighted_sums = np.bincount(folds, weights * values, n_folds)
    return np.asarray(
        np.divide(weighted_sums, fold_weights, out=np.full(n_folds, np.nan), where=fold_weights > 0)
    )


MAX_NEWTON_STEPS = 60
"""Maximum number of Newton steps. If a maximum exists, about ten suffice."""

LAST_STEP_DECREMENT = 1e-14
"""Squared Newton decrement (squared distance to the maximum in standard errors) below which one more step
is made."""

LLF_ROUNDING = 1e-12
"""Relative decrease of the log-likelihood that counts as rounding."""

MIN_INFORMATION = 1e-13
"""Smallest eigenvalue of the information per row below which the classes count as separated."""


class Recalibration(NamedTuple):
    """Recalibration slope and intercept, each with its standard error.

    Attributes
    ----------
    slope : (float, float)
        Estimate and standard error; NaN if the classes are separated, only one class has rows, a probability
        is zero, or all classes have equal probabilities in every row.
    intercept : (float, float) or None
        Estimate and standard error for the second class, NaN together with the slope. None unless there are
        two classes and the rows are a sample of the mixture.
    """

    slope: tuple[float, float]
    intercept: tuple[float, float] | None


def log_odds_against_rest(scores: Floats) -> Floats:
    """Return the log odds of each class against all others.

    They are computed without rounding posteriors to zero or one, so rows with extreme posteriors still
    differ.

    Parameters
    ----------
    scores : (m, K) float
        Log posteriors, up to a constant for each row.

    Returns
    -------
    (m, K) float
        Infinite if all other classes (or the class itself) have a log posterior of minus infinity; NaN for
        -inf in all classes.

    Examples
    --------
    >>> log_odds_against_rest(np.array([[0.0, -800.0, -800.0]])).round(4).tolist()
    [[799.3069, -800.0, -800.0]]
    """
    if scores.shape[1] == 2:
        return np.asarray(scores - scores[:, ::-1])
    rows = np.arange(len(scores))
    best = np.argmax(scores, axis=1)
    best_scores = scores[rows, best]
    others = scores.copy()
    others[rows, best] = -np.inf
    second_scores = others.max(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        odds = np.exp(scores - best_scores[:, None])
        log_other_sums = best_scores[:, None] + np.log(odds.sum(axis=1, keepdims=True) - odds)
        finite_second = np.where(np.isneginf(second_scores), 0.0, second_scores)
        log_other_sums[rows, best] = finite_second + np.log(
            np.exp(others - finite_second[:, None]).sum(axis=1)
        )
        return np.asarray(scores - log_other_sums)


def estimate_recalibration(
    log_odds: Floats, codes: Codes, weights: Floats | None = None, *, sampled: bool = True
) -> Recalibration:
    """Estimate the recalibration slope and, for two classes, the intercept (see the module docstring).

    Parameters
    ----------
    log_odds : (m, K) float
        Log odds of each class against the rest.
    codes : (m,) int
        Class of each row, from 0 to K - 1. Classes without rows are left out of the model.
    weights : (m,) float, optional
        Frequency weights.
    sampled : bool
        Whether the class proportions of the rows are representative; otherwise no intercept is returned.

    Returns
    -------
    Recalibration

    Examples
    --------
    >>> odds = np.repeat([-2.0, -1.0, 1.0, 2.0], 10)
    >>> came_true = np.concatenate([np.arange(10) < hits for hits in (3, 4, 6, 7)]).astype(int)
    >>> round(estimate_recalibration(np.column_stack([-odds, odds]), came_true).slope[0], 4)
    0.4196
    """
    weights = np.ones(len(codes)) if weights is None else weights
    observed_classes, positions = np.unique(codes, return_inverse=True)
    log_probabilities = -np.logaddexp(0.0, -log_odds[:, observed_classes])
    has_intercept = log_odds.shape[1] == 2 and sampled
    missing_pair = np.nan, np.nan
    missing_result = Recalibration(missing_pair, missing_pair if has_intercept else None)
    if len(observed_classes) < 2 or not np.isfinite(log_probabilities).all():
        return missing_result
    log_probabilities -= log_probabilities[np.arange(len(positions)), positions][:, None]
    scale = float(np.abs(log_probabilities).max())
    maximum = _fit_recalibration(log_probabilities / scale, positions, weights) if scale > 0 else None
    if maximum is None:
        return missing_result
    estimate, covariance = maximum
    slope = float(estimate[-1]) / scale, float(np.sqrt(covariance[-1, -1])) / scale
    return Recalibration(
        slope, (float(estimate[0]), float(np.sqrt(covariance[0, 0]))) if has_intercept else None
    )


def _fit_recalibration(
    log_probabilities: Floats, codes: Codes, weights: Floats
) -> tuple[Floats, Floats] | None:
    """Compute maximum likelihood estimates of the recalibration model by Newton's method.

    Parameters
    ----------
    log_probabilities : (m, K) float
        Log probabilities minus the log probability of the class of the row, divided by a common scale (R in
        the module docstring).
    codes : (m,) int
        Class of each row, numbered from 0 to K - 1.
    weights : (m,) float
        Frequency weights.

    Returns
    -------
    (estimates, covariance) or None
        Intercepts of classes 1 to K - 1 relative to class 0, then the slope in units of the scaled log
        probabilities (K,); and their covariance (K, K). None if the classes are separated or the search does
        not converge.
    """
    total = float(weights.sum())
    params: Floats = np.zeros(log_probabilities.shape[1])
    step: Floats = np.zeros(len(params))
    llf = -np.inf
    is_last_step = False
    for _ in range(MAX_NEWTON_STEPS):
        # Halve the step until the likelihood does not decrease.
        for _ in range(MAX_NEWTON_STEPS):
            new_llf, probabilities = _llf_and_probabilities(log_probabilities, codes, weights, params + step)
            if new_llf >= llf - LLF_ROUNDING * abs(llf) or not step.any():
                break
            step = step / 2
        params = params + step
        llf = new_llf
        score, information = _score_and_information(log_probabilities, codes, weights, probabilities)
        min_eigenvalue = float(np.linalg.eigvalsh(information)[0])
        if not min_eigenvalue > MIN_INFORMATION * total:
            return None
        step = np.asarray(np.linalg.solve(information, score), dtype=np.float64)
        decrement = float(score @ step)
        if is_last_step:
            return params + step, np.asarray(np.linalg.inv(information), dtype=np.float64)
        is_last_step = decrement < LAST_STEP_DECREMENT and min_eigenvalue > 3 * decrement
    return None


def _llf_and_probabilities(
    log_probabilities: Floats, codes: Codes, weights: Floats, params: Floats
) -> tuple[float, Floats]:
    """Compute the log-likelihood and the recalibrated probabilities.

    Parameters
    ----------
    log_probabilities, codes, weights
        See `_fit_recalibration`.
    params : (K,) float
        Intercepts of classes 1 to K - 1, and the slope.

    Returns
    -------
    llf : float
        Log-likelihood at the parameters.
    probabilities : (m, K) float
        Recalibrated probability of each class.
    """
    log_odds = params[-1] * log_probabilities
    log_odds[:, 1:] += params[:-1]
    log_odds -= log_odds.max(axis=1, keepdims=True)
    probabilities = np.exp(log_odds)
    sums = probabilities.sum(axis=1)
    llf = float(weights @ (log_odds[np.arange(len(codes)), codes] - np.log(sums)))
    probabilities /= sums[:, None]
    return llf, probabilities


def _score_and_information(
    log_probabilities: Floats, codes: Codes, weights: Floats, probabilities: Floats
) -> tuple[Floats, Floats]:
    """Compute score and information of the recalibration model for its K - 1 intercepts and the slope.

    Parameters
    ----------
    log_probabilities, codes, weights
        See `_fit_recalibration`.
    probabilities : (m, K) float
        Recalibrated probability of each class.

    Returns
    -------
    score : (K,) float
        Gradient of the log-likelihood.
    information : (K, K) float
        Minus the Hessian of the log-likelihood.
    """
    k = log_probabilities.shape[1]
    weighted_probabilities = weights[:, None] * probabilities
    expected_logs = (probabilities * log_probabilities).sum(axis=1)
    counts = np.bincount(codes, weights, k)
    # The log probabilities of a row's own class are zero.
    score = np.append((counts - weighted_probabilities.sum(axis=0))[1:], -float(weights @ expected_logs))
    information = np.empty((k, k))
    information[:-1, :-1] = (
        np.diag(weighted_probabilities.sum(axis=0)[1:]) - (weighted_probabilities.T @ probabilities)[1:, 1:]
    )
    cross = (weighted_probabilities * (log_probabilities - expected_logs[:, None])).sum(axis=0)[1:]
    information[-1, :-1] = information[:-1, -1] = cross
    information[-1, -1] = float(
        (weighted_probabilities * (log_probabilities - expected_logs[:, None]) ** 2).sum()
    )
    return score, information
