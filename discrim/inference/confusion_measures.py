"""What a table of actual by predicted classes says: accuracy, agreement, and rates of single classes.

Theory. With n_kj rows of class k that are called j, q_kj = n_kj / n_k, and pi_k the shares of the classes
among the rows that are meant, the joint shares are p_kj = pi_k q_kj. Where pi are the shares of the rows
themselves, rows are draws from the mixture: shares are binomial, with Clopper & Pearson's exact interval.
Where they are given, each class is a sample of its own, and what mixes classes has the variance and the
limits of a stratified sample, which `discrim.inference.error_rates` describes.

*Kappa* is (p_o - p_e) / (1 - p_e) with p_o = sum p_kk and p_e = sum r_k c_k, r and c the row and column
sums (Cohen, 1960, Educational and Psychological Measurement 20, 37-46). Its standard error is by the delta
method, for draws from the mixture that of Fleiss, Cohen & Everitt (1969, Psychological Bulletin 72,
323-327). The interval is normal on the scale of Fisher's z, artanh kappa, with the standard error se / (1 -
kappa^2), and so stays between -1 and 1. Where no row is called wrongly, kappa is 1 with a standard error of
zero: its lower limit is that of Clopper & Pearson for p_o, with p_e as it is.

*Predictive values* under a given prior are Bayes' theorem with estimated q: the positive one of class k is
a / (a + b) with a = pi_k q_kk and b = sum over j /= k of pi_j q_jk. Its logit is ln a - ln b with the
variance var(a)/a^2 + var(b)/b^2, as classes are sampled apart (Mercaldo, Lau & Zhou, 2007, Statistics in
Medicine 26, 2170-2183); the interval is normal on that scale. Where a or b is zero, the limit on the other
side is that of shares to which z^2 rows are added, half of them as called so, z the normal quantile, as they
advise for shares near 0 and 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.inference.error_rates import check_level, counted, exact_interval, mixed_interval, wrong_of

__all__ = [
    "MEASURES",
    "Estimate",
    "accuracy",
    "balanced_accuracy",
    "class_measures",
    "kappa",
    "shares_of_rows",
]

Floats = NDArray[np.float64]

MEASURES = ("sensitivity", "specificity", "positive predictive value", "negative predictive value")
"""What is said of each class against all others."""

ROUNDING = 1e-14
"""Differences of numbers of about one that are taken for zero."""


class Estimate(NamedTuple):
    """An estimate with its standard error and the limits of its interval.

    Attributes
    ----------
    estimate, se, low, high : float
        Missing where there is none.
    """

    estimate: float
    se: float = np.nan
    low: float = np.nan
    high: float = np.nan


NONE = Estimate(np.nan)


def shares_of_rows(counts: Floats, shares: Floats | None) -> Floats:
    """Shares (K,) of the classes that figures are weighted by: those given, of the classes that have rows.

    Parameters
    ----------
    counts : (K, K) float
        Actual by predicted.
    shares : (K,) float or None
        None: those of the rows.
    """
    rows = counts.sum(axis=1)
    pi = rows if shares is None else np.where(rows > 0, shares, 0.0)
    whole = pi.sum()
    return np.asarray(pi / whole if whole > 0 else np.full(len(pi), np.nan))


def accuracy(counts: Floats, shares: Floats | None, level: float) -> Estimate:
    """Share of the rows that are called by their class.

    Parameters
    ----------
    counts : (K, K) float
        Actual by predicted.
    shares : (K,) float or None
        Prior that classes are weighted by; None: as the rows have them.
    level : float
        Of the interval.

    Examples
    --------
    >>> import numpy as np
    >>> accuracy(np.array([[8.0, 2.0], [1.0, 9.0]]), None, 0.95).estimate
    0.85
    """
    given = np.ones(len(counts)) if shares is None else shares
    rates = counted(counts, given, None, level, sampled=shares is None)
    total = wrong_of(counts)[1]
    right = float(np.trace(counts)) / total if shares is None and total else 1 - rates.estimate
    return Estimate(right, rates.se, 1 - rates.high, 1 - rates.low)


def balanced_accuracy(counts: Floats, level: float) -> Estimate:
    """Mean of the sensitivities of the classes that have rows."""
    return accuracy(counts, np.full(len(counts), 1 / len(counts)), level)


def kappa(counts: Floats, shares: Floats | None, level: float) -> Estimate:
    """Cohen's kappa, the agreement of actual and predicted classes beyond that of chance.

    Parameters
    ----------
    counts, shares, level
        As of `accuracy`.

    Returns
    -------
    Estimate
        Its interval is normal on the scale of Fisher's z; missing where the standard error is zero, unless
        kappa is 1. All is missing where chance alone agrees always.

    Examples
    --------
    >>> import numpy as np
    >>> round(kappa(np.array([[20.0, 5.0], [10.0, 15.0]]), None, 0.95).estimate, 6)
    0.4
    """
    rows = counts.sum(axis=1)
    pi = shares_of_rows(counts, shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        within = np.where(rows[:, None] > 0, counts / rows[:, None], 0.0)
    joint = pi[:, None] * within
    columns = joint.sum(axis=0)
    agreed, chance = float(np.trace(joint)), float(pi @ columns)
    if not chance < 1:
        return NONE
    found = (agreed - chance) / (1 - chance)
    slope = (np.eye(len(counts)) * (1 - chance) - (1 - agreed) * (columns[:, None] + pi)) / (1 - chance) ** 2
    if shares is None:
        mean = float((joint * slope).sum())
        variance = float((joint * (slope - mean) ** 2).sum()) / float(rows.sum())
    else:
        mean_of = (within * slope).sum(axis=1)
        spread = (within * (slope - mean_of[:, None]) ** 2).sum(axis=1)
        variance = float(pi**2 @ np.divide(spread, rows, out=np.zeros(len(rows)), where=rows > 0))
    # Where calls say nothing of the class the differences above are rounding errors of zero.
    rounding = ROUNDING * float(np.abs(slope).max()) / float(np.sqrt(rows.sum()))
    error = float(np.sqrt(variance)) if variance > rounding**2 else 0.0
    if not error > 0:
        if abs(1 - found) > ROUNDING:
            return Estimate(found, error)
        effective = 1 / float(np.divide(pi**2, rows, out=np.zeros(len(rows)), where=rows > 0).sum())
        low = exact_interval(effective, effective, level)[0]
        # With chance as it is, a low agreement of classes of unlike shares may lie beyond what kappa can be.
        return Estimate(found, error, max((low - chance) / (1 - chance), -1.0), 1.0)
    centre, half = np.arctanh(found), check_level(level) * error / (1 - found**2)
    return Estimate(found, error, float(np.tanh(centre - half)), float(np.tanh(centre + half)))


def class_measures(counts: Floats, shares: Floats | None, level: float) -> list[tuple[Estimate, ...]]:
    """Sensitivity, specificity, positive and negative predictive value of each class against all others.

    Parameters
    ----------
    counts, shares, level
        As of `accuracy`.

    Returns
    -------
    list of length K
        In the order of `MEASURES`. A class without rows has no sensitivity, one that is never called no
        positive predictive value.
    """
    rows, called, right = counts.sum(axis=1), counts.sum(axis=0), np.diag(counts)
    total = float(counts.sum())
    if shares is None:
        others, left = total - rows, total - called
        # Rows of other classes that are called another one.
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
    found: list[tuple[Estimate, ...]] = []
    for k in range(len(counts)):
        other = np.where(np.arange(len(counts)) == k, 0.0, pi)
        own = np.where(np.arange(len(counts)) == k, pi, 0.0)
        called_k, passed_k, spread = within[:, k], 1 - within[:, k], variances[:, k]
        found.append(
            (
                _binomial(float(right[k]), float(rows[k]), level),
                _stratified(other, passed_k, spread, rows, level),
                _predictive(own, other, called_k, spread, rows, level),
                _predictive(other, own, passed_k, spread, rows, level),
            )
        )
    return found


def _binomial(hits: float, rows: float, level: float) -> Estimate:
    """A share of rows with its exact interval."""
    if not rows > 0:
        return NONE
    # Sums of weights leave a rounding error where there is no row.
    share = min(max(hits / rows, 0.0), 1.0)
    return Estimate(
        share, float(np.sqrt(share * (1 - share) / rows)), *exact_interval(share * rows, rows, level)
    )


def _stratified(pi: Floats, shares: Floats, variances: Floats, rows: Floats, level: float) -> Estimate:
    """A share of classes mixed in the proportions pi (K,), which need not sum to one."""
    whole = float(pi.sum())
    if not whole > 0:
        return NONE
    weights = pi / whole
    share, variance = float(weights @ shares), float(weights**2 @ variances)
    there = weights > 0
    limits = mixed_interval(weights[there], shares[there], rows[there], level)
    return Estimate(share, float(np.sqrt(variance)), *limits)


def _predictive(
    true: Floats, false: Floats, called: Floats, variances: Floats, rows: Floats, level: float
) -> Estimate:
    """Share of the rows called so that are rightly called so, by Bayes' theorem.

    `true` and `false` (K,) are the prior, where the call is right and where it is wrong.
    """
    a, b = float(true @ called), float(false @ called)
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
    half, logit = check_level(level) * error, float(np.log(a) - np.log(b))
    low, high = (float(1 / (1 + np.exp(-end))) for end in (logit - half, logit + half))
    return Estimate(share, share * (1 - share) * error, low, high)
