"""Confusion tables, error rates and measures of agreement of a classification rule, with intervals.

The verbs and results of all models use these functions. They work on class codes and arrays.

With class proportions pi_k and c_kj the cost of assigning a row of class k to class j (by default 0 if k = j
and 1 otherwise), the rate is R = sum_k pi_k r_k with r_k the mean cost of the rows of class k.

*Counting.* If the proportions are estimated from the rows, rows are draws from the mixture and the number of
errors is binomial: Clopper & Pearson's exact interval (1934, Biometrika 26, 404-413). If the proportions are
fixed, the rate is an estimate from a stratified sample, with variance sum pi_k^2 var_k / n_k. Its limits
combine the limits (l_k, u_k) of the classes: their squared distances from the rate are sum pi_k^2 (r_k -
l_k)^2 below and sum pi_k^2 (u_k - r_k)^2 above (Zou & Donner, 2008, Statistics in Medicine 27, 1693-1702).
A class with few rows and no error therefore contributes as well. Mean costs have a log-normal interval. Its
upper limit is at least the mean plus the highest cost times the largest proportion of rows of an unobserved
type, 1 - tail^(1/n) for n rows.

*Posteriors.* The error rate can also be estimated from the posterior probabilities (Glick, 1978, Pattern
Recognition 10, 211-222): with R_t the rows assigned to t and q the prior, the two estimates of SAS are

    unstratified  e_t = 1 - sum_{x in R_t} p(t|x) / (n q_t),
    stratified    e_t = 1 - (1/q_t) sum_u (q_u/n_u) sum_{x in R_t of class u} p(t|x).

They are smoother than counts and rely on the model. Standard errors and intervals are not available: the
averaged rows have also determined the posteriors, whose sampling variation exceeds the variation among the
rows, and which are too confident by an amount of the same order.

*Bootstrap.* The .632+ estimate (Efron & Tibshirani, 1997, JASA 92, 548-560) of the resubstitution error a,
the error e of rows outside bootstrap samples and the no-information error g (class and label independent) is

    (1 - w) a + w min(e, g),    w = .632 / (1 - .368 R),    R = (min(e, g) - a) / (g - a).

Its standard error is their delta method after bootstrap (section 5), here with samples drawn within classes,
and for the complete estimate. To first order a row i of weight w_i changes e by

    D_i = w_i e_i + sum_j w_j cov(N_i, Q_j),

with e_i the mean loss of row i in samples without it, N_i the number of times it is drawn, and the covariance
taken over the samples without row j between N_i and the loss Q_j of row j. Row i changes a by its own loss
and g by the expected loss of its label. The three changes are weighted by the derivatives of the estimate,
and the variance is the variance of their sum: within classes, and also between classes if the proportions are
estimated from the rows. The bias of the squared covariances due to a finite number of samples is subtracted
(Wager, Hastie & Efron, 2014, JMLR 15, 1625-1651). The change of the rule does not change a to first order,
because a is at a minimum. The interval is normal on the logit scale. Its upper limit is at least the exact
limit for as many rows without an error; otherwise few errors could have a shorter interval than none.

*Agreement and single classes.* With n_kj rows of class k that are called j, q_kj = n_kj / n_k and joint
proportions p_kj = pi_k q_kj, kappa is (p_o - p_e) / (1 - p_e) with p_o = sum p_kk and p_e = sum r_k c_k, r, c
the row and column sums (Cohen, 1960, Educational and Psychological Measurement 20, 37-46). Its standard error
is by the delta method; for draws from the mixture it equals the formula of Fleiss, Cohen & Everitt (1969,
Psychological Bulletin 72, 323-327). The interval is normal on the scale of Fisher's z, artanh kappa, with the
standard error se / (1 - kappa^2), and therefore lies between -1 and 1. If no row is misclassified, kappa is 1
with a standard error of zero; its lower limit uses the Clopper-Pearson limit of p_o and the estimated p_e.

Predictive values for a fixed prior use Bayes' theorem with estimated q. The positive one of class k is
a / (a + b) with a = pi_k q_kk and b = sum over j /= k of pi_j q_jk. Its logit is ln a - ln b with the
variance var(a)/a^2 + var(b)/b^2, as classes are sampled independently (Mercaldo, Lau & Zhou, 2007, Statistics
in Medicine 26, 2170-2183); the interval is normal on that scale. If a or b is zero, the limit on the other
side is computed after adding z^2 rows to each class, half of them with the prediction in question, z the
normal quantile. The authors recommend this for proportions near 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats, check_memory
from discrim.core.numerics.special import beta_ppf, normal_isf
from discrim.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class ErrorRateEstimate:
    """An estimate of the error rate with its interval.

    Attributes
    ----------
    by_class : (K,) float
        Error rates, or mean costs, of the K classes; NaN for a class without rows.
    estimate, se, low, high : float
        Overall rate or mean cost, standard error and limits; NaN if the method does not provide them.
    wrong, total : float
        Sums of the weights of misclassified rows and of all rows; NaN if the method does not count rows.
    """

    by_class: Floats
    estimate: float
    se: float
    low: float
    high: float
    wrong: float = np.nan
    total: float = np.nan


def confusion_counts(
    actual: Codes, predicted: Codes, k: int, weights: Floats | None = None
) -> NDArray[np.generic]:
    """Count actual by predicted classes.

    Parameters
    ----------
    actual, predicted : (n,) int
        Class codes. Rows with a negative code, or a prediction of k or more, are left out.
    k : int
        Number of classes.
    weights : (n,) float, optional
        Frequency weights of the rows; by default each row counts once.

    Returns
    -------
    (K, K) int or float
        Counts, or sums of weights, with actual classes in rows and predicted classes in columns.

    Raises
    ------
    DataError
        If the table does not fit into memory.
    """
    check_memory(
        2.0 * k**2,
        f"A table of {k:,} by {k:,} classes",
        "Compare predict() with the classes of the rows instead, or merge rare classes",
    )
    valid_mask = (actual >= 0) & (predicted >= 0) & (predicted < k)
    cells = actual[valid_mask] * k + predicted[valid_mask]
    return np.bincount(cells, None if weights is None else weights[valid_mask], k * k).reshape(k, k)


def confusion_table(
    actual: Codes, predicted: Codes, classes: pd.Index, weights: Floats | None = None
) -> pd.DataFrame:
    """Return a table of counts of actual (rows) by predicted (columns) classes.

    Parameters
    ----------
    actual, predicted : (n,) int
        Class codes. Rows with a negative code, or a prediction of K or more, are left out.
    classes : pandas.Index
        Labels of the K classes.
    weights : (n,) float, optional
        Frequency weights of the rows; by default each row counts once.

    Returns
    -------
    pandas.DataFrame
        K by K counts, or sums of weights; index name "actual", name of the columns "predicted".
    """
    counts = confusion_counts(actual, predicted, len(classes), weights)
    return pd.DataFrame(counts, index=classes.rename("actual"), columns=classes.rename("predicted"))


def error_rate_from_counts(
    counts: Floats, prior: Floats, costs: Floats | None, level: float, *, sampled: bool
) -> ErrorRateEstimate:
    """Return the error rate or mean cost of a confusion table, overall and by class, with an interval.

    The intervals are described in the module docstring (*Counting*).

    Parameters
    ----------
    counts : (K, K) float
        Actual (rows) by predicted classes.
    prior : (K,) float
        Prior probabilities, which weight the classes unless `sampled`; classes without rows are excluded.
    costs : (K, K) float or None
        Costs of assigning a row of class k (rows) to class j (columns); None to count errors.
    level : float
        Confidence level; a DataError is raised if it is not between 0 and 1.
    sampled : bool
        Whether class proportions are estimated from the rows, which makes the errors binomial.

    Returns
    -------
    ErrorRateEstimate
        `wrong` counts misclassified rows, with or without costs.
    """
    check_level(level)
    rows = counts.sum(axis=1)
    wrong, total = misclassified_and_total_counts(counts)
    cost_matrix = 1.0 - np.eye(len(counts)) if costs is None else costs
    with np.errstate(divide="ignore", invalid="ignore"):
        proportions = counts / rows[:, None]
        by_class = (proportions * cost_matrix).sum(axis=1)
        variance = ((proportions * cost_matrix**2).sum(axis=1) - by_class**2) / rows
    class_sums = rows, by_class, variance, wrong, total
    max_cost = None if costs is None else float(cost_matrix.max())
    return _rates_from_class_sums(class_sums, prior, level, max_cost, sampled=sampled)


def misclassified_and_total_counts(counts: Floats) -> tuple[float, float]:
    """Return the number of misclassified rows and of all rows of a confusion table (K, K).

    With frequency weights they are sums of weights. The total is computed as the sum of correct and wrong
    counts. Otherwise the order of additions could make a proportion of fractional weights exceed one.
    """
    wrong = float((counts - np.diag(np.diag(counts))).sum())
    return wrong, wrong + float(np.trace(counts))


def error_rate_from_labels(
    actual: Codes,
    predicted: Codes,
    prior: Floats,
    weights: Floats | None,
    level: float,
    *,
    sampled: bool,
) -> ErrorRateEstimate:
    """Return the error rate of predicted classes, overall and by class, with an interval.

    The result equals `error_rate_from_counts` without costs, but the (K, K) table is not formed.

    Parameters
    ----------
    actual, predicted : (n,) int
        Class codes. Rows with a negative code, or a prediction of K or more, are left out.
    prior : (K,) float
        Prior probabilities, which weight the classes unless `sampled`; classes without rows are excluded.
    weights : (n,) float or None
        Frequency weights of the rows; None if each row counts once.
    level : float
        Confidence level.
    sampled : bool
        Whether class proportions are estimated from the rows.

    Returns
    -------
    ErrorRateEstimate
    """
    check_level(level)
    k = len(prior)
    valid_mask = (actual >= 0) & (predicted >= 0) & (predicted < k)
    w = np.ones(int(valid_mask.sum())) if weights is None else weights[valid_mask]
    codes = actual[valid_mask]
    missed = (actual != predicted)[valid_mask]
    rows = np.bincount(codes, w, k).astype(np.float64, copy=False)
    wrong_by_class = np.bincount(codes[missed], w[missed], k)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_class = wrong_by_class / rows
        variance = (by_class - by_class**2) / rows
    wrong = float(wrong_by_class.sum())
    class_sums = rows, by_class, variance, wrong, wrong + float((rows - wrong_by_class).sum())
    return _rates_from_class_sums(class_sums, prior, level, None, sampled=sampled)


def _rates_from_class_sums(
    class_sums: tuple[Floats, Floats, Floats, float, float],
    prior: Floats,
    level: float,
    max_cost: float | None,
    *,
    sampled: bool,
) -> ErrorRateEstimate:
    """Combine the rates of the classes into an overall rate with its interval.

    The intervals are described in the module docstring (*Counting*).

    Parameters
    ----------
    class_sums : tuple
        Number of rows (K,), mean cost or error rate (K,) and its sampling variance (K,) by class; sums of the
        weights of misclassified rows and of all rows.
    prior : (K,) float
        Prior probabilities, which weight the classes unless `sampled`. Classes without rows are excluded, and
        the probabilities of the others are normalized.
    level : float
        Confidence level.
    max_cost : float or None
        Highest cost, if the rates are mean costs; None if they are error rates.
    sampled : bool
        Whether class proportions are estimated from the rows.

    Returns
    -------
    ErrorRateEstimate
        The overall rate and its interval are NaN if there are no rows or, unless `sampled`, only rows of
        classes with zero prior probability.
    """
    rows, by_class, variance, wrong, total = class_sums
    if not total:
        return ErrorRateEstimate(by_class, np.nan, np.nan, np.nan, np.nan, wrong, total)
    pi = rows / total if sampled else np.where(rows > 0, prior, 0.0)
    if not pi.sum():
        # Only classes without rows have a positive prior.
        return ErrorRateEstimate(by_class, np.nan, np.nan, np.nan, np.nan, wrong, total)
    pi = pi / pi.sum()
    has_weight = pi > 0
    rate = float(pi[has_weight] @ by_class[has_weight])
    effective_rows = 1 / float((pi[has_weight] ** 2 / rows[has_weight]).sum())
    if max_cost is not None:
        rate_variance = float(pi[has_weight] ** 2 @ np.maximum(variance[has_weight], 0.0))
        if sampled:
            rate_variance += float(pi[has_weight] @ (by_class[has_weight] - rate) ** 2) / total
        unobserved_cost = max_cost * exact_interval(0.0, effective_rows, level)[1]
        low, high = (0.0, 0.0) if rate == rate_variance == 0 else log_interval(rate, rate_variance, level)
        high = min(max(high, rate + unobserved_cost), max_cost)
        return ErrorRateEstimate(by_class, rate, float(np.sqrt(rate_variance)), low, high, wrong, total)
    if sampled:
        rate = wrong / total
        se = float(np.sqrt(rate * (1 - rate) / total))
        return ErrorRateEstimate(by_class, rate, se, *exact_interval(wrong, total, level), wrong, total)
    rate_variance = float(pi[has_weight] ** 2 @ np.maximum(variance[has_weight], 0.0))
    interval = weighted_mean_interval(pi[has_weight], by_class[has_weight], rows[has_weight], level)
    return ErrorRateEstimate(by_class, rate, float(np.sqrt(rate_variance)), *interval, wrong, total)


def posterior_error_rate(
    posteriors: Floats, actual: Codes, prior: Floats, weights: Floats | None, *, stratified: bool
) -> ErrorRateEstimate:
    """Estimate the error rate from posterior probabilities (see the module docstring), without an interval.

    Rows are assigned to the class with the largest posterior.

    Parameters
    ----------
    posteriors : (n, K) float
        Posterior probabilities. Rows with a missing posterior in the first column are left out.
    actual : (n,) int
        Class codes; rows with a negative code are left out.
    prior : (K,) float
        Prior probabilities q.
    weights : (n,) float or None
        Frequency weights of the rows; None if each row counts once.
    stratified : bool
        Whether the classes of the rows are weighted to the prior probabilities, instead of equal row weights.

    Returns
    -------
    ErrorRateEstimate
        `by_class` has e_t, which may be negative, and is not finite for a prior of zero; the overall rate is
        the sum of q_t e_t. All other values are NaN.
    """
    valid_mask = (actual >= 0) & ~np.isnan(posteriors[:, 0])
    p = posteriors[valid_mask]
    codes = actual[valid_mask]
    w = np.ones(len(p)) if weights is None else weights[valid_mask]
    k = len(prior)
    if stratified:
        rows = np.bincount(codes, w, k)
        row_weights = w * np.divide(prior, rows, out=np.zeros(k), where=rows > 0)[codes]
    else:
        row_weights = w / float(w.sum())
    max_posteriors = p.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_class = 1 - np.bincount(np.argmax(p, axis=1), row_weights * max_posteriors, k) / prior
    return ErrorRateEstimate(by_class, 1 - float(row_weights @ max_posteriors), np.nan, np.nan, np.nan)


def no_information_rate(counts: Floats, prior: Floats, costs: Floats | None) -> float:
    """Return the error rate or mean cost if class and prediction were independent, sum_kj pi_k q_j c_kj.

    Parameters
    ----------
    counts : (K, K) float
        Actual by predicted classes. The proportions q_j of the predictions are those within classes, weighted
        by the prior; a class without rows contributes none.
    prior : (K,) float
        Prior probabilities pi, with sum one.
    costs : (K, K) float or None
        Costs of assigning class k to class j; None to count errors.

    Returns
    -------
    float
    """
    cost_matrix = 1.0 - np.eye(len(counts)) if costs is None else costs
    rows = counts.sum(axis=1)
    proportions = np.divide(counts, rows[:, None], out=np.zeros(counts.shape), where=rows[:, None] > 0)
    return float(prior @ cost_matrix @ (prior @ proportions))


@dataclass(frozen=True, slots=True, eq=False)
class OutOfBagPredictions:
    """Predictions for rows outside B bootstrap samples drawn within classes.

    Attributes
    ----------
    actual : (n,) int
        Class of each row, not negative.
    predicted : (n,) int
        Class that the rule fitted to all rows assigns to each row; negative if the row lacks a prediction.
    sample_counts : (B, n) int
        Number of times that each row is in each sample.
    out_of_bag_predicted : (B, n) int
        Class that the rule fitted to the sample assigns to each row; negative if the row is in the sample or
        lacks a prediction.
    """

    actual: Codes
    predicted: Codes
    sample_counts: NDArray[np.integer]
    out_of_bag_predicted: NDArray[np.integer]


def bootstrap_632_plus(
    predictions: OutOfBagPredictions, prior: Floats, costs: Floats | None, level: float, *, sampled: bool
) -> ErrorRateEstimate:
    """Compute the .632+ bootstrap estimate of the error rate or mean cost (see the module docstring).

    Classes are weighted by the prior. The interval is normal on the logit scale, or on the log scale for mean
    costs.

    Parameters
    ----------
    predictions : OutOfBagPredictions
        Classes of the rows, and predictions with and without each row in the sample.
    prior : (K,) float
        Prior probabilities.
    costs : (K, K) float or None
        Costs of assigning class k to class j; None to count errors.
    level : float
        Confidence level.
    sampled : bool
        Whether the prior is the class proportions of the rows; their sampling variance is then included.

    Returns
    -------
    ErrorRateEstimate
        `by_class` has the errors of rows outside the samples (e, not .632+). Standard error and limits are
        NaN if there are too few samples to separate the variance from Monte Carlo noise; all values are NaN
        if no row has a prediction outside a sample.
    """
    k = len(prior)
    cost_matrix = 1.0 - np.eye(k) if costs is None else costs
    counts = confusion_counts(predictions.actual, predictions.predicted, k).astype(np.float64)
    resubstitution_error = error_rate_from_counts(counts, prior, costs, level, sampled=False).estimate
    no_information_error = no_information_rate(counts, prior, costs)
    row_weights = (prior / np.bincount(predictions.actual, minlength=k))[predictions.actual]
    n_samples_without = (predictions.out_of_bag_predicted >= 0).sum(axis=0)
    if not n_samples_without.any():
        return ErrorRateEstimate(np.full(k, np.nan), np.nan, np.nan, np.nan, np.nan)
    sampled_weights = np.where(n_samples_without > 0, row_weights, 0.0)
    sampled_weights /= sampled_weights.sum()
    losses, influences, monte_carlo_variance = _out_of_bag_losses(
        predictions, sampled_weights, n_samples_without, cost_matrix
    )
    out_of_bag_error = float(sampled_weights @ losses)
    rate, slopes = _combine_632_plus(resubstitution_error, out_of_bag_error, no_information_error)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_class = np.bincount(predictions.actual, sampled_weights * losses, k) / np.bincount(
            predictions.actual, sampled_weights, k
        )
    in_class = counts.sum(axis=1, keepdims=True)
    label_proportions = np.divide(counts, in_class, out=np.zeros((k, k)), where=in_class > 0)
    label_costs = prior @ cost_matrix
    predicted_mask = predictions.predicted >= 0
    resubstitution_losses, no_information_losses = np.zeros((2, len(sampled_weights)))
    resubstitution_losses[predicted_mask] = cost_matrix[
        predictions.actual[predicted_mask], predictions.predicted[predicted_mask]
    ]
    no_information_losses[predicted_mask] = label_costs[predictions.predicted[predicted_mask]]
    direct_changes = np.column_stack([resubstitution_losses, losses, no_information_losses]) @ slopes
    contributions = sampled_weights * direct_changes + slopes[1] * influences
    variance = (
        _within_class_variance(contributions, predictions.actual, k) - slopes[1] ** 2 * monte_carlo_variance
    )
    if sampled:
        class_errors = [
            (label_proportions * cost_matrix).sum(axis=1),
            by_class,
            cost_matrix @ (prior @ label_proportions) + label_proportions @ label_costs,
        ]
        class_rates = np.nan_to_num(np.column_stack(class_errors)) @ slopes
        variance += float(prior @ (class_rates - prior @ class_rates) ** 2) / len(sampled_weights)
    return ErrorRateEstimate(
        by_class, rate, *_bootstrap_se_and_limits(rate, variance, sampled_weights, costs, level)
    )


def _out_of_bag_losses(
    predictions: OutOfBagPredictions,
    weights: Floats,
    n_samples_without: NDArray[np.integer],
    cost_matrix: Floats,
) -> tuple[Floats, Floats, float]:
    """Compute the losses of rows outside the samples, and the influence of each row on their mean.

    Parameters
    ----------
    predictions : OutOfBagPredictions
        Classes of the rows and their predictions outside the samples.
    weights : (n,) float
        Weights of the rows in the mean loss; they sum to one and are zero for rows without an
        out-of-bag prediction.
    n_samples_without : (n,) int
        Number of samples in which each row has an out-of-bag prediction.
    cost_matrix : (K, K) float
        Costs of assigning class k to class j.

    Returns
    -------
    losses : (n,) float
        Mean loss of each row in the samples without it; zero without such samples.
    influences : (n,) float
        sum_j w_j cov(N_i, Q_j) of the module docstring: covariance over samples between the number of times a
        row is drawn and the weighted losses of all rows.
    monte_carlo_variance : float
        Variance of the influences due to the finite number of samples, summed over rows.
    """
    n_samples, n = predictions.out_of_bag_predicted.shape
    loss_sums = np.zeros(n)
    for sample_predicted in predictions.out_of_bag_predicted:
        outside_mask = sample_predicted >= 0
        loss_sums[outside_mask] += cost_matrix[
            predictions.actual[outside_mask], sample_predicted[outside_mask]
        ]
    losses = np.divide(loss_sums, n_samples_without, out=np.zeros(n), where=n_samples_without > 0)
    loss_weights = np.divide(
        weights * n_samples, n_samples_without, out=np.zeros(n), where=n_samples_without > 0
    )
    influences, squares = np.zeros((2, n))
    for row_counts, sample_predicted in zip(
        predictions.sample_counts, predictions.out_of_bag_predicted, strict=True
    ):
        outside_mask = sample_predicted >= 0
        excess = float(
            loss_weights[outside_mask]
            @ (
                cost_matrix[predictions.actual[outside_mask], sample_predicted[outside_mask]]
                - losses[outside_mask]
            )
        )
        influence = (row_counts - 1.0) * excess
        influences += influence
        squares += influence**2
    influences /= n_samples
    return losses, influences, float((squares / n_samples - influences**2).sum()) / max(n_samples - 1, 1)


def _combine_632_plus(
    resubstitution_error: float, out_of_bag_error: float, no_information_error: float
) -> tuple[float, Floats]:
    """Compute the .632+ estimate and its gradient.

    Parameters
    ----------
    resubstitution_error, out_of_bag_error, no_information_error : float
        Resubstitution error, error of rows outside the samples, and no-information error.

    Returns
    -------
    rate : float
        The .632+ estimate.
    slopes : (3,) float
        Derivatives with respect to the three errors, in the order of the parameters.
    """
    bounded_error = min(out_of_bag_error, no_information_error)
    if not (bounded_error > resubstitution_error and no_information_error > resubstitution_error):
        rate = 0.368 * resubstitution_error + 0.632 * bounded_error
        slopes = np.array([0.368, 0.632, 0.0])
    else:
        span = no_information_error - resubstitution_error
        relative_overfitting = (bounded_error - resubstitution_error) / span
        w = 0.632 / (1 - 0.368 * relative_overfitting)
        rate = (1 - w) * resubstitution_error + w * bounded_error
        weight_slope = relative_overfitting * 0.368 * w**2 / 0.632
        slopes = np.array(
            [
                1 - w + weight_slope * (relative_overfitting - 1),
                w + weight_slope,
                -weight_slope * relative_overfitting,
            ]
        )
    if out_of_bag_error > no_information_error:
        slopes[2] += slopes[1]
        slopes[1] = 0.0
    return rate, slopes


def _within_class_variance(contributions: Floats, codes: Codes, k: int) -> float:
    """Estimate the variance of a sum of contributions of rows that are sampled within classes.

    It is the sum over classes of n_k times the variance of the contributions (divisor n_k - 1); a class of a
    single row contributes zero.

    Parameters
    ----------
    contributions : (n,) float
        Contribution of each row to the sum.
    codes : (n,) int
        Class of each row.
    k : int
        Number of classes.

    Returns
    -------
    float
    """
    rows = np.bincount(codes, minlength=k)
    class_means = np.bincount(codes, contributions, k) / np.maximum(rows, 1)
    squares = np.bincount(codes, (contributions - class_means[codes]) ** 2, k)
    return float((squares * rows / np.maximum(rows - 1, 1)).sum())


def _bootstrap_se_and_limits(
    rate: float, variance: float, weights: Floats, costs: Floats | None, level: float
) -> tuple[float, float, float]:
    """Standard error and limits of a bootstrap error rate.

    The upper limit is at least the exact limit for as many rows without an error.

    Parameters
    ----------
    rate, variance : float
        Estimated error rate or mean cost, and its estimated variance, which may be negative.
    weights : (n,) float
        Weights of the rows; they sum to one.
    costs : (K, K) float or None
        Costs, whose maximum multiplies the exact limit; None if errors are counted.
    level : float
        Confidence level.

    Returns
    -------
    se, low, high : float
        NaN if the variance estimate is not positive and the rate is not zero; se and `low` are zero if the
        rate is zero too.
    """
    # Upper limit of the rate if no error is observed in as many rows.
    max_cost = 1.0 if costs is None else float(costs.max())
    zero_error_limit = max_cost * exact_interval(0.0, 1 / float(weights @ weights), level)[1]
    if rate == 0 and not variance > 0:
        return 0.0, 0.0, zero_error_limit
    if not variance > 0:
        return np.nan, np.nan, np.nan
    se = float(np.sqrt(variance))
    if costs is not None:
        low, high = log_interval(rate, variance, level)
    else:
        low, high = logit_interval(rate, se, level)
    return se, low, float(np.maximum(high, zero_error_limit))


def logit_interval(rate: float, se: float, level: float) -> tuple[float, float]:
    """Compute the normal interval of a rate on the logit scale.

    Parameters
    ----------
    rate : float
        Estimated rate.
    se : float
        Standard error of the rate.
    level : float
        Confidence level.

    Returns
    -------
    low, high : float
        NaN if the rate is not strictly between 0 and 1.
    """
    if not 0 < rate < 1:
        return np.nan, np.nan
    half = check_level(level) * se / (rate * (1 - rate))
    logit = np.log(rate / (1 - rate))
    with np.errstate(over="ignore"):
        return float(1 / (1 + np.exp(half - logit))), float(1 / (1 + np.exp(-half - logit)))


def rates_table(rates: Sequence[tuple[str, ErrorRateEstimate]]) -> pd.DataFrame:
    """Return a table of error rates with one row for each method of estimation.

    Parameters
    ----------
    rates : sequence of (str, ErrorRateEstimate)
        Name of each method and its error rate.

    Returns
    -------
    pandas.DataFrame
        Columns estimate, se, low, high, wrong (number of errors) and total (number of rows), indexed by the
        names (index name "method"); a repeated name keeps its last rate.
    """
    columns = ["estimate", "se", "low", "high", "wrong", "total"]
    rows = {name: [getattr(rate, column) for column in columns] for name, rate in rates}
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("method")


def log_interval(rate: float, variance: float, level: float) -> tuple[float, float]:
    """Compute the normal interval of a nonnegative mean on the log scale.

    Parameters
    ----------
    rate, variance : float
        Estimated mean and the variance of the estimate.
    level : float
        Confidence level.

    Returns
    -------
    low, high : float
        NaN unless the mean is positive.
    """
    if not rate > 0:
        return np.nan, np.nan
    half = check_level(level) * np.sqrt(variance) / rate
    return float(rate * np.exp(-half)), float(rate * np.exp(half))


def exact_interval(wrong: float, total: float, level: float) -> tuple[float, float]:
    """Compute the Clopper-Pearson interval of the proportion `wrong` / `total`.

    Parameters
    ----------
    wrong, total : float
        Number of errors and number of rows; they need not be integers.
    level : float
        Confidence level, which is not checked.

    Returns
    -------
    low, high : float
        Limits of the proportion; `low` is 0 without errors, `high` is 1 if all rows are wrong.
    """
    # The same as statsmodels' proportion_confint(method="beta"), which is thirty times slower, and whose
    # import loads 200 modules. Tests compare the two.
    tail = (1 - level) / 2
    low = float(beta_ppf(tail, wrong, total - wrong + 1)) if wrong > 0 else 0.0
    high = float(beta_ppf(1 - tail, wrong + 1, total - wrong)) if wrong < total else 1.0
    return low, high


def exact_interval_of_dependent_rows(
    rate: float, variance: float, rows: float, units: float, level: float
) -> tuple[float, float]:
    """Compute the exact interval of a proportion of rows that are dependent or were classified several times.

    Parameters
    ----------
    rate, variance : float
        The proportion and its estimated variance.
    rows, units : float
        Number of rows, and number of independent units (rows or groups).
    level : float
        Confidence level.

    Returns
    -------
    low, high : float
        Clopper-Pearson limits for the effective number of rows, rate (1 - rate) / variance (Korn &
        Graubard, 1998), at most `rows`. If the variance is zero, the effective number is `units`.
    """
    effective_rows = min(rate * (1 - rate) / variance, rows) if variance > 0 else units
    return exact_interval(rate * effective_rows, effective_rows, level)


def weighted_mean_interval(
    pi: Floats, proportions: Floats, rows: Floats, level: float
) -> tuple[float, float]:
    """Compute the interval of a weighted mean of proportions, from the exact interval of each proportion.

    Parameters
    ----------
    pi : (K,) float
        Weights of the proportions, with sum one.
    proportions : (K,) float
        Proportions observed in independent samples, for example error rates of the classes.
    rows : (K,) float
        Sample size of each proportion.
    level : float
        Confidence level.

    Returns
    -------
    low, high : float
        Limits, at least 0 and at most 1 (Zou & Donner, see the module docstring).

    Examples
    --------
    >>> proportions, rows = np.array([0.1, 0.0]), np.array([20.0, 20.0])
    >>> [round(limit, 4) for limit in weighted_mean_interval(np.array([0.5, 0.5]), proportions, rows, 0.95)]
    [0.0062, 0.1873]
    """
    mean = float(pi @ proportions)
    squared_below = 0.0
    squared_above = 0.0
    for weight, proportion, n in zip(pi.tolist(), proportions.tolist(), rows.tolist(), strict=True):
        # Sums of weights may exceed one by a rounding error.
        low, high = exact_interval(min(proportion, 1.0) * n, n, level)
        squared_below += (weight * (proportion - low)) ** 2
        squared_above += (weight * (high - proportion)) ** 2
    return max(mean - float(np.sqrt(squared_below)), 0.0), min(mean + float(np.sqrt(squared_above)), 1.0)


def check_level(level: float) -> float:
    """Return the half-width of a normal interval in standard errors, for example 1.96 for a level of 0.95.

    Raise DataError unless the level is a number between 0 and 1, exclusive.
    """
    number = isinstance(level, (int, float, np.integer, np.floating))
    if not number or not 0 < level < 1:
        raise DataError(
            f"level={level!r} is not valid.", hint="Pass a number between 0 and 1, for example level=0.95."
        )
    return float(normal_isf((1 - level) / 2))


TIE_TOLERANCE = 1e-12
"""Difference up to which two error rates count as equal."""


def error_rates_of_rules(
    wrong: Floats, rows: Floats, prior: Floats, *, sampled: bool
) -> tuple[Floats, Floats]:
    """Compute the error rates of several rules on the same rows, and their standard errors.

    Standard errors are binomial, or stratified by class unless `sampled`; covariances of the rules are not
    computed.

    Parameters
    ----------
    wrong : (G, K) float
        Number of misclassified rows of each class, or sums of weights, for each of G rules; NaN yields NaN.
    rows : (K,) float
        Number of rows of each class.
    prior : (K,) float
        Prior probabilities, which weight the classes with rows unless `sampled`.
    sampled : bool
        Whether class proportions are estimated from the rows.

    Returns
    -------
    rates, standard_errors : (G,) float

    Examples
    --------
    >>> rows, shares = np.array([10.0, 30.0]), np.array([0.5, 0.5])
    >>> error_rates_of_rules(np.array([[1.0, 3.0]]), rows, shares, sampled=True)[0].tolist()
    [0.1]
    """
    total = float(rows.sum())
    if sampled:
        rates = wrong.sum(axis=1) / total
        return rates, np.sqrt(rates * (1 - rates) / total)
    has_weight = (rows > 0) & (prior > 0)
    pi = prior[has_weight] / prior[has_weight].sum()
    by_class = wrong[:, has_weight] / rows[has_weight]
    variance = np.maximum(by_class * (1 - by_class), 0.0) / rows[has_weight]
    return by_class @ pi, np.sqrt(variance @ pi**2)


def near_minimum_mask(errors: Floats, standard_errors: Floats | None = None) -> NDArray[np.bool_]:
    """Return a mask of the error rates that equal the smallest one or lie within one standard error of it.

    Parameters
    ----------
    errors : (G,) float
        Error rates of the candidates; NaN is never near the minimum. A ValueError is raised if all are NaN.
    standard_errors : (G,) float, optional
        Standard errors of the error rates; only the one of the smallest rate is used. Without them only ties
        (up to `TIE_TOLERANCE`) are included.

    Returns
    -------
    (G,) bool

    Examples
    --------
    >>> near_minimum_mask(np.array([np.nan, 0.1, 0.1, 0.3])).tolist()
    [False, True, True, False]
    >>> near_minimum_mask(np.array([0.2, 0.1, 0.3]), np.array([0.2, 0.1, 0.3])).tolist()
    [True, True, False]
    """
    best_index = np.nanargmin(errors)
    tolerance = TIE_TOLERANCE if standard_errors is None else TIE_TOLERANCE + standard_errors[best_index]
    return np.asarray(errors <= errors[best_index] + tolerance)


MEASURES = ("sensitivity", "specificity", "positive predictive value", "negative predictive value")
"""Measures of one class against all others, in the order of the results of `class_measures`."""

ZERO_TOLERANCE = 1e-14
"""Largest value that counts as zero when values of order one are subtracted."""


class Estimate(NamedTuple):
    """An estimate with its standard error and interval; NaN if a value is not available.

    Attributes
    ----------
    estimate, se : float
        Estimate and its standard error.
    low, high : float
        Confidence limits.
    """

    estimate: float
    se: float = np.nan
    low: float = np.nan
    high: float = np.nan


MISSING_ESTIMATE = Estimate(np.nan)
"""Result for a measure that is not defined."""


def observed_class_prior(counts: Floats, prior: Floats | None) -> Floats:
    """Return the prior, restricted to the classes with rows and normalized.

    Parameters
    ----------
    counts : (K, K) float
        Actual (rows) by predicted classes.
    prior : (K,) float or None
        Prior probabilities; None for the proportions of the rows.

    Returns
    -------
    (K,) float
        They sum to one; NaN if no class with rows has a positive proportion.
    """
    rows = counts.sum(axis=1)
    pi = rows if prior is None else np.where(rows > 0, prior, 0.0)
    total = pi.sum()
    return np.asarray(pi / total if total > 0 else np.full(len(pi), np.nan))


def _row_proportions(counts: Floats) -> Floats:
    """Return the proportions (K, K) of predictions in each actual class; zero for a class without rows."""
    rows = counts.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rows > 0, counts / rows, 0.0)


def accuracy(counts: Floats, prior: Floats | None, level: float) -> Estimate:
    """Return the proportion of correctly classified rows with its interval.

    Parameters
    ----------
    counts : (K, K) float
        Actual by predicted classes.
    prior : (K,) float or None
        Prior probabilities that weight the classes; None for the proportions of the rows.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        One minus the error rate of `error_rate_from_counts` and its limits; NaN without rows.

    Examples
    --------
    >>> accuracy(np.array([[8.0, 2.0], [1.0, 9.0]]), None, 0.95).estimate
    0.85
    """
    rate_prior = np.ones(len(counts)) if prior is None else prior
    rates = error_rate_from_counts(counts, rate_prior, None, level, sampled=prior is None)
    total = misclassified_and_total_counts(counts)[1]
    proportion_correct = float(np.trace(counts)) / total if prior is None and total else 1 - rates.estimate
    return Estimate(proportion_correct, rates.se, 1 - rates.high, 1 - rates.low)


def balanced_accuracy(counts: Floats, level: float) -> Estimate:
    """Return the mean of the sensitivities of the classes with rows, from a confusion table (K, K).

    The interval at confidence `level` is the one of `accuracy` for equal prior probabilities.
    """
    return accuracy(counts, np.full(len(counts), 1 / len(counts)), level)


def kappa(counts: Floats, prior: Floats | None, level: float) -> Estimate:
    """Compute Cohen's kappa, the chance-corrected agreement of actual and predicted classes.

    The interval is normal on the scale of Fisher's z.

    Parameters
    ----------
    counts : (K, K) float
        Actual by predicted classes.
    prior : (K,) float or None
        Prior probabilities that weight the classes; None for the proportions of the rows.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        All values are NaN if chance agreement is 1 or all counts are zero; the limits are NaN if the standard
        error is zero and kappa is not 1.

    Examples
    --------
    >>> round(kappa(np.array([[20.0, 5.0], [10.0, 15.0]]), None, 0.95).estimate, 6)
    0.4
    """
    rows = counts.sum(axis=1)
    pi = observed_class_prior(counts, prior)
    row_proportions = _row_proportions(counts)
    joint = pi[:, None] * row_proportions
    predicted_proportions = joint.sum(axis=0)
    observed_agreement = float(np.trace(joint))
    chance_agreement = float(pi @ predicted_proportions)
    if not chance_agreement < 1:
        return MISSING_ESTIMATE
    estimate = (observed_agreement - chance_agreement) / (1 - chance_agreement)
    slopes = (
        np.eye(len(counts)) * (1 - chance_agreement)
        - (1 - observed_agreement) * (predicted_proportions[:, None] + pi)
    ) / (1 - chance_agreement) ** 2
    if prior is None:
        mean_slope = float((joint * slopes).sum())
        variance = float((joint * (slopes - mean_slope) ** 2).sum()) / float(rows.sum())
    else:
        mean_slopes = (row_proportions * slopes).sum(axis=1)
        slope_variances = (row_proportions * (slopes - mean_slopes[:, None]) ** 2).sum(axis=1)
        variance = float(pi**2 @ np.divide(slope_variances, rows, out=np.zeros(len(rows)), where=rows > 0))
    # If predictions are independent of the class, the differences above are zero up to rounding.
    rounding = ZERO_TOLERANCE * float(np.abs(slopes).max()) / float(np.sqrt(rows.sum()))
    se = float(np.sqrt(variance)) if variance > rounding**2 else 0.0
    if not se > 0:
        if abs(1 - estimate) > ZERO_TOLERANCE:
            return Estimate(estimate, se)
        effective = 1 / float(np.divide(pi**2, rows, out=np.zeros(len(rows)), where=rows > 0).sum())
        low = exact_interval(effective, effective, level)[0]
        # With p_e fixed, a low agreement of classes of unequal proportions may yield a value below -1.
        return Estimate(estimate, se, max((low - chance_agreement) / (1 - chance_agreement), -1.0), 1.0)
    centre = np.arctanh(estimate)
    half = check_level(level) * se / (1 - estimate**2)
    return Estimate(estimate, se, float(np.tanh(centre - half)), float(np.tanh(centre + half)))


def class_measures(counts: Floats, prior: Floats | None, level: float) -> list[tuple[Estimate, ...]]:
    """Compute the `MEASURES` of each class against all others.

    A class without rows has a missing sensitivity, a class that is never predicted a missing positive
    predictive value. Without a prior all intervals are exact binomial ones; with a prior the interval of the
    specificity combines the classes (*Counting* in the module docstring), and the intervals of predictive
    values are normal on the logit scale.

    Parameters
    ----------
    counts : (K, K) float
        Actual (rows) by predicted classes.
    prior : (K,) float or None
        Prior probabilities that weight the classes; None for the proportions of the rows.
    level : float
        Confidence level.

    Returns
    -------
    list of tuple of Estimate
        One tuple for each class, in the order of `MEASURES`.
    """
    rows = counts.sum(axis=1)
    n_predicted = counts.sum(axis=0)
    true_positives = np.diag(counts)
    total = float(counts.sum())
    if prior is None:
        n_other_classes = total - rows
        n_not_predicted = total - n_predicted
        # Rows of other classes that are not assigned to the class.
        true_negatives = n_other_classes - n_predicted + true_positives
        hits_and_totals = (
            (true_positives, rows),
            (true_negatives, n_other_classes),
            (true_positives, n_predicted),
            (true_negatives, n_not_predicted),
        )
        return [
            tuple(
                _binomial_estimate(float(hits[k]), float(totals[k]), level)
                for hits, totals in hits_and_totals
            )
            for k in range(len(counts))
        ]
    pi = observed_class_prior(counts, prior)
    row_proportions = _row_proportions(counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = np.where(rows[:, None] > 0, row_proportions * (1 - row_proportions) / rows[:, None], 0.0)
    measures: list[tuple[Estimate, ...]] = []
    for k in range(len(counts)):
        other_prior = np.where(np.arange(len(counts)) == k, 0.0, pi)
        class_prior = np.where(np.arange(len(counts)) == k, pi, 0.0)
        predicted_share = row_proportions[:, k]
        not_predicted_share = 1 - row_proportions[:, k]
        label_variances = variances[:, k]
        measures.append(
            (
                _binomial_estimate(float(true_positives[k]), float(rows[k]), level),
                _stratified_estimate(other_prior, not_predicted_share, label_variances, rows, level),
                _predictive_value(class_prior, other_prior, predicted_share, label_variances, rows, level),
                _predictive_value(
                    other_prior, class_prior, not_predicted_share, label_variances, rows, level
                ),
            )
        )
    return measures


def _binomial_estimate(hits: float, rows: float, level: float) -> Estimate:
    """Return the proportion `hits` / `rows` with its standard error and exact interval; NaN without rows."""
    if not rows > 0:
        return MISSING_ESTIMATE
    # Differences of sums of weights may be off by a rounding error.
    proportion = min(max(hits / rows, 0.0), 1.0)
    return Estimate(
        proportion,
        float(np.sqrt(proportion * (1 - proportion) / rows)),
        *exact_interval(proportion * rows, rows, level),
    )


def _stratified_estimate(
    pi: Floats, proportions: Floats, variances: Floats, rows: Floats, level: float
) -> Estimate:
    """Return a weighted mean of proportions of classes, with its standard error and interval.

    Parameters
    ----------
    pi : (K,) float
        Weights of the classes, which need not sum to one.
    proportions, variances : (K,) float
        Proportion in each class, and its variance.
    rows : (K,) float
        Number of rows of each class.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        The interval is computed by `weighted_mean_interval`; all values are NaN if no weight is positive.
    """
    total = float(pi.sum())
    if not total > 0:
        return MISSING_ESTIMATE
    weights = pi / total
    proportion = float(weights @ proportions)
    variance = float(weights**2 @ variances)
    has_weight = weights > 0
    limits = weighted_mean_interval(weights[has_weight], proportions[has_weight], rows[has_weight], level)
    return Estimate(proportion, float(np.sqrt(variance)), *limits)


def _predictive_value(
    right_prior: Floats,
    wrong_prior: Floats,
    predicted_proportions: Floats,
    variances: Floats,
    rows: Floats,
    level: float,
) -> Estimate:
    """Compute a predictive value by Bayes' theorem: the probability that a certain prediction is right.

    Parameters
    ----------
    right_prior, wrong_prior : (K,) float
        Prior probabilities of the classes for which the prediction is right, and for which it is wrong.
    predicted_proportions, variances : (K,) float
        Proportion of each class with the prediction, and its variance.
    rows : (K,) float
        Number of rows of each class.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        All values are NaN if no class has the prediction; standard error and limits are NaN if one of the
        priors is zero for all classes. For a value of 0 or 1 only the standard error is NaN; see the module
        docstring for the limits.
    """
    a = float(right_prior @ predicted_proportions)
    b = float(wrong_prior @ predicted_proportions)
    if not a + b > 0:
        return MISSING_ESTIMATE
    predictive_value = a / (a + b)
    if not (right_prior.any() and wrong_prior.any()):
        return Estimate(predictive_value)
    if not (a > 0 and b > 0):
        adjusted_rows = rows + check_level(level) ** 2
        adjusted_proportions = (predicted_proportions * rows + check_level(level) ** 2 / 2) / adjusted_rows
        adjusted_estimate = _predictive_value(
            right_prior,
            wrong_prior,
            adjusted_proportions,
            adjusted_proportions * (1 - adjusted_proportions) / adjusted_rows,
            adjusted_rows,
            level,
        )
        return Estimate(
            predictive_value,
            np.nan,
            *((adjusted_estimate.low, 1.0) if a > 0 else (0.0, adjusted_estimate.high)),
        )
    se_logit = float(np.sqrt(right_prior**2 @ variances / a**2 + wrong_prior**2 @ variances / b**2))
    half = check_level(level) * se_logit
    logit = float(np.log(a) - np.log(b))
    low, high = (float(1 / (1 + np.exp(-limit))) for limit in (logit - half, logit + half))
    return Estimate(predictive_value, predictive_value * (1 - predictive_value) * se_logit, low, high)
