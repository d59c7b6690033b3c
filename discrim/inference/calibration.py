"""Do probabilities come true? Bins, scores and their parts, mean losses with standard errors, recalibration.

*Bins.* Rows are sorted by their probability and cut where the counts are even; rows of the same probability
stay together. Of each bin the mean probability stands beside the share of its rows that are of the class,
with Wilson's interval (1927, Journal of the American Statistical Association 22, 209-212). A frequency
weight is so many rows, here and below.

*Brier's score* of a row is the sum over classes of (p_k - o_k)^2, o_k one for its class and else zero
(Brier, 1950, Monthly Weather Review 78, 1-3); of two classes it is twice the square of one. Each class's
part falls, over bins b of rows by p_k, exactly into

    reliability       sum n_b (pbar_b - obar_b)^2 / n
  - resolution        sum n_b (obar_b - obar)^2 / n
  + uncertainty       obar (1 - obar)
  + within variance   sum_b sum_i (p_i - pbar_b)^2 / n
  - within covariance sum_b sum_i 2 (p_i - pbar_b) (o_i - obar_b) / n.

The first three are Murphy's (1973, Journal of Applied Meteorology 12, 595-600), and all there is where the
rows of a bin have one probability; the other two are what Stephenson, Coelho & Jolliffe (2008, Weather and
Forecasting 23, 752-757) add where they have not.

*Mean losses.* As in `discrim.inference.error_rates`, rows drawn from the mixture have the variance of a
mean, rows of classes whose shares are given that of a stratified one, sum pi_k^2 var_k / n_k, and an error
the limits that follow from those of the classes. Rows of a group depend on one another: the variance is then
that of the groups' sums of deviations, with the factor G/(G - 1) of G groups, and the exact interval of an
error that of the effective number of rows, r (1 - r) / variance (Korn & Graubard, 1998, Survey Methodology
24, 193-201), which is no larger than the number of rows.

*Intervals of mean losses.* The log loss of a row is small if the label is right and, if the rule is sure,
large if it is wrong. Rows of which none, or one, is wrong do not show how large its mean may be, and no
interval has a level for every distribution of a loss without a bound (Bahadur & Savage, 1956, Annals of
Mathematical Statistics 27, 1115-1122). The interval is log-normal. With w_i the loss of row i if its class
were that of its second largest probability, its upper limit is no less than

    mean + u mean(w),    u = 1 - ((1 - level)/2)^(1/n), the exact limit of no error in n rows (or groups),

and with given shares mean + sqrt(sum_k (pi_k u_k mean_k(w))^2), as in `mixed_interval`. The assumption is
that a label is no likelier to be wrong where the rule is surer: then the mean of what wrong labels lose is at
most the error rate times the mean of w (Chebyshev's inequality for ordered functions). `python -m
tests.benchmarks.rare_errors` simulates the coverage of this and of other intervals.

*Recalibration.* With p_k what a rule says, the model of the recalibrated probabilities is log odds a_k + b
ln p_k, up to a number that the classes of a row share: b is one where the rule says how sure it may be, below
one where it is too sure of itself, as after overfitting. Of two classes this is Cox's logistic regression of
the outcome on the log odds (1958, Biometrika 45, 562-565); its intercept, of the second class, is zero where
the rule is calibrated. Standard errors are those of the maximum likelihood, found by Newton's method. Log
probabilities are divided by their largest difference R within a row, so that no lead of a row's own class
over another exceeds sqrt(3) times the length of a direction in the parameters. Were there a direction that
no row contradicts, and so no maximum, the squared Newton decrement d^2 would be no less than a third of the
least eigenvalue of the information (as `discrim.core.regression.newton` has it): the search ends where d^2 is
small and that is ruled out, and finds nothing otherwise.
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
    """Bins (B,) of rows by their probability.

    Of each there are the mean probability, `predicted`; the share of rows for which it came true, `observed`,
    with Wilson's interval; and the number of its rows, or the sum of their weights.
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
    """Predicted probabilities (n,) beside the shares of rows for which they came true, with intervals.

    There are `bins` bins at most, and fewer where rows have the same probability.

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
    """Different probabilities (v,), rising, and the bins (B,) that they are in.

    Each probability has a count of rows, of which hits are those for which it came true, and stands in a bin,
    `at`. Each bin has `rows`, `predicted` and `observed`, as of `Bins`.
    """

    values: Floats
    counts: Floats
    hits: Floats
    at: NDArray[np.intp]
    rows: Floats
    predicted: Floats
    observed: Floats


def binned(proba: Floats, true: NDArray[np.bool_], bins: int = 10, weights: Floats | None = None) -> Binned:
    """Probabilities (n,) cut into bins of about equal counts.

    A DataError refuses a number of bins that is none.
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
    # By the middle of the rows that are tied, so that the cuts are the same from either end.
    bin_of = np.minimum((bins * (before[there] + counts / 2) / total).astype(np.intp), bins - 1)
    _, bin_of = np.unique(bin_of, return_inverse=True)
    rows = np.bincount(bin_of, counts).astype(np.float64)
    predicted = np.bincount(bin_of, counts * values) / rows
    return Binned(values, counts, hits, bin_of, rows, predicted, np.bincount(bin_of, hits) / rows)


def wilson_interval(share: Floats, rows: Floats, level: float) -> tuple[Floats, Floats]:
    """Wilson's interval of binomial shares.

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
    """The score of one class against the rest, and its parts.

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
    """Differences (m, K) of probability and outcome, from log odds (m, K) of each class against the rest.

    That of the row's own class keeps its digits where the probability is one up to rounding.

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
    """The mean of (p - o)^2 of one class, with its parts over bins as of `calibration_bins`.

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
"""Losses beyond which sums of squares are taken of their shares of the largest."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRows:
    """Rows (m,) that were judged: their classes, frequency weights, and groups, the clusters.

    The prior (K,) has the shares of the classes where they are not those of the rows.
    """

    codes: Codes
    weights: Floats
    n_classes: int
    prior: Floats | None
    clusters: Codes | None

    @property
    def rows(self) -> Floats:
        """Sum of weights (K,) of each class."""
        return np.bincount(self.codes, self.weights, self.n_classes).astype(np.float64)

    def shares(self) -> Floats:
        """Weight (m,) of each row in a mean."""
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
    """Return the mean of losses, its standard error, and an interval.

    Parameters
    ----------
    losses : (m,) float
    judged : JudgedRows
    level : float
    counts : bool
        Whether losses are counts, of 0 and 1 or means of such. Their interval is exact, else log-normal.
    if_wrong : (m,) float, optional
        Losses of the rows if their labels were wrong. With them the upper limit of a log-normal interval
        allows for errors of which the rows show none.

    Returns
    -------
    (float, float, float, float)
        Mean, standard error, and limits. All but the mean are missing for rows of one group.
    """
    shares = judged.shares()
    whole = float(shares.sum())
    # A row without a part in the mean may lose an infinite amount.
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
    """Mean of values (m,), prior and rows of each class that has a part in a mean under a prior (K,)."""
    rows = judged.rows
    there = (rows > 0) & (prior > 0)
    means = np.bincount(judged.codes, judged.weights * values, judged.n_classes)[there] / rows[there]
    return means, prior[there] / prior[there].sum(), rows[there]


def _unseen_loss(if_wrong: Floats, judged: JudgedRows, units: float, level: float) -> float:
    """Largest mean loss by wrong labels of which so many units may show none; see the module's docstring."""
    shares = judged.shares()
    if_wrong = np.where(shares > 0, if_wrong, 0.0)
    if judged.prior is None or judged.clusters is not None:
        return float(shares @ if_wrong / shares.sum()) * exact_interval(0.0, units, level)[1]
    means, pi, rows = _by_class(if_wrong, judged, judged.prior)
    limits = np.array([exact_interval(0.0, n, level)[1] for n in rows.tolist()])
    return float(np.sqrt(((pi * limits * means) ** 2).sum()))


def runner_up(scores: Floats) -> Codes:
    """Class (m,) of the second largest score of each row of (m, K).

    Examples
    --------
    >>> runner_up(np.array([[0.1, 0.7, 0.2], [0.5, 0.4, 0.1]])).tolist()
    [2, 1]
    """
    return np.asarray(np.argpartition(scores, -2, axis=1)[:, -2])


def _of_rows(losses: Floats, judged: JudgedRows, mean: float) -> float:
    """Variance of the mean of independent rows."""
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
    """Weighted mean of values (m,) in each fold (F,), missing where it has no rows."""
    whole = np.bincount(folds, shares, n_folds)
    sums = np.bincount(folds, shares * values, n_folds)
    return np.asarray(np.divide(sums, whole, out=np.full(n_folds, np.nan), where=whole > 0))


STEPS = 60
"""Most steps of Newton's method; where there is a maximum, about ten are enough."""

NEAR = 1e-14
"""Squared distance to the maximum, in standard errors, from which the information one step on is kept."""

ROUNDED = 1e-12
"""Share of the log-likelihood by which it may seem to fall because its sum is rounded."""

FLAT = 1e-13
"""Least eigenvalue of the information of a row below which the classes are taken as separated."""


class Recalibration(NamedTuple):
    """What recalibrates probabilities: a slope and an intercept, each with its standard error.

    Both are missing where the classes are separated, or a probability is zero. Only of two classes whose rows
    are a sample of the mixture is there an intercept.
    """

    slope: tuple[float, float]
    intercept: tuple[float, float] | None


def log_odds_against_rest(scores: Floats) -> Floats:
    """Return the log odds (m, K) of each class against all others, from log posteriors (m, K).

    The log odds differ also for observations whose posteriors all round to one. Log posteriors need not be
    normalized.

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
    """Slope, and of two classes intercept, of a recalibration of log odds (m, K) of a class against the rest.

    `sampled` says that rows have the classes in the proportions that are meant; else there is no intercept.

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
    """Estimates (K,), K - 1 constants and the slope, with their covariance; None where there are none."""
    total = float(weights.sum())
    at: Floats = np.zeros(logs.shape[1])
    step: Floats = np.zeros(len(at))
    value = -np.inf
    near = False
    for _ in range(STEPS):
        # Half the step for as long as it goes down.
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
    """Log-likelihood, and probabilities (m, K)."""
    odds = at[-1] * logs
    odds[:, 1:] += at[:-1]
    odds -= odds.max(axis=1, keepdims=True)
    shares = np.exp(odds)
    sums = shares.sum(axis=1)
    likelihood = float(weights @ (odds[np.arange(len(codes)), codes] - np.log(sums)))
    shares /= sums[:, None]
    return likelihood, shares


def _slopes(logs: Floats, codes: Codes, weights: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Score (K,) and information (K, K)."""
    k = logs.shape[1]
    weighted = weights[:, None] * shares
    expected = (shares * logs).sum(axis=1)
    counts = np.bincount(codes, weights, k)
    # The logs of the own class are zero.
    score = np.append((counts - weighted.sum(axis=0))[1:], -float(weights @ expected))
    information = np.empty((k, k))
    information[:-1, :-1] = np.diag(weighted.sum(axis=0)[1:]) - (weighted.T @ shares)[1:, 1:]
    cross = (weighted * (logs - expected[:, None])).sum(axis=0)[1:]
    information[-1, :-1] = information[:-1, -1] = cross
    information[-1, -1] = float((weighted * (logs - expected[:, None]) ** 2).sum())
    return score, information
