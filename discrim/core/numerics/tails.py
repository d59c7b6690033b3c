"""Tail probabilities and quantiles of the laws that tests refer to.

They are scipy.special's, which scipy.stats calls as well: that takes longer to import than
pandas, and a summary does without it. Either is imported where it is first asked for a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

__all__ = ["beta_ppf", "chi2_cdf", "chi2_isf", "chi2_sf", "f_sf", "normal_isf", "normal_sf", "t_isf", "t_sf"]


def chi2_sf(statistic: Any, df: Any) -> Any:
    """P(X > statistic) for chi-square with df degrees of freedom; missing where df is not positive."""
    return np.where(np.asarray(df) > 0, scipy.special.chdtrc(df, statistic), np.nan)


def chi2_cdf(statistic: Any, df: Any) -> Any:
    """P(X <= statistic) for chi-square with df degrees of freedom."""
    return scipy.special.chdtr(df, statistic)


def chi2_isf(share: Any, df: Any) -> Any:
    """The number that chi-square with df degrees of freedom exceeds with probability `share`."""
    return scipy.special.chdtri(df, share)


def f_sf(statistic: Any, df1: Any, df2: Any) -> Any:
    """P(X > statistic) for F with df1 and df2 degrees of freedom; missing where one is not positive."""
    known = (np.asarray(df1) > 0) & (np.asarray(df2) > 0)
    return np.where(known, scipy.special.fdtrc(df1, df2, np.maximum(statistic, 0.0)), np.nan)


def t_sf(statistic: Any, df: Any) -> Any:
    """P(X > statistic) for Student's t with df degrees of freedom."""
    return scipy.special.stdtr(df, np.negative(statistic))


def t_isf(share: Any, df: Any) -> Any:
    """The number that Student's t with df degrees of freedom exceeds with probability `share`."""
    return -scipy.special.stdtrit(df, share)


def normal_sf(statistic: Any) -> Any:
    """P(X > statistic) for the standard normal."""
    return scipy.special.ndtr(np.negative(statistic))


def normal_isf(share: Any) -> Any:
    """The number that the standard normal exceeds with probability `share`."""
    return -scipy.special.ndtri(share)


def beta_ppf(share: Any, a: Any, b: Any) -> Any:
    """The number below which a beta variable with parameters a and b lies with probability `share`."""
    return scipy.special.betaincinv(a, b, share)
