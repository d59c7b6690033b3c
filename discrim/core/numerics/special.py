"""Gamma functions of degrees of freedom, and tail probabilities and quantiles of test distributions.

Differences of gamma functions keep their digits for any number of rows. For n rows, ln G(n/2) - ln G((n-p)/2)
and p/2 ln((n-1)/2) are of size n ln n and p ln n, but a log odds depends on their difference, of size p^2/n.
With b = (n - p)/2 for odd p, in steps of 1/2,

    ln G(n/2) - ln G((n-p)/2) - p/2 ln((n-1)/2) = sum_j ln(1 + (1-p+2j)/(n-1))                      (p even),
                                                  + [ln(1 + (1-p)/(n-1))]/2 + h(b), from b + 1/2 on  (p odd),

with h(b) = ln G(b+1/2) - ln G(b) - ln(b)/2 = -1/(8b) + 1/(192 b^3) - 1/(640 b^5) + 17/(14336 b^7) - ..., and
ln(x) - digamma(x) = 1/(2x) + 1/(12 x^2) - 1/(120 x^4) + 1/(252 x^6) - ... for large arguments (Abramowitz &
Stegun, 1964, Handbook of Mathematical Functions, 6.1.47 and 6.3.18).

Probabilities and quantiles are computed by scipy.special, which scipy.stats calls as well; importing
scipy.stats takes longer than importing pandas, and summaries do not need it. Their arguments are numbers or
arrays, which are broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Floats

MIN_SERIES_ARGUMENT = 40.0
"""Argument above which the series are accurate to the last digit; below it cancellation is small."""


def student_log_constants(n: Floats, p: int) -> Floats:
    """Return log constants of Student densities, ln G(n/2) - ln G((n-p)/2) - p/2 ln((n-1)/2).

    G is the gamma function.

    Parameters
    ----------
    n : (K,) float
        Numbers of rows (sums of weights), above p.
    p : int
        Number of columns.

    Returns
    -------
    (K,) float

    Examples
    --------
    >>> student_log_constants(np.array([7.0, 1e30]), 4).round(12).tolist()
    [-0.875468737354, -0.0]
    """
    odd = p % 2
    steps = 1.0 - p + odd + 2.0 * np.arange(p // 2)
    gain = np.log1p(steps / (n - 1)[:, None]).sum(axis=1)
    if odd:
        # ln G(b + 1/2) - ln G(b) - ln(b)/2.
        b = (n - p) / 2
        small_arguments = np.minimum(b, MIN_SERIES_ARGUMENT)
        u = 1.0 / np.maximum(b, MIN_SERIES_ARGUMENT)
        half_step = np.where(
            b < MIN_SERIES_ARGUMENT,
            scipy.special.gammaln(small_arguments + 0.5)
            - scipy.special.gammaln(small_arguments)
            - 0.5 * np.log(small_arguments),
            u * (-1 / 8 + u**2 * (1 / 192 + u**2 * (-1 / 640 + u**2 * 17 / 14336))),
        )
        gain = gain + 0.5 * np.log1p((1.0 - p) / (n - 1)) + half_step
    return np.asarray(gain)


def logdet_bias(nu: Floats, terms: NDArray[np.int64]) -> Floats:
    """Return the bias correction of the log-determinant of a covariance.

    It is the sum over j of ln(nu/2) - digamma((nu + 1 - j)/2), which is added to ln|S| of an unbiased
    covariance S with nu degrees of freedom to obtain an unbiased estimate of ln|Sigma|.

    Parameters
    ----------
    nu : (K,) float
        Degrees of freedom of each covariance.
    terms : (q,) int
        Values of j; 1, ..., p for a covariance of p columns.

    Returns
    -------
    (K,) float
    """
    x = (nu[:, None] + 1 - terms) / 2
    small_arguments = np.minimum(x, MIN_SERIES_ARGUMENT)
    u = 1.0 / np.maximum(x, MIN_SERIES_ARGUMENT)
    series = u * (1 / 2 + u * (1 / 12 + u**2 * (-1 / 120 + u**2 * (1 / 252 - u**2 / 240))))
    log_less_digamma = np.where(
        x < MIN_SERIES_ARGUMENT, np.log(small_arguments) - scipy.special.digamma(small_arguments), series
    )
    return np.asarray((log_less_digamma - np.log1p((1.0 - terms) / nu[:, None])).sum(axis=1))


def chi2_sf(statistic: Any, df: Any) -> Any:
    """Return P(X > statistic) for chi-square with df degrees of freedom; NaN if df is not positive."""
    return np.where(np.asarray(df) > 0, scipy.special.chdtrc(df, statistic), np.nan)


def chi2_cdf(statistic: Any, df: Any) -> Any:
    """Return P(X <= statistic) for chi-square with df degrees of freedom."""
    return scipy.special.chdtr(df, statistic)


def chi2_isf(probability: Any, df: Any) -> Any:
    """Return the value that chi-square with df degrees of freedom exceeds with a probability."""
    return scipy.special.chdtri(df, probability)


def f_sf(statistic: Any, df1: Any, df2: Any) -> Any:
    """Return P(X > statistic) for F with df1 and df2 degrees of freedom; NaN unless both are positive.

    It is 1 for a negative statistic.
    """
    is_valid = (np.asarray(df1) > 0) & (np.asarray(df2) > 0)
    return np.where(is_valid, scipy.special.fdtrc(df1, df2, np.maximum(statistic, 0.0)), np.nan)


def t_sf(statistic: Any, df: Any) -> Any:
    """Return P(X > statistic) for Student's t with df degrees of freedom."""
    return scipy.special.stdtr(df, np.negative(statistic))


def t_isf(probability: Any, df: Any) -> Any:
    """Return the value that Student's t with df degrees of freedom exceeds with a probability."""
    return -scipy.special.stdtrit(df, probability)


def normal_sf(statistic: Any) -> Any:
    """Return P(X > statistic) for the standard normal distribution."""
    return scipy.special.ndtr(np.negative(statistic))


def normal_isf(probability: Any) -> Any:
    """Return the value that a standard normal variable exceeds with a probability."""
    return -scipy.special.ndtri(probability)


def beta_ppf(probability: Any, a: Any, b: Any) -> Any:
    """Return the quantile of the beta distribution with parameters a and b at a cumulative probability."""
    return scipy.special.betaincinv(a, b, probability)
