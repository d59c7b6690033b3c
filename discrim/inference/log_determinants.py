"""Log-determinants of covariances, with intervals.

Theory. For a normal sample the determinant of nu S is |Sigma| times a product of independent chi-squares
with nu, nu - 1, ..., nu - p + 1 degrees of freedom (Anderson, 2003, An Introduction to Multivariate
Statistical Analysis, sec. 7.5). So ln|S| - ln|Sigma| has the cumulant function

    k(t) = sum_j [ln Gamma(a_j + t) - ln Gamma(a_j)] + t p ln(2/nu),    a_j = (nu - j + 1)/2,

free of parameters: k'(0) is the bias of ln|S|, k''(0) its variance, and the tails are integrals over a line
of complex numbers beside zero,

    P(X > x) = 1/(2 pi i) int exp(k(t) - t x) / t dt,    Re t = c > 0,

and minus that, with c < 0, for P(X < x) (Daniels, 1987, International Statistical Review 55, 37-48). The
trapezium rule has them to ten digits and more, also where nu is hardly above p.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray
from scipy.special import factorial, gammaln, loggamma, polygamma, psi

from discrim.inference.error_rates import check_level

__all__ = ["log_determinant_table", "quantile"]

Floats = NDArray[np.float64]

PIECE = 64
"""Points of the trapezium rule that are added at once."""

LARGE = 1e7
"""Half the degrees of freedom from which the cumulant function is a series."""

TINY = 1e-300


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
    mean = float(psi(half).sum() + p * np.log(2 / nu))
    sd = float(np.sqrt(polygamma(1, half).sum()))
    # The smaller tail is found, which has digits that one less the larger has not.
    side, tail = (1.0, 1 - share) if share > 0.5 else (-1.0, share)
    reach = max(-float(scipy.special.ndtri(tail)), 1.0) / sd
    line = reach if side > 0 else -min(reach, half[-1] / 2)
    nearest = line if side > 0 else min(-line, half[-1] + line)
    # The trapezium rule is wrong by exp(-2 pi distance / step) beside the nearest pole, and where the step is
    # not small beside the width of what is nearly a normal curve.
    step = min(2 * np.pi * nearest / 40, 0.4 / sd)
    s = np.array([line], dtype=np.complex128)
    logs = _cumulant(s, half)
    while logs[-1].real > logs[0].real - 40:
        more = np.array(line + 1j * step * np.arange(len(s), len(s) + PIECE))
        s, logs = np.concatenate([s, more]), np.concatenate([logs, _cumulant(more, half)])
    weights = np.where(np.arange(len(s)) == 0, 0.5, 1.0) * step / np.pi

    def excess(deviation: float) -> float:
        terms = weights * np.exp(logs - s * deviation * sd) / s
        return float(np.log(max(side * terms.real.sum(), TINY) / tail))

    low, high = -1.0, 1.0
    while side * excess(low) < 0:
        low *= 2
    while side * excess(high) > 0:
        high *= 2
    return mean + sd * float(scipy.optimize.brentq(excess, low, high, xtol=1e-13))


def _cumulant(s: NDArray[np.complex128], half: Floats) -> NDArray[np.complex128]:
    """Cumulant function of the deviation from the mean at complex numbers (m,)."""
    total = np.zeros(len(s), dtype=np.complex128)
    for a in half.tolist():
        if a > LARGE:
            # Of large arguments the logarithms of the gamma function have no digits left that differ.
            total += sum(polygamma(n - 1, a) * s**n / factorial(n) for n in range(2, 7))
        else:
            total += loggamma(a + s) - gammaln(a) - s * psi(a)
    return total
