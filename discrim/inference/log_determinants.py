"""Log-determinants of covariances, with intervals.

Theory. For a normal sample the determinant of nu S is |Sigma| times a product of independent chi-squares
with nu, nu - 1, ..., nu - p + 1 degrees of freedom (Anderson, 2003, An Introduction to Multivariate
Statistical Analysis, sec. 7.5). So ln|S| - ln|Sigma| has the cumulant function

    k(t) = sum_j [ln Gamma(a_j + t) - ln Gamma(a_j)] + t p ln(2/nu),    a_j = (nu - j + 1)/2,

free of parameters: k'(0) is the bias of ln|S|, k''(0) its variance, and the saddlepoint approximation of the
tail (Lugannani & Rice, 1980, Advances in Applied Probability 12, 475-490) gives its quantiles to three digits
and more, also where nu is hardly above p and a normal interval would be useless.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray
from scipy.special import gammaln, polygamma, psi

from discrim.inference.error_rates import check_level

__all__ = ["log_determinant_table", "quantile"]

Floats = NDArray[np.float64]


def log_determinant_table(
    logdets: Floats, free: Floats, p: int, level: float, index: pd.Index
) -> pd.DataFrame:
    """Log-determinants with exact intervals under normality.

    Parameters
    ----------
    logdets : (m,) float
        Of unbiased covariances.
    free : (m,) float
        Their degrees of freedom, p or more.
    p : int
    level : float
    index : Index of length m

    Returns
    -------
    DataFrame
        logdet, debiased (ln|S| less its bias), se, low, high, df.
    """
    check_level(level)
    rows = []
    for value, nu in zip(logdets.tolist(), free.tolist(), strict=True):
        half = (nu - np.arange(p)) / 2
        bias = float(psi(half).sum() + p * np.log(2 / nu))
        se = float(np.sqrt(polygamma(1, half).sum()))
        low, high = (value - quantile(tail, nu, p) for tail in ((1 + level) / 2, (1 - level) / 2))
        rows.append((value, value - bias, se, low, high, nu))
    columns = ["logdet", "debiased", "se", "low", "high", "df"]
    return pd.DataFrame(rows, index=index, columns=columns)


def quantile(share: float, nu: float, p: int) -> float:
    """Quantile of ln|S| - ln|Sigma|; for one column it is that of a chi-square.

    Examples
    --------
    >>> from scipy import stats
    >>> round(quantile(0.975, 9, 1), 6) == round(float(np.log(stats.chi2.ppf(0.975, 9) / 9)), 6)
    True
    """
    if p == 1:
        return float(np.log(scipy.stats.chi2.ppf(share, nu) / nu))
    half = (nu - np.arange(p)) / 2
    shift = p * np.log(2 / nu)

    def at(t: float) -> float:
        return float(psi(half + t).sum() + shift)

    def excess(t: float) -> float:
        cumulant = float((gammaln(half + t) - gammaln(half)).sum() + t * shift)
        w = np.sign(t) * np.sqrt(max(2 * (t * at(t) - cumulant), 0.0))
        u = t * np.sqrt(polygamma(1, half + t).sum())
        return float(scipy.stats.norm.cdf(w) + scipy.stats.norm.pdf(w) * (1 / w - 1 / u)) - share

    # The saddlepoint lies on the side of the tail; beside zero the formula is a limit.
    step = 1e-3 * float(half[-1])
    if share > 0.5:
        high = step
        while excess(high) < 0:
            high *= 2
        root = scipy.optimize.brentq(excess, step, high) if excess(step) < 0 else step
    else:
        low = -step
        while excess(low) > 0:
            low = (low - half[-1]) / 2
        root = scipy.optimize.brentq(excess, low, -step) if excess(-step) > 0 else -step
    return at(float(root))
