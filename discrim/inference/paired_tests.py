"""Is one rule better than another on the same rows? McNemar's test and the corrected resampled t test.

Theory. Of the rows on which just one of two rules is wrong, b are the first one's and c the second one's.
If the rules are equally good, b is binomial (b + c, 1/2): the exact test doubles the smaller tail, and
(|b - c| - 1)^2 / (b + c) is about chi-square on one degree of freedom (McNemar, 1947, Psychometrika 12,
153-157; with Edwards' continuity correction, 1948, Psychometrika 13, 185-187). It takes rows as
independent and each rule as one rule, whereas cross-validation judges every fold by rules of its own: it
is about these fits more than about the method on other samples (Dietterich, 1998, Neural Computation 10,
1895-1923).

Rows of a group depend on one another, and groups do not. If the rules are equally good, the difference d_k =
b_k - c_k of a group is as likely to be -d_k, whatever hangs together within it: the exact test is that of the
2^G signs of G groups, and (|sum d_k| - 1)^2 / sum d_k^2 is about chi-square on one degree of freedom (Yang,
Sun & Hardin, 2010, Biometrical Journal 52, 638-652, but for the correction). With groups of one row both are
McNemar's.

Differences of error d_j in J = repeats x folds folds share most of the rows they are trained on, so that
s/sqrt(J) is too small a standard error of their mean, and the smaller the more repeats. Nadeau & Bengio
(2003, Machine Learning 52, 239-281) put

    variance = (1/J + n_2/n_1) s^2,    t = mean(d) / sqrt(variance) on J - 1 degrees of freedom,

n_2 and n_1 the rows that test and train; Bouckaert & Frank (2004, PAKDD, LNCS 3056, 3-12) found it the
test of choice for 10 x 10 folds. It is an approximation: no unbiased estimate of that variance exists
(Bengio & Grandvalet, 2004, Journal of Machine Learning Research 5, 1089-1105).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.numerics.tails import chi2_sf, t_isf, t_sf

__all__ = ["CorrectedT", "McNemar", "corrected_t", "fold_errors", "grouped_mcnemar", "mcnemar"]

Floats = NDArray[np.float64]


class McNemar(NamedTuple):
    """McNemar's test.

    Attributes
    ----------
    exact : float
        Two-sided p-value by the binomial distribution.
    statistic, pvalue : float
        With continuity correction, and by chi-square on one degree of freedom.
    """

    exact: float
    statistic: float
    pvalue: float


class CorrectedT(NamedTuple):
    """The corrected resampled t test.

    Attributes
    ----------
    mean, se : float
        Of the differences.
    statistic, df, pvalue : float
    low, high : float
        Interval of the mean.
    """

    mean: float
    se: float
    statistic: float
    df: float
    pvalue: float
    low: float
    high: float


def mcnemar(b: float, c: float) -> McNemar:
    """McNemar's test of two counts of rows on which just one of two rules is wrong.

    Rules that are never wrong alone do not differ: both p-values are 1 then.

    Examples
    --------
    >>> [round(number, 4) for number in mcnemar(2, 11)]
    [0.0225, 4.9231, 0.0265]
    """
    total = b + c
    if not total:
        return McNemar(1.0, 0.0, 1.0)
    exact = min(1.0, 2.0 * float(scipy.stats.binom.cdf(min(b, c), total, 0.5)))
    statistic = max(abs(b - c) - 1.0, 0.0) ** 2 / total
    return McNemar(exact, statistic, float(chi2_sf(statistic, 1)))


MOST_STEPS = 10**9
"""Additions that an exact test may take."""


def grouped_mcnemar(differences: Floats) -> McNemar:
    """McNemar's test of rows in groups; missing is an exact p-value of more than `MOST_STEPS`.

    Parameters
    ----------
    differences : (G,) float
        Of each group: rows on which the first rule alone is wrong, less those on which the second is; whole
        numbers.

    Examples
    --------
    >>> [round(number, 4) for number in grouped_mcnemar(np.array([3.0, -1.0, 2.0, 4.0, 0.0]))]
    [0.25, 1.6333, 0.2012]
    """
    sizes = np.abs(differences[differences != 0])
    if not len(sizes):
        return McNemar(1.0, 0.0, 1.0)
    total = abs(float(differences.sum()))
    statistic = max(total - 1.0, 0.0) ** 2 / float(sizes @ sizes)
    # Groups whose sign is turned: their sizes add up to this at most, or by symmetry to all less this.
    most = (float(sizes.sum()) - total) / 2
    exact = np.nan
    if (most + 1) * len(sizes) <= MOST_STEPS:
        chances = np.zeros(int(most) + 1)
        chances[0] = 1.0
        for size in sizes.astype(np.int64).tolist():
            turned = chances[:-size].copy() if size <= most else chances[:0]
            chances *= 0.5
            chances[len(chances) - len(turned) :] += 0.5 * turned
        exact = min(1.0, 2.0 * float(chances.sum()))
    return McNemar(exact, statistic, float(chi2_sf(statistic, 1)))


def fold_errors(values: Floats, folds: int) -> tuple[float, float]:
    """Standard errors of the mean of values (J,) by fold: s/sqrt(J), and that corrected for shared training.

    Missing where there are fewer than two values, or one is infinite.

    Parameters
    ----------
    values : (J,) float
        Of all folds of all repeats.
    folds : int
        Of one repeat: n_2/n_1 = 1/(folds - 1).
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return np.nan, np.nan
    spread, share = float(values.std(ddof=1)), 1 / len(values)
    return float(spread * np.sqrt(share)), float(spread * np.sqrt(share + 1 / (folds - 1)))


def corrected_t(differences: Floats, folds: int, level: float = 0.95) -> CorrectedT:
    """The corrected resampled t test that differences (J,) by fold have the mean zero.

    Where no fold differs, t is 0 and the p-value 1.

    Parameters
    ----------
    differences : (J,) float
    folds : int
        Of one repeat.
    level : float
        Of the interval.

    Examples
    --------
    >>> found = corrected_t(np.array([0.02, 0.0, 0.04, -0.01, 0.05]), folds=5)
    >>> round(found.se, 4), round(found.statistic, 3), round(found.pvalue, 3)
    (0.0171, 1.169, 0.307)
    """
    mean, df = float(differences.mean()), len(differences) - 1.0
    _, error = fold_errors(differences, folds)
    if not differences.any():
        return CorrectedT(mean, error, 0.0, df, 1.0, mean, mean)
    with np.errstate(divide="ignore"):
        statistic = float(np.divide(mean, error))
    half = float(t_isf((1 - level) / 2, df)) * error
    pvalue = 2 * float(t_sf(abs(statistic), df))
    return CorrectedT(mean, error, statistic, df, pvalue, mean - half, mean + half)
