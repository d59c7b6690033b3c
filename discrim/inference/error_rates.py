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

*Bootstrap.* The .632+ estimate (Efron & Tibshirani, 1997, JASA 92, 548-560) of the apparent error a, the
error e of rows outside bootstrap samples and the no-information error g (class and label independent) is

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
side is computed after adding z^2 rows to each class, half of them with the call in question, z the normal
quantile, as the authors recommend for proportions near 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats, refuse_beyond_memory
from discrim.core.numerics.special import beta_ppf, normal_isf
from discrim.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """An estimate of the error rate with its interval.

    Attributes
    ----------
    by_class : (K,) float
        Error rates of the classes.
    estimate, se, low, high : float
        Overall rate, standard error and limits; NaN if the method does not provide them.
    wrong, total : float
        Sums of the weights of misclassified rows and of all rows, for methods that count.
    """

    by_class: Floats
    estimate: float
    se: float
    low: float
    high: float
    wrong: float = np.nan
    total: float = np.nan


def counts_of(actual: Codes, predicted: Codes, k: int, weights: Floats | None = None) -> NDArray[np.generic]:
    """Count actual by predicted classes.

    Parameters
    ----------
    actual, predicted : (n,) int
        Class codes. Rows with a negative code, or a prediction of k or more, are left out.
    k : int
        Number of classes.
    weights : (n,) float, optional

    Returns
    -------
    (K, K) int or float
        Counts, or sums of weights.
    """
    refuse_beyond_memory(
        2.0 * k**2,
        f"A table of {k:,} by {k:,} classes",
        "Compare predict() with the classes of the rows instead, or merge rare classes",
    )
    known = (actual >= 0) & (predicted >= 0) & (predicted < k)
    cells = actual[known] * k + predicted[known]
    return np.bincount(cells, None if weights is None else weights[known], k * k).reshape(k, k)


def confusion_table(
    actual: Codes, predicted: Codes, classes: pd.Index, weights: Floats | None = None
) -> pd.DataFrame:
    """Return a table of counts of actual (rows) by predicted (columns) classes.

    Parameters
    ----------
    actual, predicted : (n,) int
        Class codes; rows with a negative code are left out.
    classes : pandas.Index
        Labels of the K classes.
    weights : (n,) float, optional

    Returns
    -------
    pandas.DataFrame
        K by K counts, or sums of weights.
    """
    counts = counts_of(actual, predicted, len(classes), weights)
    return pd.DataFrame(counts, index=classes.rename("actual"), columns=classes.rename("predicted"))


def counted(counts: Floats, shares: Floats, costs: Floats | None, level: float, *, sampled: bool) -> Rates:
    """Error rate or mean cost of a confusion table.

    Parameters
    ----------
    counts : (K, K) float
        Actual by predicted classes.
    shares : (K,) float
        Prior probabilities; classes without rows are excluded.
    costs : (K, K) float or None
        Costs of assigning class k to class j; None to count errors.
    level : float
        Confidence level.
    sampled : bool
        Whether class proportions are estimated from the rows, which makes the errors binomial.

    Returns
    -------
    Rates
    """
    check_level(level)
    rows = counts.sum(axis=1)
    wrong, total = wrong_of(counts)
    unit = 1.0 - np.eye(len(counts)) if costs is None else costs
    with np.errstate(divide="ignore", invalid="ignore"):
        share = counts / rows[:, None]
        by_class = (share * unit).sum(axis=1)
        variance = ((share * unit**2).sum(axis=1) - by_class**2) / rows
    sums = rows, by_class, variance, wrong, total
    most = None if costs is None else float(unit.max())
    return _of_classes(sums, shares, level, most, sampled=sampled)


def wrong_of(counts: Floats) -> tuple[float, float]:
    """Sum of the misclassified rows, and of all rows, of a confusion table (K, K).

    The total is the sum of correct and wrong counts. Otherwise the order of additions could make a proportion
    of fractional weights exceed one.
    """
    wrong = float((counts - np.diag(np.diag(counts))).sum())
    return wrong, wrong + float(np.trace(counts))


def counted_labels(
    actual: Codes,
    predicted: Codes,
    shares: Floats,
    weights: Floats | None,
    level: float,
    *,
    sampled: bool,
) -> Rates:
    """Error rate of predicted classes, as `counted` but without forming the confusion table.

    Parameters
    ----------
    actual, predicted : (n,) int
        Class codes; rows with a negative code are left out.
    shares : (K,) float
        Prior probabilities.
    weights : (n,) float or None
    level : float
        Confidence level.
    sampled : bool
        Whether class proportions are estimated from the rows.

    Returns
    -------
    Rates
    """
    check_level(level)
    k = len(shares)
    known = (actual >= 0) & (predicted >= 0) & (predicted < k)
    w = np.ones(int(known.sum())) if weights is None else weights[known]
    codes = actual[known]
    missed = (actual != predicted)[known]
    rows = np.bincount(codes, w, k).astype(np.float64, copy=False)
    wrong_by_class = np.bincount(codes[missed], w[missed], k)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_class = wrong_by_class / rows
        variance = (by_class - by_class**2) / rows
    wrong = float(wrong_by_class.sum())
    sums = rows, by_class, variance, wrong, wrong + float((rows - wrong_by_class).sum())
    return _of_classes(sums, shares, level, None, sampled=sampled)


def _of_classes(
    sums: tuple[Floats, Floats, Floats, float, float],
    shares: Floats,
    level: float,
    most: float | None,
    *,
    sampled: bool,
) -> Rates:
    """Combine the rates of the classes into an overall rate with its interval.

    Parameters
    ----------
    sums : tuple
        Number of rows (K,), mean cost (K,) and its variance (K,) by class; sums of the weights of
        misclassified rows and of all rows.
    shares : (K,) float
        Prior probabilities.
    level : float
        Confidence level.
    most : float or None
        Highest cost; None if errors are counted.
    sampled : bool
        Whether class proportions are estimated from the rows.

    Returns
    -------
    Rates
        NaN if there are no rows, or only rows of classes with zero prior probability.
    """
    rows, by_class, variance, wrong, total = sums
    if not total:
        return Rates(by_class, np.nan, np.nan, np.nan, np.nan, wrong, total)
    pi = rows / total if sampled else np.where(rows > 0, shares, 0.0)
    if not pi.sum():
        # Only classes without rows have a positive prior.
        return Rates(by_class, np.nan, np.nan, np.nan, np.nan, wrong, total)
    pi = pi / pi.sum()
    there = pi > 0
    rate = float(pi[there] @ by_class[there])
    effective = 1 / float((pi[there] ** 2 / rows[there]).sum())
    if most is not None:
        spread = float(pi[there] ** 2 @ np.maximum(variance[there], 0.0))
        if sampled:
            spread += float(pi[there] @ (by_class[there] - rate) ** 2) / total
        unseen = most * exact_interval(0.0, effective, level)[1]
        low, high = (0.0, 0.0) if rate == spread == 0 else log_interval(rate, spread, level)
        high = min(max(high, rate + unseen), most)
        return Rates(by_class, rate, float(np.sqrt(spread)), low, high, wrong, total)
    if sampled:
        rate = wrong / total
        error = float(np.sqrt(rate * (1 - rate) / total))
        return Rates(by_class, rate, error, *exact_interval(wrong, total, level), wrong, total)
    spread = float(pi[there] ** 2 @ np.maximum(variance[there], 0.0))
    interval = mixed_interval(pi[there], by_class[there], rows[there], level)
    return Rates(by_class, rate, float(np.sqrt(spread)), *interval, wrong, total)


def posterior_based(
    posteriors: Floats, actual: Codes, shares: Floats, weights: Floats | None, *, stratified: bool
) -> Rates:
    """Estimate the error rate from posterior probabilities; without an interval.

    Parameters
    ----------
    posteriors : (n, K) float
        Rows with a missing posterior are left out.
    actual : (n,) int
        Class codes; rows with a negative code are left out.
    shares : (K,) float
        Prior probabilities q.
    weights : (n,) float or None
    stratified : bool
        Whether rows are weighted to the prior probabilities (see the module docstring).

    Returns
    -------
    Rates
    """
    known = (actual >= 0) & ~np.isnan(posteriors[:, 0])
    p = posteriors[known]
    codes = actual[known]
    w = np.ones(len(p)) if weights is None else weights[known]
    k = len(shares)
    if stratified:
        rows = np.bincount(codes, w, k)
        share = w * np.divide(shares, rows, out=np.zeros(k), where=rows > 0)[codes]
    else:
        share = w / float(w.sum())
    best = p.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_class = 1 - np.bincount(np.argmax(p, axis=1), share * best, k) / shares
    return Rates(by_class, 1 - float(share @ best), np.nan, np.nan, np.nan)


def no_information(counts: Floats, shares: Floats, costs: Floats | None) -> float:
    """Error rate if class and prediction were independent, sum_kj pi_k q_j c_kj.

    Parameters
    ----------
    counts : (K, K) float
        Actual by predicted classes; they determine q.
    shares : (K,) float
        Prior probabilities pi.
    costs : (K, K) float or None
        None to count errors.

    Returns
    -------
    float
    """
    unit = 1.0 - np.eye(len(counts)) if costs is None else costs
    rows = counts.sum(axis=1)
    share = np.divide(counts, rows[:, None], out=np.zeros(counts.shape), where=rows[:, None] > 0)
    return float(shares @ unit @ (shares @ share))


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """Predictions for rows outside bootstrap samples drawn within classes.

    Attributes
    ----------
    actual : (n,) int
        Class of each row.
    predicted : (n,) int
        Class assigned by the rule fitted to all rows; negative if there is none.
    drawn : (B, n) int
        Number of times that each row is in each sample.
    called : (B, n) int
        Class assigned by the rule fitted to the sample; negative if the row is in the sample or has no
        prediction.
    """

    actual: Codes
    predicted: Codes
    drawn: NDArray[np.integer]
    called: NDArray[np.integer]


def point_six_three_two(
    rows: Resampled, prior: Floats, costs: Floats | None, level: float, *, sampled: bool
) -> Rates:
    """Compute the .632+ bootstrap estimate of the error rate.

    The interval is normal on the logit scale, or on the log scale for mean costs.

    Parameters
    ----------
    rows : Resampled
    prior : (K,) float
        Prior probabilities.
    costs : (K, K) float or None
        None to count errors.
    level : float
        Confidence level.
    sampled : bool
        Whether class proportions are estimated from the rows.

    Returns
    -------
    Rates
        Standard error and limits are NaN if there are too few samples to separate the variance from
        Monte Carlo noise.
    """
    k = len(prior)
    unit = 1.0 - np.eye(k) if costs is None else costs
    table = counts_of(rows.actual, rows.predicted, k).astype(np.float64)
    apparent = counted(table, prior, costs, level, sampled=False).estimate
    gamma = no_information(table, prior, costs)
    shares = (prior / np.bincount(rows.actual, minlength=k))[rows.actual]
    times = (rows.called >= 0).sum(axis=0)
    if not times.any():
        return Rates(np.full(k, np.nan), np.nan, np.nan, np.nan, np.nan)
    weight = np.where(times > 0, shares, 0.0)
    weight /= weight.sum()
    losses, pulls, noise = _left_outside(rows, weight, times, unit)
    outside = float(weight @ losses)
    rate, slopes = _weighed(apparent, outside, gamma)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_class = np.bincount(rows.actual, weight * losses, k) / np.bincount(rows.actual, weight, k)
    in_class = table.sum(axis=1, keepdims=True)
    called = np.divide(table, in_class, out=np.zeros((k, k)), where=in_class > 0)
    blind = prior @ unit
    known = rows.predicted >= 0
    apparent_loss, blind_loss = np.zeros((2, len(weight)))
    apparent_loss[known] = unit[rows.actual[known], rows.predicted[known]]
    blind_loss[known] = blind[rows.predicted[known]]
    direct = np.column_stack([apparent_loss, losses, blind_loss]) @ slopes
    moved = weight * direct + slopes[1] * pulls
    variance = _within_classes(moved, rows.actual, k) - slopes[1] ** 2 * noise
    if sampled:
        classes = [(called * unit).sum(axis=1), by_class, unit @ (prior @ called) + called @ blind]
        each = np.nan_to_num(np.column_stack(classes)) @ slopes
        variance += float(prior @ (each - prior @ each) ** 2) / len(weight)
    return Rates(by_class, rate, *_spread_of(rate, variance, weight, costs, level))


def _left_outside(
    rows: Resampled, weight: Floats, times: NDArray[np.integer], unit: Floats
) -> tuple[Floats, Floats, float]:
    """Losses of rows outside the samples, and the influence of each row on their mean.

    Parameters
    ----------
    rows : Resampled
    weight : (n,) float
        Weights of the rows; they sum to one.
    times : (n,) int
        Number of samples that do not contain each row.
    unit : (K, K) float
        Costs.

    Returns
    -------
    losses : (n,) float
        Mean loss of each row in the samples without it.
    pulls : (n,) float
        Covariance over samples between the number of times a row is drawn and the weighted losses of the
        other rows.
    noise : float
        Monte Carlo variance of the pulls, summed over rows.
    """
    n_samples, n = rows.called.shape
    sums = np.zeros(n)
    for called in rows.called:
        out = called >= 0
        sums[out] += unit[rows.actual[out], called[out]]
    losses = np.divide(sums, times, out=np.zeros(n), where=times > 0)
    share = np.divide(weight * n_samples, times, out=np.zeros(n), where=times > 0)
    pulls, squares = np.zeros((2, n))
    for drawn, called in zip(rows.drawn, rows.called, strict=True):
        out = called >= 0
        excess = float(share[out] @ (unit[rows.actual[out], called[out]] - losses[out]))
        pull = (drawn - 1.0) * excess
        pulls += pull
        squares += pull**2
    pulls /= n_samples
    return losses, pulls, float((squares / n_samples - pulls**2).sum()) / max(n_samples - 1, 1)


def _weighed(apparent: float, outside: float, gamma: float) -> tuple[float, Floats]:
    """Compute the .632+ estimate and its gradient.

    Parameters
    ----------
    apparent, outside, gamma : float
        Apparent error, error of rows outside the samples, and no-information error.

    Returns
    -------
    rate : float
    slopes : (3,) float
        Derivatives with respect to the three errors.
    """
    bounded = min(outside, gamma)
    if not (bounded > apparent and gamma > apparent):
        rate = 0.368 * apparent + 0.632 * bounded
        slopes = np.array([0.368, 0.632, 0.0])
    else:
        span = gamma - apparent
        overfit = (bounded - apparent) / span
        w = 0.632 / (1 - 0.368 * overfit)
        rate = (1 - w) * apparent + w * bounded
        turn = overfit * 0.368 * w**2 / 0.632
        slopes = np.array([1 - w + turn * (overfit - 1), w + turn, -turn * overfit])
    if outside > gamma:
        slopes[2] += slopes[1]
        slopes[1] = 0.0
    return rate, slopes


def _within_classes(moved: Floats, codes: Codes, k: int) -> float:
    """Variance of a sum of row contributions under sampling within classes.

    Parameters
    ----------
    moved : (n,) float
        Contributions.
    codes : (n,) int
        Class of each row.
    k : int
        Number of classes.

    Returns
    -------
    float
    """
    rows = np.bincount(codes, minlength=k)
    mean = np.bincount(codes, moved, k) / np.maximum(rows, 1)
    squares = np.bincount(codes, (moved - mean[codes]) ** 2, k)
    return float((squares * rows / np.maximum(rows - 1, 1)).sum())


def _spread_of(
    rate: float, variance: float, weight: Floats, costs: Floats | None, level: float
) -> tuple[float, float, float]:
    """Standard error and limits of a bootstrap error rate.

    Parameters
    ----------
    rate, variance : float
    weight : (n,) float
        Weights of the rows; they sum to one.
    costs : (K, K) float or None
        None if errors are counted.
    level : float
        Confidence level.

    Returns
    -------
    error, low, high : float
        NaN if the variance estimate is not positive and the rate is not zero.
    """
    # Upper limit of the rate if no error is observed in as many rows.
    most = 1.0 if costs is None else float(costs.max())
    unseen = most * exact_interval(0.0, 1 / float(weight @ weight), level)[1]
    if rate == 0 and not variance > 0:
        return 0.0, 0.0, unseen
    if not variance > 0:
        return np.nan, np.nan, np.nan
    error = float(np.sqrt(variance))
    if costs is not None:
        low, high = log_interval(rate, variance, level)
    else:
        low, high = logit_interval(rate, error, level)
    return error, low, float(np.maximum(high, unseen))


def logit_interval(rate: float, error: float, level: float) -> tuple[float, float]:
    """Normal interval on the logit scale; NaN if the rate is not strictly between 0 and 1."""
    if not 0 < rate < 1:
        return np.nan, np.nan
    half = check_level(level) * error / (rate * (1 - rate))
    logit = np.log(rate / (1 - rate))
    with np.errstate(over="ignore"):
        return float(1 / (1 + np.exp(half - logit))), float(1 / (1 + np.exp(-half - logit)))


def rates_table(rates: Sequence[tuple[str, Rates]]) -> pd.DataFrame:
    """Table of estimates, standard errors, limits and counts, one row for each method."""
    columns = ["estimate", "se", "low", "high", "wrong", "total"]
    rows = {name: [getattr(rate, column) for column in columns] for name, rate in rates}
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("method")


def log_interval(rate: float, variance: float, level: float) -> tuple[float, float]:
    """Normal interval of a positive mean on the log scale; NaN for a mean of zero."""
    if not rate > 0:
        return np.nan, np.nan
    half = check_level(level) * np.sqrt(variance) / rate
    return float(rate * np.exp(-half)), float(rate * np.exp(half))


def exact_interval(wrong: float, total: float, level: float) -> tuple[float, float]:
    """Clopper-Pearson interval of the proportion `wrong` / `total`."""
    # The same as statsmodels' proportion_confint(method="beta"), which is thirty times slower, and whose
    # import loads 200 modules. Tests compare the two.
    tail = (1 - level) / 2
    low = float(beta_ppf(tail, wrong, total - wrong + 1)) if wrong > 0 else 0.0
    high = float(beta_ppf(1 - tail, wrong + 1, total - wrong)) if wrong < total else 1.0
    return low, high


def effective_interval(
    rate: float, variance: float, rows: float, units: float, level: float
) -> tuple[float, float]:
    """Exact interval of a proportion of dependent rows, or of rows that were classified several times.

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
    total = min(rate * (1 - rate) / variance, rows) if variance > 0 else units
    return exact_interval(rate * total, total, level)


def mixed_interval(pi: Floats, shares: Floats, rows: Floats, level: float) -> tuple[float, float]:
    """Interval of a weighted mean of proportions of independent samples, from their exact intervals.

    Parameters
    ----------
    pi : (K,) float
        Weights.
    shares : (K,) float
        Proportions.
    rows : (K,) float
        Sample sizes.
    level : float
        Confidence level.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> shares, rows = np.array([0.1, 0.0]), np.array([20.0, 20.0])
    >>> [round(end, 4) for end in mixed_interval(np.array([0.5, 0.5]), shares, rows, 0.95)]
    [0.0062, 0.1873]
    """
    mean = float(pi @ shares)
    below = 0.0
    above = 0.0
    for weight, share, n in zip(pi.tolist(), shares.tolist(), rows.tolist(), strict=True):
        # Sums of weights may exceed one by a rounding error.
        low, high = exact_interval(min(share, 1.0) * n, n, level)
        below += (weight * (share - low)) ** 2
        above += (weight * (high - share)) ** 2
    return max(mean - float(np.sqrt(below)), 0.0), min(mean + float(np.sqrt(above)), 1.0)


def check_level(level: float) -> float:
    """Validate a confidence level; return the half-width of a normal interval in standard errors."""
    number = isinstance(level, (int, float, np.integer, np.floating))
    if not number or not 0 < level < 1:
        raise DataError(f"level={level!r} is not valid.", hint="Give a share between 0 and 1, such as 0.95.")
    return float(normal_isf((1 - level) / 2))


TIE = 1e-12
"""Difference up to which two error rates count as equal."""


def rates_along(wrong: Floats, rows: Floats, shares: Floats, *, sampled: bool) -> tuple[Floats, Floats]:
    """Error rates of several rules and their standard errors; faster than `counted`, without intervals.

    Parameters
    ----------
    wrong : (G, K) float
        Number of misclassified rows of each class, or sums of weights, for each rule; NaN yields NaN.
    rows : (K,) float
        Number of rows of each class.
    shares : (K,) float
        Prior probabilities.
    sampled : bool
        Whether class proportions are estimated from the rows.

    Returns
    -------
    rates, errors : (G,) float

    Examples
    --------
    >>> rows, shares = np.array([10.0, 30.0]), np.array([0.5, 0.5])
    >>> rates_along(np.array([[1.0, 3.0]]), rows, shares, sampled=True)[0].tolist()
    [0.1]
    """
    total = float(rows.sum())
    if sampled:
        rates = wrong.sum(axis=1) / total
        return rates, np.sqrt(rates * (1 - rates) / total)
    there = (rows > 0) & (shares > 0)
    pi = shares[there] / shares[there].sum()
    by_class = wrong[:, there] / rows[there]
    variance = np.maximum(by_class * (1 - by_class), 0.0) / rows[there]
    return by_class @ pi, np.sqrt(variance @ pi**2)


def as_good(errors: Floats, spread: Floats | None = None) -> NDArray[np.bool_]:
    """Return which errors equal the smallest one, or lie within one standard error of it.

    Parameters
    ----------
    errors : (G,) float
    spread : (G,) float, optional
        Standard errors; without them only ties are included.

    Returns
    -------
    (G,) bool

    Examples
    --------
    >>> as_good(np.array([np.nan, 0.1, 0.1, 0.3])).tolist()
    [False, True, True, False]
    >>> as_good(np.array([0.2, 0.1, 0.3]), np.array([0.2, 0.1, 0.3])).tolist()
    [True, True, False]
    """
    least = np.nanargmin(errors)
    slack = TIE if spread is None else TIE + spread[least]
    return np.asarray(errors <= errors[least] + slack)


MEASURES = ("sensitivity", "specificity", "positive predictive value", "negative predictive value")
"""Measures of each class against all others."""

ROUNDING = 1e-14
"""Largest value that counts as zero when values of order one are subtracted."""


class Estimate(NamedTuple):
    """An estimate with its standard error and interval; NaN if a value is not available."""

    estimate: float
    se: float = np.nan
    low: float = np.nan
    high: float = np.nan


NONE = Estimate(np.nan)


def shares_of_rows(counts: Floats, shares: Floats | None) -> Floats:
    """Class proportions (K,) among the classes with rows.

    Parameters
    ----------
    counts : (K, K) float
        Actual by predicted classes.
    shares : (K,) float or None
        Prior probabilities; None for the proportions of the rows.

    Returns
    -------
    (K,) float
        They sum to one; NaN if no class with rows has a positive proportion.
    """
    rows = counts.sum(axis=1)
    pi = rows if shares is None else np.where(rows > 0, shares, 0.0)
    whole = pi.sum()
    return np.asarray(pi / whole if whole > 0 else np.full(len(pi), np.nan))


def accuracy(counts: Floats, shares: Floats | None, level: float) -> Estimate:
    """Proportion of correctly classified rows.

    Parameters
    ----------
    counts : (K, K) float
        Actual by predicted classes.
    shares : (K,) float or None
        Prior probabilities that weight the classes; None for the proportions of the rows.
    level : float
        Confidence level.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> accuracy(np.array([[8.0, 2.0], [1.0, 9.0]]), None, 0.95).estimate
    0.85
    """
    prior = np.ones(len(counts)) if shares is None else shares
    rates = counted(counts, prior, None, level, sampled=shares is None)
    total = wrong_of(counts)[1]
    right = float(np.trace(counts)) / total if shares is None and total else 1 - rates.estimate
    return Estimate(right, rates.se, 1 - rates.high, 1 - rates.low)


def balanced_accuracy(counts: Floats, level: float) -> Estimate:
    """Mean of the sensitivities of the classes that have rows, from counts (K, K)."""
    return accuracy(counts, np.full(len(counts), 1 / len(counts)), level)


def kappa(counts: Floats, shares: Floats | None, level: float) -> Estimate:
    """Cohen's kappa, the chance-corrected agreement of actual and predicted classes.

    The interval is normal on the scale of Fisher's z.

    Parameters
    ----------
    counts : (K, K) float
        Actual by predicted classes.
    shares : (K,) float or None
        Prior probabilities that weight the classes; None for the proportions of the rows.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        All values are NaN if chance agreement is 1; the limits are NaN if the standard error is zero and
        kappa is not 1.

    Examples
    --------
    >>> round(kappa(np.array([[20.0, 5.0], [10.0, 15.0]]), None, 0.95).estimate, 6)
    0.4
    """
    rows = counts.sum(axis=1)
    pi = shares_of_rows(counts, shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        within = np.where(rows[:, None] > 0, counts / rows[:, None], 0.0)
    joint = pi[:, None] * within
    columns = joint.sum(axis=0)
    agreed = float(np.trace(joint))
    chance = float(pi @ columns)
    if not chance < 1:
        return NONE
    estimate = (agreed - chance) / (1 - chance)
    slope = (np.eye(len(counts)) * (1 - chance) - (1 - agreed) * (columns[:, None] + pi)) / (1 - chance) ** 2
    if shares is None:
        mean = float((joint * slope).sum())
        variance = float((joint * (slope - mean) ** 2).sum()) / float(rows.sum())
    else:
        mean_of = (within * slope).sum(axis=1)
        spread = (within * (slope - mean_of[:, None]) ** 2).sum(axis=1)
        variance = float(pi**2 @ np.divide(spread, rows, out=np.zeros(len(rows)), where=rows > 0))
    # If predictions are independent of the class, the differences above are zero up to rounding.
    rounding = ROUNDING * float(np.abs(slope).max()) / float(np.sqrt(rows.sum()))
    error = float(np.sqrt(variance)) if variance > rounding**2 else 0.0
    if not error > 0:
        if abs(1 - estimate) > ROUNDING:
            return Estimate(estimate, error)
        effective = 1 / float(np.divide(pi**2, rows, out=np.zeros(len(rows)), where=rows > 0).sum())
        low = exact_interval(effective, effective, level)[0]
        # With p_e fixed, a low agreement of classes of unequal proportions may yield a value below -1.
        return Estimate(estimate, error, max((low - chance) / (1 - chance), -1.0), 1.0)
    centre = np.arctanh(estimate)
    half = check_level(level) * error / (1 - estimate**2)
    return Estimate(estimate, error, float(np.tanh(centre - half)), float(np.tanh(centre + half)))


def class_measures(counts: Floats, shares: Floats | None, level: float) -> list[tuple[Estimate, ...]]:
    """Compute the `MEASURES` of each class against all others.

    A class without rows has a missing sensitivity, a class that is never predicted a missing positive
    predictive value.

    Parameters
    ----------
    counts : (K, K) float
        Actual by predicted classes.
    shares : (K,) float or None
        Prior probabilities that weight the classes; None for the proportions of the rows.
    level : float
        Confidence level.

    Returns
    -------
    list of tuple of Estimate
        One tuple for each class, in the order of `MEASURES`.
    """
    rows = counts.sum(axis=1)
    called = counts.sum(axis=0)
    right = np.diag(counts)
    total = float(counts.sum())
    if shares is None:
        others = total - rows
        left = total - called
        # Rows of other classes that are not assigned to the class.
        refused = others - called + right
        parts = ((right, rows), (refused, others), (right, called), (refused, left))
        return [
            tuple(_binomial(float(hits[k]), float(of[k]), level) for hits, of in parts)
            for k in range(len(counts))
        ]
    pi = shares_of_rows(counts, shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        within = np.where(rows[:, None] > 0, counts / rows[:, None], 0.0)
        variances = np.where(rows[:, None] > 0, within * (1 - within) / rows[:, None], 0.0)
    measures: list[tuple[Estimate, ...]] = []
    for k in range(len(counts)):
        other_prior = np.where(np.arange(len(counts)) == k, 0.0, pi)
        class_prior = np.where(np.arange(len(counts)) == k, pi, 0.0)
        called_k = within[:, k]
        passed_k = 1 - within[:, k]
        spread = variances[:, k]
        measures.append(
            (
                _binomial(float(right[k]), float(rows[k]), level),
                _stratified(other_prior, passed_k, spread, rows, level),
                _predictive(class_prior, other_prior, called_k, spread, rows, level),
                _predictive(other_prior, class_prior, passed_k, spread, rows, level),
            )
        )
    return measures


def _binomial(hits: float, rows: float, level: float) -> Estimate:
    """Proportion hits / rows with its exact interval."""
    if not rows > 0:
        return NONE
    # Differences of sums of weights may be off by a rounding error.
    share = min(max(hits / rows, 0.0), 1.0)
    return Estimate(
        share, float(np.sqrt(share * (1 - share) / rows)), *exact_interval(share * rows, rows, level)
    )


def _stratified(pi: Floats, shares: Floats, variances: Floats, rows: Floats, level: float) -> Estimate:
    """Weighted mean of the proportions of classes, with its interval.

    Parameters
    ----------
    pi : (K,) float
        Weights, which need not sum to one.
    shares, variances : (K,) float
        Proportions and their variances.
    rows : (K,) float
        Number of rows of each class.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
    """
    whole = float(pi.sum())
    if not whole > 0:
        return NONE
    weights = pi / whole
    share = float(weights @ shares)
    variance = float(weights**2 @ variances)
    there = weights > 0
    limits = mixed_interval(weights[there], shares[there], rows[there], level)
    return Estimate(share, float(np.sqrt(variance)), *limits)


def _predictive(
    true: Floats, false: Floats, called: Floats, variances: Floats, rows: Floats, level: float
) -> Estimate:
    """Predictive value by Bayes' theorem: the probability that a row with a given prediction belongs to it.

    Parameters
    ----------
    true, false : (K,) float
        Prior probabilities of the classes for which the prediction is right, and for which it is wrong.
    called, variances : (K,) float
        Proportion of each class with the prediction, and its variance.
    rows : (K,) float
        Number of rows of each class.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
    """
    a = float(true @ called)
    b = float(false @ called)
    if not a + b > 0:
        return NONE
    share = a / (a + b)
    if not (true.any() and false.any()):
        return Estimate(share)
    if not (a > 0 and b > 0):
        more = rows + check_level(level) ** 2
        added = (called * rows + check_level(level) ** 2 / 2) / more
        near = _predictive(true, false, added, added * (1 - added) / more, more, level)
        return Estimate(share, np.nan, *((near.low, 1.0) if a > 0 else (0.0, near.high)))
    error = float(np.sqrt(true**2 @ variances / a**2 + false**2 @ variances / b**2))
    half = check_level(level) * error
    logit = float(np.log(a) - np.log(b))
    low, high = (float(1 / (1 + np.exp(-end))) for end in (logit - half, logit + half))
    return Estimate(share, share * (1 - share) * error, low, high)
