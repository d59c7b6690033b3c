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

and for fixed proportions mean + sqrt(sum_k (pi_k u_k mean_k(w))^2), similar to `mixed_interval`. The
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
when d^2 is small and this case is excluded; otherwise there is no estimate.
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
    effective_interval,
    exact_interval,
    log_interval,
    mixed_interval,
)


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bins of rows by their predicted probability.

    Attributes
    ----------
    predicted : (B,) float
        Mean probability.
    observed : (B,) float
        Proportion of rows that belong to the class.
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
    true: NDArray[np.bool_],
    bins: int = 10,
    weights: Floats | None = None,
    level: float = 0.95,
) -> Bins:
    """Compare predicted probabilities with observed proportions in bins.

    Parameters
    ----------
    proba : (n,) float
        Predicted probabilities.
    true : (n,) bool
        Whether the row belongs to the class.
    bins : int
        Maximum number of bins; ties reduce it.
    weights : (n,) float, optional
        Frequency weights.
    level : float
        Confidence level.

    Returns
    -------
    Bins

    Examples
    --------
    >>> bins = calibration_bins(np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, True, True, True]), bins=2)
    >>> bins.predicted.round(2).tolist(), bins.observed.tolist()
    ([0.15, 0.85], [0.5, 1.0])
    """
    binning = binned(proba, true, bins, weights)
    return Bins(
        binning.predicted,
        binning.observed,
        *wilson_interval(binning.observed, binning.rows, level),
        binning.rows,
    )


class Binned(NamedTuple):
    """Distinct probabilities and the bins that contain them.

    Attributes
    ----------
    values : (v,) float
        Distinct probabilities, ascending.
    counts, hits : (v,) float
        Number of rows with each probability, and number of those rows that belong to the class.
    at : (v,) int
        Bin of each probability.
    rows, predicted, observed : (B,) float
        See `Bins`.
    """

    values: Floats
    counts: Floats
    hits: Floats
    at: NDArray[np.intp]
    rows: Floats
    predicted: Floats
    observed: Floats


def binned(proba: Floats, true: NDArray[np.bool_], bins: int = 10, weights: Floats | None = None) -> Binned:
    """Cut probabilities into bins of about equal counts.

    Parameters
    ----------
    proba : (n,) float
    true : (n,) bool
    bins : int
        Maximum number of bins.
    weights : (n,) float, optional
        Frequency weights.

    Returns
    -------
    Binned

    Raises
    ------
    DataError
        If `bins` is not a positive integer.
    """
    if not isinstance(bins, (int, np.integer)) or isinstance(bins, bool) or bins < 1:
        raise DataError(f"bins={bins!r} is not valid.", hint="Give a whole number from 1 on.")
    values, at = np.unique(proba, return_inverse=True)
    weights = np.ones(len(proba)) if weights is None else weights
    counts = np.bincount(at, weights, len(values)).astype(np.float64)
    hits = np.bincount(at, weights * true, len(values)).astype(np.float64)
    before = np.cumsum(counts) - counts
    total = float(counts.sum())
    there = counts > 0
    values = values[there]
    counts = counts[there]
    hits = hits[there]
    # Ties are assigned by their midrank, which makes the bins symmetric.
    bin_of = np.minimum((bins * (before[there] + counts / 2) / total).astype(np.intp), bins - 1)
    _, bin_of = np.unique(bin_of, return_inverse=True)
    rows = np.bincount(bin_of, counts).astype(np.float64)
    predicted = np.bincount(bin_of, counts * values) / rows
    return Binned(values, counts, hits, bin_of, rows, predicted, np.bincount(bin_of, hits) / rows)


def wilson_interval(share: Floats, rows: Floats, level: float) -> tuple[Floats, Floats]:
    """Wilson's interval of binomial proportions.

    Parameters
    ----------
    share, rows : (B,) float
        Proportions and numbers of rows.
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
    squared = check_level(level) ** 2
    # Roots of a quadratic, written so that the limits of 0 and 1 are exact. In statsmodels'
    # proportion_confint(method="wilson") they are off by rounding errors.
    middle = share * rows + squared / 2
    half = np.sqrt(squared) * np.sqrt(rows * share * (1 - share) + squared / 4)
    low = np.where(share > 0, middle - half, 0.0) / (rows + squared)
    high = np.where(share < 1, middle + half, rows + squared) / (rows + squared)
    return np.asarray(low), np.asarray(high)


class BrierParts(NamedTuple):
    """Brier score of one class against the rest, and its decomposition.

    brier = reliability - resolution + uncertainty + within_variance - within_covariance.
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within_variance: float
    within_covariance: float
    bins: int


def judged_residuals(log_odds: Floats, codes: Codes) -> Floats:
    """Differences between probability and outcome, accurate even if probabilities round to one.

    Parameters
    ----------
    log_odds : (m, K) float
        Log odds of each class against the rest.
    codes : (m,) int
        Class of each row.

    Returns
    -------
    (m, K) float

    Examples
    --------
    >>> [f"{gap:.4g}" for gap in judged_residuals(np.array([[50.0, -50.0]]), np.array([0]))[0]]
    ['-1.929e-22', '1.929e-22']
    """
    own_class = (np.arange(len(codes)), codes)
    signed = np.array(log_odds)
    signed[own_class] *= -1
    with np.errstate(over="ignore"):
        residuals = np.asarray(1 / (1 + np.exp(-signed)))
    residuals[own_class] *= -1
    return residuals


def brier_parts(
    proba: Floats, true: NDArray[np.bool_], bins: int = 10, weights: Floats | None = None
) -> BrierParts:
    """Brier score of one class and its decomposition over bins.

    Parameters
    ----------
    proba : (n,) float
        Predicted probabilities.
    true : (n,) bool
        Whether the row belongs to the class.
    bins : int
        Maximum number of bins, see `calibration_bins`.
    weights : (n,) float, optional
        Frequency weights.

    Returns
    -------
    BrierParts

    Examples
    --------
    >>> parts = brier_parts(np.array([0.2, 0.2, 0.8, 0.8]), np.array([False, True, True, True]), bins=2)
    >>> [round(part, 4) for part in parts[:4]]
    [0.19, 0.065, 0.0625, 0.1875]
    """
    binning = binned(proba, true, bins, weights)
    rows = binning.rows
    total = float(binning.rows.sum())
    p = binning.predicted
    o = binning.observed
    overall = float(rows @ o) / total
    off = binning.values - p[binning.at]
    out = binning.hits - binning.counts * o[binning.at]
    misses = binning.counts - binning.hits
    return BrierParts(
        float(misses @ binning.values**2 + binning.hits @ (1 - binning.values) ** 2) / total,
        float(rows @ (p - o) ** 2) / total,
        float(rows @ (o - overall) ** 2) / total,
        overall * (1 - overall),
        float(binning.counts @ off**2) / total,
        2 * float(off @ out) / total,
        len(rows),
    )


HUGE = 1e100
"""Losses above which squares are computed relative to the largest loss."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRows:
    """Rows on which a rule is evaluated.

    Attributes
    ----------
    codes : (m,) int
        Class of each row.
    weights : (m,) float
        Frequency weights.
    n_classes : int
    prior : (K,) float or None
        Class proportions; None if they are estimated from the rows.
    clusters : (m,) int or None
        Group of each row.
    """

    codes: Codes
    weights: Floats
    n_classes: int
    prior: Floats | None
    clusters: Codes | None

    @property
    def rows(self) -> Floats:
        """Sum of weights (K,) by class."""
        return np.bincount(self.codes, self.weights, self.n_classes).astype(np.float64)

    def shares(self) -> Floats:
        """Weight (m,) of each row in a mean; with a prior, classes are reweighted to it."""
        if self.prior is None:
            return self.weights
        rows = self.rows
        factor = np.divide(self.prior * rows.sum(), rows, out=np.zeros(self.n_classes), where=rows > 0)
        return np.asarray(self.weights * factor[self.codes])


def loss_rate(
    losses: Floats,
    judged: JudgedRows,
    level: float,
    *,
    counts: bool,
    if_wrong: Floats | None = None,
) -> tuple[float, float, float, float]:
    """Return the mean of losses, its standard error and its interval.

    Parameters
    ----------
    losses : (m,) float
    judged : JudgedRows
    level : float
        Confidence level.
    counts : bool
        Whether losses are 0 or 1, or means of such values. Their interval is exact, otherwise log-normal.
    if_wrong : (m,) float, optional
        Losses of the rows if their labels were wrong. They raise the upper limit of a log-normal interval
        to allow for unobserved errors.

    Returns
    -------
    mean, error, low, high : float
        All except the mean are NaN if there is a single group.
    """
    shares = judged.shares()
    whole = float(shares.sum())
    # A row of weight zero may have an infinite loss.
    losses = np.where(shares > 0, losses, 0.0)
    largest = float(np.abs(losses).max(initial=0.0))
    if HUGE < largest < np.inf:
        scaled = None if if_wrong is None else if_wrong / largest
        mean, error, low, high = loss_rate(losses / largest, judged, level, counts=counts, if_wrong=scaled)
        return mean * largest, error * largest, low * largest, high * largest
    mean = float(shares @ losses) / whole if whole else np.nan
    if not np.isfinite(mean):
        return mean, np.nan, np.nan, np.nan
    groups = judged.clusters
    rows = float(judged.weights.sum())
    if groups is None:
        variance = _of_rows(losses, judged, mean)
        units = rows
    else:
        sums = np.bincount(groups, shares * (losses - mean))
        units = float(len(np.unique(groups)))
        if units < 2:
            return mean, np.nan, np.nan, np.nan
        variance = float(sums @ sums) / whole**2 * units / (units - 1)
    error = float(np.sqrt(variance))
    if not counts:
        low, high = log_interval(mean, variance, level)
        if if_wrong is not None:
            high = float(np.fmax(high, mean + _unseen_loss(if_wrong, judged, units, level)))
            low = 0.0 if mean == 0 else low
        return mean, error, low, high
    if groups is None and judged.prior is not None:
        each, pi, class_rows = _by_class(losses, judged, judged.prior)
        return mean, error, *mixed_interval(pi, each, class_rows, level)
    return mean, error, *effective_interval(mean, variance, rows, units, level)


def _by_class(values: Floats, judged: JudgedRows, prior: Floats) -> tuple[Floats, Floats, Floats]:
    """Statistics of the classes that contribute to a mean under a prior.

    Parameters
    ----------
    values : (m,) float
    judged : JudgedRows
    prior : (K,) float

    Returns
    -------
    means, pi, rows : (k,) float
        Means of the values, normalized prior and number of rows, for classes with rows and a positive prior.
    """
    rows = judged.rows
    there = (rows > 0) & (prior > 0)
    means = np.bincount(judged.codes, judged.weights * values, judged.n_classes)[there] / rows[there]
    return means, prior[there] / prior[there].sum(), rows[there]


def _unseen_loss(if_wrong: Floats, judged: JudgedRows, units: float, level: float) -> float:
    """Upper limit of the mean loss due to wrong labels if none is observed; see the module docstring.

    Parameters
    ----------
    if_wrong : (m,) float
        Losses of the rows if their labels were wrong.
    judged : JudgedRows
    units : float
        Number of independent rows or groups.
    level : float
        Confidence level.

    Returns
    -------
    float
    """
    shares = judged.shares()
    if_wrong = np.where(shares > 0, if_wrong, 0.0)
    if judged.prior is None or judged.clusters is not None:
        return float(shares @ if_wrong / shares.sum()) * exact_interval(0.0, units, level)[1]
    means, pi, rows = _by_class(if_wrong, judged, judged.prior)
    limits = np.array([exact_interval(0.0, n, level)[1] for n in rows.tolist()])
    return float(np.sqrt(((pi * limits * means) ** 2).sum()))


def runner_up(scores: Floats) -> Codes:
    """Class with the second largest score of each row.

    Parameters
    ----------
    scores : (m, K) float

    Returns
    -------
    (m,) int

    Examples
    --------
    >>> runner_up(np.array([[0.1, 0.7, 0.2], [0.5, 0.4, 0.1]])).tolist()
    [2, 1]
    """
    return np.asarray(np.argpartition(scores, -2, axis=1)[:, -2])


def _of_rows(losses: Floats, judged: JudgedRows, mean: float) -> float:
    """Variance of the mean loss of independent rows.

    Parameters
    ----------
    losses : (m,) float
    judged : JudgedRows
    mean : float

    Returns
    -------
    float
    """
    k = judged.n_classes
    codes = judged.codes
    weights = judged.weights
    rows = judged.rows
    pi = rows if judged.prior is None else np.where(rows > 0, judged.prior, 0.0)
    pi = pi / pi.sum()
    each = np.divide(np.bincount(codes, weights * losses, k), rows, out=np.zeros(k), where=rows > 0)
    spread = np.bincount(codes, weights * (losses - each[codes]) ** 2, k)
    variance = float(pi**2 @ np.divide(spread, rows**2, out=np.zeros(k), where=rows > 0))
    return variance + (float(pi @ (each - mean) ** 2) / rows.sum() if judged.prior is None else 0.0)


def fold_means(values: Floats, shares: Floats, folds: Codes, n_folds: int) -> Floats:
    """Weighted mean of values in each fold.

    Parameters
    ----------
    values, shares : (m,) float
        Values and their weights.
    folds : (m,) int
    n_folds : int

    Returns
    -------
    (n_folds,) float
        NaN for an empty fold.
    """
    whole = np.bincount(folds, shares, n_folds)
    sums = np.bincount(folds, shares * values, n_folds)
    return np.asarray(np.divide(sums, whole, out=np.full(n_folds, np.nan), where=whole > 0))


STEPS = 60
"""Maximum number of Newton steps. If a maximum exists, about ten suffice."""

NEAR = 1e-14
"""Squared distance to the maximum, in standard errors, below which the next step is the last."""

ROUNDED = 1e-12
"""Relative decrease of the log-likelihood that is attributed to rounding."""

FLAT = 1e-13
"""Smallest eigenvalue of the information per row below which the classes count as separated."""


class Recalibration(NamedTuple):
    """Recalibration slope and intercept, each with its standard error.

    Both are NaN if the classes are separated or a probability is zero. The intercept is None unless there are
    two classes and the rows are a sample of the mixture.
    """

    slope: tuple[float, float]
    intercept: tuple[float, float] | None


def log_odds_against_rest(scores: Floats) -> Floats:
    """Return the log odds of each class against all others.

    The log odds differ also for observations whose posteriors all round to one.

    Parameters
    ----------
    scores : (m, K) float
        Log posteriors, which need not be normalized.

    Returns
    -------
    (m, K) float

    Examples
    --------
    >>> log_odds_against_rest(np.array([[0.0, -800.0, -800.0]])).round(4).tolist()
    [[799.3069, -800.0, -800.0]]
    """
    if scores.shape[1] == 2:
        return np.asarray(scores - scores[:, ::-1])
    rows = np.arange(len(scores))
    best = np.argmax(scores, axis=1)
    top = scores[rows, best]
    others = scores.copy()
    others[rows, best] = -np.inf
    second = others.max(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        odds = np.exp(scores - top[:, None])
        others_sum = top[:, None] + np.log(odds.sum(axis=1, keepdims=True) - odds)
        below = np.where(np.isneginf(second), 0.0, second)
        others_sum[rows, best] = below + np.log(np.exp(others - below[:, None]).sum(axis=1))
        return np.asarray(scores - others_sum)


def recalibrated(
    log_odds: Floats, codes: Codes, weights: Floats | None = None, *, sampled: bool = True
) -> Recalibration:
    """Estimate the recalibration slope and, for two classes, the intercept.

    Parameters
    ----------
    log_odds : (m, K) float
        Log odds of each class against the rest.
    codes : (m,) int
        Class of each row.
    weights : (m,) float, optional
        Frequency weights.
    sampled : bool
        Whether the class proportions of the rows are representative; otherwise there is no intercept.

    Returns
    -------
    Recalibration

    Examples
    --------
    >>> odds = np.repeat([-2.0, -1.0, 1.0, 2.0], 10)
    >>> came_true = np.concatenate([np.arange(10) < hits for hits in (3, 4, 6, 7)]).astype(int)
    >>> round(recalibrated(np.column_stack([-odds, odds]), came_true).slope[0], 4)
    0.4196
    """
    weights = np.ones(len(codes)) if weights is None else weights
    there, positions = np.unique(codes, return_inverse=True)
    logs = -np.logaddexp(0.0, -log_odds[:, there])
    two = log_odds.shape[1] == 2 and sampled
    none = np.nan, np.nan
    nothing = Recalibration(none, none if two else None)
    if len(there) < 2 or not np.isfinite(logs).all():
        return nothing
    logs -= logs[np.arange(len(positions)), positions][:, None]
    unit = float(np.abs(logs).max())
    maximum = _maximum(logs / unit, positions, weights) if unit > 0 else None
    if maximum is None:
        return nothing
    estimate, covariance = maximum
    slope = float(estimate[-1]) / unit, float(np.sqrt(covariance[-1, -1])) / unit
    return Recalibration(slope, (float(estimate[0]), float(np.sqrt(covariance[0, 0]))) if two else None)


def _maximum(logs: Floats, codes: Codes, weights: Floats) -> tuple[Floats, Floats] | None:
    """Maximum likelihood estimates of the recalibration model by Newton's method.

    Parameters
    ----------
    logs : (m, K) float
        Scaled log probabilities relative to the class of each row.
    codes : (m,) int
    weights : (m,) float

    Returns
    -------
    (estimates, covariance) or None
        K - 1 intercepts and the slope (K,), and their covariance (K, K). None if there is no maximum.
    """
    total = float(weights.sum())
    at: Floats = np.zeros(logs.shape[1])
    step: Floats = np.zeros(len(at))
    value = -np.inf
    near = False
    for _ in range(STEPS):
        # Halve the step until the likelihood does not decrease.
        for _ in range(STEPS):
            likelihood, shares = _shares(logs, codes, weights, at + step)
            if likelihood >= value - ROUNDED * abs(value) or not step.any():
                break
            step = step / 2
        at = at + step
        value = likelihood
        score, information = _slopes(logs, codes, weights, shares)
        least = float(np.linalg.eigvalsh(information)[0])
        if not least > FLAT * total:
            return None
        step = np.asarray(np.linalg.solve(information, score), dtype=np.float64)
        decrement = float(score @ step)
        if near:
            return at + step, np.asarray(np.linalg.inv(information), dtype=np.float64)
        near = decrement < NEAR and least > 3 * decrement
    return None


def _shares(logs: Floats, codes: Codes, weights: Floats, at: Floats) -> tuple[float, Floats]:
    """Log-likelihood and probabilities (m, K) at parameters `at` (K,)."""
    odds = at[-1] * logs
    odds[:, 1:] += at[:-1]
    odds -= odds.max(axis=1, keepdims=True)
    shares = np.exp(odds)
    sums = shares.sum(axis=1)
    likelihood = float(weights @ (odds[np.arange(len(codes)), codes] - np.log(sums)))
    shares /= sums[:, None]
    return likelihood, shares


def _slopes(logs: Floats, codes: Codes, weights: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Score and information of the recalibration model.

    Parameters
    ----------
    logs, shares : (m, K) float
        Scaled log probabilities relative to the class of each row, and recalibrated probabilities.
    codes : (m,) int
    weights : (m,) float

    Returns
    -------
    score : (K,) float
    information : (K, K) float
    """
    k = logs.shape[1]
    weighted = weights[:, None] * shares
    expected = (shares * logs).sum(axis=1)
    counts = np.bincount(codes, weights, k)
    # The log probabilities of a row's own class are zero.
    score = np.append((counts - weighted.sum(axis=0))[1:], -float(weights @ expected))
    information = np.empty((k, k))
    information[:-1, :-1] = np.diag(weighted.sum(axis=0)[1:]) - (weighted.T @ shares)[1:, 1:]
    cross = (weighted * (logs - expected[:, None])).sum(axis=0)[1:]
    information[-1, :-1] = information[:-1, -1] = cross
    information[-1, -1] = float((weighted * (logs - expected[:, None]) ** 2).sum())
    return score, information
