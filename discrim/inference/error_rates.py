"""How often is the rule wrong? Confusion tables and error rates, from labels, costs and posteriors.

Theory. With shares pi_k of the classes and c_kj the cost of calling a row of class k a j (one where they
differ, unless costs are given), the rate is R = sum_k pi_k r_k with r_k the mean cost of the rows of class
k.

*Counting.* Where the shares are those of the rows, rows are draws from the mixture and the number of
errors is binomial: Clopper & Pearson's exact interval (1934, Biometrika 26, 404-413). Where they are
given, the rate is that of a stratified sample, with variance sum pi_k^2 var_k / n_k. Its limits are as far
from it as those of the classes, (l_k, u_k), are from their rates in a sum of squares: sum pi_k^2 (r_k -
l_k)^2 below and sum pi_k^2 (u_k - r_k)^2 above (Zou & Donner, 2008, Statistics in Medicine 27, 1693-1702),
so that a class of few rows, none of them wrong, has its part in them too. Mean costs have a log-normal
interval; where nothing was paid, the upper limit is the highest cost times that of the share of rows that
may cost something.

*Posteriors.* In place of counting, the posteriors themselves say how sure the rule is (Glick, 1978,
Pattern Recognition 10, 211-222): with R_t the rows assigned to t and q the prior, SAS's two estimates are

    unstratified  e_t = 1 - sum_{x in R_t} p(t|x) / (n q_t),
    stratified    e_t = 1 - (1/q_t) sum_u (q_u/n_u) sum_{x in R_t of class u} p(t|x).

They are smoother than counts and trust the model. They have no standard error and no interval: the rows that
are averaged have made the posteriors, which vary with them more than they vary among the rows, and are too
sure by an amount of the order of that variation, which the rows do not show.

*Bootstrap.* The .632+ estimate (Efron & Tibshirani, 1997, JASA 92, 548-560) of the apparent error a, the
error e of rows outside bootstrap samples and that g where class and label are independent is

    (1 - w) a + w min(e, g),    w = .632 / (1 - .368 R),    R = (min(e, g) - a) / (g - a).

Its standard error is theirs by the delta method after bootstrap (their section 5), here with samples drawn
within classes, and of the whole. To first order a row i of weight w_i moves e by

    D_i = w_i e_i + sum_j w_j cov(N_i, Q_j),

e_i its mean loss where it is outside, N_i the times it is drawn, and the covariance over the samples without
row j of N_i and the loss Q_j of row j; it moves a by its own loss, and g by that of its label. The slopes of
the estimate weigh the three, and the variance is that of their sum: sums of squares within classes, and
between them where the shares are those of the rows. What finitely many samples add to the squares of
covariances is taken off (Wager, Hastie & Efron, 2014, JMLR 15, 1625-1651). The rule's own move leaves a
where it is, to first order, as at a least error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.memory import refuse_beyond_memory
from discrim.core.numerics.tails import beta_ppf, normal_isf
from discrim.errors import DataError

__all__ = [
    "Rates",
    "Resampled",
    "check_level",
    "confusion_table",
    "counted",
    "counted_labels",
    "counts_of",
    "exact_interval",
    "log_interval",
    "logit_interval",
    "mixed_interval",
    "no_information",
    "point_six_three_two",
    "posterior_based",
    "rates_table",
    "wrong_of",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Rates:
    """One estimate of the error rate.

    Attributes
    ----------
    by_class : (K,) float
        Missing where the method has none.
    estimate, se, low, high : float
    wrong, total : float
        Rows that are wrong, and rows, where the method counts.
    """

    by_class: Floats
    estimate: float
    se: float
    low: float
    high: float
    wrong: float = np.nan
    total: float = np.nan


def counts_of(actual: Codes, predicted: Codes, k: int, weights: Floats | None = None) -> NDArray[np.generic]:
    """Counts (K, K), or sums of weights, of actual by predicted; rows without a class are left out."""
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
    """Counts of actual classes (rows) by predicted classes (columns).

    Parameters
    ----------
    actual, predicted : (n,) int
        Codes into classes; a row with a negative code is left out.
    classes : Index of length K
    weights : (n,) float, optional
        Frequency weights; without them the counts are integers.
    """
    counts = counts_of(actual, predicted, len(classes), weights)
    return pd.DataFrame(counts, index=classes.rename("actual"), columns=classes.rename("predicted"))


def counted(counts: Floats, shares: Floats, costs: Floats | None, level: float, *, sampled: bool) -> Rates:
    """Error rate of a confusion table.

    Parameters
    ----------
    counts : (K, K) float
        Actual by predicted.
    shares : (K,) float
        Prior probabilities; a class without rows has no part in them.
    costs : (K, K) float or None
        Actual by predicted; None counts errors.
    level : float
        Of the interval.
    sampled : bool
        The shares are those of the rows: the errors are binomial.
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
    """Sums of a confusion table (K, K): of wrong rows, and of all.

    All are the sum of right and wrong ones, so that weights with fractions make no share of more than one, or
    of nearly one, by the order in which they are added.
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
    """Error rate of labels, as `counted` has it of their confusion table, which is not made.

    Parameters
    ----------
    actual, predicted : (n,) int
        Codes; a row with a negative one is left out.
    shares, level, sampled
        As of `counted`.
    weights : (n,) float or None
    """
    check_level(level)
    k = len(shares)
    known = (actual >= 0) & (predicted >= 0) & (predicted < k)
    w = np.ones(int(known.sum())) if weights is None else weights[known]
    own, missed = actual[known], (actual != predicted)[known]
    rows = np.bincount(own, w, k).astype(np.float64, copy=False)
    lost = np.bincount(own[missed], w[missed], k)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_class = lost / rows
        variance = (by_class - by_class**2) / rows
    wrong = float(lost.sum())
    sums = rows, by_class, variance, wrong, wrong + float((rows - lost).sum())
    return _of_classes(sums, shares, level, None, sampled=sampled)


def _of_classes(
    sums: tuple[Floats, Floats, Floats, float, float],
    shares: Floats,
    level: float,
    most: float | None,
    *,
    sampled: bool,
) -> Rates:
    """The rate of rows, mean cost and its variance by class (K,), how much is wrong, and all.

    `most` is the highest cost, None where errors are counted.
    """
    rows, by_class, variance, wrong, total = sums
    if not total:
        return Rates(by_class, np.nan, np.nan, np.nan, np.nan, wrong, total)
    pi = rows / total if sampled else np.where(rows > 0, shares, 0.0)
    if not pi.sum():
        # All of the prior is of classes that have no row.
        return Rates(by_class, np.nan, np.nan, np.nan, np.nan, wrong, total)
    pi = pi / pi.sum()
    there = pi > 0
    rate = float(pi[there] @ by_class[there])
    effective = 1 / float((pi[there] ** 2 / rows[there]).sum())
    if most is not None:
        spread = float(pi[there] ** 2 @ np.maximum(variance[there], 0.0))
        if sampled:
            spread += float(pi[there] @ (by_class[there] - rate) ** 2) / total
        limits = log_interval(rate, spread, level)
        if rate == spread == 0:
            # Nothing was paid: the highest cost, times the largest share of rows that may have one.
            limits = 0.0, most * exact_interval(0.0, effective, level)[1]
        return Rates(by_class, rate, float(np.sqrt(spread)), *limits, wrong, total)
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
    """Error rate estimated from the posteriors (n, K) of rows of known class, without an interval.

    Parameters
    ----------
    posteriors : (n, K) float
        A row without posteriors is left out, as is one without a class.
    actual : (n,) int
    shares : (K,) float
        The prior q.
    weights : (n,) float or None
    stratified : bool
    """
    known = (actual >= 0) & ~np.isnan(posteriors[:, 0])
    p, codes = posteriors[known], actual[known]
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
    """Error rate where class and prediction are independent: sum_kj pi_k q_j c_kj, q from counts (K, K)."""
    unit = 1.0 - np.eye(len(counts)) if costs is None else costs
    rows = counts.sum(axis=1)
    share = np.divide(counts, rows[:, None], out=np.zeros(counts.shape), where=rows[:, None] > 0)
    return float(shares @ unit @ (shares @ share))


@dataclass(frozen=True, slots=True)
class Resampled:
    """Rows, and what rules of bootstrap samples drawn within classes call those that they did not see.

    Attributes
    ----------
    own, seen : (n,) int
        Class of each row, and what the rule of all rows calls it; negative for none.
    drawn : (B, n) int
        Times that each row is in each sample.
    called : (B, n) int
        What the rule of each sample calls each row; negative where the row is in the sample, or without a
        label.
    """

    own: Codes
    seen: Codes
    drawn: NDArray[np.integer]
    called: NDArray[np.integer]


def point_six_three_two(
    rows: Resampled, prior: Floats, costs: Floats | None, level: float, *, sampled: bool
) -> Rates:
    """The .632+ estimate, with the delta-method standard error of the whole of it.

    Parameters
    ----------
    rows : Resampled
    prior : (K,) float
        Shares that the classes are weighted by.
    costs : (K, K) float or None
        Actual by predicted; None counts errors.
    level : float
        Of the interval, normal on the logit scale, of mean costs on the log scale.
    sampled : bool
        The shares are those of the rows, and vary with them.

    Returns
    -------
    Rates
        Standard error and limits are missing where the samples are so few that their own noise is all that
        is seen of the variance.
    """
    k = len(prior)
    unit = 1.0 - np.eye(k) if costs is None else costs
    table = counts_of(rows.own, rows.seen, k).astype(np.float64)
    apparent = counted(table, prior, costs, level, sampled=False).estimate
    gamma = no_information(table, prior, costs)
    shares = (prior / np.bincount(rows.own, minlength=k))[rows.own]
    times = (rows.called >= 0).sum(axis=0)
    if not times.any():
        return Rates(np.full(k, np.nan), np.nan, np.nan, np.nan, np.nan)
    weight = np.where(times > 0, shares, 0.0)
    weight /= weight.sum()
    losses, pulls, noise = _left_outside(rows, weight, times, unit)
    outside = float(weight @ losses)
    rate, slopes = _weighed(apparent, outside, gamma)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_class = np.bincount(rows.own, weight * losses, k) / np.bincount(rows.own, weight, k)
    in_class = table.sum(axis=1, keepdims=True)
    called = np.divide(table, in_class, out=np.zeros((k, k)), where=in_class > 0)
    blind = prior @ unit
    known = rows.seen >= 0
    own_loss, own_blind = np.zeros((2, len(weight)))
    own_loss[known] = unit[rows.own[known], rows.seen[known]]
    own_blind[known] = blind[rows.seen[known]]
    direct = np.column_stack([own_loss, losses, own_blind]) @ slopes
    moved = weight * direct + slopes[1] * pulls
    variance = _within_classes(moved, rows.own, k) - slopes[1] ** 2 * noise
    if sampled:
        classes = [(called * unit).sum(axis=1), by_class, unit @ (prior @ called) + called @ blind]
        each = np.nan_to_num(np.column_stack(classes)) @ slopes
        variance += float(prior @ (each - prior @ each) ** 2) / len(weight)
    return Rates(by_class, rate, *_spread_of(rate, variance, weight, costs, level))


def _left_outside(
    rows: Resampled, weight: Floats, times: NDArray[np.integer], unit: Floats
) -> tuple[Floats, Floats, float]:
    """Mean loss (n,) of each row outside samples, what each row's being drawn does to the whole, and noise.

    The second is the covariance over samples of the times that a row is drawn and of the losses of the
    others; the last is the variance, summed over rows, that it has because samples are finitely many.
    """
    n_samples, n = rows.called.shape
    sums = np.zeros(n)
    for called in rows.called:
        out = called >= 0
        sums[out] += unit[rows.own[out], called[out]]
    losses = np.divide(sums, times, out=np.zeros(n), where=times > 0)
    share = np.divide(weight * n_samples, times, out=np.zeros(n), where=times > 0)
    pulls, squares = np.zeros((2, n))
    for drawn, called in zip(rows.drawn, rows.called, strict=True):
        out = called >= 0
        excess = float(share[out] @ (unit[rows.own[out], called[out]] - losses[out]))
        pull = (drawn - 1.0) * excess
        pulls += pull
        squares += pull**2
    pulls /= n_samples
    return losses, pulls, float((squares / n_samples - pulls**2).sum()) / max(n_samples - 1, 1)


def _weighed(apparent: float, outside: float, gamma: float) -> tuple[float, Floats]:
    """The .632+ estimate of its three parts, and its slopes (3,) in them."""
    bounded = min(outside, gamma)
    if not (bounded > apparent and gamma > apparent):
        rate, slopes = 0.368 * apparent + 0.632 * bounded, np.array([0.368, 0.632, 0.0])
    else:
        room = gamma - apparent
        overfit = (bounded - apparent) / room
        w = 0.632 / (1 - 0.368 * overfit)
        rate = (1 - w) * apparent + w * bounded
        turn = overfit * 0.368 * w**2 / 0.632
        slopes = np.array([1 - w + turn * (overfit - 1), w + turn, -turn * overfit])
    if outside > gamma:
        slopes[2] += slopes[1]
        slopes[1] = 0.0
    return rate, slopes


def _within_classes(moved: Floats, codes: Codes, k: int) -> float:
    """Variance of a sum over rows of what each moves it by (n,), of rows drawn within classes."""
    rows = np.bincount(codes, minlength=k)
    mean = np.bincount(codes, moved, k) / np.maximum(rows, 1)
    squares = np.bincount(codes, (moved - mean[codes]) ** 2, k)
    return float((squares * rows / np.maximum(rows - 1, 1)).sum())


def _spread_of(
    rate: float, variance: float, weight: Floats, costs: Floats | None, level: float
) -> tuple[float, float, float]:
    """Standard error and limits of a bootstrapped rate."""
    if rate == 0 and not variance > 0:
        # No row was ever lost on: so many rows without an error say how large the rate may be.
        most = 1.0 if costs is None else float(costs.max())
        return 0.0, 0.0, most * exact_interval(0.0, 1 / float(weight @ weight), level)[1]
    if not variance > 0:
        return np.nan, np.nan, np.nan
    error = float(np.sqrt(variance))
    if costs is not None:
        return error, *log_interval(rate, variance, level)
    return error, *logit_interval(rate, error, level)


def logit_interval(rate: float, error: float, level: float) -> tuple[float, float]:
    """Normal interval on the logit scale; nothing is said about a rate of zero or of one and more."""
    if not 0 < rate < 1:
        return np.nan, np.nan
    half = check_level(level) * error / (rate * (1 - rate))
    logit = np.log(rate / (1 - rate))
    with np.errstate(over="ignore"):
        return float(1 / (1 + np.exp(half - logit))), float(1 / (1 + np.exp(-half - logit)))


def rates_table(rates: Sequence[tuple[str, Rates]]) -> pd.DataFrame:
    """Method -> estimate, se, low, high, wrong, total."""
    columns = ["estimate", "se", "low", "high", "wrong", "total"]
    rows = {name: [getattr(rate, column) for column in columns] for name, rate in rates}
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("method")


def log_interval(rate: float, variance: float, level: float) -> tuple[float, float]:
    """Normal interval of a positive mean on the log scale."""
    if not rate > 0:
        return np.nan, np.nan
    half = check_level(level) * np.sqrt(variance) / rate
    return float(rate * np.exp(-half)), float(rate * np.exp(half))


def exact_interval(wrong: float, total: float, level: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share."""
    tail = (1 - level) / 2
    low = float(beta_ppf(tail, wrong, total - wrong + 1)) if wrong > 0 else 0.0
    high = float(beta_ppf(1 - tail, wrong + 1, total - wrong)) if wrong < total else 1.0
    return low, high


def mixed_interval(pi: Floats, shares: Floats, rows: Floats, level: float) -> tuple[float, float]:
    """Interval of a mixture of shares (K,) of independent samples, from the exact one of each.

    Examples
    --------
    >>> import numpy as np
    >>> shares, rows = np.array([0.1, 0.0]), np.array([20.0, 20.0])
    >>> [round(end, 4) for end in mixed_interval(np.array([0.5, 0.5]), shares, rows, 0.95)]
    [0.0062, 0.1873]
    """
    mean, below, above = float(pi @ shares), 0.0, 0.0
    for weight, share, n in zip(pi.tolist(), shares.tolist(), rows.tolist(), strict=True):
        # Sums of weights leave a rounding error beyond one.
        low, high = exact_interval(min(share, 1.0) * n, n, level)
        below += (weight * (share - low)) ** 2
        above += (weight * (high - share)) ** 2
    return max(mean - float(np.sqrt(below)), 0.0), min(mean + float(np.sqrt(above)), 1.0)


def check_level(level: float) -> float:
    """Half-width of a normal interval in standard errors.

    Raises
    ------
    DataError
        The level is not between 0 and 1.
    """
    number = isinstance(level, (int, float, np.integer, np.floating))
    if not number or not 0 < level < 1:
        raise DataError(f"level={level!r}: give a share between 0 and 1, such as 0.95.")
    return float(normal_isf((1 - level) / 2))
