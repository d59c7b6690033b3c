"""Do the class means differ, and in how many dimensions? Tests from the roots of W^-1 B.

Theory. With roots lambda_i, p columns, q = K - 1, v = N - K, s = min(p, q), m = (|p - q| - 1)/2 and
n = (v - p - 1)/2, the statistics are

    Wilks               prod 1/(1 + lambda),      Rao's F (1951, Bulletin of the ISI 33, 177-180), exact
    for s <= 2, Pillai              sum lambda/(1 + lambda),  F on s(2m + s + 1), s(2n + s + 1),
    Hotelling-Lawley    sum lambda,               F of Pillai & Samson (1959), and McKeon's (1974,
    Biometrika 61,
                                                  381-383), which is closer,
    Roy                 lambda_1,                 an upper bound of F, so that its p-value is a lower one.

That the means span no more than k dimensions is tested by the roots left out: Wilks' with p - k and q - k
in the place of p and q, and Bartlett's chi-square (N - 1 - (p + K)/2) sum ln(1 + lambda) (1947, JRSS
Suppl. 9, 176-197).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.tails import chi2_sf, f_sf
from discrim.inference.result import TestResult, approximations

__all__ = ["dimension_table", "manova_table", "wilks"]

Floats = NDArray[np.float64]


def wilks(roots: Floats, n_columns: int, n_classes: int, total: float) -> TestResult:
    """Wilks' lambda with Rao's F.

    Parameters
    ----------
    roots : (r,) float
        Eigenvalues of W^-1 B; those left out are zero.
    n_columns, n_classes : int
        p and K.
    total : float
        N, the number of rows.

    Returns
    -------
    TestResult
        `statistic` is lambda = prod 1/(1 + root); `table` has Rao's F, missing where too few degrees of
        freedom are left for it.

    Examples
    --------
    >>> import numpy as np
    >>> result = wilks(np.array([32.1919292, 0.2853910]), 4, 3, 150)
    >>> round(result.statistic, 7), result.df
    (0.0234386, (8.0, 288.0))
    """
    p, q, v = n_columns, n_classes - 1, total - n_classes
    free = p * p + q * q - 5
    t = np.sqrt((p * p * q * q - 4) / free) if free > 0 and p * q > 2 else 1.0
    df1 = float(p * q)
    df2 = float(t * (v - (p - q + 1) / 2) - (p * q - 2) / 2)
    log_lambda = -float(np.log1p(roots).sum())
    # From the roots, not from lambda, which has lost its digits where it is near one.
    f = float(np.expm1(-log_lambda / t)) * df2 / df1 if df2 > 0 else np.nan
    pvalue = float(f_sf(f, df1, df2))
    return TestResult(
        "Wilks' lambda",
        float(np.exp(log_lambda)),
        (df1, df2),
        pvalue,
        "Normal classes with one covariance; equal means under the hypothesis (Rao's F).",
        approximations({"F": (f, df1, df2, pvalue)}),
        (("", float(np.exp(log_lambda))), ("F", f)),
    )


def manova_table(roots: Floats, n_columns: int, n_classes: int, total: float) -> pd.DataFrame:
    """The four statistics of equal means, each with its F.

    Parameters
    ----------
    roots, n_columns, n_classes, total
        As for `wilks`.

    Returns
    -------
    DataFrame
        statistic, F, df1, df2, p, and whether the F is exact, approximate or an upper bound. Missing where
        too few degrees of freedom are left for an approximation.
    """
    p, q, v = n_columns, n_classes - 1, total - n_classes
    s, m, n = min(p, q), (abs(p - q) - 1) / 2, (v - p - 1) / 2
    lead = float(roots[0]) if len(roots) else 0.0
    with np.errstate(invalid="ignore"):
        pillai = float(np.where(np.isinf(roots), 1.0, roots / (1 + roots)).sum())
    hotelling = float(roots.sum())
    rao = wilks(roots, n_columns, n_classes, total)
    rows: dict[str, tuple[float, float, float, float, str]] = {}
    kind = "exact" if s <= 2 else "approximate"
    rows["Wilks' lambda"] = (rao.statistic, float(rao.table["statistic"].iloc[0]), rao.df[0], rao.df[1], kind)
    kind = "exact" if s == 1 else "approximate"
    df1, df2 = s * (2 * m + s + 1), s * (2 * n + s + 1)
    # s - V = sum 1/(1 + lambda) and the dimensions that are left out, without a difference.
    rest = float((1 / (1 + roots)).sum()) + s - len(roots)
    with np.errstate(divide="ignore"):
        # Roots beyond the range of doubles leave no rest.
        f = float(np.divide(pillai, rest)) * df2 / df1
    rows["Pillai's trace"] = (pillai, f, df1, df2, kind)
    df2 = 2 * (s * n + 1)
    rows["Hotelling-Lawley trace"] = (hotelling, hotelling / s * df2 / df1, df1, df2, kind)
    f, df1, df2 = _mckeon(hotelling, p, q, n)
    rows["Hotelling-Lawley trace, McKeon"] = (hotelling, f, df1, df2, kind)
    r = max(p, q)
    kind = "exact" if s == 1 else "upper bound"
    rows["Roy's greatest root"] = (lead, lead * (v - r + q) / r, float(r), float(v - r + q), kind)
    columns = ["statistic", "F", "df1", "df2", "F_is"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    few = ~(table["df2"] > 0)
    table.loc[few, ["F", "df2"]] = np.nan
    table.insert(4, "p", f_sf(table["F"], table["df1"], table["df2"]))
    return table


def _mckeon(trace: float, p: int, q: int, n: float) -> tuple[float, float, float]:
    if n <= 1:
        return np.nan, float(p * q), np.nan
    b = (p + 2 * n) * (q + 2 * n) / (2 * (2 * n + 1) * (n - 1))
    df2 = 4 + (p * q + 2) / (b - 1)
    c = (df2 - 2) / (2 * n)
    return trace / c * df2 / (p * q), float(p * q), df2


def dimension_table(roots: Floats, n_columns: int, n_classes: int, total: float) -> pd.DataFrame:
    """Sequential tests that the means span no more than k dimensions, k = 0, 1, ...

    Parameters
    ----------
    roots, n_columns, n_classes, total
        As for `wilks`.

    Returns
    -------
    DataFrame
        By the first axis tested: wilks, F, df1, df2, p (Rao), chi2, df, p_chi2 (Bartlett).
    """
    p, rows = n_columns, {}
    multiplier = total - 1 - (p + n_classes) / 2
    for k in range(len(roots)):
        rao = wilks(roots[k:], p - k, n_classes - k, total - k)
        chi2 = multiplier * float(np.log1p(roots[k:]).sum()) if multiplier > 0 else np.nan
        df = float((p - k) * (n_classes - 1 - k))
        f = float(rao.table["statistic"].iloc[0])
        df1, df2 = rao.df
        df2 = df2 if df2 > 0 else np.nan
        rows[k] = (rao.statistic, f, df1, df2, rao.pvalue, chi2, df, float(chi2_sf(chi2, df)))
    columns = ["wilks", "F", "df1", "df2", "p", "chi2", "df", "p_chi2"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)
