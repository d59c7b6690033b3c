"""How often is the rule wrong? Confusion tables and error rates, from labels, costs and posteriors.

Theory. With shares pi_k of the classes and c_kj the cost of calling a row of class k a j (one where they
differ, unless costs are given), the rate is R = sum_k pi_k r_k with r_k the mean cost of the rows of class
k.

*Counting.* Where the shares are those of the rows, rows are draws from the mixture and the number of
errors is binomial: Clopper & Pearson's exact interval (1934, Biometrika 26, 404-413). Where they are
given, the rate is that of a stratified sample, with variance sum pi_k^2 var_k / n_k and the exact interval
of the effective number of rows, r (1 - r) / variance (Korn & Graubard, 1998, Survey Methodology 24,
193-201). Mean costs have a log-normal interval.

*Posteriors.* In place of counting, the posteriors themselves say how sure the rule is (Glick, 1978,
Pattern Recognition 10, 211-222): with R_t the rows assigned to t and q the prior, SAS's two estimates are

    unstratified  e_t = 1 - sum_{x in R_t} p(t|x) / (n q_t),
    stratified    e_t = 1 - (1/q_t) sum_u (q_u/n_u) sum_{x in R_t of class u} p(t|x).

They are smoother than counts and trust the model.
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
    "check_level",
    "confusion_table",
    "counted",
    "counted_labels",
    "counts_of",
    "exact_interval",
    "log_interval",
    "logit_interval",
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
    return _of_classes(sums, shares, level, costs=costs is not None, sampled=sampled)


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
    return _of_classes(sums, shares, level, costs=False, sampled=sampled)


def _of_classes(
    sums: tuple[Floats, Floats, Floats, float, float],
    shares: Floats,
    level: float,
    *,
    costs: bool,
    sampled: bool,
) -> Rates:
    """The rate of rows, mean cost and its variance by class (K,), how much is wrong, and all."""
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
    if costs:
        spread = float(pi[there] ** 2 @ np.maximum(variance[there], 0.0))
        if sampled:
            spread += float(pi[there] @ (by_class[there] - rate) ** 2) / total
        return Rates(by_class, rate, float(np.sqrt(spread)), *log_interval(rate, spread, level), wrong, total)
    if sampled:
        rate = wrong / total
        error = float(np.sqrt(rate * (1 - rate) / total))
        return Rates(by_class, rate, error, *exact_interval(wrong, total, level), wrong, total)
    spread = float(pi[there] ** 2 @ np.maximum(variance[there], 0.0))
    effective = rate * (1 - rate) / spread if spread > 0 else 1 / float((pi[there] ** 2 / rows[there]).sum())
    interval = exact_interval(rate * effective, effective, level)
    return Rates(by_class, rate, float(np.sqrt(spread)), *interval, wrong, total)


def posterior_based(
    posteriors: Floats,
    actual: Codes,
    shares: Floats,
    weights: Floats | None,
    level: float,
    *,
    stratified: bool,
) -> Rates:
    """Error rate estimated from the posteriors (n, K) of rows of known class.

    Parameters
    ----------
    posteriors : (n, K) float
        A row without posteriors is left out, as is one without a class.
    actual : (n,) int
    shares : (K,) float
        The prior q.
    weights : (n,) float or None
    level : float
        Of the interval, normal on the logit scale.
    stratified : bool
    """
    known = (actual >= 0) & ~np.isnan(posteriors[:, 0])
    p, codes = posteriors[known], actual[known]
    w = np.ones(len(p)) if weights is None else weights[known]
    k = len(shares)
    rows = np.bincount(codes, w, k)
    total = float(w.sum())
    if stratified:
        share = np.zeros(len(p))
        share[:] = w * np.divide(shares, rows, out=np.zeros(k), where=rows > 0)[codes]
    else:
        share = w / total
    best = p.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_class = 1 - np.bincount(np.argmax(p, axis=1), share * best, k) / shares
    rate = 1 - float(share @ best)
    if stratified:
        mean = np.bincount(codes, w * best, k) / np.where(rows > 0, rows, 1)
        variance = np.bincount(codes, w * (best - mean[codes]) ** 2, k)
        spread = float((shares**2 * variance / np.where(rows > 1, rows * (rows - 1), 1)).sum())
    else:
        free = total - 1
        # Weights that sum to one leave no variance, whatever rounding makes of the difference.
        few = free <= np.finfo(np.float64).eps * len(w)
        spread = np.nan if few else float(w @ (best - w @ best / total) ** 2) / (total * free)
    error = float(np.sqrt(spread))
    return Rates(by_class, rate, error, *logit_interval(rate, error, level))


def no_information(counts: Floats, shares: Floats, costs: Floats | None) -> float:
    """Error rate where class and prediction are independent: sum_kj pi_k q_j c_kj, q from counts (K, K)."""
    unit = 1.0 - np.eye(len(counts)) if costs is None else costs
    rows = counts.sum(axis=1)
    share = np.divide(counts, rows[:, None], out=np.zeros(counts.shape), where=rows[:, None] > 0)
    return float(shares @ unit @ (shares @ share))


def point_six_three_two(
    apparent: float,
    losses: Floats,
    times: Floats,
    shares: Floats,
    by_class: tuple[Codes, int],
    gamma: float,
    level: float,
    *,
    costs: bool = False,
) -> Rates:
    """The .632+ estimate (Efron & Tibshirani, 1997, JASA 92, 548-560).

    Parameters
    ----------
    apparent : float
        Error of the rule on its own rows.
    losses, times : (n,) float
        Sum of a row's losses under the bootstrap rules that did not see it, and the number of them.
    shares : (n,) float
        Weight of each row in the mean; they sum to one over all rows.
    by_class : ((n,) int, K)
        Class of each row.
    gamma : float
        The no-information rate.
    level : float
    costs : bool
        The losses are costs, which may be more than one: the interval is log-normal.

    Returns
    -------
    Rates
        The standard error is that of the mean of the rows' out-of-bag losses, in the proportion in which the
        estimate depends on them.
    """
    codes, k = by_class
    seen = times > 0
    if not seen.any():
        return Rates(np.full(k, np.nan), np.nan, np.nan, np.nan, np.nan)
    mean = losses[seen] / times[seen]
    weight = shares[seen] / shares[seen].sum()
    outside = float(weight @ mean)
    bounded = min(outside, gamma)
    overfit = (bounded - apparent) / (gamma - apparent) if bounded > apparent and gamma > apparent else 0.0
    w = 0.632 / (1 - 0.368 * overfit)
    rate = (1 - w) * apparent + w * bounded
    own = np.bincount(codes[seen], weight, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.bincount(codes[seen], weight * mean, k) / own
    error = w * float(
        np.sqrt((weight**2 * (mean - outside) ** 2).sum() * seen.sum() / max(seen.sum() - 1, 1))
    )
    interval = log_interval(rate, error**2, level) if costs else logit_interval(rate, error, level)
    return Rates(rates, rate, error, *interval)


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
